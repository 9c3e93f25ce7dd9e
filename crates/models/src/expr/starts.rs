//! Fits from several starts, of which each voxel keeps the best.

use fimbria_image::{Mask, Status, StatusCounts};

use super::Parameter;
use crate::voxelwise::Fitted;

/// The parameters with `n` starts: the given one, then those of a sequence that fills a box evenly (powers of
/// the inverse of the root of xᵈ⁺¹ = x + 1, the golden section where one parameter moves). A parameter that is
/// fixed or lacks a bound keeps its start.
pub(super) fn starts(parameters: &[Parameter], n: usize) -> Vec<Vec<Parameter>> {
    let moves = |p: &Parameter| !p.fixed && p.lower.is_finite() && p.upper.is_finite();
    let dimensions = parameters.iter().filter(|p| moves(p)).count();
    if dimensions == 0 {
        return vec![parameters.to_vec()];
    }
    let root = (0..64).fold(1.5_f64, |x, _| (1.0 + x).powf(1.0 / (dimensions as f64 + 1.0)));
    let start = |index: usize| {
        let mut step = 1.0;
        let mut of_parameter = |p: &Parameter| {
            let mut p = p.clone();
            if index > 0 && moves(&p) {
                step /= root;
                p.start = p.lower + (0.5 + index as f64 * step).fract() * (p.upper - p.lower);
            }
            p
        };
        parameters.iter().map(&mut of_parameter).collect()
    };
    (0..n.max(1)).map(start).collect()
}

/// Puts into `best` the voxels that `other` fits better: with a status that says more, or with a smaller
/// residual.
pub(super) fn keep_better(best: &mut Fitted, other: &Fitted, mask: &Mask) {
    let fate = |fitted: &Fitted, voxel: usize| {
        let of = |from_end: usize| fitted.maps[fitted.maps.len() - from_end].image.data[voxel];
        let status = Status::from_code(of(1));
        let worth = match status {
            Status::NotConverged => 1,
            status if status.is_fitted() => 2,
            _ => 0,
        };
        // Residual, iterations and status end the list of maps.
        (worth, of(3), status)
    };
    best.status = StatusCounts::default();
    for voxel in mask.voxels.iter().map(|&voxel| voxel as usize) {
        let (old, new) = (fate(best, voxel), fate(other, voxel));
        if (new.0, -new.1) > (old.0, -old.1) {
            for (map, from) in best.maps.iter_mut().zip(&other.maps) {
                map.image.data[voxel] = from.image.data[voxel];
            }
            best.status.add(new.2);
        } else {
            best.status.add(old.2);
        }
    }
    best.seconds += other.seconds;
    best.shares.cpu += other.shares.cpu;
    for (share, other) in best.shares.devices.iter_mut().zip(&other.shares.devices) {
        *share += other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_fill_the_bounds_and_leave_what_has_none() {
        let parameters = [
            Parameter::new("a", 0.5, 0.0, 1.0),
            Parameter::new("b", 3.0, 2.0, f64::INFINITY),
            Parameter::new("c", 1.0, 0.0, 10.0).fixed_at(7.0),
        ];
        let all = starts(&parameters, 9);
        assert_eq!(all[0], parameters);
        let mut a: Vec<f64> = all.iter().map(|start| start[0].start).collect();
        a.sort_by(f64::total_cmp);
        // Of nine points none is farther from the next than twice what an even grid has.
        assert!(a.windows(2).all(|pair| pair[1] - pair[0] < 2.0 / 8.0), "{a:?}");
        assert!(all.iter().all(|start| (start[1].start, start[2].start) == (3.0, 7.0)));
    }
}
