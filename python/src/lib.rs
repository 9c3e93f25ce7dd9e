//! `fimbria._core`: what the Python package asks of the crates. Its functions take what the package has
//! checked and named; users see the package.

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

mod arrays;
mod eigen;
mod fits;
mod images;
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
    module.add_function(wrap_pyfunction!(fits::fit_names, module)?)?;
    module.add_function(wrap_pyfunction!(fits::fit_options, module)?)?;
    module.add_function(wrap_pyfunction!(eigen::eigenpairs, module)?)?;
    module.add_function(wrap_pyfunction!(eigen::index_classes, module)?)?;
    Ok(())
}
