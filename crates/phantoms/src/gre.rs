//! The same head in a gradient-echo scan: phase and magnitude of a field whose sources are known.

use std::f64::consts::{PI, TAU};

use fimbria_compute::philox::{Philox, normals};
use fimbria_compute::{Progress, Workers};
use fimbria_image::{Grid, Image, Mask};
use rayon::prelude::*;

use crate::anatomy::Anatomy;
use crate::crossing::sampled;
use crate::field::{field_along_z, magnetisation};
use crate::placement::unit_mm;
use crate::render::place;
use crate::tissue::{FIBRES, FLUID, GREY, S0_FLUID, S0_GREY, S0_WHITE, Tissue};
use crate::zeros::zeros;
use crate::{CrossingSpec, Diffusivities, PhantomError, Placement, TruthMap};

/// Susceptibilities in ppm, relative to fluid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Susceptibilities {
    /// Mean of a fibre's tensor.
    pub fibre: f64,
    /// Along a fibre less across it; myelin's lipids make it positive.
    pub fibre_anisotropy: f64,
    /// Grey matter.
    pub grey: f64,
    /// A ball of air below the brain, the source of the background.
    pub air: f64,
}

impl Default for Susceptibilities {
    /// White matter of the order that Li et al. (NeuroImage 59, 2012) found, half of its
    /// anisotropy, as the mean over a bundle that is not all myelin; air at body temperature.
    fn default() -> Self {
        Self { fibre: -0.03, fibre_anisotropy: 0.012, grey: 0.02, air: 9.4 }
    }
}

/// What [`gre`] makes.
#[derive(Clone, Debug, PartialEq)]
pub struct GreSpec {
    /// The grid.
    pub placement: Placement,
    /// What the sources are.
    pub susceptibilities: Susceptibilities,
    /// Along scanner z, tesla.
    pub b0_tesla: f64,
    /// Echo times in seconds, ascending.
    pub echo_times_s: Vec<f64>,
    /// Magnitude of white matter at echo time 0 over the standard deviation of the noise in either
    /// part of the complex signal; infinite for no noise.
    pub snr: f64,
    /// Seed of the noise.
    pub seed: u64,
    /// The field is made on a grid as many times finer along each axis, 1 to 4.
    pub finer: usize,
}

impl Default for GreSpec {
    /// The grid of [`CrossingSpec`], 3 T, four echoes up to 28 ms, SNR 100.
    fn default() -> Self {
        Self {
            placement: CrossingSpec::default().placement,
            susceptibilities: Susceptibilities::default(),
            b0_tesla: 3.0,
            echo_times_s: vec![0.004, 0.012, 0.020, 0.028],
            snr: 100.0,
            seed: 1,
            finer: 2,
        }
    }
}

/// A measured phantom.
#[derive(Clone, Debug)]
pub struct GreSubject {
    /// Radians, wrapped, a volume for each echo.
    pub phase: Image,
    /// Likewise.
    pub magnitude: Image,
    /// Voxels of which at least half is tissue; of a head those that are nothing else.
    pub mask: Mask,
    /// What went in: `chi`, `local_field`, `total_field`, `fibre`, as in the table at [`gre`].
    pub truth: Vec<TruthMap>,
}

impl GreSubject {
    /// The true map of this name.
    pub fn truth(&self, name: &str) -> Option<&Image> {
        self.truth.iter().find(|map| map.name == name).map(|map| &map.image)
    }
}

/// Decay of the magnitude, 1/s: tissue, fluid.
const R2STAR: [f64; 2] = [20.0, 4.0];

/// Proton's gyromagnetic ratio over 2π, in Hz for each tesla and part per million.
pub(crate) const HZ_PER_TESLA_PPM: f64 = 42.577_478_518;

