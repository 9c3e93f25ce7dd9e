//! The two forms of the model: D of order 2 by xx xy xz yy yz zz, and the quartic form by
//! 1111 1112 1113 1122 1123 1133 1222 1223 1233 1333 2222 2223 2233 2333 3333.

/// Unique entries of D.
pub(crate) const N_D: usize = 6;
/// Unique entries of the quartic form.
pub(crate) const N_W: usize = 15;

/// Powers of x, y, z of the entries of D.
pub(crate) const QUADRATIC: [[u8; 3]; N_D] =
    [[2, 0, 0], [1, 1, 0], [1, 0, 1], [0, 2, 0], [0, 1, 1], [0, 0, 2]];

/// How many entries of the full matrix each of them stands for.
pub(crate) const QUADRATIC_TIMES: [f32; N_D] = [1.0, 2.0, 2.0, 1.0, 2.0, 1.0];

/// Powers of x, y, z of the entries of the quartic form.
pub(crate) const QUARTIC: [[u8; 3]; N_W] = [
    [4, 0, 0],
    [3, 1, 0],
    [3, 0, 1],
    [2, 2, 0],
    [2, 1, 1],
    [2, 0, 2],
    [1, 3, 0],
    [1, 2, 1],
    [1, 1, 2],
    [1, 0, 3],
    [0, 4, 0],
    [0, 3, 1],
    [0, 2, 2],
    [0, 1, 3],
    [0, 0, 4],
];

/// How many entries of the full tensor each of them stands for.
pub(crate) const QUARTIC_TIMES: [f32; N_W] =
    [1.0, 4.0, 4.0, 6.0, 12.0, 6.0, 4.0, 12.0, 12.0, 4.0, 1.0, 4.0, 6.0, 4.0, 1.0];

/// The two indices of each entry of a symmetric matrix.
pub(crate) const PAIRS: [[usize; 2]; N_D] = [[0, 0], [0, 1], [0, 2], [1, 1], [1, 2], [2, 2]];

/// The quartic entry whose indices are those of two entries of a matrix together.
pub(crate) const OF_PAIRS: [[usize; N_D]; N_D] = [
    [0, 1, 2, 3, 4, 5],
    [1, 3, 4, 6, 7, 8],
    [2, 4, 5, 7, 8, 9],
    [3, 6, 7, 10, 11, 12],
    [4, 7, 8, 11, 12, 13],
    [5, 8, 9, 12, 13, 14],
];

/// What each entry of D is multiplied by in gᵀDg.
pub(crate) fn quadratic_terms(g: [f64; 3]) -> [f64; N_D] {
    std::array::from_fn(|k| f64::from(QUADRATIC_TIMES[k]) * monomial(g, QUADRATIC[k]))
}

/// What each entry of a quartic form is multiplied by in its value along g.
pub(crate) fn quartic_terms(g: [f64; 3]) -> [f64; N_W] {
    std::array::from_fn(|k| f64::from(QUARTIC_TIMES[k]) * monomial(g, QUARTIC[k]))
}

fn monomial(g: [f64; 3], powers: [u8; 3]) -> f64 {
    (0..3).map(|i| g[i].powi(i32::from(powers[i]))).product()
}

#[cfg(test)]
mod tests {
    use fimbria_tensors::layout::Layout;

    use super::*;
    use fimbria_tensors::starts::half_sphere;

    #[test]
    fn entries_are_those_of_the_lexicographic_layout() {
        let layout = Layout::new(4, 3).unwrap();
        for (k, powers) in layout.exponents_3d().into_iter().enumerate() {
            assert_eq!(powers, QUARTIC[k].map(usize::from));
            assert_eq!(layout.multiplicity(k), f64::from(QUARTIC_TIMES[k]));
        }
        for (p, a) in PAIRS.iter().enumerate() {
            for (q, b) in PAIRS.iter().enumerate() {
                assert_eq!(OF_PAIRS[p][q], layout.index_of(&[a[0], a[1], b[0], b[1]]));
            }
        }
    }

    #[test]
    fn the_terms_of_the_isotropic_forms_sum_to_one() {
        for g in half_sphere(20) {
            let d = quadratic_terms(g);
            assert!((d[0] + d[3] + d[5] - 1.0).abs() < 1e-14);
            let w = quartic_terms(g);
            let sum = w[0] + w[10] + w[14] + (w[3] + w[5] + w[12]) / 3.0;
            assert!((sum - 1.0).abs() < 1e-14);
        }
    }
}
