//! Transforms on devices: Stockham's passes, each over the whole volume.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::f64::consts::TAU;
use std::fmt::Write as _;

use super::codelet::codelet;
use super::{Complex32, FftError, check_shape};
use crate::device::{Argument, Buffer, Device, DeviceError, Kernel, KernelSource, Launch};

/// Why a transform on a device cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceFftError {
    /// There is no plan for the shape.
    #[error(transparent)]
    Plan(#[from] FftError),
    /// The device refuses.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// The transform of complex arrays on a device, along some or all of three axes; the definition
/// is that of the [module](super). Along axis 0 alone it is a batch of lines.
///
/// A pass of radix r reads r elements, a r-th of the line apart, transforms them in registers,
/// turns them and writes them side by side; after as many passes as the length has radices the
/// result is in order. Neighbouring lines only lengthen the stride, so that every axis runs the
/// same kernels. The largest error grows as log2 n, like that of any fast transform: below
/// [`error_bound`](Self::error_bound).
pub struct DeviceFft {
    device: Device,
    shape: [usize; 3],
    transformed: usize,
    passes: Vec<Pass>,
    /// exp(-2πi j/n), j < n, for each length n.
    turns: BTreeMap<usize, Buffer<Complex32>>,
    /// By radix.
    kernels: BTreeMap<usize, Kernel>,
}

/// One pass over the volume along an axis of `length`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pass {
    length: usize,
    radix: usize,
    /// The axis's own stride times the radices before.
    stride: usize,
    /// Product of the radices to come.
    rest: usize,
    /// Product of the radices before.
    done: usize,
}

impl DeviceFft {
    /// A plan for arrays of `shape` (x fastest) along `axes` (each 0, 1 or 2, named once).
    ///
    /// # Errors
    /// Where a length has factors other than 2, 3, 5 and 7 or the array has 2³² elements or more;
    /// where the device refuses.
    ///
    /// # Panics
    /// Where an axis is not 0, 1 or 2.
    pub fn new(device: &Device, shape: [usize; 3], axes: &[usize]) -> Result<Self, DeviceFftError> {
        check_shape(shape)?;
        let elements: usize = shape.iter().product();
        // Kernels count elements in 32 bits.
        if u32::try_from(elements).is_err() {
            return Err(FftError::TooLarge { shape }.into());
        }
        let passes: Vec<Pass> = axes.iter().flat_map(|&axis| passes_along(shape, axis)).collect();
        let (mut turns, mut kernels) = (BTreeMap::new(), BTreeMap::new());
        for &Pass { length, radix, .. } in &passes {
            if let Entry::Vacant(missing) = turns.entry(length) {
                missing.insert(device.upload(&turns_of(length))?);
            }
            if let Entry::Vacant(missing) = kernels.entry(radix) {
                missing.insert(device.kernel(&source(radix), "fft_pass")?);
            }
        }
        let transformed = axes.iter().map(|&axis| shape[axis]).product();
        Ok(Self { device: device.clone(), shape, transformed, passes, turns, kernels })
    }

    /// Number of elements along each axis.
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// Number of elements of an array.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// A work item for each element.
    pub fn launch(&self) -> Launch {
        Launch::items(self.elements())
    }

    /// The shape, as kernels over the same volume take it: three `u32`.
    pub fn shape_arguments(&self) -> [Argument; 3] {
        self.shape.map(|n| (n as u32).into())
    }

    /// What rounding may add to any element of the result, as a share of the root of the sum of
    /// squares of the input (of one transform): 2 ε per bit of length and one pass's worth.
    pub fn error_bound(&self) -> f64 {
        2.0 * f64::from(f32::EPSILON) * (1.0 + (self.transformed as f64).log2())
    }

    /// Transforms `data`; `scratch`, of the same length, loses its content. The two may change
    /// places in memory, which shows nowhere.
    ///
    /// # Errors
    /// Where the device fails, or a buffer is another's or of another length.
    pub fn forward(
        &self,
        data: &mut Buffer<Complex32>,
        scratch: &mut Buffer<Complex32>,
    ) -> Result<(), DeviceError> {
        self.transform(data, scratch, 1.0, 1.0)
    }

    /// Undoes [`forward`](Self::forward).
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn inverse(
        &self,
        data: &mut Buffer<Complex32>,
        scratch: &mut Buffer<Complex32>,
    ) -> Result<(), DeviceError> {
        // The conjugate of the transform of the conjugate.
        self.transform(data, scratch, -1.0, 1.0 / self.transformed as f32)
    }

