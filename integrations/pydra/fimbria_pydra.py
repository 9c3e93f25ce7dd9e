"""The commands of fimbria as tasks of pydra 1. Made by generate.py from `fimbria describe`: not to be edited.

Where no gradient table is named, it is found beside the series; name it (bval, bvec) where results are cached.
"""

import glob
import os

from fileformats.generic import FsObject
from pydra.compose import shell

__all__ = [
    "Demo",
    "Run",
    "Bids",
    "FitDti",
    "FitHot",
    "FitFod",
    "FitDki",
    "FitStremi",
    "FitDki1d",
    "FitStremi1d",
    "FitIvim",
    "FitMono",
    "FitMsdki",
    "FitExpr",
    "Eigen",
    "Peaks",
    "Sticks",
    "Field",
    "Qsm",
    "Life",
    "PhantomCrossing",
    "PhantomGre",
    "PhantomHead",
    "PhantomProtocol",
    "PhantomTensors",
    "Track",
    "Probtrackx2",
    "Report",
    "Connectome",
    "TractEdit",
    "TractBundles",
    "TractClean",
    "TractProfile",
    "Sift2",
    "Compare",
    "Convert",
]

IMAGES = ("nii.gz", "nii", "mif", "mif.gz", "hdr", "img", "img.gz")


def _found(written, is_file, names, is_many):
    """The files of these names in the folder `written`, or beside the file `written`."""
    if is_file:
        stem = written
        for extension in IMAGES:
            stem = stem.removesuffix(f".{extension}")
        starts = [written, stem]
    else:
        starts = [os.path.join(written, "")]
    for name in names:
        for extension in IMAGES if "{image}" in name else [""]:
            hits = [h for s in starts for h in sorted(glob.glob(glob.escape(s) + name.replace("{image}", extension)))]
            if hits:
                return hits if is_many else hits[0]
    return None


def _written(option, is_file, names=None, is_many=False):
    """What gives the files of these names that a task wrote, or all that it wrote."""

    def files(inputs, cache_dir):
        written = os.path.join(cache_dir, inputs[option] if isinstance(inputs, dict) else getattr(inputs, option))
        return written if names is None else _found(written, is_file, names, is_many)

    return files


@shell.define
class Demo(shell.Task["Demo.Outputs"]):
    """Make a head, run every stage on it, and show how close each came to the truth; writes a folder, output."""

    executable = ["fimbria", "demo"]
    output: str = shell.arg(help="Folder to write [default: fimbria-demo]", argstr="--output", default="demo")
    force: bool = shell.arg(help="Compute everything again and overwrite existing outputs", argstr="--force", default=False)
    resume: bool = shell.arg(help="Keep the stages that an earlier run finished with the same inputs and parameters", argstr="--resume", default=False)
    voxel: float | None = shell.arg(help="Edge of the voxels of the series; those of the gradient-echo scan are half as large; the time is inversely as its cube [1 to 10, mm] [default: 4]", argstr="--voxel", default=None)
    rng_seed: int | None = shell.arg(help="Seed of the noise [from 0 on] [default: 1]", argstr="--rng-seed", default=None)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    device: str | None = shell.arg(help="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]", argstr="--device", default=None)
    device_memory: float | None = shell.arg(help="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]", argstr="--device-memory", default=None)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the folder", callable=_written("output", False))
        head: FsObject | None = shell.out(help="the subject and its truth, as `fimbria phantom head --gre` writes them", callable=_written("output", False, ("head",), False))
        dti: FsObject | None = shell.out(help="the tensor maps, as `fimbria fit dti` writes them", callable=_written("output", False, ("dti",), False))
        quality: FsObject | None = shell.out(help="quality.json: verdicts on the series and the numbers they rest on", callable=_written("output", False, ("quality",), False))
        fod: FsObject | None = shell.out(help="the fibre orientation densities, as `fimbria fit fod` writes them", callable=_written("output", False, ("fod",), False))
        peaks: FsObject | None = shell.out(help="the fibre directions, as `fimbria peaks` writes them", callable=_written("output", False, ("peaks",), False))
        sticks: FsObject | None = shell.out(help="samples of ball and sticks, as `fimbria sticks` writes them, after half as many jumps, in the voxels with a peak", callable=_written("output", False, ("sticks",), False))
        track: FsObject | None = shell.out(help="tracks.trx, visits: streamlines from those voxels, as `fimbria track` writes them", callable=_written("output", False, ("track",), False))
        dki: FsObject | None = shell.out(help="the kurtosis maps, as `fimbria fit dki` writes them", callable=_written("output", False, ("dki",), False))
        life: FsObject | None = shell.out(help="what each streamline explains, as `fimbria life` writes it", callable=_written("output", False, ("life",), False))
        field: FsObject | None = shell.out(help="its field, as `fimbria field` writes it", callable=_written("output", False, ("field",), False))
        qsm: FsObject | None = shell.out(help="its susceptibility, as `fimbria qsm` writes it", callable=_written("output", False, ("qsm",), False))
        accuracy: FsObject | None = shell.out(help="accuracy.tsv: quantity, unit, voxels (or streamlines), median, 95 % and worst error", callable=_written("output", False, ("accuracy",), False))
        report: FsObject | None = shell.out(help="report.html, one page with pictures", callable=_written("output", False, ("report",), False))
        run_json: FsObject | None = shell.out(help="what was done; each folder has one of its own", callable=_written("output", False, ("run.json",), False))


@shell.define
class Run(shell.Task["Run.Outputs"]):
    """Run all stages over one subject, from its series to a report; writes a folder, output."""

    executable = ["fimbria", "run"]
    dwi: FsObject | None = shell.arg(help="Diffusion-weighted series, 4-D", argstr="", position=1, default=None)
    config: FsObject | None = shell.arg(help="Take everything from a TOML file instead", argstr="--config", default=None)
    settings: list[str] | None = shell.arg(help="Set one parameter of a stage, such as dti.method=nlls; may be repeated", argstr="--set ...", default=None)
    fix_gradients: bool = shell.arg(help="Mend the gradient table as its check says, before anything is fitted; refused where the data do not tell", argstr="--fix-gradients", default=False)
    bval: FsObject | None = shell.arg(help="b-values in s/mm², FSL form [s/mm²] [default: found beside the image]", argstr="--bval", default=None)
    bvec: FsObject | None = shell.arg(help="Directions, FSL form [default: found beside the image]", argstr="--bvec", default=None)
    fslgrad: list[FsObject] | None = shell.arg(help="Directions and b-values, FSL form, in MRtrix3's order [s/mm²]", argstr="--fslgrad", default=None)
    grad: FsObject | None = shell.arg(help="Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]", argstr="--grad", default=None)
    bmatrix: FsObject | None = shell.arg(help="b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]", argstr="--bmatrix", default=None)
    bvec_frame: str | None = shell.arg(help="Axes in which bvecs or b-matrices are given [default: fsl]", allowed_values=["fsl", "voxel", "scanner"], argstr="--bvec-frame", default=None)
    b0_threshold: float | None = shell.arg(help="b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]", argstr="--b0-threshold", default=None)
    bvalue_scaling: str | None = shell.arg(help="What directions that are not of unit length mean [default: auto]", allowed_values=["auto", "yes", "no"], argstr="--bvalue-scaling", default=None)
    mask: FsObject | None = shell.arg(help="Voxels to work on: a 3-D image on the grid of the series, inside where above zero [default: a simple brain mask from the unweighted volumes]", argstr="--mask", default=None)
    grad_dev: FsObject | None = shell.arg(help="Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and directions; for `fit dti` and `sticks`, other methods refuse it", argstr="--grad-dev", default=None)
    scratch: str | None = shell.arg(help="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]", argstr="--scratch", default=None)
    output: str = shell.arg(help="Folder to write", argstr="--output", default="run")
    force: bool = shell.arg(help="Compute everything again and overwrite existing outputs", argstr="--force", default=False)
    resume: bool = shell.arg(help="Keep the stages that an earlier run finished with the same inputs and parameters", argstr="--resume", default=False)
    format: str | None = shell.arg(help="Format of the maps [default: nii.gz, or mif with --layout mrtrix]", allowed_values=["nii.gz", "nii", "mif"], argstr="--format", default=None)
    layout: str | None = shell.arg(help="Whose names, orders and frames to write [default: fimbria]", allowed_values=["fimbria", "fsl", "mrtrix", "bids"], argstr="--layout", default=None)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    device: str | None = shell.arg(help="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]", argstr="--device", default=None)
    device_memory: float | None = shell.arg(help="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]", argstr="--device-memory", default=None)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the folder", callable=_written("output", False))
        load: FsObject | None = shell.out(help="mask and mean_b0 where no mask is given: the one that was made, uint8, and the mean unweighted volume that it was made of", callable=_written("output", False, ("load",), False))
        fix_gradients: FsObject | None = shell.out(help="with --fix-gradients: gradients.b: the mended table, MRtrix3 form", callable=_written("output", False, ("fix_gradients",), False))
        dti: FsObject | None = shell.out(help="maps and texts, as `fimbria fit dti` writes them", callable=_written("output", False, ("dti",), False))
        hot: FsObject | None = shell.out(help="where asked for: maps and texts, as `fimbria fit hot` writes them", callable=_written("output", False, ("hot",), False))
        fod: FsObject | None = shell.out(help="with peaks, or where asked for: maps and texts, as `fimbria fit fod` writes them", callable=_written("output", False, ("fod",), False))
        dki: FsObject | None = shell.out(help="maps and texts, as `fimbria fit dki` writes them", callable=_written("output", False, ("dki",), False))
        stremi: FsObject | None = shell.out(help="maps and texts, as `fimbria fit stremi` writes them", callable=_written("output", False, ("stremi",), False))
        dki1d: FsObject | None = shell.out(help="where asked for: maps and texts, as `fimbria fit dki1d` writes them", callable=_written("output", False, ("dki1d",), False))
        stremi1d: FsObject | None = shell.out(help="where asked for: maps and texts, as `fimbria fit stremi1d` writes them", callable=_written("output", False, ("stremi1d",), False))
        ivim: FsObject | None = shell.out(help="where asked for: maps and texts, as `fimbria fit ivim` writes them", callable=_written("output", False, ("ivim",), False))
        mono: FsObject | None = shell.out(help="where asked for: maps and texts, as `fimbria fit mono` writes them", callable=_written("output", False, ("mono",), False))
        msdki: FsObject | None = shell.out(help="where asked for: maps and texts, as `fimbria fit msdki` writes them", callable=_written("output", False, ("msdki",), False))
        expr: FsObject | None = shell.out(help="with a table of its own, or where asked for: maps and texts, as `fimbria fit expr` writes them", callable=_written("output", False, ("expr",), False))
        quality: FsObject | None = shell.out(help="quality.json: verdicts on the series and the numbers they rest on", callable=_written("output", False, ("quality",), False))
        peaks: FsObject | None = shell.out(help="the fibre directions, as `fimbria peaks` writes them", callable=_written("output", False, ("peaks",), False))
        sticks: FsObject | None = shell.out(help="a bedpostX folder, as `fimbria sticks` writes it, of the voxels with a peak", callable=_written("output", False, ("sticks",), False))
        track: FsObject | None = shell.out(help="tracks.trx (or .tck, .trk): streamlines of the voxels with a direction (through densities 10000, of seeds drawn at random), with their data as `fimbria track` writes them; visits: how many pass each voxel", callable=_written("output", False, ("track",), False))
        life: FsObject | None = shell.out(help="what each of them explains, as `fimbria life` writes it", callable=_written("output", False, ("life",), False))
        sift2: FsObject | None = shell.out(help="where asked for: weights of the streamlines, as `fimbria sift2` writes them", callable=_written("output", False, ("sift2",), False))
        connectome: FsObject | None = shell.out(help="with a table [connectome]: between which labels they run, as `fimbria connectome` writes it", callable=_written("output", False, ("connectome",), False))
        field: FsObject | None = shell.out(help="with a table [gre]: as `fimbria field` writes it", callable=_written("output", False, ("field",), False))
        qsm: FsObject | None = shell.out(help="with a table [gre]: as `fimbria qsm` writes it", callable=_written("output", False, ("qsm",), False))
        report: FsObject | None = shell.out(help="report.html, one page with pictures", callable=_written("output", False, ("report",), False))
        run_json: FsObject | None = shell.out(help="what was done, written last; each folder has one of its own", callable=_written("output", False, ("run.json",), False))


@shell.define
class Bids(shell.Task["Bids.Outputs"]):
    """Run all stages over every subject of a BIDS data set, and write derivatives; writes a folder, out."""

    executable = ["fimbria", "bids"]
    input: FsObject = shell.arg(help="The data set: raw, or derivatives as QSIPrep writes them", argstr="", position=1)
    out: str = shell.arg(help="Folder of the derivatives", argstr="", position=2, default="bids")
    level: str = shell.arg(help="What is worked on", allowed_values=["participant", "group"], argstr="", position=3)
    participant_label: list[str] | None = shell.arg(help="Subjects, with or without sub- [default: all]", argstr="--participant-label", default=None)
    session_label: list[str] | None = shell.arg(help="Sessions, with or without ses- [default: all]", argstr="--session-label", default=None)
    datasets: list[str] | None = shell.arg(help="Other data sets of the same subjects, in which labels and tissues are looked for too, after those of IN: qsirecon=FOLDER; NAME stands in their URIs", argstr="--datasets", default=None)
    atlas: str | None = shell.arg(help="Name of the labels between which streamlines are counted: that of the entity atlas, seg or desc [default: the only ones there are]", argstr="--atlas", default=None)
    no_act: bool = shell.arg(help="Let streamlines end anywhere, although there are tissues beside a series", argstr="--no-act", default=False)
    skip_bids_validation: bool = shell.arg(help="Has no effect: BIDS apps are called with it. `fimbria bids` checks what it reads, and nothing else", argstr="--skip-bids-validation", default=False)
    preset: str | None = shell.arg(help="What is done [default: maps]", allowed_values=["maps", "fibres", "connectome", "everything", "susceptibility"], argstr="--preset", default=None)
    config: FsObject | None = shell.arg(help="Take what is done from a TOML file, as `fimbria run` does; its `[input]` names no files", argstr="--config", default=None)
    settings: list[str] | None = shell.arg(help="Set one parameter of a stage, such as dti.method=nlls; may be repeated", argstr="--set ...", default=None)
    fix_gradients: bool = shell.arg(help="Mend the gradient table of each series as its check says, before anything is fitted; a series whose data do not tell fails", argstr="--fix-gradients", default=False)
    force: bool = shell.arg(help="Make finished sessions again", argstr="--force", default=False)
    report_output_level: str | None = shell.arg(help="Where pages are written [default: root]", allowed_values=["root", "subject", "session"], argstr="--report-output-level", default=None)
    digest: bool = shell.arg(help="Print a hash of every file of finished sessions, and one of all: what two sites compare", argstr="--digest", default=False)
    work_dir: str | None = shell.arg(help="Folder where sessions are worked on; what an interruption leaves there is gone on from [default: OUT/.fimbria/work]", argstr="--work-dir", default=None)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    device: str | None = shell.arg(help="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]", argstr="--device", default=None)
    device_memory: float | None = shell.arg(help="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]", argstr="--device-memory", default=None)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the folder", callable=_written("out", False))
        sub: list[FsObject] | None = shell.out(help="[ses-*/]dwi and anat: maps, densities, peaks, streamlines, matrices, susceptibility, under names of BIDS, with sidecars; run.json, written last", callable=_written("out", False, ("sub-*",), True))
        sub_html: list[FsObject] | None = shell.out(help="a page of each session, and one that leads there of a subject with sessions", callable=_written("out", False, ("sub-*.html",), True))
        dataset_description_json: FsObject | None = shell.out(help="what the data set is and is made of", callable=_written("out", False, ("dataset_description.json",), False))
        bidsignore: FsObject | None = shell.out(help="what BIDS has no rule for yet", callable=_written("out", False, (".bidsignore",), False))
        README: FsObject | None = shell.out(help="what is where", callable=_written("out", False, ("README",), False))
        logs: FsObject | None = shell.out(help="CITATION.md, .bib and .html: what was done, in words for a paper", callable=_written("out", False, ("logs",), False))
        group_dwi_tsv: FsObject | None = shell.out(help="group: a row of each series: verdicts on it, medians of maps, share of voxels fitted, volumes used, warnings, what the input says of it", callable=_written("out", False, ("group_dwi.tsv",), False))
        group_dwi_json: FsObject | None = shell.out(help="group: what the columns are, and their units", callable=_written("out", False, ("group_dwi.json",), False))
        group_dwi_html: FsObject | None = shell.out(help="group: a dot of each series in a strip of each number, which leads to its page", callable=_written("out", False, ("group_dwi.html",), False))


@shell.define
class FitDti(shell.Task["FitDti.Outputs"]):
    """Fit the diffusion tensor: FA, MD, eigenvectors and more; writes a folder, output."""

    executable = ["fimbria", "fit", "dti"]
    dwi: FsObject | None = shell.arg(help="Diffusion-weighted series, 4-D", argstr="", position=1, default=None)
    method: str | None = shell.arg(help="How the tensor is estimated [default: wls; with --compat what that program does: ols with fsl, wls with dipy, iwls with mrtrix]", allowed_values=["ols", "wls", "iwls", "nlls", "restore"], argstr="--method", default=None)
    compat: str | None = shell.arg(help="Follow the numerics of another program, for comparison", allowed_values=["fsl", "dipy", "mrtrix"], argstr="--compat", default=None)
    precision: str | None = shell.arg(help="Arithmetic of the fit; measurements and maps are held in single precision [default: single]", allowed_values=["single", "double"], argstr="--precision", default=None)
    sigma: float | None = shell.arg(help="Standard deviation of the noise, for --method restore [from 0 on, units of the input] [default: estimated in each voxel]", argstr="--sigma", default=None)
    maps: list[str] | None = shell.arg(help="Maps to write, separated by commas; status always is [default: all]", argstr="--maps", sep=",", default=None)
    shells: list[float] | None = shell.arg(help="Use only the shells nearest to these b, separated by commas, and the unweighted volumes [from 0 on, s/mm²] [default: all]", argstr="--shells", sep=",", default=None)
    bmax: float | None = shell.arg(help="Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: 1500 where that determines the tensor, all with --compat or --shells]", argstr="--bmax", default=None)
    data: FsObject | None = shell.arg(help="The series as an option, as in FSL's dtifit", argstr="--data", default=None)
    bval: FsObject | None = shell.arg(help="b-values in s/mm², FSL form [s/mm²] [default: found beside the image]", argstr="--bval", default=None)
    bvec: FsObject | None = shell.arg(help="Directions, FSL form [default: found beside the image]", argstr="--bvec", default=None)
    fslgrad: list[FsObject] | None = shell.arg(help="Directions and b-values, FSL form, in MRtrix3's order [s/mm²]", argstr="--fslgrad", default=None)
    grad: FsObject | None = shell.arg(help="Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]", argstr="--grad", default=None)
    bmatrix: FsObject | None = shell.arg(help="b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]", argstr="--bmatrix", default=None)
    bvec_frame: str | None = shell.arg(help="Axes in which bvecs or b-matrices are given [default: fsl]", allowed_values=["fsl", "voxel", "scanner"], argstr="--bvec-frame", default=None)
    b0_threshold: float | None = shell.arg(help="b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]", argstr="--b0-threshold", default=None)
    bvalue_scaling: str | None = shell.arg(help="What directions that are not of unit length mean [default: auto]", allowed_values=["auto", "yes", "no"], argstr="--bvalue-scaling", default=None)
    mask: FsObject | None = shell.arg(help="Voxels to work on: a 3-D image on the grid of the series, inside where above zero [default: a simple brain mask from the unweighted volumes]", argstr="--mask", default=None)
    grad_dev: FsObject | None = shell.arg(help="Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and directions; for `fit dti` and `sticks`, other methods refuse it", argstr="--grad-dev", default=None)
    scratch: str | None = shell.arg(help="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]", argstr="--scratch", default=None)
    output: str = shell.arg(help="Folder (or, where the command writes one file, the file) to write", argstr="--output", default="dti")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    format: str | None = shell.arg(help="Format of the maps [default: nii.gz, or mif with --layout mrtrix]", allowed_values=["nii.gz", "nii", "mif"], argstr="--format", default=None)
    layout: str | None = shell.arg(help="Whose names, orders and frames to write [default: fimbria]", allowed_values=["fimbria", "fsl", "mrtrix", "bids"], argstr="--layout", default=None)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    device: str | None = shell.arg(help="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]", argstr="--device", default=None)
    device_memory: float | None = shell.arg(help="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]", argstr="--device-memory", default=None)
    follow: bool = shell.arg(help="Fit again whenever more volumes are there, until all of the gradient table are, or until Ctrl-C. DWI is a file that grows or is replaced, or a folder that receives volumes, taken in the order of their numbers; the table must have a row for each volume to come", argstr="--follow", default=False)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the folder", callable=_written("output", False))
        FA: FsObject | None = shell.out(help="fractional anisotropy, 0 to 1 (above 1 where an eigenvalue is negative)", callable=_written("output", False, ("FA.{image}", "*model-tensor_param-fa_dwimap.{image}", "dti_FA.{image}", "fa.{image}"), False))
        MD: FsObject | None = shell.out(help="mean diffusivity, mm²/s [mm^2/s]", callable=_written("output", False, ("MD.{image}", "*model-tensor_param-md_dwimap.{image}", "dti_MD.{image}", "adc.{image}"), False))
        AD: FsObject | None = shell.out(help="axial diffusivity, the largest eigenvalue, mm²/s [mm^2/s]", callable=_written("output", False, ("AD.{image}", "*model-tensor_param-ad_dwimap.{image}", "dti_AD.{image}", "ad.{image}"), False))
        RD: FsObject | None = shell.out(help="radial diffusivity, the mean of the other two eigenvalues, mm²/s [mm^2/s]", callable=_written("output", False, ("RD.{image}", "*model-tensor_param-rd_dwimap.{image}", "dti_RD.{image}", "rd.{image}"), False))
        L1: FsObject | None = shell.out(help="largest eigenvalue, mm²/s [mm^2/s]", callable=_written("output", False, ("L1.{image}", "*model-tensor_param-l1_dwimap.{image}", "dti_L1.{image}", "value1.{image}"), False))
        L2: FsObject | None = shell.out(help="middle eigenvalue, mm²/s [mm^2/s]", callable=_written("output", False, ("L2.{image}", "*model-tensor_param-rd1_dwimap.{image}", "dti_L2.{image}", "value2.{image}"), False))
        L3: FsObject | None = shell.out(help="smallest eigenvalue, mm²/s [mm^2/s]", callable=_written("output", False, ("L3.{image}", "*model-tensor_param-rd2_dwimap.{image}", "dti_L3.{image}", "value3.{image}"), False))
        V1: FsObject | None = shell.out(help="unit eigenvector of L1, x y z in scanner RAS axes, sign arbitrary", callable=_written("output", False, ("V1.{image}", "*model-tensor_param-v1_dwimap.{image}", "dti_V1.{image}", "vector1.{image}"), False))
        V2: FsObject | None = shell.out(help="unit eigenvector of L2, x y z in scanner RAS axes, sign arbitrary", callable=_written("output", False, ("V2.{image}", "*model-tensor_param-v2_dwimap.{image}", "dti_V2.{image}", "vector2.{image}"), False))
        V3: FsObject | None = shell.out(help="unit eigenvector of L3, x y z in scanner RAS axes, sign arbitrary", callable=_written("output", False, ("V3.{image}", "*model-tensor_param-v3_dwimap.{image}", "dti_V3.{image}", "vector3.{image}"), False))
        MO: FsObject | None = shell.out(help="mode, -1 (planar) to 1 (linear)", callable=_written("output", False, ("MO.{image}", "*model-tensor_param-mode_dwimap.{image}", "dti_MO.{image}", "mode.{image}"), False))
        S0: FsObject | None = shell.out(help="signal without diffusion weighting, input units [arbitrary]", callable=_written("output", False, ("S0.{image}", "*model-tensor_param-s0_dwimap.{image}", "dti_S0.{image}", "b0.{image}"), False))
        tensor: FsObject | None = shell.out(help="diffusion tensor, xx xy xz yy yz zz in scanner RAS axes, mm²/s [mm^2/s]", callable=_written("output", False, ("tensor.{image}", "*model-tensor_param-diffusivity_dwimap.{image}", "dti_tensor.{image}", "dt.{image}"), False))
        residual: FsObject | None = shell.out(help="root mean square of measured minus predicted signal, input units [arbitrary]", callable=_written("output", False, ("residual.{image}", "*model-tensor_param-residual_dwimap.{image}", "dti_residual.{image}"), False))
        status: FsObject | None = shell.out(help="0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined", callable=_written("output", False, ("status.{image}", "*model-tensor_param-status_dwimap.{image}", "dti_status.{image}"), False))
        mask: FsObject | None = shell.out(help="where no mask is given: the mask that was made", callable=_written("output", False, ("mask.{image}",), False))
        mean_b0: FsObject | None = shell.out(help="where no mask is given: the mean unweighted volume that it was made of [arbitrary]", callable=_written("output", False, ("mean_b0.{image}",), False))
        run_json: FsObject | None = shell.out(help="inputs with hashes, parameters, machine, times, counts, warnings", callable=_written("output", False, ("run.json",), False))


