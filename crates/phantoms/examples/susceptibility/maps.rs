//! The true local field, and maps of it.

use std::error::Error;
use std::f64::consts::TAU;

use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::Mask;
use fimbria_qsm::background::Local;
use fimbria_qsm::phase::{HZ_PER_TESLA, combine_echoes};
use fimbria_qsm::variation::{
    Guidance, Outside, Prior, Supported, Variation, VariationMap, reconstruct_variation,
};
use fimbria_qsm::{FieldModel, Shape, dir_vox, noise_of_field};

use crate::scene::{Diffusion, Scene, wrapped};

pub(crate) type Made<T> = Result<T, Box<dyn Error>>;

/// What guides a map.
#[derive(Clone, Copy)]
pub(crate) enum Guide<'a> {
    Nothing,
    Everywhere(&'a Diffusion),
    /// Where the map without guidance agrees, with the coefficients of that which is guided everywhere.
    Supported {
        diffusion: &'a Diffusion,
        everywhere: &'a VariationMap,
        own: &'a VariationMap,
    },
}

impl Scene {
    /// The field that the echoes show, noise-free, less the true background: without what the field turns them
    /// by they need not be unwrapped.
    pub(crate) fn true_field(&self) -> Local {
        let mut field = self.local.clone();
        let (mask, times) = (&self.mask.voxels, &self.times_s);
        let radians = |v: usize, e: usize| {
            let total = f64::from(self.local[v] + self.background[v]);
            let turns = HZ_PER_TESLA * 1e-6 * self.b0_tesla * times[e] * total;
            wrapped(f64::from(self.phases[e][v]) - TAU * turns - f64::from(self.offset[v]))
        };
        let mut left = self.phases.clone();
        for (e, left) in left.iter_mut().enumerate() {
            mask.iter().for_each(|&v| left[v as usize] = radians(v as usize, e));
        }
        let fits_offset = times.len() > 2;
        let magnitudes = Some(&self.magnitudes[..]);
        let more = combine_echoes(&left, magnitudes, times, mask, self.b0_tesla, fits_offset);
        // More than compartments do is what is left of the signal in the slopes beside air.
        const LARGEST_PPM: f32 = 0.03;
        for &v in mask {
            let more = more.field_ppm[v as usize];
            field[v as usize] += if more.abs() < LARGEST_PPM { more } else { 0.0 };
        }
        Local { field, mask: self.mask.clone() }
    }

    /// The map of a field, in every voxel of the grid.
    pub(crate) fn map(
        &self,
        field: &Local,
        weights: Option<&[f32]>,
        guide: Guide<'_>,
        variation: Variation,
        workers: &Workers,
    ) -> Made<(Vec<f32>, VariationMap)> {
        let voxels = &field.mask.voxels;
        let n = self.grid.len();
        let pick =
            |volume: &[f32]| voxels.iter().map(|&v| volume[v as usize]).collect::<Vec<f32>>();
        let diffusion = match guide {
            Guide::Nothing => None,
            Guide::Everywhere(diffusion) | Guide::Supported { diffusion, .. } => Some(diffusion),
        };
        let shape = |&v: &u32| {
            let Some(diffusion) = diffusion else { return Shape::Sphere };
            let axis = [0, 1, 2].map(|a| f64::from(diffusion.v1.data[a * n + v as usize]));
            if axis == [0.0; 3] {
                Shape::Sphere
            } else {
                Shape::Cylinder(dir_vox(&self.grid.ras_from_vox, axis))
            }
        };
        let model =
            FieldModel::new(&self.geometry, voxels, voxels.iter().map(shape).collect(), voxels)?;
        let guidance =
            diffusion.map(|d| Guidance { fa: pick(&d.fa), images: vec![pick(&d.md), pick(&d.s0)] });
        let supported = match (&guidance, guide) {
            (Some(guidance), Guide::Supported { everywhere, own, .. }) => {
                let (coefficients, own) = (&everywhere.coefficients[..], &own.chi[..]);
                Some(Supported { guidance, coefficients, own })
            }
            _ => None,
        };
        let prior = match (&supported, &guidance) {
            (Some(supported), _) => Prior::Supported(supported),
            (None, Some(guidance)) => Prior::Explained(guidance),
            (None, None) => Prior::Total,
        };
        let map = reconstruct_variation(
            &model,
            &pick(&field.field),
            weights.map(pick).as_deref(),
            prior,
            variation,
            &Backend::cpu(workers),
            &Silent,
        )?;
        let mut chi = vec![0.0; n];
        voxels.iter().zip(&map.chi).for_each(|(&v, x)| chi[v as usize] = *x);
        Ok((chi, map))
    }

    /// Of a field the maps by TV, guided everywhere and guided where TV agrees, both without and with lesions in
    /// the diffusion images; nothing outside.
    pub(crate) fn three_ways(&self, field: &Local, workers: &Workers) -> Made<Ways> {
        let map = |guide: Guide<'_>| self.map(field, None, guide, nothing_outside(), workers);
        let (tv, own) = map(Guide::Nothing)?;
        let of = |with_lesions: bool| -> Made<[Vec<f32>; 2]> {
            let diffusion = &self.guidance(with_lesions, 1.0, 1);
            let (chi, everywhere) = map(Guide::Everywhere(diffusion))?;
            let (everywhere, own) = (&everywhere, &own);
            Ok([chi, map(Guide::Supported { diffusion, everywhere, own })?.0])
        };
        Ok((tv, [of(false)?, of(true)?]))
    }

    /// NRMSE in %, 3 mm inside the brain: of a voxel without a map 0 is taken.
    pub(crate) fn error(&self, chi: &[f32]) -> f64 {
        fimbria_qsm::metrics::compare(self.grid.dims, chi, &self.chi, &self.inside.voxels).nrmse
    }

    /// The noise of a field, ppm.
    pub(crate) fn noise(&self, field: &Local) -> Made<f64> {
        let voxels = &field.mask.voxels;
        let spheres = vec![Shape::Sphere; voxels.len()];
        let model = FieldModel::new(&self.geometry, voxels, spheres, voxels)?;
        let inside: Vec<f32> = voxels.iter().map(|&v| field.field[v as usize]).collect();
        Ok(noise_of_field(&model, &inside)?)
    }

    /// How much of the truth the nuclei of the map have: its slope over the voxels above 0.04 ppm.
    pub(crate) fn slope(&self, chi: &[f32]) -> f64 {
        let nuclei = self.inside.voxels.iter().filter(|v| self.chi[**v as usize] > 0.04);
        let voxels: Vec<u32> = nuclei.copied().collect();
        let contrast = |map: &[f32]| mean(map, &voxels) - mean(map, &self.inside.voxels);
        contrast(chi) / contrast(&self.chi)
    }

    /// The part of the brain, 3 mm inside, that `known` lacks, in %.
    pub(crate) fn lost(&self, known: &Mask) -> f64 {
        let is_lost = |v: &&u32| known.voxels.binary_search(v).is_err();
        let inside = &self.inside.voxels;
        100.0 * inside.iter().filter(is_lost).count() as f64 / inside.len() as f64
    }
}

/// A map by TV; guided everywhere and guided where TV agrees, first without lesions, then with them.
pub(crate) type Ways = (Vec<f32>, [[Vec<f32>; 2]; 2]);

pub(crate) fn mean(map: &[f32], voxels: &[u32]) -> f64 {
    voxels.iter().map(|&v| f64::from(map[v as usize])).sum::<f64>() / voxels.len().max(1) as f64
}

pub(crate) fn nothing_outside() -> Variation {
    Variation { outside: Outside::Nothing, ..Variation::default() }
}
