//! The fits, as the pipeline describes them.

use std::path::PathBuf;

use fimbria_pipeline::stages::fits::{FITS, Fit, fit_named};
use fimbria_pipeline::{MapStyle, Products, RunConfig};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::FimbriaError;
use crate::subject::{SubjectArg, maps_of, values};
use crate::work::{Machine, chain, run};

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

/// The name of the fit of a file with a model, and its options, an object of JSON.
#[pyfunction]
pub(crate) fn fit_of_file(path: PathBuf) -> PyResult<(&'static str, String)> {
    let (fit, values) = RunConfig::read_fit(&path).map_err(|e| FimbriaError::new_err(chain(&e)))?;
    Ok((fit.name(), serde_json::Value::Object(values).to_string()))
}

/// Fails where the fit cannot be told these options.
#[pyfunction]
pub(crate) fn check_fit(name: &str, options: &str) -> PyResult<()> {
    let made = fit_by_name(name)?.of_values(&values(options)?, MapStyle::default(), String::new());
    made.map(|_| ()).map_err(|error| FimbriaError::new_err(chain(&error)))
}

/// Fits the model `name` to a series. Maps that have directions are in the axes of its table. `options` is
/// an object of JSON. Gives the maps by name, texts, and what was said.
#[pyfunction]
pub(crate) fn fit<'py>(
    py: Python<'py>,
    name: &str,
    series: SubjectArg<'py>,
    options: &str,
    machine: Machine,
) -> PyResult<Bound<'py, PyDict>> {
    let fit = fit_by_name(name)?;
    let (values, given) = (values(options)?, series.given()?);
    let (outcome, said) = run(py, &machine, move |log| {
        let stage = fit.of_values(&values, MapStyle::default(), String::new())?;
        let mut products = Products::default();
        products.put(given.subject(log)?);
        stage.compute(&mut products, log)?;
        Ok(stage.take_outcome(&mut products)?)
    })?;

    let result = PyDict::new(py);
    let maps = outcome.fitted.maps.into_iter();
    let maps = maps.map(|map| (map.spec.name.into_owned(), map.image));
    result.set_item("maps", maps_of(py, maps)?)?;
    result.set_item("texts", outcome.texts)?;
    said.put_into(&result)?;
    Ok(result)
}
