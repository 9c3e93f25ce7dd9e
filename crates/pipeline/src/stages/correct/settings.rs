//! How a series is corrected, as options.

use std::path::{Path, PathBuf};

use clap::Args;
use fimbria_registration::Eddy;
use serde::Serialize;
use serde_json::{Value, json};

use super::distortion::LONGEST_S;
use super::{MapUnit, PhaseEncoding, beside};
use crate::options::{Described as _, Takes, above, choice, within};
use crate::transforms::TransformFile;
use crate::{Choice, Named};

/// Field maps of 2 to 4 mm have some hertz of noise, whose slopes would be seen as brightness.
const FIELD_FWHM_MM: f64 = 4.0;

impl Choice for Eddy {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::None, "none", "motion alone"),
        (Self::Linear, "linear", "shift, shear and scale along the phase encoding"),
        (Self::Quadratic, "quadratic", "and the five harmonics of second order"),
        (Self::Cubic, "cubic", "and the seven of third order"),
    ];
}

/// How a series is corrected.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct CorrectSettings {
    /// Direction of the phase encoding along the axes of the array, as BIDS writes it; of several series once for all, or
    /// once for each in their order
    #[arg(long, value_name = "DIRECTION", value_parser = choice::<PhaseEncoding>())]
    #[arg(usually = "what the sidecar of the series says")]
    pub phase_encoding: Vec<Named<PhaseEncoding>>,

    /// Map of the field that distorts the series, or the phase that it is made of: BIDS's fieldmap, phasediff, or phase1
    /// and phase2. It lies where its header says
    #[arg(long, value_name = "FILE", takes = Takes::IMAGE)]
    #[arg(usually = "in a run, that of fmap/ for this series")]
    pub field: Vec<PathBuf>,

    /// Magnitude of the echoes of --field: where it is bright the field is known
    #[arg(long, value_name = "FILE", requires = "field", takes = Takes::IMAGE)]
    pub field_magnitude: Vec<PathBuf>,

    /// Unit of the field map
    #[arg(long, value_name = "UNIT", requires = "field", value_parser = choice::<MapUnit>())]
    #[arg(usually = "`Units` of its sidecar")]
    pub field_unit: Option<Named<MapUnit>>,

    /// What brings --field onto the series, of ANTs, ITK or MRtrix3, where the head moved between the two. Of several the
    /// first takes points of the series first; `[FILE,1]` is the inverse of a matrix
    #[arg(long, value_name = "FILE", requires = "field", takes = Takes::TRANSFORM)]
    pub field_transform: Vec<TransformFile>,

    /// Width of the Gaussian that --field is smoothed by
    #[arg(long, value_name = "MM", default_value_t = FIELD_FWHM_MM, number = within(0.0, 50.0, "mm"))]
    pub field_fwhm: f64,

    /// Time from the first to the last echo of the readout, as BIDS's TotalReadoutTime: a field shifts by so many voxels
    /// a hertz. Of several series once for all, or once for each
    #[arg(long, value_name = "SECONDS", number = above(0.0, "s").up_to(LONGEST_S))]
    #[arg(usually = "what the sidecar of the series says")]
    pub readout_time: Vec<f64>,

    /// Warp of another program in place of a field: it brings the series onto the head as it is. Of ANTs, ITK, MRtrix3, or
    /// FSL's convertwarp. Of several the first takes points of the head first; with several series one for all, or one for
    /// each
    #[arg(long, value_name = "FILE", conflicts_with = "field", takes = Takes::TRANSFORM)]
    pub warp: Vec<TransformFile>,

    /// Leave distortion by susceptibility, in a run with a map of the field too; of several series also where it differs
    #[arg(long, conflicts_with_all = ["field", "warp"])]
    pub keep_distortion: bool,

    /// Fields of eddy currents along the phase encoding
    #[arg(long, value_name = "FIELD", default_value = "quadratic", value_parser = choice::<Eddy>())]
    pub eddy: Named<Eddy>,

    /// Leave slices that lost their signal as they were measured; they are listed all the same
    #[arg(long)]
    pub keep_dropped: bool,
}

impl CorrectSettings {
    /// As a record has them: files are among the inputs.
    pub(super) fn without_paths(&self) -> Value {
        let mut settings = json!(self);
        for key in ["phase_encoding", "readout_time"] {
            // One for all as such, and none as null.
            settings[key] = match settings[key].as_array().map(Vec::as_slice) {
                None | Some([]) => Value::Null,
                Some([one]) => one.clone(),
                Some(several) => json!(several),
            };
        }
        let inverses = |files: &[TransformFile]| -> Value {
            files.iter().map(|file| file.is_inverse).collect()
        };
        settings["field"] = json!(self.field.len());
        settings["field_magnitude"] = json!(self.field_magnitude.len());
        settings["field_transform"] = inverses(&self.field_transform);
        settings["warp"] = inverses(&self.warp);
        settings
    }

    /// Takes the field map of BIDS's fmap/ for these series, where none is given: the first that is for one of them.
    pub(crate) fn with_field_beside<'a>(mut self, series: impl Iterator<Item = &'a Path>) -> Self {
        if self.field.is_empty()
            && self.warp.is_empty()
            && !self.keep_distortion
            && let Some([field, magnitude]) = series.into_iter().find_map(beside::field_map)
        {
            (self.field, self.field_magnitude) = (field, magnitude);
        }
        self
    }
}
