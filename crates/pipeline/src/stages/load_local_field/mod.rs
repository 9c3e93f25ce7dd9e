//! The stage that reads what a susceptibility map is made from.

mod directions;
mod error;
mod files;
mod unit;

use std::path::{Path, PathBuf};

use fimbria_compute::Progress as _;
use fimbria_image::{BvecFrame, Grid, GridMismatch, Image, Mask, counted, read_image, read_mask};
use fimbria_qsm::{Geometry, Shape, dqsm_files};
use fimbria_workflow::with_sidecar;
use serde_json::{Value, json};

use self::directions::expect_triples;
pub(super) use self::directions::guidance_of;
pub use self::error::LocalFieldError;
pub use self::files::LocalFieldFiles;
pub use self::unit::FieldUnit;
use self::unit::check_numbers;
pub(super) use self::unit::factor_of_relative;
use crate::stages::b0::{self, B0Direction};
use crate::stages::contents::check_directions_in_memory;
use crate::stages::local_field::LocalField;
use crate::stages::magnitude::root_mean_square;
use crate::stages::outside::with_field;
use crate::stages::sidecar::said_of;
use crate::{Choice as _, Input, Logbook, Page, Product, Products, Stage, StageError};

/// The images of a [`LocalField`], each on a grid of its own.
pub struct FieldImages {
    /// The field as stored.
    pub field: Image,
    /// The voxels to solve for.
    pub mask: Option<Mask>,
    /// Fibre directions, and the axes that they are said to be in.
    pub v1: Option<(Image, Option<BvecFrame>)>,
    /// Fractional anisotropy.
    pub fa: Option<Image>,
    /// Further images that tell tissues apart: MD and S0.
    pub tissue: Vec<Image>,
    /// Weights of the data.
    pub weights: Option<Image>,
    /// Magnitude of one echo or more.
    pub magnitude: Option<Image>,
    /// The voxels whose field is reliable.
    pub reliable: Option<Mask>,
    /// A map to compare with.
    pub truth: Option<Image>,
}

impl LocalFieldFiles {
    /// Reads them.
    ///
    /// # Errors
    /// [`LocalFieldError`].
    pub fn read(
        &self,
        fa_threshold: f64,
        log: &Logbook<'_>,
    ) -> Result<LocalField, LocalFieldError> {
        let workers = log.session().on.workers;
        workers.install(|| self.load(fa_threshold, log))
    }

    /// What is said beside the field. What a sidecar that cannot be read says is needed by nobody whose
    /// options and numbers are enough.
    fn said(&self, log: &Logbook<'_>) -> Option<Value> {
        said_of(&self.field).unwrap_or_else(|error| {
            log.warn(Page::Susceptibility, &format!("{error}: what it says is not used"));
            None
        })
    }

    fn load(&self, fa_threshold: f64, log: &Logbook<'_>) -> Result<LocalField, LocalFieldError> {
        let (field, b0_tesla, direction) = self.field()?;
        let beside = if self.dqsm_files { None } else { self.said(log) };
        if beside.as_ref().is_some_and(|beside| beside["Units"] == "rad")
            && self.field_unit.is_none()
        {
            return Err(LocalFieldError::SaidRelative(self.field.clone()));
        }
        let number = |key: &str| beside.as_ref().and_then(|beside| beside[key].as_f64());
        let b0_tesla = b0_tesla.or_else(|| number("MagneticFieldStrength"));
        let echo_time_s = self.te.map(|ms| 1e-3 * ms).or_else(|| number("EchoTime"));
        let geometry = direction.geometry(&self.field, &field.grid)?;
        let images = FieldImages {
            mask: self.mask(&field.grid)?,
            v1: self.vectors(&field.grid)?,
            fa: self.anisotropy().map(read_image).transpose()?,
            tissue: self.tissue().map(read_image).collect::<Result<_, _>>()?,
            weights: self.weights.as_ref().map(read_image).transpose()?,
            magnitude: self.magnitude.as_ref().map(read_image).transpose()?,
            reliable: self
                .two_pass
                .as_ref()
                .map(|path| read_mask(path, &field.grid))
                .transpose()?,
            truth: self.truth.as_ref().map(read_image).transpose()?,
            field,
        };
        self.local_field(images, geometry, (b0_tesla, echo_time_s), fa_threshold, log)
    }

