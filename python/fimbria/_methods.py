"""What the methods take and give; how they are called is in `methods`, made from `fimbria describe`."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from ._work import Progress, as_json, worked
from .fits import Fit, field_of, in_shape, series_of, table_of
from .images import Image, opened
from .tractograms import Tractogram, load_tractogram, parts_of

Array = npt.NDArray[Any]


class Maps:
    """Maps by name, and as attributes.

    Attributes
    ----------
    maps : dict of arrays
        Of the shape of the voxels, followed by volumes where they have several.
    affine : (4, 4) array
        Scanner RAS mm from voxel.
    counts : dict
        What the work counted.
    """

    def __init__(self, made: Mapping[str, Any], affine: Array, shape: tuple[int, ...]) -> None:
        self.maps: dict[str, Array] = in_shape(made["maps"], shape)
        self.affine = affine
        self.counts: dict[str, float] = made["counts"]

    def __getattr__(self, name: str) -> Array:
        maps = self.__dict__.get("maps", {})
        if name in maps:
            return maps[name]
        raise AttributeError(f"there is no `{name}`; the maps are {', '.join(maps)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.maps]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {', '.join(self.maps)}>"


class Peaks(Maps):
    """Fibre directions: `peak_dirs`, `peak_values`, `count`, `status`, as DIPY names them."""

    @property
    def directions(self) -> Array:
        """Directions in scanner axes, length = value, NaN where there is none: [..., n, 3]."""
        peaks = self.maps["peaks"]
        return peaks.reshape(*peaks.shape[:-1], -1, 3)

    @property
    def peak_dirs(self) -> Array:
        """Unit directions, zero where there is none: [..., n, 3]."""
        directions = np.nan_to_num(self.directions)
        lengths = np.linalg.norm(directions, axis=-1, keepdims=True)
        return np.divide(directions, lengths, out=np.zeros_like(directions), where=lengths > 0)

    @property
    def peak_values(self) -> Array:
        """Values in them, the largest first, zero where there is none: [..., n]."""
        values = self.maps["values"]
        return np.nan_to_num(values if values.ndim > self.maps["count"].ndim else values[..., None])


class Sticks(Maps):
    """Samples of ball and sticks, to track through, and their maps: `dyads1`, `mean_f1samples`, ..."""

    def __init__(self, made: Mapping[str, Any], affine: Array, shape: tuple[int, ...]) -> None:
        super().__init__(made, affine, shape)
        self._samples: _core.Samples = made["samples"]

    @property
    def n_fibres(self) -> int:
        """Fibres in each sample."""
        return self._samples.n_fibres

    @property
    def n_samples(self) -> int:
        """Samples of each voxel."""
        return self._samples.n_samples

    def samples(self, fibre: int) -> tuple[Array, Array]:
        """Of a fibre from 0: unit directions [..., sample, 3] in scanner axes, and fractions [..., sample]."""
        directions, fractions = self._samples.fibre(fibre)
        voxels = self._samples.shape
        return directions.reshape(*voxels, -1, 3), fractions.reshape(*voxels, -1)


class Tracks(Tractogram):
    """What was tracked: streamlines, and what was counted of them.

    Attributes
    ----------
    visits : array [x, y, z]
        Streamlines through each voxel, each counted once.
    kept : list of int
        Streamlines kept of each region of seeds.
    reached : list
        Of each target, how many of each seed reach it: a map [x, y, z] of seeds that are voxels, else None.
    reached_by_points : list
        The same of seeds that are points or vertices: of each target, a list of counts for each region.
    network : array or None
        With `network`, streamlines from region (row) to region (column).
    counts : dict
        How many samples were made, and why they ended.
    """

    def __init__(self, made: Mapping[str, Any]) -> None:
        super().__init__(**parts_of(made["lines"]))
        self.visits: Array = made["visits"]
        self.kept: list[int] = made["kept"]
        self.reached: list[Array | None] = made["reached"]
        self.reached_by_points: list[list[list[int]]] = made["reached_by_points"]
        self.network = None if made["network"] is None else np.array(made["network"])
        self.counts: dict[str, float] = made["counts"]


class Evaluation(Maps):
    """What streamlines explain of a series: `weights`, `errors`, `lesions`, and maps.

    Attributes
    ----------
    weights : (streamlines,) array of float32
        Zero for those that the signal does not ask for.
    lesions : dict
        Of all streamlines and of each group, what the signal of their voxels loses without them.
    """

    def __init__(self, made: Mapping[str, Any], affine: Array, shape: tuple[int, ...]) -> None:
        super().__init__(made, affine, shape)
        self.weights: Array = made["weights"]
        self.lesions: dict[str, dict[str, float]] = made["lesions"]

    @property
    def errors(self) -> Array:
        """Root mean squared error of the predicted signal in each voxel, in units of the signal."""
        return self.maps["rmse"]


class Fields(Maps):
    """What a scan of phase gives: `total_field`, `local_field` (ppm of B0), `mask`, `quality`, and `r2star` (1/s)."""

    def __init__(self, made: Mapping[str, Any], affine: Array, shape: tuple[int, ...], b0: Mapping[str, Any]) -> None:
        super().__init__(made, affine, shape)
        #: how B0 was said to lie, for `qsm`
        self._b0 = {name: value for name, value in b0.items() if value is not None}


class Susceptibility(Maps):
    """A map of susceptibility: `chi` in ppm, and of tensors `msa`.

    Attributes
    ----------
    iterations : (n, 6) array
        Number, rms of the map (ppm), relative change, data term, penalty, relative gradient.
    stopped : str or None
        Why the iteration ended.
    metrics : dict or None
        How near the map is to the truth that was given.
    """

    def __init__(self, made: Mapping[str, Any], affine: Array, shape: tuple[int, ...]) -> None:
        super().__init__(made, affine, shape)
        self.iterations: Array = made["iterations"]
        self.stopped: str | None = made["stopped"]
        self.metrics: dict[str, float] | None = made["metrics"]


class StreamlineWeights:
    """Weights of streamlines, by the density of fibres.

    Attributes
    ----------
    weights : (streamlines,) array of float32
        Zero for those that pass no fibres.
    mu : float
        What turns weight times length (mm) in a voxel into density of fibres.
    iterations : (n, 2) array
        Objective, and misfit of densities over the densities, before the first iteration and after each.
    counts : dict
        How many streamlines there are, and how many passed no fibres.
    """

    def __init__(self, made: Mapping[str, Any]) -> None:
        self.weights: Array = made["weights"]
        self.mu: float = made["mu"]
        self.iterations: Array = made["iterations"]
        self.counts: dict[str, float] = made["counts"]

    def __repr__(self) -> str:
        return f"<StreamlineWeights of {len(self.weights)} streamlines>"


class Connectome:
    """Matrices between labels.

    Attributes
    ----------
    weights : (n, n) array
        Numbers of streamlines, or sums of their weights.
    lengths : (n, n) array
        Their mean length, mm.
    labels : (n,) array
        The label of each row and column.
    counts : dict
        How many streamlines there are, and how many were assigned.
    """

    def __init__(self, made: Mapping[str, Any]) -> None:
        self.weights: Array = made["weights"]
        self.lengths: Array = made["lengths"]
        self.labels: Array = made["labels"]
        self.counts: dict[str, float] = made["counts"]

    def __repr__(self) -> str:
        return f"<Connectome of {len(self.labels)} labels>"


def _function(
    directions: Any,
    sh_basis: str | None,
    frame: str | None,
    mask: npt.ArrayLike | None,
    affine: npt.ArrayLike | None,
) -> tuple[dict[str, Any], Array, tuple[int, ...]]:
    """What the extension takes for a function on the sphere."""
    if isinstance(directions, Fit):
        name = next((name for name in ("fod", "hot") if name in directions.maps), None)
        if name is None:
            raise TypeError(f"a fit of {directions.name} has no function on the sphere; fod and hot have one")
        mask = directions.status > 0 if mask is None else mask
        affine = directions.affine if affine is None else affine
        sh_basis = "mrtrix" if name == "fod" else sh_basis
        directions = directions.maps[name]
    field, used, shape = field_of(directions, mask, affine)
    return {"field": field, "basis": sh_basis, "frame": frame}, used, shape


def peaks(
    directions: Any,
    *,
    sh_basis: str | None,
    frame: str | None,
    mask: npt.ArrayLike | None,
    affine: npt.ArrayLike | None,
    options: Mapping[str, Any],
    threads: int,
    device: str | None,
    progress: Progress,
) -> Peaks:
    function, used, shape = _function(directions, sh_basis, frame, mask, affine)
    made = worked(lambda on: _core.peaks(function, as_json(options), on), threads, device, progress)
    return Peaks(made, used, shape)


def sample_sticks(
    data: Any,
    gtab: Any,
    *,
    mask: npt.ArrayLike | None,
    affine: npt.ArrayLike | None,
    options: Mapping[str, Any],
    threads: int,
    device: str | None,
    progress: Progress,
) -> Sticks:
    series, used, shape = series_of(data, table_of(data, gtab), mask, affine)
    made = worked(lambda on: _core.sample_sticks(series, as_json(options), on), threads, device, progress)
    return Sticks(made, used, shape)


def _region(name: str, given: Any, affine: Array) -> Any:
    """A region as the extension takes it."""
    if isinstance(given, (str, PathLike)):
        return given
    if hasattr(given, "dataobj") and hasattr(given, "affine"):
        affine, given = np.asarray(given.affine, dtype=np.float64), np.asanyarray(given.dataobj)
    elif isinstance(given, Image):
        affine, given = given.affine, given.read()
    values = np.asarray(given)
    if values.ndim == 2 and values.shape[1] == 3:
        return (name, np.ascontiguousarray(values, dtype=np.float32))
    if values.ndim != 3:
        raise ValueError(f"{name} has the shape {values.shape}: it must be voxels (x, y, z) or points (n, 3)")
    return (name, values > 0, affine.tolist())


def _regions(name: str, given: Any, affine: Array) -> list[Any]:
    if given is None:
        return []
    several = isinstance(given, (list, tuple)) and any(
        isinstance(one, (str, PathLike, np.ndarray, Image)) or hasattr(one, "dataobj") for one in given
    )
    if not several:
        return [_region(name, given, affine)]
    return [_region(f"{name}[{i}]", one, affine) for i, one in enumerate(given)]


def track(
    directions: Any,
    seeds: Any,
    *,
    sh_basis: str | None,
    hot: bool,
    frame: str | None,
    dispersion: float,
    mask: npt.ArrayLike | None,
    affine: npt.ArrayLike | None,
    include: Any,
    in_order: bool,
    exclude: Any,
    stop: Any,
    target: Any,
    network: bool,
    act: Any,
    options: Mapping[str, Any],
    threads: int,
    device: str | None,
    progress: Progress,
) -> Tracks:
    is_function = isinstance(directions, Fit) or hot or sh_basis is not None
    unused = []
    if isinstance(directions, Sticks):
        used, medium = directions.affine, directions._samples
        unused = [("mask", mask is not None), ("frame", frame is not None), ("affine", affine is not None)]
        unused += [("hot", hot), ("sh_basis", sh_basis is not None), ("dispersion", bool(dispersion))]
    elif is_function:
        if hot and sh_basis is not None:
            raise ValueError("hot and sh_basis exclude each other: entries are no harmonics")
        medium, used, _ = _function(directions, sh_basis, frame, mask, affine)
        unused = [("dispersion", bool(dispersion))]
    else:
        if isinstance(directions, Peaks):
            affine = directions.affine if affine is None else affine
            directions = np.nan_to_num(directions.maps["peaks"])
        elif not isinstance(directions, Image):
            affine = getattr(directions, "affine", None) if affine is None else affine
            directions = np.asanyarray(getattr(directions, "dataobj", directions))
            if directions.ndim == 5 and directions.shape[-1] == 3:
                directions = directions.reshape(*directions.shape[:3], -1)
        if directions.shape[-1] % 3 or len(directions.shape) != 4:
            raise ValueError(
                f"directions has the shape {directions.shape}: peaks are (x, y, z, n, 3) or (x, y, z, 3n); "
                "of harmonics say sh_basis, of unique entries hot"
            )
        field, used, _ = field_of(directions, mask, affine)
        medium = (field, frame or "scanner", float(dispersion))
    for name, is_given in unused:
        if is_given:
            raise ValueError(f"{name} has no use with these directions: leave it out")
    starts = _regions("seeds", seeds, used)
    if not starts:
        raise ValueError("there are no seeds: give a mask, points, or files")
    regions = {
        "seeds": starts,
        "include": _regions("include", include, used),
        "in_order": in_order,
        "exclude": _regions("exclude", exclude, used),
        "stop": _regions("stop", stop, used),
        "target": _regions("target", target, used),
        "network": network,
    }
    tissues = None
    if isinstance(act, (str, PathLike)):
        options = {**options, "act": str(act)}
    elif act is not None:
        if not isinstance(act, Image):
            used = np.asarray(getattr(act, "affine", used), dtype=np.float64)
            act = np.asanyarray(getattr(act, "dataobj", act))
            act = act[..., None] if act.ndim == 3 else act
        tissues, _, _ = field_of(act, None, used)
    made = worked(lambda on: _core.track(medium, regions, tissues, as_json(options), on), threads, device, progress)
    return Tracks(made)


def _volumes(
    name: str, given: Any, mask: npt.ArrayLike | None, affine: npt.ArrayLike | None
) -> tuple[dict[str, Any], Array, tuple[int, ...]]:
    """Images as the extension takes them, of one volume too."""
    given = opened(given)
    if isinstance(given, Image):
        return field_of(given, mask, given.affine)
    own = getattr(given, "affine", affine)
    array = np.asanyarray(getattr(given, "dataobj", given))
    array = array[..., None] if array.ndim == 3 else array
    if array.ndim != 4:
        raise ValueError(f"{name} has the shape {array.shape}, and must have the axes x, y, z")
    return field_of(array, mask, own)


def local_field(
    phase: Any,
    *,
    magnitude: Any,
    mask: npt.ArrayLike | None,
    affine: npt.ArrayLike | None,
    options: Mapping[str, Any],
    threads: int,
    progress: Progress,
) -> Fields:
    field, used, shape = _volumes("phase", phase, mask, affine)
    beside = None
    if magnitude is not None:
        beside, _, echoes = _volumes("magnitude", magnitude, None, used)
        if echoes != shape:
            raise ValueError(f"magnitude has the voxels {echoes}, and the phase {shape}")
    made = worked(lambda on: _core.local_field(field, beside, as_json(options), on), threads, None, progress)
    return Fields(made, used, shape, {name: options[name] for name in ("b0_dir", "b0_dir_vox")})


def qsm(
    field: Any,
    *,
    mask: npt.ArrayLike | None,
    v1: Any,
    fa: Any,
    md: Any,
    s0: Any,
    weights: Any,
    magnitude: Any,
    two_pass: Any,
    truth: Any,
    reference: Any,
    affine: npt.ArrayLike | None,
    options: Mapping[str, Any],
    threads: int,
    device: str | None,
    progress: Progress,
) -> Susceptibility:
    if isinstance(field, Fields):
        if options["b0_dir"] is None and options["b0_dir_vox"] is None:
            options = {**options, **field._b0}
        mask = field.mask > 0 if mask is None else mask
        affine = field.affine if affine is None else affine
        field = field.local_field
    is_guided = v1 is not None and options["method"] in (None, "dtv")
    if not is_guided and (md is not None or s0 is not None):
        raise ValueError("md and s0 guide the method dtv along v1: without these they have no use")
    numbers, used, shape = _volumes("field", field, mask, affine)
    given = {
        "v1": v1, "fa": fa, "md": md, "s0": s0, "weights": weights, "magnitude": magnitude, "two_pass": two_pass,
        "truth": truth, "reference": reference,
    }
    beside = {name: None if one is None else _volumes(name, one, None, used)[0] for name, one in given.items()}
    made = worked(lambda on: _core.qsm(numbers, beside, as_json(options), on), threads, device, progress)
    return Susceptibility(made, used, shape)


def _tractogram(given: Any) -> Tractogram:
    if isinstance(given, (str, PathLike)):
        return load_tractogram(str(given))
    return Tractogram.from_streamlines(given)


def life(
    tractogram: Any,
    data: Any,
    gtab: Any,
    *,
    mask: npt.ArrayLike | None,
    affine: npt.ArrayLike | None,
    options: Mapping[str, Any],
    threads: int,
    device: str | None,
    progress: Progress,
) -> Evaluation:
    series, used, shape = series_of(data, table_of(data, gtab), mask, affine)
    if len(shape) != 3:
        raise ValueError(f"data has the voxels {shape}: streamlines lie on three axes")
    made = worked(lambda on: _core.life(_tractogram(tractogram)._lines(), series, as_json(options), on), threads, device, progress)
    return Evaluation(made, used, shape)


def connectome(
    tractogram: Any,
    labels: Any,
    *,
    weights: npt.ArrayLike | str | None,
    affine: npt.ArrayLike | None,
    options: Mapping[str, Any],
    threads: int,
    progress: Progress,
) -> Connectome:
    lines = _tractogram(tractogram)
    column = weights if isinstance(weights, str) else None
    if weights is not None and column is None:
        column = "weights"
        values = np.asarray(weights, dtype=np.float64).ravel()
        lines = Tractogram(lines.points, lines.offsets, per_streamline={column: values})
    elif column is not None and column not in lines.per_streamline:
        known = ", ".join(lines.per_streamline) or "none"
        raise ValueError(f"the streamlines have no data `{column}`; they have {known}")
    field, _, _ = _volumes("labels", labels, None, affine)
    made = worked(lambda on: _core.connectome(lines._lines(), field, as_json({**options, "weights": column}), on), threads, None, progress)
    return Connectome(made)


def sift2(
    tractogram: Any,
    densities: Any,
    *,
    sh_basis: str | None,
    frame: str | None,
    mask: npt.ArrayLike | None,
    affine: npt.ArrayLike | None,
    act: str | PathLike[str] | None,
    options: Mapping[str, Any],
    threads: int,
    progress: Progress,
) -> StreamlineWeights:
    function, _, _ = _function(densities, sh_basis, frame, mask, affine)
    lines = _tractogram(tractogram)._lines()
    made = worked(lambda on: _core.sift2(lines, function, act, as_json(options), on), threads, None, progress)
    return StreamlineWeights(made)