@shell.define
class FitHot(shell.Task["FitHot.Outputs"]):
    """Fit generalised diffusion tensors: forms of order 4, 6 or 8, and their measures; writes a folder, output."""

    executable = ["fimbria", "fit", "hot"]
    dwi: FsObject | None = shell.arg(help="Diffusion-weighted series, 4-D", argstr="", position=1, default=None)
    order: str | None = shell.arg(help="Order of the form [default: 4]", allowed_values=["4", "6", "8"], argstr="--order", default=None)
    method: str | None = shell.arg(help="How it is estimated [default: wls]", allowed_values=["ols", "wls", "iwls"], argstr="--method", default=None)
    positive: bool = shell.arg(help="Keep the diffusivity positive in 300 directions; voxels where that changes the fit have status 2", argstr="--positive", default=False)
    shells: list[float] | None = shell.arg(help="Use only the shells nearest to these b, separated by commas, and the unweighted volumes [from 0 on, s/mm²] [default: all]", argstr="--shells", sep=",", default=None)
    bmax: float | None = shell.arg(help="Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: all are used]", argstr="--bmax", default=None)
    data: FsObject | None = shell.arg(help="The series as an option, as in FSL's dtifit", argstr="--data", default=None)
    bval: FsObject | None = shell.arg(help="b-values in s/mm², FSL form [s/mm²] [default: found beside the image]", argstr="--bval", default=None)
    bvec: FsObject | None = shell.arg(help="Directions, FSL form [default: found beside the image]", argstr="--bvec", default=None)
    fslgrad: list[FsObject] | None = shell.arg(help="Directions and b-values, FSL form, in MRtrix3's order [s/mm²]", argstr="--fslgrad", default=None)
    grad: FsObject | None = shell.arg(help="Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]", argstr="--grad", default=None)
    bmatrix: FsObject | None = shell.arg(help="b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]", argstr="--bmatrix", default=None)
    bvec_frame: str | None = shell.arg(help="Axes in which bvecs or b-matrices are given [default: fsl]", allowed_values=["fsl", "voxel", "scanner"], argstr="--bvec-frame", default=None)
    b0_threshold: float | None = shell.arg(help="b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]", argstr="--b0-threshold", default=None)
    bvalue_scaling: str | None = shell.arg(help="What directions that are not of unit length mean [default: auto]", allowed_values=["auto", "yes", "no"], argstr="--bvalue-scaling", default=None)
    mask: FsObject | None = shell.arg(help="Voxels to work on: a 3-D image on the grid of the series, inside where above zero [default: a simple brain mask from the unweighted volumes]", argstr="--mask", default=None)
    grad_dev: FsObject | None = shell.arg(help="Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and directions; for `fit dti` and `sticks`, other methods refuse it", argstr="--grad-dev", default=None)
    scratch: str | None = shell.arg(help="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]", argstr="--scratch", default=None)
    output: str = shell.arg(help="Folder (or, where the command writes one file, the file) to write", argstr="--output", default="hot")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    format: str | None = shell.arg(help="Format of the maps [default: nii.gz, or mif with --layout mrtrix]", allowed_values=["nii.gz", "nii", "mif"], argstr="--format", default=None)
    layout: str | None = shell.arg(help="Whose names, orders and frames to write [default: fimbria]", allowed_values=["fimbria", "fsl", "mrtrix", "bids"], argstr="--layout", default=None)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    device: str | None = shell.arg(help="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]", argstr="--device", default=None)
    device_memory: float | None = shell.arg(help="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]", argstr="--device-memory", default=None)
    follow: bool = shell.arg(help="Fit again whenever more volumes are there, until all of the gradient table are, or until Ctrl-C. DWI is a file that grows or is replaced, or a folder that receives volumes, taken in the order of their numbers; the table must have a row for each volume to come", argstr="--follow", default=False)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the folder", callable=_written("output", False))
        hot: FsObject | None = shell.out(help="unique entries of the diffusivity as a homogeneous form of the direction, lexicographic (x..x x..y x..z ... z..z), in scanner RAS axes, mm²/s [mm^2/s]", callable=_written("output", False, ("hot.{image}", "*model-hot_param-hot_dwimap.{image}", "hot_hot.{image}"), False))
        MD: FsObject | None = shell.out(help="mean diffusivity over all directions, mm²/s [mm^2/s]", callable=_written("output", False, ("MD.{image}", "*model-hot_param-md_dwimap.{image}", "hot_MD.{image}", "adc.{image}"), False))
        GA: FsObject | None = shell.out(help="generalised anisotropy, 0 to 1", callable=_written("output", False, ("GA.{image}", "*model-hot_param-ga_dwimap.{image}", "hot_GA.{image}", "ga.{image}"), False))
        variance: FsObject | None = shell.out(help="variance of the diffusivity over its generalised trace", callable=_written("output", False, ("variance.{image}", "*model-hot_param-variance_dwimap.{image}", "hot_variance.{image}"), False))
        S0: FsObject | None = shell.out(help="signal without diffusion weighting, input units [arbitrary]", callable=_written("output", False, ("S0.{image}", "*model-hot_param-s0_dwimap.{image}", "hot_S0.{image}", "b0.{image}"), False))
        residual: FsObject | None = shell.out(help="root mean square of measured minus predicted signal, input units [arbitrary]", callable=_written("output", False, ("residual.{image}", "*model-hot_param-residual_dwimap.{image}", "hot_residual.{image}"), False))
        status: FsObject | None = shell.out(help="0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined", callable=_written("output", False, ("status.{image}", "*model-hot_param-status_dwimap.{image}", "hot_status.{image}"), False))
        mask: FsObject | None = shell.out(help="where no mask is given: the mask that was made", callable=_written("output", False, ("mask.{image}",), False))
        mean_b0: FsObject | None = shell.out(help="where no mask is given: the mean unweighted volume that it was made of [arbitrary]", callable=_written("output", False, ("mean_b0.{image}",), False))
        run_json: FsObject | None = shell.out(help="inputs with hashes, parameters, machine, times, counts, warnings", callable=_written("output", False, ("run.json",), False))


@shell.define
class FitFod(shell.Task["FitFod.Outputs"]):
    """Estimate fibre orientation densities by constrained spherical deconvolution; writes a folder, output."""

    executable = ["fimbria", "fit", "fod"]
    dwi: FsObject | None = shell.arg(help="Diffusion-weighted series, 4-D", argstr="", position=1, default=None)
    order: str | None = shell.arg(help="Degree of the density [default: 8]", allowed_values=["4", "6", "8"], argstr="--order", default=None)
    tissues: str | None = shell.arg(help="Compartments of the signal [default: auto]", allowed_values=["auto", "white", "three"], argstr="--tissues", default=None)
    response: FsObject | None = shell.arg(help="Response of single fibres, MRtrix3's text [default: estimated]", argstr="--response", default=None)
    response_gm: FsObject | None = shell.arg(help="Response of grey matter [default: estimated]", argstr="--response-gm", default=None)
    response_csf: FsObject | None = shell.arg(help="Response of fluid [default: estimated]", argstr="--response-csf", default=None)
    regularisation: float | None = shell.arg(help="Preference for small coefficients, relative to the largest diagonal of the normal equations [above 0] [default: 0.00001]", argstr="--regularisation", default=None)
    shells: list[float] | None = shell.arg(help="Use only the shells nearest to these b, separated by commas, and the unweighted volumes [from 0 on, s/mm²] [default: all]", argstr="--shells", sep=",", default=None)
    bmax: float | None = shell.arg(help="Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: all are used]", argstr="--bmax", default=None)
    data: FsObject | None = shell.arg(help="The series as an option, as in FSL's dtifit", argstr="--data", default=None)
    bval: FsObject | None = shell.arg(help="b-values in s/mm², FSL form [s/mm²] [default: found beside the image]", argstr="--bval", default=None)
    bvec: FsObject | None = shell.arg(help="Directions, FSL form [default: found beside the image]", argstr="--bvec", default=None)
    fslgrad: list[FsObject] | None = shell.arg(help="Directions and b-values, FSL form, in MRtrix3's order [s/mm²]", argstr="--fslgrad", default=None)
    grad: FsObject | None = shell.arg(help="Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]", argstr="--grad", default=None)
    bmatrix: FsObject | None = shell.arg(help="b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]", argstr="--bmatrix", default=None)
    bvec_frame: str | None = shell.arg(help="Axes in which bvecs or b-matrices are given [default: fsl]", allowed_values=["fsl", "voxel", "scanner"], argstr="--bvec-frame", default=None)
    b0_threshold: float | None = shell.arg(help="b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]", argstr="--b0-threshold", default=None)
    bvalue_scaling: str | None = shell.arg(help="What directions that are not of unit length mean [default: auto]", allowed_values=["auto", "yes", "no"], argstr="--bvalue-scaling", default=None)
    mask: FsObject | None = shell.arg(help="Voxels to work on: a 3-D image on the grid of the series, inside where above zero [default: a simple brain mask from the unweighted volumes]", argstr="--mask", default=None)
    grad_dev: FsObject | None = shell.arg(help="Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and directions; for `fit dti` and `sticks`, other methods refuse it", argstr="--grad-dev", default=None)
    scratch: str | None = shell.arg(help="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]", argstr="--scratch", default=None)
    output: str = shell.arg(help="Folder (or, where the command writes one file, the file) to write", argstr="--output", default="fod")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    format: str | None = shell.arg(help="Format of the maps [default: nii.gz, or mif with --layout mrtrix]", allowed_values=["nii.gz", "nii", "mif"], argstr="--format", default=None)
    layout: str | None = shell.arg(help="Whose names, orders and frames to write [default: fimbria]", allowed_values=["fimbria", "fsl", "mrtrix", "bids"], argstr="--layout", default=None)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    device: str | None = shell.arg(help="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]", argstr="--device", default=None)
    device_memory: float | None = shell.arg(help="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]", argstr="--device-memory", default=None)
    follow: bool = shell.arg(help="Fit again whenever more volumes are there, until all of the gradient table are, or until Ctrl-C. DWI is a file that grows or is replaced, or a folder that receives volumes, taken in the order of their numbers; the table must have a row for each volume to come", argstr="--follow", default=False)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the folder", callable=_written("output", False))
        fod: FsObject | None = shell.out(help="fibre orientation density, spherical harmonics in MRtrix3's basis and order, scanner RAS axes; integral 1 for tissue like that of the response", callable=_written("output", False, ("fod.{image}", "*model-csd_param-wm_dwimap.{image}", "fod_fod.{image}"), False))
        hot: FsObject | None = shell.out(help="the same density as unique entries of a symmetric tensor, lexicographic (1111 1112 ...), scanner RAS axes", callable=_written("output", False, ("hot.{image}", "*model-csd_param-hot_dwimap.{image}", "fod_hot.{image}"), False))
        tissues: FsObject | None = shell.out(help="amounts of fibres (integral of the density) and, where they are told apart, of grey matter and fluid, in units of their responses", callable=_written("output", False, ("tissues.{image}", "*model-csd_param-tissues_dwimap.{image}", "fod_tissues.{image}"), False))
        residual: FsObject | None = shell.out(help="root mean square of measured minus predicted signal, input units [arbitrary]", callable=_written("output", False, ("residual.{image}", "*model-csd_param-residual_dwimap.{image}", "fod_residual.{image}"), False))
        status: FsObject | None = shell.out(help="0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined", callable=_written("output", False, ("status.{image}", "*model-csd_param-status_dwimap.{image}", "fod_status.{image}"), False))
        response_txt: FsObject | None = shell.out(help="the response of single fibres, a row of zonal harmonics for each shell, as MRtrix3 writes it", callable=_written("output", False, ("response.txt",), False))
        response_gm_txt: FsObject | None = shell.out(help="where there are three tissues: that of grey matter", callable=_written("output", False, ("response_gm.txt",), False))
        response_csf_txt: FsObject | None = shell.out(help="where there are three tissues: that of fluid", callable=_written("output", False, ("response_csf.txt",), False))
        mask: FsObject | None = shell.out(help="where no mask is given: the mask that was made", callable=_written("output", False, ("mask.{image}",), False))
        mean_b0: FsObject | None = shell.out(help="where no mask is given: the mean unweighted volume that it was made of [arbitrary]", callable=_written("output", False, ("mean_b0.{image}",), False))
        run_json: FsObject | None = shell.out(help="inputs with hashes, parameters, machine, times, counts, warnings", callable=_written("output", False, ("run.json",), False))


@shell.define
class FitDki(shell.Task["FitDki.Outputs"]):
    """Fit diffusion kurtosis: MK, AK, RK, KFA, the two tensors and more; writes a folder, output."""

    executable = ["fimbria", "fit", "dki"]
    dwi: FsObject | None = shell.arg(help="Diffusion-weighted series, 4-D", argstr="", position=1, default=None)
    method: str | None = shell.arg(help="How the tensors are estimated [default: wls; iwls with --compat mrtrix, as that program does]", allowed_values=["ols", "wls", "iwls", "nlls"], argstr="--method", default=None)
    compat: str | None = shell.arg(help="Follow the numerics of another program, for comparison; implies --unconstrained", allowed_values=["dipy", "mrtrix"], argstr="--compat", default=None)
    unconstrained: bool = shell.arg(help="Leave estimates as they are where they violate D > 0, K >= 0 or K <= 3 / (b_max D)", argstr="--unconstrained", default=False)
    bmax: float | None = shell.arg(help="Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: 3000; all with --compat, as those programs do]", argstr="--bmax", default=None)
    clip: str | None = shell.arg(help="Clip MK, AK, RK, Kmax and Kmin to this range [default: -3/7,10]", argstr="--clip", default=None)
    maps: list[str] | None = shell.arg(help="Maps to write, separated by commas; status always is [default: all]", argstr="--maps", sep=",", default=None)
    shells: list[float] | None = shell.arg(help="Use only the shells nearest to these b, separated by commas, and the unweighted volumes [from 0 on, s/mm²] [default: all]", argstr="--shells", sep=",", default=None)
    data: FsObject | None = shell.arg(help="The series as an option, as in FSL's dtifit", argstr="--data", default=None)
    bval: FsObject | None = shell.arg(help="b-values in s/mm², FSL form [s/mm²] [default: found beside the image]", argstr="--bval", default=None)
    bvec: FsObject | None = shell.arg(help="Directions, FSL form [default: found beside the image]", argstr="--bvec", default=None)
    fslgrad: list[FsObject] | None = shell.arg(help="Directions and b-values, FSL form, in MRtrix3's order [s/mm²]", argstr="--fslgrad", default=None)
    grad: FsObject | None = shell.arg(help="Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]", argstr="--grad", default=None)
    bmatrix: FsObject | None = shell.arg(help="b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]", argstr="--bmatrix", default=None)
    bvec_frame: str | None = shell.arg(help="Axes in which bvecs or b-matrices are given [default: fsl]", allowed_values=["fsl", "voxel", "scanner"], argstr="--bvec-frame", default=None)
    b0_threshold: float | None = shell.arg(help="b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]", argstr="--b0-threshold", default=None)
    bvalue_scaling: str | None = shell.arg(help="What directions that are not of unit length mean [default: auto]", allowed_values=["auto", "yes", "no"], argstr="--bvalue-scaling", default=None)
    mask: FsObject | None = shell.arg(help="Voxels to work on: a 3-D image on the grid of the series, inside where above zero [default: a simple brain mask from the unweighted volumes]", argstr="--mask", default=None)
    grad_dev: FsObject | None = shell.arg(help="Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and directions; for `fit dti` and `sticks`, other methods refuse it", argstr="--grad-dev", default=None)
    scratch: str | None = shell.arg(help="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]", argstr="--scratch", default=None)
    output: str = shell.arg(help="Folder (or, where the command writes one file, the file) to write", argstr="--output", default="dki")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    format: str | None = shell.arg(help="Format of the maps [default: nii.gz, or mif with --layout mrtrix]", allowed_values=["nii.gz", "nii", "mif"], argstr="--format", default=None)
    layout: str | None = shell.arg(help="Whose names, orders and frames to write [default: fimbria]", allowed_values=["fimbria", "fsl", "mrtrix", "bids"], argstr="--layout", default=None)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    device: str | None = shell.arg(help="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]", argstr="--device", default=None)
    device_memory: float | None = shell.arg(help="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]", argstr="--device-memory", default=None)
    follow: bool = shell.arg(help="Fit again whenever more volumes are there, until all of the gradient table are, or until Ctrl-C. DWI is a file that grows or is replaced, or a folder that receives volumes, taken in the order of their numbers; the table must have a row for each volume to come", argstr="--follow", default=False)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the folder", callable=_written("output", False))
        MK: FsObject | None = shell.out(help="mean kurtosis, the mean of K over all directions, clipped", callable=_written("output", False, ("MK.{image}", "*model-dki_param-mk_dwimap.{image}", "dki_MK.{image}", "mk.{image}"), False))
        AK: FsObject | None = shell.out(help="axial kurtosis, K along the first eigenvector of the tensor, clipped", callable=_written("output", False, ("AK.{image}", "*model-dki_param-ak_dwimap.{image}", "dki_AK.{image}", "ak.{image}"), False))
        RK: FsObject | None = shell.out(help="radial kurtosis, the mean of K across that eigenvector, clipped", callable=_written("output", False, ("RK.{image}", "*model-dki_param-rk_dwimap.{image}", "dki_RK.{image}", "rk.{image}"), False))
        MKT: FsObject | None = shell.out(help="mean of the kurtosis tensor, (W1111 + W2222 + W3333 + 2 W1122 + 2 W1133 + 2 W2233) / 5", callable=_written("output", False, ("MKT.{image}", "*model-dki_param-mkt_dwimap.{image}", "dki_MKT.{image}", "mkt.{image}"), False))
        KFA: FsObject | None = shell.out(help="kurtosis fractional anisotropy, 0 to 1", callable=_written("output", False, ("KFA.{image}", "*model-dki_param-kfa_dwimap.{image}", "dki_KFA.{image}", "kfa.{image}"), False))
        Kmax: FsObject | None = shell.out(help="largest kurtosis of any direction, clipped", callable=_written("output", False, ("Kmax.{image}", "*model-dki_param-kmax_dwimap.{image}", "dki_Kmax.{image}", "kmax.{image}"), False))
        Kmin: FsObject | None = shell.out(help="smallest kurtosis of any direction, clipped", callable=_written("output", False, ("Kmin.{image}", "*model-dki_param-kmin_dwimap.{image}", "dki_Kmin.{image}", "kmin.{image}"), False))
        FA: FsObject | None = shell.out(help="fractional anisotropy of the tensor, 0 to 1 (above 1 where an eigenvalue is negative)", callable=_written("output", False, ("FA.{image}", "*model-dki_param-fa_dwimap.{image}", "dki_FA.{image}", "fa.{image}"), False))
        MD: FsObject | None = shell.out(help="mean diffusivity, mm²/s [mm^2/s]", callable=_written("output", False, ("MD.{image}", "*model-dki_param-md_dwimap.{image}", "dki_MD.{image}", "adc.{image}"), False))
        AD: FsObject | None = shell.out(help="axial diffusivity, the largest eigenvalue, mm²/s [mm^2/s]", callable=_written("output", False, ("AD.{image}", "*model-dki_param-ad_dwimap.{image}", "dki_AD.{image}", "ad.{image}"), False))
        RD: FsObject | None = shell.out(help="radial diffusivity, the mean of the other two eigenvalues, mm²/s [mm^2/s]", callable=_written("output", False, ("RD.{image}", "*model-dki_param-rd_dwimap.{image}", "dki_RD.{image}", "rd.{image}"), False))
        linearity: FsObject | None = shell.out(help="linearity of the tensor, (λ1 - λ2) / (λ1 + λ2 + λ3); 1: diffusion along a line", callable=_written("output", False, ("linearity.{image}", "*model-dki_param-linearity_dwimap.{image}", "dki_linearity.{image}"), False))
        planarity: FsObject | None = shell.out(help="planarity of the tensor, 2 (λ2 - λ3) / (λ1 + λ2 + λ3); 1: diffusion in a plane", callable=_written("output", False, ("planarity.{image}", "*model-dki_param-planarity_dwimap.{image}", "dki_planarity.{image}"), False))
        sphericity: FsObject | None = shell.out(help="sphericity of the tensor, 3 λ3 / (λ1 + λ2 + λ3); 1: the same in every direction", callable=_written("output", False, ("sphericity.{image}", "*model-dki_param-sphericity_dwimap.{image}", "dki_sphericity.{image}"), False))
        V1: FsObject | None = shell.out(help="unit eigenvector of the largest eigenvalue, x y z in scanner RAS axes, sign arbitrary", callable=_written("output", False, ("V1.{image}", "*model-dki_param-v1_dwimap.{image}", "dki_V1.{image}", "vector1.{image}"), False))
        S0: FsObject | None = shell.out(help="signal without diffusion weighting, input units [arbitrary]", callable=_written("output", False, ("S0.{image}", "*model-dki_param-s0_dwimap.{image}", "dki_S0.{image}", "b0.{image}"), False))
        tensor: FsObject | None = shell.out(help="diffusion tensor, xx xy xz yy yz zz in scanner RAS axes, mm²/s [mm^2/s]", callable=_written("output", False, ("tensor.{image}", "*model-dki_param-diffusivity_dwimap.{image}", "dki_tensor.{image}", "dt.{image}"), False))
        kurtosis: FsObject | None = shell.out(help="kurtosis tensor W in scanner RAS axes, 1111 1112 1113 1122 1123 1133 1222 1223 1233 1333 2222 2223 2233 2333 3333", callable=_written("output", False, ("kurtosis.{image}", "*model-dki_param-kurtosis_dwimap.{image}", "dki_kurtosis.{image}", "dkt.{image}"), False))
        residual: FsObject | None = shell.out(help="root mean square of measured minus predicted signal, input units [arbitrary]", callable=_written("output", False, ("residual.{image}", "*model-dki_param-residual_dwimap.{image}", "dki_residual.{image}"), False))
        status: FsObject | None = shell.out(help="0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined", callable=_written("output", False, ("status.{image}", "*model-dki_param-status_dwimap.{image}", "dki_status.{image}"), False))
        mask: FsObject | None = shell.out(help="where no mask is given: the mask that was made", callable=_written("output", False, ("mask.{image}",), False))
        mean_b0: FsObject | None = shell.out(help="where no mask is given: the mean unweighted volume that it was made of [arbitrary]", callable=_written("output", False, ("mean_b0.{image}",), False))
        run_json: FsObject | None = shell.out(help="inputs with hashes, parameters, machine, times, counts, warnings", callable=_written("output", False, ("run.json",), False))


