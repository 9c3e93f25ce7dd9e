//! Batches in single precision against the search for all pairs, and against closed forms.

use fimbria_compute::{Backend, Workers};

use super::*;

fn extremes(order: usize, n: usize, tensors: &[Vec<f64>], kinds: &[Kind]) -> Vec<Extremes> {
    let finder = PairFinder::new(order, n).unwrap();
    let workers = Workers::new(2).unwrap();
    let on = Backend::cpu(&workers);
    let search = Search::default();
    find_extremes(&finder, tensors, kinds, &search, &on, &Silent).unwrap().0
}

#[test]
fn extremes_are_those_among_all_pairs_for_every_order() {
    for (order, n) in [(2, 3), (3, 2), (3, 3), (4, 2), (4, 3), (4, 4), (5, 3), (6, 3), (8, 3)] {
        let layout = Layout::new(order, n).unwrap();
        let tensors: Vec<Vec<f64>> =
            (0..6).map(|seed| random_entries(10 * order as u64 + seed, layout.len())).collect();
        for kinds in [vec![Maximum], vec![Minimum], vec![Maximum, Minimum]] {
            let found = extremes(order, n, &tensors, &kinds);
            for (a, found) in tensors.iter().zip(&found) {
                let all = find(order, n, a, None);
                let expected: Vec<&Pair> =
                    all.pairs.iter().filter(|pair| kinds.contains(&pair.kind)).collect();
                assert_eq!(found.pairs.len(), expected.len(), "({order}, {n}) {kinds:?}");
                for (pair, expected) in found.pairs.iter().zip(expected) {
                    // Both are polished to the precision of f64.
                    assert!((pair.lambda - expected.lambda).abs() < 1e-12, "({order}, {n})");
                    assert_eq!(pair.kind, expected.kind);
                    assert!(pair.residual < 1e-12);
                    assert!(dot(&pair.x, &expected.x) > 1.0 - 1e-12);
                }
            }
        }
    }
}

/// Of Σ λ v^m over orthogonal v with λ > 0 the maxima are these v, with these λ, and no others (m > 2).
#[test]
fn maxima_of_orthogonal_rank_one_terms_are_the_terms() {
    let axes = [[0.48, 0.6, 0.64], [0.6 / 0.768_374_908_9, -0.48 / 0.768_374_908_9, 0.0]];
    let weights = [3e-4, 1e-4];
    for order in [3, 4, 5, 6, 8] {
        let layout = Layout::new(order, 3).unwrap();
        let entry = |class: Vec<usize>| -> f64 {
            let term = |v: &[f64; 3], w: f64| w * class.iter().map(|&i| v[i]).product::<f64>();
            axes.iter().zip(weights).map(|(v, w)| term(v, w)).sum()
        };
        let tensor: Vec<f64> = layout.index_classes().map(entry).collect();
        let found = extremes(order, 3, &[tensor], &[Maximum]);
        let pairs = &found[0].pairs;
        assert_eq!(pairs.len(), 2, "order {order}: {pairs:?}");
        for (pair, (v, w)) in pairs.iter().zip(axes.iter().zip(weights)) {
            assert!((pair.lambda - w).abs() < 1e-12, "order {order}");
            let v = dot(v, &pair.x).abs();
            assert!(v > 1.0 - 1e-9, "order {order}");
        }
        // Of odd order the form is also negative: where it rises towards 0, λ never settles relative
        // to itself, and such a start is counted.
        if order % 2 == 0 {
            assert_eq!(found[0].not_converged, 0, "order {order}");
        }
    }
}

#[test]
fn a_tensor_that_is_none_is_named() {
    let finder = PairFinder::new(4, 3).unwrap();
    let workers = Workers::new(1).unwrap();
    let on = Backend::cpu(&workers);
    let tensors = vec![vec![1.0; 15], vec![f64::NAN; 15]];
    let search = Search::default();
    let error = find_extremes(&finder, &tensors, &[Maximum], &search, &on, &Silent).unwrap_err();
    assert_eq!(error.to_string(), "tensors[1]");
}
