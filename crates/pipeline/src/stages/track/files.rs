//! What is tracked through, and from where to where.

use std::path::PathBuf;

use clap::Args;
use fimbria_image::odx::Odx;
use fimbria_image::{BvecFrame, is_image_name};
use fimbria_tensors::sh::ShBasis;

use super::{Source, SourceError};
use crate::Named;
use crate::options::{Described as _, FileType, Takes, at_least, choice};
use crate::stages::load_orientations::OrientationFiles;

/// What to follow.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Input")]
pub struct DirectionFiles {
    /// A bedpostX folder or base name of samples (FOLDER/merged); an image of peaks or of V1 (three
    /// volumes per direction, or as DIPY writes them); an image of spherical harmonics that says
    /// that it is one; with --sh-basis or --hot any image of coefficients; an ODX with harmonics
    #[arg(value_name = "DIRECTIONS")]
    #[arg(takes = Takes::any_of(&[FileType::Samples, FileType::Image]))]
    pub directions: PathBuf,

    /// Volumes are spherical harmonics of this basis
    #[arg(long, value_name = "BASIS", value_parser = choice::<ShBasis>(), conflicts_with = "hot")]
    #[arg(usually = "what the image says of itself")]
    pub sh_basis: Option<Named<ShBasis>>,

    /// Volumes are directions, three to each, whatever the image says or looks like
    #[arg(long, conflicts_with_all = ["hot", "sh_basis"])]
    pub peaks: bool,

    /// Volumes are unique entries of a higher-order tensor (fit fod)
    #[arg(long)]
    pub hot: bool,

    /// Axes of peaks or coefficients
    #[arg(long, value_name = "FRAME", value_parser = choice::<BvecFrame>())]
    #[arg(
        usually = "what the image says of itself (FSL's V1 and dyads are in FSL's), else scanner; \
                     voxel with a basis of DIPY"
    )]
    pub frame: Option<Named<BvecFrame>>,

    /// Scatter directions around peaks by this angle; 0 tracks deterministically
    #[arg(long, value_name = "DEG", number = at_least(0.0, "degrees"), default_value_t = 0.0)]
    pub dispersion: f64,

    /// Voxels to track in
    #[arg(long, value_name = "IMAGE")]
    #[arg(usually = "those that have directions; nodif_brain_mask of a folder")]
    #[arg(takes = Takes::MASK)]
    pub mask: Option<PathBuf>,
}

impl DirectionFiles {
    /// What directions come from, by what was said and what the image says of itself.
    ///
    /// # Errors
    /// [`SourceError`] where the image cannot be read, holds harmonics of no known basis, or an
    /// option has no use.
    pub fn source(&self) -> Result<Source, SourceError> {
        let Self { directions, sh_basis, peaks, hot, frame, dispersion, mask: _ } = self;
        let image = directions.clone();
        let function = |image| OrientationFiles {
            image,
            sh_basis: *sh_basis,
            frame: *frame,
            ..OrientationFiles::default()
        };
        let is_odx = Odx::is_named(directions);
        let source = if *hot || is_odx {
            Source::Function(function(image))
        } else if sh_basis.is_some() {
            Source::Function(function(image).settled()?)
        } else if is_image_name(&image) {
            Source::of_image(image, frame.map(|frame| frame.0), *dispersion, *peaks)?
        } else {
            Source::Samples(image)
        };
        let scatters = (*dispersion > 0.0).then_some("dispersion");
        let holds = source.holds();
        let unused = match source {
            Source::Peaks { .. } => None,
            // What an ODX holds it says itself.
            Source::Function(_) if is_odx => {
                scatters.or(peaks.then_some("peaks")).or(hot.then_some("hot"))
            }
            Source::Function(_) => scatters,
            Source::Samples(_) => {
                let turns = frame.is_some().then_some("frame");
                scatters.or(turns).or(peaks.then_some("peaks"))
            }
        };
        match unused {
            Some(option) => Err(SourceError::Unused { option, holds, path: directions.clone() }),
            None => Ok(source),
        }
    }
}

/// From where, and by which ways. The grid of the first image of seeds is that of all regions and
/// maps.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Regions (images on the grid of the seeds: above zero is inside; \
                               or GIFTI surfaces, which are met where they are crossed)")]
pub struct RegionFiles {
    /// Where to start: voxels of an image, vertices of a surface (.gii), or points of a list (.txt),
    /// rows of x y z; given several times, several regions
    #[arg(long, value_name = "FILE", required = true)]
    #[arg(takes = Takes::REGION)]
    pub seeds: Vec<PathBuf>,

    /// Where streamlines must pass; given several times, all of them
    #[arg(long, value_name = "REGION")]
    #[arg(takes = Takes::REGION)]
    pub include: Vec<PathBuf>,

    /// One of those is enough
    #[arg(long, requires = "include", conflicts_with = "in_order")]
    pub include_any: bool,

    /// In the order given
    #[arg(long, requires = "include")]
    pub in_order: bool,

    /// Where streamlines must not pass
    #[arg(long, value_name = "REGION")]
    #[arg(takes = Takes::REGION)]
    pub exclude: Vec<PathBuf>,

    /// Where streamlines end
    #[arg(long, value_name = "REGION")]
    #[arg(takes = Takes::REGION)]
    pub stop: Vec<PathBuf>,

    /// Count for each seed the streamlines that reach this
    #[arg(long, value_name = "REGION")]
    #[arg(takes = Takes::REGION)]
    pub target: Vec<PathBuf>,

    /// Keep only what joins two of the seed regions, and count pairs
    #[arg(long)]
    pub network: bool,
}
