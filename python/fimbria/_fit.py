"""Any fit by its name. Made by generate.py from `fimbria describe`: not to be edited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy.typing as npt

from ._given import GradientTable, Series, Voxels
from ._work import Progress
from .fits import Fit, fit_by_name

__all__ = ["FitName", "fit"]

#: The names of all fits.
FitName = Literal["dti", "hot", "fod", "dki", "stremi", "dki1d", "stremi1d", "ivim", "mono", "msdki", "noddi", "fwdti", "smt", "axdki", "dkimicro", "mapmri", "gqi", "expr"]

if TYPE_CHECKING:
    from typing_extensions import TypedDict, Unpack

    from ._curves import IvimFit, MeanSignalKurtosisFit
    from ._diffusion import KurtosisFit, TensorFit
    from ._maps import (
        AxialKurtosisFit,
        ExpressionFit,
        FreeWaterTensorFit,
        KurtosisMicrostructureFit,
        KurtosisPerDirectionFit,
        MapmriFit,
        MonoExponentialFit,
        NeuriteFit,
        QSamplingFit,
        SphericalMeanFit,
        StretchedExponentialFit,
        StretchedExponentialPerDirectionFit,
    )
    from ._spheres import FibreOrientationFit, HigherOrderTensorFit

    class TensorOptions(TypedDict, total=False):
        method: Literal["ols", "wls", "iwls", "nlls", "restore"]
        compat: Literal["fsl", "dipy", "mrtrix"]
        precision: Literal["single", "double"]
        sigma: float
        maps: Literal["FA", "MD", "AD", "RD", "L1", "L2", "L3", "V1", "V2", "V3", "MO", "S0", "tensor", "residual", "status"] | Sequence[Literal["FA", "MD", "AD", "RD", "L1", "L2", "L3", "V1", "V2", "V3", "MO", "S0", "tensor", "residual", "status"]]
        shells: float | Sequence[float]
        bmax: float

    class HigherOrderTensorOptions(TypedDict, total=False):
        order: Literal["4", "6", "8", 4, 6, 8]
        method: Literal["ols", "wls", "iwls"]
        positive: bool
        shells: float | Sequence[float]
        bmax: float

    class FibreOrientationOptions(TypedDict, total=False):
        order: Literal["4", "6", "8", "10", "12", 4, 6, 8, 10, 12]
        tissues: Literal["auto", "white", "three"]
        response: str | PathLike[str]
        response_gm: str | PathLike[str]
        response_csf: str | PathLike[str]
        regularisation: float
        shells: float | Sequence[float]
        bmax: float

    class KurtosisOptions(TypedDict, total=False):
        method: Literal["ols", "wls", "iwls", "nlls", "restore"]
        compat: Literal["dipy", "mrtrix"]
        unconstrained: bool
        bmax: float
        clip: str | Sequence[float]
        maps: Literal["MK", "AK", "RK", "MKT", "KFA", "Kmax", "Kmin", "FA", "MD", "AD", "RD", "linearity", "planarity", "sphericity", "V1", "S0", "tensor", "kurtosis", "residual", "status"] | Sequence[Literal["MK", "AK", "RK", "MKT", "KFA", "Kmax", "Kmin", "FA", "MD", "AD", "RD", "linearity", "planarity", "sphericity", "V1", "S0", "tensor", "kurtosis", "residual", "status"]]
        shells: float | Sequence[float]

    class StretchedExponentialOptions(TypedDict, total=False):
        projection: Literal["dti", "paper"]
        axes_bmax: float
        bmax: float
        likelihood: Literal["gaussian", "offset-gaussian", "rician-mean", "rician"]
        sigma: float
        background: str | PathLike[str]
        precision: Literal["single", "double"]
        max_iterations: int
        robust: Literal["huber", "tukey"]
        errors: bool
        shells: float | Sequence[float]

    class KurtosisPerDirectionOptions(TypedDict, total=False):
        eta: str | float
        bmax: float
        sigma: float
        background: str | PathLike[str]
        precision: Literal["single", "double"]
        max_iterations: int
        robust: Literal["huber", "tukey"]
        errors: bool
        shells: float | Sequence[float]

    class StretchedExponentialPerDirectionOptions(TypedDict, total=False):
        bmax: float
        likelihood: Literal["gaussian", "offset-gaussian", "rician-mean", "rician"]
        sigma: float
        background: str | PathLike[str]
        precision: Literal["single", "double"]
        max_iterations: int
        robust: Literal["huber", "tukey"]
        errors: bool
        shells: float | Sequence[float]

    class IvimOptions(TypedDict, total=False):
        bmax: float
        likelihood: Literal["gaussian", "offset-gaussian", "rician-mean", "rician"]
        sigma: float
        background: str | PathLike[str]
        precision: Literal["single", "double"]
        max_iterations: int
        robust: Literal["huber", "tukey"]
        errors: bool
        shells: float | Sequence[float]

    class MonoExponentialOptions(TypedDict, total=False):
        bmax: float
        likelihood: Literal["gaussian", "offset-gaussian", "rician-mean", "rician"]
        sigma: float
        background: str | PathLike[str]
        precision: Literal["single", "double"]
        max_iterations: int
        robust: Literal["huber", "tukey"]
        errors: bool
        shells: float | Sequence[float]

    class MeanSignalKurtosisOptions(TypedDict, total=False):
        bmax: float
        shells: float | Sequence[float]

    class NeuriteOptions(TypedDict, total=False):
        tissue: Literal["white", "grey", "ex-vivo"]
        compat: Literal["amico"]
        bmax: float
        likelihood: Literal["gaussian", "offset-gaussian", "rician-mean", "rician"]
        sigma: float
        background: str | PathLike[str]
        precision: Literal["single", "double"]
        max_iterations: int
        robust: Literal["huber", "tukey"]
        errors: bool
        shells: float | Sequence[float]

    class FreeWaterTensorOptions(TypedDict, total=False):
        single_shell: bool
        bmax: float
        likelihood: Literal["gaussian", "offset-gaussian", "rician-mean", "rician"]
        sigma: float
        background: str | PathLike[str]
        precision: Literal["single", "double"]
        max_iterations: int
        robust: Literal["huber", "tukey"]
        errors: bool
        shells: float | Sequence[float]

    class SphericalMeanOptions(TypedDict, total=False):
        compartments: Literal["one", "two"]
        bmax: float
        likelihood: Literal["gaussian", "offset-gaussian", "rician-mean", "rician"]
        sigma: float
        background: str | PathLike[str]
        precision: Literal["single", "double"]
        max_iterations: int
        robust: Literal["huber", "tukey"]
        errors: bool
        shells: float | Sequence[float]

    class AxialKurtosisOptions(TypedDict, total=False):
        bmax: float
        likelihood: Literal["gaussian", "offset-gaussian", "rician-mean", "rician"]
        sigma: float
        background: str | PathLike[str]
        precision: Literal["single", "double"]
        max_iterations: int
        robust: Literal["huber", "tukey"]
        errors: bool
        shells: float | Sequence[float]

    class KurtosisMicrostructureOptions(TypedDict, total=False):
        method: Literal["ols", "wls", "iwls", "nlls", "restore"]
        unconstrained: bool
        bmax: float
        shells: float | Sequence[float]

    class MapmriOptions(TypedDict, total=False):
        order: Literal["4", "6", "8", 4, 6, 8]
        laplacian: str | float
        positive: bool
        isotropic: bool
        odf: bool
        axes_bmax: float
        big_delta: float
        small_delta: float
        bmax: float
        shells: float | Sequence[float]

    class QSamplingOptions(TypedDict, total=False):
        length: float
        weighting: Literal["alike", "squared"]
        bmax: float
        shells: float | Sequence[float]

    class ExpressionOptions(TypedDict, total=False):
        constant: str | float | Sequence[str | float]
        per_volume: str | float | Sequence[str | float]
        about: str | float | Sequence[str | float]
        starts: int
        bmax: float
        likelihood: Literal["gaussian", "offset-gaussian", "rician-mean", "rician"]
        sigma: str | float
        background: str | PathLike[str]
        precision: Literal["single", "double"]
        max_iterations: int
        robust: Literal["huber", "tukey"]
        errors: bool
        shells: float | Sequence[float]


@overload
def fit(
    name: Literal["dti"], data: Series, gtab: GradientTable | None = None, mask: Voxels | None = None, *,
    affine: npt.ArrayLike | None = None, threads: int = 0, device: str | None = None, progress: Progress = None,
    **options: Unpack[TensorOptions],
) -> TensorFit: ...  # fmt: skip
@overload
def fit(
    name: Literal["hot"], data: Series, gtab: GradientTable | None = None, mask: Voxels | None = None, *,
    affine: npt.ArrayLike | None = None, threads: int = 0, device: str | None = None, progress: Progress = None,
    **options: Unpack[HigherOrderTensorOptions],
) -> HigherOrderTensorFit: ...  # fmt: skip
@overload
def fit(
    name: Literal["fod"], data: Series, gtab: GradientTable | None = None, mask: Voxels | None = None, *,
    affine: npt.ArrayLike | None = None, threads: int = 0, device: str | None = None, progress: Progress = None,
    **options: Unpack[FibreOrientationOptions],
) -> FibreOrientationFit: ...  # fmt: skip
@overload
def fit(
    name: Literal["dki"], data: Series, gtab: GradientTable | None = None, mask: Voxels | None = None, *,
    affine: npt.ArrayLike | None = None, threads: int = 0, device: str | None = None, progress: Progress = None,
    **options: Unpack[KurtosisOptions],
) -> KurtosisFit: ...  # fmt: skip
@overload
def fit(
    name: Literal["stremi"], data: Series, gtab: GradientTable | None = None, mask: Voxels | None = None, *,
    affine: npt.ArrayLike | None = None, threads: int = 0, device: str | None = None, progress: Progress = None,
    **options: Unpack[StretchedExponentialOptions],
) -> StretchedExponentialFit: ...  # fmt: skip
@overload
def fit(
    name: Literal["dki1d"], data: Series, gtab: GradientTable | None = None, mask: Voxels | None = None, *,
    affine: npt.ArrayLike | None = None, threads: int = 0, device: str | None = None, progress: Progress = None,
    **options: Unpack[KurtosisPerDirectionOptions],
) -> KurtosisPerDirectionFit: ...  # fmt: skip
@overload
def fit(
    name: Literal["stremi1d"], data: Series, gtab: GradientTable | None = None, mask: Voxels | None = None, *,
    affine: npt.ArrayLike | None = None, threads: int = 0, device: str | None = None, progress: Progress = None,
    **options: Unpack[StretchedExponentialPerDirectionOptions],
) -> StretchedExponentialPerDirectionFit: ...  # fmt: skip
@overload
def fit(
    name: Literal["ivim"], data: Series, gtab: GradientTable | None = None, mask: Voxels | None = None, *,
    affine: npt.ArrayLike | None = None, threads: int = 0, device: str | None = None, progress: Progress = None,
    **options: Unpack[IvimOptions],
) -> IvimFit: ...  # fmt: skip
@overload
def fit(
    name: Literal["mono"], data: Series, gtab: GradientTable | None = None, mask: Voxels | None = None, *,
    affine: npt.ArrayLike | None = None, threads: int = 0, device: str | None = None, progress: Progress = None,
    **options: Unpack[MonoExponentialOptions],
) -> MonoExponentialFit: ...  # fmt: skip
@overload
def fit(
    name: Literal["msdki"], data: Series, gtab: GradientTable | None = None, mask: Voxels | None = None, *,
    affine: npt.ArrayLike | None = None, threads: int = 0, device: str | None = None, progress: Progress = None,
    **options: Unpack[MeanSignalKurtosisOptions],
) -> MeanSignalKurtosisFit: ...  # fmt: skip
@overload
def fit(
    name: Literal["noddi"], data: Series, gtab: GradientTable | None = None, mask: Voxels | None = None, *,
    affine: npt.ArrayLike | None = None, threads: int = 0, device: str | None = None, progress: Progress = None,
    **options: Unpack[NeuriteOptions],
) -> NeuriteFit: ...  # fmt: skip
@overload
def fit(
    name: Literal["fwdti"], data: Series, gtab: GradientTable | None = None, mask: Voxels | None = None, *,
    affine: npt.ArrayLike | None = None, threads: int = 0, device: str | None = None, progress: Progress = None,
    **options: Unpack[FreeWaterTensorOptions],
) -> FreeWaterTensorFit: ...  # fmt: skip
@overload
def fit(
    name: Literal["smt"], data: Series, gtab: GradientTable | None = None, mask: Voxels | None = None, *,
    affine: npt.ArrayLike | None = None, threads: int = 0, device: str | None = None, progress: Progress = None,
    **options: Unpack[SphericalMeanOptions],
) -> SphericalMeanFit: ...  # fmt: skip
@overload
def fit(
    name: Literal["axdki"], data: Series, gtab: GradientTable | None = None, mask: Voxels | None = None, *,
    affine: npt.ArrayLike | None = None, threads: int = 0, device: str | None = None, progress: Progress = None,
    **options: Unpack[AxialKurtosisOptions],
) -> AxialKurtosisFit: ...  # fmt: skip
@overload
def fit(
    name: Literal["dkimicro"], data: Series, gtab: GradientTable | None = None, mask: Voxels | None = None, *,
    affine: npt.ArrayLike | None = None, threads: int = 0, device: str | None = None, progress: Progress = None,
    **options: Unpack[KurtosisMicrostructureOptions],
) -> KurtosisMicrostructureFit: ...  # fmt: skip
@overload
def fit(
    name: Literal["mapmri"], data: Series, gtab: GradientTable | None = None, mask: Voxels | None = None, *,
    affine: npt.ArrayLike | None = None, threads: int = 0, device: str | None = None, progress: Progress = None,
    **options: Unpack[MapmriOptions],
) -> MapmriFit: ...  # fmt: skip
@overload
def fit(
    name: Literal["gqi"], data: Series, gtab: GradientTable | None = None, mask: Voxels | None = None, *,
    affine: npt.ArrayLike | None = None, threads: int = 0, device: str | None = None, progress: Progress = None,
    **options: Unpack[QSamplingOptions],
) -> QSamplingFit: ...  # fmt: skip
@overload
def fit(
    name: Literal["expr"], data: Series, gtab: GradientTable | None = None, mask: Voxels | None = None, *, model: str | float, param: Mapping[str, float | tuple[float, float | None, float | None] | tuple[float, Literal["fixed"]]] | str | Sequence[str],
    affine: npt.ArrayLike | None = None, threads: int = 0, device: str | None = None, progress: Progress = None,
    **options: Unpack[ExpressionOptions],
) -> ExpressionFit: ...  # fmt: skip
@overload
def fit(
    name: FitName, data: Series, gtab: GradientTable | None = None, mask: Voxels | None = None, *,
    affine: npt.ArrayLike | None = None, threads: int = 0, device: str | None = None, progress: Progress = None,
) -> Fit: ...  # fmt: skip
@overload
def fit(
    name: PathLike[str], data: Series, gtab: GradientTable | None = None, mask: Voxels | None = None, *,
    affine: npt.ArrayLike | None = None, threads: int = 0, device: str | None = None, progress: Progress = None,
    **options: Any,
) -> Fit: ...  # fmt: skip
def fit(
    name: str | PathLike[str],
    data: Any,
    gtab: Any = None,
    mask: Any = None,
    *,
    affine: npt.ArrayLike | None = None,
    threads: int = 0,
    device: str | None = None,
    progress: Progress = None,
    **options: Any,
) -> Any:
    """Fits any model by its name: `fit("ivim", data, gtab, mask)` is `fimbria fit ivim`.

    The options are those of the command, with underscores; the table of an `Image` is taken where none
    is given. What it takes and gives otherwise is that of the model's class.

    In place of a name there may be the file of a model, as `fimbria fit expr` leaves it: `fit(Path("model.toml"),
    data, gtab)`; what is given here counts before what the file says.

    Examples
    --------
    >>> import numpy as np
    >>> from fimbria import Gradients
    >>> axes = np.vstack([np.zeros((1, 3)), np.eye(3), np.sqrt(0.5) * (1 - np.eye(3))])
    >>> table = Gradients([0, *[1000] * 6], axes, frame="voxel")
    >>> signal = 100 * np.exp(-table.bvals * 1e-3) * np.ones((2, 2, 2, 1))
    >>> made = fit("dti", signal, table, affine=np.diag([2, 2, 2, 1]), method="ols")
    >>> made.md.shape, bool(np.allclose(made.md, 1e-3)), made.counts
    ((2, 2, 2), True, {'fitted': 8})
    """
    machine = {"affine": affine, "threads": threads, "device": device, "progress": progress}
    return fit_by_name(name, data, gtab, mask, machine, options)
