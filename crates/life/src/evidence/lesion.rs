//! Virtual lesions: some streamlines are taken away without fitting the others anew.

use fimbria_compute::Backend;
use fimbria_compute::comm::Comm;

use super::{Comparison, compare, of_all_voxels, rmse};
use crate::{Basis, Dictionary, Encoding, Signal};

/// What some streamlines are worth (ENCODE's virtual lesion).
#[derive(Clone, Debug, PartialEq)]
pub struct Lesion {
    /// Streamlines taken away.
    pub streamlines: usize,
    /// Those of positive weight.
    pub kept: usize,
    /// Sum of their weights.
    pub weight: f64,
    /// Voxels they pass with a usable signal.
    pub voxels: usize,
    /// Other streamlines of positive weight in these voxels: the path neighbourhood.
    pub neighbours: usize,
    /// Mean of these voxels' errors with the streamlines, input units.
    pub rmse: f64,
    /// Mean of these voxels' errors without them.
    pub rmse_lesioned: f64,
    /// How the errors differ.
    pub comparison: Comparison,
}

/// Takes `members` away from `predicted` ([`predict`](super::predict) with `weights`) and compares
/// errors in the voxels they pass. Of several processes the first has the errors.
pub fn virtual_lesion(
    encoding: &Encoding,
    signal: &Signal,
    dictionary: &Dictionary,
    basis: &Basis,
    weights: &[f32],
    predicted: &[f32],
    members: &[u32],
    on: &Backend<'_>,
) -> Lesion {
    let (rows, rank) = (signal.rows(), dictionary.rank());
    let mut is_member = vec![false; encoding.streamlines()];
    members.iter().for_each(|&f| is_member[f as usize] = true);
    // The voxels, and each one's place among them.
    let mut is_passed = vec![false; signal.voxels()];
    for entry in members.iter().flat_map(|&f| encoding.entries_of(f as usize)) {
        is_passed[entry.voxel as usize] = signal.s0[entry.voxel as usize] > 0.0;
    }
    let voxels: Vec<usize> = (0..signal.voxels()).filter(|&voxel| is_passed[voxel]).collect();
    let mut place = vec![u32::MAX; signal.voxels()];
    (0..).zip(&voxels).for_each(|(at, &voxel)| place[voxel] = at);
    let mut taken = vec![0.0_f64; rank * voxels.len()];
    let mine = || (0..encoding.streamlines()).filter(|&f| is_member[f]);
    for f in mine().filter(|&f| weights[f] > 0.0) {
        for entry in encoding.entries_of(f) {
            let Some(to) = taken.get_mut(place[entry.voxel as usize] as usize * rank..) else {
                continue;
            };
            let s0 = f64::from(signal.s0[entry.voxel as usize]);
            let value = f64::from(weights[f]) * f64::from(entry.value) * s0;
            for (to, c) in to.iter_mut().zip(dictionary.column(entry.atom as usize)[..rank].iter())
            {
                *to += value * f64::from(*c);
            }
        }
    }
    // NaN where they do not pass.
    let mut errors = vec![f32::NAN; 2 * signal.voxels()];
    let (mut of_voxel, mut without) = (vec![0.0; rows], vec![0.0; rows]);
    for (&voxel, taken) in voxels.iter().zip(taken.chunks(rank)) {
        let with = &predicted[voxel * rows..][..rows];
        basis.expand(taken, &mut of_voxel, on.workers.simd());
        for ((to, with), taken) in without.iter_mut().zip(with).zip(&of_voxel) {
            *to = (f64::from(*with) - taken) as f32;
        }
        errors[2 * voxel] = rmse(signal.voxel(voxel), with, rows)[0];
        errors[2 * voxel + 1] = rmse(signal.voxel(voxel), &without, rows)[0];
    }
    let errors = of_all_voxels(encoding, errors, 2, on.comm);
    let errors = errors.as_chunks::<2>().0.iter().filter(|[intact, _]| !intact.is_nan());
    let (intact, lesioned): (Vec<f32>, Vec<f32>) = errors.map(|&[a, b]| (a, b)).unzip();
    let is_near = |f: &usize| {
        let mut entries = encoding.entries_of(*f).iter();
        entries.any(|entry| place[entry.voxel as usize] != u32::MAX)
    };
    let near: Vec<bool> = (0..encoding.streamlines())
        .map(|f| !is_member[f] && weights[f] > 0.0 && is_near(&f))
        .collect();
    Lesion {
        streamlines: mine().count(),
        kept: mine().filter(|&f| weights[f] > 0.0).count(),
        weight: mine().map(|f| f64::from(weights[f])).sum(),
        voxels: intact.len(),
        neighbours: number_of_any(&near, on.comm),
        rmse: super::mean(&intact),
        rmse_lesioned: super::mean(&lesioned),
        comparison: compare(&intact, &lesioned),
    }
}

