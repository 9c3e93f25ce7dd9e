//! Seeds drawn by what streamlines so far lack of the densities.

use std::sync::Arc;

use fimbria_compute::Progress as _;
use fimbria_compute::comm::Comm;
use fimbria_image::frames::{Matrix3, turned};
use fimbria_image::{Affine, counted};
use fimbria_life::sift2::{Filling, Traced};
use fimbria_life::{CountBy, Tracer};
use fimbria_tensors::lobes::{LobeOptions, Lobes};
use fimbria_tracking::{
    Densities, DensityError, Reseed, Sample, Seed, SeedChances, SeedFixel, Space, Tissues,
};

use super::anatomy::white_shares;
use super::{SourceError, TrackError};
use crate::Logbook;

/// Fixels of the voxels that hold seeds, how full they are, and the chances of seeds that follow from it.
pub(super) struct DynamicSeeds {
    lobes: Lobes,
    /// Of each voxel of the array its number among those with lobes.
    number: Vec<u32>,
    frame_from_ras: Matrix3,
    tracer: Tracer,
    ras_from_seeds: Affine,
    filling: Filling,
    /// What is drawn, the lobe of each, and among how many the chance of that is shared.
    fixels: Arc<[SeedFixel]>,
    lobe_of: Vec<u32>,
    seeds_of: Vec<u32>,
    chances: SeedChances,
}

impl DynamicSeeds {
    /// Lobes above `least_peak` in the voxels of the densities that hold `seeds`, which are voxels or points of
    /// `space`; of `tissues` white matter counts.
    pub(super) fn new(
        densities: &Densities,
        (seeds, space): (&[Seed], &Space),
        least_peak: f32,
        tissues: Option<&Tissues>,
        log: &Logbook<'_>,
    ) -> Result<Self, TrackError> {
        let workers = log.session().on.workers;
        let grid = *densities.grid();
        let voxel_of = |seed: &Seed| densities.voxel_at(space.to_samples(seed.pos));
        let mut voxels: Vec<u32> = seeds.iter().filter_map(voxel_of).collect();
        voxels.sort_unstable();
        voxels.dedup();
        let options = LobeOptions { least_peak, ..LobeOptions::default() };
        let what = (None, densities.order());
        let lobes = Lobes::find(densities, &voxels, what, options, workers, log)?;
        log.note(&format!("seeds are drawn among {}", counted(lobes.len(), "fixel")));
        let mut number = vec![u32::MAX; grid.len()];
        (0..).zip(&voxels).for_each(|(k, &voxel)| number[voxel as usize] = k);
        let white = tissues.map(|tissues| white_shares(tissues, &grid, &voxels));
        let white_of = |k: usize| white.as_ref().map_or(1.0, |white| white[k]);
        let white: Vec<f32> = (0..voxels.len())
            .flat_map(|k| lobes.of_voxel(k).map(move |_| k))
            .map(white_of)
            .collect();
        let filling = Filling::new(lobes.integrals(), &white).ok_or(TrackError::NoDensity)?;

        let (mut fixels, mut lobe_of) = (Vec::new(), Vec::new());
        let mut seeds_of = vec![0; lobes.len()];
        for (seed, voxel) in (0..).zip(seeds.iter().map(voxel_of)) {
            let Some(voxel) = voxel else { continue };
            for lobe in lobes.of_voxel(number[voxel as usize] as usize) {
                fixels.push(SeedFixel { seed, dir: lobes.dirs()[lobe] });
                lobe_of.push(lobe as u32);
                seeds_of[lobe] += 1;
            }
        }
        let fixels: Arc<[SeedFixel]> = fixels.into();
        let chances = drawn(&filling, &fixels, &lobe_of, &seeds_of).ok_or(TrackError::NoDensity)?;
        Ok(Self {
            number,
            frame_from_ras: densities.frame().frame_from_ras(&grid.ras_from_vox),
            tracer: Tracer::new(grid, CountBy::Length, false)
                .ok_or(SourceError::Densities(DensityError::Grid))?,
            ras_from_seeds: space.ras_from_radiological(),
            lobes,
            filling,
            fixels,
            lobe_of,
            seeds_of,
            chances,
        })
    }

