use rayon::prelude::*;
use rustfft::Fft;

use super::columns::{Columns, Workspace};
use super::lines::{reciprocal, scratch};
use super::{Complex, Fft1, FftError, Float, check_shape};
use crate::Workers;

/// The transform of a complex volume along its three axes.
#[derive(Clone)]
pub struct Fft3<T: Float> {
    axes: [Fft1<T>; 3],
}

impl<T: Float> Fft3<T> {
    /// A plan for volumes of `shape` (x, y, z).
    ///
    /// # Errors
    /// Where a length is zero or has factors other than 2, 3, 5 and 7, or the volume could not be
    /// addressed.
    pub fn new(shape: [usize; 3]) -> Result<Self, FftError> {
        let [x, y, z] = check_shape(shape)?;
        Ok(Self { axes: [Fft1::new(x)?, Fft1::new(y)?, Fft1::new(z)?] })
    }

    /// Number of elements along each axis.
    pub fn shape(&self) -> [usize; 3] {
        [0, 1, 2].map(|axis| self.axes[axis].length())
    }

    /// Number of elements of the volume.
    pub fn elements(&self) -> usize {
        self.shape().iter().product()
    }

    /// Transforms `data` in place.
    ///
    /// # Panics
    /// Where `data` is not one volume.
    pub fn forward(&self, workers: &Workers, data: &mut [Complex<T>]) {
        self.transform(workers, data, |axis| &*self.axes[axis].forward, T::one());
    }

    /// Undoes [`forward`](Self::forward).
    ///
    /// # Panics
    /// Where `data` is not one volume.
    pub fn inverse(&self, workers: &Workers, data: &mut [Complex<T>]) {
        let scale = reciprocal(self.elements());
        self.transform(workers, data, |axis| &*self.axes[axis].inverse, scale);
    }

    fn transform<'a>(
        &'a self,
        workers: &Workers,
        data: &mut [Complex<T>],
        fft: impl Fn(usize) -> &'a dyn Fft<T>,
        scale: T,
    ) {
        assert_eq!(data.len(), self.elements(), "not a volume of this plan");
        let [x, y, z] = [fft(0), fft(1), fft(2)];
        // Rows and columns of one plane after the other, while it is in the cache.
        let planes = data.par_chunks_mut(x.len() * y.len());
        workers.install(|| {
            let workspace = || (scratch(x), Workspace::new(y));
            planes.for_each_init(workspace, |(scratch, workspace), plane| {
                x.process_with_scratch(plane, scratch);
                Columns::new(plane, y.len()).transform_all(y, workspace);
            });
        });
        through_planes(workers, data, z, scale);
    }
}

/// Transforms `data` along its last axis, of the length of `fft`, and multiplies it by `scale`.
pub(super) fn through_planes<T: Float>(
    workers: &Workers,
    data: &mut [Complex<T>],
    fft: &dyn Fft<T>,
    scale: T,
) {
    let columns = Columns::new(data, fft.len());
    workers.install(|| {
        let blocks = (0..columns.blocks()).into_par_iter();
        blocks.for_each_init(
            || Workspace::new(fft),
            // SAFETY: each block is given to one call.
            |workspace, block| unsafe { columns.transform(block, fft, scale, workspace) },
        );
    });
}
