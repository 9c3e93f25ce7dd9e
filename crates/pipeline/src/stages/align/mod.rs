//! The stage that lays an image on another, and brings labels along.

mod images;
mod in_run;
mod method;
mod section;

use std::path::{Path, PathBuf};

use clap::Args;
use fimbria_compute::Progress as _;
use fimbria_image::{
    Affine, Datatype, Grid, Image, ImageHeader, MapKind, WriteOptions, read_image, write_image,
};
use fimbria_registration::{
    self as registration, AlignOptions, image_onto, labels_onto, shares_onto, turn_and_shift,
};
use fimbria_workflow::with_sidecar;
use serde::Serialize;
use serde_json::{Value, json};

use self::images::Side;
pub(crate) use self::in_run::fill_in;
pub(crate) use self::method::METHOD;
use super::contents::check_labels;
use super::load::{Subject, SubjectFiles};
use super::tract::stem;
use crate::options::{Described as _, Takes};
use crate::transforms::{FslSpaces, Transform, TransformFile, itk_text, matrix_text};
use crate::{
    Choice as _, FileKind, Input, Logbook, MapFormat, OutputFolder, Page, Product, Products, Stage,
    StageError, Taken, Written,
};

/// The image that moved, without extension.
const MOVED: &str = "moved";

/// What of a transform is written.
const WHERE_FOUND: &str = "without --transform";

/// What `fimbria align` writes.
pub const ALIGN_WRITES: &[Written] = &[
    Written::image("moved", MapKind::Scalar, 1, "arbitrary", "MOVING on the grid of FIXED"),
    Written::image(
        "labels_*",
        MapKind::Code,
        0,
        "",
        "each image of --labels on that grid (or its own, moved), by its name: the label of the largest share of a voxel, \
         or the mean of shares",
    )
    .only("with --labels"),
    Written::file(
        "moving_to_fixed_itk.txt",
        FileKind::Text,
        "what brings images of MOVING onto FIXED (antsApplyTransforms -t)",
    )
    .only(WHERE_FOUND),
    Written::file("fixed_to_moving_itk.txt", FileKind::Text, "the other way")
        .only(WHERE_FOUND),
    Written::file(
        "moving_to_fixed_mrtrix.txt",
        FileKind::Text,
        "the same two for MRtrix3 (mrtransform -linear)",
    )
    .only(WHERE_FOUND),
    Written::file("fixed_to_moving_mrtrix.txt", FileKind::Text, "the other way")
        .only(WHERE_FOUND),
    Written::RECORD,
];

/// What is compared, and what comes along.
#[derive(Clone, Debug, Default, PartialEq, Args, Serialize)]
pub struct AlignSettings {
    /// Voxels of FIXED that are compared, with 8 mm around them: the brain
    #[arg(long, visible_short_alias = 'm', value_name = "FILE", takes = Takes::MASK)]
    #[arg(usually = "all")]
    pub mask: Option<PathBuf>,

    /// Labels in the space of MOVING, of FreeSurfer or SynthSeg for one, or shares of tissues (5TT): brought onto the
    /// grid of FIXED, for --act, connectome and regions
    #[arg(long, value_name = "IMAGE", takes = Takes::IMAGE)]
    pub labels: Vec<PathBuf>,

    /// Leave labels on their own grid, and move their header instead: nothing of them is lost, and --act, connectome and
    /// regions take any grid
    #[arg(long, requires = "labels")]
    pub keep_grid: bool,

    /// Compare nothing: take this way of ANTs, ITK, MRtrix3 or FSL, which brings MOVING onto FIXED. Of several the first
    /// takes points of FIXED first, as antsApplyTransforms -t; `[FILE,1]` is the inverse of a matrix
    #[arg(long, value_name = "FILE", conflicts_with = "mask", takes = Takes::TRANSFORM)]
    pub transform: Vec<TransformFile>,

    /// The way is one of FSL between these two images: of flirt -omat, or applywarp -w
    #[arg(long, requires = "transform")]
    pub fsl: bool,
}

/// Lays an image on another.
pub struct AlignImages {
    /// The image that moves: a series, or an image of which the first volume counts.
    pub moving: SubjectFiles,
    /// The one that stays; `None` for the mean unweighted volume of the [`Subject`].
    pub fixed: Option<SubjectFiles>,
    /// How.
    pub settings: AlignSettings,
    /// In which format.
    pub format: MapFormat,
}

