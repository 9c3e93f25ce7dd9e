//! Arrays of NumPy as they lie in memory, without a copy.

use fimbria_image::{Affine, Grid, Image, SignalSource};
use numpy::{
    Element, PyArray1, PyArrayDyn, PyArrayMethods as _, PyUntypedArray, PyUntypedArrayMethods as _,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The numbers that a series is read as, whatever an array stores.
#[derive(Clone, Copy)]
enum Stored {
    F32,
    F64,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
}

/// A series `[x][y][z][volume]` in an array of any order, kept alive while it is read. Whoever writes to
/// the array meanwhile changes what is fitted.
pub(crate) struct ArraySource {
    grid: Grid,
    n_volumes: usize,
    stored: Stored,
    first: *const u8,
    /// Bytes from one entry to the next along x, y, z and volumes.
    steps: [isize; 4],
    _array: Py<PyUntypedArray>,
}

// SAFETY: the samples are read only, and the array that holds them is kept.
unsafe impl Send for ArraySource {}
// SAFETY: as above.
unsafe impl Sync for ArraySource {}

impl ArraySource {
    /// Of an array with four axes.
    pub(crate) fn new(array: &Bound<'_, PyUntypedArray>, affine: Affine) -> PyResult<Self> {
        let &[nx, ny, nz, n_volumes] = array.shape() else {
            return Err(PyValueError::new_err(format!(
                "data has {} axes and must have 4: x, y, z, volume",
                array.ndim()
            )));
        };
        let (stored, first) = as_stored(array).ok_or_else(|| {
            PyTypeError::new_err(format!(
                "data is of type {}, which is not read: convert it with data.astype(\"float32\")",
                array.dtype()
            ))
        })?;
        let dims = [nx, ny, nz];
        let voxels = dims.iter().try_fold(1usize, |n, &size| n.checked_mul(size));
        if n_volumes == 0 || voxels.is_none_or(|n| n == 0 || u32::try_from(n).is_err()) {
            return Err(PyValueError::new_err(format!(
                "data of shape {:?} has no voxels, or more than are counted",
                array.shape()
            )));
        }
        let strides = array.strides();
        Ok(Self {
            grid: Grid { dims, ras_from_vox: affine },
            n_volumes,
            stored,
            first,
            steps: std::array::from_fn(|axis| strides[axis]),
            _array: array.clone().unbind(),
        })
    }

    fn gather_as<T: Copy>(
        &self,
        voxels: &[u32],
        rows: &mut [&mut [f32]],
        number: impl Fn(T) -> f32,
    ) {
        let [nx, ny, nz] = self.grid.dims;
        let [sx, sy, sz, sv] = self.steps;
        let rows = &mut rows[..self.n_volumes];
        let at = |voxel: u32| {
            let voxel = voxel as usize;
            let (x, y, z) = (voxel % nx, voxel / nx % ny, voxel / (nx * ny));
            assert!(z < nz, "voxel {voxel} is outside the grid");
            x as isize * sx + y as isize * sy + z as isize * sz
        };
        // SAFETY: x, y, z and volume are within the shape that the steps belong to; an array may be
        // unaligned.
        let sample = |offset: isize, volume: usize| unsafe {
            self.first.offset(offset + volume as isize * sv).cast::<T>().read_unaligned()
        };
        // The axis that lies close together in memory goes inside.
        if sv.unsigned_abs() <= sx.unsigned_abs() {
            for (l, &voxel) in voxels.iter().enumerate() {
                let offset = at(voxel);
                for (v, row) in rows.iter_mut().enumerate() {
                    row[l] = number(sample(offset, v));
                }
            }
        } else {
            // Where voxels lie is the same in every volume, and takes two divisions to find.
            let offsets: Vec<isize> = voxels.iter().map(|&voxel| at(voxel)).collect();
            for (v, row) in rows.iter_mut().enumerate() {
                for (to, &offset) in row[..offsets.len()].iter_mut().zip(&offsets) {
                    *to = number(sample(offset, v));
                }
            }
        }
    }
}

impl SignalSource for ArraySource {
    fn grid(&self) -> &Grid {
        &self.grid
    }

    fn n_volumes(&self) -> usize {
        self.n_volumes
    }

    fn gather_rows(&self, voxels: &[u32], rows: &mut [&mut [f32]]) {
        match self.stored {
            Stored::F32 => self.gather_as(voxels, rows, |x: f32| x),
            Stored::F64 => self.gather_as(voxels, rows, |x: f64| x as f32),
            Stored::I8 => self.gather_as(voxels, rows, |x: i8| f32::from(x)),
            Stored::U8 => self.gather_as(voxels, rows, |x: u8| f32::from(x)),
            Stored::I16 => self.gather_as(voxels, rows, |x: i16| f32::from(x)),
            Stored::U16 => self.gather_as(voxels, rows, |x: u16| f32::from(x)),
            Stored::I32 => self.gather_as(voxels, rows, |x: i32| x as f32),
            Stored::U32 => self.gather_as(voxels, rows, |x: u32| x as f32),
        }
    }
}

/// What an array stores, and where its first entry is; `None` for numbers that are not read.
fn as_stored(array: &Bound<'_, PyUntypedArray>) -> Option<(Stored, *const u8)> {
    fn first<T: Element>(array: &Bound<'_, PyUntypedArray>) -> Option<*const u8> {
        Some(array.cast::<PyArrayDyn<T>>().ok()?.data().cast_const().cast())
    }
    let all = [
        (Stored::F32, first::<f32>(array)),
        (Stored::F64, first::<f64>(array)),
        (Stored::I8, first::<i8>(array)),
        (Stored::U8, first::<u8>(array)),
        (Stored::U8, first::<bool>(array)),
        (Stored::I16, first::<i16>(array)),
        (Stored::U16, first::<u16>(array)),
        (Stored::I32, first::<i32>(array)),
        (Stored::U32, first::<u32>(array)),
    ];
    all.into_iter().find_map(|(stored, first)| Some((stored, first?)))
}

/// An affine of NumPy, the upper three rows or all four.
pub(crate) fn affine(rows: &[[f64; 4]]) -> PyResult<Affine> {
    let bad = || PyValueError::new_err("affine must be 3 x 4 or 4 x 4 finite numbers");
    if !(3..=4).contains(&rows.len()) || rows.as_flattened().iter().any(|x| !x.is_finite()) {
        return Err(bad());
    }
    Ok(Affine([rows[0], rows[1], rows[2]]))
}

/// An image as an array `[x][y][z]` or `[x][y][z][volume]` in Fortran's order; its memory is handed over.
pub(crate) fn array_of(py: Python<'_>, image: Image) -> PyResult<Bound<'_, PyAny>> {
    let [nx, ny, nz] = image.grid.dims;
    let flat = PyArray1::from_vec(py, image.data);
    let order = numpy::npyffi::NPY_ORDER::NPY_FORTRANORDER;
    Ok(match image.n_volumes {
        1 => flat.reshape_with_order([nx, ny, nz], order)?.into_any(),
        n => flat.reshape_with_order([nx, ny, nz, n], order)?.into_any(),
    })
}
