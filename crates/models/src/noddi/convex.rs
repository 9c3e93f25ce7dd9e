//! NODDI as a convex problem, as AMICO poses it (Daducci et al., NeuroImage 105, 32 (2015)): the signal over S0 is
//! a mixture of known tissues about a known direction, and of free water.
//!
//! The direction is that of the tensor of all volumes. Non-negative least squares give the share of water;
//! once that is taken off, an elastic net on the weighted volumes picks few tissues; and non-negative least
//! squares share the signal out anew among these and water. Density and concentration are means over the
//! tissues by their amounts, and the orientation dispersion index is that of the mean concentration.

use fimbria_compute::dense::vector::dot;
use fimbria_compute::{Backend, HostError, Progress, SimdLevel};
use fimbria_fitting::non_negative::{Columns, Penalty, minimise};
use fimbria_image::{GradientTable, MapSpec, Mask, SignalSource, Status};

use super::dictionary::{COLUMNS, Dictionary, TISSUES, density, kappa};
use super::{NoddiOptions, Tissue, maps, scalars};
use crate::Fitted;
use crate::curve::{CurveError, Protocol, selected_table};
use crate::dti::{self, DtiMap, DtiOptions, Method};
use crate::voxelwise::{Job, SelectedVolumes, Stacked, Tile, VoxelFit};

/// The elastic net's penalties, of signals over S0.
const NET: Penalty = Penalty { amount: 0.5, square: 1e-3 };

/// What voxels share.
struct Mixture {
    protocol: Protocol,
    dictionary: Dictionary,
    tissue: Tissue,
}

/// What a voxel is a mixture of.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shares {
    /// Density of neurites, orientation dispersion index; NaN without tissue.
    density: f64,
    dispersion: f64,
    /// The share of water.
    water: f64,
    /// Root mean square of what is left, over S0.
    residual: f64,
}

impl Mixture {
    /// The mixture nearest to samples over S0, of `rows` of signals about the direction; `None` where there is no
    /// telling.
    fn shares(&self, samples: &[f64], rows: &[f64]) -> Option<Shares> {
        let all = Columns { rows, stride: COLUMNS, n: COLUMNS };
        let water = minimise(&all, samples, Penalty::default())?[TISSUES];
        let first = self.protocol.unweighted.len();
        let without = |(sample, s): (usize, &f64)| s - water * self.dictionary.water(sample);
        let rest: Vec<f64> = samples.iter().enumerate().skip(first).map(without).collect();
        let tissues = Columns { rows: &rows[first * COLUMNS..], n: TISSUES, ..all };
        let picked = minimise(&tissues, &rest, NET)?;

        let is_kept = |column: &usize| *column == TISSUES || picked[*column] > 0.0;
        let kept: Vec<usize> = (0..COLUMNS).filter(is_kept).collect();
        let few: Vec<f64> = rows
            .chunks_exact(COLUMNS)
            .flat_map(|row| kept.iter().map(|&column| row[column]))
            .collect();
        let few = Columns { rows: &few, stride: kept.len(), n: kept.len() };
        let amounts = minimise(&few, samples, Penalty::default())?;

        let tissue = || kept.iter().zip(&amounts).filter(|(column, _)| **column < TISSUES);
        let tissue_sum: f64 = tissue().map(|(_, amount)| amount).sum();
        let mean = |value: fn(usize) -> f64| {
            tissue().map(|(&column, amount)| amount * value(column)).sum::<f64>() / tissue_sum
        };
        let water = *amounts.last()?;
        let squares = few.rows.chunks_exact(few.stride).zip(samples);
        let squares: f64 = squares.map(|(row, s)| (s - dot(row, &amounts)).powi(2)).sum();
        (tissue_sum + water > 0.0).then(|| Shares {
            density: mean(density),
            dispersion: mean(kappa).recip().atan() / std::f64::consts::FRAC_PI_2,
            water: water / (tissue_sum + water),
            residual: (squares / samples.len() as f64).sqrt(),
        })
    }
}

impl VoxelFit for Mixture {
    fn maps(&self) -> Vec<MapSpec> {
        maps(self.tissue, false)
    }

