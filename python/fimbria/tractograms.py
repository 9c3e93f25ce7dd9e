"""Streamlines: in arrays, in files, and for other packages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from os import PathLike, fspath
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from . import _core
from ._given import as_affine
from ._picture import drawn, table
from ._work import Progress, machine, told

Array = npt.NDArray[Any]
T = TypeVar("T", bound="Tractogram")

#: Points of a chunk where nothing is said: 16 MB.
CHUNK_POINTS = 1 << 20


class Tractogram:
    """Streamlines with their data: all points in one array, and where each streamline begins.

    Attributes
    ----------
    points : (n, 3) array of float32
        Points of all streamlines, one after the other, scanner RAS mm.
    offsets : (streamlines + 1,) array
        Streamline i is `points[offsets[i]:offsets[i + 1]]`.
    per_point, per_streamline : dict of arrays
        A row for each point, or for each streamline.
    groups : dict of arrays
        Numbers of streamlines, from 0.
    affine : (4, 4) array or None
        Scanner RAS mm from voxel of the image that they lie on.
    shape : (x, y, z) or None
        Its voxels.

    Examples
    --------
    >>> import numpy as np
    >>> lines = Tractogram(np.zeros((5, 3), np.float32), [0, 2, 5])
    >>> len(lines), lines[1].shape
    (2, (3, 3))
    """

    def __init__(
        self,
        points: npt.ArrayLike,
        offsets: npt.ArrayLike,
        *,
        per_point: Mapping[str, npt.ArrayLike] | None = None,
        per_streamline: Mapping[str, npt.ArrayLike] | None = None,
        groups: Mapping[str, npt.ArrayLike] | None = None,
        affine: npt.ArrayLike | None = None,
        shape: Iterable[int] | None = None,
    ) -> None:
        self.points = np.ascontiguousarray(points, dtype=np.float32)
        self.offsets = np.ascontiguousarray(offsets, dtype=np.uint64)
        if self.points.ndim != 2 or self.points.shape[1] != 3:
            raise ValueError(f"points has the shape {self.points.shape}, and must be (n, 3)")
        ascends = self.offsets.size > 0 and bool((self.offsets[1:] >= self.offsets[:-1]).all())
        if not ascends or self.offsets[0] != 0 or self.offsets[-1] != len(self.points):
            raise ValueError(f"offsets must ascend from 0 to the number of points, which is {len(self.points)}")
        self.per_point = {name: np.asarray(values) for name, values in (per_point or {}).items()}
        self.per_streamline = {name: np.asarray(values) for name, values in (per_streamline or {}).items()}
        self.groups = {name: np.asarray(members, dtype=np.uint32) for name, members in (groups or {}).items()}
        for data, rows, of in ((self.per_point, len(self.points), "point"), (self.per_streamline, len(self), "streamline")):
            for name, values in data.items():
                if len(values) != rows:
                    raise ValueError(f"`{name}` has {len(values)} rows, and there must be one per {of}: {rows}")
        self.affine = None if affine is None else as_affine(affine)
        self.shape = None if shape is None else tuple(int(size) for size in shape)

    @classmethod
    def from_streamlines(
        cls,
        streamlines: Any,
        *,
        affine: npt.ArrayLike | None = None,
        shape: Iterable[int] | None = None,
    ) -> Tractogram:
        """Of arrays [n, 3] in scanner mm, a StatefulTractogram of DIPY, or a tractogram of nibabel.

        What `affine` and `shape` are of is the image that they lie on; a StatefulTractogram has its own.
        """
        if isinstance(streamlines, Tractogram):
            return streamlines
        per_point: dict[str, Array] = {}
        per_streamline: dict[str, Any] = {}
        source = streamlines
        if hasattr(source, "to_rasmm") and hasattr(source, "space_attributes"):
            source = type(source).from_sft(source.streamlines, source)
            source.to_rasmm()
            source.to_center()
            affine, shape = source.space_attributes[:2]
        if hasattr(source, "data_per_streamline") and hasattr(source, "streamlines"):
            per_streamline = dict(streamlines.data_per_streamline)
            per_point = {
                name: np.concatenate([np.asarray(rows) for rows in values]) if len(values) else np.zeros((0, 1))
                for name, values in streamlines.data_per_point.items()
            }
            source = source.streamlines
        parts = [_points(number, one) for number, one in enumerate(source)]
        offsets = np.zeros(len(parts) + 1, dtype=np.uint64)
        np.cumsum([len(one) for one in parts], out=offsets[1:])
        points = np.concatenate(parts) if parts else np.zeros((0, 3), np.float32)
        return cls(
            points, offsets, per_point=per_point, per_streamline=per_streamline, affine=affine, shape=shape
        )

    def __len__(self) -> int:
        return self.offsets.size - 1

    def __getitem__(self, index: Any) -> Any:
        """A streamline's points, a view; or with a slice, a mask or numbers, a tractogram of some."""
        if isinstance(index, (int, np.integer)):
            number = range(len(self))[int(index)]
            return self.points[int(self.offsets[number]) : int(self.offsets[number + 1])]
        chosen = np.arange(len(self))[index]
        first, last = self.offsets[:-1][chosen].astype(np.int64), self.offsets[1:][chosen].astype(np.int64)
        offsets = np.zeros(len(chosen) + 1, dtype=np.uint64)
        np.cumsum(last - first, out=offsets[1:].view(np.int64))
        rows = np.arange(int(offsets[-1])) + np.repeat(first - offsets[:-1].astype(np.int64), last - first)
        places = np.full(len(self), -1)
        places[chosen] = np.arange(len(chosen))
        groups = {name: places[members][places[members] >= 0] for name, members in self.groups.items()}
        return Tractogram(
            self.points[rows],
            offsets,
            per_point={name: values[rows] for name, values in self.per_point.items()},
            per_streamline={name: values[chosen] for name, values in self.per_streamline.items()},
            groups=groups,
            affine=self.affine,
            shape=self.shape,
        )

    def __iter__(self) -> Iterator[Array]:
        for number in range(len(self)):
            yield self[number]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)} streamlines, {len(self.points)} points>"

    def _repr_html_(self) -> str:
        said: dict[str, float] = {"streamlines": len(self), "points": len(self.points)}
        if len(self):
            said["median length, mm"] = float(np.median(self.lengths))
        return f"{drawn(self.points, self.offsets)}{table(said)}"

    @property
    def lengths(self) -> Array:
        """The length of each streamline, mm."""
        steps = np.linalg.norm(np.diff(self.points.astype(np.float64), axis=0), axis=1)
        run = np.concatenate([[0.0], np.cumsum(steps)])
        if not len(self.points):
            return np.zeros(len(self))
        first = self.offsets[:-1].astype(np.int64)
        last = np.maximum(self.offsets[1:].astype(np.int64) - 1, first)
        return run[np.minimum(last, len(run) - 1)] - run[np.minimum(first, len(run) - 1)]

    def _lines(self) -> _core.Lines:
        """For the extension, which reads the points where they lie."""
        grid = None
        if self.affine is not None and self.shape is not None:
            grid = (self.shape, self.affine.tolist())
        groups = [(name, members.tolist()) for name, members in self.groups.items()]
        columns = [[_column(name, v) for name, v in data.items()] for data in (self.per_point, self.per_streamline)]
        return _core.Lines(self.points, self.offsets, columns[0], columns[1], groups, grid)

    def save(
        self,
        path: str | PathLike[str],
        *,
        dtype: str | None = None,
        progress: Progress = None,
    ) -> None:
        """Writes .trx, .tck or .trk, as the name says; the file is there once it is whole.

        TCK holds points alone; TRK and TRX take `affine` and `shape`.

        Parameters
        ----------
        path : path
        dtype : {float16, float32, float64}, optional
            Of the coordinates in the file; float32, and what a TRX had.
        """
        with TractogramWriter(path, like=self, dtype=dtype) as writer:
            writer.write(self, progress=progress)

    def to_trx(self) -> Any:
        """A TrxFile of trx-python, which must be installed."""
        from trx.trx_file_memmap import TrxFile  # pyright: ignore[reportMissingImports]

        return TrxFile.from_lazy_tractogram(_lazy(self), self._reference())

    def to_stateful(self) -> Any:
        """A StatefulTractogram of DIPY, which must be installed; in RAS mm, voxels counted from their centres."""
        from dipy.io.stateful_tractogram import (  # pyright: ignore[reportMissingImports]
            Origin,
            Space,
            StatefulTractogram,
        )

        offsets = self.offsets[1:-1].astype(np.int64)
        per_point = {name: np.split(_rows(v), offsets) for name, v in self.per_point.items()} if len(self) else {}
        per_streamline = {name: _rows(values) for name, values in self.per_streamline.items()}
        return StatefulTractogram(
            self.to_nibabel(),
            self._reference(),
            Space.RASMM,
            origin=Origin.NIFTI,
            data_per_point=per_point,
            data_per_streamline=per_streamline,
        )

    def to_nibabel(self) -> Any:
        """An ArraySequence of nibabel on the same points, without a copy."""
        from nibabel.streamlines import ArraySequence  # pyright: ignore[reportMissingImports]

        sequence = ArraySequence()
        offsets = self.offsets.astype(np.int64)
        sequence._data, sequence._offsets = self.points, offsets[:-1]
        sequence._lengths = np.diff(offsets)
        return sequence

    def _reference(self) -> Any:
        """The image that they lie on, as nibabel has it."""
        if self.affine is None or self.shape is None:
            raise ValueError("the image that the streamlines lie on is not known: set affine and shape")
        import nibabel  # pyright: ignore[reportMissingImports]

        header = nibabel.Nifti1Header()
        header.set_data_shape(self.shape)
        header.set_sform(self.affine, code=1)
        header.set_qform(self.affine, code=1)
        return header