/// Why images are not laid on each other.
#[derive(Debug, thiserror::Error)]
enum AlignError {
    #[error("{} has one value everywhere: nothing in it shows where it lies", .0.display())]
    Flat(PathBuf),
    #[error("{}: the mask has no voxel inside", .0.display())]
    Empty(PathBuf),
    #[error(
        "--keep-grid moves the header of labels, which takes a matrix, and --transform has a field"
    )]
    KeptGrid,
    #[error(
        "a way of FSL takes the file of the fixed image, which a run has not: `fimbria align --fsl` has"
    )]
    FslInRun,
    #[error("two images of labels are named {0}: files are told apart by their names")]
    Name(String),
}

/// The file of labels that come along.
fn label_file(labels: &Path, format: MapFormat) -> String {
    format!("labels_{}.{}", stem(labels), format.name())
}

/// What was made.
struct Made {
    /// Scanner mm of the moving image from scanner mm of the fixed one, where it was looked for.
    motion: Option<Affine>,
    moved: Image,
    labels: Vec<(String, Image)>,
    options: WriteOptions,
}

impl Made {
    /// What is read back of it.
    fn from_moved(moved: Image) -> Self {
        Self { motion: None, moved, labels: Vec::new(), options: WriteOptions::default() }
    }
}

impl AlignImages {
    fn moved_file(&self) -> String {
        format!("{MOVED}.{}", self.format.name())
    }

    fn label_files(&self) -> Vec<String> {
        self.settings.labels.iter().map(|path| label_file(path, self.format)).collect()
    }

    /// The way that files say.
    fn given(&self, log: &Logbook<'_>) -> Result<Transform, StageError> {
        let fsl = match (self.settings.fsl, &self.fixed) {
            (false, _) => None,
            (true, Some(fixed)) => Some(FslSpaces { moving: &self.moving.dwi, fixed: &fixed.dwi }),
            (true, None) => return Err(AlignError::FslInRun.into()),
        };
        Ok(Transform::read(&self.settings.transform, fsl, log, Page::Align)?)
    }

    fn align(&self, products: &Products, log: &Logbook<'_>) -> Result<Made, StageError> {
        let names = self.label_files();
        if let Some(at) = (1..names.len()).find(|&i| names[..i].contains(&names[i])) {
            return Err(AlignError::Name(names[at].clone()).into());
        }
        let workers = log.session().on.workers;
        let fixed = match &self.fixed {
            Some(files) => Side::read(files, log)?,
            None => Side::from_subject(products.get()?, log),
        };
        let moving = Side::read(&self.moving, log)?;
        let motion = match self.settings.transform.is_empty() {
            false => None,
            true => {
                let mask = self.settings.mask.as_deref();
                let mask = workers.install(|| fixed.compared(mask))?;
                log.start("laying an image on another", 0);
                let options = AlignOptions::default();
                let (fixed, moving) = (&fixed.image, &moving.image);
                let motion = registration::align(fixed, &mask, moving, &options, workers, log)?;
                report_motion(&motion, fixed, log);
                Some(motion)
            }
        };
        let way = motion.map_or_else(|| self.given(log), |motion| Ok(Transform::from(motion)))?;
        let grid = fixed.image.grid;
        let take = |point| way.apply(point);
        let back = match self.settings.keep_grid {
            true => Some(way.affine().and_then(|way| way.inverse()).ok_or(AlignError::KeptGrid)?),
            false => None,
        };
        log.start("resampling", 1 + self.settings.labels.len() as u64);
        let moved = workers.install(|| image_onto(&grid, &moving.image, &take));
        log.advance(1);
        let mut labels = Vec::new();
        for (path, name) in self.settings.labels.iter().zip(names) {
            labels.push((name, bring_along(path, &grid, back, &take, log)?));
            log.advance(1);
        }
        let options = WriteOptions { space_codes: fixed.space_codes, ..WriteOptions::default() };
        Ok(Made { motion, moved, labels, options })
    }
}

/// Labels on another grid, or their own with its header moved `back`.
fn bring_along(
    path: &Path,
    grid: &Grid,
    back: Option<Affine>,
    take: &(impl Fn([f64; 3]) -> Option<[f64; 3]> + Sync),
    log: &Logbook<'_>,
) -> Result<Image, StageError> {
    let workers = log.session().on.workers;
    let header = ImageHeader::read(path)?;
    let image = workers.install(|| read_image(path))?;
    if header.n_volumes() == 1 {
        check_labels(path)?;
    }
    let onto = match (back, header.n_volumes()) {
        (Some(back), _) => {
            let ras_from_vox = back.after(&image.grid.ras_from_vox);
            Image { grid: Grid { ras_from_vox, ..image.grid }, ..image }
        }
        (None, 1) => workers.install(|| labels_onto(grid, &image, take)),
        (None, _) => workers.install(|| shares_onto(grid, &image, take)),
    };
    if onto.data.iter().all(|v| *v == 0.0) {
        let message = format!(
            "{}: no label lies on the grid: do labels and MOVING lie in the same space?",
            path.display()
        );
        log.warn(Page::Align, &message);
    }
    Ok(onto)
}

