//! The stage that makes a local field of the scanner's phase.

use std::path::{Path, PathBuf};

use fimbria_compute::Progress as _;
use fimbria_image::{Grid, GridMismatch, Image, ImageError, Mask, read_image, read_mask};
use fimbria_models::{MapKind, MapSpec};
use fimbria_qsm::background::{Background, remove_background};
use fimbria_qsm::phase::{
    EchoPhase, PhaseError, combine_echoes, r2star, to_radians, unwrap_laplacian, unwrap_region,
};
use fimbria_qsm::{Geometry, QsmError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    Choice, Input, Logbook, MapContext, MapStyle, Named, OutputFolder, Products, Stage, StageError,
    head_mask,
};

/// How wraps are undone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unwrapping {
    /// Along the most reliable paths.
    #[default]
    Region,
    /// By the Laplacian.
    Laplacian,
}

impl Choice for Unwrapping {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Region, "region", "along the most reliable paths first, as ROMEO; exact"),
        (Self::Laplacian, "laplacian", "by the Laplacian: smooth, adds a harmonic background"),
    ];
}

/// How the background is removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackgroundMethod {
    /// Spherical means of varying radii.
    #[default]
    VSharp,
    /// Dipoles outside the mask.
    Pdf,
    /// Laplace's equation.
    Lbv,
}

impl Choice for BackgroundMethod {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::VSharp, "vsharp", "spherical means of varying radii; loses a rim of one voxel"),
        (Self::Pdf, "pdf", "dipoles outside the mask; keeps all of the mask"),
        (Self::Lbv, "lbv", "Laplace's equation from the mask's border, which is lost"),
    ];
}

/// The scanner's files and what is to be known of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PhaseFiles {
    /// Phase: an image of all echoes, or one for each.
    pub phase: Vec<PathBuf>,
    /// Magnitude, likewise; none where there is none.
    pub magnitude: Vec<PathBuf>,
    /// Echo times in milliseconds; none for those of the sidecars.
    pub echo_times_ms: Vec<f64>,
    /// B0 in tesla; `None` for the sidecar's.
    pub b0_tesla: Option<f64>,
    /// Its direction in scanner axes; `None` for z.
    pub b0_ras: Option<[f64; 3]>,
    /// Its direction in voxel axes, in place of the other.
    pub b0_vox: Option<[f64; 3]>,
    /// True where a paramagnetic source lowers the phase along B0.
    pub negative: bool,
    /// The voxels to work on; `None` for what is bright in the first magnitude.
    pub mask: Option<PathBuf>,
}

/// The parameters of a field.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FieldParameters {
    /// How wraps are undone.
    pub unwrap: Named<Unwrapping>,
    /// Fits the phase at echo time 0; `false` takes it as 0. `None`: fits it from three echoes on.
    pub offset: Option<bool>,
    /// How the background is removed.
    pub background: Named<BackgroundMethod>,
    /// Largest radius of V-SHARP, mm; `None` for 12.
    pub radius_mm: Option<f64>,
}