    /// The same of images in memory; the paths are what messages call them.
    ///
    /// # Errors
    /// [`LocalFieldError`].
    pub fn of_images(
        &self,
        images: FieldImages,
        fa_threshold: f64,
        log: &Logbook<'_>,
    ) -> Result<LocalField, LocalFieldError> {
        self.expect_volumes(&self.field, &images.field, 1)?;
        if let (Some(path), Some((v1, _))) = (self.directions(), &images.v1) {
            expect_triples(&path, v1)?;
            check_directions_in_memory(&path, v1)?;
        }
        let geometry = self.b0_direction.on_grid(&images.field.grid)?;
        let workers = log.session().on.workers;
        let of_phase = (self.b0, self.te.map(|ms| 1e-3 * ms));
        workers.install(|| self.local_field(images, geometry, of_phase, fa_threshold, log))
    }

    fn local_field(
        &self,
        images: FieldImages,
        geometry: Geometry,
        (b0_tesla, echo_time_s): (Option<f64>, Option<f64>),
        fa_threshold: f64,
        log: &Logbook<'_>,
    ) -> Result<LocalField, LocalFieldError> {
        let FieldImages { field, mask, v1, fa, tissue, weights, magnitude, reliable, truth } =
            images;
        let grid = field.grid;
        let (unit, said) = self.unit();
        let strength = strength_for(unit, b0_tesla)?;
        let mask = inside(mask, &field, log)?;
        let sign = f64::from(self.phase_sign);
        check_numbers(&field, &mask, (unit, said), unit.ppm(strength) * sign, log)?;
        let relative = (unit == FieldUnit::Relative).then(|| factor_of_relative(&field, &mask));
        let factor = relative.unwrap_or(unit.ppm(strength)) * sign;
        let field_ppm = field.data.iter().map(|b| (f64::from(*b) * factor) as f32).collect();
        let reliable = reliable.map(|reliable| within(reliable, &mask)).transpose()?;
        let is_guided = v1.is_some();
        let (shapes, guidance) = self.shapes(v1, fa, tissue, &mask, fa_threshold, log)?;
        let weights = self.on_grid(self.weights.as_deref(), weights, &grid, "the weights")?;
        let magnitude = magnitude.map(|image| {
            grid.check_same(&image.grid, "the magnitude")?;
            Ok::<_, GridMismatch>(root_mean_square(&image))
        });
        let magnitude = magnitude.transpose()?;
        let truth_ppm = self.on_grid(self.truth.as_deref(), truth, &grid, "the truth")?;
        if let Some(truth) = &truth_ppm {
            check_truth(truth, &mask, log)?;
        }
        let cylinders = shapes.iter().filter(|shape| **shape != Shape::Sphere).count();
        log.count("unknowns", mask.len() as u64);
        log.count("cylinders", cylinders as u64);
        if cylinders == 0 && is_guided {
            log.warn(
                Page::Susceptibility,
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
            relative,
            mask,
            shapes,
            guidance,
            weights,
            magnitude,
            reliable,
            truth_ppm,
            b0_tesla,
            echo_time_s,
        })
    }

