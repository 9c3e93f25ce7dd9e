//! Images, with their gradient tables.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fimbria_compute::Progress as _;
use fimbria_image::gradients::GradientError;
use fimbria_image::{
    BvecFrame, Copied, Datatype, GradientTable, Grid, OpenOptions, SpaceCodes, StoredImage,
    WriteOptions, copy_image, counted, files_of_image, split_image_name, write_image,
};
use fimbria_workflow::with_sidecar;
use serde_json::{Value, json};

use super::ConvertOptions;
use super::tensors::TensorConventions;
use crate::stages::contents::Claim;
use crate::stages::load::{LoadError, SubjectFiles};
use crate::{ByteSize, Input, Logbook, OutputFolder, Page, Products, Stage, StageError};

/// Writes an image in another format.
pub struct ConvertImage {
    /// The image, with its gradient table where it has one.
    pub files: SubjectFiles,
    /// As what it is written.
    pub options: ConvertOptions,
    /// What is written.
    pub to: PathBuf,
}

impl ConvertImage {
    fn convert(&self, out: &mut OutputFolder, log: &Logbook<'_>) -> Result<(), StageError> {
        let Self { files, options, to } = self;
        let ConvertOptions { datatype, tensors, .. } = *options;
        let names = Names::from_path(to);
        let workers = log.session().on.workers;
        let memory_limit = files.memory.map(ByteSize::for_samples);
        let options = OpenOptions { memory_limit, ..OpenOptions::default() };
        let stored = workers.install(|| StoredImage::open(&files.dwi, &options))?;
        let gradients = find_gradients(files, &stored, log)?;
        let turned = match tensors {
            Some(conventions) => {
                if stored.datatype().bits() > 32 {
                    log.warn(
                        Page::Troubleshooting,
                        "tensors are turned in float32: digits beyond it are lost",
                    );
                }
                let image = workers.install(|| stored.to_image())?;
                Some(workers.install(|| conventions.apply(&image))?)
            }
            None => None,
        };
        let mut options = WriteOptions {
            datatype: datatype.unwrap_or_default(),
            intent: stored.intent().clone(),
            space_codes: used_space(&stored),
            description: description(&stored, tensors),
            keyvals: stored.keyvals().to_vec(),
            ..WriteOptions::default()
        };
        if stored.has_extensions() {
            log.warn(Page::Troubleshooting, "NIfTI header extensions are not read: left out");
        }
        if !names.is_mif && !stored.keyvals().is_empty() {
            let keys: BTreeSet<_> = stored.keyvals().iter().map(|(key, _)| key.as_str()).collect();
            let keys: Vec<_> = keys.into_iter().filter(|key| *key != "comments").collect();
            if !keys.is_empty() {
                log.note(&format!("NIfTI has no place for {}: left out", keys.join(", ")));
            }
        }
        options.keyvals.extend(log.session().header_entries());
        if names.is_mif {
            options.dw_scheme = gradients.as_ref().map(GradientTable::to_dw_scheme);
        } else if let Some(gradients) = &gradients {
            write_fsl(gradients, stored.grid(), &names, out)?;
        }
        let mut paths = Vec::new();
        for name in &names.image {
            paths.push(out.stage(name)?);
        }
        match &turned {
            Some(image) => workers.install(|| write_image(&paths[0], image, &options))?,
            None => {
                let copied =
                    workers.install(|| copy_image(&paths[0], &stored, datatype, &options))?;
                tell(&copied, &stored, datatype, log);
                log.result("datatype", copied.datatype.name());
            }
        }
        Ok(())
    }
}

impl Stage for ConvertImage {
    fn name(&self) -> &'static str {
        "convert"
    }

    fn inputs(&self) -> Vec<Input> {
        let sidecar = with_sidecar("dwi", &self.files.dwi).skip(1);
        self.files.inputs().into_iter().chain(sidecar).collect()
    }

    fn parameters(&self) -> Value {
        json!({
            "datatype": self.options.datatype.map(Datatype::name),
            "tensors": self.options.tensors.map(|conventions| conventions.to_string()),
            "bvec_frame": self.files.bvec_frame,
            "b0_threshold": self.files.b0_threshold,
            "bvalue_scaling": self.files.bvalue_scaling,
        })
    }

    fn outputs(&self) -> Vec<String> {
        Names::from_path(&self.to).image
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        self.compute_into(products, None, log)
    }

    /// An image may be larger than memory: it is written as it is read.
    fn compute_into(
        &self,
        _products: &mut Products,
        out: Option<&mut OutputFolder>,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        self.convert(out.ok_or("one process converts")?, log)
    }
}

