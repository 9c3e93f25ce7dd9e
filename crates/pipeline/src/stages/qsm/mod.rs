//! The stage that maps susceptibility.

mod course;

use std::path::{Path, PathBuf};
use std::time::Duration;

use fimbria_compute::{Interrupted, Progress as _};
use fimbria_image::{Image, MapKind, MapSpec, Mask, Window, counted, read_mask};
use fimbria_qsm::dqsm::{Journey, reconstruct};
use fimbria_qsm::fourier::{FourierMethod, dipole_field, invert};
use fimbria_qsm::ilsqr::{Ilsqr, invert_ilsqr};
use fimbria_qsm::metrics::{Metrics, compare};
use fimbria_qsm::nonlinear::{Nonlinear, invert_nonlinear};
use fimbria_qsm::phase::HZ_PER_TESLA;
use fimbria_qsm::solver::{Checkpoint, Stopped};
use fimbria_qsm::tensor::reconstruct_tensors;
use fimbria_qsm::variation::{Prior, Variation, reconstruct_variation};
use fimbria_qsm::{FieldModel, Geometry, QsmError, Shape, device, dqsm_files};
use serde_json::{Value, json};
use xxhash_rust::xxh3::Xxh3;

pub use self::course::Course;
use super::load_local_field::LocalField;
use super::qsm_parameters::Inversion;
pub use super::qsm_parameters::{DataTerm, NeedsB0, QsmCompat, QsmMethod, QsmParameters, Start};
use crate::options::from_values;
use crate::same_work::ensure_same_work;
use crate::{
    Carried, CheckpointFile, Choice as _, FileKind, Input, Logbook, MapContext, MapStyle,
    OutputFolder, Page, Product, Products, RunRecord, Stage, StageError, Taken, Written,
};

/// What `fimbria qsm` writes.
pub const QSM_WRITES: &[Written] = &[
    Written::map(&CHI),
    Written::map(&MSA).only("with --method tensor"),
    Written::map(&RESIDUAL),
    Written::file(
        course::FILE,
        FileKind::Table,
        "iteration, rms of the map (ppm), relative change, and after it the data term ‖Ax - b‖² \
         and of dqsm, tensor and ndi the penalty and the relative gradient, of the others the \
         variation that costs; of ilsqr the relative gradient alone, first of the map, then of its \
         streaks",
    )
    .only("of all methods but tkd and tikhonov"),
    Written::file(
        "metrics.json",
        FileKind::Json,
        "NRMSE, detrended NRMSE, HFEN (%), XSIM, correlation, slope",
    )
    .only("with --truth"),
    Written::file(
        "chi.bin",
        FileKind::Binary,
        "the map (not ppm), bare float32 in that program's order; its x_iter files \
         are neither written nor read",
    )
    .only("with --dqsm-files"),
    Written::file(
        "run.json",
        FileKind::Json,
        "inputs with hashes, parameters in effect, machine, times, counts, warnings; \
         of the iteration kappa and step (in units of B0), iterations, and why it \
         stopped",
    ),
    Written::folder(".resume", "where --resume goes on, with the same result")
        .only("until the run is done"),
];

/// The NRMSE in % of maps of a simulated brain from its local field with noise, of the methods that are
/// worse than total variation there (docs/susceptibility.md).
const WORSE: &[(QsmMethod, f64)] = &[
    (QsmMethod::Tensor, 45.2),
    (QsmMethod::Rts, 55.5),
    (QsmMethod::Tikhonov, 57.0),
    (QsmMethod::Ilsqr, 59.6),
    (QsmMethod::Tkd, 65.6),
    (QsmMethod::Ndi, 77.7),
    (QsmMethod::Dqsm, 87.7),
];

const CYLINDERS_ERR: &str = "fibres that bend or end are no infinite cylinders";

/// Why not everyone should take this method, where a better one takes the same files.
fn why_not(method: QsmMethod) -> Option<String> {
    let (_, error) = WORSE.iter().find(|(worse, _)| *worse == method)?;
    Some(format!(
        "of a simulated brain the map of --method {} has an NRMSE of {error:.1} %, that of zeros 100 %, \
         that of --method tv 41.4 %, that of --method dtv 26.3 %",
        method.name()
    ))
}

