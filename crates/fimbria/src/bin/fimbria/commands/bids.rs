//! `fimbria bids`

use std::path::{Path, PathBuf};

use clap::Args;
use fimbria_bids::{
    BidsError, DataSet, Ended, FAILED, OtherSet, Outcome, Participants, ReportLevel, digest,
    foretold, group, theirs,
};
use fimbria_compute::Progress as _;
use fimbria_pipeline::options::{Described as _, Takes, at_least};
use fimbria_pipeline::{Choice, FileKind, Named, Page, Preset, RunConfig, Writes, Written};

use crate::args::{DeviceArgs, ThreadArgs, choice};
use crate::commands::{command_line, session};
use crate::console::Console;
use crate::failure::{Failure, message_of};
use crate::memory;

/// Run all stages over every subject of a BIDS data set, and write derivatives
#[derive(Debug, Args)]
#[command(add = Writes(WRITES), after_long_help = HELP)]
pub(crate) struct Bids {
    /// The data set: raw, or derivatives as QSIPrep writes them
    #[arg(value_name = "IN")]
    #[arg(takes = Takes::FOLDER)]
    input: PathBuf,

    /// Folder of the derivatives
    #[arg(value_name = "OUT")]
    out: PathBuf,

    /// What is worked on
    #[arg(value_name = "LEVEL", value_parser = choice::<Level>())]
    level: Named<Level>,

    /// Subjects, with or without sub-
    #[arg(long, value_name = "LABEL", num_args = 1.., help_heading = "Input", usually = "all")]
    #[arg(alias = "participant_label")]
    participant_label: Vec<String>,

    /// Sessions, with or without ses-
    #[arg(long, value_name = "LABEL", num_args = 1.., help_heading = "Input", usually = "all")]
    #[arg(alias = "session_label")]
    session_label: Vec<String>,

    /// Other data sets of the same subjects, in which labels and tissues are looked for too, after those of
    /// IN: qsirecon=FOLDER; NAME stands in their URIs
    #[arg(short, long, value_name = "NAME=PATH", num_args = 1.., help_heading = "Input")]
    #[arg(takes = Takes::FOLDER)]
    datasets: Vec<OtherSet>,

    /// Name of the labels between which streamlines are counted: that of the entity atlas, seg or desc
    #[arg(long, value_name = "NAME", help_heading = "Input", usually = "the only ones there are")]
    atlas: Option<String>,

    /// Let streamlines end anywhere, although there are tissues beside a series
    #[arg(long, help_heading = "Input")]
    no_act: bool,

    /// Has no effect: BIDS apps are called with it. `fimbria bids` checks what it reads, and nothing else
    #[arg(long, help_heading = "Input", alias = "skip_bids_validation")]
    skip_bids_validation: bool,

    /// What is done
    #[arg(long, value_name = "PRESET", value_parser = choice::<Preset>())]
    #[arg(usually = "maps", conflicts_with = "config")]
    preset: Option<Named<Preset>>,

    /// Take what is done from a TOML file, as `fimbria run` does; its `[input]` names no files
    #[arg(long, value_name = "FILE")]
    #[arg(takes = Takes::CONFIGURATION)]
    config: Option<PathBuf>,

    /// Set one parameter of a stage, such as dti.method=nlls; may be repeated
    #[arg(long = "set", value_name = "STAGE.KEY=VALUE")]
    settings: Vec<String>,

    /// Series are as they left the scanner: correct motion, eddy currents and dropped slices first, and distortion where
    /// fmap/ has a map of their field
    #[arg(long)]
    raw: bool,

    /// With --raw: correct and analyse each series by itself, where several of a session would become one
    #[arg(long, alias = "separate_all_dwis")]
    separate_all_dwis: bool,

    /// Mend the gradient table of each series as its check says, before anything is fitted; a series whose
    /// data do not tell fails
    #[arg(long)]
    fix_gradients: bool,

    /// Make finished sessions again, and replace what is in the way of pages and tables
    #[arg(short, long, help_heading = "Output")]
    force: bool,

    /// Where pages are written
    #[arg(long, value_name = "LEVEL", default_value = "root", help_heading = "Output")]
    #[arg(value_parser = choice::<ReportLevel>())]
    report_output_level: Named<ReportLevel>,

    /// Print, when all is done, a hash of every file of finished sessions, and one of all: what two sites compare
    #[arg(long, help_heading = "Output")]
    digest: bool,

