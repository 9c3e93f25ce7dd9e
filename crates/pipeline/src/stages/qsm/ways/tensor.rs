//! Susceptibility tensors symmetric about the fibres.

use fimbria_image::Image;
use fimbria_qsm::Shape;
use fimbria_qsm::dqsm::DqsmOptions;
use fimbria_qsm::tensor::reconstruct_tensors;

use super::prelude::*;
use super::smooth::SmoothOptions;
use super::smooth_map::{Receivers, SmoothMap};

pub(super) struct Tensor;

pub(super) const FACTS: Facts = Facts {
    name: "tensor",
    sentence: "guided by diffusion: tensors about fibres, mean and anisotropy",
    details: "is dqsm with dipoles magnetised as tensors are in place of cylinders: chi is the mean of \
                  the tensor.",
    references: &["Liu C. Magn Reson Med 63, 1471 (2010)"],
    nrmse_percent: 45.2,
    columns: PENALTY,
    can: Abilities {
        guidance: true,
        passes: false,
        checkpoints: true,
        devices: Devices::Shared("the components of the magnetisation among three at most"),
        processes: Some("gives each of at most three components of the magnetisation"),
        anisotropy: true,
        ..Abilities::PLAIN
    },
};

impl Inversion for Tensor {
    fn defaults(&self, _: &QsmParameters, place: Place) -> Values {
        values_of(&SmoothOptions::new(place))
    }

    fn check(&self, options: &Resolved<QsmParameters>) -> Result<(), OptionError> {
        options.read::<SmoothOptions>().check()
    }

    fn map(&self, options: &Resolved<QsmParameters>, job: &Job<'_>) -> Result<ChiMap, StageError> {
        let options: SmoothOptions = options.read();
        let solver = DqsmOptions {
            iterate: options.solver.0,
            kappa: options.kappa,
            step: options.step,
            edges: options.edges.0,
            stop: options.stop(),
            ..DqsmOptions::default()
        };
        let map =
            SmoothMap { options: &options, solver, receivers: Receivers::Mask, n_of_cylinder: 2 };
        let mut anisotropy = Vec::new();
        let made = map.make(job, |model, data, weights, start| {
            let (on, log) = (&job.log.session().on, job.log);
            job.note_devices(&model.geometry);
            let made = reconstruct_tensors(model, data, weights, &solver, on, on.comm, log, start)?;
            anisotropy = made.chi[job.field.mask.len()..].to_vec();
            Ok(made)
        })?;
        let mut msa = Image::zeros(job.field.grid, 1);
        let shapes = job.field.mask.voxels.iter().zip(&job.field.shapes);
        let fibres = shapes.filter(|(_, shape)| **shape != Shape::Sphere);
        fibres.zip(anisotropy).for_each(|((&v, _), x)| msa.data[v as usize] = x);
        Ok(ChiMap { anisotropy: Some(msa), ..made })
    }

    fn methods(&self, options: &Resolved<QsmParameters>, is_guided: bool) -> Methods {
        let options: SmoothOptions = options.read();
        let shape = is_guided.then_some("tensors symmetric about");
        options.methods(shape, "", FACTS.references)
    }
}
