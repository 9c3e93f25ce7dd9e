//! Lanes against the oracle.

use fimbria_compute::SimdLevel;

use super::chain::Chain;
use super::{Constants, sample, sample_singly};
use crate::batch::{BatchRows, Recorded};
use crate::device::{acquisition, short, simulate};
use crate::oracle::{self, Posterior, Voxel};
use crate::protocol::Protocol;
use crate::slots::{MOST, PRECISION, S0};
use crate::{Diffusivity, Noise, Offset, SticksOptions};

/// Every model, with and without what may be added to it; whether gradients deviate.
fn cases() -> Vec<(SticksOptions, bool)> {
    use Diffusivity::{Gamma, Single, Zeppelin};
    use Noise::{Gaussian, Rician};
    [
        (Single, Gaussian, Offset::None, false),
        (Single, Rician, Offset::Flat, true),
        (Gamma, Gaussian, Offset::Relevance, true),
        (Gamma, Rician, Offset::None, false),
        (Zeppelin, Gaussian, Offset::None, true),
        (Zeppelin, Rician, Offset::Flat, false),
    ]
    .into_iter()
    .map(|(diffusivity, noise, offset, bent)| (short(diffusivity, noise, offset), bent))
    .collect()
}

fn recorded(options: &SticksOptions, rows: &BatchRows) -> Recorded {
    Recorded::new(options.n_samples(), crate::slots::sampled(options).len(), rows.stride)
}

fn column(rows: &[f32], stride: usize, lane: usize) -> Vec<f64> {
    rows.iter().skip(lane).step_by(stride).map(|&x| f64::from(x)).collect()
}

/// The posterior of one voxel of a batch; `y` as [`column`] gives it.
fn posterior<'a>(
    options: &'a SticksOptions,
    protocol: &'a Protocol,
    rows: &BatchRows,
    y: &'a [f64],
    lane: usize,
) -> Posterior<'a> {
    let bend = rows.bend.as_ref().map(|bend| {
        let entries = column(bend, rows.stride, lane);
        std::array::from_fn(|row| std::array::from_fn(|k| entries[3 * row + k]))
    });
    Posterior { options, protocol, y, bend }
}

#[test]
fn lanes_take_the_jumps_of_the_oracle() {
    let protocol = acquisition();
    for (options, bent) in cases() {
        let options = SticksOptions { burn_in: 0, jumps: 4, sample_every: 1, ..options };
        let n = 24;
        let rows = simulate(&options, n, bent);
        let mut found = recorded(&options, &rows);
        let constants = Constants::new(&options, &protocol);
        sample(&rows.batch(), &constants, SimdLevel::best(), &mut found, &|| false);
        let mut differ = 0;
        for lane in 0..n {
            let y = column(&rows.y, rows.stride, lane);
            let start = column(&rows.starts, rows.stride, lane);
            let mut chain = oracle::Chain::new(Voxel {
                posterior: posterior(&options, &protocol, &rows, &y, lane),
                item: u64::from(rows.items[lane]),
                start: std::array::from_fn(|k| start[k]),
            });
            let lane_samples = column(&found.samples, rows.stride, lane);
            let sampled = &constants.sampled;
            for sample in lane_samples.chunks_exact(sampled.len()) {
                chain.jump();
                let near = |(value, slot): (&f64, &usize)| {
                    let expected = chain.p[*slot];
                    // Steps of a few jumps, each with the rounding of f32; angles turn round.
                    let turned = (value - expected).abs();
                    turned.min((1.0 - turned).abs()) < 1e-4 * expected.abs().max(1.0)
                };
                if !sample.iter().zip(sampled).all(near) {
                    differ += 1;
                    break;
                }
            }
        }
        // Some 40 decisions in each of 24 voxels; one in ten thousand is closer than rounding.
        assert!(differ <= 1, "{differ} of {n} chains differ: {options:?}");
    }
}

#[test]
fn kept_signals_are_those_of_the_parameters_after_many_jumps() {
    let protocol = acquisition();
    for (options, bent) in cases() {
        let options = SticksOptions { jumps: 400, ..options };
        let rows = simulate(&options, 1, bent);
        let constants = Constants::new(&options, &protocol);
        let mut chain = Chain::<f32>::new((), &constants);
        chain.load(&rows.batch(), 0);
        chain.run(0, &mut recorded(&options, &rows));
        let p: [f64; MOST] = chain.p.map(f64::from);
        let y = column(&rows.y, rows.stride, 0);
        let posterior = posterior(&options, &protocol, &rows, &y, 0);
        for i in 0..y.len() {
            let expected = posterior.attenuation(&p, i);
            // A few hundred additions to numbers up to 1, each rounded to 6e-8.
            assert!((f64::from(chain.m[i]) - expected).abs() < 2e-5, "{i}: {options:?}");
        }
        let expected = match options.noise {
            Noise::Gaussian => posterior.squares(&p),
            Noise::Rician => posterior.noise(&p),
        };
        // The same error in residuals of 0.04, or in an energy of τ times their squares.
        let scale = expected.abs().max(p[PRECISION] * p[S0] * 0.04);
        let found = f64::from(chain.misfit);
        assert!((found - expected).abs() < 2e-3 * scale, "{found} {expected}: {options:?}");
    }
}

#[test]
fn samples_have_the_same_bits_in_registers_of_any_width() {
    let protocol = acquisition();
    for (options, bent) in cases() {
        let rows = simulate(&options, 21, bent);
        let constants = Constants::new(&options, &protocol);
        let mut expected = recorded(&options, &rows);
        sample_singly(&rows.batch(), &constants, &mut expected);
        for simd in SimdLevel::available().into_iter().filter(|simd| simd.fuses()) {
            let mut found = recorded(&options, &rows);
            sample(&rows.batch(), &constants, simd, &mut found, &|| false);
            for (a, b) in expected
                .samples
                .iter()
                .zip(&found.samples)
                .enumerate()
                .filter_map(|(i, pair)| (i % rows.stride < 21).then_some(pair))
            {
                assert_eq!(a.to_bits(), b.to_bits(), "{simd:?}: {options:?}");
            }
            assert_eq!(expected.acceptance[..21], found.acceptance[..21], "{simd:?}");
        }
    }
}

#[test]
fn levels_that_do_not_fuse_sample_too() {
    let protocol = acquisition();
    let options = short(Diffusivity::Gamma, Noise::Gaussian, Offset::None);
    let rows = simulate(&options, 4, false);
    let constants = Constants::new(&options, &protocol);
    let mut found = recorded(&options, &rows);
    sample(&rows.batch(), &constants, SimdLevel::Scalar, &mut found, &|| false);
    assert!(found.acceptance[..4].iter().all(|share| (0.05..1.0).contains(share)));
}
