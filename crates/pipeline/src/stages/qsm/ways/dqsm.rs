//! Guided by diffusion, as published: fibres are cylinders.

use fimbria_qsm::dqsm::{DqsmOptions, Iterate, reconstruct};
use fimbria_qsm::{Edges, PUBLISHED_SUPPORT, Products, Published, Shape};
use serde::{Deserialize, Serialize};

use super::prelude::*;
use super::smooth::SmoothOptions;
use super::smooth_map::{Receivers, SmoothMap};
use crate::Named;
use crate::stages::local_field::LocalField;
use crate::stages::qsm::choices::QsmCompat;

pub(super) struct Dqsm;

#[derive(Serialize, Deserialize)]
pub(in crate::stages) struct Options {
    compat: Option<Named<QsmCompat>>,
    products: Named<Products>,
    #[serde(flatten)]
    smooth: SmoothOptions,
}

/// The original program's numerics need the field's strength.
#[derive(Debug, thiserror::Error)]
#[error("the published program works in tesla: give B0")]
pub struct NeedsB0;

impl Options {
    /// Whether the original program's numerics are wanted.
    fn is_published(&self) -> bool {
        self.compat == Some(Named(QsmCompat::Dqsm))
    }

    /// What the map is made with, κ and the step in units of B0.
    fn in_units_of_b0(&self, b0_tesla: Option<f64>) -> Result<DqsmOptions, NeedsB0> {
        let smooth = &self.smooth;
        let options = DqsmOptions {
            products: self.products.0,
            iterate: smooth.solver.0,
            kappa: smooth.kappa,
            step: smooth.step,
            edges: smooth.edges.0,
            stop: smooth.stop(),
        };
        if !self.is_published() {
            return Ok(options);
        }
        let tau = options.step.unwrap_or(Published::default().tau);
        let published = Published { alpha: options.kappa, tau };
        let (kappa, step) = published.in_units_of_b0(b0_tesla.ok_or(NeedsB0)?);
        Ok(DqsmOptions { kappa, step: options.step.map(|_| step), ..options })
    }
}

pub(super) const FACTS: Facts = Facts {
    name: "dqsm",
    sentence: "guided by diffusion, as published: fibres are cylinders",
    details: "minimises κ‖Ax - b‖² + (1 - κ)‖Dx‖²: A sums the fields of spheres (FA up to \
                  --fa-threshold) and of cylinders along V1, D is a Laplacian. κ does not depend on the \
                  strength of B0.",
    references: &[
        "Ng A et al. ISMRM (2013) 2394",
        "Kaluza OL et al. \"Fast diffusion-guided QSM using Graphical Processing Units\"",
    ],
    nrmse_percent: 87.7,
    columns: PENALTY,
    can: Abilities {
        guidance: true,
        passes: false,
        checkpoints: true,
        devices: Devices::Shared("its sources among all devices, however small the volume"),
        processes: Some(
            "deals the cylinders (with --products dense all voxels) out to the processes, each on its \
                 threads or a device",
        ),
        ..Abilities::PLAIN
    },
};

/// The original program's numbers; its step is that of its solver.
fn as_published(solver: Option<Named<Iterate>>) -> SmoothOptions {
    let Published { alpha, tau } = Published::default();
    let steps = solver.is_none_or(|solver| solver.0 == Iterate::Landweber);
    SmoothOptions {
        kappa: alpha,
        solver: Named(Iterate::Landweber),
        step: steps.then_some(tau),
        edges: Named(Edges::Zero),
        support: Some(PUBLISHED_SUPPORT),
        ..SmoothOptions::new(Place::Command)
    }
}

impl Inversion for Dqsm {
    fn defaults(&self, given: &QsmParameters, place: Place) -> Values {
        let (compat, products) = (given.compat, Named::default());
        let smooth = match compat {
            None => SmoothOptions::new(place),
            Some(Named(QsmCompat::Dqsm)) => as_published(given.solver),
        };
        values_of(&Options { compat, products, smooth })
    }

    fn check(&self, options: &Resolved<QsmParameters>) -> Result<(), OptionError> {
        options.read::<Options>().smooth.check()
    }

    fn caution(
        &self,
        options: &Resolved<QsmParameters>,
        field: &LocalField,
        error: Option<String>,
    ) -> Option<String> {
        // The cylinders are to blame, where there are some.
        let has_cylinders = field.shapes.iter().any(|shape| *shape != Shape::Sphere);
        let error = error.filter(|_| has_cylinders && options.compat.is_none())?;
        Some(format!("fibres that bend or end are no infinite cylinders: {error}"))
    }

    fn map(&self, options: &Resolved<QsmParameters>, job: &Job<'_>) -> Result<ChiMap, StageError> {
        let options: Options = options.read();
        let solver = options.in_units_of_b0(job.field.b0_tesla)?;
        let receivers = match options.is_published() {
            true => Receivers::Everywhere,
            false => Receivers::Mask,
        };
        let map = SmoothMap { options: &options.smooth, solver, receivers, n_of_cylinder: 1 };
        map.make(job, |model, data, weights, start| {
            let (on, log) = (&job.log.session().on, job.log);
            reconstruct(model, data, weights, &solver, on, on.comm, log, start)
        })
    }

    fn methods(&self, options: &Resolved<QsmParameters>, is_guided: bool) -> Methods {
        let options: Options = options.read();
        let shape = is_guided.then_some("cylinders along");
        // What κ weighs depends on the units of the data.
        let unit = if options.is_published() { " (fields in tesla)" } else { "" };
        options.smooth.methods(shape, unit, FACTS.references)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::options::{Resolve as _, from_values};

    fn options(values: &serde_json::Value) -> Options {
        let given: QsmParameters = from_values(values.as_object().unwrap()).unwrap();
        given.resolve(&Place::Command).read()
    }

    #[test]
    fn the_published_share_and_step_are_those_of_tesla() {
        let published = options(&json!({ "compat": "dqsm" })).in_units_of_b0(Some(4.7)).unwrap();
        let (kappa, step) = Published::default().in_units_of_b0(4.7);
        assert_eq!((published.kappa, published.step), (kappa, Some(step)));
        let cgls = options(&json!({ "compat": "dqsm", "solver": "cgls" }));
        assert_eq!(cgls.in_units_of_b0(Some(4.7)).unwrap().step, None);
    }
}
