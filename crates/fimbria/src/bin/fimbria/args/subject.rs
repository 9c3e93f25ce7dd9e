//! A subject's files.

use std::path::PathBuf;

use clap::Args;
use fimbria_image::BvecFrame;
use fimbria_image::gradients::BScaling;
use fimbria_pipeline::options::{Described as _, Takes, at_least};
use fimbria_pipeline::stages::load::SubjectFiles;
use fimbria_pipeline::{ByteSize, Named};

use super::choice;
use crate::failure::Failure;
use crate::memory;

/// Where the gradient table is and how to read it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Gradient table")]
pub(crate) struct TableArgs {
    /// b-values in s/mm², FSL form
    #[arg(long, visible_alias = "bvals", visible_short_alias = 'b')]
    #[arg(value_name = "FILE", requires = "bvec")]
    #[arg(usually = "found beside the image")]
    #[arg(takes = Takes::gradients("s/mm²", ""))]
    bval: Option<PathBuf>,

    /// Directions, FSL form
    #[arg(long, visible_alias = "bvecs", visible_short_alias = 'r')]
    #[arg(value_name = "FILE", requires = "bval")]
    #[arg(usually = "found beside the image")]
    #[arg(takes = Takes::gradients("", "as --bvec-frame says"))]
    bvec: Option<PathBuf>,

    #[command(flatten)]
    other: OtherTableArgs,
}

/// The same of one series or several.
#[derive(Debug, Args)]
#[command(next_help_heading = "Gradient table")]
pub(crate) struct TablesArgs {
    /// b-values in s/mm², FSL form; of several series once for each, in their order
    #[arg(long, visible_alias = "bvals", visible_short_alias = 'b')]
    #[arg(value_name = "FILE", requires = "bvec")]
    #[arg(usually = "found beside the image")]
    #[arg(takes = Takes::gradients("s/mm²", ""))]
    bval: Vec<PathBuf>,

    /// Directions, FSL form; likewise
    #[arg(long, visible_alias = "bvecs", visible_short_alias = 'r')]
    #[arg(value_name = "FILE", requires = "bval")]
    #[arg(usually = "found beside the image")]
    #[arg(takes = Takes::gradients("", "as --bvec-frame says"))]
    bvec: Vec<PathBuf>,

    #[command(flatten)]
    other: OtherTableArgs,
}

/// Gradient tables that are no bvals and bvecs by name, and how any is read.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Gradient table")]
struct OtherTableArgs {
    /// Directions and b-values, FSL form, in MRtrix3's order
    #[arg(long, value_names = ["BVECS", "BVALS"], num_args = 2)]
    #[arg(conflicts_with_all = ["bval", "bvec", "grad", "bmatrix"])]
    #[arg(takes = Takes::gradients("s/mm²", "as --bvec-frame says"))]
    fslgrad: Option<Vec<PathBuf>>,

    /// Gradient table in MRtrix3 form: x y z b per line, scanner axes
    #[arg(long, value_name = "FILE", conflicts_with_all = ["bval", "bvec"])]
    #[arg(takes = Takes::gradients("s/mm²", "scanner RAS"))]
    grad: Option<PathBuf>,

    /// b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume
    #[arg(long, value_name = "FILE", conflicts_with_all = ["bval", "bvec", "grad"])]
    #[arg(takes = Takes::gradients("s/mm²", "as --bvec-frame says"))]
    bmatrix: Option<PathBuf>,

    /// Axes in which bvecs or b-matrices are given
    #[arg(long, value_name = "FRAME", default_value = "fsl")]
    #[arg(value_parser = choice::<BvecFrame>())]
    bvec_frame: Named<BvecFrame>,

    /// b up to which a volume counts as unweighted
    #[arg(long, value_name = "B", default_value_t = 50.0)]
    #[arg(number = at_least(0.0, "s/mm²"))]
    b0_threshold: f64,

    /// What directions that are not of unit length mean
    #[arg(long, value_name = "MODE", default_value = "auto")]
    #[arg(value_parser = choice::<BScaling>())]
    bvalue_scaling: Named<BScaling>,
}