/// Says how far an image was moved, and whether that can be.
fn report_motion(motion: &Affine, fixed: &Image, log: &Logbook<'_>) {
    /// Within a session heads move some mm; more is another position, or a mistake.
    const FAR: (f64, f64) = (20.0, 40.0);
    let middle = fixed.grid.dims.map(|n| 0.5 * (n as f64 - 1.0));
    let (degrees, mm) = turn_and_shift(motion, fixed.grid.ras_from_vox.apply(middle));
    log.note(&format!("moved by {mm:.2} mm in the middle of FIXED and {degrees:.2} degrees"));
    log.result("moved", json!({ "mm": mm, "degrees": degrees, "ras_from_ras": motion.0 }));
    if degrees > FAR.0 || mm > FAR.1 {
        log.warn(
            Page::Align,
            &format!(
                "the images lay {mm:.0} mm and {degrees:.0} degrees apart: look at moved on FIXED"
            ),
        );
    }
}

impl Stage for AlignImages {
    fn name(&self) -> &'static str {
        METHOD.name
    }

    fn takes(&self) -> Vec<Taken> {
        self.fixed.is_none().then(Taken::always::<Subject>).into_iter().collect()
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Made>()]
    }

    fn inputs(&self) -> Vec<Input> {
        let AlignSettings { mask, labels, transform, .. } = &self.settings;
        let mut inputs = images::inputs("moving", &self.moving);
        inputs.extend(self.fixed.iter().flat_map(|files| images::inputs("fixed", files)));
        inputs.extend(mask.iter().flat_map(|path| with_sidecar("mask", path)));
        inputs.extend(labels.iter().flat_map(|path| with_sidecar("labels", path)));
        inputs.extend(transform.iter().map(|file| ("transform".to_owned(), file.path.clone())));
        inputs
    }

    fn parameters(&self) -> Value {
        let AlignSettings { mask, labels, keep_grid, transform, fsl } = &self.settings;
        json!({
            "mask": mask.is_some(),
            "labels": labels.len(),
            "keep_grid": keep_grid,
            "transform": transform.iter().map(|file| file.is_inverse).collect::<Vec<_>>(),
            "fsl": fsl,
            "format": self.format.name(),
        })
    }

    fn outputs(&self) -> Vec<String> {
        std::iter::once(self.moved_file()).chain(self.label_files()).collect()
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let made = self.align(products, log)?;
        products.put(made);
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let Made { motion, moved, labels, options } = products.get::<Made>()?;
        let workers = log.session().on.workers;
        let keyvals: Vec<_> = log.session().header_entries().into_iter().collect();
        let mut image = |name: &str,
                         image: &Image,
                         datatype,
                         what: &str|
         -> Result<(), StageError> {
            log.check()?;
            let path = out.stage(name)?;
            let description = what.to_owned();
            let options =
                WriteOptions { datatype, description, keyvals: keyvals.clone(), ..options.clone() };
            Ok(workers.install(|| write_image(&path, image, &options))?)
        };
        image(&self.moved_file(), moved, Datatype::Float32, "laid on another by fimbria")?;
        for (name, labels) in labels {
            let whole = labels.data.iter().all(|v| v.fract() == 0.0 && *v >= 0.0);
            let datatype =
                if labels.n_volumes == 1 && whole { Datatype::UInt32 } else { Datatype::Float32 };
            image(name, labels, datatype, "labels on another grid by fimbria")?;
        }
        if let Some(motion) = motion {
            let back = motion.inverse().unwrap_or(Affine::IDENTITY);
            for (name, affine) in [("moving_to_fixed", *motion), ("fixed_to_moving", back)] {
                out.write(&format!("{name}_itk.txt"), itk_text(&affine).as_bytes())?;
                out.write(&format!("{name}_mrtrix.txt"), matrix_text(&affine).as_bytes())?;
            }
        }
        Ok(())
    }

    /// The image that moved, for the page.
    fn restore(
        &self,
        folder: &Path,
        products: &mut Products,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let path = folder.join(self.moved_file());
        products.put(Made::from_moved(log.session().on.workers.install(|| read_image(path))?));
        Ok(())
    }
}
