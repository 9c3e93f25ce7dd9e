//! Where the cortex folds: sheets that go down from the envelope into a hemisphere.
//!
//! Sulci that every brain has are lines on the envelope, drawn by hand; between them run the zero
//! lines of a random wave, which meander and meet as sulci do. A sheet goes down below its line, as
//! deep as the sulcus is. The Sylvian fissure is a sheet of its own with the insula at its bottom.

use fimbria_compute::dense::vec3::{Vec3, dot, norm, scale, sub};

use super::cerebrum::{Envelope, arch};
use super::routes::ROUTES;
use super::shapes::{Ball, chain, ellipsoid, ramp, to_line};
use super::waves::{Dice, Waves};

/// A sulcus that every brain has.
struct Known {
    /// Near the envelope, mm.
    line: &'static [Vec3],
    /// mm.
    depth: f64,
}

const KNOWN: [Known; 11] = [
    // Central.
    Known {
        line: &[
            [5., -30., 72.],
            [20., -27., 69.],
            [36., -19., 58.],
            [49., -12., 40.],
            [60., -4., 18.],
        ],
        depth: 19.0,
    },
    // Precentral and postcentral.
    Known {
        line: &[[24., -8., 67.], [38., -2., 55.], [50., 6., 36.], [57., 11., 16.]],
        depth: 15.0,
    },
    Known {
        line: &[[20., -44., 69.], [36., -37., 60.], [50., -29., 42.], [60., -22., 24.]],
        depth: 15.0,
    },
    // Superior frontal, inferior frontal.
    Known { line: &[[20., 50., 38.], [23., 24., 58.], [24., -4., 67.]], depth: 15.0 },
    Known { line: &[[42., 42., 18.], [50., 18., 30.], [52., 8., 34.]], depth: 14.0 },
    // Intraparietal.
    Known { line: &[[42., -36., 56.], [33., -54., 56.], [24., -72., 48.]], depth: 18.0 },
    // Superior temporal.
    Known {
        line: &[
            [50., 10., -28.],
            [60., -10., -18.],
            [63., -32., -6.],
            [58., -54., 12.],
            [48., -66., 28.],
        ],
        depth: 14.0,
    },
    // Cingulate, with its marginal branch.
    Known {
        line: &[
            [1., 38., -8.],
            [1., 47., 10.],
            [1., 36., 30.],
            [1., 12., 40.],
            [1., -14., 43.],
            [1., -34., 48.],
            [1., -40., 66.],
        ],
        depth: 11.0,
    },
    // Parieto-occipital and calcarine.
    Known { line: &[[1., -56., 8.], [1., -66., 28.], [4., -74., 50.]], depth: 17.0 },
    Known {
        line: &[[1., -50., 4.], [1., -60., -1.], [1., -72., 4.], [1., -84., 0.], [1., -94., 3.]],
        depth: 17.0,
    },
    // Collateral, below.
    Known {
        line: &[[30., 0., -36.], [31., -30., -30.], [29., -56., -18.], [26., -76., -14.]],
        depth: 11.0,
    },
];

/// The wave between whose zero lines gyri run: shorter, and there is no white matter left in them.
const WAVELENGTH_MM: f64 = 18.0;
/// How deep its sulci are, and how much that varies.
const DEPTH_MM: [f64; 2] = [19.0, 4.5];

/// The sheets of both hemispheres.
pub(super) struct Sulci<'a> {
    envelope: &'a Envelope,
    /// Waves that both hemispheres have, and those of the left and of the right.
    shared: Waves,
    own: [Waves; 2],
    /// Where sulci are deep.
    depth: Waves,
    /// How lines swerve.
    swerve: [Waves; 3],
    /// [`KNOWN`]'s lines on the envelope.
    known: Vec<(Vec<Vec3>, f64)>,
    /// What is white matter in every brain: the tubes of the bundles.
    tubes: Vec<Tube>,
}

impl<'a> Sulci<'a> {
    pub(super) fn new(envelope: &'a Envelope, seed: u64) -> Self {
        let waves = |purpose, wavelength| Waves::new(Dice::new(seed, purpose), 20, wavelength);
        let slow = |purpose, wavelength| Waves::new(Dice::new(seed, purpose), 8, wavelength);
        let on_envelope = |p: &Vec3| (0..3).fold(*p, |p, _| envelope.projected(p).0);
        let known = KNOWN.iter().map(|k| (k.line.iter().map(on_envelope).collect(), k.depth));
        Self {
            envelope,
            shared: waves(11, WAVELENGTH_MM),
            own: [waves(12, WAVELENGTH_MM), waves(13, WAVELENGTH_MM)],
            depth: slow(14, 50.0),
            swerve: [slow(15, 30.0), slow(16, 30.0), slow(17, 30.0)],
            known: known.collect(),
            tubes: ROUTES.iter().filter(|r| r.is_cerebral()).map(|r| Tube::new(r.tube())).collect(),
        }
    }

    /// The depth in the tubes of the bundles, mm; far from all of them some negative number.
    pub(super) fn tubes(&self, p: Vec3) -> f64 {
        let near = self.tubes.iter().filter(|tube| tube.is_near(p));
        near.map(|tube| chain(p, &tube.balls)).fold(-FAR_MM, f64::max)
    }

