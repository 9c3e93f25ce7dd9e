//! `fimbria run`

use std::path::PathBuf;
use std::sync::LazyLock;

use clap::Args;
use fimbria_pipeline::options::{Described as _, Takes};
use fimbria_pipeline::stages::fits::FOLDERS_OF_FITS;
use fimbria_pipeline::stages::load::JoinedSeries;
use fimbria_pipeline::stages::methods::folders_beside_fits;
use fimbria_pipeline::{FileKind, RunConfig, Writes, Written};

use crate::args::RunArgs;
use crate::commands::run_in_folders;
use crate::console::Console;
use crate::failure::Failure;
use crate::memory;

/// Run all stages over one subject, from its series to a report
#[derive(Debug, Args)]
#[command(add = Writes(&WRITES), after_long_help = HELP)]
pub(crate) struct Run {
    /// Diffusion-weighted series, 4-D; with --raw several of one session, which become one
    #[arg(value_name = "DWI", required_unless_present = "config")]
    #[arg(takes = Takes::IMAGE)]
    dwi: Vec<PathBuf>,

    /// Take everything from a TOML file instead
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "dwi", "mask", "grad_dev", "bval", "bvec", "fslgrad", "grad", "bmatrix", "bvec_frame",
        "b0_threshold", "bvalue_scaling", "scratch", "format", "layout",
    ])]
    #[arg(takes = Takes::CONFIGURATION)]
    config: Option<PathBuf>,

    /// Set one parameter of a stage, such as dti.method=nlls; may be repeated
    #[arg(long = "set", value_name = "STAGE.KEY=VALUE")]
    settings: Vec<String>,

    /// The series is as it left the scanner: correct motion, eddy currents and dropped slices first, and distortion where
    /// fmap/ of BIDS has a map of its field
    #[arg(long)]
    raw: bool,

    /// Mend the gradient table as its check says, before anything is fitted; refused where the data do not
    /// tell
    #[arg(long)]
    fix_gradients: bool,

    #[command(flatten)]
    run: RunArgs,
}

/// What a run writes: a folder of each stage, those of fits as their list has them.
static WRITES: LazyLock<Vec<Written>> = LazyLock::new(|| {
    let fits = [BEFORE_FITS, FOLDERS_OF_FITS, &[QUALITY]].concat().into_iter();
    fits.chain(folders_beside_fits()).chain(AT_THE_END.iter().copied()).collect()
});

const BEFORE_FITS: &[Written] = &[
    Written::folder("plan/", "plan.json: what was asked for and is not made, and why")
        .only("where there is such"),
    Written::folder("correct/", "the corrected series, as `fimbria correct` writes it")
        .only("with --raw, in place of load/"),
    Written::folder(
        "load/",
        "mask and mean_b0 where no mask is given: the one that was made, uint8, and \
         the mean unweighted volume that it was made of",
    ),
    Written::folder("fix_gradients/", "gradients.b: the mended table, MRtrix3 form")
        .only("with --fix-gradients"),
];

const QUALITY: Written = Written::folder(
    "quality/",
    "quality.json: verdicts on the series and the numbers they rest on",
);

const AT_THE_END: &[Written] = &[
    Written::folder("report/", "report.html, one page with pictures"),
    Written::file(
        "run.json",
        FileKind::Json,
        "what was done, written last; each folder has one of its own",
    ),
];

const HELP: &str = "\
Outputs:
{outputs}
  What the gradient table does not carry is left out, and a warning says so; what run.fits names is
  refused. Densities are of degree 8, of degree 4 where no shell has 28 volumes, and left out
  where none has 15 directions, unless [fod] order says otherwise.

Units:
  b in s/mm², diffusivities in mm²/s.

Order and frame:
  Those of the commands above: scanner RAS axes unless --layout says otherwise.