/// What the image says of itself, in words that go along into any format.
fn description(stored: &StoredImage, tensors: Option<TensorConventions>) -> String {
    match (tensors, Claim::from_header(stored)) {
        (Some(conventions), _) => conventions.description(stored.n_volumes()),
        (None, Some(claim)) if claim.place != "description" => claim.description(),
        _ => stored.description().to_owned(),
    }
}

/// The table of the image, if it has one; a table named on the command line must be there.
fn find_gradients(
    files: &SubjectFiles,
    stored: &StoredImage,
    log: &Logbook<'_>,
) -> Result<Option<GradientTable>, LoadError> {
    match files.read_gradients(stored) {
        Ok(read) => {
            for repair in read.repairs {
                log.warn(Page::Troubleshooting, &repair.to_string());
            }
            Ok(Some(read.table))
        }
        Err(LoadError::Gradients(GradientError::NotFound { .. })) => Ok(None),
        Err(LoadError::Gradients(error)) if !files.names_table() => {
            // A folder's `bvals` need not belong to every image in it.
            if stored.n_volumes() > 1 {
                log.warn(Page::Troubleshooting, &format!("no gradient table is written: {error}"));
            }
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The space that the affine in use leads to, for both affines that are written.
fn used_space(stored: &StoredImage) -> Option<SpaceCodes> {
    let SpaceCodes { qform, sform } = stored.space_codes()?;
    let used = if sform > 0 { sform } else { qform };
    (used > 0).then_some(SpaceCodes { qform: used, sform: used })
}

/// Says what of the samples did not go along.
fn tell(copied: &Copied, stored: &StoredImage, asked: Option<Datatype>, log: &Logbook<'_>) {
    let Copied { datatype, scaling, clipped, rounded } = *copied;
    let n = |count: u64| counted(count, "sample");
    if clipped > 0 {
        log.warn(
            Page::Troubleshooting,
            &format!(
                "{} cannot be held by {datatype}: the nearest number was written, 0 for NaN",
                n(clipped)
            ),
        );
    }
    // Whole numbers are labels or counts: rounding them is not what a type is chosen for, nor are
    // fractions that are lost.
    let whole = !stored.datatype().is_float() && stored.scaling().is_none();
    if rounded > 0 && (whole || asked.is_none() || !datatype.is_float()) {
        log.warn(Page::Troubleshooting, &format!("{} lost digits in {datatype}", n(rounded)));
    }
    if asked.is_none() && scaling != stored.scaling() {
        log.note(
            "the scaling of the samples is applied, in Float64: a header of NIfTI-1 would round it, and of a .mif's \
             fractions and bits MRtrix3 passes over it",
        );
    } else if asked.is_none() && datatype != stored.datatype() {
        log.note(&format!(
            "NIfTI has no samples of type {}: written as {datatype}, which holds all of them",
            stored.datatype()
        ));
    }
}

fn write_fsl(
    gradients: &GradientTable,
    grid: &Grid,
    names: &Names,
    out: &mut OutputFolder,
) -> Result<(), StageError> {
    let fsl = gradients.to_fsl(BvecFrame::Fsl, &grid.ras_from_vox);
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
    fn from_path(path: &Path) -> Self {
        let name =
            |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let image = files_of_image(path).iter().map(|file| name(file)).collect();
        let name = name(path);
        let (stem, extension) = split_image_name(&name).unwrap_or((&name, ""));
        Self { image, is_mif: extension.starts_with("mif"), stem: stem.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_has_two_files() {
        assert_eq!(Names::from_path(Path::new("a/b.img.gz")).image, ["b.hdr.gz", "b.img.gz"]);
        assert_eq!(Names::from_path(Path::new("a/b.nii.gz")).image, ["b.nii.gz"]);
        assert_eq!(Names::from_path(Path::new("a/b.nii.gz")).stem, "b");
    }
}
