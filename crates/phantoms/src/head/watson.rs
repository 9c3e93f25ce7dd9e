//! Fibres that disperse: signal and moments of sticks and cylinders whose directions follow Watson's
//! distribution, exp(κ (u·n)²), with κ = 1 / tan(π ODI / 2) as in NODDI (Zhang et al., NeuroImage
//! 61, 1000 (2012)).

use std::f64::consts::FRAC_PI_2;

use rayon::prelude::*;

/// The highest degree of Legendre polynomials; dispersion leaves less than 1e-6 of what is beyond.
const DEGREE: usize = 48;
/// Points of the sums over cosines.
const POINTS: usize = 4000;

/// Legendre's polynomials of even degree up to [`DEGREE`].
fn legendre(x: f64) -> [f64; DEGREE / 2 + 1] {
    let mut even = [1.0; DEGREE / 2 + 1];
    let (mut before, mut here) = (1.0, x);
    for l in 2..=DEGREE {
        let n = l as f64;
        (before, here) = (here, ((2.0 * n - 1.0) * x * here - (n - 1.0) * before) / n);
        if l % 2 == 0 {
            even[l / 2] = here;
        }
    }
    even
}

/// The means over 0 to 1 of `weight` times the even polynomials.
fn means(weight: impl Fn(f64) -> f64) -> [f64; DEGREE / 2 + 1] {
    let mut sums = [0.0; DEGREE / 2 + 1];
    for i in 0..POINTS {
        let x = (i as f64 + 0.5) / POINTS as f64;
        let w = weight(x) / POINTS as f64;
        for (sum, p) in sums.iter_mut().zip(legendre(x)) {
            *sum += w * p;
        }
    }
    sums
}

/// A step of NODDI's index of dispersion: 0.02, 0.03 ... 1. What fibres at so many indices do is
/// found once for all voxels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spread(u8);

impl Spread {
    /// From step to step.
    const STEP: f64 = 0.01;
    /// The least.
    const LEAST: f64 = 0.02;
    const COUNT: u8 = 99;

    /// The step nearest to an index; one beyond the range is brought into it.
    pub(super) fn near(index: f64) -> Self {
        let steps = ((index - Self::LEAST) / Self::STEP).round();
        Self(steps.clamp(0.0, f64::from(Self::COUNT - 1)) as u8)
    }

    /// The step of this place in [`Self::all`], or the last.
    pub(super) fn at(place: usize) -> Self {
        Self(place.min(usize::from(Self::COUNT) - 1) as u8)
    }

    /// NODDI's index.
    pub(super) fn index(self) -> f64 {
        Self::LEAST + Self::STEP * f64::from(self.0)
    }

    /// Its place in [`Self::all`].
    pub(super) fn place(self) -> usize {
        usize::from(self.0)
    }

    /// All, ascending.
    pub(super) fn all() -> impl IndexedParallelIterator<Item = Self> {
        (0..usize::from(Self::COUNT)).into_par_iter().map(|step| Self(step as u8))
    }
}

/// How directions are spread about their mean.
#[derive(Clone, Debug)]
pub(super) struct Watson {
    /// The mean of each even Legendre polynomial of the cosine to the mean direction.
    moments: [f64; DEGREE / 2 + 1],
}

impl Watson {
    /// `index` is NODDI's index of dispersion, above 0 and at most 1.
    pub(super) fn new(index: f64) -> Self {
        let kappa = 1.0 / (FRAC_PI_2 * index).tan();
        // Relative to its largest value, so that it cannot overflow.
        let mut moments = means(|x| (kappa * (x * x - 1.0)).exp());
        let whole = moments[0];
        moments.iter_mut().for_each(|m| *m /= whole);
        Self { moments }
    }

    /// How far directions keep to their mean: the mean of the second Legendre polynomial, 1 where they
    /// all do, 0 where they go everywhere alike.
    pub(super) fn order(&self) -> f64 {
        self.moments[1]
    }

    /// The mean over directions u of exp(-b (across + (along - across) (u·g)²)) for every cosine
    /// between g and the mean direction, 0 to 1 at even steps.
    pub(super) fn signal(&self, b: f64, [along, across]: [f64; 2], steps: usize) -> Vec<f64> {
        let kernel = means(|x| (-b * (along - across) * x * x).exp());
        let at = |i: usize| {
            let p = legendre(i as f64 / steps as f64);
            let terms =
                (0..p.len()).map(|k| (4 * k + 1) as f64 * kernel[k] * self.moments[k] * p[k]);
            (-b * across).exp() * terms.sum::<f64>()
        };
        (0..=steps).map(at).collect()
    }

    /// The means of D and of D² = (across + (along - across) (u·g)²)² at a cosine between g and the
    /// mean direction.
    pub(super) fn cumulants(&self, [along, across]: [f64; 2], cosine: f64) -> [f64; 2] {
        let p = legendre(cosine);
        let (second, fourth) = (self.moments[1] * p[1], self.moments[2] * p[2]);
        let squares = (1.0 + 2.0 * second) / 3.0;
        let fourths = 0.2 + 4.0 / 7.0 * second + 8.0 / 35.0 * fourth;
        let more = along - across;
        [
            across + more * squares,
            across * across + 2.0 * across * more * squares + more * more * fourths,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_held_to_half_a_step() {
        for index in [0.02, 0.0612, 0.155, 1.0] {
            assert!((Spread::near(index).index() - index).abs() < 0.005 + 1e-9, "{index}");
        }
        assert_eq!([Spread::near(0.0), Spread::near(2.0)].map(|s| s.place()), [0, 98]);
        assert_eq!(Spread::all().map(|s| s.place()).collect::<Vec<_>>()[98], 98);
    }

    #[test]
    fn fibres_in_all_directions_give_the_powder_average() {
        let (b, d): (f64, f64) = (2.0, 2.0);
        let signal = Watson::new(1.0).signal(b, [d, 0.0], 4);
        // ∫ exp(-bd x²) over 0 to 1 = √(π / 4bd) erf(√bd); erf(2) = 0.9953222650.
        let expected = (std::f64::consts::PI / 16.0).sqrt() * 0.995_322_265_0;
        for s in signal {
            assert!((s - expected).abs() < 1e-6, "{s} {expected}");
        }
    }

    #[test]
    fn fibres_that_hardly_disperse_give_the_stick() {
        let signal = Watson::new(0.02).signal(1.0, [1.7, 0.3], 10);
        for (i, s) in signal.into_iter().enumerate() {
            let cos = 0.1 * i as f64;
            let expected = (-0.3 - 1.4 * cos * cos).exp();
            // 2 degrees of freedom of 1/(2κ), κ = 32, times the curvature of the signal.
            assert!((s - expected).abs() < 0.03, "{cos}: {s} {expected}");
        }
    }

    #[test]
    fn the_cumulants_are_the_slope_and_the_curvature_of_the_signal() {
        let (watson, d) = (Watson::new(0.2), [2.0, 0.4]);
        for (i, cos) in [0.0, 0.5, 1.0].into_iter().enumerate() {
            let h = 1e-3;
            let s = |b: f64| watson.signal(b, d, 2)[i];
            let [mean, square] = watson.cumulants(d, cos);
            assert!(((s(-h) - s(h)) / (2.0 * h) - mean).abs() < 1e-5);
            assert!(((s(-h) - 2.0 * s(0.0) + s(h)) / (h * h) - square).abs() < 1e-4);
        }
    }
}
