"""What the methods take and give; how they are called is in `methods`, made from `fimbria describe`."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fsdecode
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _core
from ._given import Voxels, as_affine
from ._picture import coloured, matrix, picture, table
from ._spheres import along, anisotropy_of_entries, anisotropy_of_harmonics
from ._work import Progress, as_json, worked
from .fits import Fit, Place, field_of, in_shape, readable, series_of, table_of
from .gradients import to_scanner, turn_of
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

    def __init__(self, made: Mapping[str, Any], place: Place, shape: tuple[int, ...]) -> None:
        self.maps: dict[str, Array] = in_shape(made["maps"], shape)
        self._affine = place
        self.counts: dict[str, float] = made["counts"]

    def __getattr__(self, name: str) -> Array:
        maps = self.__dict__.get("maps", {})
        if name in maps:
            return maps[name]
        raise AttributeError(f"there is no `{name}`; the maps are {', '.join(maps)}")

    @property
    def affine(self) -> Array:
        """Scanner RAS mm from voxel; the identity where nobody said."""
        return np.eye(4) if self._affine is None else self._affine

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.maps]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {', '.join(self.maps)}>"


class Peaks(Maps):
    """Fibre directions: `peak_dirs`, `peak_values`, `count`, `status`, as DIPY names them, in scanner axes.

    `to_pam()` makes DIPY's own of them where that is installed.
    """

    def __init__(self, made: Mapping[str, Any], place: Place, shape: tuple[int, ...], function: Mapping[str, Any]) -> None:
        super().__init__(made, place, shape)
        given = function["field"]["data"]
        self._coefficients: Array = given.read() if isinstance(given, _core.Series) else given
        self._basis: str | None = function["basis"]
        self._frame: str = function["frame"] or ("voxel" if (self._basis or "").startswith("dipy") else "scanner")

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

    @property
    def shm_coeff(self) -> Array | None:
        """The harmonics that they are maxima of, in the basis and axes that were given; None of unique entries."""
        return None if self._basis is None else self._coefficients.reshape(*self.count.shape, -1)

    @property
    def gfa(self) -> Array:
        """Generalised fractional anisotropy of the function, 0 to 1: √(1 - mean² / mean square)."""
        of = anisotropy_of_entries if self._basis is None else anisotropy_of_harmonics
        inside = self.maps["status"] > 0
        return np.where(inside, of(self._coefficients).reshape(inside.shape), 0)

    @property
    def sphere(self) -> Any:
        """DIPY's sphere of 362 points, whose numbers `peak_indices` are; DIPY must be installed."""
        from dipy.data import default_sphere  # pyright: ignore[reportMissingImports]

        return default_sphere

    @property
    def peak_indices(self) -> Array:
        """The points of `sphere` that are nearest to `peak_dirs`, -1 where there is no peak: [..., n]."""
        return _nearest(self.peak_dirs, self.sphere)

    def to_pam(self) -> Any:
        """PeaksAndMetrics of DIPY, which must be installed: in voxel axes, as DIPY's are.

        Peaks are those found here; `odf`, `qa` and `shm_coeff` (DIPY's default basis) are those of the same
        function on DIPY's sphere.
        """
        from dipy.core.sphere import Sphere  # pyright: ignore[reportMissingImports]
        from dipy.direction.peaks import PeaksAndMetrics  # pyright: ignore[reportMissingImports]
        from dipy.reconst.shm import (  # pyright: ignore[reportMissingImports]
            sf_to_sh,
            sh_to_sf,
            sh_to_sf_matrix,
        )

        sphere = self.sphere
        scanner_from_voxel = turn_of("voxel", self.affine)
        # Directions of the sphere in the axes of the function, and peaks in those of the sphere.
        points = sphere.vertices @ (turn_of(self._frame, self.affine).T @ scanner_from_voxel).T
        dirs = self.peak_dirs @ scanner_from_voxel
        n = self._coefficients.shape[-1]
        order = next(order for order in range(2, 17, 2) if (order + 1) * (order + 2) // 2 == n)
        if self._basis is None:
            odf = along(self._coefficients, points)
        else:
            kind = "tournier07" if self._basis == "mrtrix" else "descoteaux07"
            legacy = self._basis == "dipy-legacy"
            odf = sh_to_sf(self._coefficients, Sphere(xyz=points), sh_order_max=order, basis_type=kind, legacy=legacy)
        odf = np.where((self.maps["status"] > 0)[..., None], odf.reshape(*self.count.shape, -1), 0)
        pam = PeaksAndMetrics()
        pam.affine, pam.sphere, pam.odf, pam.gfa = self.affine, sphere, odf, self.gfa
        pam.peak_dirs, pam.peak_values, pam.peak_indices = dirs, self.peak_values, _nearest(dirs, sphere)
        there = pam.peak_values > 0
        pam.qa = np.where(there, pam.peak_values - odf.min(axis=-1, keepdims=True), 0)
        pam.qa /= max(float(odf.max()), 1e-30)
        pam.shm_coeff = sf_to_sh(odf, sphere, sh_order_max=order)
        pam.B, pam.invB = sh_to_sf_matrix(sphere, sh_order_max=order, return_inv=True)
        return pam

    def _repr_html_(self) -> str:
        shown = self.peak_dirs.ndim == 5
        image = coloured(self.peak_dirs[..., 0, :], self.peak_values[..., 0]) if shown else ""
        numbers, voxels = np.unique(self.count[self.status > 0].astype(int), return_counts=True)
        return f"<b>peaks</b><br>{image}{table({f'voxels with {n}': int(v) for n, v in zip(numbers, voxels)})}"


def _nearest(dirs: Array, sphere: Any) -> Array:
    """The points of a sphere that are nearest to axes [..., 3], -1 where there is none."""
    there = (dirs != 0).any(axis=-1)
    found = np.full(dirs.shape[:-1], -1, dtype=np.int32)
    found[there] = np.argmax(np.abs(dirs[there] @ np.asarray(sphere.vertices).T), axis=-1)
    return found


class Sticks(Maps):
    """Samples of ball and sticks, to track through, and their maps: `dyads1`, `mean_f1samples`, ..."""

    def __init__(self, made: Mapping[str, Any], place: Place, shape: tuple[int, ...]) -> None:
        super().__init__(made, place, shape)
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

    def _repr_html_(self) -> str:
        shown = coloured(self.maps["dyads1"], self.maps["mean_f1samples"]) if self.status.ndim == 3 else ""
        return f"<b>sticks</b>: {self.n_fibres} fibres, {self.n_samples} samples<br>{shown}{table(self.counts)}"


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

    @property
    def seeds(self) -> Array:
        """Where each streamline was started, scanner RAS mm: [streamlines, 3]."""
        return self.points[self.offsets[:-1].astype(np.int64) + self.per_streamline["seed_point"]]


class Evaluation(Maps):
    """What streamlines explain of a series: `weights`, `errors`, `lesions`, and maps.

    Attributes
    ----------
    weights : (streamlines,) array of float32
        Zero for those that the signal does not ask for.
    lesions : dict
        Of all streamlines and of each group, what the signal of their voxels loses without them.
    """

    def __init__(self, made: Mapping[str, Any], place: Place, shape: tuple[int, ...]) -> None:
        super().__init__(made, place, shape)
        self.weights: Array = made["weights"]
        self.lesions: dict[str, dict[str, float]] = made["lesions"]

    @property
    def errors(self) -> Array:
        """Root mean squared error of the predicted signal in each voxel, in units of the signal."""
        return self.maps["rmse"]

    def _repr_html_(self) -> str:
        kept = {"streamlines": len(self.weights), "with a weight": int((self.weights > 0).sum())}
        return f"<b>errors of the signal</b><br>{picture(self.errors)}{table({**kept, **self.counts})}"


class Fields(Maps):
    """What a scan of phase gives: `total_field`, `local_field` (ppm of B0), `mask`, `quality`, and `r2star` (1/s)."""

    def __init__(self, made: Mapping[str, Any], place: Place, shape: tuple[int, ...], b0: Mapping[str, Any]) -> None:
        super().__init__(made, place, shape)
        #: how B0 was said to lie, for `qsm`
        self._b0 = {name: value for name, value in b0.items() if value is not None}

    def _repr_html_(self) -> str:
        return f"<b>local field</b>, ppm<br>{picture(self.local_field)}{table(self.counts)}"


class Susceptibility(Maps):
    """A map of susceptibility: `chi` in ppm, of tensors `msa`, and `residual`, what it leaves of the field.

    Attributes
    ----------
    iterations : (n, 6) or (n, 5) array
        Number, rms of the map (ppm), relative change, data term, and of dqsm and tensor the penalty and the
        relative gradient, of dtv, tv and rts the total variation; empty of other methods.
    stopped : str or None
        Why the iteration ended.
    metrics : dict or None
        How near the map is to the truth that was given.
    """

    def __init__(self, made: Mapping[str, Any], place: Place, shape: tuple[int, ...]) -> None:
        super().__init__(made, place, shape)
        self.iterations: Array = made["iterations"]
        self.stopped: str | None = made["stopped"]
        self.metrics: dict[str, float] | None = made["metrics"]

    def _repr_html_(self) -> str:
        said = {**self.counts, **(self.metrics or {})}
        return f"<b>susceptibility</b>, ppm<br>{picture(self.chi)}{table(said)}"


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
    numbers : (n, n) array
        Numbers of streamlines, whatever their weights.
    lengths : (n, n) array
        Their mean length, mm.
    means : dict of (n, n) arrays
        The mean of each map along them.
    labels : (n,) array
        The label of each row and column.
    counts : dict
        How many streamlines there are, and how many were assigned.
    """

    def __init__(self, made: Mapping[str, Any]) -> None:
        self.weights: Array = made["weights"]
        self.numbers: Array = made.get("numbers", made["weights"])
        self.lengths: Array = made["lengths"]
        self.means: dict[str, Array] = made["means"]
        self.labels: Array = made["labels"]
        self.counts: dict[str, float] = made["counts"]

    def __repr__(self) -> str:
        return f"<Connectome of {len(self.labels)} labels>"

    def _repr_html_(self) -> str:
        return f"<b>{len(self.labels)} labels</b><br>{matrix(self.weights)}{table(self.counts)}"


def _function(
    directions: Any,
    sh_basis: str | None,
    frame: str | None,
    mask: Voxels | None,
    affine: npt.ArrayLike | None,
) -> tuple[dict[str, Any], Place, tuple[int, ...]]:
    """What the extension takes for a function on the sphere."""
    if isinstance(directions, Fit):
        name = next((name for name in ("fod", "hot") if name in directions.maps), None)
        if name is None:
            raise TypeError(f"a fit of {directions.name} has no function on the sphere; fod and hot have one")
        mask = directions.status > 0 if mask is None else mask
        place = directions._affine if affine is None else as_affine(affine)
        # What a fit gives is in the axes of its table.
        frame = to_scanner(directions.gtab.frame, place) if frame is None else frame
        affine = place
        sh_basis = "mrtrix" if name == "fod" else sh_basis
        directions = directions.maps[name]
    field, place, shape = field_of(directions, mask, affine)
    return {"field": field, "basis": sh_basis, "frame": frame}, place, shape


def peaks(
    directions: Any,
    *,
    sh_basis: str | None,
    frame: str | None,
    mask: Voxels | None,
    affine: npt.ArrayLike | None,
    options: Mapping[str, Any],
    threads: int,
    device: str | None,
    progress: Progress,
) -> Peaks:
    function, place, shape = _function(directions, sh_basis, frame, mask, affine)
    made = worked(lambda on: _core.peaks(function, as_json(options), on), threads, device, progress)
    return Peaks(made, place, shape, function)


def sample_sticks(
    data: Any,
    gtab: Any,
    *,
    mask: Voxels | None,
    affine: npt.ArrayLike | None,
    options: Mapping[str, Any],
    threads: int,
    device: str | None,
    progress: Progress,
) -> Sticks:
    data = opened(data)
    series, place, shape = series_of(data, table_of(data, gtab), mask, affine, in_scanner=True)
    made = worked(lambda on: _core.sample_sticks(series, as_json(options), on), threads, device, progress)
    return Sticks(made, place, shape)


class _Voxels(NamedTuple):
    """Those that arrays without a place lie on: whose they are, how many, and scanner mm from voxel."""

    whose: str
    shape: tuple[int, ...]
    affine: Array

    def check(self, name: str, shape: tuple[int, ...]) -> None:
        """Refuses an array of other voxels."""
        if shape != self.shape:
            raise ValueError(
                f"{name} has the voxels {shape}, and the {self.whose} {self.shape}: of other voxels give an image, "
                "which says how they lie (fimbria.load, nibabel)"
            )


def _region(name: str, given: Any, voxels: _Voxels) -> Any:
    """A region as the extension takes it."""
    if isinstance(given, (str, PathLike)):
        return given
    if isinstance(given, Image):
        return (name, given._series, given.affine.tolist())
    own = getattr(given, "affine", None) if hasattr(given, "dataobj") else None
    values = np.asanyarray(given.dataobj) if own is not None else np.asarray(given)
    if values.ndim == 2 and values.shape[1] == 3:
        return (name, np.ascontiguousarray(values, dtype=np.float32))
    if values.ndim != 3:
        raise ValueError(f"{name} has the shape {values.shape}: it must be voxels (x, y, z) or points (n, 3)")
    if own is None:
        voxels.check(name, values.shape)
        own = voxels.affine
    return (name, readable(name, values)[..., None], np.asarray(own, dtype=np.float64).tolist())


def _regions(name: str, given: Any, voxels: _Voxels) -> list[Any]:
    if given is None:
        return []
    several = isinstance(given, (list, tuple)) and any(
        isinstance(one, (str, PathLike, np.ndarray, Image)) or hasattr(one, "dataobj") for one in given
    )
    if not several:
        return [_region(name, given, voxels)]
    return [_region(f"{name}[{i}]", one, voxels) for i, one in enumerate(given)]


def track(
    directions: Any,
    seeds: Any,
    *,
    sh_basis: str | None,
    hot: bool,
    frame: str | None,
    dispersion: float,
    mask: Voxels | None,
    affine: npt.ArrayLike | None,
    include: Any,
    include_any: bool,
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
        place, medium, shape = directions._affine, directions._samples, directions._samples.shape
        unused = [("mask", mask is not None), ("frame", frame is not None), ("affine", affine is not None)]
        unused += [("hot", hot), ("sh_basis", sh_basis is not None), ("dispersion", bool(dispersion))]
    elif is_function:
        if hot and sh_basis is not None:
            raise ValueError("hot and sh_basis exclude each other: entries are no harmonics")
        medium, place, shape = _function(directions, sh_basis, frame, mask, affine)
        unused = [("dispersion", bool(dispersion))]
    else:
        if hasattr(directions, "peak_dirs") and not isinstance(directions, Peaks):
            raise TypeError(
                "directions is a PeaksAndMetrics: give its `peak_dirs`, whose axes are the voxels' "
                "(frame=\"voxel\"), and affine=pam.affine"
            )
        if isinstance(directions, Peaks):
            affine = directions._affine if affine is None else affine
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
        field, place, shape = field_of(directions, mask, affine)
        medium = (field, frame or "scanner", float(dispersion))
    for name, is_given in unused:
        if is_given:
            raise ValueError(f"{name} has no use with these directions: leave it out")
    voxels = _Voxels("directions", tuple(shape), np.eye(4) if place is None else place)
    starts = _regions("seeds", seeds, voxels)
    if not starts:
        raise ValueError("there are no seeds: give a mask, points, or files")
    regions = {
        "seeds": starts,
        "include": _regions("include", include, voxels),
        "include_any": include_any,
        "in_order": in_order,
        "exclude": _regions("exclude", exclude, voxels),
        "stop": _regions("stop", stop, voxels),
        "target": _regions("target", target, voxels),
        "network": network,
    }
    tissues = None
    if isinstance(act, (str, PathLike)):
        options = {**options, "act": str(act)}
    elif act is not None:
        tissues, _, _ = _volumes("act", act, None, None, voxels)
    made = worked(lambda on: _core.track(medium, regions, tissues, as_json(options), on), threads, device, progress)
    return Tracks(made)


def _volumes(
    name: str,
    given: Any,
    mask: Voxels | None,
    affine: npt.ArrayLike | None,
    voxels: _Voxels | None = None,
) -> tuple[dict[str, Any], Place, tuple[int, ...]]:
    """Images as the extension takes them, of one volume too; arrays lie on `voxels` where these are given."""
    given = opened(given)
    if isinstance(given, Image):
        return field_of(given, mask, given.affine)
    own = getattr(given, "affine", affine)
    array = np.asanyarray(getattr(given, "dataobj", given))
    array = array[..., None] if array.ndim == 3 else array
    if array.ndim != 4:
        raise ValueError(f"{name} has the shape {array.shape}, and must have the axes x, y, z")
    if own is None and voxels is not None:
        voxels.check(name, array.shape[:3])
        own = voxels.affine
    return field_of(array, mask, own)


def local_field(
    phase: Any,
    *,
    magnitude: Any,
    mask: Voxels | None,
    affine: npt.ArrayLike | None,
    options: Mapping[str, Any],
    threads: int,
    progress: Progress,
) -> Fields:
    field, place, shape = _volumes("phase", phase, mask, affine)
    beside = None
    if magnitude is not None:
        beside, own, echoes = _volumes("magnitude", magnitude, None, place)
        if place is None:
            # Where the phase lies is not known.
            beside["affine"] = field["affine"]
        if echoes != shape:
            raise ValueError(f"magnitude has the voxels {echoes}, and the phase {shape}")
    made = worked(lambda on: _core.local_field(field, beside, as_json(options), on), threads, None, progress)
    return Fields(made, place, shape, {name: options[name] for name in ("b0_dir", "b0_dir_vox")})


def qsm(
    field: Any,
    *,
    mask: Voxels | None,
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
        affine = field._affine if affine is None else affine
        field = field.local_field
    is_guided = v1 is not None and options["method"] in (None, "dtv", "dtv-all")
    if not is_guided and (md is not None or s0 is not None):
        raise ValueError("md and s0 guide the method dtv along v1: without these they have no use")
    if isinstance(v1, Fit):
        if options["v1_frame"] is None:
            options = {**options, "v1_frame": to_scanner(v1.gtab.frame, v1._affine)}
        v1 = _Placed(v1.maps["V1"], v1._affine)
    numbers, place, shape = _volumes("field", field, mask, affine)
    given = {
        "v1": v1, "fa": fa, "md": md, "s0": s0, "weights": weights, "magnitude": magnitude, "two_pass": two_pass,
        "truth": truth, "reference": reference,
    }
    beside = {name: None if one is None else _volumes(name, one, None, place)[0] for name, one in given.items()}
    made = worked(lambda on: _core.qsm(numbers, beside, as_json(options), on), threads, device, progress)
    return Susceptibility(made, place, shape)


def _tractogram(given: Any, name: str, place: Place) -> Tractogram:
    """The streamlines; refused where they lie in a scanner and nobody said how the voxels `name` do."""
    is_file = isinstance(given, (str, PathLike))
    lines = load_tractogram(fsdecode(given)) if is_file else Tractogram.from_streamlines(given)
    is_in_scanner = is_file if lines.affine is None else not np.array_equal(lines.affine, np.eye(4))
    if place is None and is_in_scanner:
        raise ValueError(f"{name} is an array, and streamlines lie in the scanner: say affine=, scanner mm from its voxels")
    return lines


class _Placed:
    """An array with its place, as images of nibabel have it."""

    def __init__(self, dataobj: Any, affine: Place) -> None:
        self.dataobj = dataobj
        if affine is not None:
            self.affine = affine


def life(
    tractogram: Any,
    data: Any,
    gtab: Any,
    *,
    mask: Voxels | None,
    affine: npt.ArrayLike | None,
    options: Mapping[str, Any],
    threads: int,
    device: str | None,
    progress: Progress,
) -> Evaluation:
    data = opened(data)
    series, place, shape = series_of(data, table_of(data, gtab), mask, affine, in_scanner=True)
    if len(shape) != 3:
        raise ValueError(f"data has the voxels {shape}: streamlines lie on three axes")
    lines = _tractogram(tractogram, "data", place)
    made = worked(lambda on: _core.life(lines._lines(), series, as_json(options), on), threads, device, progress)
    return Evaluation(made, place, shape)


def connectome(
    tractogram: Any,
    labels: Any,
    *,
    weights: npt.ArrayLike | str | None,
    map: Mapping[str, Any] | None,
    affine: npt.ArrayLike | None,
    options: Mapping[str, Any],
    threads: int,
    progress: Progress,
) -> Connectome:
    field, place, shape = _volumes("labels", labels, None, affine)
    lines = _tractogram(tractogram, "labels", place)
    column = weights if isinstance(weights, str) else None
    if weights is not None and column is None:
        column = "weights"
        values = np.asarray(weights, dtype=np.float64).ravel()
        lines = Tractogram(lines.points, lines.offsets, per_streamline={column: values}, affine=lines.affine, shape=lines.shape)
    elif column is not None and column not in lines.per_streamline:
        known = ", ".join(lines.per_streamline) or "none"
        raise ValueError(f"the streamlines have no data `{column}`; they have {known}")
    voxels = _Voxels("labels", shape, np.eye(4) if place is None else place)
    maps = [(name, _volumes(f"the map {name}", one, None, None, voxels)[0]) for name, one in (map or {}).items()]
    made = worked(lambda on: _core.connectome(lines._lines(), field, maps, as_json({**options, "weights": column}), on), threads, None, progress)
    return Connectome(made)


def sift2(
    tractogram: Any,
    densities: Any,
    *,
    sh_basis: str | None,
    frame: str | None,
    mask: Voxels | None,
    affine: npt.ArrayLike | None,
    act: str | PathLike[str] | None,
    options: Mapping[str, Any],
    threads: int,
    progress: Progress,
) -> StreamlineWeights:
    function, place, _ = _function(densities, sh_basis, frame, mask, affine)
    lines = _tractogram(tractogram, "densities", place)
    made = worked(lambda on: _core.sift2(lines._lines(), function, act, as_json(options), on), threads, None, progress)
    return StreamlineWeights(made)
