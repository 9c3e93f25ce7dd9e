//! Where a fit starts: at the best of a few fractions of free water, with the tensor that weighted least
//! squares of the logarithm finds once that much water is taken off.

use fimbria_compute::dense::lu;

use super::{FREE_WATER, covariates};
use crate::curve::Protocol;
use crate::dti::lanes::eigen::Deviator;
use crate::dti::lanes::maps::rebuild;

/// Fractions of free water.
const FRACTIONS: [f32; 6] = [0.03, 0.2, 0.4, 0.6, 0.8, 0.93];
/// What is left for tissue is at least this, of the signal without weighting.
const LEAST_TISSUE: f32 = 0.01;
/// Eigenvalues of a start are within these, µm²/ms.
const EIGENVALUES: [f32; 2] = [0.05, 2.2];
/// The diffusivity of the tissue whose signal weighs the logarithms, µm²/ms.
const WEIGHED_BY: f64 = 0.8;
/// ln S0 and the six entries of the tensor.
const UNKNOWNS: usize = 7;

/// What all voxels of a protocol share.
#[derive(Clone, Debug)]
pub(super) struct Start {
    /// exp(-b d) of each sample.
    water: Vec<f32>,
    /// The design, `[unknown][sample]`.
    design: Vec<Vec<f32>>,
    /// What makes the unknowns of the logarithms, `[unknown][sample]`: (XᵀWX)⁻¹XᵀW.
    solving: Vec<Vec<f32>>,
}

impl Start {
    /// Of the volumes of a protocol; `None` where they do not determine a tensor.
    pub(super) fn new(protocol: &Protocol) -> Option<Self> {
        let volumes = protocol.volumes();
        let rows: Vec<[f64; UNKNOWNS]> = volumes
            .iter()
            .map(|&v| {
                let [x, y, z, _] = covariates(protocol.b[v], protocol.dirs_ras[v]);
                [1.0, -x * x, -2.0 * x * y, -2.0 * x * z, -y * y, -2.0 * y * z, -z * z]
            })
            .collect();
        let weight = |v: usize| (-2.0 * WEIGHED_BY * protocol.b[v]).exp();
        let mut normal = vec![0.0; UNKNOWNS * UNKNOWNS];
        for (row, &v) in rows.iter().zip(&volumes) {
            for i in 0..UNKNOWNS {
                for j in 0..UNKNOWNS {
                    normal[i * UNKNOWNS + j] += weight(v) * row[i] * row[j];
                }
            }
        }
        let inverse = lu::inverse(&normal, UNKNOWNS)?;
        let solved = |i: usize, row: &[f64; UNKNOWNS]| -> f64 {
            inverse[i * UNKNOWNS..][..UNKNOWNS].iter().zip(row).map(|(a, b)| a * b).sum()
        };
        let each = |of: &dyn Fn(usize, &[f64; UNKNOWNS], usize) -> f64| -> Vec<Vec<f32>> {
            let of_unknown =
                |i| rows.iter().zip(&volumes).map(|(row, &v)| of(i, row, v) as f32).collect();
            (0..UNKNOWNS).map(of_unknown).collect()
        };
        let start = Self {
            water: volumes.iter().map(|&v| (-protocol.b[v] * FREE_WATER).exp() as f32).collect(),
            design: each(&|i, row, _| row[i]),
            solving: each(&|i, row, v| solved(i, row) * weight(v)),
        };
        // Of a matrix that is singular to rounding the inverse is huge.
        let largest = start.solving.iter().flatten().fold(0.0, |most: f32, x| most.max(x.abs()));
        (largest < 1e4).then_some(start)
    }

    /// S0, the fraction of water and the tensor (µm²/ms) nearest to these samples.
    pub(super) fn best(&self, samples: &[f32]) -> (f32, f32, [f32; 6]) {
        let mut best = (f32::INFINITY, 1.0, FRACTIONS[0], [0.8, 0.0, 0.0, 0.8, 0.0, 0.8]);
        let (mut logs, mut tissues) = (vec![0.0; samples.len()], vec![0.0; samples.len()]);
        for f in FRACTIONS {
            let mut misfit = 0.0;
            for (i, (&s, &water)) in samples.iter().zip(&self.water).enumerate() {
                let left = s - f * water;
                tissues[i] = left.max(LEAST_TISSUE);
                misfit += (tissues[i] - left) * (tissues[i] - left);
                logs[i] = tissues[i].ln();
            }
            let mut unknowns = [0.0; UNKNOWNS];
            for (unknown, row) in unknowns.iter_mut().zip(&self.solving) {
                *unknown = row.iter().zip(&logs).map(|(a, b)| a * b).sum::<f32>();
            }
            for (unknown, row) in unknowns.iter().zip(&self.design) {
                logs.iter_mut().zip(row).for_each(|(log, x)| *log -= unknown * x);
            }
            // To first order what the signals themselves are off by.
            misfit += logs.iter().zip(&tissues).map(|(l, t)| (l * t) * (l * t)).sum::<f32>();
            if misfit < best.0 {
                let tissue = unknowns[0].min(5.0).exp();
                let [_, tensor @ ..] = unknowns;
                best = (misfit, tissue + f, f / (tissue + f), tensor);
            }
        }
        let (_, s0, f, tensor) = best;
        let (l, e) = Deviator::new(tensor).eigen();
        (s0, f, rebuild(l.map(|l| l.clamp(EIGENVALUES[0], EIGENVALUES[1])), e))
    }
}
