//! From fitted parameters to maps, one voxel per lane.

use fimbria_compute::{Flags, LaneFlags, Lanes, Real};
use fimbria_image::Status;
use pulp::{Simd, WithSimd};

use super::extremes::{Grid, N_GRID, extremes, whitened};
use super::frame::in_frame;
use super::means::{invariants, means};
use crate::dki::form::N_W;
use crate::dki::layout::{MapLayout, parameter_row};
use crate::dki::recipe::LEAST_DIFFUSIVITY;
use crate::dki::{DkiMap, KurtosisRange};
use crate::dti::lanes::arrays::{keep, scale, select};
use crate::dti::lanes::eigen::Deviator;
use crate::dti::lanes::maps::{MM2_PER_S, rebuild};
use crate::dti::lanes::stretch::Stretch;

/// Turns parameter rows into map rows, both `[row][stride]`.
pub(crate) struct MapVoxels<'a> {
    pub(crate) layout: &'a MapLayout,
    pub(crate) grid: &'a Grid,
    pub(crate) clip: KurtosisRange,
    /// Eigenvalues below this, µm²/ms, are raised to it.
    pub(crate) min_diffusivity: Option<f32>,
    /// With mean diffusivities below this, µm²/ms, kurtosis is undefined.
    pub(crate) least_mean: f32,
    pub(crate) stride: usize,
    pub(crate) n: usize,
    pub(crate) parameters: &'a [f32],
    pub(crate) maps: &'a mut [f32],
}

impl WithSimd for MapVoxels<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let lanes = Lanes::<S>::LANES;
        let mut values = vec![0.0; if self.layout.has_extremes() { N_GRID * lanes } else { 0 }];
        for offset in (0..self.n).step_by(lanes) {
            let place = Stretch { stride: self.stride, offset, n: lanes.min(self.n - offset) };
            self.write(simd, place, &mut values);
        }
    }
}

impl MapVoxels<'_> {
    /// Reads the parameters of a register of voxels and writes their maps.
    #[inline(always)]
    fn write<S: Simd>(&mut self, simd: S, place: Stretch, values: &mut [f32]) {
        let mut status = place.load(simd, self.parameters, parameter_row::STATUS);
        let mut tensor = [status; 6];
        for k in 0..6 {
            tensor[k] = place.load(simd, self.parameters, parameter_row::TENSOR + k);
        }
        let mut v = [status; N_W];
        for k in 0..N_W {
            v[k] = place.load(simd, self.parameters, parameter_row::QUARTIC + k);
        }
        let fitted = status.at_most(status.splat(Status::NotConverged.code()));
        let mut deviator = Deviator::new(tensor);
        let (mut l, e) = deviator.eigen();
        if let Some(least) = self.min_diffusivity {
            let least = status.splat(least);
            let raised = l[2].less(least) & fitted;
            if raised.any() {
                for k in 0..3 {
                    l[k] = Lanes::select(raised, l[k].max(least), l[k]);
                }
                tensor = select(raised, rebuild(l, e), tensor);
                deviator = Deviator::new(tensor);
                let constrained = status.splat(Status::Constrained.code());
                status = Lanes::select(raised, constrained.max(status), status);
            }
        }
        self.put(place, DkiMap::Fa, [deviator.fractional_anisotropy()]);
        self.put(place, DkiMap::Md, [deviator.mean * MM2_PER_S]);
        self.put(place, DkiMap::Ad, [l[0] * MM2_PER_S]);
        self.put(place, DkiMap::Rd, [(l[1] + l[2]) * 0.5 * MM2_PER_S]);
        self.put(place, DkiMap::V1, keep(fitted, e[0]));
        self.put(place, DkiMap::Tensor, scale(tensor, status.splat(MM2_PER_S)));
        self.put(place, DkiMap::S0, [place.load(simd, self.parameters, parameter_row::S0)]);
        let residual = place.load(simd, self.parameters, parameter_row::RESIDUAL);
        self.put(place, DkiMap::Residual, [residual]);
        let one = status.splat(1.0);
        let diffuses = status.splat(self.least_mean).less(deviator.mean);
        let positive = status.splat(LEAST_DIFFUSIVITY).less(l[2]) & diffuses;
        let undefined = status.splat(Status::Undefined.code());
        let of_fitted = Lanes::select(positive, status, undefined);
        self.put(place, DkiMap::Status, [Lanes::select(fitted, of_fitted, status)]);

        // W and what is made of it, where there is a mean diffusivity to divide by.
        let inverse = one / Lanes::select(diffuses, deviator.mean, one);
        let shares = [
            (DkiMap::Linearity, (l[0] - l[1]) * inverse * (1.0 / 3.0)),
            (DkiMap::Planarity, (l[1] - l[2]) * inverse * (2.0 / 3.0)),
            (DkiMap::Sphericity, l[2] * inverse),
        ];
        for (map, share) in shares {
            self.put(place, map, defined(fitted, diffuses, [share]));
        }
        let w = scale(v, inverse * inverse);
        let [mkt, kfa] = invariants(&w);
        self.put(place, DkiMap::Kurtosis, defined(fitted, diffuses, w));
        self.put(place, DkiMap::Mkt, defined(fitted, diffuses, [mkt]));
        self.put(place, DkiMap::Kfa, defined(fitted, diffuses, [kfa]));

        // What divides by the diffusivity along single directions.
        let l = select(positive, l, [one; 3]);
        let v = in_frame(&v, &e);
        let kurtoses = means(l, &v);
        for (map, kurtosis) in [DkiMap::Mk, DkiMap::Ak, DkiMap::Rk].into_iter().zip(kurtoses) {
            self.put(place, map, defined(fitted, positive, [self.clipped(kurtosis)]));
        }
        if self.layout.has_extremes() {
            let found = extremes(simd, &whitened(l, &v), self.grid, values);
            for (map, kurtosis) in [DkiMap::Kmin, DkiMap::Kmax].into_iter().zip(found) {
                self.put(place, map, defined(fitted, positive, [self.clipped(kurtosis)]));
            }
        }
    }

    #[inline(always)]
    fn clipped<R: Real>(&self, kurtosis: R) -> R {
        let KurtosisRange { low, high } = self.clip;
        kurtosis.max(kurtosis.splat(low)).min(kurtosis.splat(high))
    }

    #[inline(always)]
    fn put<S: Simd, const N: usize>(&mut self, place: Stretch, map: DkiMap, values: [Lanes<S>; N]) {
        if let Some(row) = self.layout.first_row(map) {
            for k in 0..N {
                place.store(self.maps, row + k, values[k]);
            }
        }
    }
}

/// `values` where they are defined; NaN where the voxel was fitted but they are not; 0 elsewhere.
#[inline(always)]
fn defined<S: Simd, const N: usize>(
    fitted: LaneFlags<S>,
    defined: LaneFlags<S>,
    values: [Lanes<S>; N],
) -> [Lanes<S>; N] {
    let mut out = values;
    for k in 0..N {
        let nan = values[k].splat(f32::NAN);
        let zero = values[k].splat(0.0);
        out[k] = Lanes::select(fitted, Lanes::select(defined, values[k], nan), zero);
    }
    out
}