    /// Folder where sessions are worked on, each in one of its name that is made there; what an interruption
    /// leaves in it is gone on from. It neither is, holds nor lies in IN, OUT or another data set
    #[arg(short, long, value_name = "FOLDER", help_heading = "Machine")]
    #[arg(usually = "OUT/.fimbria/work", alias = "work_dir")]
    #[arg(takes = Takes::FOLDER)]
    work_dir: Option<PathBuf>,

    /// Print what would be done with each session, with the time, memory and disk that it is expected to take,
    /// and do nothing
    #[arg(long, help_heading = "Output", alias = "dry_run", conflicts_with = "digest")]
    dry_run: bool,

    #[command(flatten)]
    threads: ThreadArgs,

    /// Threads that one session has at most, of several beside each other
    #[arg(long, value_name = "N", help_heading = "Machine", alias = "omp_nthreads")]
    #[arg(number = at_least(1_u16, ""), usually = "all")]
    omp_nthreads: Option<u16>,

    #[command(flatten)]
    devices: DeviceArgs,
}

/// What a BIDS app works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// Each session by itself.
    Participant,
    /// All that are finished.
    Group,
}

impl Choice for Level {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Participant, "participant", "each session by itself"),
        (Self::Group, "group", "a table and a page of all that are finished"),
    ];
}

/// What the command writes.
const WRITES: &[Written] = &[
    Written::folder(
        "sub-*/",
        "[ses-*/]dwi and anat: maps, densities, peaks, streamlines, matrices, susceptibility, under \
         names of BIDS, with sidecars; run.json, written last",
    ),
    Written::file(
        "sub-*.html",
        FileKind::Page,
        "a page of each session, and one that leads there of a subject with sessions",
    ),
    Written::file(
        "dataset_description.json",
        FileKind::Json,
        "what the data set is and is made of",
    ),
    Written::file(".bidsignore", FileKind::Text, "what BIDS has no rule for yet"),
    Written::file("README", FileKind::Text, "what is where"),
    Written::folder(
        "logs/",
        "CITATION.md, .bib and .html: what was done, in words for a paper; failed/: why a session failed, until it \
         is made",
    ),
    Written::file(
        "group_dwi.tsv",
        FileKind::Table,
        "a row of each series: verdicts on it, medians of maps, share \
        of voxels fitted, volumes used, warnings, what the input says of it",
    )
    .only("group"),
    Written::file("group_dwi.json", FileKind::Json, "what the columns are, and their units")
        .only("group"),
    Written::file(
        "group_dwi.html",
        FileKind::Page,
        "a dot of each series in a strip of each \
        number, which leads to its page",
    )
    .only("group"),
    Written::file(
        "group_response*.txt",
        FileKind::Table,
        "mean responses of the sessions: fibres, _gm, _csf; for `--set fod.response=FILE` and so on, so that \
         densities of all subjects compare",
    )
    .only("group, where densities are made"),
];

