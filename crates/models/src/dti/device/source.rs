//! The kernels' texts, specialised for one problem.

use fimbria_compute::device::KernelSource;
use fimbria_compute::math;
use fimbria_image::Status;

use crate::dti::lanes::{LIMITS, needs_eigen};
use crate::dti::layout::parameter_row;
use crate::dti::recipe::{EigenOrder, FirstWeights, Floor};
use crate::dti::{DtiMap, Problem};

/// Eigenpairs of a tensor, which other kernels use too.
pub(crate) const EIGEN_TEXT: &str = include_str!("eigen.cl");

/// Signals to parameters.
pub(crate) fn fit_source(problem: &Problem) -> KernelSource {
    let text = KernelSource::new("dti_fit", include_str!("fit.cl")).after(math::KERNEL_TEXT);
    let (source, floor) = with_recipe(text, problem);
    let mut source = source.with_f32("FLOOR_VALUE", floor as f32);
    for (name, value) in LIMITS {
        source = source.with_f32(name, value);
    }
    with_rows_and_codes(source.with("REFINEMENTS", crate::dti::lanes::REFINEMENTS))
}

/// What fits of either precision are told of the recipe; with the value of the floor, which each has in its own.
pub(super) fn with_recipe(source: KernelSource, problem: &Problem) -> (KernelSource, f64) {
    let recipe = &problem.recipe;
    let (floor, value) = match recipe.floor {
        Floor::SmallestPositive => (0, 0.0),
        Floor::Absolute(least) => (1, least),
        Floor::OfLargest(fraction) => (2, fraction),
        Floor::OfS0(fraction) => (3, fraction),
    };
    let first = match recipe.first {
        FirstWeights::Unit => 0,
        FirstWeights::Measured => 1,
        FirstWeights::MeasuredRaw => 2,
    };
    let source = source
        .with("N_VOLUMES", format_args!("{}u", problem.n_volumes()))
        .with("FLOOR_KIND", floor)
        .with("FIRST_WEIGHTS", first)
        .with("REWEIGHTED_PASSES", recipe.reweighted_passes)
        .with("S0_AT_LEAST_MEAN", u8::from(recipe.s0_at_least_mean))
        .with("WANTS_RESIDUAL", u8::from(problem.wants_residual()));
    (source, value)
}

/// Parameters to maps.
pub(crate) fn maps_source(problem: &Problem) -> KernelSource {
    let recipe = &problem.recipe;
    let mut source = KernelSource::new("dti_maps", include_str!("maps.cl"))
        .after(EIGEN_TEXT)
        .after(math::KERNEL_TEXT)
        .with("NEEDS_EIGEN", u8::from(needs_eigen(&problem.layout, recipe)))
        .with("CLIPS", u8::from(recipe.min_eigenvalue.is_some()))
        .with_f32("LEAST_EIGENVALUE", recipe.min_eigenvalue.unwrap_or(0.0) as f32)
        .with("BY_MAGNITUDE", u8::from(recipe.order == EigenOrder::Magnitude));
    for map in DtiMap::ALL {
        let row = problem.map_row(map).map_or("(-1)".to_owned(), |row| row.to_string());
        source = source.with(format!("MAP_{}", map.name().to_uppercase()), row);
    }
    with_rows_and_codes(source)
}

pub(super) fn with_rows_and_codes(mut source: KernelSource) -> KernelSource {
    for (name, row) in [
        ("ROW_S0", parameter_row::S0),
        ("ROW_TENSOR", parameter_row::TENSOR),
        ("ROW_RESIDUAL", parameter_row::RESIDUAL),
        ("ROW_RAISED", parameter_row::RAISED),
        ("ROW_STATUS", parameter_row::STATUS),
    ] {
        source = source.with(name, row);
    }
    for (name, status) in [
        ("STATUS_FITTED", Status::Fitted),
        ("STATUS_CONSTRAINED", Status::Constrained),
        ("STATUS_NOT_CONVERGED", Status::NotConverged),
        ("STATUS_BAD_SIGNAL", Status::BadSignal),
        ("STATUS_SINGULAR", Status::Singular),
        ("STATUS_NEGATIVE_DIFFUSION", Status::NegativeDiffusion),
    ] {
        source = source.with_f32(name, status.code());
    }
    source
}