    /// The field as stored, B0 and its direction.
    fn field(&self) -> Result<(Image, Option<f64>, B0Direction), LocalFieldError> {
        let mut direction = self.b0_direction.clone();
        if self.dqsm_files {
            let file = dqsm_files::read_delta_b(&self.field)?;
            let b0 = self.b0.unwrap_or(file.b0_tesla);
            if (b0 - file.b0_tesla).abs() > 0.05 * file.b0_tesla {
                return Err(LocalFieldError::OtherB0 { given: b0, stored: file.b0_tesla });
            }
            direction.b0_dir_vox.get_or_insert_with(|| file.b0_vox.to_vec());
            return Ok((file.field, Some(b0), direction));
        }
        let field = read_image(&self.field)?;
        self.expect_volumes(&self.field, &field, 1)?;
        Ok((field, self.b0, direction))
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

    fn mask(&self, grid: &Grid) -> Result<Option<Mask>, LocalFieldError> {
        Ok(match &self.mask {
            None => None,
            Some(path) if self.dqsm_files => Some(dqsm_files::read_mask(path, grid)?),
            Some(path) => Some(read_mask(path, grid)?),
        })
    }

    fn on_grid(
        &self,
        path: Option<&Path>,
        image: Option<Image>,
        grid: &Grid,
        what: &str,
    ) -> Result<Option<Vec<f32>>, LocalFieldError> {
        let Some(image) = image else { return Ok(None) };
        self.expect_volumes(path.unwrap_or(Path::new(what)), &image, 1)?;
        grid.check_same(&image.grid, what)?;
        Ok(Some(image.data))
    }
}

/// The strength of B0 that numbers in `unit` are turned into ppm with; 1 T where it does not matter.
fn strength_for(unit: FieldUnit, b0_tesla: Option<f64>) -> Result<f64, LocalFieldError> {
    Ok(match (unit, b0_tesla) {
        (FieldUnit::Ppm | FieldUnit::Relative, b0) => b0::strength(b0.unwrap_or(1.0))?,
        (_, Some(b0)) => b0::strength(b0)?,
        (unit, None) => return Err(LocalFieldError::NeedsB0 { unit: unit.name() }),
    })
}

/// The voxels of `reliable` that are in `mask` too.
fn within(mut reliable: Mask, mask: &Mask) -> Result<Mask, LocalFieldError> {
    reliable.voxels.retain(|v| mask.voxels.binary_search(v).is_ok());
    if reliable.is_empty() { Err(LocalFieldError::NoneReliable) } else { Ok(reliable) }
}

/// Refuses a truth that nothing can be compared with, and warns of one with holes.
fn check_truth(truth: &[f32], mask: &Mask, log: &Logbook<'_>) -> Result<(), LocalFieldError> {
    let inside: Vec<f32> = mask.voxels.iter().map(|&v| truth[v as usize]).collect();
    if inside.iter().all(|value| !value.is_finite() || *value == inside[0]) {
        return Err(LocalFieldError::Truth);
    }
    let holes = inside.iter().filter(|value| !value.is_finite()).count();
    if holes > 0 {
        let holes = counted(holes, "voxel");
        let text =
            format!("the truth is not finite in {holes} of the mask: nothing can be compared");
        log.warn(Page::Susceptibility, &text);
    }
    Ok(())
}

/// The voxels to solve for: those given, or all that have a field.
fn inside(given: Option<Mask>, field: &Image, log: &Logbook<'_>) -> Result<Mask, LocalFieldError> {
    let mask = given.unwrap_or_else(|| {
        let mask = with_field(field);
        let (inside, left_out) = (mask.len(), field.grid.len() - mask.len());
        log.count("voxels_left_out", left_out as u64);
        log.note(&format!(
            "no mask: solved for {}; left out, where the field is 0 up to the edge of the volume: \
             {left_out}",
            counted(inside, "voxel")
        ));
        mask
    });
    if mask.is_empty() { Err(LocalFieldError::Empty) } else { Ok(mask) }
}

/// Reads a [`LocalField`].
pub struct LoadLocalField {
    /// Of what.
    pub files: LocalFieldFiles,
    /// FA above which a voxel has a fibre.
    pub fa_threshold: f64,
}

impl Stage for LoadLocalField {
    fn name(&self) -> &'static str {
        "load"
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<LocalField>()]
    }

    fn inputs(&self) -> Vec<Input> {
        let files = &self.files;
        let given = [
            ("field", Some(files.field.clone())),
            ("mask", files.mask.clone()),
            ("v1", files.directions()),
            ("fa", files.anisotropy()),
            ("weights", files.weights.clone()),
            ("magnitude", files.magnitude.clone()),
            ("two-pass", files.two_pass.clone()),
            ("truth", files.truth.clone()),
        ];
        let given = given.into_iter().filter_map(|(role, path)| Some((role, path?)));
        let given = given.chain(files.tissue().map(|path| ("tissue", path)));
        // Directions may say beside them what their axes are.
        let beside = |(role, path): (&str, PathBuf)| with_sidecar(role, &path).collect::<Vec<_>>();
        given.flat_map(beside).collect()
    }

    fn parameters(&self) -> Value {
        let files = &self.files;
        // With directions there are axes that they refer to; where B0 is of the scanner's axes, too.
        let guides = files.directions().is_some();
        let in_scanner = files.b0_direction.vox().is_none() && !files.dqsm_files;
        json!({
            "field_unit": files.unit().0.name(),
            "phase_sign": files.phase_sign,
            "b0": files.b0,
            "te": files.te,
            "b0_dir": in_scanner.then(|| files.b0_direction.ras()),
            "b0_dir_vox": files.b0_direction.vox(),
            "v1_frame": guides.then(|| files.v1_frame().name()),
            "fa_threshold": guides.then_some(self.fa_threshold),
            "resample": files.resample,
            "dqsm_files": files.dqsm_files,
        })
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        products.put(self.files.read(self.fa_threshold, log)?);
        Ok(())
    }
}
