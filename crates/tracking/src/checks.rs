//! This crate's kernels against the oracle, for `fimbria devices --check`.

use fimbria_compute::check::{Check, Comparison, Extent};
use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::{Interrupted, Silent, SimdLevel, Workers};
use fimbria_image::sticks::{PackedStick, StickSamples};
use fimbria_image::{Affine, BvecFrame, Grid, Mask};

use crate::densities::device::{self as follower, DensityPlan, Follower};
use crate::device::{DeviceTracker, MemoryPlan, source};
use crate::driver::{Tracker as _, track_planned};
use crate::{
    Attempts, Collect, Deal, Densities, DensityPropagation, DensityRule, DensityTracking, Field,
    FirstFibre, Propagation, Rules, Sample, SampleChoice, Seed, Space, Tracking, track_slowly,
};

/// The checks of this crate's kernels.
pub fn checks() -> Vec<Check> {
    let plain = Propagation { max_points: 200, ..Propagation::default() };
    let euler = Propagation {
        modified_euler: true,
        use_fraction: true,
        ends_inside: false,
        sample_choice: SampleChoice::HalfWeightEnds,
        first_fibre: FirstFibre::Proportional,
        ..plain
    };
    let with_loops = Propagation {
        loop_check: true,
        first_fibre: FirstFibre::Uniform,
        fibre_threshold: 0.15,
        ..plain
    };
    let all = [
        ("tracking", plain),
        ("tracking (modified Euler, fractions)", euler),
        ("tracking (loops, first fibre at random)", with_loops),
        ("tracking (any first fibre)", Propagation { first_fibre: FirstFibre::Any, ..plain }),
    ];
    let densities = [
        ("tracking (arcs)", DensityRule::Arcs { power: 0.75, places: 3 }),
        ("tracking (maxima)", DensityRule::Maximum),
    ];
    let through_densities = densities.into_iter().flat_map(|(name, rule)| {
        [4, 6, 8].map(|order| {
            let options = DensityPropagation {
                rule,
                step_mm: 0.7,
                max_angle: 0.8,
                cutoff: 0.1,
                max_length_mm: 40.0,
            };
            let name = format!("{name}, order {order}");
            let sources = bending(order)
                .map_or_else(Vec::new, |field| vec![follower::source(&field, &options)]);
            Check::new(name, sources, move |device, extent| {
                compare_densities(device, extent, order, &options)
            })
        })
    });
    all.into_iter()
        .map(|(name, options)| {
            let sources = field(&options).map_or_else(Vec::new, |f| {
                plan(&f, &options).map_or_else(Vec::new, |plan| vec![source(&f, &options, &plan)])
            });
            Check::new(name, sources, move |device, extent| compare(device, extent, &options))
        })
        .chain(through_densities)
        .collect()
}

/// Memory so small that the sticks take several buffers, and points several reads.
fn plan(field: &Field, options: &Propagation) -> Option<MemoryPlan> {
    MemoryPlan::new(field.size(), options, 1 << 18, 60_000).ok()
}

/// Two fibres that bend and cross in anisotropic voxels; some voxels without samples.
fn field(options: &Propagation) -> Option<Field> {
    let workers = Workers::new(1).ok()?.with_simd(SimdLevel::Scalar);
    let ras_from_vox = Affine([[1.5, 0.1, 0., -9.], [-0.1, 1.8, 0.2, 4.], [0., -0.2, 2.2, 7.]]);
    let grid = Grid { dims: [12, 10, 9], ras_from_vox };
    let voxels = (0..grid.len() as u32).filter(|voxel| voxel % 37 != 5).collect();
    let mut samples = StickSamples::empty(Mask { grid, voxels }, 2, 5)?;
    for (i, stick) in samples.sticks.iter_mut().enumerate() {
        let (slot, sample, fibre) = (i / 10, i / 2 % 5, i % 2);
        let t = slot as f64 * 0.01 + sample as f64 * 0.1;
        let v = if fibre == 0 { [t.cos(), t.sin(), 0.3] } else { [0.2, t.sin(), t.cos()] };
        let v = if i % 211 == 0 { [0.0; 3] } else { v };
        let least = if options.use_fraction { 0.9 } else { 0.2 };
        *stick = PackedStick::new(v, least * (1.0 - 0.3 * fibre as f64));
    }
    Some(Field::new(samples, &workers))
}

/// Two lobes that bend and change in size from voxel to voxel.
fn bending(order: usize) -> Option<Densities> {
    let ras_from_vox = Affine([[1.5, 0.1, 0., -9.], [-0.1, 1.8, 0.2, 4.], [0., -0.2, 2.2, 7.]]);
    let grid = Grid { dims: [12, 10, 9], ras_from_vox };
    let voxels = (0..grid.len() as u32).filter(|voxel| voxel % 37 != 5).collect();
    let fill = |voxel: u32, entries: &mut [f32]| {
        let [i, j, k] = grid.voxel(voxel as usize).map(|x| x as f64);
        let t = 0.11 * i + 0.05 * j - 0.07 * k;
        let lobes = [
            ([t.cos(), t.sin() * 0.8, t.sin() * 0.6], 1.0 + 0.05 * j),
            ([-t.sin(), t.cos() * 0.8, t.cos() * 0.6], 0.4 + 0.06 * k),
        ];
        let mut at = 0;
        for x in (0..=order as i32).rev() {
            for y in (0..=order as i32 - x).rev() {
                let z = order as i32 - x - y;
                let of = |(v, w): &([f64; 3], f64)| w * v[0].powi(x) * v[1].powi(y) * v[2].powi(z);
                entries[at] = lobes.iter().map(of).sum::<f64>() as f32;
                at += 1;
            }
        }
    };
    let workers = Workers::new(1).ok()?.with_simd(SimdLevel::Scalar);
    Densities::new(&Mask { grid, voxels }, order, BvecFrame::Scanner, &workers, fill).ok()
}

