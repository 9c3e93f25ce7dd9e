"""What calls are given: the types that they accept, and checks that name what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, Union

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from .gradients import Gradients
    from .images import Image


class TableLike(Protocol):
    """DIPY's `GradientTable`, and whatever has its two attributes."""

    @property
    def bvals(self) -> Any: ...
    @property
    def bvecs(self) -> Any: ...


class ImageLike(Protocol):
    """An image of nibabel."""

    @property
    def dataobj(self) -> Any: ...
    @property
    def affine(self) -> Any: ...


#: A gradient table: ours, DIPY's, a pair (bvals, bvecs), or an array of rows x y z b.
GradientTable = Union["Gradients", TableLike, "tuple[npt.ArrayLike, npt.ArrayLike]", "npt.NDArray[Any]"]
#: A series: an array [..., volumes], an image, or a path.
Series = Union["npt.NDArray[Any]", "Image", ImageLike, str, "PathLike[str]"]
#: A number for each voxel, such as a mask: likewise.
Voxels = Union["npt.NDArray[Any]", "Image", ImageLike, str, "PathLike[str]", "Sequence[Any]"]


def as_affine(affine: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """An affine (4, 4).

    Raises
    ------
    ValueError
        Where it has another shape.
    """
    matrix = np.asarray(affine, dtype=np.float64)
    if matrix.shape != (4, 4):
        raise ValueError(f"affine has the shape {matrix.shape}: it must be (4, 4), scanner RAS mm from voxel")
    return matrix


def as_threads(threads: int) -> int:
    """A number of threads.

    Raises
    ------
    ValueError, TypeError
        Where it is none.
    """
    if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)):
        raise TypeError(f"threads is {threads!r}: it must be a whole number, 0 for one per core")
    if threads < 0:
        raise ValueError(f"threads is {threads}: it must be 0, for one per core, or more")
    return int(threads)


def joined(value: Any) -> Any:
    """A pair of numbers as the command line has it: (0, 3) is "0,3"."""
    return ",".join(str(one) for one in value) if isinstance(value, (list, tuple)) else value
