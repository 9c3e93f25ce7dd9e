//! The kernel's text, specialised for one sampling.

use fimbria_compute::device::KernelSource;
use fimbria_compute::{math, philox};

use crate::Noise;
use crate::lanes::Constants;
use crate::rules;
use crate::slots::{self, JOINT, MOST, SCALES};

/// Bytes of a group's memory that rows of measurements take at most: what every device has, and most
/// give to several groups at once.
pub(crate) const GROUP_BYTES: usize = 30 << 10;

/// Items of a group, as the kernel's text has it.
pub(super) const GROUP: usize = 32;

/// Bytes that rows of measurements take: what was measured, and what a proposal makes of the signals, of
/// the ball and of each stick.
fn bytes_of_rows(constants: &Constants) -> usize {
    let row = constants.n.next_multiple_of(GROUP) * size_of::<f32>();
    (3 + constants.n_fibres) * row
}

/// For the voxels of one job, with `group_bytes` for rows of measurements.
pub(crate) fn source(constants: &Constants, is_bent: bool, group_bytes: usize) -> KernelSource {
    let (mean, std) = constants.ratio;
    // The tables stand before the text, in which they are used.
    let tables = tables(constants);
    let mut source = KernelSource::new("sample_sticks", include_str!("sticks.cl"))
        .after(include_str!("signals.cl"))
        .after(&tables)
        .after(philox::KERNEL_TEXT)
        .after(math::KERNEL_TEXT)
        .with("N", format_args!("{}u", constants.n))
        .with("N_FIBRES", format_args!("{}u", constants.n_fibres))
        .with("N_SAMPLED", format_args!("{}u", constants.sampled.len()))
        .with("N_MOVES", format_args!("{}u", constants.moves.len()))
        .with("N_JOINT", format_args!("{}u", constants.joint.len()))
        .with("MOST_SLOTS", format_args!("{MOST}u"))
        .with("MOST_SCALES", format_args!("{SCALES}u"))
        .with("JOINT", format_args!("{JOINT}u"))
        .with("DIFFUSIVITY", constants.diffusivity.fsl_number())
        .with("IS_RICIAN", u8::from(constants.noise == Noise::Rician))
        .with("IS_BENT", u8::from(is_bent))
        .with("IN_GROUP_MEMORY", u8::from(bytes_of_rows(constants) <= group_bytes))
        .with("BURN_IN", format_args!("{}u", constants.burn_in))
        .with("JUMPS", format_args!("{}u", constants.jumps))
        .with("SAMPLE_EVERY", format_args!("{}u", constants.sample_every))
        .with("ADAPT_EVERY", format_args!("{}u", constants.adapt_every));
    for (name, slot) in [
        ("SLOT_OFFSET", slots::OFFSET),
        ("SLOT_PRECISION", slots::PRECISION),
        ("SLOT_DIFFUSIVITY", slots::DIFFUSIVITY),
        ("SLOT_SPREAD", slots::SPREAD),
        ("SLOT_RATIO", slots::RATIO),
        ("SLOT_S0", slots::S0),
        ("SLOT_FIBRES", slots::FIBRES),
    ] {
        source = source.with(name, format_args!("{slot}u"));
    }
    for (name, value) in [
        ("MOST_EXPONENT", rules::MOST_EXPONENT as f32),
        ("LEAST_SPREAD", rules::LEAST_SPREAD as f32),
        ("LEAST_DIFFUSIVITY", rules::LEAST_DIFFUSIVITY as f32),
        ("MOST_DIFFUSIVITY", rules::MOST_DIFFUSIVITY as f32),
        ("MOST_SPREAD", constants.most_spread),
        ("LEAST_SQUARES", rules::LEAST_SQUARES as f32),
        ("RATIO_MEAN", mean),
        ("RATIO_STD", std),
        ("RATIO_LEAST", mean - 2.0 * std),
        ("RATIO_MOST", 2.0 * mean),
        ("FIRST_STEP", rules::FIRST_STEP as f32),
        ("FIRST_TURN", (rules::FIRST_STEP / std::f64::consts::TAU) as f32),
        ("FIRST_SHARE", rules::FIRST_SHARE as f32),
        ("FIRST_PRECISION_SHARE", rules::FIRST_PRECISION_SHARE as f32),
        ("FIRST_JOINT", rules::FIRST_JOINT as f32),
        ("DIFFERENCE", rules::DIFFERENCE as f32),
        ("DIFFERENCES", (1.0 / rules::DIFFERENCE) as f32),
        ("JOINT_WIDTH", rules::JOINT_WIDTH as f32),
        ("LEAST_PIVOT", rules::LEAST_PIVOT as f32),
        ("LEAST_SINE", rules::LEAST_SINE as f32),
        ("WIDEST", rules::WIDEST as f32),
        ("WIDEST_TURN", rules::WIDEST_TURN as f32),
    ] {
        source = source.with_f32(name, value);
    }
    source
}

/// Which slots are sampled, moved and moved jointly, and the exponents of their priors.
fn tables(constants: &Constants) -> String {
    let table = |kind: &str, name: &str, values: &[String]| {
        format!("CONSTANT_TABLE {kind} {name}[] = {{{}}};\n", values.join(", "))
    };
    let mut text = String::new();
    for (name, slots) in [
        ("sampled_slots", &constants.sampled[..]),
        ("moves", &constants.moves),
        ("joint_slots", constants.joint),
    ] {
        let slots: Vec<String> = slots.iter().map(|slot| format!("{slot}u")).collect();
        text += &table("u32", name, &slots);
    }
    let exponents: Vec<String> = constants.relevance.iter().map(|e| format!("{e:?}f")).collect();
    text + &table("f32", "relevance", &exponents)
}