/// Name of the file that an interrupted iteration goes on from.
const CHECKPOINT: &str = "iteration";

/// Where an iteration is kept, so that it can go on.
#[derive(Clone, Debug)]
pub struct Keep {
    /// The folder of the outputs.
    pub folder: PathBuf,
    /// Time between two checkpoints.
    pub every: Duration,
    /// Goes on from one that is there.
    pub resume: bool,
}

/// Maps the susceptibility of the [`LocalField`] and hands on a [`ChiMap`]. Processes share the
/// sources; the first one keeps checkpoints.
pub struct MapSusceptibility {
    /// How.
    pub parameters: QsmParameters,
    /// How maps are written.
    pub style: MapStyle,
    /// Also writes the original program's chi.bin.
    pub dqsm_files: bool,
    /// A truth is given: its comparison is written.
    pub compares: bool,
    /// The field is in no known unit, and so is the map.
    pub relative: bool,
    /// Where to keep checkpoints; `None` for nowhere.
    pub keep: Option<Keep>,
}

/// The reference region in memory, in place of its file.
pub struct GivenReference(pub Mask);

/// A map of susceptibility.
pub struct ChiMap {
    /// In ppm, 0 outside the mask.
    pub chi: Image,
    /// Of the method of tensors, along a fibre less across it, ppm; 0 where there is none.
    pub anisotropy: Option<Image>,
    /// The field of the map less the field that it is made of, ppm, 0 outside the mask; of folders of
    /// earlier versions there is none.
    pub residual: Option<Image>,
    /// Every iteration.
    pub course: Course,
    /// Why it ended.
    pub stopped: Option<Stopped>,
    /// How far it is from the truth.
    pub metrics: Option<Metrics>,
    /// B0 in tesla, where it is known.
    pub b0_tesla: Option<f64>,
}

impl ChiMap {
    /// A map and its field at the voxels of the mask of `field`, how it was found, and nothing else.
    fn plain(field: &LocalField, (chi_ppm, of_map): (&[f32], &[f32]), course: Course) -> Self {
        let voxels = &field.mask.voxels;
        let (mut chi, mut residual) = (Image::zeros(field.grid, 1), Image::zeros(field.grid, 1));
        for ((&voxel, x), of_map) in voxels.iter().zip(chi_ppm).zip(of_map) {
            chi.data[voxel as usize] = *x;
            residual.data[voxel as usize] = of_map - field.field_ppm[voxel as usize];
        }
        let (residual, b0_tesla) = (Some(residual), field.b0_tesla);
        Self { chi, anisotropy: None, residual, course, stopped: None, metrics: None, b0_tesla }
    }
}

static CHI: MapSpec = MapSpec::of_kind(
    "chi",
    MapKind::Scalar,
    1,
    "ppm",
    "magnetic susceptibility (SI), ppm, relative to the reference",
)
.within(Window::Symmetric);

static CHI_RELATIVE: MapSpec = MapSpec::of_kind(
    "chi",
    MapKind::Scalar,
    1,
    "",
    "magnetic susceptibility in the unit of the relative field, relative to the reference",
)
.within(Window::Symmetric);

static MSA_RELATIVE: MapSpec = MapSpec::of_kind(
    "msa",
    MapKind::Scalar,
    1,
    "",
    "anisotropy of the susceptibility tensor, in the unit of the relative field",
)
.within(Window::Symmetric);

static MSA: MapSpec = MapSpec::of_kind(
    "msa",
    MapKind::Scalar,
    1,
    "ppm",
    "anisotropy of the susceptibility tensor, along the fibre less across it, ppm",
)
.within(Window::Symmetric);

static RESIDUAL: MapSpec = MapSpec::of_kind(
    "residual",
    MapKind::Scalar,
    1,
    "ppm",
    "field of the map, as the method has it and before a reference is taken off, less the field \
     given, ppm; 0 where that has no weight",
)
.within(Window::Symmetric);

