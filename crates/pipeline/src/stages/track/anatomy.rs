//! Tissues that say where streamlines may end.

use std::path::PathBuf;

use clap::Args;
use fimbria_compute::Progress as _;
use fimbria_image::{Grid, Image, counted, read_image};
use fimbria_tracking::{Anatomy, LabelError, Labels, Tissues, radiological};
use fimbria_workflow::{Input, Logbook};
use serde::Serialize;

use super::parameters::{Algorithm, unused_by};
use super::resolved::EndedBy;
use super::{Through, TrackError, TrackParameters};
use crate::options::{Described as _, FileType, OptionError, Resolve, Takes};
use crate::{Named, Page};

/// Where streamlines may end, by the tissues of the head.
#[derive(Clone, Debug, Default, PartialEq, Args, Serialize)]
#[command(next_help_heading = "Anatomy (through densities)")]
pub struct AnatomyOptions {
    /// Tissues that say where streamlines may end: five volumes (cortical grey, subcortical grey,
    /// white, fluid, other), as `phantom head` and 5ttgen write them, or labels of FreeSurfer,
    /// SynthSeg or FAST; any grid in the same scanner space
    #[arg(long, value_name = "IMAGE")]
    #[serde(skip)]
    #[arg(takes = Takes::any_of(&[FileType::Image, FileType::Labels]))]
    pub act: Option<PathBuf>,

    /// Take streamlines that end wrongly back some steps and let them go on another way
    #[arg(long, value_name = "true|false", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true", usually = "true, but with `deterministic` false")]
    pub backtrack: Option<bool>,

    /// Cut ends in grey matter off at its boundary with white matter
    #[arg(long, value_name = "true|false", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true", usually = "true")]
    pub crop: Option<bool>,

    /// Start on that boundary, in the voxels of --seeds (in a run: with densities) that it passes,
    /// and go into white matter
    #[arg(long)]
    pub seed_boundary: bool,
}

impl AnatomyOptions {
    /// An option that is given and has no use through these directions.
    pub fn unused(&self, through: Through) -> Option<&'static str> {
        (self.act.is_some() && through == Through::Samples).then_some("act")
    }

    /// Whether all that is given has a use.
    ///
    /// # Errors
    /// [`OptionError::Unusable`].
    pub fn check(&self, through: Through, parameters: &TrackParameters) -> Result<(), OptionError> {
        // No matter for the command line: `bids` adds the tissues to what it was told.
        let Self { act, backtrack, crop, seed_boundary } = self;
        let of_tissues = [
            ("backtrack", *backtrack == Some(true)),
            ("crop", *crop == Some(true)),
            ("seed_boundary", *seed_boundary),
        ];
        let given = of_tissues.iter().find(|(_, is_given)| *is_given);
        if let (None, Some((option, _))) = (act, given) {
            let why = format!("`{option}` has no use without `act`, the image of tissues");
            return Err(OptionError::Unusable(why));
        }
        if let Some(option) = self.unused(through) {
            let through = through.name();
            let why = format!("`{option}` has no use here, through {through}: leave it out");
            return Err(OptionError::Unusable(why));
        }
        match parameters.algorithm {
            // It goes the same way again.
            Some(Named(algorithm @ Algorithm::Deterministic)) if *backtrack == Some(true) => {
                Err(unused_by(algorithm, "backtrack"))
            }
            _ => Ok(()),
        }
    }

    /// By what streamlines end.
    pub(super) fn ended_by(&self) -> EndedBy {
        if self.act.is_some() { EndedBy::Tissues } else { EndedBy::Densities }
    }

    /// What is read.
    pub(super) fn inputs(&self) -> Option<Input> {
        self.act.as_ref().map(|path| ("act".to_owned(), path.clone()))
    }

    /// The tissues, for points in voxels of `samples`; tells whose labels they are of.
    ///
    /// # Errors
    /// Where the image cannot be read or is none of tissues.
    pub(crate) fn read(
        &self,
        samples: &Grid,
        log: &Logbook<'_>,
    ) -> Result<Option<Tissues>, TrackError> {
        let Some(path) = &self.act else { return Ok(None) };
        self.of_image(read_image(path)?, samples, log)
    }

    /// The same of the image itself.
    pub(super) fn of_image(
        &self,
        image: Image,
        samples: &Grid,
        log: &Logbook<'_>,
    ) -> Result<Option<Tissues>, TrackError> {
        let Some(path) = &self.act else { return Ok(None) };
        let wrong = |source| TrackError::Tissues { path: path.clone(), source };
        let image = match image.n_volumes {
            1 => of_labels(&image, log).map_err(|error| wrong(error.into()))?,
            _ => image,
        };
        Tissues::new(&image, samples).map(Some).map_err(wrong)
    }

    /// How streamlines are constrained by them.
    pub(super) fn constraint<'t>(&self, tissues: &'t Option<Tissues>) -> Option<Anatomy<'t>> {
        tissues.as_ref().map(|tissues| Anatomy {
            tissues,
            backtrack: self.backtrack == Some(true),
            crop: self.crop == Some(true),
            from_boundary: self.seed_boundary,
        })
    }
}

