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

    #[command(flatten)]
    reading: TableReading,
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

    /// Directions and b-values, FSL form, in MRtrix3's order; likewise
    #[arg(long, value_names = ["BVECS", "BVALS"], num_args = 2)]
    #[arg(conflicts_with_all = ["bval", "bvec", "grad", "bmatrix"])]
    #[arg(takes = Takes::gradients("s/mm²", "as --bvec-frame says"))]
    fslgrad: Vec<PathBuf>,

    /// Gradient table in MRtrix3 form: x y z b per line, scanner axes; likewise
    #[arg(long, value_name = "FILE", conflicts_with_all = ["bval", "bvec"])]
    #[arg(takes = Takes::gradients("s/mm²", "scanner RAS"))]
    grad: Vec<PathBuf>,

    /// b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume; likewise
    #[arg(long, value_name = "FILE", conflicts_with_all = ["bval", "bvec", "grad"])]
    #[arg(takes = Takes::gradients("s/mm²", "as --bvec-frame says"))]
    bmatrix: Vec<PathBuf>,

    #[command(flatten)]
    reading: TableReading,
}

/// How a gradient table is read.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Gradient table")]
struct TableReading {
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
        let Self { bval, bvec, fslgrad, grad, bmatrix, .. } = self;
        fslgrad.is_some() || [bval, bvec, grad, bmatrix].into_iter().any(Option::is_some)
    }

    /// Adds the options to the files of a subject.
    pub(crate) fn add_to(self, files: &mut SubjectFiles) {
        let Self { bval, bvec, fslgrad, grad, bmatrix, reading } = self;
        let mut pair = fslgrad.into_iter().flatten();
        files.bvec = bvec.or_else(|| pair.next());
        files.bval = bval.or_else(|| pair.next());
        (files.grad, files.bmatrix) = (grad, bmatrix);
        reading.add_to(files);
    }
}

impl TablesArgs {
    /// Adds the options to the files of each series.
    pub(crate) fn add_to(self, series: &mut [SubjectFiles]) -> Result<(), Failure> {
        let Self { mut bval, mut bvec, fslgrad, grad, bmatrix, reading } = self;
        for pair in fslgrad.chunks_exact(2) {
            bvec.push(pair[0].clone());
            bval.push(pair[1].clone());
        }
        let n = series.len();
        for (option, files) in
            [("bval", &bval), ("bvec", &bvec), ("grad", &grad), ("bmatrix", &bmatrix)]
        {
            let given = files.len();
            if given > 0 && given != n {
                return Err(Failure::usage(format!(
                    "{given} --{option} for {n} series: give one for each, in their order"
                )));
            }
        }
        let [mut bval, mut bvec, mut grad, mut bmatrix] =
            [bval, bvec, grad, bmatrix].map(Vec::into_iter);
        for files in series {
            (files.bval, files.bvec) = (bval.next(), bvec.next());
            (files.grad, files.bmatrix) = (grad.next(), bmatrix.next());
            reading.clone().add_to(files);
        }
        Ok(())
    }
}

impl TableReading {
    fn add_to(self, files: &mut SubjectFiles) {
        let Self { bvec_frame, b0_threshold, bvalue_scaling } = self;
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