/// Makes the head of [`crossing`](crate::crossing) in a gradient-echo scan.
///
/// Every point of the finer grid has the susceptibility tensor of its fibres, grey matter and
/// fluid; its field is that of the tensor, by Fourier transform, averaged over each voxel: nothing
/// of the spheres and cylinders by which diffusion-guided mapping would explain it. The background
/// is a ball of air below the brain, in closed form.
///
/// | truth | volumes | content |
/// |---|---|---|
/// | `chi` | 1 | mean of the susceptibility tensor, ppm, 0 outside the mask |
/// | `local_field` | 1 | field of what is in the head, ppm |
/// | `total_field` | 1 | with that of the air, ppm |
/// | `fibre` | 3 | direction of the largest fibre, scanner axes, as long as its fraction |
///
/// # Errors
/// [`PhantomError`] where the specification is out of range, memory is short or the user stops it.
pub fn gre(
    spec: &GreSpec,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<GreSubject, PhantomError> {
    spec.check()?;
    let anatomy = Anatomy::living();
    let coarse = spec.tissue(&anatomy, 1, workers, progress)?;
    let grid = coarse.s0.grid;
    let (chi, local) = {
        let fine = spec.tissue(&anatomy, spec.finer, workers, progress)?;
        spec.sources_and_field(&fine, grid, workers, progress)?
    };
    let mask = coarse.mask.clone();
    let air = spec.air(&grid, &anatomy);
    let total: Vec<f32> = local.iter().zip(&air).map(|(field, air)| field + air).collect();
    let [phase, magnitude] = spec.echoes(&coarse, &total, workers, progress)?;
    let image = |data: Vec<f32>| Image { grid, n_volumes: 1, data };
    let mut within = vec![0.0; grid.len()];
    mask.voxels.iter().for_each(|&v| within[v as usize] = chi[v as usize]);
    let map = |name, description, image| TruthMap { name, description, image };
    let truth = vec![
        map("chi", "mean of the susceptibility tensor, ppm, 0 outside the mask", image(within)),
        map("local_field", "field of what is in the head relative to B0, ppm", image(local)),
        map("total_field", "the same with the air below the head, ppm", image(total)),
        map("fibre", "largest fibre, scanner axes, as long as its fraction", fibre(&coarse)?),
    ];
    Ok(GreSubject { phase, magnitude, mask, truth })
}

/// The largest fibre of every voxel, as long as its fraction.
fn fibre(tissue: &Tissue) -> Result<Image, PhantomError> {
    let mut fibre = zeros(tissue.s0.grid, 3)?;
    for axis in 0..3 {
        let parts = tissue.dirs_ras.volume(axis).iter().zip(tissue.fractions.volume(0));
        for (fibre, (c, fraction)) in fibre.volume_mut(axis).iter_mut().zip(parts) {
            *fibre = c * fraction;
        }
    }
    Ok(fibre)
}

impl GreSpec {
    fn check(&self) -> Result<(), PhantomError> {
        self.placement.check_head()?;
        check_scan(&self.echo_times_s, self.b0_tesla, self.snr, self.finer)
    }

    /// What voxels are made of, on a grid `finer` times as fine.
    fn tissue(
        &self,
        anatomy: &Anatomy,
        finer: usize,
        workers: &Workers,
        progress: &dyn Progress,
    ) -> Result<Tissue, PhantomError> {
        let Placement { dims, voxel_mm, .. } = self.placement;
        let placement = Placement {
            dims: dims.map(|n| n.saturating_mul(finer)),
            voxel_mm: voxel_mm.map(|edge| edge / finer as f64),
            ..self.placement
        };
        // The finer grid samples the edges by itself.
        let samples = if finer > 1 { 1 } else { 4 };
        let diffusivities = Diffusivities::default();
        sampled(anatomy, &placement, &diffusivities, samples, workers, progress)
    }

    /// Mean susceptibility and local field in the voxels of `grid`.
    fn sources_and_field(
        &self,
        fine: &Tissue,
        grid: Grid,
        workers: &Workers,
        progress: &dyn Progress,
    ) -> Result<(Vec<f32>, Vec<f32>), PhantomError> {
        let fine_grid = fine.s0.grid;
        let source = |voxel: usize| {
            let Susceptibilities { fibre, fibre_anisotropy, grey, .. } = self.susceptibilities;
            let parts = volumes_of(fine, voxel);
            let chi = parts[..FIBRES].iter().sum::<f64>() * fibre + parts[GREY] * grey;
            let mut m = magnetisation(parts[GREY] * grey, 0.0, [0.0, 0.0, 1.0]);
            for k in 0..FIBRES {
                let axis = [0, 1, 2].map(|a| f64::from(fine.dirs_ras.volume(3 * k + a)[voxel]));
                let of = magnetisation(fibre, fibre_anisotropy, axis);
                (0..3).for_each(|a| m[a] += parts[k] * of[a]);
            }
            (chi, m)
        };
        let sources: Vec<(f64, [f64; 3])> =
            workers.install(|| (0..fine_grid.len()).into_par_iter().map(source).collect());
        let volume = |a: usize| sources.iter().map(|(_, m)| m[a] as f32).collect::<Vec<f32>>();
        let m = [volume(0), volume(1), volume(2)];
        let field = field_along_z(&fine_grid, &m, workers, progress)?;
        let chi: Vec<f32> = sources.iter().map(|(chi, _)| *chi as f32).collect();
        let mean = |volume: &[f32]| means(volume, grid.dims, self.finer);
        Ok((mean(&chi), mean(&field)))
    }

    /// The field of a ball of air below the front of the brain, where the sinuses are.
    fn air(&self, grid: &Grid, anatomy: &Anatomy) -> Vec<f32> {
        /// Where and how large, in units of the anatomy.
        const CENTRE: [f64; 3] = [0.0, 0.45, -0.85];
        const RADIUS: f64 = 0.16;
        let unit = unit_mm(grid, anatomy);
        let at = |voxel: usize| {
            let p = place(grid, voxel);
            let d: [f64; 3] = std::array::from_fn(|a| p[a] / unit - CENTRE[a]);
            let r = d.iter().map(|c| c * c).sum::<f64>().sqrt().max(RADIUS);
            let cos = d[2] / r;
            self.susceptibilities.air / 3.0 * (RADIUS / r).powi(3) * (3.0 * cos * cos - 1.0)
        };
        (0..grid.len()).map(|voxel| at(voxel) as f32).collect()
    }

    /// Phase and magnitude of every echo.
    fn echoes(
        &self,
        tissue: &Tissue,
        field_ppm: &[f32],
        workers: &Workers,
        progress: &dyn Progress,
    ) -> Result<[Image; 2], PhantomError> {
        let (grid, times) = (tissue.s0.grid, &self.echo_times_s);
        let (mut phase, mut magnitude) = (zeros(grid, times.len())?, zeros(grid, times.len())?);
        let (sigma, source) = (S0_WHITE / self.snr, Philox::new(self.seed));
        let n = grid.len();
        progress.start("rendering the echoes", times.len() as u64);
        let volumes = phase.data.chunks_mut(n).zip(magnitude.data.chunks_mut(n));
        for (echo, ((phase, magnitude), time)) in volumes.zip(times).enumerate() {
            progress.check()?;
            let turns = HZ_PER_TESLA_PPM * self.b0_tesla * time;
            let measure = |(voxel, (phase, magnitude)): (usize, (&mut f32, &mut f32))| {
                let fluid = f64::from(tissue.fractions.volume(FLUID)[voxel]);
                let rate = R2STAR[0] + (R2STAR[1] - R2STAR[0]) * fluid;
                let signal = f64::from(tissue.s0.data[voxel]) * (-rate * time).exp();
                let (sin, cos) = (TAU * turns * f64::from(field_ppm[voxel])).sin_cos();
                let drawn = source.at(voxel as u64, echo as u32);
                [*phase, *magnitude] = measured([signal * cos, signal * sin], sigma, drawn);
            };
            workers.install(|| {
                phase.par_iter_mut().zip(magnitude).enumerate().for_each(measure);
            });
            progress.advance(1);
        }
        Ok([phase, magnitude])
    }
}

/// Whether there can be such a scan.
pub(crate) fn check_scan(
    times: &[f64],
    b0_tesla: f64,
    snr: f64,
    finer: usize,
) -> Result<(), PhantomError> {
    let ascend = times.first().is_some_and(|t| *t > 0.0)
        && times.iter().all(|t| t.is_finite())
        && times.windows(2).all(|pair| pair[0] < pair[1]);
    // As users give them.
    let in_ms: Vec<f64> = times.iter().map(|t| (1e12 * t).round() / 1e9).collect();
    PhantomError::require(ascend, "echo times", in_ms, "above 0 and ascending, in ms")?;
    let is_field = b0_tesla > 0.0 && b0_tesla.is_finite();
    PhantomError::require(is_field, "B0", b0_tesla, "above 0 and finite, in tesla")?;
    PhantomError::require(snr > 0.0, "SNR", snr, "above 0 (infinite for no noise)")?;
    let valid = (1..=4).contains(&finer);
    PhantomError::require(valid, "the finer grid", finer, "1 to 4 times as fine")
}

/// Phase, wrapped, and magnitude of a complex signal with noise of `sigma` in both parts.
pub(crate) fn measured([real, imaginary]: [f64; 2], sigma: f64, drawn: [u32; 4]) -> [f32; 2] {
    let noise = normals::<f32>(drawn);
    let real = real + sigma * f64::from(noise[0]);
    let imaginary = imaginary + sigma * f64::from(noise[1]);
    [imaginary.atan2(real).clamp(-PI, PI) as f32, real.hypot(imaginary) as f32]
}

/// Parts of the volume of a voxel: the fibres, grey matter, fluid; what is left is air.
fn volumes_of(tissue: &Tissue, voxel: usize) -> [f64; FIBRES + 2] {
    let s0 = f64::from(tissue.s0.data[voxel]);
    std::array::from_fn(|k| {
        let pure = match k {
            GREY => S0_GREY,
            FLUID => S0_FLUID,
            _ => S0_WHITE,
        };
        f64::from(tissue.fractions.volume(k)[voxel]) * s0 / pure
    })
}

/// The mean over blocks of `finer` voxels along each axis.
pub(crate) fn means(volume: &[f32], dims: [usize; 3], finer: usize) -> Vec<f32> {
    let [nx, ny, nz] = dims;
    let (row, plane) = (nx * finer, nx * ny * finer * finer);
    let count = (finer * finer * finer) as f64;
    let mean = |voxel: usize| {
        let at = [voxel % nx, voxel / nx % ny, voxel / (nx * ny)].map(|i| i * finer);
        let mut sum = 0.0;
        for z in 0..finer {
            for y in 0..finer {
                let first = at[0] + row * (at[1] + y) + plane * (at[2] + z);
                sum += volume[first..first + finer].iter().map(|v| f64::from(*v)).sum::<f64>();
            }
        }
        (sum / count) as f32
    };
    (0..nx * ny * nz).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use fimbria_compute::Silent;

    use super::*;

    fn small() -> GreSpec {
        let placement =
            Placement { dims: [30, 36, 28], voxel_mm: [5.0; 3], ..GreSpec::default().placement };
        GreSpec { placement, snr: f64::INFINITY, ..GreSpec::default() }
    }

    fn made(spec: &GreSpec) -> GreSubject {
        gre(spec, &Workers::new(1).unwrap(), &Silent).unwrap()
    }

    #[test]
    fn the_phase_is_that_of_the_field() {
        let spec = small();
        let subject = made(&spec);
        let field = subject.truth("total_field").unwrap();
        for (echo, time) in spec.echo_times_s.iter().enumerate() {
            for &voxel in &subject.mask.voxels {
                let voxel = voxel as usize;
                let turns = HZ_PER_TESLA_PPM * 3.0 * time * f64::from(field.data[voxel]);
                let off = f64::from(subject.phase.volume(echo)[voxel]) / TAU - turns;
                // f32 of a phase of up to a few turns.
                assert!((off - off.round()).abs() < 1e-5, "echo {echo} voxel {voxel}: {off}");
            }
        }
    }

    #[test]
    fn noise_is_of_the_strength_asked_for() {
        let quiet = made(&small());
        let noisy = made(&GreSpec { snr: 20.0, ..small() });
        let (mut sum, mut count) = (0.0, 0.0);
        for &voxel in &quiet.mask.voxels {
            let voxel = voxel as usize;
            let m = f64::from(quiet.magnitude.volume(0)[voxel]);
            let by = f64::from(noisy.phase.volume(0)[voxel] - quiet.phase.volume(0)[voxel]);
            let by = by - TAU * (by / TAU).round();
            sum += (by * m).powi(2);
            count += 1.0;
        }
        // The phase errs by σ over the magnitude, to first order; over ten thousand voxels the
        // mean square is known to 1 %, and signals of 20 σ and more bend it by as much.
        let sigma = S0_WHITE / 20.0;
        let found = f64::sqrt(sum / count);
        assert!((found / sigma - 1.0).abs() < 0.05, "{found} {sigma}");
    }

    #[test]
    fn what_is_out_of_range_is_refused_by_name() {
        for (spec, name) in [
            (GreSpec { echo_times_s: vec![0.01, 0.01], ..small() }, "echo times"),
            (GreSpec { echo_times_s: vec![], ..small() }, "echo times"),
            (GreSpec { b0_tesla: 0.0, ..small() }, "B0"),
            (GreSpec { snr: -1.0, ..small() }, "SNR"),
            (GreSpec { finer: 9, ..small() }, "finer"),
        ] {
            let error = gre(&spec, &Workers::new(1).unwrap(), &Silent).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }
}
