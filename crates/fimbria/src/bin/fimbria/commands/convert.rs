//! `fimbria convert`

use clap::Args;
use fimbria_image::is_image_name;
use fimbria_pipeline::Writes;
use fimbria_pipeline::stages::convert::{
    CONVERT_WRITES, ConvertImage, ConvertOptions, ConvertTractogram,
};
use fimbria_pipeline::stages::load::SubjectFiles;
use fimbria_streamlines::Format;

use crate::args::{OutputArgs, TableArgs, ThreadArgs};
use crate::commands::run_on_threads;
use crate::console::Console;
use crate::failure::Failure;
use crate::memory;

/// Convert an image or a tractogram from one format to another
#[derive(Debug, Args)]
#[command(add = Writes(CONVERT_WRITES), after_long_help = HELP)]
pub(crate) struct Convert {
    #[command(flatten)]
    options: ConvertOptions,

    #[command(flatten)]
    table: TableArgs,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    threads: ThreadArgs,
}

const HELP: &str = "\
Outputs:
{outputs}
  A gradient table given, found in the header or beside the image is written as well: into the
  header of a .mif, as NAME.bval and NAME.bvec (FSL form and frame) beside a NIfTI image.
  Data per point and per streamline and groups go along where the format has them; what it does not
  have is named in a warning. Tractograms larger than memory pass through.

Units:
  Numbers keep theirs. b-values are in s/mm². Streamlines are in millimetres.

Order and frame:
  Voxels keep their place in the scanner and volumes their order (but with --tensors). Samples keep
  their type, their exact numbers and their scaling, the image its dimensions; what a chosen
  --datatype cannot hold is counted in a warning. bvecs are written in FSL's frame (voxel axes, x
  reversed where det(affine) > 0), tables in .mif headers in scanner axes. Streamlines keep their
  order and their place in the scanner (RAS); .trk rounds it to its own frame. --tensors knows, of
  D: fimbria xx xy xz yy yz zz (scanner axes), fsl the same (FSL's voxel axes), mrtrix xx yy zz xy
  xz yz (scanner), dipy xx xy yy xz yz zz (voxel). Of W: fimbria lexicographic 1111 1112 1113 1122
  ... 3333 (scanner), mrtrix as dwi2tensor -dkt writes it (scanner), dipy as DiffusionKurtosisFit.kt
  holds it (voxel).";

impl Convert {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { options, table, output, threads } = self;
        let to = output.path().clone();
        let is_tractogram = Format::from_content(&options.input).is_ok();
        // What is neither is told by reading it.
        if is_tractogram || is_image_name(&options.input) {
            options.check(is_tractogram).map_err(Failure::usage)?;
        }
        if is_tractogram {
            if table.names_a_table() {
                return Err(Failure::usage("a gradient table is for images, not for a tractogram"));
            }
            let format =
                if options.trx_folder { Format::TRX_FOLDER } else { Format::from_name(&to)? };
            let convert = ConvertTractogram { options, format, to };
            let folder = |planned: &[String]| match format.file_in_folder() {
                Some(_) => output.folder_of_any_name(planned, console),
                None => output.file(planned, console),
            };
            run_on_threads("convert", &[&convert], &folder, threads, console)?;
            return Ok(());
        }
        let mut files = SubjectFiles::new(options.input.clone());
        table.add_to(&mut files);
        files.memory = memory::allowed();
        let convert = ConvertImage { files, options, to };
        let folder = |planned: &[String]| output.file(planned, console);
        run_on_threads("convert", &[&convert], &folder, threads, console)?;
        Ok(())
    }
}