Configuration:
  A TOML file has one table per stage, with paths relative to the file:
    [input]
    dwi = \"dwi.nii.gz\"         # also mask, bval, bvec, grad, bmatrix, bvec_frame, b0_threshold,
    mask = \"mask.nii.gz\"       # bvalue_scaling, grad_dev, memory, scratch, and of a session with
                               # several raw series the others: joined = [\"run-2.nii.gz\"], or
                               # [{dwi = \"run-2.nii.gz\", bval = ..., bvec = ...}] (grad, bmatrix)
    [run]
    fits = [\"peaks\"]          # peaks (with fod), sticks, track, life, dki, stremi: by default
                               # these; also sift2, hot, dki1d, stremi1d, ivim, mono, noddi, fwdti,
                               # smt, axdki, dkimicro, mapmri, gqi, expr and files with a model, as
                               # \"t2.toml\"; or by a word:
                               # preset = \"maps\" (fibres, connectome, everything, susceptibility,
                               # and the models of a study beside the tensor: hbcd, abcd)
    [correct]                  # with such a table, or --raw: the series is corrected first
    phase_encoding = \"j\"
    [dti]
    method = \"wls\"             # a table for each fit, with the long options of its command,
    bmax = 1500                # _ for -: maps = [\"FA\", \"MD\"], shells = [1000, 2000]
    [fod]
    order = 8
    [expr]                     # with such a table, a fit of this formula
    model = \"S0*exp(-b*D)\"
    param = [\"S0=1000,0,-\", \"D=1\"]
    [quality]
    confounds = \"confounds.tsv\" # of preprocessing: a column framewise_displacement, mm
    fix_gradients = false
    [peaks]                    # and so on
    threshold = 0.1
    [sticks]
    within = \"fibres\"          # densities above 0.15; or mask: all voxels; and its own options
    [track]                    # the options of `fimbria track` from samples to tracks (it says
    min_length = 20            # where a run has another default), and of anatomy act, backtrack,
    act = \"5tt.nii.gz\"         # crop, seed_boundary
    [sift2]                    # weights of the streamlines, where run.fits has sift2
    variation = 0.1
    [connectome]               # of the streamlines, between labels, by the weights of sift2 where
    labels = \"labels.nii.gz\"  # there are such: the options of `fimbria connectome`
    map = [\"T1=t1.nii.gz\"]
    [align]                    # an image of the subject laid on the series, with labels and tissues
    moving = \"T1w.nii.gz\"     # in its space: the first labels are those of connectome and regions
    labels = [\"aparc.nii.gz\"] # where they name none, act is that of track; the other options of
    act = \"5tt.nii.gz\"         # `fimbria align`
    [regions]                  # all maps of the run over the regions of a segmentation: labels,
    labels = \"dseg.nii.gz\"    # lut, and further maps
    [gre]                      # a gradient-echo scan, in the same scanner coordinates: phase, and
    phase = [\"phase.nii.gz\"]   # the long options of `fimbria field` for its input, _ for -
    te = [5, 10, 15]
    [field]                    # the other options of that command
    background = \"lbv\"
    [qsm]                      # the options of `fimbria qsm` but for its input
    method = \"dtv\"
    [maps]
    format = \"nii.gz\"          # also layout
    [report]
    title = \"subject 1\"

Time:
  Sampling sticks takes longest: a core does some 280 voxels of 65 volumes a second; of a brain of
  2 mm about 100,000 voxels have fibres. Without \"sticks\" among the fits streamlines go through
  densities.

Resuming:
  With --resume a stage is skipped where its folder holds a complete run of the same version with
  the same inputs (by their hashes) and parameters.";

impl Run {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { dwi, config, mut settings, raw, fix_gradients, run } = self;
        if fix_gradients {
            settings.push("quality.fix_gradients=true".to_owned());
        }
        let mut dwi = dwi.into_iter();
        let (mut from_line, folder) = run.on(dwi.next().unwrap_or_default());
        from_line.input.joined = dwi.map(JoinedSeries::from).collect();
        if !from_line.input.joined.is_empty() && from_line.input.names_table() {
            return Err(Failure::usage(
                "a gradient table by name is that of one series, and there are several: put each beside its series, of the \
                 same name, or name all in a file (--config)",
            ));
        }
        let config = config.map_or(Ok(from_line), |path| RunConfig::read(&path))?;
        let mut config = config.with_settings(&settings)?;
        if raw {
            config = config.with_correction();
        }
        match (memory::allowed(), config.input.memory) {
            (None, Some(memory)) => memory::limit_to(memory).map_err(Failure::usage)?,
            (allowed, _) => config.input.memory = allowed,
        }
        let stages = config.stages(&folder.output)?;
        run_in_folders("run", &stages, folder, console).map(drop)
    }
}
