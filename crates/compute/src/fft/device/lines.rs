//! The complex transform along one axis, some whole lines in a group's memory.

use super::Limits;
use super::layout::{Around, Layout};
use super::radices::turns_of;
use crate::device::{Buffer, Device, DeviceError, Kernel, KernelSource, Launch};
use crate::fft::Complex32;

/// Each group reads some lines, transforms them and writes them in place.
pub(super) struct Lines {
    layout: Layout,
    /// Lines side by side, or all where each is contiguous.
    count: usize,
    groups: usize,
    turns: Buffer<Complex32>,
    kernel: Kernel,
}

impl Lines {
    /// Along `axis` of volumes of `shape`, of less than 2³² elements; `None` where the memory of a group is too
    /// small for enough lines.
    pub(super) fn new(
        device: &Device,
        shape: [usize; 3],
        axis: usize,
        limits: Limits,
    ) -> Result<Option<Self>, DeviceError> {
        let side_by_side: usize = shape[..axis].iter().product();
        let behind: usize = shape[axis + 1..].iter().product();
        // Along x lines follow each other; so they do where those before have one element.
        let contiguous = side_by_side == 1;
        let side_by_side = if contiguous { 0 } else { side_by_side };
        let Some(layout) = Layout::new(shape[axis], side_by_side, 0, limits) else {
            return Ok(None);
        };
        let count = if contiguous { behind } else { side_by_side };
        let blocks = count.div_ceil(layout.lines);
        Ok(Some(Self {
            count,
            groups: if contiguous { blocks } else { blocks * behind },
            turns: turns_of(device, shape[axis])?,
            kernel: device.kernel(&source(&layout, contiguous), "fft_lines")?,
            layout,
        }))
    }

    /// Transforms `data`, a whole volume, and multiplies it by `scale`; with `sign` -1 it is conjugated before
    /// and after.
    pub(super) fn transform(
        &self,
        data: &mut Buffer<Complex32>,
        sign: f32,
        scale: f32,
    ) -> Result<(), DeviceError> {
        let arguments = [
            data.into(),
            (&self.turns).into(),
            (self.count as u32).into(),
            sign.into(),
            scale.into(),
        ];
        let launch = Launch::groups_of(self.layout.group, self.groups);
        // SAFETY: the kernel's five parameters; groups have the lines of the volume, each once, and turns as
        // many entries as a line.
        unsafe { self.kernel.launch(launch, &arguments) }
    }
}

/// The kernel of a layout.
fn source(layout: &Layout, contiguous: bool) -> KernelSource {
    let around = Around { after: 0, sign: "sign * " };
    let (name, lines) = match contiguous {
        true => ("lines", CONTIGUOUS),
        false => ("lines side by side", SIDE_BY_SIDE),
    };
    let text = [HEAD, &layout.memory(), lines, &layout.stages(&around), "}\n"].concat();
    layout.source(name, &text)
}

/// What a group reads it writes in place, once all of it is read.
const HEAD: &str = "
#define LOAD(i, line) data[ELEMENT(i, line)]
#define SAVE(i, line, re, im) data[ELEMENT(i, line)] = F32X2(scale * (re), sign * scale * (im))
#define IS_LINE(line) (at + (line) < count)

GROUP_KERNEL(fft_lines, GROUP)(GLOBAL f32x2 *data, GLOBAL const f32x2 *RESTRICT turns, u32 count, f32 sign,
                               f32 scale) {
    u32 me = (u32)LOCAL_ID(), group = (u32)GROUP_ID();
";

const CONTIGUOUS: &str = "
#define ELEMENT(i, line) ((at + (line)) * LENGTH + (i))
    u32 at = group * LINES;
";

const SIDE_BY_SIDE: &str = "
#define ELEMENT(i, line) (start + (line) + (i) * count)
    u32 blocks = (count + LINES - 1u) / LINES;
    u32 at = group % blocks * LINES, start = group / blocks * (LENGTH * count) + at;
";

/// Of one to three stages, of items that have several turns at short lines, and of all the memory that groups of
/// cards have, for checks.
pub(super) fn kernel_sources() -> Vec<KernelSource> {
    let of = |n: usize, contiguous: bool, limits: Limits| {
        let side_by_side = if contiguous { 0 } else { 1 << 10 };
        let layout = Layout::new(n, side_by_side, 0, limits)?;
        Some(source(&layout, contiguous))
    };
    let cases = [
        (16, Limits::LEAST),
        (240, Limits::LEAST),
        (320, Limits::LEAST),
        (28, Limits::SMALL),
        (768, Limits::CARD),
    ];
    let both = |(n, limits)| [true, false].map(|contiguous| of(n, contiguous, limits));
    cases.into_iter().flat_map(both).flatten().collect()
}
