//! Stockham's passes, each over the whole volume.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write as _;

use super::radices::{MAX_RADIX, radices, turns_of};
use crate::device::{Buffer, Device, DeviceError, Kernel, KernelSource, Launch};
use crate::fft::codelet::codelet;
use crate::fft::{Complex32, is_good_size};

/// The transform along one axis by passes.
///
/// A pass of radix r reads r elements, a r-th of the line apart, transforms them in registers,
/// turns them and writes them side by side; after as many passes as the length has radices the
/// result is in order. Neighbouring lines only lengthen the stride, so that every axis runs the
/// same kernels.
pub(super) struct Passes {
    elements: usize,
    passes: Vec<Pass>,
    turns: Buffer<Complex32>,
    /// By radix.
    kernels: BTreeMap<usize, Kernel>,
}

/// One pass over the volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pass {
    radix: usize,
    /// The axis's own stride times the radices before.
    stride: usize,
    /// Product of the radices to come.
    rest: usize,
    /// Product of the radices before.
    done: usize,
}

impl Passes {
    /// Along `axis` of volumes of `shape`, of less than 2³² elements.
    pub(super) fn new(
        device: &Device,
        shape: [usize; 3],
        axis: usize,
    ) -> Result<Self, DeviceError> {
        let passes = passes_along(shape, axis);
        let mut kernels = BTreeMap::new();
        for pass in &passes {
            if let Entry::Vacant(missing) = kernels.entry(pass.radix) {
                missing.insert(device.kernel(&source(pass.radix), "fft_pass")?);
            }
        }
        let turns = turns_of(device, shape[axis])?;
        Ok(Self { elements: shape.iter().product(), passes, turns, kernels })
    }

    /// Transforms `data`, a whole volume, and multiplies it by `scale`; with `sign` -1 it is conjugated before
    /// and after.
    pub(super) fn transform(
        &self,
        data: &mut Buffer<Complex32>,
        sign: f32,
        scale: f32,
    ) -> Result<(), DeviceError> {
        let mut scratch = self.turns.device().allocate::<Complex32>(self.elements)?;
        for (k, pass) in self.passes.iter().enumerate() {
            let is_last = k + 1 == self.passes.len();
            let scale = if is_last { scale } else { 1.0 };
            let items = self.elements / pass.radix;
            let arguments = [
                (&*data).into(),
                (&mut scratch).into(),
                (&self.turns).into(),
                (pass.stride as u32).into(),
                (pass.rest as u32).into(),
                (pass.done as u32).into(),
                (items as u32).into(),
                sign.into(),
                scale.into(),
            ];
            let kernel = &self.kernels[&pass.radix];
            // SAFETY: the kernel's nine parameters; each item reads and writes `radix` of the
            // elements that both buffers hold, and turns have as many entries as a line.
            unsafe { kernel.launch(Launch::items(items), &arguments)? };
            std::mem::swap(data, &mut scratch);
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
        passes.push(Pass { radix, stride, rest, done });
        stride *= radix;
        done *= radix;
    }
    passes
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
pub(super) fn kernel_sources() -> Vec<KernelSource> {
    (2..=MAX_RADIX).filter(|&radix| is_good_size(radix)).map(source).collect()
}
