//! A gradient-echo scan of the head: magnitude and phase of every echo, and what is true of them.

use std::f64::consts::TAU;

use fimbria_compute::dense::vec3::Vec3;
use fimbria_compute::philox::Philox;
use fimbria_compute::{Progress, Workers};
use fimbria_image::Image;
use rayon::iter::ParallelIterator as _;

use super::anatomy::Anatomy;
use super::brain;
use super::cells::Cells;
use super::compartments::{Compartments, coil};
use super::filled;
use super::magnet::Magnet;
use super::myelin::{self, Fibres};
use super::sources::{SOURCES, Source, sources};
use super::tissue::WHITE_SIGNAL;
use super::watson::{Spread, Watson};
use crate::gre::{HZ_PER_TESLA_PPM, check_scan, measured};
use crate::render::place;
use crate::zeros::zeros;
use crate::{GreSubject, PhantomError, Placement, TruthMap};

/// A gradient-echo scan.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadScan {
    /// Echo times in seconds, ascending.
    pub echo_times_s: Vec<f64>,
    /// Along scanner z, tesla.
    pub b0_tesla: f64,
    /// Magnitude of white matter at echo time 0 over the standard deviation of the noise in either
    /// part of the complex signal; infinite for no noise.
    pub snr: f64,
    /// The field is made on a grid as many times finer along each axis, 1 to 4.
    pub finer: usize,
    /// Edge of its voxels in mm; `None` for the grid of the series.
    pub voxel_mm: Option<f64>,
    /// What the water of white matter is.
    pub fibres: Fibres,
}

impl Default for HeadScan {
    /// 3 T, four echoes up to 28 ms, SNR 100, twice as fine.
    fn default() -> Self {
        let echo_times_s = vec![0.004, 0.012, 0.020, 0.028];
        let fibres = Fibres::default();
        Self { echo_times_s, b0_tesla: 3.0, snr: 100.0, finer: 2, voxel_mm: None, fibres }
    }
}

impl HeadScan {
    pub(super) fn check(&self) -> Result<(), PhantomError> {
        check_scan(&self.echo_times_s, self.b0_tesla, self.snr, self.finer)
    }

    /// The space of a grid in voxels of the scan's own; `None` where it has that of the series.
    pub(super) fn placement(&self, series: &Placement) -> Option<Placement> {
        let edge = self.voxel_mm?;
        let count = |a: usize| (series.dims[a] as f64 * series.voxel_mm[a] / edge).round().max(1.0);
        let dims = [0, 1, 2].map(|a| count(a) as usize);
        Some(Placement { dims, voxel_mm: [edge; 3], ..*series })
    }
}

/// Makes the scan.
///
/// | truth | volumes | content |
/// |---|---|---|
/// | `chi` | 1 | mean of the susceptibility tensor, ppm, 0 outside the mask |
/// | `local_field` | 1 | field of what is in the mask, ppm |
/// | `total_field` | 1 | with that of all else, shimmed, ppm |
/// | `fibre` | 3 | direction of the largest fibre, scanner axes, as long as its fraction |
/// | `r2star` | 1 | decay of what gives signal, without that by the field's slope, 1/s |
/// | `phase_offset` | 1 | phase at echo time 0, radians |
/// | `labels` | 1 | numbers of the head's labels |
///
/// # Errors
/// Where memory is short or the user stops it.
pub(super) fn scan(
    spec: &HeadScan,
    seed: u64,
    anatomy: &Anatomy,
    compartments: &Compartments,
    cells: &Cells,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<GreSubject, PhantomError> {
    progress.start("magnetising the head", 1);
    progress.check()?;
    // A rim of bone would be a source within the mask.
    let mask = &brain(cells, anatomy, 0.999);
    let magnet = Magnet::new(anatomy, compartments, mask, spec.finer, workers, progress)?;
    progress.advance(1);
    let grid = compartments.grid;
    let times = &spec.echo_times_s;
    let (mut phase, mut magnitude) = (zeros(grid, times.len())?, zeros(grid, times.len())?);
    let voxels = Voxels::new(spec.fibres, &magnet, compartments, workers);
    let (sigma, source) = (WHITE_SIGNAL / spec.snr, Philox::new(seed).stream(32));
    progress.start("rendering the echoes", times.len() as u64);
    let n = grid.len();
    let volumes = phase.data.chunks_mut(n).zip(magnitude.data.chunks_mut(n));
    for (echo, ((phase, magnitude), time)) in volumes.zip(times).enumerate() {
        progress.check()?;
        let turns = HZ_PER_TESLA_PPM * spec.b0_tesla * time;
        let measure = |voxel: usize| {
            let signal = voxels.signal(voxel, *time, turns);
            measured(signal, sigma, source.at(voxel as u64, echo as u32))
        };
        let found = filled(n, workers, progress, measure)?;
        for ((phase, magnitude), of) in phase.iter_mut().zip(magnitude).zip(found) {
            [*phase, *magnitude] = of;
        }
        progress.advance(1);
    }
    let mut truth = voxels.truth(workers, progress)?;
    let (name, description) = ("labels", "numbers of the head's labels");
    truth.push(TruthMap { name, description, image: cells.labels.clone() });
    Ok(GreSubject { phase, magnitude, mask: mask.clone(), truth })
}

/// Phase at echo time 0, radians: that of the coil.
fn phase_offset(p: Vec3) -> f64 {
    let [x, y, z] = p.map(|c| 0.01 * c);
    0.4 + 0.9 * x - 0.5 * y + 0.7 * z + 0.6 * x * x - 0.4 * y * z
}

/// What voxels of the scan hold.
struct Voxels<'a> {
    magnet: &'a Magnet,
    compartments: &'a Compartments,
    sources: [Source; SOURCES],
    /// Of hollow cylinders: the mixture of every voxel, where there is one, and the order of every spread.
    hollow: Option<(Vec<u32>, Vec<f64>)>,
}

