"""What the package asks of its extension module; see the package for what users call."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

__version__: str

Progress = Callable[[str, int, int], object]

class FimbriaError(ValueError): ...

class Series:
    @property
    def path(self) -> PathLike[str]: ...
    @property
    def shape(self) -> tuple[int, int, int, int]: ...
    @property
    def affine(self) -> npt.NDArray[np.float64]: ...
    @property
    def gradients(self) -> tuple[list[float], list[list[float]], float] | None: ...
    @property
    def warnings(self) -> list[str]: ...
    def read(self) -> npt.NDArray[np.float32]: ...

def load(
    path: str | PathLike[str],
    *,
    bval: str | PathLike[str] | None = None,
    bvec: str | PathLike[str] | None = None,
    grad: str | PathLike[str] | None = None,
    b0_threshold: float | None = None,
) -> Series: ...
def fit(
    name: str,
    data: Series | npt.NDArray[Any],
    b: Sequence[float],
    dirs: Sequence[Sequence[float]],
    b0_threshold: float,
    mask: npt.NDArray[np.bool_] | None,
    options: str,
    affine_rows: Sequence[Sequence[float]],
    threads: int,
    progress: Progress | None,
) -> dict[str, Any]: ...
def fit_names() -> list[str]: ...
def fit_options(name: str) -> list[str]: ...
def index_classes(order: int, dimension: int) -> list[list[int]]: ...
def eigenpairs(
    entries: npt.NDArray[np.float64],
    order: int,
    dimension: int,
    starts: int | None,
    seed: int,
    tolerance: float,
    threads: int,
    progress: Progress | None,
) -> list[tuple[list[tuple[float, list[float], str, float, bool]], bool]]: ...
