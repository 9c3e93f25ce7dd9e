"""Eigenpairs of symmetric tensors of any order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, overload

import numpy as np
import numpy.typing as npt

from . import _core
from ._work import Progress, machine


@dataclass(frozen=True)
class Eigenpair:
    """A real Z-eigenpair: A x^(m-1) = λ x with |x| = 1."""

    value: float
    vector: npt.NDArray[np.float64]
    #: maximum, minimum or saddle of A x^m on the sphere
    kind: str
    #: |A x^(m-1) - λ x|, relative to the Frobenius norm of A
    residual: float
    #: part of a continuum, or a multiple one
    degenerate: bool


class Eigenpairs(list[Eigenpair]):
    """The pairs of one tensor; `complete` is false where the count says that some are missing."""

    complete: bool = True


@overload
def eigenpairs(
    tensor: npt.ArrayLike,
    *,
    batch: Literal[False] = False,
    starts: int | None = None,
    seed: int = 0,
    tolerance: float = 1e-12,
    threads: int = 0,
    progress: Progress = None,
) -> Eigenpairs: ...
@overload
def eigenpairs(
    tensor: npt.ArrayLike,
    *,
    batch: Literal[True],
    starts: int | None = None,
    seed: int = 0,
    tolerance: float = 1e-12,
    threads: int = 0,
    progress: Progress = None,
) -> list[Eigenpairs]: ...
def eigenpairs(
    tensor: npt.ArrayLike,
    *,
    batch: bool = False,
    starts: int | None = None,
    seed: int = 0,
    tolerance: float = 1e-12,
    threads: int = 0,
    progress: Progress = None,
) -> Eigenpairs | list[Eigenpairs]:
    """All real eigenpairs of a symmetric tensor, or of each of a batch.

    Parameters
    ----------
    tensor : array [d, d, ..., d]
        A symmetric tensor of order m in d dimensions; with `batch` the first axis counts tensors.
    starts : int, optional
        Starts to follow for each tensor; by default as many as seem needed.
    seed : int
        Of the random starts.
    tolerance : float
        Largest residual of a pair, relative to the norm of the tensor.

    Returns
    -------
    Eigenpairs
        Sorted, a list of them for a batch.

    Notes
    -----
    Kolda and Mayo, "Shifted power method for computing tensor eigenpairs" (2011), followed by Newton's
    method; the count is balanced by the Euler characteristic of the sphere.

    Examples
    --------
    >>> import numpy as np
    >>> pairs = eigenpairs(np.diag([3.0, 2.0, 1.0]), threads=1)
    >>> [round(pair.value, 12) for pair in pairs]
    [3.0, 2.0, 1.0]
    """
    tensors = np.asarray(tensor, dtype=np.float64)
    if not batch:
        tensors = tensors[None]
    order, sizes = tensors.ndim - 1, set(tensors.shape[1:])
    if order < 2 or len(sizes) != 1:
        raise ValueError(f"a symmetric tensor has two or more axes of one size, not {tensors.shape[1:]}")
    size = sizes.pop()
    scale = np.abs(tensors).max(initial=0.0)
    for axes in _generators(order):
        turned = tensors.transpose(0, *(1 + axis for axis in axes))
        if np.abs(tensors - turned).max(initial=0.0) > 1e-10 * scale:
            raise ValueError("the tensor is not symmetric: entries with permuted indices differ")
    classes = np.array(_core.index_classes(order, size))
    entries = np.ascontiguousarray(tensors[(slice(None), *classes.T)])
    with machine(threads, None, progress) as on:
        found = _core.eigenpairs(entries, order, size, starts, seed, tolerance, on)
    all_: list[Eigenpairs] = []
    for pairs, complete in found:
        one = Eigenpairs(Eigenpair(v, np.array(x), kind, r, degenerate) for v, x, kind, r, degenerate in pairs)
        one.complete = complete
        all_.append(one)
    return all_ if batch else all_[0]


def _generators(order: int) -> list[tuple[int, ...]]:
    """Swaps of neighbouring axes, which make all permutations."""
    swaps = []
    for axis in range(order - 1):
        axes = list(range(order))
        axes[axis], axes[axis + 1] = axes[axis + 1], axes[axis]
        swaps.append(tuple(axes))
    return swaps
