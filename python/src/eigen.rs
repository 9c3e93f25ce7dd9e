//! Eigenpairs of symmetric tensors.

use fimbria_compute::Progress as _;
use fimbria_pipeline::StageError;
use fimbria_tensors::layout::Layout;
use fimbria_tensors::pairs::{PairFinder, Search};
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods as _};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::work::{Machine, chain, run};

/// λ, x, kind, residual, whether degenerate.
type Pair = (f64, Vec<f64>, &'static str, f64, bool);

/// The index classes of a symmetric tensor, in the order of its entries.
#[pyfunction]
pub(crate) fn index_classes(order: usize, dimension: usize) -> PyResult<Vec<Vec<usize>>> {
    let layout = Layout::new(order, dimension);
    let layout = layout.map_err(|error| PyValueError::new_err(chain(&error)))?;
    Ok(layout.index_classes().collect())
}

/// All real eigenpairs of each tensor, a row of unique entries each, and whether none is missing.
#[pyfunction]
pub(crate) fn eigenpairs(
    py: Python<'_>,
    entries: PyReadonlyArray2<'_, f64>,
    order: usize,
    dimension: usize,
    starts: Option<usize>,
    seed: u64,
    tolerance: f64,
    machine: Machine,
) -> PyResult<Vec<(Vec<Pair>, bool)>> {
    let finder = PairFinder::new(order, dimension);
    let finder = finder.map_err(|error| PyValueError::new_err(chain(&error)))?;
    let wanted = index_classes(order, dimension)?.len();
    if entries.shape()[1] != wanted {
        let got = entries.shape()[1];
        return Err(PyValueError::new_err(format!(
            "rows have {got} entries and must have {wanted}"
        )));
    }
    let rows: Vec<Vec<f64>> = entries.as_array().rows().into_iter().map(|r| r.to_vec()).collect();
    let search = Search { starts, seed, tolerance };
    let (found, _) = run(py, &machine, |log| {
        log.start("finding eigenpairs", rows.len() as u64);
        log.session().on.workers.install(|| {
            let tensors = rows.par_iter().enumerate();
            tensors
                .map(|(index, entries)| {
                    let found = finder.find(entries, None, index as u64, &search, log)?;
                    log.advance(1);
                    let pairs = found.pairs.into_iter();
                    let pairs =
                        pairs.map(|p| (p.lambda, p.x, p.kind.name(), p.residual, p.degenerate));
                    Ok((pairs.collect(), found.balanced))
                })
                .collect::<Result<_, StageError>>()
        })
    })?;
    Ok(found)
}