static RESIDUAL_RELATIVE: MapSpec = MapSpec::of_kind(
    "residual",
    MapKind::Scalar,
    1,
    "",
    "field of the map less the field given, in its unit; 0 where that has no weight",
)
.within(Window::Symmetric);

impl MapSusceptibility {
    /// The stage that wrote a folder, by its record; `None` where it was another.
    pub fn of_record(record: &RunRecord) -> Option<Self> {
        let parameters = record.parameters_of("qsm")?;
        let part = |name: &str| parameters.get(name).cloned();
        Some(Self {
            parameters: from_values(part("qsm")?.as_object()?).ok()?,
            style: serde_json::from_value(part("maps")?).ok()?,
            dqsm_files: false,
            compares: false,
            relative: parameters.get("relative") == Some(&Value::Bool(true)),
            keep: None,
        })
    }
}

impl MapSusceptibility {
    /// What its maps are.
    pub(super) fn maps(&self) -> impl Iterator<Item = &'static MapSpec> + use<> {
        let tensors = self.parameters.method.0 == QsmMethod::Tensor;
        let relative = self.relative;
        let [chi, msa] = if relative { [&CHI_RELATIVE, &MSA_RELATIVE] } else { [&CHI, &MSA] };
        let residual = if relative { &RESIDUAL_RELATIVE } else { &RESIDUAL };
        [chi].into_iter().chain(tensors.then_some(msa)).chain([residual])
    }

    /// The rows of a file of iterations.
    fn course(&self, text: &str) -> Course {
        let empty = match self.parameters.inversion() {
            Inversion::Smooth | Inversion::Nonlinear(_) => Course::of_smooth(&[]),
            Inversion::Ilsqr(_) => Course::of_streaks(&[]),
            _ => Course::of_variation(&[]),
        };
        let row = |line: &str| line.split('\t').filter_map(|cell| cell.parse().ok()).collect();
        Course { rows: text.lines().skip(1).map(row).collect(), ..empty }
    }

    fn context(&self, log: Option<&Logbook<'_>>) -> MapContext {
        MapContext {
            stage: "qsm",
            model: "qsm",
            model_entry: json!({
                "Description": "Quantitative susceptibility mapping",
                "Parameters": self.parameters.in_effect(),
            }),
            entities: String::new(),
            carried: Carried::default()
                .with(log.into_iter().flat_map(|log| log.session().header_entries())),
        }
    }

    /// Where the mean of the map over `mask` is to be zero, if it is.
    fn reference(
        &self,
        given: Option<&GivenReference>,
        mask: &Mask,
        log: &Logbook<'_>,
    ) -> Result<Option<Mask>, StageError> {
        let Some(path) = &self.parameters.reference else {
            return Ok(self.parameters.zero_mean.then(|| mask.clone()));
        };
        let mut reference = match given {
            Some(GivenReference(reference)) => reference.clone(),
            None => log.session().on.workers.install(|| read_mask(path, &mask.grid))?,
        };
        // Elsewhere the map is 0, which is no susceptibility.
        reference.voxels.retain(|voxel| mask.voxels.binary_search(voxel).is_ok());
        if reference.voxels.is_empty() {
            return Err(NoReference(path.clone()).into());
        }
        Ok(Some(reference))
    }

    fn map(&self, field: &LocalField, log: &Logbook<'_>) -> Result<ChiMap, StageError> {
        match self.parameters.inversion() {
            Inversion::Smooth => self.smooth(field, log),
            Inversion::Variation(variation, data) => self.variation((variation, data), field, log),
            Inversion::Nonlinear(how) => self.nonlinear(how, field, log),
            Inversion::Ilsqr(how) => Self::without_streaks(how, field, log),
            Inversion::Fourier(method) => self.fourier(method, field, log),
        }
    }

    /// The map of the unknowns that is as smooth as κ asks for.
    fn smooth(&self, field: &LocalField, log: &Logbook<'_>) -> Result<ChiMap, StageError> {
        let tensors = self.parameters.method.0 == QsmMethod::Tensor;
        let options = self.parameters.options(field.b0_tesla)?;
        let parameters = self.parameters.in_effect();
        let receivers = if parameters.is_published() {
            Mask::full(field.grid).voxels
        } else {
            field.mask.voxels.clone()
        };
        let shapes = field.shapes.clone();
        let model = FieldModel::new(&field.geometry, &field.mask.voxels, shapes, &receivers)?
            .with_support(parameters.support);
        let pick = |volume: &[f32]| at(&receivers, volume);
        let data = pick(&field.field_ppm);
        let weights = field.weights.as_deref().map(pick);
        let mut start = match parameters.start.unwrap_or_default().0 {
            Start::Zero => None,
            Start::Tikhonov => {
                let masked = masked(&field.field_ppm, &field.mask);
                let method = FourierMethod::TIKHONOV;
                let on = &log.session().on;
                let (chi, _) = invert(&field.geometry, &masked, method, on, log)?;
                Some(field.mask.voxels.iter().map(|&v| chi[v as usize]).collect::<Vec<f32>>())
            }
        };
        if !parameters.is_published() && !tensors && model.cylinders() > 0 {
            let but = why_not(QsmMethod::Dqsm).unwrap_or_default();
            log.warn(Page::Susceptibility, &format!("{CYLINDERS_ERR}: {but}"));
        }
        if let (true, Some(start)) = (tensors, &mut start) {
            start.resize(start.len() + model.cylinders(), 0.0);
        }
        let fingerprint = self.fingerprint(field);
        let mut kept = self.keep.as_ref().map(|keep| {
            CheckpointFile::new(
                &OutputFolder::kept(&keep.folder, "qsm").join(CHECKPOINT),
                fingerprint,
                keep.every,
            )
        });
        let _held = kept.as_ref().map(|_| log.session().unfinished.hold());
        let goes_on = self.keep.as_ref().is_some_and(|keep| keep.resume);
        let resume = match &kept {
            Some(kept) if goes_on => kept.read(Checkpoint::from_bytes)?,
            _ => None,
        };
        let begins_at = resume.as_ref().map_or(0, |resume| resume.saved.number as u64);
        let on = &log.session().on;
        ensure_same_work(on.comm, fingerprint, begins_at)?;
        if let Some(resume) = &resume {
            log.note(&format!("going on after iteration {}", resume.saved.number));
        }
        // Ctrl-C is noticed here, after an iteration, so that nothing done is lost.
        let mut after = |checkpoint: &dyn Fn() -> Result<Checkpoint, QsmError>| {
            let Some(kept) = kept.as_mut().filter(|_| on.comm.rank() == 0) else {
                return Ok(());
            };
            let cancelled = log.is_cancelled();
            if cancelled || kept.is_due() {
                let written = kept.write(&checkpoint()?.to_bytes());
                written.map_err(|error| QsmError::Space(error.to_string()))?;
            }
            if cancelled { Err(Interrupted.into()) } else { Ok(()) }
        };
        let journey = Journey { start: start.as_deref(), resume, after: &mut after };
        let weights = weights.as_deref();
        let found = if tensors {
            tell_of_no_gain(&model.geometry, log);
            reconstruct_tensors(&model, &data, weights, &options, on, on.comm, log, journey)
        } else {
            reconstruct(&model, &data, weights, &options, on, on.comm, log, journey)
        };
        let found = found.map_err(of_inversion)?;
        let (means, anisotropies) = found.chi.split_at(field.mask.len());
        let mut chi = Image::zeros(field.grid, 1);
        for (&voxel, x) in field.mask.voxels.iter().zip(means) {
            chi.data[voxel as usize] = *x;
        }
        let anisotropy = tensors.then(|| {
            let mut msa = Image::zeros(field.grid, 1);
            let shapes = field.mask.voxels.iter().zip(&field.shapes);
            let fibres = shapes.filter(|(_, shape)| **shape != Shape::Sphere);
            fibres.zip(anisotropies).for_each(|((&v, _), x)| msa.data[v as usize] = *x);
            msa
        });
        log.count("iterations", found.log.len() as u64);
        log.result("kappa", options.kappa);
        if let Some(step) = found.step {
            log.result("step", step);
        }
        log.result("stopped", found.stopped.as_str());
        log.note(&format!("{} iterations, ended by {}", found.log.len(), found.stopped.as_str()));
        let mut residual = Image::zeros(field.grid, 1);
        for (place, (&voxel, left)) in receivers.iter().zip(&found.residual).enumerate() {
            // What has no weight is not told.
            let weight = weights.map_or(1.0, |weights| weights[place]);
            residual.data[voxel as usize] = if weight > 0.0 { -left / weight } else { 0.0 };
        }
        residual.data = masked(&residual.data, &field.mask);
        let residual = Some(residual);
        let (course, stopped) = (Course::of_smooth(&found.log), Some(found.stopped));
        let b0_tesla = field.b0_tesla;
        Ok(ChiMap { chi, anisotropy, residual, course, stopped, metrics: None, b0_tesla })
    }

    /// The map of few edges, but for those that diffusion or a magnitude explains.
    fn variation(
        &self,
        (variation, data): (Variation, DataTerm),
        field: &LocalField,
        log: &Logbook<'_>,
    ) -> Result<ChiMap, StageError> {
        let (model, b, weights) = inside(field)?;
        let guidance = field.guidance.as_ref();
        let magnitude;
        let prior = match self.parameters.method.0 {
            QsmMethod::Dtv => guidance.map_or(Prior::Total, Prior::Explained),
            QsmMethod::Tgv => Prior::Generalised,
            QsmMethod::Medi => {
                let volume = field.magnitude.as_deref().ok_or(NeedsMagnitude)?;
                magnitude = at(&field.mask.voxels, volume);
                Prior::Magnitude(&magnitude)
            }
            _ => Prior::Total,
        };
        let radians = match data {
            DataTerm::Field => None,
            DataTerm::Phase => Some(radians_per_ppm(field, log)?),
        };
        let variation = Variation { radians, ..variation };
        let on = &log.session().on;
        if self.parameters.method.0.takes_devices() {
            tell_of_no_gain(&model.geometry, log);
        }
        let found =
            reconstruct_variation(&model, &b, weights.as_deref(), prior, variation, on, log)
                .map_err(of_inversion)?;
        note_end(found.log.len(), found.has_settled, variation.tolerance, log);
        if matches!(prior, Prior::Explained(_)) {
            log.result("explained", found.coefficients);
            log.result("anisotropy_of_fa", found.anisotropy);
            log.note(&format!("anisotropy of a voxel of FA 1: {:.4} ppm", found.anisotropy));
        }
        let course = Course::of_variation(&found.log);
        Ok(ChiMap::plain(field, (&found.chi, &found.field), course))
    }

    /// The map whose field turns the phase as it is.
    fn nonlinear(
        &self,
        how: Nonlinear,
        field: &LocalField,
        log: &Logbook<'_>,
    ) -> Result<ChiMap, StageError> {
        let (model, b, weights) = inside(field)?;
        let how = Nonlinear { radians: radians_per_ppm(field, log)?, ..how };
        let on = &log.session().on;
        tell_of_no_gain(&model.geometry, log);
        let found =
            invert_nonlinear(&model, &b, weights.as_deref(), how, on, log).map_err(of_inversion)?;
        note_end(found.log.len(), found.has_settled, how.tolerance, log);
        let course = Course::of_smooth(&found.log);
        Ok(ChiMap::plain(field, (&found.chi, &found.field), course))
    }

    /// The map of least squares less their streaks.
    fn without_streaks(
        how: Ilsqr,
        field: &LocalField,
        log: &Logbook<'_>,
    ) -> Result<ChiMap, StageError> {
        let (model, b, weights) = inside(field)?;
        let on = &log.session().on;
        tell_of_no_gain(&model.geometry, log);
        let found =
            invert_ilsqr(&model, &b, weights.as_deref(), how, on, log).map_err(of_inversion)?;
        log.count("iterations", found.log.len() as u64);
        log.result("iterations_of_map", found.of_map);
        let stopped = if found.has_settled { Stopped::Gradient } else { Stopped::Iterations };
        log.result("stopped", stopped.as_str());
        let course = Course::of_streaks(&found.log);
        Ok(ChiMap::plain(field, (&found.chi, &found.field), course))
    }

    /// The map of a method in the Fourier domain.
    fn fourier(
        &self,
        method: FourierMethod,
        field: &LocalField,
        log: &Logbook<'_>,
    ) -> Result<ChiMap, StageError> {
        let on = &log.session().on;
        let data = masked(&field.field_ppm, &field.mask);
        if self.parameters.method.0.takes_devices() {
            tell_of_no_gain(&field.geometry, log);
        }
        let (chi, found) = invert(&field.geometry, &data, method, on, log).map_err(of_inversion)?;
        if !found.is_empty() {
            log.count("iterations", found.len() as u64);
        }
        let chi = masked(&chi, &field.mask);
        let of_map = dipole_field(&field.geometry, &chi, on.workers)?;
        let inside = |volume: &[f32]| at(&field.mask.voxels, volume);
        let course = Course::of_variation(&found);
        Ok(ChiMap::plain(field, (&inside(&chi), &inside(&of_map)), course))
    }

    /// Tells one problem from another.
    fn fingerprint(&self, field: &LocalField) -> u128 {
        let mut hash = Xxh3::new();
        hash.update(env!("CARGO_PKG_VERSION").as_bytes());
        // The rule for stopping may change on the way, and what the mean is taken off afterwards.
        let same = QsmParameters {
            zero_mean: false,
            reference: None,
            iterations: None,
            tolerance: None,
            gradient_tolerance: None,
            noise: None,
            ..self.parameters.in_effect()
        };
        hash.update(json!(same).to_string().as_bytes());
        hash.update(format!("{:?} {:?}", field.geometry, field.shapes.len()).as_bytes());
        for shape in &field.shapes {
            match shape {
                Shape::Sphere => hash.update(b"s"),
                Shape::Cylinder(axis) => axis.iter().for_each(|x| hash.update(&x.to_le_bytes())),
                Shape::Crossing(all) => all.iter().for_each(|x| hash.update(&x.to_le_bytes())),
            }
        }
        field.mask.voxels.iter().for_each(|v| hash.update(&v.to_le_bytes()));
        let numbers = field.field_ppm.iter().chain(field.weights.iter().flatten());
        numbers.for_each(|v| hash.update(&v.to_le_bytes()));
        hash.digest128()
    }
}

