//! The linear model ln S = ln S0 - b D(g), D a homogeneous form of the direction.

use fimbria_fitting::linear::{Column, Design, DesignError};
use fimbria_image::GradientTable;

use super::HotError;
use super::form::Form;
use crate::ProtocolError;
use crate::dti::distinct_directions;

/// The design of a gradient table for `form`, b in ms/µm²: its coefficients are the form's unique
/// entries. Every volume enters with its own b, also below the b0 threshold.
pub(super) fn design(gradients: &GradientTable, form: &Form) -> Result<Design, HotError> {
    ProtocolError::check_gradients(gradients)?;
    let mut covariates = Vec::with_capacity(gradients.len());
    for (&b_s_per_mm2, &dir_ras) in gradients.b_s_per_mm2.iter().zip(&gradients.dirs_ras) {
        let [x, y, z] = dir_ras;
        covariates.push([b_s_per_mm2 / 1000.0, x, y, z]);
    }
    let columns: Vec<Column> = form
        .terms()
        .map(|([x, y, z], multiplicity)| Column { scale: -multiplicity, powers: [1, x, y, z] })
        .collect();
    Design::new(&covariates, &columns).map_err(|error| {
        let (rank, unknowns) = match error {
            DesignError::RankDeficient { rank, unknowns, .. } => (rank, unknowns),
            // Numbers too large for the powers of a form determine nothing.
            _ => (0, columns.len() + 1),
        };
        HotError::RankDeficient {
            order: form.order(),
            volumes: gradients.len(),
            unweighted: (0..gradients.len()).filter(|&v| gradients.is_b0(v)).count(),
            directions: distinct_directions(gradients),
            rank,
            unknowns,
        }
    })
}
