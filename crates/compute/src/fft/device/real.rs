//! The transform of a real volume on a device.

use super::layout::{Around, Layout};
use super::passes::Passes;
use super::radices::turns_of;
use super::{DeviceFftError, Limits, Volume, check, error_bound, expect};
use crate::device::{Argument, Buffer, Device, DeviceError, Kernel, KernelSource, Launch};
use crate::fft::Complex32;

/// The transform of real volumes on a device, as [`RealFft3`](crate::fft::RealFft3) on threads: the spectrum of
/// a volume of shape (x, y, z) has shape (x / 2 + 1, y, z).
///
/// Two rows go through one complex transform along x, as real and imaginary part a + ib, so that any length
/// will do. Its elements Z\[k] and Z\[-k] are A + iB and conj(A) + i conj(B), of which A and B are kept up to the
/// middle: half the bytes of a complex volume go through memory from there on.
pub struct DeviceRealFft {
    shape: [usize; 3],
    rows: Rows,
    rest: Volume,
}

/// How rows are transformed.
enum Rows {
    Lines {
        layout: Layout,
        turns: Buffer<Complex32>,
        forward: Kernel,
        inverse: Kernel,
    },
    /// Where too little memory is there for groups.
    Passes {
        passes: Passes,
        pair: Kernel,
        part: Kernel,
        join: Kernel,
        unpair: Kernel,
    },
}

impl DeviceRealFft {
    /// A plan for volumes of `shape` (x fastest).
    ///
    /// # Errors
    /// As [`DeviceFft::new`](super::DeviceFft::new).
    pub fn new(device: &Device, shape: [usize; 3]) -> Result<Self, DeviceFftError> {
        Self::within(device, shape, Limits::of(device))
    }

    /// The same as if the device had those limits: with no memory for groups all lines go through passes.
    pub(crate) fn within(
        device: &Device,
        shape: [usize; 3],
        limits: Limits,
    ) -> Result<Self, DeviceFftError> {
        check(shape)?;
        let [x, y, z] = shape;
        let rows = match Layout::new(x, 0, 1, limits) {
            Some(layout) => Rows::Lines {
                turns: turns_of(device, x)?,
                forward: device.kernel(&forward_source(&layout), "fft_of_rows")?,
                inverse: device.kernel(&inverse_source(&layout), "rows_of_fft")?,
                layout,
            },
            None => {
                let source = pairing_source();
                Rows::Passes {
                    passes: Passes::new(device, [x, (y * z).div_ceil(2), 1], 0)?,
                    pair: device.kernel(&source, "pair_rows")?,
                    part: device.kernel(&source, "part_spectra")?,
                    join: device.kernel(&source, "join_spectra")?,
                    unpair: device.kernel(&source, "unpair_rows")?,
                }
            }
        };
        let rest = Volume::new(device, [x / 2 + 1, y, z], &[1, 2], limits)?;
        Ok(Self { shape, rows, rest })
    }

    /// Number of real elements along each axis.
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// Number of elements of a volume.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// Number of elements of a spectrum.
    pub fn spectrum_elements(&self) -> usize {
        self.rest.elements
    }

    /// A work item for each element of a volume.
    pub fn launch(&self) -> Launch {
        Launch::items(self.elements())
    }

    /// The shape, as kernels over the same volume take it: three `u32`.
    pub fn shape_arguments(&self) -> [Argument; 3] {
        self.shape.map(|n| (n as u32).into())
    }

    /// As that of [`DeviceFft`](super::DeviceFft::error_bound).
    pub fn error_bound(&self) -> f64 {
        error_bound(self.elements())
    }

