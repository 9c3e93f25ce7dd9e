//! Free water where one shell does not tell it from tissue: what tissue may be is assumed (Daducci et al. 2015).
//!
//! Tissue is a mixture of zeppelins along the tensor's first eigenvector that diffuse at 1 µm²/ms along it and at
//! 0.1 to 1 across; water diffuses at 2.5. Non-negative least squares with a small weight on the squared amounts
//! share the signal out among them. Once the water is taken off, the tensor is fitted to the rest.

use fimbria_compute::{Backend, HostError, Progress, SimdLevel};
use fimbria_fitting::active_set::{Constraints, Programme, Verdict, Work};
use fimbria_image::{
    GradientTable, Grid, Image, MapSpec, Mask, SignalSource, Status, StatusCounts,
};

use super::{maps, specs};
use crate::curve::{CurveError, Protocol};
use crate::dti::{self, DtiMap, DtiOptions};
use crate::voxelwise::{Job, Stacked, Tile, VoxelFit};
use crate::{Fitted, FittedMap, ProtocolError};

/// The diffusivity of tissue along its axis, µm²/ms.
const ALONG: f64 = 1.0;
/// Those across, in tenths of µm²/ms: 1 to this.
const ACROSS: usize = 10;
/// The diffusivity of water, µm²/ms: 0.5 less than in the fits of several shells, as in the program whose
/// dictionary this is.
const WATER: f64 = 2.5;
/// The weight of the squared amounts against the squared residuals of signals near 1.
const WEIGHT: f64 = 1e-3;
/// Zeppelins and water.
const N: usize = ACROSS + 1;
/// Beyond this share of water no tissue is left to tell of.
const ALL_WATER: f32 = 0.98;

/// The maps of the tensor that are handed on.
const TAKEN: [DtiMap; 7] =
    [DtiMap::Fa, DtiMap::Md, DtiMap::Ad, DtiMap::Rd, DtiMap::V1, DtiMap::Tensor, DtiMap::Residual];

/// Shares the signal out among water and tissue.
struct Shares {
    protocol: Protocol,
    /// Every amount is at least zero.
    amounts: Constraints,
}

impl Shares {
    fn new(protocol: Protocol) -> Self {
        let identity: Vec<f64> = (0..N * N).map(|at| f64::from(at % (N + 1) == 0)).collect();
        let amounts = Constraints::non_negative(N, &identity).expect("no row is zero");
        Self { protocol, amounts }
    }

    /// The signals of zeppelins across 0.1, 0.2, ... and of water in one volume, of an amount of 1.
    fn columns(b: f64, cosine: f64) -> [f64; N] {
        let square = cosine * cosine;
        std::array::from_fn(|k| {
            let across = 0.1 * (k + 1) as f64;
            let diffusivity = if k == ACROSS { WATER } else { across + (ALONG - across) * square };
            (-b * diffusivity).exp()
        })
    }

    /// The share of water in these samples, divided by the mean of the unweighted ones, about an axis.
    fn water(&self, samples: &[f64], axis: [f64; 3], room: &mut Room<'_>) -> Option<f64> {
        let (mut normal, mut right) = (vec![0.0; N * N], vec![0.0; N]);
        for (&v, &sample) in self.protocol.volumes().iter().zip(samples) {
            let g = self.protocol.dirs_ras[v];
            let cosine = axis[0] * g[0] + axis[1] * g[1] + axis[2] * g[2];
            let row = Self::columns(self.protocol.b[v], cosine);
            for i in 0..N {
                right[i] += row[i] * sample;
                for j in 0..N {
                    normal[i * N + j] += row[i] * row[j];
                }
            }
        }
        for i in 0..N {
            normal[i * (N + 1)] += WEIGHT;
        }
        let outcome = room.programme.solve(&normal, &mut right, &mut room.work).ok()?;
        let sum: f64 = right.iter().sum();
        let is_solved = matches!(outcome.verdict, Verdict::Free | Verdict::Bound);
        (is_solved && sum > 0.0).then(|| (right[ACROSS] / sum).clamp(0.0, 1.0))
    }
}

/// Memory of a tile.
struct Room<'a> {
    programme: Programme<'a>,
    work: Work,
}

impl VoxelFit for Shares {
    fn maps(&self) -> Vec<MapSpec> {
        let mut own: Vec<MapSpec> = specs();
        own.retain(|spec| ["FWF", "S0"].contains(&&*spec.name));
        own.into_iter().chain([MapSpec::status()]).collect()
    }

    fn fit(&self, tile: Tile<'_>, _: SimdLevel) -> Result<(), HostError> {
        let Tile { voxels, stride, inputs, rows, .. } = tile;
        let mut room = Room { programme: Programme::new(&self.amounts), work: Work::default() };
        let volumes = self.protocol.volumes();
        let n_unweighted = self.protocol.unweighted.len();
        let at = |row: usize, voxel: usize| f64::from(inputs[row * stride + voxel]);
        for voxel in 0..voxels.len() {
            let samples: Vec<f64> = volumes.iter().map(|&v| at(v, voxel)).collect();
            let s0 = samples[..n_unweighted].iter().sum::<f64>() / n_unweighted as f64;
            let axis = [0, 1, 2].map(|i| at(self.protocol.b.len() + i, voxel));
            let is_good = s0 > 0.0 && samples.iter().all(|s| s.is_finite());
            let scaled: Vec<f64> = samples.iter().map(|s| s / s0).collect();
            let share = is_good.then(|| self.water(&scaled, axis, &mut room)).flatten();
            let status = match (is_good, share) {
                (false, _) => Status::BadSignal,
                (true, None) => Status::NotConverged,
                (true, Some(_)) => Status::Fitted,
            };
            rows[voxel] = share.unwrap_or_default() as f32;
            rows[stride + voxel] = if is_good { s0 as f32 } else { 0.0 };
            rows[2 * stride + voxel] = status.code();
        }
        Ok(())
    }
}