/// Says that the devices which somebody named do nothing.
fn tell_of_no_kernel(method: QsmMethod, log: &Logbook<'_>) {
    let on = &log.session().on;
    if !on.devices.is_empty() && !on.only_where_it_pays {
        let name = method.name();
        let text = format!("no kernel does this: --method {name} runs on the CPU");
        log.warn(Page::Troubleshooting, &text);
    }
}

/// Says where devices that nobody named are left out, of transforms of a volume.
fn tell_of_no_gain(geometry: &Geometry, log: &Logbook<'_>) {
    let on = &log.session().on;
    if !on.devices.is_empty() && !device::gains(on, geometry.dims) {
        log.left_to_threads();
    }
}

/// The values of a volume at some of its voxels.
fn at(voxels: &[u32], volume: &[f32]) -> Vec<f32> {
    voxels.iter().map(|&voxel| volume[voxel as usize]).collect()
}

/// How a map of iterations ended, where the rule for it is one of change alone.
fn note_end(iterations: usize, has_settled: bool, tolerance: f64, log: &Logbook<'_>) {
    log.count("iterations", iterations as u64);
    log.result("stopped", if has_settled { "tolerance" } else { "iterations" });
    if !has_settled {
        log.note(&format!(
            "the map still changed by more than {} % of itself in the last of {}",
            100.0 * tolerance,
            counted(iterations, "iteration")
        ));
    }
}

