"""Which maps each fit has, for type checkers. Made by generate.py from `fimbria describe`: not to be edited."""
# pyright: reportUninitializedInstanceVariable=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from .fits import Fit

Array = npt.NDArray[Any]


class TensorMaps(Fit):
    """The maps of fit dti."""

    FA: Array
    fa: Array
    MD: Array
    md: Array
    AD: Array
    ad: Array
    RD: Array
    rd: Array
    L1: Array
    l1: Array
    L2: Array
    l2: Array
    L3: Array
    l3: Array
    V1: Array
    v1: Array
    V2: Array
    v2: Array
    V3: Array
    v3: Array
    MO: Array
    mo: Array
    S0: Array
    s0: Array
    tensor: Array
    residual: Array

class HigherOrderTensorMaps(Fit):
    """The maps of fit hot."""

    hot: Array
    MD: Array
    md: Array
    GA: Array
    ga: Array
    variance: Array
    S0: Array
    s0: Array
    residual: Array

class FibreOrientationMaps(Fit):
    """The maps of fit fod."""

    fod: Array
    hot: Array
    tissues: Array
    residual: Array

class KurtosisMaps(Fit):
    """The maps of fit dki."""

    MK: Array
    AK: Array
    RK: Array
    MKT: Array
    KFA: Array
    Kmax: Array
    kmax: Array
    Kmin: Array
    kmin: Array
    FA: Array
    fa: Array
    MD: Array
    md: Array
    AD: Array
    ad: Array
    RD: Array
    rd: Array
    V1: Array
    v1: Array
    S0: Array
    s0: Array
    tensor: Array
    kurtosis: Array
    residual: Array

class StretchedExponentialFit(Fit):
    """The maps of fit stremi."""

    gamma: Array
    A: Array
    a: Array
    Mgamma: Array
    mgamma: Array
    Agamma: Array
    agamma: Array
    gamma_parallel: Array
    gamma_perpendicular: Array
    S0: Array
    s0: Array
    residual: Array
    gamma_error: Array
    A_error: Array
    a_error: Array
    Mgamma_error: Array
    mgamma_error: Array
    Agamma_error: Array
    agamma_error: Array
    gamma_parallel_error: Array
    gamma_perpendicular_error: Array
    S0_error: Array
    s0_error: Array
    residual_error: Array

class KurtosisPerDirectionFit(Fit):
    """The maps of fit dki1d."""

    D: Array
    d: Array
    K: Array
    k: Array
    MD: Array
    md: Array
    MK: Array
    mk: Array
    S0: Array
    s0: Array
    residual: Array
    D_error: Array
    d_error: Array
    K_error: Array
    k_error: Array
    MD_error: Array
    md_error: Array
    MK_error: Array
    mk_error: Array
    S0_error: Array
    s0_error: Array
    residual_error: Array

class StretchedExponentialPerDirectionFit(Fit):
    """The maps of fit stremi1d."""

    A: Array
    a: Array
    gamma: Array
    MA: Array
    ma: Array
    Mgamma: Array
    mgamma: Array
    S0: Array
    s0: Array
    residual: Array
    A_error: Array
    a_error: Array
    gamma_error: Array
    MA_error: Array
    ma_error: Array
    Mgamma_error: Array
    mgamma_error: Array
    S0_error: Array
    s0_error: Array
    residual_error: Array

class IvimMaps(Fit):
    """The maps of fit ivim."""

    f: Array
    d: Array
    Dstar: Array
    dstar: Array
    S0: Array
    s0: Array
    residual: Array
    f_error: Array
    D_error: Array
    d_error: Array
    Dstar_error: Array
    dstar_error: Array
    S0_error: Array
    s0_error: Array
    residual_error: Array

class MonoExponentialFit(Fit):
    """The maps of fit mono."""

    D: Array
    d: Array
    S0: Array
    s0: Array
    residual: Array
    D_error: Array
    d_error: Array
    S0_error: Array
    s0_error: Array
    residual_error: Array

class MeanSignalKurtosisMaps(Fit):
    """The maps of fit msdki."""

    MSD: Array
    msd: Array
    MSK: Array
    msk: Array
    AWF: Array
    awf: Array
    DI: Array
    di: Array
    MFA: Array
    mfa: Array
    S0: Array
    s0: Array
    residual: Array

