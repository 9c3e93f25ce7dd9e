//! What Python hands over: series with their tables, fields, masks, options. It is read when work begins,
//! without the lock of the interpreter.

use std::sync::Arc;

use fimbria_compute::Progress as _;
use fimbria_image::frames::turned;
use fimbria_image::{Affine, BvecFrame, GradientTable, Grid, Image, Mask, SignalSource};
use fimbria_pipeline::options::{Options, Values};
use fimbria_pipeline::stages::doubts::{Doubt, check_table, warn_of_decay};
use fimbria_pipeline::stages::load::Subject;
use fimbria_pipeline::{Carried, Choice, Logbook, StageError};
use numpy::PyUntypedArray;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::prelude::*;

use crate::arrays::{ArraySource, affine, array_of};
use crate::images::Series;

/// Numbers where they lie, kept while they are used.
pub(crate) type Source = Arc<dyn SignalSource + Send + Sync>;

/// A series from a file, or an array with its affine.
#[derive(FromPyObject)]
pub(crate) enum Data<'py> {
    Series(PyRef<'py, Series>),
    Array(Bound<'py, PyUntypedArray>),
}

impl Data<'_> {
    pub(crate) fn source(&self, ras_from_vox: Affine) -> PyResult<Source> {
        Ok(match self {
            Self::Series(series) => series.stored.clone(),
            Self::Array(array) => Arc::new(ArraySource::new(array, ras_from_vox)?),
        })
    }
}

/// The voxels to work on: those above zero of a volume; its affine where that is known.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct MaskArg<'py> {
    data: Data<'py>,
    affine: Option<Vec<[f64; 4]>>,
}

/// Numbers on a grid, and the voxels to work on.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct FieldArg<'py> {
    data: Data<'py>,
    /// Scanner mm from voxel.
    affine: Vec<[f64; 4]>,
    mask: Option<MaskArg<'py>>,
}

impl FieldArg<'_> {
    pub(crate) fn given(&self) -> PyResult<Given> {
        let source = self.data.source(affine(&self.affine)?)?;
        let mask = self.mask.as_ref().map(|mask| -> PyResult<_> {
            let place = mask.affine.as_deref().map(affine).transpose()?;
            let source = mask.data.source(place.unwrap_or(Affine::IDENTITY))?;
            Ok(GivenMask { source, is_placed: place.is_some() })
        });
        Ok(Given { source, mask: mask.transpose()? })
    }
}

/// What [`FieldArg`] hands over.
pub(crate) struct Given {
    pub(crate) source: Source,
    mask: Option<GivenMask>,
}

struct GivenMask {
    source: Source,
    /// Whether it is known where its voxels lie.
    is_placed: bool,
}

impl Given {
    pub(crate) fn grid(&self) -> &Grid {
        self.source.grid()
    }

    /// All numbers.
    ///
    /// # Errors
    /// Where the work was cancelled.
    pub(crate) fn image(&self, log: &Logbook<'_>) -> Result<Image, StageError> {
        image_of(&*self.source, log)
    }

    /// All numbers, a list for each volume.
    ///
    /// # Errors
    /// Where the work was cancelled.
    pub(crate) fn volumes(&self, log: &Logbook<'_>) -> Result<Vec<Vec<f32>>, StageError> {
        let n = self.grid().len();
        let mut volumes = vec![vec![0.0; n]; self.source.n_volumes()];
        read_into(&*self.source, volumes.iter_mut().map(Vec::as_mut_slice), log)?;
        Ok(volumes)
    }

    /// The mask on the grid of the numbers; `None` where none is given.
    ///
    /// # Errors
    /// Where it has other voxels, or none.
    pub(crate) fn mask(&self, log: &Logbook<'_>) -> Result<Option<Mask>, StageError> {
        self.mask.as_ref().map(|mask| mask.on(self.grid(), log)).transpose()
    }

    /// The same; all voxels where none is given.
    ///
    /// # Errors
    /// As [`mask`](Self::mask).
    pub(crate) fn voxels(&self, log: &Logbook<'_>) -> Result<Mask, StageError> {
        Ok(self.mask(log)?.unwrap_or_else(|| Mask::full(*self.grid())))
    }
}

impl GivenMask {
    fn on(&self, grid: &Grid, log: &Logbook<'_>) -> Result<Mask, StageError> {
        let mut image = image_of(&*self.source, log)?;
        if image.n_volumes != 1 {
            return Err(
                format!("the mask has {} volumes, and must have one", image.n_volumes).into()
            );
        }
        if !self.is_placed {
            let (found, expected) = (image.grid.dims, grid.dims);
            if found != expected {
                return Err(
                    format!("mask has the shape {found:?}, and the voxels {expected:?}").into()
                );
            }
            image.grid = *grid;
        }
        let mask = Mask::from_image(&image).onto(grid, "the mask")?;
        if mask.is_empty() { Err("the mask has no voxel above zero".into()) } else { Ok(mask) }
    }
}

/// All numbers of `source`, on all threads.
///
/// # Errors
/// Where the work was cancelled.
pub(crate) fn image_of(source: &dyn SignalSource, log: &Logbook<'_>) -> Result<Image, StageError> {
    let (grid, n_volumes) = (*source.grid(), source.n_volumes());
    let mut image = Image::zeros(grid, n_volumes);
    read_into(source, image.data.chunks_mut(grid.len()), log)?;
    Ok(image)
}