impl Resolve for AnatomyOptions {
    type Setting = TrackParameters;

    fn with_defaults(&self, parameters: &TrackParameters) -> Self {
        let mut all = self.clone();
        if self.act.is_some() {
            // What is deterministic goes the same way again.
            let algorithm = parameters.algorithm.unwrap_or_default().0;
            let has_other_ways = algorithm != Algorithm::Deterministic;
            all.backtrack = self.backtrack.or(Some(has_other_ways));
            all.crop = self.crop.or(Some(true));
        }
        all
    }
}

/// How much of each of `voxels`, by index in the array, of a grid is white matter.
pub(in crate::stages) fn white_shares(tissues: &Tissues, grid: &Grid, voxels: &[u32]) -> Vec<f32> {
    /// Points along an axis of a voxel at which tissues are looked up.
    const POINTS: usize = 3;
    let within = |i: usize| (i as f32 + 0.5) / POINTS as f32 - 0.5;
    let white = |&voxel: &u32| {
        let [x, y, z] = grid.voxel(radiological(grid, voxel as usize)).map(|c| c as f32);
        let points = (0..POINTS * POINTS * POINTS).map(|i| {
            let at = [i % POINTS, i / POINTS % POINTS, i / POINTS / POINTS].map(within);
            tissues.at([x + at[0], y + at[1], z + at[2]]).white
        });
        points.sum::<f32>() / (POINTS * POINTS * POINTS) as f32
    };
    voxels.iter().map(white).collect()
}

/// The five tissues of labels.
fn of_labels(image: &Image, log: &Logbook<'_>) -> Result<Image, LabelError> {
    let labels = Labels::from_image(image);
    log.note(match labels {
        Labels::FreeSurfer => "tissues are those of FreeSurfer's labels",
        Labels::Fast => {
            "tissues are those of FAST's labels (1 fluid, 2 grey, 3 white): all grey matter is taken \
             for cortex"
        }
    });
    let (tissues, unknown) = labels.tissues(image)?;
    if unknown > 0 {
        let voxels = counted(unknown, "voxel");
        log.warn(
            Page::Tracking,
            &format!("{voxels} have labels that are not FreeSurfer's: they count as no tissue"),
        );
    }
    Ok(tissues)
}

#[cfg(test)]
mod tests {
    use fimbria_image::Affine;

    use super::*;

    /// On a grid whose x axis is reversed in tracking, and on one where it is not.
    #[test]
    fn shares_of_white_matter_are_those_of_the_voxels_asked_for() {
        for x in [2.0, -2.0] {
            let grid = Grid { dims: [6, 1, 1], ras_from_vox: Affine::from_spacing([x, 2.0, 2.0]) };
            let mut image = Image::zeros(grid, 5);
            image.volume_mut(2)[0] = 1.0;
            image.volume_mut(0)[3] = 1.0;
            let tissues = Tissues::new(&image, &grid).unwrap();
            let shares = white_shares(&tissues, &grid, &[0, 1, 5]);
            // Half of the points along each axis but x of one slice lie beyond it: 7/9 squared is inside; along x the
            // share falls from 1 in the middle to 2/3 at a third of a voxel.
            let across = (7.0_f32 / 9.0).powi(2);
            assert!((shares[0] - across * 7.0 / 9.0).abs() < 1e-5, "{shares:?}");
            assert!((shares[1] - across / 9.0).abs() < 1e-5, "{shares:?}");
            assert_eq!(shares[2], 0.0);
        }
    }
}
