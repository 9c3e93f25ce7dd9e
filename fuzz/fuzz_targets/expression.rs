//! Formulas: an error that names a column, or a graph whose value and derivatives can be taken.
#![no_main]

use fimbria_fitting::expr::{Graph, Input, Names, Precision, Staged, kernel_text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let names = Names { parameters: &["S0", "D"], samples: &["b", "gx"], problems: &["sigma"] };
    let mut graph = Graph::new();
    match graph.parse(text, &names) {
        Ok(root) => {
            let mut roots = vec![root];
            roots.extend(graph.derivatives(root, &[0, 1].map(Input::Parameter)));
            graph.evaluate(&roots, &[1.0, 0.5], &[1.0, 0.0], &[0.1]);
            let (fused, roots) = graph.fused(&roots);
            let staged = Staged::new(&fused, &roots);
            staged.table(&[1.0_f32, 0.0, 0.0, 1.0], 2);
            kernel_text("f", &staged, Precision::Single);
        }
        Err(error) => {
            assert!(error.column >= 1 && error.column <= text.chars().count() + 1);
            assert!(!error.to_string().is_empty());
        }
    }
});
