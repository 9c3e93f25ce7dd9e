//! What streamlines connect, and what they are worth.

use std::path::PathBuf;

use fimbria_compute::Progress as _;
use fimbria_life::sift2::{Sift2, Sift2Step};
use fimbria_pipeline::options::from_values;
use fimbria_pipeline::stages::connectome::{Connections, CountConnections, GivenLabels};
use fimbria_pipeline::stages::life::{Evaluation, Life, LifeFiles, LifeParameters};
use fimbria_pipeline::stages::sift2::{Sift2Parameters, WeighByDensities};
use fimbria_pipeline::{MapStyle, Products, Stage as _};
use numpy::{PyArray1, PyArrayMethods as _};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::directions::FunctionArg;
use crate::lines::Lines;
use crate::subject::{FieldArg, SubjectArg, maps_of, values};
use crate::work::{Machine, run};

/// Counts streamlines between labels: matrices, and the label of each row.
#[pyfunction]
pub(crate) fn connectome<'py>(
    py: Python<'py>,
    lines: &Lines,
    labels: FieldArg<'py>,
    options: &str,
    machine: Machine,
) -> PyResult<Bound<'py, PyDict>> {
    let (given, labels) = (lines.given(), labels.given()?);
    let mut values = values(options)?;
    // What is in memory is read in their place.
    for file in ["tractogram", "labels"] {
        values.insert(file.to_owned(), file.into());
    }
    let (counted, said) = run(py, &machine, move |log| {
        let stage: CountConnections = from_values(&values)?;
        let mut products = Products::default();
        products.put(given);
        products.put(GivenLabels(labels.image(log)?));
        stage.compute(&mut products, log)?;
        Ok(products.take::<Connections>()?)
    })?;
    let Connections { connectome, labels, .. } = counted;
    let n = labels.len();
    let result = PyDict::new(py);
    let matrix = |values| PyArray1::from_vec(py, values).reshape([n, n]);
    result.set_item("weights", matrix(connectome.weights())?)?;
    result.set_item("lengths", matrix(connectome.mean_lengths_mm())?)?;
    result.set_item("labels", PyArray1::from_vec(py, labels))?;
    said.put_into(&result)?;
    Ok(result)
}

/// Weighs streamlines by how they explain a series: weights, maps of errors, what sets are worth.
#[pyfunction]
pub(crate) fn life<'py>(
    py: Python<'py>,
    lines: &Lines,
    series: SubjectArg<'py>,
    options: &str,
    machine: Machine,
) -> PyResult<Bound<'py, PyDict>> {
    let (given, values, series) = (lines.given(), values(options)?, series.given()?);
    let ((evaluation, maps), said) = run(py, &machine, move |log| {
        let parameters: LifeParameters = from_values(&values)?;
        let subject = series.subject(log)?;
        let table = subject.gradients.clone();
        let life = Life {
            files: LifeFiles::default(),
            second: None,
            parameters,
            style: MapStyle::default(),
            entities: String::new(),
            checkpoint: None,
            memory: None,
        };
        let mut products = Products::default();
        products.put(subject);
        products.put(given);
        life.compute(&mut products, log)?;
        log.check()?;
        let evaluation = products.take::<Evaluation>()?;
        let maps = evaluation.maps(&table);
        Ok((evaluation, maps))
    })?;
    let result = PyDict::new(py);
    let maps = maps.into_iter().map(|(spec, image)| (spec.name.into_owned(), image));
    result.set_item("maps", maps_of(py, maps)?)?;
    let lesions = PyDict::new(py);
    for (name, lesion) in &evaluation.lesions {
        let found = PyDict::new(py);
        found.set_item("streamlines", lesion.streamlines)?;
        found.set_item("kept", lesion.kept)?;
        found.set_item("weight", lesion.weight)?;
        found.set_item("voxels", lesion.voxels)?;
        found.set_item("rmse", lesion.rmse)?;
        found.set_item("rmse_lesioned", lesion.rmse_lesioned)?;
        found.set_item("strength", lesion.comparison.strength)?;
        found.set_item("earth_mover", lesion.comparison.earth_mover)?;
        lesions.set_item(name, found)?;
    }
    result.set_item("lesions", lesions)?;
    result.set_item("weights", PyArray1::from_vec(py, evaluation.weights.streamlines))?;
    said.put_into(&result)?;
    Ok(result)
}

/// Weighs streamlines by the density of fibres: weights, mu, and objective and misfit of each iteration.
#[pyfunction]
pub(crate) fn sift2<'py>(
    py: Python<'py>,
    lines: &Lines,
    densities: FunctionArg<'py>,
    act: Option<PathBuf>,
    options: &str,
    machine: Machine,
) -> PyResult<Bound<'py, PyDict>> {
    let (given, values, function) = (lines.given(), values(options)?, densities.function()?);
    let (found, said) = run(py, &machine, move |log| {
        let parameters: Sift2Parameters = from_values(&values)?;
        let mut products = Products::default();
        products.put(function.read(log)?);
        products.put(given);
        let stage = WeighByDensities { tractogram: PathBuf::from("tractogram"), act, parameters };
        stage.compute(&mut products, log)?;
        Ok(products.take::<Sift2>()?)
    })?;
    let result = PyDict::new(py);
    let row = |step: &Sift2Step| [step.objective, step.error];
    let rows: Vec<f64> = found.steps.iter().flat_map(row).collect();
    let n = found.steps.len();
    result.set_item("iterations", PyArray1::from_vec(py, rows).reshape([n, 2])?)?;
    result.set_item("weights", PyArray1::from_vec(py, found.weights))?;
    result.set_item("mu", found.mu)?;
    said.put_into(&result)?;
    Ok(result)
}