/// Where images are that exceed their share of the memory.
#[derive(Debug, Args)]
#[command(next_help_heading = "Machine")]
pub(crate) struct ScratchArgs {
    /// Folder for compressed images that exceed their share of --memory
    #[arg(long, value_name = "FOLDER")]
    #[arg(usually = "the system's for temporary files")]
    #[arg(takes = Takes::FOLDER)]
    scratch: Option<PathBuf>,
}

/// What belongs to a diffusion series.
#[derive(Debug, Args)]
pub(crate) struct SubjectArgs {
    #[command(flatten)]
    table: TableArgs,

    /// Voxels to work on: a 3-D image on the grid of the series, inside where above zero
    #[arg(long, visible_short_alias = 'm', value_name = "FILE", help_heading = "Input")]
    #[arg(usually = "one made of the series, as `fimbria mask` makes it")]
    #[arg(takes = Takes::MASK)]
    mask: Option<PathBuf>,

    /// Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and
    /// directions; for `fit dti` and `sticks`, other methods refuse it
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    #[arg(takes = Takes::IMAGE)]
    grad_dev: Option<PathBuf>,

    #[command(flatten)]
    scratch: ScratchArgs,
}

impl TableArgs {
    /// True where files of a gradient table are given.
    pub(crate) fn names_a_table(&self) -> bool {
        self.bval.is_some() || self.bvec.is_some() || self.other.names_a_table()
    }

    /// Adds the options to the files of a subject.
    pub(crate) fn add_to(self, files: &mut SubjectFiles) {
        let Self { bval, bvec, other } = self;
        (files.bval, files.bvec) = (bval, bvec);
        other.add_to(files);
    }
}

impl TablesArgs {
    /// Adds the options to the files of each series.
    pub(crate) fn add_to(self, series: &mut [SubjectFiles]) -> Result<(), Failure> {
        let Self { bval, bvec, other } = self;
        let n = series.len();
        let is_for_each = |files: &[PathBuf]| files.is_empty() || files.len() == n;
        if !is_for_each(&bval) || !is_for_each(&bvec) || bval.len() != bvec.len() {
            let given = format!("{} --bval and {} --bvec for {n} series", bval.len(), bvec.len());
            return Err(Failure::usage(format!("{given}: give one of each for each series")));
        }
        if n > 1 && other.names_a_table() {
            return Err(Failure::usage(
                "--grad, --bmatrix and --fslgrad are the table of one series: of several give --bval and --bvec once for \
                 each, or put each table beside its series",
            ));
        }
        let mut pairs = bval.into_iter().zip(bvec);
        for files in series {
            (files.bval, files.bvec) = pairs.next().unzip();
            other.clone().add_to(files);
        }
        Ok(())
    }
}

impl OtherTableArgs {
    fn names_a_table(&self) -> bool {
        self.fslgrad.is_some() || self.grad.is_some() || self.bmatrix.is_some()
    }

    fn add_to(self, files: &mut SubjectFiles) {
        let Self { fslgrad, grad, bmatrix, bvec_frame, b0_threshold, bvalue_scaling } = self;
        let mut pair = fslgrad.into_iter().flatten();
        files.bvec = files.bvec.take().or_else(|| pair.next());
        files.bval = files.bval.take().or_else(|| pair.next());
        files.grad = grad;
        files.bmatrix = bmatrix;
        files.bvec_frame = bvec_frame;
        files.b0_threshold = Some(b0_threshold);
        files.bvalue_scaling = bvalue_scaling;
    }
}

impl ScratchArgs {
    /// The memory that the program may take, and the folder for what exceeds its share.
    pub(crate) fn limits(self) -> (Option<ByteSize>, Option<PathBuf>) {
        let Self { scratch } = self;
        (memory::allowed(), scratch)
    }
}

impl SubjectArgs {
    /// The subject of the series `dwi`.
    pub(crate) fn files(self, dwi: PathBuf) -> SubjectFiles {
        let Self { table, mask, grad_dev, scratch } = self;
        let mut files = SubjectFiles { mask, grad_dev, ..SubjectFiles::new(dwi) };
        table.add_to(&mut files);
        (files.memory, files.scratch) = scratch.limits();
        files
    }
}
