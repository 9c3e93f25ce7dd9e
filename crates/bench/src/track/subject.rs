//! What is tracked, and from where.

use std::path::Path;

use fimbria_compute::device::Device;
use fimbria_compute::philox::{Philox, normals, uniform};
use fimbria_compute::{Backend, Interrupted, Progress, Workers};
use fimbria_image::bedpostx::read_bedpostx;
use fimbria_image::sticks::{PackedStick, StickSamples};
use fimbria_image::{Mask, OpenOptions, read_image};
use fimbria_phantoms::{Acquisition, CrossingSpec, ShellSpec, crossing};
use fimbria_tracking::{
    Collect, Deal, Field, Propagation, Rules, Seed, Space, Tally, Tracking, seeds_of_region,
    track_on, track_slowly,
};

use super::super::clock::{Interruptible, once};
use super::super::table::digits;
use super::Processor;
use crate::{Console, Failure, usage};

/// Samples of the phantom, as bedpostX makes them.
const N_SAMPLES: usize = 50;
const N_FIBRES: usize = 2;
/// Scatter of the phantom's directions, radians, as in white matter.
const SCATTER: f64 = 0.15;
/// Seeds of the phantom.
const N_SEEDS: usize = 400;

/// Samples of directions, and seeds.
pub(super) struct Subject {
    pub(super) field: Field,
    pub(super) space: Space,
    pub(super) rules: Rules,
    pub(super) seeds: Vec<Seed>,
    /// Where it comes from, and how long that took.
    origin: String,
}

