use std::f64::consts::PI;

use fimbria_fitting::lm::derivative_error;

use super::*;

/// W at an angle from the axis, as Hansen et al. write it.
fn published(angle: f64, [along, across, mean]: [f64; 3]) -> f64 {
    let fourth = (4.0 * angle).cos() * (10.0 * across + 5.0 * along - 15.0 * mean);
    let second = 8.0 * (2.0 * angle).cos() * (along - across);
    (fourth + second - 2.0 * across + 3.0 * along + 15.0 * mean) / 16.0
}

/// The mean of a function of the cosine over the sphere, by Simpson's rule.
fn mean_over_sphere(of: impl Fn(f64) -> f64) -> f64 {
    let n = 2000;
    let weight = |i: usize| if i == 0 || i == n { 1.0 } else { [2.0, 4.0][i % 2] };
    let sum: f64 = (0..=n).map(|i| weight(i) * of(i as f64 / n as f64)).sum();
    sum / (3.0 * n as f64)
}

const W: [f64; 3] = [0.4, 1.9, 1.1];

#[test]
fn the_kurtosis_tensor_is_that_of_the_paper() {
    for step in 0..=20 {
        let angle = 0.5 * PI * f64::from(step) / 20.0;
        let shares = shares(angle.cos().powi(2));
        let ours: f64 = shares.iter().zip(W).map(|(share, w)| share * w).sum();
        assert!((ours - published(angle, W)).abs() < 1e-13, "{angle}");
    }
    let mean = mean_over_sphere(|c| published(c.acos(), W));
    // The error of the rule for a polynomial of degree 4.
    assert!((mean - W[2]).abs() < 1e-10, "{mean}");
}

#[test]
fn the_own_derivatives_are_those_of_dual_numbers() {
    let model = AxiallySymmetric { samples: Vec::new() };
    let frame = [0.6, 0.8, 0.0, -0.8, 0.6, 0.0, 0.0, 0.0, 1.0];
    for b in [0.0, 1.0, 2.5] {
        let p = [1.3, 1.7, 0.4, 0.3, 0.9, 0.5, 0.2, -0.7];
        let error = derivative_error(&model, &p, &[b, 0.48, 0.6, 0.64], &frame);
        // Some twenty roundings.
        assert!(error < 1e-14, "b {b}: {error:e}");
    }
}

#[test]
fn the_signal_is_that_of_the_expansion() {
    let model = AxiallySymmetric { samples: Vec::new() };
    let (d, v, t) = ([1.7, 0.4], [0.3, 0.9, 0.5], [0.2, -0.3]);
    let p = [2.0, d[0], d[1], v[0], v[1], v[2], t[0], t[1]];
    let frame = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let axis = [1.0, 0.2, -0.3].map(|x: f64| x / (1.0_f64 + 0.04 + 0.09).sqrt());
    for (b, g) in [(0.0, [1.0, 0.0, 0.0]), (1.0, [0.48, 0.6, 0.64]), (2.5, [0.0, 0.6, -0.8])] {
        let angle = dot(axis, g).acos();
        let along = d[1] + (d[0] - d[1]) * angle.cos().powi(2);
        let expected = 2.0 * (-b * along + b * b * published(angle, v) / 6.0).exp();
        let signal = model.signal(&p, &[b, g[0], g[1], g[2]], &frame);
        assert!((signal / expected - 1.0).abs() < 1e-12, "{b}");
    }
}

#[test]
fn the_mean_kurtosis_in_closed_form_is_its_integral() {
    // From disc to fibre, and where the form gives way to its series.
    for along in [0.1_f32, 0.5, 0.96, 0.999, 1.0, 1.04, 1.06, 2.0, 3.5] {
        let across = 1.0_f32;
        let (a, d) = (f64::from(across), f64::from(along) - f64::from(across));
        let integral = mean_over_sphere(|c| {
            let v: f64 = shares(c * c).iter().zip(W).map(|(share, w)| share * w).sum();
            v / (a + d * c * c).powi(2)
        });
        let closed = mean_kurtosis([along, across], W);
        // The rule's error where the integrand has a sharp end (1e-9), and what cancels in the form at e = 0.05.
        assert!((closed / integral - 1.0).abs() < 1e-8, "{along}: {closed} {integral}");
    }
}

#[test]
fn parameters_come_back_from_their_maps() {
    let model = AxiallySymmetric { samples: Vec::new() };
    let frame = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let p = [1.3, 1.6, 0.5, 0.2, 0.7, 0.4, 0.15, -0.1];
    let mut values = [0.0; 13];
    model.values(&p, &frame, 700.0, &mut values);
    for (before, after) in p.iter().zip(model.parameters_of(&values, &frame, 700.0)) {
        assert!((before - after).abs() < 1e-5, "{before} {after}");
    }
}

#[test]
fn kurtosis_is_nothing_where_there_is_next_to_no_diffusion() {
    let model = AxiallySymmetric { samples: Vec::new() };
    let frame = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let least = DIFFUSIVITY[0] as f32;
    let names: Vec<_> = specs().into_iter().map(|spec| spec.name).collect();
    let undefined = |along: f32, across: f32| {
        let mut values = [0.0; 13];
        model.values(&[1.0, along, across, 0.02, 0.02, 0.02, 0.0, 0.0], &frame, 1.0, &mut values);
        let names = names.iter().zip(values).filter(|(_, value)| value.is_nan());
        names.map(|(name, _)| name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(undefined(least, least), ["Wpar", "Wperp", "MKT", "MK", "AK", "RK"]);
    assert_eq!(undefined(1.5, least), ["MK", "RK"]);
    assert!(undefined(1.5, 0.3).is_empty());
}