@shell.define
class FitStremi(shell.Task["FitStremi.Outputs"]):
    """Fit the stretched-exponential model to all volumes: gamma, A, Mgamma and Agamma; writes a folder, output."""

    executable = ["fimbria", "fit", "stremi"]
    dwi: FsObject | None = shell.arg(help="Diffusion-weighted series, 4-D", argstr="", position=1, default=None)
    projection: str | None = shell.arg(help="How b projects on an axis e of the tensor, for a gradient along g [default: dti]", allowed_values=["dti", "paper"], argstr="--projection", default=None)
    axes_bmax: float | None = shell.arg(help="Largest b of the tensor fit that gives the axes (volumes up to 5 % above count) [above 0, s/mm²] [default: 1500]", argstr="--axes-bmax", default=None)
    bmax: float | None = shell.arg(help="Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: all are used]", argstr="--bmax", default=None)
    likelihood: str | None = shell.arg(help="How noise enters [default: gaussian]", allowed_values=["gaussian", "offset-gaussian", "rician"], argstr="--likelihood", default=None)
    sigma: float | None = shell.arg(help="Standard deviation of the noise [from 0 on, units of the input] [default: estimated from the spread of repeated unweighted volumes]", argstr="--sigma", default=None)
    background: FsObject | None = shell.arg(help="Estimate it from the magnitude in the voxels of this mask, which must hold air, not zeros", argstr="--background", default=None)
    precision: str | None = shell.arg(help="Arithmetic of the fit; measurements and maps are held in single precision [default: single]", allowed_values=["single", "double"], argstr="--precision", default=None)
    max_iterations: int | None = shell.arg(help="Iterations after which a fit is given up and marked [from 1 on] [default: 100, of expressions 1000]", argstr="--max-iterations", default=None)
    robust: str | None = shell.arg(help="Keep outliers from pulling: fit again with weights made of the residuals, until these settle (the scale of the residuals is that of each fit by itself)", allowed_values=["huber", "tukey"], argstr="--robust", default=None)
    errors: bool = shell.arg(help="Also write the standard error of each map of the model, NAME_error, in its unit: from the residuals (sigma with the Rician likelihood) and the curvature at the solution; 0 where unknown, as at a bound; with --robust some 10 % too small", argstr="--errors", default=False)
    shells: list[float] | None = shell.arg(help="Use only the shells nearest to these b, separated by commas, and the unweighted volumes [from 0 on, s/mm²] [default: all]", argstr="--shells", sep=",", default=None)
    data: FsObject | None = shell.arg(help="The series as an option, as in FSL's dtifit", argstr="--data", default=None)
    bval: FsObject | None = shell.arg(help="b-values in s/mm², FSL form [s/mm²] [default: found beside the image]", argstr="--bval", default=None)
    bvec: FsObject | None = shell.arg(help="Directions, FSL form [default: found beside the image]", argstr="--bvec", default=None)
    fslgrad: list[FsObject] | None = shell.arg(help="Directions and b-values, FSL form, in MRtrix3's order [s/mm²]", argstr="--fslgrad", default=None)
    grad: FsObject | None = shell.arg(help="Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]", argstr="--grad", default=None)
    bmatrix: FsObject | None = shell.arg(help="b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]", argstr="--bmatrix", default=None)
    bvec_frame: str | None = shell.arg(help="Axes in which bvecs or b-matrices are given [default: fsl]", allowed_values=["fsl", "voxel", "scanner"], argstr="--bvec-frame", default=None)
    b0_threshold: float | None = shell.arg(help="b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]", argstr="--b0-threshold", default=None)
    bvalue_scaling: str | None = shell.arg(help="What directions that are not of unit length mean [default: auto]", allowed_values=["auto", "yes", "no"], argstr="--bvalue-scaling", default=None)
    mask: FsObject | None = shell.arg(help="Voxels to work on: a 3-D image on the grid of the series, inside where above zero [default: a simple brain mask from the unweighted volumes]", argstr="--mask", default=None)
    grad_dev: FsObject | None = shell.arg(help="Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and directions; for `fit dti` and `sticks`, other methods refuse it", argstr="--grad-dev", default=None)
    scratch: str | None = shell.arg(help="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]", argstr="--scratch", default=None)
    output: str = shell.arg(help="Folder (or, where the command writes one file, the file) to write", argstr="--output", default="stremi")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    format: str | None = shell.arg(help="Format of the maps [default: nii.gz, or mif with --layout mrtrix]", allowed_values=["nii.gz", "nii", "mif"], argstr="--format", default=None)
    layout: str | None = shell.arg(help="Whose names, orders and frames to write [default: fimbria]", allowed_values=["fimbria", "fsl", "mrtrix", "bids"], argstr="--layout", default=None)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    device: str | None = shell.arg(help="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]", argstr="--device", default=None)
    device_memory: float | None = shell.arg(help="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]", argstr="--device-memory", default=None)
    follow: bool = shell.arg(help="Fit again whenever more volumes are there, until all of the gradient table are, or until Ctrl-C. DWI is a file that grows or is replaced, or a folder that receives volumes, taken in the order of their numbers; the table must have a row for each volume to come", argstr="--follow", default=False)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the folder", callable=_written("output", False))
        gamma: FsObject | None = shell.out(help="stretching exponents along the axes of the tensor, largest eigenvalue first; NaN where A is 0", callable=_written("output", False, ("gamma.{image}", "*model-stremi_param-gamma_dwimap.{image}", "stremi_gamma.{image}"), False))
        A: FsObject | None = shell.out(help="generalised diffusivities along the axes of the tensor, (10^-3 mm^2/s)^gamma: A^(1/gamma) is in 10^-3 mm²/s", callable=_written("output", False, ("A.{image}", "*model-stremi_param-a_dwimap.{image}", "stremi_A.{image}", "a.{image}"), False))
        Mgamma: FsObject | None = shell.out(help="mean of the three exponents", callable=_written("output", False, ("Mgamma.{image}", "*model-stremi_param-mgamma_dwimap.{image}", "stremi_Mgamma.{image}", "mgamma.{image}"), False))
        Agamma: FsObject | None = shell.out(help="anisotropy of the exponents, sqrt(3/2) |gamma - Mgamma| / |gamma|", callable=_written("output", False, ("Agamma.{image}", "*model-stremi_param-agamma_dwimap.{image}", "stremi_Agamma.{image}", "agamma.{image}"), False))
        gamma_parallel: FsObject | None = shell.out(help="exponent along the first axis", callable=_written("output", False, ("gamma_parallel.{image}", "*model-stremi_param-gammaparallel_dwimap.{image}", "stremi_gamma_parallel.{image}"), False))
        gamma_perpendicular: FsObject | None = shell.out(help="mean exponent along the other two axes", callable=_written("output", False, ("gamma_perpendicular.{image}", "*model-stremi_param-gammaperpendicular_dwimap.{image}", "stremi_gamma_perpendicular.{image}"), False))
        S0: FsObject | None = shell.out(help="signal without diffusion weighting, input units [arbitrary]", callable=_written("output", False, ("S0.{image}", "*model-stremi_param-s0_dwimap.{image}", "stremi_S0.{image}", "b0.{image}"), False))
        residual: FsObject | None = shell.out(help="root mean square of measured minus predicted signal, input units [arbitrary]", callable=_written("output", False, ("residual.{image}", "*model-stremi_param-residual_dwimap.{image}", "stremi_residual.{image}"), False))
        status: FsObject | None = shell.out(help="0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined", callable=_written("output", False, ("status.{image}", "*model-stremi_param-status_dwimap.{image}", "stremi_status.{image}"), False))
        error: list[FsObject] | None = shell.out(help="with --errors: the standard error of the map of that name, in its unit", callable=_written("output", False, ("*_error.{image}",), True))
        mask: FsObject | None = shell.out(help="where no mask is given: the mask that was made", callable=_written("output", False, ("mask.{image}",), False))
        mean_b0: FsObject | None = shell.out(help="where no mask is given: the mean unweighted volume that it was made of [arbitrary]", callable=_written("output", False, ("mean_b0.{image}",), False))
        run_json: FsObject | None = shell.out(help="inputs with hashes, parameters, machine, times, counts, warnings", callable=_written("output", False, ("run.json",), False))


@shell.define
class FitDki1d(shell.Task["FitDki1d.Outputs"]):
    """Fit kurtosis along each gradient direction, above a noise floor: D, K and MK; writes a folder, output."""

    executable = ["fimbria", "fit", "dki1d"]
    dwi: FsObject | None = shell.arg(help="Diffusion-weighted series, 4-D", argstr="", position=1, default=None)
    eta: str | None = shell.arg(help="The noise floor relative to S0: sigma (sigma / S0), rms (sqrt(2) sigma / S0), fixed:V (V in all voxels, as in fixed:0.02) or fit (one for each direction, 0 to 0.5) [default: sigma]", argstr="--eta", default=None)
    bmax: float | None = shell.arg(help="Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: 3000]", argstr="--bmax", default=None)
    sigma: float | None = shell.arg(help="Standard deviation of the noise [from 0 on, units of the input] [default: estimated from the spread of repeated unweighted volumes]", argstr="--sigma", default=None)
    background: FsObject | None = shell.arg(help="Estimate it from the magnitude in the voxels of this mask, which must hold air, not zeros", argstr="--background", default=None)
    precision: str | None = shell.arg(help="Arithmetic of the fit; measurements and maps are held in single precision [default: single]", allowed_values=["single", "double"], argstr="--precision", default=None)
    max_iterations: int | None = shell.arg(help="Iterations after which a fit is given up and marked [from 1 on] [default: 100, of expressions 1000]", argstr="--max-iterations", default=None)
    robust: str | None = shell.arg(help="Keep outliers from pulling: fit again with weights made of the residuals, until these settle (the scale of the residuals is that of each fit by itself)", allowed_values=["huber", "tukey"], argstr="--robust", default=None)
    errors: bool = shell.arg(help="Also write the standard error of each map of the model, NAME_error, in its unit: from the residuals (sigma with the Rician likelihood) and the curvature at the solution; 0 where unknown, as at a bound; with --robust some 10 % too small", argstr="--errors", default=False)
    shells: list[float] | None = shell.arg(help="Use only the shells nearest to these b, separated by commas, and the unweighted volumes [from 0 on, s/mm²] [default: all]", argstr="--shells", sep=",", default=None)
    data: FsObject | None = shell.arg(help="The series as an option, as in FSL's dtifit", argstr="--data", default=None)
    bval: FsObject | None = shell.arg(help="b-values in s/mm², FSL form [s/mm²] [default: found beside the image]", argstr="--bval", default=None)
    bvec: FsObject | None = shell.arg(help="Directions, FSL form [default: found beside the image]", argstr="--bvec", default=None)
    fslgrad: list[FsObject] | None = shell.arg(help="Directions and b-values, FSL form, in MRtrix3's order [s/mm²]", argstr="--fslgrad", default=None)
    grad: FsObject | None = shell.arg(help="Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]", argstr="--grad", default=None)
    bmatrix: FsObject | None = shell.arg(help="b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]", argstr="--bmatrix", default=None)
    bvec_frame: str | None = shell.arg(help="Axes in which bvecs or b-matrices are given [default: fsl]", allowed_values=["fsl", "voxel", "scanner"], argstr="--bvec-frame", default=None)
    b0_threshold: float | None = shell.arg(help="b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]", argstr="--b0-threshold", default=None)
    bvalue_scaling: str | None = shell.arg(help="What directions that are not of unit length mean [default: auto]", allowed_values=["auto", "yes", "no"], argstr="--bvalue-scaling", default=None)
    mask: FsObject | None = shell.arg(help="Voxels to work on: a 3-D image on the grid of the series, inside where above zero [default: a simple brain mask from the unweighted volumes]", argstr="--mask", default=None)
    grad_dev: FsObject | None = shell.arg(help="Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and directions; for `fit dti` and `sticks`, other methods refuse it", argstr="--grad-dev", default=None)
    scratch: str | None = shell.arg(help="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]", argstr="--scratch", default=None)
    output: str = shell.arg(help="Folder (or, where the command writes one file, the file) to write", argstr="--output", default="dki1d")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    format: str | None = shell.arg(help="Format of the maps [default: nii.gz, or mif with --layout mrtrix]", allowed_values=["nii.gz", "nii", "mif"], argstr="--format", default=None)
    layout: str | None = shell.arg(help="Whose names, orders and frames to write [default: fimbria]", allowed_values=["fimbria", "fsl", "mrtrix", "bids"], argstr="--layout", default=None)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    device: str | None = shell.arg(help="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]", argstr="--device", default=None)
    device_memory: float | None = shell.arg(help="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]", argstr="--device-memory", default=None)
    follow: bool = shell.arg(help="Fit again whenever more volumes are there, until all of the gradient table are, or until Ctrl-C. DWI is a file that grows or is replaced, or a folder that receives volumes, taken in the order of their numbers; the table must have a row for each volume to come", argstr="--follow", default=False)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the folder", callable=_written("output", False))
        D: FsObject | None = shell.out(help="apparent diffusivity, mm²/s, one volume per direction of directions.txt [mm^2/s]", callable=_written("output", False, ("D.{image}", "*model-dki1d_param-d_dwimap.{image}", "dki1d_D.{image}", "d.{image}"), False))
        K: FsObject | None = shell.out(help="apparent kurtosis, one volume per direction of directions.txt; 0 where the signal loses less than 1 %", callable=_written("output", False, ("K.{image}", "*model-dki1d_param-k_dwimap.{image}", "dki1d_K.{image}", "k.{image}"), False))
        MD: FsObject | None = shell.out(help="mean of D over the directions that converged, mm²/s [mm^2/s]", callable=_written("output", False, ("MD.{image}", "*model-dki1d_param-md_dwimap.{image}", "dki1d_MD.{image}", "adc.{image}"), False))
        MK: FsObject | None = shell.out(help="mean of K over the directions that converged, each limited to -3/7..10; NaN where none tells it", callable=_written("output", False, ("MK.{image}", "*model-dki1d_param-mk_dwimap.{image}", "dki1d_MK.{image}", "mk.{image}"), False))
        S0: FsObject | None = shell.out(help="signal without diffusion weighting, mean of the fits of all directions, input units [arbitrary]", callable=_written("output", False, ("S0.{image}", "*model-dki1d_param-s0_dwimap.{image}", "dki1d_S0.{image}", "b0.{image}"), False))
        residual: FsObject | None = shell.out(help="root mean square of measured minus predicted signal, input units [arbitrary]", callable=_written("output", False, ("residual.{image}", "*model-dki1d_param-residual_dwimap.{image}", "dki1d_residual.{image}"), False))
        status: FsObject | None = shell.out(help="0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined", callable=_written("output", False, ("status.{image}", "*model-dki1d_param-status_dwimap.{image}", "dki1d_status.{image}"), False))
        error: list[FsObject] | None = shell.out(help="with --errors: the standard error of the map of that name, in its unit", callable=_written("output", False, ("*_error.{image}",), True))
        directions_txt: FsObject | None = shell.out(help="x y z of each direction, a line each, unit, in the order of the volumes", callable=_written("output", False, ("directions.txt",), False))
        mask: FsObject | None = shell.out(help="where no mask is given: the mask that was made", callable=_written("output", False, ("mask.{image}",), False))
        mean_b0: FsObject | None = shell.out(help="where no mask is given: the mean unweighted volume that it was made of [arbitrary]", callable=_written("output", False, ("mean_b0.{image}",), False))
        run_json: FsObject | None = shell.out(help="inputs with hashes, parameters, machine, times, counts, warnings", callable=_written("output", False, ("run.json",), False))


@shell.define
class FitStremi1d(shell.Task["FitStremi1d.Outputs"]):
    """Fit a stretched exponential along each gradient direction: A, gamma and Mgamma; writes a folder, output."""

    executable = ["fimbria", "fit", "stremi1d"]
    dwi: FsObject | None = shell.arg(help="Diffusion-weighted series, 4-D", argstr="", position=1, default=None)
    bmax: float | None = shell.arg(help="Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: all are used]", argstr="--bmax", default=None)
    likelihood: str | None = shell.arg(help="How noise enters [default: gaussian]", allowed_values=["gaussian", "offset-gaussian", "rician"], argstr="--likelihood", default=None)
    sigma: float | None = shell.arg(help="Standard deviation of the noise [from 0 on, units of the input] [default: estimated from the spread of repeated unweighted volumes]", argstr="--sigma", default=None)
    background: FsObject | None = shell.arg(help="Estimate it from the magnitude in the voxels of this mask, which must hold air, not zeros", argstr="--background", default=None)
    precision: str | None = shell.arg(help="Arithmetic of the fit; measurements and maps are held in single precision [default: single]", allowed_values=["single", "double"], argstr="--precision", default=None)
    max_iterations: int | None = shell.arg(help="Iterations after which a fit is given up and marked [from 1 on] [default: 100, of expressions 1000]", argstr="--max-iterations", default=None)
    robust: str | None = shell.arg(help="Keep outliers from pulling: fit again with weights made of the residuals, until these settle (the scale of the residuals is that of each fit by itself)", allowed_values=["huber", "tukey"], argstr="--robust", default=None)
    errors: bool = shell.arg(help="Also write the standard error of each map of the model, NAME_error, in its unit: from the residuals (sigma with the Rician likelihood) and the curvature at the solution; 0 where unknown, as at a bound; with --robust some 10 % too small", argstr="--errors", default=False)
    shells: list[float] | None = shell.arg(help="Use only the shells nearest to these b, separated by commas, and the unweighted volumes [from 0 on, s/mm²] [default: all]", argstr="--shells", sep=",", default=None)
    data: FsObject | None = shell.arg(help="The series as an option, as in FSL's dtifit", argstr="--data", default=None)
    bval: FsObject | None = shell.arg(help="b-values in s/mm², FSL form [s/mm²] [default: found beside the image]", argstr="--bval", default=None)
    bvec: FsObject | None = shell.arg(help="Directions, FSL form [default: found beside the image]", argstr="--bvec", default=None)
    fslgrad: list[FsObject] | None = shell.arg(help="Directions and b-values, FSL form, in MRtrix3's order [s/mm²]", argstr="--fslgrad", default=None)
    grad: FsObject | None = shell.arg(help="Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]", argstr="--grad", default=None)
    bmatrix: FsObject | None = shell.arg(help="b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]", argstr="--bmatrix", default=None)
    bvec_frame: str | None = shell.arg(help="Axes in which bvecs or b-matrices are given [default: fsl]", allowed_values=["fsl", "voxel", "scanner"], argstr="--bvec-frame", default=None)
    b0_threshold: float | None = shell.arg(help="b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]", argstr="--b0-threshold", default=None)
    bvalue_scaling: str | None = shell.arg(help="What directions that are not of unit length mean [default: auto]", allowed_values=["auto", "yes", "no"], argstr="--bvalue-scaling", default=None)
    mask: FsObject | None = shell.arg(help="Voxels to work on: a 3-D image on the grid of the series, inside where above zero [default: a simple brain mask from the unweighted volumes]", argstr="--mask", default=None)
    grad_dev: FsObject | None = shell.arg(help="Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and directions; for `fit dti` and `sticks`, other methods refuse it", argstr="--grad-dev", default=None)
    scratch: str | None = shell.arg(help="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]", argstr="--scratch", default=None)
    output: str = shell.arg(help="Folder (or, where the command writes one file, the file) to write", argstr="--output", default="stremi1d")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    format: str | None = shell.arg(help="Format of the maps [default: nii.gz, or mif with --layout mrtrix]", allowed_values=["nii.gz", "nii", "mif"], argstr="--format", default=None)
    layout: str | None = shell.arg(help="Whose names, orders and frames to write [default: fimbria]", allowed_values=["fimbria", "fsl", "mrtrix", "bids"], argstr="--layout", default=None)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    device: str | None = shell.arg(help="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]", argstr="--device", default=None)
    device_memory: float | None = shell.arg(help="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]", argstr="--device-memory", default=None)
    follow: bool = shell.arg(help="Fit again whenever more volumes are there, until all of the gradient table are, or until Ctrl-C. DWI is a file that grows or is replaced, or a folder that receives volumes, taken in the order of their numbers; the table must have a row for each volume to come", argstr="--follow", default=False)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the folder", callable=_written("output", False))
        A: FsObject | None = shell.out(help="generalised diffusivity of exp(-A b^gamma), (10^-3 mm^2/s)^gamma: A^(1/gamma) is in 10^-3 mm²/s; one volume per direction of directions.txt", callable=_written("output", False, ("A.{image}", "*model-stremi1d_param-a_dwimap.{image}", "stremi1d_A.{image}", "a.{image}"), False))
        gamma: FsObject | None = shell.out(help="stretching exponent, one volume per direction of directions.txt; 0 where the signal loses less than 1 %", callable=_written("output", False, ("gamma.{image}", "*model-stremi1d_param-gamma_dwimap.{image}", "stremi1d_gamma.{image}"), False))
        MA: FsObject | None = shell.out(help="mean of A over the directions that converged", callable=_written("output", False, ("MA.{image}", "*model-stremi1d_param-ma_dwimap.{image}", "stremi1d_MA.{image}", "ma.{image}"), False))
        Mgamma: FsObject | None = shell.out(help="mean of gamma over the directions that converged; NaN where none tells it", callable=_written("output", False, ("Mgamma.{image}", "*model-stremi1d_param-mgamma_dwimap.{image}", "stremi1d_Mgamma.{image}", "mgamma.{image}"), False))
        S0: FsObject | None = shell.out(help="signal without diffusion weighting, mean of the fits of all directions, input units [arbitrary]", callable=_written("output", False, ("S0.{image}", "*model-stremi1d_param-s0_dwimap.{image}", "stremi1d_S0.{image}", "b0.{image}"), False))
        residual: FsObject | None = shell.out(help="root mean square of measured minus predicted signal, input units [arbitrary]", callable=_written("output", False, ("residual.{image}", "*model-stremi1d_param-residual_dwimap.{image}", "stremi1d_residual.{image}"), False))
        status: FsObject | None = shell.out(help="0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined", callable=_written("output", False, ("status.{image}", "*model-stremi1d_param-status_dwimap.{image}", "stremi1d_status.{image}"), False))
        error: list[FsObject] | None = shell.out(help="with --errors: the standard error of the map of that name, in its unit", callable=_written("output", False, ("*_error.{image}",), True))
        directions_txt: FsObject | None = shell.out(help="x y z of each direction, a line each, unit, in the order of the volumes", callable=_written("output", False, ("directions.txt",), False))
        mask: FsObject | None = shell.out(help="where no mask is given: the mask that was made", callable=_written("output", False, ("mask.{image}",), False))
        mean_b0: FsObject | None = shell.out(help="where no mask is given: the mean unweighted volume that it was made of [arbitrary]", callable=_written("output", False, ("mean_b0.{image}",), False))
        run_json: FsObject | None = shell.out(help="inputs with hashes, parameters, machine, times, counts, warnings", callable=_written("output", False, ("run.json",), False))


@shell.define
class FitIvim(shell.Task["FitIvim.Outputs"]):
    """Fit intravoxel incoherent motion: perfusion fraction, D and D* of two exponentials; writes a folder, output."""

    executable = ["fimbria", "fit", "ivim"]
    dwi: FsObject | None = shell.arg(help="Diffusion-weighted series, 4-D", argstr="", position=1, default=None)
    bmax: float | None = shell.arg(help="Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: all are used]", argstr="--bmax", default=None)
    likelihood: str | None = shell.arg(help="How noise enters [default: gaussian]", allowed_values=["gaussian", "offset-gaussian", "rician"], argstr="--likelihood", default=None)
    sigma: float | None = shell.arg(help="Standard deviation of the noise [from 0 on, units of the input] [default: estimated from the spread of repeated unweighted volumes]", argstr="--sigma", default=None)
    background: FsObject | None = shell.arg(help="Estimate it from the magnitude in the voxels of this mask, which must hold air, not zeros", argstr="--background", default=None)
    precision: str | None = shell.arg(help="Arithmetic of the fit; measurements and maps are held in single precision [default: single]", allowed_values=["single", "double"], argstr="--precision", default=None)
    max_iterations: int | None = shell.arg(help="Iterations after which a fit is given up and marked [from 1 on] [default: 100, of expressions 1000]", argstr="--max-iterations", default=None)
    robust: str | None = shell.arg(help="Keep outliers from pulling: fit again with weights made of the residuals, until these settle (the scale of the residuals is that of each fit by itself)", allowed_values=["huber", "tukey"], argstr="--robust", default=None)
    errors: bool = shell.arg(help="Also write the standard error of each map of the model, NAME_error, in its unit: from the residuals (sigma with the Rician likelihood) and the curvature at the solution; 0 where unknown, as at a bound; with --robust some 10 % too small", argstr="--errors", default=False)
    shells: list[float] | None = shell.arg(help="Use only the shells nearest to these b, separated by commas, and the unweighted volumes [from 0 on, s/mm²] [default: all]", argstr="--shells", sep=",", default=None)
    data: FsObject | None = shell.arg(help="The series as an option, as in FSL's dtifit", argstr="--data", default=None)
    bval: FsObject | None = shell.arg(help="b-values in s/mm², FSL form [s/mm²] [default: found beside the image]", argstr="--bval", default=None)
    bvec: FsObject | None = shell.arg(help="Directions, FSL form [default: found beside the image]", argstr="--bvec", default=None)
    fslgrad: list[FsObject] | None = shell.arg(help="Directions and b-values, FSL form, in MRtrix3's order [s/mm²]", argstr="--fslgrad", default=None)
    grad: FsObject | None = shell.arg(help="Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]", argstr="--grad", default=None)
    bmatrix: FsObject | None = shell.arg(help="b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]", argstr="--bmatrix", default=None)
    bvec_frame: str | None = shell.arg(help="Axes in which bvecs or b-matrices are given [default: fsl]", allowed_values=["fsl", "voxel", "scanner"], argstr="--bvec-frame", default=None)
    b0_threshold: float | None = shell.arg(help="b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]", argstr="--b0-threshold", default=None)
    bvalue_scaling: str | None = shell.arg(help="What directions that are not of unit length mean [default: auto]", allowed_values=["auto", "yes", "no"], argstr="--bvalue-scaling", default=None)
    mask: FsObject | None = shell.arg(help="Voxels to work on: a 3-D image on the grid of the series, inside where above zero [default: a simple brain mask from the unweighted volumes]", argstr="--mask", default=None)
    grad_dev: FsObject | None = shell.arg(help="Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and directions; for `fit dti` and `sticks`, other methods refuse it", argstr="--grad-dev", default=None)
    scratch: str | None = shell.arg(help="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]", argstr="--scratch", default=None)
    output: str = shell.arg(help="Folder (or, where the command writes one file, the file) to write", argstr="--output", default="ivim")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    format: str | None = shell.arg(help="Format of the maps [default: nii.gz, or mif with --layout mrtrix]", allowed_values=["nii.gz", "nii", "mif"], argstr="--format", default=None)
    layout: str | None = shell.arg(help="Whose names, orders and frames to write [default: fimbria]", allowed_values=["fimbria", "fsl", "mrtrix", "bids"], argstr="--layout", default=None)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    device: str | None = shell.arg(help="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]", argstr="--device", default=None)
    device_memory: float | None = shell.arg(help="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]", argstr="--device-memory", default=None)
    follow: bool = shell.arg(help="Fit again whenever more volumes are there, until all of the gradient table are, or until Ctrl-C. DWI is a file that grows or is replaced, or a folder that receives volumes, taken in the order of their numbers; the table must have a row for each volume to come", argstr="--follow", default=False)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the folder", callable=_written("output", False))
        f: FsObject | None = shell.out(help="perfusion fraction of the signal without weighting", callable=_written("output", False, ("f.{image}", "*model-ivim_param-f_dwimap.{image}", "ivim_f.{image}"), False))
        D: FsObject | None = shell.out(help="diffusivity of the tissue, mm²/s [mm^2/s]", callable=_written("output", False, ("D.{image}", "*model-ivim_param-d_dwimap.{image}", "ivim_D.{image}", "d.{image}"), False))
        Dstar: FsObject | None = shell.out(help="pseudo-diffusivity of the perfusion, mm²/s; NaN where there is none (f is 0) [mm^2/s]", callable=_written("output", False, ("Dstar.{image}", "*model-ivim_param-dstar_dwimap.{image}", "ivim_Dstar.{image}", "dstar.{image}"), False))
        S0: FsObject | None = shell.out(help="signal without diffusion weighting, input units [arbitrary]", callable=_written("output", False, ("S0.{image}", "*model-ivim_param-s0_dwimap.{image}", "ivim_S0.{image}", "b0.{image}"), False))
        residual: FsObject | None = shell.out(help="root mean square of measured minus predicted signal, input units [arbitrary]", callable=_written("output", False, ("residual.{image}", "*model-ivim_param-residual_dwimap.{image}", "ivim_residual.{image}"), False))
        status: FsObject | None = shell.out(help="0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined", callable=_written("output", False, ("status.{image}", "*model-ivim_param-status_dwimap.{image}", "ivim_status.{image}"), False))
        error: list[FsObject] | None = shell.out(help="with --errors: the standard error of the map of that name, in its unit", callable=_written("output", False, ("*_error.{image}",), True))
        mask: FsObject | None = shell.out(help="where no mask is given: the mask that was made", callable=_written("output", False, ("mask.{image}",), False))
        mean_b0: FsObject | None = shell.out(help="where no mask is given: the mean unweighted volume that it was made of [arbitrary]", callable=_written("output", False, ("mean_b0.{image}",), False))
        run_json: FsObject | None = shell.out(help="inputs with hashes, parameters, machine, times, counts, warnings", callable=_written("output", False, ("run.json",), False))


