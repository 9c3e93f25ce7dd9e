//! The matrix from densities to signals.

use std::f64::consts::PI;

use fimbria_compute::dense::vec3::unit;
use fimbria_image::GradientTable;
use fimbria_tensors::sh::{ShBasis, evaluate, sh_count};

use super::shells::Shelled;
use super::{FodError, Response, ResponseError, Responses};

/// Signals of the unknowns: F_lm in MRtrix3's order, then the weights of grey matter and fluid.
#[derive(Clone, Debug)]
pub(crate) struct Convolution {
    /// Volumes that enter, those on a shell that all responses have.
    pub(crate) volumes: Vec<usize>,
    /// `[volume that enters][unknown]`, input units.
    pub(crate) matrix: Vec<f64>,
    /// Number of unknowns.
    pub(crate) n_unknowns: usize,
}

impl Convolution {
    pub(crate) fn new(
        gradients: &GradientTable,
        shelled: &Shelled,
        responses: &Responses,
        order: usize,
    ) -> Result<Self, FodError> {
        let rows_of = |response: &Response, tissue| {
            let wrong = |source| FodError::Response { tissue, source };
            let rows = response.rows_of(&shelled.shells).map_err(wrong)?;
            // Three tissues take two shells at least, and here there are no others.
            if shelled.three && shelled.single && rows.contains(&None) {
                let data = shelled.shells.iter().map(|shell| shell.b_s_per_mm2.round()).collect();
                let response = response.b_s_per_mm2.clone().unwrap_or_default();
                return Err(wrong(ResponseError::OtherShells { response, data }));
            }
            Ok(rows)
        };
        let white = rows_of(&responses.white, "single fibres")?;
        let mut isotropic = Vec::new();
        if let Some([grey, fluid]) = &responses.isotropic {
            isotropic.push((grey, rows_of(grey, "grey matter")?));
            isotropic.push((fluid, rows_of(fluid, "fluid")?));
        }
        let n_unknowns = sh_count(order) + isotropic.len();
        let (mut volumes, mut matrix) = (Vec::new(), Vec::new());
        for (s, shell) in shelled.shells.iter().enumerate() {
            let row = |rows: &[Option<usize>]| rows[s];
            let others: Option<Vec<f64>> = isotropic
                .iter()
                .map(|(response, rows)| Some(response.zonal[row(rows)?][0] / (4.0 * PI).sqrt()))
                .collect();
            let (Some(white), Some(others)) = (row(&white), others) else { continue };
            let zonal = &responses.white.zonal[white];
            for &volume in &shell.volumes {
                volumes.push(volume);
                let dir = unit(gradients.dirs_ras[volume]).unwrap_or([0.0, 0.0, 1.0]);
                // An unweighted volume has no direction that means anything.
                let terms = if gradients.is_b0(volume) { 1 } else { zonal.len() };
                let values = evaluate(ShBasis::Mrtrix, order, dir);
                for l in (0..=order).step_by(2) {
                    let delta = (f64::from(2 * l as u32 + 1) / (4.0 * PI)).sqrt();
                    let gain = zonal.get(l / 2).filter(|_| l / 2 < terms).unwrap_or(&0.0) / delta;
                    let of_degree = sh_count(l) - (2 * l + 1)..sh_count(l);
                    matrix.extend(values[of_degree].iter().map(|y| gain * y));
                }
                matrix.extend(&others);
            }
        }
        Ok(Self { volumes, matrix, n_unknowns })
    }
}
