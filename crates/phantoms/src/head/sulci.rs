//! Where the cortex folds: sheets that go down from the envelope into a hemisphere.
//!
//! Sulci that every brain has are lines on the envelope, drawn by hand; between them run the zero
//! lines of a random wave, which meander and meet as sulci do. A sheet goes down below its line, as
//! deep as the sulcus is. The Sylvian fissure is a sheet of its own with the insula at its bottom.

use fimbria_compute::dense::vec3::{Vec3, add, dot, norm, scale, sub};

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
const WAVELENGTH_MM: f64 = 19.0;
/// How deep its sulci are, and how much that varies, over so many mm.
const DEPTH_MM: [f64; 2] = [17.5, 5.0];
const DEPTH_WAVELENGTH_MM: f64 = 34.0;
/// How far sheets swerve, over so many mm. They do so with the depth too, so that walls bend.
const SWERVE_MM: f64 = 2.4;
const SWERVE_WAVELENGTH_MM: f64 = 27.0;
/// How far the wave is drawn apart here and together there, so that gyri are of uneven width.
const STRETCH_MM: f64 = 3.2;
const STRETCH_WAVELENGTH_MM: f64 = 46.0;

/// The sheets of both hemispheres.
pub(super) struct Sulci<'a> {
    envelope: &'a Envelope,
    /// Waves that both hemispheres have, and those of the left and of the right.
    shared: Waves,
    own: [Waves; 2],
    /// Where sulci are deep.
    depth: Waves,
    /// How sheets swerve.
    swerve: [Waves; 3],
    /// How the waves are drawn apart and together.
    stretch: [Waves; 3],
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
            depth: slow(14, DEPTH_WAVELENGTH_MM),
            swerve: [15, 16, 17].map(|purpose| slow(purpose, SWERVE_WAVELENGTH_MM)),
            stretch: [22, 23, 24].map(|purpose| slow(purpose, STRETCH_WAVELENGTH_MM)),
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
        let (foot, inwards) = self.envelope.projected(p);
        let [swerve, stretch] = [(&self.swerve, SWERVE_MM), (&self.stretch, STRETCH_MM)]
            .map(|(waves, by)| waves.each_ref().map(|w| scaled(w.with_gradient(p), by)));
        let moved = [0, 1, 2].map(|a| swerve[a].0);
        let on = add(foot, moved);
        let lateral = sylvian(add(p, [0.0, moved[1], moved[2]]));
        let mut nearest = lateral.min(callosal(p));
        let mut to_known = nearest;
        for (line, deep) in &self.known {
            let across = to_line(on, line);
            to_known = to_known.min(across);
            nearest = nearest.min(across.hypot((depth - deep).max(0.0)));
        }
        // Sulci run beside each other, a gyrus apart: near those drawn there is no other.
        let apart = (6.0 - to_known).max(0.0);
        let drawn = add(on, [0, 1, 2].map(|a| stretch[a].0));
        let (shared, slope) = self.shared.with_gradient(drawn);
        let (own, own_slope) = self.own[side].with_gradient(drawn);
        let value = 0.8 * shared + 0.6 * own;
        let slope = [0, 1, 2].map(|a| 0.8 * slope[a] + 0.6 * own_slope[a]);
        // How the value changes with the place: on the envelope, and by what swerves and stretches.
        let on_envelope = sub(slope, scale(inwards, dot(slope, inwards)));
        let along = (0..3)
            .fold(on_envelope, |sum, a| add(sum, scale(add(swerve[a].1, stretch[a].1), slope[a])));
        // Where the wave is level there is no line near; the bound keeps the ratio finite.
        let across = value.abs() / norm(along).max(0.09) + apart;
        let deep = DEPTH_MM[0] + DEPTH_MM[1] * self.depth.at(on).clamp(-1.8, 1.6);
        nearest = nearest.min(across.hypot((depth - deep).max(0.0)));
        // None between the nuclei.
        let between = ellipsoid(p, [10.0, -6.0, 5.0], [24.0, 42.0, 20.0]);
        nearest.max(between + 4.0).min(lateral)
    }
}

/// A value and its gradient, so many times.
fn scaled((value, gradient): (f64, Vec3), by: f64) -> (f64, Vec3) {
    (by * value, scale(gradient, by))
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
    // On its way in the fissure bends up and down again around the lids of the insula.
    let lid = 2.2 * (0.33 * (p[0] - INSULA_X)).sin() * ramp(p[0], INSULA_X, INSULA_X + 6.0);
    let fissure = norm([above - lid, (INSULA_X - p[0]).max(0.0), outside(p[1], -46.0, 21.0)]);
    // The insula bulges, has gyri that fan out upwards from its front, and is deepest at its rim.
    let bulge = 5.0 * (1.0 - (above / 12.0).powi(2)).max(0.0) - 1.2;
    let gyri = 1.1 * (0.62 * (p[1] - 4.0) - 0.16 * above).cos();
    let out = p[0] - INSULA_X - bulge - gyri;
    let insula = norm([0.9 * out, (above.abs() - 12.0).max(0.0), outside(p[1], -24.0, 16.0)]);
    fissure.min(insula)
}

const INSULA_X: f64 = 37.5;

/// The height of the fissure, which rises backwards.
pub(super) fn sylvian_height(y: f64) -> f64 {
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
        let least = |places: &mut dyn Iterator<Item = Vec3>| {
            places.map(sylvian).fold(f64::INFINITY, f64::min)
        };
        let steps = |i: i32| 0.1 * f64::from(i);
        // The fissure bends, within 3 mm, and the insula has gyri: both are where they are sought along a
        // line, to half a step.
        let height = sylvian_height(0.0);
        let lids = least(&mut (-30..30).map(|i| [50.0, 0.0, height + steps(i)]));
        let insula = least(&mut (0..60).map(|i| [INSULA_X + steps(i), 0.0, height]));
        assert!(lids < 0.06 && insula < 0.06, "{lids} {insula}");
        assert!(sylvian([25.0, 0.0, -5.0]) > 10.0);
    }
}