@shell.define
class FitMono(shell.Task["FitMono.Outputs"]):
    """Fit one exponential, S0 exp(-b D), to all volumes: D and S0; writes a folder, output."""

    executable = ["fimbria", "fit", "mono"]
    dwi: FsObject | None = shell.arg(help="Diffusion-weighted series, 4-D", argstr="", position=1, default=None)
    bmax: float | None = shell.arg(help="Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: all are used]", argstr="--bmax", default=None)
    likelihood: str | None = shell.arg(help="How noise enters [default: gaussian]", allowed_values=["gaussian", "offset-gaussian", "rician"], argstr="--likelihood", default=None)
    sigma: float | None = shell.arg(help="Standard deviation of the noise [from 0 on, units of the input] [default: estimated from the spread of repeated unweighted volumes]", argstr="--sigma", default=None)
    background: FsObject | None = shell.arg(help="Estimate it from the magnitude in the voxels of this mask, which must hold air, not zeros", argstr="--background", default=None)
    precision: str | None = shell.arg(help="Arithmetic of the fit; measurements and maps are held in single precision [default: single]", allowed_values=["single", "double"], argstr="--precision", default=None)
    max_iterations: int | None = shell.arg(help="Iterations after which a fit is given up and marked [from 1 on] [default: 100, of expressions 1000]", argstr="--max-iterations", default=None)
    robust: str | None = shell.arg(help="Keep outliers from pulling: fit again with weights made of the residuals, until these settle (the scale of the residuals is that of each fit by itself)", allowed_values=["huber", "tukey"], argstr="--robust", default=None)
    errors: bool = shell.arg(help="Also write the standard error of each map of the model, NAME_error, in its unit: from the residuals (sigma with the Rician likelihood) and the curvature at the solution; 0 where unknown, as at a bound; with --robust some 10 % too small", argstr="--errors", default=False)
    shells: list[float] | None = shell.arg(help="Use only the shells nearest to these b, separated by commas, and the unweighted volumes [from 0 on, s/mm²] [default: all]", argstr="--shells", sep=",", default=None)
    data: FsObject | None = shell.arg(help="The series as an option, as in FSL's dtifit", argstr="--data", default=None)
    bval: FsObject | None = shell.arg(help="b-values in s/mm², FSL form [s/mm²] [default: found beside the image]", argstr="--bval", default=None)
    bvec: FsObject | None = shell.arg(help="Directions, FSL form [default: found beside the image]", argstr="--bvec", default=None)
    fslgrad: list[FsObject] | None = shell.arg(help="Directions and b-values, FSL form, in MRtrix3's order [s/mm²]", argstr="--fslgrad", default=None)
    grad: FsObject | None = shell.arg(help="Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]", argstr="--grad", default=None)
    bmatrix: FsObject | None = shell.arg(help="b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]", argstr="--bmatrix", default=None)
    bvec_frame: str | None = shell.arg(help="Axes in which bvecs or b-matrices are given [default: fsl]", allowed_values=["fsl", "voxel", "scanner"], argstr="--bvec-frame", default=None)
    b0_threshold: float | None = shell.arg(help="b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]", argstr="--b0-threshold", default=None)
    bvalue_scaling: str | None = shell.arg(help="What directions that are not of unit length mean [default: auto]", allowed_values=["auto", "yes", "no"], argstr="--bvalue-scaling", default=None)
    mask: FsObject | None = shell.arg(help="Voxels to work on: a 3-D image on the grid of the series, inside where above zero [default: a simple brain mask from the unweighted volumes]", argstr="--mask", default=None)
    grad_dev: FsObject | None = shell.arg(help="Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and directions; for `fit dti` and `sticks`, other methods refuse it", argstr="--grad-dev", default=None)
    scratch: str | None = shell.arg(help="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]", argstr="--scratch", default=None)
    output: str = shell.arg(help="Folder (or, where the command writes one file, the file) to write", argstr="--output", default="mono")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    format: str | None = shell.arg(help="Format of the maps [default: nii.gz, or mif with --layout mrtrix]", allowed_values=["nii.gz", "nii", "mif"], argstr="--format", default=None)
    layout: str | None = shell.arg(help="Whose names, orders and frames to write [default: fimbria]", allowed_values=["fimbria", "fsl", "mrtrix", "bids"], argstr="--layout", default=None)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    device: str | None = shell.arg(help="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]", argstr="--device", default=None)
    device_memory: float | None = shell.arg(help="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]", argstr="--device-memory", default=None)
    follow: bool = shell.arg(help="Fit again whenever more volumes are there, until all of the gradient table are, or until Ctrl-C. DWI is a file that grows or is replaced, or a folder that receives volumes, taken in the order of their numbers; the table must have a row for each volume to come", argstr="--follow", default=False)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the folder", callable=_written("output", False))
        D: FsObject | None = shell.out(help="diffusivity of S0 exp(-b D), mm²/s [mm^2/s]", callable=_written("output", False, ("D.{image}", "*model-mono_param-d_dwimap.{image}", "mono_D.{image}", "d.{image}"), False))
        S0: FsObject | None = shell.out(help="signal without diffusion weighting, input units [arbitrary]", callable=_written("output", False, ("S0.{image}", "*model-mono_param-s0_dwimap.{image}", "mono_S0.{image}", "b0.{image}"), False))
        residual: FsObject | None = shell.out(help="root mean square of measured minus predicted signal, input units [arbitrary]", callable=_written("output", False, ("residual.{image}", "*model-mono_param-residual_dwimap.{image}", "mono_residual.{image}"), False))
        status: FsObject | None = shell.out(help="0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined", callable=_written("output", False, ("status.{image}", "*model-mono_param-status_dwimap.{image}", "mono_status.{image}"), False))
        error: list[FsObject] | None = shell.out(help="with --errors: the standard error of the map of that name, in its unit", callable=_written("output", False, ("*_error.{image}",), True))
        mask: FsObject | None = shell.out(help="where no mask is given: the mask that was made", callable=_written("output", False, ("mask.{image}",), False))
        mean_b0: FsObject | None = shell.out(help="where no mask is given: the mean unweighted volume that it was made of [arbitrary]", callable=_written("output", False, ("mean_b0.{image}",), False))
        run_json: FsObject | None = shell.out(help="inputs with hashes, parameters, machine, times, counts, warnings", callable=_written("output", False, ("run.json",), False))


@shell.define
class FitMsdki(shell.Task["FitMsdki.Outputs"]):
    """Fit kurtosis to the mean signal of each shell: MSD, MSK, and the fraction of axons; writes a folder, output."""

    executable = ["fimbria", "fit", "msdki"]
    dwi: FsObject | None = shell.arg(help="Diffusion-weighted series, 4-D", argstr="", position=1, default=None)
    bmax: float | None = shell.arg(help="Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: 3000]", argstr="--bmax", default=None)
    shells: list[float] | None = shell.arg(help="Use only the shells nearest to these b, separated by commas, and the unweighted volumes [from 0 on, s/mm²] [default: all]", argstr="--shells", sep=",", default=None)
    data: FsObject | None = shell.arg(help="The series as an option, as in FSL's dtifit", argstr="--data", default=None)
    bval: FsObject | None = shell.arg(help="b-values in s/mm², FSL form [s/mm²] [default: found beside the image]", argstr="--bval", default=None)
    bvec: FsObject | None = shell.arg(help="Directions, FSL form [default: found beside the image]", argstr="--bvec", default=None)
    fslgrad: list[FsObject] | None = shell.arg(help="Directions and b-values, FSL form, in MRtrix3's order [s/mm²]", argstr="--fslgrad", default=None)
    grad: FsObject | None = shell.arg(help="Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]", argstr="--grad", default=None)
    bmatrix: FsObject | None = shell.arg(help="b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]", argstr="--bmatrix", default=None)
    bvec_frame: str | None = shell.arg(help="Axes in which bvecs or b-matrices are given [default: fsl]", allowed_values=["fsl", "voxel", "scanner"], argstr="--bvec-frame", default=None)
    b0_threshold: float | None = shell.arg(help="b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]", argstr="--b0-threshold", default=None)
    bvalue_scaling: str | None = shell.arg(help="What directions that are not of unit length mean [default: auto]", allowed_values=["auto", "yes", "no"], argstr="--bvalue-scaling", default=None)
    mask: FsObject | None = shell.arg(help="Voxels to work on: a 3-D image on the grid of the series, inside where above zero [default: a simple brain mask from the unweighted volumes]", argstr="--mask", default=None)
    grad_dev: FsObject | None = shell.arg(help="Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and directions; for `fit dti` and `sticks`, other methods refuse it", argstr="--grad-dev", default=None)
    scratch: str | None = shell.arg(help="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]", argstr="--scratch", default=None)
    output: str = shell.arg(help="Folder (or, where the command writes one file, the file) to write", argstr="--output", default="msdki")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    format: str | None = shell.arg(help="Format of the maps [default: nii.gz, or mif with --layout mrtrix]", allowed_values=["nii.gz", "nii", "mif"], argstr="--format", default=None)
    layout: str | None = shell.arg(help="Whose names, orders and frames to write [default: fimbria]", allowed_values=["fimbria", "fsl", "mrtrix", "bids"], argstr="--layout", default=None)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    device: str | None = shell.arg(help="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]", argstr="--device", default=None)
    device_memory: float | None = shell.arg(help="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]", argstr="--device-memory", default=None)
    follow: bool = shell.arg(help="Fit again whenever more volumes are there, until all of the gradient table are, or until Ctrl-C. DWI is a file that grows or is replaced, or a folder that receives volumes, taken in the order of their numbers; the table must have a row for each volume to come", argstr="--follow", default=False)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the folder", callable=_written("output", False))
        MSD: FsObject | None = shell.out(help="diffusivity of the mean signal of the shells, mm²/s [mm^2/s]", callable=_written("output", False, ("MSD.{image}", "*model-msdki_param-msd_dwimap.{image}", "msdki_MSD.{image}", "msd.{image}"), False))
        MSK: FsObject | None = shell.out(help="kurtosis of that mean signal; NaN where MSD is not above 0", callable=_written("output", False, ("MSK.{image}", "*model-msdki_param-msk_dwimap.{image}", "msdki_MSK.{image}", "msk.{image}"), False))
        AWF: FsObject | None = shell.out(help="axonal water fraction of two compartments with that MSK, 0 to 1", callable=_written("output", False, ("AWF.{image}", "*model-msdki_param-awf_dwimap.{image}", "msdki_AWF.{image}", "awf.{image}"), False))
        DI: FsObject | None = shell.out(help="their intrinsic diffusivity, mm²/s [mm^2/s]", callable=_written("output", False, ("DI.{image}", "*model-msdki_param-di_dwimap.{image}", "msdki_DI.{image}", "di.{image}"), False))
        MFA: FsObject | None = shell.out(help="their microscopic fractional anisotropy, 0 to 1", callable=_written("output", False, ("MFA.{image}", "*model-msdki_param-mfa_dwimap.{image}", "msdki_MFA.{image}", "mfa.{image}"), False))
        S0: FsObject | None = shell.out(help="signal without diffusion weighting, input units [arbitrary]", callable=_written("output", False, ("S0.{image}", "*model-msdki_param-s0_dwimap.{image}", "msdki_S0.{image}", "b0.{image}"), False))
        residual: FsObject | None = shell.out(help="root mean square of measured minus predicted mean signals, a shell counting by its volumes, input units [arbitrary]", callable=_written("output", False, ("residual.{image}", "*model-msdki_param-residual_dwimap.{image}", "msdki_residual.{image}"), False))
        status: FsObject | None = shell.out(help="0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined", callable=_written("output", False, ("status.{image}", "*model-msdki_param-status_dwimap.{image}", "msdki_status.{image}"), False))
        mask: FsObject | None = shell.out(help="where no mask is given: the mask that was made", callable=_written("output", False, ("mask.{image}",), False))
        mean_b0: FsObject | None = shell.out(help="where no mask is given: the mean unweighted volume that it was made of [arbitrary]", callable=_written("output", False, ("mean_b0.{image}",), False))
        run_json: FsObject | None = shell.out(help="inputs with hashes, parameters, machine, times, counts, warnings", callable=_written("output", False, ("run.json",), False))


@shell.define
class FitExpr(shell.Task["FitExpr.Outputs"]):
    """Fit a signal model written as an expression, 'S0*exp(-b*D)+C'; writes a folder, output."""

    executable = ["fimbria", "fit", "expr"]
    dwi: FsObject | None = shell.arg(help="Diffusion-weighted series, 4-D", argstr="", position=1, default=None)
    model: str = shell.arg(help="The signal: b, gx, gy, gz, parameters, constants, + - * / ^ and functions", argstr="--model")
    param: list[str] = shell.arg(help="A parameter, where its fit starts, and its bounds ('-' for none) or 'fixed'; once for each, in the order of the maps", argstr="--param ...")
    constant: list[str] | None = shell.arg(help="A map of one volume that the expression takes as a constant of each voxel", argstr="--constant ...", default=None)
    bmax: float | None = shell.arg(help="Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: all are used]", argstr="--bmax", default=None)
    likelihood: str | None = shell.arg(help="How noise enters [default: gaussian]", allowed_values=["gaussian", "offset-gaussian", "rician"], argstr="--likelihood", default=None)
    sigma: str | None = shell.arg(help="Standard deviation of the noise in input units, a number or a map, for the offset-Gaussian and Rician likelihoods [default: estimated from the spread of repeated unweighted volumes]", argstr="--sigma", default=None)
    background: FsObject | None = shell.arg(help="Estimate it from the magnitude in the voxels of this mask, which must hold air, not zeros", argstr="--background", default=None)
    precision: str | None = shell.arg(help="Arithmetic of the fit; measurements and maps are held in single precision [default: single]", allowed_values=["single", "double"], argstr="--precision", default=None)
    max_iterations: int | None = shell.arg(help="Iterations after which a fit is given up and marked [from 1 on] [default: 100, of expressions 1000]", argstr="--max-iterations", default=None)
    robust: str | None = shell.arg(help="Keep outliers from pulling: fit again with weights made of the residuals, until these settle (the scale of the residuals is that of each fit by itself)", allowed_values=["huber", "tukey"], argstr="--robust", default=None)
    errors: bool = shell.arg(help="Also write the standard error of each map of the model, NAME_error, in its unit: from the residuals (sigma with the Rician likelihood) and the curvature at the solution; 0 where unknown, as at a bound; with --robust some 10 % too small", argstr="--errors", default=False)
    shells: list[float] | None = shell.arg(help="Use only the shells nearest to these b, separated by commas, and the unweighted volumes [from 0 on, s/mm²] [default: all]", argstr="--shells", sep=",", default=None)
    data: FsObject | None = shell.arg(help="The series as an option, as in FSL's dtifit", argstr="--data", default=None)
    bval: FsObject | None = shell.arg(help="b-values in s/mm², FSL form [s/mm²] [default: found beside the image]", argstr="--bval", default=None)
    bvec: FsObject | None = shell.arg(help="Directions, FSL form [default: found beside the image]", argstr="--bvec", default=None)
    fslgrad: list[FsObject] | None = shell.arg(help="Directions and b-values, FSL form, in MRtrix3's order [s/mm²]", argstr="--fslgrad", default=None)
    grad: FsObject | None = shell.arg(help="Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]", argstr="--grad", default=None)
    bmatrix: FsObject | None = shell.arg(help="b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]", argstr="--bmatrix", default=None)
    bvec_frame: str | None = shell.arg(help="Axes in which bvecs or b-matrices are given [default: fsl]", allowed_values=["fsl", "voxel", "scanner"], argstr="--bvec-frame", default=None)
    b0_threshold: float | None = shell.arg(help="b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]", argstr="--b0-threshold", default=None)
    bvalue_scaling: str | None = shell.arg(help="What directions that are not of unit length mean [default: auto]", allowed_values=["auto", "yes", "no"], argstr="--bvalue-scaling", default=None)
    mask: FsObject | None = shell.arg(help="Voxels to work on: a 3-D image on the grid of the series, inside where above zero [default: a simple brain mask from the unweighted volumes]", argstr="--mask", default=None)
    grad_dev: FsObject | None = shell.arg(help="Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and directions; for `fit dti` and `sticks`, other methods refuse it", argstr="--grad-dev", default=None)
    scratch: str | None = shell.arg(help="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]", argstr="--scratch", default=None)
    output: str = shell.arg(help="Folder (or, where the command writes one file, the file) to write", argstr="--output", default="expr")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    format: str | None = shell.arg(help="Format of the maps [default: nii.gz, or mif with --layout mrtrix]", allowed_values=["nii.gz", "nii", "mif"], argstr="--format", default=None)
    layout: str | None = shell.arg(help="Whose names, orders and frames to write [default: fimbria]", allowed_values=["fimbria", "fsl", "mrtrix", "bids"], argstr="--layout", default=None)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    device: str | None = shell.arg(help="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]", argstr="--device", default=None)
    device_memory: float | None = shell.arg(help="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]", argstr="--device-memory", default=None)
    follow: bool = shell.arg(help="Fit again whenever more volumes are there, until all of the gradient table are, or until Ctrl-C. DWI is a file that grows or is replaced, or a folder that receives volumes, taken in the order of their numbers; the table must have a row for each volume to come", argstr="--follow", default=False)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the folder", callable=_written("output", False))
        residual: FsObject | None = shell.out(help="root mean square of measured minus predicted signal, input units [arbitrary]", callable=_written("output", False, ("residual.{image}", "*model-expression_param-residual_dwimap.{image}", "expr_residual.{image}"), False))
        iterations: FsObject | None = shell.out(help="iterations of the fit", callable=_written("output", False, ("iterations.{image}", "*model-expression_param-iterations_dwimap.{image}", "expr_iterations.{image}"), False))
        status: FsObject | None = shell.out(help="0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined", callable=_written("output", False, ("status.{image}", "*model-expression_param-status_dwimap.{image}", "expr_status.{image}"), False))
        mask: FsObject | None = shell.out(help="where no mask is given: the mask that was made", callable=_written("output", False, ("mask.{image}",), False))
        mean_b0: FsObject | None = shell.out(help="where no mask is given: the mean unweighted volume that it was made of [arbitrary]", callable=_written("output", False, ("mean_b0.{image}",), False))
        run_json: FsObject | None = shell.out(help="inputs with hashes, parameters, machine, times, counts, warnings", callable=_written("output", False, ("run.json",), False))


@shell.define
class Eigen(shell.Task["Eigen.Outputs"]):
    """Find all real eigenpairs of symmetric tensors of any order and dimension; writes the file output."""

    executable = ["fimbria", "eigen"]
    tensors: FsObject = shell.arg(help="File of tensors: JSON; an array of numpy, a row of unique entries each; or an image whose volumes are the entries, of any order", argstr="", position=1)
    mask: FsObject | None = shell.arg(help="Voxels of an image to take [default: those that are not 0]", argstr="--mask", default=None)
    dimension: int | None = shell.arg(help="Dimension of the tensors of an array [1 to 128] [default: 3]", argstr="--dimension", default=None)
    kinds: list[str] | None = shell.arg(help="Which pairs are listed, separated by commas [default: all; maxima and minima in single precision]", argstr="--kinds", sep=",", default=None)
    precision: str | None = shell.arg(help="Arithmetic of the search. In single precision SS-HOPM leads to maxima and minima, many tensors at once, on devices too; pairs are polished in double precision [default: double]", allowed_values=["single", "double"], argstr="--precision", default=None)
    tolerance: float | None = shell.arg(help="Largest residual of a pair, relative to the Frobenius norm of A (plus |λ| times that of B) [above 0] [default: 0.000000000001]", argstr="--tolerance", default=None)
    starts: int | None = shell.arg(help="Starts to follow for each tensor [from 1 on] [default: as many as seem needed; 128 with --shift and in single precision]", argstr="--starts", default=None)
    rng_seed: int | None = shell.arg(help="Seed of the random starts [from 0 on] [default: 0]", argstr="--rng-seed", default=None)
    shift: str | None = shell.arg(help="Use the shifted power method (SS-HOPM) alone, from random starts, with this shift: maxima for 0 and above, minima below; `maxima` and `minima` adapt the shift in every iteration. Starts that do not converge in 1000 iterations are counted", argstr="--shift", default=None)
    output: str = shell.arg(help="Folder (or, where the command writes one file, the file) to write", argstr="--output")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    device: str | None = shell.arg(help="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]", argstr="--device", default=None)
    device_memory: float | None = shell.arg(help="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]", argstr="--device-memory", default=None)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the file", callable=_written("output", True))
        file: FsObject | None = shell.out(help="{\"tensors\": [{\"pairs\": [{\"lambda\": L, \"x\": [...], \"kind\": \"maximum\", \"residual\": R}, ...]}, ...]}, one for each tensor of the input, in its order; of an image with \"voxel\": [i, j, k]", callable=_written("output", True, ("",), False))
        file_run_json: FsObject | None = shell.out(help="what was done", callable=_written("output", True, (".run.json",), False))


@shell.define
class Peaks(shell.Task["Peaks.Outputs"]):
    """Find fibre directions: the maxima of a function on the sphere in every voxel; writes a folder, output."""

    executable = ["fimbria", "peaks"]
    image: FsObject = shell.arg(help="Coefficients, 4-D: unique entries of symmetric tensors, or spherical harmonics (--sh-basis, where the image itself does not say so), of order 4, 6 or 8 (15, 28 or 45 volumes)", argstr="", position=1)
    sh_basis: str | None = shell.arg(help="The coefficients are spherical harmonics of this basis [default: what the image says of itself; unique entries where it says nothing]", allowed_values=["mrtrix", "dipy", "dipy-legacy"], argstr="--sh-basis", default=None)
    order: int | None = shell.arg(help="Order of the tensors, or highest degree of the harmonics [from 0 on] [default: what the number of volumes says]", argstr="--order", default=None)
    frame: str | None = shell.arg(help="Axes the coefficients refer to [default: voxel with a basis of DIPY, else scanner]", allowed_values=["fsl", "voxel", "scanner"], argstr="--frame", default=None)
    mask: FsObject | None = shell.arg(help="Voxels to work on: a 3-D image on the same grid, inside where above zero [default: all]", argstr="--mask", default=None)
    method: str | None = shell.arg(help="What counts as a fibre direction [default: maxima]", allowed_values=["maxima", "low-rank"], argstr="--method", default=None)
    fibre: str | None = shell.arg(help="What a single fibre looks like in the input [default: delta in harmonics, rank-one in unique entries]", allowed_values=["delta", "rank-one"], argstr="--fibre", default=None)
    number: int | None = shell.arg(help="Directions of a voxel at most [1 to 32] [default: 3]", argstr="--number", default=None)
    threshold: float | None = shell.arg(help="Least value of a direction, as a share of the voxel's largest [0 to 1] [default: 0.1]", argstr="--threshold", default=None)
    absolute_threshold: float | None = shell.arg(help="Value that a direction must exceed, in units of the input [any] [default: 0]", argstr="--absolute-threshold", default=None)
    separation: float | None = shell.arg(help="Of two directions nearer than this only the larger is kept [0 to 90, degrees] [default: 25]", argstr="--separation", default=None)
    starts: int | None = shell.arg(help="Directions of the half sphere from which the search sets out [16 to 4096] [default: 1024]", argstr="--starts", default=None)
    output: str = shell.arg(help="Folder (or, where the command writes one file, the file) to write", argstr="--output", default="peaks")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    format: str | None = shell.arg(help="Format of the maps [default: nii.gz, or mif with --layout mrtrix]", allowed_values=["nii.gz", "nii", "mif"], argstr="--format", default=None)
    layout: str | None = shell.arg(help="Whose names, orders and frames to write [default: fimbria]", allowed_values=["fimbria", "fsl", "mrtrix", "bids"], argstr="--layout", default=None)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    device: str | None = shell.arg(help="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]", argstr="--device", default=None)
    device_memory: float | None = shell.arg(help="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]", argstr="--device-memory", default=None)
    scratch: str | None = shell.arg(help="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]", argstr="--scratch", default=None)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the folder", callable=_written("output", False))
        peaks: FsObject | None = shell.out(help="fibre directions, x y z of each, scanner RAS axes, length = value, NaN = none", callable=_written("output", False, ("peaks.{image}",), False))
        values: FsObject | None = shell.out(help="values in the fibre directions, largest first, NaN = none", callable=_written("output", False, ("values.{image}",), False))
        count: FsObject | None = shell.out(help="number of fibre directions", callable=_written("output", False, ("count.{image}",), False))
        status: FsObject | None = shell.out(help="0 outside mask, 1 found, 2 none above thresholds, 3 uncertain, 4 not finite, 5 flat", callable=_written("output", False, ("status.{image}",), False))
        run_json: FsObject | None = shell.out(help="inputs with hashes, parameters, machine, times, counts, warnings", callable=_written("output", False, ("run.json",), False))