impl<'a> Voxels<'a> {
    fn new(
        fibres: Fibres,
        magnet: &'a Magnet,
        compartments: &'a Compartments,
        workers: &Workers,
    ) -> Self {
        let hollow = (fibres == Fibres::HollowCylinders).then(|| {
            let mut mixtures = vec![u32::MAX; compartments.grid.len()];
            for (i, mixture) in (0..).zip(&compartments.voxels) {
                mixtures[mixture.voxel as usize] = i;
            }
            let order = |spread: Spread| Watson::new(spread.index()).order();
            (mixtures, workers.install(|| Spread::all().map(order).collect()))
        });
        Self { magnet, compartments, sources: sources(), hollow }
    }

    /// What the signal of white matter is beside that at echo time 0; `None` where it decays as a whole.
    fn of_fibres(&self, voxel: usize, time: f64, turns: f64) -> Option<[f64; 2]> {
        let (mixtures, aligned) = self.hollow.as_ref()?;
        let mixture = self.compartments.voxels.get(mixtures[voxel] as usize)?;
        Some(myelin::signal(mixture, aligned, time, turns))
    }

    /// The voxels of the finer grid that are in a voxel.
    fn parts(&self, voxel: usize) -> impl Iterator<Item = usize> {
        let (finer, [nx, ny, _]) = (self.magnet.finer, self.magnet.grid.dims);
        let [x, y, z] = self.compartments.grid.voxel(voxel).map(|i| i * finer);
        let first = x + nx * (y + ny * z);
        (0..finer.pow(3))
            .map(move |i| first + i % finer + nx * (i / finer % finer + ny * (i / (finer * finer))))
    }

    fn source(&self, part: usize) -> &Source {
        &self.sources[usize::from(self.magnet.kinds[part])]
    }

    /// The signal of a voxel without noise, its real and its imaginary part: of all that it holds, each
    /// in its own field.
    fn signal(&self, voxel: usize, time: f64, turns: f64) -> [f64; 2] {
        let p = place(&self.compartments.grid, voxel);
        let (mut sum, offset) = ([0.0; 2], phase_offset(p));
        let of_fibres = self.of_fibres(voxel, time, turns);
        for part in self.parts(voxel) {
            let Source { signal, r2star, has_fibres, .. } = *self.source(part);
            if signal > 0.0 {
                let angle = TAU * turns * f64::from(self.magnet.total[part]) + offset;
                let (sin, cos) = angle.sin_cos();
                let whole = [(-r2star * time).exp(), 0.0];
                let [real, imaginary] = of_fibres.filter(|_| has_fibres).unwrap_or(whole);
                sum[0] += signal * (real * cos - imaginary * sin);
                sum[1] += signal * (real * sin + imaginary * cos);
            }
        }
        let by = coil(p) / (self.magnet.finer as f64).powi(3);
        sum.map(|part| by * part)
    }

    /// What is true of every voxel.
    fn truth(
        &self,
        workers: &Workers,
        progress: &dyn Progress,
    ) -> Result<Vec<TruthMap>, PhantomError> {
        let grid = self.compartments.grid;
        let image = |data: Vec<f32>| Image { grid, n_volumes: 1, data };
        let total = crate::gre::means(&self.magnet.total, grid.dims, self.magnet.finer);
        let mut fibre = zeros(grid, 3)?;
        for mixture in &self.compartments.voxels {
            let largest = &mixture.populations[0];
            for (a, c) in largest.dir_ras.into_iter().enumerate() {
                fibre.volume_mut(a)[mixture.voxel as usize] = c * largest.part;
            }
        }
        let rate = |voxel: usize| {
            let (mut signal, mut rate) = (0.0, 0.0);
            for part in self.parts(voxel) {
                let source = self.source(part);
                signal += source.signal;
                rate += source.signal * source.r2star;
            }
            if signal > 0.0 { (rate / signal) as f32 } else { 0.0 }
        };
        let r2star = filled(grid.len(), workers, progress, rate)?;
        let phase = |voxel: usize| phase_offset(place(&grid, voxel)) as f32;
        let offset = filled(grid.len(), workers, progress, phase)?;
        let map = |name, description, image| TruthMap { name, description, image };
        let magnet = self.magnet;
        Ok(vec![
            map("chi", "mean of the susceptibility tensor, ppm, 0 outside the mask", {
                image(magnet.chi.clone())
            }),
            map("local_field", "field of what is in the mask relative to B0, ppm", {
                image(magnet.local.clone())
            }),
            map("total_field", "the same with all outside it, shimmed, ppm", image(total)),
            map("fibre", "largest fibre, scanner axes, as long as its fraction", fibre),
            map("r2star", "decay of the magnitude but for that by the field, 1/s", image(r2star)),
            map("phase_offset", "phase at echo time 0, radians", image(offset)),
        ])
    }
}
