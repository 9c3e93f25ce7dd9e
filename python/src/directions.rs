//! Peaks of functions on the sphere, sampled sticks, and tracking through them.

use std::path::{Path, PathBuf};

use fimbria_image::bedpostx::{Merged, write_bedpostx};
use fimbria_image::frames::turn_vectors;
use fimbria_image::sticks::StickSamples;
use fimbria_image::{Affine, BvecFrame, Grid, Image, Mask, SignalSource};
use fimbria_pipeline::options::from_values;
use fimbria_pipeline::stages::load_orientations::OrientationField;
use fimbria_pipeline::stages::peaks::{FindPeaks, PeaksParameters};
use fimbria_pipeline::stages::sticks::{Resume, Sticks, SticksMaps, SticksParameters, Within};
use fimbria_pipeline::stages::track::{
    AnatomyOptions, Directions, RegionFrom, Regions, TrackInMemory, TrackParameters, TracksFound,
};
use fimbria_pipeline::{Logbook, MapStyle, Products, Stage as _, StageError};
use fimbria_tensors::peaks::Peaks;
use fimbria_tensors::samples::{Scatter, from_peaks};
use fimbria_tensors::sh::ShBasis;
use numpy::{PyReadonlyArray2, PyReadonlyArray3};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{affine, array_of};
use crate::lines::parts_of;
use crate::subject::{FieldArg, SubjectArg, check_series, chosen, maps_of, taken_out, values};
use crate::work::{Machine, run};

/// What messages call the array of directions.
const NAME: &str = "the array of directions";

/// A function on the sphere in each voxel: harmonics of a basis, or unique entries where there is none.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct FunctionArg<'py> {
    field: FieldArg<'py>,
    basis: Option<String>,
    frame: Option<String>,
}

/// A function, read when work begins.
pub(crate) struct Function {
    source: std::sync::Arc<dyn SignalSource + Send + Sync>,
    basis: Option<ShBasis>,
    frame: Option<BvecFrame>,
    mask: Mask,
}

impl FunctionArg<'_> {
    pub(crate) fn function(&self) -> PyResult<Function> {
        let source = self.field.source()?;
        let basis = self.basis.as_deref().map(|name| chosen("sh_basis", name)).transpose()?;
        let frame = self.frame.as_deref().map(|name| chosen("frame", name)).transpose()?;
        let mask = self.field.mask(source.grid())?;
        let mask = mask.unwrap_or_else(|| Mask::full(*source.grid()));
        Ok(Function { source, basis, frame, mask })
    }
}

impl Function {
    pub(crate) fn read(self, log: &Logbook<'_>) -> Result<OrientationField, StageError> {
        let Self { source, basis, frame, mask } = self;
        let (name, workers) = (Path::new(NAME), log.session().on.workers);
        let coefficients = Box::new(Shared(source));
        Ok(OrientationField::in_memory(name, coefficients, basis, frame, mask, workers)?)
    }
}

/// A source that others use too.
struct Shared(std::sync::Arc<dyn SignalSource + Send + Sync>);

impl SignalSource for Shared {
    fn grid(&self) -> &Grid {
        self.0.grid()
    }

    fn n_volumes(&self) -> usize {
        self.0.n_volumes()
    }

    fn gather(&self, voxels: &[u32], stride: usize, out: &mut [f32]) {
        self.0.gather(voxels, stride, out);
    }
}

/// Finds fibre directions: maps peaks, values, count and status, directions in scanner axes.
#[pyfunction]
pub(crate) fn peaks<'py>(
    py: Python<'py>,
    function: FunctionArg<'py>,
    options: &str,
    machine: Machine,
) -> PyResult<Bound<'py, PyDict>> {
    let (values, function) = (values(options)?, function.function()?);
    let (found, said) = run(py, &machine, move |log| {
        let parameters: PeaksParameters = from_values(&values)?;
        parameters.check()?;
        let stage = FindPeaks { parameters, style: MapStyle::default(), entities: String::new() };
        let mut products = Products::default();
        products.put(function.read(log)?);
        stage.compute(&mut products, log)?;
        Ok(products.take::<Peaks>()?)
    })?;
    let Peaks { peaks, values, count, status, .. } = found;
    let result = PyDict::new(py);
    let maps = [("peaks", peaks), ("values", values), ("count", count), ("status", status)];
    let maps = maps.map(|(name, image)| (name.to_owned(), image));
    result.set_item("maps", maps_of(py, maps)?)?;
    said.put_into(&result)?;
    Ok(result)
}

/// Samples of sticks in memory.
#[pyclass(frozen, module = "fimbria._core")]
pub(crate) struct Samples(StickSamples);

/// What turns FSL's axes, which maps of directions have in its folders, back to the scanner's.
fn from_fsl(name: &str, image: &mut Image) {
    if name.starts_with("dyads") && image.n_volumes == 3 {
        let turn = BvecFrame::Fsl.ras_from_frame(&image.grid.ras_from_vox);
        turn_vectors(image, &turn);
    }
}

