//! The stage that reads what a susceptibility map is made from.

mod unit;

use std::path::{Path, PathBuf};

use clap::Args;
use fimbria_compute::Progress as _;
use fimbria_image::frames::turn_vectors;
use fimbria_image::{
    BvecFrame, Grid, GridMismatch, Image, ImageError, ImageHeader, Mask, counted, image_called,
    read_image, read_mask,
};
use fimbria_qsm::dqsm_files::{self, DqsmFileError};
use fimbria_qsm::variation::Guidance;
use fimbria_qsm::{Geometry, QsmError, Shape, shapes_of, whole_length};
use serde::Serialize;
use serde_json::{Value, json};

pub use self::unit::FieldUnit;
pub(super) use self::unit::factor_of_relative;
use self::unit::{Said, check_numbers};
use crate::hashing::with_sidecar;
use crate::options::{
    Described as _, OptionError, Place, Resolve as _, Takes, choice, one_of, refuse_unused, within,
};
use crate::stages::b0::{self, B0Direction, B0Error};
use crate::stages::contents::{ContentsError, check_directions, check_directions_in_memory};
use crate::stages::local_field::LocalField;
use crate::stages::magnitude::root_mean_square;
use crate::stages::outside::with_field;
use crate::stages::qsm::{QsmMethod, QsmParameters};
use crate::stages::sidecar::said_of;
use crate::{Choice as _, Input, Logbook, Named, Page, Product, Products, Stage, StageError};

/// The files of a local field, and what is to be known of them.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct LocalFieldFiles {
    /// The local field (background removed), one volume; with --dqsm-files a deltab.bin
    #[arg(value_name = "FIELD")]
    #[arg(takes = Takes::IMAGE.unit("as --field-unit says"))]
    pub field: PathBuf,

    /// Voxels to solve for: a 3-D image on the same grid, inside where above zero
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    #[arg(usually = "all but those where the field is 0 from there to the edge of the volume")]
    #[arg(takes = Takes::MASK)]
    pub mask: Option<PathBuf>,

    /// Folder of `fimbria fit dti`: takes its FA and V1, and for --method dtv its MD and S0
    #[arg(long, value_name = "DIR", conflicts_with_all = ["v1", "fa"], help_heading = "Input")]
    #[arg(used_by("method", &QsmMethod::all(|facts| facts.can.guidance)))]
    #[arg(takes = Takes::FOLDER)]
    pub dti: Option<PathBuf>,

    /// Fibre directions, 3 volumes: V1 with --fa, else FA·V1; of several fibres (not of dqsm) 3 volumes
    /// each, as long as their fractions; without, every voxel is a sphere
    #[arg(long, value_name = "FILE", help_heading = "Input", used_by("method", &QsmMethod::all(|facts| facts.can.guidance)))]
    #[arg(takes = Takes::IMAGE.frame("as --v1-frame says"))]
    pub v1: Option<PathBuf>,

    /// Fractional anisotropy
    #[arg(long, value_name = "FILE", requires = "v1", help_heading = "Input")]
    #[arg(used_by("method", &QsmMethod::all(|facts| facts.can.guidance)))]
    #[arg(takes = Takes::IMAGE)]
    pub fa: Option<PathBuf>,

    /// Axes the fibre directions refer to
    #[arg(long, value_name = "FRAME", value_parser = choice::<BvecFrame>(), help_heading = "Input")]
    #[arg(usually = "what the image says of itself, else scanner")]
    pub v1_frame: Option<Named<BvecFrame>>,

    /// Take FA and fibre directions of another grid at the nearest voxel in the scanner
    #[arg(long, help_heading = "Input")]
    pub resample: bool,

    /// A weight for each voxel's field (its magnitude, say), 0 or more, on the same grid. Used as
    /// they stand: where they are far from 1, --kappa or --strength weighs what is penalised less or
    /// more
    #[arg(long, value_name = "FILE", help_heading = "Input", used_by("method", &QsmMethod::all(|facts| facts.can.weights)))]
    #[arg(takes = Takes::IMAGE)]
    pub weights: Option<PathBuf>,

    /// Magnitude whose edges cost nothing, on the same grid; of several echoes their root mean square
    #[arg(long, value_name = "FILE", help_heading = "Input", used_by("method", &QsmMethod::all(|facts| facts.can.magnitude)))]
    #[arg(takes = Takes::IMAGE)]
    pub magnitude: Option<PathBuf>,

    /// Voxels whose field is reliable, likewise: they are mapped once more by themselves, and the map
    /// there is taken from that
    #[arg(long, value_name = "FILE", help_heading = "Input", used_by("method", &QsmMethod::all(|facts| facts.can.passes)))]
    #[arg(takes = Takes::MASK)]
    pub two_pass: Option<PathBuf>,

    /// Compare with a map of known susceptibility, ppm, on the same grid
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    #[arg(takes = Takes::IMAGE.unit("ppm"))]
    pub truth: Option<PathBuf>,

    /// Unit of the field
    #[arg(long, value_name = "UNIT", value_parser = choice::<FieldUnit>(), help_heading = "Input")]
    #[arg(usually = "ppm, refused where the numbers are unlike it")]
    pub field_unit: Option<Named<FieldUnit>>,

    /// Sign of the field along B0 beside a paramagnetic source
    #[arg(long, value_name = "SIGN", default_value_t = 1)]
    #[arg(allow_negative_numbers = true, help_heading = "Input")]
    #[arg(number = one_of(&[1_i8, -1]))]
    pub phase_sign: i8,

    /// Strength of B0
    #[arg(long, value_name = "TESLA", number = b0::strengths(), help_heading = "Input")]
    #[arg(usually = "MagneticFieldStrength of the .json beside the field")]
    pub b0: Option<f64>,

    /// Echo time in which the field turned the phase, for --method ndi and --data phase
    #[arg(long, value_name = "MS", number = within(0.1_f64, 1000.0, "ms"), help_heading = "Input")]
    #[arg(usually = "EchoTime of the .json beside the field")]
    pub te: Option<f64>,

    /// Direction of B0.
    #[command(flatten)]
    #[serde(flatten)]
    pub b0_direction: B0Direction,

    /// FIELD, --mask and --v1 are files of the original dQSM program (deltab.bin, mask.bin,
    /// models.bin), in tesla and with B0; also writes chi.bin
    #[arg(long, conflicts_with_all = ["fa", "dti", "field_unit", "b0_dir", "resample"])]
    #[arg(help_heading = "Input")]
    pub dqsm_files: bool,
}

