use std::sync::Arc;

use rayon::prelude::*;
use realfft::{ComplexToReal, RealToComplex};

use super::columns::{Columns, Workspace};
use super::lines::reciprocal;
use super::volume::through_planes;
use super::{Complex, Fft1, FftError, Float, check_shape};
use crate::Workers;

/// The transform of a real volume: half the memory and work of a complex one.
///
/// The spectrum of a volume of shape (x, y, z) has shape (x / 2 + 1, y, z); the rest of it is the
/// complex conjugate of this half.
#[derive(Clone)]
pub struct RealFft3<T: Float> {
    rows: Arc<dyn RealToComplex<T>>,
    rows_back: Arc<dyn ComplexToReal<T>>,
    y: Fft1<T>,
    z: Fft1<T>,
}

impl<T: Float> RealFft3<T> {
    /// A plan for volumes of `shape` (x, y, z).
    ///
    /// # Errors
    /// Where a length is zero or has factors other than 2, 3, 5 and 7, or the volume could not be
    /// addressed.
    pub fn new(shape: [usize; 3]) -> Result<Self, FftError> {
        let [x, y, z] = check_shape(shape)?;
        let (rows, rows_back) = T::real_lines(x);
        Ok(Self { rows, rows_back, y: Fft1::new(y)?, z: Fft1::new(z)? })
    }

    /// Number of real elements along each axis.
    pub fn shape(&self) -> [usize; 3] {
        [self.rows.len(), self.y.length(), self.z.length()]
    }

    /// Number of elements of the spectrum along each axis.
    pub fn spectrum_shape(&self) -> [usize; 3] {
        [self.rows.complex_len(), self.y.length(), self.z.length()]
    }

    /// The `spectrum` of `volume`.
    ///
    /// # Panics
    /// Where either has another number of elements than its shape.
    pub fn forward(&self, workers: &Workers, volume: &[T], spectrum: &mut [Complex<T>]) {
        self.check(volume, spectrum);
        let [x, y, _] = self.shape();
        let half = self.rows.complex_len();
        let planes = volume.par_chunks(x * y).zip(spectrum.par_chunks_mut(half * y));
        workers.install(|| {
            let workspace = || {
                let (row, scratch) = (self.rows.make_input_vec(), self.rows.make_scratch_vec());
                (row, scratch, Workspace::new(&*self.y.forward))
            };
            planes.for_each_init(workspace, |(row, scratch, workspace), (from, to)| {
                for (from, to) in from.chunks_exact(x).zip(to.chunks_exact_mut(half)) {
                    row.copy_from_slice(from);
                    self.rows
                        .process_with_scratch(row, to, scratch)
                        .expect("the rows have the plan's lengths");
                }
                Columns::new(to, y).transform_all(&*self.y.forward, workspace);
            });
        });
        through_planes(workers, spectrum, &*self.z.forward, T::one());
    }

    /// The `volume` that has this `spectrum`, which is overwritten with intermediate results.
    ///
    /// # Panics
    /// Where either has another number of elements than its shape.
    pub fn inverse(&self, workers: &Workers, spectrum: &mut [Complex<T>], volume: &mut [T]) {
        self.check(volume, spectrum);
        let [x, y, z] = self.shape();
        let half = self.rows.complex_len();
        through_planes(workers, spectrum, &*self.z.inverse, reciprocal(x * y * z));
        let planes = spectrum.par_chunks_mut(half * y).zip(volume.par_chunks_mut(x * y));
        workers.install(|| {
            let workspace =
                || (self.rows_back.make_scratch_vec(), Workspace::new(&*self.y.inverse));
            planes.for_each_init(workspace, |(scratch, workspace), (from, to)| {
                Columns::new(from, y).transform_all(&*self.y.inverse, workspace);
                for (from, to) in from.chunks_exact_mut(half).zip(to.chunks_exact_mut(x)) {
                    // Real in a real signal's spectrum, up to rounding.
                    from[0].im = T::zero();
                    if x.is_multiple_of(2) {
                        from[half - 1].im = T::zero();
                    }
                    self.rows_back
                        .process_with_scratch(from, to, scratch)
                        .expect("the rows have the plan's lengths and real ends");
                }
            });
        });
    }

    fn check(&self, volume: &[T], spectrum: &[Complex<T>]) {
        let elements = |shape: [usize; 3]| shape.iter().product::<usize>();
        assert_eq!(volume.len(), elements(self.shape()), "not a volume of this plan");
        assert_eq!(spectrum.len(), elements(self.spectrum_shape()), "not a spectrum of this plan");
    }
}
