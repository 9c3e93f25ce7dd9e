//! Random tensors against a slow search that shares nothing with the one under test.

use super::{check, find};
use crate::dense::DenseTensor;
use crate::layout::Layout;
use crate::testing::random_entries;
use fimbria_compute::dense::vector::{dot, norm};

/// Every solution of A xᵐ⁻¹ ∥ x by Newton's method in charts x_i = 1, |x_j| <= 1 from a dense grid,
/// with derivatives by differences of the dense tensor: nothing of the search under test. One of
/// ±x each.
fn independent(order: usize, n: usize, a: &[f64], per_axis: usize) -> Vec<Vec<f64>> {
    let layout = Layout::new(order, n).unwrap();
    let dense = DenseTensor::from_unique(&layout, a).unwrap();
    let mut found: Vec<Vec<f64>> = Vec::new();
    for axis in 0..n {
        let others: Vec<usize> = (0..n).filter(|&k| k != axis).collect();
        let equations = |u: &[f64]| -> Vec<f64> {
            let mut x = vec![1.0; n];
            others.iter().zip(u).for_each(|(&k, &u)| x[k] = u);
            let y = dense.contract(&x, order - 1);
            others.iter().map(|&k| y[k] - y[axis] * x[k]).collect()
        };
        for start in 0..per_axis.pow(others.len() as u32) {
            let mut rest = start;
            let mut u: Vec<f64> = others
                .iter()
                .map(|_| {
                    let place = rest % per_axis;
                    rest /= per_axis;
                    (2.0 * place as f64 + 1.0) / per_axis as f64 - 1.0
                })
                .collect();
            for _ in 0..15 {
                let f = equations(&u);
                let size = u.len();
                let mut jacobian = vec![0.0; size * size];
                for column in 0..size {
                    let (mut up, mut down) = (u.clone(), u.clone());
                    up[column] += 1e-5;
                    down[column] -= 1e-5;
                    let (up, down) = (equations(&up), equations(&down));
                    for row in 0..size {
                        jacobian[row * size + column] = (up[row] - down[row]) / 2e-5;
                    }
                }
                let mut step = f.clone();
                if !fimbria_compute::dense::lu::solve(&mut jacobian, &mut step) {
                    break;
                }
                u.iter_mut().zip(&step).for_each(|(u, s)| *u -= s);
                if norm(&u) > 10.0 {
                    break;
                }
            }
            if norm(&equations(&u)) > 1e-9 || u.iter().any(|u| u.abs() > 1.001) {
                continue;
            }
            let mut x = vec![1.0; n];
            others.iter().zip(&u).for_each(|(&k, &u)| x[k] = u);
            let length = norm(&x);
            x.iter_mut().for_each(|x| *x /= length);
            if !found.iter().any(|known| dot(known, &x).abs() > 1.0 - 1e-9) {
                found.push(x);
            }
        }
    }
    found
}

fn agrees_with_independent_search(order: usize, n: usize, per_axis: usize, seeds: u64) {
    for seed in 0..seeds {
        let len = Layout::new(order, n).unwrap().len();
        let a = random_entries(1000 + seed, len);
        let found = find(order, n, &a, None);
        check(order, n, &a, None, &found);
        let expected = independent(order, n, &a, per_axis);
        for x in &expected {
            let near = found.pairs.iter().any(|pair| dot(&pair.x, x).abs() > 1.0 - 1e-9);
            assert!(near, "({order}, {n}), seed {seed}: {x:?} was not found");
        }
        // The slow search must be no worse, or it would prove nothing.
        assert_eq!(found.pairs.len(), expected.len(), "({order}, {n}), seed {seed}");
    }
}

#[test]
fn random_binary_forms_agree_with_the_independent_search() {
    for order in 3..10 {
        agrees_with_independent_search(order, 2, 200, 6);
    }
}

#[test]
fn random_ternary_forms_agree_with_the_independent_search() {
    agrees_with_independent_search(3, 3, 16, 6);
    agrees_with_independent_search(4, 3, 16, 6);
    agrees_with_independent_search(5, 3, 20, 3);
    agrees_with_independent_search(6, 3, 24, 2);
}

#[test]
fn random_quaternary_forms_agree_with_the_independent_search() {
    agrees_with_independent_search(3, 4, 8, 3);
    agrees_with_independent_search(4, 4, 12, 1);
}
