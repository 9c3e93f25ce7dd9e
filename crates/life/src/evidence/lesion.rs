//! Virtual lesions: some streamlines are taken away without fitting the others anew.

use fimbria_compute::Workers;

use super::{Comparison, compare, rmse};
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
/// errors in the voxels they pass.
pub fn virtual_lesion(
    encoding: &Encoding,
    signal: &Signal,
    dictionary: &Dictionary,
    basis: &Basis,
    weights: &[f32],
    predicted: &[f32],
    members: &[u32],
    workers: &Workers,
) -> Lesion {
    let (rows, rank) = (signal.rows(), dictionary.rank());
    let mut is_member = vec![false; encoding.streamlines()];
    members.iter().for_each(|&f| is_member[f as usize] = true);
    // The voxels, and each one's place among them.
    let mut place = vec![u32::MAX; signal.voxels()];
    let mut voxels = Vec::new();
    for &f in members {
        for entry in encoding.of(f as usize) {
            let voxel = entry.voxel as usize;
            if place[voxel] == u32::MAX && signal.s0[voxel] > 0.0 {
                place[voxel] = voxels.len() as u32;
                voxels.push(voxel);
            }
        }
    }
    let mut taken = vec![0.0_f64; rank * voxels.len()];
    let mine = || (0..encoding.streamlines()).filter(|&f| is_member[f]);
    for f in mine().filter(|&f| weights[f] > 0.0) {
        for entry in encoding.of(f) {
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
    let (mut intact, mut lesioned) = (Vec::new(), Vec::new());
    let (mut of_voxel, mut without) = (vec![0.0; rows], vec![0.0; rows]);
    for (&voxel, taken) in voxels.iter().zip(taken.chunks(rank)) {
        let with = &predicted[voxel * rows..][..rows];
        basis.expand(taken, &mut of_voxel, workers.simd());
        for ((to, with), taken) in without.iter_mut().zip(with).zip(&of_voxel) {
            *to = (f64::from(*with) - taken) as f32;
        }
        intact.extend(rmse(signal.of(voxel), with, rows));
        lesioned.extend(rmse(signal.of(voxel), &without, rows));
    }
    let is_near = |f: &usize| {
        let mut entries = encoding.of(*f).iter();
        entries.any(|entry| place[entry.voxel as usize] != u32::MAX)
    };
    let others = (0..encoding.streamlines()).filter(|&f| !is_member[f] && weights[f] > 0.0);
    Lesion {
        streamlines: mine().count(),
        kept: mine().filter(|&f| weights[f] > 0.0).count(),
        weight: mine().map(|f| f64::from(weights[f])).sum(),
        voxels: voxels.len(),
        neighbours: others.filter(is_near).count(),
        rmse: super::mean(&intact),
        rmse_lesioned: super::mean(&lesioned),
        comparison: compare(&intact, &lesioned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::predict;
    use crate::testing::Planted;
    use crate::{EncodeOptions, Rank};

    #[test]
    fn a_lesion_is_the_prediction_with_weights_of_zero() {
        let workers = Workers::new(2).unwrap();
        let planted = Planted::new(60, &EncodeOptions::default(), 3.0);
        let system = planted.system(Rank::Error(1e-3), &workers);
        let weights: Vec<f32> = planted.weights.iter().map(|w| *w as f32).collect();
        let (encoding, signal) = (&planted.encoding, &system.signal);
        let (dictionary, basis) = (&system.dictionary, &system.basis);
        let with = predict(encoding, signal, dictionary, basis, &weights, &[], &workers);
        let members = [0, 3, 4, 9];
        let lesion = virtual_lesion(
            encoding, signal, dictionary, basis, &weights, &with, &members, &workers,
        );
        let mut zeroed = weights.clone();
        members.iter().for_each(|&f| zeroed[f as usize] = 0.0);
        let without = predict(encoding, signal, dictionary, basis, &zeroed, &[], &workers);
        let errors = rmse(&signal.y, &without, signal.rows());
        let mut touched: Vec<usize> = members
            .iter()
            .flat_map(|&f| encoding.of(f as usize).iter().map(|e| e.voxel as usize))
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
        let planted = Planted::new(60, &EncodeOptions::default(), 3.0);
        let system = planted.system(Rank::Full, &workers);
        let weights: Vec<f32> = planted.weights.iter().map(|w| *w as f32).collect();
        let (encoding, signal) = (&planted.encoding, &system.signal);
        let (dictionary, basis) = (&system.dictionary, &system.basis);
        let with = predict(encoding, signal, dictionary, basis, &weights, &[], &workers);
        let lesion =
            virtual_lesion(encoding, signal, dictionary, basis, &weights, &with, &[1, 2], &workers);
        assert_eq!((lesion.kept, lesion.comparison.earth_mover), (0, 0.0));
        assert_eq!(lesion.rmse, lesion.rmse_lesioned);
    }
}