/// Why there is no field.
#[derive(Debug, thiserror::Error)]
pub enum PhaseFilesError {
    /// An image cannot be read.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// Images lie on different grids.
    #[error(transparent)]
    Grid(#[from] GridMismatch),
    /// The phase is none.
    #[error("{}", path.display())]
    Phase {
        /// The image.
        path: PathBuf,
        /// Why it is none.
        source: PhaseError,
    },
    /// B0 or the voxels are unusable.
    #[error(transparent)]
    Qsm(#[from] QsmError),
    /// Not one time for each echo.
    #[error("{times} echo times for {echoes} echoes of phase")]
    Times {
        /// Times given or found.
        times: usize,
        /// Volumes of phase.
        echoes: usize,
    },
    /// Times that are none.
    #[error("an echo time of {0} ms: it is above 0, and times ascend")]
    Time(f64),
    /// Not one magnitude for each echo.
    #[error("{magnitudes} echoes of magnitude for {echoes} of phase")]
    Magnitudes {
        /// Volumes of magnitude.
        magnitudes: usize,
        /// Volumes of phase.
        echoes: usize,
    },
    /// No strength of B0.
    #[error("the strength of B0 is neither given nor in a sidecar beside the phase")]
    NeedsB0,
    /// No echo times.
    #[error("echo times are neither given nor in sidecars beside the phase")]
    NeedsTimes,
    /// A strength that is none.
    #[error("B0 of {0} tesla: it is above 0 and finite")]
    B0(f64),
    /// No mask and nothing to make one of.
    #[error("a mask is needed where there is no magnitude to make one of")]
    NeedsMask,
    /// Nothing inside.
    #[error("the mask has no voxel above zero")]
    EmptyMask,
}

/// Phase and magnitude of all echoes.
pub struct Echoes {
    /// The grid.
    pub grid: Grid,
    /// Voxels and B0.
    pub geometry: Geometry,
    /// Phase, radians, wrapped, paramagnetic sources raise it along B0.
    pub phases: Vec<Vec<f32>>,
    /// Magnitude, or none.
    pub magnitudes: Vec<Vec<f32>>,
    /// Echo times in seconds.
    pub times: Vec<f64>,
    /// B0 in tesla.
    pub b0_tesla: f64,
    /// The voxels to work on.
    pub mask: Mask,
}

impl PhaseFiles {
    pub(crate) fn paths_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        self.phase.iter_mut().chain(&mut self.magnitude).chain(&mut self.mask)
    }

    /// Reads them.
    ///
    /// # Errors
    /// [`PhaseFilesError`].
    pub fn read(&self, log: &Logbook<'_>) -> Result<Echoes, PhaseFilesError> {
        let workers = log.session().on.workers;
        let (grid, mut phases) = workers.install(|| volumes(&self.phase, None))?;
        let (_, magnitudes) = workers.install(|| volumes(&self.magnitude, Some(grid)))?;
        let echoes = phases.len();
        if !magnitudes.is_empty() && magnitudes.len() != echoes {
            return Err(PhaseFilesError::Magnitudes { magnitudes: magnitudes.len(), echoes });
        }
        let times = self.times(echoes)?;
        let b0_tesla = self.b0_tesla.or_else(|| {
            self.phase.iter().find_map(|path| sidecar(path)?["MagneticFieldStrength"].as_f64())
        });
        let b0_tesla = b0_tesla.ok_or(PhaseFilesError::NeedsB0)?;
        if !(b0_tesla > 0.0 && b0_tesla.is_finite()) {
            return Err(PhaseFilesError::B0(b0_tesla));
        }
        let geometry = match (self.b0_vox, self.b0_ras) {
            (Some(vox), _) => Geometry::in_voxel_axes(&grid, vox)?,
            (None, ras) => Geometry::new(&grid, ras.unwrap_or([0.0, 0.0, 1.0]))?,
        };
        let mut mask = match (&self.mask, magnitudes.first()) {
            (Some(path), _) => workers.install(|| read_mask(path, &grid))?,
            (None, Some(first)) => {
                log.warn("no mask given: what is bright in the first magnitude is taken");
                head_mask(Image { grid, n_volumes: 1, data: first.clone() }, workers)
            }
            (None, None) => return Err(PhaseFilesError::NeedsMask),
        };
        let finite = |v: &u32| phases.iter().all(|phase| phase[*v as usize].is_finite());
        let given = mask.len();
        mask.voxels.retain(finite);
        if mask.len() < given {
            let lost = given - mask.len();
            log.warn(&format!("{lost} voxels of the mask have a phase that is not finite"));
        }
        if mask.is_empty() {
            return Err(PhaseFilesError::EmptyMask);
        }
        let (factor, offset) = to_radians(&phases, &mask.voxels).map_err(|source| {
            let path = self.phase.first().cloned().unwrap_or_default();
            PhaseFilesError::Phase { path, source }
        })?;
        let sign = if self.negative { -1.0 } else { 1.0 };
        for phase in &mut phases {
            phase.iter_mut().for_each(|p| *p = sign * (factor * *p + offset));
        }
        log.count("echoes", echoes as u64);
        log.count("voxels", mask.len() as u64);
        Ok(Echoes { grid, geometry, phases, magnitudes, times, b0_tesla, mask })
    }

    /// Seconds.
    fn times(&self, echoes: usize) -> Result<Vec<f64>, PhaseFilesError> {
        let mut times: Vec<f64> = self.echo_times_ms.clone();
        if times.is_empty() {
            for path in &self.phase {
                let Some(sidecar) = sidecar(path) else { continue };
                let seconds = match &sidecar["EchoTime"] {
                    Value::Array(list) => list.iter().filter_map(Value::as_f64).collect(),
                    one => one.as_f64().into_iter().collect::<Vec<_>>(),
                };
                times.extend(seconds.into_iter().map(|t| 1e3 * t));
            }
            if times.is_empty() {
                return Err(PhaseFilesError::NeedsTimes);
            }
        }
        if times.len() != echoes {
            return Err(PhaseFilesError::Times { times: times.len(), echoes });
        }
        let mut before = 0.0;
        for &time in &times {
            if !(time > before && time.is_finite()) {
                return Err(PhaseFilesError::Time(time));
            }
            before = time;
        }
        Ok(times.into_iter().map(|t| 1e-3 * t).collect())
    }
}

/// Every volume of the images at `paths`, all on one grid.
fn volumes(
    paths: &[PathBuf],
    grid: Option<Grid>,
) -> Result<(Grid, Vec<Vec<f32>>), PhaseFilesError> {
    let (mut grid, mut volumes) = (grid, Vec::new());
    for path in paths {
        let image = read_image(path)?;
        let first = *grid.get_or_insert(image.grid);
        first.check_same(&image.grid, &path.display().to_string())?;
        volumes.extend((0..image.n_volumes).map(|v| image.volume(v).to_vec()));
    }
    // Without images there is no volume either that would ask for the grid.
    let none = Grid { dims: [0; 3], ras_from_vox: fimbria_image::Affine::IDENTITY };
    Ok((grid.unwrap_or(none), volumes))
}

/// The BIDS sidecar beside an image, if there is one.
fn sidecar(path: &Path) -> Option<Value> {
    let name = path.file_name()?.to_str()?;
    let stem = name.strip_suffix(".gz").unwrap_or(name);
    let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
    let text = std::fs::read_to_string(path.with_file_name(format!("{stem}.json"))).ok()?;
    serde_json::from_str(&text).ok()
}

/// Makes fields of [`Echoes`] and hands on the [`Fields`].
pub struct MakeField {
    /// Where the echoes are; `None` where an earlier stage hands them on.
    pub files: Option<PhaseFiles>,
    /// How.
    pub parameters: FieldParameters,
    /// How maps are written.
    pub style: MapStyle,
}

/// What the phase says.
pub struct Fields {
    /// In ppm, with the background, 0 outside the mask.
    pub total: Image,
    /// In ppm, without it.
    pub local: Image,
    /// Where the local field is known.
    pub mask: Mask,
    /// 1/s; `None` without magnitudes of two echoes.
    pub r2star: Option<Image>,
    /// Voxels and B0.
    pub geometry: Geometry,
    /// B0 in tesla.
    pub b0_tesla: f64,
}

static TOTAL: MapSpec = MapSpec::of_kind(
    "total_field",
    MapKind::Scalar,
    1,
    "ppm",
    "field of all sources relative to B0, ppm, positive along B0 beside a paramagnetic source",
);
static LOCAL: MapSpec = MapSpec::of_kind(
    "local_field",
    MapKind::Scalar,
    1,
    "ppm",
    "field of the sources inside the mask relative to B0, ppm",
);
static MASK: MapSpec =
    MapSpec::of_kind("mask", MapKind::Code, 1, "", "1 where the local field is known");
static R2STAR: MapSpec =
    MapSpec::of_kind("r2star", MapKind::Scalar, 1, "1/s", "R2*, rate of decay of the magnitude");

impl MakeField {
    fn context(&self, log: Option<&Logbook<'_>>) -> MapContext {
        MapContext {
            stage: "field",
            model: "field",
            model_entry: json!({
                "Description": "Field from phase",
                "Parameters": self.parameters,
            }),
            entities: String::new(),
            keyvals: log.map(|log| log.session().header_entries()).unwrap_or_default(),
        }
    }