fn of_inversion(error: QsmError) -> StageError {
    match error {
        QsmError::Interrupted(interrupted) => interrupted.into(),
        other => other.into(),
    }
}

/// The model of a field whose data and unknowns are those of the mask; the data, and their weights.
type Inside = (FieldModel, Vec<f32>, Option<Vec<f32>>);

fn inside(field: &LocalField) -> Result<Inside, QsmError> {
    let voxels = &field.mask.voxels;
    let model = FieldModel::new(&field.geometry, voxels, field.shapes.clone(), voxels)?;
    let pick = |volume: &[f32]| at(voxels, volume);
    Ok((model, pick(&field.field_ppm), field.weights.as_deref().map(pick)))
}

/// Radians that a field of 1 ppm turns the phase by in the echo time of the field.
fn radians_per_ppm(field: &LocalField, log: &Logbook<'_>) -> Result<f64, NeedsPhase> {
    let radians = match (field.relative, field.b0_tesla, field.echo_time_s) {
        // It is in radians.
        (Some(factor), ..) => 1.0 / factor,
        (None, Some(b0), Some(time)) => std::f64::consts::TAU * HZ_PER_TESLA * b0 * time * 1e-6,
        _ => return Err(NeedsPhase),
    };
    log.result("radians_per_ppm", radians);
    Ok(radians)
}