/// Reads every volume into its row.
fn read_into<'a>(
    source: &dyn SignalSource,
    rows: impl Iterator<Item = &'a mut [f32]>,
    log: &Logbook<'_>,
) -> Result<(), StageError> {
    /// Voxels that a task reads.
    const TILE: usize = 4096;
    let (n, n_volumes) = (source.grid().len(), source.n_volumes());
    let mut tiles: Vec<Vec<&mut [f32]>> = Vec::new();
    tiles.resize_with(n.div_ceil(TILE), || Vec::with_capacity(n_volumes));
    for row in rows {
        tiles.iter_mut().zip(row.chunks_mut(TILE)).for_each(|(tile, part)| tile.push(part));
    }
    let read = |samples: &mut Vec<f32>, (tile, parts): (usize, Vec<&mut [f32]>)| {
        if log.is_cancelled() {
            return;
        }
        let first = tile * TILE;
        let voxels: Vec<u32> = (first as u32..n.min(first + TILE) as u32).collect();
        source.gather(&voxels, TILE, samples);
        for (part, row) in parts.into_iter().zip(samples.chunks(TILE)) {
            part.copy_from_slice(&row[..part.len()]);
        }
    };
    let room = || vec![0.0_f32; TILE * n_volumes];
    let tiles = || tiles.into_par_iter().enumerate().for_each_init(room, read);
    log.session().on.workers.install(tiles);
    Ok(log.check()?)
}

/// A series with its gradient table: directions are unit vectors, zero where a volume has none.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct SubjectArg<'py> {
    field: FieldArg<'py>,
    b: Vec<f64>,
    dirs: Vec<[f64; 3]>,
    b0_threshold: f64,
    /// The axes that directions are turned from into the scanner's; as they are where there are none.
    frame: Option<String>,
}

impl SubjectArg<'_> {
    pub(crate) fn given(self) -> PyResult<GivenSubject> {
        let Self { field, b, dirs, b0_threshold, frame } = self;
        let field = field.given()?;
        let (n, rows) = (field.source.n_volumes(), b.len());
        if rows != n || dirs.len() != n {
            return Err(PyValueError::new_err(format!(
                "data has {n} volumes, and the gradient table {rows} b-values and {} directions",
                dirs.len()
            )));
        }
        let mut gradients = GradientTable { b_s_per_mm2: b, dirs_ras: dirs, b0_threshold };
        if let Some(frame) = frame.as_deref() {
            let frame: BvecFrame = chosen("frame", frame)?;
            let turn = frame.ras_from_frame(&field.grid().ras_from_vox);
            gradients.dirs_ras.iter_mut().for_each(|dir| *dir = turned(&turn, *dir));
        }
        Ok(GivenSubject { field, gradients })
    }
}

/// What [`SubjectArg`] hands over.
pub(crate) struct GivenSubject {
    field: Given,
    gradients: GradientTable,
}

impl GivenSubject {
    /// On all voxels where there is no mask; with what the program says of a series that it opens.
    ///
    /// # Errors
    /// Those of the mask, and where nothing can be made of the table.
    pub(crate) fn subject(self, log: &Logbook<'_>) -> Result<Subject, StageError> {
        let Self { field, gradients } = self;
        let mask = field.voxels(log)?;
        let (grad_dev, carried) = (None, Carried::default());
        let subject = Subject { dwi: field.source, gradients, mask, grad_dev, carried };
        check_series(&subject, log)?;
        Ok(subject)
    }
}

/// What the program says of a series that it opens.
///
/// # Errors
/// Where nothing can be made of its table.
fn check_series(subject: &Subject, log: &Logbook<'_>) -> Result<(), Doubt> {
    let Subject { dwi, gradients, mask, .. } = subject;
    check_table(gradients, log)?;
    warn_of_decay(&**dwi, gradients, mask, log);
    Ok(())
}

/// Options, an object of JSON.
pub(crate) fn values(options: &str) -> PyResult<Values> {
    let values = serde_json::from_str::<serde_json::Value>(options);
    let values = values.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(values.as_object().cloned().unwrap_or_default())
}

/// Takes those out that are options of `T`.
pub(crate) fn taken_out<T: Options>(values: &mut Values) -> Values {
    let names = names_of::<T>();
    let is_one = |name: &String| names.contains(name);
    let (taken, left) = std::mem::take(values).into_iter().partition(|(name, _)| is_one(name));
    *values = left;
    taken
}

/// The names of the options `T`.
pub(crate) fn names_of<T: Options>() -> Vec<String> {
    let command = T::augment_args(clap::Command::new("options"));
    command.get_arguments().map(|arg| arg.get_id().to_string()).collect()
}

/// The value of this name.
pub(crate) fn chosen<T: Choice>(what: &str, name: &str) -> PyResult<T> {
    T::from_name(name).ok_or_else(|| {
        let names: Vec<_> = T::CHOICES.iter().map(|(_, name, _)| *name).collect();
        PyValueError::new_err(format!("{what} is `{name}`, and must be {}", names.join(", ")))
    })
}

/// Images by name.
pub(crate) fn maps_of<'py>(
    py: Python<'py>,
    images: impl IntoIterator<Item = (String, Image)>,
) -> PyResult<Bound<'py, PyDict>> {
    let maps = PyDict::new(py);
    for (name, image) in images {
        maps.set_item(name, array_of(py, image)?)?;
    }
    Ok(maps)
}
