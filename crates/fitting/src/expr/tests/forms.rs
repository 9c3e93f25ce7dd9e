//! What each processor runs, against f64.

use fimbria_compute::{Lanes, SimdLevel};
use proptest::prelude::*;
use pulp::{Simd, WithSimd};

use super::random::{NAMES, formula, inputs, parsed};
use crate::expr::{Graph, Precision, Staged, Tape, kernel_text};

/// Evaluates a tape in the lanes of a level: every lane the same problem.
struct OnTape<'a> {
    staged: &'a Staged,
    at: [f64; 6],
}

impl WithSimd for OnTape<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<f32> {
        let tape = Tape::new(self.staged, 3, 1);
        let splat = |x: f32| Lanes::new(simd, x);
        let at = self.at.map(|x| splat(x as f32));
        let mut file = vec![splat(0.0); tape.n_registers()];
        tape.prepare(&mut file);
        tape.set(&mut file, &at[..3], &at[5..]);
        // Twice: what a sample leaves behind must not matter to the next.
        let table = self.staged.table(&[9.0, 9.0, self.at[3] as f32, self.at[4] as f32], 2);
        let table: Vec<_> = table.into_iter().map(splat).collect();
        let n = self.staged.n_columns();
        tape.sample(&mut file, &table[..n]);
        tape.sample(&mut file, &table[n..]);
        let outputs = (0..self.staged.roots().len()).map(|root| {
            let mut lanes = vec![0.0; Lanes::<S>::LANES];
            tape.output(&file, root).store(&mut lanes);
            assert!(lanes.iter().all(|x| x.to_bits() == lanes[0].to_bits() || x.is_nan()));
            lanes[0]
        });
        outputs.collect()
    }
}

proptest! {
    #[test]
    fn a_tape_gives_the_formula_on_every_level(text in formula(), at in inputs()) {
        let (graph, roots) = parsed(&text);
        let rounded = at.map(|x| f64::from(x as f32));
        let exact = graph.evaluate(&roots, &rounded[..3], &rounded[3..5], &rounded[5..]);
        let (fused, roots) = graph.fused(&roots);
        let again = fused.evaluate(&roots, &rounded[..3], &rounded[3..5], &rounded[5..]);
        let staged = Staged::new(&fused, &roots);
        let mut first: Option<Vec<f32>> = None;
        for level in SimdLevel::available() {
            let found = level.run(OnTape { staged: &staged, at });
            for ((x, same), y) in exact.iter().zip(&again).zip(&found) {
                // Fusing changes roundings only; f32 loses more where large terms cancel.
                prop_assert!((x - same).abs() <= 1e-9 * (1.0 + x.abs()), "{text}: {x} {same}");
                let error = (f64::from(*y) - x).abs();
                prop_assert!(error <= 1e-3 * (1.0 + x.abs()), "{level:?} {text}: {x} {y}");
            }
            if level.fuses() {
                let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                prop_assert_eq!(bits(first.get_or_insert_with(|| found.clone())), bits(&found));
            }
        }
    }
}

#[test]
fn what_depends_on_samples_alone_is_a_column() {
    let mut graph = Graph::new();
    let root = graph.parse("p*exp(-s*s*q/6) + k*exp(q)", &NAMES).unwrap();
    let staged = Staged::new(&graph, &[root]);
    // -s² in any case; the rest needs q.
    assert_eq!(staged.n_columns(), 1);
    let tape = Tape::new(&staged, 3, 1);
    // k exp(q) once; a product, a quotient, exp, a product, a sum for each sample.
    assert_eq!(tape.n_instructions(), (2, 5));
}

#[test]
fn registers_are_used_again() {
    let mut graph = Graph::new();
    let text: String = (0..50).map(|i| format!("+exp(p*s*{i}.5)")).collect();
    let root = graph.parse(&text, &NAMES).unwrap();
    let staged = Staged::new(&graph, &[root]);
    let tape = Tape::new(&staged, 3, 1);
    let inputs_and_constants = 3 + 1 + staged.n_columns() + 50;
    assert!(tape.n_registers() <= inputs_and_constants + 4, "{}", tape.n_registers());
}

#[test]
fn numbers_in_kernels_are_exact() {
    let mut graph = Graph::new();
    let root = graph.parse("p*0.1", &NAMES).unwrap();
    let staged = Staged::new(&graph, &[root]);
    assert!(kernel_text("f", &staged, Precision::Single).contains("(1e-1f)"));
    assert!(kernel_text("f", &staged, Precision::Double).contains("(1e-1)"));
}
