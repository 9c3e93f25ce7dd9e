use super::*;
use crate::dki::form::{quadratic_terms, quartic_terms};
use fimbria_tensors::starts::half_sphere;
use fimbria_testing::{Noise, tensor};

pub(in crate::dki) fn dot<const N: usize>(a: [f64; N], b: &[f64; N]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// V of a mixture of Gaussian compartments (share, D): 3 Σ f (D(n) - mean)², and their mean D.
pub(in crate::dki) fn mixture(compartments: &[(f64, [f64; 6])]) -> ([f64; 6], [f64; 15]) {
    let mean: [f64; 6] = std::array::from_fn(|k| compartments.iter().map(|(f, d)| f * d[k]).sum());
    let mut v = [0.0; 15];
    for (f, d) in compartments {
        let rest: [f64; 6] = std::array::from_fn(|k| d[k] - mean[k]);
        let square = fimbria_tensors::geap::symmetric_square(&rest, 3);
        for k in 0..15 {
            v[k] += 3.0 * f * square[k];
        }
    }
    (mean, v)
}

/// Random crossings of two or three compartments.
fn crossings(n: usize) -> impl Iterator<Item = ([f64; 6], [f64; 15])> {
    let mut noise = Noise(5);
    (0..n).map(move |_| {
        let compartments: Vec<(f64, [f64; 6])> = (0..3)
            .map(|_| {
                let l = [0.5 + 2.0 * noise.uniform(), 0.2 + 0.6 * noise.uniform(), 0.2];
                (1.0 / 3.0, tensor(l, std::array::from_fn(|_| 6.0 * noise.uniform())).0)
            })
            .collect();
        mixture(&compartments)
    })
}

/// The mean of V / D² over the sphere by Fejér's rule in the polar angle and the trapezium rule about it.
fn mean_by_product_rule(d: [f64; 6], v: &[f64; 15]) -> f64 {
    let (n_z, n_phi) = (200, 200);
    let mut sum = 0.0;
    for i in 0..n_z {
        let theta = std::f64::consts::PI * (i as f64 + 0.5) / f64::from(n_z);
        let weight: f64 = (1..=n_z / 2)
            .map(|j| (2.0 * f64::from(j) * theta).cos() / (4.0 * f64::from(j).powi(2) - 1.0))
            .sum();
        let weight = 2.0 / f64::from(n_z) * (1.0 - 2.0 * weight);
        for k in 0..n_phi {
            let phi = std::f64::consts::TAU * f64::from(k) / f64::from(n_phi);
            let g = [theta.sin() * phi.cos(), theta.sin() * phi.sin(), theta.cos()];
            let along = dot(quadratic_terms(g), &d);
            sum += weight / 2.0 / f64::from(n_phi) * dot(quartic_terms(g), v) / (along * along);
        }
    }
    sum
}

#[test]
fn mean_kurtosis_is_the_mean_over_the_sphere() {
    for (d, v) in crossings(20) {
        let found = KurtosisMaps::new(d, &v).mk;
        let expected = mean_by_product_rule(d, &v);
        // Both rules converge geometrically; what is left is rounding of 40 000 terms.
        assert!((found - expected).abs() < 1e-10 * expected.abs(), "{found} {expected}");
    }
}

#[test]
fn the_twelve_nodes_of_the_lanes_are_enough_for_ratios_up_to_a_hundred() {
    use crate::dki::lanes::means::{N_NODES, NODES, WEIGHTS};
    let v: [f64; 15] = std::array::from_fn(|k| [1.0, 0.3, 0.5][k % 3]);
    for l in
        [[1.0, 1.0, 1.0], [1.0, 0.5, 0.2], [1.0, 0.3, 0.3], [1.0, 0.9, 0.05], [1.0, 0.01, 0.01]]
    {
        let exact = means(l, &v)[0];
        let narrow = crate::dki::lanes::means::means(l.map(|l| l as f32), &v.map(|v| v as f32))[0];
        // 1.4e-7 of the rule, and roundings of f32.
        assert!((f64::from(narrow) - exact).abs() < 1e-6 * exact, "{l:?}: {narrow} {exact}");
    }
    assert!((WEIGHTS.iter().sum::<f32>() - 1.0).abs() < 1e-6);
    assert!((0..N_NODES).all(|k| (NODES[k] + NODES[N_NODES - 1 - k] - 1.0).abs() < 1e-6));
}

#[test]
fn isotropic_tensors_have_their_kurtosis_in_every_map() {
    // W = k I has W(n) = k, and D = d I: K = k in every direction.
    let (k, d) = (0.8, 1.1);
    let mut v = [0.0; 15];
    for (entry, value) in
        [(0, 1.0), (10, 1.0), (14, 1.0), (3, 1.0 / 3.0), (5, 1.0 / 3.0), (12, 1.0 / 3.0)]
    {
        v[entry] = k * d * d * value;
    }
    let maps = KurtosisMaps::new([d, 0.0, 0.0, d, 0.0, d], &v);
    for value in [maps.mk, maps.ak, maps.rk, maps.mkt, maps.kmin, maps.kmax] {
        assert!((value - k).abs() < 1e-12, "{maps:?}");
    }
    assert!(maps.kfa < 1e-12);
    assert_eq!(maps.shares, [0.0, 0.0, 1.0]);
    // Of a line, a plane, and what is between.
    let shares = |d: [f64; 3]| KurtosisMaps::new([d[0], 0.0, 0.0, d[1], 0.0, d[2]], &v).shares;
    assert_eq!(shares([1.0, 0.0, 0.0]), [1.0, 0.0, 0.0]);
    assert_eq!(shares([1.0, 0.0, 1.0]), [0.0, 1.0, 0.0]);
    assert_eq!(shares([1.0, 4.0, 3.0]), [1.0, 4.0, 3.0].map(|share| share / 8.0));
}

#[test]
fn axially_symmetric_tensors_have_jensens_closed_form() {
    // Parallel sticks and a ball about z: W(n) is a polynomial in u² = (n·z)².
    // Mean over u of (a + b u² + c u⁴) / (l + m u²)², by partial fractions.
    let (parallel, across) = (2.0, 0.5);
    let (a, b, c) = (0.2, 0.3, 0.4);
    let mut v = [0.0; 15];
    // (x² + y² + z²)² a + (x² + y² + z²) z² b + z⁴ c, entries without multiplicities.
    v[0] = a;
    v[10] = a;
    v[14] = a + b + c;
    v[3] = 2.0 * a / 6.0;
    v[5] = (2.0 * a + b) / 6.0;
    v[12] = (2.0 * a + b) / 6.0;
    let maps = KurtosisMaps::new([across, 0.0, 0.0, across, 0.0, parallel], &v);
    let (l, m): (f64, f64) = (across, parallel - across);
    let root = (m / l).sqrt();
    let arc = root.atan() / (l * m).sqrt();
    // Integrals from 0 to 1 of 1, u² and u⁴ over (l + m u²)².
    let i0 = (1.0 / (l + m) + arc) / (2.0 * l);
    let i2 = (arc - 1.0 / (l + m)) / (2.0 * m);
    let i4 = (1.0 / m - l * arc / m - l * i2) / m;
    let expected = a * i0 + b * i2 + c * i4;
    assert!((maps.mk - expected).abs() < 1e-12, "{} {expected}", maps.mk);
    assert!((maps.ak - (a + b + c) / (parallel * parallel)).abs() < 1e-14);
    // Across z, W is a in every direction and D the same: the two eigenvalues are equal.
    assert!((maps.rk - a / (across * across)).abs() < 1e-13, "{}", maps.rk);
}

#[test]
fn radial_kurtosis_is_the_mean_over_the_circle() {
    for (d, v) in crossings(20) {
        let (l, e) = eigen3(d);
        let n = 400;
        let mean: f64 = (0..n)
            .map(|k| {
                let (s, c) = (std::f64::consts::TAU * f64::from(k) / f64::from(n)).sin_cos();
                let g = std::array::from_fn(|i| c * e[1][i] + s * e[2][i]);
                let along = c * c * l[1] + s * s * l[2];
                dot(quartic_terms(g), &v) / (along * along) / f64::from(n)
            })
            .sum();
        let found = KurtosisMaps::new(d, &v).rk;
        // The trapezium rule of a smooth periodic function, to rounding.
        assert!((found - mean).abs() < 1e-11 * mean.abs(), "{found} {mean}");
    }
}

#[test]
fn extremes_enclose_a_dense_search_and_are_attained() {
    let directions = half_sphere(20_000);
    for (d, v) in crossings(10) {
        let values = directions.iter().map(|&g| {
            let along = dot(quadratic_terms(g), &d);
            dot(quartic_terms(g), &v) / (along * along)
        });
        let (low, high) = values
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), k| (low.min(k), high.max(k)));
        let maps = KurtosisMaps::new(d, &v);
        // Directions are 1 degree apart: at most half of that, squared, times the curvature away.
        let spacing = 2e-3 * (maps.kmax.abs() + maps.kmin.abs());
        // GEAP's last steps are of 1e-9 of the largest entry, a hundred times nearer than it is.
        let rest = 1e-5;
        assert!(maps.kmax > high - rest && maps.kmax - high < spacing, "{} {high}", maps.kmax);
        assert!(maps.kmin < low + rest && low - maps.kmin < spacing, "{} {low}", maps.kmin);
    }
}
