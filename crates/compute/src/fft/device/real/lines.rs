//! Pairs of rows in a group's memory.

use super::super::Limits;
use super::super::layout::{Around, Layout};
use super::super::radices::turns_of;
use crate::device::{Buffer, Device, DeviceError, Kernel, KernelSource, Launch};
use crate::fft::Complex32;

/// Each group reads pairs of rows, transforms them and parts their spectra, or the other way.
pub(super) struct RowLines {
    rows: u32,
    launch: Launch,
    turns: Buffer<Complex32>,
    forward: Kernel,
    inverse: Kernel,
}

impl RowLines {
    /// Of volumes of `shape`, of less than 2³² elements; `None` where the memory of a group is too small for a
    /// pair.
    pub(super) fn new(
        device: &Device,
        [x, y, z]: [usize; 3],
        limits: Limits,
    ) -> Result<Option<Self>, DeviceError> {
        let Some(layout) = Layout::new(x, 0, 1, limits) else { return Ok(None) };
        let rows = y * z;
        Ok(Some(Self {
            rows: rows as u32,
            launch: Launch::groups_of(layout.group, rows.div_ceil(2).div_ceil(layout.lines)),
            turns: turns_of(device, x)?,
            forward: device.kernel(&forward_source(&layout), "fft_of_rows")?,
            inverse: device.kernel(&inverse_source(&layout), "rows_of_fft")?,
        }))
    }

    /// Half the `spectrum` of each row of `volume`.
    pub(super) fn forward(
        &self,
        volume: &Buffer<f32>,
        spectrum: &mut Buffer<Complex32>,
    ) -> Result<(), DeviceError> {
        let arguments = [volume.into(), spectrum.into(), (&self.turns).into(), self.rows.into()];
        // SAFETY: the kernel's four parameters; groups have the rows of the volume and of the spectrum, each
        // once, and turns as many entries as a row.
        unsafe { self.forward.launch(self.launch, &arguments) }
    }

    /// Each row of `volume` of half its spectrum, times `scale`.
    pub(super) fn inverse(
        &self,
        spectrum: &Buffer<Complex32>,
        volume: &mut Buffer<f32>,
        scale: f32,
    ) -> Result<(), DeviceError> {
        let arguments =
            [spectrum.into(), volume.into(), (&self.turns).into(), self.rows.into(), scale.into()];
        // SAFETY: the kernel's five parameters; as for the transform.
        unsafe { self.inverse.launch(self.launch, &arguments) }
    }
}

fn forward_source(layout: &Layout) -> KernelSource {
    let around = Around { after: 0, sign: "" };
    let after = AFTER_ROWS.replace("LAST", layout.last_buffer());
    let save = format!(
        "#define SAVE(i, line, re, im) {}[PLACE(i, line)] = F32X2(re, im)\n",
        layout.last_buffer()
    );
    let text =
        [PAIRED, &save, OF_ROWS, &layout.memory(), AT, &layout.stages(&around), &after].concat();
    layout.source("rows", &text)
}

fn inverse_source(layout: &Layout) -> KernelSource {
    let around = Around { after: 1, sign: "-" };
    let text = [PAIRED, ROWS_OF, &layout.memory(), AT, BEFORE_ROWS, &layout.stages(&around), "}\n"]
        .concat();
    layout.source("rows back", &text)
}

/// Line `line` of a group has the rows ROW(line) and, where there is one more, that after it.
const PAIRED: &str = "
#define HALF (LENGTH / 2u + 1u)
#define ROW(line) (2u * (at + (line)))
#define IS_LINE(line) (ROW(line) < rows)
#define HAS_SECOND(line) (ROW(line) + 1u < rows)
";

const AT: &str = "    u32 me = (u32)LOCAL_ID(), at = (u32)GROUP_ID() * LINES;\n";

const OF_ROWS: &str = "
#define LOAD(i, line) F32X2(volume[ROW(line) * LENGTH + (i)], \\
                            HAS_SECOND(line) ? volume[(ROW(line) + 1u) * LENGTH + (i)] : 0.0f)

GROUP_KERNEL(fft_of_rows, GROUP)(GLOBAL const f32 *RESTRICT volume, GLOBAL f32x2 *RESTRICT spectrum,
                                 GLOBAL const f32x2 *RESTRICT turns, u32 rows) {
";

const AFTER_ROWS: &str = "
    BARRIER();
    ROLLED
    for (u32 item = me; item < LINES * HALF; item += GROUP) {
        u32 line = item / HALF, k = item % HALF;
        if (IS_LINE(line)) {
            f32x2 here = LAST[PLACE(k, line)], there = LAST[PLACE(k == 0 ? 0 : LENGTH - k, line)];
            u32 to = ROW(line) * HALF + k;
            spectrum[to] = F32X2(0.5f * (here.x + there.x), 0.5f * (here.y - there.y));
            if (HAS_SECOND(line)) {
                spectrum[to + HALF] = F32X2(0.5f * (here.y + there.y), 0.5f * (there.x - here.x));
            }
        }
    }
}
";

const ROWS_OF: &str = "
#define LOAD(i, line) even[PLACE(i, line)]
#define SAVE(i, line, re, im) { \\
    volume[ROW(line) * LENGTH + (i)] = scale * (re); \\
    if (HAS_SECOND(line)) volume[(ROW(line) + 1u) * LENGTH + (i)] = -scale * (im); \\
}

GROUP_KERNEL(rows_of_fft, GROUP)(GLOBAL const f32x2 *RESTRICT spectrum, GLOBAL f32 *RESTRICT volume,
                                 GLOBAL const f32x2 *RESTRICT turns, u32 rows, f32 scale) {
";

/// In a real signal's spectrum both ends are real, up to rounding.
const BEFORE_ROWS: &str = "
    ROLLED
    for (u32 item = me; item < LINES * HALF; item += GROUP) {
        u32 line = item / HALF, k = item % HALF;
        if (IS_LINE(line)) {
            u32 from = ROW(line) * HALF + k;
            f32x2 a = spectrum[from], b = F32X2(0.0f, 0.0f);
            if (HAS_SECOND(line)) b = spectrum[from + HALF];
            if (k == 0 || 2u * k == LENGTH) {
                even[PLACE(k, line)] = F32X2(a.x, b.x);
            } else {
                even[PLACE(k, line)] = F32X2(a.x - b.y, a.y + b.x);
                even[PLACE(LENGTH - k, line)] = F32X2(a.x + b.y, b.x - a.y);
            }
        }
    }
    BARRIER();
";

/// Of one to three stages, for checks.
pub(super) fn kernel_sources() -> Vec<KernelSource> {
    let layouts = [15, 240, 320].into_iter().filter_map(|n| Layout::new(n, 0, 1, Limits::LEAST));
    layouts.flat_map(|layout| [forward_source(&layout), inverse_source(&layout)]).collect()
}
