//! `fimbria convert`

use std::path::PathBuf;

use clap::Args;
use fimbria_image::Datatype;
use fimbria_pipeline::stages::convert::{ConvertImage, ConvertTractogram, TensorConventions};
use fimbria_pipeline::stages::load::SubjectFiles;
use fimbria_streamlines::Format;

use crate::args::{OutputArgs, TableArgs, ThreadArgs};
use crate::commands::run_on_threads;
use crate::console::Console;
use crate::failure::Failure;
use crate::memory;

/// Convert an image or a tractogram from one format to another
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Convert {
    /// Image to read (.nii, .hdr/.img or .mif, each also with .gz), or tractogram (.tck, .trk,
    /// .trx, or a TRX folder)
    input: PathBuf,

    /// Type of the samples written: int8 to uint64, float32, float64; bit and float16 for .mif.
    /// Of a tractogram's coordinates: float32; float64 for .tck and .trx, float16 for .trx
    /// [default: as stored, scaling included; where the format has no such type, the next that
    /// holds all of it]
    #[arg(long, value_name = "TYPE", help_heading = "Output")]
    datatype: Option<Datatype>,

    /// Bring tensors from one program's order and frame to another's, such as dipy:mrtrix; of
    /// fimbria, fsl, mrtrix, dipy. A map of 6 volumes is of diffusion tensors, one of 15 of kurtosis
    #[arg(long, value_name = "FROM:TO", help_heading = "Output")]
    tensors: Option<TensorConventions>,

    #[command(flatten)]
    tractogram: TractogramArgs,

    #[command(flatten)]
    table: TableArgs,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    threads: ThreadArgs,
}

/// What only tractograms have.
#[derive(Debug, Args)]
#[command(next_help_heading = "Tractogram")]
struct TractogramArgs {
    /// Image whose grid .trk and .trx name [default: the one that the input names]
    #[arg(long, value_name = "IMAGE")]
    reference: Option<PathBuf>,

    /// Write TRX as a folder OUT instead of a file
    #[arg(long)]
    trx_folder: bool,
}

const HELP: &str = "\
Outputs:
  OUT           the image, in the format of its name: .nii, .hdr, .img, .mif, each also with .gz;
                or the tractogram: .tck, .trk, .trx
  OUT.run.json  what was done
  A gradient table given, found in the header or beside the image is written as well: into the
  header of a .mif, as NAME.bval and NAME.bvec (FSL form and frame) beside a NIfTI image.
  Data per point and per streamline and groups go along where the format has them; what it does not
  have is named in a warning. Tractograms larger than memory pass through.

Units:
  Numbers keep theirs. b-values are in s/mm². Streamlines are in millimetres.

Order and frame:
  Voxels keep their place in the scanner and volumes their order (but with --tensors). Samples keep
  their type, their exact numbers and their scaling, the image its dimensions; what a chosen --datatype
  cannot hold is counted in a warning. bvecs are written in FSL's frame (voxel axes, x
  reversed where det(affine) > 0), tables in .mif headers in scanner axes. Streamlines keep their
  order and their place in the scanner (RAS); .trk rounds it to its own frame.
  --tensors knows, of D: fimbria xx xy xz yy yz zz (scanner axes), fsl the same (FSL's voxel axes),
  mrtrix xx yy zz xy xz yz (scanner), dipy xx xy yy xz yz zz (voxel). Of W: fimbria lexicographic
  1111 1112 1113 1122 ... 3333 (scanner), mrtrix as dwi2tensor -dkt writes it (scanner), dipy as
  DiffusionKurtosisFit.kt holds it (voxel).";

impl Convert {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { input, datatype, tensors, tractogram, table, output, threads } = self;
        let to = output.path().clone();
        if Format::of_content(&input).is_ok() {
            if tensors.is_some() {
                return Err(Failure::usage("--tensors is for images, not for a tractogram"));
            }
            let TractogramArgs { reference, trx_folder } = tractogram;
            let format = if trx_folder { Format::TRX_FOLDER } else { Format::of_name(&to)? };
            let convert = ConvertTractogram { input, datatype, reference, format, to };
            let folder = |planned: &[String]| match format.file_in_folder() {
                Some(_) => output.folder_of_any_name(planned, console),
                None => output.file(planned, console),
            };
            run_on_threads("convert", &convert, &folder, threads, console)?;
            return Ok(());
        }
        let mut files = SubjectFiles::new(input);
        table.add_to(&mut files);
        files.memory = memory::allowed();
        let convert = ConvertImage { files, datatype, tensors, to };
        let folder = |planned: &[String]| output.file(planned, console);
        run_on_threads("convert", &convert, &folder, threads, console)?;
        Ok(())
    }
}