/// Why there is nothing to invert.
#[derive(Debug, thiserror::Error)]
pub enum LocalFieldError {
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
    #[error(
        "{} has {}; it must have {}", path.display(), counted(*found, "volume"),
        counted(*expected, "volume")
    )]
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
    /// Single numbers that are no field.
    #[error(
        "the field is beyond ±{most} ppm in {} of the mask, {worst:e} in the worst: leave them out of \
         the mask", counted(*count, "voxel")
    )]
    Beyond {
        /// How many.
        count: usize,
        /// The largest magnitude that a field has, ppm.
        most: f64,
        /// The worst number as stored.
        worst: f32,
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
    /// A relative field that is taken for one in ppm.
    #[error("{} is in radians, says its sidecar: --field-unit relative", .0.display())]
    SaidRelative(PathBuf),
    /// No voxel is reliable.
    #[error("no voxel of --two-pass lies inside the mask")]
    NoneReliable,
    /// Nothing is inside.
    #[error("no voxel to solve for: the mask (or the field) is zero everywhere")]
    Empty,
}

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

    /// Whether fibre directions are given.
    pub fn has_directions(&self) -> bool {
        self.directions().is_some()
    }

    /// Whether the field, and so the map, is in no known unit.
    pub fn is_relative(&self) -> bool {
        self.field_unit == Some(Named(FieldUnit::Relative))
    }

    /// Whether options that are given have something to be about.
    ///
    /// # Errors
    /// [`OptionError::Unusable`].
    pub fn check(&self, parameters: &QsmParameters) -> Result<(), OptionError> {
        refuse_unused(self, "method", parameters.method.0.name())?;
        if self.te.is_some() && !parameters.resolve(&Place::Command).explains_phase() {
            let text = "--te is that of the phase: --method ndi and --data phase explain it";
            return Err(OptionError::Unusable(text.to_owned()));
        }
        let is_about = [
            ("v1-frame", self.v1_frame.is_some()),
            ("resample", self.resample),
            ("fa-threshold", parameters.fa_threshold.is_some()),
        ];
        match is_about.iter().find(|(_, is_given)| *is_given && self.directions().is_none()) {
            Some((option, _)) => Err(OptionError::Unusable(format!(
                "--{option} is about fibre directions: give --v1 or --dti"
            ))),
            None => Ok(()),
        }
    }

    /// The image of fibre directions.
    fn directions(&self) -> Option<PathBuf> {
        self.dti.as_ref().map(|folder| map_in(folder, "V1")).or_else(|| self.v1.clone())
    }

    /// The image of fractional anisotropy.
    fn anisotropy(&self) -> Option<PathBuf> {
        self.dti.as_ref().map(|folder| map_in(folder, "FA")).or_else(|| self.fa.clone())
    }

    /// The images of tissue in a folder of a tensor fit, as far as it has them.
    fn tissue(&self) -> impl Iterator<Item = PathBuf> {
        let found = |name: &str| self.dti.as_ref().and_then(|dir| image_called(&dir.join(name)));
        ["MD", "S0"].map(found).into_iter().flatten()
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
        let strength = match (unit, b0_tesla) {
            (FieldUnit::Ppm | FieldUnit::Relative, b0) => b0::strength(b0.unwrap_or(1.0))?,
            (_, Some(b0)) => b0::strength(b0)?,
            (unit, None) => return Err(LocalFieldError::NeedsB0 { unit: unit.name() }),
        };
        let mask = inside(mask, &field, log)?;
        let sign = f64::from(self.phase_sign);
        check_numbers(&field, &mask, (unit, said), unit.ppm(strength) * sign, log)?;
        let relative = (unit == FieldUnit::Relative).then(|| factor_of_relative(&field, &mask));
        let factor = relative.unwrap_or(unit.ppm(strength)) * sign;
        let field_ppm = field.data.iter().map(|b| (f64::from(*b) * factor) as f32).collect();
        let reliable = reliable.map(|mut reliable| {
            reliable.voxels.retain(|v| mask.voxels.binary_search(v).is_ok());
            if reliable.is_empty() { Err(LocalFieldError::NoneReliable) } else { Ok(reliable) }
        });
        let reliable = reliable.transpose()?;
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
            let inside: Vec<f32> = mask.voxels.iter().map(|&v| truth[v as usize]).collect();
            if inside.iter().all(|value| !value.is_finite() || *value == inside[0]) {
                return Err(LocalFieldError::Truth);
            }
            let count = inside.iter().filter(|value| !value.is_finite()).count();
            if count > 0 {
                log.warn(
                    Page::Susceptibility,
                    &format!(
                        "the truth is not finite in {} of the mask: nothing can be compared",
                        counted(count, "voxel")
                    ),
                );
            }
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

    /// The unit of the field's numbers, and who says so.
    fn unit(&self) -> (FieldUnit, Said) {
        match self.field_unit {
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

    fn mask(&self, grid: &Grid) -> Result<Option<Mask>, LocalFieldError> {
        Ok(match &self.mask {
            None => None,
            Some(path) if self.dqsm_files => Some(dqsm_files::read_mask(path, grid)?),
            Some(path) => Some(read_mask(path, grid)?),
        })
    }

    /// Fibre directions, and the axes that their file says they are in.
    fn vectors(&self, grid: &Grid) -> Result<Option<(Image, Option<BvecFrame>)>, LocalFieldError> {
        let Some(v1) = &self.directions() else { return Ok(None) };
        if self.dqsm_files {
            return Ok(Some((dqsm_files::read_models(v1, grid)?, None)));
        }
        let image = read_image(v1)?;
        expect_triples(v1, &image)?;
        let claim = check_directions(&ImageHeader::read(v1)?, &image)?;
        Ok(Some((image, claim.and_then(|claim| claim.frame))))
    }

    /// The shape of each voxel of the mask, all spheres where no directions are given; and what else is
    /// known of it.
    fn shapes(
        &self,
        v1: Option<(Image, Option<BvecFrame>)>,
        mut fa: Option<Image>,
        mut tissue: Vec<Image>,
        mask: &Mask,
        fa_threshold: f64,
        log: &Logbook<'_>,
    ) -> Result<(Vec<Shape>, Option<Guidance>), LocalFieldError> {
        let Some((mut vectors, said)) = v1 else {
            log.note("no fibre directions: every voxel is a sphere");
            return Ok((vec![Shape::Sphere; mask.len()], None));
        };
        if let Some(path) = self.directions() {
            expect_triples(&path, &vectors)?;
        }
        let frame = match (self.v1_frame, said) {
            (None, Some(said)) => said,
            _ => self.v1_frame(),
        };
        log.result("v1_frame", frame.name());
        if frame != BvecFrame::Scanner {
            let turn = frame.ras_from_frame(&vectors.grid.ras_from_vox);
            turn_vectors(&mut vectors, &turn);
        }
        if let (Some(path), Some(fa)) = (self.anisotropy(), &fa) {
            self.expect_volumes(&path, fa, 1)?;
        }
        if self.resample {
            vectors = vectors.at_nearest_voxels(&mask.grid);
            fa = fa.map(|fa| fa.at_nearest_voxels(&mask.grid));
            tissue.iter_mut().for_each(|image| *image = image.at_nearest_voxels(&mask.grid));
        }
        tissue.iter().try_for_each(|image| mask.grid.check_same(&image.grid, "MD or S0"))?;
        if fa.is_none() && vectors.n_volumes == 3 && nearly_all_are_units(&vectors, mask) {
            log.warn(
                Page::Susceptibility,
                "the fibre directions have length 1 nearly everywhere, which is taken for FA = 1: is --fa \
                 missing?",
            );
        }
        let shapes = shapes_of(&vectors, fa.as_ref(), mask, fa_threshold)?;
        Ok((shapes, Some(guidance_of(&vectors, fa.as_ref(), &tissue, mask))))
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

/// Directions have three volumes each.
fn expect_triples(path: &Path, image: &Image) -> Result<(), LocalFieldError> {
    if image.n_volumes > 0 && image.n_volumes.is_multiple_of(3) {
        return Ok(());
    }
    Err(LocalFieldError::Volumes { path: path.to_owned(), found: image.n_volumes, expected: 3 })
}

/// What is known of every voxel of `mask`, on whose grid all images are: FA, or the vectors' length, and
/// the images of tissue.
pub(super) fn guidance_of(
    vectors: &Image,
    fa: Option<&Image>,
    tissue: &[Image],
    mask: &Mask,
) -> Guidance {
    let pick = |value: &dyn Fn(usize) -> f32| -> Vec<f32> {
        mask.voxels.iter().map(|&v| value(v as usize)).collect()
    };
    let length = |voxel: usize| whole_length(vectors, voxel) as f32;
    let fa = match fa {
        Some(fa) => pick(&|voxel| fa.data[voxel]),
        None => pick(&length),
    };
    let images = tissue.iter().map(|image| pick(&|voxel| image.data[voxel])).collect();
    Guidance { fa, images }
}

/// Whether 19 of 20 of the vectors of a mask that have a direction are of length 1, as those of V1 are and
/// hardly any of FA·V1.
fn nearly_all_are_units(vectors: &Image, mask: &Mask) -> bool {
    let lengths = mask.voxels.iter().map(|&voxel| whole_length(vectors, voxel as usize));
    let (mut units, mut all) = (0, 0);
    for length in lengths.filter(|length| *length > 0.0) {
        all += 1;
        units += usize::from((length - 1.0).abs() < 1e-3);
    }
    all > 0 && 20 * units >= 19 * all
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

/// The map `name` in a folder of `fimbria fit`, in the format it has there.
fn map_in(folder: &Path, name: &str) -> PathBuf {
    image_called(&folder.join(name)).unwrap_or_else(|| folder.join(format!("{name}.nii.gz")))
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
