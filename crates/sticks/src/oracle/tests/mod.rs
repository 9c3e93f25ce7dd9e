//! The oracle against what can be known otherwise.

mod moments;

use crate::device::{acquisition, short, simulate};
use crate::oracle::{Chain, Posterior, Voxel, ln_i0e};
use crate::slots::{DIFFUSIVITY, MOST, PRECISION, RATIO, S0, SPREAD, fraction, theta};
use crate::{Diffusivity, Noise, Offset, Relevance, SticksOptions};

fn parameters() -> [f64; MOST] {
    let mut p = [0.0; MOST];
    (p[S0], p[DIFFUSIVITY], p[SPREAD], p[RATIO], p[PRECISION]) = (1.2, 1.5, 0.3, 0.13, 300.0);
    for k in 0..2 {
        p[theta(k)] = 0.1 + 0.1 * k as f64;
        p[theta(k) + 1] = 0.3;
        p[fraction(k)] = 0.3;
    }
    p
}

#[test]
fn a_gamma_of_no_width_is_one_diffusivity() {
    let protocol = acquisition();
    let single = short(Diffusivity::Single, Noise::Gaussian, Offset::None);
    let gamma = short(Diffusivity::Gamma, Noise::Gaussian, Offset::None);
    let of = |options, p: &[f64; MOST], i| {
        Posterior { options, protocol: &protocol, y: &[], bend: None }.attenuation(p, i)
    };
    let mut p = parameters();
    for (spread, tolerance) in [(0.0099, 0.0), (0.02, 1e-3)] {
        p[SPREAD] = spread;
        for i in 0..protocol.len() {
            // A spread of s changes the exponent by (b s)²/2.
            assert!((of(&gamma, &p, i) - of(&single, &p, i)).abs() <= tolerance);
        }
    }
}

#[test]
fn a_zeppelin_without_width_is_a_stick_of_three_times_its_mean() {
    let protocol = acquisition();
    let zeppelin = short(Diffusivity::Zeppelin, Noise::Gaussian, Offset::None);
    let single = short(Diffusivity::Single, Noise::Gaussian, Offset::None);
    let mut p = parameters();
    (p[RATIO], p[SPREAD]) = (0.0, 0.001);
    let mut stick = p;
    stick[DIFFUSIVITY] *= 3.0;
    // Without a ball.
    (p[fraction(0)], p[fraction(1)]) = (1.0, 0.0);
    (stick[fraction(0)], stick[fraction(1)]) = (1.0, 0.0);
    for i in 0..protocol.len() {
        let of = |options, p| {
            Posterior { options, protocol: &protocol, y: &[], bend: None }.attenuation(p, i)
        };
        assert!((of(&zeppelin, &p) - of(&single, &stick)).abs() < 1e-12);
    }
}

#[test]
fn the_bessel_function_has_its_known_values() {
    // I0(1) = 1.2660658777520084, I0(50) = 2.932553783849337e20.
    assert!((ln_i0e(1.0) - (1.266_065_877_752_008_4f64.ln() - 1.0)).abs() < 1e-14);
    assert!((ln_i0e(50.0) - (2.932_553_783_849_337e20f64.ln() - 50.0)).abs() < 1e-12);
    assert_eq!(ln_i0e(0.0), 0.0);
}

#[test]
fn fractions_beyond_their_range_or_sum_are_impossible() {
    let options = short(Diffusivity::Single, Noise::Gaussian, Offset::None);
    let protocol = acquisition();
    let posterior = Posterior { options: &options, protocol: &protocol, y: &[], bend: None };
    assert!(posterior.priors(&parameters()).is_finite());
    for (f1, f2) in [(-0.1, 0.3), (0.0, 0.3), (0.7, 0.31)] {
        let mut p = parameters();
        (p[fraction(0)], p[fraction(1)]) = (f1, f2);
        assert_eq!(posterior.priors(&p), f64::INFINITY);
    }
}

#[test]
fn relevance_is_determined_for_further_fibres_only() {
    let with = |relevance| SticksOptions {
        relevance,
        ..short(Diffusivity::Single, Noise::Gaussian, Offset::None)
    };
    let protocol = acquisition();
    let energy = |relevance| {
        let options = with(relevance);
        Posterior { options: &options, protocol: &protocol, y: &[], bend: None }
            .priors(&parameters())
    };
    let ln_f = 0.3f64.ln();
    assert!((energy(Relevance::Further) - energy(Relevance::Off) - ln_f).abs() < 1e-12);
    assert!((energy(Relevance::All) - energy(Relevance::Off) - 2.0 * ln_f).abs() < 1e-12);
}

/// With nothing measured the chain samples the priors: cos θ is uniform, and so is a fraction
/// below what the other leaves.
#[test]
fn without_data_the_priors_are_sampled() {
    let options = SticksOptions {
        n_fibres: 1,
        relevance: Relevance::Off,
        ..short(Diffusivity::Single, Noise::Gaussian, Offset::None)
    };
    let protocol = crate::protocol::Protocol { root: Vec::new(), b: Vec::new() };
    let posterior = Posterior { options: &options, protocol: &protocol, y: &[], bend: None };
    let mut chain = Chain::new(Voxel { posterior, item: 3, start: parameters() });
    let (mut cos2, mut f, mut f2, n) = (0.0, 0.0, 0.0, 20_000);
    for _ in 0..n {
        chain.jump();
        cos2 += (std::f64::consts::TAU * chain.p[theta(0)]).cos().powi(2);
        f += chain.p[fraction(0)];
        f2 += chain.p[fraction(0)].powi(2);
    }
    let n = f64::from(n);
    // Means of 1/3, 1/2 and 1/3 with deviations of 0.3, of samples of which every tenth counts.
    for (mean, expected) in [(cos2 / n, 1.0 / 3.0), (f / n, 0.5), (f2 / n, 1.0 / 3.0)] {
        assert!((mean - expected).abs() < 0.03, "{mean} {expected}");
    }
}

#[test]
fn a_chain_stays_where_the_data_are() {
    let options = short(Diffusivity::Single, Noise::Gaussian, Offset::None);
    let protocol = acquisition();
    let rows = simulate(&options, 1, false);
    let y: Vec<f64> = rows.y.iter().step_by(rows.stride).map(|&y| f64::from(y)).collect();
    let start: Vec<f64> = rows.starts.iter().step_by(rows.stride).map(|&p| f64::from(p)).collect();
    let posterior = Posterior { options: &options, protocol: &protocol, y: &y, bend: None };
    let start: [f64; MOST] = std::array::from_fn(|k| start[k]);
    let best = posterior.squares(&start);
    let mut chain = Chain::new(Voxel { posterior, item: 0, start });
    for _ in 0..300 {
        chain.jump();
    }
    let posterior = Posterior { options: &options, protocol: &protocol, y: &y, bend: None };
    // Of 41 measurements 8 parameters take part of the noise; chains move a few more.
    assert!(posterior.squares(&chain.p) < 1.5 * best);
}
