//! Published tables, closed forms, and what is refused.

mod extremes;
mod independent;

use fimbria_compute::Silent;

use super::*;
use crate::geap::symmetric_square;
use crate::general;
use crate::layout::Layout;
use crate::sshopm::{Extremum, Shift};
use crate::testing::{KOFIDIS_REGALIA, random_entries, random_unit};
use fimbria_compute::dense::vector::{dot, norm};

use Kind::{Maximum, Minimum, Saddle};

fn find(order: usize, n: usize, a: &[f64], b: Option<&[f64]>) -> Found {
    let finder = PairFinder::new(order, n).unwrap();
    finder.find(a, b, 0, &Search::default(), &Silent).unwrap()
}

/// ‖A xᵐ⁻¹ - λ B xᵐ⁻¹‖ from the definition.
fn residual(order: usize, a: &[f64], b: Option<&[f64]>, pair: &Pair) -> f64 {
    let n = pair.x.len();
    let layout = Layout::new(order, n).unwrap();
    let (mut left, mut right) = (vec![0.0; n], pair.x.clone());
    general::gradient(&layout, a, &pair.x, &mut left);
    if let Some(b) = b {
        general::gradient(&layout, b, &pair.x, &mut right);
    }
    let difference: Vec<f64> = left.iter().zip(&right).map(|(l, r)| l - pair.lambda * r).collect();
    norm(&difference)
}

/// What every answer must be: small residuals, unit vectors in the chosen sign, sorted, none twice,
/// not more than there can be.
fn check(order: usize, n: usize, a: &[f64], b: Option<&[f64]>, found: &Found) {
    assert!(found.pairs.len() <= most_pairs(order, n), "{} pairs", found.pairs.len());
    assert!(found.balanced, "unbalanced: {:?}", found.pairs);
    let scale = a.iter().fold(1.0, |max: f64, a| max.max(a.abs()));
    for (i, pair) in found.pairs.iter().enumerate() {
        assert!(residual(order, a, b, pair) < 1e-12 * scale, "{pair:?}");
        assert!(pair.residual < 1e-12 * scale, "{pair:?}");
        assert!((norm(&pair.x) - 1.0).abs() < 1e-14, "{pair:?}");
        assert!(order.is_multiple_of(2) || pair.lambda >= 0.0, "{pair:?}");
        for other in &found.pairs[..i] {
            assert!(other.lambda >= pair.lambda);
            let cosine = dot(&other.x, &pair.x);
            let cosine = if order.is_multiple_of(2) { cosine.abs() } else { cosine };
            assert!(cosine < 1.0 - 1e-9, "twice: {pair:?} {other:?}");
        }
    }
}

/// The table's pairs, and no others, λ to 1e-8 and x to the `digits` printed.
fn check_table(found: &Found, table: &[(f64, [f64; 3], Kind)], digits: f64) {
    assert_eq!(found.pairs.len(), table.len());
    for (pair, (lambda, x, kind)) in found.pairs.iter().zip(table) {
        assert!((pair.lambda - lambda).abs() < 1e-8, "{pair:?}, published {lambda}");
        let sign = dot(&pair.x, x).signum();
        for (found, published) in pair.x.iter().zip(x) {
            assert!((found - sign * published).abs() < digits, "{pair:?}, published {x:?}");
        }
        assert_eq!(pair.kind, *kind, "{pair:?}");
        assert!(!pair.degenerate);
    }
}

#[test]
fn kofidis_and_regalia_s_tensor_has_its_11_published_pairs() {
    let table = [
        (0.8893220107, [0.66718350, 0.24707553, -0.70272317], Maximum),
        (0.8168813450, [0.84119238, -0.26351984, 0.47217865], Maximum),
        (0.5104732795, [0.35976381, -0.77802400, 0.51502297], Saddle),
        (0.3633060484, [0.26758233, 0.64474921, 0.71602944], Maximum),
        (0.2682416489, [0.60991140, 0.43621030, 0.66161065], Saddle),
        (0.2628022929, [0.13184114, -0.44249740, -0.88702535], Saddle),
        (0.2433405326, [0.98954769, 0.09466180, -0.10878650], Saddle),
        (0.1734564854, [0.33570449, 0.90731472, 0.25314518], Saddle),
        (-0.0450921811, [0.77971251, 0.61352939, 0.12502040], Minimum),
        (-0.5629171327, [0.17615291, -0.17962054, 0.96783605], Minimum),
        (-1.0953516989, [0.59150775, -0.74667389, -0.30429703], Minimum),
    ];
    let found = find(4, 3, &KOFIDIS_REGALIA, None);
    check(4, 3, &KOFIDIS_REGALIA, None, &found);
    check_table(&found, &table, 1e-8);
}