def _points(number: int, given: Any) -> Array:
    """The points of a streamline; nothing at all is a streamline without any."""
    points = np.asarray(given, dtype=np.float32)
    if points.shape == (0,):
        return points.reshape(0, 3)
    if points.ndim != 2 or points.shape[1] != 3:
        raise ValueError(f"streamline {number} has the shape {points.shape}, and must be points (n, 3)")
    return points


def _rows(values: Array) -> Array:
    return values if values.ndim > 1 else values[:, None]


def _lazy(lines: Tractogram) -> Any:
    from nibabel.streamlines.tractogram import (  # pyright: ignore[reportMissingImports]
        LazyTractogram,
        TractogramItem,
    )

    def items() -> Iterator[Any]:
        for number, points in enumerate(lines):
            part = slice(int(lines.offsets[number]), int(lines.offsets[number + 1]))
            per_point = {name: _rows(values)[part] for name, values in lines.per_point.items()}
            per_streamline = {name: _rows(values)[number] for name, values in lines.per_streamline.items()}
            yield TractogramItem(points, per_streamline, per_point)

    return LazyTractogram.from_data_func(items)


def _column(name: str, values: Array) -> tuple[str, str, int, Array]:
    """A column as the extension takes it."""
    if values.dtype == np.bool_:
        values = values.astype(np.uint8)
    width = int(np.prod(values.shape[1:], dtype=np.int64))
    little = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    return name, values.dtype.name, width, little.reshape(-1).view(np.uint8)


