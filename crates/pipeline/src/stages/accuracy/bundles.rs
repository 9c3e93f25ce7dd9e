//! Streamlines against the bundles of the head, as the ISMRM 2015 challenge scored them (Maier-Hein KH et al. Nat
//! Commun 8, 1349 (2017)).

use fimbria_compute::Progress as _;
use fimbria_image::{Affine, Grid, counted};
use fimbria_phantoms::head::{Head, HeadBundle};
use fimbria_streamlines::Streamlines;
use rayon::prelude::*;

use super::{Accuracy, Closeness};
use crate::Logbook;

/// A streamline joins the ends of a bundle where its own are so near to those of a true fibre, mm.
const ENDS_MM: f64 = 5.0;
/// And it is of the bundle where such a part of its points is so near to the bundle's voxels, mm. Neighbours in voxels of
/// 4 mm are, however their header is rounded.
const WITHIN_MM: f64 = 4.001;
const INSIDE: f64 = 0.95;
/// Their fibres join neighbours everywhere: both ends must be those of one.
const U_FIBRES: &str = "u_fibres";

/// How a bundle was found.
struct Score {
    /// The streamlines that are of it.
    valid: Vec<usize>,
    /// Its voxels that none of these passes, and others that they pass, in percent of its voxels.
    missed: f64,
    beyond: f64,
}

/// Compares the voxels of each bundle with those of the streamlines that are of it, and says how many are.
pub(super) fn compare(
    lines: &Streamlines,
    head: &Head,
    accuracy: &mut Accuracy,
    log: &Logbook<'_>,
) {
    let score = |bundle| Score::new(lines, head, bundle);
    let scores: Vec<Score> = head.bundles.par_iter().map(score).collect();
    let mut valid: Vec<usize> = scores.iter().flat_map(|score| score.valid.clone()).collect();
    valid.sort_unstable();
    valid.dedup();
    let bundles = scores.iter().filter(|score| !score.valid.is_empty()).count();
    log.note(&format!(
        "{bundles} of {} found; {} of {} join the ends of one along its way",
        counted(scores.len(), "bundle"),
        valid.len(),
        counted(lines.len(), "streamline")
    ));
    log.count("bundles", bundles as u64);
    log.count("streamlines of bundles", valid.len() as u64);
    for (quantity, errors) in [
        ("bundles, missed", scores.iter().map(|score| score.missed).collect()),
        ("bundles, beyond", scores.iter().map(|score| score.beyond).collect()),
    ] {
        accuracy.rows.extend(Closeness::new(quantity, "%", errors));
    }
}

impl Score {
    fn new(lines: &Streamlines, head: &Head, bundle: &HeadBundle) -> Self {
        let mask = head.bundle_mask(bundle);
        let grid = mask.grid;
        let own: Vec<bool> = mask.data.iter().map(|inside| *inside > 0.0).collect();
        let near = widened(&own, &grid);
        let vox_from_ras = grid.ras_from_vox.inverse();
        let place = |p: &[f32; 3]| voxel(&grid, vox_from_ras.as_ref()?, *p);
        let places = |line: usize| lines.points(line).iter().map(place);
        let is_along = |line: &usize| {
            let inside = places(*line).filter(|v| v.is_some_and(|v| near[v])).count();
            inside as f64 >= INSIDE * lines.points(*line).len() as f64
        };
        let joining = (0..lines.len()).filter(|line| joins(lines.points(*line), bundle));
        let valid: Vec<usize> = joining.filter(is_along).collect();
        let mut passed = vec![false; own.len()];
        valid.iter().flat_map(|line| places(*line)).flatten().for_each(|v| passed[v] = true);
        let count = |is_it: fn(bool, bool) -> bool| {
            own.iter().zip(&passed).filter(|(own, passed)| is_it(**own, **passed)).count() as f64
        };
        let percent = 100.0 / count(|own, _| own).max(1.0);
        let missed = percent * count(|own, passed| own && !passed);
        let beyond = percent * count(|own, passed| !own && passed);
        Self { valid, missed, beyond }
    }
}

/// Whether a streamline joins both ends of a bundle, either way round.
fn joins(line: &[[f32; 3]], bundle: &HeadBundle) -> bool {
    let (Some(first), Some(last)) = (line.first(), line.last()) else { return false };
    let ends = || {
        let both = |fibre: &Vec<[f32; 3]>| Some((*fibre.first()?, *fibre.last()?));
        bundle.streamlines.iter().filter_map(both)
    };
    let far = |a: &[f32; 3], b: &[f32; 3]| -> f64 {
        (0..3).map(|axis| f64::from(a[axis] - b[axis]).powi(2)).sum()
    };
    let most = ENDS_MM * ENDS_MM;
    [(first, last), (last, first)].into_iter().any(|(from, to)| {
        if bundle.name.starts_with(U_FIBRES) {
            return ends().any(|(a, b)| far(from, &a) + far(to, &b) <= 2.0 * most);
        }
        ends().any(|(a, _)| far(from, &a) <= most) && ends().any(|(_, b)| far(to, &b) <= most)
    })
}

/// The voxel that holds a point, scanner mm.
fn voxel(grid: &Grid, vox_from_ras: &Affine, p: [f32; 3]) -> Option<usize> {
    let v = vox_from_ras.apply(p.map(f64::from)).map(f64::round);
    let is_inside = (0..3).all(|a| v[a] >= 0.0 && v[a] < grid.dims[a] as f64);
    is_inside.then(|| grid.index(v.map(|x| x as usize)))
}

/// The voxels whose middle is as near to that of one of these as [`WITHIN_MM`].
fn widened(own: &[bool], grid: &Grid) -> Vec<bool> {
    let edges = grid.ras_from_vox.spacing();
    let reach = edges.map(|mm| (WITHIN_MM / mm) as isize);
    let along = |a: usize| -reach[a]..=reach[a];
    let all = along(2).flat_map(|z| along(1).flat_map(move |y| along(0).map(move |x| [x, y, z])));
    let distance =
        |step: &[isize; 3]| (0..3).map(|a| (step[a] as f64 * edges[a]).powi(2)).sum::<f64>();
    let steps: Vec<_> = all.filter(|step| distance(step) <= WITHIN_MM * WITHIN_MM).collect();
    let mut near = vec![false; own.len()];
    for at in (0..own.len()).filter(|v| own[*v]).map(|v| grid.voxel(v)) {
        for step in &steps {
            let beside = [0, 1, 2].map(|a| at[a].checked_add_signed(step[a]));
            if let [Some(x), Some(y), Some(z)] = beside
                && (0..3).all(|a| [x, y, z][a] < grid.dims[a])
            {
                near[grid.index([x, y, z])] = true;
            }
        }
    }
    near
}
