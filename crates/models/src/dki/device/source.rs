//! Kernel texts with their constants.

use fimbria_compute::device::KernelSource;
use fimbria_compute::math;
use fimbria_image::Status;

use crate::dki::lanes::{extremes, means};
use crate::dki::layout::parameter_row;
use crate::dki::recipe::LEAST_DIFFUSIVITY;
use crate::dki::{DkiMap, Problem};
use crate::dti::device::EIGEN_TEXT;

/// Parameters to maps.
pub(crate) fn maps_source(problem: &Problem) -> KernelSource {
    let least = problem.recipe.min_diffusivity;
    let mut source = KernelSource::new("dki_maps", include_str!("maps.cl"))
        .after(EIGEN_TEXT)
        .after(math::KERNEL_TEXT)
        .with("N_NODES", format_args!("{}u", means::N_NODES))
        .with("N_GRID", format_args!("{}u", extremes::N_GRID))
        .with("N_CLIMBS", format_args!("{}u", extremes::N_CLIMBS))
        .with("N_STEPS", format_args!("{}u", extremes::N_STEPS))
        .with_f32("LONGEST", extremes::LONGEST)
        .with_f32("NEAR", extremes::NEAR)
        .with_f32("LEAST_CURVATURE", extremes::LEAST_CURVATURE)
        .with_f32("LEAST_DIFFUSIVITY", LEAST_DIFFUSIVITY)
        .with_f32("LEAST_MEAN", problem.recipe.least_mean)
        .with_f32("CLIP_LOW", problem.clip.low)
        .with_f32("CLIP_HIGH", problem.clip.high)
        .with("RAISES", u8::from(least.is_some()))
        .with_f32("MIN_DIFFUSIVITY", least.unwrap_or(0.0))
        .with("HAS_EXTREMES", u8::from(problem.layout.has_extremes()));
    for map in DkiMap::ALL {
        let row = problem.layout.first_row(map);
        let row = row.map_or("(-1)".to_owned(), |row| row.to_string());
        source = source.with(format!("MAP_{}", map.name().to_uppercase()), row);
    }
    for (name, row) in [
        ("ROW_S0", parameter_row::S0),
        ("ROW_TENSOR", parameter_row::TENSOR),
        ("ROW_QUARTIC", parameter_row::QUARTIC),
        ("ROW_RESIDUAL", parameter_row::RESIDUAL),
        ("ROW_STATUS", parameter_row::STATUS),
    ] {
        source = source.with(name, row);
    }
    for (name, status) in [
        ("STATUS_CONSTRAINED", Status::Constrained),
        ("STATUS_NOT_CONVERGED", Status::NotConverged),
        ("STATUS_UNDEFINED", Status::Undefined),
    ] {
        source = source.with_f32(name, status.code());
    }
    source
}
