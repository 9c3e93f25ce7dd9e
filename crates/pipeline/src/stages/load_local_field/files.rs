//! The files of a local field, and what their options say.

use std::path::{Path, PathBuf};

use clap::Args;
use fimbria_image::{BvecFrame, image_called};
use serde::Serialize;

use super::unit::{FieldUnit, Said};
use crate::options::{
    Described as _, OptionError, Place, Resolve as _, Takes, choice, one_of, refuse_unused, within,
};
use crate::stages::b0::{self, B0Direction};
use crate::stages::qsm::{QsmMethod, QsmParameters};
use crate::{Choice as _, Named};

/// The files of a local field, and what is to be known of them.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct LocalFieldFiles {
    /// The local field (background removed), one volume; with --dqsm-files a deltab.bin
    #[arg(value_name = "FIELD")]
    #[arg(takes = Takes::IMAGE.unit("as --field-unit says"))]
    pub field: PathBuf,

    /// Voxels to solve for: a 3-D image on the same grid, inside where above zero
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    #[arg(usually = "all but those where the field is 0 from there to the edge of the volume")]
    #[arg(takes = Takes::MASK)]
    pub mask: Option<PathBuf>,

    /// Folder of `fimbria fit dti`: takes its FA and V1, and for --method dtv its MD and S0
    #[arg(long, value_name = "DIR", conflicts_with_all = ["v1", "fa"], help_heading = "Input")]
    #[arg(used_by("method", &QsmMethod::all(|facts| facts.can.guidance)))]
    #[arg(takes = Takes::FOLDER)]
    pub dti: Option<PathBuf>,

    /// Fibre directions, 3 volumes: V1 with --fa, else FA·V1; of several fibres (not of dqsm) 3 volumes
    /// each, as long as their fractions; without, every voxel is a sphere
    #[arg(long, value_name = "FILE", help_heading = "Input", used_by("method", &QsmMethod::all(|facts| facts.can.guidance)))]
    #[arg(takes = Takes::IMAGE.frame("as --v1-frame says"))]
    pub v1: Option<PathBuf>,

    /// Fractional anisotropy
    #[arg(long, value_name = "FILE", requires = "v1", help_heading = "Input")]
    #[arg(used_by("method", &QsmMethod::all(|facts| facts.can.guidance)))]
    #[arg(takes = Takes::IMAGE)]
    pub fa: Option<PathBuf>,

    /// Axes the fibre directions refer to
    #[arg(long, value_name = "FRAME", value_parser = choice::<BvecFrame>(), help_heading = "Input")]
    #[arg(usually = "what the image says of itself, else scanner")]
    pub v1_frame: Option<Named<BvecFrame>>,

    /// Take FA and fibre directions of another grid at the nearest voxel in the scanner
    #[arg(long, help_heading = "Input")]
    pub resample: bool,

    /// A weight for each voxel's field (its magnitude, say), 0 or more, on the same grid. Used as
    /// they stand: where they are far from 1, --kappa or --strength weighs what is penalised less or
    /// more
    #[arg(long, value_name = "FILE", help_heading = "Input", used_by("method", &QsmMethod::all(|facts| facts.can.weights)))]
    #[arg(takes = Takes::IMAGE)]
    pub weights: Option<PathBuf>,

    /// Magnitude whose edges cost nothing, on the same grid; of several echoes their root mean square
    #[arg(long, value_name = "FILE", help_heading = "Input", used_by("method", &QsmMethod::all(|facts| facts.can.magnitude)))]
    #[arg(takes = Takes::IMAGE)]
    pub magnitude: Option<PathBuf>,

    /// Voxels whose field is reliable, likewise: they are mapped once more by themselves, and the map
    /// there is taken from that
    #[arg(long, value_name = "FILE", help_heading = "Input", used_by("method", &QsmMethod::all(|facts| facts.can.passes)))]
    #[arg(takes = Takes::MASK)]
    pub two_pass: Option<PathBuf>,

    /// Compare with a map of known susceptibility, ppm, on the same grid
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    #[arg(takes = Takes::IMAGE.unit("ppm"))]
    pub truth: Option<PathBuf>,

    /// Unit of the field
    #[arg(long, value_name = "UNIT", value_parser = choice::<FieldUnit>(), help_heading = "Input")]
    #[arg(usually = "ppm, refused where the numbers are unlike it")]
    pub field_unit: Option<Named<FieldUnit>>,

    /// Sign of the field along B0 beside a paramagnetic source
    #[arg(long, value_name = "SIGN", default_value_t = 1)]
    #[arg(allow_negative_numbers = true, help_heading = "Input")]
    #[arg(number = one_of(&[1_i8, -1]))]
    pub phase_sign: i8,

    /// Strength of B0
    #[arg(long, value_name = "TESLA", number = b0::strengths(), help_heading = "Input")]
    #[arg(usually = "MagneticFieldStrength of the .json beside the field")]
    pub b0: Option<f64>,

    /// Echo time in which the field turned the phase, for --method ndi and --data phase
    #[arg(long, value_name = "MS", number = within(0.1_f64, 1000.0, "ms"), help_heading = "Input")]
    #[arg(usually = "EchoTime of the .json beside the field")]
    pub te: Option<f64>,

    /// Direction of B0.
    #[command(flatten)]
    #[serde(flatten)]
    pub b0_direction: B0Direction,

    /// FIELD, --mask and --v1 are files of the original dQSM program (deltab.bin, mask.bin,
    /// models.bin), in tesla and with B0; also writes chi.bin
    #[arg(long, conflicts_with_all = ["fa", "dti", "field_unit", "b0_dir", "resample"])]
    #[arg(help_heading = "Input")]
    pub dqsm_files: bool,
}