    fn fit(&self, tile: Tile<'_>, _: SimdLevel) -> Result<(), HostError> {
        let Tile { voxels, stride, inputs, rows, .. } = tile;
        let volumes = self.protocol.volumes();
        let n_unweighted = self.protocol.unweighted.len();
        let at = |row: usize, voxel: usize| f64::from(inputs[row * stride + voxel]);
        let mut signals = vec![0.0; self.dictionary.len() * COLUMNS];
        for voxel in 0..voxels.len() {
            let mut samples: Vec<f64> = volumes.iter().map(|&v| at(v, voxel)).collect();
            let s0 = samples[..n_unweighted].iter().sum::<f64>() / n_unweighted as f64;
            let mut values = [0.0; 13];
            if s0 > 0.0 && samples.iter().all(|s| s.is_finite()) {
                samples.iter_mut().for_each(|s| *s /= s0);
                let axis = [0, 1, 2].map(|i| at(self.protocol.b.len() + i, voxel));
                self.dictionary.about(axis, &mut signals);
                values = written(self.shares(&samples, &signals), s0, axis);
            } else {
                values[12] = Status::BadSignal.code();
            }
            for (row, value) in values.into_iter().enumerate() {
                rows[row * stride + voxel] = value;
            }
        }
        Ok(())
    }
}

/// The values of all maps in their order.
fn written(shares: Option<Shares>, s0: f64, axis: [f64; 3]) -> [f32; 13] {
    let mut values = [0.0; 13];
    let Some(Shares { density, dispersion, water, residual }) = shares else {
        values[12] = Status::NotConverged.code();
        return values;
    };
    let first = [density, dispersion, water].map(|value| value as f32);
    values[..8].copy_from_slice(&scalars(first, s0 as f32));
    let has_tissue = density.is_finite();
    for (value, along) in values[8..11].iter_mut().zip(axis) {
        *value = if has_tissue { along as f32 } else { f32::NAN };
    }
    values[11] = (residual * s0) as f32;
    values[12] = if has_tissue { Status::Fitted } else { Status::Undefined }.code();
    values
}

/// Whether a protocol carries the problem.
pub(super) fn check(
    gradients: &GradientTable,
    protocol: &Protocol,
    options: &NoddiOptions,
) -> Result<(), CurveError> {
    let refused = |needs, has: &str| CurveError::Unsupported {
        model: "AMICO's problem",
        needs,
        has: has.to_owned(),
        b_max_s_per_mm2: options.curve.b_max_s_per_mm2,
    };
    if options.tissue.has_still() {
        return Err(refused("tissue in vivo", "fixed tissue"));
    }
    if protocol.unweighted.is_empty() {
        return Err(refused("volumes without weighting", "none"));
    }
    dti::Problem::new(&selected_table(gradients, &protocol.volumes()), &tensor())?;
    Ok(())
}

/// The fit of the tensor that has the direction.
fn tensor() -> DtiOptions {
    DtiOptions { method: Method::Ols, maps: vec![DtiMap::V1], ..DtiOptions::default() }
}

/// The maps of [`fit`](super::fit) by AMICO's problem.
pub(super) fn fit(
    signals: &dyn SignalSource,
    mask: &Mask,
    gradients: &GradientTable,
    protocol: Protocol,
    options: &NoddiOptions,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<Fitted, CurveError> {
    check(gradients, &protocol, options)?;
    let volumes = protocol.volumes();
    let table = selected_table(gradients, &volumes);
    let used = SelectedVolumes { source: signals, volumes };
    let axis = dti::fit(&used, mask, &table, None, &tensor(), on, progress)?;
    let dictionary = Dictionary::new(&protocol, options.tissue);
    let mixture = Mixture { protocol, dictionary, tissue: options.tissue };
    let inputs = Stacked(vec![signals, &axis.maps[0].image]);
    let job = Job { name: "sharing out neurites", inputs: &inputs, mask, progress };
    let workers = Backend { devices: &[], ..*on };
    let fitted = job.run(&mixture, &workers)?;
    Ok(Fitted { seconds: axis.seconds + fitted.seconds, ..fitted })
}
