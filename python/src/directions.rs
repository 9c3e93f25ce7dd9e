//! Peaks of functions on the sphere, sampled sticks, and tracking through them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fimbria_image::bedpostx::{Merged, write_bedpostx};
use fimbria_image::frames::turn_vectors;
use fimbria_image::sticks::{PackedStick, StickSamples};
use fimbria_image::{BvecFrame, Grid, Image, Mask, SignalSource};
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
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

use crate::arrays::{affine, array_of};
use crate::lines::parts_of;
use crate::subject::{
    Data, FieldArg, Given, Source, SubjectArg, chosen, image_of, maps_of, taken_out, values,
};
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
    given: Given,
    basis: Option<ShBasis>,
    frame: Option<BvecFrame>,
}

impl FunctionArg<'_> {
    pub(crate) fn function(&self) -> PyResult<Function> {
        let basis = self.basis.as_deref().map(|name| chosen("sh_basis", name)).transpose()?;
        let frame = self.frame.as_deref().map(|name| chosen("frame", name)).transpose()?;
        Ok(Function { given: self.field.given()?, basis, frame })
    }
}

impl Function {
    pub(crate) fn read(self, log: &Logbook<'_>) -> Result<OrientationField, StageError> {
        let Self { given, basis, frame } = self;
        let (name, workers) = (Path::new(NAME), log.session().on.workers);
        let mask = given.voxels(log)?;
        let coefficients = Box::new(Shared(given.source));
        Ok(OrientationField::in_memory(name, coefficients, basis, frame, mask, workers)?)
    }
}

/// A source that others use too.
struct Shared(Source);

impl SignalSource for Shared {
    fn grid(&self) -> &Grid {
        self.0.grid()
    }

    fn n_volumes(&self) -> usize {
        self.0.n_volumes()
    }

