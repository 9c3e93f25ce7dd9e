//! The compartments of every voxel: what its signal is a sum of.

use fimbria_compute::dense::vec3::Vec3;
use fimbria_compute::{Progress, Workers};
use fimbria_image::{Grid, Image};

use super::anatomy::Anatomy;
use super::cells::Cells;
use super::fixels::{FIXELS, Fixel, Fixels};
use super::labels::Tissue;
use super::tissue::{Bundled, ISOTROPIC, isotropic, relaxation, t1_weighted, unweighted};
use super::watson::Spread;
use super::{filled, made};
use crate::render::place;
use crate::zeros::zeros;
use crate::{PhantomError, TruthMap};

/// Populations of fibres: those of white matter, of cortex, of nuclei.
pub(super) const POPULATIONS: usize = FIXELS + 2;

/// Fibres of a voxel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Population {
    /// Of the unweighted signal.
    pub(super) part: f32,
    pub(super) dir_ras: [f32; 3],
    /// The part of its water that is inside axons.
    pub(super) inside: f32,
    pub(super) spread: Spread,
}

/// A voxel with signal.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Mixture {
    /// Its place in the grid.
    pub(super) voxel: u32,
    /// Unweighted signal.
    pub(super) s0: f32,
    /// By [`ISOTROPIC`]: parts of the unweighted signal.
    pub(super) isotropic: [f32; ISOTROPIC.len()],
    /// White matter's first, largest part first; then cortex, then nuclei.
    pub(super) populations: [Population; POPULATIONS],
    /// Numbers of the bundles of white matter's populations.
    pub(super) bundles: [u16; FIXELS],
}

/// Every voxel with signal.
pub(super) struct Compartments {
    pub(super) grid: Grid,
    /// In the order of their places.
    pub(super) voxels: Vec<Mixture>,
}

impl Compartments {
    /// # Errors
    /// Where the user stops it.
    pub(super) fn new(
        anatomy: &Anatomy,
        cells: &Cells,
        fixels: &Fixels,
        workers: &Workers,
        progress: &dyn Progress,
    ) -> Result<Self, PhantomError> {
        let grid = cells.labels.grid;
        let signals = Tissue::ALL.map(unweighted);
        let mixture = |voxel: usize| {
            let parts = Tissue::ALL.map(|t| f64::from(cells.water(t, voxel)) * signals[t as usize]);
            let s0: f64 = parts.iter().sum();
            if s0 <= 0.0 {
                return None;
            }
            let p = place(&grid, voxel);
            let mut mixture = Mixture { voxel: voxel as u32, ..Mixture::default() };
            for tissue in Tissue::ALL {
                let part = parts[tissue as usize] / s0;
                let free = isotropic(tissue);
                for (sum, of) in mixture.isotropic.iter_mut().zip(free) {
                    *sum += (part * of) as f32;
                }
                let part = part * (1.0 - free.iter().sum::<f64>());
                let of = |part: f64, dir: Vec3, fibres: Bundled| Population {
                    part: part as f32,
                    dir_ras: dir.map(|c| c as f32),
                    inside: fibres.inside as f32,
                    spread: Spread::near(fibres.dispersion),
                };
                match tissue {
                    Tissue::White if part > 0.0 => {
                        for (k, fixel) in fixels.at(anatomy, p).into_iter().enumerate() {
                            let Fixel { part: share, dir_ras, bundle, fibres } = fixel;
                            mixture.populations[k] = of(part * share, dir_ras, fibres);
                            mixture.bundles[k] = bundle as u16;
                        }
                    }
                    Tissue::CorticalGrey if part > 0.0 => {
                        let dir = anatomy.across_cortex(p);
                        mixture.populations[FIXELS] = of(part, dir, Bundled::CORTEX);
                    }
                    Tissue::SubcorticalGrey if part > 0.0 => {
                        let dir = anatomy.unnamed_fibre(p);
                        mixture.populations[FIXELS + 1] = of(part, dir, Bundled::NUCLEUS);
                    }
                    _ => {}
                }
            }
            mixture.s0 = (s0 * coil(p)) as f32;
            Some(mixture)
        };
        progress.start("filling the voxels", 1);
        let voxels = made(0..grid.len(), workers, progress, mixture)?;
        progress.advance(1);
        Ok(Self { grid, voxels })
    }
}

/// How well the coil receives from a place: better near its elements, around the head.
pub(super) fn coil(p: Vec3) -> f64 {
    let [x, y, z] = [p[0] / 90.0, (p[1] + 15.0) / 110.0, (p[2] - 10.0) / 90.0];
    0.88 + 0.22 * (x * x + y * y + z * z) + 0.05 * z - 0.03 * y
}

/// A T1-weighted picture of the same head, without noise.
///
/// # Errors
/// Where the user stops it.
pub(super) fn t1_picture(
    cells: &Cells,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<Image, PhantomError> {
    let grid = cells.labels.grid;
    let signals = Tissue::ALL.map(t1_weighted);
    let at = |voxel: usize| {
        let p = place(&grid, voxel);
        let parts = Tissue::ALL.map(|t| f64::from(cells.water(t, voxel)) * signals[t as usize]);
        (coil(p) * parts.iter().sum::<f64>()) as f32
    };
    Ok(Image { grid, n_volumes: 1, data: filled(grid.len(), workers, progress, at)? })
}

/// How much water every voxel holds and how it relaxes: proton density, T1 and T2.
///
/// # Errors
/// Where memory is short or the user stops it.
pub(super) fn water(
    cells: &Cells,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<Vec<TruthMap>, PhantomError> {
    let grid = cells.labels.grid;
    let of_tissues = Tissue::ALL.map(relaxation);
    let at = |voxel: usize| {
        let mut sums = [0.0; 3];
        for tissue in Tissue::ALL {
            let [density, t1, t2] = of_tissues[tissue as usize];
            let water = f64::from(cells.water(tissue, voxel)) * density;
            for (sum, of) in sums.iter_mut().zip([1.0, t1, t2]) {
                *sum += water * of;
            }
        }
        let [density, t1, t2] = sums;
        let mean = |sum: f64| if density > 0.0 { sum / density } else { 0.0 };
        [density, mean(t1), mean(t2)].map(|value| value as f32)
    };
    let found: Vec<[f32; 3]> = filled(grid.len(), workers, progress, at)?;
    let all = [
        ("PD", "proton density, relative to fluid"),
        ("T1", "mean longitudinal relaxation time of the water, s"),
        ("T2", "mean transverse relaxation time of the water, s"),
    ];
    let mut maps = Vec::new();
    for (k, (name, description)) in all.into_iter().enumerate() {
        let mut image = zeros(grid, 1)?;
        image.data.iter_mut().zip(&found).for_each(|(value, of)| *value = of[k]);
        maps.push(TruthMap { name, description, image });
    }
    Ok(maps)
}
