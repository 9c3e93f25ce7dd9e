//! From fitted parameters to maps, one voxel per lane.

use fimbria_compute::{Lanes, Mask, Real};
use pulp::Simd;

use super::eigen::Deviator;
use crate::Status;
use crate::dti::DtiMap;
use crate::dti::layout::{MapLayout, parameter_row};
use crate::dti::recipe::{EigenOrder, Recipe};

/// Maps in mm²/s from parameters in µm²/ms.
pub(crate) const MM2_PER_S: f32 = 1e-3;

/// Which steps the wanted maps need.
pub(crate) fn needs_eigen(layout: &MapLayout, recipe: &Recipe) -> bool {
    use DtiMap::{Ad, L1, L2, L3, Rd, V1, V2, V3};
    recipe.min_eigenvalue.is_some() || layout.has_any(&[Ad, Rd, L1, L2, L3, V1, V2, V3])
}

/// Reads one group of lanes of the parameter rows and writes their map rows, all `[row][stride]`
/// from `offset` on.
#[inline(always)]
pub(super) fn write<S: Simd>(
    simd: S,
    layout: &MapLayout,
    recipe: &Recipe,
    parameters: &[f32],
    maps: &mut [f32],
    stride: usize,
    offset: usize,
) {
    let n = Lanes::<S>::LANES.min(stride - offset);
    let read = |row: usize| {
        let start = row * stride + offset;
        Lanes::load_partial(simd, &parameters[start..start + n])
    };
    let mut write = |map: DtiMap, values: &[Lanes<S>]| {
        if let Some(row) = layout.first_row(map) {
            for (k, value) in values.iter().enumerate() {
                let start = (row + k) * stride + offset;
                value.store_partial(&mut maps[start..start + n]);
            }
        }
    };
    let mut tensor: [Lanes<S>; 6] = std::array::from_fn(|k| read(parameter_row::TENSOR + k));
    let mut status = read(parameter_row::STATUS);
    let mut deviator = Deviator::new(tensor);
    if needs_eigen(layout, recipe) {
        let (mut l, mut v) = deviator.eigen();
        if let Some(least) = recipe.min_eigenvalue {
            let least = status.splat(least as f32);
            let fitted = status.equals(status.splat(Status::Fitted.code()));
            let clipped = l[2].less(least) & fitted;
            if clipped.any() {
                for k in 0..3 {
                    l[k] = Lanes::select(clipped, l[k].max(least), l[k]);
                }
                let rebuilt = rebuild(l, v);
                for k in 0..6 {
                    tensor[k] = Lanes::select(clipped, rebuilt[k], tensor[k]);
                }
                deviator = Deviator::new(tensor);
                let constrained = status.splat(Status::Constrained.code());
                status = Lanes::select(clipped, constrained, status);
            }
        }
        write(DtiMap::Ad, &[l[0] * MM2_PER_S]);
        write(DtiMap::Rd, &[(l[1] + l[2]) * 0.5 * MM2_PER_S]);
        if recipe.order == EigenOrder::Magnitude {
            for (i, j) in [(0, 1), (1, 2), (0, 1)] {
                let swap = l[i].abs().less(l[j].abs());
                (l[i], l[j]) = (Lanes::select(swap, l[j], l[i]), Lanes::select(swap, l[i], l[j]));
                let (a, b) = (v[i], v[j]);
                v[i] = std::array::from_fn(|k| Lanes::select(swap, b[k], a[k]));
                v[j] = std::array::from_fn(|k| Lanes::select(swap, a[k], b[k]));
            }
        }
        // No direction where there is no tensor.
        let there = status.at_most(status.splat(Status::NotConverged.code()));
        let zero = status.splat(0.0);
        for (k, (value, vector)) in
            [(DtiMap::L1, DtiMap::V1), (DtiMap::L2, DtiMap::V2), (DtiMap::L3, DtiMap::V3)]
                .into_iter()
                .enumerate()
        {
            write(value, &[l[k] * MM2_PER_S]);
            write(vector, &v[k].map(|x| Lanes::select(there, x, zero)));
        }
    }
    write(DtiMap::Fa, &[deviator.fractional_anisotropy()]);
    write(DtiMap::Md, &[deviator.mean * MM2_PER_S]);
    write(DtiMap::Mo, &[deviator.mode]);
    write(DtiMap::S0, &[read(parameter_row::S0)]);
    write(DtiMap::Tensor, &tensor.map(|d| d * MM2_PER_S));
    write(DtiMap::Residual, &[read(parameter_row::RESIDUAL)]);
    write(DtiMap::Status, &[status]);
}

/// Σ λ v vᵀ.
#[inline(always)]
fn rebuild<R: Real>(l: [R; 3], v: [[R; 3]; 3]) -> [R; 6] {
    let entry = |i: usize, j: usize| {
        let term = |k: usize| v[k][i] * v[k][j];
        term(2).mul_add(l[2], term(1).mul_add(l[1], term(0) * l[0]))
    };
    [entry(0, 0), entry(0, 1), entry(0, 2), entry(1, 1), entry(1, 2), entry(2, 2)]
}
