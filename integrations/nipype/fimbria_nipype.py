"""The commands of fimbria as interfaces of nipype. Made by generate.py from `fimbria describe`: not to be edited.

Where no gradient table is named, it is found beside the series; name it (bval, bvec) where nodes are cached.
"""

import glob
import os

from nipype.interfaces.base import (
    CommandLine,
    CommandLineInputSpec,
    Directory,
    File,
    InputMultiObject,
    OutputMultiPath,
    TraitedSpec,
    isdefined,
    traits,
)

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


class _Command(CommandLine):
    """A command of fimbria: `_written` names the option with what it writes, `_files` what that is."""

    _cmd = "fimbria"
    _is_file = False

    def _list_outputs(self):
        outputs = self.output_spec().get()
        written = getattr(self.inputs, self._written)
        if isdefined(written):
            written = os.path.abspath(written)
            outputs["written"] = written
            for name, names, is_many in self._files:
                hits = _found(written, self._is_file, names, is_many)
                if hits:
                    outputs[name] = hits
        return outputs


class DemoInputSpec(CommandLineInputSpec):
    output = traits.Str("demo", usedefault=True, argstr="--output %s", desc="Folder to write [default: fimbria-demo]")
    force = traits.Bool(argstr="--force", desc="Compute everything again and overwrite existing outputs")
    resume = traits.Bool(argstr="--resume", desc="Keep the stages that an earlier run finished with the same inputs and parameters")
    voxel = traits.Float(argstr="--voxel %.15g", desc="Edge of the voxels of the series; those of the gradient-echo scan are half as large; the time is inversely as its cube [1 to 10, mm] [default: 4]")
    rng_seed = traits.Int(argstr="--rng-seed %d", desc="Seed of the noise [from 0 on] [default: 1]")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    device = traits.Str(argstr="--device %s", desc="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]")
    device_memory = traits.Float(argstr="--device-memory %.15g", desc="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class DemoOutputSpec(TraitedSpec):
    written = traits.Str(desc="the folder")
    head = traits.Str(desc="the subject and its truth, as `fimbria phantom head --gre` writes them")
    dti = traits.Str(desc="the tensor maps, as `fimbria fit dti` writes them")
    quality = traits.Str(desc="quality.json: verdicts on the series and the numbers they rest on")
    fod = traits.Str(desc="the fibre orientation densities, as `fimbria fit fod` writes them")
    peaks = traits.Str(desc="the fibre directions, as `fimbria peaks` writes them")
    sticks = traits.Str(desc="samples of ball and sticks, as `fimbria sticks` writes them, after half as many jumps, in the voxels with a peak")
    track = traits.Str(desc="tracks.trx, visits: streamlines from those voxels, as `fimbria track` writes them")
    dki = traits.Str(desc="the kurtosis maps, as `fimbria fit dki` writes them")
    life = traits.Str(desc="what each streamline explains, as `fimbria life` writes it")
    field = traits.Str(desc="its field, as `fimbria field` writes it")
    qsm = traits.Str(desc="its susceptibility, as `fimbria qsm` writes it")
    accuracy = traits.Str(desc="accuracy.tsv: quantity, unit, voxels (or streamlines), median, 95 % and worst error")
    report = traits.Str(desc="report.html, one page with pictures")
    run_json = traits.Str(desc="what was done; each folder has one of its own")


class Demo(_Command):
    """Make a head, run every stage on it, and show how close each came to the truth; writes a folder, output."""

    _cmd = "fimbria demo"
    _written = "output"
    input_spec = DemoInputSpec
    output_spec = DemoOutputSpec
    _files = (
        ("head", ("head",), False),
        ("dti", ("dti",), False),
        ("quality", ("quality",), False),
        ("fod", ("fod",), False),
        ("peaks", ("peaks",), False),
        ("sticks", ("sticks",), False),
        ("track", ("track",), False),
        ("dki", ("dki",), False),
        ("life", ("life",), False),
        ("field", ("field",), False),
        ("qsm", ("qsm",), False),
        ("accuracy", ("accuracy",), False),
        ("report", ("report",), False),
        ("run_json", ("run.json",), False),
    )


class RunInputSpec(CommandLineInputSpec):
    dwi = traits.Either(File(exists=True), Directory(exists=True), argstr="%s", position=0, desc="Diffusion-weighted series, 4-D")
    config = traits.Either(File(exists=True), Directory(exists=True), argstr="--config %s", desc="Take everything from a TOML file instead")
    settings = InputMultiObject(traits.Str(), argstr="--set %s...", desc="Set one parameter of a stage, such as dti.method=nlls; may be repeated")
    fix_gradients = traits.Bool(argstr="--fix-gradients", desc="Mend the gradient table as its check says, before anything is fitted; refused where the data do not tell")
    bval = traits.Either(File(exists=True), Directory(exists=True), argstr="--bval %s", desc="b-values in s/mm², FSL form [s/mm²] [default: found beside the image]")
    bvec = traits.Either(File(exists=True), Directory(exists=True), argstr="--bvec %s", desc="Directions, FSL form [default: found beside the image]")
    fslgrad = traits.List(traits.Either(File(exists=True), Directory(exists=True)), minlen=2, maxlen=2, argstr="--fslgrad %s", desc="Directions and b-values, FSL form, in MRtrix3's order [s/mm²]")
    grad = traits.Either(File(exists=True), Directory(exists=True), argstr="--grad %s", desc="Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]")
    bmatrix = traits.Either(File(exists=True), Directory(exists=True), argstr="--bmatrix %s", desc="b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]")
    bvec_frame = traits.Enum("fsl", "voxel", "scanner", argstr="--bvec-frame %s", desc="Axes in which bvecs or b-matrices are given [default: fsl]")
    b0_threshold = traits.Float(argstr="--b0-threshold %.15g", desc="b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]")
    bvalue_scaling = traits.Enum("auto", "yes", "no", argstr="--bvalue-scaling %s", desc="What directions that are not of unit length mean [default: auto]")
    mask = traits.Either(File(exists=True), Directory(exists=True), argstr="--mask %s", desc="Voxels to work on: a 3-D image on the grid of the series, inside where above zero [default: a simple brain mask from the unweighted volumes]")
    grad_dev = traits.Either(File(exists=True), Directory(exists=True), argstr="--grad-dev %s", desc="Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and directions; for `fit dti` and `sticks`, other methods refuse it")
    scratch = traits.Str(argstr="--scratch %s", desc="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]")
    output = traits.Str("run", usedefault=True, argstr="--output %s", desc="Folder to write")
    force = traits.Bool(argstr="--force", desc="Compute everything again and overwrite existing outputs")
    resume = traits.Bool(argstr="--resume", desc="Keep the stages that an earlier run finished with the same inputs and parameters")
    format = traits.Enum("nii.gz", "nii", "mif", argstr="--format %s", desc="Format of the maps [default: nii.gz, or mif with --layout mrtrix]")
    layout = traits.Enum("fimbria", "fsl", "mrtrix", "bids", argstr="--layout %s", desc="Whose names, orders and frames to write [default: fimbria]")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    device = traits.Str(argstr="--device %s", desc="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]")
    device_memory = traits.Float(argstr="--device-memory %.15g", desc="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class RunOutputSpec(TraitedSpec):
    written = traits.Str(desc="the folder")
    load = traits.Str(desc="mask and mean_b0 where no mask is given: the one that was made, uint8, and the mean unweighted volume that it was made of")
    fix_gradients = traits.Str(desc="with --fix-gradients: gradients.b: the mended table, MRtrix3 form")
    dti = traits.Str(desc="maps and texts, as `fimbria fit dti` writes them")
    hot = traits.Str(desc="where asked for: maps and texts, as `fimbria fit hot` writes them")
    fod = traits.Str(desc="with peaks, or where asked for: maps and texts, as `fimbria fit fod` writes them")
    dki = traits.Str(desc="maps and texts, as `fimbria fit dki` writes them")
    stremi = traits.Str(desc="maps and texts, as `fimbria fit stremi` writes them")
    dki1d = traits.Str(desc="where asked for: maps and texts, as `fimbria fit dki1d` writes them")
    stremi1d = traits.Str(desc="where asked for: maps and texts, as `fimbria fit stremi1d` writes them")
    ivim = traits.Str(desc="where asked for: maps and texts, as `fimbria fit ivim` writes them")
    mono = traits.Str(desc="where asked for: maps and texts, as `fimbria fit mono` writes them")
    msdki = traits.Str(desc="where asked for: maps and texts, as `fimbria fit msdki` writes them")
    expr = traits.Str(desc="with a table of its own, or where asked for: maps and texts, as `fimbria fit expr` writes them")
    quality = traits.Str(desc="quality.json: verdicts on the series and the numbers they rest on")
    peaks = traits.Str(desc="the fibre directions, as `fimbria peaks` writes them")
    sticks = traits.Str(desc="a bedpostX folder, as `fimbria sticks` writes it, of the voxels with a peak")
    track = traits.Str(desc="tracks.trx (or .tck, .trk): streamlines of the voxels with a direction (through densities 10000, of seeds drawn at random), with their data as `fimbria track` writes them; visits: how many pass each voxel")
    life = traits.Str(desc="what each of them explains, as `fimbria life` writes it")
    sift2 = traits.Str(desc="where asked for: weights of the streamlines, as `fimbria sift2` writes them")
    connectome = traits.Str(desc="with a table [connectome]: between which labels they run, as `fimbria connectome` writes it")
    field = traits.Str(desc="with a table [gre]: as `fimbria field` writes it")
    qsm = traits.Str(desc="with a table [gre]: as `fimbria qsm` writes it")
    report = traits.Str(desc="report.html, one page with pictures")
    run_json = traits.Str(desc="what was done, written last; each folder has one of its own")


class Run(_Command):
    """Run all stages over one subject, from its series to a report; writes a folder, output."""

    _cmd = "fimbria run"
    _written = "output"
    input_spec = RunInputSpec
    output_spec = RunOutputSpec
    _files = (
        ("load", ("load",), False),
        ("fix_gradients", ("fix_gradients",), False),
        ("dti", ("dti",), False),
        ("hot", ("hot",), False),
        ("fod", ("fod",), False),
        ("dki", ("dki",), False),
        ("stremi", ("stremi",), False),
        ("dki1d", ("dki1d",), False),
        ("stremi1d", ("stremi1d",), False),
        ("ivim", ("ivim",), False),
        ("mono", ("mono",), False),
        ("msdki", ("msdki",), False),
        ("expr", ("expr",), False),
        ("quality", ("quality",), False),
        ("peaks", ("peaks",), False),
        ("sticks", ("sticks",), False),
        ("track", ("track",), False),
        ("life", ("life",), False),
        ("sift2", ("sift2",), False),
        ("connectome", ("connectome",), False),
        ("field", ("field",), False),
        ("qsm", ("qsm",), False),
        ("report", ("report",), False),
        ("run_json", ("run.json",), False),
    )


class BidsInputSpec(CommandLineInputSpec):
    input = traits.Either(File(exists=True), Directory(exists=True), argstr="%s", position=0, mandatory=True, desc="The data set: raw, or derivatives as QSIPrep writes them")
    out = traits.Str("bids", usedefault=True, argstr="%s", position=1, desc="Folder of the derivatives")
    level = traits.Enum("participant", "group", argstr="%s", position=2, mandatory=True, desc="What is worked on")
    participant_label = InputMultiObject(traits.Str(), argstr="--participant-label %s", desc="Subjects, with or without sub- [default: all]")
    session_label = InputMultiObject(traits.Str(), argstr="--session-label %s", desc="Sessions, with or without ses- [default: all]")
    datasets = InputMultiObject(traits.Str(), argstr="--datasets %s", desc="Other data sets of the same subjects, in which labels and tissues are looked for too, after those of IN: qsirecon=FOLDER; NAME stands in their URIs")
    atlas = traits.Str(argstr="--atlas %s", desc="Name of the labels between which streamlines are counted: that of the entity atlas, seg or desc [default: the only ones there are]")
    no_act = traits.Bool(argstr="--no-act", desc="Let streamlines end anywhere, although there are tissues beside a series")
    skip_bids_validation = traits.Bool(argstr="--skip-bids-validation", desc="Has no effect: BIDS apps are called with it. `fimbria bids` checks what it reads, and nothing else")
    preset = traits.Enum("maps", "fibres", "connectome", "everything", "susceptibility", argstr="--preset %s", desc="What is done [default: maps]")
    config = traits.Either(File(exists=True), Directory(exists=True), argstr="--config %s", desc="Take what is done from a TOML file, as `fimbria run` does; its `[input]` names no files")
    settings = InputMultiObject(traits.Str(), argstr="--set %s...", desc="Set one parameter of a stage, such as dti.method=nlls; may be repeated")
    fix_gradients = traits.Bool(argstr="--fix-gradients", desc="Mend the gradient table of each series as its check says, before anything is fitted; a series whose data do not tell fails")
    force = traits.Bool(argstr="--force", desc="Make finished sessions again")
    report_output_level = traits.Enum("root", "subject", "session", argstr="--report-output-level %s", desc="Where pages are written [default: root]")
    digest = traits.Bool(argstr="--digest", desc="Print a hash of every file of finished sessions, and one of all: what two sites compare")
    work_dir = traits.Str(argstr="--work-dir %s", desc="Folder where sessions are worked on; what an interruption leaves there is gone on from [default: OUT/.fimbria/work]")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    device = traits.Str(argstr="--device %s", desc="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]")
    device_memory = traits.Float(argstr="--device-memory %.15g", desc="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class BidsOutputSpec(TraitedSpec):
    written = traits.Str(desc="the folder")
    sub = OutputMultiPath(traits.Str(), desc="[ses-*/]dwi and anat: maps, densities, peaks, streamlines, matrices, susceptibility, under names of BIDS, with sidecars; run.json, written last")
    sub_html = OutputMultiPath(traits.Str(), desc="a page of each session, and one that leads there of a subject with sessions")
    dataset_description_json = traits.Str(desc="what the data set is and is made of")
    bidsignore = traits.Str(desc="what BIDS has no rule for yet")
    README = traits.Str(desc="what is where")
    logs = traits.Str(desc="CITATION.md, .bib and .html: what was done, in words for a paper")
    group_dwi_tsv = traits.Str(desc="group: a row of each series: verdicts on it, medians of maps, share of voxels fitted, volumes used, warnings, what the input says of it")
    group_dwi_json = traits.Str(desc="group: what the columns are, and their units")
    group_dwi_html = traits.Str(desc="group: a dot of each series in a strip of each number, which leads to its page")


class Bids(_Command):
    """Run all stages over every subject of a BIDS data set, and write derivatives; writes a folder, out."""

    _cmd = "fimbria bids"
    _written = "out"
    input_spec = BidsInputSpec
    output_spec = BidsOutputSpec
    _files = (
        ("sub", ("sub-*",), True),
        ("sub_html", ("sub-*.html",), True),
        ("dataset_description_json", ("dataset_description.json",), False),
        ("bidsignore", (".bidsignore",), False),
        ("README", ("README",), False),
        ("logs", ("logs",), False),
        ("group_dwi_tsv", ("group_dwi.tsv",), False),
        ("group_dwi_json", ("group_dwi.json",), False),
        ("group_dwi_html", ("group_dwi.html",), False),
    )


class FitDtiInputSpec(CommandLineInputSpec):
    dwi = traits.Either(File(exists=True), Directory(exists=True), argstr="%s", position=0, desc="Diffusion-weighted series, 4-D")
    method = traits.Enum("ols", "wls", "iwls", "nlls", "restore", argstr="--method %s", desc="How the tensor is estimated [default: wls; with --compat what that program does: ols with fsl, wls with dipy, iwls with mrtrix]")
    compat = traits.Enum("fsl", "dipy", "mrtrix", argstr="--compat %s", desc="Follow the numerics of another program, for comparison")
    precision = traits.Enum("single", "double", argstr="--precision %s", desc="Arithmetic of the fit; measurements and maps are held in single precision [default: single]")
    sigma = traits.Float(argstr="--sigma %.15g", desc="Standard deviation of the noise, for --method restore [from 0 on, units of the input] [default: estimated in each voxel]")
    maps = InputMultiObject(traits.Enum("FA", "MD", "AD", "RD", "L1", "L2", "L3", "V1", "V2", "V3", "MO", "S0", "tensor", "residual", "status"), argstr="--maps %s", sep=",", desc="Maps to write, separated by commas; status always is [default: all]")
    shells = InputMultiObject(traits.Float(), argstr="--shells %s", sep=",", desc="Use only the shells nearest to these b, separated by commas, and the unweighted volumes [from 0 on, s/mm²] [default: all]")
    bmax = traits.Float(argstr="--bmax %.15g", desc="Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: 1500 where that determines the tensor, all with --compat or --shells]")
    data = traits.Either(File(exists=True), Directory(exists=True), argstr="--data %s", desc="The series as an option, as in FSL's dtifit")
    bval = traits.Either(File(exists=True), Directory(exists=True), argstr="--bval %s", desc="b-values in s/mm², FSL form [s/mm²] [default: found beside the image]")
    bvec = traits.Either(File(exists=True), Directory(exists=True), argstr="--bvec %s", desc="Directions, FSL form [default: found beside the image]")
    fslgrad = traits.List(traits.Either(File(exists=True), Directory(exists=True)), minlen=2, maxlen=2, argstr="--fslgrad %s", desc="Directions and b-values, FSL form, in MRtrix3's order [s/mm²]")
    grad = traits.Either(File(exists=True), Directory(exists=True), argstr="--grad %s", desc="Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]")
    bmatrix = traits.Either(File(exists=True), Directory(exists=True), argstr="--bmatrix %s", desc="b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]")
    bvec_frame = traits.Enum("fsl", "voxel", "scanner", argstr="--bvec-frame %s", desc="Axes in which bvecs or b-matrices are given [default: fsl]")
    b0_threshold = traits.Float(argstr="--b0-threshold %.15g", desc="b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]")
    bvalue_scaling = traits.Enum("auto", "yes", "no", argstr="--bvalue-scaling %s", desc="What directions that are not of unit length mean [default: auto]")
    mask = traits.Either(File(exists=True), Directory(exists=True), argstr="--mask %s", desc="Voxels to work on: a 3-D image on the grid of the series, inside where above zero [default: a simple brain mask from the unweighted volumes]")
    grad_dev = traits.Either(File(exists=True), Directory(exists=True), argstr="--grad-dev %s", desc="Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and directions; for `fit dti` and `sticks`, other methods refuse it")
    scratch = traits.Str(argstr="--scratch %s", desc="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]")
    output = traits.Str("dti", usedefault=True, argstr="--output %s", desc="Folder (or, where the command writes one file, the file) to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    format = traits.Enum("nii.gz", "nii", "mif", argstr="--format %s", desc="Format of the maps [default: nii.gz, or mif with --layout mrtrix]")
    layout = traits.Enum("fimbria", "fsl", "mrtrix", "bids", argstr="--layout %s", desc="Whose names, orders and frames to write [default: fimbria]")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    device = traits.Str(argstr="--device %s", desc="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]")
    device_memory = traits.Float(argstr="--device-memory %.15g", desc="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]")
    follow = traits.Bool(argstr="--follow", desc="Fit again whenever more volumes are there, until all of the gradient table are, or until Ctrl-C. DWI is a file that grows or is replaced, or a folder that receives volumes, taken in the order of their numbers; the table must have a row for each volume to come")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class FitDtiOutputSpec(TraitedSpec):
    written = traits.Str(desc="the folder")
    FA = traits.Str(desc="fractional anisotropy, 0 to 1 (above 1 where an eigenvalue is negative)")
    MD = traits.Str(desc="mean diffusivity, mm²/s [mm^2/s]")
    AD = traits.Str(desc="axial diffusivity, the largest eigenvalue, mm²/s [mm^2/s]")
    RD = traits.Str(desc="radial diffusivity, the mean of the other two eigenvalues, mm²/s [mm^2/s]")
    L1 = traits.Str(desc="largest eigenvalue, mm²/s [mm^2/s]")
    L2 = traits.Str(desc="middle eigenvalue, mm²/s [mm^2/s]")
    L3 = traits.Str(desc="smallest eigenvalue, mm²/s [mm^2/s]")
    V1 = traits.Str(desc="unit eigenvector of L1, x y z in scanner RAS axes, sign arbitrary")
    V2 = traits.Str(desc="unit eigenvector of L2, x y z in scanner RAS axes, sign arbitrary")
    V3 = traits.Str(desc="unit eigenvector of L3, x y z in scanner RAS axes, sign arbitrary")
    MO = traits.Str(desc="mode, -1 (planar) to 1 (linear)")
    S0 = traits.Str(desc="signal without diffusion weighting, input units [arbitrary]")
    tensor = traits.Str(desc="diffusion tensor, xx xy xz yy yz zz in scanner RAS axes, mm²/s [mm^2/s]")
    residual = traits.Str(desc="root mean square of measured minus predicted signal, input units [arbitrary]")
    status = traits.Str(desc="0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined")
    mask = traits.Str(desc="where no mask is given: the mask that was made")
    mean_b0 = traits.Str(desc="where no mask is given: the mean unweighted volume that it was made of [arbitrary]")
    run_json = traits.Str(desc="inputs with hashes, parameters, machine, times, counts, warnings")


class FitDti(_Command):
    """Fit the diffusion tensor: FA, MD, eigenvectors and more; writes a folder, output."""

    _cmd = "fimbria fit dti"
    _written = "output"
    input_spec = FitDtiInputSpec
    output_spec = FitDtiOutputSpec
    _files = (
        ("FA", ("FA.{image}", "*model-tensor_param-fa_dwimap.{image}", "dti_FA.{image}", "fa.{image}"), False),
        ("MD", ("MD.{image}", "*model-tensor_param-md_dwimap.{image}", "dti_MD.{image}", "adc.{image}"), False),
        ("AD", ("AD.{image}", "*model-tensor_param-ad_dwimap.{image}", "dti_AD.{image}", "ad.{image}"), False),
        ("RD", ("RD.{image}", "*model-tensor_param-rd_dwimap.{image}", "dti_RD.{image}", "rd.{image}"), False),
        ("L1", ("L1.{image}", "*model-tensor_param-l1_dwimap.{image}", "dti_L1.{image}", "value1.{image}"), False),
        ("L2", ("L2.{image}", "*model-tensor_param-rd1_dwimap.{image}", "dti_L2.{image}", "value2.{image}"), False),
        ("L3", ("L3.{image}", "*model-tensor_param-rd2_dwimap.{image}", "dti_L3.{image}", "value3.{image}"), False),
        ("V1", ("V1.{image}", "*model-tensor_param-v1_dwimap.{image}", "dti_V1.{image}", "vector1.{image}"), False),
        ("V2", ("V2.{image}", "*model-tensor_param-v2_dwimap.{image}", "dti_V2.{image}", "vector2.{image}"), False),
        ("V3", ("V3.{image}", "*model-tensor_param-v3_dwimap.{image}", "dti_V3.{image}", "vector3.{image}"), False),
        ("MO", ("MO.{image}", "*model-tensor_param-mode_dwimap.{image}", "dti_MO.{image}", "mode.{image}"), False),
        ("S0", ("S0.{image}", "*model-tensor_param-s0_dwimap.{image}", "dti_S0.{image}", "b0.{image}"), False),
        ("tensor", ("tensor.{image}", "*model-tensor_param-diffusivity_dwimap.{image}", "dti_tensor.{image}", "dt.{image}"), False),
        ("residual", ("residual.{image}", "*model-tensor_param-residual_dwimap.{image}", "dti_residual.{image}"), False),
        ("status", ("status.{image}", "*model-tensor_param-status_dwimap.{image}", "dti_status.{image}"), False),
        ("mask", ("mask.{image}",), False),
        ("mean_b0", ("mean_b0.{image}",), False),
        ("run_json", ("run.json",), False),
    )


class FitHotInputSpec(CommandLineInputSpec):
    dwi = traits.Either(File(exists=True), Directory(exists=True), argstr="%s", position=0, desc="Diffusion-weighted series, 4-D")
    order = traits.Enum("4", "6", "8", argstr="--order %s", desc="Order of the form [default: 4]")
    method = traits.Enum("ols", "wls", "iwls", argstr="--method %s", desc="How it is estimated [default: wls]")
    positive = traits.Bool(argstr="--positive", desc="Keep the diffusivity positive in 300 directions; voxels where that changes the fit have status 2")
    shells = InputMultiObject(traits.Float(), argstr="--shells %s", sep=",", desc="Use only the shells nearest to these b, separated by commas, and the unweighted volumes [from 0 on, s/mm²] [default: all]")
    bmax = traits.Float(argstr="--bmax %.15g", desc="Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: all are used]")
    data = traits.Either(File(exists=True), Directory(exists=True), argstr="--data %s", desc="The series as an option, as in FSL's dtifit")
    bval = traits.Either(File(exists=True), Directory(exists=True), argstr="--bval %s", desc="b-values in s/mm², FSL form [s/mm²] [default: found beside the image]")
    bvec = traits.Either(File(exists=True), Directory(exists=True), argstr="--bvec %s", desc="Directions, FSL form [default: found beside the image]")
    fslgrad = traits.List(traits.Either(File(exists=True), Directory(exists=True)), minlen=2, maxlen=2, argstr="--fslgrad %s", desc="Directions and b-values, FSL form, in MRtrix3's order [s/mm²]")
    grad = traits.Either(File(exists=True), Directory(exists=True), argstr="--grad %s", desc="Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]")
    bmatrix = traits.Either(File(exists=True), Directory(exists=True), argstr="--bmatrix %s", desc="b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]")
    bvec_frame = traits.Enum("fsl", "voxel", "scanner", argstr="--bvec-frame %s", desc="Axes in which bvecs or b-matrices are given [default: fsl]")
    b0_threshold = traits.Float(argstr="--b0-threshold %.15g", desc="b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]")
    bvalue_scaling = traits.Enum("auto", "yes", "no", argstr="--bvalue-scaling %s", desc="What directions that are not of unit length mean [default: auto]")
    mask = traits.Either(File(exists=True), Directory(exists=True), argstr="--mask %s", desc="Voxels to work on: a 3-D image on the grid of the series, inside where above zero [default: a simple brain mask from the unweighted volumes]")
    grad_dev = traits.Either(File(exists=True), Directory(exists=True), argstr="--grad-dev %s", desc="Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and directions; for `fit dti` and `sticks`, other methods refuse it")
    scratch = traits.Str(argstr="--scratch %s", desc="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]")
    output = traits.Str("hot", usedefault=True, argstr="--output %s", desc="Folder (or, where the command writes one file, the file) to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    format = traits.Enum("nii.gz", "nii", "mif", argstr="--format %s", desc="Format of the maps [default: nii.gz, or mif with --layout mrtrix]")
    layout = traits.Enum("fimbria", "fsl", "mrtrix", "bids", argstr="--layout %s", desc="Whose names, orders and frames to write [default: fimbria]")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    device = traits.Str(argstr="--device %s", desc="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]")
    device_memory = traits.Float(argstr="--device-memory %.15g", desc="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]")
    follow = traits.Bool(argstr="--follow", desc="Fit again whenever more volumes are there, until all of the gradient table are, or until Ctrl-C. DWI is a file that grows or is replaced, or a folder that receives volumes, taken in the order of their numbers; the table must have a row for each volume to come")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class FitHotOutputSpec(TraitedSpec):
    written = traits.Str(desc="the folder")
    hot = traits.Str(desc="unique entries of the diffusivity as a homogeneous form of the direction, lexicographic (x..x x..y x..z ... z..z), in scanner RAS axes, mm²/s [mm^2/s]")
    MD = traits.Str(desc="mean diffusivity over all directions, mm²/s [mm^2/s]")
    GA = traits.Str(desc="generalised anisotropy, 0 to 1")
    variance = traits.Str(desc="variance of the diffusivity over its generalised trace")
    S0 = traits.Str(desc="signal without diffusion weighting, input units [arbitrary]")
    residual = traits.Str(desc="root mean square of measured minus predicted signal, input units [arbitrary]")
    status = traits.Str(desc="0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined")
    mask = traits.Str(desc="where no mask is given: the mask that was made")
    mean_b0 = traits.Str(desc="where no mask is given: the mean unweighted volume that it was made of [arbitrary]")
    run_json = traits.Str(desc="inputs with hashes, parameters, machine, times, counts, warnings")


class FitHot(_Command):
    """Fit generalised diffusion tensors: forms of order 4, 6 or 8, and their measures; writes a folder, output."""

    _cmd = "fimbria fit hot"
    _written = "output"
    input_spec = FitHotInputSpec
    output_spec = FitHotOutputSpec
    _files = (
        ("hot", ("hot.{image}", "*model-hot_param-hot_dwimap.{image}", "hot_hot.{image}"), False),
        ("MD", ("MD.{image}", "*model-hot_param-md_dwimap.{image}", "hot_MD.{image}", "adc.{image}"), False),
        ("GA", ("GA.{image}", "*model-hot_param-ga_dwimap.{image}", "hot_GA.{image}", "ga.{image}"), False),
        ("variance", ("variance.{image}", "*model-hot_param-variance_dwimap.{image}", "hot_variance.{image}"), False),
        ("S0", ("S0.{image}", "*model-hot_param-s0_dwimap.{image}", "hot_S0.{image}", "b0.{image}"), False),
        ("residual", ("residual.{image}", "*model-hot_param-residual_dwimap.{image}", "hot_residual.{image}"), False),
        ("status", ("status.{image}", "*model-hot_param-status_dwimap.{image}", "hot_status.{image}"), False),
        ("mask", ("mask.{image}",), False),
        ("mean_b0", ("mean_b0.{image}",), False),
        ("run_json", ("run.json",), False),
    )


class FitFodInputSpec(CommandLineInputSpec):
    dwi = traits.Either(File(exists=True), Directory(exists=True), argstr="%s", position=0, desc="Diffusion-weighted series, 4-D")
    order = traits.Enum("4", "6", "8", argstr="--order %s", desc="Degree of the density [default: 8]")
    tissues = traits.Enum("auto", "white", "three", argstr="--tissues %s", desc="Compartments of the signal [default: auto]")
    response = traits.Either(File(exists=True), Directory(exists=True), argstr="--response %s", desc="Response of single fibres, MRtrix3's text [default: estimated]")
    response_gm = traits.Either(File(exists=True), Directory(exists=True), argstr="--response-gm %s", desc="Response of grey matter [default: estimated]")
    response_csf = traits.Either(File(exists=True), Directory(exists=True), argstr="--response-csf %s", desc="Response of fluid [default: estimated]")
    regularisation = traits.Float(argstr="--regularisation %.15g", desc="Preference for small coefficients, relative to the largest diagonal of the normal equations [above 0] [default: 0.00001]")
    shells = InputMultiObject(traits.Float(), argstr="--shells %s", sep=",", desc="Use only the shells nearest to these b, separated by commas, and the unweighted volumes [from 0 on, s/mm²] [default: all]")
    bmax = traits.Float(argstr="--bmax %.15g", desc="Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: all are used]")
    data = traits.Either(File(exists=True), Directory(exists=True), argstr="--data %s", desc="The series as an option, as in FSL's dtifit")
    bval = traits.Either(File(exists=True), Directory(exists=True), argstr="--bval %s", desc="b-values in s/mm², FSL form [s/mm²] [default: found beside the image]")
    bvec = traits.Either(File(exists=True), Directory(exists=True), argstr="--bvec %s", desc="Directions, FSL form [default: found beside the image]")
    fslgrad = traits.List(traits.Either(File(exists=True), Directory(exists=True)), minlen=2, maxlen=2, argstr="--fslgrad %s", desc="Directions and b-values, FSL form, in MRtrix3's order [s/mm²]")
    grad = traits.Either(File(exists=True), Directory(exists=True), argstr="--grad %s", desc="Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]")
    bmatrix = traits.Either(File(exists=True), Directory(exists=True), argstr="--bmatrix %s", desc="b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]")
    bvec_frame = traits.Enum("fsl", "voxel", "scanner", argstr="--bvec-frame %s", desc="Axes in which bvecs or b-matrices are given [default: fsl]")
    b0_threshold = traits.Float(argstr="--b0-threshold %.15g", desc="b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]")
    bvalue_scaling = traits.Enum("auto", "yes", "no", argstr="--bvalue-scaling %s", desc="What directions that are not of unit length mean [default: auto]")
    mask = traits.Either(File(exists=True), Directory(exists=True), argstr="--mask %s", desc="Voxels to work on: a 3-D image on the grid of the series, inside where above zero [default: a simple brain mask from the unweighted volumes]")
    grad_dev = traits.Either(File(exists=True), Directory(exists=True), argstr="--grad-dev %s", desc="Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and directions; for `fit dti` and `sticks`, other methods refuse it")
    scratch = traits.Str(argstr="--scratch %s", desc="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]")
    output = traits.Str("fod", usedefault=True, argstr="--output %s", desc="Folder (or, where the command writes one file, the file) to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    format = traits.Enum("nii.gz", "nii", "mif", argstr="--format %s", desc="Format of the maps [default: nii.gz, or mif with --layout mrtrix]")
    layout = traits.Enum("fimbria", "fsl", "mrtrix", "bids", argstr="--layout %s", desc="Whose names, orders and frames to write [default: fimbria]")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    device = traits.Str(argstr="--device %s", desc="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]")
    device_memory = traits.Float(argstr="--device-memory %.15g", desc="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]")
    follow = traits.Bool(argstr="--follow", desc="Fit again whenever more volumes are there, until all of the gradient table are, or until Ctrl-C. DWI is a file that grows or is replaced, or a folder that receives volumes, taken in the order of their numbers; the table must have a row for each volume to come")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class FitFodOutputSpec(TraitedSpec):
    written = traits.Str(desc="the folder")
    fod = traits.Str(desc="fibre orientation density, spherical harmonics in MRtrix3's basis and order, scanner RAS axes; integral 1 for tissue like that of the response")
    hot = traits.Str(desc="the same density as unique entries of a symmetric tensor, lexicographic (1111 1112 ...), scanner RAS axes")
    tissues = traits.Str(desc="amounts of fibres (integral of the density) and, where they are told apart, of grey matter and fluid, in units of their responses")
    residual = traits.Str(desc="root mean square of measured minus predicted signal, input units [arbitrary]")
    status = traits.Str(desc="0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined")
    response_txt = traits.Str(desc="the response of single fibres, a row of zonal harmonics for each shell, as MRtrix3 writes it")
    response_gm_txt = traits.Str(desc="where there are three tissues: that of grey matter")
    response_csf_txt = traits.Str(desc="where there are three tissues: that of fluid")
    mask = traits.Str(desc="where no mask is given: the mask that was made")
    mean_b0 = traits.Str(desc="where no mask is given: the mean unweighted volume that it was made of [arbitrary]")
    run_json = traits.Str(desc="inputs with hashes, parameters, machine, times, counts, warnings")


class FitFod(_Command):
    """Estimate fibre orientation densities by constrained spherical deconvolution; writes a folder, output."""

    _cmd = "fimbria fit fod"
    _written = "output"
    input_spec = FitFodInputSpec
    output_spec = FitFodOutputSpec
    _files = (
        ("fod", ("fod.{image}", "*model-csd_param-wm_dwimap.{image}", "fod_fod.{image}"), False),
        ("hot", ("hot.{image}", "*model-csd_param-hot_dwimap.{image}", "fod_hot.{image}"), False),
        ("tissues", ("tissues.{image}", "*model-csd_param-tissues_dwimap.{image}", "fod_tissues.{image}"), False),
        ("residual", ("residual.{image}", "*model-csd_param-residual_dwimap.{image}", "fod_residual.{image}"), False),
        ("status", ("status.{image}", "*model-csd_param-status_dwimap.{image}", "fod_status.{image}"), False),
        ("response_txt", ("response.txt",), False),
        ("response_gm_txt", ("response_gm.txt",), False),
        ("response_csf_txt", ("response_csf.txt",), False),
        ("mask", ("mask.{image}",), False),
        ("mean_b0", ("mean_b0.{image}",), False),
        ("run_json", ("run.json",), False),
    )


class FitDkiInputSpec(CommandLineInputSpec):
    dwi = traits.Either(File(exists=True), Directory(exists=True), argstr="%s", position=0, desc="Diffusion-weighted series, 4-D")
    method = traits.Enum("ols", "wls", "iwls", "nlls", argstr="--method %s", desc="How the tensors are estimated [default: wls; iwls with --compat mrtrix, as that program does]")
    compat = traits.Enum("dipy", "mrtrix", argstr="--compat %s", desc="Follow the numerics of another program, for comparison; implies --unconstrained")
    unconstrained = traits.Bool(argstr="--unconstrained", desc="Leave estimates as they are where they violate D > 0, K >= 0 or K <= 3 / (b_max D)")
    bmax = traits.Float(argstr="--bmax %.15g", desc="Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: 3000; all with --compat, as those programs do]")
    clip = traits.Str(argstr="--clip %s", desc="Clip MK, AK, RK, Kmax and Kmin to this range [default: -3/7,10]")
    maps = InputMultiObject(traits.Enum("MK", "AK", "RK", "MKT", "KFA", "Kmax", "Kmin", "FA", "MD", "AD", "RD", "linearity", "planarity", "sphericity", "V1", "S0", "tensor", "kurtosis", "residual", "status"), argstr="--maps %s", sep=",", desc="Maps to write, separated by commas; status always is [default: all]")
    shells = InputMultiObject(traits.Float(), argstr="--shells %s", sep=",", desc="Use only the shells nearest to these b, separated by commas, and the unweighted volumes [from 0 on, s/mm²] [default: all]")
    data = traits.Either(File(exists=True), Directory(exists=True), argstr="--data %s", desc="The series as an option, as in FSL's dtifit")
    bval = traits.Either(File(exists=True), Directory(exists=True), argstr="--bval %s", desc="b-values in s/mm², FSL form [s/mm²] [default: found beside the image]")
    bvec = traits.Either(File(exists=True), Directory(exists=True), argstr="--bvec %s", desc="Directions, FSL form [default: found beside the image]")
    fslgrad = traits.List(traits.Either(File(exists=True), Directory(exists=True)), minlen=2, maxlen=2, argstr="--fslgrad %s", desc="Directions and b-values, FSL form, in MRtrix3's order [s/mm²]")
    grad = traits.Either(File(exists=True), Directory(exists=True), argstr="--grad %s", desc="Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]")
    bmatrix = traits.Either(File(exists=True), Directory(exists=True), argstr="--bmatrix %s", desc="b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]")
    bvec_frame = traits.Enum("fsl", "voxel", "scanner", argstr="--bvec-frame %s", desc="Axes in which bvecs or b-matrices are given [default: fsl]")
    b0_threshold = traits.Float(argstr="--b0-threshold %.15g", desc="b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]")
    bvalue_scaling = traits.Enum("auto", "yes", "no", argstr="--bvalue-scaling %s", desc="What directions that are not of unit length mean [default: auto]")
    mask = traits.Either(File(exists=True), Directory(exists=True), argstr="--mask %s", desc="Voxels to work on: a 3-D image on the grid of the series, inside where above zero [default: a simple brain mask from the unweighted volumes]")
    grad_dev = traits.Either(File(exists=True), Directory(exists=True), argstr="--grad-dev %s", desc="Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and directions; for `fit dti` and `sticks`, other methods refuse it")
    scratch = traits.Str(argstr="--scratch %s", desc="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]")
    output = traits.Str("dki", usedefault=True, argstr="--output %s", desc="Folder (or, where the command writes one file, the file) to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    format = traits.Enum("nii.gz", "nii", "mif", argstr="--format %s", desc="Format of the maps [default: nii.gz, or mif with --layout mrtrix]")
    layout = traits.Enum("fimbria", "fsl", "mrtrix", "bids", argstr="--layout %s", desc="Whose names, orders and frames to write [default: fimbria]")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    device = traits.Str(argstr="--device %s", desc="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]")
    device_memory = traits.Float(argstr="--device-memory %.15g", desc="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]")
    follow = traits.Bool(argstr="--follow", desc="Fit again whenever more volumes are there, until all of the gradient table are, or until Ctrl-C. DWI is a file that grows or is replaced, or a folder that receives volumes, taken in the order of their numbers; the table must have a row for each volume to come")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class FitDkiOutputSpec(TraitedSpec):
    written = traits.Str(desc="the folder")
    MK = traits.Str(desc="mean kurtosis, the mean of K over all directions, clipped")
    AK = traits.Str(desc="axial kurtosis, K along the first eigenvector of the tensor, clipped")
    RK = traits.Str(desc="radial kurtosis, the mean of K across that eigenvector, clipped")
    MKT = traits.Str(desc="mean of the kurtosis tensor, (W1111 + W2222 + W3333 + 2 W1122 + 2 W1133 + 2 W2233) / 5")
    KFA = traits.Str(desc="kurtosis fractional anisotropy, 0 to 1")
    Kmax = traits.Str(desc="largest kurtosis of any direction, clipped")
    Kmin = traits.Str(desc="smallest kurtosis of any direction, clipped")
    FA = traits.Str(desc="fractional anisotropy of the tensor, 0 to 1 (above 1 where an eigenvalue is negative)")
    MD = traits.Str(desc="mean diffusivity, mm²/s [mm^2/s]")
    AD = traits.Str(desc="axial diffusivity, the largest eigenvalue, mm²/s [mm^2/s]")
    RD = traits.Str(desc="radial diffusivity, the mean of the other two eigenvalues, mm²/s [mm^2/s]")
    linearity = traits.Str(desc="linearity of the tensor, (λ1 - λ2) / (λ1 + λ2 + λ3); 1: diffusion along a line")
    planarity = traits.Str(desc="planarity of the tensor, 2 (λ2 - λ3) / (λ1 + λ2 + λ3); 1: diffusion in a plane")
    sphericity = traits.Str(desc="sphericity of the tensor, 3 λ3 / (λ1 + λ2 + λ3); 1: the same in every direction")
    V1 = traits.Str(desc="unit eigenvector of the largest eigenvalue, x y z in scanner RAS axes, sign arbitrary")
    S0 = traits.Str(desc="signal without diffusion weighting, input units [arbitrary]")
    tensor = traits.Str(desc="diffusion tensor, xx xy xz yy yz zz in scanner RAS axes, mm²/s [mm^2/s]")
    kurtosis = traits.Str(desc="kurtosis tensor W in scanner RAS axes, 1111 1112 1113 1122 1123 1133 1222 1223 1233 1333 2222 2223 2233 2333 3333")
    residual = traits.Str(desc="root mean square of measured minus predicted signal, input units [arbitrary]")
    status = traits.Str(desc="0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined")
    mask = traits.Str(desc="where no mask is given: the mask that was made")
    mean_b0 = traits.Str(desc="where no mask is given: the mean unweighted volume that it was made of [arbitrary]")
    run_json = traits.Str(desc="inputs with hashes, parameters, machine, times, counts, warnings")


class FitDki(_Command):
    """Fit diffusion kurtosis: MK, AK, RK, KFA, the two tensors and more; writes a folder, output."""

    _cmd = "fimbria fit dki"
    _written = "output"
    input_spec = FitDkiInputSpec
    output_spec = FitDkiOutputSpec
    _files = (
        ("MK", ("MK.{image}", "*model-dki_param-mk_dwimap.{image}", "dki_MK.{image}", "mk.{image}"), False),
        ("AK", ("AK.{image}", "*model-dki_param-ak_dwimap.{image}", "dki_AK.{image}", "ak.{image}"), False),
        ("RK", ("RK.{image}", "*model-dki_param-rk_dwimap.{image}", "dki_RK.{image}", "rk.{image}"), False),
        ("MKT", ("MKT.{image}", "*model-dki_param-mkt_dwimap.{image}", "dki_MKT.{image}", "mkt.{image}"), False),
        ("KFA", ("KFA.{image}", "*model-dki_param-kfa_dwimap.{image}", "dki_KFA.{image}", "kfa.{image}"), False),
        ("Kmax", ("Kmax.{image}", "*model-dki_param-kmax_dwimap.{image}", "dki_Kmax.{image}", "kmax.{image}"), False),
        ("Kmin", ("Kmin.{image}", "*model-dki_param-kmin_dwimap.{image}", "dki_Kmin.{image}", "kmin.{image}"), False),
        ("FA", ("FA.{image}", "*model-dki_param-fa_dwimap.{image}", "dki_FA.{image}", "fa.{image}"), False),
        ("MD", ("MD.{image}", "*model-dki_param-md_dwimap.{image}", "dki_MD.{image}", "adc.{image}"), False),
        ("AD", ("AD.{image}", "*model-dki_param-ad_dwimap.{image}", "dki_AD.{image}", "ad.{image}"), False),
        ("RD", ("RD.{image}", "*model-dki_param-rd_dwimap.{image}", "dki_RD.{image}", "rd.{image}"), False),
        ("linearity", ("linearity.{image}", "*model-dki_param-linearity_dwimap.{image}", "dki_linearity.{image}"), False),
        ("planarity", ("planarity.{image}", "*model-dki_param-planarity_dwimap.{image}", "dki_planarity.{image}"), False),
        ("sphericity", ("sphericity.{image}", "*model-dki_param-sphericity_dwimap.{image}", "dki_sphericity.{image}"), False),
        ("V1", ("V1.{image}", "*model-dki_param-v1_dwimap.{image}", "dki_V1.{image}", "vector1.{image}"), False),
        ("S0", ("S0.{image}", "*model-dki_param-s0_dwimap.{image}", "dki_S0.{image}", "b0.{image}"), False),
        ("tensor", ("tensor.{image}", "*model-dki_param-diffusivity_dwimap.{image}", "dki_tensor.{image}", "dt.{image}"), False),
        ("kurtosis", ("kurtosis.{image}", "*model-dki_param-kurtosis_dwimap.{image}", "dki_kurtosis.{image}", "dkt.{image}"), False),
        ("residual", ("residual.{image}", "*model-dki_param-residual_dwimap.{image}", "dki_residual.{image}"), False),
        ("status", ("status.{image}", "*model-dki_param-status_dwimap.{image}", "dki_status.{image}"), False),
        ("mask", ("mask.{image}",), False),
        ("mean_b0", ("mean_b0.{image}",), False),
        ("run_json", ("run.json",), False),
    )


class FitStremiInputSpec(CommandLineInputSpec):
    dwi = traits.Either(File(exists=True), Directory(exists=True), argstr="%s", position=0, desc="Diffusion-weighted series, 4-D")
    projection = traits.Enum("dti", "paper", argstr="--projection %s", desc="How b projects on an axis e of the tensor, for a gradient along g [default: dti]")
    axes_bmax = traits.Float(argstr="--axes-bmax %.15g", desc="Largest b of the tensor fit that gives the axes (volumes up to 5 % above count) [above 0, s/mm²] [default: 1500]")
    bmax = traits.Float(argstr="--bmax %.15g", desc="Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: all are used]")
    likelihood = traits.Enum("gaussian", "offset-gaussian", "rician", argstr="--likelihood %s", desc="How noise enters [default: gaussian]")
    sigma = traits.Float(argstr="--sigma %.15g", desc="Standard deviation of the noise [from 0 on, units of the input] [default: estimated from the spread of repeated unweighted volumes]")
    background = traits.Either(File(exists=True), Directory(exists=True), argstr="--background %s", desc="Estimate it from the magnitude in the voxels of this mask, which must hold air, not zeros")
    precision = traits.Enum("single", "double", argstr="--precision %s", desc="Arithmetic of the fit; measurements and maps are held in single precision [default: single]")
    max_iterations = traits.Int(argstr="--max-iterations %d", desc="Iterations after which a fit is given up and marked [from 1 on] [default: 100, of expressions 1000]")
    robust = traits.Enum("huber", "tukey", argstr="--robust %s", desc="Keep outliers from pulling: fit again with weights made of the residuals, until these settle (the scale of the residuals is that of each fit by itself)")
    errors = traits.Bool(argstr="--errors", desc="Also write the standard error of each map of the model, NAME_error, in its unit: from the residuals (sigma with the Rician likelihood) and the curvature at the solution; 0 where unknown, as at a bound; with --robust some 10 % too small")
    shells = InputMultiObject(traits.Float(), argstr="--shells %s", sep=",", desc="Use only the shells nearest to these b, separated by commas, and the unweighted volumes [from 0 on, s/mm²] [default: all]")
    data = traits.Either(File(exists=True), Directory(exists=True), argstr="--data %s", desc="The series as an option, as in FSL's dtifit")
    bval = traits.Either(File(exists=True), Directory(exists=True), argstr="--bval %s", desc="b-values in s/mm², FSL form [s/mm²] [default: found beside the image]")
    bvec = traits.Either(File(exists=True), Directory(exists=True), argstr="--bvec %s", desc="Directions, FSL form [default: found beside the image]")
    fslgrad = traits.List(traits.Either(File(exists=True), Directory(exists=True)), minlen=2, maxlen=2, argstr="--fslgrad %s", desc="Directions and b-values, FSL form, in MRtrix3's order [s/mm²]")
    grad = traits.Either(File(exists=True), Directory(exists=True), argstr="--grad %s", desc="Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]")
    bmatrix = traits.Either(File(exists=True), Directory(exists=True), argstr="--bmatrix %s", desc="b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]")
    bvec_frame = traits.Enum("fsl", "voxel", "scanner", argstr="--bvec-frame %s", desc="Axes in which bvecs or b-matrices are given [default: fsl]")
    b0_threshold = traits.Float(argstr="--b0-threshold %.15g", desc="b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]")
    bvalue_scaling = traits.Enum("auto", "yes", "no", argstr="--bvalue-scaling %s", desc="What directions that are not of unit length mean [default: auto]")
    mask = traits.Either(File(exists=True), Directory(exists=True), argstr="--mask %s", desc="Voxels to work on: a 3-D image on the grid of the series, inside where above zero [default: a simple brain mask from the unweighted volumes]")
    grad_dev = traits.Either(File(exists=True), Directory(exists=True), argstr="--grad-dev %s", desc="Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and directions; for `fit dti` and `sticks`, other methods refuse it")
    scratch = traits.Str(argstr="--scratch %s", desc="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]")
    output = traits.Str("stremi", usedefault=True, argstr="--output %s", desc="Folder (or, where the command writes one file, the file) to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    format = traits.Enum("nii.gz", "nii", "mif", argstr="--format %s", desc="Format of the maps [default: nii.gz, or mif with --layout mrtrix]")
    layout = traits.Enum("fimbria", "fsl", "mrtrix", "bids", argstr="--layout %s", desc="Whose names, orders and frames to write [default: fimbria]")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    device = traits.Str(argstr="--device %s", desc="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]")
    device_memory = traits.Float(argstr="--device-memory %.15g", desc="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]")
    follow = traits.Bool(argstr="--follow", desc="Fit again whenever more volumes are there, until all of the gradient table are, or until Ctrl-C. DWI is a file that grows or is replaced, or a folder that receives volumes, taken in the order of their numbers; the table must have a row for each volume to come")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class FitStremiOutputSpec(TraitedSpec):
    written = traits.Str(desc="the folder")
    gamma = traits.Str(desc="stretching exponents along the axes of the tensor, largest eigenvalue first; NaN where A is 0")
    A = traits.Str(desc="generalised diffusivities along the axes of the tensor, (10^-3 mm^2/s)^gamma: A^(1/gamma) is in 10^-3 mm²/s")
    Mgamma = traits.Str(desc="mean of the three exponents")
    Agamma = traits.Str(desc="anisotropy of the exponents, sqrt(3/2) |gamma - Mgamma| / |gamma|")
    gamma_parallel = traits.Str(desc="exponent along the first axis")
    gamma_perpendicular = traits.Str(desc="mean exponent along the other two axes")
    S0 = traits.Str(desc="signal without diffusion weighting, input units [arbitrary]")
    residual = traits.Str(desc="root mean square of measured minus predicted signal, input units [arbitrary]")
    status = traits.Str(desc="0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined")
    error = OutputMultiPath(traits.Str(), desc="with --errors: the standard error of the map of that name, in its unit")
    mask = traits.Str(desc="where no mask is given: the mask that was made")
    mean_b0 = traits.Str(desc="where no mask is given: the mean unweighted volume that it was made of [arbitrary]")
    run_json = traits.Str(desc="inputs with hashes, parameters, machine, times, counts, warnings")


class FitStremi(_Command):
    """Fit the stretched-exponential model to all volumes: gamma, A, Mgamma and Agamma; writes a folder, output."""

    _cmd = "fimbria fit stremi"
    _written = "output"
    input_spec = FitStremiInputSpec
    output_spec = FitStremiOutputSpec
    _files = (
        ("gamma", ("gamma.{image}", "*model-stremi_param-gamma_dwimap.{image}", "stremi_gamma.{image}"), False),
        ("A", ("A.{image}", "*model-stremi_param-a_dwimap.{image}", "stremi_A.{image}", "a.{image}"), False),
        ("Mgamma", ("Mgamma.{image}", "*model-stremi_param-mgamma_dwimap.{image}", "stremi_Mgamma.{image}", "mgamma.{image}"), False),
        ("Agamma", ("Agamma.{image}", "*model-stremi_param-agamma_dwimap.{image}", "stremi_Agamma.{image}", "agamma.{image}"), False),
        ("gamma_parallel", ("gamma_parallel.{image}", "*model-stremi_param-gammaparallel_dwimap.{image}", "stremi_gamma_parallel.{image}"), False),
        ("gamma_perpendicular", ("gamma_perpendicular.{image}", "*model-stremi_param-gammaperpendicular_dwimap.{image}", "stremi_gamma_perpendicular.{image}"), False),
        ("S0", ("S0.{image}", "*model-stremi_param-s0_dwimap.{image}", "stremi_S0.{image}", "b0.{image}"), False),
        ("residual", ("residual.{image}", "*model-stremi_param-residual_dwimap.{image}", "stremi_residual.{image}"), False),
        ("status", ("status.{image}", "*model-stremi_param-status_dwimap.{image}", "stremi_status.{image}"), False),
        ("error", ("*_error.{image}",), True),
        ("mask", ("mask.{image}",), False),
        ("mean_b0", ("mean_b0.{image}",), False),
        ("run_json", ("run.json",), False),
    )


class FitDki1dInputSpec(CommandLineInputSpec):
    dwi = traits.Either(File(exists=True), Directory(exists=True), argstr="%s", position=0, desc="Diffusion-weighted series, 4-D")
    eta = traits.Str(argstr="--eta %s", desc="The noise floor relative to S0: sigma (sigma / S0), rms (sqrt(2) sigma / S0), fixed:V (V in all voxels, as in fixed:0.02) or fit (one for each direction, 0 to 0.5) [default: sigma]")
    bmax = traits.Float(argstr="--bmax %.15g", desc="Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: 3000]")
    sigma = traits.Float(argstr="--sigma %.15g", desc="Standard deviation of the noise [from 0 on, units of the input] [default: estimated from the spread of repeated unweighted volumes]")
    background = traits.Either(File(exists=True), Directory(exists=True), argstr="--background %s", desc="Estimate it from the magnitude in the voxels of this mask, which must hold air, not zeros")
    precision = traits.Enum("single", "double", argstr="--precision %s", desc="Arithmetic of the fit; measurements and maps are held in single precision [default: single]")
    max_iterations = traits.Int(argstr="--max-iterations %d", desc="Iterations after which a fit is given up and marked [from 1 on] [default: 100, of expressions 1000]")
    robust = traits.Enum("huber", "tukey", argstr="--robust %s", desc="Keep outliers from pulling: fit again with weights made of the residuals, until these settle (the scale of the residuals is that of each fit by itself)")
    errors = traits.Bool(argstr="--errors", desc="Also write the standard error of each map of the model, NAME_error, in its unit: from the residuals (sigma with the Rician likelihood) and the curvature at the solution; 0 where unknown, as at a bound; with --robust some 10 % too small")
    shells = InputMultiObject(traits.Float(), argstr="--shells %s", sep=",", desc="Use only the shells nearest to these b, separated by commas, and the unweighted volumes [from 0 on, s/mm²] [default: all]")
    data = traits.Either(File(exists=True), Directory(exists=True), argstr="--data %s", desc="The series as an option, as in FSL's dtifit")
    bval = traits.Either(File(exists=True), Directory(exists=True), argstr="--bval %s", desc="b-values in s/mm², FSL form [s/mm²] [default: found beside the image]")
    bvec = traits.Either(File(exists=True), Directory(exists=True), argstr="--bvec %s", desc="Directions, FSL form [default: found beside the image]")
    fslgrad = traits.List(traits.Either(File(exists=True), Directory(exists=True)), minlen=2, maxlen=2, argstr="--fslgrad %s", desc="Directions and b-values, FSL form, in MRtrix3's order [s/mm²]")
    grad = traits.Either(File(exists=True), Directory(exists=True), argstr="--grad %s", desc="Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]")
    bmatrix = traits.Either(File(exists=True), Directory(exists=True), argstr="--bmatrix %s", desc="b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]")
    bvec_frame = traits.Enum("fsl", "voxel", "scanner", argstr="--bvec-frame %s", desc="Axes in which bvecs or b-matrices are given [default: fsl]")
    b0_threshold = traits.Float(argstr="--b0-threshold %.15g", desc="b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]")
    bvalue_scaling = traits.Enum("auto", "yes", "no", argstr="--bvalue-scaling %s", desc="What directions that are not of unit length mean [default: auto]")
    mask = traits.Either(File(exists=True), Directory(exists=True), argstr="--mask %s", desc="Voxels to work on: a 3-D image on the grid of the series, inside where above zero [default: a simple brain mask from the unweighted volumes]")
    grad_dev = traits.Either(File(exists=True), Directory(exists=True), argstr="--grad-dev %s", desc="Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and directions; for `fit dti` and `sticks`, other methods refuse it")
    scratch = traits.Str(argstr="--scratch %s", desc="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]")
    output = traits.Str("dki1d", usedefault=True, argstr="--output %s", desc="Folder (or, where the command writes one file, the file) to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    format = traits.Enum("nii.gz", "nii", "mif", argstr="--format %s", desc="Format of the maps [default: nii.gz, or mif with --layout mrtrix]")
    layout = traits.Enum("fimbria", "fsl", "mrtrix", "bids", argstr="--layout %s", desc="Whose names, orders and frames to write [default: fimbria]")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    device = traits.Str(argstr="--device %s", desc="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]")
    device_memory = traits.Float(argstr="--device-memory %.15g", desc="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]")
    follow = traits.Bool(argstr="--follow", desc="Fit again whenever more volumes are there, until all of the gradient table are, or until Ctrl-C. DWI is a file that grows or is replaced, or a folder that receives volumes, taken in the order of their numbers; the table must have a row for each volume to come")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class FitDki1dOutputSpec(TraitedSpec):
    written = traits.Str(desc="the folder")
    D = traits.Str(desc="apparent diffusivity, mm²/s, one volume per direction of directions.txt [mm^2/s]")
    K = traits.Str(desc="apparent kurtosis, one volume per direction of directions.txt; 0 where the signal loses less than 1 %")
    MD = traits.Str(desc="mean of D over the directions that converged, mm²/s [mm^2/s]")
    MK = traits.Str(desc="mean of K over the directions that converged, each limited to -3/7..10; NaN where none tells it")
    S0 = traits.Str(desc="signal without diffusion weighting, mean of the fits of all directions, input units [arbitrary]")
    residual = traits.Str(desc="root mean square of measured minus predicted signal, input units [arbitrary]")
    status = traits.Str(desc="0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined")
    error = OutputMultiPath(traits.Str(), desc="with --errors: the standard error of the map of that name, in its unit")
    directions_txt = traits.Str(desc="x y z of each direction, a line each, unit, in the order of the volumes")
    mask = traits.Str(desc="where no mask is given: the mask that was made")
    mean_b0 = traits.Str(desc="where no mask is given: the mean unweighted volume that it was made of [arbitrary]")
    run_json = traits.Str(desc="inputs with hashes, parameters, machine, times, counts, warnings")


class FitDki1d(_Command):
    """Fit kurtosis along each gradient direction, above a noise floor: D, K and MK; writes a folder, output."""

    _cmd = "fimbria fit dki1d"
    _written = "output"
    input_spec = FitDki1dInputSpec
    output_spec = FitDki1dOutputSpec
    _files = (
        ("D", ("D.{image}", "*model-dki1d_param-d_dwimap.{image}", "dki1d_D.{image}", "d.{image}"), False),
        ("K", ("K.{image}", "*model-dki1d_param-k_dwimap.{image}", "dki1d_K.{image}", "k.{image}"), False),
        ("MD", ("MD.{image}", "*model-dki1d_param-md_dwimap.{image}", "dki1d_MD.{image}", "adc.{image}"), False),
        ("MK", ("MK.{image}", "*model-dki1d_param-mk_dwimap.{image}", "dki1d_MK.{image}", "mk.{image}"), False),
        ("S0", ("S0.{image}", "*model-dki1d_param-s0_dwimap.{image}", "dki1d_S0.{image}", "b0.{image}"), False),
        ("residual", ("residual.{image}", "*model-dki1d_param-residual_dwimap.{image}", "dki1d_residual.{image}"), False),
        ("status", ("status.{image}", "*model-dki1d_param-status_dwimap.{image}", "dki1d_status.{image}"), False),
        ("error", ("*_error.{image}",), True),
        ("directions_txt", ("directions.txt",), False),
        ("mask", ("mask.{image}",), False),
        ("mean_b0", ("mean_b0.{image}",), False),
        ("run_json", ("run.json",), False),
    )


class FitStremi1dInputSpec(CommandLineInputSpec):
    dwi = traits.Either(File(exists=True), Directory(exists=True), argstr="%s", position=0, desc="Diffusion-weighted series, 4-D")
    bmax = traits.Float(argstr="--bmax %.15g", desc="Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: all are used]")
    likelihood = traits.Enum("gaussian", "offset-gaussian", "rician", argstr="--likelihood %s", desc="How noise enters [default: gaussian]")
    sigma = traits.Float(argstr="--sigma %.15g", desc="Standard deviation of the noise [from 0 on, units of the input] [default: estimated from the spread of repeated unweighted volumes]")
    background = traits.Either(File(exists=True), Directory(exists=True), argstr="--background %s", desc="Estimate it from the magnitude in the voxels of this mask, which must hold air, not zeros")
    precision = traits.Enum("single", "double", argstr="--precision %s", desc="Arithmetic of the fit; measurements and maps are held in single precision [default: single]")
    max_iterations = traits.Int(argstr="--max-iterations %d", desc="Iterations after which a fit is given up and marked [from 1 on] [default: 100, of expressions 1000]")
    robust = traits.Enum("huber", "tukey", argstr="--robust %s", desc="Keep outliers from pulling: fit again with weights made of the residuals, until these settle (the scale of the residuals is that of each fit by itself)")
    errors = traits.Bool(argstr="--errors", desc="Also write the standard error of each map of the model, NAME_error, in its unit: from the residuals (sigma with the Rician likelihood) and the curvature at the solution; 0 where unknown, as at a bound; with --robust some 10 % too small")
    shells = InputMultiObject(traits.Float(), argstr="--shells %s", sep=",", desc="Use only the shells nearest to these b, separated by commas, and the unweighted volumes [from 0 on, s/mm²] [default: all]")
    data = traits.Either(File(exists=True), Directory(exists=True), argstr="--data %s", desc="The series as an option, as in FSL's dtifit")
    bval = traits.Either(File(exists=True), Directory(exists=True), argstr="--bval %s", desc="b-values in s/mm², FSL form [s/mm²] [default: found beside the image]")
    bvec = traits.Either(File(exists=True), Directory(exists=True), argstr="--bvec %s", desc="Directions, FSL form [default: found beside the image]")
    fslgrad = traits.List(traits.Either(File(exists=True), Directory(exists=True)), minlen=2, maxlen=2, argstr="--fslgrad %s", desc="Directions and b-values, FSL form, in MRtrix3's order [s/mm²]")
    grad = traits.Either(File(exists=True), Directory(exists=True), argstr="--grad %s", desc="Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]")
    bmatrix = traits.Either(File(exists=True), Directory(exists=True), argstr="--bmatrix %s", desc="b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]")
    bvec_frame = traits.Enum("fsl", "voxel", "scanner", argstr="--bvec-frame %s", desc="Axes in which bvecs or b-matrices are given [default: fsl]")
    b0_threshold = traits.Float(argstr="--b0-threshold %.15g", desc="b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]")
    bvalue_scaling = traits.Enum("auto", "yes", "no", argstr="--bvalue-scaling %s", desc="What directions that are not of unit length mean [default: auto]")
    mask = traits.Either(File(exists=True), Directory(exists=True), argstr="--mask %s", desc="Voxels to work on: a 3-D image on the grid of the series, inside where above zero [default: a simple brain mask from the unweighted volumes]")
    grad_dev = traits.Either(File(exists=True), Directory(exists=True), argstr="--grad-dev %s", desc="Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and directions; for `fit dti` and `sticks`, other methods refuse it")
    scratch = traits.Str(argstr="--scratch %s", desc="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]")
    output = traits.Str("stremi1d", usedefault=True, argstr="--output %s", desc="Folder (or, where the command writes one file, the file) to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    format = traits.Enum("nii.gz", "nii", "mif", argstr="--format %s", desc="Format of the maps [default: nii.gz, or mif with --layout mrtrix]")
    layout = traits.Enum("fimbria", "fsl", "mrtrix", "bids", argstr="--layout %s", desc="Whose names, orders and frames to write [default: fimbria]")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    device = traits.Str(argstr="--device %s", desc="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]")
    device_memory = traits.Float(argstr="--device-memory %.15g", desc="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]")
    follow = traits.Bool(argstr="--follow", desc="Fit again whenever more volumes are there, until all of the gradient table are, or until Ctrl-C. DWI is a file that grows or is replaced, or a folder that receives volumes, taken in the order of their numbers; the table must have a row for each volume to come")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class FitStremi1dOutputSpec(TraitedSpec):
    written = traits.Str(desc="the folder")
    A = traits.Str(desc="generalised diffusivity of exp(-A b^gamma), (10^-3 mm^2/s)^gamma: A^(1/gamma) is in 10^-3 mm²/s; one volume per direction of directions.txt")
    gamma = traits.Str(desc="stretching exponent, one volume per direction of directions.txt; 0 where the signal loses less than 1 %")
    MA = traits.Str(desc="mean of A over the directions that converged")
    Mgamma = traits.Str(desc="mean of gamma over the directions that converged; NaN where none tells it")
    S0 = traits.Str(desc="signal without diffusion weighting, mean of the fits of all directions, input units [arbitrary]")
    residual = traits.Str(desc="root mean square of measured minus predicted signal, input units [arbitrary]")
    status = traits.Str(desc="0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined")
    error = OutputMultiPath(traits.Str(), desc="with --errors: the standard error of the map of that name, in its unit")
    directions_txt = traits.Str(desc="x y z of each direction, a line each, unit, in the order of the volumes")
    mask = traits.Str(desc="where no mask is given: the mask that was made")
    mean_b0 = traits.Str(desc="where no mask is given: the mean unweighted volume that it was made of [arbitrary]")
    run_json = traits.Str(desc="inputs with hashes, parameters, machine, times, counts, warnings")


class FitStremi1d(_Command):
    """Fit a stretched exponential along each gradient direction: A, gamma and Mgamma; writes a folder, output."""

    _cmd = "fimbria fit stremi1d"
    _written = "output"
    input_spec = FitStremi1dInputSpec
    output_spec = FitStremi1dOutputSpec
    _files = (
        ("A", ("A.{image}", "*model-stremi1d_param-a_dwimap.{image}", "stremi1d_A.{image}", "a.{image}"), False),
        ("gamma", ("gamma.{image}", "*model-stremi1d_param-gamma_dwimap.{image}", "stremi1d_gamma.{image}"), False),
        ("MA", ("MA.{image}", "*model-stremi1d_param-ma_dwimap.{image}", "stremi1d_MA.{image}", "ma.{image}"), False),
        ("Mgamma", ("Mgamma.{image}", "*model-stremi1d_param-mgamma_dwimap.{image}", "stremi1d_Mgamma.{image}", "mgamma.{image}"), False),
        ("S0", ("S0.{image}", "*model-stremi1d_param-s0_dwimap.{image}", "stremi1d_S0.{image}", "b0.{image}"), False),
        ("residual", ("residual.{image}", "*model-stremi1d_param-residual_dwimap.{image}", "stremi1d_residual.{image}"), False),
        ("status", ("status.{image}", "*model-stremi1d_param-status_dwimap.{image}", "stremi1d_status.{image}"), False),
        ("error", ("*_error.{image}",), True),
        ("directions_txt", ("directions.txt",), False),
        ("mask", ("mask.{image}",), False),
        ("mean_b0", ("mean_b0.{image}",), False),
        ("run_json", ("run.json",), False),
    )


class FitIvimInputSpec(CommandLineInputSpec):
    dwi = traits.Either(File(exists=True), Directory(exists=True), argstr="%s", position=0, desc="Diffusion-weighted series, 4-D")
    bmax = traits.Float(argstr="--bmax %.15g", desc="Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: all are used]")
    likelihood = traits.Enum("gaussian", "offset-gaussian", "rician", argstr="--likelihood %s", desc="How noise enters [default: gaussian]")
    sigma = traits.Float(argstr="--sigma %.15g", desc="Standard deviation of the noise [from 0 on, units of the input] [default: estimated from the spread of repeated unweighted volumes]")
    background = traits.Either(File(exists=True), Directory(exists=True), argstr="--background %s", desc="Estimate it from the magnitude in the voxels of this mask, which must hold air, not zeros")
    precision = traits.Enum("single", "double", argstr="--precision %s", desc="Arithmetic of the fit; measurements and maps are held in single precision [default: single]")
    max_iterations = traits.Int(argstr="--max-iterations %d", desc="Iterations after which a fit is given up and marked [from 1 on] [default: 100, of expressions 1000]")
    robust = traits.Enum("huber", "tukey", argstr="--robust %s", desc="Keep outliers from pulling: fit again with weights made of the residuals, until these settle (the scale of the residuals is that of each fit by itself)")
    errors = traits.Bool(argstr="--errors", desc="Also write the standard error of each map of the model, NAME_error, in its unit: from the residuals (sigma with the Rician likelihood) and the curvature at the solution; 0 where unknown, as at a bound; with --robust some 10 % too small")
    shells = InputMultiObject(traits.Float(), argstr="--shells %s", sep=",", desc="Use only the shells nearest to these b, separated by commas, and the unweighted volumes [from 0 on, s/mm²] [default: all]")
    data = traits.Either(File(exists=True), Directory(exists=True), argstr="--data %s", desc="The series as an option, as in FSL's dtifit")
    bval = traits.Either(File(exists=True), Directory(exists=True), argstr="--bval %s", desc="b-values in s/mm², FSL form [s/mm²] [default: found beside the image]")
    bvec = traits.Either(File(exists=True), Directory(exists=True), argstr="--bvec %s", desc="Directions, FSL form [default: found beside the image]")
    fslgrad = traits.List(traits.Either(File(exists=True), Directory(exists=True)), minlen=2, maxlen=2, argstr="--fslgrad %s", desc="Directions and b-values, FSL form, in MRtrix3's order [s/mm²]")
    grad = traits.Either(File(exists=True), Directory(exists=True), argstr="--grad %s", desc="Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]")
    bmatrix = traits.Either(File(exists=True), Directory(exists=True), argstr="--bmatrix %s", desc="b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]")
    bvec_frame = traits.Enum("fsl", "voxel", "scanner", argstr="--bvec-frame %s", desc="Axes in which bvecs or b-matrices are given [default: fsl]")
    b0_threshold = traits.Float(argstr="--b0-threshold %.15g", desc="b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]")
    bvalue_scaling = traits.Enum("auto", "yes", "no", argstr="--bvalue-scaling %s", desc="What directions that are not of unit length mean [default: auto]")
    mask = traits.Either(File(exists=True), Directory(exists=True), argstr="--mask %s", desc="Voxels to work on: a 3-D image on the grid of the series, inside where above zero [default: a simple brain mask from the unweighted volumes]")
    grad_dev = traits.Either(File(exists=True), Directory(exists=True), argstr="--grad-dev %s", desc="Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and directions; for `fit dti` and `sticks`, other methods refuse it")
    scratch = traits.Str(argstr="--scratch %s", desc="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]")
    output = traits.Str("ivim", usedefault=True, argstr="--output %s", desc="Folder (or, where the command writes one file, the file) to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    format = traits.Enum("nii.gz", "nii", "mif", argstr="--format %s", desc="Format of the maps [default: nii.gz, or mif with --layout mrtrix]")
    layout = traits.Enum("fimbria", "fsl", "mrtrix", "bids", argstr="--layout %s", desc="Whose names, orders and frames to write [default: fimbria]")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    device = traits.Str(argstr="--device %s", desc="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]")
    device_memory = traits.Float(argstr="--device-memory %.15g", desc="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]")
    follow = traits.Bool(argstr="--follow", desc="Fit again whenever more volumes are there, until all of the gradient table are, or until Ctrl-C. DWI is a file that grows or is replaced, or a folder that receives volumes, taken in the order of their numbers; the table must have a row for each volume to come")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class FitIvimOutputSpec(TraitedSpec):
    written = traits.Str(desc="the folder")
    f = traits.Str(desc="perfusion fraction of the signal without weighting")
    D = traits.Str(desc="diffusivity of the tissue, mm²/s [mm^2/s]")
    Dstar = traits.Str(desc="pseudo-diffusivity of the perfusion, mm²/s; NaN where there is none (f is 0) [mm^2/s]")
    S0 = traits.Str(desc="signal without diffusion weighting, input units [arbitrary]")
    residual = traits.Str(desc="root mean square of measured minus predicted signal, input units [arbitrary]")
    status = traits.Str(desc="0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined")
    error = OutputMultiPath(traits.Str(), desc="with --errors: the standard error of the map of that name, in its unit")
    mask = traits.Str(desc="where no mask is given: the mask that was made")
    mean_b0 = traits.Str(desc="where no mask is given: the mean unweighted volume that it was made of [arbitrary]")
    run_json = traits.Str(desc="inputs with hashes, parameters, machine, times, counts, warnings")


class FitIvim(_Command):
    """Fit intravoxel incoherent motion: perfusion fraction, D and D* of two exponentials; writes a folder, output."""

    _cmd = "fimbria fit ivim"
    _written = "output"
    input_spec = FitIvimInputSpec
    output_spec = FitIvimOutputSpec
    _files = (
        ("f", ("f.{image}", "*model-ivim_param-f_dwimap.{image}", "ivim_f.{image}"), False),
        ("D", ("D.{image}", "*model-ivim_param-d_dwimap.{image}", "ivim_D.{image}", "d.{image}"), False),
        ("Dstar", ("Dstar.{image}", "*model-ivim_param-dstar_dwimap.{image}", "ivim_Dstar.{image}", "dstar.{image}"), False),
        ("S0", ("S0.{image}", "*model-ivim_param-s0_dwimap.{image}", "ivim_S0.{image}", "b0.{image}"), False),
        ("residual", ("residual.{image}", "*model-ivim_param-residual_dwimap.{image}", "ivim_residual.{image}"), False),
        ("status", ("status.{image}", "*model-ivim_param-status_dwimap.{image}", "ivim_status.{image}"), False),
        ("error", ("*_error.{image}",), True),
        ("mask", ("mask.{image}",), False),
        ("mean_b0", ("mean_b0.{image}",), False),
        ("run_json", ("run.json",), False),
    )


class FitMonoInputSpec(CommandLineInputSpec):
    dwi = traits.Either(File(exists=True), Directory(exists=True), argstr="%s", position=0, desc="Diffusion-weighted series, 4-D")
    bmax = traits.Float(argstr="--bmax %.15g", desc="Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: all are used]")
    likelihood = traits.Enum("gaussian", "offset-gaussian", "rician", argstr="--likelihood %s", desc="How noise enters [default: gaussian]")
    sigma = traits.Float(argstr="--sigma %.15g", desc="Standard deviation of the noise [from 0 on, units of the input] [default: estimated from the spread of repeated unweighted volumes]")
    background = traits.Either(File(exists=True), Directory(exists=True), argstr="--background %s", desc="Estimate it from the magnitude in the voxels of this mask, which must hold air, not zeros")
    precision = traits.Enum("single", "double", argstr="--precision %s", desc="Arithmetic of the fit; measurements and maps are held in single precision [default: single]")
    max_iterations = traits.Int(argstr="--max-iterations %d", desc="Iterations after which a fit is given up and marked [from 1 on] [default: 100, of expressions 1000]")
    robust = traits.Enum("huber", "tukey", argstr="--robust %s", desc="Keep outliers from pulling: fit again with weights made of the residuals, until these settle (the scale of the residuals is that of each fit by itself)")
    errors = traits.Bool(argstr="--errors", desc="Also write the standard error of each map of the model, NAME_error, in its unit: from the residuals (sigma with the Rician likelihood) and the curvature at the solution; 0 where unknown, as at a bound; with --robust some 10 % too small")
    shells = InputMultiObject(traits.Float(), argstr="--shells %s", sep=",", desc="Use only the shells nearest to these b, separated by commas, and the unweighted volumes [from 0 on, s/mm²] [default: all]")
    data = traits.Either(File(exists=True), Directory(exists=True), argstr="--data %s", desc="The series as an option, as in FSL's dtifit")
    bval = traits.Either(File(exists=True), Directory(exists=True), argstr="--bval %s", desc="b-values in s/mm², FSL form [s/mm²] [default: found beside the image]")
    bvec = traits.Either(File(exists=True), Directory(exists=True), argstr="--bvec %s", desc="Directions, FSL form [default: found beside the image]")
    fslgrad = traits.List(traits.Either(File(exists=True), Directory(exists=True)), minlen=2, maxlen=2, argstr="--fslgrad %s", desc="Directions and b-values, FSL form, in MRtrix3's order [s/mm²]")
    grad = traits.Either(File(exists=True), Directory(exists=True), argstr="--grad %s", desc="Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]")
    bmatrix = traits.Either(File(exists=True), Directory(exists=True), argstr="--bmatrix %s", desc="b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]")
    bvec_frame = traits.Enum("fsl", "voxel", "scanner", argstr="--bvec-frame %s", desc="Axes in which bvecs or b-matrices are given [default: fsl]")
    b0_threshold = traits.Float(argstr="--b0-threshold %.15g", desc="b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]")
    bvalue_scaling = traits.Enum("auto", "yes", "no", argstr="--bvalue-scaling %s", desc="What directions that are not of unit length mean [default: auto]")
    mask = traits.Either(File(exists=True), Directory(exists=True), argstr="--mask %s", desc="Voxels to work on: a 3-D image on the grid of the series, inside where above zero [default: a simple brain mask from the unweighted volumes]")
    grad_dev = traits.Either(File(exists=True), Directory(exists=True), argstr="--grad-dev %s", desc="Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and directions; for `fit dti` and `sticks`, other methods refuse it")
    scratch = traits.Str(argstr="--scratch %s", desc="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]")
    output = traits.Str("mono", usedefault=True, argstr="--output %s", desc="Folder (or, where the command writes one file, the file) to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    format = traits.Enum("nii.gz", "nii", "mif", argstr="--format %s", desc="Format of the maps [default: nii.gz, or mif with --layout mrtrix]")
    layout = traits.Enum("fimbria", "fsl", "mrtrix", "bids", argstr="--layout %s", desc="Whose names, orders and frames to write [default: fimbria]")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    device = traits.Str(argstr="--device %s", desc="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]")
    device_memory = traits.Float(argstr="--device-memory %.15g", desc="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]")
    follow = traits.Bool(argstr="--follow", desc="Fit again whenever more volumes are there, until all of the gradient table are, or until Ctrl-C. DWI is a file that grows or is replaced, or a folder that receives volumes, taken in the order of their numbers; the table must have a row for each volume to come")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class FitMonoOutputSpec(TraitedSpec):
    written = traits.Str(desc="the folder")
    D = traits.Str(desc="diffusivity of S0 exp(-b D), mm²/s [mm^2/s]")
    S0 = traits.Str(desc="signal without diffusion weighting, input units [arbitrary]")
    residual = traits.Str(desc="root mean square of measured minus predicted signal, input units [arbitrary]")
    status = traits.Str(desc="0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined")
    error = OutputMultiPath(traits.Str(), desc="with --errors: the standard error of the map of that name, in its unit")
    mask = traits.Str(desc="where no mask is given: the mask that was made")
    mean_b0 = traits.Str(desc="where no mask is given: the mean unweighted volume that it was made of [arbitrary]")
    run_json = traits.Str(desc="inputs with hashes, parameters, machine, times, counts, warnings")


class FitMono(_Command):
    """Fit one exponential, S0 exp(-b D), to all volumes: D and S0; writes a folder, output."""

    _cmd = "fimbria fit mono"
    _written = "output"
    input_spec = FitMonoInputSpec
    output_spec = FitMonoOutputSpec
    _files = (
        ("D", ("D.{image}", "*model-mono_param-d_dwimap.{image}", "mono_D.{image}", "d.{image}"), False),
        ("S0", ("S0.{image}", "*model-mono_param-s0_dwimap.{image}", "mono_S0.{image}", "b0.{image}"), False),
        ("residual", ("residual.{image}", "*model-mono_param-residual_dwimap.{image}", "mono_residual.{image}"), False),
        ("status", ("status.{image}", "*model-mono_param-status_dwimap.{image}", "mono_status.{image}"), False),
        ("error", ("*_error.{image}",), True),
        ("mask", ("mask.{image}",), False),
        ("mean_b0", ("mean_b0.{image}",), False),
        ("run_json", ("run.json",), False),
    )


class FitMsdkiInputSpec(CommandLineInputSpec):
    dwi = traits.Either(File(exists=True), Directory(exists=True), argstr="%s", position=0, desc="Diffusion-weighted series, 4-D")
    bmax = traits.Float(argstr="--bmax %.15g", desc="Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: 3000]")
    shells = InputMultiObject(traits.Float(), argstr="--shells %s", sep=",", desc="Use only the shells nearest to these b, separated by commas, and the unweighted volumes [from 0 on, s/mm²] [default: all]")
    data = traits.Either(File(exists=True), Directory(exists=True), argstr="--data %s", desc="The series as an option, as in FSL's dtifit")
    bval = traits.Either(File(exists=True), Directory(exists=True), argstr="--bval %s", desc="b-values in s/mm², FSL form [s/mm²] [default: found beside the image]")
    bvec = traits.Either(File(exists=True), Directory(exists=True), argstr="--bvec %s", desc="Directions, FSL form [default: found beside the image]")
    fslgrad = traits.List(traits.Either(File(exists=True), Directory(exists=True)), minlen=2, maxlen=2, argstr="--fslgrad %s", desc="Directions and b-values, FSL form, in MRtrix3's order [s/mm²]")
    grad = traits.Either(File(exists=True), Directory(exists=True), argstr="--grad %s", desc="Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]")
    bmatrix = traits.Either(File(exists=True), Directory(exists=True), argstr="--bmatrix %s", desc="b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]")
    bvec_frame = traits.Enum("fsl", "voxel", "scanner", argstr="--bvec-frame %s", desc="Axes in which bvecs or b-matrices are given [default: fsl]")
    b0_threshold = traits.Float(argstr="--b0-threshold %.15g", desc="b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]")
    bvalue_scaling = traits.Enum("auto", "yes", "no", argstr="--bvalue-scaling %s", desc="What directions that are not of unit length mean [default: auto]")
    mask = traits.Either(File(exists=True), Directory(exists=True), argstr="--mask %s", desc="Voxels to work on: a 3-D image on the grid of the series, inside where above zero [default: a simple brain mask from the unweighted volumes]")
    grad_dev = traits.Either(File(exists=True), Directory(exists=True), argstr="--grad-dev %s", desc="Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and directions; for `fit dti` and `sticks`, other methods refuse it")
    scratch = traits.Str(argstr="--scratch %s", desc="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]")
    output = traits.Str("msdki", usedefault=True, argstr="--output %s", desc="Folder (or, where the command writes one file, the file) to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    format = traits.Enum("nii.gz", "nii", "mif", argstr="--format %s", desc="Format of the maps [default: nii.gz, or mif with --layout mrtrix]")
    layout = traits.Enum("fimbria", "fsl", "mrtrix", "bids", argstr="--layout %s", desc="Whose names, orders and frames to write [default: fimbria]")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    device = traits.Str(argstr="--device %s", desc="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]")
    device_memory = traits.Float(argstr="--device-memory %.15g", desc="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]")
    follow = traits.Bool(argstr="--follow", desc="Fit again whenever more volumes are there, until all of the gradient table are, or until Ctrl-C. DWI is a file that grows or is replaced, or a folder that receives volumes, taken in the order of their numbers; the table must have a row for each volume to come")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class FitMsdkiOutputSpec(TraitedSpec):
    written = traits.Str(desc="the folder")
    MSD = traits.Str(desc="diffusivity of the mean signal of the shells, mm²/s [mm^2/s]")
    MSK = traits.Str(desc="kurtosis of that mean signal; NaN where MSD is not above 0")
    AWF = traits.Str(desc="axonal water fraction of two compartments with that MSK, 0 to 1")
    DI = traits.Str(desc="their intrinsic diffusivity, mm²/s [mm^2/s]")
    MFA = traits.Str(desc="their microscopic fractional anisotropy, 0 to 1")
    S0 = traits.Str(desc="signal without diffusion weighting, input units [arbitrary]")
    residual = traits.Str(desc="root mean square of measured minus predicted mean signals, a shell counting by its volumes, input units [arbitrary]")
    status = traits.Str(desc="0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined")
    mask = traits.Str(desc="where no mask is given: the mask that was made")
    mean_b0 = traits.Str(desc="where no mask is given: the mean unweighted volume that it was made of [arbitrary]")
    run_json = traits.Str(desc="inputs with hashes, parameters, machine, times, counts, warnings")


class FitMsdki(_Command):
    """Fit kurtosis to the mean signal of each shell: MSD, MSK, and the fraction of axons; writes a folder, output."""

    _cmd = "fimbria fit msdki"
    _written = "output"
    input_spec = FitMsdkiInputSpec
    output_spec = FitMsdkiOutputSpec
    _files = (
        ("MSD", ("MSD.{image}", "*model-msdki_param-msd_dwimap.{image}", "msdki_MSD.{image}", "msd.{image}"), False),
        ("MSK", ("MSK.{image}", "*model-msdki_param-msk_dwimap.{image}", "msdki_MSK.{image}", "msk.{image}"), False),
        ("AWF", ("AWF.{image}", "*model-msdki_param-awf_dwimap.{image}", "msdki_AWF.{image}", "awf.{image}"), False),
        ("DI", ("DI.{image}", "*model-msdki_param-di_dwimap.{image}", "msdki_DI.{image}", "di.{image}"), False),
        ("MFA", ("MFA.{image}", "*model-msdki_param-mfa_dwimap.{image}", "msdki_MFA.{image}", "mfa.{image}"), False),
        ("S0", ("S0.{image}", "*model-msdki_param-s0_dwimap.{image}", "msdki_S0.{image}", "b0.{image}"), False),
        ("residual", ("residual.{image}", "*model-msdki_param-residual_dwimap.{image}", "msdki_residual.{image}"), False),
        ("status", ("status.{image}", "*model-msdki_param-status_dwimap.{image}", "msdki_status.{image}"), False),
        ("mask", ("mask.{image}",), False),
        ("mean_b0", ("mean_b0.{image}",), False),
        ("run_json", ("run.json",), False),
    )


class FitExprInputSpec(CommandLineInputSpec):
    dwi = traits.Either(File(exists=True), Directory(exists=True), argstr="%s", position=0, desc="Diffusion-weighted series, 4-D")
    model = traits.Str(argstr="--model %s", mandatory=True, desc="The signal: b, gx, gy, gz, parameters, constants, + - * / ^ and functions")
    param = InputMultiObject(traits.Str(), argstr="--param %s...", mandatory=True, desc="A parameter, where its fit starts, and its bounds ('-' for none) or 'fixed'; once for each, in the order of the maps")
    constant = InputMultiObject(traits.Str(), argstr="--constant %s...", desc="A map of one volume that the expression takes as a constant of each voxel")
    bmax = traits.Float(argstr="--bmax %.15g", desc="Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: all are used]")
    likelihood = traits.Enum("gaussian", "offset-gaussian", "rician", argstr="--likelihood %s", desc="How noise enters [default: gaussian]")
    sigma = traits.Str(argstr="--sigma %s", desc="Standard deviation of the noise in input units, a number or a map, for the offset-Gaussian and Rician likelihoods [default: estimated from the spread of repeated unweighted volumes]")
    background = traits.Either(File(exists=True), Directory(exists=True), argstr="--background %s", desc="Estimate it from the magnitude in the voxels of this mask, which must hold air, not zeros")
    precision = traits.Enum("single", "double", argstr="--precision %s", desc="Arithmetic of the fit; measurements and maps are held in single precision [default: single]")
    max_iterations = traits.Int(argstr="--max-iterations %d", desc="Iterations after which a fit is given up and marked [from 1 on] [default: 100, of expressions 1000]")
    robust = traits.Enum("huber", "tukey", argstr="--robust %s", desc="Keep outliers from pulling: fit again with weights made of the residuals, until these settle (the scale of the residuals is that of each fit by itself)")
    errors = traits.Bool(argstr="--errors", desc="Also write the standard error of each map of the model, NAME_error, in its unit: from the residuals (sigma with the Rician likelihood) and the curvature at the solution; 0 where unknown, as at a bound; with --robust some 10 % too small")
    shells = InputMultiObject(traits.Float(), argstr="--shells %s", sep=",", desc="Use only the shells nearest to these b, separated by commas, and the unweighted volumes [from 0 on, s/mm²] [default: all]")
    data = traits.Either(File(exists=True), Directory(exists=True), argstr="--data %s", desc="The series as an option, as in FSL's dtifit")
    bval = traits.Either(File(exists=True), Directory(exists=True), argstr="--bval %s", desc="b-values in s/mm², FSL form [s/mm²] [default: found beside the image]")
    bvec = traits.Either(File(exists=True), Directory(exists=True), argstr="--bvec %s", desc="Directions, FSL form [default: found beside the image]")
    fslgrad = traits.List(traits.Either(File(exists=True), Directory(exists=True)), minlen=2, maxlen=2, argstr="--fslgrad %s", desc="Directions and b-values, FSL form, in MRtrix3's order [s/mm²]")
    grad = traits.Either(File(exists=True), Directory(exists=True), argstr="--grad %s", desc="Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]")
    bmatrix = traits.Either(File(exists=True), Directory(exists=True), argstr="--bmatrix %s", desc="b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]")
    bvec_frame = traits.Enum("fsl", "voxel", "scanner", argstr="--bvec-frame %s", desc="Axes in which bvecs or b-matrices are given [default: fsl]")
    b0_threshold = traits.Float(argstr="--b0-threshold %.15g", desc="b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]")
    bvalue_scaling = traits.Enum("auto", "yes", "no", argstr="--bvalue-scaling %s", desc="What directions that are not of unit length mean [default: auto]")
    mask = traits.Either(File(exists=True), Directory(exists=True), argstr="--mask %s", desc="Voxels to work on: a 3-D image on the grid of the series, inside where above zero [default: a simple brain mask from the unweighted volumes]")
    grad_dev = traits.Either(File(exists=True), Directory(exists=True), argstr="--grad-dev %s", desc="Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and directions; for `fit dti` and `sticks`, other methods refuse it")
    scratch = traits.Str(argstr="--scratch %s", desc="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]")
    output = traits.Str("expr", usedefault=True, argstr="--output %s", desc="Folder (or, where the command writes one file, the file) to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    format = traits.Enum("nii.gz", "nii", "mif", argstr="--format %s", desc="Format of the maps [default: nii.gz, or mif with --layout mrtrix]")
    layout = traits.Enum("fimbria", "fsl", "mrtrix", "bids", argstr="--layout %s", desc="Whose names, orders and frames to write [default: fimbria]")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    device = traits.Str(argstr="--device %s", desc="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]")
    device_memory = traits.Float(argstr="--device-memory %.15g", desc="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]")
    follow = traits.Bool(argstr="--follow", desc="Fit again whenever more volumes are there, until all of the gradient table are, or until Ctrl-C. DWI is a file that grows or is replaced, or a folder that receives volumes, taken in the order of their numbers; the table must have a row for each volume to come")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class FitExprOutputSpec(TraitedSpec):
    written = traits.Str(desc="the folder")
    residual = traits.Str(desc="root mean square of measured minus predicted signal, input units [arbitrary]")
    iterations = traits.Str(desc="iterations of the fit")
    status = traits.Str(desc="0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined")
    mask = traits.Str(desc="where no mask is given: the mask that was made")
    mean_b0 = traits.Str(desc="where no mask is given: the mean unweighted volume that it was made of [arbitrary]")
    run_json = traits.Str(desc="inputs with hashes, parameters, machine, times, counts, warnings")


class FitExpr(_Command):
    """Fit a signal model written as an expression, 'S0*exp(-b*D)+C'; writes a folder, output."""

    _cmd = "fimbria fit expr"
    _written = "output"
    input_spec = FitExprInputSpec
    output_spec = FitExprOutputSpec
    _files = (
        ("residual", ("residual.{image}", "*model-expression_param-residual_dwimap.{image}", "expr_residual.{image}"), False),
        ("iterations", ("iterations.{image}", "*model-expression_param-iterations_dwimap.{image}", "expr_iterations.{image}"), False),
        ("status", ("status.{image}", "*model-expression_param-status_dwimap.{image}", "expr_status.{image}"), False),
        ("mask", ("mask.{image}",), False),
        ("mean_b0", ("mean_b0.{image}",), False),
        ("run_json", ("run.json",), False),
    )


class EigenInputSpec(CommandLineInputSpec):
    tensors = traits.Either(File(exists=True), Directory(exists=True), argstr="%s", position=0, mandatory=True, desc="File of tensors: JSON; an array of numpy, a row of unique entries each; or an image whose volumes are the entries, of any order")
    mask = traits.Either(File(exists=True), Directory(exists=True), argstr="--mask %s", desc="Voxels of an image to take [default: those that are not 0]")
    dimension = traits.Int(argstr="--dimension %d", desc="Dimension of the tensors of an array [1 to 128] [default: 3]")
    kinds = InputMultiObject(traits.Enum("maxima", "minima", "saddles"), argstr="--kinds %s", sep=",", desc="Which pairs are listed, separated by commas [default: all; maxima and minima in single precision]")
    precision = traits.Enum("single", "double", argstr="--precision %s", desc="Arithmetic of the search. In single precision SS-HOPM leads to maxima and minima, many tensors at once, on devices too; pairs are polished in double precision [default: double]")
    tolerance = traits.Float(argstr="--tolerance %.15g", desc="Largest residual of a pair, relative to the Frobenius norm of A (plus |λ| times that of B) [above 0] [default: 0.000000000001]")
    starts = traits.Int(argstr="--starts %d", desc="Starts to follow for each tensor [from 1 on] [default: as many as seem needed; 128 with --shift and in single precision]")
    rng_seed = traits.Int(argstr="--rng-seed %d", desc="Seed of the random starts [from 0 on] [default: 0]")
    shift = traits.Str(argstr="--shift %s", desc="Use the shifted power method (SS-HOPM) alone, from random starts, with this shift: maxima for 0 and above, minima below; `maxima` and `minima` adapt the shift in every iteration. Starts that do not converge in 1000 iterations are counted")
    output = traits.Str(argstr="--output %s", mandatory=True, desc="Folder (or, where the command writes one file, the file) to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    device = traits.Str(argstr="--device %s", desc="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]")
    device_memory = traits.Float(argstr="--device-memory %.15g", desc="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class EigenOutputSpec(TraitedSpec):
    written = traits.Str(desc="the file")
    file = traits.Str(desc="{\"tensors\": [{\"pairs\": [{\"lambda\": L, \"x\": [...], \"kind\": \"maximum\", \"residual\": R}, ...]}, ...]}, one for each tensor of the input, in its order; of an image with \"voxel\": [i, j, k]")
    file_run_json = traits.Str(desc="what was done")


class Eigen(_Command):
    """Find all real eigenpairs of symmetric tensors of any order and dimension; writes the file output."""

    _cmd = "fimbria eigen"
    _written = "output"
    _is_file = True
    input_spec = EigenInputSpec
    output_spec = EigenOutputSpec
    _files = (
        ("file", ("",), False),
        ("file_run_json", (".run.json",), False),
    )


class PeaksInputSpec(CommandLineInputSpec):
    image = traits.Either(File(exists=True), Directory(exists=True), argstr="%s", position=0, mandatory=True, desc="Coefficients, 4-D: unique entries of symmetric tensors, or spherical harmonics (--sh-basis, where the image itself does not say so), of order 4, 6 or 8 (15, 28 or 45 volumes)")
    sh_basis = traits.Enum("mrtrix", "dipy", "dipy-legacy", argstr="--sh-basis %s", desc="The coefficients are spherical harmonics of this basis [default: what the image says of itself; unique entries where it says nothing]")
    order = traits.Int(argstr="--order %d", desc="Order of the tensors, or highest degree of the harmonics [from 0 on] [default: what the number of volumes says]")
    frame = traits.Enum("fsl", "voxel", "scanner", argstr="--frame %s", desc="Axes the coefficients refer to [default: voxel with a basis of DIPY, else scanner]")
    mask = traits.Either(File(exists=True), Directory(exists=True), argstr="--mask %s", desc="Voxels to work on: a 3-D image on the same grid, inside where above zero [default: all]")
    method = traits.Enum("maxima", "low-rank", argstr="--method %s", desc="What counts as a fibre direction [default: maxima]")
    fibre = traits.Enum("delta", "rank-one", argstr="--fibre %s", desc="What a single fibre looks like in the input [default: delta in harmonics, rank-one in unique entries]")
    number = traits.Int(argstr="--number %d", desc="Directions of a voxel at most [1 to 32] [default: 3]")
    threshold = traits.Float(argstr="--threshold %.15g", desc="Least value of a direction, as a share of the voxel's largest [0 to 1] [default: 0.1]")
    absolute_threshold = traits.Float(argstr="--absolute-threshold %.15g", desc="Value that a direction must exceed, in units of the input [any] [default: 0]")
    separation = traits.Float(argstr="--separation %.15g", desc="Of two directions nearer than this only the larger is kept [0 to 90, degrees] [default: 25]")
    starts = traits.Int(argstr="--starts %d", desc="Directions of the half sphere from which the search sets out [16 to 4096] [default: 1024]")
    output = traits.Str("peaks", usedefault=True, argstr="--output %s", desc="Folder (or, where the command writes one file, the file) to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    format = traits.Enum("nii.gz", "nii", "mif", argstr="--format %s", desc="Format of the maps [default: nii.gz, or mif with --layout mrtrix]")
    layout = traits.Enum("fimbria", "fsl", "mrtrix", "bids", argstr="--layout %s", desc="Whose names, orders and frames to write [default: fimbria]")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    device = traits.Str(argstr="--device %s", desc="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]")
    device_memory = traits.Float(argstr="--device-memory %.15g", desc="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]")
    scratch = traits.Str(argstr="--scratch %s", desc="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class PeaksOutputSpec(TraitedSpec):
    written = traits.Str(desc="the folder")
    peaks = traits.Str(desc="fibre directions, x y z of each, scanner RAS axes, length = value, NaN = none")
    values = traits.Str(desc="values in the fibre directions, largest first, NaN = none")
    count = traits.Str(desc="number of fibre directions")
    status = traits.Str(desc="0 outside mask, 1 found, 2 none above thresholds, 3 uncertain, 4 not finite, 5 flat")
    run_json = traits.Str(desc="inputs with hashes, parameters, machine, times, counts, warnings")


class Peaks(_Command):
    """Find fibre directions: the maxima of a function on the sphere in every voxel; writes a folder, output."""

    _cmd = "fimbria peaks"
    _written = "output"
    input_spec = PeaksInputSpec
    output_spec = PeaksOutputSpec
    _files = (
        ("peaks", ("peaks.{image}",), False),
        ("values", ("values.{image}",), False),
        ("count", ("count.{image}",), False),
        ("status", ("status.{image}",), False),
        ("run_json", ("run.json",), False),
    )


class SticksInputSpec(CommandLineInputSpec):
    dwi = traits.Either(File(exists=True), Directory(exists=True), argstr="%s", position=0, mandatory=True, desc="Diffusion-weighted series, 4-D")
    model = traits.Enum("1", "2", "3", argstr="--model %s", desc="The model of diffusivity, by FSL's number [default: 2]")
    fibres = traits.Int(argstr="--fibres %d", desc="Fibres per voxel [1 to 4] [default: 3]")
    ard = traits.Enum("further", "all", "off", argstr="--ard %s", desc="Fractions that tend to 0 where the data do not ask for the fibre (automatic relevance determination) [default: further]")
    fudge = traits.Float(argstr="--fudge %.15g", desc="How strongly: the prior is f^-FUDGE [from 0 on] [default: 1]")
    noise = traits.Enum("gaussian", "rician", argstr="--noise %s", desc="How noise enters [default: gaussian]")
    f0 = traits.Enum("none", "flat", "ard", argstr="--f0 %s", desc="A part of the signal that no weighting attenuates [default: none]")
    ratio = InputMultiObject(traits.Float(), argstr="--ratio %s", sep=",", desc="Mean and standard deviation of the prior of the zeppelins' ratio (model 3) [above 0] [default: 0.13,0.03]")
    burn_in = traits.Int(argstr="--burn-in %d", desc="Jumps before the first sample [from 0 on] [default: 1000]")
    jumps = traits.Int(argstr="--jumps %d", desc="Jumps from then on [from 1 on] [default: 1250]")
    sample_every = traits.Int(argstr="--sample-every %d", desc="Keep every Nth of them as a sample [from 1 on] [default: 25]")
    adapt_every = traits.Int(argstr="--adapt-every %d", desc="Adapt the proposals every N jumps [from 1 on] [default: 40]")
    rng_seed = traits.Int(argstr="--rng-seed %d", desc="Seed of the random numbers; the same seed gives the same samples [from 0 on] [default: 0]")
    half = traits.Bool(argstr="--half", desc="Write the samples in half precision, in one file that only fimbria reads, in place of the merged images")
    bval = traits.Either(File(exists=True), Directory(exists=True), argstr="--bval %s", desc="b-values in s/mm², FSL form [s/mm²] [default: found beside the image]")
    bvec = traits.Either(File(exists=True), Directory(exists=True), argstr="--bvec %s", desc="Directions, FSL form [default: found beside the image]")
    fslgrad = traits.List(traits.Either(File(exists=True), Directory(exists=True)), minlen=2, maxlen=2, argstr="--fslgrad %s", desc="Directions and b-values, FSL form, in MRtrix3's order [s/mm²]")
    grad = traits.Either(File(exists=True), Directory(exists=True), argstr="--grad %s", desc="Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]")
    bmatrix = traits.Either(File(exists=True), Directory(exists=True), argstr="--bmatrix %s", desc="b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]")
    bvec_frame = traits.Enum("fsl", "voxel", "scanner", argstr="--bvec-frame %s", desc="Axes in which bvecs or b-matrices are given [default: fsl]")
    b0_threshold = traits.Float(argstr="--b0-threshold %.15g", desc="b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]")
    bvalue_scaling = traits.Enum("auto", "yes", "no", argstr="--bvalue-scaling %s", desc="What directions that are not of unit length mean [default: auto]")
    mask = traits.Either(File(exists=True), Directory(exists=True), argstr="--mask %s", desc="Voxels to work on: a 3-D image on the grid of the series, inside where above zero [default: a simple brain mask from the unweighted volumes]")
    grad_dev = traits.Either(File(exists=True), Directory(exists=True), argstr="--grad-dev %s", desc="Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and directions; for `fit dti` and `sticks`, other methods refuse it")
    scratch = traits.Str(argstr="--scratch %s", desc="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]")
    output = traits.Str("sticks", usedefault=True, argstr="--output %s", desc="Folder to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    resume = traits.Bool(argstr="--resume", desc="Go on from what the same command left in OUT/.resume when it was interrupted: to the same bits, or (life) to weights as good with another fingerprint in run.json; keep what it finished")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    device = traits.Str(argstr="--device %s", desc="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]")
    device_memory = traits.Float(argstr="--device-memory %.15g", desc="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class SticksOutputSpec(TraitedSpec):
    written = traits.Str(desc="the folder")
    merged_thsamples = OutputMultiPath(traits.Str(), desc="polar angle, a volume per sample; fibres are in the order of their mean fractions [rad]")
    merged_phsamples = OutputMultiPath(traits.Str(), desc="azimuth [rad]")
    merged_fsamples = OutputMultiPath(traits.Str(), desc="fraction")
    merged_samples_f16 = traits.Str(desc="with --half in their place: fimbria track and fimbria probtrackx2 read it. Little endian: 'fimstick', u32 1, fibres, samples, 0, u64 voxels, 3 u64 size of the grid, 12 f64 scanner mm from voxel, u32 index of each voxel (x fastest), then [voxel][sample][fibre] f16 u v f: direction in scanner axes on the octahedron |x|+|y|+|z| = 1 unfolded to a square (u = x, v = y where z >= 0, else (1-|y|) sign x, (1-|x|) sign y), NaN = none; fraction")
    mean_thsamples = OutputMultiPath(traits.Str(), desc="mean of the samples, near the dyad [rad]")
    mean_phsamples = OutputMultiPath(traits.Str(), desc="the same of the azimuth [rad]")
    mean_fsamples = OutputMultiPath(traits.Str(), desc="mean of the samples; mean_fsumsamples: of all fibres")
    dyads = OutputMultiPath(traits.Str(), desc="unit principal direction x y z of the samples, sign arbitrary; dyads2_thr0.05 and so on: where the mean of f is at least 0.05")
    dyads_dispersion = OutputMultiPath(traits.Str(), desc="1 - largest eigenvalue of the mean of v vᵀ: 0 sure, 2/3 any direction")
    dyads_thr0_05_modf = OutputMultiPath(traits.Str(), desc="the same as dyads2_thr0.05 times mean f2 / mean f1")
    mean_dsamples = traits.Str(desc="mean of d [mm^2/s]")
    std_dsamples = traits.Str(desc="standard deviation of d [mm^2/s]")
    mean_d_stdsamples = traits.Str(desc="of model 2 and 3: mean spread of diffusivities [mm^2/s]")
    mean_Rsamples = traits.Str(desc="of model 3: mean ratio of diffusivity across to along")
    mean_f0samples = traits.Str(desc="with --f0: mean fraction without attenuation")
    mean_tausamples = traits.Str(desc="of rician noise: mean 1/variance of the noise")
    mean_S0samples = traits.Str(desc="signal without weighting, sampled [arbitrary]")
    nodif_brain = traits.Str(desc="the same, measured [arbitrary]")
    nodif_brain_mask = traits.Str(desc="the mask")
    acceptance = traits.Str(desc="share of the proposals after burn-in that were taken, 0.2 to 0.5 where chains mix")
    effective_samples = traits.Str(desc="how many independent samples the kept ones are worth: the least of S0, d and f1")
    status = traits.Str(desc="0 outside the mask, 1 sampled, 4 bad signal")
    bvals = traits.Str(desc="b of every volume")
    bvecs = traits.Str(desc="its direction")
    xfms_eye_mat = traits.Str(desc="the identity, where FSL looks for a transform")
    commands_txt = traits.Str(desc="the command, as bedpostX leaves it")
    run_json = traits.Str(desc="inputs with hashes, parameters, machine, times, counts, warnings")


class Sticks(_Command):
    """Sample ball and sticks: fibre directions of every voxel and how sure they are (bedpostx); writes a folder, output."""

    _cmd = "fimbria sticks"
    _written = "output"
    input_spec = SticksInputSpec
    output_spec = SticksOutputSpec
    _files = (
        ("merged_thsamples", ("merged_th*samples.{image}",), True),
        ("merged_phsamples", ("merged_ph*samples.{image}",), True),
        ("merged_fsamples", ("merged_f*samples.{image}",), True),
        ("merged_samples_f16", ("merged_samples.f16",), False),
        ("mean_thsamples", ("mean_th*samples.{image}",), True),
        ("mean_phsamples", ("mean_ph*samples.{image}",), True),
        ("mean_fsamples", ("mean_f*samples.{image}",), True),
        ("dyads", ("dyads*.{image}",), True),
        ("dyads_dispersion", ("dyads*_dispersion.{image}",), True),
        ("dyads_thr0_05_modf", ("dyads*_thr0.05_modf*.{image}",), True),
        ("mean_dsamples", ("mean_dsamples.{image}",), False),
        ("std_dsamples", ("std_dsamples.{image}",), False),
        ("mean_d_stdsamples", ("mean_d_stdsamples.{image}",), False),
        ("mean_Rsamples", ("mean_Rsamples.{image}",), False),
        ("mean_f0samples", ("mean_f0samples.{image}",), False),
        ("mean_tausamples", ("mean_tausamples.{image}",), False),
        ("mean_S0samples", ("mean_S0samples.{image}",), False),
        ("nodif_brain", ("nodif_brain.{image}",), False),
        ("nodif_brain_mask", ("nodif_brain_mask.{image}",), False),
        ("acceptance", ("acceptance.{image}",), False),
        ("effective_samples", ("effective_samples.{image}",), False),
        ("status", ("status.{image}",), False),
        ("bvals", ("bvals",), False),
        ("bvecs", ("bvecs",), False),
        ("xfms_eye_mat", ("xfms/eye.mat",), False),
        ("commands_txt", ("commands.txt",), False),
        ("run_json", ("run.json",), False),
    )


class FieldInputSpec(CommandLineInputSpec):
    phase = InputMultiObject(traits.Either(File(exists=True), Directory(exists=True)), argstr="%s", position=0, mandatory=True, desc="Phase in any scaling: an image with a volume for each echo, or an image for each")
    phase_range = traits.List(traits.Float(), minlen=2, maxlen=2, argstr="--phase-range %s", desc="Two numbers of the phase that are a turn apart, its ends: 0 4096, -180 180 [any] [default: told by the numbers, see below]")
    imaginary = InputMultiObject(traits.Either(File(exists=True), Directory(exists=True)), argstr="--imaginary %s", desc="The imaginary part, likewise, of images whose real part is PHASE: both are phase and magnitude")
    magnitude = InputMultiObject(traits.Either(File(exists=True), Directory(exists=True)), argstr="--magnitude %s", desc="Magnitude, likewise: weighs voxels and echoes, gives R2* and, without --mask, the mask")
    te = InputMultiObject(traits.Float(), argstr="--te %s", sep=",", desc="Echo times [above 0, ms] [default: EchoTime of the .json beside each phase]")
    coils = traits.Int(argstr="--coils %d", desc="Coils that were not combined: volumes, or images, are all echoes of the first, then of the next. They are combined without the phase that each has at echo time 0 (MCPC-3D-S) [from 1 on] [default: 1]")
    smooth_offset = traits.Bool(argstr="--smooth-offset", desc="Take a smooth phase at echo time 0, which the first two echoes tell, off all of them, of a single coil too")
    bipolar = traits.Enum("true", "false", argstr="--bipolar %s", desc="Odd and even echoes were read in opposite directions (true or false): the ramp by which they differ is taken off [default: told by the phase, from three echoes on]")
    b0 = traits.Float(argstr="--b0 %.15g", desc="Strength of B0 [above 0, up to 30, tesla] [default: MagneticFieldStrength of the .json beside the phase]")
    relative = traits.Bool(argstr="--relative", desc="Neither echo times nor B0 are known: fields are in radians of the phase of the first echo")
    b0_dir = traits.List(traits.Float(), minlen=3, maxlen=3, argstr="--b0-dir %s", desc="Direction of B0 in scanner axes [any] [default: 0 0 1]")
    b0_dir_vox = traits.List(traits.Float(), minlen=3, maxlen=3, argstr="--b0-dir-vox %s", desc="Direction of B0 in voxel axes [any]")
    phase_sign = traits.Int(argstr="--phase-sign %d", desc="Sign of the phase along B0 beside a paramagnetic source [1 or -1] [default: 1]")
    mask = traits.Either(File(exists=True), Directory(exists=True), argstr="--mask %s", desc="Voxels to work on: a 3-D image on the same grid, inside where above zero [default: what is bright in the first magnitude]")
    unwrap = traits.Enum("region", "laplacian", argstr="--unwrap %s", desc="How wraps are undone [default: region]")
    offset = traits.Enum("true", "false", argstr="--offset %s", desc="Fit the phase at echo time 0 (true) or take it as 0 (false) [default: true from three echoes on]")
    mask_quality = traits.Float(argstr="--mask-quality %.15g", desc="Leave voxels whose phase is less reliable out of the mask, see the map quality [0 to 1] [default: none is left out]")
    background = traits.Enum("vsharp", "pdf", "lbv", argstr="--background %s", desc="How the background is removed [default: lbv]")
    radius = traits.Float(argstr="--radius %.15g", desc="Largest radius of the spherical means [above 0, mm] [default: 12]")
    output = traits.Str("field", usedefault=True, argstr="--output %s", desc="Folder (or, where the command writes one file, the file) to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    format = traits.Enum("nii.gz", "nii", "mif", argstr="--format %s", desc="Format of the maps [default: nii.gz, or mif with --layout mrtrix]")
    layout = traits.Enum("fimbria", "fsl", "mrtrix", "bids", argstr="--layout %s", desc="Whose names, orders and frames to write [default: fimbria]")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class FieldOutputSpec(TraitedSpec):
    written = traits.Str(desc="the folder")
    total_field = traits.Str(desc="field of all sources relative to B0, ppm, positive along B0 beside a paramagnetic source [ppm]")
    local_field = traits.Str(desc="field of the sources inside the mask relative to B0, ppm [ppm]")
    mask = traits.Str(desc="1 where the local field is known")
    quality = traits.Str(desc="how reliable the phase is, 0 to 1: the mean over a voxel's steps to neighbours, as ROMEO")
    weights = traits.Str(desc="with --magnitude or --imaginary: how surely the field is known: 1 / its standard deviation, its median 1, at most 2")
    r2star = traits.Str(desc="with --magnitude or --imaginary of two echoes or more: R2*, rate of decay of the magnitude [1/s]")
    local_field_json = traits.Str(desc="B0 and the echo time in which the field turned the phase, for `fimbria qsm`")
    run_json = traits.Str(desc="inputs with hashes, parameters, machine, times, counts, warnings")


class Field(_Command):
    """Make a local field of the phase of a gradient-echo scan, for `fimbria qsm`; writes a folder, output."""

    _cmd = "fimbria field"
    _written = "output"
    input_spec = FieldInputSpec
    output_spec = FieldOutputSpec
    _files = (
        ("total_field", ("total_field.{image}",), False),
        ("local_field", ("local_field.{image}",), False),
        ("mask", ("mask.{image}",), False),
        ("quality", ("quality.{image}",), False),
        ("weights", ("weights.{image}",), False),
        ("r2star", ("r2star.{image}",), False),
        ("local_field_json", ("local_field.json",), False),
        ("run_json", ("run.json",), False),
    )


class QsmInputSpec(CommandLineInputSpec):
    field = traits.Either(File(exists=True), Directory(exists=True), argstr="%s", position=0, mandatory=True, desc="The local field (background removed), one volume; with --dqsm-files a deltab.bin [as --field-unit says]")
    mask = traits.Either(File(exists=True), Directory(exists=True), argstr="--mask %s", desc="Voxels to solve for: a 3-D image on the same grid, inside where above zero [default: all but those where the field is 0 from there to the edge of the volume]")
    dti = traits.Either(File(exists=True), Directory(exists=True), argstr="--dti %s", desc="Folder of `fimbria fit dti`: takes its FA and V1, and for --method dtv its MD and S0")
    v1 = traits.Either(File(exists=True), Directory(exists=True), argstr="--v1 %s", desc="Fibre directions, 3 volumes: V1 with --fa, else FA·V1; of several fibres (not of dqsm) 3 volumes each, as long as their fractions; without, every voxel is a sphere")
    fa = traits.Either(File(exists=True), Directory(exists=True), argstr="--fa %s", desc="Fractional anisotropy")
    v1_frame = traits.Enum("fsl", "voxel", "scanner", argstr="--v1-frame %s", desc="Axes the fibre directions refer to [default: what the image says of itself, else scanner]")
    resample = traits.Bool(argstr="--resample", desc="Take FA and fibre directions of another grid at the nearest voxel in the scanner")
    weights = traits.Either(File(exists=True), Directory(exists=True), argstr="--weights %s", desc="A weight for each voxel's field (its magnitude, say), 0 or more, on the same grid. Used as they stand: where they are far from 1, --kappa or --strength weighs what is penalised less or more")
    magnitude = traits.Either(File(exists=True), Directory(exists=True), argstr="--magnitude %s", desc="Magnitude whose edges cost nothing, on the same grid; of several echoes their root mean square")
    two_pass = traits.Either(File(exists=True), Directory(exists=True), argstr="--two-pass %s", desc="Voxels whose field is reliable, likewise: they are mapped once more by themselves, and the map there is taken from that")
    truth = traits.Either(File(exists=True), Directory(exists=True), argstr="--truth %s", desc="Compare with a map of known susceptibility, ppm, on the same grid [ppm]")
    field_unit = traits.Enum("ppm", "hz", "rad/s", "tesla", "relative", argstr="--field-unit %s", desc="Unit of the field [default: ppm, refused where the numbers are unlike it]")
    phase_sign = traits.Int(argstr="--phase-sign %d", desc="Sign of the field along B0 beside a paramagnetic source [1 or -1] [default: 1]")
    b0 = traits.Float(argstr="--b0 %.15g", desc="Strength of B0 [above 0, up to 30, tesla] [default: MagneticFieldStrength of the .json beside the field]")
    te = traits.Float(argstr="--te %.15g", desc="Echo time in which the field turned the phase, for --method ndi and --data phase [0.1 to 1000, ms] [default: EchoTime of the .json beside the field]")
    b0_dir = traits.List(traits.Float(), minlen=3, maxlen=3, argstr="--b0-dir %s", desc="Direction of B0 in scanner axes [any] [default: 0 0 1]")
    b0_dir_vox = traits.List(traits.Float(), minlen=3, maxlen=3, argstr="--b0-dir-vox %s", desc="Direction of B0 in voxel axes [any]")
    dqsm_files = traits.Bool(argstr="--dqsm-files", desc="FIELD, --mask and --v1 are files of the original dQSM program (deltab.bin, mask.bin, models.bin), in tesla and with B0; also writes chi.bin")
    method = traits.Enum("dtv", "dqsm", "tensor", "tkd", "tikhonov", "tv", "rts", "tgv", "medi", "ndi", "ilsqr", argstr="--method %s", desc="How the map is made [default: dtv]")
    compat = traits.Enum("dqsm", argstr="--compat %s", desc="Whose numerics to follow")
    fa_threshold = traits.Float(argstr="--fa-threshold %.15g", desc="FA above which a voxel has a fibre [0 to 1] [default: 0.2]")
    kappa = traits.Float(argstr="--kappa %.15g", desc="Share κ of the data [above 0, up to 1] [default: 0.985; 0.95 in a run, for its noisier fields; 0.75 with --compat dqsm]")
    solver = traits.Enum("cgls", "lsmr", "landweber", argstr="--solver %s", desc="Which iteration [default: cgls; landweber with --compat dqsm]")
    step = traits.Float(argstr="--step %.15g", desc="Step of --solver landweber; one that would diverge is made smaller [above 0] [default: a safe one; 0.15 with --compat dqsm]")
    products = traits.Enum("fast", "dense", argstr="--products %s", desc="How products are made; both are exact [default: fast]")
    edges = traits.Enum("free", "zero", argstr="--edges %s", desc="What lies beyond the mask, for the penalty [default: free; zero with --compat dqsm]")
    outside = traits.Enum("sources", "nothing", argstr="--outside %s", desc="What is outside the mask, for the field [default: sources]")
    data = traits.Enum("field", "phase", argstr="--data %s", desc="What is explained [default: field]")
    support = traits.Int(argstr="--support %d", desc="Voxels that a source reaches along each axis [from 1 on] [default: all; 50 with --compat dqsm]")
    start = traits.Enum("zero", "tikhonov", argstr="--start %s", desc="Where the iteration starts [default: zero]")
    iterations = traits.Int(argstr="--iterations %d", desc="Iterations at most [from 1 on] [default: 100; 200 of ndi; 50 of each part of ilsqr; 1000 of dqsm and tensor, 20 in a run, for its noisier fields]")
    tolerance = traits.Float(argstr="--tolerance %.15g", desc="Stop where the map changes by no more than this part of itself [from 0 on] [default: 2e-3; 1e-3 of ndi; 1e-6 of dqsm and tensor]")
    gradient_tolerance = traits.Float(argstr="--gradient-tolerance %.15g", desc="Stop where the gradient is no more than this part of its first [from 0 on] [default: 1e-6; 1e-2 of ilsqr]")
    noise = traits.Float(argstr="--noise %.15g", desc="Stop where the field is explained to this noise (after weights) [above 0, ppm]")
    strength = traits.Float(argstr="--strength %.15g", desc="λ of dtv, tv, tgv, medi, ndi and tikhonov, threshold of tkd, δ of rts, |D| below which ilsqr looks for streaks [above 0] [default: 2e-4; 1e-3 of ndi, 0.15 of tkd and rts, 0.01 of tikhonov, 0.1 of ilsqr]")
    zero_mean = traits.Bool(argstr="--zero-mean", desc="Make the mean over the mask zero")
    reference = traits.Either(File(exists=True), Directory(exists=True), argstr="--reference %s", desc="Make the mean over these voxels zero instead: a 3-D image on the same grid, inside where above zero")
    output = traits.Str("qsm", usedefault=True, argstr="--output %s", desc="Folder to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    resume = traits.Bool(argstr="--resume", desc="Go on from what the same command left in OUT/.resume when it was interrupted: to the same bits, or (life) to weights as good with another fingerprint in run.json; keep what it finished")
    checkpoint = traits.Int(argstr="--checkpoint %d", desc="Time between checkpoints, which --resume goes on from [from 0 on, s] [default: 60]")
    format = traits.Enum("nii.gz", "nii", "mif", argstr="--format %s", desc="Format of the maps [default: nii.gz, or mif with --layout mrtrix]")
    layout = traits.Enum("fimbria", "fsl", "mrtrix", "bids", argstr="--layout %s", desc="Whose names, orders and frames to write [default: fimbria]")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    device = traits.Str(argstr="--device %s", desc="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]")
    device_memory = traits.Float(argstr="--device-memory %.15g", desc="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class QsmOutputSpec(TraitedSpec):
    written = traits.Str(desc="the folder")
    chi = traits.Str(desc="magnetic susceptibility (SI), ppm, relative to the reference [ppm]")
    msa = traits.Str(desc="with --method tensor: anisotropy of the susceptibility tensor, along the fibre less across it, ppm [ppm]")
    residual = traits.Str(desc="field of the map, as the method has it and before a reference is taken off, less the field given, ppm; 0 where that has no weight [ppm]")
    iterations_tsv = traits.Str(desc="of all methods but tkd and tikhonov: iteration, rms of the map (ppm), relative change, and after it the data term ‖Ax - b‖² and of dqsm, tensor and ndi the penalty and the relative gradient, of the others the variation that costs; of ilsqr the relative gradient alone, first of the map, then of its streaks")
    metrics_json = traits.Str(desc="with --truth: NRMSE, detrended NRMSE, HFEN (%), XSIM, correlation, slope")
    chi_bin = traits.Str(desc="with --dqsm-files: the map (not ppm), bare float32 in that program's order; its x_iter files are neither written nor read")
    run_json = traits.Str(desc="inputs with hashes, parameters in effect, machine, times, counts, warnings; of the iteration kappa and step (in units of B0), iterations, and why it stopped")
    resume = traits.Str(desc="until the run is done: where --resume goes on, with the same result")


class Qsm(_Command):
    """Map magnetic susceptibility from a local field, guided by diffusion; writes a folder, output."""

    _cmd = "fimbria qsm"
    _written = "output"
    input_spec = QsmInputSpec
    output_spec = QsmOutputSpec
    _files = (
        ("chi", ("chi.{image}",), False),
        ("msa", ("msa.{image}",), False),
        ("residual", ("residual.{image}",), False),
        ("iterations_tsv", ("iterations.tsv",), False),
        ("metrics_json", ("metrics.json",), False),
        ("chi_bin", ("chi.bin",), False),
        ("run_json", ("run.json",), False),
        ("resume", (".resume",), False),
    )


class LifeInputSpec(CommandLineInputSpec):
    tractogram = traits.Either(File(exists=True), Directory(exists=True), argstr="%s", position=0, mandatory=True, desc="Streamlines: TCK, TRK or TRX")
    labels = traits.Either(File(exists=True), Directory(exists=True), argstr="--labels %s", desc="Label image, 3-D: nodes of connectome matrices of the weights (ends count up to 4 mm away)")
    sets = traits.Either(File(exists=True), Directory(exists=True), argstr="--sets %s", desc="Sets of streamlines for virtual lesions, beside the groups of a TRX: lines of a name and the numbers of streamlines from 0, separated by blanks")
    start = traits.Either(File(exists=True), Directory(exists=True), argstr="--start %s", desc="Weights to begin with, one a line")
    dwi = traits.Either(File(exists=True), Directory(exists=True), argstr="--dwi %s", mandatory=True, desc="Diffusion-weighted series, 4-D; without --mask all its voxels count")
    bval = traits.Either(File(exists=True), Directory(exists=True), argstr="--bval %s", desc="b-values in s/mm², FSL form [s/mm²] [default: found beside the image]")
    bvec = traits.Either(File(exists=True), Directory(exists=True), argstr="--bvec %s", desc="Directions, FSL form [default: found beside the image]")
    fslgrad = traits.List(traits.Either(File(exists=True), Directory(exists=True)), minlen=2, maxlen=2, argstr="--fslgrad %s", desc="Directions and b-values, FSL form, in MRtrix3's order [s/mm²]")
    grad = traits.Either(File(exists=True), Directory(exists=True), argstr="--grad %s", desc="Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]")
    bmatrix = traits.Either(File(exists=True), Directory(exists=True), argstr="--bmatrix %s", desc="b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]")
    bvec_frame = traits.Enum("fsl", "voxel", "scanner", argstr="--bvec-frame %s", desc="Axes in which bvecs or b-matrices are given [default: fsl]")
    b0_threshold = traits.Float(argstr="--b0-threshold %.15g", desc="b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]")
    bvalue_scaling = traits.Enum("auto", "yes", "no", argstr="--bvalue-scaling %s", desc="What directions that are not of unit length mean [default: auto]")
    grad_dev = traits.Either(File(exists=True), Directory(exists=True), argstr="--grad-dev %s", desc="Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and directions; for `fit dti` and `sticks`, other methods refuse it")
    scratch = traits.Str(argstr="--scratch %s", desc="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]")
    second = traits.Either(File(exists=True), Directory(exists=True), argstr="--second %s", desc="A second series that repeats the first volume by volume, to predict (cross-validation); its gradient table, where it has one, must say so")
    compat = traits.Enum("encode", "dipy", argstr="--compat %s", desc="Take over the conventions of another program; other options still change them")
    atoms = traits.Str(argstr="--atoms %s", desc="Directions of columns: exact, or grid:STEPS (ENCODE's grid of orientations) [default: grid:360; exact with --compat dipy]")
    directions = traits.Either(File(exists=True), Directory(exists=True), argstr="--directions %s", desc="Columns for the directions listed in this file, three numbers a line, in the axes that streamlines' are taken in: each part of a streamline takes the nearest")
    axial = traits.Float(argstr="--axial %.15g", desc="Diffusivity along streamlines [above 0, mm²/s] [default: 0.001]")
    radial = traits.Float(argstr="--radial %.15g", desc="Diffusivity across streamlines: 0 is a stick, more a zeppelin [from 0 on, mm²/s] [default: 0]")
    isotropic = InputMultiObject(traits.Float(), argstr="--isotropic %s", sep=",", desc="Isotropic compartments of every voxel, separated by commas [above 0, mm²/s] [default: none]")
    normalise = traits.Enum("length", "nodes", "none", "volume", argstr="--normalise %s", desc="What the parts of a streamline in a voxel add up to [default: length; with --compat encode nodes, with dipy none]")
    demean = traits.Enum("mean", "shell-mean", "shell-median", "none", argstr="--demean %s", desc="What is taken from signal and columns [default: mean]")
    rank = traits.Str(argstr="--rank %s", desc="Numbers a column is held in: auto (as many as miss 0.1 % of columns), full (one for each volume) or how many [default: auto; full with --compat]")
    solver = traits.Enum("conjugate", "sbb", argstr="--solver %s", desc="How weights are found [default: conjugate; sbb with --compat encode]")
    max_iterations = traits.Int(argstr="--max-iterations %d", desc="Iterations at most [from 0 on] [default: 1000; 500 with --compat encode]")
    tolerance = traits.Float(argstr="--tolerance %.15g", desc="End once the projected gradient is this share of that without weights [0 to below 1] [default: 0.00001]")
    l1 = traits.Float(argstr="--l1 %.15g", desc="L1 penalty on weights, as a share of the least that leaves none [from 0 on] [default: 0]")
    group = traits.Float(argstr="--group %.15g", desc="Penalty on each set of streamlines (--sets, or the groups of a TRX): Σ √n ‖w‖, as a share of the least that leaves no set any weight; its steps are of their own [from 0 on] [default: 0]")
    hindered = InputMultiObject(traits.Float(), argstr="--hindered %s", sep=",", desc="Hindered compartments around the fibres of every voxel (--peaks), separated by commas: diffusivities across the fibres; along them it is --axial [from 0 on, mm²/s] [default: none]")
    peaks = traits.Either(File(exists=True), Directory(exists=True), argstr="--peaks %s", desc="Fibres of every voxel on the grid of the series, three volumes each, as `fimbria peaks` and sh2peaks write them; their lengths do not count")
    output = traits.Str("life", usedefault=True, argstr="--output %s", desc="Folder to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    resume = traits.Bool(argstr="--resume", desc="Go on from what the same command left in OUT/.resume when it was interrupted: to the same bits, or (life) to weights as good with another fingerprint in run.json; keep what it finished")
    format = traits.Enum("nii.gz", "nii", "mif", argstr="--format %s", desc="Format of the maps [default: nii.gz, or mif with --layout mrtrix]")
    layout = traits.Enum("fimbria", "fsl", "mrtrix", "bids", argstr="--layout %s", desc="Whose names, orders and frames to write [default: fimbria]")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    device = traits.Str(argstr="--device %s", desc="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]")
    device_memory = traits.Float(argstr="--device-memory %.15g", desc="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]")
    mask = traits.Either(File(exists=True), Directory(exists=True), argstr="--mask %s", desc="Voxels to work on: a 3-D image on the grid of the series, inside where above zero [default: all]")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class LifeOutputSpec(TraitedSpec):
    written = traits.Str(desc="the folder")
    weights_txt = traits.Str(desc="the weight of every streamline, one a line, in the order of the input")
    pruned = traits.Str(desc="the streamlines of positive weight, in the input's format; TRX and TRK with their weights per streamline")
    pruned_weights_txt = traits.Str(desc="of TCK: those weights")
    rmse = traits.Str(desc="root mean squared error of the predicted signal, units of the signal, 0 where no streamline is [arbitrary]")
    rmse_s0 = traits.Str(desc="root mean squared error over the unweighted signal, 0 where no streamline is")
    rmse_s0_without = traits.Str(desc="the same without streamlines: their weights zero, those of compartments as they are")
    prediction = traits.Str(desc="predicted signal of every volume (unweighted volumes: their mean) [arbitrary]")
    evidence_tsv = traits.Str(desc="virtual lesions: of each set of streamlines (all, TRX groups, --sets) what the signal of its voxels loses without it")
    rmse_xv = traits.Str(desc="with --second: root mean squared error of the prediction of the second series, units of the signal [arbitrary]")
    rrmse = traits.Str(desc="with --second: error of the prediction of the second series over the difference of both series")
    isotropic = traits.Str(desc="with --isotropic: weights of the compartments, a volume each")
    hindered = traits.Str(desc="with --hindered: weights of the compartments around fibres: of the first fibre by each diffusivity, then of the next")
    restricted = traits.Str(desc="with --hindered: what streamlines are of the voxel: their weights by their parts there, of the unweighted signal")
    matrix_csv = OutputMultiPath(traits.Str(), desc="with --labels: sums of weights, numbers and mean weights of streamlines of positive weight and their mean lengths (mm) between nodes")
    matrix_labels_txt = traits.Str(desc="with --labels: the labels of rows and columns")
    run_json = traits.Str(desc="inputs with hashes, parameters, objective, nonzero, iterations, optimality, times, counts, warnings")


class Life(_Command):
    """Weigh every streamline of a tractogram by what it explains of the signal (LiFE); writes a folder, output."""

    _cmd = "fimbria life"
    _written = "output"
    input_spec = LifeInputSpec
    output_spec = LifeOutputSpec
    _files = (
        ("weights_txt", ("weights.txt",), False),
        ("pruned", ("pruned.*",), False),
        ("pruned_weights_txt", ("pruned_weights.txt",), False),
        ("rmse", ("rmse.{image}",), False),
        ("rmse_s0", ("rmse_s0.{image}",), False),
        ("rmse_s0_without", ("rmse_s0_without.{image}",), False),
        ("prediction", ("prediction.{image}",), False),
        ("evidence_tsv", ("evidence.tsv",), False),
        ("rmse_xv", ("rmse_xv.{image}",), False),
        ("rrmse", ("rrmse.{image}",), False),
        ("isotropic", ("isotropic.{image}",), False),
        ("hindered", ("hindered.{image}",), False),
        ("restricted", ("restricted.{image}",), False),
        ("matrix_csv", ("matrix_*.csv",), True),
        ("matrix_labels_txt", ("matrix_labels.txt",), False),
        ("run_json", ("run.json",), False),
    )


class PhantomCrossingInputSpec(CommandLineInputSpec):
    size = traits.Str(argstr="--size %s", desc="Number of voxels along x, y, z [default: 60,72,56]")
    voxel = traits.Str(argstr="--voxel %s", desc="Voxel size in mm [default: 2.5]")
    tilt = traits.Str(argstr="--tilt %s", desc="Turns of the grid about scanner x, y, z in degrees [default: 6,-4,10]")
    x_left_to_right = traits.Bool(argstr="--x-left-to-right", desc="Store x from left to right (det(affine) > 0) instead of right to left")
    b0s = traits.Int(argstr="--b0s %d", desc="Number of unweighted volumes [from 0 on] [default: 6]")
    shells = InputMultiObject(traits.Str(), argstr="--shells %s", sep=",", desc="Shells, each b in s/mm² and number of directions [default: 1000:30,2000:60]")
    snr = traits.Str(argstr="--snr %s", desc="Unweighted white-matter signal over the noise in either channel; inf for no noise [default: 30]")
    rng_seed = traits.Int(argstr="--rng-seed %d", desc="Seed of the noise [from 0 on] [default: 1]")
    output = traits.Str("crossing", usedefault=True, argstr="--output %s", desc="Folder (or, where the command writes one file, the file) to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    format = traits.Enum("nii.gz", "nii", "mif", argstr="--format %s", desc="Format of the images [default: nii.gz]")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class PhantomCrossingOutputSpec(TraitedSpec):
    written = traits.Str(desc="the folder")
    dwi = traits.Str(desc="the series [arbitrary]")
    dwi_bval = traits.Str(desc="in all formats but .mif, whose header has it: b of every volume, s/mm²")
    dwi_bvec = traits.Str(desc="likewise: direction of every volume")
    mask = traits.Str(desc="voxels at least half of which are brain")
    truth_dirs = traits.Str(desc="x y z of up to three fibres, largest fraction first, 0 = none")
    truth_fractions = traits.Str(desc="signal fractions at b = 0 of three fibres, grey matter, fluid")
    truth_count = traits.Str(desc="number of fibres")
    truth_S0 = traits.Str(desc="signal without weighting and noise [arbitrary]")
    truth_angle = traits.Str(desc="angle between the two largest fibres; NaN with fewer than two [degree]")
    truth_FA = traits.Str(desc="of voxels of a single compartment; NaN elsewhere")
    truth_MD = traits.Str(desc="the same [mm^2/s]")
    truth_V1 = traits.Str(desc="direction in voxels of a single fibre; NaN elsewhere")
    truth_MK = traits.Str(desc="mean kurtosis of the mixture at b = 0; 0 outside the mask")
    truth_tracts_trx = traits.Str(desc="streamlines 3 mm apart, a group for each bundle, and as groups false01, false02 and so on connections that are not there, for `fimbria life` to find")
    run_json = traits.Str(desc="parameters, machine, times")


class PhantomCrossing(_Command):
    """A head with bundles that run straight, bend, and cross at 30 to 90 degrees; writes a folder, output."""

    _cmd = "fimbria phantom crossing"
    _written = "output"
    input_spec = PhantomCrossingInputSpec
    output_spec = PhantomCrossingOutputSpec
    _files = (
        ("dwi", ("dwi.{image}",), False),
        ("dwi_bval", ("dwi.bval",), False),
        ("dwi_bvec", ("dwi.bvec",), False),
        ("mask", ("mask.{image}",), False),
        ("truth_dirs", ("truth/dirs.{image}",), False),
        ("truth_fractions", ("truth/fractions.{image}",), False),
        ("truth_count", ("truth/count.{image}",), False),
        ("truth_S0", ("truth/S0.{image}",), False),
        ("truth_angle", ("truth/angle.{image}",), False),
        ("truth_FA", ("truth/FA.{image}",), False),
        ("truth_MD", ("truth/MD.{image}",), False),
        ("truth_V1", ("truth/V1.{image}",), False),
        ("truth_MK", ("truth/MK.{image}",), False),
        ("truth_tracts_trx", ("truth/tracts.trx",), False),
        ("run_json", ("run.json",), False),
    )


class PhantomGreInputSpec(CommandLineInputSpec):
    size = traits.Str(argstr="--size %s", desc="Number of voxels along x, y, z [default: 60,72,56]")
    voxel = traits.Str(argstr="--voxel %s", desc="Voxel size in mm [default: 2.5]")
    tilt = traits.Str(argstr="--tilt %s", desc="Turns of the grid about scanner x, y, z in degrees [default: 6,-4,10]")
    x_left_to_right = traits.Bool(argstr="--x-left-to-right", desc="Store x from left to right (det(affine) > 0) instead of right to left")
    te = InputMultiObject(traits.Float(), argstr="--te %s", desc="Echo times [above 0, ms] [default: 4 12 20 28]")
    b0 = traits.Float(argstr="--b0 %.15g", desc="Strength of B0; it is along scanner z [above 0, up to 30, tesla] [default: 3]")
    fibre = traits.Float(argstr="--fibre %.15g", desc="Mean susceptibility of fibres relative to fluid [any, ppm] [default: -0.03]")
    anisotropy = traits.Float(argstr="--anisotropy %.15g", desc="Susceptibility along fibres less that across them [any, ppm] [default: 0.012]")
    grey = traits.Float(argstr="--grey %.15g", desc="Susceptibility of grey matter relative to fluid [any, ppm] [default: 0.02]")
    air = traits.Float(argstr="--air %.15g", desc="Susceptibility of the air below the brain; 0 for no background [any, ppm] [default: 9.4]")
    finer = traits.Int(argstr="--finer %d", desc="Make the field on a grid as many times finer along each axis [1 to 4] [default: 2]")
    snr = traits.Str(argstr="--snr %s", desc="White matter's magnitude at echo time 0 over the noise in either channel; inf for no noise [default: 100]")
    rng_seed = traits.Int(argstr="--rng-seed %d", desc="Seed of the noise [from 0 on] [default: 1]")
    output = traits.Str("gre", usedefault=True, argstr="--output %s", desc="Folder (or, where the command writes one file, the file) to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    format = traits.Enum("nii.gz", "nii", "mif", argstr="--format %s", desc="Format of the images [default: nii.gz]")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class PhantomGreOutputSpec(TraitedSpec):
    written = traits.Str(desc="the folder")
    phase = traits.Str(desc="phase of every echo, wrapped [rad]")
    phase_json = traits.Str(desc="echo times and B0")
    magnitude = traits.Str(desc="magnitude of every echo [arbitrary]")
    mask = traits.Str(desc="voxels at least half of which are brain")
    truth_chi = traits.Str(desc="mean of the susceptibility tensor, 0 outside the mask [ppm]")
    truth_local_field = traits.Str(desc="field of what is in the head [ppm]")
    truth_total_field = traits.Str(desc="the same with the air below it [ppm]")
    truth_fibre = traits.Str(desc="direction of the largest fibre, as long as its fraction: what `fimbria qsm --v1` takes")
    run_json = traits.Str(desc="parameters, machine, times")


class PhantomGre(_Command):
    """The head of `phantom crossing` in a gradient-echo scan: phase and magnitude of a known field; writes a folder, output."""

    _cmd = "fimbria phantom gre"
    _written = "output"
    input_spec = PhantomGreInputSpec
    output_spec = PhantomGreOutputSpec
    _files = (
        ("phase", ("phase.{image}",), False),
        ("phase_json", ("phase.json",), False),
        ("magnitude", ("magnitude.{image}",), False),
        ("mask", ("mask.{image}",), False),
        ("truth_chi", ("truth/chi.{image}",), False),
        ("truth_local_field", ("truth/local_field.{image}",), False),
        ("truth_total_field", ("truth/total_field.{image}",), False),
        ("truth_fibre", ("truth/fibre.{image}",), False),
        ("run_json", ("run.json",), False),
    )


class PhantomHeadInputSpec(CommandLineInputSpec):
    subject = traits.Int(argstr="--subject %d", desc="Which head: folds, size and ventricles differ from number to number [from 0 on] [default: 1]")
    voxel = traits.Str(argstr="--voxel %s", desc="Voxel size in mm [default: 2.5]")
    size = traits.Str(argstr="--size %s", desc="Number of voxels along x, y, z [default: what holds the whole head]")
    tilt = traits.Str(argstr="--tilt %s", desc="Turns of the grid about scanner x, y, z in degrees [default: 6,-4,3]")
    x_left_to_right = traits.Bool(argstr="--x-left-to-right", desc="Store x from left to right (det(affine) > 0) instead of right to left")
    b0s = traits.Int(argstr="--b0s %d", desc="Number of unweighted volumes [from 0 on] [default: 6]")
    shells = InputMultiObject(traits.Str(), argstr="--shells %s", sep=",", desc="Shells, each b in s/mm² and number of directions [default: 1000:30,2000:60]")
    snr = traits.Str(argstr="--snr %s", desc="Unweighted white-matter signal over the noise in either channel; inf for no noise [default: 30]")
    rng_seed = traits.Int(argstr="--rng-seed %d", desc="Seed of the noise [from 0 on] [default: 1]")
    b_tensor = InputMultiObject(traits.Enum("linear", "planar", "spherical"), argstr="--b-tensor %s", sep=",", desc="Shape of the b-tensors: of all shells, or of each [default: linear]")
    motion = traits.Float(argstr="--motion %.15g", desc="The head moves during the series, up to so far from where it was first, and turns by up to as many degrees [0 to 50, mm] [default: 0]")
    dropped_slices = traits.Int(argstr="--dropped-slices %d", desc="Slices of weighted volumes that lose 60 to 95 % of their signal [from 0 on] [default: 0]")
    nonlinearity = traits.Float(argstr="--nonlinearity %.15g", desc="Largest deviation of the gradients in the brain, as a fraction [0 to 0.3] [default: 0]")
    samples = traits.Int(argstr="--samples %d", desc="Points along each axis at which a voxel on a boundary is sampled [2 to 8] [default: 3]")
    gre = traits.Str(argstr="--gre=%s", desc="Also a gradient-echo scan; echo times in milliseconds")
    gre_b0 = traits.Float(argstr="--gre-b0 %.15g", desc="Strength of B0 in that scan; it is along scanner z [above 0, T] [default: 3]")
    gre_voxel = traits.Float(argstr="--gre-voxel %.15g", desc="Voxel size of that scan, the same along all axes [above 0, mm] [default: that of the series]")
    gre_snr = traits.Str(argstr="--gre-snr %s", desc="White matter's magnitude at echo time 0 over the noise in either channel; inf for no noise [default: 100]")
    bids = traits.Int(argstr="--bids=%d", desc="Write a BIDS data set in the shape of QSIPrep's derivatives instead, of so many subjects: each has other folds and noise, and the second has two sessions [1 to 9999]")
    broken = traits.Bool(argstr="--broken", desc="Cut the series of its last subject short, as a full disk does")
    output = traits.Str("head", usedefault=True, argstr="--output %s", desc="Folder (or, where the command writes one file, the file) to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    format = traits.Enum("nii.gz", "nii", "mif", argstr="--format %s", desc="Format of the images [default: nii.gz]")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class PhantomHeadOutputSpec(TraitedSpec):
    written = traits.Str(desc="the folder")
    dwi = traits.Str(desc="the series [arbitrary]")
    dwi_bval = traits.Str(desc="in all formats but .mif, whose header has it: b of every volume, s/mm²")
    dwi_bvec = traits.Str(desc="likewise: direction of every volume")
    dwi_bshape = traits.Str(desc="with --b-tensor: shape of each volume's b-tensor: 1 linear, -0.5 planar, 0 spherical")
    mask = traits.Str(desc="voxels at least half of which are brain or its fluid")
    t1w = traits.Str(desc="a T1-weighted picture without noise [arbitrary]")
    labels = traits.Str(desc="numbers of labels.txt (uint16), FreeSurfer's where it has them")
    labels_txt = traits.Str(desc="number, name, red, green, blue, 0: a table that FSLeyes and mrview read")
    image_5tt = traits.Str(desc="cortical grey, subcortical grey, white, fluid, none; sum 1 in the mask, 0 outside: what `track --act` and MRtrix3 read")
    truth_tissues = traits.Str(desc="sum 1 everywhere: cortical and subcortical grey, white, fluid, blood, soft, fat, bone, air")
    truth_dirs = traits.Str(desc="x y z of up to four fibres, largest fraction first, 0 = none")
    truth_fractions = traits.Str(desc="their parts of the unweighted signal")
    truth_bundles = OutputMultiPath(traits.Str(), desc="numbers of their bundles, as in truth/bundles.txt; or of each bundle the voxels that its streamlines pass")
    truth_ODI = traits.Str(desc="NODDI's index of their dispersion")
    truth_NDI = traits.Str(desc="part of their water that is inside axons")
    truth_FA = traits.Str(desc="of the signal without noise, in closed form, in the mask")
    truth_MD = traits.Str(desc="the same [mm^2/s]")
    truth_MK = traits.Str(desc="the same")
    truth_S0 = traits.Str(desc="signal without weighting and noise [arbitrary]")
    truth_coil = traits.Str(desc="sensitivity of the coil")
    truth_PD = traits.Str(desc="proton density, 1 in fluid")
    truth_T1 = traits.Str(desc="mean over the voxel's water [s]")
    truth_T2 = traits.Str(desc="the same [s]")
    truth_tracts_trx = traits.Str(desc="the streamlines, a group for each bundle")
    truth_bundles_txt = traits.Str(desc="number, name and streamlines of each bundle; the last number is that of fibres of no bundle")
    grad_dev = traits.Str(desc="with --nonlinearity: L of every voxel, column by column, as FSL's: what --grad-dev of the fits reads")
    truth_motion_tsv = traits.Str(desc="with --motion: where the head is in each volume: mm along scanner x, y, z, then radians about them")
    truth_dropped_tsv = traits.Str(desc="with --dropped-slices: volume and slice, from 0, and what is left of the signal")
    gre_phase = traits.Str(desc="with --gre: phase of every echo, wrapped [rad]")
    gre_phase_json = traits.Str(desc="with --gre: echo times and B0")
    gre_magnitude = traits.Str(desc="with --gre: magnitude of every echo [arbitrary]")
    gre_mask = traits.Str(desc="with --gre: voxels that are brain or its fluid alone")
    gre_truth_chi = traits.Str(desc="with --gre: mean of the susceptibility tensor, 0 outside the mask [ppm]")
    gre_truth_local_field = traits.Str(desc="with --gre: field of what is in the mask [ppm]")
    gre_truth_total_field = traits.Str(desc="with --gre: the same with all outside it, shimmed [ppm]")
    gre_truth_fibre = traits.Str(desc="with --gre: direction of the largest fibre, as long as its fraction")
    gre_truth_r2star = traits.Str(desc="with --gre: decay of the magnitude but for that by the field [1/s]")
    gre_truth_phase_offset = traits.Str(desc="with --gre: phase at echo time 0 [rad]")
    gre_truth_labels = traits.Str(desc="with --gre: numbers of labels.txt")
    dataset_description_json = traits.Str(desc="with --bids, in place of all these: what the data set is")
    participants_tsv = traits.Str(desc="with --bids, in place of all these: the number of each head and its noise")
    sub = OutputMultiPath(traits.Str(), desc="with --bids, in place of all these: dwi/ as QSIPrep has it: series, its tables, mask, mean unweighted volume, confounds and image_qc, with --nonlinearity graddev; anat/: T1-weighted picture, labels, five tissues, with --gre phase and magnitude of every echo")
    README = traits.Str(desc="with --bids, in place of all these: what is simulated")
    run_json = traits.Str(desc="parameters, machine, times")


class PhantomHead(_Command):
    """A head as in people: folded cortex, nuclei, ventricles, named bundles, skull and air; writes a folder, output."""

    _cmd = "fimbria phantom head"
    _written = "output"
    input_spec = PhantomHeadInputSpec
    output_spec = PhantomHeadOutputSpec
    _files = (
        ("dwi", ("dwi.{image}",), False),
        ("dwi_bval", ("dwi.bval",), False),
        ("dwi_bvec", ("dwi.bvec",), False),
        ("dwi_bshape", ("dwi.bshape",), False),
        ("mask", ("mask.{image}",), False),
        ("t1w", ("t1w.{image}",), False),
        ("labels", ("labels.{image}",), False),
        ("labels_txt", ("labels.txt",), False),
        ("image_5tt", ("5tt.{image}",), False),
        ("truth_tissues", ("truth/tissues.{image}",), False),
        ("truth_dirs", ("truth/dirs.{image}",), False),
        ("truth_fractions", ("truth/fractions.{image}",), False),
        ("truth_bundles", ("truth/bundles.{image}", "truth/bundles/*.{image}"), True),
        ("truth_ODI", ("truth/ODI.{image}",), False),
        ("truth_NDI", ("truth/NDI.{image}",), False),
        ("truth_FA", ("truth/FA.{image}",), False),
        ("truth_MD", ("truth/MD.{image}",), False),
        ("truth_MK", ("truth/MK.{image}",), False),
        ("truth_S0", ("truth/S0.{image}",), False),
        ("truth_coil", ("truth/coil.{image}",), False),
        ("truth_PD", ("truth/PD.{image}",), False),
        ("truth_T1", ("truth/T1.{image}",), False),
        ("truth_T2", ("truth/T2.{image}",), False),
        ("truth_tracts_trx", ("truth/tracts.trx",), False),
        ("truth_bundles_txt", ("truth/bundles.txt",), False),
        ("grad_dev", ("grad_dev.{image}",), False),
        ("truth_motion_tsv", ("truth/motion.tsv",), False),
        ("truth_dropped_tsv", ("truth/dropped.tsv",), False),
        ("gre_phase", ("gre/phase.{image}",), False),
        ("gre_phase_json", ("gre/phase.json",), False),
        ("gre_magnitude", ("gre/magnitude.{image}",), False),
        ("gre_mask", ("gre/mask.{image}",), False),
        ("gre_truth_chi", ("gre/truth/chi.{image}",), False),
        ("gre_truth_local_field", ("gre/truth/local_field.{image}",), False),
        ("gre_truth_total_field", ("gre/truth/total_field.{image}",), False),
        ("gre_truth_fibre", ("gre/truth/fibre.{image}",), False),
        ("gre_truth_r2star", ("gre/truth/r2star.{image}",), False),
        ("gre_truth_phase_offset", ("gre/truth/phase_offset.{image}",), False),
        ("gre_truth_labels", ("gre/truth/labels.{image}",), False),
        ("dataset_description_json", ("dataset_description.json",), False),
        ("participants_tsv", ("participants.tsv",), False),
        ("sub", ("sub-*",), True),
        ("README", ("README",), False),
        ("run_json", ("run.json",), False),
    )


class PhantomProtocolInputSpec(CommandLineInputSpec):
    law = traits.Enum("kurtosis", "stretched", argstr="--law %s", desc="Law that the signal of every direction follows exactly [default: kurtosis]")
    size = traits.Str(argstr="--size %s", desc="Number of voxels along x, y, z [default: 128,128,16]")
    voxel = traits.Str(argstr="--voxel %s", desc="Voxel size in mm [default: 0.46875,0.46875,0.75]")
    snr = traits.Str(argstr="--snr %s", desc="Unweighted white-matter signal over the noise in either channel; inf for no noise [default: 50]")
    rng_seed = traits.Int(argstr="--rng-seed %d", desc="Seed of the noise [from 0 on] [default: 1]")
    output = traits.Str("protocol", usedefault=True, argstr="--output %s", desc="Folder (or, where the command writes one file, the file) to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    format = traits.Enum("nii.gz", "nii", "mif", argstr="--format %s", desc="Format of the images [default: nii.gz]")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class PhantomProtocolOutputSpec(TraitedSpec):
    written = traits.Str(desc="the folder")
    dwi = traits.Str(desc="the series [arbitrary]")
    dwi_bval = traits.Str(desc="in all formats but .mif, whose header has it: b of every volume, s/mm²")
    dwi_bvec = traits.Str(desc="likewise: direction of every volume")
    mask = traits.Str(desc="voxels at least half of which are brain")
    truth_dirs = traits.Str(desc="as in `fimbria phantom crossing`")
    truth_fractions = traits.Str(desc="the same")
    truth_count = traits.Str(desc="the same")
    truth_S0 = traits.Str(desc="the same [arbitrary]")
    truth_D = traits.Str(desc="diffusivity of every direction [mm^2/s]")
    truth_K = traits.Str(desc="with --law kurtosis: kurtosis of every direction")
    truth_MK = traits.Str(desc="with --law kurtosis: mean of K")
    truth_A = traits.Str(desc="with --law stretched: A of every direction [mm^2/s]")
    truth_gamma = traits.Str(desc="with --law stretched: gamma of every direction")
    truth_Mgamma = traits.Str(desc="with --law stretched: mean of gamma")
    run_json = traits.Str(desc="parameters, machine, times")


class PhantomProtocol(_Command):
    """A fixed brain under the protocol of Palombo et al.: 10 b-values up to 8000 s/mm² along 30 directions; writes a folder, output."""

    _cmd = "fimbria phantom protocol"
    _written = "output"
    input_spec = PhantomProtocolInputSpec
    output_spec = PhantomProtocolOutputSpec
    _files = (
        ("dwi", ("dwi.{image}",), False),
        ("dwi_bval", ("dwi.bval",), False),
        ("dwi_bvec", ("dwi.bvec",), False),
        ("mask", ("mask.{image}",), False),
        ("truth_dirs", ("truth/dirs.{image}",), False),
        ("truth_fractions", ("truth/fractions.{image}",), False),
        ("truth_count", ("truth/count.{image}",), False),
        ("truth_S0", ("truth/S0.{image}",), False),
        ("truth_D", ("truth/D.{image}",), False),
        ("truth_K", ("truth/K.{image}",), False),
        ("truth_MK", ("truth/MK.{image}",), False),
        ("truth_A", ("truth/A.{image}",), False),
        ("truth_gamma", ("truth/gamma.{image}",), False),
        ("truth_Mgamma", ("truth/Mgamma.{image}",), False),
        ("run_json", ("run.json",), False),
    )


class PhantomTensorsInputSpec(CommandLineInputSpec):
    size = traits.Str(argstr="--size %s", desc="Number of voxels along x and y [default: 32,32]")
    order = traits.Int(argstr="--order %d", desc="Order of the tensors [4, 6 or 8] [default: 4]")
    angles = traits.Str(argstr="--angles %s", desc="Crossing angles in degrees at the least and at the greatest x, linear in between [default: 60,90]")
    noise = traits.Float(argstr="--noise %.15g", desc="Standard deviation of the noise on every entry, relative to the maximum of a single fibre [from 0 on] [default: 0]")
    rng_seed = traits.Int(argstr="--rng-seed %d", desc="Seed of fractions, tilts and noise [from 0 on] [default: 1]")
    output = traits.Str("tensors", usedefault=True, argstr="--output %s", desc="Folder (or, where the command writes one file, the file) to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    format = traits.Enum("nii.gz", "nii", "mif", argstr="--format %s", desc="Format of the images [default: nii.gz]")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class PhantomTensorsOutputSpec(TraitedSpec):
    written = traits.Str(desc="the folder")
    hot = traits.Str(desc="unique entries of the form 0.1 |g|^m + sum f_k (u_k.g)^m of the fibres u_k (15, 28 or 45 volumes for order 4, 6, 8): what `fimbria peaks` reads")
    truth_dirs = traits.Str(desc="x y z of two fibres, larger fraction first, 0 = none")
    truth_fractions = traits.Str(desc="f of each; 1 for a single fibre, 0.4 to 0.6 for two")
    truth_count = traits.Str(desc="number of fibres: 2 in the middle half of the rows, 1 elsewhere")
    truth_angle = traits.Str(desc="angle between the fibres; NaN with one [degree]")
    run_json = traits.Str(desc="parameters, machine, times")


class PhantomTensors(_Command):
    """A sheet of higher-order tensors with one or two fibres per voxel; writes a folder, output."""

    _cmd = "fimbria phantom tensors"
    _written = "output"
    input_spec = PhantomTensorsInputSpec
    output_spec = PhantomTensorsOutputSpec
    _files = (
        ("hot", ("hot.{image}",), False),
        ("truth_dirs", ("truth/dirs.{image}",), False),
        ("truth_fractions", ("truth/fractions.{image}",), False),
        ("truth_count", ("truth/count.{image}",), False),
        ("truth_angle", ("truth/angle.{image}",), False),
        ("run_json", ("run.json",), False),
    )


class TrackInputSpec(CommandLineInputSpec):
    directions = traits.Either(File(exists=True), Directory(exists=True), argstr="%s", position=0, mandatory=True, desc="A bedpostX folder or base name of samples (FOLDER/merged); an image of peaks or of V1 (three volumes per direction, or as DIPY writes them); an image of spherical harmonics that says that it is one; with --sh-basis or --hot any image of coefficients")
    sh_basis = traits.Enum("mrtrix", "dipy", "dipy-legacy", argstr="--sh-basis %s", desc="Volumes are spherical harmonics of this basis [default: what the image says of itself]")
    peaks = traits.Bool(argstr="--peaks", desc="Volumes are directions, three to each, whatever the image says or looks like")
    hot = traits.Bool(argstr="--hot", desc="Volumes are unique entries of a higher-order tensor (fit fod)")
    frame = traits.Enum("fsl", "voxel", "scanner", argstr="--frame %s", desc="Axes of peaks or coefficients [default: what the image says of itself (FSL's V1 and dyads are in FSL's), else scanner; voxel with a basis of DIPY]")
    dispersion = traits.Float(argstr="--dispersion %.15g", desc="Scatter directions around peaks by this angle; 0 tracks deterministically [from 0 on, degrees] [default: 0]")
    mask = traits.Either(File(exists=True), Directory(exists=True), argstr="--mask %s", desc="Voxels to track in [default: those that have directions; nodif_brain_mask of a folder]")
    seeds = InputMultiObject(traits.Either(File(exists=True), Directory(exists=True)), argstr="--seeds %s...", mandatory=True, desc="Where to start: voxels of an image, vertices of a surface (.gii), or points of a list (.txt), rows of x y z; given several times, several regions")
    include = InputMultiObject(traits.Either(File(exists=True), Directory(exists=True)), argstr="--include %s...", desc="Where streamlines must pass; given several times, all of them")
    include_any = traits.Bool(argstr="--include-any", desc="One of those is enough")
    in_order = traits.Bool(argstr="--in-order", desc="In the order given")
    exclude = InputMultiObject(traits.Either(File(exists=True), Directory(exists=True)), argstr="--exclude %s...", desc="Where streamlines must not pass")
    stop = InputMultiObject(traits.Either(File(exists=True), Directory(exists=True)), argstr="--stop %s...", desc="Where streamlines end")
    target = InputMultiObject(traits.Either(File(exists=True), Directory(exists=True)), argstr="--target %s...", desc="Count for each seed the streamlines that reach this")
    network = traits.Bool(argstr="--network", desc="Keep only what joins two of the seed regions, and count pairs")
    act = traits.Either(File(exists=True), Directory(exists=True), argstr="--act %s", desc="Tissues that say where streamlines may end: five volumes (cortical grey, subcortical grey, white, fluid, other), as `phantom head` and 5ttgen write them, or labels of FreeSurfer, SynthSeg or FAST; any grid in the same scanner space")
    backtrack = traits.Bool(argstr="--backtrack", desc="Take streamlines that end wrongly back some steps and let them go on another way")
    crop = traits.Bool(argstr="--crop", desc="Cut ends in grey matter off at its boundary with white matter")
    seed_boundary = traits.Bool(argstr="--seed-boundary", desc="Start on that boundary, in the voxels of --seeds (in a run: with densities) that it passes, and go into white matter")
    samples = traits.Int(argstr="--samples %d", desc="Streamlines from each seed [1 to 1000000000] [default: 50; in a run 2; through densities --select, in a run with life 2]")
    select = traits.Int(argstr="--select %d", desc="Through densities: start at seeds drawn at random until so many streamlines are kept, or a thousand times as many were started [1 to 100000000] [default: 10000 through densities]")
    seeds_by = traits.Enum("equal", "density", argstr="--seeds-by %s", desc="Through densities: how the seeds to start at are drawn [default: equal]")
    algorithm = traits.Enum("probabilistic", "transport", "deterministic", argstr="--algorithm %s", desc="Through densities: which way to go on [default: probabilistic]")
    step = traits.Float(argstr="--step %.15g", desc="Length of a step [above 0, mm] [default: 0.5, in a run a quarter of the shortest voxel edge; through densities half of it, deterministic a fifth, transport a tenth]")
    max_length = traits.Float(argstr="--max-length %.15g", desc="Longest streamline [above 0, mm] [default: 1000; through densities and in a run 250]")
    min_length = traits.Float(argstr="--min-length %.15g", desc="Shortest streamline kept [from 0 on, mm] [default: 0, in a run 20; through densities 10]")
    angle = traits.Float(argstr="--angle %.15g", desc="Largest angle between two steps [0 to 180, degrees] [default: 78.46304; through densities 45, transport 6]")
    cutoff = traits.Float(argstr="--cutoff %.15g", desc="Through densities: end where the density is below this, in its units [above 0] [default: 0.15; deterministic or with --act 0.1]")
    power = traits.Float(argstr="--power %.15g", desc="Through densities: the power to which the mean of the densities along an arc or a probe is raised [above 0] [default: 1]")
    probe = traits.Float(argstr="--probe %.15g", desc="Transport: how far densities are looked at ahead [above 0, mm] [default: half the shortest voxel edge]")
    fibre_threshold = traits.Float(argstr="--fibre-threshold %.15g", desc="Fibres with a fraction (of peaks: length as part of the longest) up to this are not followed [0 to 1] [default: 0.01; in a run 0.05]")
    use_fraction = traits.Bool(argstr="--use-fraction", desc="End with probability 1 - f at each step")
    modified_euler = traits.Bool(argstr="--modified-euler", desc="Average each direction with that one step ahead")
    loop_check = traits.Bool(argstr="--loop-check", desc="End streamlines that come back on themselves")
    first_fibre = traits.Enum("largest", "uniform", "proportional", argstr="--first-fibre %s", desc="The fibre to start with [default: largest; in a run proportional]")
    jitter = traits.Float(argstr="--jitter %.15g", desc="Start anywhere in a sphere of this radius [from 0 on, mm] [default: 0, in a run half the longest voxel edge; through densities anywhere in the voxel]")
    rng_seed = traits.Int(argstr="--rng-seed %d", desc="Seed of the random numbers [from 0 on] [default: 1]")
    tracks = traits.Enum("trx", "tck", "trk", "none", argstr="--tracks %s", desc="Format of the streamlines; none writes only maps and matrices [default: trx]")
    output = traits.Str("track", usedefault=True, argstr="--output %s", desc="Folder (or, where the command writes one file, the file) to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    device = traits.Str(argstr="--device %s", desc="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]")
    device_memory = traits.Float(argstr="--device-memory %.15g", desc="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class TrackOutputSpec(TraitedSpec):
    written = traits.Str(desc="the folder")
    tracks = traits.Str(desc="streamlines (.trx, or .tck, .trk), with seed (index of the seed voxel, x fastest, x counted as FSL does; number of a vertex or point), region, sample, seed_point (which point is the seed), end_first and end_last (why it ends there); not in .tck")
    visits = traits.Str(desc="streamlines through each voxel, each counted once")
    waytotal = traits.Str(desc="streamlines kept, a line for each seed region")
    seeds_to = OutputMultiPath(traits.Str(), desc="with --target: streamlines of each seed voxel that reach the target")
    seeds_to_gii = OutputMultiPath(traits.Str(), desc="with --target: the same of the vertices of a surface")
    seeds_to_txt = OutputMultiPath(traits.Str(), desc="with --target: the same of points")
    matrix_network_tsv = traits.Str(desc="with --network: streamlines from region (row) to region (column)")
    run_json = traits.Str(desc="inputs with hashes, parameters, machine, times, how many halves ended and why")


class Track(_Command):
    """Track fibres through samples of directions, peaks or functions on the sphere; writes a folder, output."""

    _cmd = "fimbria track"
    _written = "output"
    input_spec = TrackInputSpec
    output_spec = TrackOutputSpec
    _files = (
        ("tracks", ("tracks.*",), False),
        ("visits", ("visits.{image}",), False),
        ("waytotal", ("waytotal",), False),
        ("seeds_to", ("seeds_*to_*.{image}",), True),
        ("seeds_to_gii", ("seeds_*to_*.gii",), True),
        ("seeds_to_txt", ("seeds_*to_*.txt",), True),
        ("matrix_network_tsv", ("matrix_network.tsv",), False),
        ("run_json", ("run.json",), False),
    )


class Probtrackx2InputSpec(CommandLineInputSpec):
    verbosity = traits.Int(argstr="%d", position=0, desc="How much is said: 0, or 1 and 2 for what was read [0 to 2] [default: 0]")
    samples = traits.Str(argstr="--samples %s", mandatory=True, desc="Base name of the samples: BASE_th1samples, BASE_ph1samples, BASE_f1samples, ...2 ")
    mask = traits.Either(File(exists=True), Directory(exists=True), argstr="--mask %s", mandatory=True, desc="Brain mask, on the grid of the samples")
    seed = traits.Either(File(exists=True), Directory(exists=True), argstr="--seed %s", mandatory=True, desc="Seeds: an image, a GIFTI surface (.gii), or a text file that lists them; with --simple, voxel coordinates")
    out = traits.Str("probtrackx2", usedefault=True, argstr="--out %s", desc="Base name of the map of visits [default: fdt_paths]")
    dir = traits.Str(argstr="--dir %s", desc="Folder to write; where it exists, one with + after its name [default: logdir]")
    forcedir = traits.Bool(argstr="--forcedir", desc="Write to exactly that folder")
    simple = traits.Bool(argstr="--simple", desc="Seeds are points in a text file: voxel coordinates, N rows of 3 or 3 rows of N")
    xfm = traits.Either(File(exists=True), Directory(exists=True), argstr="--xfm %s", desc="Transform from seed space to that of the samples, as FLIRT writes it, or a warp field [default: identity]")
    invxfm = traits.Either(File(exists=True), Directory(exists=True), argstr="--invxfm %s", desc="The transform back; needed, and used, with warp fields")
    seedref = traits.Either(File(exists=True), Directory(exists=True), argstr="--seedref %s", desc="Image whose grid is the seed space [default: the brain mask]")
    meshspace = traits.Enum("caret", "freesurfer", "first", "vox", argstr="--meshspace %s", desc="What coordinates of surfaces count in [default: caret]")
    closestvertex = traits.Bool(argstr="--closestvertex", desc="Of a triangle that is crossed, count the nearest vertex instead of all three")
    opd = traits.Bool(argstr="--opd", desc="The map of visits")
    pd = traits.Bool(argstr="--pd", desc="Count distances from the seed (mm) instead of visits")
    ompl = traits.Bool(argstr="--ompl", desc="Mean lengths too")
    os2t = traits.Bool(argstr="--os2t", desc="For every target a map of the seeds that reach it")
    targetmasks = traits.Either(File(exists=True), Directory(exists=True), argstr="--targetmasks %s", desc="The targets: an image, a surface, or a text file that lists them")
    s2tastext = traits.Bool(argstr="--s2tastext", desc="Seeds and targets as a matrix of text")
    otargetpaths = traits.Bool(argstr="--otargetpaths", desc="For every target a map of the visits of the samples that reach it, with --os2t")
    omatrix1 = traits.Bool(argstr="--omatrix1", desc="The sparse matrix from seed to seed")
    distthresh1 = traits.Float(argstr="--distthresh1 %.15g", desc="Least length of what that matrix counts [from 0 on, mm] [default: 0]")
    omatrix2 = traits.Bool(argstr="--omatrix2", desc="The sparse matrix from seed to voxel of --target2")
    target2 = traits.Either(File(exists=True), Directory(exists=True), argstr="--target2 %s", desc="Its voxels: a mask on a grid of its own, usually a coarse one, whose first voxel has the same centre")
    omatrix3 = traits.Bool(argstr="--omatrix3", desc="The sparse matrix between places of --target3, wherever streamlines start")
    target3 = traits.Either(File(exists=True), Directory(exists=True), argstr="--target3 %s", desc="Its rows, and its columns unless --lrtarget3 gives them: an image, a surface, or a list of them")
    lrtarget3 = traits.Either(File(exists=True), Directory(exists=True), argstr="--lrtarget3 %s", desc="Its columns")
    distthresh3 = traits.Float(argstr="--distthresh3 %.15g", desc="Least length of what matrix 3 counts [from 0 on, mm] [default: 0]")
    fopd = traits.Either(File(exists=True), Directory(exists=True), argstr="--fopd %s", desc="The map of visits in these regions alone, too: an image, or a list of images")
    opathdir = traits.Bool(argstr="--opathdir", desc="Mean orientations of paths")
    savepaths = traits.Bool(argstr="--savepaths", desc="Every path, as text")
    waypoints = traits.Either(File(exists=True), Directory(exists=True), argstr="--waypoints %s", desc="Where streamlines must go")
    waycond = traits.Enum("AND", "OR", argstr="--waycond %s", desc="To all of them, or to one [default: AND]")
    wayorder = traits.Bool(argstr="--wayorder", desc="In the order of the list")
    onewaycondition = traits.Bool(argstr="--onewaycondition", desc="Each half by itself")
    avoid = traits.Either(File(exists=True), Directory(exists=True), argstr="--avoid %s", desc="Where they must not go")
    stop = traits.Either(File(exists=True), Directory(exists=True), argstr="--stop %s", desc="Where they end on entering")
    wtstop = traits.Either(File(exists=True), Directory(exists=True), argstr="--wtstop %s", desc="Where they end on leaving")
    network = traits.Bool(argstr="--network", desc="Keep only what reaches another of the seed regions")
    forcefirststep = traits.Bool(argstr="--forcefirststep", desc="Ask --avoid and --stop from the second point on")
    nsamples = traits.Int(argstr="--nsamples %d", desc="Samples per seed [1 to 1000000000] [default: 5000]")
    nsteps = traits.Int(argstr="--nsteps %d", desc="Steps per sample, both halves together [2 to 2000000] [default: 2000]")
    steplength = traits.Float(argstr="--steplength %.15g", desc="Length of a step [above 0, mm] [default: 0.5]")
    distthresh = traits.Float(argstr="--distthresh %.15g", desc="Drop halves shorter than this [from 0 on, mm] [default: 0]")
    cthr = traits.Float(argstr="--cthr %.15g", desc="Least cosine of the angle between steps [-1 to 1] [default: 0.2]")
    fibthresh = traits.Float(argstr="--fibthresh %.15g", desc="Least fraction of fibres to consider [0 to 1] [default: 0.01]")
    loopcheck = traits.Bool(argstr="--loopcheck", desc="End paths that come back on themselves")
    usef = traits.Bool(argstr="--usef", desc="End paths where fractions are low, with probability 1 - f at each step")
    modeuler = traits.Bool(argstr="--modeuler", desc="Modified Euler steps")
    sampvox = traits.Float(argstr="--sampvox %.15g", desc="Start anywhere in a sphere of this radius [from 0 on, mm] [default: 0]")
    randfib = traits.Int(argstr="--randfib %d", desc="First fibre: 0 the first, 1 any above --fibthresh, 2 the same by fraction, 3 any [0 to 3] [default: 0]")
    fibst = traits.Int(argstr="--fibst %d", desc="Always start with this fibre, whatever --randfib says [from 1 on]")
    rseed = traits.Int(argstr="--rseed %d", desc="Seed of the random numbers [from 0 on] [default: 12345]")
    prefdir = traits.Either(File(exists=True), Directory(exists=True), argstr="--prefdir %s", desc="Of 3 volumes: directions (FSL's frame) that the fibre to follow is nearest to, in place of the current direction, where not zero. Of 1: the rule by which it is chosen at all steps but the first, as --randfib has them, where 1 or more")
    locfibchoice = traits.Either(File(exists=True), Directory(exists=True), argstr="--locfibchoice %s", desc="The rule by which the fibre is chosen in the voxel looked up: 1 any above --fibthresh, 2 any of those within 40 degrees, 3 any by fraction, else the nearest")
    loccurvthresh = traits.Either(File(exists=True), Directory(exists=True), argstr="--loccurvthresh %s", desc="Least cosine of the angle between steps, in place of --cthr")
    no_integrity = traits.Either(File(exists=True), Directory(exists=True), argstr="--no_integrity %s", desc="Where no fibre is drawn and the last one is followed on; on the grid of the seeds")
    noprobinterpol = traits.Bool(argstr="--noprobinterpol", desc="Look the nearest voxel up, not a random corner")
    onewayonly = traits.Bool(argstr="--onewayonly", desc="From surfaces go into the brain only, against the normal of the vertex; both ways with --omatrix3")
    rng = traits.Str(argstr="--rng %s", desc="Random numbers: philox; constant:U, always U; lcg:X, a linear congruence from X. The latter two are drawn in FSL's order by one thread, to repeat a path exactly [default: philox]")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    device = traits.Str(argstr="--device %s", desc="Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu, gpu:0,1 or opencl:0 [default: auto]")
    device_memory = traits.Float(argstr="--device-memory %.15g", desc="Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class Probtrackx2OutputSpec(TraitedSpec):
    written = traits.Str(desc="the folder")
    fdt_paths = OutputMultiPath(traits.Str(), desc="with --opd: visits of each voxel, one per sample at most, under the name of --out; of each point with --simple, fdt_paths_X_Y_Z; sums of distances with --pd")
    fdt_paths_lengths = OutputMultiPath(traits.Str(), desc="with --ompl: mean distance from the seed [mm]")
    fdt_paths_alt = OutputMultiPath(traits.Str(), desc="with --fopd: visits in the regions of --fopd, 0 elsewhere; of several _alt_0, _alt_1 and so on")
    fdt_paths_localdir = OutputMultiPath(traits.Str(), desc="with --opathdir: mean orientation of the steps that first enter a voxel")
    waytotal = traits.Str(desc="samples kept; with --network a row for each seed region")
    seeds_to = OutputMultiPath(traits.Str(), desc="with --os2t: samples of each seed that reach the target")
    seeds_to_gii = OutputMultiPath(traits.Str(), desc="with --os2t: the same of a surface")
    target_paths = OutputMultiPath(traits.Str(), desc="with --otargetpaths: visits of each voxel by the samples that reach the target, counted as fdt_paths")
    target_paths_lengths = OutputMultiPath(traits.Str(), desc="with --otargetpaths and --ompl: their mean distance from the seed [mm]")
    target_localdir = OutputMultiPath(traits.Str(), desc="with --otargetpaths and --opathdir: mean orientation of the steps by which they first enter a voxel")
    matrix_seeds_to_all_targets = traits.Str(desc="with --s2tastext: the same as text")
    fdt_network_matrix = traits.Str(desc="with --network: samples from region (row) to region (column)")
    fdt_network_matrix_lengths = traits.Str(desc="with --network and --ompl: their mean lengths, mm")
    fdt_matrix1_dot = traits.Str(desc="with --omatrix1: samples from seed (row) to seed (column): row column value, 1-based")
    coords_for_fdt_matrix1 = traits.Str(desc="with --omatrix1: x y z region number of each seed, stored voxel coordinates")
    fdt_matrix2_dot = traits.Str(desc="with --omatrix2: samples from seed (row) to voxel of --target2 (column)")
    coords_for_fdt_matrix2 = traits.Str(desc="with --omatrix2: where rows are")
    tract_space_coords_for_fdt_matrix2 = traits.Str(desc="with --omatrix2: where columns are")
    lookup_tractspace_fdt_matrix2 = traits.Str(desc="with --omatrix2: the column of each voxel")
    fdt_matrix3_dot = traits.Str(desc="with --omatrix3: samples through two voxels of --target3, row before column, or through one of it and one of --lrtarget3")
    coords_for_fdt_matrix3 = traits.Str(desc="with --omatrix3: where rows are")
    tract_space_coords_for_fdt_matrix3 = traits.Str(desc="with --omatrix3: where columns are, where they have voxels of their own")
    fdt_matrix_lengths_dot = OutputMultiPath(traits.Str(), desc="with --ompl: mean lengths of the entries, mm")
    saved_paths_txt = traits.Str(desc="with --savepaths: paths")
    probtrackx_log = traits.Str(desc="what was done, why halves ended")
    run_json = traits.Str(desc="the same for programs")


class Probtrackx2(_Command):
    """Track as FSL's probtrackx2 does: its options, its files, its numbers; writes a folder, out."""

    _cmd = "fimbria probtrackx2"
    _written = "out"
    input_spec = Probtrackx2InputSpec
    output_spec = Probtrackx2OutputSpec
    _files = (
        ("fdt_paths", ("fdt_paths*.{image}",), True),
        ("fdt_paths_lengths", ("fdt_paths*_lengths.{image}",), True),
        ("fdt_paths_alt", ("fdt_paths*_alt*.{image}",), True),
        ("fdt_paths_localdir", ("fdt_paths*_localdir.{image}",), True),
        ("waytotal", ("waytotal",), False),
        ("seeds_to", ("seeds_*to_*.{image}",), True),
        ("seeds_to_gii", ("seeds_*to_*.gii",), True),
        ("target_paths", ("target_paths_*.{image}",), True),
        ("target_paths_lengths", ("target_paths_*_lengths.{image}",), True),
        ("target_localdir", ("target_localdir_*.{image}",), True),
        ("matrix_seeds_to_all_targets", ("matrix_seeds_to_all_targets",), False),
        ("fdt_network_matrix", ("fdt_network_matrix",), False),
        ("fdt_network_matrix_lengths", ("fdt_network_matrix_lengths",), False),
        ("fdt_matrix1_dot", ("fdt_matrix1.dot",), False),
        ("coords_for_fdt_matrix1", ("coords_for_fdt_matrix1",), False),
        ("fdt_matrix2_dot", ("fdt_matrix2.dot",), False),
        ("coords_for_fdt_matrix2", ("coords_for_fdt_matrix2",), False),
        ("tract_space_coords_for_fdt_matrix2", ("tract_space_coords_for_fdt_matrix2",), False),
        ("lookup_tractspace_fdt_matrix2", ("lookup_tractspace_fdt_matrix2.{image}",), False),
        ("fdt_matrix3_dot", ("fdt_matrix3.dot",), False),
        ("coords_for_fdt_matrix3", ("coords_for_fdt_matrix3",), False),
        ("tract_space_coords_for_fdt_matrix3", ("tract_space_coords_for_fdt_matrix3",), False),
        ("fdt_matrix_lengths_dot", ("fdt_matrix*_lengths.dot",), True),
        ("saved_paths_txt", ("saved_paths.txt",), False),
        ("probtrackx_log", ("probtrackx.log",), False),
        ("run_json", ("run.json",), False),
    )


class ReportInputSpec(CommandLineInputSpec):
    folder = traits.Either(File(exists=True), Directory(exists=True), argstr="%s", position=0, mandatory=True, desc="Folder that a command wrote: `run`, `demo`, `fit`, `track`, `life`, `connectome`, `qsm`, `compare` …")
    title = traits.Str(argstr="--title %s", desc="Heading of the page [default: the names of the folder and of that above it]")
    output = traits.Str(argstr="--output %s", mandatory=True, desc="Folder (or, where the command writes one file, the file) to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class ReportOutputSpec(TraitedSpec):
    written = traits.Str(desc="the file")
    file = traits.Str(desc="one HTML file that needs no other and no network")
    file_run_json = traits.Str(desc="what was done")


class Report(_Command):
    """Draw the page of a finished folder; writes the file output."""

    _cmd = "fimbria report"
    _written = "output"
    _is_file = True
    input_spec = ReportInputSpec
    output_spec = ReportOutputSpec
    _files = (
        ("file", ("",), False),
        ("file_run_json", (".run.json",), False),
    )


class ConnectomeInputSpec(CommandLineInputSpec):
    tractogram = traits.Either(File(exists=True), Directory(exists=True), argstr="%s", position=0, mandatory=True, desc="Tractogram: .tck, .trk, .trx or a TRX folder")
    labels = traits.Either(File(exists=True), Directory(exists=True), argstr="%s", position=1, mandatory=True, desc="Image of labels: whole numbers, 0 is background")
    radius = traits.Float(argstr="--radius %.15g", desc="How far the nearest labelled voxel may be from an end [0 to 100, mm] [default: 4]")
    exact_label = traits.Bool(argstr="--exact-label", desc="Take the label of the voxel that holds the end, and no other")
    weights = traits.Str(argstr="--weights %s", desc="Weight of each streamline: a text file of numbers, or the name of the tractogram's own data")
    map = InputMultiObject(traits.Str(), argstr="--map %s...", desc="Also the mean of this map along the streamlines of each edge, as mean_NAME; once for each map: any grid of the same scanner space")
    lut = traits.Either(File(exists=True), Directory(exists=True), argstr="--lut %s", desc="Names of the labels: a table of FreeSurfer or MRtrix3, or dseg.tsv of BIDS")
    per_length = traits.Bool(argstr="--per-length", desc="Divide what each streamline counts by its length, mm")
    per_volume = traits.Bool(argstr="--per-volume", desc="Divide what an edge counts by the mean number of voxels of its two labels")
    hollow = traits.Bool(argstr="--hollow", desc="Leave out what connects a label with itself: the diagonal is 0")
    upper = traits.Bool(argstr="--upper", desc="Leave out what is below the diagonal: each pair stands once, the rest is 0")
    npy = traits.Bool(argstr="--npy", desc="Write each matrix for numpy too")
    output = traits.Str("connectome", usedefault=True, argstr="--output %s", desc="Folder (or, where the command writes one file, the file) to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class ConnectomeOutputSpec(TraitedSpec):
    written = traits.Str(desc="the folder")
    weights_csv = traits.Str(desc="number of streamlines, or with --weights the sum of their weights; with --per-length (1/mm) and --per-volume divided")
    counts_csv = traits.Str(desc="where weights.csv has something else: number of streamlines")
    lengths_csv = traits.Str(desc="their (weighted) mean length, mm, 0 where there are none")
    mean_csv = OutputMultiPath(traits.Str(), desc="with --map: (weighted) mean of a map: first along each streamline by length, then over the streamlines; 0 where there are none")
    labels_txt = traits.Str(desc="the label of each row, ascending")
    labels_tsv = traits.Str(desc="with --lut: index, name: the same with what it is called")
    npy = OutputMultiPath(traits.Str(), desc="with --npy: each matrix again, little-endian f64: numpy.load")
    run_json = traits.Str(desc="inputs with hashes, parameters, machine, times, how many were assigned")


class Connectome(_Command):
    """Count the streamlines between the regions of a label image; writes a folder, output."""

    _cmd = "fimbria connectome"
    _written = "output"
    input_spec = ConnectomeInputSpec
    output_spec = ConnectomeOutputSpec
    _files = (
        ("weights_csv", ("weights.csv",), False),
        ("counts_csv", ("counts.csv",), False),
        ("lengths_csv", ("lengths.csv",), False),
        ("mean_csv", ("mean_*.csv",), True),
        ("labels_txt", ("labels.txt",), False),
        ("labels_tsv", ("labels.tsv",), False),
        ("npy", ("*.npy",), True),
        ("run_json", ("run.json",), False),
    )


class TractEditInputSpec(CommandLineInputSpec):
    inputs = InputMultiObject(traits.Either(File(exists=True), Directory(exists=True)), argstr="%s", position=0, mandatory=True, desc="Tractograms: .tck, .trk, .trx or a TRX folder; several are joined in this order")
    include = InputMultiObject(traits.Str(), argstr="--include %s...", desc="Keep what passes this region; all of them where there are several. A region is an image (voxels above zero, on any grid), labels of one (IMAGE:LABEL,LABEL; numbers, or names of --lut), or a ball (X,Y,Z,RADIUS, mm)")
    include_any = InputMultiObject(traits.Str(), argstr="--include-any %s...", desc="Keep what passes one of these regions at least")
    exclude = InputMultiObject(traits.Str(), argstr="--exclude %s...", desc="Leave out what passes one of these regions")
    ends_in = InputMultiObject(traits.Str(), argstr="--ends-in %s...", desc="Keep what has an end in this region; given twice, one end in each (the same twice: both ends in it)")
    ends_only = traits.Bool(argstr="--ends-only", desc="Of every streamline look at its two ends only, for all regions")
    min_length = traits.Float(argstr="--min-length %.15g", desc="Keep what is so long at least [from 0 on, mm]")
    max_length = traits.Float(argstr="--max-length %.15g", desc="Keep what is so long at most [from 0 on, mm]")
    weights = traits.Str(argstr="--weights %s", desc="Weight of each streamline: a text file of numbers, or the name of the tractograms' own data")
    min_weight = traits.Float(argstr="--min-weight %.15g", desc="Keep what weighs so much at least [from 0 on]")
    max_weight = traits.Float(argstr="--max-weight %.15g", desc="Keep what weighs so much at most [from 0 on]")
    inverse = traits.Bool(argstr="--inverse", desc="Keep what would be left out by all of these together, and leave out the rest")
    skip = traits.Int(argstr="--skip %d", desc="Of those, leave out so many at the beginning [from 0 on] [default: 0]")
    number = traits.Int(argstr="--number %d", desc="Of those, keep so many, drawn at random; their order stays [from 1 on] [default: all]")
    rng_seed = traits.Int(argstr="--rng-seed %d", desc="Seed of the random numbers [from 0 on] [default: 0]")
    points = traits.Int(argstr="--points %d", desc="Give each streamline so many points, evenly spaced [2 to 100000]")
    step = traits.Float(argstr="--step %.15g", desc="Space points evenly, as near to this as equal steps from end to end come [above 0, mm]")
    compress = traits.Float(argstr="--compress %.15g", desc="Leave out points as long as none is farther than this from what is left (pieces of 10 mm at most) [above 0, mm]")
    lut = traits.Either(File(exists=True), Directory(exists=True), argstr="--lut %s", desc="Names of labels: a text file with a number and a name in each line, as FreeSurfer and MRtrix3 have it")
    linear = traits.Either(File(exists=True), Directory(exists=True), argstr="--linear %s", desc="Regions of another space: the 4 x 4 matrix that brings its images onto the data with mrtransform -linear. It takes scanner mm of the data to scanner mm of that space")
    warp = traits.Either(File(exists=True), Directory(exists=True), argstr="--warp %s", desc="The same for mrtransform -warp: an image on the data's side with three volumes, scanner mm of that space")
    xfm = traits.Either(File(exists=True), Directory(exists=True), argstr="--xfm %s", desc="The same for FSL: the matrix of flirt -omat, or the field that applywarp -w takes, from --xfm-in to --xfm-ref")
    xfm_in = traits.Either(File(exists=True), Directory(exists=True), argstr="--xfm-in %s", desc="Image of the regions' space: flirt -in, applywarp -i")
    xfm_ref = traits.Either(File(exists=True), Directory(exists=True), argstr="--xfm-ref %s", desc="Image of the data's space: flirt -ref, applywarp -r")
    reference = traits.Either(File(exists=True), Directory(exists=True), argstr="--reference %s", desc="Image whose grid .trk and .trx name [default: the one that the input names]")
    output = traits.Str(argstr="--output %s", mandatory=True, desc="Folder (or, where the command writes one file, the file) to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class TractEditOutputSpec(TraitedSpec):
    written = traits.Str(desc="the file")
    file = traits.Str(desc="the streamlines kept: .tck, .trk, .trx")
    file_weights_txt = traits.Str(desc="where --weights is a file: their weights, a line each")
    file_run_json = traits.Str(desc="what was done")


class TractEdit(_Command):
    """Choose streamlines by regions, length, weight or at random, join tractograms, and make points anew; writes the file output."""

    _cmd = "fimbria tract edit"
    _written = "output"
    _is_file = True
    input_spec = TractEditInputSpec
    output_spec = TractEditOutputSpec
    _files = (
        ("file", ("",), False),
        ("file_weights_txt", (".weights.txt",), False),
        ("file_run_json", (".run.json",), False),
    )


class TractBundlesInputSpec(CommandLineInputSpec):
    inputs = InputMultiObject(traits.Either(File(exists=True), Directory(exists=True)), argstr="%s", position=0, mandatory=True, desc="Tractograms: .tck, .trk, .trx or a TRX folder; several are joined in this order")
    bundles = traits.Either(File(exists=True), Directory(exists=True), argstr="--bundles %s", mandatory=True, desc="Bundles by name: a TOML file with a table for each, whose keys are include, include_any, exclude, ends_in, ends_only, min_length and max_length, as the options of `tract edit`; images are beside the file")
    weights = traits.Str(argstr="--weights %s", desc="Weight of each streamline: a text file of numbers, or the name of the tractograms' own data")
    lut = traits.Either(File(exists=True), Directory(exists=True), argstr="--lut %s", desc="Names of labels: a text file with a number and a name in each line, as FreeSurfer and MRtrix3 have it")
    linear = traits.Either(File(exists=True), Directory(exists=True), argstr="--linear %s", desc="Regions of another space: the 4 x 4 matrix that brings its images onto the data with mrtransform -linear. It takes scanner mm of the data to scanner mm of that space")
    warp = traits.Either(File(exists=True), Directory(exists=True), argstr="--warp %s", desc="The same for mrtransform -warp: an image on the data's side with three volumes, scanner mm of that space")
    xfm = traits.Either(File(exists=True), Directory(exists=True), argstr="--xfm %s", desc="The same for FSL: the matrix of flirt -omat, or the field that applywarp -w takes, from --xfm-in to --xfm-ref")
    xfm_in = traits.Either(File(exists=True), Directory(exists=True), argstr="--xfm-in %s", desc="Image of the regions' space: flirt -in, applywarp -i")
    xfm_ref = traits.Either(File(exists=True), Directory(exists=True), argstr="--xfm-ref %s", desc="Image of the data's space: flirt -ref, applywarp -r")
    tracks = traits.Enum("trx", "tck", "trk", argstr="--tracks %s", desc="Format of the bundles [default: that of the first tractogram]")
    reference = traits.Either(File(exists=True), Directory(exists=True), argstr="--reference %s", desc="Image whose voxels volumes are counted in, and whose grid .trk and .trx name [default: the one that the input names, else that of the first region]")
    output = traits.Str("bundles", usedefault=True, argstr="--output %s", desc="Folder (or, where the command writes one file, the file) to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class TractBundlesOutputSpec(TraitedSpec):
    written = traits.Str(desc="the folder")
    bundles_tsv = traits.Str(desc="name, streamlines, sum of weights, (weighted) mean length in mm, and volume in mm³ of each")
    run_json = traits.Str(desc="inputs with hashes, parameters, machine, times, counts, warnings")


class TractBundles(_Command):
    """Find named bundles by their regions and lengths; writes a folder, output."""

    _cmd = "fimbria tract bundles"
    _written = "output"
    input_spec = TractBundlesInputSpec
    output_spec = TractBundlesOutputSpec
    _files = (
        ("bundles_tsv", ("bundles.tsv",), False),
        ("run_json", ("run.json",), False),
    )


class TractCleanInputSpec(CommandLineInputSpec):
    bundle = traits.Either(File(exists=True), Directory(exists=True), argstr="%s", position=0, mandatory=True, desc="Streamlines of one bundle: .tck, .trk, .trx or a TRX folder")
    distance = traits.Float(argstr="--distance %.15g", desc="Leave out what is farther than this from the core at any point [above 0, standard deviations] [default: 5]")
    length = traits.Float(argstr="--length %.15g", desc="Leave out what is longer than the mean by more than this [above 0, standard deviations] [default: 4]")
    points = traits.Int(argstr="--points %d", desc="Points along each streamline at which it is judged [2 to 10000] [default: 100]")
    weights = traits.Str(argstr="--weights %s", desc="Weight of each streamline, by which core and spread are found: a text file of numbers, or the name of the tractogram's own data [default: 1 each]")
    reference = traits.Either(File(exists=True), Directory(exists=True), argstr="--reference %s", desc="Image whose grid .trk and .trx name [default: the one that the input names]")
    output = traits.Str(argstr="--output %s", mandatory=True, desc="Folder (or, where the command writes one file, the file) to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class TractCleanOutputSpec(TraitedSpec):
    written = traits.Str(desc="the file")
    file = traits.Str(desc="the bundle without outliers: .tck, .trk, .trx")
    file_weights_txt = traits.Str(desc="where --weights is a file: the weights of those kept, a line each")
    file_run_json = traits.Str(desc="what was done")


class TractClean(_Command):
    """Take streamlines out of a bundle that stray from its core or are too long; writes the file output."""

    _cmd = "fimbria tract clean"
    _written = "output"
    _is_file = True
    input_spec = TractCleanInputSpec
    output_spec = TractCleanOutputSpec
    _files = (
        ("file", ("",), False),
        ("file_weights_txt", (".weights.txt",), False),
        ("file_run_json", (".run.json",), False),
    )


class TractProfileInputSpec(CommandLineInputSpec):
    bundle = traits.Either(File(exists=True), Directory(exists=True), argstr="%s", position=0, mandatory=True, desc="Streamlines of one bundle: .tck, .trk, .trx or a TRX folder")
    map = InputMultiObject(traits.Either(File(exists=True), Directory(exists=True)), argstr="--map %s", mandatory=True, desc="Maps to measure, of one volume, on any grid in the same scanner space: FA, MD, ")
    points = traits.Int(argstr="--points %d", desc="Points of the profile [2 to 10000] [default: 100]")
    start = traits.Str(argstr="--start %s", desc="Where the bundle begins: X,Y,Z in mm, or a region, as those of `tract edit`; its nearer end is the first point [default: the left end, or of bundles that run mostly the other ways the back or the lower one]")
    lut = traits.Either(File(exists=True), Directory(exists=True), argstr="--lut %s", desc="Names of labels for --start: a text file with a number and a name in each line")
    weights = traits.Str(argstr="--weights %s", desc="Weight of each streamline: a text file of numbers, or the name of the tractogram's own data [default: 1 each]")
    output = traits.Str("profile", usedefault=True, argstr="--output %s", desc="Folder (or, where the command writes one file, the file) to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class TractProfileOutputSpec(TraitedSpec):
    written = traits.Str(desc="the folder")
    profile_tsv = traits.Str(desc="a line for each point: its number from 1, the core there (x, y, z in mm), and of each map the weighted mean, the weighted standard deviation, and the number of streamlines with a value")
    run_json = traits.Str(desc="inputs with hashes, parameters, machine, times, counts, warnings")


class TractProfile(_Command):
    """Measure maps along a bundle; writes a folder, output."""

    _cmd = "fimbria tract profile"
    _written = "output"
    input_spec = TractProfileInputSpec
    output_spec = TractProfileOutputSpec
    _files = (
        ("profile_tsv", ("profile.tsv",), False),
        ("run_json", ("run.json",), False),
    )


class Sift2InputSpec(CommandLineInputSpec):
    tractogram = traits.Either(File(exists=True), Directory(exists=True), argstr="%s", position=0, mandatory=True, desc="Tractogram: .tck, .trk, .trx or a TRX folder")
    image = traits.Either(File(exists=True), Directory(exists=True), argstr="%s", position=1, mandatory=True, desc="Coefficients, 4-D: unique entries of symmetric tensors, or spherical harmonics (--sh-basis, where the image itself does not say so), of order 4, 6 or 8 (15, 28 or 45 volumes)")
    sh_basis = traits.Enum("mrtrix", "dipy", "dipy-legacy", argstr="--sh-basis %s", desc="The coefficients are spherical harmonics of this basis [default: what the image says of itself; unique entries where it says nothing]")
    order = traits.Int(argstr="--order %d", desc="Order of the tensors, or highest degree of the harmonics [from 0 on] [default: what the number of volumes says]")
    frame = traits.Enum("fsl", "voxel", "scanner", argstr="--frame %s", desc="Axes the coefficients refer to [default: voxel with a basis of DIPY, else scanner]")
    mask = traits.Either(File(exists=True), Directory(exists=True), argstr="--mask %s", desc="Voxels to work on: a 3-D image on the same grid, inside where above zero [default: all]")
    act = traits.Either(File(exists=True), Directory(exists=True), argstr="--act %s", desc="Tissues, of which white matter counts: five volumes as `phantom head` and 5ttgen write them, or labels of FreeSurfer, SynthSeg or FAST; any grid in the same scanner space [default: all voxels count]")
    start = traits.Either(File(exists=True), Directory(exists=True), argstr="--start %s", desc="Weights to begin with, as earlier weights.txt or those of tcksift2 [default: all are 1]")
    variation = traits.Float(argstr="--variation %.15g", desc="How far apart the weights of one fixel's streamlines may be: the larger, the nearer [0 to 1000000] [default: 0.1]")
    tikhonov = traits.Float(argstr="--tikhonov %.15g", desc="How far weights may be from 1: the larger, the nearer [0 to 1000000] [default: 0]")
    least_filled = traits.Float(argstr="--least-filled %.15g", desc="Fixels that streamlines at weight 1 fill to less than this part do not count [0 to 1] [default: 0.1]")
    least_peak = traits.Float(argstr="--least-peak %.15g", desc="Lobes whose maximum is not above this are noise, in units of the densities [0 to 1000000000000000000000000000000] [default: 0.10000000149011612]")
    iterations = traits.Int(argstr="--iterations %d", desc="Iterations at most; with 0 the weights of --start are only judged [0 to 1000000] [default: 1000]")
    output = traits.Str("sift2", usedefault=True, argstr="--output %s", desc="Folder (or, where the command writes one file, the file) to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    scratch = traits.Str(argstr="--scratch %s", desc="Folder for compressed images that exceed their share of --memory [default: the system's for temporary files]")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class Sift2OutputSpec(TraitedSpec):
    written = traits.Str(desc="the folder")
    weights_txt = traits.Str(desc="weight of each streamline, a line each, 0 where it passes no fibres: what `connectome --weights` and tck2connectome -tck_weights_in read")
    mu_txt = traits.Str(desc="what turns weight times length (mm) in a voxel into density of fibres")
    iterations_tsv = traits.Str(desc="iteration, objective, and misfit of densities over the densities (root mean squares)")
    run_json = traits.Str(desc="inputs with hashes, parameters, machine, times, misfit before and after")


class Sift2(_Command):
    """Weigh streamlines so that they are as dense as the fibres (the model of SIFT2); writes a folder, output."""

    _cmd = "fimbria sift2"
    _written = "output"
    input_spec = Sift2InputSpec
    output_spec = Sift2OutputSpec
    _files = (
        ("weights_txt", ("weights.txt",), False),
        ("mu_txt", ("mu.txt",), False),
        ("iterations_tsv", ("iterations.tsv",), False),
        ("run_json", ("run.json",), False),
    )


class CompareInputSpec(CommandLineInputSpec):
    first = InputMultiObject(traits.Either(File(exists=True), Directory(exists=True)), argstr="%s", position=0, mandatory=True, desc="Maps of repeated runs, two or more with different seeds")
    second = InputMultiObject(traits.Either(File(exists=True), Directory(exists=True)), argstr="%s", position=1, mandatory=True, desc="The other set, after --: two or more as well")
    threshold = traits.Float(argstr="--threshold %.15g", desc="Mean value from which voxels take part [any] [default: 20]")
    output = traits.Str("compare", usedefault=True, argstr="--output %s", desc="Folder (or, where the command writes one file, the file) to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class CompareOutputSpec(TraitedSpec):
    written = traits.Str(desc="the folder")
    z = traits.Str(desc="difference of the means over its standard error, B - A; 0 below the threshold")
    run_json = traits.Str(desc="voxels tested, mean and largest |z|, Q = mean of z squared, the sums of both, p: in which share of all ways to split the runs into two sets Q is as large, and what follows")


class Compare(_Command):
    """Test two sets of maps against each other, voxel by voxel; writes a folder, output."""

    _cmd = "fimbria compare"
    _written = "output"
    input_spec = CompareInputSpec
    output_spec = CompareOutputSpec
    _files = (
        ("z", ("z.{image}",), False),
        ("run_json", ("run.json",), False),
    )


class ConvertInputSpec(CommandLineInputSpec):
    input = traits.Either(File(exists=True), Directory(exists=True), argstr="%s", position=0, mandatory=True, desc="Image to read (.nii, .hdr/.img or .mif, each also with .gz), or tractogram (.tck, .trk, .trx, or a TRX folder)")
    datatype = traits.Str(argstr="--datatype %s", desc="Type of the samples written: int8 to uint64, float32, float64; bit and float16 for .mif. Of a tractogram's coordinates: float32; float64 for .tck and .trx, float16 for .trx [default: as stored, scaling included; where the format has no such type, the next that holds all of it]")
    tensors = traits.Str(argstr="--tensors %s", desc="Bring tensors from one program's order and frame to another's, such as dipy:mrtrix; of fimbria, fsl, mrtrix, dipy. A map of 6 volumes is of diffusion tensors, one of 15 of kurtosis")
    reference = traits.Either(File(exists=True), Directory(exists=True), argstr="--reference %s", desc="Image whose grid .trk and .trx name [default: the one that the input names]")
    trx_folder = traits.Bool(argstr="--trx-folder", desc="Write TRX as a folder OUT instead of a file")
    bval = traits.Either(File(exists=True), Directory(exists=True), argstr="--bval %s", desc="b-values in s/mm², FSL form [s/mm²] [default: found beside the image]")
    bvec = traits.Either(File(exists=True), Directory(exists=True), argstr="--bvec %s", desc="Directions, FSL form [default: found beside the image]")
    fslgrad = traits.List(traits.Either(File(exists=True), Directory(exists=True)), minlen=2, maxlen=2, argstr="--fslgrad %s", desc="Directions and b-values, FSL form, in MRtrix3's order [s/mm²]")
    grad = traits.Either(File(exists=True), Directory(exists=True), argstr="--grad %s", desc="Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]")
    bmatrix = traits.Either(File(exists=True), Directory(exists=True), argstr="--bmatrix %s", desc="b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]")
    bvec_frame = traits.Enum("fsl", "voxel", "scanner", argstr="--bvec-frame %s", desc="Axes in which bvecs or b-matrices are given [default: fsl]")
    b0_threshold = traits.Float(argstr="--b0-threshold %.15g", desc="b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]")
    bvalue_scaling = traits.Enum("auto", "yes", "no", argstr="--bvalue-scaling %s", desc="What directions that are not of unit length mean [default: auto]")
    output = traits.Str(argstr="--output %s", mandatory=True, desc="Folder (or, where the command writes one file, the file) to write")
    force = traits.Bool(argstr="--force", desc="Overwrite existing outputs")
    threads = traits.Int(argstr="--threads %d", desc="Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default: 0]")
    quiet = traits.Bool(argstr="--quiet", desc="Say nothing but warnings and errors")
    verbose = traits.Int(argstr="--verbose=%d", desc="Say more; 0 as usual [from 0 on] [default: 0]")
    memory = traits.Str(argstr="--memory %s", desc="Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that are read in place do not count: the system takes them back when it needs them [default: no limit]")


class ConvertOutputSpec(TraitedSpec):
    written = traits.Str(desc="the file")
    file = traits.Str(desc="of an image: the image, in the format of its name: .nii, .hdr, .img, .mif, each also with .gz; or of streamlines: the tractogram: .tck, .trk, .trx")
    file_bval = traits.Str(desc="of an image with a gradient table, beside all but .mif: b of every volume")
    file_bvec = traits.Str(desc="of an image with a gradient table, beside all but .mif: its direction")
    file_run_json = traits.Str(desc="what was done")


class Convert(_Command):
    """Convert an image or a tractogram from one format to another; writes the file output."""

    _cmd = "fimbria convert"
    _written = "output"
    _is_file = True
    input_spec = ConvertInputSpec
    output_spec = ConvertOutputSpec
    _files = (
        ("file", ("",), False),
        ("file_bval", (".bval",), False),
        ("file_bvec", (".bvec",), False),
        ("file_run_json", (".run.json",), False),
    )