    fn gather_rows(&self, voxels: &[u32], rows: &mut [&mut [f32]]) {
        self.0.gather_rows(voxels, rows);
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
pub(crate) struct Samples(Arc<StickSamples>);

/// What makes up samples: voxels along x, y, z and their affine, the voxels that have some, fibres, samples,
/// and the sticks as they are packed.
type Parts<'py> =
    ([usize; 3], [[f64; 4]; 3], Bound<'py, PyArray1<u32>>, usize, usize, Bound<'py, PyArray1<u64>>);

/// What turns FSL's axes, which maps of directions have in its folders, back to the scanner's.
fn from_fsl(name: &str, image: &mut Image) {
    if name.starts_with("dyads") && image.n_volumes == 3 {
        let turn = BvecFrame::Fsl.ras_from_frame(&image.grid.ras_from_vox);
        turn_vectors(image, &turn);
    }
}

#[pymethods]
impl Samples {
    /// Of what makes them up, as `__reduce__` gives it.
    #[new]
    fn new(
        dims: [usize; 3],
        ras_from_vox: Vec<[f64; 4]>,
        voxels: PyReadonlyArray1<'_, u32>,
        n_fibres: usize,
        n_samples: usize,
        sticks: PyReadonlyArray1<'_, u64>,
    ) -> PyResult<Self> {
        let grid = Grid { dims, ras_from_vox: affine(&ras_from_vox)? };
        let (voxels, sticks) = (voxels.as_slice()?.to_vec(), sticks.as_slice()?);
        let len = dims.iter().try_fold(1_usize, |n, &size| n.checked_mul(size));
        let ascend = voxels.windows(2).all(|pair| pair[0] < pair[1]);
        let inside = voxels.last().is_none_or(|&last| len.is_some_and(|n| (last as usize) < n));
        let each = n_fibres.checked_mul(n_samples).and_then(|n| n.checked_mul(voxels.len()));
        if n_fibres == 0 || n_samples == 0 || !ascend || !inside || each != Some(sticks.len()) {
            return Err(PyValueError::new_err("these are no samples of sticks"));
        }
        let sticks = sticks.iter().map(|&bits| PackedStick(bits)).collect();
        let mask = Mask { grid, voxels };
        Ok(Self(Arc::new(StickSamples { mask, n_fibres, n_samples, sticks })))
    }

    /// For processes that others send samples to.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, Parts<'py>) {
        let py = slf.py();
        let StickSamples { mask, n_fibres, n_samples, sticks } = &*slf.get().0;
        let bits = py.detach(|| sticks.iter().map(|stick| stick.0).collect());
        let parts = (
            mask.grid.dims,
            mask.grid.ras_from_vox.0,
            PyArray1::from_slice(py, &mask.voxels),
            *n_fibres,
            *n_samples,
            PyArray1::from_vec(py, bits),
        );
        (slf.get_type(), parts)
    }

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
    let (values, series) = (values(options)?, series.given()?);
    let ((samples, maps), said) = run(py, &machine, move |log| {
        let parameters: SticksParameters = from_values(&values)?;
        parameters.options()?;
        let subject = series.subject(log)?;
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
    result.set_item("samples", Py::new(py, Samples(Arc::new(samples)))?)?;
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
    /// Voxels above zero of one volume, and their affine.
    Voxels(String, Data<'py>, Vec<[f64; 4]>),
    /// Points in scanner mm.
    Points(String, PyReadonlyArray2<'py, f32>),
    /// An image, a surface, or a list.
    File(PathBuf),
}

/// What [`RegionArg`] hands over.
enum GivenRegion {
    Known(RegionFrom),
    Voxels(PathBuf, Source),
}

impl RegionArg<'_> {
    fn given(&self) -> PyResult<GivenRegion> {
        Ok(match self {
            Self::File(path) => GivenRegion::Known(RegionFrom::File(path.clone())),
            Self::Points(name, points) => {
                let points = points.as_array();
                if points.ncols() != 3 {
                    let (name, shape) = (name, points.shape());
                    return Err(PyValueError::new_err(format!(
                        "{name} has the shape {shape:?}; points have three coordinates each"
                    )));
                }
                let rows = points.rows().into_iter().map(|row| [row[0], row[1], row[2]]);
                GivenRegion::Known(RegionFrom::Points(name.into(), rows.collect()))
            }
            Self::Voxels(name, data, rows) => {
                GivenRegion::Voxels(name.into(), data.source(affine(rows)?)?)
            }
        })
    }
}

impl GivenRegion {
    fn read(self, log: &Logbook<'_>) -> Result<RegionFrom, StageError> {
        Ok(match self {
            Self::Known(region) => region,
            Self::Voxels(name, source) => RegionFrom::Voxels(name, image_of(&*source, log)?),
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

/// What [`RegionsArg`] hands over: seeds, include, exclude, stop and target.
struct GivenRegions {
    lists: [Vec<GivenRegion>; 5],
    include_any: bool,
    in_order: bool,
    network: bool,
}

impl RegionsArg<'_> {
    fn given(&self) -> PyResult<GivenRegions> {
        let Self { seeds, include, include_any, in_order, exclude, stop, target, network } = self;
        let given = |list: &[RegionArg<'_>]| -> PyResult<Vec<_>> {
            list.iter().map(RegionArg::given).collect()
        };
        let lists = [given(seeds)?, given(include)?, given(exclude)?, given(stop)?, given(target)?];
        Ok(GivenRegions {
            lists,
            include_any: *include_any,
            in_order: *in_order,
            network: *network,
        })
    }
}

impl GivenRegions {
    fn read(self, log: &Logbook<'_>) -> Result<Regions, StageError> {
        let Self { lists, include_any, in_order, network } = self;
        let read = |list: Vec<GivenRegion>| -> Result<Vec<_>, StageError> {
            list.into_iter().map(|region| region.read(log)).collect()
        };
        let [seeds, include, exclude, stop, target] = lists;
        Ok(Regions {
            seeds: read(seeds)?,
            include: read(include)?,
            include_any,
            in_order,
            exclude: read(exclude)?,
            stop: read(stop)?,
            target: read(target)?,
            network,
        })
    }
}

/// What is tracked through, read when work begins.
enum ToRead {
    Samples(Arc<StickSamples>),
    Peaks { given: Given, frame: BvecFrame, dispersion_deg: f64 },
    Function(Function),
}

impl Medium<'_> {
    fn to_read(&self) -> PyResult<ToRead> {
        Ok(match self {
            Self::Samples(samples) => ToRead::Samples(Arc::clone(&samples.0)),
            Self::Peaks(field, frame, dispersion_deg) => {
                let (given, frame) = (field.given()?, chosen("frame", frame)?);
                ToRead::Peaks { given, frame, dispersion_deg: *dispersion_deg }
            }
            Self::Function(function) => ToRead::Function(function.function()?),
        })
    }
}

impl ToRead {
    fn read(self, rng_seed: u64, log: &Logbook<'_>) -> Result<Directions, StageError> {
        Ok(match self {
            // Tracking turns its own copy.
            Self::Samples(samples) => Directions::of_samples((*samples).clone(), log),
            Self::Peaks { given, frame, dispersion_deg } => {
                let (scatter, workers) =
                    (Scatter { deg: dispersion_deg, rng_seed }, log.session().on.workers);
                let (peaks, mask) = (given.image(log)?, given.mask(log)?);
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
    let (mut values, regions) = (values(options)?, regions.given()?);
    let mut anatomy = taken_out::<AnatomyOptions>(&mut values);
    let tissues = tissues.map(|tissues| tissues.given()).transpose()?;
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
        let tissues = tissues.map(|tissues| tissues.image(log)).transpose()?;
        let regions = regions.read(log)?;
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