    /// The lobe that a streamline along a unit direction, scanner axes, belongs to in a voxel.
    fn lobe_at(&self, voxel: u32, dir_ras: [f64; 3]) -> Option<u32> {
        let k = Some(self.number[voxel as usize]).filter(|k| *k != u32::MAX)?;
        let dir = turned(&self.frame_from_ras, dir_ras);
        self.lobes.along(k as usize, dir).map(|lobe| lobe as u32)
    }
}

/// The chances of what is drawn: those of lobes, shared among the seeds of their voxels.
fn drawn(
    filling: &Filling,
    fixels: &Arc<[SeedFixel]>,
    lobe_of: &[u32],
    seeds_of: &[u32],
) -> Option<SeedChances> {
    let chance = |lobe: &u32| {
        let lobe = *lobe as usize;
        filling.chances()[lobe] / f64::from(seeds_of[lobe])
    };
    Some(SeedChances::new(lobe_of.iter().map(chance))?.along(Arc::clone(fixels)))
}

impl Reseed for DynamicSeeds {
    fn chances(&self) -> &SeedChances {
        &self.chances
    }

    fn pass(&self, sample: &Sample<'_>) {
        // As streamlines are written, so that what is weighed later passes the same fixels.
        let ras = |p: &[f32; 3]| self.ras_from_seeds.apply(p.map(f64::from)).map(|x| x as f32);
        let points: Vec<[f32; 3]> = sample.joined().map(ras).collect();
        let lobe_at = |voxel: u32, dir: [f64; 3]| self.lobe_at(voxel, dir);
        Traced::default().fixels(&points, &self.tracer, &lobe_at, |lobe, length_mm| {
            self.filling.pass(lobe, length_mm);
        });
    }

    fn settle(&mut self, counts: bool) {
        self.filling.settle(counts);
    }

    fn renew(&mut self, starts: u64, comm: &dyn Comm) {
        self.filling.renew(starts, comm);
        let chances = drawn(&self.filling, &self.fixels, &self.lobe_of, &self.seeds_of);
        self.chances = chances.unwrap_or_else(|| self.chances.clone());
    }
}

#[cfg(test)]
mod tests {
    use fimbria_compute::{Backend, Interrupted, Silent, Workers};
    use fimbria_image::{Affine, BvecFrame, Grid, Mask};
    use fimbria_streamlines::Streamlines;
    use fimbria_tracking::{
        Attempts, DensityPropagation, DensityRule, DensityTracking, Lines, Rules, seeds_of_region,
        track_reseeded,
    };

    use super::*;
    use crate::{Session, Unfinished};

    /// A long bundle along x and a short one along y above it, both from one side of the grid to the other.
    const LONG: [std::ops::Range<usize>; 3] = [0..30, 3..7, 1..5];
    const SHORT: [std::ops::Range<usize>; 3] = [12..16, 0..10, 7..11];

    fn is_in(bundle: &[std::ops::Range<usize>; 3], voxel: [usize; 3]) -> bool {
        (0..3).all(|axis| bundle[axis].contains(&voxel[axis]))
    }

    /// Densities, `short` of the short one, on a grid whose x axis is reversed in tracking where `edge` along x is above zero.
    fn bundles(edge: f64, short: f32) -> Densities {
        let ras_from_vox = Affine::from_spacing([edge, 2.0, 2.0]);
        let grid = Grid { dims: [30, 10, 12], ras_from_vox };
        let fill = |voxel: u32, entries: &mut [f32]| {
            // The eighth power of a cosine: the first unique entry is x to the eighth, the 37th y.
            let at = grid.voxel(voxel as usize);
            entries[0] = if is_in(&LONG, at) { 1.0 } else { 0.0 };
            entries[36] = if is_in(&SHORT, at) { short } else { 0.0 };
        };
        let workers = Workers::new(1).unwrap();
        Densities::new(&Mask::full(grid), 8, BvecFrame::Scanner, &workers, fill).unwrap()
    }

