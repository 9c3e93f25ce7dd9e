//! Everything about a fit that is the same for all voxels.

use fimbria_compute::Progress;
use fimbria_fitting::linear::{Column, Design, LogLinearFit};
use fimbria_image::GradientTable;

use super::constraints::KurtosisConstraints;
use super::lanes::Grid;
use super::layout::MapLayout;
use super::moments::{Moments, N_UNKNOWNS, column};
use super::recipe::Recipe;
use super::{DkiError, DkiOptions, KurtosisRange};
use crate::ProtocolError;

/// Volumes whose b exceeds the largest by no more than this fraction are used: scanners spread a
/// nominal b.
const B_TOLERANCE: f64 = 0.05;
/// Directions whose axes differ by less (|cos| above) are one direction.
const SAME_DIRECTION_COS: f64 = 0.999;
/// Unknowns of the quartic form, each of which needs a direction of its own.
const LEAST_DIRECTIONS: usize = 15;

/// A checked acquisition and checked options, in the forms that the backends read.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The volumes that are used, ascending.
    pub(crate) volumes: Vec<usize>,
    pub(crate) recipe: Recipe,
    pub(crate) linear: LogLinearFit,
    pub(crate) moments: Moments,
    /// X with its column of ones, a row per volume.
    pub(crate) rows: Vec<f32>,
    /// `None` for an unconstrained fit.
    pub(crate) constraints: Option<KurtosisConstraints>,
    pub(crate) grid: Grid,
    pub(crate) clip: KurtosisRange,
    pub(crate) layout: MapLayout,
}

impl Problem {
    /// The problem of fitting series acquired with `gradients` as `options` say; tells `progress`
    /// of volumes that are left out.
    ///
    /// # Errors
    /// Where the table cannot determine the two tensors or an option makes no sense.
    pub fn new(
        gradients: &GradientTable,
        options: &DkiOptions,
        progress: &dyn Progress,
    ) -> Result<Self, DkiError> {
        let b_limit = options.b_max_s_per_mm2;
        if !(b_limit.is_finite() && b_limit > 0.0) {
            return Err(DkiError::LargestB(b_limit));
        }
        let KurtosisRange { low, high } = options.clip;
        if low >= high || low.is_nan() || high.is_nan() {
            return Err(DkiError::Clip { low, high });
        }
        ProtocolError::check_gradients(gradients)?;
        let volumes: Vec<usize> = (0..gradients.len())
            .filter(|&v| gradients.b_s_per_mm2[v] <= b_limit * (1.0 + B_TOLERANCE))
            .collect();
        let used = GradientTable {
            b_s_per_mm2: volumes.iter().map(|&v| gradients.b_s_per_mm2[v]).collect(),
            dirs_ras: volumes.iter().map(|&v| gradients.dirs_ras[v]).collect(),
            b0_threshold: gradients.b0_threshold,
        };
        check_protocol(&used, b_limit)?;
        let left_out = gradients.len() - volumes.len();
        if left_out > 0 {
            progress.note(&format!(
                "{left_out} of {} volumes have b above {b_limit:.0} s/mm² and are left out",
                gradients.len()
            ));
        }
        let covariates: Vec<[f64; 4]> = used
            .b_s_per_mm2
            .iter()
            .zip(&used.dirs_ras)
            .map(|(b, [x, y, z])| [b / 1000.0, *x, *y, *z])
            .collect();
        let b_max = covariates.iter().fold(0.0f64, |most, u| most.max(u[0]));
        let recipe = Recipe::new(options, b_max);
        let design = Design::new(&covariates, &columns())?;
        let constraints = match recipe.constrained {
            true => Some(KurtosisConstraints::new(b_max).map_err(DkiError::Constraints)?),
            false => None,
        };
        Ok(Self {
            volumes,
            recipe,
            rows: (0..design.n_samples()).flat_map(|v| design.row(v)).map(|&x| x as f32).collect(),
            linear: LogLinearFit::new(design, recipe.linear),
            moments: Moments::new(&covariates),
            constraints,
            grid: Grid::new(),
            // Between directions of the set K may come out below what it is in them.
            clip: match recipe.constrained {
                true => KurtosisRange { low: low.max(0.0), high: high.max(0.0) },
                false => options.clip,
            },
            layout: MapLayout::new(&options.maps),
        })
    }

    /// The volumes that are used, ascending.
    pub fn volumes(&self) -> &[usize] {
        &self.volumes
    }
}

/// The design's columns beside that of ln S0, of the covariates (b, gx, gy, gz).
fn columns() -> Vec<Column> {
    (1..N_UNKNOWNS)
        .map(|unknown| {
            let (of_b, [x, y, z], scale) = column(unknown);
            Column { scale, powers: [of_b, x, y, z] }
        })
        .collect()
}

/// Two weighted shells and fifteen directions.
fn check_protocol(used: &GradientTable, b_max_s_per_mm2: f64) -> Result<(), DkiError> {
    let shells_s_per_mm2: Vec<f64> = used
        .shells()
        .iter()
        .filter(|shell| !used.is_b0(shell.volumes[0]))
        .map(|shell| shell.b_s_per_mm2)
        .collect();
    if shells_s_per_mm2.len() < 2 {
        return Err(DkiError::Shells { shells_s_per_mm2, b_max_s_per_mm2 });
    }
    let directions = distinct_directions(used);
    if directions < LEAST_DIRECTIONS {
        return Err(DkiError::Directions { directions, b_max_s_per_mm2 });
    }
    Ok(())
}

/// Weighted directions that differ by more than rounding, up to sign.
fn distinct_directions(used: &GradientTable) -> usize {
    let mut seen: Vec<[f64; 3]> = Vec::new();
    for v in (0..used.len()).filter(|&v| !used.is_b0(v)) {
        let g = used.dirs_ras[v];
        let cosine = |s: &[f64; 3]| (0..3).map(|i| s[i] * g[i]).sum::<f64>().abs();
        if g != [0.0; 3] && !seen.iter().any(|s| cosine(s) > SAME_DIRECTION_COS) {
            seen.push(g);
        }
    }
    seen.len()
}
