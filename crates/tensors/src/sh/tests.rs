use super::polynomial::{exponents, multiplicity, place};
use super::*;

/// Unit directions that nothing is symmetric about, the poles among them.
fn directions() -> Vec<[f64; 3]> {
    let mut dirs = vec![[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]];
    for i in 0..40 {
        let z = -0.97 + 0.05 * f64::from(i);
        let (s, c) = (2.4 * f64::from(i) + 0.3).sin_cos();
        let r = (1.0 - z * z).sqrt();
        dirs.push([r * c, r * s, z]);
    }
    dirs
}

fn value_of_form(degree: usize, entries: &[f64], [x, y, z]: [f64; 3]) -> f64 {
    let terms = exponents(degree).zip(entries).map(|(e, a)| {
        a * multiplicity(e) as f64 * x.powi(e[0] as i32) * y.powi(e[1] as i32) * z.powi(e[2] as i32)
    });
    terms.sum()
}

/// Any coefficients, none zero, falling with the degree as those of a smooth function do.
fn coefficients(n: usize) -> Vec<f64> {
    (0..n).map(|i| (1.7 * i as f64 + 0.4).sin() / (1.0 + i as f64).sqrt()).collect()
}

#[test]
fn monomials_are_in_the_order_of_unique_entries() {
    let order4: Vec<_> = exponents(4).collect();
    // 1111 1112 1113 1122 1123 1133 1222 …
    assert_eq!(
        order4[..7],
        [[4, 0, 0], [3, 1, 0], [3, 0, 1], [2, 2, 0], [2, 1, 1], [2, 0, 2], [1, 3, 0]]
    );
    assert!(order4.iter().enumerate().all(|(i, &e)| place(e) == i));
    let multiplicities: Vec<_> = order4.iter().map(|&e| multiplicity(e)).collect();
    assert_eq!(multiplicities, [1, 4, 4, 6, 12, 6, 4, 12, 12, 4, 1, 4, 6, 4, 1]);
}

#[test]
fn a_count_belongs_to_one_degree() {
    assert_eq!([0, 2, 4, 6, 8].map(sh_count), [1, 6, 15, 28, 45]);
    assert_eq!([15, 28, 45].map(lmax_of_count), [Some(4), Some(6), Some(8)]);
    assert_eq!([0, 2, 14, 16, 10].map(lmax_of_count), [None; 5]);
}

#[test]
fn degree_two_is_the_textbook_formula() {
    // Real harmonics with the Condon-Shortley phase, m = -2 … 2; norms √(15/16π), √(15/4π), √(5/16π).
    let pi = std::f64::consts::PI;
    for [x, y, z] in directions() {
        let (a, b) = ((15.0 / (16.0 * pi)).sqrt(), (15.0 / (4.0 * pi)).sqrt());
        let expected = [
            (0.25 / pi).sqrt(),
            2.0 * a * x * y,
            -b * y * z,
            (5.0 / (16.0 * pi)).sqrt() * (3.0 * z * z - 1.0),
            -b * x * z,
            a * (x * x - y * y),
        ];
        let values = evaluate(ShBasis::Mrtrix, 2, [x, y, z]);
        for (v, e) in values.iter().zip(expected) {
            assert!((v - e).abs() < 1e-15, "{v} {e}");
        }
    }
}

#[test]
fn the_sum_of_squares_of_a_degree_is_constant() {
    // Unsöld: Σ_m Y_lm² = (2l + 1) / 4π, to rounding of up to 33 terms.
    for dir in directions() {
        let values = evaluate(ShBasis::Mrtrix, 16, dir);
        for l in (0..=16).step_by(2) {
            let before = if l == 0 { 0 } else { sh_count(l - 2) };
            let degree = &values[before..sh_count(l)];
            let sum: f64 = degree.iter().map(|v| v * v).sum();
            let expected = (2 * l + 1) as f64 / (4.0 * std::f64::consts::PI);
            assert!((sum / expected - 1.0).abs() < 1e-13, "degree {l}: {sum} {expected}");
        }
    }
}

#[test]
fn a_form_has_the_values_of_its_harmonics() {
    for basis in ShBasis::ALL {
        for degree in (2..=16).step_by(2) {
            let conversion = ShToForm::new(basis, degree).unwrap();
            let sh = coefficients(conversion.count());
            let form = conversion.to_form(&sh);
            for dir in directions() {
                let values = evaluate(basis, degree, dir);
                let expected: f64 = values.iter().zip(&sh).map(|(v, c)| v * c).sum();
                let value = value_of_form(degree, &form, dir);
                // Terms of both signs up to some thousand times the sum at degree 16.
                let tolerance = 1e-14 * 2f64.powi(degree as i32);
                assert!(
                    (value - expected).abs() < tolerance,
                    "{basis:?} {degree}: {value} {expected}"
                );
            }
        }
    }
}

#[test]
fn there_and_back_changes_nothing() {
    for basis in ShBasis::ALL {
        for degree in (2..=16).step_by(2) {
            let conversion = ShToForm::new(basis, degree).unwrap();
            let sh = coefficients(conversion.count());
            let back = conversion.to_sh(&conversion.to_form(&sh));
            // The condition number: 1.6 at degree 2, 29 at 8, about 6 times more per four degrees.
            for (a, b) in sh.iter().zip(back) {
                assert!((a - b).abs() < 1e-12, "{basis:?} {degree}: {a} {b}");
            }
        }
    }
}

#[test]
fn a_constant_is_the_identity_tensor() {
    let conversion = ShToForm::new(ShBasis::Mrtrix, 4).unwrap();
    let mut sh = vec![0.0; 15];
    sh[0] = (4.0 * std::f64::consts::PI).sqrt();
    let form = conversion.to_form(&sh);
    let third = 1.0 / 3.0;
    let identity =
        [1.0, 0.0, 0.0, third, 0.0, third, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, third, 0.0, 1.0];
    for (a, b) in form.iter().zip(identity) {
        assert!((a - b).abs() < 1e-15, "{form:?}");
    }
}

#[test]
fn degrees_that_cannot_be_converted_are_refused() {
    for degree in [0, 1, 5, 18] {
        let refused = ShToForm::new(ShBasis::Mrtrix, degree).unwrap_err();
        assert_eq!(refused, ShError::Degree(degree));
    }
}

#[test]
fn a_basis_is_known_by_its_name() {
    for basis in ShBasis::ALL {
        assert_eq!(basis.name().parse(), Ok(basis));
    }
    let error = "tournier".parse::<ShBasis>().unwrap_err();
    assert!(error.to_string().contains("`tournier`"), "{error}");
}
