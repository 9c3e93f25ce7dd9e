//! Files, outputs and regions: FSL's options for them.

use std::path::PathBuf;

use clap::Args;
use fimbria_pipeline::options::{Described as _, Takes, at_least};
use fimbria_pipeline::{Choice, MeshSpace, Named};

use crate::args::choice;

/// Inputs and where outputs go.
#[derive(Debug, Args)]
#[command(next_help_heading = "Files")]
pub(super) struct FileArgs {
    /// Base name of the samples: BASE_th1samples, BASE_ph1samples, BASE_f1samples, ...2 ...
    #[arg(short, long, value_name = "BASE")]
    #[arg(takes = Takes::SAMPLES)]
    pub(super) samples: PathBuf,

    /// Brain mask, on the grid of the samples
    #[arg(short, long, value_name = "IMAGE")]
    #[arg(takes = Takes::MASK)]
    pub(super) mask: PathBuf,

    /// Seeds: an image, a GIFTI surface (.gii), or a text file that lists them; with --simple, voxel
    /// coordinates
    #[arg(short = 'x', long, value_name = "FILE")]
    #[arg(takes = Takes::REGION)]
    pub(super) seed: PathBuf,

    /// Base name of the map of visits
    #[arg(short, long, value_name = "NAME", default_value = "fdt_paths")]
    pub(super) out: String,

    /// Folder to write; where it exists, one with + after its name
    #[arg(long, value_name = "FOLDER", default_value = "logdir")]
    pub(super) dir: PathBuf,

    /// Write to exactly that folder
    #[arg(long)]
    pub(super) forcedir: bool,

    /// Seeds are points in a text file: voxel coordinates, N rows of 3 or 3 rows of N
    #[arg(long)]
    pub(super) simple: bool,

    /// Transform from seed space to that of the samples, as FLIRT writes it, or a warp field
    #[arg(long, value_name = "FILE")]
    #[arg(usually = "identity")]
    #[arg(takes = Takes::TRANSFORM)]
    pub(super) xfm: Option<PathBuf>,

    /// The transform back; needed, and used, with warp fields
    #[arg(long, value_name = "FILE")]
    #[arg(takes = Takes::TRANSFORM)]
    pub(super) invxfm: Option<PathBuf>,

    /// Image whose grid is the seed space
    #[arg(long, value_name = "IMAGE")]
    #[arg(usually = "the brain mask")]
    #[arg(takes = Takes::IMAGE)]
    pub(super) seedref: Option<PathBuf>,

    /// What coordinates of surfaces count in
    #[arg(long, value_name = "SPACE", default_value = "caret", value_parser = choice::<MeshSpace>())]
    pub(super) meshspace: Named<MeshSpace>,

    /// Of a triangle that is crossed, count the nearest vertex instead of all three
    #[arg(long)]
    pub(super) closestvertex: bool,
}

/// What is written.
#[derive(Debug, Args)]
#[command(next_help_heading = "What is written")]
pub(super) struct OutputFlags {
    /// The map of visits
    #[arg(long)]
    pub(super) opd: bool,

    /// Count distances from the seed (mm) instead of visits
    #[arg(long)]
    pub(super) pd: bool,

    /// Mean lengths too
    #[arg(long)]
    pub(super) ompl: bool,

    /// For every target a map of the seeds that reach it
    #[arg(long)]
    pub(super) os2t: bool,

    /// The targets: an image, a surface, or a text file that lists them
    #[arg(long, value_name = "FILE")]
    #[arg(takes = Takes::REGION)]
    pub(super) targetmasks: Option<PathBuf>,

    /// Seeds and targets as a matrix of text
    #[arg(long)]
    pub(super) s2tastext: bool,

    /// For every target a map of the visits of the samples that reach it, with --os2t
    #[arg(long)]
    pub(super) otargetpaths: bool,

    /// The sparse matrix from seed to seed
    #[arg(long)]
    pub(super) omatrix1: bool,

    /// Least length of what that matrix counts
    #[arg(long, value_name = "MM", default_value_t = 0.0)]
    #[arg(number = at_least(0.0_f32, "mm"))]
    pub(super) distthresh1: f32,

    /// The sparse matrix from seed to voxel of --target2
    #[arg(long)]
    pub(super) omatrix2: bool,

    /// Its voxels: a mask on a grid of its own, usually a coarse one, whose first voxel has the same
    /// centre
    #[arg(long, value_name = "IMAGE")]
    #[arg(takes = Takes::MASK)]
    pub(super) target2: Option<PathBuf>,

    /// The sparse matrix between places of --target3, wherever streamlines start
    #[arg(long)]
    pub(super) omatrix3: bool,

