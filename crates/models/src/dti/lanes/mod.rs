//! The tensor fit in `f32`, one voxel per SIMD lane.
//!
//! A [`Batch`] of as many voxels as a register has lanes goes through all passes of its method
//! while its samples stay in the first-level cache. Every operation acts on each lane alone, so
//! that a voxel's result does not depend on its neighbours, the number of threads or, where
//! multiply-add is fused, the width of the register.

pub(crate) mod arrays;
mod batch;
pub(crate) mod eigen;
mod linear;
pub(crate) mod maps;
mod nonlinear;
mod normal;
mod robust;
mod scratch;
pub(crate) mod stretch;

use fimbria_compute::{Flags, LaneFlags, Lanes, Real};
use fimbria_image::Status;
use pulp::{Simd, WithSimd};

use self::batch::{Batch, Params, Samples};
pub(crate) use self::linear::REFINEMENTS;
pub(crate) use self::maps::{MM2_PER_S, needs_eigen};
use self::robust::Scale;
use self::scratch::Scratch;
use self::stretch::Stretch;
use super::layout::{MapLayout, parameter_row};
use super::recipe::{N_PARAMS, Recipe, Refinement};
use super::tables::Tables;

/// The limits of the arithmetic, by the names that the kernels know them by.
pub(crate) const LIMITS: [(&str, f32); 5] = [
    ("LARGEST_LOG", batch::LARGEST_LOG),
    ("SMALLEST", batch::SMALLEST),
    ("LARGEST_MEAN", batch::LARGEST_MEAN),
    ("SMALLEST_PIVOT", normal::SMALLEST_PIVOT),
    ("DOUBTFUL_PIVOT", normal::DOUBTFUL_PIVOT),
];

/// Fits voxels: `signals` is `[volume][n_voxels]`, `parameters` is `[row][n_voxels]`.
pub(crate) struct FitVoxels<'a> {
    pub(crate) tables: &'a Tables,
    pub(crate) recipe: &'a Recipe,
    /// Compute the residual row; it costs another prediction of every sample.
    pub(crate) residual: bool,
    pub(crate) n_voxels: usize,
    pub(crate) signals: &'a [f32],
    pub(crate) parameters: &'a mut [f32],
}

/// Turns parameter rows into map rows.
pub(crate) struct MapVoxels<'a> {
    pub(crate) layout: &'a MapLayout,
    pub(crate) recipe: &'a Recipe,
    pub(crate) n_voxels: usize,
    pub(crate) parameters: &'a [f32],
    pub(crate) maps: &'a mut [f32],
}

impl WithSimd for MapVoxels<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for offset in (0..self.n_voxels).step_by(Lanes::<S>::LANES) {
            let Self { layout, recipe, n_voxels, parameters, .. } = self;
            let n = Lanes::<S>::LANES.min(n_voxels - offset);
            let place = Stretch { stride: n_voxels, offset, n };
            maps::write(simd, layout, recipe, parameters, self.maps, place);
        }
    }
}

impl WithSimd for FitVoxels<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let n_volumes = self.tables.n_volumes();
        let lanes = Lanes::<S>::LANES;
        let mut fitter = Fitter {
            simd,
            tables: self.tables,
            recipe: self.recipe,
            residual: self.residual,
            scratch: Scratch::new(n_volumes, lanes),
        };
        let mut packed = vec![0.0; n_volumes * lanes];
        let mut doubtful = Vec::new();
        let n_voxels = self.n_voxels;
        for offset in (0..n_voxels).step_by(lanes) {
            let n = lanes.min(n_voxels - offset);
            let samples = if n == lanes {
                Samples { data: &self.signals[offset..], stride: n_voxels }
            } else {
                // The last voxels do not fill a register.
                for (row, packed) in
                    self.signals.chunks_exact(n_voxels).zip(packed.chunks_exact_mut(lanes))
                {
                    packed[..n].copy_from_slice(&row[offset..]);
                }
                Samples { data: &packed, stride: lanes }
            };
            let place = Stretch { stride: n_voxels, offset, n };
            let mut to = Rows { data: &mut *self.parameters, place };
            let outliers = fitter.fit(samples, &mut to);
            doubtful.extend((0..n).filter(|&l| outliers[l] != 0.0).map(|l| offset + l));
        }
        // Voxels with outliers need many fits: they fill registers of their own.
        let Refinement::Robust { sigma, own_scale_in_weights } = self.recipe.refinement else {
            return;
        };
        let scale = Scale { sigma, own_scale_in_weights };
        let mut rows = vec![0.0; parameter_row::COUNT * lanes];
        for voxels in doubtful.chunks(lanes) {
            let n = voxels.len();
            let gather = |from: &[f32], to: &mut [f32]| {
                for (row, to) in from.chunks_exact(n_voxels).zip(to.chunks_exact_mut(lanes)) {
                    for (value, &voxel) in to.iter_mut().zip(voxels) {
                        *value = row[voxel];
                    }
                    to[n..].fill(0.0);
                }
            };
            gather(self.signals, &mut packed);
            gather(self.parameters, &mut rows);
            let samples = Samples { data: &packed, stride: lanes };
            let place = Stretch { stride: lanes, offset: 0, n: lanes };
            let mut to = Rows { data: &mut rows, place };
            fitter.fit_again(samples, scale, &mut to);
            for (row, values) in
                self.parameters.chunks_exact_mut(n_voxels).zip(rows.chunks_exact(lanes))
            {
                for (&voxel, &value) in voxels.iter().zip(values) {
                    row[voxel] = value;
                }
            }
        }
    }
}