    /// The `spectrum` of `volume`.
    ///
    /// # Errors
    /// Where the device fails, or a buffer is another's or of another length.
    pub fn forward(
        &self,
        volume: &Buffer<f32>,
        spectrum: &mut Buffer<Complex32>,
    ) -> Result<(), DeviceError> {
        self.expect(volume, spectrum)?;
        let [n, rows] = self.numbers();
        match &self.rows {
            Rows::Lines { layout, turns, forward, .. } => {
                let arguments = [volume.into(), (&mut *spectrum).into(), turns.into(), rows.into()];
                // SAFETY: the kernel's four parameters; groups have the rows of the volume and of the
                // spectrum, each once, and turns as many entries as a row.
                unsafe { forward.launch(layout.launch(rows), &arguments)? };
            }
            Rows::Passes { passes, pair, part, .. } => {
                let mut both = self.pairs()?;
                let arguments = [volume.into(), (&mut both).into(), n.into(), rows.into()];
                // SAFETY: the kernel's four parameters; an item for each element of the pairs.
                unsafe { pair.launch(Launch::items(both.len()), &arguments)? };
                passes.transform(&mut both, 1.0, 1.0)?;
                let arguments = [(&both).into(), (&mut *spectrum).into(), n.into(), rows.into()];
                // SAFETY: the kernel's four parameters; an item for each element of the spectrum.
                unsafe { part.launch(Launch::items(spectrum.len()), &arguments)? };
            }
        }
        self.rest.transform(spectrum, 1.0, 1.0)
    }

    /// The `volume` that has this `spectrum`, which is overwritten with intermediate results.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn inverse(
        &self,
        spectrum: &mut Buffer<Complex32>,
        volume: &mut Buffer<f32>,
    ) -> Result<(), DeviceError> {
        self.expect(volume, spectrum)?;
        self.rest.transform(spectrum, -1.0, 1.0)?;
        let [n, rows] = self.numbers();
        let scale = 1.0 / self.elements() as f32;
        match &self.rows {
            Rows::Lines { layout, turns, inverse, .. } => {
                let arguments =
                    [(&*spectrum).into(), volume.into(), turns.into(), rows.into(), scale.into()];
                // SAFETY: the kernel's five parameters; as for the transform.
                unsafe { inverse.launch(layout.launch(rows), &arguments) }
            }
            Rows::Passes { passes, join, unpair, .. } => {
                let mut both = self.pairs()?;
                let arguments = [(&*spectrum).into(), (&mut both).into(), n.into(), rows.into()];
                // SAFETY: the kernel's four parameters; an item for each element of the pairs.
                unsafe { join.launch(Launch::items(both.len()), &arguments)? };
                passes.transform(&mut both, -1.0, 1.0)?;
                let elements = volume.len();
                let arguments =
                    [(&both).into(), volume.into(), n.into(), rows.into(), scale.into()];
                // SAFETY: the kernel's five parameters; an item for each element of the volume.
                unsafe { unpair.launch(Launch::items(elements), &arguments) }
            }
        }
    }

    /// Elements of a row, and rows.
    fn numbers(&self) -> [u32; 2] {
        let [x, y, z] = self.shape;
        [x as u32, (y * z) as u32]
    }

    /// Room for pairs of rows.
    fn pairs(&self) -> Result<Buffer<Complex32>, DeviceError> {
        let [x, y, z] = self.shape;
        self.rest.device.allocate(x * (y * z).div_ceil(2))
    }

    fn expect(
        &self,
        volume: &Buffer<f32>,
        spectrum: &Buffer<Complex32>,
    ) -> Result<(), DeviceError> {
        expect(&self.rest.device, volume, self.elements())?;
        expect(&self.rest.device, spectrum, self.spectrum_elements())
    }
}

impl Layout {
    /// The groups that so many rows take, two of them a line.
    fn launch(&self, rows: u32) -> Launch {
        Launch::groups_of(self.group, (rows as usize).div_ceil(2).div_ceil(self.lines))
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

/// The same by kernels around passes over the pairs.
fn pairing_source() -> KernelSource {
    KernelSource::new("fft pairs of rows", include_str!("pairs.cl"))
}

/// Of one to three stages, for checks.
pub(super) fn kernel_sources() -> Vec<KernelSource> {
    let layouts = [15, 240, 320].into_iter().filter_map(|n| Layout::new(n, 0, 1, Limits::LEAST));
    let mut sources: Vec<KernelSource> =
        layouts.flat_map(|layout| [forward_source(&layout), inverse_source(&layout)]).collect();
    sources.push(pairing_source());
    sources
}
