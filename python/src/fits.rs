//! The fits, as the pipeline describes them.

use std::sync::Arc;

use fimbria_image::{Affine, GradientTable, Grid, Mask, SignalSource};
use fimbria_pipeline::stages::fits::{FITS, Fit, fit_named};
use fimbria_pipeline::stages::load::Subject;
use fimbria_pipeline::{Carried, MapStyle, Products};
use numpy::{PyReadonlyArray3, PyUntypedArray};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{ArraySource, affine, array_of};
use crate::images::Series;
use crate::work::run;

/// The names of all fits.
#[pyfunction]
pub(crate) fn fit_names() -> Vec<&'static str> {
    FITS.iter().map(|fit| fit.name()).collect()
}

/// The names of a fit's options, as `fit` takes them.
#[pyfunction]
pub(crate) fn fit_options(name: &str) -> PyResult<Vec<String>> {
    let command = fit_by_name(name)?.options(clap::Command::new("fit"));
    Ok(command.get_arguments().map(|arg| arg.get_id().to_string()).collect())
}

fn fit_by_name(name: &str) -> PyResult<&'static dyn Fit> {
    fit_named(name).ok_or_else(|| {
        PyKeyError::new_err(format!("`{name}` is no fit; there are {}", fit_names().join(", ")))
    })
}

/// A series from a file, or an array with its affine.
#[derive(FromPyObject)]
pub(crate) enum Data<'py> {
    Series(PyRef<'py, Series>),
    Array(Bound<'py, PyUntypedArray>),
}

impl Data<'_> {
    fn source(&self, ras_from_vox: Affine) -> PyResult<Arc<dyn SignalSource + Send + Sync>> {
        Ok(match self {
            Self::Series(series) => series.stored.clone(),
            Self::Array(array) => Arc::new(ArraySource::new(array, ras_from_vox)?),
        })
    }
}

/// Fits the model `name` to `data`. Directions are unit vectors, zero where a volume has none; maps that
/// have directions are in the same axes. `options` is an object of JSON. Gives the maps by name, what was
/// warned of, how many voxels have which status, and the seconds it took.
#[pyfunction]
#[pyo3(signature = (name, data, b, dirs, b0_threshold, mask, options, affine_rows, threads, progress))]
pub(crate) fn fit<'py>(
    py: Python<'py>,
    name: &str,
    data: Data<'py>,
    b: Vec<f64>,
    dirs: Vec<[f64; 3]>,
    b0_threshold: f64,
    mask: Option<PyReadonlyArray3<'py, bool>>,
    options: &str,
    affine_rows: Vec<[f64; 4]>,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let fit = fit_by_name(name)?;
    let values = serde_json::from_str::<serde_json::Value>(options);
    let values = values.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let values = values.as_object().cloned().unwrap_or_default();

    let dwi = data.source(affine(&affine_rows)?)?;
    let (n, rows) = (dwi.n_volumes(), b.len());
    if rows != n || dirs.len() != n {
        return Err(PyValueError::new_err(format!(
            "data has {n} volumes, and the gradient table {rows} b-values and {} directions",
            dirs.len()
        )));
    }
    let gradients = GradientTable { b_s_per_mm2: b, dirs_ras: dirs, b0_threshold };
    let mask = match mask {
        Some(mask) => mask_of(&mask, dwi.grid())?,
        None => Mask::full(*dwi.grid()),
    };
    let subject = Subject { dwi, gradients, mask, grad_dev: None, carried: Carried::default() };
    let (outcome, warnings) = run(py, threads, progress.as_ref(), move |log| {
        let stage = fit.of_values(&values, MapStyle::default(), String::new())?;
        let mut products = Products::default();
        products.put(subject);
        stage.compute(&mut products, log)?;
        Ok(stage.take_outcome(&mut products)?)
    })?;

    let result = PyDict::new(py);
    let maps = PyDict::new(py);
    for map in outcome.fitted.maps {
        maps.set_item(map.spec.name.as_ref(), array_of(py, map.image)?)?;
    }
    result.set_item("maps", maps)?;
    result.set_item("texts", outcome.texts)?;
    result.set_item("warnings", warnings)?;
    result.set_item("seconds", outcome.fitted.seconds)?;
    Ok(result)
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