#[pymethods]
impl Samples {
    /// Voxels along x, y, z.
    #[getter]
    fn shape(&self) -> [usize; 3] {
        self.0.mask.grid.dims
    }

    /// Fibres in each sample.
    #[getter]
    fn n_fibres(&self) -> usize {
        self.0.n_fibres
    }

    /// Samples of each voxel.
    #[getter]
    fn n_samples(&self) -> usize {
        self.0.n_samples
    }

    /// Samples of fibre `fibre`: directions in scanner axes `[x][y][z][sample, component]` and fractions
    /// `[x][y][z][sample]`.
    fn fibre<'py>(
        &self,
        py: Python<'py>,
        fibre: usize,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let Self(samples) = self;
        if fibre >= samples.n_fibres {
            let n = samples.n_fibres;
            return Err(PyValueError::new_err(format!("there is no fibre {fibre} of {n}")));
        }
        let n = samples.n_samples;
        let (directions, fractions) = py.detach(|| {
            let mut directions = Image::zeros(samples.mask.grid, 3 * n);
            let mut fractions = Image::zeros(samples.mask.grid, n);
            for (slot, &voxel) in samples.mask.voxels.iter().enumerate() {
                for k in 0..n {
                    let stick = samples.sample(slot, k)[fibre].unpack();
                    fractions.volume_mut(k)[voxel as usize] = stick.fraction;
                    for (axis, x) in stick.dir_ras.into_iter().enumerate() {
                        directions.volume_mut(3 * k + axis)[voxel as usize] = x;
                    }
                }
            }
            (directions, fractions)
        });
        Ok((array_of(py, directions)?, array_of(py, fractions)?))
    }
}

/// Samples ball and sticks: the samples, and the maps of a bedpostX folder.
#[pyfunction]
pub(crate) fn sample_sticks<'py>(
    py: Python<'py>,
    series: SubjectArg<'py>,
    options: &str,
    machine: Machine,
) -> PyResult<Bound<'py, PyDict>> {
    let (values, subject) = (values(options)?, series.subject()?);
    let ((samples, maps), said) = run(py, &machine, move |log| {
        let parameters: SticksParameters = from_values(&values)?;
        parameters.options()?;
        check_series(&subject, log)?;
        let stage = Sticks {
            parameters,
            within: Within::Mask,
            extension: "nii.gz",
            keep: None,
            resume: Resume::No,
        };
        let mut products = Products::default();
        products.put(subject);
        stage.compute(&mut products, log)?;
        let samples = products.take::<StickSamples>()?;
        let SticksMaps(made) = products.take()?;
        let mut maps = Vec::new();
        log.session().on.workers.install(|| {
            write_bedpostx(&samples, Merged::Elsewhere, |name, image, _| {
                let mut image = image.clone();
                from_fsl(name, &mut image);
                maps.push((name.to_owned(), image));
                Ok::<(), StageError>(())
            })
        })?;
        maps.extend(made.into_iter().map(|map| (map.spec.name.into_owned(), map.image)));
        // Angles of means are those of FSL's axes, and the dyads say the same.
        maps.retain(|(name, _)| !name.starts_with("mean_th") && !name.starts_with("mean_ph"));
        Ok((samples, maps))
    })?;
    let result = PyDict::new(py);
    result.set_item("samples", Py::new(py, Samples(samples))?)?;
    result.set_item("maps", maps_of(py, maps)?)?;
    said.put_into(&result)?;
    Ok(result)
}

/// What is tracked through.
#[derive(FromPyObject)]
pub(crate) enum Medium<'py> {
    /// Samples of sticks.
    Samples(PyRef<'py, Samples>),
    /// Peaks with their axes and how far they scatter, degrees.
    Peaks(FieldArg<'py>, String, f64),
    /// A function on the sphere.
    Function(FunctionArg<'py>),
}

/// A region, or seeds, with what messages call it.
#[derive(FromPyObject)]
pub(crate) enum RegionArg<'py> {
    /// Voxels that are true, and their affine.
    Voxels(String, PyReadonlyArray3<'py, bool>, Vec<[f64; 4]>),
    /// Points in scanner mm.
    Points(String, PyReadonlyArray2<'py, f32>),
    /// An image, a surface, or a list.
    File(PathBuf),
}

impl RegionArg<'_> {
    fn region(&self) -> PyResult<RegionFrom> {
        Ok(match self {
            Self::File(path) => RegionFrom::File(path.clone()),
            Self::Points(name, points) => {
                let points = points.as_array();
                if points.ncols() != 3 {
                    let (name, shape) = (name, points.shape());
                    return Err(PyValueError::new_err(format!(
                        "{name} has the shape {shape:?}; points have three coordinates each"
                    )));
                }
                let rows = points.rows().into_iter().map(|row| [row[0], row[1], row[2]]);
                RegionFrom::Points(name.into(), rows.collect())
            }
            Self::Voxels(name, voxels, rows) => {
                let ras_from_vox: Affine = affine(rows)?;
                let voxels = voxels.as_array();
                let &[nx, ny, nz] = voxels.shape() else {
                    return Err(PyValueError::new_err(format!("{name} must have three axes")));
                };
                let grid = Grid { dims: [nx, ny, nz], ras_from_vox };
                let mut image = Image::zeros(grid, 1);
                for ((x, y, z), &inside) in voxels.indexed_iter() {
                    image.data[x + nx * (y + ny * z)] = f32::from(u8::from(inside));
                }
                RegionFrom::Voxels(name.into(), image)
            }
        })
    }
}

/// From where, and by which ways.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct RegionsArg<'py> {
    seeds: Vec<RegionArg<'py>>,
    include: Vec<RegionArg<'py>>,
    include_any: bool,
    in_order: bool,
    exclude: Vec<RegionArg<'py>>,
    stop: Vec<RegionArg<'py>>,
    target: Vec<RegionArg<'py>>,
    network: bool,
}

impl RegionsArg<'_> {
    fn regions(&self) -> PyResult<Regions> {
        let read = |given: &[RegionArg<'_>]| -> PyResult<Vec<_>> {
            given.iter().map(RegionArg::region).collect()
        };
        Ok(Regions {
            seeds: read(&self.seeds)?,
            include: read(&self.include)?,
            include_any: self.include_any,
            in_order: self.in_order,
            exclude: read(&self.exclude)?,
            stop: read(&self.stop)?,
            target: read(&self.target)?,
            network: self.network,
        })
    }
}

