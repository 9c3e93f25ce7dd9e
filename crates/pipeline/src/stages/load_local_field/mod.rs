//! The stage that reads what a susceptibility map is made from.

mod outside;
mod unit;

use std::path::{Path, PathBuf};

use fimbria_compute::Progress as _;
use fimbria_image::frames::turn_vectors;
use fimbria_image::{
    BvecFrame, Grid, GridMismatch, Image, ImageError, ImageHeader, Mask, counted, read_image,
    read_mask,
};
use fimbria_qsm::dqsm_files::{self, DqsmFileError};
use fimbria_qsm::{Geometry, QsmError, Shape, shapes_of};
use serde_json::{Value, json};

pub use self::unit::FieldUnit;
use self::unit::{Said, check_numbers};
use crate::hashing::with_sidecar;
use crate::stages::b0::{self, B0Error};
use crate::stages::contents::{ContentsError, check_directions};
use crate::{Choice as _, Input, Logbook, Named, Products, Stage, StageError};

/// The field maps' files and what is to be known of them.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalFieldFiles {
    /// The local field, one volume.
    pub field: PathBuf,
    /// The voxels to solve for; `None` for all but those whose field is 0 up to the volume's edge.
    pub mask: Option<PathBuf>,
    /// Fibre directions: V1, or FA·V1 where `fa` is not given.
    pub v1: Option<PathBuf>,
    /// Fractional anisotropy.
    pub fa: Option<PathBuf>,
    /// The axes of the fibre directions; `None` for scanner axes.
    pub v1_frame: Option<Named<BvecFrame>>,
    /// Takes fibre directions on another grid at the nearest voxel in the scanner.
    pub resample: bool,
    /// FA above which a voxel has a fibre.
    pub fa_threshold: f64,
    /// A weight for each voxel's field.
    pub weights: Option<PathBuf>,
    /// A map to compare with, ppm.
    pub truth: Option<PathBuf>,
    /// A mask whose mean is to be zero.
    pub reference: Option<PathBuf>,
    /// What the field's numbers are; `None` for ppm, where they can be that.
    pub unit: Option<Named<FieldUnit>>,
    /// True where a paramagnetic source lowers the numbers along B0.
    pub negative: bool,
    /// B0 in tesla.
    pub b0_tesla: Option<f64>,
    /// Its direction in scanner axes; `None` for z.
    pub b0_ras: Option<[f64; 3]>,
    /// Its direction in voxel axes, in place of the other.
    pub b0_vox: Option<[f64; 3]>,
    /// The field, the mask and the directions are files of the original dQSM program.
    pub dqsm_files: bool,
}