    /// Millimetres of streamlines in a voxel of the long bundle over those in one of the short bundle, for seeds
    /// that are drawn equally or dynamically.
    fn long_to_short(densities: &Densities, is_dynamic: bool, select: u64) -> f64 {
        let workers = Workers::new(2).unwrap();
        let session = Session {
            on: Backend::cpu(&workers),
            progress: &Silent,
            unfinished: &Unfinished::new(),
            command_line: &[],
        };
        let log = Logbook::new(session);
        let grid = *densities.grid();
        let space = Space::same(grid);
        let all = space.region(&Mask::full(grid).to_image(), "all").unwrap();
        let seeds = seeds_of_region(&space, &all, 0);
        let rules = Rules { least_length_mm: 10.0, ..Rules::default() };
        let tracking = DensityTracking {
            densities,
            space: &space,
            propagation: &DensityPropagation {
                rule: DensityRule::Maximum,
                step_mm: 0.5,
                max_angle: 0.7,
                cutoff: 0.1,
                max_length_mm: 100.0,
            },
            rules: &rules,
            anatomy: None,
            seeds: &seeds,
            chances: None,
            attempts: Attempts::UntilKept { select, at_most: 1_000_000 },
            jitter_mm: None,
            one_way: false,
            rng_seed: 3,
        };
        let mut dynamic = DynamicSeeds::new(densities, (&seeds, &space), 0.1, None, &log).unwrap();
        let reseed = is_dynamic.then_some(&mut dynamic as &mut dyn Reseed);
        let mut mm = [0.0; 2];
        let each = |lines: Streamlines| {
            for line in lines.iter() {
                let far =
                    |axis: usize| f64::from((line[0][axis] - line[line.len() - 1][axis]).abs());
                // Both are straight.
                mm[usize::from(far(1) > far(0))] += far(0).max(far(1));
            }
            Ok::<(), Interrupted>(())
        };
        let on = log.session().on;
        track_reseeded(&tracking, reseed, on, &log, || Lines::new(&space), each).unwrap();
        let voxels = |bundle: &[std::ops::Range<usize>; 3]| {
            bundle.iter().map(|range| range.len() as f64).product::<f64>()
        };
        mm[0] / voxels(&LONG) / (mm[1] / voxels(&SHORT))
    }

    #[test]
    fn a_long_and_a_short_bundle_become_as_dense_as_they_are() {
        for edge in [2.0, -2.0] {
            let densities = bundles(edge, 1.0);
            // As many start in each voxel: three times as long, three times as dense.
            let equal = long_to_short(&densities, false, 4000);
            assert!((equal / 3.0 - 1.0).abs() < 0.15, "{equal}");
            let dynamic = long_to_short(&densities, true, 4000);
            assert!((dynamic - 1.0).abs() < 0.1, "{dynamic}");
        }
        // A thin one of half the density.
        let dynamic = long_to_short(&bundles(2.0, 0.5), true, 4000);
        assert!((dynamic / 2.0 - 1.0).abs() < 0.1, "{dynamic}");
    }

    #[test]
    fn seeds_without_fibres_are_one_error() {
        let densities = bundles(2.0, 1.0);
        let workers = Workers::new(1).unwrap();
        let session = Session {
            on: Backend::cpu(&workers),
            progress: &Silent,
            unfinished: &Unfinished::new(),
            command_line: &[],
        };
        let log = Logbook::new(session);
        let seeds = [Seed { key: 0, region: 0, pos: [2.0, 9.0, 11.0] }];
        let space = Space::same(*densities.grid());
        let error = DynamicSeeds::new(&densities, (&seeds, &space), 0.1, None, &log).err();
        assert!(matches!(error, Some(TrackError::NoDensity)));
    }
}