/// A kurtosis tensor and sym(D ⊗ D) of Qi, Wang and Wu 2008 (Kolda and Mayo 2014, example 5.3).
const KURTOSIS: [f64; 15] = [
    0.4982, -0.0582, -1.1719, 0.2236, -0.0171, 0.4597, 0.4880, 0.1852, -0.4087, 0.7639, 0.0000,
    -0.6162, 0.1519, 0.7631, 2.6311,
];
const SQUARE: [f64; 15] = [
    3.0800, 0.0614, 0.2317, 0.8140, 0.0130, 2.3551, 0.0486, 0.0616, 0.0482, 0.5288, 1.9321, 0.0236,
    1.8563, 0.0681, 16.0480,
];

#[test]
fn the_published_kurtosis_tensor_has_its_13_generalised_pairs() {
    let table = [
        (0.53557250, [0.922678, -0.156032, -0.352590], Maximum),
        (0.43590518, [0.538755, 0.834175, -0.117879], Maximum),
        (0.38266045, [0.823534, 0.522181, -0.221627], Saddle),
        (0.25134783, [-0.356423, 0.800221, -0.482296], Maximum),
        (0.24307370, [-0.125871, 0.913107, -0.387803], Saddle),
        (0.22189768, [0.218451, 0.346261, 0.912350], Maximum),
        (0.20560218, [-0.221898, 0.433694, 0.873310], Saddle),
        (0.20088186, [0.455613, -0.233319, 0.859057], Saddle),
        (0.10385897, [0.478623, 0.756672, 0.445386], Saddle),
        (0.06112459, [0.791293, -0.592028, 0.152831], Saddle),
        (-0.00741097, [-0.366909, -0.534575, 0.761320], Minimum),
        (-0.12419419, [0.943873, 0.102183, 0.314105], Minimum),
        (-0.33128224, [-0.280983, 0.941974, 0.183667], Minimum),
    ];
    let found = find(4, 3, &KURTOSIS, Some(&SQUARE));
    check(4, 3, &KURTOSIS, Some(&SQUARE), &found);
    // Six digits are printed.
    check_table(&found, &table, 1e-6);
}

/// Σ lᵢ uᵢᵐ with orthonormal uᵢ, the rotation between cyclic axes.
fn odeco(order: usize, l: [f64; 3]) -> Vec<f64> {
    let u = [[2.0, -1.0, 2.0], [2.0, 2.0, -1.0], [-1.0, 2.0, 2.0]];
    let layout = Layout::new(order, 3).unwrap();
    let entry = |class: Vec<usize>| {
        let of = |k: usize| class.iter().map(|&i| u[k][i] / 3.0).product::<f64>();
        (0..3).map(|k| l[k] * of(k)).sum()
    };
    layout.index_classes().map(entry).collect()
}

/// For each non-empty set S of components λ = (Σ lᵢ^(-2/(m-2)))^(-(m-2)/2), 2^(|S|-1) times.
fn odeco_lambdas(order: usize, l: [f64; 3]) -> Vec<(f64, usize)> {
    let power = 2.0 / (order as f64 - 2.0);
    let mut all = Vec::new();
    for set in 1u32..8 {
        let members = (0..3).filter(|i| set >> i & 1 == 1);
        let sum: f64 = members.map(|i| l[i].powf(-power)).sum();
        let size = set.count_ones() as usize;
        all.extend(vec![(sum.powf(-1.0 / power), size); 1 << (size - 1)]);
    }
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    all
}