/// Why there is nothing to invert.
#[derive(Debug, thiserror::Error)]
pub enum LocalFieldError {
    /// A reference region that touches nothing.
    #[error("no voxel of the reference region (--reference) lies inside the mask")]
    Reference,
    /// An image cannot be read.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// A file of the dQSM program cannot be read.
    #[error(transparent)]
    Dqsm(#[from] DqsmFileError),
    /// An image is on another grid.
    #[error(transparent)]
    Grid(#[from] GridMismatch),
    /// An image holds something else than it is read as.
    #[error(transparent)]
    Contents(#[from] ContentsError),
    /// B0 is unusable.
    #[error(transparent)]
    B0(#[from] B0Error),
    /// The field or the directions are unusable.
    #[error(transparent)]
    Qsm(#[from] QsmError),
    /// An image has too many volumes.
    #[error("{} has {found} volumes where {expected} are needed", path.display())]
    Volumes {
        /// The image.
        path: PathBuf,
        /// What it has.
        found: usize,
        /// What it should have.
        expected: usize,
    },
    /// A conversion needs the field strength.
    #[error("a field in {unit} needs the strength of B0 in tesla")]
    NeedsB0 {
        /// The unit's name.
        unit: &'static str,
    },
    /// Numbers that cannot be a local field in ppm.
    #[error(
        "half of the field's voxels are beyond ±{median:.3} {unit}, which is {ppm:.3} ppm; a local \
         field is a fraction of 1 ppm: is the unit right, and is it a field rather than a phase?"
    )]
    TooStrong {
        /// Median magnitude as stored.
        median: f64,
        /// The unit's name.
        unit: &'static str,
        /// The same in ppm.
        ppm: f64,
    },
    /// Numbers that are ppm only if the user says so.
    #[error(
        "half of the field's voxels are beyond ±{median:.2}; a brain's local field in ppm is some \
         0.01: say what it is with --field-unit (ppm, where it is a strong one, or hz, rad/s, tesla \
         with --b0), or remove the background first"
    )]
    Unsaid {
        /// Median magnitude as stored.
        median: f64,
    },
    /// Numbers of another unit that were ppm already.
    #[error(
        "19 of 20 of the field's voxels are within ±{strong:.1e} {unit}, which is {ppm:.1e} ppm, \
         less than noise: is the field in ppm already (--field-unit ppm)?"
    )]
    RatherPpm {
        /// Magnitude of the strong ones as stored.
        strong: f64,
        /// The unit's name.
        unit: &'static str,
        /// The same in ppm.
        ppm: f64,
    },
    /// Numbers far below any noise.
    #[error(
        "the field is {rms:.1e} {unit} (root mean square), which is {ppm:.1e} ppm; noise alone is \
         above 1e-5 ppm: is the unit right (--field-unit)?"
    )]
    TooWeak {
        /// Root mean square as stored.
        rms: f64,
        /// The unit's name.
        unit: &'static str,
        /// The same in ppm.
        ppm: f64,
    },
    /// A field strength that the file contradicts.
    #[error("--b0 is {given} tesla, but the file of the field says {stored}: leave it out")]
    OtherB0 {
        /// As told.
        given: f64,
        /// As stored.
        stored: f64,
    },
    /// A truth that is none.
    #[error("the truth has no number, or the same one, in every voxel of the mask")]
    Truth,
    /// Nothing is inside.
    #[error("no voxel to solve for: the mask (or the field) is zero everywhere")]
    Empty,
}

/// A field and everything that its inversion depends on.
pub struct LocalField {
    /// The grid.
    pub grid: Grid,
    /// Voxels and B0.
    pub geometry: Geometry,
    /// In ppm, every voxel of the grid.
    pub field_ppm: Vec<f32>,
    /// The voxels to solve for.
    pub mask: Mask,
    /// The shape of each.
    pub shapes: Vec<Shape>,
    /// The weight of every voxel of the grid.
    pub weights: Option<Vec<f32>>,
    /// A map to compare with, ppm, every voxel of the grid.
    pub truth_ppm: Option<Vec<f32>>,
    /// Voxels whose mean is to be zero.
    pub reference: Option<Mask>,
    /// B0 in tesla, where it is known.
    pub b0_tesla: Option<f64>,
}

impl LocalFieldFiles {
    /// Reads them.
    ///
    /// # Errors
    /// [`LocalFieldError`].
    pub fn read(&self, log: &Logbook<'_>) -> Result<LocalField, LocalFieldError> {
        let workers = log.session().on.workers;
        workers.install(|| self.load(log))
    }

