"""Images: in files, and as arrays."""

from __future__ import annotations

from os import PathLike, fspath
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from .gradients import Gradients


class Image:
    """An image in its file. Fits read it where it lies: nothing is converted or copied.

    Attributes
    ----------
    shape : (x, y, z) or (x, y, z, volumes)
    affine : (4, 4) array
        Scanner RAS mm from voxel index.
    gradients : Gradients or None
        The gradient table in the header or beside the file, in scanner RAS axes.
    """

    def __init__(self, series: _core.Series) -> None:
        self._series = series
        found = series.gradients
        self.gradients = None if found is None else Gradients(found[0], found[1], found[2])

    @property
    def path(self) -> str:
        return fspath(self._series.path)

    @property
    def shape(self) -> tuple[int, ...]:
        x, y, z, n = self._series.shape
        return (x, y, z) if n == 1 else (x, y, z, n)

    @property
    def affine(self) -> npt.NDArray[np.float64]:
        return self._series.affine

    def read(self) -> npt.NDArray[np.float32]:
        """All samples as float32, scaled, in Fortran's order."""
        return self._series.read()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        samples = self.read()
        return samples if dtype is None else samples.astype(dtype, copy=False)

    def __repr__(self) -> str:
        return f"<fimbria.Image {self.path} {self.shape}>"


def load(
    path: str | PathLike[str],
    *,
    bval: str | PathLike[str] | None = None,
    bvec: str | PathLike[str] | None = None,
    grad: str | PathLike[str] | None = None,
    b0_threshold: float | None = None,
) -> Image:
    """Opens a NIfTI or .mif image, compressed or not.

    Parameters
    ----------
    path : path
        The image.
    bval, bvec : path, optional
        FSL's b-values and directions. By default those in the header or beside the image.
    grad : path, optional
        An MRtrix3 gradient table.
    b0_threshold : float, optional
        b at or below which a volume counts as unweighted, s/mm²; 50.

    Returns
    -------
    Image
        With `.gradients` in scanner RAS axes, whatever axes the file has them in.
    """
    image = _core.load(path, bval=bval, bvec=bvec, grad=grad, b0_threshold=b0_threshold)
    return Image(image)


def opened(given: Any) -> Any:
    """What is given, or the image where it is a path."""
    return load(str(given)) if isinstance(given, (str, PathLike)) else given
