//! Images, with their gradient tables.

use std::path::{Path, PathBuf};

use fimbria_compute::Backend;
use fimbria_image::gradients::GradientError;
use fimbria_image::{
    BvecFrame, Datatype, GradientTable, Image, OpenOptions, StoredImage, WriteOptions, write_image,
};
use fimbria_pipeline::stages::load::{LoadError, SubjectFiles};
use fimbria_pipeline::{Hashing, Logbook, OutputFolder};
use serde_json::json;

use super::tensors::TensorConventions;
use crate::args::{OutputArgs, TableArgs, ThreadArgs};
use crate::commands::{command_line, session};
use crate::console::Console;
use crate::failure::Failure;

/// An image to convert.
pub(super) struct Job {
    pub(super) input: PathBuf,
    pub(super) datatype: Option<Datatype>,
    pub(super) tensors: Option<TensorConventions>,
    pub(super) table: TableArgs,
    pub(super) output: OutputArgs,
    pub(super) threads: ThreadArgs,
}

impl Job {
    pub(super) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { input: path, datatype, tensors, table, output, threads } = self;
        let names = Names::of(output.path());
        let mut out = output.file(&names.image, console)?;
        let workers = threads.start()?;
        let command_line = command_line();
        let log = Logbook::new(session(Backend::cpu(&workers), console, &command_line));

        let mut files = SubjectFiles::new(&path);
        table.add_to(&mut files);
        let hashing = Hashing::start(files.inputs());
        let stored = workers.install(|| StoredImage::open(&path, &OpenOptions::default()))?;
        let gradients = find_gradients(&files, &stored, &log)?;
        let datatype = datatype.unwrap_or(natural_datatype(&stored));
        let mut image = log.stage("read", || workers.install(|| stored.to_image()))?;
        if let Some(conventions) = tensors {
            image = conventions.apply(&image).map_err(Failure::usage)?;
        }
        let mut options = WriteOptions {
            datatype,
            intent: stored.intent().clone(),
            description: stored.description().to_owned(),
            keyvals: stored.keyvals().to_vec(),
            ..WriteOptions::default()
        };
        options.keyvals.extend(log.session().header_entries());
        if names.is_mif {
            options.dw_scheme = gradients.as_ref().map(GradientTable::to_dw_scheme);
        } else if let Some(gradients) = &gradients {
            write_fsl(gradients, &image, &names, &mut out)?;
        }
        log.stage("write", || {
            let mut paths = Vec::new();
            for name in &names.image {
                paths.push(out.stage(name)?);
            }
            workers.install(|| write_image(&paths[0], &image, &options))?;
            Ok::<_, Failure>(())
        })?;
        let tensors = tensors.map(|conventions| conventions.to_string());
        let parameters = json!({ "datatype": datatype.name(), "tensors": tensors });
        out.commit(log.record("convert", hashing.finish()?, parameters))?;
        Ok(())
    }
}

/// The table of the image, if it has one; a table named on the command line must be there.
fn find_gradients(
    files: &SubjectFiles,
    stored: &StoredImage,
    log: &Logbook<'_>,
) -> Result<Option<GradientTable>, LoadError> {
    use fimbria_compute::Progress as _;
    match files.read_gradients(stored) {
        Ok(read) => {
            for repair in read.repairs {
                log.warn(&repair.to_string());
            }
            Ok(Some(read.table))
        }
        Err(LoadError::Gradients(GradientError::NotFound { .. })) => Ok(None),
        // A folder's `bvals` need not belong to every image in it.
        Err(LoadError::Gradients(_)) if stored.n_volumes() == 1 => Ok(None),
        Err(error) => Err(error),
    }
}

/// The type that loses nothing.
fn natural_datatype(stored: &StoredImage) -> Datatype {
    if stored.scaling().is_none() { stored.datatype() } else { Datatype::Float32 }
}

fn write_fsl(
    gradients: &GradientTable,
    image: &Image,
    names: &Names,
    out: &mut OutputFolder,
) -> Result<(), Failure> {
    let fsl = gradients.to_fsl(BvecFrame::Fsl, &image.grid.ras_from_vox);
    out.write(&format!("{}.bval", names.stem), fsl.bvals.as_bytes())?;
    out.write(&format!("{}.bvec", names.stem), fsl.bvecs.as_bytes())?;
    Ok(())
}

/// The names of the files an image is written to.
struct Names {
    /// The image, which may come as a pair.
    image: Vec<String>,
    /// Without the extension.
    stem: String,
    is_mif: bool,
}

impl Names {
    fn of(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (plain, gz) = match name.strip_suffix(".gz") {
            Some(plain) => (plain, ".gz"),
            None => (&*name, ""),
        };
        let (stem, extension) = plain.rsplit_once('.').unwrap_or((plain, ""));
        let image = match extension {
            "hdr" | "img" => vec![format!("{stem}.hdr{gz}"), format!("{stem}.img{gz}")],
            _ => vec![name.clone()],
        };
        Self { image, stem: stem.to_owned(), is_mif: extension == "mif" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_has_two_files() {
        assert_eq!(Names::of(Path::new("a/b.img.gz")).image, ["b.hdr.gz", "b.img.gz"]);
        assert_eq!(Names::of(Path::new("a/b.nii.gz")).image, ["b.nii.gz"]);
        assert_eq!(Names::of(Path::new("a/b.nii.gz")).stem, "b");
    }
}