/// Of how many elements any process says yes.
fn number_of_any(mine: &[bool], comm: &dyn Comm) -> usize {
    /// Elements counted in one number, by 16 bits each.
    const TOGETHER: usize = 4;
    if comm.size() == 1 {
        return mine.iter().filter(|yes| **yes).count();
    }
    let pack = |yes: &[bool]| {
        (0..).zip(yes).fold(0, |packed, (at, yes)| packed | i64::from(*yes) << (16 * at))
    };
    let mut packed: Vec<i64> = mine.chunks(TOGETHER).map(pack).collect();
    comm.sum_i64(&mut packed);
    let lanes = |packed: &i64| (0..TOGETHER).filter(|at| packed >> (16 * at) & 0xffff != 0).count();
    packed.iter().map(lanes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Compartments;
    use crate::evidence::predict;
    use crate::testing::Planted;
    use crate::{EncodeOptions, Rank};
    use fimbria_compute::Workers;

    #[test]
    fn a_lesion_is_the_prediction_with_weights_of_zero() {
        let workers = Workers::new(2).unwrap();
        let on = Backend::cpu(&workers);
        let planted = Planted::new(60, &EncodeOptions::default(), 3.0);
        let system = planted.system(Rank::Error(1e-3), &workers);
        let weights: Vec<f32> = planted.weights.iter().map(|w| *w as f32).collect();
        let (encoding, signal) = (&planted.encoding, &system.signal);
        let (dictionary, basis) = (&system.dictionary, &system.basis);
        let with = predict(
            encoding,
            signal,
            dictionary,
            basis,
            &weights,
            (&Compartments::default(), &[]),
            &workers,
        );
        let members = [0, 3, 4, 9];
        let lesion =
            virtual_lesion(encoding, signal, dictionary, basis, &weights, &with, &members, &on);
        let mut zeroed = weights.clone();
        members.iter().for_each(|&f| zeroed[f as usize] = 0.0);
        let without = predict(
            encoding,
            signal,
            dictionary,
            basis,
            &zeroed,
            (&Compartments::default(), &[]),
            &workers,
        );
        let errors = rmse(&signal.y, &without, signal.rows());
        let mut touched: Vec<usize> = members
            .iter()
            .flat_map(|&f| encoding.entries_of(f as usize).iter().map(|e| e.voxel as usize))
            .collect();
        touched.sort_unstable();
        touched.dedup();
        let expected: Vec<f32> = touched.iter().map(|&v| errors[v]).collect();
        assert_eq!((lesion.streamlines, lesion.kept, lesion.voxels), (4, 3, touched.len()));
        let expected = crate::evidence::mean(&expected);
        // Predictions are rounded to f32.
        assert!((lesion.rmse_lesioned - expected).abs() < 1e-5, "{lesion:?} {expected}");
        assert!(lesion.rmse_lesioned > lesion.rmse && lesion.comparison.strength > 1.0);
        assert!(lesion.neighbours > 0);
    }

    #[test]
    fn streamlines_without_weight_are_no_loss() {
        let workers = Workers::new(2).unwrap();
        let on = Backend::cpu(&workers);
        let planted = Planted::new(60, &EncodeOptions::default(), 3.0);
        let system = planted.system(Rank::Full, &workers);
        let weights: Vec<f32> = planted.weights.iter().map(|w| *w as f32).collect();
        let (encoding, signal) = (&planted.encoding, &system.signal);
        let (dictionary, basis) = (&system.dictionary, &system.basis);
        let with = predict(
            encoding,
            signal,
            dictionary,
            basis,
            &weights,
            (&Compartments::default(), &[]),
            &workers,
        );
        let lesion =
            virtual_lesion(encoding, signal, dictionary, basis, &weights, &with, &[1, 2], &on);
        assert_eq!((lesion.kept, lesion.comparison.earth_mover), (0, 0.0));
        assert_eq!(lesion.rmse, lesion.rmse_lesioned);
    }
}