    fn maps(&self) -> Vec<&'static MapSpec> {
        let mut maps = vec![&TOTAL, &LOCAL, &MASK];
        let has_decay =
            |files: &PhaseFiles| !files.magnitude.is_empty() && files.echo_times_ms.len() != 1;
        if self.files.as_ref().is_none_or(has_decay) {
            maps.push(&R2STAR);
        }
        maps
    }
}

fn background_of(parameters: &FieldParameters) -> Background {
    match (parameters.background.0, Background::VSHARP) {
        (BackgroundMethod::VSharp, Background::VSharp { radius_mm, threshold }) => {
            let radius_mm = parameters.radius_mm.unwrap_or(radius_mm);
            Background::VSharp { radius_mm, threshold }
        }
        (BackgroundMethod::Pdf, _) => Background::PDF,
        (BackgroundMethod::Lbv, _) => Background::LBV,
        (BackgroundMethod::VSharp, other) => other,
    }
}

impl Stage for MakeField {
    fn name(&self) -> &'static str {
        "field"
    }

    fn needs(&self) -> &'static [&'static str] {
        &["gre"]
    }

    fn inputs(&self) -> Vec<Input> {
        let role = |role: &'static str| move |path: &PathBuf| (role.to_owned(), path.clone());
        let Some(files) = &self.files else { return Vec::new() };
        let phase = files.phase.iter().map(role("phase"));
        let magnitude = files.magnitude.iter().map(role("magnitude"));
        phase.chain(magnitude).chain(files.mask.iter().map(role("mask"))).collect()
    }

    fn parameters(&self) -> Value {
        let mut parameters = json!({ "field": self.parameters, "maps": self.style });
        if let Some(files) = &self.files {
            parameters["echo_times_ms"] = json!(files.echo_times_ms);
            parameters["b0_tesla"] = json!(files.b0_tesla);
            parameters["b0_dir"] = json!(files.b0_ras.unwrap_or([0.0, 0.0, 1.0]));
            parameters["b0_dir_vox"] = json!(files.b0_vox);
            parameters["phase_sign"] = json!(if files.negative { -1 } else { 1 });
        }
        parameters
    }

    fn outputs(&self) -> Vec<String> {
        let context = self.context(None);
        self.maps().iter().flat_map(|map| self.style.file_names(map, &context)).collect()
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let read;
        let echoes = match &self.files {
            Some(files) => {
                read = files.read(log)?;
                &read
            }
            None => products.get::<Echoes>()?,
        };
        let workers = log.session().on.workers;
        let Echoes { grid, geometry, phases, magnitudes, times, b0_tesla, mask } = echoes;
        let unwrapped = match self.parameters.unwrap.0 {
            Unwrapping::Region => {
                let echo = |e: usize| EchoPhase {
                    phase: &phases[e],
                    magnitude: magnitudes.get(e).map(Vec::as_slice),
                    time: times[e],
                };
                let echoes: Vec<EchoPhase<'_>> = (0..phases.len()).map(echo).collect();
                unwrap_region(grid, &echoes, &mask.voxels)
            }
            Unwrapping::Laplacian => {
                let unwrap =
                    |phase: &Vec<f32>| unwrap_laplacian(grid, phase, &mask.voxels, workers);
                phases.iter().map(unwrap).collect::<Result<_, _>>()?
            }
        };
        log.check()?;
        let offset = self.parameters.offset.unwrap_or(times.len() > 2);
        let weights = (!magnitudes.is_empty()).then_some(&magnitudes[..]);
        let combined = combine_echoes(&unwrapped, weights, times, &mask.voxels, *b0_tesla, offset);
        let total = combined.field_ppm;
        let background = background_of(&self.parameters);
        let local = remove_background(grid, geometry, &total, mask, background, workers, log)?;
        log.count("voxels_of_local_field", local.mask.len() as u64);
        let image = |data| Image { grid: *grid, n_volumes: 1, data };
        let r2star = (times.len() > 1 && !magnitudes.is_empty())
            .then(|| image(r2star(magnitudes, times, &mask.voxels)));
        let (total, field) = (image(total), image(local.field));
        let (geometry, b0_tesla) = (*geometry, *b0_tesla);
        products.put(Fields { total, local: field, mask: local.mask, r2star, geometry, b0_tesla });
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let Fields { total, local, mask, r2star, .. } = products.get::<Fields>()?;
        let mut inside = Image::zeros(mask.grid, 1);
        mask.voxels.iter().for_each(|&v| inside.data[v as usize] = 1.0);
        let images = [Some(total), Some(local), Some(&inside), r2star.as_ref()];
        let specs = [&TOTAL, &LOCAL, &MASK, &R2STAR];
        for (spec, image) in specs.into_iter().zip(images) {
            if let Some(image) = image {
                let context = self.context(Some(log));
                self.style.write(spec, image, &context, out, log.session().on.workers)?;
            }
        }
        Ok(())
    }

    /// Makes them again: no later stage reads the files of this one.
    fn restore(
        &self,
        _folder: &Path,
        products: &mut Products,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        self.compute(products, log)
    }
}