@shell.define
class Sticks(shell.Task["Sticks.Outputs"]):
    """Sample ball and sticks: fibre directions of every voxel and how sure they are (bedpostx); writes a folder, output."""

    executable = ["fimbria", "sticks"]
    dwi: FsObject = shell.arg(help="Diffusion-weighted series, 4-D", argstr="", position=1)
    model: str | None = shell.arg(help="The model of diffusivity, by FSL's number [default: 2]", allowed_values=["1", "2", "3"], argstr="--model", default=None)
    fibres: int | None = shell.arg(help="Fibres per voxel [1 to 4] [default: 3]", argstr="--fibres", default=None)
    ard: str | None = shell.arg(help="Fractions that tend to 0 where the data do not ask for the fibre (automatic relevance determination) [default: further]", allowed_values=["further", "all", "off"], argstr="--ard", default=None)
    fudge: float | None = shell.arg(help="How strongly: the prior is f^-FUDGE [from 0 on] [default: 1]", argstr="--fudge", default=None)
    noise: str | None = shell.arg(help="How noise enters [default: gaussian]", allowed_values=["gaussian", "rician"], argstr="--noise", default=None)
    f0: str | None = shell.arg(help="A part of the signal that no weighting attenuates [default: none]", allowed_values=["none", "flat", "ard"], argstr="--f0", default=None)
    ratio: list[float] | None = shell.arg(help="Mean and standard deviation of the prior of the zeppelins' ratio (model 3) [above 0] [default: 0.13,0.03]", argstr="--ratio", sep=",", default=None)
    burn_in: int | None = shell.arg(help="Jumps before the first sample [from 0 on] [default: 1000]", argstr="--burn-in", default=None)
    jumps: int | None = shell.arg(help="Jumps from then on [from 1 on] [default: 1250]", argstr="--jumps", default=None)
    sample_every: int | None = shell.arg(help="Keep every Nth of them as a sample [from 1 on] [default: 25]", argstr="--sample-every", default=None)
    adapt_every: int | None = shell.arg(help="Adapt the proposals every N jumps [from 1 on] [default: 40]", argstr="--adapt-every", default=None)
    rng_seed: int | None = shell.arg(help="Seed of the random numbers; the same seed gives the same samples [from 0 on] [default: 0]", argstr="--rng-seed", default=None)
    half: bool = shell.arg(help="Write the samples in half precision, in one file that only fimbria reads, in place of the merged images", argstr="--half", default=False)
    bval: FsObject | None = shell.arg(help="b-values in s/mm², FSL form [s/mm²] [default: found beside the image]", argstr="--bval", default=None)
    bvec: FsObject | None = shell.arg(help="Directions, FSL form [default: found beside the image]", argstr="--bvec", default=None)
    fslgrad: list[FsObject] | None = shell.arg(help="Directions and b-values, FSL form, in MRtrix3's order [s/mm²]", argstr="--fslgrad", default=None)
    grad: FsObject | None = shell.arg(help="Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]", argstr="--grad", default=None)
    bmatrix: FsObject | None = shell.arg(help="b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]", argstr="--bmatrix", default=None)
    bvec_frame: str | None = shell.arg(help="Axes in which bvecs or b-matrices are given [default: fsl]", allowed_values=["fsl", "voxel", "scanner"], argstr="--bvec-frame", default=None)
    b0_threshold: float | None = shell.arg(help="b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]", argstr="--b0-threshold", default=None)
    bvalue_scaling: str | None = shell.arg(help="What directions that are not of unit length mean [default: auto]", allowed_values=["auto", "yes", "no"], argstr="--bvalue-scaling", default=None)
    mask: FsObject | None = shell.arg(help="Voxels to work on: a 3-D image on the grid of the series, inside where above zero [default: a simple brain mask from the unweighted volumes]", argstr="--mask", default=None)
    grad_dev: FsObject | None = shell.arg(help="Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and directions; for `fit dti` and `sticks`, other methods refuse it", argstr="--grad-dev", default=None)
    scratch: str | None = shell.arg(help="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]", argstr="--scratch", default=None)
    output: str = shell.arg(help="Folder to write", argstr="--output", default="sticks")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    resume: bool = shell.arg(help="Go on from what the same command left in OUT/.resume when it was interrupted: to the same bits, or (life) to weights as good with another fingerprint in run.json; keep what it finished", argstr="--resume", default=False)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    device: str | None = shell.arg(help="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]", argstr="--device", default=None)
    device_memory: float | None = shell.arg(help="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]", argstr="--device-memory", default=None)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the folder", callable=_written("output", False))
        merged_thsamples: list[FsObject] | None = shell.out(help="polar angle, a volume per sample; fibres are in the order of their mean fractions [rad]", callable=_written("output", False, ("merged_th*samples.{image}",), True))
        merged_phsamples: list[FsObject] | None = shell.out(help="azimuth [rad]", callable=_written("output", False, ("merged_ph*samples.{image}",), True))
        merged_fsamples: list[FsObject] | None = shell.out(help="fraction", callable=_written("output", False, ("merged_f*samples.{image}",), True))
        merged_samples_f16: FsObject | None = shell.out(help="with --half in their place: fimbria track and fimbria probtrackx2 read it. Little endian: 'fimstick', u32 1, fibres, samples, 0, u64 voxels, 3 u64 size of the grid, 12 f64 scanner mm from voxel, u32 index of each voxel (x fastest), then [voxel][sample][fibre] f16 u v f: direction in scanner axes on the octahedron |x|+|y|+|z| = 1 unfolded to a square (u = x, v = y where z >= 0, else (1-|y|) sign x, (1-|x|) sign y), NaN = none; fraction", callable=_written("output", False, ("merged_samples.f16",), False))
        mean_thsamples: list[FsObject] | None = shell.out(help="mean of the samples, near the dyad [rad]", callable=_written("output", False, ("mean_th*samples.{image}",), True))
        mean_phsamples: list[FsObject] | None = shell.out(help="the same of the azimuth [rad]", callable=_written("output", False, ("mean_ph*samples.{image}",), True))
        mean_fsamples: list[FsObject] | None = shell.out(help="mean of the samples; mean_fsumsamples: of all fibres", callable=_written("output", False, ("mean_f*samples.{image}",), True))
        dyads: list[FsObject] | None = shell.out(help="unit principal direction x y z of the samples, sign arbitrary; dyads2_thr0.05 and so on: where the mean of f is at least 0.05", callable=_written("output", False, ("dyads*.{image}",), True))
        dyads_dispersion: list[FsObject] | None = shell.out(help="1 - largest eigenvalue of the mean of v vᵀ: 0 sure, 2/3 any direction", callable=_written("output", False, ("dyads*_dispersion.{image}",), True))
        dyads_thr0_05_modf: list[FsObject] | None = shell.out(help="the same as dyads2_thr0.05 times mean f2 / mean f1", callable=_written("output", False, ("dyads*_thr0.05_modf*.{image}",), True))
        mean_dsamples: FsObject | None = shell.out(help="mean of d [mm^2/s]", callable=_written("output", False, ("mean_dsamples.{image}",), False))
        std_dsamples: FsObject | None = shell.out(help="standard deviation of d [mm^2/s]", callable=_written("output", False, ("std_dsamples.{image}",), False))
        mean_d_stdsamples: FsObject | None = shell.out(help="of model 2 and 3: mean spread of diffusivities [mm^2/s]", callable=_written("output", False, ("mean_d_stdsamples.{image}",), False))
        mean_Rsamples: FsObject | None = shell.out(help="of model 3: mean ratio of diffusivity across to along", callable=_written("output", False, ("mean_Rsamples.{image}",), False))
        mean_f0samples: FsObject | None = shell.out(help="with --f0: mean fraction without attenuation", callable=_written("output", False, ("mean_f0samples.{image}",), False))
        mean_tausamples: FsObject | None = shell.out(help="of rician noise: mean 1/variance of the noise", callable=_written("output", False, ("mean_tausamples.{image}",), False))
        mean_S0samples: FsObject | None = shell.out(help="signal without weighting, sampled [arbitrary]", callable=_written("output", False, ("mean_S0samples.{image}",), False))
        nodif_brain: FsObject | None = shell.out(help="the same, measured [arbitrary]", callable=_written("output", False, ("nodif_brain.{image}",), False))
        nodif_brain_mask: FsObject | None = shell.out(help="the mask", callable=_written("output", False, ("nodif_brain_mask.{image}",), False))
        acceptance: FsObject | None = shell.out(help="share of the proposals after burn-in that were taken, 0.2 to 0.5 where chains mix", callable=_written("output", False, ("acceptance.{image}",), False))
        effective_samples: FsObject | None = shell.out(help="how many independent samples the kept ones are worth: the least of S0, d and f1", callable=_written("output", False, ("effective_samples.{image}",), False))
        status: FsObject | None = shell.out(help="0 outside the mask, 1 sampled, 4 bad signal", callable=_written("output", False, ("status.{image}",), False))
        bvals: FsObject | None = shell.out(help="b of every volume", callable=_written("output", False, ("bvals",), False))
        bvecs: FsObject | None = shell.out(help="its direction", callable=_written("output", False, ("bvecs",), False))
        xfms_eye_mat: FsObject | None = shell.out(help="the identity, where FSL looks for a transform", callable=_written("output", False, ("xfms/eye.mat",), False))
        commands_txt: FsObject | None = shell.out(help="the command, as bedpostX leaves it", callable=_written("output", False, ("commands.txt",), False))
        run_json: FsObject | None = shell.out(help="inputs with hashes, parameters, machine, times, counts, warnings", callable=_written("output", False, ("run.json",), False))


@shell.define
class Field(shell.Task["Field.Outputs"]):
    """Make a local field of the phase of a gradient-echo scan, for `fimbria qsm`; writes a folder, output."""

    executable = ["fimbria", "field"]
    phase: list[FsObject] = shell.arg(help="Phase in any scaling: an image with a volume for each echo, or an image for each", argstr="", position=1)
    phase_range: list[float] | None = shell.arg(help="Two numbers of the phase that are a turn apart, its ends: 0 4096, -180 180 [any] [default: told by the numbers, see below]", argstr="--phase-range", default=None)
    imaginary: list[FsObject] | None = shell.arg(help="The imaginary part, likewise, of images whose real part is PHASE: both are phase and magnitude", argstr="--imaginary", default=None)
    magnitude: list[FsObject] | None = shell.arg(help="Magnitude, likewise: weighs voxels and echoes, gives R2* and, without --mask, the mask", argstr="--magnitude", default=None)
    te: list[float] | None = shell.arg(help="Echo times [above 0, ms] [default: EchoTime of the .json beside each phase]", argstr="--te", sep=",", default=None)
    coils: int | None = shell.arg(help="Coils that were not combined: volumes, or images, are all echoes of the first, then of the next. They are combined without the phase that each has at echo time 0 (MCPC-3D-S) [from 1 on] [default: 1]", argstr="--coils", default=None)
    smooth_offset: bool = shell.arg(help="Take a smooth phase at echo time 0, which the first two echoes tell, off all of them, of a single coil too", argstr="--smooth-offset", default=False)
    bipolar: str | None = shell.arg(help="Odd and even echoes were read in opposite directions (true or false): the ramp by which they differ is taken off [default: told by the phase, from three echoes on]", allowed_values=["true", "false"], argstr="--bipolar", default=None)
    b0: float | None = shell.arg(help="Strength of B0 [above 0, up to 30, tesla] [default: MagneticFieldStrength of the .json beside the phase]", argstr="--b0", default=None)
    relative: bool = shell.arg(help="Neither echo times nor B0 are known: fields are in radians of the phase of the first echo", argstr="--relative", default=False)
    b0_dir: list[float] | None = shell.arg(help="Direction of B0 in scanner axes [any] [default: 0 0 1]", argstr="--b0-dir", default=None)
    b0_dir_vox: list[float] | None = shell.arg(help="Direction of B0 in voxel axes [any]", argstr="--b0-dir-vox", default=None)
    phase_sign: int | None = shell.arg(help="Sign of the phase along B0 beside a paramagnetic source [1 or -1] [default: 1]", argstr="--phase-sign", default=None)
    mask: FsObject | None = shell.arg(help="Voxels to work on: a 3-D image on the same grid, inside where above zero [default: what is bright in the first magnitude]", argstr="--mask", default=None)
    unwrap: str | None = shell.arg(help="How wraps are undone [default: region]", allowed_values=["region", "laplacian"], argstr="--unwrap", default=None)
    offset: str | None = shell.arg(help="Fit the phase at echo time 0 (true) or take it as 0 (false) [default: true from three echoes on]", allowed_values=["true", "false"], argstr="--offset", default=None)
    mask_quality: float | None = shell.arg(help="Leave voxels whose phase is less reliable out of the mask, see the map quality [0 to 1] [default: none is left out]", argstr="--mask-quality", default=None)
    background: str | None = shell.arg(help="How the background is removed [default: lbv]", allowed_values=["vsharp", "pdf", "lbv"], argstr="--background", default=None)
    radius: float | None = shell.arg(help="Largest radius of the spherical means [above 0, mm] [default: 12]", argstr="--radius", default=None)
    output: str = shell.arg(help="Folder (or, where the command writes one file, the file) to write", argstr="--output", default="field")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    format: str | None = shell.arg(help="Format of the maps [default: nii.gz, or mif with --layout mrtrix]", allowed_values=["nii.gz", "nii", "mif"], argstr="--format", default=None)
    layout: str | None = shell.arg(help="Whose names, orders and frames to write [default: fimbria]", allowed_values=["fimbria", "fsl", "mrtrix", "bids"], argstr="--layout", default=None)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the folder", callable=_written("output", False))
        total_field: FsObject | None = shell.out(help="field of all sources relative to B0, ppm, positive along B0 beside a paramagnetic source [ppm]", callable=_written("output", False, ("total_field.{image}",), False))
        local_field: FsObject | None = shell.out(help="field of the sources inside the mask relative to B0, ppm [ppm]", callable=_written("output", False, ("local_field.{image}",), False))
        mask: FsObject | None = shell.out(help="1 where the local field is known", callable=_written("output", False, ("mask.{image}",), False))
        quality: FsObject | None = shell.out(help="how reliable the phase is, 0 to 1: the mean over a voxel's steps to neighbours, as ROMEO", callable=_written("output", False, ("quality.{image}",), False))
        weights: FsObject | None = shell.out(help="with --magnitude or --imaginary: how surely the field is known: 1 / its standard deviation, its median 1, at most 2", callable=_written("output", False, ("weights.{image}",), False))
        r2star: FsObject | None = shell.out(help="with --magnitude or --imaginary of two echoes or more: R2*, rate of decay of the magnitude [1/s]", callable=_written("output", False, ("r2star.{image}",), False))
        local_field_json: FsObject | None = shell.out(help="B0 and the echo time in which the field turned the phase, for `fimbria qsm`", callable=_written("output", False, ("local_field.json",), False))
        run_json: FsObject | None = shell.out(help="inputs with hashes, parameters, machine, times, counts, warnings", callable=_written("output", False, ("run.json",), False))


@shell.define
class Qsm(shell.Task["Qsm.Outputs"]):
    """Map magnetic susceptibility from a local field, guided by diffusion; writes a folder, output."""

    executable = ["fimbria", "qsm"]
    field: FsObject = shell.arg(help="The local field (background removed), one volume; with --dqsm-files a deltab.bin [as --field-unit says]", argstr="", position=1)
    mask: FsObject | None = shell.arg(help="Voxels to solve for: a 3-D image on the same grid, inside where above zero [default: all but those where the field is 0 from there to the edge of the volume]", argstr="--mask", default=None)
    dti: FsObject | None = shell.arg(help="Folder of `fimbria fit dti`: takes its FA and V1, and for --method dtv its MD and S0", argstr="--dti", default=None)
    v1: FsObject | None = shell.arg(help="Fibre directions, 3 volumes: V1 with --fa, else FA·V1; of several fibres (not of dqsm) 3 volumes each, as long as their fractions; without, every voxel is a sphere", argstr="--v1", default=None)
    fa: FsObject | None = shell.arg(help="Fractional anisotropy", argstr="--fa", default=None)
    v1_frame: str | None = shell.arg(help="Axes the fibre directions refer to [default: what the image says of itself, else scanner]", allowed_values=["fsl", "voxel", "scanner"], argstr="--v1-frame", default=None)
    resample: bool = shell.arg(help="Take FA and fibre directions of another grid at the nearest voxel in the scanner", argstr="--resample", default=False)
    weights: FsObject | None = shell.arg(help="A weight for each voxel's field (its magnitude, say), 0 or more, on the same grid. Used as they stand: where they are far from 1, --kappa or --strength weighs what is penalised less or more", argstr="--weights", default=None)
    magnitude: FsObject | None = shell.arg(help="Magnitude whose edges cost nothing, on the same grid; of several echoes their root mean square", argstr="--magnitude", default=None)
    two_pass: FsObject | None = shell.arg(help="Voxels whose field is reliable, likewise: they are mapped once more by themselves, and the map there is taken from that", argstr="--two-pass", default=None)
    truth: FsObject | None = shell.arg(help="Compare with a map of known susceptibility, ppm, on the same grid [ppm]", argstr="--truth", default=None)
    field_unit: str | None = shell.arg(help="Unit of the field [default: ppm, refused where the numbers are unlike it]", allowed_values=["ppm", "hz", "rad/s", "tesla", "relative"], argstr="--field-unit", default=None)
    phase_sign: int | None = shell.arg(help="Sign of the field along B0 beside a paramagnetic source [1 or -1] [default: 1]", argstr="--phase-sign", default=None)
    b0: float | None = shell.arg(help="Strength of B0 [above 0, up to 30, tesla] [default: MagneticFieldStrength of the .json beside the field]", argstr="--b0", default=None)
    te: float | None = shell.arg(help="Echo time in which the field turned the phase, for --method ndi and --data phase [0.1 to 1000, ms] [default: EchoTime of the .json beside the field]", argstr="--te", default=None)
    b0_dir: list[float] | None = shell.arg(help="Direction of B0 in scanner axes [any] [default: 0 0 1]", argstr="--b0-dir", default=None)
    b0_dir_vox: list[float] | None = shell.arg(help="Direction of B0 in voxel axes [any]", argstr="--b0-dir-vox", default=None)
    dqsm_files: bool = shell.arg(help="FIELD, --mask and --v1 are files of the original dQSM program (deltab.bin, mask.bin, models.bin), in tesla and with B0; also writes chi.bin", argstr="--dqsm-files", default=False)
    method: str | None = shell.arg(help="How the map is made [default: dtv]", allowed_values=["dtv", "dqsm", "tensor", "tkd", "tikhonov", "tv", "rts", "tgv", "medi", "ndi", "ilsqr"], argstr="--method", default=None)
    compat: str | None = shell.arg(help="Whose numerics to follow", allowed_values=["dqsm"], argstr="--compat", default=None)
    fa_threshold: float | None = shell.arg(help="FA above which a voxel has a fibre [0 to 1] [default: 0.2]", argstr="--fa-threshold", default=None)
    kappa: float | None = shell.arg(help="Share κ of the data [above 0, up to 1] [default: 0.985; 0.95 in a run, for its noisier fields; 0.75 with --compat dqsm]", argstr="--kappa", default=None)
    solver: str | None = shell.arg(help="Which iteration [default: cgls; landweber with --compat dqsm]", allowed_values=["cgls", "lsmr", "landweber"], argstr="--solver", default=None)
    step: float | None = shell.arg(help="Step of --solver landweber; one that would diverge is made smaller [above 0] [default: a safe one; 0.15 with --compat dqsm]", argstr="--step", default=None)
    products: str | None = shell.arg(help="How products are made; both are exact [default: fast]", allowed_values=["fast", "dense"], argstr="--products", default=None)
    edges: str | None = shell.arg(help="What lies beyond the mask, for the penalty [default: free; zero with --compat dqsm]", allowed_values=["free", "zero"], argstr="--edges", default=None)
    outside: str | None = shell.arg(help="What is outside the mask, for the field [default: sources]", allowed_values=["sources", "nothing"], argstr="--outside", default=None)
    data: str | None = shell.arg(help="What is explained [default: field]", allowed_values=["field", "phase"], argstr="--data", default=None)
    support: int | None = shell.arg(help="Voxels that a source reaches along each axis [from 1 on] [default: all; 50 with --compat dqsm]", argstr="--support", default=None)
    start: str | None = shell.arg(help="Where the iteration starts [default: zero]", allowed_values=["zero", "tikhonov"], argstr="--start", default=None)
    iterations: int | None = shell.arg(help="Iterations at most [from 1 on] [default: 100; 200 of ndi; 50 of each part of ilsqr; 1000 of dqsm and tensor, 20 in a run, for its noisier fields]", argstr="--iterations", default=None)
    tolerance: float | None = shell.arg(help="Stop where the map changes by no more than this part of itself [from 0 on] [default: 2e-3; 1e-3 of ndi; 1e-6 of dqsm and tensor]", argstr="--tolerance", default=None)
    gradient_tolerance: float | None = shell.arg(help="Stop where the gradient is no more than this part of its first [from 0 on] [default: 1e-6; 1e-2 of ilsqr]", argstr="--gradient-tolerance", default=None)
    noise: float | None = shell.arg(help="Stop where the field is explained to this noise (after weights) [above 0, ppm]", argstr="--noise", default=None)
    strength: float | None = shell.arg(help="λ of dtv, tv, tgv, medi, ndi and tikhonov, threshold of tkd, δ of rts, |D| below which ilsqr looks for streaks [above 0] [default: 2e-4; 1e-3 of ndi, 0.15 of tkd and rts, 0.01 of tikhonov, 0.1 of ilsqr]", argstr="--strength", default=None)
    zero_mean: bool = shell.arg(help="Make the mean over the mask zero", argstr="--zero-mean", default=False)
    reference: FsObject | None = shell.arg(help="Make the mean over these voxels zero instead: a 3-D image on the same grid, inside where above zero", argstr="--reference", default=None)
    output: str = shell.arg(help="Folder to write", argstr="--output", default="qsm")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    resume: bool = shell.arg(help="Go on from what the same command left in OUT/.resume when it was interrupted: to the same bits, or (life) to weights as good with another fingerprint in run.json; keep what it finished", argstr="--resume", default=False)
    checkpoint: int | None = shell.arg(help="Time between checkpoints, which --resume goes on from [from 0 on, s] [default: 60]", argstr="--checkpoint", default=None)
    format: str | None = shell.arg(help="Format of the maps [default: nii.gz, or mif with --layout mrtrix]", allowed_values=["nii.gz", "nii", "mif"], argstr="--format", default=None)
    layout: str | None = shell.arg(help="Whose names, orders and frames to write [default: fimbria]", allowed_values=["fimbria", "fsl", "mrtrix", "bids"], argstr="--layout", default=None)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    device: str | None = shell.arg(help="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]", argstr="--device", default=None)
    device_memory: float | None = shell.arg(help="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]", argstr="--device-memory", default=None)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the folder", callable=_written("output", False))
        chi: FsObject | None = shell.out(help="magnetic susceptibility (SI), ppm, relative to the reference [ppm]", callable=_written("output", False, ("chi.{image}",), False))
        msa: FsObject | None = shell.out(help="with --method tensor: anisotropy of the susceptibility tensor, along the fibre less across it, ppm [ppm]", callable=_written("output", False, ("msa.{image}",), False))
        residual: FsObject | None = shell.out(help="field of the map, as the method has it and before a reference is taken off, less the field given, ppm; 0 where that has no weight [ppm]", callable=_written("output", False, ("residual.{image}",), False))
        iterations_tsv: FsObject | None = shell.out(help="of all methods but tkd and tikhonov: iteration, rms of the map (ppm), relative change, and after it the data term ‖Ax - b‖² and of dqsm, tensor and ndi the penalty and the relative gradient, of the others the variation that costs; of ilsqr the relative gradient alone, first of the map, then of its streaks", callable=_written("output", False, ("iterations.tsv",), False))
        metrics_json: FsObject | None = shell.out(help="with --truth: NRMSE, detrended NRMSE, HFEN (%), XSIM, correlation, slope", callable=_written("output", False, ("metrics.json",), False))
        chi_bin: FsObject | None = shell.out(help="with --dqsm-files: the map (not ppm), bare float32 in that program's order; its x_iter files are neither written nor read", callable=_written("output", False, ("chi.bin",), False))
        run_json: FsObject | None = shell.out(help="inputs with hashes, parameters in effect, machine, times, counts, warnings; of the iteration kappa and step (in units of B0), iterations, and why it stopped", callable=_written("output", False, ("run.json",), False))
        resume: FsObject | None = shell.out(help="until the run is done: where --resume goes on, with the same result", callable=_written("output", False, (".resume",), False))