    /// The distance to the nearest sheet, mm, from a point `depth` mm deep in the right (1) or the
    /// left (0) hemisphere, x from the midline outwards.
    pub(super) fn distance(&self, p: Vec3, depth: f64, side: usize) -> f64 {
        let (mut on, inwards) = self.envelope.projected(p);
        let swerve = [0, 1, 2].map(|a| 1.6 * self.swerve[a].at(on));
        (0..3).for_each(|a| on[a] += swerve[a]);
        let lateral = sylvian([p[0], p[1] + swerve[1], p[2] + swerve[2]]);
        let mut nearest = lateral.min(callosal(p));
        let mut to_known = nearest;
        for (line, deep) in &self.known {
            let across = to_line(on, line);
            to_known = to_known.min(across);
            nearest = nearest.min(across.hypot((depth - deep).max(0.0)));
        }
        // Sulci run beside each other, a gyrus apart: near those drawn there is no other.
        let apart = (6.0 - to_known).max(0.0);
        let (shared, slope) = self.shared.with_gradient(on);
        let (own, own_slope) = self.own[side].with_gradient(on);
        let value = 0.8 * shared + 0.6 * own;
        let slope = [0, 1, 2].map(|a| 0.8 * slope[a] + 0.6 * own_slope[a]);
        let along = sub(slope, scale(inwards, dot(slope, inwards)));
        // Where the wave is level there is no line near; the bound keeps the ratio finite.
        let across = value.abs() / norm(along).max(0.09) + apart;
        let deep = DEPTH_MM[0] + DEPTH_MM[1] * self.depth.at(on).clamp(-1.6, 1.6);
        nearest = nearest.min(across.hypot((depth - deep).max(0.0)));
        // None between the nuclei.
        let between = ellipsoid(p, [10.0, -6.0, 5.0], [24.0, 42.0, 20.0]);
        nearest.max(between + 4.0).min(lateral)
    }
}

/// Farther than this a tube has no say.
const FAR_MM: f64 = 8.0;

/// A string of balls in a box.
struct Tube {
    balls: Vec<Ball>,
    low: Vec3,
    high: Vec3,
}

impl Tube {
    fn new(balls: Vec<Ball>) -> Self {
        let edge = |a: usize, sign: f64| {
            let ends = balls.iter().map(|(centre, radius)| sign * centre[a] + radius + FAR_MM);
            sign * ends.fold(f64::NEG_INFINITY, f64::max)
        };
        let [low, high] = [-1.0, 1.0].map(|sign| [0, 1, 2].map(|a| edge(a, sign)));
        Self { balls, low, high }
    }

    fn is_near(&self, p: Vec3) -> bool {
        (0..3).all(|a| (self.low[a]..=self.high[a]).contains(&p[a]))
    }
}

/// The distance to the Sylvian fissure and the insula.
fn sylvian(p: Vec3) -> f64 {
    let above = 0.92 * (p[2] - sylvian_height(p[1]));
    let fissure = norm([above, (INSULA_X - p[0]).max(0.0), outside(p[1], -46.0, 21.0)]);
    // The insula bulges.
    let bulge = 2.5 * (1.0 - (above / 12.0).powi(2)).max(0.0);
    let out = p[0] - INSULA_X - bulge;
    let insula = norm([out, (above.abs() - 12.0).max(0.0), outside(p[1], -24.0, 16.0)]);
    fissure.min(insula)
}

const INSULA_X: f64 = 38.0;

/// The height of the fissure, which rises backwards.
fn sylvian_height(y: f64) -> f64 {
    -5.0 - 0.42 * y + 4.0 * ramp(-y, 30.0, 50.0)
}

/// How far outside an interval a number is.
fn outside(x: f64, low: f64, high: f64) -> f64 {
    (low - x).max(x - high).max(0.0)
}

/// The distance to the sulcus between the callosum and the cingulate gyrus.
fn callosal(p: Vec3) -> f64 {
    norm([arch(p) - 0.15, (p[0] - 7.0).max(0.0), (-4.0 - p[2]).max(0.0)])
}

#[cfg(test)]
mod tests {
    use fimbria_compute::{Silent, Workers};

    use super::*;

    #[test]
    fn the_known_sulci_are_on_the_envelope() {
        let envelope = Envelope::new(&Workers::new(1).unwrap(), &Silent).unwrap();
        for (line, depth) in &Sulci::new(&envelope, 1).known {
            assert!(line.iter().all(|p| envelope.depth(*p).abs() < 1.0), "{line:?}");
            assert!(*depth > 8.0);
        }
    }

    #[test]
    fn the_insula_lies_under_the_fissure() {
        assert!(sylvian([50.0, 0.0, sylvian_height(0.0)]) < 1e-9);
        assert!(sylvian([INSULA_X + 2.5, -4.0, sylvian_height(-4.0)]) < 0.2);
        assert!(sylvian([25.0, 0.0, -5.0]) > 10.0);
    }
}
