//! A subject's files.

use std::path::PathBuf;

use clap::Args;
use fimbria_image::BvecFrame;
use fimbria_image::gradients::BScaling;
use fimbria_pipeline::stages::load::SubjectFiles;
use fimbria_pipeline::{ByteSize, Named};

use super::choice;

/// Where the gradient table is and how to read it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Gradient table")]
pub(crate) struct TableArgs {
    /// b-values in s/mm², FSL form [default: found beside the image]
    #[arg(long, visible_alias = "bvals", value_name = "FILE", requires = "bvec")]
    bval: Option<PathBuf>,

    /// Directions, FSL form [default: found beside the image]
    #[arg(long, visible_alias = "bvecs", value_name = "FILE", requires = "bval")]
    bvec: Option<PathBuf>,

    /// Gradient table in MRtrix3 form: x y z b per line, scanner axes
    #[arg(long, value_name = "FILE", conflicts_with_all = ["bval", "bvec"])]
    grad: Option<PathBuf>,

    /// b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume
    #[arg(long, value_name = "FILE", conflicts_with_all = ["bval", "bvec", "grad"])]
    bmatrix: Option<PathBuf>,

    /// Axes in which bvecs or b-matrices are given
    #[arg(long, value_name = "FRAME", default_value = "fsl")]
    #[arg(value_parser = choice::<BvecFrame>())]
    bvec_frame: Named<BvecFrame>,

    /// b up to which a volume counts as unweighted, s/mm²
    #[arg(long, value_name = "B", default_value_t = 50.0, value_parser = b_value)]
    b0_threshold: f64,

    /// What directions that are not of unit length mean
    #[arg(long, value_name = "MODE", default_value = "auto")]
    #[arg(value_parser = choice::<BScaling>())]
    bvalue_scaling: Named<BScaling>,
}

/// How much memory an image may take.
#[derive(Debug, Args)]
#[command(next_help_heading = "Machine")]
pub(crate) struct MemoryArgs {
    /// Memory for the samples of the image, such as 8G; a larger one is worked on from disk
    /// [default: no limit]
    #[arg(long, value_name = "SIZE")]
    memory: Option<ByteSize>,

    /// Folder for that [default: the system's for temporary files]
    #[arg(long, value_name = "FOLDER")]
    scratch: Option<PathBuf>,
}

/// What belongs to a diffusion series.
#[derive(Debug, Args)]
pub(crate) struct SubjectArgs {
    #[command(flatten)]
    table: TableArgs,

    /// Voxels to work on: a 3-D image on the grid of the series, inside where above zero
    /// [default: a simple brain mask from the unweighted volumes]
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    mask: Option<PathBuf>,

    /// Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and
    /// directions
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    grad_dev: Option<PathBuf>,

    #[command(flatten)]
    memory: MemoryArgs,
}

impl TableArgs {
    /// Adds the options to the files of a subject.
    pub(crate) fn add_to(self, files: &mut SubjectFiles) {
        let Self { bval, bvec, grad, bmatrix, bvec_frame, b0_threshold, bvalue_scaling } = self;
        files.bval = bval;
        files.bvec = bvec;
        files.grad = grad;
        files.bmatrix = bmatrix;
        files.bvec_frame = bvec_frame;
        files.b0_threshold = Some(b0_threshold);
        files.bvalue_scaling = bvalue_scaling;
    }
}

impl MemoryArgs {
    /// The limit, and the folder for what exceeds it.
    pub(crate) fn limits(self) -> (Option<ByteSize>, Option<PathBuf>) {
        let Self { memory, scratch } = self;
        (memory, scratch)
    }
}

impl SubjectArgs {
    /// The subject of the series `dwi`.
    pub(crate) fn files(self, dwi: PathBuf) -> SubjectFiles {
        let Self { table, mask, grad_dev, memory } = self;
        let mut files = SubjectFiles { mask, grad_dev, ..SubjectFiles::new(dwi) };
        table.add_to(&mut files);
        (files.memory, files.scratch) = memory.limits();
        files
    }
}

fn b_value(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(b) if b.is_finite() && b >= 0.0 => Ok(b),
        _ => Err("it must be a number from 0 on".to_owned()),
    }
}