    fn transform(
        &self,
        data: &mut Buffer<Complex32>,
        scratch: &mut Buffer<Complex32>,
        sign: f32,
        scale: f32,
    ) -> Result<(), DeviceError> {
        let elements = self.elements();
        for buffer in [&*data, &*scratch] {
            buffer.expect_on(&self.device)?;
            if buffer.len() != elements {
                return Err(DeviceError::Range { start: 0, end: elements, len: buffer.len() });
            }
        }
        for (k, pass) in self.passes.iter().enumerate() {
            let is_last = k + 1 == self.passes.len();
            let scale = if is_last { scale } else { 1.0 };
            let items = elements / pass.radix;
            let arguments = [
                (&*data).into(),
                (&mut *scratch).into(),
                (&self.turns[&pass.length]).into(),
                (pass.stride as u32).into(),
                (pass.rest as u32).into(),
                (pass.done as u32).into(),
                (items as u32).into(),
                sign.into(),
                scale.into(),
            ];
            let kernel = &self.kernels[&pass.radix];
            // SAFETY: the kernel's nine parameters; each item reads and writes `radix` of the
            // elements that both buffers hold, and turns have `length` entries.
            unsafe { kernel.launch(Launch::items(items), &arguments)? };
            std::mem::swap(data, scratch);
        }
        Ok(())
    }
}

/// The passes along one axis: radices multiply to its length.
fn passes_along(shape: [usize; 3], axis: usize) -> Vec<Pass> {
    let length = shape[axis];
    let mut stride: usize = shape[..axis].iter().product();
    let mut done = 1;
    let mut passes = Vec::new();
    for radix in radices(length) {
        let rest = length / done / radix;
        passes.push(Pass { length, radix, stride, rest, done });
        stride *= radix;
        done *= radix;
    }
    passes
}

/// Largest radix: its elements and their sums still fit a GPU's registers.
const MAX_RADIX: usize = 16;

/// The fewest factors of at most [`MAX_RADIX`], and of these the ones with the least largest:
/// each is one pass through memory.
fn radices(n: usize) -> Vec<usize> {
    if n == 1 {
        return Vec::new();
    }
    (2..=MAX_RADIX)
        .rev()
        .filter(|radix| n.is_multiple_of(*radix))
        .map(|radix| {
            let mut factors = radices(n / radix);
            factors.insert(0, radix);
            factors
        })
        .min_by_key(|factors| (factors.len(), factors.iter().copied().max()))
        .unwrap_or_default()
}

fn turns_of(n: usize) -> Vec<Complex32> {
    let turn = |j: usize| {
        let (sin, cos) = (-TAU * j as f64 / n as f64).sin_cos();
        Complex32::new(cos as f32, sin as f32)
    };
    (0..n).map(turn).collect()
}

/// The kernel of one radix, its transform written out.
fn source(radix: usize) -> KernelSource {
    let (codelet, results) = codelet(radix);
    let mut text = String::from(HEAD);
    // Writing to a String cannot fail.
    for j in 0..radix {
        let _ = writeln!(text, "    f32x2 x{j} = x[from + {j}u * apart];");
        let _ = writeln!(text, "    f32 x{j}r = x{j}.x, x{j}i = sign * x{j}.y;");
    }
    text.push_str(&codelet);
    for (k, (re, im)) in results.iter().enumerate() {
        let _ = writeln!(text, "    STORE({k}u, {re}, {im});");
    }
    text.push_str("}\n");
    KernelSource::new(format!("fft radix {radix}"), text).with("RADIX", radix)
}

/// Everything before the transform itself. Item `t` of a line stands at `p` among the `rest`
/// transforms that share their turns' spacing; `q` is its place within the stride. With sign -1
/// all is conjugated on the way in and out.
const HEAD: &str = "
#define STORE(k, re, im) { \\
    f32x2 w = turns[p * (k) * done]; \\
    f32 turned_re = FMA(re, w.x, -((im) * w.y)); \\
    f32 turned_im = FMA(re, w.y, (im) * w.x); \\
    y[to + (k) * stride] = F32X2(scale * turned_re, sign * scale * turned_im); \\
}

KERNEL(fft_pass)(GLOBAL const f32x2 *RESTRICT x, GLOBAL f32x2 *RESTRICT y,
                 GLOBAL const f32x2 *RESTRICT turns, u32 stride, u32 rest, u32 done, u32 items,
                 f32 sign, f32 scale) {
    u32 item = (u32)GLOBAL_ID();
    if (item >= items) return;
    u32 q = item % stride;
    u32 t = item / stride;
    u32 p = t % rest;
    u32 from = ((t - p) * RADIX + p) * stride + q;
    u32 to = t * RADIX * stride + q;
    u32 apart = rest * stride;
";

/// The kernels of every radix, for checks.
pub(crate) fn kernel_sources() -> Vec<KernelSource> {
    (2..=MAX_RADIX).filter(|&radix| super::is_good_size(radix)).map(source).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_take_the_fewest_passes() {
        assert_eq!(radices(1), []);
        assert_eq!(radices(16), [16]);
        assert_eq!(radices(36), [6, 6]);
        assert_eq!(radices(256), [16, 16]);
        assert_eq!(radices(343), [7, 7, 7]);
        assert_eq!(radices(240).len(), 2);
    }

    #[test]
    fn radices_multiply_to_the_length() {
        for n in (1..3000).filter(|&n| super::super::is_good_size(n)) {
            let factors = radices(n);
            assert_eq!(factors.iter().product::<usize>(), n);
            assert!(factors.iter().all(|&radix| (2..=MAX_RADIX).contains(&radix)));
        }
    }
}
