//! The tensor whose axes a fit takes.

use fimbria_image::GradientTable;

use super::{CurveError, Protocol};
use crate::dti::{self, DtiOptions};

/// The volumes of the tensor that gives axes, with their table: those of b up to `b_max_s_per_mm2`, all where these
/// do not determine it.
///
/// # Errors
/// Where not even all do.
pub(crate) fn of_axis(
    gradients: &GradientTable,
    protocol: &Protocol,
    b_max_s_per_mm2: f64,
) -> Result<(Vec<usize>, GradientTable), CurveError> {
    let table = |volumes: &[usize]| selected_table(gradients, volumes);
    let all = protocol.volumes();
    for volumes in [Protocol::new(gradients, Some(b_max_s_per_mm2))?.volumes(), all.clone()] {
        let few = table(&volumes);
        if dti::Problem::new(&few, &DtiOptions::default()).is_ok() {
            return Ok((volumes, few));
        }
    }
    dti::Problem::new(&table(&all), &DtiOptions::default())?;
    Ok((all.clone(), table(&all)))
}

/// The entries of some volumes.
pub(crate) fn selected_table(gradients: &GradientTable, volumes: &[usize]) -> GradientTable {
    GradientTable {
        b_s_per_mm2: volumes.iter().map(|&v| gradients.b_s_per_mm2[v]).collect(),
        dirs_ras: volumes.iter().map(|&v| gradients.dirs_ras[v]).collect(),
        b0_threshold: gradients.b0_threshold,
    }
}