/// A series without its water.
struct WithoutWater<'a> {
    signals: &'a dyn SignalSource,
    /// The share of water and the signal without weighting of each voxel.
    shares: &'a Image,
    s0: &'a Image,
    /// What is left of water in each volume.
    water: Vec<f32>,
}

impl SignalSource for WithoutWater<'_> {
    fn grid(&self) -> &Grid {
        self.signals.grid()
    }

    fn n_volumes(&self) -> usize {
        self.signals.n_volumes()
    }

    fn gather_rows(&self, voxels: &[u32], rows: &mut [&mut [f32]]) {
        self.signals.gather_rows(voxels, rows);
        for (row, left) in rows.iter_mut().zip(&self.water) {
            for (sample, &voxel) in row.iter_mut().zip(voxels) {
                let voxel = voxel as usize;
                *sample -= self.shares.data[voxel] * self.s0.data[voxel] * left;
            }
        }
    }
}

/// The volumes of a fit, where they determine a tensor.
fn protocol(gradients: &GradientTable) -> Result<Protocol, CurveError> {
    let protocol = Protocol::new(gradients, None)?;
    if protocol.unweighted.is_empty() {
        return Err(CurveError::Unsupported {
            model: "free water of a single shell",
            needs: "unweighted volumes, and a shell that determines a tensor",
            has: "no unweighted volume".to_owned(),
            b_max_s_per_mm2: None,
        });
    }
    dti::Problem::new(gradients, &DtiOptions::default())?;
    Ok(protocol)
}

/// Whether a gradient table carries the fit of [`fit_assumed`].
///
/// # Errors
/// [`CurveError`] says why not.
pub fn check_assumed(gradients: &GradientTable) -> Result<(), CurveError> {
    protocol(gradients).map(drop)
}

/// The maps of [`fit`](super::fit) from a single shell, with what tissue is assumed to be.
///
/// # Errors
/// [`CurveError`]; needed are unweighted volumes and what a tensor needs.
pub fn fit_assumed(
    signals: &dyn SignalSource,
    mask: &Mask,
    gradients: &GradientTable,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<Fitted, CurveError> {
    ProtocolError::check_count(gradients, signals.n_volumes())?;
    let protocol = protocol(gradients)?;
    let water = protocol.b.iter().map(|b| (-b * WATER).exp() as f32).collect();
    let tensor = |source: &dyn SignalSource, mask: &Mask, maps: &[DtiMap]| {
        let options = DtiOptions { maps: maps.to_vec(), ..DtiOptions::default() };
        dti::fit(source, mask, gradients, None, &options, on, progress)
    };
    let axis = tensor(signals, mask, &[DtiMap::V1])?;
    let inputs = Stacked(vec![signals, &axis.maps[0].image]);
    let job = Job { name: "sharing out free water", inputs: &inputs, mask, progress };
    let workers = Backend { devices: &[], ..*on };
    let Fitted { maps: shares, seconds, .. } = job.run(&Shares::new(protocol), &workers)?;
    let [fwf, s0, of_shares] = [0, 1, 2].map(|k| &shares[k].image);
    let rest = WithoutWater { signals, shares: fwf, s0, water };
    // Where all is water nothing but noise is left.
    let has_tissue = |voxel: &u32| fwf.data[*voxel as usize] <= ALL_WATER;
    let with_tissue: Vec<u32> = mask.voxels.iter().copied().filter(has_tissue).collect();
    let tissue = match with_tissue.is_empty() {
        true => tensor(&rest, mask, &TAKEN)?,
        false => tensor(&rest, &Mask { voxels: with_tissue, ..*mask }, &TAKEN)?,
    };
    let seconds = axis.seconds + seconds + tissue.seconds;
    let (maps, status) = joined(mask, &tissue, fwf, s0, of_shares);
    Ok(Fitted { maps, status, seconds, ..tissue })
}

/// The maps in the order of [`maps`]: of voxels that are all water nothing of tissue.
fn joined(
    mask: &Mask,
    tissue: &Fitted,
    fwf: &Image,
    s0: &Image,
    of_shares: &Image,
) -> (Vec<FittedMap>, StatusCounts) {
    let mut counts = StatusCounts::default();
    let mut all: Vec<FittedMap> = Vec::new();
    for spec in maps(false) {
        let image = match &*spec.name {
            "FWF" => Some(fwf),
            "S0" => Some(s0),
            name => tissue.map(name),
        };
        // Every one of them was asked for.
        all.extend(image.cloned().map(|image| FittedMap { spec, image }));
    }
    let n = fwf.data.len();
    for voxel in mask.voxels.iter().map(|&voxel| voxel as usize) {
        let is_water = fwf.data[voxel] > ALL_WATER;
        let shared = Status::from_code(of_shares.data[voxel]);
        for FittedMap { spec, image } in &mut all {
            match &*spec.name {
                "FWF" | "S0" | "residual" => {}
                "status" => {
                    let of_tensor = Status::from_code(image.data[voxel]);
                    let status = match (shared, of_tensor) {
                        (Status::Fitted, _) if is_water => Status::Undefined,
                        (Status::Fitted, of_tensor) => of_tensor,
                        (shared, _) => shared,
                    };
                    image.data[voxel] = status.code();
                    counts.add(status);
                }
                _ if is_water => {
                    (0..spec.n_volumes).for_each(|v| image.data[v * n + voxel] = f32::NAN);
                }
                _ => {}
            }
        }
    }
    (all, counts)
}
