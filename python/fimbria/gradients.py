"""Gradient tables: b-values and directions, and the axes that these are in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

DEFAULT_B0_THRESHOLD = 50.0


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

    Examples
    --------
    >>> table = Gradients([0, 1000], [[0, 0, 0], [1, 0, 0]])
    >>> table.b0s_mask
    array([ True, False])
    """

    bvals: npt.NDArray[np.float64]
    bvecs: npt.NDArray[np.float64]
    b0_threshold: float = DEFAULT_B0_THRESHOLD

    def __init__(
        self,
        bvals: npt.ArrayLike,
        bvecs: npt.ArrayLike,
        b0_threshold: float = DEFAULT_B0_THRESHOLD,
    ) -> None:
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

    @property
    def b0s_mask(self) -> npt.NDArray[np.bool_]:
        """True for unweighted volumes."""
        return self.bvals <= self.b0_threshold

    def __len__(self) -> int:
        return self.bvals.size


def as_gradients(gtab: Any) -> Gradients:
    """A table from what users have: `Gradients`, DIPY's `GradientTable` (anything with `.bvals` and
    `.bvecs`), a pair (bvals, bvecs), or an MRtrix3 table of n rows x y z b.
    """
    if isinstance(gtab, Gradients):
        return gtab
    if hasattr(gtab, "bvals") and hasattr(gtab, "bvecs"):
        threshold = getattr(gtab, "b0_threshold", DEFAULT_B0_THRESHOLD)
        return Gradients(gtab.bvals, gtab.bvecs, threshold)
    if isinstance(gtab, tuple) and len(gtab) == 2:
        return Gradients(*gtab)
    table = np.asarray(gtab, dtype=np.float64)
    if table.ndim == 2 and table.shape[1] == 4:
        return Gradients(table[:, 3], table[:, :3])
    raise TypeError(
        "gtab must be a gradient table of fimbria or DIPY, a pair (bvals, bvecs), or an array of rows x y z b"
    )
