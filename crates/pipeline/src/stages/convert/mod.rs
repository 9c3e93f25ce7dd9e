//! The stages that bring images and tractograms from one format to another.

mod image;
mod tensors;
mod tractogram;

use fimbria_image::MapKind;
use std::path::PathBuf;

use clap::Args;
use fimbria_image::Datatype;

pub use image::ConvertImage;
pub use tensors::TensorConventions;
pub use tractogram::ConvertTractogram;

use crate::options::{Described as _, FileType, OptionError, Takes};
use crate::{FileKind, Written};

/// What `fimbria convert` writes.
pub const CONVERT_WRITES: &[Written] = &[
    Written::image(
        "OUT",
        MapKind::Scalar,
        0,
        "",
        "the image, in the format of its name: .nii, .hdr, .img, .mif, each also with \
         .gz",
    )
    .only("of an image"),
    Written::file("OUT.bval", FileKind::Table, "b of every volume")
        .only("of an image with a gradient table, beside all but .mif"),
    Written::file("OUT.bvec", FileKind::Table, "its direction")
        .only("of an image with a gradient table, beside all but .mif"),
    Written::file("OUT", FileKind::Tractogram, "the tractogram: .tck, .trk, .trx")
        .only("of streamlines"),
    Written::RECORD_BESIDE,
];

/// What is read, and as what it is written.
#[derive(Clone, Debug, Args)]
pub struct ConvertOptions {
    /// Image to read (.nii, .hdr/.img or .mif, each also with .gz), or tractogram (.tck, .trk,
    /// .trx, or a TRX folder)
    #[arg(takes = Takes::any_of(&[FileType::Image, FileType::Tractogram, FileType::Json]))]
    pub input: PathBuf,

    /// Type of the samples written: int8 to uint64, float32, float64; bit and float16 for .mif.
    /// Of a tractogram's coordinates: float32; float64 for .tck and .trx, float16 for .trx
    #[arg(long, value_name = "TYPE", help_heading = "Output")]
    #[arg(
        usually = "as stored, scaling included; where the format has no such type, the next that \
                     holds all of it"
    )]
    pub datatype: Option<Datatype>,

    /// Bring tensors from one program's order and frame to another's, such as dipy:mrtrix; of
    /// fimbria, fsl, mrtrix, dipy. A map of 6 volumes is of diffusion tensors, one of 15 of kurtosis
    #[arg(long, value_name = "FROM:TO", help_heading = "Output")]
    pub tensors: Option<TensorConventions>,

    /// Image whose grid .trk and .trx name
    #[arg(long, value_name = "IMAGE", help_heading = "Tractogram")]
    #[arg(usually = "the one that the input names")]
    #[arg(takes = Takes::IMAGE)]
    pub reference: Option<PathBuf>,

    /// Write TRX as a folder OUT instead of a file
    #[arg(long, help_heading = "Tractogram")]
    pub trx_folder: bool,
}

impl ConvertOptions {
    /// Refuses options that only images, or only tractograms, have.
    ///
    /// # Errors
    /// [`OptionError::Unusable`].
    pub fn check(&self, is_tractogram: bool) -> Result<(), OptionError> {
        let unused = match is_tractogram {
            true => self.tensors.map(|_| "--tensors is for images, not for a tractogram"),
            false if self.reference.is_some() => {
                Some("--reference is for tractograms, not for an image")
            }
            false => self.trx_folder.then_some("--trx-folder is for tractograms, not for an image"),
        };
        unused.map_or(Ok(()), |said| Err(OptionError::Unusable(said.to_owned())))
    }
}