/// The paper's three methods.
pub(super) fn methods() -> [(&'static str, Propagation); 3] {
    let basic = Propagation::default();
    let euler = Propagation { modified_euler: true, ..basic };
    [
        ("basic", basic),
        ("Euler", euler),
        ("Euler, loops", Propagation { loop_check: true, ..euler }),
    ]
}

impl Subject {
    /// These samples and seeds, as they are.
    #[cfg(test)]
    pub(super) fn of(field: Field, space: Space, seeds: Vec<Seed>) -> Self {
        Self { field, space, rules: Rules::default(), seeds, origin: String::new() }
    }

    /// A bedpostX folder and a mask of seeds.
    pub(super) fn read(
        samples: &Path,
        mask: Option<&Path>,
        seeds: &Path,
        workers: &Workers,
        console: &dyn Console,
    ) -> Result<Self, Failure> {
        let mut read = None;
        let time = once(console, || -> Result<(), Failure> {
            let samples =
                workers.install(|| read_bedpostx(samples, mask, &OpenOptions::default()))?;
            read = Some(Field::new(samples, workers));
            Ok(())
        })?;
        let Some(field) = read else { return Err(usage("nothing was read")) };
        let image = read_image(seeds)?;
        let space = Space::scanner(image.grid, field.grid())?;
        let region = space.region(&image, &seeds.display().to_string())?;
        if region.is_empty() {
            return Err(usage(format!(
                "{} has no voxel above zero: nowhere to start from",
                seeds.display()
            )));
        }
        let seeds = seeds_of_region(&space, &region, 0);
        let origin = format!("read in {} s", digits(time.wall));
        Ok(Self { field, space, rules: Rules::default(), seeds, origin })
    }

    /// The head of `fimbria phantom crossing`, its fibres scattered into samples.
    pub(super) fn phantom(workers: &Workers, console: &dyn Console) -> Result<Self, Failure> {
        let quiet = Interruptible(console);
        let spec = CrossingSpec {
            // Only its fibres are wanted, not its volumes.
            acquisition: Acquisition {
                b0s: 1,
                shells: vec![ShellSpec { b_s_per_mm2: 1000.0, directions: 6 }],
            },
            snr: f64::INFINITY,
            ..CrossingSpec::default()
        };
        let head = crossing(&spec, workers, &quiet)?;
        let missing = || usage("the phantom has no fibres");
        let dirs = head.truth.map("dirs").ok_or_else(missing)?;
        let fractions = head.truth.map("fractions").ok_or_else(missing)?;
        let grid = head.mask.grid;
        let voxels = head.mask.voxels;
        let fibrous = |voxel: &u32| fractions.volume(0)[*voxel as usize] > 0.5;
        let white: Vec<u32> = voxels.iter().copied().filter(fibrous).collect();
        let mut samples =
            StickSamples::empty(Mask { grid, voxels }, N_FIBRES, N_SAMPLES).ok_or_else(missing)?;
        let per_voxel = samples.voxel_len();
        let random = Philox::new(1);
        for (slot, voxel) in samples.mask.voxels.iter().enumerate() {
            for (at, stick) in
                samples.sticks[slot * per_voxel..][..per_voxel].iter_mut().enumerate()
            {
                let (voxel, fibre) = (*voxel as usize, at % N_FIBRES);
                let words = random.at(voxel as u64, at as u32);
                let noise = normals::<f32>(words).map(f64::from);
                let v = [0, 1, 2].map(|k| {
                    let dir = f64::from(dirs.volume(3 * fibre + k)[voxel]);
                    // Where there is no fibre, any direction.
                    if dir.is_finite() { dir + SCATTER * noise[k] } else { noise[k] }
                });
                let spread = 0.85 + 0.3 * f64::from(uniform::<f32>(words[3]));
                let fraction = f64::from(fractions.volume(fibre)[voxel]) * spread;
                *stick = PackedStick::new(v, fraction.clamp(0.002, 0.99));
            }
        }
        let field = Field::new(samples, workers);
        let space = Space::same(grid);
        let mut image = fimbria_image::Image::zeros(grid, 1);
        for voxel in white.iter().step_by(white.len().div_ceil(N_SEEDS).max(1)) {
            image.data[*voxel as usize] = 1.0;
        }
        let seeds = seeds_of_region(&space, &space.region(&image, "seeds")?, 0);
        let origin = "of a phantom with crossing bundles".to_owned();
        Ok(Self { field, space, rules: Rules::default(), seeds, origin })
    }

    /// What it is, in a line.
    pub(super) fn described(&self) -> String {
        let size = self.field.size();
        format!(
            "{} voxels with {} samples of {} fibres ({} MB), {}; {} seeds\n",
            size.slots,
            self.field.n_samples(),
            self.field.n_fibres(),
            (size.slots * size.sticks_per_slot * 8) >> 20,
            self.origin,
            self.seeds.len()
        )
    }

    /// Particles of every seed for so many in all.
    pub(super) fn samples_for(&self, particles: u32) -> u32 {
        particles.div_ceil(self.seeds.len() as u32)
    }

    /// So many samples of each of these seeds.
    pub(super) fn tracking<'a>(
        &'a self,
        propagation: &'a Propagation,
        seeds: &'a [Seed],
        n_samples: u32,
    ) -> Tracking<'a> {
        let Self { field, space, rules, .. } = self;
        let (jitter_mm, rng_seed) = (0.0, 1);
        Tracking { field, space, propagation, rules, seeds, n_samples, jitter_mm, rng_seed }
    }

    /// So many particles of all seeds.
    fn tracking_all<'a>(&'a self, propagation: &'a Propagation, particles: u32) -> Tracking<'a> {
        self.tracking(propagation, &self.seeds, self.samples_for(particles))
    }

    /// Tracks and counts visits by the plain tracker; points made.
    pub(super) fn plainly(
        &self,
        propagation: &Propagation,
        particles: u32,
        progress: &dyn Progress,
    ) -> Result<u64, Failure> {
        let mut tally = Tally::new(&self.space, 1, false);
        track_slowly(&self.tracking_all(propagation, particles), None, progress, &mut tally)?;
        Ok(tally.points)
    }

    /// The same, fast.
    pub(super) fn counted(
        &self,
        propagation: &Propagation,
        particles: u32,
        place: &Processor,
        deal: Deal,
        progress: &dyn Progress,
    ) -> Result<u64, Failure> {
        let new = || Tally::new(&self.space, 1, false);
        let each = |()| Ok::<(), Interrupted>(());
        let tallies = self.collected(propagation, particles, place, deal, progress, new, each)?;
        let sum = tallies.into_iter().reduce(|mut sum, tally| {
            sum.merge(tally);
            sum
        });
        Ok(sum.map_or(0, |tally| tally.points))
    }

    /// Tracks particles of all seeds with any collector.
    pub(super) fn collected<C: Collect, E: From<Interrupted> + Into<Failure> + Send>(
        &self,
        propagation: &Propagation,
        particles: u32,
        place: &Processor,
        deal: Deal,
        progress: &dyn Progress,
        new: impl Fn() -> C + Sync,
        each: impl FnMut(C::Block) -> Result<(), E>,
    ) -> Result<Vec<C>, Failure> {
        let tracking = self.tracking_all(propagation, particles);
        collected(&tracking, place, deal, progress, new, each)
    }
}

/// Tracks with any collector.
pub(super) fn collected<C: Collect, E: From<Interrupted> + Into<Failure> + Send>(
    tracking: &Tracking<'_>,
    place: &Processor,
    deal: Deal,
    progress: &dyn Progress,
    new: impl Fn() -> C + Sync,
    each: impl FnMut(C::Block) -> Result<(), E>,
) -> Result<Vec<C>, Failure> {
    let (workers, devices): (&Workers, &[Device]) = match place {
        Processor::Threads(workers) => (workers, &[]),
        Processor::Device(device, workers) => (workers, std::slice::from_ref(device)),
    };
    let on = Backend::new(workers, devices);
    Ok(track_on(tracking, on, deal, progress, new, each).map_err(Into::into)?.collectors)
}
