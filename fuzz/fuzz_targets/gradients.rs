//! Gradient tables of every format: an error, or a table that survives being written and read.
#![no_main]

use fimbria_image::gradients::{BScaling, GradientTable, GradientsRead, TableOptions};
use fimbria_image::{Affine, BvecFrame};
use libfuzzer_sys::fuzz_target;

const OBLIQUE: Affine =
    Affine([[-1.9, 0.3, -0.1, 10.0], [-0.35, 1.8, 0.6, -20.0], [0.05, -0.4, 2.4, 5.0]]);

/// What every table promises, and that its texts are read back as the same table.
fn check(read: GradientsRead) {
    let table = read.table;
    let unit = |g: &[f64; 3]| {
        let norm = g[0].hypot(g[1]).hypot(g[2]);
        norm == 0.0 || (norm - 1.0).abs() < 1e-9
    };
    assert!(table.dirs_ras.iter().all(unit));
    assert!(table.b_s_per_mm2.iter().all(|b| b.is_finite() && *b >= 0.0));
    assert_eq!(table.shells().iter().map(|s| s.volumes.len()).sum::<usize>(), table.len());
    for repair in &read.repairs {
        assert!(!repair.to_string().is_empty());
    }
    let again = GradientTable::from_mrtrix(&table.to_mrtrix(), &TableOptions::default());
    assert_eq!(again.expect("its own text").table.len(), table.len());
    let text = table.to_fsl(BvecFrame::Fsl, &OBLIQUE);
    let options = TableOptions::default();
    let again =
        GradientTable::from_fsl(&text.bvals, &text.bvecs, BvecFrame::Fsl, &OBLIQUE, &options);
    assert_eq!(again.expect("its own text").table.len(), table.len());
}

fuzz_target!(|input: (u8, &str, &str)| {
    let (choice, first, second) = input;
    let frame = [BvecFrame::Fsl, BvecFrame::Voxel, BvecFrame::Scanner][usize::from(choice % 3)];
    let b_scaling = [BScaling::Auto, BScaling::Yes, BScaling::No][usize::from(choice / 3 % 3)];
    let options = TableOptions { b_scaling, ..TableOptions::default() };
    let read = match choice / 9 % 3 {
        0 => GradientTable::from_fsl(first, second, frame, &OBLIQUE, &options),
        1 => GradientTable::from_mrtrix(first, &options),
        _ => GradientTable::from_bmatrix(first, frame, &OBLIQUE, &options),
    };
    match read {
        Ok(read) => check(read),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
