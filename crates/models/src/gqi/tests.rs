//! Matrices against the definition.

use fimbria_compute::dense::vec3::dot;
use fimbria_tensors::sh::{ShBasis, evaluate};
use fimbria_testing::acquisition;

use super::spins::{reach, weight};
use super::*;
use crate::half_sphere::half_sphere;

/// ∫ r² cos(x r) dr over r from 0 to 1, or of cos(x r), by middles.
fn integral(weighting: Weighting, x: f64) -> f64 {
    let n = 20_000;
    let at = |i: usize| {
        let r = (i as f64 + 0.5) / n as f64;
        (x * r).cos() * if weighting == Weighting::Squared { r * r } else { 1.0 }
    };
    (0..n).map(at).sum::<f64>() / n as f64
}

#[test]
fn closed_forms_are_the_integrals() {
    for weighting in [Weighting::Alike, Weighting::Squared] {
        for x in [0.0, 1e-5, 0.01, 0.0499, 0.0501, 0.5, 3.0, -7.0, 12.0] {
            let off = weight(weighting, x) - integral(weighting, x);
            // Middles make an error of x²/(24 n²).
            assert!(off.abs() < 2e-8, "{weighting:?} {x} {off}");
        }
    }
}

/// Harmonics of any degree are exact, so that a density of harmonics is that of the definition but for what lies beyond
/// the last degree.
#[test]
fn harmonics_are_those_of_the_definition() {
    let table = acquisition(2, &[(1000.0, 40)]);
    let protocol = protocol(&table).unwrap();
    for weighting in [Weighting::Alike, Weighting::Squared] {
        let options = GqiOptions { weighting, ..GqiOptions::default() };
        let spins = Spins::new(&protocol, &options);
        let n = protocol.volumes().len();
        for u in half_sphere(7) {
            let y = evaluate(ShBasis::Mrtrix, DEGREE, u);
            for (at, v) in protocol.volumes().into_iter().enumerate() {
                let x = reach(&options, protocol.b[v]) * dot(protocol.dirs_ras[v], u);
                let sum: f64 =
                    y.iter().enumerate().map(|(k, y)| y * spins.harmonic(k, at)).sum::<f64>()
                        * n as f64;
                let off = sum - weight(weighting, x);
                // Single precision of 91 terms; degrees beyond 12 have 1e-6 at x of 4.9.
                assert!(off.abs() < 1e-5, "{weighting:?} {at} {off}");
            }
        }
    }
}

#[test]
fn few_volumes_and_a_plane_are_refused() {
    let error = check(&acquisition(1, &[(1000.0, 12)])).unwrap_err().to_string();
    assert!(error.contains("15 weighted volumes"), "{error}");
    check(&acquisition(0, &[(1000.0, 15)])).unwrap();
}