    fn load(&self, log: &Logbook<'_>) -> Result<LocalField, LocalFieldError> {
        let (field, b0_tesla, b0_vox) = self.field()?;
        let grid = field.grid;
        let geometry = b0::geometry(&self.field, &grid, b0_vox, self.b0_ras)?;
        let (unit, said) = self.unit();
        let strength = match (unit, b0_tesla) {
            (FieldUnit::Ppm, b0) => b0::strength(b0.unwrap_or(1.0))?,
            (_, Some(b0)) => b0::strength(b0)?,
            (unit, None) => return Err(LocalFieldError::NeedsB0 { unit: unit.name() }),
        };
        let mask = self.mask(&field, log)?;
        let factor = unit.ppm(strength) * if self.negative { -1.0 } else { 1.0 };
        check_numbers(&field, &mask, (unit, said), factor, log)?;
        let field_ppm = field.data.iter().map(|b| (f64::from(*b) * factor) as f32).collect();
        let shapes = self.shapes(&mask, log)?;
        let weights = self.on_grid(self.weights.as_deref(), &grid, "the weights")?;
        let truth_ppm = self.on_grid(self.truth.as_deref(), &grid, "the truth")?;
        if let Some(truth) = &truth_ppm {
            let inside: Vec<f32> = mask.voxels.iter().map(|&v| truth[v as usize]).collect();
            if inside.iter().all(|value| !value.is_finite() || *value == inside[0]) {
                return Err(LocalFieldError::Truth);
            }
            let count = inside.iter().filter(|value| !value.is_finite()).count();
            if count > 0 {
                log.warn(&format!(
                    "the truth is not finite in {} of the mask: nothing can be compared",
                    counted(count, "voxel")
                ));
            }
        }
        let mut reference =
            self.reference.as_ref().map(|path| read_mask(path, &grid)).transpose()?;
        if let Some(reference) = &mut reference {
            // Elsewhere the map is 0, which is no susceptibility.
            reference.voxels.retain(|voxel| mask.voxels.binary_search(voxel).is_ok());
            if reference.voxels.is_empty() {
                return Err(LocalFieldError::Reference);
            }
        }
        let cylinders = shapes.iter().filter(|shape| **shape != Shape::Sphere).count();
        log.count("unknowns", mask.len() as u64);
        log.count("cylinders", cylinders as u64);
        if cylinders == 0 && self.v1.is_some() {
            log.warn(
                "the directions make no cylinder: they are zero, below --fa-threshold or elsewhere \
                 than the mask, and guide nothing",
            );
        }
        // What files say is in effect as well.
        if let Some(b0_tesla) = b0_tesla {
            log.result("b0_tesla", b0_tesla);
        }
        log.result("b0_dir_vox", geometry.b0.to_vec());
        Ok(LocalField {
            grid,
            geometry,
            field_ppm,
            mask,
            shapes,
            weights,
            truth_ppm,
            reference,
            b0_tesla,
        })
    }

    /// The field as stored, B0 and its direction in voxel axes where one is given so.
    #[allow(clippy::type_complexity, reason = "taken apart at once")]
    fn field(&self) -> Result<(Image, Option<f64>, Option<[f64; 3]>), LocalFieldError> {
        if self.dqsm_files {
            let file = dqsm_files::read_delta_b(&self.field)?;
            let b0 = self.b0_tesla.unwrap_or(file.b0_tesla);
            if (b0 - file.b0_tesla).abs() > 0.05 * file.b0_tesla {
                return Err(LocalFieldError::OtherB0 { given: b0, stored: file.b0_tesla });
            }
            return Ok((file.field, Some(b0), Some(self.b0_vox.unwrap_or(file.b0_vox))));
        }
        let field = read_image(&self.field)?;
        self.expect_volumes(&self.field, &field, 1)?;
        Ok((field, self.b0_tesla, self.b0_vox))
    }

    /// The unit of the field's numbers, and who says so.
    fn unit(&self) -> (FieldUnit, Said) {
        match self.unit {
            _ if self.dqsm_files => (FieldUnit::Tesla, Said::ByFormat),
            Some(unit) => (unit.0, Said::ByUser),
            None => (FieldUnit::default(), Said::Nowhere),
        }
    }

    /// The axes of the fibre directions.
    fn v1_frame(&self) -> BvecFrame {
        let usual = if self.dqsm_files { BvecFrame::Voxel } else { BvecFrame::Scanner };
        self.v1_frame.map_or(usual, |frame| frame.0)
    }

    fn expect_volumes(
        &self,
        path: &Path,
        image: &Image,
        expected: usize,
    ) -> Result<(), LocalFieldError> {
        if image.n_volumes == expected {
            return Ok(());
        }
        Err(LocalFieldError::Volumes { path: path.to_owned(), found: image.n_volumes, expected })
    }

    fn mask(&self, field: &Image, log: &Logbook<'_>) -> Result<Mask, LocalFieldError> {
        let mask = match &self.mask {
            None => {
                let mask = outside::with_field(field);
                let (inside, left_out) = (mask.len(), field.grid.len() - mask.len());
                log.count("voxels_left_out", left_out as u64);
                log.note(&format!(
                    "no mask: solved for {}; left out, where the field is 0 up to the edge of the \
                     volume: {left_out}",
                    counted(inside, "voxel")
                ));
                mask
            }
            Some(path) if self.dqsm_files => dqsm_files::read_mask(path, &field.grid)?,
            Some(path) => read_mask(path, &field.grid)?,
        };
        if mask.is_empty() {
            return Err(LocalFieldError::Empty);
        }
        Ok(mask)
    }