const HELP: &str = "\
Input:
  Series are sub-*/[ses-*/]dwi/*_dwi.nii.gz: those with desc-preproc where there are any, of several
  spaces that of ACPC; no phase, and none without a weighted volume beside another. With each are
  taken bval and bvec (beside it or above), desc-brain_mask, graddev, and for the group's table
  confounds and image_qc; labels (dseg, called what dseg.tsv says), tissues that say where
  streamlines through densities may end (5tt, hsvs, aparcaseg, aseg, synthseg) and a gradient-echo
  scan (part-phase, part-mag in anat or swi) where they lie in the space of the series; labels and
  tissues of the data sets of --datasets too. All are only read.
  Options of BIDS apps may have underscores: --participant_label.

What is done:
  Each series is a run as `fimbria run` makes it. With --raw those of a session are made one whose
  names differ in run and dir alone, or that have one MultipartID: where they have like voxels, echo
  times and distortion, or fmap/ has a map. Others stay by themselves, and a warning says why.
  A preset leaves out what the gradient table does not carry, and a warning says so; --config FILE
  has tables for stages, and says by [run] fits what is done.

Several at once:
  With --mem as many sessions are worked on beside each other as there are threads and memory for,
  by what their headers say that each takes; without it, and with devices, one after the other. Any
  number of processes may work on one OUT: each takes a session that nobody else works on, and what
  a killed one had is free again. One that is finished, with the same inputs and parameters, is
  kept; what another preset adds is added to it. What was made with other options is refused
  without --force, as is what somebody else has put there; what was made of other inputs is made
  anew. A session that fails is named at the end with its reason, what it said is in logs/failed,
  the others go on, and the exit code is 1.

Outputs in OUT:
{outputs}

Units:
  b in s/mm², diffusivities in mm²/s, susceptibility in ppm; sidecars say which.

Order and frame:
  Scanner RAS axes; tensors xx xy xz yy yz zz, densities in MRtrix3's basis, as sidecars say.

See docs/bids.md.";

impl Bids {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self {
            input,
            out,
            level: Named(level),
            participant_label,
            session_label,
            datasets,
            atlas,
            no_act,
            skip_bids_validation,
            preset,
            config,
            mut settings,
            raw,
            separate_all_dwis: separate,
            fix_gradients,
            force,
            report_output_level: Named(pages),
            digest: is_digested,
            work_dir: work,
            dry_run,
            threads,
            omp_nthreads,
            devices,
        } = self;
        if skip_bids_validation {
            console.detail("--skip-bids-validation: only what is read is checked in any case");
        }
        if fix_gradients {
            settings.push("quality.fix_gradients=true".to_owned());
        }
        let data_set = DataSet::open(&input, datasets)?;
        let data_set = data_set.select(&participant_label, &session_label)?;
        let done = match level {
            Level::Participant => {
                let is_told = config.is_some();
                let mut config = match config {
                    Some(path) => RunConfig::read(&path)?,
                    None => RunConfig::default(),
                };
                config.run.preset = preset.or(config.run.preset);
                config = config.with_settings(&settings)?;
                if !is_told && config.run.preset.is_none() && config.run.fits.is_none() {
                    config.run.preset = Some(Named(Preset::Maps));
                }
                if raw {
                    config = config.with_correction();
                }
                if separate && !config.corrects() {
                    return Err(Failure::usage(
                        "--separate-all-dwis is used with --raw: series that are not corrected are \
                         analysed each by itself",
                    ));
                }
                config.input.memory = memory::allowed();
                let workers = threads.start()?;
                let opened = devices.open(console)?;
                let command_line = command_line();
                let machine = session(devices.backend(&workers, &opened), console, &command_line);
                let all = Participants {
                    data_set,
                    out: out.clone(),
                    config,
                    atlas,
                    separate,
                    anatomy: !no_act,
                    work,
                    force,
                    level: pages,
                    threads_each: omp_nthreads.map(usize::from),
                };
                if dry_run {
                    let foreseen = workers.install(|| all.foresee(workers.threads()))?;
                    return Ok(console.print(&foretold(&foreseen))?);
                }
                summary(all.run(machine)?, &out, console)
            }
            Level::Group => {
                let made = group(&data_set, &out, force)?;
                console.note(&format!("{} series in {}", made.series, made.page.display()));
                if !made.missing.is_empty() {
                    let warning = format!("not finished: {}", made.missing.join(", "));
                    console.warn(&Page::Bids.behind(warning));
                }
                for name in made.theirs {
                    console.warn(&Page::Bids.behind(theirs(name)));
                }
                for doubt in &made.doubts {
                    console.warn(&Page::Bids.behind(doubt));
                }
                Ok(())
            }
        };
        if is_digested {
            let digest = digest(&out)?;
            console.print(&digest.text)?;
            for file in digest.changed {
                let warning = format!("{file} is not as its record says that it was written");
                console.warn(&Page::Bids.behind(warning));
            }
        }
        done
    }
}

/// Sessions that could not be made.
#[derive(Debug, thiserror::Error)]
#[error("{} of {of} failed:{}\nwhat each of them said is in {}", failed.len(), lines(failed), logs.display())]
struct SomeFailed {
    failed: Vec<(String, String)>,
    of: usize,
    logs: PathBuf,
}

fn lines(failed: &[(String, String)]) -> String {
    failed.iter().map(|(session, reason)| format!("\n  {session}: {reason}")).collect()
}

/// Says how many sessions ended how, and names those that failed.
fn summary(outcomes: Vec<Outcome>, out: &Path, console: &Console) -> Result<(), Failure> {
    let of = outcomes.len();
    let (mut done, mut kept, mut elsewhere, mut failed) = (0, 0, Vec::new(), Vec::new());
    for Outcome { session, ended } in outcomes {
        match ended {
            Ended::Done => done += 1,
            Ended::Kept => kept += 1,
            Ended::Elsewhere => elsewhere.push(session),
            Ended::Failed(error) => failed.push((session, reason(&error))),
        }
    }
    let mut said = format!("{done} of {of} done");
    if kept > 0 {
        said += &format!(", {kept} kept from before");
    }
    if !elsewhere.is_empty() {
        said += &format!(", at work in other processes: {}", elsewhere.join(", "));
    }
    console.note(&said);
    if failed.is_empty() {
        Ok(())
    } else {
        Err(SomeFailed { failed, of, logs: out.join(FAILED) }.into())
    }
}

fn reason(error: &BidsError) -> String {
    message_of(error)
}