#[test]
fn orthogonally_decomposable_tensors_have_the_pairs_of_the_closed_form() {
    let l = [1.0, 0.7, 0.4];
    for order in [4, 6, 8] {
        let a = odeco(order, l);
        let found = find(order, 3, &a, None);
        let expected = odeco_lambdas(order, l);
        // Of order 6 and 8 the circles around each component, where the form is flat, are
        // eigenvectors with λ = 0 no more: three components leave no direction orthogonal to all.
        let regular: Vec<_> = found.pairs.iter().filter(|pair| !pair.degenerate).collect();
        assert_eq!(regular.len(), expected.len(), "order {order}: {found:?}");
        for (pair, (lambda, size)) in regular.iter().zip(expected) {
            assert!((pair.lambda - lambda).abs() < 1e-12, "{pair:?} {lambda}");
            let kind = [Maximum, Saddle, Minimum][size - 1];
            assert_eq!(pair.kind, kind, "order {order}: {pair:?}");
        }
    }
}

#[test]
fn kinds_agree_with_the_values_nearby() {
    for (order, n) in [(3, 2), (4, 3), (5, 3), (4, 4)] {
        let layout = Layout::new(order, n).unwrap();
        let a = random_entries(order as u64, layout.len());
        for pair in find(order, n, &a, None).pairs {
            let mut signs = [false; 2];
            for seed in 0..200 {
                let d = random_unit(seed, n);
                // Half a degree: terms of third order are far below the second unless the pair is
                // almost degenerate, which those of these seeds are not.
                let near: Vec<f64> = pair.x.iter().zip(&d).map(|(x, d)| x + 0.008 * d).collect();
                let length = norm(&near);
                let near: Vec<f64> = near.iter().map(|x| x / length).collect();
                let above = general::form(&layout, &a, &near) > pair.lambda;
                signs[usize::from(above)] = true;
            }
            let kind = match signs {
                [true, false] => Maximum,
                [false, true] => Minimum,
                _ => Saddle,
            };
            assert_eq!(pair.kind, kind, "({order}, {n}): {pair:?}");
        }
    }
}

#[test]
fn the_tensor_e_and_rank_1_tensors_have_one_representative_of_each_continuum() {
    let e = symmetric_square(&[1.0, 0.0, 0.0, 1.0, 0.0, 1.0], 3);
    let found = find(4, 3, &e, None);
    assert_eq!(found.pairs.len(), 1);
    let pair = &found.pairs[0];
    assert!((pair.lambda - 1.0).abs() < 1e-15 && pair.degenerate && pair.kind == Maximum);

    for order in [4, 6] {
        let a = odeco(order, [1.0, 0.0, 0.0]);
        let found = find(order, 3, &a, None);
        check(order, 3, &a, None, &found);
        let [component, circle] = &found.pairs[..] else { panic!("{found:?}") };
        assert!((component.lambda - 1.0).abs() < 1e-14 && component.kind == Maximum);
        assert!(!component.degenerate);
        assert!(circle.lambda.abs() < 1e-9 && circle.degenerate && circle.kind == Minimum);
    }
}

#[test]
fn a_zero_tensor_has_one_degenerate_pair() {
    let found = find(3, 3, &[0.0; 10], None);
    assert_eq!(found.pairs.len(), 1);
    assert!(found.pairs[0].degenerate && found.pairs[0].lambda == 0.0);
}

#[test]
fn a_matrix_has_an_orthonormal_basis_of_eigenvectors() {
    // diag(2, 2, 1) in other axes: I + u uᵀ + v vᵀ.
    let found = find(2, 3, &odeco(2, [2.0, 2.0, 1.0]), None);
    let kinds: Vec<_> = found.pairs.iter().map(|pair| (pair.kind, pair.degenerate)).collect();
    assert_eq!(kinds, [(Maximum, true), (Maximum, true), (Minimum, false)]);
    for (i, pair) in found.pairs.iter().enumerate() {
        assert!((pair.lambda - [2.0, 2.0, 1.0][i]).abs() < 1e-14 && pair.residual < 1e-14);
        assert!(found.pairs[..i].iter().all(|other| dot(&other.x, &pair.x).abs() < 1e-14));
    }
}

#[test]
fn generalised_pairs_of_matrices_solve_the_pencil() {
    let (a, b) = (odeco(2, [3.0, -1.0, 0.5]), [2.0, 0.3, 0.1, 1.0, -0.2, 0.5]);
    let found = find(2, 3, &a, Some(&b));
    check(2, 3, &a, Some(&b), &found);
    let kinds: Vec<_> = found.pairs.iter().map(|pair| pair.kind).collect();
    assert_eq!(kinds, [Maximum, Saddle, Minimum]);
}

