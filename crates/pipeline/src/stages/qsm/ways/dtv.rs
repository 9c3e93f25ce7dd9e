//! Total variation of what diffusion does not explain.

use fimbria_compute::Progress as _;
use fimbria_qsm::variation::Prior;

use super::prelude::*;
use super::tv::Tv;
use super::variation::{BILGIC, MILOVIC, VariationOptions};

pub(super) struct Dtv;

pub(super) const FACTS: Facts = Facts {
    name: "dtv",
    sentence: "guided by diffusion: total variation of what FA, V1, MD and S0 do not explain; without \
                   them that of the map",
    details: "minimises ½‖w (x * d + a B - b)‖² + λ Σ|∇(x - Σ c Φ)|: total variation, but for edges \
                  that diffusion explains. d is the dipole, x is free outside the mask (--outside), Φ the images FA, MD and S0 \
                  and their squares, B the field of tensors along V1 whose anisotropy is FA. The coefficients \
                  c and a are fitted with the map, so that images which explain nothing change nothing; \
                  without any it is tv, whose map is written beside that of dtv.",
    references: &[BILGIC, MILOVIC],
    nrmse_percent: 26.3,
    columns: VARIATION,
    can: Abilities { guidance: true, unguided: true, ..Abilities::PLAIN },
};

impl Inversion for Dtv {
    fn defaults(&self, _: &QsmParameters, _: Place) -> Values {
        values_of(&VariationOptions::default())
    }

    fn fa_threshold(&self, _: &Resolved<QsmParameters>) -> f64 {
        // The anisotropy is proportional to FA: nothing is cut off.
        0.0
    }

    fn map(&self, options: &Resolved<QsmParameters>, job: &Job<'_>) -> Result<ChiMap, StageError> {
        let options: VariationOptions = options.read();
        let Some(guidance) = &job.field.guidance else {
            return Ok(options.map(Prior::Total, job)?.0);
        };
        let (map, fitted) = options.guided_map(guidance, job)?;
        let log = job.log;
        log.result("explained", fitted.coefficients);
        log.result("anisotropy_of_fa", fitted.anisotropy);
        log.note(&format!("anisotropy of a voxel of FA 1: {:.4} ppm", fitted.anisotropy));
        Ok(map)
    }

    fn methods(&self, options: &Resolved<QsmParameters>, is_guided: bool) -> Methods {
        if !is_guided {
            return Tv.methods(options, is_guided);
        }
        let options: VariationOptions = options.read();
        let guidance = " of what diffusion does not explain: fractional anisotropy, mean diffusivity \
                        and S0 with their squares, and tensors along the tensor's first eigenvector whose \
                        anisotropy is proportional to fractional anisotropy, with coefficients fitted to \
                        the field";
        options.methods("total variation", guidance, FACTS.references)
    }
}
