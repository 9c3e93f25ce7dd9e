//! Random numbers: a kernel draws the words and the normal numbers that Rust draws.

use super::{Check, Comparison, Extent, bits};
use crate::device::{Device, DeviceError, KernelSource, Launch};
use crate::{math, philox};

const DRAW: &str = "
KERNEL(draw)(u64 seed, u32 stream, u64 first, GLOBAL u32 *RESTRICT words,
             GLOBAL f32 *RESTRICT numbers, u64 n) {
    u64 i = GLOBAL_ID();
    if (i >= n) return;
    fb_words random = fb_random(seed, stream, first + i, (u32)(i % 7));
    for (i32 k = 0; k < 4; k++) words[4 * i + k] = random.w[k];
    f32 a, b;
    fb_normal_pair(random.w[0], random.w[1], &a, &b);
    numbers[4 * i] = a;
    numbers[4 * i + 1] = b;
    fb_normal_pair(random.w[2], random.w[3], &a, &b);
    numbers[4 * i + 2] = a;
    numbers[4 * i + 3] = b;
}
";

const SEED: u64 = 0x0123_4567_89ab_cdef;
const STREAM: u32 = 5;
/// The last items below 2^32 and the first above: both halves of the number count.
const FIRST: u64 = (1 << 32) - 50;

pub(super) fn check() -> Check {
    Check::new("random numbers (bits of their CPU twins)", vec![source()], compare)
}

fn source() -> KernelSource {
    KernelSource::new("draw", DRAW).after(philox::KERNEL_TEXT).after(math::KERNEL_TEXT)
}

fn compare(device: &Device, extent: Extent) -> Result<Comparison, DeviceError> {
    let n = match extent {
        Extent::Toy => 200,
        Extent::Full => 100_000,
    };
    let philox = philox::Philox::new(SEED).stream(STREAM);
    let words: Vec<[u32; 4]> =
        (0..n).map(|i| philox.at(FIRST + i as u64, (i % 7) as u32)).collect();
    let numbers = words.iter().flat_map(|&words| philox::normals::<f32>(words));
    let oracle: Vec<u32> =
        words.iter().flatten().copied().chain(numbers.map(f32::to_bits)).collect();

    let kernel = device.kernel(&source(), "draw")?;
    let on_words = device.zeros::<u32>(4 * n)?;
    let on_numbers = device.zeros::<f32>(4 * n)?;
    let arguments = [
        SEED.into(),
        STREAM.into(),
        FIRST.into(),
        (&on_words).into(),
        (&on_numbers).into(),
        (n as u64).into(),
    ];
    // SAFETY: the kernel's six parameters; each item writes four words and four numbers.
    unsafe { kernel.launch(Launch::items(n), &arguments)? };
    let mut drawn = on_words.to_vec()?;
    drawn.extend(bits(&on_numbers.to_vec()?));
    Ok(Comparison::of_bits(&oracle, &drawn))
}