@shell.define
class Life(shell.Task["Life.Outputs"]):
    """Weigh every streamline of a tractogram by what it explains of the signal (LiFE); writes a folder, output."""

    executable = ["fimbria", "life"]
    tractogram: FsObject = shell.arg(help="Streamlines: TCK, TRK or TRX", argstr="", position=1)
    labels: FsObject | None = shell.arg(help="Label image, 3-D: nodes of connectome matrices of the weights (ends count up to 4 mm away)", argstr="--labels", default=None)
    sets: FsObject | None = shell.arg(help="Sets of streamlines for virtual lesions, beside the groups of a TRX: lines of a name and the numbers of streamlines from 0, separated by blanks", argstr="--sets", default=None)
    start: FsObject | None = shell.arg(help="Weights to begin with, one a line", argstr="--start", default=None)
    dwi: FsObject = shell.arg(help="Diffusion-weighted series, 4-D; without --mask all its voxels count", argstr="--dwi")
    bval: FsObject | None = shell.arg(help="b-values in s/mm², FSL form [s/mm²] [default: found beside the image]", argstr="--bval", default=None)
    bvec: FsObject | None = shell.arg(help="Directions, FSL form [default: found beside the image]", argstr="--bvec", default=None)
    fslgrad: list[FsObject] | None = shell.arg(help="Directions and b-values, FSL form, in MRtrix3's order [s/mm²]", argstr="--fslgrad", default=None)
    grad: FsObject | None = shell.arg(help="Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]", argstr="--grad", default=None)
    bmatrix: FsObject | None = shell.arg(help="b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]", argstr="--bmatrix", default=None)
    bvec_frame: str | None = shell.arg(help="Axes in which bvecs or b-matrices are given [default: fsl]", allowed_values=["fsl", "voxel", "scanner"], argstr="--bvec-frame", default=None)
    b0_threshold: float | None = shell.arg(help="b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]", argstr="--b0-threshold", default=None)
    bvalue_scaling: str | None = shell.arg(help="What directions that are not of unit length mean [default: auto]", allowed_values=["auto", "yes", "no"], argstr="--bvalue-scaling", default=None)
    grad_dev: FsObject | None = shell.arg(help="Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and directions; for `fit dti` and `sticks`, other methods refuse it", argstr="--grad-dev", default=None)
    scratch: str | None = shell.arg(help="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]", argstr="--scratch", default=None)
    second: FsObject | None = shell.arg(help="A second series that repeats the first volume by volume, to predict (cross-validation); its gradient table, where it has one, must say so", argstr="--second", default=None)
    compat: str | None = shell.arg(help="Take over the conventions of another program; other options still change them", allowed_values=["encode", "dipy"], argstr="--compat", default=None)
    atoms: str | None = shell.arg(help="Directions of columns: exact, or grid:STEPS (ENCODE's grid of orientations) [default: grid:360; exact with --compat dipy]", argstr="--atoms", default=None)
    directions: FsObject | None = shell.arg(help="Columns for the directions listed in this file, three numbers a line, in the axes that streamlines' are taken in: each part of a streamline takes the nearest", argstr="--directions", default=None)
    axial: float | None = shell.arg(help="Diffusivity along streamlines [above 0, mm²/s] [default: 0.001]", argstr="--axial", default=None)
    radial: float | None = shell.arg(help="Diffusivity across streamlines: 0 is a stick, more a zeppelin [from 0 on, mm²/s] [default: 0]", argstr="--radial", default=None)
    isotropic: list[float] | None = shell.arg(help="Isotropic compartments of every voxel, separated by commas [above 0, mm²/s] [default: none]", argstr="--isotropic", sep=",", default=None)
    normalise: str | None = shell.arg(help="What the parts of a streamline in a voxel add up to [default: length; with --compat encode nodes, with dipy none]", allowed_values=["length", "nodes", "none", "volume"], argstr="--normalise", default=None)
    demean: str | None = shell.arg(help="What is taken from signal and columns [default: mean]", allowed_values=["mean", "shell-mean", "shell-median", "none"], argstr="--demean", default=None)
    rank: str | None = shell.arg(help="Numbers a column is held in: auto (as many as miss 0.1 % of columns), full (one for each volume) or how many [default: auto; full with --compat]", argstr="--rank", default=None)
    solver: str | None = shell.arg(help="How weights are found [default: conjugate; sbb with --compat encode]", allowed_values=["conjugate", "sbb"], argstr="--solver", default=None)
    max_iterations: int | None = shell.arg(help="Iterations at most [from 0 on] [default: 1000; 500 with --compat encode]", argstr="--max-iterations", default=None)
    tolerance: float | None = shell.arg(help="End once the projected gradient is this share of that without weights [0 to below 1] [default: 0.00001]", argstr="--tolerance", default=None)
    l1: float | None = shell.arg(help="L1 penalty on weights, as a share of the least that leaves none [from 0 on] [default: 0]", argstr="--l1", default=None)
    group: float | None = shell.arg(help="Penalty on each set of streamlines (--sets, or the groups of a TRX): Σ √n ‖w‖, as a share of the least that leaves no set any weight; its steps are of their own [from 0 on] [default: 0]", argstr="--group", default=None)
    hindered: list[float] | None = shell.arg(help="Hindered compartments around the fibres of every voxel (--peaks), separated by commas: diffusivities across the fibres; along them it is --axial [from 0 on, mm²/s] [default: none]", argstr="--hindered", sep=",", default=None)
    peaks: FsObject | None = shell.arg(help="Fibres of every voxel on the grid of the series, three volumes each, as `fimbria peaks` and sh2peaks write them; their lengths do not count", argstr="--peaks", default=None)
    output: str = shell.arg(help="Folder to write", argstr="--output", default="life")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    resume: bool = shell.arg(help="Go on from what the same command left in OUT/.resume when it was interrupted: to the same bits, or (life) to weights as good with another fingerprint in run.json; keep what it finished", argstr="--resume", default=False)
    format: str | None = shell.arg(help="Format of the maps [default: nii.gz, or mif with --layout mrtrix]", allowed_values=["nii.gz", "nii", "mif"], argstr="--format", default=None)
    layout: str | None = shell.arg(help="Whose names, orders and frames to write [default: fimbria]", allowed_values=["fimbria", "fsl", "mrtrix", "bids"], argstr="--layout", default=None)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    device: str | None = shell.arg(help="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]", argstr="--device", default=None)
    device_memory: float | None = shell.arg(help="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]", argstr="--device-memory", default=None)
    mask: FsObject | None = shell.arg(help="Voxels to work on: a 3-D image on the grid of the series, inside where above zero [default: all]", argstr="--mask", default=None)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the folder", callable=_written("output", False))
        weights_txt: FsObject | None = shell.out(help="the weight of every streamline, one a line, in the order of the input", callable=_written("output", False, ("weights.txt",), False))
        pruned: FsObject | None = shell.out(help="the streamlines of positive weight, in the input's format; TRX and TRK with their weights per streamline", callable=_written("output", False, ("pruned.*",), False))
        pruned_weights_txt: FsObject | None = shell.out(help="of TCK: those weights", callable=_written("output", False, ("pruned_weights.txt",), False))
        rmse: FsObject | None = shell.out(help="root mean squared error of the predicted signal, units of the signal, 0 where no streamline is [arbitrary]", callable=_written("output", False, ("rmse.{image}",), False))
        rmse_s0: FsObject | None = shell.out(help="root mean squared error over the unweighted signal, 0 where no streamline is", callable=_written("output", False, ("rmse_s0.{image}",), False))
        rmse_s0_without: FsObject | None = shell.out(help="the same without streamlines: their weights zero, those of compartments as they are", callable=_written("output", False, ("rmse_s0_without.{image}",), False))
        prediction: FsObject | None = shell.out(help="predicted signal of every volume (unweighted volumes: their mean) [arbitrary]", callable=_written("output", False, ("prediction.{image}",), False))
        evidence_tsv: FsObject | None = shell.out(help="virtual lesions: of each set of streamlines (all, TRX groups, --sets) what the signal of its voxels loses without it", callable=_written("output", False, ("evidence.tsv",), False))
        rmse_xv: FsObject | None = shell.out(help="with --second: root mean squared error of the prediction of the second series, units of the signal [arbitrary]", callable=_written("output", False, ("rmse_xv.{image}",), False))
        rrmse: FsObject | None = shell.out(help="with --second: error of the prediction of the second series over the difference of both series", callable=_written("output", False, ("rrmse.{image}",), False))
        isotropic: FsObject | None = shell.out(help="with --isotropic: weights of the compartments, a volume each", callable=_written("output", False, ("isotropic.{image}",), False))
        hindered: FsObject | None = shell.out(help="with --hindered: weights of the compartments around fibres: of the first fibre by each diffusivity, then of the next", callable=_written("output", False, ("hindered.{image}",), False))
        restricted: FsObject | None = shell.out(help="with --hindered: what streamlines are of the voxel: their weights by their parts there, of the unweighted signal", callable=_written("output", False, ("restricted.{image}",), False))
        matrix_csv: list[FsObject] | None = shell.out(help="with --labels: sums of weights, numbers and mean weights of streamlines of positive weight and their mean lengths (mm) between nodes", callable=_written("output", False, ("matrix_*.csv",), True))
        matrix_labels_txt: FsObject | None = shell.out(help="with --labels: the labels of rows and columns", callable=_written("output", False, ("matrix_labels.txt",), False))
        run_json: FsObject | None = shell.out(help="inputs with hashes, parameters, objective, nonzero, iterations, optimality, times, counts, warnings", callable=_written("output", False, ("run.json",), False))


@shell.define
class PhantomCrossing(shell.Task["PhantomCrossing.Outputs"]):
    """A head with bundles that run straight, bend, and cross at 30 to 90 degrees; writes a folder, output."""

    executable = ["fimbria", "phantom", "crossing"]
    size: str | None = shell.arg(help="Number of voxels along x, y, z [default: 60,72,56]", argstr="--size", default=None)
    voxel: str | None = shell.arg(help="Voxel size in mm [default: 2.5]", argstr="--voxel", default=None)
    tilt: str | None = shell.arg(help="Turns of the grid about scanner x, y, z in degrees [default: 6,-4,10]", argstr="--tilt", default=None)
    x_left_to_right: bool = shell.arg(help="Store x from left to right (det(affine) > 0) instead of right to left", argstr="--x-left-to-right", default=False)
    b0s: int | None = shell.arg(help="Number of unweighted volumes [from 0 on] [default: 6]", argstr="--b0s", default=None)
    shells: list[str] | None = shell.arg(help="Shells, each b in s/mm² and number of directions [default: 1000:30,2000:60]", argstr="--shells", sep=",", default=None)
    snr: str | None = shell.arg(help="Unweighted white-matter signal over the noise in either channel; inf for no noise [default: 30]", argstr="--snr", default=None)
    rng_seed: int | None = shell.arg(help="Seed of the noise [from 0 on] [default: 1]", argstr="--rng-seed", default=None)
    output: str = shell.arg(help="Folder (or, where the command writes one file, the file) to write", argstr="--output", default="crossing")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    format: str | None = shell.arg(help="Format of the images [default: nii.gz]", allowed_values=["nii.gz", "nii", "mif"], argstr="--format", default=None)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the folder", callable=_written("output", False))
        dwi: FsObject | None = shell.out(help="the series [arbitrary]", callable=_written("output", False, ("dwi.{image}",), False))
        dwi_bval: FsObject | None = shell.out(help="in all formats but .mif, whose header has it: b of every volume, s/mm²", callable=_written("output", False, ("dwi.bval",), False))
        dwi_bvec: FsObject | None = shell.out(help="likewise: direction of every volume", callable=_written("output", False, ("dwi.bvec",), False))
        mask: FsObject | None = shell.out(help="voxels at least half of which are brain", callable=_written("output", False, ("mask.{image}",), False))
        truth_dirs: FsObject | None = shell.out(help="x y z of up to three fibres, largest fraction first, 0 = none", callable=_written("output", False, ("truth/dirs.{image}",), False))
        truth_fractions: FsObject | None = shell.out(help="signal fractions at b = 0 of three fibres, grey matter, fluid", callable=_written("output", False, ("truth/fractions.{image}",), False))
        truth_count: FsObject | None = shell.out(help="number of fibres", callable=_written("output", False, ("truth/count.{image}",), False))
        truth_S0: FsObject | None = shell.out(help="signal without weighting and noise [arbitrary]", callable=_written("output", False, ("truth/S0.{image}",), False))
        truth_angle: FsObject | None = shell.out(help="angle between the two largest fibres; NaN with fewer than two [degree]", callable=_written("output", False, ("truth/angle.{image}",), False))
        truth_FA: FsObject | None = shell.out(help="of voxels of a single compartment; NaN elsewhere", callable=_written("output", False, ("truth/FA.{image}",), False))
        truth_MD: FsObject | None = shell.out(help="the same [mm^2/s]", callable=_written("output", False, ("truth/MD.{image}",), False))
        truth_V1: FsObject | None = shell.out(help="direction in voxels of a single fibre; NaN elsewhere", callable=_written("output", False, ("truth/V1.{image}",), False))
        truth_MK: FsObject | None = shell.out(help="mean kurtosis of the mixture at b = 0; 0 outside the mask", callable=_written("output", False, ("truth/MK.{image}",), False))
        truth_tracts_trx: FsObject | None = shell.out(help="streamlines 3 mm apart, a group for each bundle, and as groups false01, false02 and so on connections that are not there, for `fimbria life` to find", callable=_written("output", False, ("truth/tracts.trx",), False))
        run_json: FsObject | None = shell.out(help="parameters, machine, times", callable=_written("output", False, ("run.json",), False))


@shell.define
class PhantomGre(shell.Task["PhantomGre.Outputs"]):
    """The head of `phantom crossing` in a gradient-echo scan: phase and magnitude of a known field; writes a folder, output."""

    executable = ["fimbria", "phantom", "gre"]
    size: str | None = shell.arg(help="Number of voxels along x, y, z [default: 60,72,56]", argstr="--size", default=None)
    voxel: str | None = shell.arg(help="Voxel size in mm [default: 2.5]", argstr="--voxel", default=None)
    tilt: str | None = shell.arg(help="Turns of the grid about scanner x, y, z in degrees [default: 6,-4,10]", argstr="--tilt", default=None)
    x_left_to_right: bool = shell.arg(help="Store x from left to right (det(affine) > 0) instead of right to left", argstr="--x-left-to-right", default=False)
    te: list[float] | None = shell.arg(help="Echo times [above 0, ms] [default: 4 12 20 28]", argstr="--te", default=None)
    b0: float | None = shell.arg(help="Strength of B0; it is along scanner z [above 0, up to 30, tesla] [default: 3]", argstr="--b0", default=None)
    fibre: float | None = shell.arg(help="Mean susceptibility of fibres relative to fluid [any, ppm] [default: -0.03]", argstr="--fibre", default=None)
    anisotropy: float | None = shell.arg(help="Susceptibility along fibres less that across them [any, ppm] [default: 0.012]", argstr="--anisotropy", default=None)
    grey: float | None = shell.arg(help="Susceptibility of grey matter relative to fluid [any, ppm] [default: 0.02]", argstr="--grey", default=None)
    air: float | None = shell.arg(help="Susceptibility of the air below the brain; 0 for no background [any, ppm] [default: 9.4]", argstr="--air", default=None)
    finer: int | None = shell.arg(help="Make the field on a grid as many times finer along each axis [1 to 4] [default: 2]", argstr="--finer", default=None)
    snr: str | None = shell.arg(help="White matter's magnitude at echo time 0 over the noise in either channel; inf for no noise [default: 100]", argstr="--snr", default=None)
    rng_seed: int | None = shell.arg(help="Seed of the noise [from 0 on] [default: 1]", argstr="--rng-seed", default=None)
    output: str = shell.arg(help="Folder (or, where the command writes one file, the file) to write", argstr="--output", default="gre")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    format: str | None = shell.arg(help="Format of the images [default: nii.gz]", allowed_values=["nii.gz", "nii", "mif"], argstr="--format", default=None)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the folder", callable=_written("output", False))
        phase: FsObject | None = shell.out(help="phase of every echo, wrapped [rad]", callable=_written("output", False, ("phase.{image}",), False))
        phase_json: FsObject | None = shell.out(help="echo times and B0", callable=_written("output", False, ("phase.json",), False))
        magnitude: FsObject | None = shell.out(help="magnitude of every echo [arbitrary]", callable=_written("output", False, ("magnitude.{image}",), False))
        mask: FsObject | None = shell.out(help="voxels at least half of which are brain", callable=_written("output", False, ("mask.{image}",), False))
        truth_chi: FsObject | None = shell.out(help="mean of the susceptibility tensor, 0 outside the mask [ppm]", callable=_written("output", False, ("truth/chi.{image}",), False))
        truth_local_field: FsObject | None = shell.out(help="field of what is in the head [ppm]", callable=_written("output", False, ("truth/local_field.{image}",), False))
        truth_total_field: FsObject | None = shell.out(help="the same with the air below it [ppm]", callable=_written("output", False, ("truth/total_field.{image}",), False))
        truth_fibre: FsObject | None = shell.out(help="direction of the largest fibre, as long as its fraction: what `fimbria qsm --v1` takes", callable=_written("output", False, ("truth/fibre.{image}",), False))
        run_json: FsObject | None = shell.out(help="parameters, machine, times", callable=_written("output", False, ("run.json",), False))


@shell.define
class PhantomHead(shell.Task["PhantomHead.Outputs"]):
    """A head as in people: folded cortex, nuclei, ventricles, named bundles, skull and air; writes a folder, output."""

    executable = ["fimbria", "phantom", "head"]
    subject: int | None = shell.arg(help="Which head: folds, size and ventricles differ from number to number [from 0 on] [default: 1]", argstr="--subject", default=None)
    voxel: str | None = shell.arg(help="Voxel size in mm [default: 2.5]", argstr="--voxel", default=None)
    size: str | None = shell.arg(help="Number of voxels along x, y, z [default: what holds the whole head]", argstr="--size", default=None)
    tilt: str | None = shell.arg(help="Turns of the grid about scanner x, y, z in degrees [default: 6,-4,3]", argstr="--tilt", default=None)
    x_left_to_right: bool = shell.arg(help="Store x from left to right (det(affine) > 0) instead of right to left", argstr="--x-left-to-right", default=False)
    b0s: int | None = shell.arg(help="Number of unweighted volumes [from 0 on] [default: 6]", argstr="--b0s", default=None)
    shells: list[str] | None = shell.arg(help="Shells, each b in s/mm² and number of directions [default: 1000:30,2000:60]", argstr="--shells", sep=",", default=None)
    snr: str | None = shell.arg(help="Unweighted white-matter signal over the noise in either channel; inf for no noise [default: 30]", argstr="--snr", default=None)
    rng_seed: int | None = shell.arg(help="Seed of the noise [from 0 on] [default: 1]", argstr="--rng-seed", default=None)
    b_tensor: list[str] | None = shell.arg(help="Shape of the b-tensors: of all shells, or of each [default: linear]", argstr="--b-tensor", sep=",", default=None)
    motion: float | None = shell.arg(help="The head moves during the series, up to so far from where it was first, and turns by up to as many degrees [0 to 50, mm] [default: 0]", argstr="--motion", default=None)
    dropped_slices: int | None = shell.arg(help="Slices of weighted volumes that lose 60 to 95 % of their signal [from 0 on] [default: 0]", argstr="--dropped-slices", default=None)
    nonlinearity: float | None = shell.arg(help="Largest deviation of the gradients in the brain, as a fraction [0 to 0.3] [default: 0]", argstr="--nonlinearity", default=None)
    samples: int | None = shell.arg(help="Points along each axis at which a voxel on a boundary is sampled [2 to 8] [default: 3]", argstr="--samples", default=None)
    gre: str | None = shell.arg(help="Also a gradient-echo scan; echo times in milliseconds", argstr="--gre={gre}", default=None)
    gre_b0: float | None = shell.arg(help="Strength of B0 in that scan; it is along scanner z [above 0, T] [default: 3]", argstr="--gre-b0", default=None)
    gre_voxel: float | None = shell.arg(help="Voxel size of that scan, the same along all axes [above 0, mm] [default: that of the series]", argstr="--gre-voxel", default=None)
    gre_snr: str | None = shell.arg(help="White matter's magnitude at echo time 0 over the noise in either channel; inf for no noise [default: 100]", argstr="--gre-snr", default=None)
    bids: int | None = shell.arg(help="Write a BIDS data set in the shape of QSIPrep's derivatives instead, of so many subjects: each has other folds and noise, and the second has two sessions [1 to 9999]", argstr="--bids={bids}", default=None)
    broken: bool = shell.arg(help="Cut the series of its last subject short, as a full disk does", argstr="--broken", default=False)
    output: str = shell.arg(help="Folder (or, where the command writes one file, the file) to write", argstr="--output", default="head")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    format: str | None = shell.arg(help="Format of the images [default: nii.gz]", allowed_values=["nii.gz", "nii", "mif"], argstr="--format", default=None)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the folder", callable=_written("output", False))
        dwi: FsObject | None = shell.out(help="the series [arbitrary]", callable=_written("output", False, ("dwi.{image}",), False))
        dwi_bval: FsObject | None = shell.out(help="in all formats but .mif, whose header has it: b of every volume, s/mm²", callable=_written("output", False, ("dwi.bval",), False))
        dwi_bvec: FsObject | None = shell.out(help="likewise: direction of every volume", callable=_written("output", False, ("dwi.bvec",), False))
        dwi_bshape: FsObject | None = shell.out(help="with --b-tensor: shape of each volume's b-tensor: 1 linear, -0.5 planar, 0 spherical", callable=_written("output", False, ("dwi.bshape",), False))
        mask: FsObject | None = shell.out(help="voxels at least half of which are brain or its fluid", callable=_written("output", False, ("mask.{image}",), False))
        t1w: FsObject | None = shell.out(help="a T1-weighted picture without noise [arbitrary]", callable=_written("output", False, ("t1w.{image}",), False))
        labels: FsObject | None = shell.out(help="numbers of labels.txt (uint16), FreeSurfer's where it has them", callable=_written("output", False, ("labels.{image}",), False))
        labels_txt: FsObject | None = shell.out(help="number, name, red, green, blue, 0: a table that FSLeyes and mrview read", callable=_written("output", False, ("labels.txt",), False))
        image_5tt: FsObject | None = shell.out(help="cortical grey, subcortical grey, white, fluid, none; sum 1 in the mask, 0 outside: what `track --act` and MRtrix3 read", callable=_written("output", False, ("5tt.{image}",), False))
        truth_tissues: FsObject | None = shell.out(help="sum 1 everywhere: cortical and subcortical grey, white, fluid, blood, soft, fat, bone, air", callable=_written("output", False, ("truth/tissues.{image}",), False))
        truth_dirs: FsObject | None = shell.out(help="x y z of up to four fibres, largest fraction first, 0 = none", callable=_written("output", False, ("truth/dirs.{image}",), False))
        truth_fractions: FsObject | None = shell.out(help="their parts of the unweighted signal", callable=_written("output", False, ("truth/fractions.{image}",), False))
        truth_bundles: list[FsObject] | None = shell.out(help="numbers of their bundles, as in truth/bundles.txt; or of each bundle the voxels that its streamlines pass", callable=_written("output", False, ("truth/bundles.{image}", "truth/bundles/*.{image}"), True))
        truth_ODI: FsObject | None = shell.out(help="NODDI's index of their dispersion", callable=_written("output", False, ("truth/ODI.{image}",), False))
        truth_NDI: FsObject | None = shell.out(help="part of their water that is inside axons", callable=_written("output", False, ("truth/NDI.{image}",), False))
        truth_FA: FsObject | None = shell.out(help="of the signal without noise, in closed form, in the mask", callable=_written("output", False, ("truth/FA.{image}",), False))
        truth_MD: FsObject | None = shell.out(help="the same [mm^2/s]", callable=_written("output", False, ("truth/MD.{image}",), False))
        truth_MK: FsObject | None = shell.out(help="the same", callable=_written("output", False, ("truth/MK.{image}",), False))
        truth_S0: FsObject | None = shell.out(help="signal without weighting and noise [arbitrary]", callable=_written("output", False, ("truth/S0.{image}",), False))
        truth_coil: FsObject | None = shell.out(help="sensitivity of the coil", callable=_written("output", False, ("truth/coil.{image}",), False))
        truth_PD: FsObject | None = shell.out(help="proton density, 1 in fluid", callable=_written("output", False, ("truth/PD.{image}",), False))
        truth_T1: FsObject | None = shell.out(help="mean over the voxel's water [s]", callable=_written("output", False, ("truth/T1.{image}",), False))
        truth_T2: FsObject | None = shell.out(help="the same [s]", callable=_written("output", False, ("truth/T2.{image}",), False))
        truth_tracts_trx: FsObject | None = shell.out(help="the streamlines, a group for each bundle", callable=_written("output", False, ("truth/tracts.trx",), False))
        truth_bundles_txt: FsObject | None = shell.out(help="number, name and streamlines of each bundle; the last number is that of fibres of no bundle", callable=_written("output", False, ("truth/bundles.txt",), False))
        grad_dev: FsObject | None = shell.out(help="with --nonlinearity: L of every voxel, column by column, as FSL's: what --grad-dev of the fits reads", callable=_written("output", False, ("grad_dev.{image}",), False))
        truth_motion_tsv: FsObject | None = shell.out(help="with --motion: where the head is in each volume: mm along scanner x, y, z, then radians about them", callable=_written("output", False, ("truth/motion.tsv",), False))
        truth_dropped_tsv: FsObject | None = shell.out(help="with --dropped-slices: volume and slice, from 0, and what is left of the signal", callable=_written("output", False, ("truth/dropped.tsv",), False))
        gre_phase: FsObject | None = shell.out(help="with --gre: phase of every echo, wrapped [rad]", callable=_written("output", False, ("gre/phase.{image}",), False))
        gre_phase_json: FsObject | None = shell.out(help="with --gre: echo times and B0", callable=_written("output", False, ("gre/phase.json",), False))
        gre_magnitude: FsObject | None = shell.out(help="with --gre: magnitude of every echo [arbitrary]", callable=_written("output", False, ("gre/magnitude.{image}",), False))
        gre_mask: FsObject | None = shell.out(help="with --gre: voxels that are brain or its fluid alone", callable=_written("output", False, ("gre/mask.{image}",), False))
        gre_truth_chi: FsObject | None = shell.out(help="with --gre: mean of the susceptibility tensor, 0 outside the mask [ppm]", callable=_written("output", False, ("gre/truth/chi.{image}",), False))
        gre_truth_local_field: FsObject | None = shell.out(help="with --gre: field of what is in the mask [ppm]", callable=_written("output", False, ("gre/truth/local_field.{image}",), False))
        gre_truth_total_field: FsObject | None = shell.out(help="with --gre: the same with all outside it, shimmed [ppm]", callable=_written("output", False, ("gre/truth/total_field.{image}",), False))
        gre_truth_fibre: FsObject | None = shell.out(help="with --gre: direction of the largest fibre, as long as its fraction", callable=_written("output", False, ("gre/truth/fibre.{image}",), False))
        gre_truth_r2star: FsObject | None = shell.out(help="with --gre: decay of the magnitude but for that by the field [1/s]", callable=_written("output", False, ("gre/truth/r2star.{image}",), False))
        gre_truth_phase_offset: FsObject | None = shell.out(help="with --gre: phase at echo time 0 [rad]", callable=_written("output", False, ("gre/truth/phase_offset.{image}",), False))
        gre_truth_labels: FsObject | None = shell.out(help="with --gre: numbers of labels.txt", callable=_written("output", False, ("gre/truth/labels.{image}",), False))
        dataset_description_json: FsObject | None = shell.out(help="with --bids, in place of all these: what the data set is", callable=_written("output", False, ("dataset_description.json",), False))
        participants_tsv: FsObject | None = shell.out(help="with --bids, in place of all these: the number of each head and its noise", callable=_written("output", False, ("participants.tsv",), False))
        sub: list[FsObject] | None = shell.out(help="with --bids, in place of all these: dwi/ as QSIPrep has it: series, its tables, mask, mean unweighted volume, confounds and image_qc, with --nonlinearity graddev; anat/: T1-weighted picture, labels, five tissues, with --gre phase and magnitude of every echo", callable=_written("output", False, ("sub-*",), True))
        README: FsObject | None = shell.out(help="with --bids, in place of all these: what is simulated", callable=_written("output", False, ("README",), False))
        run_json: FsObject | None = shell.out(help="parameters, machine, times", callable=_written("output", False, ("run.json",), False))


