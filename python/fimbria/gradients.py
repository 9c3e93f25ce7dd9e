"""Gradient tables: b-values and directions, and the axes that these are in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Optional

import numpy as np
import numpy.typing as npt

DEFAULT_B0_THRESHOLD = 50.0

#: Axes of directions: the scanner's (RAS), those of the voxels, or FSL's, which are the voxels' with x counted
#: the other way where det(affine) > 0. None where nobody said.
Frame = Optional[Literal["scanner", "voxel", "fsl"]]
FRAMES = ("scanner", "voxel", "fsl")


@dataclass(frozen=True, eq=False)
class Gradients:
    """b-values and directions of a series.

    Attributes
    ----------
    bvals : (n,) array
        b in s/mm².
    bvecs : (n, 3) array
        Unit directions; zero where a volume has none. Directions of maps (V1, peaks, tensors) come out in
        the same axes.
    b0_threshold : float
        b at or below which a volume counts as unweighted, s/mm².
    frame : {"scanner", "voxel", "fsl"} or None
        The axes of `bvecs`. What lies in the scanner, such as streamlines, needs it: the table of a file
        (`fimbria.load`) is in scanner axes, DIPY's tables are in voxel axes, of other pairs it must be said.

    Examples
    --------
    >>> table = Gradients([0, 1000], [[0, 0, 0], [1, 0, 0]], frame="voxel")
    >>> table.b0s_mask
    array([ True, False])
    """

    bvals: npt.NDArray[np.float64]
    bvecs: npt.NDArray[np.float64]
    b0_threshold: float = DEFAULT_B0_THRESHOLD
    frame: Frame = None

    def __init__(
        self,
        bvals: npt.ArrayLike,
        bvecs: npt.ArrayLike,
        b0_threshold: float = DEFAULT_B0_THRESHOLD,
        *,
        frame: Frame = None,
    ) -> None:
        if frame is not None and frame not in FRAMES:
            raise ValueError(f"frame is `{frame}`, and must be {', '.join(FRAMES)}")
        b = np.asarray(bvals, dtype=np.float64).ravel()
        dirs = np.asarray(bvecs, dtype=np.float64)
        if dirs.shape == (3, b.size) and b.size != 3:
            dirs = dirs.T
        if dirs.shape != (b.size, 3):
            raise ValueError(f"bvecs has the shape {dirs.shape}, and there are {b.size} b-values")
        # Volumes without weighting have directions of zero or NaN in many files.
        dirs = np.where(np.isfinite(dirs), dirs, 0.0)
        lengths = np.linalg.norm(dirs, axis=1)
        weighted = b > b0_threshold
        wrong = weighted & (np.abs(lengths - 1.0) > 0.05)
        if wrong.any():
            first = int(np.argmax(wrong))
            raise ValueError(
                f"the direction of volume {first} has the length {lengths[first]:.3g}; "
                "weighted volumes have unit directions"
            )
        # A unit vector keeps its bits, so that a table of `fimbria.load` is that of the program.
        is_unit = np.abs(lengths - 1.0) < 1e-12
        dirs = dirs / np.where((lengths > 0.0) & ~is_unit, lengths, 1.0)[:, None]
        object.__setattr__(self, "bvals", b)
        object.__setattr__(self, "bvecs", dirs)
        object.__setattr__(self, "b0_threshold", float(b0_threshold))
        object.__setattr__(self, "frame", frame)

    @property
    def b0s_mask(self) -> npt.NDArray[np.bool_]:
        """True for unweighted volumes."""
        return self.bvals <= self.b0_threshold

    def __len__(self) -> int:
        return self.bvals.size


def as_gradients(gtab: Any) -> Gradients:
    """A table from what users have: `Gradients`, DIPY's `GradientTable` (anything with `.bvals` and
    `.bvecs`), which is in voxel axes, a pair (bvals, bvecs), whose axes are not known, or an MRtrix3 table
    of n rows x y z b, which is in scanner axes.
    """
    if isinstance(gtab, Gradients):
        return gtab
    if hasattr(gtab, "bvals") and hasattr(gtab, "bvecs"):
        threshold = getattr(gtab, "b0_threshold", DEFAULT_B0_THRESHOLD)
        _check_encoding(getattr(gtab, "btens", None), threshold)
        return Gradients(gtab.bvals, gtab.bvecs, threshold, frame="voxel")
    if isinstance(gtab, tuple) and len(gtab) == 2:
        return Gradients(*gtab)
    table = np.asarray(gtab, dtype=np.float64)
    if table.ndim == 2 and table.shape[1] == 4:
        return Gradients(table[:, 3], table[:, :3], frame="scanner")
    raise TypeError(
        "gtab must be a gradient table of fimbria or DIPY, a pair (bvals, bvecs), or an array of rows x y z b"
    )


def _check_encoding(btens: Any, b0_threshold: float) -> None:
    """Refuses a table whose b-tensors [n, 3, 3] are not of rank one, as those of one direction of weighting are.

    As much as a tenth of b may be missing to that: the cross-terms of imaging gradients reach a few percent, planar or
    spherical encoding lacks all of it.
    """
    if btens is None:
        return
    values = np.linalg.eigvalsh(np.asarray(btens, dtype=np.float64))
    allowed = np.maximum(0.1 * values[:, 2], b0_threshold)
    wrong = np.hypot(values[:, 0], values[:, 1]) > allowed
    if wrong.any():
        first = int(np.argmax(wrong))
        raise ValueError(
            f"gtab.btens of volume {first} has the eigenvalues {values[first, ::-1].round(1).tolist()} s/mm²: planar, "
            "spherical or general encoding, and these models are of linear encoding alone (leave such volumes out)"
        )


def to_scanner(frame: Frame, affine: npt.NDArray[np.float64] | None) -> Frame:
    """The axes to turn directions from into the scanner's, of voxels that lie so.

    Raises
    ------
    ValueError
        Where they are not known, and voxels lie in a scanner.
    """
    if frame is None and affine is not None and not np.array_equal(affine[:3, :3], np.eye(3)):
        raise ValueError(
            "the axes of the gradient table are not known, and the voxels lie in a scanner: say "
            "Gradients(bvals, bvecs, frame=...), scanner, voxel or fsl; fimbria.load knows it of files"
        )
    return frame


def turn_of(frame: str, affine: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The orthogonal matrix that takes components in these axes to those in the scanner's."""
    if frame == "scanner":
        return np.eye(3)
    # The polar factor: voxel sizes and shears turn nothing.
    left, _, right = np.linalg.svd(affine[:3, :3] / np.linalg.norm(affine[:3, :3], axis=0))
    flip = -1.0 if frame == "fsl" and np.linalg.det(affine[:3, :3]) > 0 else 1.0
    return left @ right @ np.diag([flip, 1.0, 1.0])