/// The parameter rows of a batch.
struct Rows<'a> {
    data: &'a mut [f32],
    place: Stretch,
}

/// The most lanes of any level.
const MAX_LANES: usize = 16;

/// What all bundles share.
struct Fitter<'a, S> {
    simd: S,
    tables: &'a Tables,
    recipe: &'a Recipe,
    residual: bool,
    scratch: Scratch,
}

impl<S: Simd> Fitter<'_, S> {
    /// Fits one batch and writes its parameters; not 0 in the lanes that a robust fit must look
    /// at again.
    #[inline(always)]
    fn fit(&mut self, samples: Samples<'_>, to: &mut Rows<'_>) -> [f32; MAX_LANES] {
        let Self { simd, tables, recipe, .. } = *self;
        let mut arrays = self.scratch.arrays();
        let batch = Batch::new(simd, samples, tables, recipe, &mut arrays);
        let mut outliers = [0.0; MAX_LANES];
        if !batch.good.any() {
            // Background, where there is no mask.
            let none = [batch.splat(0.0); N_PARAMS];
            self.finish(&batch, samples, &none, batch.good, batch.good, to);
            return outliers;
        }
        let (mut p, singular) = linear::fit(&batch, tables, recipe, &mut arrays);
        let fitted = batch.good & !singular;
        let mut rested = batch.good;
        if recipe.refinement != Refinement::None {
            (p, rested) = nonlinear::fit::<S, false>(&batch, tables, &p, fitted, &mut arrays);
        }
        if let Refinement::Robust { sigma, own_scale_in_weights } = recipe.refinement {
            let scale = Scale { sigma, own_scale_in_weights };
            let found = robust::has_outliers(&batch, tables, scale, &p, &mut arrays) & fitted;
            let (one, zero) = (batch.splat(1.0), batch.splat(0.0));
            Lanes::select(found, one, zero).store_partial(&mut outliers);
        }
        self.finish(&batch, samples, &p, singular, rested, to);
        outliers
    }

    /// The robust fit of one batch, which starts from the parameters already there.
    #[inline(always)]
    fn fit_again(&mut self, samples: Samples<'_>, scale: Scale, to: &mut Rows<'_>) {
        let Self { simd, tables, recipe, .. } = *self;
        let mut arrays = self.scratch.arrays();
        let batch = Batch::new(simd, samples, tables, recipe, &mut arrays);
        let relative_s0 = to.place.load(simd, to.data, parameter_row::S0) * batch.scale;
        let mut p = [relative_s0; N_PARAMS];
        for k in 1..N_PARAMS {
            p[k] = to.place.load(simd, to.data, parameter_row::TENSOR + k - 1);
        }
        p[0] = fimbria_compute::math::ln(relative_s0.max(batch.splat(f32::MIN_POSITIVE)));
        let (p, rested) = robust::fit(&batch, tables, scale, &p, &mut arrays);
        self.finish(&batch, samples, &p, !batch.good, rested, to);
    }

    /// Writes the rows of one batch; zeros where nothing could be fitted.
    #[inline(always)]
    fn finish(
        &self,
        batch: &Batch<S>,
        samples: Samples<'_>,
        p: &Params<S>,
        singular: LaneFlags<S>,
        rested: LaneFlags<S>,
        to: &mut Rows<'_>,
    ) {
        let zero = batch.splat(0.0);
        let code = |status: Status| batch.splat(status.code());
        let fitted = batch.good & !singular;
        let mut s0 = fimbria_compute::math::exp(p[0]) * batch.mean;
        if self.recipe.s0_at_least_mean {
            s0 = s0.max(batch.mean);
        }
        let Rows { data, place } = to;
        place.store(data, parameter_row::S0, Lanes::select(fitted, s0, zero));
        for k in 1..N_PARAMS {
            place.store(data, parameter_row::TENSOR + k - 1, Lanes::select(fitted, p[k], zero));
        }
        let residual = match self.residual && fitted.any() {
            true => batch.residual(samples, self.tables, p),
            false => zero,
        };
        place.store(data, parameter_row::RESIDUAL, Lanes::select(fitted, residual, zero));
        place.store(data, parameter_row::RAISED, batch.raised);
        let status = Lanes::select(rested, code(Status::Fitted), code(Status::NotConverged));
        let status = Lanes::select(singular, code(Status::Singular), status);
        let status = Lanes::select(batch.good, status, code(Status::BadSignal));
        place.store(data, parameter_row::STATUS, status);
    }
}