impl LocalFieldFiles {
    /// Whether fibre directions are given.
    pub fn has_directions(&self) -> bool {
        self.directions().is_some()
    }

    /// Whether the field, and so the map, is in no known unit.
    pub fn is_relative(&self) -> bool {
        self.field_unit == Some(Named(FieldUnit::Relative))
    }

    /// Whether options that are given have something to be about.
    ///
    /// # Errors
    /// [`OptionError::Unusable`].
    pub fn check(&self, parameters: &QsmParameters) -> Result<(), OptionError> {
        refuse_unused(self, "method", parameters.method.0.name())?;
        if self.te.is_some() && !parameters.resolve(&Place::Command).explains_phase() {
            let text = "--te is that of the phase: --method ndi and --data phase explain it";
            return Err(OptionError::Unusable(text.to_owned()));
        }
        let is_about = [
            ("v1-frame", self.v1_frame.is_some()),
            ("resample", self.resample),
            ("fa-threshold", parameters.fa_threshold.is_some()),
        ];
        match is_about.iter().find(|(_, is_given)| *is_given && self.directions().is_none()) {
            Some((option, _)) => Err(OptionError::Unusable(format!(
                "--{option} is about fibre directions: give --v1 or --dti"
            ))),
            None => Ok(()),
        }
    }

    /// The image of fibre directions.
    pub(super) fn directions(&self) -> Option<PathBuf> {
        self.dti.as_ref().map(|folder| map_in(folder, "V1")).or_else(|| self.v1.clone())
    }

    /// The image of fractional anisotropy.
    pub(super) fn anisotropy(&self) -> Option<PathBuf> {
        self.dti.as_ref().map(|folder| map_in(folder, "FA")).or_else(|| self.fa.clone())
    }

    /// The images of tissue in a folder of a tensor fit, as far as it has them.
    pub(super) fn tissue(&self) -> impl Iterator<Item = PathBuf> {
        let found = |name: &str| self.dti.as_ref().and_then(|dir| image_called(&dir.join(name)));
        ["MD", "S0"].map(found).into_iter().flatten()
    }

    /// The unit of the field's numbers, and who says so.
    pub(super) fn unit(&self) -> (FieldUnit, Said) {
        match self.field_unit {
            _ if self.dqsm_files => (FieldUnit::Tesla, Said::ByFormat),
            Some(unit) => (unit.0, Said::ByUser),
            None => (FieldUnit::default(), Said::Nowhere),
        }
    }

    /// The axes of the fibre directions.
    pub(super) fn v1_frame(&self) -> BvecFrame {
        let usual = if self.dqsm_files { BvecFrame::Voxel } else { BvecFrame::Scanner };
        self.v1_frame.map_or(usual, |frame| frame.0)
    }
}

/// The map `name` in a folder of `fimbria fit`, in the format it has there.
fn map_in(folder: &Path, name: &str) -> PathBuf {
    image_called(&folder.join(name)).unwrap_or_else(|| folder.join(format!("{name}.nii.gz")))
}
