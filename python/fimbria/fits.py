"""What the fits of all models share: how they are called, and what they give."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Optional, TypeVar

import numpy as np
import numpy.typing as npt

from . import _core
from ._given import GradientTable, Series, Voxels, as_affine, joined
from ._picture import picture, table
from ._work import FimbriaWarning, Progress, as_json, said, worked
from .gradients import Gradients, as_gradients, to_scanner
from .images import Image, opened

__all__ = ["STATUS", "FimbriaWarning", "Fit", "Model", "fit_by_name"]

#: What a voxel's status says.
STATUS = {
    0: "outside the mask",
    1: "fitted",
    2: "constraint active",
    3: "not converged",
    4: "bad signal",
    5: "not determined",
    6: "fitted, some samples not positive",
    7: "fitted, some maps undefined",
    8: "fitted, a negative eigenvalue",
}


F = TypeVar("F", bound="Fit")

#: Scanner RAS mm from voxel; None where nobody said how an array lies.
Place = Optional[npt.NDArray[np.float64]]


class MissingMap(AttributeError, KeyError):  # pyright: ignore[reportUnsafeMultipleInheritance]
    """A map that a fit has not; as an attribute, too."""

    def __str__(self) -> str:
        return str(self.args[0])


class _Maps(dict[str, npt.NDArray[np.float32]]):
    """Maps by name; one that is missing is named beside those that are there."""

    def __missing__(self, name: str) -> npt.NDArray[np.float32]:
        raise MissingMap(f"there is no map `{name}`; there are {', '.join(self)}")


class Fit:
    """The maps of a fit, by name and as attributes, in capitals as in files or in small letters.

    Attributes
    ----------
    name : str
        That of the fit, as in `fimbria fit NAME`.
    model : Model
        What was fitted, with its options.
    maps : dict of arrays
        Each of the shape of the voxels, followed by volumes where it has several.
    status : array
        What became of each voxel: `fimbria.STATUS` has the words.
    gtab : Gradients
        The table that was fitted with; directions of maps are in its axes, `gtab.frame`.
    affine : (4, 4) array
        Scanner mm from voxel; that of the image, or what was said of an array, else the identity.
    """

    def __init__(
        self,
        name: str,
        maps: Mapping[str, npt.NDArray[np.float32]],
        gtab: Gradients,
        texts: list[str] | None = None,
        affine: npt.ArrayLike | None = None,
        model: Model[Any] | None = None,
    ) -> None:
        #: None where nobody said how the voxels lie.
        self._affine = None if affine is None else as_affine(affine)
        self.name = name
        self.model = model
        self.maps = _Maps(maps)
        self.gtab = gtab
        self.texts = list(texts or [])
        self._names = {name.lower(): name for name in self.maps}

    # Classes of models declare their maps, so that type checkers know a misspelt one.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> npt.NDArray[np.float32]:
            names = self.__dict__.get("_names", {})
            if name.lower() in names:
                return self.maps[names[name.lower()]]
            known = ", ".join(self.__dict__.get("maps", {}))
            raise AttributeError(f"a fit of {self.__dict__.get('name')} has no `{name}`; its maps are {known}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._names]

    def __getitem__(self: F, index: Any) -> F:
        """The same for some voxels: `fit[i, j, k]`, `fit[mask]`."""
        some = {name: values[index] for name, values in self.maps.items()}
        return type(self)(self.name, some, self.gtab, self.texts, self._affine, self.model)

    @classmethod
    def _of_params(cls, model: Model[Any], params: npt.NDArray[Any]) -> Any:
        """A fit that `predict` can be asked of, from parameters as `model_params` has them."""
        raise TypeError(f"a fit of {model.name} has no parameters to predict from")

    @property
    def status(self) -> npt.NDArray[Any]:
        """What became of each voxel."""
        return self.maps["status"]

    @property
    def affine(self) -> npt.NDArray[np.float64]:
        """Scanner mm from voxel."""
        return np.eye(4) if self._affine is None else self._affine

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the voxels."""
        return self.maps["status"].shape

    @property
    def counts(self) -> dict[str, int]:
        """How many voxels have which status."""
        codes, numbers = np.unique(self.maps["status"], return_counts=True)
        return {STATUS[int(code)]: int(n) for code, n in zip(codes, numbers)}

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {what}" for what, n in self.counts.items())
        return f"<{type(self).__name__} of {self.name}, {self.shape} voxels: {counts}>"

    def _repr_html_(self) -> str:
        first = next(iter(self.maps))
        image = picture(self.maps[first]) if len(self.shape) == 3 else ""
        return f"<b>{self.name}</b>: {', '.join(self.maps)}<br>{image}{table(self.counts)}"


