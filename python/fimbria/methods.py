"""The methods that are no fits. Made by generate.py from `fimbria describe`: not to be edited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal

import numpy.typing as npt

from . import _methods
from ._given import GradientTable, Series, Voxels
from ._methods import Connectome, Evaluation, Fields, Peaks, Sticks, StreamlineWeights, Susceptibility, Tracks
from ._work import Progress

__all__ = [
    "Connectome",
    "Evaluation",
    "Fields",
    "Peaks",
    "Sticks",
    "StreamlineWeights",
    "Susceptibility",
    "Tracks",
    "connectome",
    "life",
    "local_field",
    "peaks",
    "qsm",
    "sample_sticks",
    "sift2",
    "track",
]



def peaks(
    directions: Any,
    *,
    sh_basis: Literal["mrtrix", "dipy", "dipy-legacy"] | None = None,
    frame: Literal["fsl", "voxel", "scanner"] | None = None,
    mask: Voxels | None = None,
    affine: npt.ArrayLike | None = None,
    method: Literal["maxima", "low-rank"] | None = None,
    fibre: Literal["delta", "rank-one"] | None = None,
    number: int | None = None,
    threshold: float | None = None,
    absolute_threshold: float | None = None,
    separation: float | None = None,
    starts: int | None = None,
    threads: int = 0,
    device: str | None = None,
    progress: Progress = None,
) -> Peaks:
    """Find fibre directions: the maxima of a function on the sphere in every voxel.

    Parameters
    ----------
    directions : data
        A fit of `FibreOrientationModel` or `HigherOrderTensorModel`, or coefficients [x, y, z,
        n]: spherical harmonics with sh_basis, else unique entries of symmetric tensors
    sh_basis : {mrtrix, dipy, dipy-legacy}
        The coefficients are spherical harmonics of this basis [default: that of a fit; else
        unique entries]
    frame : {fsl, voxel, scanner}
        Axes the coefficients refer to [default: voxel with a basis of DIPY, else scanner]
    mask : optional
        Voxels to work on [x, y, z]; all by default
    affine : optional
        Scanner RAS mm from voxel of the array; by default that of the image or the fit, else
        the identity
    method : {maxima, low-rank}
        What counts as a fibre direction [default: maxima]
    fibre : {delta, rank-one}
        What a single fibre looks like in the input [default: delta in harmonics, rank-one in
        unique entries]
    number : integer
        Directions of a voxel at most [1 to 32] [default: 3]
    threshold : number
        Least value of a direction, as a share of the voxel's largest [0 to 1] [default: 0.1]
    absolute_threshold : number
        Value that a direction must exceed, in units of the input [any] [default: 0]
    separation : number
        Of two directions nearer than this only the larger is kept [0 to 90, degrees] [default:
        25]
    starts : integer
        Directions of the half sphere from which the search sets out [16 to 4096] [default:
        1024]
    threads : optional
        Threads to work with; 0 for one per core. Results do not depend on it.
    device : optional
        Where to work: auto, cpu, gpu, gpu:0,1 or opencl:0; the threads alone by default.
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Peaks
        `peak_dirs` [x, y, z, n, 3] and `peak_values` [x, y, z, n], the largest first;
        `directions`, whose length is the value, are in scanner RAS axes, whatever axes the
        table of a fit was in. `shm_coeff`, `gfa`, and where DIPY is installed `peak_indices`,
        `sphere` and `to_pam()`.

    References
    ----------
    Ballard G, Kolda T, Plantenga T. IPDPS Workshops (2011)          maxima of symmetric tensors
    Kolda T, Mayo J. SIAM J Matrix Anal Appl 32, 1095 (2011)         what certifies a maximum
    Schultz T, Seidel HP. IEEE Trans Vis Comput Graph 14, 1635 (2008)    low-rank

    Examples
    --------
    >>> import numpy as np
    >>> harmonics = np.zeros((1, 1, 1, 15), np.float32)
    >>> harmonics[..., [0, 3]] = 1.0, 2.0  # degree 2 along z
    >>> peaks(harmonics, sh_basis="mrtrix", threads=1).peak_values.shape
    (1, 1, 1, 3)
    """
    return _methods.peaks(
        directions,
        sh_basis=sh_basis,
        frame=frame,
        mask=mask,
        affine=affine,
        options={"method": method, "fibre": fibre, "number": number, "threshold": threshold, "absolute_threshold": absolute_threshold, "separation": separation, "starts": starts},
        threads=threads,
        device=device,
        progress=progress,
    )


def sample_sticks(
    data: Series,
    gtab: GradientTable | None = None,
    *,
    mask: Voxels | None = None,
    affine: npt.ArrayLike | None = None,
    model: Literal["1", "2", "3", 1, 2, 3] | None = None,
    fibres: int | None = None,
    ard: Literal["further", "all", "off"] | None = None,
    fudge: float | None = None,
    noise: Literal["gaussian", "rician"] | None = None,
    f0: Literal["none", "flat", "ard"] | None = None,
    ratio: float | Sequence[float] | None = None,
    burn_in: int | None = None,
    jumps: int | None = None,
    sample_every: int | None = None,
    adapt_every: int | None = None,
    rng_seed: int | None = None,
    threads: int = 0,
    device: str | None = None,
    progress: Progress = None,
) -> Sticks:
    """Sample ball and sticks: fibre directions of every voxel and how sure they are (bedpostx).

    Parameters
    ----------
    data : data
        Series [x, y, z, volumes], `fimbria.Image`, or image of nibabel; float32 is read where
        it lies
    gtab : optional
        Gradient table of fimbria or DIPY, or (bvals, bvecs); that of the image by default
    mask : optional
        Voxels to work on [x, y, z]; all by default
    affine : optional
        Scanner RAS mm from voxel of the array; by default that of the image or the fit, else
        the identity
    model : {1, 2, 3}
        The model of diffusivity, by FSL's number [default: 2]
    fibres : integer
        Fibres per voxel [1 to 4] [default: 3]
    ard : {further, all, off}
        Fractions that tend to 0 where the data do not ask for the fibre (automatic relevance
        determination) [default: further]
    fudge : number
        How strongly: the prior is f^-FUDGE [from 0 on] [default: 1]
    noise : {gaussian, rician}
        How noise enters [default: gaussian]
    f0 : {none, flat, ard}
        A part of the signal that no weighting attenuates [default: none]
    ratio : number
        Mean and standard deviation of the prior of the zeppelins' ratio (model 3) [above 0]
        [default: 0.13,0.03]
    burn_in : integer
        Jumps before the first sample [from 0 on] [default: 1000]
    jumps : integer
        Jumps from then on [from 1 on] [default: 1000]
    sample_every : integer
        Keep every Nth of them as a sample [from 1 on] [default: 20]
    adapt_every : integer
        Adapt the proposals every N jumps [from 1 on] [default: 40]
    rng_seed : integer
        Seed of the random numbers; the same seed gives the same samples [from 0 on] [default:
        0]
    threads : optional
        Threads to work with; 0 for one per core. Results do not depend on it.
    device : optional
        Where to work: auto, cpu, gpu, gpu:0,1 or opencl:0; the threads alone by default.
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Sticks
        Maps as bedpostX names them, `dyads1` and `mean_f1samples` and so on, directions in
        scanner RAS axes; `samples(fibre)` gives the samples, and `track` follows them.

    References
    ----------
    Behrens TEJ et al. Magn Reson Med 50, 1077 (2003)         ball and stick, its sampling
    Behrens TEJ et al. NeuroImage 34, 144 (2007)              several fibres, relevance
    Jbabdi S et al. Magn Reson Med 68, 1846 (2012)            model 2
    Sotiropoulos SN et al. NeuroImage 134, 396 (2016)         model 3

    Examples
    --------
    >>> import numpy as np
    >>> from fimbria import Gradients
    >>> n = np.random.default_rng(0).standard_normal((60, 3))
    >>> n /= np.linalg.norm(n, axis=1, keepdims=True)
    >>> table = Gradients(np.r_[0, np.repeat([1000, 2000], 30)], np.r_[np.zeros((1, 3)), n], frame='voxel')
    >>> signal = 100 * np.exp(-table.bvals * (3e-4 + 1.4e-3 * table.bvecs[:, 0] ** 2))
    >>> signal = signal.reshape(1, 1, 1, -1)
    >>> quick = {'fibres': 1, 'burn_in': 200, 'jumps': 100, 'sample_every': 5}
    >>> sticks = sample_sticks(signal, table, **quick, threads=1)
    >>> sticks.n_samples, bool(abs(sticks.dyads1[0, 0, 0, 0]) > 0.99)
    (20, True)
    """
    return _methods.sample_sticks(
        data,
        gtab,
        mask=mask,
        affine=affine,
        options={"model": model, "fibres": fibres, "ard": ard, "fudge": fudge, "noise": noise, "f0": f0, "ratio": ratio, "burn_in": burn_in, "jumps": jumps, "sample_every": sample_every, "adapt_every": adapt_every, "rng_seed": rng_seed},
        threads=threads,
        device=device,
        progress=progress,
    )


def track(
    directions: Any,
    seeds: Any,
    *,
    sh_basis: Literal["mrtrix", "dipy", "dipy-legacy"] | None = None,
    hot: bool = False,
    frame: Literal["fsl", "voxel", "scanner"] | None = None,
    dispersion: float = 0.0,
    mask: Voxels | None = None,
    affine: npt.ArrayLike | None = None,
    include: Any = None,
    include_any: bool = False,
    in_order: bool = False,
    exclude: Any = None,
    stop: Any = None,
    target: Any = None,
    network: bool = False,
    act: Any = None,
    backtrack: bool | None = None,
    crop: bool | None = None,
    seed_boundary: bool | None = None,
    samples: int | None = None,
    select: int | None = None,
    most_starts: int | None = None,
    seeds_by: Literal["equal", "density", "dynamic"] | None = None,
    one_direction: bool | None = None,
    algorithm: Literal["transport", "probabilistic", "deterministic"] | None = None,
    step: float | None = None,
    max_length: float | None = None,
    min_length: float | None = None,
    angle: float | None = None,
    cutoff: float | None = None,
    power: float | None = None,
    probe: float | None = None,
    fibre_threshold: float | None = None,
    use_fraction: bool | None = None,
    modified_euler: bool | None = None,
    loop_check: bool | None = None,
    first_fibre: Literal["largest", "uniform", "proportional"] | None = None,
    jitter: float | None = None,
    rng_seed: int | None = None,
    compress: float | None = None,
    downsample: int | None = None,
    threads: int = 0,
    device: str | None = None,
    progress: Progress = None,
) -> Tracks:
    """Track fibres through samples of directions, peaks or functions on the sphere.

    Parameters
    ----------
    directions : data
        A fit of `FibreOrientationModel`, `Sticks`, `Peaks`, or an array: spherical harmonics
        with sh_basis, unique entries with hot, else directions [x, y, z, n, 3] or [x, y, z, 3
        n]
    seeds : data
        Where to start: voxels above zero of an array [x, y, z] or an image; points [n, 3] in
        scanner RAS mm; the path of an image, a surface or a list; a list of several regions
    sh_basis : {mrtrix, dipy, dipy-legacy}
        Volumes are spherical harmonics of this basis [default: that of a fit; else directions
        are peaks]
    hot : flag
        Volumes are unique entries of a higher-order tensor (fit fod)
    frame : {fsl, voxel, scanner}
        Axes of peaks or coefficients [default: scanner; voxel with a basis of DIPY]
    dispersion : number
        Scatter directions around peaks by this angle; 0 tracks deterministically [from 0 on,
        degrees] [default: 0]
    mask : optional
        Voxels to work on [x, y, z]; all by default
    affine : optional
        Scanner RAS mm from voxel of the array; by default that of the image or the fit, else
        the identity
    include : optional
        Where streamlines must pass, all of them. Voxels above zero of an array [x, y, z] or an
        image, or the path of an image or a surface; a list of several regions.
    include_any : flag
        One of those is enough
    in_order : flag
        In the order given
    exclude : optional
        Where streamlines must not pass. Voxels above zero of an array [x, y, z] or an image, or
        the path of an image or a surface; a list of several regions.
    stop : optional
        Where streamlines end. Voxels above zero of an array [x, y, z] or an image, or the path
        of an image or a surface; a list of several regions.
    target : optional
        Count for each seed the streamlines that reach this. Voxels above zero of an array [x,
        y, z] or an image, or the path of an image or a surface; a list of several regions.
    network : flag
        Keep only what joins two of the seed regions, and count pairs
    act : optional
        Through densities: tissues that say where streamlines may end, an array [x, y, z, 5]
        (cortical grey, subcortical grey, white, fluid, other), labels [x, y, z], an image, or
        its path
    backtrack : flag
        Take streamlines that end wrongly back some steps and let them go on another way
        [default: true, but with `deterministic` false]
    crop : flag
        Cut ends in grey matter off at its boundary with white matter [default: true]
    seed_boundary : flag
        Start on that boundary, in the voxels of seeds (in a run: with densities) that it
        passes, and go into white matter
    samples : integer
        Streamlines from each seed [1 to 1000000000] [default: 50; through densities select]
    select : integer
        Through densities: start at seeds drawn at random until so many streamlines are kept, or
        most_starts were started [1 to 100000000] [default: 10000 through densities]
    most_starts : integer
        Through densities: start so many streamlines at most, however few of them are kept [from
        1 on] [default: 1000 times select]
    seeds_by : {equal, density, dynamic}
        Through densities: how the seeds to start at are drawn [default: equal]
    one_direction : flag
        Through densities: go one way only, so that streamlines begin at their seeds
    algorithm : {transport, probabilistic, deterministic}
        Through densities: which way to go on [default: transport]
    step : number
        Length of a step [above 0, mm] [default: 0.5; through densities half of the shortest
        voxel edge, deterministic a fifth]
    max_length : number
        Longest streamline [above 0, mm] [default: 1000; through densities 250]
    min_length : number
        Shortest streamline kept [from 0 on, mm] [default: 0; through densities 10]
    angle : number
        Largest angle between two steps [0 to 180, degrees] [default: 78.46304; through
        densities 6, deterministic or probabilistic 45]
    cutoff : number
        Through densities: end where the density is below this; of orders above 8 in proportion
        to their coefficients, as fibres are higher [above 0] [default: 0.15; deterministic or
        with act 0.1]
    power : number
        Through densities: the power to which the mean of the densities along an arc or a probe
        is raised [above 0] [default: 1]
    probe : number
        Transport: how far densities are looked at ahead [above 0, mm] [default: half the
        shortest voxel edge]
    fibre_threshold : number
        Fibres with a fraction (of peaks: length as part of the longest) up to this are not
        followed [0 to 1] [default: 0.01]
    use_fraction : flag
        End with probability 1 - f at each step
    modified_euler : flag
        Average each direction with that one step ahead
    loop_check : flag
        End streamlines that come back on themselves
    first_fibre : {largest, uniform, proportional}
        The fibre to start with [default: largest]
    jitter : number
        Start anywhere in a sphere of this radius [from 0 on, mm] [default: 0; through densities
        anywhere in the voxel]
    rng_seed : integer
        Seed of the random numbers [from 0 on] [default: 1]
    compress : number
        Leave out points of streamlines as long as none is farther than this from what is left
        (pieces of 10 mm at most) [above 0, mm]
    downsample : integer
        Leave out points of streamlines but each Nth and the last [from 2 on]
    threads : optional
        Threads to work with; 0 for one per core. Results do not depend on it.
    device : optional
        Where to work: auto, cpu, gpu, gpu:0,1 or opencl:0; the threads alone by default.
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Tracks
        A `Tractogram` in scanner RAS mm, in the order of seeds, with `seeds` [streamlines, 3],
        `visits` [x, y, z] and counts. A fit is turned into scanner axes from those of its
        table; where these are not known and its voxels lie in a scanner, it is refused. Through
        harmonics and entries the defaults differ from those through samples and peaks.

    References
    ----------
    Behrens TEJ et al. Magn Reson Med 50, 1077 (2003); NeuroImage 34, 144 (2007)
    Tournier J-D, Calamante F, Connelly A. Proc ISMRM 18, 1670 (2010): arcs through densities
    Aydogan DB, Shi Y. IEEE Trans Med Imaging 40, 635 (2021): parallel transport
    Smith RE et al. NeuroImage 62, 1924 (2012): anatomical constraint

    Examples
    --------
    >>> import numpy as np
    >>> along_x = np.zeros((30, 3, 3, 1, 3), np.float32)
    >>> along_x[..., 0] = 1.0
    >>> seeds = np.zeros((30, 3, 3), bool)
    >>> seeds[15, 1, 1] = True
    >>> tracks = track(along_x, seeds, samples=1, threads=1)
    >>> len(tracks), int(np.ptp(tracks[0][:, 0])), tracks.seeds.tolist()
    (1, 29, [[15.0, 1.0, 1.0]])
    """
    return _methods.track(
        directions,
        seeds,
        sh_basis=sh_basis,
        hot=hot,
        frame=frame,
        dispersion=dispersion,
        mask=mask,
        affine=affine,
        include=include,
        include_any=include_any,
        in_order=in_order,
        exclude=exclude,
        stop=stop,
        target=target,
        network=network,
        act=act,
        options={"backtrack": backtrack, "crop": crop, "seed_boundary": seed_boundary, "samples": samples, "select": select, "most_starts": most_starts, "seeds_by": seeds_by, "one_direction": one_direction, "algorithm": algorithm, "step": step, "max_length": max_length, "min_length": min_length, "angle": angle, "cutoff": cutoff, "power": power, "probe": probe, "fibre_threshold": fibre_threshold, "use_fraction": use_fraction, "modified_euler": modified_euler, "loop_check": loop_check, "first_fibre": first_fibre, "jitter": jitter, "rng_seed": rng_seed, "compress": compress, "downsample": downsample},
        threads=threads,
        device=device,
        progress=progress,
    )


def local_field(
    phase: Any,
    *,
    magnitude: Any = None,
    mask: Voxels | None = None,
    affine: npt.ArrayLike | None = None,
    phase_range: Sequence[float] | None = None,
    te: float | Sequence[float] | None = None,
    coils: int | None = None,
    bipolar: bool | None = None,
    b0: float | None = None,
    relative: bool | None = None,
    b0_dir: Sequence[float] | None = None,
    b0_dir_vox: Sequence[float] | None = None,
    phase_sign: int | None = None,
    unwrap: Literal["region", "laplacian"] | None = None,
    offset: Literal["smooth", "true", "false"] | None = None,
    mask_quality: float | None = None,
    background: Literal["pdf", "lbv", "vsharp", "resharp"] | None = None,
    radius: float | None = None,
    strength: float | None = None,
    threads: int = 0,
    progress: Progress = None,
) -> Fields:
    """Make a local field of the phase of a gradient-echo scan, for `fimbria qsm`.

    Parameters
    ----------
    phase : data
        Phase [x, y, z, echoes] in any scaling, an image of it, or its path
    magnitude : optional
        Magnitude, likewise: weighs voxels and echoes, gives R2* and, without a mask, the mask
    mask : optional
        Voxels to work on [x, y, z]; by default one made of the magnitudes, as `fimbria mask`
        makes it
    affine : optional
        Scanner RAS mm from voxel of the array; by default that of the image or the fit, else
        the identity
    phase_range : number
        Two numbers of the phase that are a turn apart, its ends: 0 4096, -180 180 [any]
        [default: told by the numbers]
    te : number
        Echo times [above 0, ms] [default: none: they must be said]
    coils : integer
        Coils that were not combined: volumes, or images, are all echoes of the first, then of
        the next. They are combined without the phase that each has at echo time 0 (MCPC-3D-S)
        [from 1 on] [default: 1]
    bipolar : flag
        Odd and even echoes were read in opposite directions (true or false): the ramp by which
        they differ is taken off [default: told by the phase, from three echoes on]
    b0 : number
        Strength of B0 [above 0, up to 30, tesla] [default: none: it must be said]
    relative : flag
        Neither echo times nor B0 are known: fields are in radians of the phase of the first
        echo
    b0_dir : number
        Direction of B0 in scanner axes [any] [default: 0 0 1]
    b0_dir_vox : number
        Direction of B0 in voxel axes [any]
    phase_sign : integer
        Sign of the phase along B0 beside a paramagnetic source [1 or -1] [default: 1]
    unwrap : {region, laplacian}
        How wraps are undone [default: region]
    offset : {smooth, true, false}
        The phase at echo time 0 [default: smooth from two echoes on]
    mask_quality : number
        Leave voxels whose phase is less reliable out of the mask, see the map quality, and what
        is not joined to the rest; fill its holes. 0 takes the mask as it is [0 to 1] [default:
        0.5]
    background : {pdf, lbv, vsharp, resharp}
        How the background is removed [default: pdf]
    radius : number
        Radius of the spherical means, of several the largest [above 0, mm] [default: 12; 6 of
        resharp]
    strength : number
        Weight λ that keeps the local field small, where the background is told from it by least
        squares [above 0] [default: 1e-4]
    threads : optional
        Threads to work with; 0 for one per core. Results do not depend on it.
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Fields
        `local_field` and `total_field` [x, y, z] in ppm of B0, `mask`, the `quality` of the
        phase, with a magnitude `weights` of the data, and of two echoes `r2star` in 1/s. Echo
        times (`te`) and the strength of B0 (`b0`) must be said, or that the field is
        `relative`.

    References
    ----------
    Dymerska B et al. Magn Reson Med 85, 2294 (2021): region
    Schofield M, Zhu Y. Opt Lett 28, 1194 (2003): laplacian
    Liu T et al. NMR Biomed 24, 1129 (2011): pdf
    Zhou D et al. NMR Biomed 27, 312 (2014): lbv
    Wu B et al. Magn Reson Med 67, 137 (2012): vsharp
    Sun H, Wilman AH. Magn Reson Med 71, 1151 (2014): resharp
    Eckstein K et al. Magn Reson Med 79, 2996 (2018): coils, offset smooth
    QSM Consensus Organization Committee, Bilgic B et al. Magn Reson Med 91, 1834 (2024):
    mask_quality
    Lu W et al. Magn Reson Med 60, 198 (2008): bipolar

    Examples
    --------
    >>> import numpy as np
    >>> x, y, z = np.indices((16, 16, 16)) - 8.0
    >>> r = np.sqrt(x**2 + y**2 + z**2)
    >>> mask = r < 7
    >>> field = np.where(r < 3, 0, 0.1 / 3 * 27 * (3 * z**2 - r**2) / np.maximum(r, 1) ** 5)
    >>> hz, te = 128 * field, np.array([4.0, 8.0, 12.0])
    >>> phase = 2 * np.pi * hz[..., None] * te * 1e-3
    >>> turn = (-np.pi, np.pi)
    >>> made = local_field(phase, mask=mask, te=te, b0=3, phase_range=turn, threads=1)
    >>> made.local_field.shape, sorted(made.maps)
    ((16, 16, 16), ['local_field', 'mask', 'quality', 'total_field'])
    """
    return _methods.local_field(
        phase,
        magnitude=magnitude,
        mask=mask,
        affine=affine,
        options={"phase_range": phase_range, "te": te, "coils": coils, "bipolar": bipolar, "b0": b0, "relative": relative, "b0_dir": b0_dir, "b0_dir_vox": b0_dir_vox, "phase_sign": phase_sign, "unwrap": unwrap, "offset": offset, "mask_quality": mask_quality, "background": background, "radius": radius, "strength": strength},
        threads=threads,
        progress=progress,
    )


def qsm(
    field: Any,
    *,
    mask: Voxels | None = None,
    v1: Any = None,
    fa: Any = None,
    md: Any = None,
    s0: Any = None,
    weights: Any = None,
    magnitude: Any = None,
    two_pass: Any = None,
    truth: Any = None,
    reference: Any = None,
    affine: npt.ArrayLike | None = None,
    v1_frame: Literal["fsl", "voxel", "scanner"] | None = None,
    field_unit: Literal["ppm", "hz", "rad/s", "tesla", "relative"] | None = None,
    phase_sign: int | None = None,
    b0: float | None = None,
    te: float | None = None,
    b0_dir: Sequence[float] | None = None,
    b0_dir_vox: Sequence[float] | None = None,
    method: Literal["dtv", "dtv-all", "dqsm", "tensor", "tkd", "tikhonov", "tv", "rts", "tgv", "medi", "ndi", "ilsqr"] | None = None,
    compat: Literal["dqsm"] | None = None,
    fa_threshold: float | None = None,
    kappa: float | None = None,
    solver: Literal["cgls", "lsmr", "landweber"] | None = None,
    step: float | None = None,
    products: Literal["fast", "dense"] | None = None,
    edges: Literal["free", "zero"] | None = None,
    outside: Literal["sources", "nothing"] | None = None,
    data: Literal["field", "phase"] | None = None,
    support: int | None = None,
    start: Literal["zero", "tikhonov"] | None = None,
    iterations: int | None = None,
    tolerance: float | None = None,
    gradient_tolerance: float | None = None,
    noise: float | None = None,
    strength: float | None = None,
    zero_mean: bool | None = None,
    reference_label: str | float | Sequence[str | float] | None = None,
    threads: int = 0,
    device: str | None = None,
    progress: Progress = None,
) -> Susceptibility:
    """Map magnetic susceptibility from a local field, guided by diffusion.

    Parameters
    ----------
    field : data
        What `local_field` gives, or a local field [x, y, z], an image of it, or its path
    mask : optional
        Voxels to solve for [x, y, z]; that of `local_field`, or all but those where the field
        is 0 from there to the edge of the volume
    v1 : optional
        Fibre directions [x, y, z, 3], or a fit of the tensor, whose V1 is taken with its axes:
        voxels with a fibre are cylinders along them
    fa : optional
        Fractional anisotropy [x, y, z], which says where there are fibres
    md : optional
        Mean diffusivity [x, y, z], which tells tissues apart; with v1 and method dtv
    s0 : optional
        Signal without diffusion weighting [x, y, z], likewise
    weights : optional
        Weights of the data [x, y, z]
    magnitude : optional
        Magnitude [x, y, z] or [x, y, z, echoes] whose edges cost nothing; with method medi
    two_pass : optional
        Voxels whose field is reliable [x, y, z]: mapped once more by themselves
    truth : optional
        A map to compare with [x, y, z], ppm
    reference : optional
        Region whose mean is zero in the map [x, y, z]
    affine : optional
        Scanner RAS mm from voxel of the array; by default that of the image or the fit, else
        the identity
    v1_frame : {fsl, voxel, scanner}
        Axes the fibre directions refer to [default: scanner]
    field_unit : {ppm, hz, rad/s, tesla, relative}
        Unit of the field [default: ppm, refused where the numbers are unlike it]
    phase_sign : integer
        Sign of the field along B0 beside a paramagnetic source [1 or -1] [default: 1]
    b0 : number
        Strength of B0 [above 0, up to 30, tesla] [default: MagneticFieldStrength of the .json
        beside the field]
    te : number
        Echo time in which the field turned the phase, for method ndi and data phase [0.1 to
        1000, ms] [default: EchoTime of the .json beside the field]
    b0_dir : number
        Direction of B0 in scanner axes [any] [default: 0 0 1]
    b0_dir_vox : number
        Direction of B0 in voxel axes [any]
    method : {dtv, dtv-all, dqsm, tensor, tkd, tikhonov, tv, rts, tgv, medi, ndi, ilsqr}
        How the map is made [default: dtv]
    compat : {dqsm}
        Whose numerics to follow
    fa_threshold : number
        FA above which a voxel has a fibre [0 to 1] [default: 0.2]
    kappa : number
        Share κ of the data [above 0, up to 1] [default: 0.985; 0.75 with compat dqsm]
    solver : {cgls, lsmr, landweber}
        Which iteration [default: cgls; landweber with compat dqsm]
    step : number
        Step of solver landweber; one that would diverge is made smaller [above 0] [default: a
        safe one; 0.15 with compat dqsm]
    products : {fast, dense}
        How products are made; both are exact [default: fast]
    edges : {free, zero}
        What lies beyond the mask, for the penalty [default: free; zero with compat dqsm]
    outside : {sources, nothing}
        What is outside the mask, for the field [default: sources]
    data : {field, phase}
        What is explained [default: field]
    support : integer
        Voxels that a source reaches along each axis [from 1 on] [default: all; 50 with compat
        dqsm]
    start : {zero, tikhonov}
        Where the iteration starts [default: zero]
    iterations : integer
        Iterations at most [from 1 on] [default: 100; 1000 of dqsm and tensor; 200 of ndi; 50 of
        ilsqr]
    tolerance : number
        Stop where the map changes by no more than this part of itself [from 0 on] [default:
        5e-3; 1e-6 of dqsm and tensor; 1e-3 of ndi]
    gradient_tolerance : number
        Stop where the gradient is no more than this part of its first [from 0 on] [default:
        1e-6; 0.01 of ilsqr]
    noise : number
        Stop where the field is explained to this noise (after weights) [above 0, ppm]
    strength : number
        Weight λ of what is penalised; of methods that treat some frequencies differently the
        size |D| of the dipole below which they do [above 0] [default: by the field's noise, see
        below; 0.15 of tkd and rts; 0.01 of tikhonov; 1e-3 of ndi; 0.1 of ilsqr]
    zero_mean : flag
        Make the mean over the mask zero
    reference_label : text
        Regions of reference, which holds labels then, on any grid of the same scanner space:
        their numbers, or names of the table beside it (NAME.tsv)
    threads : optional
        Threads to work with; 0 for one per core. Results do not depend on it.
    device : optional
        Where to work: auto, cpu, gpu, gpu:0,1 or opencl:0; the threads alone by default.
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Susceptibility
        `chi` [x, y, z] in ppm, with method tensor `msa`, and `residual`, what the map leaves of
        the field; `iterations`, a row each: number, rms of the map (ppm), relative change, data
        term, and of dqsm and tensor penalty and relative gradient, of dtv, tv and rts total
        variation; `metrics` with a truth.

    References
    ----------
    Bilgic B et al. Magn Reson Med 72, 1444 (2014): dtv, dtv-all, tv
    Milovic C et al. Magn Reson Med 80, 814 (2018): dtv, dtv-all, tv
    Ng A et al. ISMRM (2013) 2394: dqsm
    Kaluza OL et al. "Fast diffusion-guided QSM using Graphical Processing Units": dqsm
    Liu C. Magn Reson Med 63, 1471 (2010): tensor
    Shmueli K et al. Magn Reson Med 62, 1510 (2009): tkd
    Kressler B et al. IEEE Trans Med Imaging 29, 273 (2010): tikhonov
    Kames C et al. NeuroImage 167, 276 (2018): rts
    Langkammer C et al. NeuroImage 111, 622 (2015): tgv
    Bredies K et al. SIAM J Imaging Sci 3, 492 (2010): tgv
    Liu J et al. NeuroImage 59, 2560 (2012): medi
    Polak D et al. NMR Biomed 33, e4271 (2020): ndi
    Li W et al. NeuroImage 108, 111 (2015): ilsqr
    Liu T et al. Magn Reson Med 69, 467 (2013): data phase
    Stewart AW et al. Magn Reson Med 87, 1289 (2022): two_pass

    Examples
    --------
    >>> import numpy as np
    >>> x, y, z = np.indices((16, 16, 16)) - 8.0
    >>> r = np.sqrt(x**2 + y**2 + z**2)
    >>> mask = r < 7
    >>> field = np.where(r < 3, 0, 0.1 / 3 * 27 * (3 * z**2 - r**2) / np.maximum(r, 1) ** 5)
    >>> made = qsm(field, mask=mask, method='tkd', threads=1)
    >>> made.chi.shape, bool(0.09 < made.chi[r < 2].mean() < 0.11)
    ((16, 16, 16), True)
    """
    return _methods.qsm(
        field,
        mask=mask,
        v1=v1,
        fa=fa,
        md=md,
        s0=s0,
        weights=weights,
        magnitude=magnitude,
        two_pass=two_pass,
        truth=truth,
        reference=reference,
        affine=affine,
        options={"v1_frame": v1_frame, "field_unit": field_unit, "phase_sign": phase_sign, "b0": b0, "te": te, "b0_dir": b0_dir, "b0_dir_vox": b0_dir_vox, "method": method, "compat": compat, "fa_threshold": fa_threshold, "kappa": kappa, "solver": solver, "step": step, "products": products, "edges": edges, "outside": outside, "data": data, "support": support, "start": start, "iterations": iterations, "tolerance": tolerance, "gradient_tolerance": gradient_tolerance, "noise": noise, "strength": strength, "zero_mean": zero_mean, "reference_label": reference_label},
        threads=threads,
        device=device,
        progress=progress,
    )


def life(
    tractogram: Any,
    data: Series,
    gtab: GradientTable | None = None,
    *,
    mask: Voxels | None = None,
    affine: npt.ArrayLike | None = None,
    compat: Literal["encode", "dipy"] | None = None,
    atoms: str | float | None = None,
    directions: str | PathLike[str] | None = None,
    axial: float | None = None,
    radial: float | None = None,
    isotropic: float | Sequence[float] | None = None,
    normalise: Literal["length", "nodes", "none", "volume"] | None = None,
    demean: Literal["mean", "shell-mean", "shell-median", "none"] | None = None,
    rank: str | float | None = None,
    solver: Literal["conjugate", "sbb"] | None = None,
    max_iterations: int | None = None,
    tolerance: float | None = None,
    l1: float | None = None,
    group: float | None = None,
    hindered: float | Sequence[float] | None = None,
    peaks: str | PathLike[str] | None = None,
    threads: int = 0,
    device: str | None = None,
    progress: Progress = None,
) -> Evaluation:
    """Weigh every streamline of a tractogram by what it explains of the signal (LiFE).

    Parameters
    ----------
    tractogram : data
        `fimbria.Tractogram`, path, StatefulTractogram, or arrays [n, 3] in scanner RAS mm
    data : data
        Series [x, y, z, volumes], `fimbria.Image`, or image of nibabel; float32 is read where
        it lies
    gtab : optional
        Gradient table of fimbria or DIPY, or (bvals, bvecs); that of the image by default
    mask : optional
        Voxels to work on [x, y, z]; all by default
    affine : optional
        Scanner RAS mm from voxel of the array; by default that of the image or the fit, else
        the identity
    compat : {encode, dipy}
        Take over the conventions of another program; other options still change them
    atoms : text
        Directions of columns: exact, or grid:STEPS (ENCODE's grid of orientations) [default:
        grid:360; exact with compat dipy]
    directions : path
        Columns for the directions listed in this file, three numbers a line, in the axes that
        streamlines' are taken in: each part of a streamline takes the nearest
    axial : number
        Diffusivity along streamlines [above 0, mm²/s] [default: 0.001]
    radial : number
        Diffusivity across streamlines: 0 is a stick, more a zeppelin [from 0 on, mm²/s]
        [default: 0]
    isotropic : number
        Isotropic compartments of every voxel [above 0, mm²/s] [default: none]
    normalise : {length, nodes, none, volume}
        What the parts of a streamline in a voxel add up to [default: length; with compat encode
        nodes, with dipy none]
    demean : {mean, shell-mean, shell-median, none}
        What is taken from signal and columns [default: shell-mean; mean with compat or
        isotropic]
    rank : text
        Numbers a column is held in: auto (as many as miss 0.1 % of columns), full (one for each
        volume) or how many [default: auto; full with compat]
    solver : {conjugate, sbb}
        How weights are found [default: conjugate; sbb with compat encode]
    max_iterations : integer
        Iterations at most [from 0 on] [default: 1000; 500 with compat encode]
    tolerance : number
        End once the projected gradient is this share of that without weights [0 to below 1]
        [default: 0.00001]
    l1 : number
        L1 penalty on weights, as a share of the least that leaves none [from 0 on] [default: 0]
    group : number
        Penalty on each set of streamlines (sets, or the groups of a TRX): Σ √n ‖w‖, as a share
        of the least that leaves no set any weight; its steps are of their own [from 0 on]
        [default: 0]
    hindered : number
        Hindered compartments around the fibres of every voxel (peaks): diffusivities across the
        fibres; along them it is axial [from 0 on, mm²/s] [default: none]
    peaks : path
        Fibres of every voxel on the grid of the series, three volumes each, as `fimbria peaks`
        and sh2peaks write them; their lengths do not count
    threads : optional
        Threads to work with; 0 for one per core. Results do not depend on it.
    device : optional
        Where to work: auto, cpu, gpu, gpu:0,1 or opencl:0; the threads alone by default.
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Evaluation
        `weights` [streamlines], `errors` [x, y, z] and other maps, and `lesions` of all
        streamlines and of each group of the tractogram. Directions of the table are turned into
        scanner axes; where theirs are not known and the voxels lie in a scanner, it is refused.

    References
    ----------
    Pestilli F et al. Nat Methods 11, 1058 (2014)                    LiFE
    Caiafa C, Pestilli F. Sci Rep 7, 11491 (2017)                    ENCODE, compat encode
    Gugnani S et al. HiPC (2017)                                     MPI-LiFE
    Kim D, Sra S, Dhillon I. Optim Methods Softw 28, 1012 (2013)     solver sbb
    Schiavi S et al. Sci Adv 6, eaba8245 (2020)                      group
    Daducci A et al. IEEE Trans Med Imaging 34, 246 (2015)           COMMIT, hindered

    Examples
    --------
    >>> import numpy as np
    >>> from fimbria import Gradients
    >>> n = np.random.default_rng(0).standard_normal((60, 3))
    >>> n /= np.linalg.norm(n, axis=1, keepdims=True)
    >>> table = Gradients(np.r_[0, np.repeat([1000, 2000], 30)], np.r_[np.zeros((1, 3)), n], frame='voxel')
    >>> signal = 100 * np.exp(-table.bvals * (3e-4 + 1.4e-3 * table.bvecs[:, 0] ** 2))
    >>> from fimbria import Tractogram
    >>> along_x = Tractogram([[0, 1, 1], [9, 1, 1], [0, 0, 0], [9, 2, 2]], [0, 2, 4])
    >>> series = np.full((10, 3, 3, len(table)), 50.0)
    >>> series[:, 1, 1] = signal
    >>> made = life(along_x, series, table, threads=1)
    >>> made.errors.shape, bool(made.weights[0] > 20 * made.weights[1])
    ((10, 3, 3), True)
    """
    return _methods.life(
        tractogram,
        data,
        gtab,
        mask=mask,
        affine=affine,
        options={"compat": compat, "atoms": atoms, "directions": directions, "axial": axial, "radial": radial, "isotropic": isotropic, "normalise": normalise, "demean": demean, "rank": rank, "solver": solver, "max_iterations": max_iterations, "tolerance": tolerance, "l1": l1, "group": group, "hindered": hindered, "peaks": peaks},
        threads=threads,
        device=device,
        progress=progress,
    )


def sift2(
    tractogram: Any,
    densities: Any,
    *,
    sh_basis: Literal["mrtrix", "dipy", "dipy-legacy"] | None = None,
    frame: Literal["fsl", "voxel", "scanner"] | None = None,
    mask: Voxels | None = None,
    affine: npt.ArrayLike | None = None,
    act: str | PathLike[str] | None = None,
    variation: float | None = None,
    tikhonov: float | None = None,
    least_filled: float | None = None,
    least_peak: float | None = None,
    iterations: int | None = None,
    threads: int = 0,
    progress: Progress = None,
) -> StreamlineWeights:
    """Weigh streamlines so that they are as dense as the fibres (the model of SIFT2).

    Parameters
    ----------
    tractogram : data
        `fimbria.Tractogram`, path, StatefulTractogram, or arrays [n, 3] in scanner RAS mm
    densities : data
        A fit of `FibreOrientationModel`, or spherical harmonics [x, y, z, n] with sh_basis
    sh_basis : {mrtrix, dipy, dipy-legacy}
        The coefficients are spherical harmonics of this basis [default: that of a fit]
    frame : {fsl, voxel, scanner}
        Axes the coefficients refer to [default: scanner; voxel with a basis of DIPY]
    mask : optional
        Voxels to work on [x, y, z]; all by default
    affine : optional
        Scanner RAS mm from voxel of the array; by default that of the image or the fit, else
        the identity
    act : path
        Tissues, of which white matter counts: five volumes as `phantom head` and 5ttgen write
        them, or labels of FreeSurfer, SynthSeg or FAST; any grid in the same scanner space
        [default: all voxels count]
    variation : number
        How far apart the weights of one fixel's streamlines may be: the larger, the nearer [0
        to 1000000] [default: 0.1]
    tikhonov : number
        How far weights may be from 1: the larger, the nearer [0 to 1000000] [default: 0]
    least_filled : number
        Fixels that streamlines at weight 1 fill to less than this part do not count [0 to 1]
        [default: 0.1]
    least_peak : number
        Lobes whose maximum is not above this are noise, in units of the densities [0 to
        1000000000000000000000000000000] [default: 0.10000000149011612]
    iterations : integer
        Iterations at most; with 0 the weights of start are only judged [0 to 1000000] [default:
        1000]
    threads : optional
        Threads to work with; 0 for one per core. Results do not depend on it.
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    StreamlineWeights
        `weights` [streamlines], `mu` and `iterations`. A fit is turned into scanner axes from
        those of its table.

    References
    ----------
    Smith R, Tournier JD, Calamante F, Connelly A. NeuroImage 119, 338 (2015)    the model
    Smith R et al. NeuroImage 67, 298 (2013)                                     lobes of
    densities

    Examples
    --------
    >>> import numpy as np
    >>> from fimbria import Tractogram
    >>> along_z = np.zeros((3, 3, 10, 15), np.float32)
    >>> along_z[..., [0, 3, 10]] = 0.28, 0.63, 0.85  # a lobe of degree 4
    >>> lines = Tractogram([[1, 1, 0], [1, 1, 9], [1, 1, 0], [1, 1, 9]], [0, 2, 4])
    >>> made = sift2(lines, along_z, sh_basis="mrtrix", threads=1)
    >>> made.weights.shape, bool(np.isclose(*made.weights))
    ((2,), True)
    """
    return _methods.sift2(
        tractogram,
        densities,
        sh_basis=sh_basis,
        frame=frame,
        mask=mask,
        affine=affine,
        act=act,
        options={"variation": variation, "tikhonov": tikhonov, "least_filled": least_filled, "least_peak": least_peak, "iterations": iterations},
        threads=threads,
        progress=progress,
    )


def connectome(
    tractogram: Any,
    labels: Any,
    *,
    weights: npt.ArrayLike | str | None = None,
    map: Mapping[str, Any] | None = None,
    affine: npt.ArrayLike | None = None,
    radius: float | None = None,
    exact_label: bool | None = None,
    reverse_search: float | None = None,
    forward_search: float | None = None,
    all_voxels: bool | None = None,
    of_edge: Literal["mean", "sum", "min", "max"] | None = None,
    all_labels: bool | None = None,
    per_length: bool | None = None,
    per_volume: bool | None = None,
    hollow: bool | None = None,
    upper: bool | None = None,
    threads: int = 0,
    progress: Progress = None,
) -> Connectome:
    """Count the streamlines between the regions of a label image.

    Parameters
    ----------
    tractogram : data
        `fimbria.Tractogram`, path, StatefulTractogram, or arrays [n, 3] in scanner RAS mm
    labels : data
        Whole numbers [x, y, z], 0 for no region; an image, or its path
    weights : optional
        A weight for each streamline, or the name of such data of the tractogram
    map : optional
        Maps [x, y, z] by name, of which each edge gets the mean (or `of_edge`) along its
        streamlines; images, or their paths; arrays are of the voxels of the labels
    affine : optional
        Scanner RAS mm from voxel of the array; by default that of the image or the fit, else
        the identity
    radius : number
        How far the nearest labelled voxel may be from an end [0 to 100, mm] [default: 4]
    exact_label : flag
        Take the label of the voxel that holds the end, and no other
    reverse_search : number
        Take the first label at a point of the streamline, from the end inwards, so far at most
        and to its middle [0 to 100, mm]
    forward_search : number
        Take the first label on the straight way on from the end, so far at most [0 to 100, mm]
    all_voxels : flag
        Take all labels that the streamline crosses: each two of them are connected, and each
        with itself
    of_edge : {mean, sum, min, max}
        What edges have of the lengths of their streamlines, and of the means of maps along them
        [default: mean]
    all_labels : flag
        Count between labels that are white matter, fluid or skull by their names too
    per_length : flag
        Divide what each streamline counts by its length, mm
    per_volume : flag
        Divide what an edge counts by the mean number of voxels of its two labels
    hollow : flag
        Leave out what connects a label with itself: the diagonal is 0
    upper : flag
        Leave out what is below the diagonal: each pair stands once, the rest is 0
    threads : optional
        Threads to work with; 0 for one per core. Results do not depend on it.
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Connectome
        `weights`, `numbers` and `lengths` (mm) [n, n], `means` of the maps by name, and
        `labels` [n].

    Examples
    --------
    >>> import numpy as np
    >>> from fimbria import Tractogram
    >>> labels = np.zeros((10, 1, 1), int)
    >>> labels[0], labels[9] = 4, 7
    >>> lines = Tractogram([[0, 0, 0], [9, 0, 0]], [0, 2])
    >>> connectome(lines, labels, radius=2, threads=1).weights.tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    return _methods.connectome(
        tractogram,
        labels,
        weights=weights,
        map=map,
        affine=affine,
        options={"radius": radius, "exact_label": exact_label, "reverse_search": reverse_search, "forward_search": forward_search, "all_voxels": all_voxels, "of_edge": of_edge, "all_labels": all_labels, "per_length": per_length, "per_volume": per_volume, "hollow": hollow, "upper": upper},
        threads=threads,
        progress=progress,
    )
