//! Products of a table with many vectors at once: the whole cost of a fit.

use fimbria_compute::{Lanes, Real};
use pulp::Simd;

use super::HALVES;
use crate::linear::tables::{PANEL, Panels};

/// The first `n_outputs` elements of the table's products with the vectors `[term][lane]`, as
/// `[output][lane]`. `out` has room for whole panels.
///
/// A panel's sums stay in registers over all terms: 12 outputs of two registers of lanes where
/// there are 32 registers, 6 of two where there are 16.
#[inline(always)]
pub(super) fn product<S: Simd>(
    simd: S,
    table: &Panels,
    n_outputs: usize,
    vectors: &[f32],
    out: &mut [f32],
) {
    let panels = n_outputs.div_ceil(PANEL);
    let lanes = HALVES * Lanes::<S>::LANES;
    for (p, (panel, out)) in
        table.panels().take(panels).zip(out.chunks_exact_mut(PANEL * lanes)).enumerate()
    {
        let left = n_outputs - p * PANEL;
        if Lanes::<S>::LANES == 16 {
            match left {
                ..=4 => sums::<S, 4>(simd, panel, vectors, out),
                5..=8 => sums::<S, 8>(simd, panel, vectors, out),
                _ => sums::<S, 12>(simd, panel, vectors, out),
            }
        } else {
            sums::<S, 6>(simd, panel, vectors, out);
            if left > 6 {
                sums::<S, 6>(simd, &panel[6..], vectors, &mut out[6 * lanes..]);
            }
        }
    }
}

/// `R` outputs; `panel` begins at the first of them.
#[inline(always)]
fn sums<S: Simd, const R: usize>(simd: S, panel: &[f32], vectors: &[f32], out: &mut [f32]) {
    let n = Lanes::<S>::LANES;
    let mut sums = [[Lanes::new(simd, 0.0); HALVES]; R];
    for (row, vector) in panel.chunks(PANEL).zip(vectors.chunks_exact(HALVES * n)) {
        let (low, high) = (Lanes::load(simd, vector), Lanes::load(simd, &vector[n..]));
        let row = &row[..R];
        for k in 0..R {
            let factor = Lanes::new(simd, row[k]);
            sums[k][0] = low.mul_add(factor, sums[k][0]);
            sums[k][1] = high.mul_add(factor, sums[k][1]);
        }
    }
    for (sums, out) in sums.iter().zip(out.chunks_exact_mut(HALVES * n)) {
        sums[0].store(out);
        sums[1].store(&mut out[n..]);
    }
}