class Model(Generic[F]):
    """A model with a gradient table and options, to be fitted to series.

    Every model takes `threads` (0: one per core), `device` (as `fimbria fit --device` does; the threads
    alone by default) and `progress` (a callable `progress(step, done, total)`; True for a bar, which is
    also shown by default in terminals and notebooks; False for none) in `fit`.
    """

    #: The name of the fit, as in `fimbria fit NAME`.
    name: ClassVar[str]
    _fit: ClassVar[Any] = Fit
    #: Which volumes it takes by default.
    _volumes: ClassVar[str] = ""
    #: Options that are two numbers.
    _pairs: ClassVar[tuple[str, ...]] = ()

    def __init__(self, gtab: GradientTable, **options: Any) -> None:
        self.gtab = as_gradients(gtab)
        pairs = {name: joined(options[name]) for name in self._pairs if name in options}
        self.options = said({**options, **pairs})
        _core.check_fit(self.name, as_json(self.options))

    def __repr__(self) -> str:
        b, numbers = np.unique(np.round(self.gtab.bvals, -2), return_counts=True)
        shells = ", ".join(f"{n} of b {value:.0f}" for value, n in zip(b, numbers))
        said_ = "".join(f", {name}={value!r}" for name, value in self.options.items())
        chosen = not {"bmax", "shells", "compat"} & set(self.options)
        volumes = f"; by default it takes b up to {self._volumes}" if self._volumes and chosen else ""
        return f"<{type(self).__name__} for {len(self.gtab)} volumes ({shells}){said_}{volumes}>"

    def predict(self, params: npt.ArrayLike, S0: npt.ArrayLike = 1.0) -> npt.NDArray[Any]:
        """The signal that parameters give, as `model_params` of a fit has them: [..., volumes]."""
        return self._fit._of_params(self, np.asarray(params)).predict(self.gtab, S0=S0)

    def fit(
        self,
        data: Series,
        mask: Voxels | None = None,
        *,
        affine: npt.ArrayLike | None = None,
        threads: int = 0,
        device: str | None = None,
        progress: Progress = None,
    ) -> F:
        """Fits the model to every voxel.

        Parameters
        ----------
        data : array [..., volumes], Image, nibabel image, or path
            Arrays of float32, float64 and integers up to 32 bits are read where they lie, in C or in Fortran
            order, and so are an `Image`, a path, and an image of nibabel whose samples are neither scaled
            nor compressed. Others are read or converted once, which takes memory: what nibabel scales or
            inflates, and numbers of other types.
        mask : array, image, or path, optional
            The voxels to fit, those above zero; all by default. That of an image may be stored along other
            axes than the series, and must be the same voxels in the scanner.
        affine : (4, 4) array, optional
            Scanner RAS mm from voxel of an array; by default that of the image.

        Returns
        -------
        Fit
            Its maps have the shape of the voxels and are zero outside the mask.

        Raises
        ------
        FimbriaError
            Where the gradient table does not determine the model, or options contradict each other.
        """
        made = run_fit(self.name, data, self.gtab, mask, affine, self.options, threads, device, progress)
        return self._fit(self.name, *made, model=self)


def run_fit(
    name: str,
    data: Any,
    gtab: Gradients,
    mask: Voxels | None,
    affine: npt.ArrayLike | None,
    options: Mapping[str, Any],
    threads: int,
    device: str | None,
    progress: Progress,
) -> tuple[dict[str, npt.NDArray[np.float32]], Gradients, list[str], Place]:
    """The maps of a fit, its table, texts and affine."""
    series, place, shape = series_of(data, gtab, mask, affine)
    made = worked(lambda on: _core.fit(name, series, as_json(options), on), threads, device, progress)
    return in_shape(made["maps"], shape), gtab, made["texts"], place


def in_shape(
    maps: Mapping[str, npt.NDArray[np.float32]], shape: tuple[int, ...]
) -> dict[str, npt.NDArray[np.float32]]:
    """Maps in the shape of the voxels that were handed over."""
    return {name: values.reshape(shape + values.shape[3:], order="F") for name, values in maps.items()}


