"""The models, a class each. Made by generate.py from `fimbria describe`: not to be edited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal

from ._curves import IvimFit, MeanSignalKurtosisFit
from ._diffusion import KurtosisFit, TensorFit
from ._given import GradientTable
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
from .fits import Model

__all__ = [
    "AxialKurtosisModel",
    "ExpressionModel",
    "FibreOrientationModel",
    "FreeWaterTensorModel",
    "HigherOrderTensorModel",
    "IvimModel",
    "KurtosisMicrostructureModel",
    "KurtosisModel",
    "KurtosisPerDirectionModel",
    "MapmriModel",
    "MeanSignalKurtosisModel",
    "MonoExponentialModel",
    "NeuriteModel",
    "QSamplingModel",
    "SphericalMeanModel",
    "StretchedExponentialModel",
    "StretchedExponentialPerDirectionModel",
    "TensorModel",
]


# DIPY's names of methods.
_METHODS = {"LS": "ols", "RT": "restore"}


def method_of(name: str | None) -> str | None:
    """A method as fimbria names it."""
    if name is not None and not isinstance(name, str):
        raise TypeError("fit_method must be a string; a table is one argument, a pair (bvals, bvecs) too")
    return None if name is None else _METHODS.get(name.upper(), name.lower())


class TensorModel(Model[TensorFit]):
    """Fit the diffusion tensor: FA, MD, eigenvectors and more.

    Parameters
    ----------
    gtab : gradient table
        Of fimbria or DIPY, or (bvals, bvecs); directions of maps come out in its axes.
    fit_method : {ols, wls, iwls, nlls, restore}
        How the tensor is estimated [default: wls; with compat what that program does: ols with
        fsl, wls with dipy, iwls with mrtrix]
    compat : {fsl, dipy, mrtrix}
        Follow the numerics of another program, for comparison
    precision : {single, double}
        Arithmetic of the fit; measurements and maps are held in single precision [default:
        single]
    sigma : number
        Standard deviation of the noise, for fit_method restore [from 0 on, units of the input]
        [default: estimated in each voxel]
    maps : {FA, MD, AD, RD, L1, L2, L3, V1, V2, V3, MO, S0, tensor, residual, status}
        Maps to make; status always is [default: all]
    shells : number
        Use only the shells nearest to these b, and the unweighted volumes [from 0 on, s/mm²]
        [default: all]
    bmax : number
        Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: 1500
        where that determines the tensor, all with compat or shells]

    Maps
    ----
    FA
        fractional anisotropy, 0 to 1 (above 1 where an eigenvalue is negative, status 8)
    MD
        mean diffusivity, mm²/s
    AD
        axial diffusivity, the largest eigenvalue, mm²/s
    RD
        radial diffusivity, the mean of the other two eigenvalues, mm²/s
    L1
        largest eigenvalue, mm²/s
    L2
        middle eigenvalue, mm²/s
    L3
        smallest eigenvalue, mm²/s
    V1
        unit eigenvector of L1, x y z in the axes of gtab, sign arbitrary
    V2
        unit eigenvector of L2, x y z in the axes of gtab, sign arbitrary
    V3
        unit eigenvector of L3, x y z in the axes of gtab, sign arbitrary
    MO
        mode, -1 (planar) to 1 (linear)
    S0
        signal without diffusion weighting, input units
    tensor
        diffusion tensor, xx xy xz yy yz zz in the axes of gtab, mm²/s
    residual
        root mean square of measured minus predicted signal, input units
    status
        0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not
        determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined, 8
        fitted, a negative eigenvalue
    mask
        the mask that was made
    mean_b0
        the mean unweighted volume that it was made of

    References
    ----------
    Basser PJ, Mattiello J, Le Bihan D. J Magn Reson B 103, 247 (1994): the tensor
    Chung S, Lu Y, Henry RG. NeuroImage 33, 531 (2006): wls
    Veraart J et al. NeuroImage 81, 335 (2013): iwls
    Chang LC, Jones DK, Pierpaoli C. Magn Reson Med 53, 1088 (2005): restore

    Examples
    --------
    >>> import numpy as np
    >>> from fimbria import Gradients
    >>> n = np.random.default_rng(0).standard_normal((60, 3))
    >>> n /= np.linalg.norm(n, axis=1, keepdims=True)
    >>> table = Gradients(np.r_[0, np.repeat([1000, 2000], 30)], np.r_[np.zeros((1, 3)), n], frame='voxel')
    >>> signal = 100 * np.exp(-table.bvals * (3e-4 + 1.4e-3 * table.bvecs[:, 0] ** 2))
    >>> made = TensorModel(table).fit(signal)
    >>> bool(np.allclose(made.evals, [1.7e-3, 3e-4, 3e-4], rtol=1e-4)), abs(made.V1).round(2).tolist()
    (True, [1.0, 0.0, 0.0])
    """

    name = "dti"
    _fit = TensorFit
    _volumes = "1500 where that determines the tensor, all with --compat or --shells"

    def __init__(
        self,
        gtab: GradientTable,
        fit_method: Literal["ols", "wls", "iwls", "nlls", "restore", "OLS", "WLS", "IWLS", "NLLS", "RESTORE", "LS", "RT"] | None = None,
        *,
        compat: Literal["fsl", "dipy", "mrtrix"] | None = None,
        precision: Literal["single", "double"] | None = None,
        sigma: float | None = None,
        maps: Literal["FA", "MD", "AD", "RD", "L1", "L2", "L3", "V1", "V2", "V3", "MO", "S0", "tensor", "residual", "status"] | Sequence[Literal["FA", "MD", "AD", "RD", "L1", "L2", "L3", "V1", "V2", "V3", "MO", "S0", "tensor", "residual", "status"]] | None = None,
        shells: float | Sequence[float] | None = None,
        bmax: float | None = None,
    ) -> None:
        super().__init__(
            gtab,
            method=method_of(fit_method),
            compat=compat,
            precision=precision,
            sigma=sigma,
            maps=maps,
            shells=shells,
            bmax=bmax,
        )

class HigherOrderTensorModel(Model[HigherOrderTensorFit]):
    """Fit generalised diffusion tensors: forms of order 4, 6 or 8, and their measures.

    Parameters
    ----------
    gtab : gradient table
        Of fimbria or DIPY, or (bvals, bvecs); directions of maps come out in its axes.
    order : {4, 6, 8}
        Order of the form [default: 4]
    fit_method : {ols, wls, iwls}
        How it is estimated [default: wls]
    positive : flag
        Keep the diffusivity positive in 300 directions; voxels where that changes the fit have
        status 2
    shells : number
        Use only the shells nearest to these b, and the unweighted volumes [from 0 on, s/mm²]
        [default: all]
    bmax : number
        Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: all
        are used]

    Maps
    ----
    hot
        unique entries of the diffusivity as a homogeneous form of the direction, lexicographic
        (x..x x..y x..z ... z..z), in the axes of gtab, mm²/s
    MD
        mean diffusivity over all directions, mm²/s
    GA
        generalised anisotropy, 0 to 1
    variance
        variance of the diffusivity over its generalised trace
    S0
        signal without diffusion weighting, input units
    residual
        root mean square of measured minus predicted signal, input units
    status
        0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not
        determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined, 8
        fitted, a negative eigenvalue
    mask
        the mask that was made
    mean_b0
        the mean unweighted volume that it was made of

    References
    ----------
    Ozarslan E, Mareci TH. Magn Reson Med 50, 955 (2003): the form
    Ozarslan E, Vemuri BC, Mareci TH. Magn Reson Med 53, 866 (2005): MD, variance, GA
    Chung S, Lu Y, Henry RG. NeuroImage 33, 531 (2006): wls
    Veraart J et al. NeuroImage 81, 335 (2013): iwls

    Examples
    --------
    >>> import numpy as np
    >>> from fimbria import Gradients
    >>> n = np.random.default_rng(0).standard_normal((60, 3))
    >>> n /= np.linalg.norm(n, axis=1, keepdims=True)
    >>> table = Gradients(np.r_[0, np.repeat([1000, 2000], 30)], np.r_[np.zeros((1, 3)), n], frame='voxel')
    >>> signal = 100 * np.exp(-table.bvals * (3e-4 + 1.4e-3 * table.bvecs[:, 0] ** 2))
    >>> made = HigherOrderTensorModel(table, order="4").fit(signal)
    >>> made.hot.shape, made.adc(np.eye(3)).round(5).tolist()
    ((15,), [0.0017, 0.0003, 0.0003])
    """

    name = "hot"
    _fit = HigherOrderTensorFit
    _volumes = "all are used"

    def __init__(
        self,
        gtab: GradientTable,
        fit_method: Literal["ols", "wls", "iwls", "OLS", "WLS", "IWLS", "LS"] | None = None,
        *,
        order: Literal["4", "6", "8", 4, 6, 8] | None = None,
        positive: bool | None = None,
        shells: float | Sequence[float] | None = None,
        bmax: float | None = None,
    ) -> None:
        super().__init__(
            gtab,
            method=method_of(fit_method),
            order=order,
            positive=positive,
            shells=shells,
            bmax=bmax,
        )

class FibreOrientationModel(Model[FibreOrientationFit]):
    """Estimate fibre orientation densities by constrained spherical deconvolution.

    Parameters
    ----------
    gtab : gradient table
        Of fimbria or DIPY, or (bvals, bvecs); directions of maps come out in its axes.
    order : {4, 6, 8, 10, 12}
        Degree of the density [default: 8]
    tissues : {auto, white, three}
        Compartments of the signal [default: auto]
    response : path
        Response of single fibres, MRtrix3's text [default: estimated]
    response_gm : path
        Response of grey matter [default: estimated]
    response_csf : path
        Response of fluid [default: estimated]
    regularisation : number
        Preference for small coefficients, relative to the largest diagonal of the normal
        equations [above 0] [default: 0.00001]
    shells : number
        Use only the shells nearest to these b, and the unweighted volumes [from 0 on, s/mm²]
        [default: all]
    bmax : number
        Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: all
        are used]

    Maps
    ----
    fod
        fibre orientation density, spherical harmonics in MRtrix3's basis and order, scanner RAS
        axes; integral 1 for tissue like that of the response
    hot
        the same density as unique entries of a symmetric tensor, lexicographic (1111 1112 ...),
        scanner RAS axes
    tissues
        amounts of fibres (integral of the density) and, where they are told apart, of grey
        matter and fluid, in units of their responses
    residual
        root mean square of measured minus predicted signal, input units
    status
        0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not
        determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined, 8
        fitted, a negative eigenvalue
    mask
        the mask that was made
    mean_b0
        the mean unweighted volume that it was made of

    References
    ----------
    Tournier JD et al. NeuroImage 23, 1176 (2004); 35, 1459 (2007): spherical deconvolution
    Jeurissen B et al. NeuroImage 103, 411 (2014): several shells and tissues
    Tournier JD et al. NMR Biomed 26, 1775 (2013): the response of single fibres
    Dhollander T et al. ISMRM workshop, Lisbon (2016): responses of the other tissues
    Dhollander T, Connelly A. ISMRM 24, 3010 (2016): three tissues of one shell

    Examples
    --------
    >>> import numpy as np
    >>> from fimbria import Gradients
    >>> n = np.random.default_rng(0).standard_normal((60, 3))
    >>> n /= np.linalg.norm(n, axis=1, keepdims=True)
    >>> table = Gradients(np.r_[0, np.repeat([1000, 2000], 30)], np.r_[np.zeros((1, 3)), n], frame='voxel')
    >>> ways = np.random.default_rng(1).standard_normal((40, 1, 1, 3))
    >>> ways /= np.linalg.norm(ways, axis=-1, keepdims=True)
    >>> series = 100 * np.exp(-table.bvals * (3e-4 + 1.4e-3 * (ways @ table.bvecs.T) ** 2))
    >>> made = FibreOrientationModel(table, tissues="white", order="4").fit(series)
    >>> made.fod.shape, made.odf([[1, 0, 0]]).shape
    ((40, 1, 1, 15), (40, 1, 1, 1))
    """

    name = "fod"
    _fit = FibreOrientationFit
    _volumes = "all are used"

    def __init__(
        self,
        gtab: GradientTable,
        *,
        order: Literal["4", "6", "8", "10", "12", 4, 6, 8, 10, 12] | None = None,
        tissues: Literal["auto", "white", "three"] | None = None,
        response: str | PathLike[str] | None = None,
        response_gm: str | PathLike[str] | None = None,
        response_csf: str | PathLike[str] | None = None,
        regularisation: float | None = None,
        shells: float | Sequence[float] | None = None,
        bmax: float | None = None,
    ) -> None:
        super().__init__(
            gtab,
            order=order,
            tissues=tissues,
            response=response,
            response_gm=response_gm,
            response_csf=response_csf,
            regularisation=regularisation,
            shells=shells,
            bmax=bmax,
        )

class KurtosisModel(Model[KurtosisFit]):
    """Fit diffusion kurtosis: MK, AK, RK, KFA, the two tensors and more.

    Parameters
    ----------
    gtab : gradient table
        Of fimbria or DIPY, or (bvals, bvecs); directions of maps come out in its axes.
    fit_method : {ols, wls, iwls, nlls, restore}
        How the tensors are estimated [default: wls; iwls with compat mrtrix, as that program
        does]
    compat : {dipy, mrtrix}
        Follow the numerics of another program, for comparison; implies unconstrained
    unconstrained : flag
        Leave estimates as they are where they violate D > 0, K >= 0 or K <= 3 / (b_max D)
    bmax : number
        Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: 3000;
        all with compat, as those programs do]
    clip : text
        Clip MK, AK, RK, Kmax and Kmin to this range [default: -3/7,10]
    maps : {MK, AK, RK, MKT, KFA, Kmax, Kmin, FA, MD, AD, RD, linearity, planarity, sphericity, V1, S0, tensor, kurtosis, residual, status}
        Maps to make; status always is [default: all]
    shells : number
        Use only the shells nearest to these b, and the unweighted volumes [from 0 on, s/mm²]
        [default: all]

    Maps
    ----
    MK
        mean kurtosis, the mean of K over all directions, clipped
    AK
        axial kurtosis, K along the first eigenvector of the tensor, clipped
    RK
        radial kurtosis, the mean of K across that eigenvector, clipped
    MKT
        mean of the kurtosis tensor, (W1111 + W2222 + W3333 + 2 W1122 + 2 W1133 + 2 W2233) / 5
    KFA
        kurtosis fractional anisotropy, 0 to 1
    Kmax
        largest kurtosis of any direction, clipped
    Kmin
        smallest kurtosis of any direction, clipped
    FA
        fractional anisotropy of the tensor, 0 to 1 (above 1 where an eigenvalue is negative,
        status 7)
    MD
        mean diffusivity, mm²/s
    AD
        axial diffusivity, the largest eigenvalue, mm²/s
    RD
        radial diffusivity, the mean of the other two eigenvalues, mm²/s
    linearity
        linearity of the tensor, (λ1 - λ2) / (λ1 + λ2 + λ3); 1: diffusion along a line
    planarity
        planarity of the tensor, 2 (λ2 - λ3) / (λ1 + λ2 + λ3); 1: diffusion in a plane
    sphericity
        sphericity of the tensor, 3 λ3 / (λ1 + λ2 + λ3); 1: the same in every direction
    V1
        unit eigenvector of the largest eigenvalue, x y z in the axes of gtab, sign arbitrary
    S0
        signal without diffusion weighting, input units
    tensor
        diffusion tensor, xx xy xz yy yz zz in the axes of gtab, mm²/s
    kurtosis
        kurtosis tensor W in the axes of gtab, 1111 1112 1113 1122 1123 1133 1222 1223 1233 1333
        2222 2223 2233 2333 3333
    residual
        root mean square of measured minus predicted signal, input units
    status
        0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not
        determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined, 8
        fitted, a negative eigenvalue
    mask
        the mask that was made
    mean_b0
        the mean unweighted volume that it was made of

    References
    ----------
    Jensen JH et al. Magn Reson Med 53, 1432 (2005): the model
    Tabesh A et al. Magn Reson Med 65, 823 (2011): the metrics, the constraints
    Hansen B, Jespersen SN. Sci Data 3, 160072 (2016): KFA
    Westin CF et al. Med Image Anal 6, 93 (2002): linearity, planarity, sphericity
    Chung S, Lu Y, Henry RG. NeuroImage 33, 531 (2006): wls
    Veraart J et al. NeuroImage 81, 335 (2013): iwls
    Chang LC, Jones DK, Pierpaoli C. Magn Reson Med 53, 1088 (2005): restore

    Examples
    --------
    >>> import numpy as np
    >>> from fimbria import Gradients
    >>> n = np.random.default_rng(0).standard_normal((60, 3))
    >>> n /= np.linalg.norm(n, axis=1, keepdims=True)
    >>> table = Gradients(np.r_[0, np.repeat([1000, 2000], 30)], np.r_[np.zeros((1, 3)), n], frame='voxel')
    >>> signal = 100 * np.exp(-table.bvals * 1e-3 + 0.6 / 6 * (table.bvals * 1e-3) ** 2)
    >>> made = KurtosisModel(table).fit(signal)
    >>> round(float(made.mk()), 2), round(float(made.md), 5)
    (0.6, 0.001)
    """

    name = "dki"
    _fit = KurtosisFit
    _volumes = "3000; all with --compat, as those programs do"
    _pairs = ("clip",)

    def __init__(
        self,
        gtab: GradientTable,
        fit_method: Literal["ols", "wls", "iwls", "nlls", "restore", "OLS", "WLS", "IWLS", "NLLS", "RESTORE", "LS", "RT"] | None = None,
        *,
        compat: Literal["dipy", "mrtrix"] | None = None,
        unconstrained: bool | None = None,
        bmax: float | None = None,
        clip: str | Sequence[float] | None = None,
        maps: Literal["MK", "AK", "RK", "MKT", "KFA", "Kmax", "Kmin", "FA", "MD", "AD", "RD", "linearity", "planarity", "sphericity", "V1", "S0", "tensor", "kurtosis", "residual", "status"] | Sequence[Literal["MK", "AK", "RK", "MKT", "KFA", "Kmax", "Kmin", "FA", "MD", "AD", "RD", "linearity", "planarity", "sphericity", "V1", "S0", "tensor", "kurtosis", "residual", "status"]] | None = None,
        shells: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(
            gtab,
            method=method_of(fit_method),
            compat=compat,
            unconstrained=unconstrained,
            bmax=bmax,
            clip=clip,
            maps=maps,
            shells=shells,
        )

class StretchedExponentialModel(Model[StretchedExponentialFit]):
    """Fit the stretched-exponential model to all volumes: gamma, A, Mgamma and Agamma.

    Parameters
    ----------
    gtab : gradient table
        Of fimbria or DIPY, or (bvals, bvecs); directions of maps come out in its axes.
    projection : {dti, paper}
        How b projects on an axis e of the tensor, for a gradient along g [default: dti]
    axes_bmax : number
        Largest b of the tensor fit that gives the axes (volumes up to 5 % above count) [above
        0, s/mm²] [default: 1500]
    bmax : number
        Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: all
        are used]
    likelihood : {gaussian, offset-gaussian, rician-mean, rician}
        How noise enters [default: gaussian]
    sigma : number
        Standard deviation of the noise [from 0 on, units of the input] [default: estimated from
        the spread of repeated unweighted volumes]
    background : path
        Estimate it from the magnitude in the voxels of this mask, which must hold air, not
        zeros
    precision : {single, double}
        Arithmetic of the fit; measurements and maps are held in single precision [default:
        single]
    max_iterations : integer
        Iterations after which a fit is given up and marked [from 1 on] [default: 100, of
        expressions 1000]
    robust : {huber, tukey}
        Keep outliers from pulling: fit again with weights made of the residuals, until these
        settle (the scale of the residuals is that of each fit by itself)
    errors : flag
        Also write the standard error of each map of the model, NAME_error, in its unit: from
        the residuals (sigma with the Rician likelihood) and the curvature at the solution; 0
        where unknown, as at a bound; with robust tukey some 10 to 20 % too small, with huber
        too large beside gross outliers
    shells : number
        Use only the shells nearest to these b, and the unweighted volumes [from 0 on, s/mm²]
        [default: all]

    Maps
    ----
    gamma
        stretching exponents along the axes of the tensor, largest eigenvalue first; NaN where A
        is 0
    A
        generalised diffusivities along the axes of the tensor, (10^-3 mm^2/s)^gamma:
        A^(1/gamma) is in 10^-3 mm²/s
    Mgamma
        mean of the three exponents
    Agamma
        anisotropy of the exponents, sqrt(3/2) |gamma - Mgamma| / |gamma|
    gamma_parallel
        exponent along the first axis
    gamma_perpendicular
        mean exponent along the other two axes
    S0
        signal without diffusion weighting, input units
    residual
        root mean square of measured minus predicted signal, input units
    status
        0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not
        determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined, 8
        fitted, a negative eigenvalue
    *_error
        the standard error of the map of that name, in its unit
    mask
        the mask that was made
    mean_b0
        the mean unweighted volume that it was made of

    References
    ----------
    De Santis S et al. Magn Reson Med 65, 1043 (2011): the model, Mgamma, Agamma
    Palombo M et al. (2014) GPU-parallelized model fitting for realtime non-Gaussian diffusion
    NMR
    parametric imaging: equation 4

    Examples
    --------
    >>> import numpy as np
    >>> from fimbria import Gradients
    >>> n = np.random.default_rng(0).standard_normal((40, 3))
    >>> n /= np.linalg.norm(n, axis=1, keepdims=True)
    >>> b = np.r_[0, 0, np.repeat([500.0, 1000.0, 1500.0, 2000.0], 10)]
    >>> table = Gradients(b, np.r_[np.zeros((2, 3)), n], frame='voxel')
    >>> made = StretchedExponentialModel(table).fit(100 * np.exp(-((b * 1e-3) ** 0.8)))
    >>> made.gamma.shape, made.A.shape, made.counts
    ((3,), (3,), {'fitted': 1})
    """

    name = "stremi"
    _fit = StretchedExponentialFit
    _volumes = "all are used"

    def __init__(
        self,
        gtab: GradientTable,
        *,
        projection: Literal["dti", "paper"] | None = None,
        axes_bmax: float | None = None,
        bmax: float | None = None,
        likelihood: Literal["gaussian", "offset-gaussian", "rician-mean", "rician"] | None = None,
        sigma: float | None = None,
        background: str | PathLike[str] | None = None,
        precision: Literal["single", "double"] | None = None,
        max_iterations: int | None = None,
        robust: Literal["huber", "tukey"] | None = None,
        errors: bool | None = None,
        shells: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(
            gtab,
            projection=projection,
            axes_bmax=axes_bmax,
            bmax=bmax,
            likelihood=likelihood,
            sigma=sigma,
            background=background,
            precision=precision,
            max_iterations=max_iterations,
            robust=robust,
            errors=errors,
            shells=shells,
        )

class KurtosisPerDirectionModel(Model[KurtosisPerDirectionFit]):
    """Fit kurtosis along each gradient direction, above a noise floor: D, K and MK.

    Parameters
    ----------
    gtab : gradient table
        Of fimbria or DIPY, or (bvals, bvecs); directions of maps come out in its axes.
    eta : text
        The noise floor relative to S0: sigma (sigma / S0), rms (sqrt(2) sigma / S0), fixed:V (V
        in all voxels, as in fixed:0.02) or fit (one for each direction, 0 to 0.5) [default:
        sigma]
    bmax : number
        Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: 3000]
    sigma : number
        Standard deviation of the noise [from 0 on, units of the input] [default: estimated from
        the spread of repeated unweighted volumes]
    background : path
        Estimate it from the magnitude in the voxels of this mask, which must hold air, not
        zeros
    precision : {single, double}
        Arithmetic of the fit; measurements and maps are held in single precision [default:
        single]
    max_iterations : integer
        Iterations after which a fit is given up and marked [from 1 on] [default: 100, of
        expressions 1000]
    robust : {huber, tukey}
        Keep outliers from pulling: fit again with weights made of the residuals, until these
        settle (the scale of the residuals is that of each fit by itself)
    errors : flag
        Also write the standard error of each map of the model, NAME_error, in its unit: from
        the residuals (sigma with the Rician likelihood) and the curvature at the solution; 0
        where unknown, as at a bound; with robust tukey some 10 to 20 % too small, with huber
        too large beside gross outliers
    shells : number
        Use only the shells nearest to these b, and the unweighted volumes [from 0 on, s/mm²]
        [default: all]

    Maps
    ----
    D
        apparent diffusivity, mm²/s, one volume per direction of directions.txt
    K
        apparent kurtosis, one volume per direction of directions.txt; 0 where the signal loses
        less than 1 %
    MD
        mean of D over the directions that converged, mm²/s
    MK
        mean of K over the directions that converged, each limited to -3/7..10; NaN where none
        tells it
    S0
        signal without diffusion weighting, mean of the fits of all directions, input units
    residual
        root mean square of measured minus predicted signal, input units
    status
        0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not
        determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined, 8
        fitted, a negative eigenvalue
    *_error
        the standard error of the map of that name, in its unit
    mask
        the mask that was made
    mean_b0
        the mean unweighted volume that it was made of

    References
    ----------
    Jensen JH et al. Magn Reson Med 53, 1432 (2005): the model, with its floor
    Palombo M et al. (2014) GPU-parallelized model fitting for realtime non-Gaussian diffusion
    NMR
    parametric imaging: the fit of each direction, MK

    Examples
    --------
    >>> import numpy as np
    >>> from fimbria import Gradients
    >>> b = np.r_[0, 0, np.repeat([500.0, 1000.0, 1500.0, 2000.0], 3)]
    >>> table = Gradients(b, np.r_[np.zeros((2, 3)), np.tile(np.eye(3), (4, 1))], frame='voxel')
    >>> signal = 100 * np.exp(-b * 1e-3 + 0.6 / 6 * (b * 1e-3) ** 2)
    >>> made = KurtosisPerDirectionModel(table).fit(signal)
    >>> made.D.shape, round(float(made.MK), 2)
    ((3,), 0.6)
    """

    name = "dki1d"
    _fit = KurtosisPerDirectionFit
    _volumes = "3000"

    def __init__(
        self,
        gtab: GradientTable,
        *,
        eta: str | float | None = None,
        bmax: float | None = None,
        sigma: float | None = None,
        background: str | PathLike[str] | None = None,
        precision: Literal["single", "double"] | None = None,
        max_iterations: int | None = None,
        robust: Literal["huber", "tukey"] | None = None,
        errors: bool | None = None,
        shells: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(
            gtab,
            eta=eta,
            bmax=bmax,
            sigma=sigma,
            background=background,
            precision=precision,
            max_iterations=max_iterations,
            robust=robust,
            errors=errors,
            shells=shells,
        )

class StretchedExponentialPerDirectionModel(Model[StretchedExponentialPerDirectionFit]):
    """Fit a stretched exponential along each gradient direction: A, gamma and Mgamma.

    Parameters
    ----------
    gtab : gradient table
        Of fimbria or DIPY, or (bvals, bvecs); directions of maps come out in its axes.
    bmax : number
        Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: all
        are used]
    likelihood : {gaussian, offset-gaussian, rician-mean, rician}
        How noise enters [default: gaussian]
    sigma : number
        Standard deviation of the noise [from 0 on, units of the input] [default: estimated from
        the spread of repeated unweighted volumes]
    background : path
        Estimate it from the magnitude in the voxels of this mask, which must hold air, not
        zeros
    precision : {single, double}
        Arithmetic of the fit; measurements and maps are held in single precision [default:
        single]
    max_iterations : integer
        Iterations after which a fit is given up and marked [from 1 on] [default: 100, of
        expressions 1000]
    robust : {huber, tukey}
        Keep outliers from pulling: fit again with weights made of the residuals, until these
        settle (the scale of the residuals is that of each fit by itself)
    errors : flag
        Also write the standard error of each map of the model, NAME_error, in its unit: from
        the residuals (sigma with the Rician likelihood) and the curvature at the solution; 0
        where unknown, as at a bound; with robust tukey some 10 to 20 % too small, with huber
        too large beside gross outliers
    shells : number
        Use only the shells nearest to these b, and the unweighted volumes [from 0 on, s/mm²]
        [default: all]

    Maps
    ----
    A
        generalised diffusivity of exp(-A b^gamma), (10^-3 mm^2/s)^gamma: A^(1/gamma) is in
        10^-3 mm²/s; one volume per direction of directions.txt
    gamma
        stretching exponent, one volume per direction of directions.txt; 0 where the signal
        loses less than 1 %
    MA
        mean of A over the directions that converged
    Mgamma
        mean of gamma over the directions that converged; NaN where none tells it
    S0
        signal without diffusion weighting, mean of the fits of all directions, input units
    residual
        root mean square of measured minus predicted signal, input units
    status
        0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not
        determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined, 8
        fitted, a negative eigenvalue
    *_error
        the standard error of the map of that name, in its unit
    mask
        the mask that was made
    mean_b0
        the mean unweighted volume that it was made of

    References
    ----------
    Bennett KM et al. Magn Reson Med 50, 727 (2003): the stretched exponential
    Palombo M et al. (2014) GPU-parallelized model fitting for realtime non-Gaussian diffusion
    NMR
    parametric imaging: the fit of each direction, Mgamma

    Examples
    --------
    >>> import numpy as np
    >>> from fimbria import Gradients
    >>> b = np.r_[0, 0, np.repeat([500.0, 1000.0, 1500.0, 2000.0], 3)]
    >>> table = Gradients(b, np.r_[np.zeros((2, 3)), np.tile(np.eye(3), (4, 1))], frame='voxel')
    >>> signal = 100 * np.exp(-((b * 1e-3) ** 0.8))
    >>> made = StretchedExponentialPerDirectionModel(table).fit(signal)
    >>> made.A.shape, round(float(made.Mgamma), 2)
    ((3,), 0.8)
    """

    name = "stremi1d"
    _fit = StretchedExponentialPerDirectionFit
    _volumes = "all are used"

    def __init__(
        self,
        gtab: GradientTable,
        *,
        bmax: float | None = None,
        likelihood: Literal["gaussian", "offset-gaussian", "rician-mean", "rician"] | None = None,
        sigma: float | None = None,
        background: str | PathLike[str] | None = None,
        precision: Literal["single", "double"] | None = None,
        max_iterations: int | None = None,
        robust: Literal["huber", "tukey"] | None = None,
        errors: bool | None = None,
        shells: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(
            gtab,
            bmax=bmax,
            likelihood=likelihood,
            sigma=sigma,
            background=background,
            precision=precision,
            max_iterations=max_iterations,
            robust=robust,
            errors=errors,
            shells=shells,
        )

class IvimModel(Model[IvimFit]):
    """Fit intravoxel incoherent motion: perfusion fraction, D and D* of two exponentials.

    Parameters
    ----------
    gtab : gradient table
        Of fimbria or DIPY, or (bvals, bvecs); directions of maps come out in its axes.
    bmax : number
        Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: all
        are used]
    likelihood : {gaussian, offset-gaussian, rician-mean, rician}
        How noise enters [default: gaussian]
    sigma : number
        Standard deviation of the noise [from 0 on, units of the input] [default: estimated from
        the spread of repeated unweighted volumes]
    background : path
        Estimate it from the magnitude in the voxels of this mask, which must hold air, not
        zeros
    precision : {single, double}
        Arithmetic of the fit; measurements and maps are held in single precision [default:
        single]
    max_iterations : integer
        Iterations after which a fit is given up and marked [from 1 on] [default: 100, of
        expressions 1000]
    robust : {huber, tukey}
        Keep outliers from pulling: fit again with weights made of the residuals, until these
        settle (the scale of the residuals is that of each fit by itself)
    errors : flag
        Also write the standard error of each map of the model, NAME_error, in its unit: from
        the residuals (sigma with the Rician likelihood) and the curvature at the solution; 0
        where unknown, as at a bound; with robust tukey some 10 to 20 % too small, with huber
        too large beside gross outliers
    shells : number
        Use only the shells nearest to these b, and the unweighted volumes [from 0 on, s/mm²]
        [default: all]

    Maps
    ----
    f
        perfusion fraction of the signal without weighting
    D
        diffusivity of the tissue, mm²/s
    Dstar
        pseudo-diffusivity of the perfusion, mm²/s; NaN where there is none (f is 0)
    S0
        signal without diffusion weighting, input units
    residual
        root mean square of measured minus predicted signal, input units
    status
        0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not
        determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined, 8
        fitted, a negative eigenvalue
    *_error
        the standard error of the map of that name, in its unit
    mask
        the mask that was made
    mean_b0
        the mean unweighted volume that it was made of

    References
    ----------
    Le Bihan D et al. Radiology 168, 497 (1988): the model
    Federau C. NMR Biomed 30, e3780 (2017): what protocols and fits it takes

    Examples
    --------
    >>> import numpy as np
    >>> from fimbria import Gradients
    >>> b = np.r_[0, 10, 20, 40, np.repeat([80.0, 400.0, 1000.0], 8)]
    >>> table = Gradients(b, np.where(b[:, None] > 0, [1.0, 0, 0], 0), b0_threshold=0, frame='voxel')
    >>> signal = 500 * (0.1 * np.exp(-b * 10e-3) + 0.9 * np.exp(-b * 1e-3))
    >>> made = IvimModel(table).fit(signal)
    >>> round(float(made.perfusion_fraction), 2), round(float(made.D), 5)
    (0.1, 0.001)
    """

    name = "ivim"
    _fit = IvimFit
    _volumes = "all are used"

    def __init__(
        self,
        gtab: GradientTable,
        *,
        bmax: float | None = None,
        likelihood: Literal["gaussian", "offset-gaussian", "rician-mean", "rician"] | None = None,
        sigma: float | None = None,
        background: str | PathLike[str] | None = None,
        precision: Literal["single", "double"] | None = None,
        max_iterations: int | None = None,
        robust: Literal["huber", "tukey"] | None = None,
        errors: bool | None = None,
        shells: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(
            gtab,
            bmax=bmax,
            likelihood=likelihood,
            sigma=sigma,
            background=background,
            precision=precision,
            max_iterations=max_iterations,
            robust=robust,
            errors=errors,
            shells=shells,
        )

class MonoExponentialModel(Model[MonoExponentialFit]):
    """Fit one exponential, S0 exp(-b D), to all volumes: D and S0.

    Parameters
    ----------
    gtab : gradient table
        Of fimbria or DIPY, or (bvals, bvecs); directions of maps come out in its axes.
    bmax : number
        Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: all
        are used]
    likelihood : {gaussian, offset-gaussian, rician-mean, rician}
        How noise enters [default: gaussian]
    sigma : number
        Standard deviation of the noise [from 0 on, units of the input] [default: estimated from
        the spread of repeated unweighted volumes]
    background : path
        Estimate it from the magnitude in the voxels of this mask, which must hold air, not
        zeros
    precision : {single, double}
        Arithmetic of the fit; measurements and maps are held in single precision [default:
        single]
    max_iterations : integer
        Iterations after which a fit is given up and marked [from 1 on] [default: 100, of
        expressions 1000]
    robust : {huber, tukey}
        Keep outliers from pulling: fit again with weights made of the residuals, until these
        settle (the scale of the residuals is that of each fit by itself)
    errors : flag
        Also write the standard error of each map of the model, NAME_error, in its unit: from
        the residuals (sigma with the Rician likelihood) and the curvature at the solution; 0
        where unknown, as at a bound; with robust tukey some 10 to 20 % too small, with huber
        too large beside gross outliers
    shells : number
        Use only the shells nearest to these b, and the unweighted volumes [from 0 on, s/mm²]
        [default: all]

    Maps
    ----
    D
        diffusivity of S0 exp(-b D), mm²/s
    S0
        signal without diffusion weighting, input units
    residual
        root mean square of measured minus predicted signal, input units
    status
        0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not
        determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined, 8
        fitted, a negative eigenvalue
    *_error
        the standard error of the map of that name, in its unit
    mask
        the mask that was made
    mean_b0
        the mean unweighted volume that it was made of

    References
    ----------
    Stejskal EO, Tanner JE. J Chem Phys 42, 288 (1965): the decay
    Gudbjartsson H, Patz S. Magn Reson Med 34, 910 (1995): rician

    Examples
    --------
    >>> import numpy as np
    >>> from fimbria import Gradients
    >>> b = np.r_[0, 0, np.repeat([500.0, 1000.0, 1500.0, 2000.0], 3)]
    >>> table = Gradients(b, np.r_[np.zeros((2, 3)), np.tile(np.eye(3), (4, 1))], frame='voxel')
    >>> made = MonoExponentialModel(table).fit(100 * np.exp(-b * 1e-3))
    >>> round(float(made.D), 5), round(float(made.S0), 2)
    (0.001, 100.0)
    """

    name = "mono"
    _fit = MonoExponentialFit
    _volumes = "all are used"

    def __init__(
        self,
        gtab: GradientTable,
        *,
        bmax: float | None = None,
        likelihood: Literal["gaussian", "offset-gaussian", "rician-mean", "rician"] | None = None,
        sigma: float | None = None,
        background: str | PathLike[str] | None = None,
        precision: Literal["single", "double"] | None = None,
        max_iterations: int | None = None,
        robust: Literal["huber", "tukey"] | None = None,
        errors: bool | None = None,
        shells: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(
            gtab,
            bmax=bmax,
            likelihood=likelihood,
            sigma=sigma,
            background=background,
            precision=precision,
            max_iterations=max_iterations,
            robust=robust,
            errors=errors,
            shells=shells,
        )

class MeanSignalKurtosisModel(Model[MeanSignalKurtosisFit]):
    """Fit kurtosis to the mean signal of each shell: MSD, MSK, and the fraction of axons.

    Parameters
    ----------
    gtab : gradient table
        Of fimbria or DIPY, or (bvals, bvecs); directions of maps come out in its axes.
    bmax : number
        Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: 3000]
    shells : number
        Use only the shells nearest to these b, and the unweighted volumes [from 0 on, s/mm²]
        [default: all]

    Maps
    ----
    MSD
        diffusivity of the mean signal of the shells, mm²/s
    MSK
        kurtosis of that mean signal; NaN where MSD is not above 0
    AWF
        axonal water fraction of two compartments with that MSK, 0 to 1
    DI
        their intrinsic diffusivity, mm²/s
    MFA
        their microscopic fractional anisotropy, 0 to 1
    S0
        signal without diffusion weighting, input units
    residual
        root mean square of measured minus predicted mean signals, a shell counting by its
        volumes, input units
    status
        0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not
        determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined, 8
        fitted, a negative eigenvalue
    mask
        the mask that was made
    mean_b0
        the mean unweighted volume that it was made of

    References
    ----------
    Neto Henriques R. Advanced methods for diffusion MRI data analysis and their application to
    the
    healthy ageing brain. University of Cambridge (2018): the model
    Kaden E et al. NeuroImage 139, 346 (2016): the compartments
    Neto Henriques R, Jespersen SN, Shemesh N. Magn Reson Med 81, 3245 (2019): AWF, DI and MFA
    of MSD
    and MSK

    Examples
    --------
    >>> import numpy as np
    >>> from fimbria import Gradients
    >>> n = np.random.default_rng(0).standard_normal((60, 3))
    >>> n /= np.linalg.norm(n, axis=1, keepdims=True)
    >>> table = Gradients(np.r_[0, np.repeat([1000, 2000], 30)], np.r_[np.zeros((1, 3)), n], frame='voxel')
    >>> signal = 100 * np.exp(-table.bvals * 1e-3 + 0.6 / 6 * (table.bvals * 1e-3) ** 2)
    >>> made = MeanSignalKurtosisModel(table).fit(signal)
    >>> round(float(made.msk), 2), round(float(made.msd), 5)
    (0.6, 0.001)
    """

    name = "msdki"
    _fit = MeanSignalKurtosisFit
    _volumes = "3000"

    def __init__(
        self,
        gtab: GradientTable,
        *,
        bmax: float | None = None,
        shells: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(
            gtab,
            bmax=bmax,
            shells=shells,
        )

class NeuriteModel(Model[NeuriteFit]):
    """Fit NODDI: density and dispersion of neurites, free water, mean direction.

    Parameters
    ----------
    gtab : gradient table
        Of fimbria or DIPY, or (bvals, bvecs); directions of maps come out in its axes.
    tissue : {white, grey, ex-vivo}
        Which diffusivities are taken as known [default: white]
    compat : {amico}
        Solve the problem of another program, for comparison
    bmax : number
        Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: all
        are used]
    likelihood : {gaussian, offset-gaussian, rician-mean, rician}
        How noise enters [default: gaussian]
    sigma : number
        Standard deviation of the noise [from 0 on, units of the input] [default: estimated from
        the spread of repeated unweighted volumes]
    background : path
        Estimate it from the magnitude in the voxels of this mask, which must hold air, not
        zeros
    precision : {single, double}
        Arithmetic of the fit; measurements and maps are held in single precision [default:
        single]
    max_iterations : integer
        Iterations after which a fit is given up and marked [from 1 on] [default: 100, of
        expressions 1000]
    robust : {huber, tukey}
        Keep outliers from pulling: fit again with weights made of the residuals, until these
        settle (the scale of the residuals is that of each fit by itself)
    errors : flag
        Also write the standard error of each map of the model, NAME_error, in its unit: from
        the residuals (sigma with the Rician likelihood) and the curvature at the solution; 0
        where unknown, as at a bound; with robust tukey some 10 to 20 % too small, with huber
        too large beside gross outliers
    shells : number
        Use only the shells nearest to these b, and the unweighted volumes [from 0 on, s/mm²]
        [default: all]

    Maps
    ----
    icvf
        neurite density index: share of the tissue's signal that is in sticks; NaN where there
        is no tissue
    od
        orientation dispersion index, 0 parallel, 1 all over the sphere; NaN where there are no
        sticks
    isovf
        share of free water in the signal
    tf
        tissue fraction, 1 - isovf
    icvf_modulated
        icvf times tf, 0 where there is no tissue
    od_modulated
        od times tf, 0 where there is no tissue
    kappa
        concentration of Watson's distribution, 1/tan(pi od/2)
    S0
        signal without diffusion weighting, input units
    direction
        unit vector, x y z in the axes of gtab: mean direction of the neurites; NaN where none
    residual
        root mean square of measured minus predicted signal, input units
    status
        0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not
        determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined, 8
        fitted, a negative eigenvalue
    still
        share of water that stands still in the signal
    *_error
        the standard error of the map of that name, in its unit
    mask
        the mask that was made
    mean_b0
        the mean unweighted volume that it was made of

    References
    ----------
    Zhang H et al. NeuroImage 61, 1000 (2012): the model
    Daducci A et al. NeuroImage 105, 32 (2015): compat amico
    Guerrero JM et al. PLoS One 14, e0217118 (2019): diffusivities in grey matter
    Parker CS et al. NeuroImage 245, 118749 (2021): means weighted by tissue

    Examples
    --------
    >>> import numpy as np
    >>> from fimbria import Gradients
    >>> n = np.random.default_rng(0).standard_normal((60, 3))
    >>> n /= np.linalg.norm(n, axis=1, keepdims=True)
    >>> table = Gradients(np.r_[0, np.repeat([1000, 2000], 30)], np.r_[np.zeros((1, 3)), n], frame='voxel')
    >>> signal = 100 * np.exp(-table.bvals * (3e-4 + 1.4e-3 * table.bvecs[:, 0] ** 2))
    >>> made = NeuriteModel(table).fit(signal)
    >>> made.icvf.shape, made.direction.shape
    ((), (3,))
    """

    name = "noddi"
    _fit = NeuriteFit
    _volumes = "all are used"

    def __init__(
        self,
        gtab: GradientTable,
        *,
        tissue: Literal["white", "grey", "ex-vivo"] | None = None,
        compat: Literal["amico"] | None = None,
        bmax: float | None = None,
        likelihood: Literal["gaussian", "offset-gaussian", "rician-mean", "rician"] | None = None,
        sigma: float | None = None,
        background: str | PathLike[str] | None = None,
        precision: Literal["single", "double"] | None = None,
        max_iterations: int | None = None,
        robust: Literal["huber", "tukey"] | None = None,
        errors: bool | None = None,
        shells: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(
            gtab,
            tissue=tissue,
            compat=compat,
            bmax=bmax,
            likelihood=likelihood,
            sigma=sigma,
            background=background,
            precision=precision,
            max_iterations=max_iterations,
            robust=robust,
            errors=errors,
            shells=shells,
        )

class FreeWaterTensorModel(Model[FreeWaterTensorFit]):
    """Fit the tensor of tissue beside free water: FWF, and FA, MD, V1 of what is left.

    Parameters
    ----------
    gtab : gradient table
        Of fimbria or DIPY, or (bvals, bvecs); directions of maps come out in its axes.
    single_shell : flag
        Take a single shell too, where what tissue is has to be assumed: zeppelins of 1e-3 mm²/s
        along their axis and 0.1 to 1e-3 across, beside water of 2.5e-3, by non-negative least
        squares
    bmax : number
        Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: all
        are used]
    likelihood : {gaussian, offset-gaussian, rician-mean, rician}
        How noise enters [default: gaussian]
    sigma : number
        Standard deviation of the noise [from 0 on, units of the input] [default: estimated from
        the spread of repeated unweighted volumes]
    background : path
        Estimate it from the magnitude in the voxels of this mask, which must hold air, not
        zeros
    precision : {single, double}
        Arithmetic of the fit; measurements and maps are held in single precision [default:
        single]
    max_iterations : integer
        Iterations after which a fit is given up and marked [from 1 on] [default: 100, of
        expressions 1000]
    robust : {huber, tukey}
        Keep outliers from pulling: fit again with weights made of the residuals, until these
        settle (the scale of the residuals is that of each fit by itself)
    errors : flag
        Also write the standard error of each map of the model, NAME_error, in its unit: from
        the residuals (sigma with the Rician likelihood) and the curvature at the solution; 0
        where unknown, as at a bound; with robust tukey some 10 to 20 % too small, with huber
        too large beside gross outliers
    shells : number
        Use only the shells nearest to these b, and the unweighted volumes [from 0 on, s/mm²]
        [default: all]

    Maps
    ----
    FWF
        share of free water in the signal without weighting
    FA
        fractional anisotropy of the tissue, 0 to 1; NaN where there is none
    MD
        mean diffusivity of the tissue, mm²/s; NaN where there is none
    AD
        its axial diffusivity, the largest eigenvalue, mm²/s
    RD
        its radial diffusivity, the mean of the other two, mm²/s
    S0
        signal without diffusion weighting, input units
    V1
        unit eigenvector of the tissue's largest eigenvalue, x y z in the axes of gtab, sign
        arbitrary; NaN where there is no tissue
    tensor
        diffusion tensor of the tissue, xx xy xz yy yz zz in the axes of gtab, mm²/s
    residual
        root mean square of measured minus predicted signal, input units
    status
        0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not
        determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined, 8
        fitted, a negative eigenvalue
    *_error
        the standard error of the map of that name, in its unit
    mask
        the mask that was made
    mean_b0
        the mean unweighted volume that it was made of

    References
    ----------
    Pasternak O et al. Magn Reson Med 62, 717 (2009): the model
    Hoy AR et al. NeuroImage 103, 323 (2014): several shells, the start
    Daducci A et al. NeuroImage 105, 32 (2015): single_shell: the dictionary's problem
    Neto Henriques R et al. ReScience 3, 2 (2017): the same in other words

    Examples
    --------
    >>> import numpy as np
    >>> from fimbria import Gradients
    >>> n = np.random.default_rng(0).standard_normal((60, 3))
    >>> n /= np.linalg.norm(n, axis=1, keepdims=True)
    >>> table = Gradients(np.r_[0, np.repeat([1000, 2000], 30)], np.r_[np.zeros((1, 3)), n], frame='voxel')
    >>> tissue = np.exp(-table.bvals * (3e-4 + 1.4e-3 * table.bvecs[:, 0] ** 2))
    >>> made = FreeWaterTensorModel(table).fit(100 * (0.8 * tissue + 0.2 * np.exp(-table.bvals * 3e-3)))
    >>> round(float(made.FWF), 2), round(float(made.MD), 5)
    (0.2, 0.00077)
    """

    name = "fwdti"
    _fit = FreeWaterTensorFit
    _volumes = "all are used"

    def __init__(
        self,
        gtab: GradientTable,
        *,
        single_shell: bool | None = None,
        bmax: float | None = None,
        likelihood: Literal["gaussian", "offset-gaussian", "rician-mean", "rician"] | None = None,
        sigma: float | None = None,
        background: str | PathLike[str] | None = None,
        precision: Literal["single", "double"] | None = None,
        max_iterations: int | None = None,
        robust: Literal["huber", "tukey"] | None = None,
        errors: bool | None = None,
        shells: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(
            gtab,
            single_shell=single_shell,
            bmax=bmax,
            likelihood=likelihood,
            sigma=sigma,
            background=background,
            precision=precision,
            max_iterations=max_iterations,
            robust=robust,
            errors=errors,
            shells=shells,
        )

class SphericalMeanModel(Model[SphericalMeanFit]):
    """Fit the mean signals of shells: microscopic anisotropy, or the share of sticks.

    Parameters
    ----------
    gtab : gradient table
        Of fimbria or DIPY, or (bvals, bvecs); directions of maps come out in its axes.
    compartments : {one, two}
        What the mean signal is taken for [default: one]
    bmax : number
        Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: all
        are used]
    likelihood : {gaussian, offset-gaussian, rician-mean, rician}
        How noise enters [default: gaussian]
    sigma : number
        Standard deviation of the noise [from 0 on, units of the input] [default: estimated from
        the spread of repeated unweighted volumes]
    background : path
        Estimate it from the magnitude in the voxels of this mask, which must hold air, not
        zeros
    precision : {single, double}
        Arithmetic of the fit; measurements and maps are held in single precision [default:
        single]
    max_iterations : integer
        Iterations after which a fit is given up and marked [from 1 on] [default: 100, of
        expressions 1000]
    robust : {huber, tukey}
        Keep outliers from pulling: fit again with weights made of the residuals, until these
        settle (the scale of the residuals is that of each fit by itself)
    errors : flag
        Also write the standard error of each map of the model, NAME_error, in its unit: from
        the residuals (sigma with the Rician likelihood) and the curvature at the solution; 0
        where unknown, as at a bound; with robust tukey some 10 to 20 % too small, with huber
        too large beside gross outliers
    shells : number
        Use only the shells nearest to these b, and the unweighted volumes [from 0 on, s/mm²]
        [default: all]

    Maps
    ----
    long
        axial diffusivity of the microscopic tensor, mm²/s
    trans
        its radial diffusivity, mm²/s
    MD
        its mean diffusivity, mm²/s
    uFA
        its fractional anisotropy, 0 to 1
    S0
        signal without diffusion weighting, input units
    residual
        root mean square of measured minus predicted signal, input units
    status
        0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not
        determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined, 8
        fitted, a negative eigenvalue
    intra
        share of the signal that is in sticks
    diff
        axial diffusivity of both compartments, mm²/s
    extratrans
        radial diffusivity outside the sticks, mm²/s
    extramd
        mean diffusivity outside the sticks, mm²/s
    *_error
        the standard error of the map of that name, in its unit
    mask
        the mask that was made
    mean_b0
        the mean unweighted volume that it was made of

    References
    ----------
    Kaden E, Kruggel F, Alexander DC. Magn Reson Med 75, 1752 (2016): one compartment
    Kaden E et al. NeuroImage 139, 346 (2016): two compartments

    Examples
    --------
    >>> import numpy as np
    >>> from fimbria import Gradients
    >>> n = np.random.default_rng(0).standard_normal((60, 3))
    >>> n /= np.linalg.norm(n, axis=1, keepdims=True)
    >>> table = Gradients(np.r_[0, np.repeat([1000, 2000], 30)], np.r_[np.zeros((1, 3)), n], frame='voxel')
    >>> signal = 100 * np.exp(-table.bvals * (3e-4 + 1.4e-3 * table.bvecs[:, 0] ** 2))
    >>> made = SphericalMeanModel(table).fit(signal)
    >>> made.uFA.shape, made.long.shape
    ((), ())
    """

    name = "smt"
    _fit = SphericalMeanFit
    _volumes = "all are used"

    def __init__(
        self,
        gtab: GradientTable,
        *,
        compartments: Literal["one", "two"] | None = None,
        bmax: float | None = None,
        likelihood: Literal["gaussian", "offset-gaussian", "rician-mean", "rician"] | None = None,
        sigma: float | None = None,
        background: str | PathLike[str] | None = None,
        precision: Literal["single", "double"] | None = None,
        max_iterations: int | None = None,
        robust: Literal["huber", "tukey"] | None = None,
        errors: bool | None = None,
        shells: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(
            gtab,
            compartments=compartments,
            bmax=bmax,
            likelihood=likelihood,
            sigma=sigma,
            background=background,
            precision=precision,
            max_iterations=max_iterations,
            robust=robust,
            errors=errors,
            shells=shells,
        )

class AxialKurtosisModel(Model[AxialKurtosisFit]):
    """Fit kurtosis about one axis: MK, AK, RK and more of few directions.

    Parameters
    ----------
    gtab : gradient table
        Of fimbria or DIPY, or (bvals, bvecs); directions of maps come out in its axes.
    bmax : number
        Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: all
        are used]
    likelihood : {gaussian, offset-gaussian, rician-mean, rician}
        How noise enters [default: gaussian]
    sigma : number
        Standard deviation of the noise [from 0 on, units of the input] [default: estimated from
        the spread of repeated unweighted volumes]
    background : path
        Estimate it from the magnitude in the voxels of this mask, which must hold air, not
        zeros
    precision : {single, double}
        Arithmetic of the fit; measurements and maps are held in single precision [default:
        single]
    max_iterations : integer
        Iterations after which a fit is given up and marked [from 1 on] [default: 100, of
        expressions 1000]
    robust : {huber, tukey}
        Keep outliers from pulling: fit again with weights made of the residuals, until these
        settle (the scale of the residuals is that of each fit by itself)
    errors : flag
        Also write the standard error of each map of the model, NAME_error, in its unit: from
        the residuals (sigma with the Rician likelihood) and the curvature at the solution; 0
        where unknown, as at a bound; with robust tukey some 10 to 20 % too small, with huber
        too large beside gross outliers
    shells : number
        Use only the shells nearest to these b, and the unweighted volumes [from 0 on, s/mm²]
        [default: all]

    Maps
    ----
    MD
        mean diffusivity, a third of AD and two of RD, mm²/s
    AD
        diffusivity along the axis, mm²/s
    RD
        diffusivity across the axis, mm²/s
    Wpar
        kurtosis tensor along the axis, W∥
    Wperp
        kurtosis tensor across the axis, W⊥
    MKT
        mean of the kurtosis tensor over the sphere
    MK
        mean over the sphere of the kurtosis MD² W(n) / D(n)²
    AK
        kurtosis along the axis, MD² W∥ / AD²
    RK
        kurtosis across the axis, MD² W⊥ / RD²
    S0
        signal without diffusion weighting, input units
    direction
        unit vector, x y z in the axes of gtab: the axis, sign arbitrary
    residual
        root mean square of measured minus predicted signal, input units
    status
        0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not
        determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined, 8
        fitted, a negative eigenvalue
    *_error
        the standard error of the map of that name, in its unit
    mask
        the mask that was made
    mean_b0
        the mean unweighted volume that it was made of

    References
    ----------
    Hansen B, Shemesh N, Jespersen SN. NeuroImage 142, 381 (2016): the tensors, the means
    Hansen B et al. NMR Biomed 30, e3741 (2017): the fit to few images
    Jensen JH, Helpern JA. NMR Biomed 23, 698 (2010): kurtosis

    Examples
    --------
    >>> import numpy as np
    >>> from fimbria import Gradients
    >>> n = np.random.default_rng(0).standard_normal((60, 3))
    >>> n /= np.linalg.norm(n, axis=1, keepdims=True)
    >>> table = Gradients(np.r_[0, np.repeat([1000, 2000], 30)], np.r_[np.zeros((1, 3)), n], frame='voxel')
    >>> signal = 100 * np.exp(-table.bvals * (3e-4 + 1.4e-3 * table.bvecs[:, 0] ** 2))
    >>> made = AxialKurtosisModel(table).fit(signal)
    >>> made.MK.shape, made.direction.shape
    ((), (3,))
    """

    name = "axdki"
    _fit = AxialKurtosisFit
    _volumes = "all are used"

    def __init__(
        self,
        gtab: GradientTable,
        *,
        bmax: float | None = None,
        likelihood: Literal["gaussian", "offset-gaussian", "rician-mean", "rician"] | None = None,
        sigma: float | None = None,
        background: str | PathLike[str] | None = None,
        precision: Literal["single", "double"] | None = None,
        max_iterations: int | None = None,
        robust: Literal["huber", "tukey"] | None = None,
        errors: bool | None = None,
        shells: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(
            gtab,
            bmax=bmax,
            likelihood=likelihood,
            sigma=sigma,
            background=background,
            precision=precision,
            max_iterations=max_iterations,
            robust=robust,
            errors=errors,
            shells=shells,
        )

class KurtosisMicrostructureModel(Model[KurtosisMicrostructureFit]):
    """Make of kurtosis the water inside and outside of the axons of a bundle: AWF and more.

    Parameters
    ----------
    gtab : gradient table
        Of fimbria or DIPY, or (bvals, bvecs); directions of maps come out in its axes.
    fit_method : {ols, wls, iwls, nlls, restore}
        How the diffusion and kurtosis tensors are estimated [default: wls]
    unconstrained : flag
        Leave estimates as they are where they violate D > 0, K >= 0 or K <= 3 / (b_max D)
    bmax : number
        Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: 3000]
    shells : number
        Use only the shells nearest to these b, and the unweighted volumes [from 0 on, s/mm²]
        [default: all]

    Maps
    ----
    AWF
        axonal water fraction, Kmax / (Kmax + 3)
    axonalD
        diffusivity inside axons, the trace of their tensor, mm²/s
    ADE
        axial diffusivity outside axons, mm²/s
    RDE
        radial diffusivity outside axons, mm²/s
    tortuosity
        ADE / RDE
    trace
        sum of the three diffusivities of the tissue, mm²/s
    aligned
        1 where the tensor is that of one bundle (linearity 0.4 and more, planarity at most 0.2,
        sphericity at most 0.35), 0 where the other maps have no such meaning
    AD
        axial diffusivity, the largest eigenvalue, mm²/s
    RD
        radial diffusivity, the mean of the other two eigenvalues, mm²/s
    MD
        mean diffusivity, mm²/s
    AK
        axial kurtosis, K along the first eigenvector of the tensor, clipped
    KFA
        kurtosis fractional anisotropy, 0 to 1
    S0
        signal without diffusion weighting, input units
    residual
        root mean square of measured minus predicted signal, input units
    status
        0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not
        determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined, 8
        fitted, a negative eigenvalue
    mask
        the mask that was made
    mean_b0
        the mean unweighted volume that it was made of

    References
    ----------
    Fieremans E, Jensen JH, Helpern JA. NeuroImage 58, 177 (2011): the model
    Tabesh A et al. Magn Reson Med 65, 823 (2011): kurtosis, its constraints
    Jelescu IO et al. NeuroImage 107, 242 (2015): what it takes for granted

    Examples
    --------
    >>> import numpy as np
    >>> from fimbria import Gradients
    >>> n = np.random.default_rng(0).standard_normal((60, 3))
    >>> n /= np.linalg.norm(n, axis=1, keepdims=True)
    >>> table = Gradients(np.r_[0, np.repeat([1000, 2000], 30)], np.r_[np.zeros((1, 3)), n], frame='voxel')
    >>> signal = 100 * np.exp(-table.bvals * (3e-4 + 1.4e-3 * table.bvecs[:, 0] ** 2))
    >>> made = KurtosisMicrostructureModel(table).fit(signal)
    >>> made.AWF.shape, made.aligned.shape
    ((), ())
    """

    name = "dkimicro"
    _fit = KurtosisMicrostructureFit
    _volumes = "3000"

    def __init__(
        self,
        gtab: GradientTable,
        fit_method: Literal["ols", "wls", "iwls", "nlls", "restore", "OLS", "WLS", "IWLS", "NLLS", "RESTORE", "LS", "RT"] | None = None,
        *,
        unconstrained: bool | None = None,
        bmax: float | None = None,
        shells: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(
            gtab,
            method=method_of(fit_method),
            unconstrained=unconstrained,
            bmax=bmax,
            shells=shells,
        )

class MapmriModel(Model[MapmriFit]):
    """Fit mean apparent propagators (MAP-MRI): RTOP, RTAP, RTPP, MSD, QIV, NG and more.

    Parameters
    ----------
    gtab : gradient table
        Of fimbria or DIPY, or (bvals, bvecs); directions of maps come out in its axes.
    order : {4, 6, 8}
        Where the series ends [default: 6]
    laplacian : text
        Weight of the norm of the signal's Laplacian, 0 for none; gcv finds one in each voxel
        [default: 0.2]
    positive : flag
        Keep the propagator from being negative on a grid out to four times its scale
    isotropic : flag
        One scale along all axes, that of 0.7e-3 mm²/s, in place of the tensor's: NG is not
        defined then
    odf : flag
        Also write odf: how much water is displaced into which direction, for `peaks` and
        `track`
    axes_bmax : number
        Largest b of the tensor fit that gives axes and scales (volumes up to 5 % above count)
        [above 0, s/mm²] [default: 2000]
    big_delta : number
        From the begin of one gradient pulse to that of the other [above 0, ms] [default: 43.1,
        with a warning]
    small_delta : number
        How long each pulse lasts [above 0, ms] [default: 10.6, with a warning]
    bmax : number
        Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: all
        are used]
    shells : number
        Use only the shells nearest to these b, and the unweighted volumes [from 0 on, s/mm²]
        [default: all]

    Maps
    ----
    RTOP
        return to the origin: the propagator at 0, 1/mm³
    RTAP
        return to the first axis of the tensor, 1/mm²
    RTPP
        return to the plane across that axis, 1/mm
    MSD
        mean squared displacement, mm²
    QIV
        q-space inverse variance, 1 over the integral of q² E, mm⁵
    NG
        how far the propagator is from its Gaussian part: the sine of their angle
    NGpar
        the same of the marginal along the first axis
    NGperp
        the same of the marginal across it
    lapnorm
        norm of the Laplacian of the signal, q in 1/mm
    S0
        signal without diffusion weighting, input units
    mapcoeffs
        plain numbers: coefficients of a signal that is 1 without weighting, by total degree,
        then by that along the first axis and the second, descending
    mu
        scale along the axes of the tensor, the root of twice diffusivity times diffusion time,
        mm
    axes
        unit vectors in the axes of gtab, x y z of each: the axes of the series, those of the
        tensor
    residual
        root mean square of measured minus predicted signal, input units
    status
        0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not
        determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined, 8
        fitted, a negative eigenvalue
    odf
        share of water displaced into each direction
    mask
        the mask that was made
    mean_b0
        the mean unweighted volume that it was made of

    References
    ----------
    Özarslan E et al. NeuroImage 78, 16 (2013): the series, the indices
    Fick RHJ et al. NeuroImage 134, 365 (2016): the Laplacian
    Craven P, Wahba G. Numer Math 31, 377 (1979): gcv
    Hosseinbor AP et al. NeuroImage 64, 650 (2013): QIV

    Examples
    --------
    >>> import numpy as np
    >>> from fimbria import Gradients
    >>> n = np.random.default_rng(0).standard_normal((60, 3))
    >>> n /= np.linalg.norm(n, axis=1, keepdims=True)
    >>> table = Gradients(np.r_[0, np.repeat([1000, 2000], 30)], np.r_[np.zeros((1, 3)), n], frame='voxel')
    >>> signal = 100 * np.exp(-table.bvals * (3e-4 + 1.4e-3 * table.bvecs[:, 0] ** 2))
    >>> made = MapmriModel(table, order="4", big_delta=43.1, small_delta=10.6).fit(signal)
    >>> made.RTOP.shape, made.mapcoeffs.shape
    ((), (22,))
    """

    name = "mapmri"
    _fit = MapmriFit
    _volumes = "all are used"

    def __init__(
        self,
        gtab: GradientTable,
        *,
        order: Literal["4", "6", "8", 4, 6, 8] | None = None,
        laplacian: str | float | None = None,
        positive: bool | None = None,
        isotropic: bool | None = None,
        odf: bool | None = None,
        axes_bmax: float | None = None,
        big_delta: float | None = None,
        small_delta: float | None = None,
        bmax: float | None = None,
        shells: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(
            gtab,
            order=order,
            laplacian=laplacian,
            positive=positive,
            isotropic=isotropic,
            odf=odf,
            axes_bmax=axes_bmax,
            big_delta=big_delta,
            small_delta=small_delta,
            bmax=bmax,
            shells=shells,
        )

class QSamplingModel(Model[QSamplingFit]):
    """Make spin distributions by generalised q-sampling (GQI): QA, ISO, GFA and the density.

    Parameters
    ----------
    gtab : gradient table
        Of fimbria or DIPY, or (bvals, bvecs); directions of maps come out in its axes.
    length : number
        How far displacements are counted, in units of how far free water diffuses [0.1 to 10]
        [default: 1.25]
    weighting : {alike, squared}
        How displacements within that count [default: alike]
    bmax : number
        Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: all
        are used]
    shells : number
        Use only the shells nearest to these b, and the unweighted volumes [from 0 on, s/mm²]
        [default: all]

    Maps
    ----
    QA
        quantitative anisotropy, the largest of the spin distribution less its least, input
        units
    ISO
        isotropic part, the least of the spin distribution over directions, input units
    GFA
        generalised fractional anisotropy, standard deviation over root mean square of the spin
        distribution
    odf
        spins, spherical harmonics in MRtrix3's basis and order, scanner RAS axes: the spin
        distribution less its least; integral 1
    status
        0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not
        determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined, 8
        fitted, a negative eigenvalue
    mask
        the mask that was made
    mean_b0
        the mean unweighted volume that it was made of

    References
    ----------
    Yeh FC, Wedeen VJ, Tseng WYI. IEEE Trans Med Imaging 29, 1626 (2010): the sum, QA
    Garyfallidis E. PhD thesis, University of Cambridge (2012): the weighting by squares
    Tuch DS. Magn Reson Med 52, 1358 (2004): GFA

    Examples
    --------
    >>> import numpy as np
    >>> from fimbria import Gradients
    >>> n = np.random.default_rng(0).standard_normal((60, 3))
    >>> n /= np.linalg.norm(n, axis=1, keepdims=True)
    >>> table = Gradients(np.r_[0, np.repeat([1000, 2000], 30)], np.r_[np.zeros((1, 3)), n], frame='voxel')
    >>> signal = 100 * np.exp(-table.bvals * (3e-4 + 1.4e-3 * table.bvecs[:, 0] ** 2))
    >>> made = QSamplingModel(table).fit(signal)
    >>> made.QA.shape, made.odf.shape
    ((), (91,))
    """

    name = "gqi"
    _fit = QSamplingFit
    _volumes = "all are used"

    def __init__(
        self,
        gtab: GradientTable,
        *,
        length: float | None = None,
        weighting: Literal["alike", "squared"] | None = None,
        bmax: float | None = None,
        shells: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(
            gtab,
            length=length,
            weighting=weighting,
            bmax=bmax,
            shells=shells,
        )

class ExpressionModel(Model[ExpressionFit]):
    """Fit a signal model written as an expression, 'S0*exp(-b*D)+C'.

    Parameters
    ----------
    gtab : gradient table
        Of fimbria or DIPY, or (bvals, bvecs); directions of maps come out in its axes.
    model : text
        The signal: b, gx, gy, gz, parameters, constants, + - * / ^ and functions
    param : text
        Each parameter, in the order of the maps: where its fit starts; (start, low, high), None
        for no bound; or (start, 'fixed')
    constant : text
        A map of one volume that the expression takes as a constant of each voxel
    per_volume : text
        Numbers of the volumes, such as echo times, that the expression takes by name: a list,
        the column of that name in a .tsv, or of a sidecar (.json) the key of that name; TE, TI,
        TR, delta and Delta are EchoTime, InversionTime, RepetitionTime, SmallDelta and
        LargeDelta too
    about : text
        What a parameter is, for the sidecar of its map, with its unit in brackets at the end
    starts : integer
        Fit each voxel from so many starts and keep the smallest residual: the others are spread
        within the bounds of the parameters that have both [1 to 1000] [default: 1]
    bmax : number
        Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: all
        are used]
    likelihood : {gaussian, offset-gaussian, rician-mean, rician}
        How noise enters [default: gaussian]
    sigma : text
        Standard deviation of the noise in input units, a number or a map, for the offset-
        Gaussian and Rician likelihoods [default: estimated from the spread of repeated
        unweighted volumes]
    background : path
        Estimate it from the magnitude in the voxels of this mask, which must hold air, not
        zeros
    precision : {single, double}
        Arithmetic of the fit; measurements and maps are held in single precision [default:
        single]
    max_iterations : integer
        Iterations after which a fit is given up and marked [from 1 on] [default: 100, of
        expressions 1000]
    robust : {huber, tukey}
        Keep outliers from pulling: fit again with weights made of the residuals, until these
        settle (the scale of the residuals is that of each fit by itself)
    errors : flag
        Also write the standard error of each map of the model, NAME_error, in its unit: from
        the residuals (sigma with the Rician likelihood) and the curvature at the solution; 0
        where unknown, as at a bound; with robust tukey some 10 to 20 % too small, with huber
        too large beside gross outliers
    shells : number
        Use only the shells nearest to these b, and the unweighted volumes [from 0 on, s/mm²]
        [default: all]

    Maps
    ----
    NAME
        each parameter, in the unit the expression gives it; NaN where the samples of a voxel do
        not determine it, and others are kept
    NAME_error
        its standard error, with errors
    residual
        root mean square of measured minus predicted signal, input units
    iterations
        iterations of the fit
    status
        0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not
        determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined, 8
        fitted, a negative eigenvalue
    mask
        the mask that was made
    mean_b0
        the mean unweighted volume that it was made of

    References
    ----------
    Moré JJ. Lecture Notes in Mathematics 630, 105 (1978): Levenberg-Marquardt
    Alexander DC. NeuroImage 43, 258 (2008): offset-gaussian
    Gudbjartsson H, Patz S. Magn Reson Med 34, 910 (1995): rician

    Examples
    --------
    >>> import numpy as np
    >>> from fimbria import Gradients
    >>> b = np.r_[0, 0, np.repeat([500.0, 1000.0, 1500.0, 2000.0], 3)]
    >>> table = Gradients(b, np.r_[np.zeros((2, 3)), np.tile(np.eye(3), (4, 1))], frame='voxel')
    >>> signal = 100 * np.exp(-b * 1e-3) + 5
    >>> start = {"S0": (80, 0, None), "D": (0.5, 0, 10), "C": (1, 0, 50)}  # b is in ms/µm², D in µm²/ms
    >>> made = ExpressionModel(table, "S0*exp(-b*D)+C", param=start).fit(signal)
    >>> round(float(made.S0), 1), round(float(made.D), 3), round(float(made.C), 1)
    (100.0, 1.0, 5.0)
    """

    name = "expr"
    _fit = ExpressionFit
    _volumes = "all are used"

    def __init__(
        self,
        gtab: GradientTable,
        model: str | float,
        param: Mapping[str, float | tuple[float, float | None, float | None] | tuple[float, Literal["fixed"]]] | str | Sequence[str],
        *,
        constant: str | float | Sequence[str | float] | None = None,
        per_volume: str | float | Sequence[str | float] | None = None,
        about: str | float | Sequence[str | float] | None = None,
        starts: int | None = None,
        bmax: float | None = None,
        likelihood: Literal["gaussian", "offset-gaussian", "rician-mean", "rician"] | None = None,
        sigma: str | float | None = None,
        background: str | PathLike[str] | None = None,
        precision: Literal["single", "double"] | None = None,
        max_iterations: int | None = None,
        robust: Literal["huber", "tukey"] | None = None,
        errors: bool | None = None,
        shells: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(
            gtab,
            model=model,
            param=param,
            constant=constant,
            per_volume=per_volume,
            about=about,
            starts=starts,
            bmax=bmax,
            likelihood=likelihood,
            sigma=sigma,
            background=background,
            precision=precision,
            max_iterations=max_iterations,
            robust=robust,
            errors=errors,
            shells=shells,
        )
