use fimbria_fitting::lm::derivative_error;

use fimbria_testing::acquisition;

use super::*;

fn model() -> FreeWater {
    let table = acquisition(2, &[(1000.0, 12), (2000.0, 12)]);
    FreeWater { start: prepared(&table, None).unwrap().1 }
}

#[test]
fn the_own_derivatives_are_those_of_dual_numbers() {
    let p = [1.3, 0.35, 0.9, 0.2, 0.7, -0.4, 0.1, 0.5];
    for b in [0.0, 0.5, 1.0, 3.0] {
        let known = covariates(b, [0.48, 0.6, 0.64]);
        assert!(derivative_error(&model(), &p, &known, &[]) < 1e-14, "{b}");
    }
}

#[test]
fn the_signal_is_that_of_the_paper() {
    let tensor = [1.2, 0.3, -0.2, 0.8, 0.1, 0.5];
    let p = parameters(2.0, 0.3, tensor).map(f64::from);
    let (b, g) = (1.7, [0.48, 0.6, 0.64]);
    let [xx, xy, xz, yy, yz, zz] = tensor.map(f64::from);
    let along = xx * g[0] * g[0] + yy * g[1] * g[1] + zz * g[2] * g[2];
    let across = xy * g[0] * g[1] + xz * g[0] * g[2] + yz * g[1] * g[2];
    let paper =
        2.0 * (0.7 * f64::exp(-b * (along + 2.0 * across)) + 0.3 * f64::exp(-b * FREE_WATER));
    let signal = model().signal(&p, &covariates(b, g), &[]);
    // The factors are of f32.
    assert!((signal - paper).abs() < 1e-6, "{signal} {paper}");
}