def series_of(
    data: Any,
    gtab: Gradients,
    mask: Voxels | None,
    affine: npt.ArrayLike | None = None,
    *,
    in_scanner: bool = False,
) -> tuple[dict[str, Any], Place, tuple[int, ...]]:
    """What the extension takes for a series, its affine, and the shape of the voxels; directions as the table
    has them, or in scanner axes.
    """
    field, place, shape = field_of(data, mask, affine)
    table = {"b": gtab.bvals.tolist(), "dirs": gtab.bvecs.tolist(), "b0_threshold": gtab.b0_threshold}
    frame = to_scanner(gtab.frame, place) if in_scanner else None
    return {"field": field, **table, "frame": frame}, place, shape


def field_of(
    data: Any, mask: Voxels | None, affine: npt.ArrayLike | None = None
) -> tuple[dict[str, Any], Place, tuple[int, ...]]:
    """What the extension takes for numbers on a grid, its affine, and the shape of the voxels."""
    source, own, shape = source_of(data)
    place = own if affine is None else as_affine(affine)
    rows = (np.eye(4) if place is None else place).tolist()
    inside = None if mask is None else _mask_of(mask, place, shape)
    return {"data": source, "affine": rows, "mask": inside}, place, shape


def _mask_of(mask: Any, place: Place, shape: tuple[int, ...]) -> dict[str, Any]:
    """What the extension takes for a mask: with its affine where both are known to lie in a scanner."""
    mask = opened(mask)
    own = None
    if isinstance(mask, Image):
        own, found = mask.affine, mask.shape
    else:
        if hasattr(mask, "dataobj") and hasattr(mask, "affine"):
            own, mask = np.asarray(mask.affine, dtype=np.float64), mask.dataobj
        mask = np.asanyarray(mask)
        found = mask.shape
    is_placed = own is not None and place is not None and len(shape) == len(found) == 3
    if not is_placed and found != shape:
        raise ValueError(f"mask has the shape {found}, and the voxels {shape}")
    if isinstance(mask, Image):
        data: Any = mask._series if len(shape) == 3 else mask.read()
    else:
        data = readable("mask", mask)
        data = data[..., None] if len(shape) == 3 else data
    if len(shape) != 3:
        data = data.reshape((*in_3d(shape), 1))
    return {"data": data, "affine": own.tolist() if own is not None and is_placed else None}


def in_3d(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """The shape of the voxels with three axes."""
    if len(shape) == 3:
        return (shape[0], shape[1], shape[2])
    return (int(np.prod(shape, dtype=np.int64)), 1, 1)


def readable(name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An array that the extension reads where it lies: the same, or float32 where it does not read its type."""
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} is of type {array.dtype}: it must be real numbers")
    read_in_place = array.dtype.itemsize <= 4 or array.dtype == np.float64
    if not (array.dtype.isnative and read_in_place) or array.dtype == np.float16:
        return array.astype(np.float32)
    return array


def source_of(data: Any) -> tuple[Any, Place, tuple[int, ...]]:
    """What the extension reads, its affine where that is known, and the shape of the voxels."""
    data = opened(data)
    if isinstance(data, Image):
        x, y, z, _ = data._series.shape
        return data._series, data.affine, (x, y, z)
    place = None
    if hasattr(data, "dataobj") and hasattr(data, "affine"):
        place = np.asarray(data.affine, dtype=np.float64)
        data = data.dataobj
    array = np.asanyarray(data)
    if array.ndim == 0:
        raise TypeError(f"data must be an array or an image, not {type(data).__name__}")
    array = readable("data", array)
    shape = array.shape[:-1]
    if array.ndim != 4:
        array = array.reshape((*in_3d(shape), array.shape[-1]))
    return array, place, shape


def table_of(data: Any, gtab: Any) -> Gradients:
    """The table given, or that of an image."""
    if gtab is None:
        gtab = getattr(data, "gradients", None)
        if gtab is None:
            raise TypeError("no gradient table: give gtab, or an image that has one")
    return as_gradients(gtab)


def fit_by_name(
    name: str | PathLike[str],
    data: Any,
    gtab: Any,
    mask: Voxels | None,
    machine: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Any:
    """A fit of any model, also of one in a file: what `fimbria.fit` does."""
    from . import models

    data = opened(data)
    name = os.fspath(name)
    if name.endswith(".toml"):
        name, of_file = _core.fit_of_file(name)
        options = {**json.loads(of_file), **options}
    classes = {one.name: one for one in vars(models).values() if isinstance(one, type) and issubclass(one, Model) and one is not Model}
    if name not in classes:
        # Says which there are.
        _core.fit_options(name)
    model = classes[name].__new__(classes[name])
    Model.__init__(model, table_of(data, gtab), **options)
    return model.fit(data, mask, **machine)