def _columns(columns: Iterable[tuple[str, str, int, Array]]) -> dict[str, Array]:
    made = {}
    for name, dtype, width, rows in columns:
        values = rows.view(np.dtype(dtype).newbyteorder("<"))
        made[name] = values if width == 1 else values.reshape(-1, width)
    return made


def parts_of(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a tractogram that the extension made."""
    shape, affine = parts["grid"] or (None, None)
    if affine is not None:
        affine = np.vstack([affine, [0.0, 0.0, 0.0, 1.0]])
    return {
        "points": parts["points"],
        "offsets": parts["offsets"],
        "per_point": _columns(parts["per_point"]),
        "per_streamline": _columns(parts["per_streamline"]),
        "groups": dict(parts["groups"]),
        "affine": affine,
        "shape": shape,
    }


class TractogramReader:
    """A file of streamlines, read a chunk after the other: for what does not fit memory.

    Attributes
    ----------
    n_streamlines, n_points : int or None
        Where the file says so.
    affine, shape, groups
        As a `Tractogram` has them.

    Examples
    --------
    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "lines.tck")
    >>> Tractogram([[0, 0, 0], [1, 0, 0]], [0, 2]).save(path)
    >>> sum(len(chunk) for chunk in open_tractogram(path))
    1
    """

    def __init__(self, path: str | PathLike[str], points: int = CHUNK_POINTS) -> None:
        self.path = fspath(path)
        self._points = points
        head = _core.LineFile(path).head
        self.n_streamlines: int | None = head["n_streamlines"]
        self.n_points: int | None = head["n_points"]
        shape, affine = head["grid"] or (None, None)
        self.shape: tuple[int, ...] | None = None if shape is None else tuple(shape)
        self.affine = None if affine is None else np.vstack([affine, [0.0, 0.0, 0.0, 1.0]])
        self.groups = {name: np.asarray(members, dtype=np.uint32) for name, members in head["groups"]}

    def __iter__(self) -> Iterator[Tractogram]:
        file = _core.LineFile(self.path)
        while (parts := file.next_chunk(self._points)) is not None:
            # Groups count streamlines of the whole file.
            parts["groups"] = []
            yield Tractogram(**parts_of(parts))
        told({"warnings": file.doubts()}, stacklevel=3)

    def __repr__(self) -> str:
        return f"<fimbria.TractogramReader {self.path}>"


def open_tractogram(path: str | PathLike[str], points: int = CHUNK_POINTS) -> TractogramReader:
    """Opens a TRX, TCK or TRK, to be read in chunks of so many points or a little more.

    Parameters
    ----------
    path : path
        Of any of these formats, told by its content; a folder of TRX too.
    points : int
        What a chunk holds takes about 16 bytes a point.

    Returns
    -------
    TractogramReader
        `for chunk in reader` gives tractograms; each loop begins anew.

    Examples
    --------
    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "lines.tck")
    >>> Tractogram([[0, 0, 0], [1, 0, 0], [3, 0, 0]], [0, 3]).save(path)
    >>> [len(chunk.points) for chunk in open_tractogram(path)]
    [3]
    """
    return TractogramReader(path, points)


def load_tractogram(path: str | PathLike[str]) -> Tractogram:
    """Reads a TRX, TCK or TRK whole.

    Parameters
    ----------
    path : path
        Of any of these formats, told by its content; a folder of TRX too.

    Returns
    -------
    Tractogram
        Points in scanner RAS mm, whatever the file has them in.

    Raises
    ------
    FimbriaError
        Where it cannot be read or contradicts itself.

    Examples
    --------
    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "lines.tck")
    >>> Tractogram([[0, 0, 0], [1, 0, 0], [3, 0, 0]], [0, 3]).save(path)
    >>> load_tractogram(path).lengths.tolist()
    [3.0]
    """
    return _whole(open_tractogram(path))


class _Rows:
    """An array that grows where it lies."""

    def __init__(self, expected: int) -> None:
        self._expected, self._n = expected, 0
        self._rows: Array | None = None

    def add(self, rows: Array) -> None:
        n = self._n + len(rows)
        if self._rows is None:
            if len(rows) >= self._expected:
                # All there is: its memory is taken over.
                self._rows, self._n = rows, n
                return
            self._rows = np.empty((self._expected, *rows.shape[1:]), rows.dtype)
        if n > len(self._rows):
            # A quarter more at a time, so that little is held for nothing.
            self._rows = _longer(self._rows, max(n, len(self._rows) + len(self._rows) // 4))
        self._rows[self._n : n] = rows
        self._n = n

    def all(self) -> Array | None:
        return None if self._rows is None else _longer(self._rows, self._n)


def _longer(rows: Array, n: int) -> Array:
    """The same with n rows; without a copy where the memory is its own."""
    if n <= len(rows):
        return rows[:n]
    if not rows.flags.owndata:
        rows = rows.copy()
    rows.resize((n, *rows.shape[1:]), refcheck=False)
    return rows


def _whole(reader: TractogramReader) -> Tractogram:
    points, offsets = _Rows(reader.n_points or 0), _Rows(reader.n_streamlines or 0)
    data: tuple[dict[str, _Rows], dict[str, _Rows]] = ({}, {})
    end = np.uint64(0)
    for chunk in reader:
        points.add(chunk.points)
        offsets.add(chunk.offsets[1:] + end)
        end += chunk.offsets[-1]
        sizes = (reader.n_points or 0, reader.n_streamlines or 0)
        for made, columns, size in zip(data, (chunk.per_point, chunk.per_streamline), sizes):
            for name, rows in columns.items():
                made.setdefault(name, _Rows(size)).add(rows)
    all_points, ends = points.all(), offsets.all()
    per_point, per_streamline = ({name: rows.all() for name, rows in made.items()} for made in data)
    return Tractogram(
        np.zeros((0, 3), np.float32) if all_points is None else all_points,
        np.concatenate([np.zeros(1, np.uint64), np.zeros(0, np.uint64) if ends is None else ends]),
        per_point={name: rows for name, rows in per_point.items() if rows is not None},
        per_streamline={name: rows for name, rows in per_streamline.items() if rows is not None},
        groups=reader.groups,
        affine=reader.affine,
        shape=reader.shape,
    )


class TractogramWriter:
    """A file of streamlines, written a tractogram after the other; whole once it is left.

    Parameters
    ----------
    path : path
        .trx, .tck or .trk.
    like : Tractogram
        With the data, the groups and the image of all that follow.
    dtype : {float16, float32, float64}, optional
        Of the coordinates.

    Examples
    --------
    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "lines.tck")
    >>> part = Tractogram([[0, 0, 0], [1, 0, 0]], [0, 2])
    >>> with TractogramWriter(path, like=part) as writer:
    ...     writer.write(part)
    ...     writer.write(part)
    >>> len(load_tractogram(path))
    2
    """

    def __init__(self, path: str | PathLike[str], *, like: Tractogram, dtype: str | None = None) -> None:
        needs_image = fspath(path).lower().endswith((".trx", ".trk"))
        if needs_image and (like.affine is None or like.shape is None):
            raise ValueError(f"{fspath(path)} names the image that its streamlines lie on: set affine and shape")
        self._writer = _core.LineWriter(path, like._lines(), dtype)

    def write(self, lines: Tractogram, *, progress: Progress = None) -> None:
        """Appends streamlines with the same data."""
        with machine(1, None, progress) as on:
            self._writer.write(lines._lines(), on)

    def close(self) -> None:
        """Makes the file whole and gives it its name."""
        self._writer.finish()

    def __enter__(self) -> TractogramWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.close()
        finally:
            # An interrupt may come before the file is closed.
            self._writer.abandon()