/// The phase is to be explained, and how the field turned it is not known.
#[derive(Debug, thiserror::Error)]
#[error(
    "the phase is explained by the field in an echo time and B0: give --te and --b0, or a field \
     whose .json has EchoTime and MagneticFieldStrength, as `fimbria field` writes them"
)]
pub struct NeedsPhase;

/// Edges of a magnitude without one.
#[derive(Debug, thiserror::Error)]
#[error("edges are to be those of a magnitude: give --magnitude")]
pub struct NeedsMagnitude;

/// No voxel of the reference region lies inside the mask.
#[derive(Debug, thiserror::Error)]
#[error("no voxel of the reference region {} lies inside the mask", .0.display())]
pub struct NoReference(PathBuf);

/// `volume` with zeros outside the mask.
fn masked(volume: &[f32], mask: &Mask) -> Vec<f32> {
    let mut inside = vec![0.0; volume.len()];
    mask.voxels.iter().for_each(|&v| inside[v as usize] = volume[v as usize]);
    inside
}

/// Puts `second` in the place of `chi` where it is `reliable`, what both are off by in the mean there
/// added to the rest of the `mask`.
fn take_in(chi: &mut Image, second: &Image, mask: &Mask, reliable: &Mask) {
    let off = |v: &u32| f64::from(second.data[*v as usize]) - f64::from(chi.data[*v as usize]);
    let sum: f64 = reliable.voxels.iter().map(off).sum();
    let mean = (sum / reliable.len().max(1) as f64) as f32;
    mask.voxels.iter().for_each(|&v| chi.data[v as usize] += mean);
    reliable.voxels.iter().for_each(|&v| chi.data[v as usize] = second.data[v as usize]);
}

