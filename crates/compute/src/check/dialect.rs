//! Every word of the dialect means the same on every runtime.

use super::{Check, Comparison, Extent, bits, normal_numbers};
use crate::device::{Device, DeviceError, KernelSource, Launch};
use crate::philox::Philox;

const GROUP: usize = 64;
const SLOTS: usize = 28;

pub(super) fn check() -> Check {
    Check::new("kernel dialect", vec![source()], compare)
}

fn source() -> KernelSource {
    KernelSource::new("dialect", include_str!("dialect.cl"))
        .with("GROUP", format_args!("{GROUP}u"))
        .with("SLOTS", format_args!("{SLOTS}u"))
}

fn compare(device: &Device, extent: Extent) -> Result<Comparison, DeviceError> {
    let groups = match extent {
        Extent::Toy => 2,
        Extent::Full => 200,
    };
    let n = groups * GROUP;
    let x: Vec<f32> = normal_numbers(21, n).into_iter().map(|x| 1000.0 * x).collect();
    let y = normal_numbers(22, n);
    let words: Vec<u32> = (0..n as u64).map(|item| Philox::new(23).at(item, 0)[0]).collect();

    let (on_x, on_y) = (device.upload(&x)?, device.upload(&y)?);
    let on_words = device.upload(&words)?;
    let out = device.zeros::<u32>(SLOTS * n)?;
    let (counts, total) = (device.zeros::<u32>(9)?, device.zeros::<i64>(1)?);
    let arguments = [
        (&on_x).into(),
        (&on_y).into(),
        (&on_words).into(),
        (&out).into(),
        (&counts).into(),
        (&total).into(),
    ];
    let kernel = device.kernel(&source(), "use_everything")?;
    // SAFETY: the kernel's six parameters; each item reads one number of each input and writes
    // SLOTS words, and there are nine counts.
    unsafe { kernel.launch(Launch::groups_of(GROUP, groups), &arguments)? };
    let (mut got, counts) = (out.to_vec()?, counts.to_vec()?);
    got.extend(&counts[..8]);

    let sums: Vec<f32> =
        x.chunks(GROUP).zip(y.chunks(GROUP)).map(|(x, y)| group_sum(x) - group_sum(y)).collect();
    let has_f64 = device.info().has_f64;
    let mut oracle: Vec<u32> = (0..n)
        .flat_map(|item| {
            let other_half = words[item ^ (GROUP / 2)];
            let sum = sums[item / GROUP];
            let four = [0, 1, 2, 3].map(|i| x[item / 4 * 4 + i].to_bits());
            slots(item, n, x[item], y[item], words[item], other_half, sum, four, has_f64)
        })
        .collect();
    oracle.extend(expected_counts(&words));
    if counts[8] == 1 {
        let sum: i64 = words.iter().map(|&w| -i64::from(w)).sum();
        for (list, value) in [(&mut oracle, sum), (&mut got, total.to_vec()?[0])] {
            list.extend([value as u32, (value >> 32) as u32]);
        }
    }
    Ok(Comparison::of_bits(&oracle, &got))
}

/// What `use_everything` writes for one item.
fn slots(
    item: usize,
    items: usize,
    a: f32,
    b: f32,
    w: u32,
    other_half: u32,
    sum: f32,
    four: [u32; 4],
    has_f64: bool,
) -> [u32; SLOTS] {
    let b_or_nan = if item == 5 { f32::NAN } else { b };
    let place = [item, items, item % GROUP, GROUP, item / GROUP].map(|place| place as u32);
    let numbers = bits(&[
        a.mul_add(b, 1.0),
        a * b + 1.0,
        a.abs(),
        a.min(b_or_nan),
        a.max(b_or_nan),
        a.floor(),
        a.round_ties_even(),
        w as i32 as f32,
    ]);
    let wide = u64::from(w) * u64::from(w);
    let product = u64::from(w) * 0xd251_1f53;
    let digits = (0..8).fold(0, |digits, k| 3 * digits + (w >> k) % 2);
    let quotient = if has_f64 { (f64::from(a) / f64::from(b)) as f32 } else { 0.0 };

    let mut slots = [0; SLOTS];
    slots[..5].copy_from_slice(&place);
    slots[5] = 4 + 10 * 4 + 100 * 8 + 1000 * 8 + 10_000 * 4;
    slots[6..14].copy_from_slice(&numbers);
    slots[14] = a as i32 as u32;
    slots[15] = w & 0x3fff_ffff;
    slots[16] = (product >> 32) as u32;
    slots[17] = (wide >> 32) as u32;
    slots[18] = ((wide as i64).wrapping_neg() >> 40) as u32;
    slots[19] = [2, 3, 5, 7][w as usize % 4];
    slots[20] = a.to_bits() ^ b.to_bits();
    slots[21] = other_half;
    slots[22] = sum.to_bits();
    slots[23] = digits;
    slots[24] = quotient.to_bits();
    slots[25] = four[0].wrapping_sub(four[1]);
    slots[26] = four[2].wrapping_sub(four[3]);
    slots[27] = w & 0xffff;
    slots
}

/// The sum in the order of the dialect: halves added to halves.
fn group_sum(x: &[f32]) -> f32 {
    let mut sums = x.to_vec();
    while sums.len() > 1 {
        let (low, high) = sums.split_at(sums.len() / 2);
        sums = low.iter().zip(high).map(|(a, b)| a + b).collect();
    }
    sums[0]
}

fn expected_counts(words: &[u32]) -> [u32; 8] {
    let mut counts = [0_u32; 8];
    for &w in words {
        let class = w as usize % 4;
        counts[class] = counts[class].wrapping_add(w);
        counts[4 + class] = counts[4 + class].wrapping_sub(w & 0xffff);
    }
    counts
}
