//! What streamlines connect, and what they are worth.

use std::path::PathBuf;

use fimbria_compute::Progress as _;
use fimbria_life::sift2::{Sift2, Sift2Step};
use fimbria_pipeline::options::from_values;
use fimbria_pipeline::stages::connectome::{Connections, CountConnections, GivenLabels, GivenMaps};
use fimbria_pipeline::stages::life::{
    Evaluation, HinderedOptions, Life, LifeFiles, LifeParameters,
};
use fimbria_pipeline::stages::sift2::{Sift2Parameters, WeighByDensities};
use fimbria_pipeline::{Choice as _, MapStyle, Products, Stage as _, StageError};
use numpy::{PyArray1, PyArrayMethods as _};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::directions::FunctionArg;
use crate::lines::Lines;
use crate::subject::{FieldArg, SubjectArg, maps_of, taken_out, values};
use crate::work::{Machine, run};

/// Counts streamlines between labels: matrices, and the label of each row.
#[pyfunction]
pub(crate) fn connectome<'py>(
    py: Python<'py>,
    lines: &Lines,
    labels: FieldArg<'py>,
    maps: Vec<(String, FieldArg<'py>)>,
    options: &str,
    machine: Machine,
) -> PyResult<Bound<'py, PyDict>> {
    let (given, labels) = (lines.given(), labels.given()?);
    let maps = maps.into_iter().map(|(name, map)| Ok((name, map.given()?)));
    let maps: Vec<_> = maps.collect::<PyResult<_>>()?;
    let mut values = values(options)?;
    // What is in memory is read in their place.
    for file in ["tractogram", "labels"] {
        values.insert(file.to_owned(), file.into());
    }
    let ((matrices, labels, of_edge), said) = run(py, &machine, move |log| {
        let stage: CountConnections = from_values(&values)?;
        let mut products = Products::default();
        products.put(given);
        products.put(GivenLabels(labels.image(log)?));
        let maps = maps.into_iter().map(|(name, map)| Ok((name, map.image(log)?)));
        products.put(GivenMaps(maps.collect::<Result<_, StageError>>()?));
        stage.compute(&mut products, log)?;
        let counted = products.take::<Connections>()?;
        let of_edge = format!("{}_", stage.edges.of_edge.0.name());
        Ok((stage.edges.matrices(&counted), counted.labels, of_edge))
    })?;
    let n = labels.len();
    let (result, means) = (PyDict::new(py), PyDict::new(py));
    for (name, values) in matrices {
        let matrix = PyArray1::from_vec(py, values).reshape([n, n])?;
        match (name.strip_prefix(&of_edge), name.as_str()) {
            (Some(map), _) => means.set_item(map, matrix)?,
            // How much was done has that name.
            (None, "counts") => result.set_item("numbers", matrix)?,
            (None, name) => result.set_item(name, matrix)?,
        }
    }
    result.set_item("means", means)?;
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
    let (given, mut values, series) = (lines.given(), values(options)?, series.given()?);
    let ((evaluation, maps), said) = run(py, &machine, move |log| {
        let hindered = from_values(&taken_out::<HinderedOptions>(&mut values))?;
        let parameters: LifeParameters = from_values(&values)?;
        let subject = series.subject(log)?;
        let life = Life {
            files: LifeFiles::default(),
            second: None,
            parameters,
            hindered,
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
        let mut evaluation = products.take::<Evaluation>()?;
        let mut maps = evaluation.maps();
        let prediction = evaluation.prediction.take();
        maps.extend(prediction.map(|prediction| (prediction.map(), prediction.into_image())));
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
        let tractogram = PathBuf::from("tractogram");
        let stage = WeighByDensities { tractogram, act, start: None, parameters, memory: None };
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
