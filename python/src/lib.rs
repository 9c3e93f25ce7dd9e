//! `fimbria._core`: what the Python package asks of the crates. Its functions take what the package has
//! checked and named; users see the package.

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

mod arrays;
mod connections;
mod directions;
mod eigen;
mod fits;
mod images;
mod lines;
mod methods;
mod subject;
mod susceptibility;
mod work;

create_exception!(fimbria, FimbriaError, PyValueError, "What fimbria cannot do, in a sentence.");

/// The module.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("FimbriaError", py.get_type::<FimbriaError>())?;
    module.add_class::<images::Series>()?;
    module.add_function(wrap_pyfunction!(images::load, module)?)?;
    module.add_function(wrap_pyfunction!(fits::fit, module)?)?;
    module.add_function(wrap_pyfunction!(fits::check_fit, module)?)?;
    module.add_function(wrap_pyfunction!(fits::fit_of_file, module)?)?;
    module.add_function(wrap_pyfunction!(fits::fit_names, module)?)?;
    module.add_function(wrap_pyfunction!(fits::fit_options, module)?)?;
    module.add_class::<directions::Samples>()?;
    module.add_class::<lines::Lines>()?;
    module.add_class::<lines::LineFile>()?;
    module.add_class::<lines::LineWriter>()?;
    module.add_function(wrap_pyfunction!(methods::options_of, module)?)?;
    module.add_function(wrap_pyfunction!(methods::devices, module)?)?;
    module.add_function(wrap_pyfunction!(methods::nvrtc, module)?)?;
    module.add_function(wrap_pyfunction!(directions::peaks, module)?)?;
    module.add_function(wrap_pyfunction!(directions::sample_sticks, module)?)?;
    module.add_function(wrap_pyfunction!(directions::track, module)?)?;
    module.add_function(wrap_pyfunction!(connections::connectome, module)?)?;
    module.add_function(wrap_pyfunction!(connections::life, module)?)?;
    module.add_function(wrap_pyfunction!(connections::sift2, module)?)?;
    module.add_function(wrap_pyfunction!(susceptibility::local_field, module)?)?;
    module.add_function(wrap_pyfunction!(susceptibility::qsm, module)?)?;
    module.add_function(wrap_pyfunction!(eigen::eigenpairs, module)?)?;
    module.add_function(wrap_pyfunction!(eigen::index_classes, module)?)?;
    Ok(())
}