    /// The shape of each voxel of the mask; all spheres where no directions are given.
    fn shapes(&self, mask: &Mask, log: &Logbook<'_>) -> Result<Vec<Shape>, LocalFieldError> {
        let Some(v1) = &self.v1 else {
            log.note("no fibre directions: every voxel is a sphere");
            return Ok(vec![Shape::Sphere; mask.len()]);
        };
        let (mut vectors, said) = if self.dqsm_files {
            (dqsm_files::read_models(v1, &mask.grid)?, None)
        } else {
            let image = read_image(v1)?;
            self.expect_volumes(v1, &image, 3)?;
            let claim = check_directions(&ImageHeader::read(v1)?, &image)?;
            (image, claim)
        };
        self.expect_volumes(v1, &vectors, 3)?;
        let frame = match (self.v1_frame, said.and_then(|claim| claim.frame)) {
            (None, Some(said)) => said,
            _ => self.v1_frame(),
        };
        log.result("v1_frame", frame.name());
        if frame != BvecFrame::Scanner {
            let turn = frame.ras_from_frame(&vectors.grid.ras_from_vox);
            turn_vectors(&mut vectors, &turn);
        }
        let mut fa = self.fa.as_ref().map(read_image).transpose()?;
        if let (Some(path), Some(fa)) = (&self.fa, &fa) {
            self.expect_volumes(path, fa, 1)?;
        }
        if self.resample {
            vectors = vectors.at_nearest_voxels(&mask.grid);
            fa = fa.map(|fa| fa.at_nearest_voxels(&mask.grid));
        }
        Ok(shapes_of(&vectors, fa.as_ref(), mask, self.fa_threshold)?)
    }

    fn on_grid(
        &self,
        path: Option<&Path>,
        grid: &Grid,
        what: &str,
    ) -> Result<Option<Vec<f32>>, LocalFieldError> {
        let Some(path) = path else { return Ok(None) };
        let image = read_image(path)?;
        self.expect_volumes(path, &image, 1)?;
        grid.check_same(&image.grid, what)?;
        Ok(Some(image.data))
    }
}

/// Reads a [`LocalField`].
pub struct LoadLocalField(pub LocalFieldFiles);

impl Stage for LoadLocalField {
    fn name(&self) -> &'static str {
        "load"
    }

    fn inputs(&self) -> Vec<Input> {
        let files = &self.0;
        let given = [
            ("field", Some(&files.field)),
            ("mask", files.mask.as_ref()),
            ("v1", files.v1.as_ref()),
            ("fa", files.fa.as_ref()),
            ("weights", files.weights.as_ref()),
            ("truth", files.truth.as_ref()),
            ("reference", files.reference.as_ref()),
        ];
        let given = given.into_iter().filter_map(|(role, path)| Some((role, path?)));
        // Directions may say beside them what their axes are.
        let beside = |(role, path): (&str, &PathBuf)| with_sidecar(role, path).collect::<Vec<_>>();
        given.flat_map(beside).collect()
    }

    fn parameters(&self) -> Value {
        let files = &self.0;
        // With directions there are axes that they refer to; where B0 is of the scanner's axes, too.
        let guides = files.v1.is_some();
        let in_scanner = files.b0_vox.is_none() && !files.dqsm_files;
        json!({
            "field_unit": files.unit().0.name(),
            "phase_sign": if files.negative { -1 } else { 1 },
            "b0_tesla": files.b0_tesla,
            "b0_dir": in_scanner.then(|| files.b0_ras.unwrap_or([0.0, 0.0, 1.0])),
            "b0_dir_vox": files.b0_vox,
            "v1_frame": guides.then(|| files.v1_frame().name()),
            "fa_threshold": guides.then_some(files.fa_threshold),
            "resample": files.resample,
            "dqsm_files": files.dqsm_files,
        })
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        products.put(self.0.read(log)?);
        Ok(())
    }
}