class NeuriteFit(Fit):
    """The maps of fit noddi."""

    icvf: Array
    od: Array
    isovf: Array
    tf: Array
    icvf_modulated: Array
    od_modulated: Array
    kappa: Array
    S0: Array
    s0: Array
    direction: Array
    residual: Array
    still: Array
    icvf_error: Array
    od_error: Array
    isovf_error: Array
    tf_error: Array
    icvf_modulated_error: Array
    od_modulated_error: Array
    kappa_error: Array
    S0_error: Array
    s0_error: Array
    direction_error: Array
    residual_error: Array
    still_error: Array

class FreeWaterTensorFit(Fit):
    """The maps of fit fwdti."""

    FWF: Array
    fwf: Array
    FA: Array
    fa: Array
    MD: Array
    md: Array
    AD: Array
    ad: Array
    RD: Array
    rd: Array
    S0: Array
    s0: Array
    V1: Array
    v1: Array
    tensor: Array
    residual: Array
    FWF_error: Array
    fwf_error: Array
    FA_error: Array
    fa_error: Array
    MD_error: Array
    md_error: Array
    AD_error: Array
    ad_error: Array
    RD_error: Array
    rd_error: Array
    S0_error: Array
    s0_error: Array
    V1_error: Array
    v1_error: Array
    tensor_error: Array
    residual_error: Array

class SphericalMeanFit(Fit):
    """The maps of fit smt."""

    long: Array
    trans: Array
    MD: Array
    md: Array
    uFA: Array
    ufa: Array
    S0: Array
    s0: Array
    residual: Array
    intra: Array
    diff: Array
    extratrans: Array
    extramd: Array
    long_error: Array
    trans_error: Array
    MD_error: Array
    md_error: Array
    uFA_error: Array
    ufa_error: Array
    S0_error: Array
    s0_error: Array
    residual_error: Array
    intra_error: Array
    diff_error: Array
    extratrans_error: Array
    extramd_error: Array

class AxialKurtosisFit(Fit):
    """The maps of fit axdki."""

    MD: Array
    md: Array
    AD: Array
    ad: Array
    RD: Array
    rd: Array
    Wpar: Array
    wpar: Array
    Wperp: Array
    wperp: Array
    MKT: Array
    mkt: Array
    MK: Array
    mk: Array
    AK: Array
    ak: Array
    RK: Array
    rk: Array
    S0: Array
    s0: Array
    direction: Array
    residual: Array
    MD_error: Array
    md_error: Array
    AD_error: Array
    ad_error: Array
    RD_error: Array
    rd_error: Array
    Wpar_error: Array
    wpar_error: Array
    Wperp_error: Array
    wperp_error: Array
    MKT_error: Array
    mkt_error: Array
    MK_error: Array
    mk_error: Array
    AK_error: Array
    ak_error: Array
    RK_error: Array
    rk_error: Array
    S0_error: Array
    s0_error: Array
    direction_error: Array
    residual_error: Array

class KurtosisMicrostructureFit(Fit):
    """The maps of fit dkimicro."""

    AWF: Array
    awf: Array
    axonalD: Array
    axonald: Array
    ADE: Array
    ade: Array
    RDE: Array
    rde: Array
    tortuosity: Array
    trace: Array
    aligned: Array
    AD: Array
    ad: Array
    RD: Array
    rd: Array
    MD: Array
    md: Array
    AK: Array
    ak: Array
    KFA: Array
    kfa: Array
    S0: Array
    s0: Array
    residual: Array

class MapmriFit(Fit):
    """The maps of fit mapmri."""

    RTOP: Array
    rtop: Array
    RTAP: Array
    rtap: Array
    RTPP: Array
    rtpp: Array
    MSD: Array
    msd: Array
    QIV: Array
    qiv: Array
    NG: Array
    ng: Array
    NGpar: Array
    ngpar: Array
    NGperp: Array
    ngperp: Array
    lapnorm: Array
    S0: Array
    s0: Array
    mapcoeffs: Array
    mu: Array
    axes: Array
    residual: Array
    odf: Array

class QSamplingFit(Fit):
    """The maps of fit gqi."""

    QA: Array
    qa: Array
    ISO: Array
    iso: Array
    GFA: Array
    gfa: Array
    odf: Array

class ExpressionFit(Fit):
    """The maps of fit expr."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Array: ...