/// What is tracked through, of which arrays are read when work begins.
enum ToRead {
    Samples(StickSamples),
    Peaks { peaks: Image, frame: BvecFrame, mask: Option<Mask>, dispersion_deg: f64 },
    Function(Function),
}

impl Medium<'_> {
    fn to_read(&self) -> PyResult<ToRead> {
        Ok(match self {
            Self::Samples(samples) => ToRead::Samples(samples.0.clone()),
            Self::Peaks(field, frame, dispersion_deg) => {
                let peaks = field.image()?;
                let (frame, mask) = (chosen("frame", frame)?, field.mask(&peaks.grid)?);
                ToRead::Peaks { peaks, frame, mask, dispersion_deg: *dispersion_deg }
            }
            Self::Function(function) => ToRead::Function(function.function()?),
        })
    }
}

impl ToRead {
    fn read(self, rng_seed: u64, log: &Logbook<'_>) -> Result<Directions, StageError> {
        Ok(match self {
            Self::Samples(samples) => Directions::of_samples(samples, log),
            Self::Peaks { peaks, frame, mask, dispersion_deg } => {
                let (scatter, workers) =
                    (Scatter { deg: dispersion_deg, rng_seed }, log.session().on.workers);
                let drawn = from_peaks(&peaks, frame, mask, scatter, workers)?;
                let drawn = drawn.ok_or("the peaks have no direction in any voxel of the mask")?;
                Directions::of_samples(drawn, log)
            }
            Self::Function(function) => Directions::of_field(&function.read(log)?, log)?,
        })
    }
}

/// Tracks fibres: streamlines in scanner mm, visits, and counts.
#[pyfunction]
pub(crate) fn track<'py>(
    py: Python<'py>,
    directions: Medium<'py>,
    regions: RegionsArg<'py>,
    tissues: Option<FieldArg<'py>>,
    options: &str,
    machine: Machine,
) -> PyResult<Bound<'py, PyDict>> {
    let (mut values, regions) = (values(options)?, regions.regions()?);
    let mut anatomy = taken_out::<AnatomyOptions>(&mut values);
    let tissues = tissues.map(|tissues| tissues.image()).transpose()?;
    if tissues.is_some() {
        anatomy.insert("act".to_owned(), "the array of tissues".into());
    }
    let directions = directions.to_read()?;
    let (found, said) = run(py, &machine, move |log| {
        let parameters: TrackParameters = from_values(&values)?;
        let anatomy: AnatomyOptions = from_values(&anatomy)?;
        let directions = directions.read(parameters.rng_seed, log)?;
        let through = directions.through();
        parameters.check(through)?;
        anatomy.check(through, &parameters)?;
        let mut products = Products::default();
        products.put(directions);
        let stage = TrackInMemory { regions, anatomy, tissues, parameters, through };
        stage.compute(&mut products, log)?;
        Ok(products.take::<TracksFound>()?)
    })?;
    let TracksFound { lines, visits, kept, reached, reached_by_points, network } = found;
    let result = PyDict::new(py);
    result.set_item("lines", parts_of(py, &lines.header, lines.streamlines)?)?;
    result.set_item("visits", array_of(py, visits)?)?;
    result.set_item("kept", kept)?;
    let maps = reached.into_iter().map(|map| map.map(|map| array_of(py, map)).transpose());
    result.set_item("reached", maps.collect::<PyResult<Vec<_>>>()?)?;
    result.set_item("reached_by_points", reached_by_points)?;
    result.set_item("network", network)?;
    said.put_into(&result)?;
    Ok(result)
}