@shell.define
class PhantomProtocol(shell.Task["PhantomProtocol.Outputs"]):
    """A fixed brain under the protocol of Palombo et al.: 10 b-values up to 8000 s/mm² along 30 directions; writes a folder, output."""

    executable = ["fimbria", "phantom", "protocol"]
    law: str | None = shell.arg(help="Law that the signal of every direction follows exactly [default: kurtosis]", allowed_values=["kurtosis", "stretched"], argstr="--law", default=None)
    size: str | None = shell.arg(help="Number of voxels along x, y, z [default: 128,128,16]", argstr="--size", default=None)
    voxel: str | None = shell.arg(help="Voxel size in mm [default: 0.46875,0.46875,0.75]", argstr="--voxel", default=None)
    snr: str | None = shell.arg(help="Unweighted white-matter signal over the noise in either channel; inf for no noise [default: 50]", argstr="--snr", default=None)
    rng_seed: int | None = shell.arg(help="Seed of the noise [from 0 on] [default: 1]", argstr="--rng-seed", default=None)
    output: str = shell.arg(help="Folder (or, where the command writes one file, the file) to write", argstr="--output", default="protocol")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    format: str | None = shell.arg(help="Format of the images [default: nii.gz]", allowed_values=["nii.gz", "nii", "mif"], argstr="--format", default=None)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the folder", callable=_written("output", False))
        dwi: FsObject | None = shell.out(help="the series [arbitrary]", callable=_written("output", False, ("dwi.{image}",), False))
        dwi_bval: FsObject | None = shell.out(help="in all formats but .mif, whose header has it: b of every volume, s/mm²", callable=_written("output", False, ("dwi.bval",), False))
        dwi_bvec: FsObject | None = shell.out(help="likewise: direction of every volume", callable=_written("output", False, ("dwi.bvec",), False))
        mask: FsObject | None = shell.out(help="voxels at least half of which are brain", callable=_written("output", False, ("mask.{image}",), False))
        truth_dirs: FsObject | None = shell.out(help="as in `fimbria phantom crossing`", callable=_written("output", False, ("truth/dirs.{image}",), False))
        truth_fractions: FsObject | None = shell.out(help="the same", callable=_written("output", False, ("truth/fractions.{image}",), False))
        truth_count: FsObject | None = shell.out(help="the same", callable=_written("output", False, ("truth/count.{image}",), False))
        truth_S0: FsObject | None = shell.out(help="the same [arbitrary]", callable=_written("output", False, ("truth/S0.{image}",), False))
        truth_D: FsObject | None = shell.out(help="diffusivity of every direction [mm^2/s]", callable=_written("output", False, ("truth/D.{image}",), False))
        truth_K: FsObject | None = shell.out(help="with --law kurtosis: kurtosis of every direction", callable=_written("output", False, ("truth/K.{image}",), False))
        truth_MK: FsObject | None = shell.out(help="with --law kurtosis: mean of K", callable=_written("output", False, ("truth/MK.{image}",), False))
        truth_A: FsObject | None = shell.out(help="with --law stretched: A of every direction [mm^2/s]", callable=_written("output", False, ("truth/A.{image}",), False))
        truth_gamma: FsObject | None = shell.out(help="with --law stretched: gamma of every direction", callable=_written("output", False, ("truth/gamma.{image}",), False))
        truth_Mgamma: FsObject | None = shell.out(help="with --law stretched: mean of gamma", callable=_written("output", False, ("truth/Mgamma.{image}",), False))
        run_json: FsObject | None = shell.out(help="parameters, machine, times", callable=_written("output", False, ("run.json",), False))


@shell.define
class PhantomTensors(shell.Task["PhantomTensors.Outputs"]):
    """A sheet of higher-order tensors with one or two fibres per voxel; writes a folder, output."""

    executable = ["fimbria", "phantom", "tensors"]
    size: str | None = shell.arg(help="Number of voxels along x and y [default: 32,32]", argstr="--size", default=None)
    order: int | None = shell.arg(help="Order of the tensors [4, 6 or 8] [default: 4]", argstr="--order", default=None)
    angles: str | None = shell.arg(help="Crossing angles in degrees at the least and at the greatest x, linear in between [default: 60,90]", argstr="--angles", default=None)
    noise: float | None = shell.arg(help="Standard deviation of the noise on every entry, relative to the maximum of a single fibre [from 0 on] [default: 0]", argstr="--noise", default=None)
    rng_seed: int | None = shell.arg(help="Seed of fractions, tilts and noise [from 0 on] [default: 1]", argstr="--rng-seed", default=None)
    output: str = shell.arg(help="Folder (or, where the command writes one file, the file) to write", argstr="--output", default="tensors")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    format: str | None = shell.arg(help="Format of the images [default: nii.gz]", allowed_values=["nii.gz", "nii", "mif"], argstr="--format", default=None)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the folder", callable=_written("output", False))
        hot: FsObject | None = shell.out(help="unique entries of the form 0.1 |g|^m + sum f_k (u_k.g)^m of the fibres u_k (15, 28 or 45 volumes for order 4, 6, 8): what `fimbria peaks` reads", callable=_written("output", False, ("hot.{image}",), False))
        truth_dirs: FsObject | None = shell.out(help="x y z of two fibres, larger fraction first, 0 = none", callable=_written("output", False, ("truth/dirs.{image}",), False))
        truth_fractions: FsObject | None = shell.out(help="f of each; 1 for a single fibre, 0.4 to 0.6 for two", callable=_written("output", False, ("truth/fractions.{image}",), False))
        truth_count: FsObject | None = shell.out(help="number of fibres: 2 in the middle half of the rows, 1 elsewhere", callable=_written("output", False, ("truth/count.{image}",), False))
        truth_angle: FsObject | None = shell.out(help="angle between the fibres; NaN with one [degree]", callable=_written("output", False, ("truth/angle.{image}",), False))
        run_json: FsObject | None = shell.out(help="parameters, machine, times", callable=_written("output", False, ("run.json",), False))


@shell.define
class Track(shell.Task["Track.Outputs"]):
    """Track fibres through samples of directions, peaks or functions on the sphere; writes a folder, output."""

    executable = ["fimbria", "track"]
    directions: FsObject = shell.arg(help="A bedpostX folder or base name of samples (FOLDER/merged); an image of peaks or of V1 (three volumes per direction, or as DIPY writes them); an image of spherical harmonics that says that it is one; with --sh-basis or --hot any image of coefficients", argstr="", position=1)
    sh_basis: str | None = shell.arg(help="Volumes are spherical harmonics of this basis [default: what the image says of itself]", allowed_values=["mrtrix", "dipy", "dipy-legacy"], argstr="--sh-basis", default=None)
    peaks: bool = shell.arg(help="Volumes are directions, three to each, whatever the image says or looks like", argstr="--peaks", default=False)
    hot: bool = shell.arg(help="Volumes are unique entries of a higher-order tensor (fit fod)", argstr="--hot", default=False)
    frame: str | None = shell.arg(help="Axes of peaks or coefficients [default: what the image says of itself (FSL's V1 and dyads are in FSL's), else scanner; voxel with a basis of DIPY]", allowed_values=["fsl", "voxel", "scanner"], argstr="--frame", default=None)
    dispersion: float | None = shell.arg(help="Scatter directions around peaks by this angle; 0 tracks deterministically [from 0 on, degrees] [default: 0]", argstr="--dispersion", default=None)
    mask: FsObject | None = shell.arg(help="Voxels to track in [default: those that have directions; nodif_brain_mask of a folder]", argstr="--mask", default=None)
    seeds: list[FsObject] = shell.arg(help="Where to start: voxels of an image, vertices of a surface (.gii), or points of a list (.txt), rows of x y z; given several times, several regions", argstr="--seeds ...")
    include: list[FsObject] | None = shell.arg(help="Where streamlines must pass; given several times, all of them", argstr="--include ...", default=None)
    include_any: bool = shell.arg(help="One of those is enough", argstr="--include-any", default=False)
    in_order: bool = shell.arg(help="In the order given", argstr="--in-order", default=False)
    exclude: list[FsObject] | None = shell.arg(help="Where streamlines must not pass", argstr="--exclude ...", default=None)
    stop: list[FsObject] | None = shell.arg(help="Where streamlines end", argstr="--stop ...", default=None)
    target: list[FsObject] | None = shell.arg(help="Count for each seed the streamlines that reach this", argstr="--target ...", default=None)
    network: bool = shell.arg(help="Keep only what joins two of the seed regions, and count pairs", argstr="--network", default=False)
    act: FsObject | None = shell.arg(help="Tissues that say where streamlines may end: five volumes (cortical grey, subcortical grey, white, fluid, other), as `phantom head` and 5ttgen write them, or labels of FreeSurfer, SynthSeg or FAST; any grid in the same scanner space", argstr="--act", default=None)
    backtrack: bool = shell.arg(help="Take streamlines that end wrongly back some steps and let them go on another way", argstr="--backtrack", default=False)
    crop: bool = shell.arg(help="Cut ends in grey matter off at its boundary with white matter", argstr="--crop", default=False)
    seed_boundary: bool = shell.arg(help="Start on that boundary, in the voxels of --seeds (in a run: with densities) that it passes, and go into white matter", argstr="--seed-boundary", default=False)
    samples: int | None = shell.arg(help="Streamlines from each seed [1 to 1000000000] [default: 50; in a run 2; through densities --select, in a run with life 2]", argstr="--samples", default=None)
    select: int | None = shell.arg(help="Through densities: start at seeds drawn at random until so many streamlines are kept, or a thousand times as many were started [1 to 100000000] [default: 10000 through densities]", argstr="--select", default=None)
    seeds_by: str | None = shell.arg(help="Through densities: how the seeds to start at are drawn [default: equal]", allowed_values=["equal", "density"], argstr="--seeds-by", default=None)
    algorithm: str | None = shell.arg(help="Through densities: which way to go on [default: probabilistic]", allowed_values=["probabilistic", "transport", "deterministic"], argstr="--algorithm", default=None)
    step: float | None = shell.arg(help="Length of a step [above 0, mm] [default: 0.5, in a run a quarter of the shortest voxel edge; through densities half of it, deterministic a fifth, transport a tenth]", argstr="--step", default=None)
    max_length: float | None = shell.arg(help="Longest streamline [above 0, mm] [default: 1000; through densities and in a run 250]", argstr="--max-length", default=None)
    min_length: float | None = shell.arg(help="Shortest streamline kept [from 0 on, mm] [default: 0, in a run 20; through densities 10]", argstr="--min-length", default=None)
    angle: float | None = shell.arg(help="Largest angle between two steps [0 to 180, degrees] [default: 78.46304; through densities 45, transport 6]", argstr="--angle", default=None)
    cutoff: float | None = shell.arg(help="Through densities: end where the density is below this, in its units [above 0] [default: 0.15; deterministic or with --act 0.1]", argstr="--cutoff", default=None)
    power: float | None = shell.arg(help="Through densities: the power to which the mean of the densities along an arc or a probe is raised [above 0] [default: 1]", argstr="--power", default=None)
    probe: float | None = shell.arg(help="Transport: how far densities are looked at ahead [above 0, mm] [default: half the shortest voxel edge]", argstr="--probe", default=None)
    fibre_threshold: float | None = shell.arg(help="Fibres with a fraction (of peaks: length as part of the longest) up to this are not followed [0 to 1] [default: 0.01; in a run 0.05]", argstr="--fibre-threshold", default=None)
    use_fraction: bool = shell.arg(help="End with probability 1 - f at each step", argstr="--use-fraction", default=False)
    modified_euler: bool = shell.arg(help="Average each direction with that one step ahead", argstr="--modified-euler", default=False)
    loop_check: bool = shell.arg(help="End streamlines that come back on themselves", argstr="--loop-check", default=False)
    first_fibre: str | None = shell.arg(help="The fibre to start with [default: largest; in a run proportional]", allowed_values=["largest", "uniform", "proportional"], argstr="--first-fibre", default=None)
    jitter: float | None = shell.arg(help="Start anywhere in a sphere of this radius [from 0 on, mm] [default: 0, in a run half the longest voxel edge; through densities anywhere in the voxel]", argstr="--jitter", default=None)
    rng_seed: int | None = shell.arg(help="Seed of the random numbers [from 0 on] [default: 1]", argstr="--rng-seed", default=None)
    tracks: str | None = shell.arg(help="Format of the streamlines; none writes only maps and matrices [default: trx]", allowed_values=["trx", "tck", "trk", "none"], argstr="--tracks", default=None)
    output: str = shell.arg(help="Folder (or, where the command writes one file, the file) to write", argstr="--output", default="track")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    device: str | None = shell.arg(help="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]", argstr="--device", default=None)
    device_memory: float | None = shell.arg(help="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]", argstr="--device-memory", default=None)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the folder", callable=_written("output", False))
        tracks: FsObject | None = shell.out(help="streamlines (.trx, or .tck, .trk), with seed (index of the seed voxel, x fastest, x counted as FSL does; number of a vertex or point), region, sample, seed_point (which point is the seed), end_first and end_last (why it ends there); not in .tck", callable=_written("output", False, ("tracks.*",), False))
        visits: FsObject | None = shell.out(help="streamlines through each voxel, each counted once", callable=_written("output", False, ("visits.{image}",), False))
        waytotal: FsObject | None = shell.out(help="streamlines kept, a line for each seed region", callable=_written("output", False, ("waytotal",), False))
        seeds_to: list[FsObject] | None = shell.out(help="with --target: streamlines of each seed voxel that reach the target", callable=_written("output", False, ("seeds_*to_*.{image}",), True))
        seeds_to_gii: list[FsObject] | None = shell.out(help="with --target: the same of the vertices of a surface", callable=_written("output", False, ("seeds_*to_*.gii",), True))
        seeds_to_txt: list[FsObject] | None = shell.out(help="with --target: the same of points", callable=_written("output", False, ("seeds_*to_*.txt",), True))
        matrix_network_tsv: FsObject | None = shell.out(help="with --network: streamlines from region (row) to region (column)", callable=_written("output", False, ("matrix_network.tsv",), False))
        run_json: FsObject | None = shell.out(help="inputs with hashes, parameters, machine, times, how many halves ended and why", callable=_written("output", False, ("run.json",), False))


@shell.define
class Probtrackx2(shell.Task["Probtrackx2.Outputs"]):
    """Track as FSL's probtrackx2 does: its options, its files, its numbers; writes a folder, out."""

    executable = ["fimbria", "probtrackx2"]
    verbosity: int | None = shell.arg(help="How much is said: 0, or 1 and 2 for what was read [0 to 2] [default: 0]", argstr="", position=1, default=None)
    samples: str = shell.arg(help="Base name of the samples: BASE_th1samples, BASE_ph1samples, BASE_f1samples, ...2 ", argstr="--samples")
    mask: FsObject = shell.arg(help="Brain mask, on the grid of the samples", argstr="--mask")
    seed: FsObject = shell.arg(help="Seeds: an image, a GIFTI surface (.gii), or a text file that lists them; with --simple, voxel coordinates", argstr="--seed")
    out: str = shell.arg(help="Base name of the map of visits [default: fdt_paths]", argstr="--out", default="probtrackx2")
    dir: str | None = shell.arg(help="Folder to write; where it exists, one with + after its name [default: logdir]", argstr="--dir", default=None)
    forcedir: bool = shell.arg(help="Write to exactly that folder", argstr="--forcedir", default=False)
    simple: bool = shell.arg(help="Seeds are points in a text file: voxel coordinates, N rows of 3 or 3 rows of N", argstr="--simple", default=False)
    xfm: FsObject | None = shell.arg(help="Transform from seed space to that of the samples, as FLIRT writes it, or a warp field [default: identity]", argstr="--xfm", default=None)
    invxfm: FsObject | None = shell.arg(help="The transform back; needed, and used, with warp fields", argstr="--invxfm", default=None)
    seedref: FsObject | None = shell.arg(help="Image whose grid is the seed space [default: the brain mask]", argstr="--seedref", default=None)
    meshspace: str | None = shell.arg(help="What coordinates of surfaces count in [default: caret]", allowed_values=["caret", "freesurfer", "first", "vox"], argstr="--meshspace", default=None)
    closestvertex: bool = shell.arg(help="Of a triangle that is crossed, count the nearest vertex instead of all three", argstr="--closestvertex", default=False)
    opd: bool = shell.arg(help="The map of visits", argstr="--opd", default=False)
    pd: bool = shell.arg(help="Count distances from the seed (mm) instead of visits", argstr="--pd", default=False)
    ompl: bool = shell.arg(help="Mean lengths too", argstr="--ompl", default=False)
    os2t: bool = shell.arg(help="For every target a map of the seeds that reach it", argstr="--os2t", default=False)
    targetmasks: FsObject | None = shell.arg(help="The targets: an image, a surface, or a text file that lists them", argstr="--targetmasks", default=None)
    s2tastext: bool = shell.arg(help="Seeds and targets as a matrix of text", argstr="--s2tastext", default=False)
    otargetpaths: bool = shell.arg(help="For every target a map of the visits of the samples that reach it, with --os2t", argstr="--otargetpaths", default=False)
    omatrix1: bool = shell.arg(help="The sparse matrix from seed to seed", argstr="--omatrix1", default=False)
    distthresh1: float | None = shell.arg(help="Least length of what that matrix counts [from 0 on, mm] [default: 0]", argstr="--distthresh1", default=None)
    omatrix2: bool = shell.arg(help="The sparse matrix from seed to voxel of --target2", argstr="--omatrix2", default=False)
    target2: FsObject | None = shell.arg(help="Its voxels: a mask on a grid of its own, usually a coarse one, whose first voxel has the same centre", argstr="--target2", default=None)
    omatrix3: bool = shell.arg(help="The sparse matrix between places of --target3, wherever streamlines start", argstr="--omatrix3", default=False)
    target3: FsObject | None = shell.arg(help="Its rows, and its columns unless --lrtarget3 gives them: an image, a surface, or a list of them", argstr="--target3", default=None)
    lrtarget3: FsObject | None = shell.arg(help="Its columns", argstr="--lrtarget3", default=None)
    distthresh3: float | None = shell.arg(help="Least length of what matrix 3 counts [from 0 on, mm] [default: 0]", argstr="--distthresh3", default=None)
    fopd: FsObject | None = shell.arg(help="The map of visits in these regions alone, too: an image, or a list of images", argstr="--fopd", default=None)
    opathdir: bool = shell.arg(help="Mean orientations of paths", argstr="--opathdir", default=False)
    savepaths: bool = shell.arg(help="Every path, as text", argstr="--savepaths", default=False)
    waypoints: FsObject | None = shell.arg(help="Where streamlines must go", argstr="--waypoints", default=None)
    waycond: str | None = shell.arg(help="To all of them, or to one [default: AND]", allowed_values=["AND", "OR"], argstr="--waycond", default=None)
    wayorder: bool = shell.arg(help="In the order of the list", argstr="--wayorder", default=False)
    onewaycondition: bool = shell.arg(help="Each half by itself", argstr="--onewaycondition", default=False)
    avoid: FsObject | None = shell.arg(help="Where they must not go", argstr="--avoid", default=None)
    stop: FsObject | None = shell.arg(help="Where they end on entering", argstr="--stop", default=None)
    wtstop: FsObject | None = shell.arg(help="Where they end on leaving", argstr="--wtstop", default=None)
    network: bool = shell.arg(help="Keep only what reaches another of the seed regions", argstr="--network", default=False)
    forcefirststep: bool = shell.arg(help="Ask --avoid and --stop from the second point on", argstr="--forcefirststep", default=False)
    nsamples: int | None = shell.arg(help="Samples per seed [1 to 1000000000] [default: 5000]", argstr="--nsamples", default=None)
    nsteps: int | None = shell.arg(help="Steps per sample, both halves together [2 to 2000000] [default: 2000]", argstr="--nsteps", default=None)
    steplength: float | None = shell.arg(help="Length of a step [above 0, mm] [default: 0.5]", argstr="--steplength", default=None)
    distthresh: float | None = shell.arg(help="Drop halves shorter than this [from 0 on, mm] [default: 0]", argstr="--distthresh", default=None)
    cthr: float | None = shell.arg(help="Least cosine of the angle between steps [-1 to 1] [default: 0.2]", argstr="--cthr", default=None)
    fibthresh: float | None = shell.arg(help="Least fraction of fibres to consider [0 to 1] [default: 0.01]", argstr="--fibthresh", default=None)
    loopcheck: bool = shell.arg(help="End paths that come back on themselves", argstr="--loopcheck", default=False)
    usef: bool = shell.arg(help="End paths where fractions are low, with probability 1 - f at each step", argstr="--usef", default=False)
    modeuler: bool = shell.arg(help="Modified Euler steps", argstr="--modeuler", default=False)
    sampvox: float | None = shell.arg(help="Start anywhere in a sphere of this radius [from 0 on, mm] [default: 0]", argstr="--sampvox", default=None)
    randfib: int | None = shell.arg(help="First fibre: 0 the first, 1 any above --fibthresh, 2 the same by fraction, 3 any [0 to 3] [default: 0]", argstr="--randfib", default=None)
    fibst: int | None = shell.arg(help="Always start with this fibre, whatever --randfib says [from 1 on]", argstr="--fibst", default=None)
    rseed: int | None = shell.arg(help="Seed of the random numbers [from 0 on] [default: 12345]", argstr="--rseed", default=None)
    prefdir: FsObject | None = shell.arg(help="Of 3 volumes: directions (FSL's frame) that the fibre to follow is nearest to, in place of the current direction, where not zero. Of 1: the rule by which it is chosen at all steps but the first, as --randfib has them, where 1 or more", argstr="--prefdir", default=None)
    locfibchoice: FsObject | None = shell.arg(help="The rule by which the fibre is chosen in the voxel looked up: 1 any above --fibthresh, 2 any of those within 40 degrees, 3 any by fraction, else the nearest", argstr="--locfibchoice", default=None)
    loccurvthresh: FsObject | None = shell.arg(help="Least cosine of the angle between steps, in place of --cthr", argstr="--loccurvthresh", default=None)
    no_integrity: FsObject | None = shell.arg(help="Where no fibre is drawn and the last one is followed on; on the grid of the seeds", argstr="--no_integrity", default=None)
    noprobinterpol: bool = shell.arg(help="Look the nearest voxel up, not a random corner", argstr="--noprobinterpol", default=False)
    onewayonly: bool = shell.arg(help="From surfaces go into the brain only, against the normal of the vertex; both ways with --omatrix3", argstr="--onewayonly", default=False)
    rng: str | None = shell.arg(help="Random numbers: philox; constant:U, always U; lcg:X, a linear congruence from X. The latter two are drawn in FSL's order by one thread, to repeat a path exactly [default: philox]", argstr="--rng", default=None)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    device: str | None = shell.arg(help="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]", argstr="--device", default=None)
    device_memory: float | None = shell.arg(help="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]", argstr="--device-memory", default=None)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the folder", callable=_written("out", False))
        fdt_paths: list[FsObject] | None = shell.out(help="with --opd: visits of each voxel, one per sample at most, under the name of --out; of each point with --simple, fdt_paths_X_Y_Z; sums of distances with --pd", callable=_written("out", False, ("fdt_paths*.{image}",), True))
        fdt_paths_lengths: list[FsObject] | None = shell.out(help="with --ompl: mean distance from the seed [mm]", callable=_written("out", False, ("fdt_paths*_lengths.{image}",), True))
        fdt_paths_alt: list[FsObject] | None = shell.out(help="with --fopd: visits in the regions of --fopd, 0 elsewhere; of several _alt_0, _alt_1 and so on", callable=_written("out", False, ("fdt_paths*_alt*.{image}",), True))
        fdt_paths_localdir: list[FsObject] | None = shell.out(help="with --opathdir: mean orientation of the steps that first enter a voxel", callable=_written("out", False, ("fdt_paths*_localdir.{image}",), True))
        waytotal: FsObject | None = shell.out(help="samples kept; with --network a row for each seed region", callable=_written("out", False, ("waytotal",), False))
        seeds_to: list[FsObject] | None = shell.out(help="with --os2t: samples of each seed that reach the target", callable=_written("out", False, ("seeds_*to_*.{image}",), True))
        seeds_to_gii: list[FsObject] | None = shell.out(help="with --os2t: the same of a surface", callable=_written("out", False, ("seeds_*to_*.gii",), True))
        target_paths: list[FsObject] | None = shell.out(help="with --otargetpaths: visits of each voxel by the samples that reach the target, counted as fdt_paths", callable=_written("out", False, ("target_paths_*.{image}",), True))
        target_paths_lengths: list[FsObject] | None = shell.out(help="with --otargetpaths and --ompl: their mean distance from the seed [mm]", callable=_written("out", False, ("target_paths_*_lengths.{image}",), True))
        target_localdir: list[FsObject] | None = shell.out(help="with --otargetpaths and --opathdir: mean orientation of the steps by which they first enter a voxel", callable=_written("out", False, ("target_localdir_*.{image}",), True))
        matrix_seeds_to_all_targets: FsObject | None = shell.out(help="with --s2tastext: the same as text", callable=_written("out", False, ("matrix_seeds_to_all_targets",), False))
        fdt_network_matrix: FsObject | None = shell.out(help="with --network: samples from region (row) to region (column)", callable=_written("out", False, ("fdt_network_matrix",), False))
        fdt_network_matrix_lengths: FsObject | None = shell.out(help="with --network and --ompl: their mean lengths, mm", callable=_written("out", False, ("fdt_network_matrix_lengths",), False))
        fdt_matrix1_dot: FsObject | None = shell.out(help="with --omatrix1: samples from seed (row) to seed (column): row column value, 1-based", callable=_written("out", False, ("fdt_matrix1.dot",), False))
        coords_for_fdt_matrix1: FsObject | None = shell.out(help="with --omatrix1: x y z region number of each seed, stored voxel coordinates", callable=_written("out", False, ("coords_for_fdt_matrix1",), False))
        fdt_matrix2_dot: FsObject | None = shell.out(help="with --omatrix2: samples from seed (row) to voxel of --target2 (column)", callable=_written("out", False, ("fdt_matrix2.dot",), False))
        coords_for_fdt_matrix2: FsObject | None = shell.out(help="with --omatrix2: where rows are", callable=_written("out", False, ("coords_for_fdt_matrix2",), False))
        tract_space_coords_for_fdt_matrix2: FsObject | None = shell.out(help="with --omatrix2: where columns are", callable=_written("out", False, ("tract_space_coords_for_fdt_matrix2",), False))
        lookup_tractspace_fdt_matrix2: FsObject | None = shell.out(help="with --omatrix2: the column of each voxel", callable=_written("out", False, ("lookup_tractspace_fdt_matrix2.{image}",), False))
        fdt_matrix3_dot: FsObject | None = shell.out(help="with --omatrix3: samples through two voxels of --target3, row before column, or through one of it and one of --lrtarget3", callable=_written("out", False, ("fdt_matrix3.dot",), False))
        coords_for_fdt_matrix3: FsObject | None = shell.out(help="with --omatrix3: where rows are", callable=_written("out", False, ("coords_for_fdt_matrix3",), False))
        tract_space_coords_for_fdt_matrix3: FsObject | None = shell.out(help="with --omatrix3: where columns are, where they have voxels of their own", callable=_written("out", False, ("tract_space_coords_for_fdt_matrix3",), False))
        fdt_matrix_lengths_dot: list[FsObject] | None = shell.out(help="with --ompl: mean lengths of the entries, mm", callable=_written("out", False, ("fdt_matrix*_lengths.dot",), True))
        saved_paths_txt: FsObject | None = shell.out(help="with --savepaths: paths", callable=_written("out", False, ("saved_paths.txt",), False))
        probtrackx_log: FsObject | None = shell.out(help="what was done, why halves ended", callable=_written("out", False, ("probtrackx.log",), False))
        run_json: FsObject | None = shell.out(help="the same for programs", callable=_written("out", False, ("run.json",), False))