#[test]
fn one_dimension_has_one_pair() {
    assert_eq!(find(4, 1, &[-3.0], None).pairs[0].lambda, -3.0);
    let odd = find(3, 1, &[-3.0], None);
    assert_eq!((odd.pairs.len(), odd.pairs[0].lambda, &odd.pairs[0].x[..]), (1, 3.0, &[-1.0][..]));
}

#[test]
fn scaling_a_tensor_scales_its_eigenvalues_only() {
    let reference = find(4, 3, &KOFIDIS_REGALIA, None);
    for scale in [1e-200, 1e-3, 1e200] {
        let scaled = KOFIDIS_REGALIA.map(|a| a * scale);
        let found = find(4, 3, &scaled, None);
        assert_eq!(found.pairs.len(), 11);
        for (pair, expected) in found.pairs.iter().zip(&reference.pairs) {
            let relative = pair.lambda / scale / expected.lambda;
            assert!((relative - 1.0).abs() < 1e-12, "{pair:?}");
            assert_eq!(pair.kind, expected.kind);
        }
    }
}

#[test]
fn the_power_method_alone_reaches_maxima_and_counts_what_does_not_converge() {
    let finder = PairFinder::new(4, 3).unwrap();
    let reach = |shift| {
        let search = Search::default();
        finder.reach(&KOFIDIS_REGALIA, None, 0, 100, shift, &search, &Silent).unwrap()
    };
    let none = reach(Shift::Fixed(0.0));
    assert_eq!((none.pairs.len(), none.converged, none.not_converged), (0, 0, 100));
    let maxima = reach(Shift::Fixed(2.0));
    assert_eq!((maxima.pairs.len(), maxima.converged), (3, 100));
    assert!(maxima.pairs.iter().all(|pair| pair.kind == Maximum && pair.residual < 1e-12));
    let minima = reach(Shift::Adaptive(Extremum::Minimum));
    assert!(minima.pairs.len() == 3 && minima.pairs.iter().all(|pair| pair.kind == Minimum));
}

#[test]
fn the_same_pairs_for_any_number_of_threads() {
    let a = random_entries(9, 70);
    let with_threads =
        |threads| fimbria_compute::Workers::new(threads).unwrap().install(|| find(4, 5, &a, None));
    assert_eq!(with_threads(1), with_threads(3));
}

#[test]
fn what_has_no_pairs_is_refused() {
    let finder = PairFinder::new(4, 2).unwrap();
    let refused = |a: &[f64], b: Option<&[f64]>, search: Search| {
        finder.find(a, b, 0, &search, &Silent).unwrap_err().to_string()
    };
    let (usual, ones) = (Search::default(), [1.0; 5]);
    assert!(refused(&[1.0; 4], None, usual).contains("has 5 unique entries"));
    assert!(refused(&[1.0, f64::NAN, 0.0, 0.0, 0.0], None, usual).contains("entry 1 of A is NaN"));
    assert!(refused(&ones, Some(&[1.0; 6]), usual).contains("6 entries of B"));
    // x⁴ - y⁴, and x⁴, which is 0 at y.
    for b in [[1.0, 0.0, 0.0, 0.0, -1.0], [1.0, 0.0, 0.0, 0.0, 0.0]] {
        assert!(refused(&ones, Some(&b), usual).contains("not positive definite"), "{b:?}");
    }
    for tolerance in [0.0, 1.0, -1.0, f64::NAN] {
        assert!(refused(&ones, None, Search { tolerance, ..usual }).contains("tolerance"));
    }
    assert!(refused(&ones, None, Search { starts: Some(0), ..usual }).contains("starts"));
    let odd = PairFinder::new(3, 2).unwrap().find(&[1.0; 4], Some(&[1.0; 4]), 0, &usual, &Silent);
    assert_eq!(odd, Err(PairsError::OddOrder { order: 3 }));
    for (order, dimension) in [(0, 3), (1, 3), (4, 0), (65, 2), (4, usize::MAX), (2, 129)] {
        assert!(PairFinder::new(order, dimension).is_err(), "({order}, {dimension})");
    }
}