/// The bits of all points, with what they belong to.
#[derive(Default)]
struct Bits(Vec<((usize, u32), Vec<u32>)>);

impl Collect for Bits {
    type Block = Vec<((usize, u32), Vec<u32>)>;

    fn sample(&mut self, sample: &Sample<'_>) {
        let points = sample.all_points.iter().flatten().map(|x| x.to_bits());
        let ends = sample.ends.map(|end| u32::from(end as u8));
        let all = ends.into_iter().chain([sample.n_made_first as u32]).chain(points);
        self.0.push(((sample.seed_index, sample.number), all.collect()));
    }

    fn end_block(&mut self) -> Self::Block {
        std::mem::take(&mut self.0)
    }
}

/// Against the lanes, on a level that fuses as devices do.
fn compare_densities(
    device: &Device,
    extent: Extent,
    order: usize,
    options: &DensityPropagation,
) -> Result<Comparison, DeviceError> {
    let unavailable = Comparison { results: 0, max_error: f64::INFINITY, tolerance: 0.0 };
    let level = SimdLevel::available().into_iter().rfind(|level| level.fuses());
    let (Some(densities), Some(level)) = (bending(order), level) else { return Ok(unavailable) };
    let (grid, rules) = (*densities.grid(), Rules::default());
    let seeds: Vec<_> = (0..grid.len())
        .step_by(if extent == Extent::Toy { 197 } else { 7 })
        .map(|voxel| Seed {
            key: voxel as u32,
            region: voxel as u32 % 3,
            pos: grid.voxel(voxel).map(|x| x as f32),
        })
        .collect();
    let tracking = DensityTracking {
        densities: &densities,
        space: &Space::same(grid),
        propagation: options,
        rules: &rules,
        anatomy: None,
        seeds: &seeds,
        chances: None,
        attempts: Attempts::PerSeed(2),
        jitter_mm: None,
        rng_seed: 11,
    };
    // The device itself must do it: an error there is not for the threads to mend.
    let largest = device.info().largest_buffer_bytes;
    let Some(plan) = DensityPlan::new(&densities, options, device.available_bytes(), largest)
    else {
        return Ok(unavailable);
    };
    let starts = tracking.starts(0..tracking.total(), level);
    let follower = Follower::new(device, &densities, options, 11, plan)?;
    let halves = follower.make(device, &starts)?;
    let all = 0..tracking.total();
    let (mut lanes, mut made) = (Bits::default(), Bits::default());
    tracking.run(all.clone(), level, &mut |sample| lanes.sample(sample));
    tracking.replay(all, level, &halves, 0, &mut |sample| made.sample(sample));
    let flat = |Bits(mut all): Bits| -> Vec<u32> {
        all.sort_by_key(|(order, _)| *order);
        all.into_iter().flat_map(|(_, bits)| bits).collect()
    };
    Ok(Comparison::of_bits(&flat(lanes), &flat(made)))
}

fn compare(
    device: &Device,
    extent: Extent,
    options: &Propagation,
) -> Result<Comparison, DeviceError> {
    let every = if extent == Extent::Toy { 97 } else { 2 };
    let unavailable = Comparison { results: 0, max_error: f64::INFINITY, tolerance: 0.0 };
    let (Some(field), Ok(workers)) = (field(options), Workers::new(1)) else {
        return Ok(unavailable);
    };
    let space = Space::same(*field.grid());
    let (rules, grid) = (Rules::default(), *field.grid());
    let seeds: Vec<_> = (0..grid.len())
        .step_by(every)
        .map(|voxel| {
            let pos = grid.voxel(voxel).map(|x| x as f32);
            Seed { key: voxel as u32, region: 0, pos }
        })
        .collect();
    let tracking = Tracking {
        field: &field,
        space: &space,
        propagation: options,
        rules: &rules,
        seeds: &seeds,
        n_samples: 2,
        jitter_mm: 0.5,
        rng_seed: 11,
    };
    // The device itself must do it: an error there is not for the threads to mend.
    let Some(plan) = plan(&field, options) else { return Ok(unavailable) };
    DeviceTracker::new(device, &field, options, 11, &plan)?;
    let mut oracle = Bits::default();
    let slow: Result<(), Interrupted> = track_slowly(&tracking, None, &Silent, &mut oracle);
    let mut made = Vec::new();
    let plans = [(device.clone(), plan)];
    let each = |block| {
        made.extend::<<Bits as Collect>::Block>(block);
        Ok::<(), Interrupted>(())
    };
    let fast =
        track_planned(&tracking, &workers, &plans, Deal::default(), &Silent, Bits::default, each);
    if slow.is_err() || fast.is_err() {
        return Ok(unavailable);
    }
    let mut oracle = oracle.0;
    oracle.sort_by_key(|(order, _)| *order);
    made.sort_by_key(|(order, _)| *order);
    let flat = |all: Vec<((usize, u32), Vec<u32>)>| -> Vec<u32> {
        all.into_iter().flat_map(|(_, bits)| bits).collect()
    };
    Ok(Comparison::of_bits(&flat(oracle), &flat(made)))
}
