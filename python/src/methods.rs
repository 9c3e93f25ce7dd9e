//! What the methods may be told, and the machine they run on.

use fimbria_compute::device::{Nvrtc, list};
use fimbria_pipeline::stages::connectome::CountConnections;
use fimbria_pipeline::stages::field::{FieldParameters, PhaseFiles};
use fimbria_pipeline::stages::life::{HinderedOptions, LifeParameters};
use fimbria_pipeline::stages::load_local_field::LocalFieldFiles;
use fimbria_pipeline::stages::peaks::PeaksParameters;
use fimbria_pipeline::stages::qsm::QsmParameters;
use fimbria_pipeline::stages::sift2::Sift2Parameters;
use fimbria_pipeline::stages::sticks::SticksParameters;
use fimbria_pipeline::stages::track::{AnatomyOptions, TrackParameters};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;

use crate::subject::names_of;

/// The names of the options of a method that is no fit.
#[pyfunction]
pub(crate) fn options_of(name: &str) -> PyResult<Vec<String>> {
    match name {
        "peaks" => Ok(names_of::<PeaksParameters>()),
        "sticks" => Ok(names_of::<SticksParameters>()),
        "track" => Ok([names_of::<TrackParameters>(), names_of::<AnatomyOptions>()].concat()),
        "connectome" => Ok(names_of::<CountConnections>()),
        "field" => Ok([names_of::<FieldParameters>(), names_of::<PhaseFiles>()].concat()),
        "qsm" => Ok([names_of::<QsmParameters>(), names_of::<LocalFieldFiles>()].concat()),
        "sift2" => Ok(names_of::<Sift2Parameters>()),
        "life" => Ok([names_of::<LifeParameters>(), names_of::<HinderedOptions>()].concat()),
        _ => Err(PyKeyError::new_err(format!("`{name}` is no method"))),
    }
}

/// Devices: how each is asked for, its name, its runtime, bytes of its memory.
#[pyfunction]
pub(crate) fn devices(py: Python<'_>) -> Vec<(String, String, String, u64)> {
    let found = py.detach(list);
    let gpus = found.gpus().enumerate().map(|(i, info)| (format!("gpu:{i}"), info));
    let opencl = found.opencl.iter().enumerate().map(|(i, info)| (format!("opencl:{i}"), info));
    let all = gpus.chain(opencl);
    all.map(|(asked, info)| (asked, info.name.clone(), info.runtime.to_string(), info.memory_bytes))
        .collect()
}

/// The version of NVRTC that is found, of all places that are looked in.
#[pyfunction]
pub(crate) fn nvrtc(py: Python<'_>) -> Option<(i32, i32)> {
    py.detach(|| Nvrtc::find().map(|found| found.version()))
}
