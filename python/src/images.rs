//! Images that are read by fimbria itself.

use std::path::PathBuf;
use std::sync::Arc;

use fimbria_image::{GradientTable, SignalSource as _, StoredImage, read_image};
use fimbria_pipeline::stages::doubts::Doubt;
use fimbria_pipeline::stages::load::SubjectFiles;
use fimbria_pipeline::{Named, Page};
use numpy::PyArray2;
use pyo3::prelude::*;

use crate::arrays::array_of;
use crate::subject::chosen;
use crate::work::run_apart;

/// A series in its file, read where it is fitted, with its gradient table in scanner axes.
#[pyclass(frozen, module = "fimbria._core")]
pub(crate) struct Series {
    path: PathBuf,
    pub(crate) stored: Arc<StoredImage>,
    pub(crate) table: Option<GradientTable>,
    warnings: Vec<String>,
}

#[pymethods]
impl Series {
    /// The file.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// (x, y, z, volumes).
    #[getter]
    fn shape(&self) -> (usize, usize, usize, usize) {
        let [x, y, z] = self.stored.grid().dims;
        (x, y, z, self.stored.n_volumes())
    }

    /// Scanner RAS mm from voxel index, 4 x 4.
    #[getter]
    fn affine<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let mut rows: Vec<Vec<f64>> =
            self.stored.grid().ras_from_vox.0.iter().map(|row| row.to_vec()).collect();
        rows.push(vec![0.0, 0.0, 0.0, 1.0]);
        Ok(PyArray2::from_vec2(py, &rows)?)
    }

    /// b-values in s/mm² and unit directions in scanner RAS axes, where there are any.
    #[getter]
    fn gradients(&self) -> Option<(Vec<f64>, Vec<[f64; 3]>, f64)> {
        let table = self.table.as_ref()?;
        Some((table.b_s_per_mm2.clone(), table.dirs_ras.clone(), table.b0_threshold))
    }

    /// What was repaired in the gradient table, and what the image does not say.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// All samples as float32, `[x][y][z]` or `[x][y][z][volume]`.
    fn read<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let path = self.path.clone();
        let (image, _) = run_apart(py, move |log| {
            Ok(log.session().on.workers.install(|| read_image(&path))?)
        })?;
        array_of(py, image)
    }
}

/// Opens an image: NIfTI or .mif, compressed or not; its gradient table is looked for in the header, in
/// the files named, and beside it.
#[pyfunction]
#[pyo3(signature = (
    path, *, bval=None, bvec=None, grad=None, bmatrix=None, bvec_frame=None, bvalue_scaling=None,
    b0_threshold=None
))]
pub(crate) fn load(
    py: Python<'_>,
    path: PathBuf,
    bval: Option<PathBuf>,
    bvec: Option<PathBuf>,
    grad: Option<PathBuf>,
    bmatrix: Option<PathBuf>,
    bvec_frame: Option<&str>,
    bvalue_scaling: Option<&str>,
    b0_threshold: Option<f64>,
) -> PyResult<Series> {
    let mut files = SubjectFiles { bval, bvec, grad, bmatrix, ..SubjectFiles::new(path.clone()) };
    files.b0_threshold = b0_threshold;
    if let Some(name) = bvec_frame {
        files.bvec_frame = Named(chosen("bvec_frame", name)?);
    }
    if let Some(name) = bvalue_scaling {
        files.bvalue_scaling = Named(chosen("bvalue_scaling", name)?);
    }
    let ((stored, table), warnings) = run_apart(py, move |log| {
        let options = files.open_options();
        let stored =
            log.session().on.workers.install(|| StoredImage::open(&files.dwi, &options))?;
        let wanted = files.names_table() || stored.n_volumes() > 1;
        let read = wanted.then(|| files.read_gradients(&stored));
        let read = match read.transpose() {
            // Many images of several volumes are no series.
            Err(_) if !files.names_table() => None,
            read => read?,
        };
        for repair in read.iter().flat_map(|read| &read.repairs) {
            log.warn(Page::Troubleshooting, &repair.to_string());
        }
        if let Some(doubt) = Doubt::about_place(&stored) {
            let path = files.dwi.display();
            log.warn(Page::Troubleshooting, &format!("{path}: {doubt}"));
        }
        Ok((stored, read.map(|read| read.table)))
    })?;
    Ok(Series { path, stored: Arc::new(stored), table, warnings })
}
