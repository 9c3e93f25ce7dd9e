//! What Python hands over: series with their tables, fields, masks, options.

use std::sync::Arc;

use fimbria_image::{Affine, GradientTable, Grid, Image, Mask, SignalSource};
use fimbria_pipeline::options::{Options, Values};
use fimbria_pipeline::stages::doubts::{Doubt, check_table, warn_of_decay};
use fimbria_pipeline::stages::load::Subject;
use fimbria_pipeline::{Carried, Choice, Logbook};
use numpy::{PyReadonlyArray3, PyUntypedArray};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{ArraySource, affine, array_of};
use crate::images::Series;

/// A series from a file, or an array with its affine.
#[derive(FromPyObject)]
pub(crate) enum Data<'py> {
    Series(PyRef<'py, Series>),
    Array(Bound<'py, PyUntypedArray>),
}

impl Data<'_> {
    pub(crate) fn source(
        &self,
        ras_from_vox: Affine,
    ) -> PyResult<Arc<dyn SignalSource + Send + Sync>> {
        Ok(match self {
            Self::Series(series) => series.stored.clone(),
            Self::Array(array) => Arc::new(ArraySource::new(array, ras_from_vox)?),
        })
    }
}

/// Numbers on a grid, and the voxels to work on.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct FieldArg<'py> {
    pub(crate) data: Data<'py>,
    /// Scanner mm from voxel.
    pub(crate) affine: Vec<[f64; 4]>,
    pub(crate) mask: Option<PyReadonlyArray3<'py, bool>>,
}

impl FieldArg<'_> {
    pub(crate) fn source(&self) -> PyResult<Arc<dyn SignalSource + Send + Sync>> {
        self.data.source(affine(&self.affine)?)
    }

    /// All numbers.
    pub(crate) fn image(&self) -> PyResult<Image> {
        let source = self.source()?;
        let (grid, n_volumes) = (*source.grid(), source.n_volumes());
        let mut image = Image::zeros(grid, n_volumes);
        let voxels = Mask::full(grid).voxels;
        source.gather(&voxels, grid.len(), &mut image.data);
        Ok(image)
    }

    /// The mask; `None` where none is given.
    pub(crate) fn mask(&self, grid: &Grid) -> PyResult<Option<Mask>> {
        self.mask.as_ref().map(|mask| mask_of(mask, grid)).transpose()
    }
}

/// A series with its gradient table: directions are unit vectors, zero where a volume has none.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct SubjectArg<'py> {
    field: FieldArg<'py>,
    b: Vec<f64>,
    dirs: Vec<[f64; 3]>,
    b0_threshold: f64,
}

impl SubjectArg<'_> {
    /// On all voxels where there is no mask.
    pub(crate) fn subject(self) -> PyResult<Subject> {
        let Self { field, b, dirs, b0_threshold } = self;
        let dwi = field.source()?;
        let (n, rows) = (dwi.n_volumes(), b.len());
        if rows != n || dirs.len() != n {
            return Err(PyValueError::new_err(format!(
                "data has {n} volumes, and the gradient table {rows} b-values and {} directions",
                dirs.len()
            )));
        }
        let gradients = GradientTable { b_s_per_mm2: b, dirs_ras: dirs, b0_threshold };
        let mask = field.mask(dwi.grid())?.unwrap_or_else(|| Mask::full(*dwi.grid()));
        Ok(Subject { dwi, gradients, mask, grad_dev: None, carried: Carried::default() })
    }
}

/// What the program says of a series that it opens.
///
/// # Errors
/// Where nothing can be made of its table.
pub(crate) fn check_series(subject: &Subject, log: &Logbook<'_>) -> Result<(), Doubt> {
    let Subject { dwi, gradients, mask, .. } = subject;
    check_table(gradients, log)?;
    warn_of_decay(&**dwi, gradients, mask, log);
    Ok(())
}

/// The voxels of `grid` that are true.
fn mask_of(mask: &PyReadonlyArray3<'_, bool>, grid: &Grid) -> PyResult<Mask> {
    let mask = mask.as_array();
    let [nx, ny, nz] = grid.dims;
    if mask.shape() != [nx, ny, nz] {
        return Err(PyValueError::new_err(format!(
            "mask has the shape {:?}, and the series {:?}",
            mask.shape(),
            grid.dims
        )));
    }
    let mut voxels = Vec::new();
    for z in 0..nz {
        for y in 0..ny {
            for x in 0..nx {
                if mask[[x, y, z]] {
                    voxels.push((x + nx * (y + ny * z)) as u32);
                }
            }
        }
    }
    if voxels.is_empty() {
        return Err(PyValueError::new_err("the mask has no voxel that is true"));
    }
    Ok(Mask { grid: *grid, voxels })
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
