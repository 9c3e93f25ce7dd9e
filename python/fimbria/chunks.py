"""Tracking of more streamlines than memory holds."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from typing import Any

import numpy as np

from .images import Image, load
from .methods import Tracks, track

__all__ = ["track_chunks"]


def track_chunks(directions: Any, seeds: Any, *, seeds_at_once: int = 10_000, **options: Any) -> Iterator[Tracks]:
    """Tracks from some voxels of the seeds at a time; together they are what `track` gives at once.

    Parameters
    ----------
    directions : data
        As of `track`; handed over anew for each chunk.
    seeds : data
        Voxels above zero of an array [x, y, z], of an image, or of its path.
    seeds_at_once : int
        Voxels of a chunk.
    options
        Those of `track`, other than `select`, which counts over all seeds.

    Yields
    ------
    Tracks
        In the order of seeds. Random numbers depend on the voxel and not on the chunk.

    Examples
    --------
    >>> import numpy as np
    >>> along_x = np.zeros((30, 3, 3, 1, 3), np.float32)
    >>> along_x[..., 0] = 1.0
    >>> chunks = track_chunks(along_x, np.ones((30, 3, 3)), seeds_at_once=100, samples=1, threads=1)
    >>> [len(tracks) for tracks in chunks]
    [100, 100, 70]
    """
    if options.get("select") is not None:
        raise ValueError("select counts over all seeds: use samples, or track")
    if seeds_at_once < 1:
        raise ValueError(f"seeds_at_once is {seeds_at_once} and must be 1 or more")
    if isinstance(seeds, (str, PathLike)):
        seeds = load(str(seeds))
    if isinstance(seeds, Image):
        values = seeds.read()
    else:
        values = np.asarray(getattr(seeds, "dataobj", seeds))
    if values.ndim != 3:
        raise ValueError(f"seeds has the shape {values.shape}: chunks are of voxels (x, y, z)")
    affine = getattr(seeds, "affine", None)
    # The first axis varies fastest, as everywhere in files.
    voxels = np.flatnonzero(values.ravel(order="F") > 0)
    if voxels.size == 0:
        raise ValueError("seeds has no voxel above zero")
    for first in range(0, voxels.size, seeds_at_once):
        some = np.zeros(values.size, dtype=np.uint8)
        some[voxels[first : first + seeds_at_once]] = 1
        chunk: Any = some.reshape(values.shape, order="F")
        if affine is not None:
            chunk = _Placed(chunk, affine)
        yield track(directions, chunk, **options)


class _Placed:
    """An array with its place, as images of nibabel have it."""

    def __init__(self, dataobj: Any, affine: Any) -> None:
        self.dataobj = dataobj
        self.affine = affine