    /// Its rows, and its columns unless --lrtarget3 gives them: an image, a surface, or a list of
    /// them
    #[arg(long, value_name = "FILE")]
    #[arg(takes = Takes::REGION)]
    pub(super) target3: Option<PathBuf>,

    /// Its columns
    #[arg(long, value_name = "FILE")]
    #[arg(takes = Takes::REGION)]
    pub(super) lrtarget3: Option<PathBuf>,

    /// Least length of what matrix 3 counts
    #[arg(long, value_name = "MM", default_value_t = 0.0)]
    #[arg(number = at_least(0.0_f32, "mm"))]
    pub(super) distthresh3: f32,

    /// The map of visits in these regions alone, too: an image, or a list of images
    #[arg(long, value_name = "FILE")]
    #[arg(takes = Takes::REGION)]
    pub(super) fopd: Option<PathBuf>,

    /// Mean orientations of paths
    #[arg(long)]
    pub(super) opathdir: bool,

    /// Every path, as text
    #[arg(long)]
    pub(super) savepaths: bool,
}

/// Regions that decide over streamlines.
#[derive(Debug, Args)]
#[command(
    next_help_heading = "Regions (an image, a GIFTI surface, or a text file that lists them)"
)]
pub(super) struct RegionArgs {
    /// Where streamlines must go
    #[arg(long, value_name = "FILE")]
    #[arg(takes = Takes::REGION)]
    pub(super) waypoints: Option<PathBuf>,

    /// To all of them, or to one
    #[arg(long, value_name = "COND", default_value = "AND", ignore_case = true)]
    #[arg(value_parser = choice::<Condition>())]
    pub(super) waycond: Named<Condition>,

    /// In the order of the list
    #[arg(long)]
    pub(super) wayorder: bool,

    /// Each half by itself
    #[arg(long)]
    pub(super) onewaycondition: bool,

    /// Where they must not go
    #[arg(long, value_name = "FILE")]
    #[arg(takes = Takes::REGION)]
    pub(super) avoid: Option<PathBuf>,

    /// Where they end on entering
    #[arg(long, value_name = "FILE")]
    #[arg(takes = Takes::REGION)]
    pub(super) stop: Option<PathBuf>,

    /// Where they end on leaving
    #[arg(long, value_name = "FILE")]
    #[arg(takes = Takes::REGION)]
    pub(super) wtstop: Option<PathBuf>,

    /// Keep only what reaches another of the seed regions
    #[arg(long)]
    pub(super) network: bool,

    /// Ask --avoid and --stop from the second point on
    #[arg(long)]
    pub(super) forcefirststep: bool,
}

/// What differs from place to place: FSL's hidden options for it.
#[derive(Debug, Args)]
#[command(next_help_heading = "From place to place (images on the grid of the samples)")]
pub(super) struct LocalArgs {
    /// Of 3 volumes: directions (FSL's frame) that the fibre to follow is nearest to, in place of the
    /// current direction, where not zero. Of 1: the rule by which it is chosen at all steps but the
    /// first, as --randfib has them, where 1 or more
    #[arg(long, value_name = "IMAGE")]
    #[arg(takes = Takes::IMAGE.frame("FSL's"))]
    pub(super) prefdir: Option<PathBuf>,

    /// The rule by which the fibre is chosen in the voxel looked up: 1 any above --fibthresh, 2 any of
    /// those within 40 degrees, 3 any by fraction, else the nearest
    #[arg(long, value_name = "IMAGE")]
    #[arg(takes = Takes::IMAGE)]
    pub(super) locfibchoice: Option<PathBuf>,

    /// Least cosine of the angle between steps, in place of --cthr
    #[arg(long, value_name = "IMAGE")]
    #[arg(takes = Takes::IMAGE)]
    pub(super) loccurvthresh: Option<PathBuf>,

    /// Where no fibre is drawn and the last one is followed on; on the grid of the seeds
    #[arg(long = "no_integrity", alias = "skipmask", value_name = "IMAGE")]
    #[arg(takes = Takes::MASK)]
    pub(super) no_integrity: Option<PathBuf>,

    /// Look the nearest voxel up, not a random corner
    #[arg(long)]
    pub(super) noprobinterpol: bool,

    /// From surfaces go into the brain only, against the normal of the vertex; both ways with
    /// --omatrix3
    #[arg(long)]
    pub(super) onewayonly: bool,
}

/// How many of the waypoints are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    And,
    Or,
}

impl Choice for Condition {
    const CHOICES: &'static [(Self, &'static str, &'static str)] =
        &[(Self::And, "AND", "to all of them"), (Self::Or, "OR", "to one")];
}