@shell.define
class Report(shell.Task["Report.Outputs"]):
    """Draw the page of a finished folder; writes the file output."""

    executable = ["fimbria", "report"]
    folder: FsObject = shell.arg(help="Folder that a command wrote: `run`, `demo`, `fit`, `track`, `life`, `connectome`, `qsm`, `compare` …", argstr="", position=1)
    title: str | None = shell.arg(help="Heading of the page [default: the names of the folder and of that above it]", argstr="--title", default=None)
    output: str = shell.arg(help="Folder (or, where the command writes one file, the file) to write", argstr="--output")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the file", callable=_written("output", True))
        file: FsObject | None = shell.out(help="one HTML file that needs no other and no network", callable=_written("output", True, ("",), False))
        file_run_json: FsObject | None = shell.out(help="what was done", callable=_written("output", True, (".run.json",), False))


@shell.define
class Connectome(shell.Task["Connectome.Outputs"]):
    """Count the streamlines between the regions of a label image; writes a folder, output."""

    executable = ["fimbria", "connectome"]
    tractogram: FsObject = shell.arg(help="Tractogram: .tck, .trk, .trx or a TRX folder", argstr="", position=1)
    labels: FsObject = shell.arg(help="Image of labels: whole numbers, 0 is background", argstr="", position=2)
    radius: float | None = shell.arg(help="How far the nearest labelled voxel may be from an end [0 to 100, mm] [default: 4]", argstr="--radius", default=None)
    exact_label: bool = shell.arg(help="Take the label of the voxel that holds the end, and no other", argstr="--exact-label", default=False)
    weights: str | None = shell.arg(help="Weight of each streamline: a text file of numbers, or the name of the tractogram's own data", argstr="--weights", default=None)
    map: list[str] | None = shell.arg(help="Also the mean of this map along the streamlines of each edge, as mean_NAME; once for each map: any grid of the same scanner space", argstr="--map ...", default=None)
    lut: FsObject | None = shell.arg(help="Names of the labels: a table of FreeSurfer or MRtrix3, or dseg.tsv of BIDS", argstr="--lut", default=None)
    per_length: bool = shell.arg(help="Divide what each streamline counts by its length, mm", argstr="--per-length", default=False)
    per_volume: bool = shell.arg(help="Divide what an edge counts by the mean number of voxels of its two labels", argstr="--per-volume", default=False)
    hollow: bool = shell.arg(help="Leave out what connects a label with itself: the diagonal is 0", argstr="--hollow", default=False)
    upper: bool = shell.arg(help="Leave out what is below the diagonal: each pair stands once, the rest is 0", argstr="--upper", default=False)
    npy: bool = shell.arg(help="Write each matrix for numpy too", argstr="--npy", default=False)
    output: str = shell.arg(help="Folder (or, where the command writes one file, the file) to write", argstr="--output", default="connectome")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the folder", callable=_written("output", False))
        weights_csv: FsObject | None = shell.out(help="number of streamlines, or with --weights the sum of their weights; with --per-length (1/mm) and --per-volume divided", callable=_written("output", False, ("weights.csv",), False))
        counts_csv: FsObject | None = shell.out(help="where weights.csv has something else: number of streamlines", callable=_written("output", False, ("counts.csv",), False))
        lengths_csv: FsObject | None = shell.out(help="their (weighted) mean length, mm, 0 where there are none", callable=_written("output", False, ("lengths.csv",), False))
        mean_csv: list[FsObject] | None = shell.out(help="with --map: (weighted) mean of a map: first along each streamline by length, then over the streamlines; 0 where there are none", callable=_written("output", False, ("mean_*.csv",), True))
        labels_txt: FsObject | None = shell.out(help="the label of each row, ascending", callable=_written("output", False, ("labels.txt",), False))
        labels_tsv: FsObject | None = shell.out(help="with --lut: index, name: the same with what it is called", callable=_written("output", False, ("labels.tsv",), False))
        npy: list[FsObject] | None = shell.out(help="with --npy: each matrix again, little-endian f64: numpy.load", callable=_written("output", False, ("*.npy",), True))
        run_json: FsObject | None = shell.out(help="inputs with hashes, parameters, machine, times, how many were assigned", callable=_written("output", False, ("run.json",), False))


@shell.define
class TractEdit(shell.Task["TractEdit.Outputs"]):
    """Choose streamlines by regions, length, weight or at random, join tractograms, and make points anew; writes the file output."""

    executable = ["fimbria", "tract", "edit"]
    inputs: list[FsObject] = shell.arg(help="Tractograms: .tck, .trk, .trx or a TRX folder; several are joined in this order", argstr="", position=1)
    include: list[str] | None = shell.arg(help="Keep what passes this region; all of them where there are several. A region is an image (voxels above zero, on any grid), labels of one (IMAGE:LABEL,LABEL; numbers, or names of --lut), or a ball (X,Y,Z,RADIUS, mm)", argstr="--include ...", default=None)
    include_any: list[str] | None = shell.arg(help="Keep what passes one of these regions at least", argstr="--include-any ...", default=None)
    exclude: list[str] | None = shell.arg(help="Leave out what passes one of these regions", argstr="--exclude ...", default=None)
    ends_in: list[str] | None = shell.arg(help="Keep what has an end in this region; given twice, one end in each (the same twice: both ends in it)", argstr="--ends-in ...", default=None)
    ends_only: bool = shell.arg(help="Of every streamline look at its two ends only, for all regions", argstr="--ends-only", default=False)
    min_length: float | None = shell.arg(help="Keep what is so long at least [from 0 on, mm]", argstr="--min-length", default=None)
    max_length: float | None = shell.arg(help="Keep what is so long at most [from 0 on, mm]", argstr="--max-length", default=None)
    weights: str | None = shell.arg(help="Weight of each streamline: a text file of numbers, or the name of the tractograms' own data", argstr="--weights", default=None)
    min_weight: float | None = shell.arg(help="Keep what weighs so much at least [from 0 on]", argstr="--min-weight", default=None)
    max_weight: float | None = shell.arg(help="Keep what weighs so much at most [from 0 on]", argstr="--max-weight", default=None)
    inverse: bool = shell.arg(help="Keep what would be left out by all of these together, and leave out the rest", argstr="--inverse", default=False)
    skip: int | None = shell.arg(help="Of those, leave out so many at the beginning [from 0 on] [default: 0]", argstr="--skip", default=None)
    number: int | None = shell.arg(help="Of those, keep so many, drawn at random; their order stays [from 1 on] [default: all]", argstr="--number", default=None)
    rng_seed: int | None = shell.arg(help="Seed of the random numbers [from 0 on] [default: 0]", argstr="--rng-seed", default=None)
    points: int | None = shell.arg(help="Give each streamline so many points, evenly spaced [2 to 100000]", argstr="--points", default=None)
    step: float | None = shell.arg(help="Space points evenly, as near to this as equal steps from end to end come [above 0, mm]", argstr="--step", default=None)
    compress: float | None = shell.arg(help="Leave out points as long as none is farther than this from what is left (pieces of 10 mm at most) [above 0, mm]", argstr="--compress", default=None)
    lut: FsObject | None = shell.arg(help="Names of labels: a text file with a number and a name in each line, as FreeSurfer and MRtrix3 have it", argstr="--lut", default=None)
    linear: FsObject | None = shell.arg(help="Regions of another space: the 4 x 4 matrix that brings its images onto the data with mrtransform -linear. It takes scanner mm of the data to scanner mm of that space", argstr="--linear", default=None)
    warp: FsObject | None = shell.arg(help="The same for mrtransform -warp: an image on the data's side with three volumes, scanner mm of that space", argstr="--warp", default=None)
    xfm: FsObject | None = shell.arg(help="The same for FSL: the matrix of flirt -omat, or the field that applywarp -w takes, from --xfm-in to --xfm-ref", argstr="--xfm", default=None)
    xfm_in: FsObject | None = shell.arg(help="Image of the regions' space: flirt -in, applywarp -i", argstr="--xfm-in", default=None)
    xfm_ref: FsObject | None = shell.arg(help="Image of the data's space: flirt -ref, applywarp -r", argstr="--xfm-ref", default=None)
    reference: FsObject | None = shell.arg(help="Image whose grid .trk and .trx name [default: the one that the input names]", argstr="--reference", default=None)
    output: str = shell.arg(help="Folder (or, where the command writes one file, the file) to write", argstr="--output")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the file", callable=_written("output", True))
        file: FsObject | None = shell.out(help="the streamlines kept: .tck, .trk, .trx", callable=_written("output", True, ("",), False))
        file_weights_txt: FsObject | None = shell.out(help="where --weights is a file: their weights, a line each", callable=_written("output", True, (".weights.txt",), False))
        file_run_json: FsObject | None = shell.out(help="what was done", callable=_written("output", True, (".run.json",), False))


@shell.define
class TractBundles(shell.Task["TractBundles.Outputs"]):
    """Find named bundles by their regions and lengths; writes a folder, output."""

    executable = ["fimbria", "tract", "bundles"]
    inputs: list[FsObject] = shell.arg(help="Tractograms: .tck, .trk, .trx or a TRX folder; several are joined in this order", argstr="", position=1)
    bundles: FsObject = shell.arg(help="Bundles by name: a TOML file with a table for each, whose keys are include, include_any, exclude, ends_in, ends_only, min_length and max_length, as the options of `tract edit`; images are beside the file", argstr="--bundles")
    weights: str | None = shell.arg(help="Weight of each streamline: a text file of numbers, or the name of the tractograms' own data", argstr="--weights", default=None)
    lut: FsObject | None = shell.arg(help="Names of labels: a text file with a number and a name in each line, as FreeSurfer and MRtrix3 have it", argstr="--lut", default=None)
    linear: FsObject | None = shell.arg(help="Regions of another space: the 4 x 4 matrix that brings its images onto the data with mrtransform -linear. It takes scanner mm of the data to scanner mm of that space", argstr="--linear", default=None)
    warp: FsObject | None = shell.arg(help="The same for mrtransform -warp: an image on the data's side with three volumes, scanner mm of that space", argstr="--warp", default=None)
    xfm: FsObject | None = shell.arg(help="The same for FSL: the matrix of flirt -omat, or the field that applywarp -w takes, from --xfm-in to --xfm-ref", argstr="--xfm", default=None)
    xfm_in: FsObject | None = shell.arg(help="Image of the regions' space: flirt -in, applywarp -i", argstr="--xfm-in", default=None)
    xfm_ref: FsObject | None = shell.arg(help="Image of the data's space: flirt -ref, applywarp -r", argstr="--xfm-ref", default=None)
    tracks: str | None = shell.arg(help="Format of the bundles [default: that of the first tractogram]", allowed_values=["trx", "tck", "trk"], argstr="--tracks", default=None)
    reference: FsObject | None = shell.arg(help="Image whose voxels volumes are counted in, and whose grid .trk and .trx name [default: the one that the input names, else that of the first region]", argstr="--reference", default=None)
    output: str = shell.arg(help="Folder (or, where the command writes one file, the file) to write", argstr="--output", default="bundles")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the folder", callable=_written("output", False))
        bundles_tsv: FsObject | None = shell.out(help="name, streamlines, sum of weights, (weighted) mean length in mm, and volume in mm³ of each", callable=_written("output", False, ("bundles.tsv",), False))
        run_json: FsObject | None = shell.out(help="inputs with hashes, parameters, machine, times, counts, warnings", callable=_written("output", False, ("run.json",), False))


@shell.define
class TractClean(shell.Task["TractClean.Outputs"]):
    """Take streamlines out of a bundle that stray from its core or are too long; writes the file output."""

    executable = ["fimbria", "tract", "clean"]
    bundle: FsObject = shell.arg(help="Streamlines of one bundle: .tck, .trk, .trx or a TRX folder", argstr="", position=1)
    distance: float | None = shell.arg(help="Leave out what is farther than this from the core at any point [above 0, standard deviations] [default: 5]", argstr="--distance", default=None)
    length: float | None = shell.arg(help="Leave out what is longer than the mean by more than this [above 0, standard deviations] [default: 4]", argstr="--length", default=None)
    points: int | None = shell.arg(help="Points along each streamline at which it is judged [2 to 10000] [default: 100]", argstr="--points", default=None)
    weights: str | None = shell.arg(help="Weight of each streamline, by which core and spread are found: a text file of numbers, or the name of the tractogram's own data [default: 1 each]", argstr="--weights", default=None)
    reference: FsObject | None = shell.arg(help="Image whose grid .trk and .trx name [default: the one that the input names]", argstr="--reference", default=None)
    output: str = shell.arg(help="Folder (or, where the command writes one file, the file) to write", argstr="--output")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the file", callable=_written("output", True))
        file: FsObject | None = shell.out(help="the bundle without outliers: .tck, .trk, .trx", callable=_written("output", True, ("",), False))
        file_weights_txt: FsObject | None = shell.out(help="where --weights is a file: the weights of those kept, a line each", callable=_written("output", True, (".weights.txt",), False))
        file_run_json: FsObject | None = shell.out(help="what was done", callable=_written("output", True, (".run.json",), False))


@shell.define
class TractProfile(shell.Task["TractProfile.Outputs"]):
    """Measure maps along a bundle; writes a folder, output."""

    executable = ["fimbria", "tract", "profile"]
    bundle: FsObject = shell.arg(help="Streamlines of one bundle: .tck, .trk, .trx or a TRX folder", argstr="", position=1)
    map: list[FsObject] = shell.arg(help="Maps to measure, of one volume, on any grid in the same scanner space: FA, MD, ", argstr="--map")
    points: int | None = shell.arg(help="Points of the profile [2 to 10000] [default: 100]", argstr="--points", default=None)
    start: str | None = shell.arg(help="Where the bundle begins: X,Y,Z in mm, or a region, as those of `tract edit`; its nearer end is the first point [default: the left end, or of bundles that run mostly the other ways the back or the lower one]", argstr="--start", default=None)
    lut: FsObject | None = shell.arg(help="Names of labels for --start: a text file with a number and a name in each line", argstr="--lut", default=None)
    weights: str | None = shell.arg(help="Weight of each streamline: a text file of numbers, or the name of the tractogram's own data [default: 1 each]", argstr="--weights", default=None)
    output: str = shell.arg(help="Folder (or, where the command writes one file, the file) to write", argstr="--output", default="profile")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the folder", callable=_written("output", False))
        profile_tsv: FsObject | None = shell.out(help="a line for each point: its number from 1, the core there (x, y, z in mm), and of each map the weighted mean, the weighted standard deviation, and the number of streamlines with a value", callable=_written("output", False, ("profile.tsv",), False))
        run_json: FsObject | None = shell.out(help="inputs with hashes, parameters, machine, times, counts, warnings", callable=_written("output", False, ("run.json",), False))


@shell.define
class Sift2(shell.Task["Sift2.Outputs"]):
    """Weigh streamlines so that they are as dense as the fibres (the model of SIFT2); writes a folder, output."""

    executable = ["fimbria", "sift2"]
    tractogram: FsObject = shell.arg(help="Tractogram: .tck, .trk, .trx or a TRX folder", argstr="", position=1)
    image: FsObject = shell.arg(help="Coefficients, 4-D: unique entries of symmetric tensors, or spherical harmonics (--sh-basis, where the image itself does not say so), of order 4, 6 or 8 (15, 28 or 45 volumes)", argstr="", position=2)
    sh_basis: str | None = shell.arg(help="The coefficients are spherical harmonics of this basis [default: what the image says of itself; unique entries where it says nothing]", allowed_values=["mrtrix", "dipy", "dipy-legacy"], argstr="--sh-basis", default=None)
    order: int | None = shell.arg(help="Order of the tensors, or highest degree of the harmonics [from 0 on] [default: what the number of volumes says]", argstr="--order", default=None)
    frame: str | None = shell.arg(help="Axes the coefficients refer to [default: voxel with a basis of DIPY, else scanner]", allowed_values=["fsl", "voxel", "scanner"], argstr="--frame", default=None)
    mask: FsObject | None = shell.arg(help="Voxels to work on: a 3-D image on the same grid, inside where above zero [default: all]", argstr="--mask", default=None)
    act: FsObject | None = shell.arg(help="Tissues, of which white matter counts: five volumes as `phantom head` and 5ttgen write them, or labels of FreeSurfer, SynthSeg or FAST; any grid in the same scanner space [default: all voxels count]", argstr="--act", default=None)
    start: FsObject | None = shell.arg(help="Weights to begin with, as earlier weights.txt or those of tcksift2 [default: all are 1]", argstr="--start", default=None)
    variation: float | None = shell.arg(help="How far apart the weights of one fixel's streamlines may be: the larger, the nearer [0 to 1000000] [default: 0.1]", argstr="--variation", default=None)
    tikhonov: float | None = shell.arg(help="How far weights may be from 1: the larger, the nearer [0 to 1000000] [default: 0]", argstr="--tikhonov", default=None)
    least_filled: float | None = shell.arg(help="Fixels that streamlines at weight 1 fill to less than this part do not count [0 to 1] [default: 0.1]", argstr="--least-filled", default=None)
    least_peak: float | None = shell.arg(help="Lobes whose maximum is not above this are noise, in units of the densities [0 to 1000000000000000000000000000000] [default: 0.10000000149011612]", argstr="--least-peak", default=None)
    iterations: int | None = shell.arg(help="Iterations at most; with 0 the weights of --start are only judged [0 to 1000000] [default: 1000]", argstr="--iterations", default=None)
    output: str = shell.arg(help="Folder (or, where the command writes one file, the file) to write", argstr="--output", default="sift2")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    scratch: str | None = shell.arg(help="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]", argstr="--scratch", default=None)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the folder", callable=_written("output", False))
        weights_txt: FsObject | None = shell.out(help="weight of each streamline, a line each, 0 where it passes no fibres: what `connectome --weights` and tck2connectome -tck_weights_in read", callable=_written("output", False, ("weights.txt",), False))
        mu_txt: FsObject | None = shell.out(help="what turns weight times length (mm) in a voxel into density of fibres", callable=_written("output", False, ("mu.txt",), False))
        iterations_tsv: FsObject | None = shell.out(help="iteration, objective, and misfit of densities over the densities (root mean squares)", callable=_written("output", False, ("iterations.tsv",), False))
        run_json: FsObject | None = shell.out(help="inputs with hashes, parameters, machine, times, misfit before and after", callable=_written("output", False, ("run.json",), False))


@shell.define
class Compare(shell.Task["Compare.Outputs"]):
    """Test two sets of maps against each other, voxel by voxel; writes a folder, output."""

    executable = ["fimbria", "compare"]
    first: list[FsObject] = shell.arg(help="Maps of repeated runs, two or more with different seeds", argstr="", position=1)
    second: list[FsObject] = shell.arg(help="The other set, after --: two or more as well", argstr="", position=2)
    threshold: float | None = shell.arg(help="Mean value from which voxels take part [any] [default: 20]", argstr="--threshold", default=None)
    output: str = shell.arg(help="Folder (or, where the command writes one file, the file) to write", argstr="--output", default="compare")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the folder", callable=_written("output", False))
        z: FsObject | None = shell.out(help="difference of the means over its standard error, B - A; 0 below the threshold", callable=_written("output", False, ("z.{image}",), False))
        run_json: FsObject | None = shell.out(help="voxels tested, mean and largest |z|, Q = mean of z squared, the sums of both, p: in which share of all ways to split the runs into two sets Q is as large, and what follows", callable=_written("output", False, ("run.json",), False))


@shell.define
class Convert(shell.Task["Convert.Outputs"]):
    """Convert an image or a tractogram from one format to another; writes the file output."""

    executable = ["fimbria", "convert"]
    input: FsObject = shell.arg(help="Image to read (.nii, .hdr/.img or .mif, each also with .gz), or tractogram (.tck, .trk, .trx, or a TRX folder)", argstr="", position=1)
    datatype: str | None = shell.arg(help="Type of the samples written: int8 to uint64, float32, float64; bit and float16 for .mif. Of a tractogram's coordinates: float32; float64 for .tck and .trx, float16 for .trx [default: as stored, scaling included; where the format has no such type, the next that holds all of it]", argstr="--datatype", default=None)
    tensors: str | None = shell.arg(help="Bring tensors from one program's order and frame to another's, such as dipy:mrtrix; of fimbria, fsl, mrtrix, dipy. A map of 6 volumes is of diffusion tensors, one of 15 of kurtosis", argstr="--tensors", default=None)
    reference: FsObject | None = shell.arg(help="Image whose grid .trk and .trx name [default: the one that the input names]", argstr="--reference", default=None)
    trx_folder: bool = shell.arg(help="Write TRX as a folder OUT instead of a file", argstr="--trx-folder", default=False)
    bval: FsObject | None = shell.arg(help="b-values in s/mm², FSL form [s/mm²] [default: found beside the image]", argstr="--bval", default=None)
    bvec: FsObject | None = shell.arg(help="Directions, FSL form [default: found beside the image]", argstr="--bvec", default=None)
    fslgrad: list[FsObject] | None = shell.arg(help="Directions and b-values, FSL form, in MRtrix3's order [s/mm²]", argstr="--fslgrad", default=None)
    grad: FsObject | None = shell.arg(help="Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]", argstr="--grad", default=None)
    bmatrix: FsObject | None = shell.arg(help="b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]", argstr="--bmatrix", default=None)
    bvec_frame: str | None = shell.arg(help="Axes in which bvecs or b-matrices are given [default: fsl]", allowed_values=["fsl", "voxel", "scanner"], argstr="--bvec-frame", default=None)
    b0_threshold: float | None = shell.arg(help="b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]", argstr="--b0-threshold", default=None)
    bvalue_scaling: str | None = shell.arg(help="What directions that are not of unit length mean [default: auto]", allowed_values=["auto", "yes", "no"], argstr="--bvalue-scaling", default=None)
    output: str = shell.arg(help="Folder (or, where the command writes one file, the file) to write", argstr="--output")
    force: bool = shell.arg(help="Overwrite existing outputs", argstr="--force", default=False)
    threads: int | None = shell.arg(help="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]", argstr="--threads", default=None)
    quiet: bool = shell.arg(help="Say nothing but warnings and errors", argstr="--quiet", default=False)
    verbose: int | None = shell.arg(help="Say more; 0 as usual [from 0 on] [default: 0]", argstr="--verbose={verbose}", default=None)
    memory: str | None = shell.arg(help="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]", argstr="--memory", default=None)

    class Outputs(shell.Outputs):
        written: str = shell.out(help="the file", callable=_written("output", True))
        file: FsObject | None = shell.out(help="of an image: the image, in the format of its name: .nii, .hdr, .img, .mif, each also with .gz; or of streamlines: the tractogram: .tck, .trk, .trx", callable=_written("output", True, ("",), False))
        file_bval: FsObject | None = shell.out(help="of an image with a gradient table, beside all but .mif: b of every volume", callable=_written("output", True, (".bval",), False))
        file_bvec: FsObject | None = shell.out(help="of an image with a gradient table, beside all but .mif: its direction", callable=_written("output", True, (".bvec",), False))
        file_run_json: FsObject | None = shell.out(help="what was done", callable=_written("output", True, (".run.json",), False))
