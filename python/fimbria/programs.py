"""The commands that work on files. Made by generate.py from `fimbria describe`: not to be edited."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Literal

from ._program import Made, Said, made
from ._work import Progress

__all__ = [
    "Made",
    "align",
    "bids",
    "compare",
    "convert",
    "correct",
    "demo",
    "fit_maps",
    "fixel",
    "make_mask",
    "mean_response",
    "normalise",
    "phantom_crossing",
    "phantom_gre",
    "phantom_head",
    "probtrackx2",
    "regions",
    "report",
    "run",
    "tract_bundles",
    "tract_clean",
    "tract_cluster",
    "tract_edit",
    "tract_map",
    "tract_profile",
    "tract_sample",
]



def run(
    dwi: str | PathLike[str] | Sequence[str | PathLike[str]] | None,
    output: str | PathLike[str],
    *,
    config: str | PathLike[str] | None = None,
    settings: str | float | Sequence[str | float] | None = None,
    raw: bool | None = None,
    fix_gradients: bool | None = None,
    bval: str | PathLike[str] | None = None,
    bvec: str | PathLike[str] | None = None,
    fslgrad: Sequence[str | PathLike[str]] | None = None,
    grad: str | PathLike[str] | None = None,
    bmatrix: str | PathLike[str] | None = None,
    bvec_frame: Literal["fsl", "voxel", "scanner"] | None = None,
    b0_threshold: float | None = None,
    bvalue_scaling: Literal["auto", "yes", "no"] | None = None,
    mask: str | PathLike[str] | None = None,
    grad_dev: str | PathLike[str] | None = None,
    scratch: str | PathLike[str] | None = None,
    force: bool | None = None,
    resume: bool | None = None,
    format: Literal["nii.gz", "nii", "mif"] | None = None,
    layout: Literal["fimbria", "fsl", "mrtrix", "bids"] | None = None,
    threads: int | None = None,
    device: str | float | None = None,
    device_memory: float | None = None,
    memory: str | float | None = None,
    progress: Progress = None,
) -> Made:
    """Run all stages over one subject, from its series to a report.

    Parameters
    ----------
    dwi : path
        Diffusion-weighted series, 4-D; with raw several of one session, which become one
    output : path
        Folder to write
    config : path
        Take everything from a TOML file instead
    settings : text
        Set one parameter of a stage, such as dti.method=nlls; may be repeated
    raw : flag
        The series is as it left the scanner: correct motion, eddy currents and dropped slices
        first, and distortion where fmap/ of BIDS has a map of its field
    fix_gradients : flag
        Mend the gradient table as its check says, before anything is fitted; refused where the
        data do not tell
    bval : path
        b-values in s/mm², FSL form [s/mm²] [default: found beside the image]
    bvec : path
        Directions, FSL form [default: found beside the image]
    fslgrad : path
        Directions and b-values, FSL form, in MRtrix3's order [s/mm²]
    grad : path
        Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]
    bmatrix : path
        b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]
    bvec_frame : {fsl, voxel, scanner}
        Axes in which bvecs or b-matrices are given [default: fsl]
    b0_threshold : number
        b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]
    bvalue_scaling : {auto, yes, no}
        What directions that are not of unit length mean [default: auto]
    mask : path
        Voxels to work on: a 3-D image on the grid of the series, inside where above zero
        [default: one made of the series, as `fimbria mask` makes it]
    grad_dev : path
        Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and
        directions; for `fit dti` and `sticks`, other methods refuse it
    scratch : path
        Folder for compressed images that exceed their share of memory [default: the system's
        for temporary files]
    force : flag
        Compute everything again and overwrite existing outputs
    resume : flag
        Keep the stages that an earlier run finished with the same inputs and parameters
    format : {nii.gz, nii, mif}
        Format of the maps [default: nii.gz, or mif with layout mrtrix]
    layout : {fimbria, fsl, mrtrix, bids}
        Whose names, orders and frames to write [default: fimbria]
    threads : integer
        Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096]
        [default: 0]
    device : text
        Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu,
        gpu, gpu:0,1 or opencl:0 [default: auto]
    device_memory : number
        Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]
    memory : text
        Memory that the program may take, such as 8G, from 48M on: images that exceed their
        share, a third, are worked on from disk; where the rest does not fit, that is one error.
        Pages of files that are read in place do not count: the system takes them back when it
        needs them [default: no limit]
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Made
        What was written: `maps`, `record`, `path`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> out = Path(tempfile.mkdtemp())
    >>> made = phantom_crossing(out / "in", size="8,8,4", shells="1000:12")
    >>> done = run(out / "in/dwi.nii.gz", out / "out", mask=out / "in/mask.nii.gz", settings=["run.preset=maps"])
    >>> done.maps["dti/FA"].shape
    (8, 8, 4)
    """
    options = [
        Said("", dwi),
        Said("--config", config),
        Said("--set", settings, is_repeated=True),
        Said("--raw", raw),
        Said("--fix-gradients", fix_gradients),
        Said("--bval", bval),
        Said("--bvec", bvec),
        Said("--fslgrad", fslgrad),
        Said("--grad", grad),
        Said("--bmatrix", bmatrix),
        Said("--bvec-frame", bvec_frame),
        Said("--b0-threshold", b0_threshold),
        Said("--bvalue-scaling", bvalue_scaling),
        Said("--mask", mask),
        Said("--grad-dev", grad_dev),
        Said("--scratch", scratch),
        Said("--output", output),
        Said("--force", force),
        Said("--resume", resume),
        Said("--format", format),
        Said("--layout", layout),
        Said("--threads", threads),
        Said("--device", device),
        Said("--device-memory", device_memory),
        Said("--memory", memory),
    ]
    return made("run", output, options, progress)


def fit_maps(
    dwi: str | PathLike[str],
    output: str | PathLike[str],
    *,
    models: str | float | Sequence[str | float] | None = None,
    preset: Literal["hbcd", "abcd"] | None = None,
    settings: str | float | Sequence[str | float] | None = None,
    bval: str | PathLike[str] | None = None,
    bvec: str | PathLike[str] | None = None,
    fslgrad: Sequence[str | PathLike[str]] | None = None,
    grad: str | PathLike[str] | None = None,
    bmatrix: str | PathLike[str] | None = None,
    bvec_frame: Literal["fsl", "voxel", "scanner"] | None = None,
    b0_threshold: float | None = None,
    bvalue_scaling: Literal["auto", "yes", "no"] | None = None,
    mask: str | PathLike[str] | None = None,
    grad_dev: str | PathLike[str] | None = None,
    scratch: str | PathLike[str] | None = None,
    force: bool | None = None,
    resume: bool | None = None,
    format: Literal["nii.gz", "nii", "mif"] | None = None,
    layout: Literal["fimbria", "fsl", "mrtrix", "bids"] | None = None,
    threads: int | None = None,
    device: str | float | None = None,
    device_memory: float | None = None,
    memory: str | float | None = None,
    progress: Progress = None,
) -> Made:
    """Fit several models to a series in one pass: `fit dti,dki,noddi DWI`.

    Parameters
    ----------
    dwi : path
        Diffusion-weighted series, 4-D
    output : path
        Folder to write
    models : text
        The models, each in a folder of its name: those of `fimbria fit`
    preset : {hbcd, abcd}
        The models of a study, with its limits of b; models adds others
    settings : text
        Set one option of a model, such as dti.method=nlls; may be repeated
    bval : path
        b-values in s/mm², FSL form [s/mm²] [default: found beside the image]
    bvec : path
        Directions, FSL form [default: found beside the image]
    fslgrad : path
        Directions and b-values, FSL form, in MRtrix3's order [s/mm²]
    grad : path
        Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]
    bmatrix : path
        b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]
    bvec_frame : {fsl, voxel, scanner}
        Axes in which bvecs or b-matrices are given [default: fsl]
    b0_threshold : number
        b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]
    bvalue_scaling : {auto, yes, no}
        What directions that are not of unit length mean [default: auto]
    mask : path
        Voxels to work on: a 3-D image on the grid of the series, inside where above zero
        [default: one made of the series, as `fimbria mask` makes it]
    grad_dev : path
        Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and
        directions; for `fit dti` and `sticks`, other methods refuse it
    scratch : path
        Folder for compressed images that exceed their share of memory [default: the system's
        for temporary files]
    force : flag
        Compute everything again and overwrite existing outputs
    resume : flag
        Keep the stages that an earlier run finished with the same inputs and parameters
    format : {nii.gz, nii, mif}
        Format of the maps [default: nii.gz, or mif with layout mrtrix]
    layout : {fimbria, fsl, mrtrix, bids}
        Whose names, orders and frames to write [default: fimbria]
    threads : integer
        Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096]
        [default: 0]
    device : text
        Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu,
        gpu, gpu:0,1 or opencl:0 [default: auto]
    device_memory : number
        Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]
    memory : text
        Memory that the program may take, such as 8G, from 48M on: images that exceed their
        share, a third, are worked on from disk; where the rest does not fit, that is one error.
        Pages of files that are read in place do not count: the system takes them back when it
        needs them [default: no limit]
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Made
        What was written: `maps`, `record`, `path`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> out = Path(tempfile.mkdtemp())
    >>> made = phantom_crossing(out / "in", size="8,8,4", shells="1000:12")
    >>> done = fit_maps(out / "in/dwi.nii.gz", out / "out", mask=out / "in/mask.nii.gz", models=["dti", "mono"])
    >>> done.maps["dti/FA"].shape, done.maps["mono/D"].shape
    ((8, 8, 4), (8, 8, 4))
    """
    options = [
        Said("", dwi),
        Said("--models", models, delimiter=","),
        Said("--preset", preset),
        Said("--set", settings, is_repeated=True),
        Said("--bval", bval),
        Said("--bvec", bvec),
        Said("--fslgrad", fslgrad),
        Said("--grad", grad),
        Said("--bmatrix", bmatrix),
        Said("--bvec-frame", bvec_frame),
        Said("--b0-threshold", b0_threshold),
        Said("--bvalue-scaling", bvalue_scaling),
        Said("--mask", mask),
        Said("--grad-dev", grad_dev),
        Said("--scratch", scratch),
        Said("--output", output),
        Said("--force", force),
        Said("--resume", resume),
        Said("--format", format),
        Said("--layout", layout),
        Said("--threads", threads),
        Said("--device", device),
        Said("--device-memory", device_memory),
        Said("--memory", memory),
    ]
    return made("maps", output, options, progress)


def report(
    folder: str | PathLike[str],
    output: str | PathLike[str],
    *,
    title: str | float | None = None,
    force: bool | None = None,
    threads: int | None = None,
    memory: str | float | None = None,
    progress: Progress = None,
) -> Made:
    """Draw the page of a finished folder.

    Parameters
    ----------
    folder : path
        Folder that a command wrote: `run`, `demo`, `fit`, `track`, `life`, `connectome`, `qsm`,
        `compare` …
    output : path
        Folder (or, where the command writes one file, the file) to write
    title : text
        Heading of the page [default: the names of the folder and of that above it]
    force : flag
        Overwrite existing outputs
    threads : integer
        Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096]
        [default: 0]
    memory : text
        Memory that the program may take, such as 8G, from 48M on: images that exceed their
        share, a third, are worked on from disk; where the rest does not fit, that is one error.
        Pages of files that are read in place do not count: the system takes them back when it
        needs them [default: no limit]
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Made
        What was written: `maps`, `record`, `path`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> out = Path(tempfile.mkdtemp())
    >>> made = phantom_crossing(out / "in", size="8,8,4", shells="1000:12")
    >>> done = run(out / "in/dwi.nii.gz", out / "out", mask=out / "in/mask.nii.gz", settings=["run.preset=maps"])
    >>> report(out / "out", out / "page.html").path.name
    'page.html'
    """
    options = [
        Said("", folder),
        Said("--title", title),
        Said("--output", output),
        Said("--force", force),
        Said("--threads", threads),
        Said("--memory", memory),
    ]
    return made("report", output, options, progress)


def probtrackx2(
    dir: str | PathLike[str],
    *,
    samples: str | PathLike[str],
    mask: str | PathLike[str],
    seed: str | PathLike[str],
    verbosity: int | None = None,
    out: str | float | None = None,
    forcedir: bool | None = None,
    simple: bool | None = None,
    xfm: str | PathLike[str] | None = None,
    invxfm: str | PathLike[str] | None = None,
    seedref: str | PathLike[str] | None = None,
    meshspace: Literal["caret", "freesurfer", "first", "vox"] | None = None,
    closestvertex: bool | None = None,
    opd: bool | None = None,
    pd: bool | None = None,
    ompl: bool | None = None,
    os2t: bool | None = None,
    targetmasks: str | PathLike[str] | None = None,
    s2tastext: bool | None = None,
    otargetpaths: bool | None = None,
    omatrix1: bool | None = None,
    distthresh1: float | None = None,
    omatrix2: bool | None = None,
    target2: str | PathLike[str] | None = None,
    omatrix3: bool | None = None,
    target3: str | PathLike[str] | None = None,
    lrtarget3: str | PathLike[str] | None = None,
    distthresh3: float | None = None,
    fopd: str | PathLike[str] | None = None,
    opathdir: bool | None = None,
    savepaths: bool | None = None,
    waypoints: str | PathLike[str] | None = None,
    waycond: Literal["AND", "OR"] | None = None,
    wayorder: bool | None = None,
    onewaycondition: bool | None = None,
    avoid: str | PathLike[str] | None = None,
    stop: str | PathLike[str] | None = None,
    wtstop: str | PathLike[str] | None = None,
    network: bool | None = None,
    forcefirststep: bool | None = None,
    nsamples: int | None = None,
    nsteps: int | None = None,
    steplength: float | None = None,
    distthresh: float | None = None,
    cthr: float | None = None,
    fibthresh: float | None = None,
    loopcheck: bool | None = None,
    usef: bool | None = None,
    modeuler: bool | None = None,
    sampvox: float | None = None,
    randfib: int | None = None,
    fibst: int | None = None,
    rseed: int | None = None,
    prefdir: str | PathLike[str] | None = None,
    locfibchoice: str | PathLike[str] | None = None,
    loccurvthresh: str | PathLike[str] | None = None,
    no_integrity: str | PathLike[str] | None = None,
    noprobinterpol: bool | None = None,
    onewayonly: bool | None = None,
    rng: str | float | None = None,
    threads: int | None = None,
    device: str | float | None = None,
    device_memory: float | None = None,
    memory: str | float | None = None,
    progress: Progress = None,
) -> Made:
    """Track as FSL's probtrackx2 does: its options, its files, its numbers.

    Parameters
    ----------
    dir : path
        Folder to write; where it exists, one with + after its name [default: logdir]
    verbosity : integer
        How much is said: 0, or 1 and 2 for what was read [0 to 2] [default: 0]
    samples : path
        Base name of the samples: BASE_th1samples, BASE_ph1samples, BASE_f1samples, ...2
    mask : path
        Brain mask, on the grid of the samples
    seed : path
        Seeds: an image, a GIFTI surface (.gii), or a text file that lists them; with simple,
        voxel coordinates
    out : text
        Base name of the map of visits [default: fdt_paths]
    forcedir : flag
        Write to exactly that folder
    simple : flag
        Seeds are points in a text file: voxel coordinates, N rows of 3 or 3 rows of N
    xfm : path
        Transform from seed space to that of the samples, as FLIRT writes it, or a warp field
        [default: identity]
    invxfm : path
        The transform back; needed, and used, with warp fields
    seedref : path
        Image whose grid is the seed space [default: the brain mask]
    meshspace : {caret, freesurfer, first, vox}
        What coordinates of surfaces count in [default: caret]
    closestvertex : flag
        Of a triangle that is crossed, count the nearest vertex instead of all three
    opd : flag
        The map of visits
    pd : flag
        Count distances from the seed (mm) instead of visits
    ompl : flag
        Mean lengths too
    os2t : flag
        For every target a map of the seeds that reach it
    targetmasks : path
        The targets: an image, a surface, or a text file that lists them
    s2tastext : flag
        Seeds and targets as a matrix of text
    otargetpaths : flag
        For every target a map of the visits of the samples that reach it, with os2t
    omatrix1 : flag
        The sparse matrix from seed to seed
    distthresh1 : number
        Least length of what that matrix counts [from 0 on, mm] [default: 0]
    omatrix2 : flag
        The sparse matrix from seed to voxel of target2
    target2 : path
        Its voxels: a mask on a grid of its own, usually a coarse one, whose first voxel has the
        same centre
    omatrix3 : flag
        The sparse matrix between places of target3, wherever streamlines start
    target3 : path
        Its rows, and its columns unless lrtarget3 gives them: an image, a surface, or a list of
        them
    lrtarget3 : path
        Its columns
    distthresh3 : number
        Least length of what matrix 3 counts [from 0 on, mm] [default: 0]
    fopd : path
        The map of visits in these regions alone, too: an image, or a list of images
    opathdir : flag
        Mean orientations of paths
    savepaths : flag
        Every path, as text
    waypoints : path
        Where streamlines must go
    waycond : {AND, OR}
        To all of them, or to one [default: AND]
    wayorder : flag
        In the order of the list
    onewaycondition : flag
        Each half by itself
    avoid : path
        Where they must not go
    stop : path
        Where they end on entering
    wtstop : path
        Where they end on leaving
    network : flag
        Keep only what reaches another of the seed regions
    forcefirststep : flag
        Ask avoid and stop from the second point on
    nsamples : integer
        Samples per seed [1 to 1000000000] [default: 5000]
    nsteps : integer
        Steps per sample, both halves together [2 to 2000000] [default: 2000]
    steplength : number
        Length of a step [above 0, mm] [default: 0.5]
    distthresh : number
        Drop halves shorter than this [from 0 on, mm] [default: 0]
    cthr : number
        Least cosine of the angle between steps [-1 to 1] [default: 0.2]
    fibthresh : number
        Least fraction of fibres to consider [0 to 1] [default: 0.01]
    loopcheck : flag
        End paths that come back on themselves
    usef : flag
        End paths where fractions are low, with probability 1 - f at each step
    modeuler : flag
        Modified Euler steps
    sampvox : number
        Start anywhere in a sphere of this radius [from 0 on, mm] [default: 0]
    randfib : integer
        First fibre: 0 the first, 1 any above fibthresh, 2 the same by fraction, 3 any [0 to 3]
        [default: 0]
    fibst : integer
        Always start with this fibre, whatever randfib says [from 1 on]
    rseed : integer
        Seed of the random numbers [from 0 on] [default: 12345]
    prefdir : path
        Of 3 volumes: directions (FSL's frame) that the fibre to follow is nearest to, in place
        of the current direction, where not zero. Of 1: the rule by which it is chosen at all
        steps but the first, as randfib has them, where 1 or more
    locfibchoice : path
        The rule by which the fibre is chosen in the voxel looked up: 1 any above fibthresh, 2
        any of those within 40 degrees, 3 any by fraction, else the nearest
    loccurvthresh : path
        Least cosine of the angle between steps, in place of cthr
    no_integrity : path
        Where no fibre is drawn and the last one is followed on; on the grid of the seeds
    noprobinterpol : flag
        Look the nearest voxel up, not a random corner
    onewayonly : flag
        From surfaces go into the brain only, against the normal of the vertex; both ways with
        omatrix3
    rng : text
        Random numbers: philox; constant:U, always U; lcg:X, a linear congruence from X. The
        latter two are drawn in FSL's order by one thread, to repeat a path exactly [default:
        philox]
    threads : integer
        Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096]
        [default: 0]
    device : text
        Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu,
        gpu, gpu:0,1 or opencl:0 [default: auto]
    device_memory : number
        Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]
    memory : text
        Memory that the program may take, such as 8G, from 48M on: images that exceed their
        share, a third, are worked on from disk; where the rest does not fit, that is one error.
        Pages of files that are read in place do not count: the system takes them back when it
        needs them [default: no limit]
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Made
        What was written: `maps`, `record`, `path`.

    References
    ----------
    Behrens TEJ et al. NeuroImage 34, 144 (2007)            the algorithm
    Hernandez-Fernandez M et al. NeuroImage 188, 598 (2019) its options and outputs

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> out = Path(tempfile.mkdtemp())
    >>> made = phantom_crossing(out / "in", size="8,8,4", shells="1000:30")
    >>> few = ['run.fits=["peaks", "sticks"]', "sticks.burn_in=100", "sticks.jumps=100"]
    >>> mask = out / "in/mask.nii.gz"
    >>> done = run(out / "in/dwi.nii.gz", out / "out", mask=mask, settings=few)
    >>> samples = out / "out/sticks/merged"
    >>> tracked = probtrackx2(out / "paths", samples=samples, mask=mask, seed=mask, opd=True, nsamples=10)
    >>> bool(tracked.maps["fdt_paths"].read().max() > 10)
    True
    """
    options = [
        Said("", verbosity),
        Said("--samples", samples),
        Said("--mask", mask),
        Said("--seed", seed),
        Said("--out", out),
        Said("--dir", dir),
        Said("--forcedir", forcedir),
        Said("--simple", simple),
        Said("--xfm", xfm),
        Said("--invxfm", invxfm),
        Said("--seedref", seedref),
        Said("--meshspace", meshspace),
        Said("--closestvertex", closestvertex),
        Said("--opd", opd),
        Said("--pd", pd),
        Said("--ompl", ompl),
        Said("--os2t", os2t),
        Said("--targetmasks", targetmasks),
        Said("--s2tastext", s2tastext),
        Said("--otargetpaths", otargetpaths),
        Said("--omatrix1", omatrix1),
        Said("--distthresh1", distthresh1),
        Said("--omatrix2", omatrix2),
        Said("--target2", target2),
        Said("--omatrix3", omatrix3),
        Said("--target3", target3),
        Said("--lrtarget3", lrtarget3),
        Said("--distthresh3", distthresh3),
        Said("--fopd", fopd),
        Said("--opathdir", opathdir),
        Said("--savepaths", savepaths),
        Said("--waypoints", waypoints),
        Said("--waycond", waycond),
        Said("--wayorder", wayorder),
        Said("--onewaycondition", onewaycondition),
        Said("--avoid", avoid),
        Said("--stop", stop),
        Said("--wtstop", wtstop),
        Said("--network", network),
        Said("--forcefirststep", forcefirststep),
        Said("--nsamples", nsamples),
        Said("--nsteps", nsteps),
        Said("--steplength", steplength),
        Said("--distthresh", distthresh),
        Said("--cthr", cthr),
        Said("--fibthresh", fibthresh),
        Said("--loopcheck", loopcheck),
        Said("--usef", usef),
        Said("--modeuler", modeuler),
        Said("--sampvox", sampvox),
        Said("--randfib", randfib),
        Said("--fibst", fibst),
        Said("--rseed", rseed),
        Said("--prefdir", prefdir),
        Said("--locfibchoice", locfibchoice),
        Said("--loccurvthresh", loccurvthresh),
        Said("--no_integrity", no_integrity),
        Said("--noprobinterpol", noprobinterpol),
        Said("--onewayonly", onewayonly),
        Said("--rng", rng),
        Said("--threads", threads),
        Said("--device", device),
        Said("--device-memory", device_memory),
        Said("--memory", memory),
    ]
    return made("probtrackx2", dir, options, progress)


def bids(
    input: str | PathLike[str],
    out: str | PathLike[str],
    level: Literal["participant", "group"],
    *,
    participant_label: str | float | Sequence[str | float] | None = None,
    session_label: str | float | Sequence[str | float] | None = None,
    datasets: str | float | Sequence[str | float] | None = None,
    atlas: str | float | None = None,
    no_act: bool | None = None,
    skip_bids_validation: bool | None = None,
    preset: Literal["maps", "fibres", "connectome", "everything", "susceptibility", "hbcd", "abcd"] | None = None,
    config: str | PathLike[str] | None = None,
    settings: str | float | Sequence[str | float] | None = None,
    raw: bool | None = None,
    separate_all_dwis: bool | None = None,
    fix_gradients: bool | None = None,
    force: bool | None = None,
    report_output_level: Literal["root", "subject", "session"] | None = None,
    digest: bool | None = None,
    work_dir: str | PathLike[str] | None = None,
    dry_run: bool | None = None,
    threads: int | None = None,
    omp_nthreads: int | None = None,
    device: str | float | None = None,
    device_memory: float | None = None,
    memory: str | float | None = None,
    progress: Progress = None,
) -> Made:
    """Run all stages over every subject of a BIDS data set, and write derivatives.

    Parameters
    ----------
    input : path
        The data set: raw, or derivatives as QSIPrep writes them
    out : path
        Folder of the derivatives
    level : {participant, group}
        What is worked on
    participant_label : text
        Subjects, with or without sub- [default: all]
    session_label : text
        Sessions, with or without ses- [default: all]
    datasets : text
        Other data sets of the same subjects, in which labels and tissues are looked for too,
        after those of IN: qsirecon=FOLDER; NAME stands in their URIs
    atlas : text
        Name of the labels between which streamlines are counted: that of the entity atlas, seg
        or desc [default: the only ones there are]
    no_act : flag
        Let streamlines end anywhere, although there are tissues beside a series
    skip_bids_validation : flag
        Has no effect: BIDS apps are called with it. `fimbria bids` checks what it reads, and
        nothing else
    preset : {maps, fibres, connectome, everything, susceptibility, hbcd, abcd}
        What is done [default: maps]
    config : path
        Take what is done from a TOML file, as `fimbria run` does; its `[input]` names no files
    settings : text
        Set one parameter of a stage, such as dti.method=nlls; may be repeated
    raw : flag
        Series are as they left the scanner: correct motion, eddy currents and dropped slices
        first, and distortion where fmap/ has a map of their field
    separate_all_dwis : flag
        With raw: correct and analyse each series by itself, where several of a session would
        become one
    fix_gradients : flag
        Mend the gradient table of each series as its check says, before anything is fitted; a
        series whose data do not tell fails
    force : flag
        Make finished sessions again, and replace what is in the way of pages and tables
    report_output_level : {root, subject, session}
        Where pages are written [default: root]
    digest : flag
        Print, when all is done, a hash of every file of finished sessions, and one of all: what
        two sites compare
    work_dir : path
        Folder where sessions are worked on, each in one of its name that is made there; what an
        interruption leaves in it is gone on from. It neither is, holds nor lies in IN, OUT or
        another data set [default: OUT/.fimbria/work]
    dry_run : flag
        Print what would be done with each session, with the time, memory and disk that it is
        expected to take, and do nothing
    threads : integer
        Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096]
        [default: 0]
    omp_nthreads : integer
        Threads that one session has at most, of several beside each other [from 1 on] [default:
        all]
    device : text
        Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu,
        gpu, gpu:0,1 or opencl:0 [default: auto]
    device_memory : number
        Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]
    memory : text
        Memory that the program may take, such as 8G, from 48M on: images that exceed their
        share, a third, are worked on from disk; where the rest does not fit, that is one error.
        Pages of files that are read in place do not count: the system takes them back when it
        needs them [default: no limit]
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Made
        What was written: `maps`, `record`, `path`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> out = Path(tempfile.mkdtemp())
    >>> made = phantom_head(out / "people", bids="1", size="20,22,16", voxel=8, shells="1000:12")
    >>> done = bids(out / "people", out / "maps", "participant", threads=1)
    >>> any(name.endswith("param-fa_dwimap") for name in done.maps)
    True
    """
    options = [
        Said("", input),
        Said("", out),
        Said("", level),
        Said("--participant-label", participant_label),
        Said("--session-label", session_label),
        Said("--datasets", datasets),
        Said("--atlas", atlas),
        Said("--no-act", no_act),
        Said("--skip-bids-validation", skip_bids_validation),
        Said("--preset", preset),
        Said("--config", config),
        Said("--set", settings, is_repeated=True),
        Said("--raw", raw),
        Said("--separate-all-dwis", separate_all_dwis),
        Said("--fix-gradients", fix_gradients),
        Said("--force", force),
        Said("--report-output-level", report_output_level),
        Said("--digest", digest),
        Said("--work-dir", work_dir),
        Said("--dry-run", dry_run),
        Said("--threads", threads),
        Said("--omp-nthreads", omp_nthreads),
        Said("--device", device),
        Said("--device-memory", device_memory),
        Said("--memory", memory),
    ]
    return made("bids", out, options, progress)


def demo(
    output: str | PathLike[str],
    *,
    force: bool | None = None,
    resume: bool | None = None,
    voxel: float | None = None,
    rng_seed: int | None = None,
    threads: int | None = None,
    device: str | float | None = None,
    device_memory: float | None = None,
    memory: str | float | None = None,
    progress: Progress = None,
) -> Made:
    """Make a head, run every stage on it, and show how close each came to the truth.

    Parameters
    ----------
    output : path
        Folder to write [default: fimbria-demo]
    force : flag
        Compute everything again and overwrite existing outputs
    resume : flag
        Keep the stages that an earlier run finished with the same inputs and parameters
    voxel : number
        Edge of the voxels of the series; those of the gradient-echo scan are half as large; the
        time is inversely as its cube [1 to 10, mm] [default: 4]
    rng_seed : integer
        Seed of the noise [from 0 on] [default: 1]
    threads : integer
        Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096]
        [default: 0]
    device : text
        Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu,
        gpu, gpu:0,1 or opencl:0 [default: auto]
    device_memory : number
        Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]
    memory : text
        Memory that the program may take, such as 8G, from 48M on: images that exceed their
        share, a third, are worked on from disk; where the rest does not fit, that is one error.
        Pages of files that are read in place do not count: the system takes them back when it
        needs them [default: no limit]
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Made
        What was written: `maps`, `record`, `path`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> out = Path(tempfile.mkdtemp())
    >>> made = demo(out / "demo", voxel=10)
    >>> (made.path / "report/report.html").exists()
    True
    """
    options = [
        Said("--output", output),
        Said("--force", force),
        Said("--resume", resume),
        Said("--voxel", voxel),
        Said("--rng-seed", rng_seed),
        Said("--threads", threads),
        Said("--device", device),
        Said("--device-memory", device_memory),
        Said("--memory", memory),
    ]
    return made("demo", output, options, progress)


def convert(
    input: str | PathLike[str],
    output: str | PathLike[str],
    *,
    datatype: str | float | None = None,
    tensors: str | float | None = None,
    reference: str | PathLike[str] | None = None,
    trx_folder: bool | None = None,
    bval: str | PathLike[str] | None = None,
    bvec: str | PathLike[str] | None = None,
    fslgrad: Sequence[str | PathLike[str]] | None = None,
    grad: str | PathLike[str] | None = None,
    bmatrix: str | PathLike[str] | None = None,
    bvec_frame: Literal["fsl", "voxel", "scanner"] | None = None,
    b0_threshold: float | None = None,
    bvalue_scaling: Literal["auto", "yes", "no"] | None = None,
    force: bool | None = None,
    threads: int | None = None,
    memory: str | float | None = None,
    progress: Progress = None,
) -> Made:
    """Convert an image or a tractogram from one format to another.

    Parameters
    ----------
    input : path
        Image to read (.nii, .hdr/.img or .mif, each also with .gz), or tractogram (.tck, .trk,
        .trx, or a TRX folder)
    output : path
        Folder (or, where the command writes one file, the file) to write
    datatype : text
        Type of the samples written: int8 to uint64, float32, float64; bit and float16 for .mif.
        Of a tractogram's coordinates: float32; float64 for .tck and .trx, float16 for .trx
        [default: as stored, scaling included; where the format has no such type, the next that
        holds all of it]
    tensors : text
        Bring tensors from one program's order and frame to another's, such as dipy:mrtrix; of
        fimbria, fsl, mrtrix, dipy. A map of 6 volumes is of diffusion tensors, one of 15 of
        kurtosis
    reference : path
        Image whose grid .trk and .trx name [default: the one that the input names]
    trx_folder : flag
        Write TRX as a folder OUT instead of a file
    bval : path
        b-values in s/mm², FSL form [s/mm²] [default: found beside the image]
    bvec : path
        Directions, FSL form [default: found beside the image]
    fslgrad : path
        Directions and b-values, FSL form, in MRtrix3's order [s/mm²]
    grad : path
        Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]
    bmatrix : path
        b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]
    bvec_frame : {fsl, voxel, scanner}
        Axes in which bvecs or b-matrices are given [default: fsl]
    b0_threshold : number
        b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]
    bvalue_scaling : {auto, yes, no}
        What directions that are not of unit length mean [default: auto]
    force : flag
        Overwrite existing outputs
    threads : integer
        Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096]
        [default: 0]
    memory : text
        Memory that the program may take, such as 8G, from 48M on: images that exceed their
        share, a third, are worked on from disk; where the rest does not fit, that is one error.
        Pages of files that are read in place do not count: the system takes them back when it
        needs them [default: no limit]
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Made
        What was written: `maps`, `record`, `path`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> out = Path(tempfile.mkdtemp())
    >>> made = phantom_crossing(out / "in", size="8,8,4", shells="1000:12")
    >>> convert(out / "in/dwi.nii.gz", out / "dwi.mif").path.name
    'dwi.mif'
    """
    options = [
        Said("", input),
        Said("--datatype", datatype),
        Said("--tensors", tensors),
        Said("--reference", reference),
        Said("--trx-folder", trx_folder),
        Said("--bval", bval),
        Said("--bvec", bvec),
        Said("--fslgrad", fslgrad),
        Said("--grad", grad),
        Said("--bmatrix", bmatrix),
        Said("--bvec-frame", bvec_frame),
        Said("--b0-threshold", b0_threshold),
        Said("--bvalue-scaling", bvalue_scaling),
        Said("--output", output),
        Said("--force", force),
        Said("--threads", threads),
        Said("--memory", memory),
    ]
    return made("convert", output, options, progress)


def compare(
    first: Sequence[str | PathLike[str]],
    second: Sequence[str | PathLike[str]],
    output: str | PathLike[str],
    *,
    threshold: float | None = None,
    force: bool | None = None,
    threads: int | None = None,
    memory: str | float | None = None,
    progress: Progress = None,
) -> Made:
    """Test two sets of maps against each other, voxel by voxel.

    Parameters
    ----------
    first : path
        Maps of repeated runs, two or more with different seeds
    second : path
        The other set, after --: two or more as well
    output : path
        Folder (or, where the command writes one file, the file) to write
    threshold : number
        Mean value from which voxels take part [any] [default: 20]
    force : flag
        Overwrite existing outputs
    threads : integer
        Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096]
        [default: 0]
    memory : text
        Memory that the program may take, such as 8G, from 48M on: images that exceed their
        share, a third, are worked on from disk; where the rest does not fit, that is one error.
        Pages of files that are read in place do not count: the system takes them back when it
        needs them [default: no limit]
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Made
        What was written: `maps`, `record`, `path`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> out = Path(tempfile.mkdtemp())
    >>> seeds = [phantom_crossing(out / f"{n}", size="8,8,4", snr=20, rng_seed=n) for n in range(8)]
    >>> series = [made.path / "dwi.nii.gz" for made in seeds]
    >>> made = compare(series[:4], series[4:], out / "differences")
    >>> made.maps["z"].shape[:3]
    (8, 8, 4)
    """
    options = [
        Said("", first),
        Said("--", second),
        Said("--threshold", threshold),
        Said("--output", output),
        Said("--force", force),
        Said("--threads", threads),
        Said("--memory", memory),
    ]
    return made("compare", output, options, progress)


def make_mask(
    images: str | PathLike[str] | Sequence[str | PathLike[str]],
    output: str | PathLike[str],
    *,
    bval: str | PathLike[str] | None = None,
    bvec: str | PathLike[str] | None = None,
    fslgrad: Sequence[str | PathLike[str]] | None = None,
    grad: str | PathLike[str] | None = None,
    bmatrix: str | PathLike[str] | None = None,
    bvec_frame: Literal["fsl", "voxel", "scanner"] | None = None,
    b0_threshold: float | None = None,
    bvalue_scaling: Literal["auto", "yes", "no"] | None = None,
    force: bool | None = None,
    format: Literal["nii.gz", "nii", "mif"] | None = None,
    threads: int | None = None,
    scratch: str | PathLike[str] | None = None,
    memory: str | float | None = None,
    progress: Progress = None,
) -> Made:
    """Make a brain mask of a diffusion series, or of the magnitudes of a gradient echo.

    Parameters
    ----------
    images : path
        A diffusion series with its gradient table, or magnitudes: an image with a volume for
        each echo, or an image for each
    output : path
        Folder (or, where the command writes one file, the file) to write
    bval : path
        b-values in s/mm², FSL form [s/mm²] [default: found beside the image]
    bvec : path
        Directions, FSL form [default: found beside the image]
    fslgrad : path
        Directions and b-values, FSL form, in MRtrix3's order [s/mm²]
    grad : path
        Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]
    bmatrix : path
        b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]
    bvec_frame : {fsl, voxel, scanner}
        Axes in which bvecs or b-matrices are given [default: fsl]
    b0_threshold : number
        b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]
    bvalue_scaling : {auto, yes, no}
        What directions that are not of unit length mean [default: auto]
    force : flag
        Overwrite existing outputs
    format : {nii.gz, nii, mif}
        Format of the images [default: nii.gz]
    threads : integer
        Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096]
        [default: 0]
    scratch : path
        Folder for compressed images that exceed their share of memory [default: the system's
        for temporary files]
    memory : text
        Memory that the program may take, such as 8G, from 48M on: images that exceed their
        share, a third, are worked on from disk; where the rest does not fit, that is one error.
        Pages of files that are read in place do not count: the system takes them back when it
        needs them [default: no limit]
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Made
        What was written: `maps`, `record`, `path`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> out = Path(tempfile.mkdtemp())
    >>> head = phantom_head(out / "head", size="20,22,16", voxel=8, shells="1000:12")
    >>> made = make_mask([head.path / "dwi.nii.gz"], out / "mask")
    >>> made.maps["mask"].shape
    (20, 22, 16)
    """
    options = [
        Said("", images),
        Said("--bval", bval),
        Said("--bvec", bvec),
        Said("--fslgrad", fslgrad),
        Said("--grad", grad),
        Said("--bmatrix", bmatrix),
        Said("--bvec-frame", bvec_frame),
        Said("--b0-threshold", b0_threshold),
        Said("--bvalue-scaling", bvalue_scaling),
        Said("--output", output),
        Said("--force", force),
        Said("--format", format),
        Said("--threads", threads),
        Said("--scratch", scratch),
        Said("--memory", memory),
    ]
    return made("mask", output, options, progress)


def correct(
    dwi: str | PathLike[str] | Sequence[str | PathLike[str]],
    output: str | PathLike[str],
    *,
    bval: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    bvec: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    fslgrad: Sequence[str | PathLike[str]] | None = None,
    grad: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    bmatrix: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    bvec_frame: Literal["fsl", "voxel", "scanner"] | None = None,
    b0_threshold: float | None = None,
    bvalue_scaling: Literal["auto", "yes", "no"] | None = None,
    mask: str | PathLike[str] | None = None,
    phase_encoding: Literal["i", "i-", "j", "j-", "k", "k-"] | Sequence[Literal["i", "i-", "j", "j-", "k", "k-"]] | None = None,
    field: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    field_magnitude: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    field_unit: Literal["hz", "rad/s", "tesla", "ppm"] | None = None,
    field_transform: str | float | Sequence[str | float] | None = None,
    field_fwhm: float | None = None,
    readout_time: float | Sequence[float] | None = None,
    warp: str | float | Sequence[str | float] | None = None,
    keep_distortion: bool | None = None,
    eddy: Literal["none", "linear", "quadratic", "cubic"] | None = None,
    keep_dropped: bool | None = None,
    force: bool | None = None,
    format: Literal["nii.gz", "nii", "mif"] | None = None,
    threads: int | None = None,
    scratch: str | PathLike[str] | None = None,
    memory: str | float | None = None,
    progress: Progress = None,
) -> Made:
    """Lay the volumes of raw series on each other: motion, eddy currents, dropped slices, distortion.

    Parameters
    ----------
    dwi : path
        Diffusion series as it left the scanner, or denoised; several of one session are
        corrected together, onto the grid of the first
    output : path
        Folder (or, where the command writes one file, the file) to write
    bval : path
        b-values in s/mm², FSL form; of several series once for each, in their order [s/mm²]
        [default: found beside the image]
    bvec : path
        Directions, FSL form; likewise [default: found beside the image]
    fslgrad : path
        Directions and b-values, FSL form, in MRtrix3's order; likewise [s/mm²]
    grad : path
        Gradient table in MRtrix3 form: x y z b per line, scanner axes; likewise [s/mm²]
    bmatrix : path
        b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume; likewise [s/mm²]
    bvec_frame : {fsl, voxel, scanner}
        Axes in which bvecs or b-matrices are given [default: fsl]
    b0_threshold : number
        b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]
    bvalue_scaling : {auto, yes, no}
        What directions that are not of unit length mean [default: auto]
    mask : path
        Brain as the first unweighted volume shows it: a 3-D image on the grid of the (first)
        series [default: one made of the series, as `fimbria mask` makes it]
    phase_encoding : {i, i-, j, j-, k, k-}
        Direction of the phase encoding along the axes of the array, as BIDS writes it; of
        several series once for all, or once for each in their order [default: what the sidecar
        of the series says]
    field : path
        Map of the field that distorts the series, or the phase that it is made of: BIDS's
        fieldmap, phasediff, or phase1 and phase2. It lies where its header says [default: in a
        run, that of fmap/ for this series]
    field_magnitude : path
        Magnitude of the echoes of field: where it is bright the field is known
    field_unit : {hz, rad/s, tesla, ppm}
        Unit of the field map [default: `Units` of its sidecar]
    field_transform : text
        What brings field onto the series, of ANTs, ITK or MRtrix3, where the head moved between
        the two. Of several the first takes points of the series first; `[FILE,1]` is the
        inverse of a matrix
    field_fwhm : number
        Width of the Gaussian that field is smoothed by [0 to 50, mm] [default: 4]
    readout_time : number
        Time from the first to the last echo of the readout, as BIDS's TotalReadoutTime: a field
        shifts by so many voxels a hertz. Of several series once for all, or once for each
        [above 0, up to 1, s] [default: what the sidecar of the series says]
    warp : text
        Warp of another program in place of a field: it brings the series onto the head as it
        is. Of ANTs, ITK, MRtrix3, or FSL's convertwarp. Of several the first takes points of
        the head first; with several series one for all, or one for each
    keep_distortion : flag
        Leave distortion by susceptibility, in a run with a map of the field too; of several
        series also where it differs
    eddy : {none, linear, quadratic, cubic}
        Fields of eddy currents along the phase encoding [default: quadratic]
    keep_dropped : flag
        Leave slices that lost their signal as they were measured; they are listed all the same
    force : flag
        Overwrite existing outputs
    format : {nii.gz, nii, mif}
        Format of the images [default: nii.gz]
    threads : integer
        Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096]
        [default: 0]
    scratch : path
        Folder for compressed images that exceed their share of memory [default: the system's
        for temporary files]
    memory : text
        Memory that the program may take, such as 8G, from 48M on: images that exceed their
        share, a third, are worked on from disk; where the rest does not fit, that is one error.
        Pages of files that are read in place do not count: the system takes them back when it
        needs them [default: no limit]
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Made
        What was written: `maps`, `record`, `path`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> out = Path(tempfile.mkdtemp())
    >>> head = phantom_head(out / "head", size="20,22,16", voxel=8, shells="1000:12", motion=3)
    >>> made = correct(out / "head/dwi.nii.gz", out / "out", mask=out / "head/mask.nii.gz", phase_encoding="j", eddy="none")
    >>> (made.path / "confounds.tsv").read_text().split()[:2]
    ['trans_x', 'trans_y']
    """
    options = [
        Said("", dwi),
        Said("--bval", bval, is_repeated=True),
        Said("--bvec", bvec, is_repeated=True),
        Said("--fslgrad", fslgrad),
        Said("--grad", grad, is_repeated=True),
        Said("--bmatrix", bmatrix, is_repeated=True),
        Said("--bvec-frame", bvec_frame),
        Said("--b0-threshold", b0_threshold),
        Said("--bvalue-scaling", bvalue_scaling),
        Said("--mask", mask),
        Said("--phase-encoding", phase_encoding, is_repeated=True),
        Said("--field", field, is_repeated=True),
        Said("--field-magnitude", field_magnitude, is_repeated=True),
        Said("--field-unit", field_unit),
        Said("--field-transform", field_transform, is_repeated=True),
        Said("--field-fwhm", field_fwhm),
        Said("--readout-time", readout_time, is_repeated=True),
        Said("--warp", warp, is_repeated=True),
        Said("--keep-distortion", keep_distortion),
        Said("--eddy", eddy),
        Said("--keep-dropped", keep_dropped),
        Said("--output", output),
        Said("--force", force),
        Said("--format", format),
        Said("--threads", threads),
        Said("--scratch", scratch),
        Said("--memory", memory),
    ]
    return made("correct", output, options, progress)


def align(
    moving: str | PathLike[str],
    fixed: str | PathLike[str],
    output: str | PathLike[str],
    *,
    mask: str | PathLike[str] | None = None,
    labels: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    keep_grid: bool | None = None,
    transform: str | float | Sequence[str | float] | None = None,
    fsl: bool | None = None,
    force: bool | None = None,
    format: Literal["nii.gz", "nii", "mif"] | None = None,
    threads: int | None = None,
    scratch: str | PathLike[str] | None = None,
    memory: str | float | None = None,
    progress: Progress = None,
) -> Made:
    """Lay an image on another of any contrast by a rigid motion, and bring labels along.

    Parameters
    ----------
    moving : path
        Image that is moved: a series with its gradient table beside it counts by its mean
        unweighted volume, any other image by its first volume
    fixed : path
        Image that stays, likewise
    output : path
        Folder (or, where the command writes one file, the file) to write
    mask : path
        Voxels of FIXED that are compared, with 8 mm around them: the brain [default: all]
    labels : path
        Labels in the space of MOVING, of FreeSurfer or SynthSeg for one, or shares of tissues
        (5TT): brought onto the grid of FIXED, for act, connectome and regions
    keep_grid : flag
        Leave labels on their own grid, and move their header instead: nothing of them is lost,
        and act, connectome and regions take any grid
    transform : text
        Compare nothing: take this way of ANTs, ITK, MRtrix3 or FSL, which brings MOVING onto
        FIXED. Of several the first takes points of FIXED first, as antsApplyTransforms -t;
        `[FILE,1]` is the inverse of a matrix
    fsl : flag
        The way is one of FSL between these two images: of flirt -omat, or applywarp -w
    force : flag
        Overwrite existing outputs
    format : {nii.gz, nii, mif}
        Format of the images [default: nii.gz]
    threads : integer
        Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096]
        [default: 0]
    scratch : path
        Folder for compressed images that exceed their share of memory [default: the system's
        for temporary files]
    memory : text
        Memory that the program may take, such as 8G, from 48M on: images that exceed their
        share, a third, are worked on from disk; where the rest does not fit, that is one error.
        Pages of files that are read in place do not count: the system takes them back when it
        needs them [default: no limit]
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Made
        What was written: `maps`, `record`, `path`.

    References
    ----------
    Studholme C et al. Pattern Recognit 32, 71 (1999)         normalised mutual information
    Thévenaz P, Unser M. IEEE Trans Image Process 9, 2083 (2000)         its derivatives

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> out = Path(tempfile.mkdtemp())
    >>> head = phantom_head(out / "head", size="20,22,16", voxel=8, shells="1000:12")
    >>> made = align(out / "head/mask.nii.gz", out / "head/dwi.nii.gz", out / "out")
    >>> sorted(made.maps)
    ['moved']
    """
    options = [
        Said("", moving),
        Said("", fixed),
        Said("--mask", mask),
        Said("--labels", labels, is_repeated=True),
        Said("--keep-grid", keep_grid),
        Said("--transform", transform, is_repeated=True),
        Said("--fsl", fsl),
        Said("--output", output),
        Said("--force", force),
        Said("--format", format),
        Said("--threads", threads),
        Said("--scratch", scratch),
        Said("--memory", memory),
    ]
    return made("align", output, options, progress)


def normalise(
    densities: str | PathLike[str],
    tissues: str | PathLike[str] | Sequence[str | PathLike[str]] | None,
    output: str | PathLike[str],
    *,
    mask: str | PathLike[str],
    order: int | None = None,
    force: bool | None = None,
    format: Literal["nii.gz", "nii", "mif"] | None = None,
    layout: Literal["fimbria", "fsl", "mrtrix", "bids"] | None = None,
    threads: int | None = None,
    memory: str | float | None = None,
    progress: Progress = None,
) -> Made:
    """Make densities comparable between subjects: intensities normalised by all tissues together.

    Parameters
    ----------
    densities : path
        Folder of `fit fod`, or spherical harmonics of the densities of white matter
    tissues : path
        With harmonics, the other tissues: an image of l = 0 for each as dwi2fod writes them, or
        the tissues of `fit fod`
    output : path
        Folder (or, where the command writes one file, the file) to write
    mask : path
        The brain: a 3-D image on the same grid, inside where above zero. Fluid around it may be
        in it, skull and air may not
    order : integer
        Order of the polynomial in the logarithm of the gain; with 0 the gain is one number [0
        to 3] [default: 3]
    force : flag
        Overwrite existing outputs
    format : {nii.gz, nii, mif}
        Format of the maps [default: nii.gz, or mif with layout mrtrix]
    layout : {fimbria, fsl, mrtrix, bids}
        Whose names, orders and frames to write [default: fimbria]
    threads : integer
        Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096]
        [default: 0]
    memory : text
        Memory that the program may take, such as 8G, from 48M on: images that exceed their
        share, a third, are worked on from disk; where the rest does not fit, that is one error.
        Pages of files that are read in place do not count: the system takes them back when it
        needs them [default: no limit]
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Made
        What was written: `maps`, `record`, `path`.

    References
    ----------
    Raffelt D et al. Proc. ISMRM 26, 3541 (2017)         a field that tissues fill evenly
    Dhollander T et al. Proc. ISMRM 29, 2472 (2021)      in the logarithm, balanced, without
    outliers

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> out = Path(tempfile.mkdtemp())
    >>> made = phantom_crossing(out / "in", size="16,16,10", shells="1000:16,3000:30")
    >>> done = run(out / "in/dwi.nii.gz", out / "run", mask=out / "in/mask.nii.gz", settings=["run.preset=fibres"])
    >>> normalise(out / "run/fod", None, out / "out", mask=out / "in/mask.nii.gz").maps["gain"].shape
    (16, 16, 10)
    """
    options = [
        Said("", densities),
        Said("", tissues),
        Said("--mask", mask),
        Said("--order", order),
        Said("--output", output),
        Said("--force", force),
        Said("--format", format),
        Said("--layout", layout),
        Said("--threads", threads),
        Said("--memory", memory),
    ]
    return made("normalise", output, options, progress)


def fixel(
    image: str | PathLike[str],
    output: str | PathLike[str],
    *,
    sh_basis: Literal["mrtrix", "dipy", "dipy-legacy"] | None = None,
    order: int | None = None,
    frame: Literal["fsl", "voxel", "scanner"] | None = None,
    mask: str | PathLike[str] | None = None,
    tractogram: str | PathLike[str] | None = None,
    angle: float | None = None,
    least_peak: float | None = None,
    direction: Literal["mean", "peak"] | None = None,
    force: bool | None = None,
    format: Literal["mif", "nii.gz", "nii", "odx"] | None = None,
    threads: int | None = None,
    scratch: str | PathLike[str] | None = None,
    memory: str | float | None = None,
    progress: Progress = None,
) -> Made:
    """Take densities apart into fibre populations (fixels), and count streamlines along them.

    Parameters
    ----------
    image : path
        Densities in spherical harmonics of order 4 to 12, or fixels: a folder or an ODX
    output : path
        Folder (or, where the command writes one file, the file) to write
    sh_basis : {mrtrix, dipy, dipy-legacy}
        The coefficients are spherical harmonics of this basis [default: what the image says of
        itself; unique entries where it says nothing]
    order : integer
        Order of the tensors, or highest degree of the harmonics [from 0 on] [default: what the
        number of volumes says]
    frame : {fsl, voxel, scanner}
        Axes the coefficients refer to [default: voxel with a basis of DIPY, else scanner]
    mask : path
        Voxels to work on: a 3-D image on the same grid, inside where above zero [default: all]
    tractogram : path
        Count these streamlines along the fixels: .tck, .trk, .trx or a TRX folder [default:
        none are counted]
    angle : number
        A streamline runs along the nearest fixel of a voxel, where it is not farther from it
        than this [0 to 90, degrees] [default: 45]
    least_peak : number
        Lobes whose maximum is not above this are noise, in units of the densities [0 to
        1000000000000000000000000000000] [default: 0.10000000149011612]
    direction : {mean, peak}
        The direction of a fixel [default: mean]
    force : flag
        Overwrite existing outputs
    format : {mif, nii.gz, nii, odx}
        How fixels are written [default: mif]
    threads : integer
        Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096]
        [default: 0]
    scratch : path
        Folder for compressed images that exceed their share of memory [default: the system's
        for temporary files]
    memory : text
        Memory that the program may take, such as 8G, from 48M on: images that exceed their
        share, a third, are worked on from disk; where the rest does not fit, that is one error.
        Pages of files that are read in place do not count: the system takes them back when it
        needs them [default: no limit]
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Made
        What was written: `maps`, `record`, `path`.

    References
    ----------
    Smith RE et al. NeuroImage 67, 298 (2013)         lobes of densities
    Raffelt D et al. NeuroImage 59, 3976 (2012)       apparent fibre density
    Raffelt DA et al. NeuroImage 144, 58 (2017)       statistics of fixels

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> out = Path(tempfile.mkdtemp())
    >>> made = phantom_crossing(out / "in", size="8,8,4", shells="1000:12")
    >>> done = run(out / "in/dwi.nii.gz", out / "run", mask=out / "in/mask.nii.gz", settings=["run.preset=fibres", "fod.order=4"])
    >>> fixel(out / "run/fod/fod.nii.gz", out / "out", mask=out / "in/mask.nii.gz").path.name
    'out'
    """
    options = [
        Said("", image),
        Said("--sh-basis", sh_basis),
        Said("--order", order),
        Said("--frame", frame),
        Said("--mask", mask),
        Said("--tractogram", tractogram),
        Said("--angle", angle),
        Said("--least-peak", least_peak),
        Said("--direction", direction),
        Said("--output", output),
        Said("--force", force),
        Said("--format", format),
        Said("--threads", threads),
        Said("--scratch", scratch),
        Said("--memory", memory),
    ]
    return made("fixel", output, options, progress)


def mean_response(
    subjects: str | PathLike[str] | Sequence[str | PathLike[str]],
    output: str | PathLike[str],
    *,
    legacy: bool | None = None,
    force: bool | None = None,
    threads: int | None = None,
    memory: str | float | None = None,
    progress: Progress = None,
) -> Made:
    """Make one response of those of a group, so that amounts of fibres compare between subjects.

    Parameters
    ----------
    subjects : path
        Response of one tissue of each subject, MRtrix3's text
    output : path
        Folder (or, where the command writes one file, the file) to write
    legacy : flag
        Leave subjects as bright as they are, as `responsemean -legacy` does
    force : flag
        Overwrite existing outputs
    threads : integer
        Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096]
        [default: 0]
    memory : text
        Memory that the program may take, such as 8G, from 48M on: images that exceed their
        share, a third, are worked on from disk; where the rest does not fit, that is one error.
        Pages of files that are read in place do not count: the system takes them back when it
        needs them [default: no limit]
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Made
        What was written: `maps`, `record`, `path`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> out = Path(tempfile.mkdtemp())
    >>> texts = [out / name for name in ("a.txt", "b.txt")]
    >>> lengths = [text.write_text("500 -200 40") for text in texts]
    >>> mean_response(texts, out / "mean.txt").path.name
    'mean.txt'
    """
    options = [
        Said("", subjects),
        Said("--legacy", legacy),
        Said("--output", output),
        Said("--force", force),
        Said("--threads", threads),
        Said("--memory", memory),
    ]
    return made("response", output, options, progress)


def regions(
    labels: str | PathLike[str],
    output: str | PathLike[str],
    *,
    map: str | PathLike[str] | Sequence[str | PathLike[str]],
    lut: str | PathLike[str] | None = None,
    mask: str | PathLike[str] | None = None,
    force: bool | None = None,
    threads: int | None = None,
    memory: str | float | None = None,
    progress: Progress = None,
) -> Made:
    """Sum maps up over the regions of a segmentation: mean, median, spread and percentiles.

    Parameters
    ----------
    labels : path
        Segmentation: whole numbers, 0 is background; on any grid of the same scanner space
    output : path
        Folder (or, where the command writes one file, the file) to write
    lut : path
        Names of the labels: a table of FreeSurfer or MRtrix3, or dseg.tsv of BIDS [default: the
        .tsv, .txt or FreeSurferColorLUT.txt beside the segmentation]
    map : path
        Maps to sum up, of one volume each: FA, MD, chi,
    mask : path
        Where maps have a value: other voxels of a region do not count, on whatever grid
    force : flag
        Overwrite existing outputs
    threads : integer
        Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096]
        [default: 0]
    memory : text
        Memory that the program may take, such as 8G, from 48M on: images that exceed their
        share, a third, are worked on from disk; where the rest does not fit, that is one error.
        Pages of files that are read in place do not count: the system takes them back when it
        needs them [default: no limit]
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Made
        What was written: `maps`, `record`, `path`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> out = Path(tempfile.mkdtemp())
    >>> made = phantom_crossing(out / "in", size="8,8,4", shells="1000:12")
    >>> made = regions(out / "in/mask.nii.gz", out / "regions", map=[out / "in/truth/S0.nii.gz"])
    >>> (made.path / "regions.tsv").read_text().splitlines()[1].split()[:3]
    ['1', '1', 'S0']
    """
    options = [
        Said("", labels),
        Said("--lut", lut),
        Said("--map", map),
        Said("--mask", mask),
        Said("--output", output),
        Said("--force", force),
        Said("--threads", threads),
        Said("--memory", memory),
    ]
    return made("regions", output, options, progress)


def tract_edit(
    inputs: str | PathLike[str] | Sequence[str | PathLike[str]],
    output: str | PathLike[str],
    *,
    include: str | float | Sequence[str | float] | None = None,
    include_any: str | float | Sequence[str | float] | None = None,
    exclude: str | float | Sequence[str | float] | None = None,
    ends_in: str | float | Sequence[str | float] | None = None,
    ends_only: bool | None = None,
    min_length: float | None = None,
    max_length: float | None = None,
    weights: str | float | None = None,
    min_weight: float | None = None,
    max_weight: float | None = None,
    assignments: str | PathLike[str] | None = None,
    connects: str | float | Sequence[str | float] | None = None,
    inverse: bool | None = None,
    skip: int | None = None,
    number: int | None = None,
    rng_seed: int | None = None,
    points: int | None = None,
    step: float | None = None,
    compress: float | None = None,
    lut: str | PathLike[str] | None = None,
    transform: str | float | Sequence[str | float] | None = None,
    fsl_in: str | PathLike[str] | None = None,
    fsl_ref: str | PathLike[str] | None = None,
    reference: str | PathLike[str] | None = None,
    force: bool | None = None,
    threads: int | None = None,
    memory: str | float | None = None,
    progress: Progress = None,
) -> Made:
    """Choose streamlines by regions, length, weight or at random, join tractograms, and make points anew.

    Parameters
    ----------
    inputs : path
        Tractograms: .tck, .trk, .trx or a TRX folder; several are joined in this order
    output : path
        Folder (or, where the command writes one file, the file) to write
    include : text
        Keep what passes this region; all of them where there are several. A region is an image
        (voxels above zero, on any grid), labels of one (IMAGE:LABEL,LABEL; numbers, or names of
        lut), or a ball (X,Y,Z,RADIUS, mm)
    include_any : text
        Keep what passes one of these regions at least
    exclude : text
        Leave out what passes one of these regions
    ends_in : text
        Keep what has an end in this region; given twice, one end in each (the same twice: both
        ends in it)
    ends_only : flag
        Of every streamline look at its two ends only, for all regions
    min_length : number
        Keep what is so long at least [from 0 on, mm]
    max_length : number
        Keep what is so long at most [from 0 on, mm]
    weights : text
        Weight of each streamline: a text file of numbers, or the name of the tractograms' own
        data
    min_weight : number
        Keep what weighs so much at least [from 0 on]
    max_weight : number
        Keep what weighs so much at most [from 0 on]
    assignments : path
        Labels of each streamline, a line each, of `connectome assignments` or tck2connectome,
        for connects
    connects : text
        Keep what has this label, or connects these two; once for each, one of them is enough; 0
        is no label
    inverse : flag
        Keep what would be left out by all of these together, and leave out the rest
    skip : integer
        Of those, leave out so many at the beginning [from 0 on] [default: 0]
    number : integer
        Of those, keep so many, drawn at random; their order stays [from 1 on] [default: all]
    rng_seed : integer
        Seed of the random numbers [from 0 on] [default: 0]
    points : integer
        Give each streamline so many points, evenly spaced [2 to 100000]
    step : number
        Space points evenly, as near to this as equal steps from end to end come [above 0, mm]
    compress : number
        Leave out points as long as none is farther than this from what is left (pieces of 10 mm
        at most) [above 0, mm]
    lut : path
        Names of labels: a text file with a number and a name in each line, as FreeSurfer and
        MRtrix3 have it
    transform : text
        Regions of another space: what brings its images onto the data, of ANTs and ITK (.mat,
        .txt, 1Warp.nii.gz), MRtrix3 (-linear, -warp) or FSL (flirt, applywarp -w), each known
        by what it is. Of several the first takes points of the data first, as
        antsApplyTransforms -t; `[FILE,1]` is the inverse of a matrix
    fsl_in : path
        With a transform of FSL, image of the regions' space: flirt -in, applywarp -i
    fsl_ref : path
        With a transform of FSL, image of the data's space: flirt -ref, applywarp -r
    reference : path
        Image whose grid .trk and .trx name [default: the one that the input names]
    force : flag
        Overwrite existing outputs
    threads : integer
        Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096]
        [default: 0]
    memory : text
        Memory that the program may take, such as 8G, from 48M on: images that exceed their
        share, a third, are worked on from disk; where the rest does not fit, that is one error.
        Pages of files that are read in place do not count: the system takes them back when it
        needs them [default: no limit]
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Made
        What was written: `maps`, `record`, `path`.

    References
    ----------
    Presseau C, Jodoin PM, Houde JC, Descoteaux M. NeuroImage 109, 72 (2015)    compress
    Knuth DE. The Art of Computer Programming 2, 3.4.2                          number

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> out = Path(tempfile.mkdtemp())
    >>> made = phantom_crossing(out / "in", size="8,8,4", shells="1000:12")
    >>> lines = out / "in/truth/tracts.trx"
    >>> tract_edit([lines], out / "few.trx", number=5).path.name
    'few.trx'
    """
    options = [
        Said("", inputs),
        Said("--include", include, is_repeated=True),
        Said("--include-any", include_any, is_repeated=True),
        Said("--exclude", exclude, is_repeated=True),
        Said("--ends-in", ends_in, is_repeated=True),
        Said("--ends-only", ends_only),
        Said("--min-length", min_length),
        Said("--max-length", max_length),
        Said("--weights", weights),
        Said("--min-weight", min_weight),
        Said("--max-weight", max_weight),
        Said("--assignments", assignments),
        Said("--connects", connects, is_repeated=True),
        Said("--inverse", inverse),
        Said("--skip", skip),
        Said("--number", number),
        Said("--rng-seed", rng_seed),
        Said("--points", points),
        Said("--step", step),
        Said("--compress", compress),
        Said("--lut", lut),
        Said("--transform", transform, is_repeated=True),
        Said("--fsl-in", fsl_in),
        Said("--fsl-ref", fsl_ref),
        Said("--reference", reference),
        Said("--output", output),
        Said("--force", force),
        Said("--threads", threads),
        Said("--memory", memory),
    ]
    return made("tract edit", output, options, progress)


def tract_bundles(
    inputs: str | PathLike[str] | Sequence[str | PathLike[str]],
    output: str | PathLike[str],
    *,
    bundles: str | PathLike[str],
    weights: str | float | None = None,
    lut: str | PathLike[str] | None = None,
    transform: str | float | Sequence[str | float] | None = None,
    fsl_in: str | PathLike[str] | None = None,
    fsl_ref: str | PathLike[str] | None = None,
    tracks: Literal["trx", "tck", "trk"] | None = None,
    reference: str | PathLike[str] | None = None,
    force: bool | None = None,
    threads: int | None = None,
    memory: str | float | None = None,
    progress: Progress = None,
) -> Made:
    """Find named bundles by their regions and lengths.

    Parameters
    ----------
    inputs : path
        Tractograms: .tck, .trk, .trx or a TRX folder; several are joined in this order
    output : path
        Folder (or, where the command writes one file, the file) to write
    bundles : path
        Bundles by name: a TOML file with a table for each, whose keys are include, include_any,
        exclude, ends_in, ends_only, min_length and max_length, as the options of `tract edit`;
        images are beside the file
    weights : text
        Weight of each streamline: a text file of numbers, or the name of the tractograms' own
        data
    lut : path
        Names of labels: a text file with a number and a name in each line, as FreeSurfer and
        MRtrix3 have it
    transform : text
        Regions of another space: what brings its images onto the data, of ANTs and ITK (.mat,
        .txt, 1Warp.nii.gz), MRtrix3 (-linear, -warp) or FSL (flirt, applywarp -w), each known
        by what it is. Of several the first takes points of the data first, as
        antsApplyTransforms -t; `[FILE,1]` is the inverse of a matrix
    fsl_in : path
        With a transform of FSL, image of the regions' space: flirt -in, applywarp -i
    fsl_ref : path
        With a transform of FSL, image of the data's space: flirt -ref, applywarp -r
    tracks : {trx, tck, trk}
        Format of the bundles [default: that of the first tractogram]
    reference : path
        Image whose voxels volumes are counted in, and whose grid .trk and .trx name [default:
        the one that the input names, else that of the first region]
    force : flag
        Overwrite existing outputs
    threads : integer
        Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096]
        [default: 0]
    memory : text
        Memory that the program may take, such as 8G, from 48M on: images that exceed their
        share, a third, are worked on from disk; where the rest does not fit, that is one error.
        Pages of files that are read in place do not count: the system takes them back when it
        needs them [default: no limit]
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Made
        What was written: `maps`, `record`, `path`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> out = Path(tempfile.mkdtemp())
    >>> made = phantom_crossing(out / "in", size="8,8,4", shells="1000:12")
    >>> lines = out / "in/truth/tracts.trx"
    >>> rules = (out / "rules.toml").write_text('all = { include = ["in/mask.nii.gz"] }')
    >>> done = tract_bundles([lines], out / "bundles", bundles=out / "rules.toml")
    >>> (done.path / "bundles.tsv").exists()
    True
    """
    options = [
        Said("", inputs),
        Said("--bundles", bundles),
        Said("--weights", weights),
        Said("--lut", lut),
        Said("--transform", transform, is_repeated=True),
        Said("--fsl-in", fsl_in),
        Said("--fsl-ref", fsl_ref),
        Said("--tracks", tracks),
        Said("--reference", reference),
        Said("--output", output),
        Said("--force", force),
        Said("--threads", threads),
        Said("--memory", memory),
    ]
    return made("tract bundles", output, options, progress)


def tract_clean(
    bundle: str | PathLike[str],
    output: str | PathLike[str],
    *,
    distance: float | None = None,
    length: float | None = None,
    points: int | None = None,
    weights: str | float | None = None,
    reference: str | PathLike[str] | None = None,
    force: bool | None = None,
    threads: int | None = None,
    memory: str | float | None = None,
    progress: Progress = None,
) -> Made:
    """Take streamlines out of a bundle that stray from its core or are too long.

    Parameters
    ----------
    bundle : path
        Streamlines of one bundle: .tck, .trk, .trx or a TRX folder
    output : path
        Folder (or, where the command writes one file, the file) to write
    distance : number
        Leave out what is farther than this from the core at any point [above 0, standard
        deviations] [default: 5]
    length : number
        Leave out what is longer than the mean by more than this [above 0, standard deviations]
        [default: 4]
    points : integer
        Points along each streamline at which it is judged [2 to 10000] [default: 100]
    weights : text
        Weight of each streamline, by which core and spread are found: a text file of numbers,
        or the name of the tractogram's own data [default: 1 each]
    reference : path
        Image whose grid .trk and .trx name [default: the one that the input names]
    force : flag
        Overwrite existing outputs
    threads : integer
        Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096]
        [default: 0]
    memory : text
        Memory that the program may take, such as 8G, from 48M on: images that exceed their
        share, a third, are worked on from disk; where the rest does not fit, that is one error.
        Pages of files that are read in place do not count: the system takes them back when it
        needs them [default: no limit]
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Made
        What was written: `maps`, `record`, `path`.

    References
    ----------
    Yeatman JD, Dougherty RF, Myall NJ, Wandell BA, Feldman HM. PLoS ONE 7, e49790 (2012)

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> out = Path(tempfile.mkdtemp())
    >>> made = phantom_crossing(out / "in", size="8,8,4", shells="1000:12")
    >>> lines = out / "in/truth/tracts.trx"
    >>> tract_clean(lines, out / "clean.trx").path.name
    'clean.trx'
    """
    options = [
        Said("", bundle),
        Said("--distance", distance),
        Said("--length", length),
        Said("--points", points),
        Said("--weights", weights),
        Said("--reference", reference),
        Said("--output", output),
        Said("--force", force),
        Said("--threads", threads),
        Said("--memory", memory),
    ]
    return made("tract clean", output, options, progress)


def tract_profile(
    bundle: str | PathLike[str],
    output: str | PathLike[str],
    *,
    map: str | PathLike[str] | Sequence[str | PathLike[str]],
    points: int | None = None,
    start: str | Sequence[float] | None = None,
    lut: str | PathLike[str] | None = None,
    weights: str | float | None = None,
    force: bool | None = None,
    threads: int | None = None,
    memory: str | float | None = None,
    progress: Progress = None,
) -> Made:
    """Measure maps along a bundle.

    Parameters
    ----------
    bundle : path
        Streamlines of one bundle: .tck, .trk, .trx or a TRX folder
    output : path
        Folder (or, where the command writes one file, the file) to write
    map : path
        Maps to measure, of one volume, on any grid in the same scanner space: FA, MD,
    points : integer
        Points of the profile [2 to 10000] [default: 100]
    start : text
        Where the bundle begins: X,Y,Z in mm, or a region, as those of `tract edit`; its nearer
        end is the first point [default: the left end, or of bundles that run mostly the other
        ways the back or the lower one]
    lut : path
        Names of labels for start: a text file with a number and a name in each line
    weights : text
        Weight of each streamline: a text file of numbers, or the name of the tractogram's own
        data [default: 1 each]
    force : flag
        Overwrite existing outputs
    threads : integer
        Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096]
        [default: 0]
    memory : text
        Memory that the program may take, such as 8G, from 48M on: images that exceed their
        share, a third, are worked on from disk; where the rest does not fit, that is one error.
        Pages of files that are read in place do not count: the system takes them back when it
        needs them [default: no limit]
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Made
        What was written: `maps`, `record`, `path`.

    References
    ----------
    Yeatman JD, Dougherty RF, Myall NJ, Wandell BA, Feldman HM. PLoS ONE 7, e49790 (2012)

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> out = Path(tempfile.mkdtemp())
    >>> made = phantom_crossing(out / "in", size="8,8,4", shells="1000:12")
    >>> lines = out / "in/truth/tracts.trx"
    >>> done = tract_profile(lines, out / "profile", map=[out / "in/truth/S0.nii.gz"])
    >>> (done.path / "profile.tsv").exists()
    True
    """
    options = [
        Said("", bundle),
        Said("--map", map),
        Said("--points", points),
        Said("--start", start),
        Said("--lut", lut),
        Said("--weights", weights),
        Said("--output", output),
        Said("--force", force),
        Said("--threads", threads),
        Said("--memory", memory),
    ]
    return made("tract profile", output, options, progress)


def tract_map(
    inputs: str | PathLike[str] | Sequence[str | PathLike[str]],
    output: str | PathLike[str],
    *,
    of: Literal["density", "number", "ends", "directions", "length", "map"] | None = None,
    map: str | PathLike[str] | None = None,
    along: Literal["mean", "median", "min", "max"] | None = None,
    weights: str | float | None = None,
    template: str | PathLike[str] | None = None,
    voxel: float | None = None,
    force: bool | None = None,
    threads: int | None = None,
    memory: str | float | None = None,
    progress: Progress = None,
) -> Made:
    """Make an image of streamlines: density, ends, directions, lengths, or a map along them.

    Parameters
    ----------
    inputs : path
        Tractograms: .tck, .trk, .trx or a TRX folder; several count as one
    output : path
        Folder (or, where the command writes one file, the file) to write
    of : {density, number, ends, directions, length, map}
        What the voxels hold of the streamlines that pass them; means are weighted by length in
        the voxel [default: density]
    map : path
        With of map: an image of one volume, on any grid of the same scanner space
    along : {mean, median, min, max}
        With of map: what stands for a streamline; points without a value do not count [default:
        mean]
    weights : text
        Weight of each streamline: a text file of numbers, or the name of the tractograms' own
        data [default: 1 each]
    template : path
        Image whose grid the map has [default: the grid that the tractogram names]
    voxel : number
        Edge of the voxels, over the same field of view [above 0, mm] [default: as on that grid]
    force : flag
        Overwrite existing outputs
    threads : integer
        Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096]
        [default: 0]
    memory : text
        Memory that the program may take, such as 8G, from 48M on: images that exceed their
        share, a third, are worked on from disk; where the rest does not fit, that is one error.
        Pages of files that are read in place do not count: the system takes them back when it
        needs them [default: no limit]
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Made
        What was written: `maps`, `record`, `path`.

    References
    ----------
    Calamante F, Tournier JD, Jackson GD, Connelly A. NeuroImage 53, 1233 (2010)    density
    Calamante F, Tournier JD, Smith RE, Connelly A. NeuroImage 59, 2494 (2012)      a map along
    them

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> out = Path(tempfile.mkdtemp())
    >>> made = phantom_crossing(out / "in", size="8,8,4", shells="1000:12")
    >>> tract_map([out / "in/truth/tracts.trx"], out / "density.nii.gz").path.name
    'density.nii.gz'
    """
    options = [
        Said("", inputs),
        Said("--of", of),
        Said("--map", map),
        Said("--along", along),
        Said("--weights", weights),
        Said("--template", template),
        Said("--voxel", voxel),
        Said("--output", output),
        Said("--force", force),
        Said("--threads", threads),
        Said("--memory", memory),
    ]
    return made("tract map", output, options, progress)


def tract_cluster(
    tractogram: str | PathLike[str],
    output: str | PathLike[str],
    *,
    threshold: float | None = None,
    points: int | None = None,
    min_size: int | None = None,
    tracks: Literal["trx", "tck", "trk"] | None = None,
    reference: str | PathLike[str] | None = None,
    force: bool | None = None,
    threads: int | None = None,
    memory: str | float | None = None,
    progress: Progress = None,
) -> Made:
    """Find streamlines that lie together (QuickBundles), and keep those of large clusters.

    Parameters
    ----------
    tractogram : path
        Tractogram: .tck, .trk, .trx or a TRX folder
    output : path
        Folder (or, where the command writes one file, the file) to write
    threshold : number
        A streamline as far as this from all centroids begins a cluster [above 0, mm] [default:
        10]
    points : integer
        Points of each streamline and centroid, evenly spaced [2 to 1000] [default: 12]
    min_size : integer
        Write the streamlines of clusters that have so many at least [from 1 on]
    tracks : {trx, tck, trk}
        Format of the tractograms [default: that of the input]
    reference : path
        Image whose grid .trk and .trx name [default: the one that the input names]
    force : flag
        Overwrite existing outputs
    threads : integer
        Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096]
        [default: 0]
    memory : text
        Memory that the program may take, such as 8G, from 48M on: images that exceed their
        share, a third, are worked on from disk; where the rest does not fit, that is one error.
        Pages of files that are read in place do not count: the system takes them back when it
        needs them [default: no limit]
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Made
        What was written: `maps`, `record`, `path`.

    References
    ----------
    Garyfallidis E, Brett M, Correia MM, Williams GB, Nimmo-Smith I. Front. Neurosci. 6, 175
    (2012)

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> out = Path(tempfile.mkdtemp())
    >>> made = phantom_crossing(out / "in", size="8,8,4", shells="1000:12")
    >>> done = tract_cluster(out / "in/truth/tracts.trx", out / "clusters")
    >>> (done.path / "clusters.tsv").exists()
    True
    """
    options = [
        Said("", tractogram),
        Said("--threshold", threshold),
        Said("--points", points),
        Said("--min-size", min_size),
        Said("--tracks", tracks),
        Said("--reference", reference),
        Said("--output", output),
        Said("--force", force),
        Said("--threads", threads),
        Said("--memory", memory),
    ]
    return made("tract cluster", output, options, progress)


def tract_sample(
    tractogram: str | PathLike[str],
    output: str | PathLike[str],
    *,
    map: str | PathLike[str] | Sequence[str | PathLike[str]],
    along: Literal["mean", "median", "min", "max", "ends", "points"] | None = None,
    look_up: Literal["linear", "nearest", "voxels"] | None = None,
    reference: str | PathLike[str] | None = None,
    force: bool | None = None,
    threads: int | None = None,
    memory: str | float | None = None,
    progress: Progress = None,
) -> Made:
    """Sample maps along each streamline: mean, median, least, largest, at its ends or at each point.

    Parameters
    ----------
    tractogram : path
        Tractogram: .tck, .trk, .trx or a TRX folder
    output : path
        Folder (or, where the command writes one file, the file) to write
    map : path
        Maps to sample, of one volume, on any grid in the same scanner space: FA, MD,
    along : {mean, median, min, max, ends, points}
        What stands for a streamline; points without a value do not count [default: mean]
    look_up : {linear, nearest, voxels}
        Where maps are looked up [default: linear]
    reference : path
        Image whose grid .trk and .trx name [default: the one that the input names]
    force : flag
        Overwrite existing outputs
    threads : integer
        Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096]
        [default: 0]
    memory : text
        Memory that the program may take, such as 8G, from 48M on: images that exceed their
        share, a third, are worked on from disk; where the rest does not fit, that is one error.
        Pages of files that are read in place do not count: the system takes them back when it
        needs them [default: no limit]
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Made
        What was written: `maps`, `record`, `path`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> out = Path(tempfile.mkdtemp())
    >>> made = phantom_crossing(out / "in", size="8,8,4", shells="1000:12")
    >>> lines = out / "in/truth/tracts.trx"
    >>> tract_sample(lines, out / "S0.txt", map=[out / "in/truth/S0.nii.gz"]).path.name
    'S0.txt'
    """
    options = [
        Said("", tractogram),
        Said("--map", map),
        Said("--along", along),
        Said("--look-up", look_up),
        Said("--reference", reference),
        Said("--output", output),
        Said("--force", force),
        Said("--threads", threads),
        Said("--memory", memory),
    ]
    return made("tract sample", output, options, progress)


def phantom_head(
    output: str | PathLike[str],
    *,
    subject: int | None = None,
    voxel: str | float | None = None,
    size: str | Sequence[float] | None = None,
    tilt: str | float | None = None,
    x_left_to_right: bool | None = None,
    b0s: int | None = None,
    shells: str | float | Sequence[str | float] | None = None,
    snr: str | float | None = None,
    rng_seed: int | None = None,
    b_tensor: Literal["linear", "planar", "spherical"] | Sequence[Literal["linear", "planar", "spherical"]] | None = None,
    motion: float | None = None,
    dropped_slices: int | None = None,
    nonlinearity: float | None = None,
    samples: int | None = None,
    gre: str | Sequence[float] | None = None,
    gre_b0: float | None = None,
    gre_voxel: float | None = None,
    gre_snr: str | float | None = None,
    bids: int | None = None,
    broken: bool | None = None,
    force: bool | None = None,
    format: Literal["nii.gz", "nii", "mif"] | None = None,
    threads: int | None = None,
    memory: str | float | None = None,
    progress: Progress = None,
) -> Made:
    """A head as in people: folded cortex, nuclei, ventricles, named bundles, skull and air.

    Parameters
    ----------
    output : path
        Folder (or, where the command writes one file, the file) to write
    subject : integer
        Which head: folds, size and ventricles differ from number to number [from 0 on]
        [default: 1]
    voxel : text
        Voxel size in mm [default: 2.5]
    size : text
        Number of voxels along x, y, z [default: what holds the whole head]
    tilt : text
        Turns of the grid about scanner x, y, z in degrees [default: 6,-4,3]
    x_left_to_right : flag
        Store x from left to right (det(affine) > 0) instead of right to left
    b0s : integer
        Number of unweighted volumes [from 0 on] [default: 6]
    shells : text
        Shells, each b in s/mm² and number of directions [default: 1000:30,2000:60]
    snr : text
        Unweighted white-matter signal over the noise in either channel; inf for no noise
        [default: 30]
    rng_seed : integer
        Seed of the noise [from 0 on] [default: 1]
    b_tensor : {linear, planar, spherical}
        Shape of the b-tensors: of all shells, or of each [default: linear]
    motion : number
        The head moves during the series, up to so far from where it was first, and turns by up
        to as many degrees [0 to 50, mm] [default: 0]
    dropped_slices : integer
        Slices of weighted volumes that lose 60 to 95 % of their signal [from 0 on] [default: 0]
    nonlinearity : number
        Largest deviation of the gradients in the brain, as a fraction [0 to 0.3] [default: 0]
    samples : integer
        Points along each axis at which a voxel on a boundary is sampled [2 to 8] [default: 3]
    gre : text
        Also a gradient-echo scan; echo times in milliseconds
    gre_b0 : number
        Strength of B0 in that scan; it is along scanner z [above 0, T] [default: 3]
    gre_voxel : number
        Voxel size of that scan, the same along all axes [above 0, mm] [default: that of the
        series]
    gre_snr : text
        White matter's magnitude at echo time 0 over the noise in either channel; inf for no
        noise [default: 100]
    bids : integer
        Write a BIDS data set in the shape of QSIPrep's derivatives instead, of so many
        subjects: each has other folds and noise, and the second has two sessions [1 to 9999]
    broken : flag
        Cut the series of its last subject short, as a full disk does
    force : flag
        Overwrite existing outputs
    format : {nii.gz, nii, mif}
        Format of the images [default: nii.gz]
    threads : integer
        Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096]
        [default: 0]
    memory : text
        Memory that the program may take, such as 8G, from 48M on: images that exceed their
        share, a third, are worked on from disk; where the rest does not fit, that is one error.
        Pages of files that are read in place do not count: the system takes them back when it
        needs them [default: no limit]
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Made
        What was written: `maps`, `record`, `path`.

    References
    ----------
    Zhang H et al. NeuroImage 61, 1000 (2012): dispersion
    Salomir R et al. Concepts Magn Reson B 19, 26 (2003): field by Fourier transform
    Smith RE et al. NeuroImage 62, 1924 (2012): five tissues

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> out = Path(tempfile.mkdtemp())
    >>> made = phantom_head(out / "head", size="20,22,16", voxel=8, shells="1000:12")
    >>> "dwi" in made.maps, made.maps["dwi"].shape
    (True, (20, 22, 16, 18))
    """
    options = [
        Said("--subject", subject),
        Said("--voxel", voxel),
        Said("--size", size),
        Said("--tilt", tilt),
        Said("--x-left-to-right", x_left_to_right),
        Said("--b0s", b0s),
        Said("--shells", shells, delimiter=","),
        Said("--snr", snr),
        Said("--rng-seed", rng_seed),
        Said("--b-tensor", b_tensor, delimiter=","),
        Said("--motion", motion),
        Said("--dropped-slices", dropped_slices),
        Said("--nonlinearity", nonlinearity),
        Said("--samples", samples),
        Said("--gre", gre, is_optional=True),
        Said("--gre-b0", gre_b0),
        Said("--gre-voxel", gre_voxel),
        Said("--gre-snr", gre_snr),
        Said("--bids", bids, is_optional=True),
        Said("--broken", broken),
        Said("--output", output),
        Said("--force", force),
        Said("--format", format),
        Said("--threads", threads),
        Said("--memory", memory),
    ]
    return made("phantom head", output, options, progress)


def phantom_crossing(
    output: str | PathLike[str],
    *,
    size: str | Sequence[float] | None = None,
    voxel: str | float | None = None,
    tilt: str | float | None = None,
    x_left_to_right: bool | None = None,
    b0s: int | None = None,
    shells: str | float | Sequence[str | float] | None = None,
    snr: str | float | None = None,
    rng_seed: int | None = None,
    force: bool | None = None,
    format: Literal["nii.gz", "nii", "mif"] | None = None,
    threads: int | None = None,
    memory: str | float | None = None,
    progress: Progress = None,
) -> Made:
    """A head with bundles that run straight, bend, and cross at 30 to 90 degrees.

    Parameters
    ----------
    output : path
        Folder (or, where the command writes one file, the file) to write
    size : text
        Number of voxels along x, y, z [default: 60,72,56]
    voxel : text
        Voxel size in mm [default: 2.5]
    tilt : text
        Turns of the grid about scanner x, y, z in degrees [default: 6,-4,10]
    x_left_to_right : flag
        Store x from left to right (det(affine) > 0) instead of right to left
    b0s : integer
        Number of unweighted volumes [from 0 on] [default: 6]
    shells : text
        Shells, each b in s/mm² and number of directions [default: 1000:30,2000:60]
    snr : text
        Unweighted white-matter signal over the noise in either channel; inf for no noise
        [default: 30]
    rng_seed : integer
        Seed of the noise [from 0 on] [default: 1]
    force : flag
        Overwrite existing outputs
    format : {nii.gz, nii, mif}
        Format of the images [default: nii.gz]
    threads : integer
        Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096]
        [default: 0]
    memory : text
        Memory that the program may take, such as 8G, from 48M on: images that exceed their
        share, a third, are worked on from disk; where the rest does not fit, that is one error.
        Pages of files that are read in place do not count: the system takes them back when it
        needs them [default: no limit]
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Made
        What was written: `maps`, `record`, `path`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> out = Path(tempfile.mkdtemp())
    >>> made = phantom_crossing(out / "in", size="8,8,4", shells="1000:12")
    >>> made.maps["dwi"].shape, made.maps["dwi"].gradients.frame
    ((8, 8, 4, 18), 'scanner')
    """
    options = [
        Said("--size", size),
        Said("--voxel", voxel),
        Said("--tilt", tilt),
        Said("--x-left-to-right", x_left_to_right),
        Said("--b0s", b0s),
        Said("--shells", shells, delimiter=","),
        Said("--snr", snr),
        Said("--rng-seed", rng_seed),
        Said("--output", output),
        Said("--force", force),
        Said("--format", format),
        Said("--threads", threads),
        Said("--memory", memory),
    ]
    return made("phantom crossing", output, options, progress)


def phantom_gre(
    output: str | PathLike[str],
    *,
    size: str | Sequence[float] | None = None,
    voxel: str | float | None = None,
    tilt: str | float | None = None,
    x_left_to_right: bool | None = None,
    te: float | Sequence[float] | None = None,
    b0: float | None = None,
    fibre: float | None = None,
    anisotropy: float | None = None,
    grey: float | None = None,
    air: float | None = None,
    finer: int | None = None,
    snr: str | float | None = None,
    rng_seed: int | None = None,
    force: bool | None = None,
    format: Literal["nii.gz", "nii", "mif"] | None = None,
    threads: int | None = None,
    memory: str | float | None = None,
    progress: Progress = None,
) -> Made:
    """The head of `phantom crossing` in a gradient-echo scan: phase and magnitude of a known field.

    Parameters
    ----------
    output : path
        Folder (or, where the command writes one file, the file) to write
    size : text
        Number of voxels along x, y, z [default: 60,72,56]
    voxel : text
        Voxel size in mm [default: 2.5]
    tilt : text
        Turns of the grid about scanner x, y, z in degrees [default: 6,-4,10]
    x_left_to_right : flag
        Store x from left to right (det(affine) > 0) instead of right to left
    te : number
        Echo times [above 0, ms] [default: 4 12 20 28]
    b0 : number
        Strength of B0; it is along scanner z [above 0, up to 30, tesla] [default: 3]
    fibre : number
        Mean susceptibility of fibres relative to fluid [any, ppm] [default: -0.03]
    anisotropy : number
        Susceptibility along fibres less that across them [any, ppm] [default: 0.012]
    grey : number
        Susceptibility of grey matter relative to fluid [any, ppm] [default: 0.02]
    air : number
        Susceptibility of the air below the brain; 0 for no background [any, ppm] [default: 9.4]
    finer : integer
        Make the field on a grid as many times finer along each axis [1 to 4] [default: 2]
    snr : text
        White matter's magnitude at echo time 0 over the noise in either channel; inf for no
        noise [default: 100]
    rng_seed : integer
        Seed of the noise [from 0 on] [default: 1]
    force : flag
        Overwrite existing outputs
    format : {nii.gz, nii, mif}
        Format of the images [default: nii.gz]
    threads : integer
        Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096]
        [default: 0]
    memory : text
        Memory that the program may take, such as 8G, from 48M on: images that exceed their
        share, a third, are worked on from disk; where the rest does not fit, that is one error.
        Pages of files that are read in place do not count: the system takes them back when it
        needs them [default: no limit]
    progress : optional
        A callable progress(step, done, total), which may raise; True for a bar, False for none.

    Returns
    -------
    Made
        What was written: `maps`, `record`, `path`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> out = Path(tempfile.mkdtemp())
    >>> made = phantom_gre(out / "in", size="12,12,10", voxel=8)
    >>> sorted(made.maps)[:3]
    ['magnitude', 'mask', 'phase']
    """
    options = [
        Said("--size", size),
        Said("--voxel", voxel),
        Said("--tilt", tilt),
        Said("--x-left-to-right", x_left_to_right),
        Said("--te", te),
        Said("--b0", b0),
        Said("--fibre", fibre),
        Said("--anisotropy", anisotropy),
        Said("--grey", grey),
        Said("--air", air),
        Said("--finer", finer),
        Said("--snr", snr),
        Said("--rng-seed", rng_seed),
        Said("--output", output),
        Said("--force", force),
        Said("--format", format),
        Said("--threads", threads),
        Said("--memory", memory),
    ]
    return made("phantom gre", output, options, progress)
