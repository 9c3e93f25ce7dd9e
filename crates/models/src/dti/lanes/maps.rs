//! From fitted parameters to maps, one voxel per lane.

use fimbria_compute::{Flags, Lanes, Real};
use fimbria_image::Status;
use pulp::Simd;

use super::arrays::{keep, scale, select};
use super::eigen::Deviator;
use super::stretch::Stretch;
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

/// The map rows of a batch, to write to.
struct Output<'a> {
    layout: &'a MapLayout,
    maps: &'a mut [f32],
    place: Stretch,
}

impl Output<'_> {
    #[inline(always)]
    fn put<S: Simd, const N: usize>(&mut self, map: DtiMap, values: [Lanes<S>; N]) {
        if let Some(row) = self.layout.first_row(map) {
            for k in 0..N {
                self.place.store(self.maps, row + k, values[k]);
            }
        }
    }
}

/// Reads the parameters of a batch and writes its maps.
#[inline(always)]
pub(super) fn write<S: Simd>(
    simd: S,
    layout: &MapLayout,
    recipe: &Recipe,
    parameters: &[f32],
    maps: &mut [f32],
    place: Stretch,
) {
    let mut output = Output { layout, maps, place };
    let mut status = place.load(simd, parameters, parameter_row::STATUS);
    let mut tensor = [status; 6];
    for k in 0..6 {
        tensor[k] = place.load(simd, parameters, parameter_row::TENSOR + k);
    }
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
                tensor = select(clipped, rebuild(l, v), tensor);
                deviator = Deviator::new(tensor);
                let constrained = status.splat(Status::Constrained.code());
                status = Lanes::select(clipped, constrained, status);
            }
        }
        output.put(DtiMap::Ad, [l[0] * MM2_PER_S]);
        output.put(DtiMap::Rd, [(l[1] + l[2]) * 0.5 * MM2_PER_S]);
        if recipe.order == EigenOrder::Magnitude {
            for (i, j) in [(0, 1), (1, 2), (0, 1)] {
                let swap = l[i].abs().less(l[j].abs());
                (l[i], l[j]) = (Lanes::select(swap, l[j], l[i]), Lanes::select(swap, l[i], l[j]));
                (v[i], v[j]) = (select(swap, v[j], v[i]), select(swap, v[i], v[j]));
            }
        }
        // No direction where there is no tensor.
        let there = status.at_most(status.splat(Status::NotConverged.code()));
        for (k, (value, vector)) in
            [(DtiMap::L1, DtiMap::V1), (DtiMap::L2, DtiMap::V2), (DtiMap::L3, DtiMap::V3)]
                .into_iter()
                .enumerate()
        {
            output.put(value, [l[k] * MM2_PER_S]);
            output.put(vector, keep(there, v[k]));
        }
    }
    let fitted = status.equals(status.splat(Status::Fitted.code()));
    let negative = status.splat(Status::NegativeDiffusion.code());
    status = Lanes::select(deviator.is_negative() & fitted, negative, status);
    output.put(DtiMap::Fa, [deviator.fractional_anisotropy()]);
    output.put(DtiMap::Md, [deviator.mean * MM2_PER_S]);
    output.put(DtiMap::Mo, [deviator.mode]);
    output.put(DtiMap::S0, [place.load(simd, parameters, parameter_row::S0)]);
    output.put(DtiMap::Tensor, scale(tensor, status.splat(MM2_PER_S)));
    output.put(DtiMap::Residual, [place.load(simd, parameters, parameter_row::RESIDUAL)]);
    output.put(DtiMap::Status, [status]);
}

/// Σ λ v vᵀ.
#[inline(always)]
pub(crate) fn rebuild<R: Real>(l: [R; 3], v: [[R; 3]; 3]) -> [R; 6] {
    let mut tensor = [l[0]; 6];
    for (k, [i, j]) in [[0, 0], [0, 1], [0, 2], [1, 1], [1, 2], [2, 2]].into_iter().enumerate() {
        let first = v[0][i] * v[0][j] * l[0];
        let second = (v[1][i] * v[1][j]).mul_add(l[1], first);
        tensor[k] = (v[2][i] * v[2][j]).mul_add(l[2], second);
    }
    tensor
}