/// Takes off the mean over `reference` from every voxel of `mask`.
fn refer(chi: &mut Image, mask: &Mask, reference: &Mask) {
    let sum: f64 = reference.voxels.iter().map(|&v| f64::from(chi.data[v as usize])).sum();
    let mean = (sum / reference.len().max(1) as f64) as f32;
    mask.voxels.iter().for_each(|&v| chi.data[v as usize] -= mean);
}

impl Stage for MapSusceptibility {
    fn name(&self) -> &'static str {
        "qsm"
    }

    fn takes(&self) -> Vec<Taken> {
        vec![Taken::always::<LocalField>(), Taken::where_made::<GivenReference>()]
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<ChiMap>()]
    }

    fn inputs(&self) -> Vec<Input> {
        self.parameters
            .reference
            .iter()
            .map(|path| ("reference".to_owned(), path.clone()))
            .collect()
    }

    fn parameters(&self) -> Value {
        // The reference is an input: what it holds counts, not where it is.
        let qsm = QsmParameters { reference: None, ..self.parameters.in_effect() };
        json!({ "qsm": qsm, "maps": self.style, "relative": self.relative })
    }

    fn outputs(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.maps().flat_map(|map| self.style.file_names(map, &self.context(None))).collect();
        if self.parameters.iterates() {
            names.push(course::FILE.to_owned());
        }
        if self.dqsm_files {
            names.push("chi.bin".to_owned());
        }
        if self.compares {
            names.push("metrics.json".to_owned());
        }
        names
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let field = products.get::<LocalField>()?;
        let reference = self.reference(products.find(), &field.mask, log)?;
        // Of dqsm the cylinders are to blame, where there are some.
        let method = self.parameters.method.0;
        if let Some(reason) = why_not(method).filter(|_| method != QsmMethod::Dqsm) {
            log.warn(Page::Susceptibility, &reason);
        }
        if !method.takes_devices() {
            tell_of_no_kernel(method, log);
        }
        let mut map = self.map(field, log)?;
        if let Some(reliable) = &field.reliable {
            log.note(&format!("once more, of the reliable voxels alone: {}", reliable.len()));
            let second = self.map(&field.only(reliable), log)?;
            take_in(&mut map.chi, &second.chi, &field.mask, reliable);
            if let (Some(residual), Some(second)) = (&mut map.residual, &second.residual) {
                reliable.voxels.iter().for_each(|&v| {
                    residual.data[v as usize] = second.data[v as usize];
                });
            }
        }
        if let Some(factor) = field.relative {
            map.course.relative(factor);
            let images = [Some(&mut map.chi), map.anisotropy.as_mut(), map.residual.as_mut()];
            for image in images.into_iter().flatten() {
                image.data.iter_mut().for_each(|x| *x = (f64::from(*x) / factor) as f32);
            }
        }
        if let Some(reference) = &reference {
            refer(&mut map.chi, &field.mask, reference);
        }
        if let Some(truth) = &field.truth_ppm {
            let found = compare(field.grid.dims, &map.chi.data, truth, &field.mask.voxels);
            log.note(&format!(
                "NRMSE {:.1} % (detrended {:.1} %), HFEN {:.1} %, XSIM {:.3}, correlation {:.3}",
                found.nrmse, found.nrmse_detrended, found.hfen, found.xsim, found.correlation
            ));
            map.metrics = Some(found);
        }
        products.put(map);
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let map = products.get::<ChiMap>()?;
        let context = self.context(Some(log));
        let images = [Some(&map.chi), map.anisotropy.as_ref(), map.residual.as_ref()];
        for (spec, image) in self.maps().zip(images.into_iter().flatten()) {
            self.style.write(spec, image, &context, out, log.session().on.workers)?;
        }
        if self.parameters.iterates() {
            out.write(course::FILE, map.course.text().as_bytes())?;
        }
        if self.dqsm_files {
            let chi: Vec<f32> = map.chi.data.iter().map(|ppm| ppm * 1e-6).collect();
            out.write("chi.bin", &dqsm_files::chi_bytes(&chi))?;
        }
        if let Some(metrics) = &map.metrics {
            out.write("metrics.json", metrics_json(metrics).as_bytes())?;
        }
        Ok(())
    }

    fn restore(
        &self,
        folder: &Path,
        products: &mut Products,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let workers = log.session().on.workers;
        let context = self.context(None);
        let read = |map| self.style.read(map, &context, folder, workers);
        let chi = read(&CHI)?;
        let tensors = self.parameters.method.0 == QsmMethod::Tensor;
        let anisotropy = tensors.then(|| read(&MSA)).transpose()?;
        let residual = self.style.read_where_written(&RESIDUAL, &context, folder, workers)?;
        let course = match folder.join(course::FILE).exists() {
            true => self.course(&fimbria_image::read_regular_text(folder.join(course::FILE))?),
            false => Course::default(),
        };
        let (stopped, metrics, b0_tesla) = (None, None, None);
        products.put(ChiMap { chi, anisotropy, residual, course, stopped, metrics, b0_tesla });
        Ok(())
    }
}

fn metrics_json(metrics: &Metrics) -> String {
    let value = json!({
        "nrmse_percent": metrics.nrmse,
        "nrmse_detrended_percent": metrics.nrmse_detrended,
        "hfen_percent": metrics.hfen,
        "xsim": metrics.xsim,
        "correlation": metrics.correlation,
        "slope": metrics.slope,
    });
    format!("{value:#}\n")
}
