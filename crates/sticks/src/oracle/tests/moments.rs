//! The chain against one that proposes a parameter at a time: both must have the same stationary
//! moments.

use std::f64::consts::TAU;

use fimbria_compute::philox::{Philox, normals, uniform};

use crate::device::acquisition;
use crate::oracle::{Chain, Posterior, Voxel};
use crate::slots::{
    self, DIFFUSIVITY, FIBRES, MOST, OFFSET, PRECISION, RATIO, S0, SPREAD, fraction, phi, theta,
};
use crate::{Diffusivity, Noise, Offset, SticksOptions};

/// Jumps of either chain, and those before them.
const JUMPS: u32 = 60_000;
const BURN_IN: u32 = 3000;

/// A parameter at a time, with steps that adapt before the first sample only.
struct Plain<'a> {
    posterior: &'a Posterior<'a>,
    sampled: Vec<usize>,
    p: [f64; MOST],
    energy: f64,
    step: [f64; MOST],
    taken: [f64; MOST],
}

impl Plain<'_> {
    fn jump(&mut self, jump: u32) {
        for (k, &slot) in self.sampled.iter().enumerate() {
            let words = Philox::new(9).at(k as u64, jump);
            let mut p = self.p;
            p[slot] += f64::from(normals::<f32>(words)[0]) * self.step[slot];
            let energy = self.posterior.energy(&p);
            if f64::from(uniform::<f32>(words[2])).ln() < self.energy - energy {
                (self.p, self.energy) = (p, energy);
                self.taken[slot] += 1.0;
            }
        }
        if jump < BURN_IN && jump % 50 == 49 {
            for slot in 0..MOST {
                self.step[slot] *= (0.5 + self.taken[slot] / 50.0).powi(2);
                self.taken[slot] = 0.0;
            }
        }
    }
}

/// Sums of what is compared: the parameters beside fibres, a fraction and a squared cosine to an axis.
#[derive(Default)]
struct Moments {
    n: f64,
    sum: [f64; FIBRES + 2],
    square: [f64; FIBRES + 2],
}

impl Moments {
    fn add(&mut self, p: &[f64; MOST]) {
        let v = Posterior::direction(p, 0);
        let axis = Posterior::direction(&truth(), 0);
        let cos: f64 = (0..3).map(|k| v[k] * axis[k]).sum();
        self.n += 1.0;
        let [.., f, cos2] = &mut self.sum;
        *f += p[fraction(0)];
        *cos2 += cos * cos;
        let [.., f, cos2] = &mut self.square;
        *f += p[fraction(0)].powi(2);
        *cos2 += cos.powi(4);
        for k in 0..FIBRES {
            self.sum[k] += p[k];
            self.square[k] += p[k] * p[k];
        }
    }

    fn mean_and_deviation(&self, k: usize) -> (f64, f64) {
        let mean = self.sum[k] / self.n;
        (mean, (self.square[k] / self.n - mean * mean).max(0.0).sqrt())
    }
}

fn truth() -> [f64; MOST] {
    let mut p = [0.0; MOST];
    (p[S0], p[DIFFUSIVITY], p[SPREAD], p[RATIO], p[OFFSET]) = (1.4, 1.3, 0.8, 0.13, 0.1);
    (p[theta(0)], p[phi(0)], p[fraction(0)]) = (0.6 / TAU, 0.7 / TAU, 0.5);
    p
}

/// Moments of the chain, and of one that proposes a parameter at a time.
fn moments(options: &SticksOptions, sigma: f64) -> (Moments, Moments) {
    let protocol = acquisition();
    let mut start = truth();
    if options.offset == Offset::None {
        start[OFFSET] = 0.0;
    }
    start[PRECISION] = 1.0 / (sigma * sigma);
    let signals = Posterior { options, protocol: &protocol, y: &[], bend: None };
    let measured = |i: usize| {
        let error = f64::from(normals::<f32>(Philox::new(2).at(i as u64, 0))[0]);
        (start[S0] * signals.attenuation(&start, i) + sigma * error).max(0.01)
    };
    let y: Vec<f64> = (0..protocol.len()).map(measured).collect();
    let posterior = || Posterior { options, protocol: &protocol, y: &y, bend: None };

    let mut chain = Chain::new(Voxel { posterior: posterior(), item: 8, start });
    let plain = posterior();
    let mut plain = Plain {
        posterior: &plain,
        sampled: slots::sampled(options),
        p: start,
        energy: plain.energy(&start),
        step: start.map(|value| 0.1 * value.abs().max(0.1)),
        taken: [0.0; MOST],
    };
    let (mut ours, mut expected) = (Moments::default(), Moments::default());
    for jump in 0..BURN_IN + JUMPS {
        chain.jump();
        plain.jump(jump);
        if jump >= BURN_IN {
            ours.add(&chain.p);
            expected.add(&plain.p);
        }
    }
    (ours, expected)
}

#[test]
fn moves_of_several_parameters_have_the_moments_of_one_at_a_time() {
    use Diffusivity::{Gamma, Single, Zeppelin};
    for (diffusivity, noise, offset, sigma) in [
        // Little is known: priors and limits count.
        (Single, Noise::Gaussian, Offset::None, 0.15),
        (Single, Noise::Rician, Offset::Flat, 0.03),
        (Gamma, Noise::Gaussian, Offset::None, 0.01),
        // s is known least here: the density of its steps counts.
        (Gamma, Noise::Gaussian, Offset::None, 0.03),
        (Zeppelin, Noise::Rician, Offset::None, 0.02),
    ] {
        let n_fibres = 1;
        let burn_in = BURN_IN;
        let options = SticksOptions {
            diffusivity,
            noise,
            offset,
            n_fibres,
            burn_in,
            seed: 5,
            ..SticksOptions::default()
        };
        let (ours, expected) = moments(&options, sigma);
        for k in 0..FIBRES + 2 {
            let (mean, deviation) = ours.mean_and_deviation(k);
            let (expected, spread) = expected.mean_and_deviation(k);
            // The plain chain's 60,000 jumps are worth some 300 samples where it is slowest: its
            // mean is known to 0.06 of the deviation, that to 4 percent.
            assert!(
                (mean - expected).abs() <= 0.25 * spread,
                "{k}: {mean} {expected}: {options:?}"
            );
            assert!(
                (deviation - spread).abs() <= 0.2 * spread,
                "{k}: {deviation} {spread}: {options:?}"
            );
        }
    }
}
