//! Every kernel against the dense tensor.

use proptest::prelude::*;

use crate::Scalar;
use crate::dense::DenseTensor;
use crate::general;
use crate::layout::Layout;
use crate::tables::{Chain, Tables};
use crate::testing::{random_entries, random_unit};

/// Orders and dimensions whose dense tensors are small, dimension 1 and order 1 included.
fn sizes() -> impl Strategy<Value = (usize, usize)> {
    (1usize..7, 1usize..6).prop_filter("small", |&(m, n)| n.pow(m as u32) <= 4096)
}

/// The largest rounding error a sum of nᵐ products of m numbers of magnitude up to 1 can have, in
/// units of the last place of 1, with room.
fn tolerance(m: usize, n: usize, epsilon: f64) -> f64 {
    4.0 * epsilon * (m as f64 + 1.0) * (n as f64).powf(m as f64 / 2.0 + 1.0)
}

fn compare<T: Scalar>(m: usize, n: usize, seed: u64, epsilon: f64) {
    let layout = Layout::new(m, n).unwrap();
    let a: Vec<T> = random_entries(seed, layout.len()).into_iter().map(T::from_f64).collect();
    let x: Vec<T> = random_unit(seed ^ 1, n).into_iter().map(T::from_f64).collect();
    let dense = DenseTensor::from_unique(&layout, &a).unwrap();
    let (tables, chain) = (Tables::new(layout), Chain::new(layout));
    let tolerance = tolerance(m, n, epsilon);
    let near = |got: T, expected: T, what: &str| {
        let difference = (got - expected).to_f64().abs();
        assert!(difference <= tolerance, "{what} of ({m}, {n}): {got:?}, dense {expected:?}");
    };

    near(general::form(&layout, &a, &x), dense.form(&x), "A x^m");
    near(tables.form(&a, &x), dense.form(&x), "A x^m with tables");
    let mut y = vec![T::ZERO; n];
    let expected = dense.contract(&x, m - 1);
    general::gradient(&layout, &a, &x, &mut y);
    (0..n).for_each(|i| near(y[i], expected[i], "A x^(m-1)"));
    tables.gradient(&a, &x, &mut y);
    (0..n).for_each(|i| near(y[i], expected[i], "A x^(m-1) with tables"));
    for p in 0..=m {
        let rest = layout.of_order(m - p);
        let expected = dense.contract(&x, p);
        let (general, chained) = (general::contract(&layout, &a, &x, p), chain.contract(&a, &x, p));
        for (place, class) in rest.index_classes().enumerate() {
            let flat = class.iter().fold(0, |flat, i| flat * n + i);
            near(general[place], expected[flat], "A x^p");
            near(chained[place], expected[flat], "A x^p by one index at a time");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn all_products_agree_with_the_dense_tensor_in_f64((m, n) in sizes(), seed: u64) {
        compare::<f64>(m, n, seed, f64::EPSILON);
    }

    #[test]
    fn all_products_agree_with_the_dense_tensor_in_f32((m, n) in sizes(), seed: u64) {
        compare::<f32>(m, n, seed, f64::from(f32::EPSILON));
    }
}

#[test]
fn zero_components_of_x_divide_nothing() {
    // The paper divides the whole monomial by x_i; here x_i is left out, and may be 0.
    let layout = Layout::new(4, 3).unwrap();
    let a: Vec<f64> = (1..=15).map(f64::from).collect();
    let x = [0.0, 0.0, 1.0];
    let (mut general, mut tables) = ([f64::NAN; 3], [f64::NAN; 3]);
    general::gradient(&layout, &a, &x, &mut general);
    Tables::new(layout).gradient(&a, &x, &mut tables);
    // Entries 1333, 2333 and 3333.
    assert_eq!((general, tables), ([10.0, 14.0, 15.0], [10.0, 14.0, 15.0]));
}
