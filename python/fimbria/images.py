"""Images: in files, and as arrays."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from os import PathLike, fspath
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _core
from ._work import plain, told
from .gradients import Frame, Gradients


class Image:
    """An image in its file. Fits read it where it lies: nothing is converted or copied.

    It can be sent to other processes, which open the file anew.

    Attributes
    ----------
    shape : (x, y, z) or (x, y, z, volumes)
    affine : (4, 4) array
        Scanner RAS mm from voxel index.
    gradients : Gradients or None
        The gradient table in the header or beside the file, in scanner RAS axes.
    """

    def __init__(self, series: _core.Series, options: Mapping[str, Any] | None = None) -> None:
        self._series = series
        self._options = dict(options or {})
        found = series.gradients
        self.gradients = None if found is None else Gradients(found[0], found[1], found[2], frame="scanner")

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

    def __reduce__(self) -> Any:
        # What there is to be warned of was said when it was opened first.
        return (_reopened, (self.path, self._options))

    def __repr__(self) -> str:
        return f"<fimbria.Image {self.path} {self.shape}>"


def _reopened(path: str, options: Mapping[str, Any]) -> Image:
    return Image(_core.load(path, **options), options)


def load(
    path: str | PathLike[str],
    *,
    bval: str | PathLike[str] | None = None,
    bvec: str | PathLike[str] | None = None,
    grad: str | PathLike[str] | None = None,
    bmatrix: str | PathLike[str] | None = None,
    bvec_frame: Frame = None,
    bvalue_scaling: Literal["auto", "yes", "no"] | None = None,
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
    bmatrix : path, optional
        A table of b-matrices.
    bvec_frame : {fsl, voxel, scanner}
        The axes that bvecs and b-matrices are in [default: fsl]
    bvalue_scaling : {auto, yes, no}
        Whether b is multiplied by the squared length of its direction [default: by the format, as FSL and
        MRtrix3 do]
    b0_threshold : float, optional
        b at or below which a volume counts as unweighted, s/mm² [default: 50]

    Returns
    -------
    Image
        With `.gradients` in scanner RAS axes, whatever axes the file has them in.

    Raises
    ------
    FileNotFoundError
        Where there is no such image.
    FimbriaError
        Where it is none, or the files beside it do not belong to it.

    Warns
    -----
    FimbriaWarning
        Of what was repaired in the table, and of an image that does not say how it lies.

    Examples
    --------
    >>> import os, tempfile
    >>> from fimbria import phantom_crossing
    >>> made = phantom_crossing(os.path.join(tempfile.mkdtemp(), "in"), size="8,8,4", shells="1000:12")
    >>> image = load(made.path / "dwi.nii.gz")
    >>> image.shape, image.gradients.frame
    ((8, 8, 4, 18), 'scanner')
    """
    given = {
        "bval": bval, "bvec": bvec, "grad": grad, "bmatrix": bmatrix, "bvec_frame": bvec_frame,
        "bvalue_scaling": bvalue_scaling, "b0_threshold": b0_threshold,
    }  # fmt: skip
    options = {name: plain(value) for name, value in given.items() if value is not None}
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), fspath(path))
    image = Image(_core.load(path, **options), options)
    told({"warnings": image._series.warnings}, stacklevel=3)
    return image


def opened(given: Any) -> Any:
    """What is given, or the image where it is a path."""
    return load(str(given)) if isinstance(given, (str, PathLike)) else given
