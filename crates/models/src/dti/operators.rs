//! The tensor fit as operators on the host: signals to parameters, parameters to maps.
//!
//! Scalar `f64` ([`ScalarFit`], [`ScalarMaps`]) and `f32` lanes ([`LanesFit`], [`LanesMaps`]);
//! the device's are in [`device`](super::device). Whatever drives them is generic over
//! [`Operator`] and cannot tell them apart. They work in the caller's thread: a driver cuts its
//! voxels into tiles and runs tiles side by side.

use fimbria_compute::operator::Operator;
use fimbria_compute::{HostError, HostSpace, Workers};
use fimbria_image::Status;

use super::lanes::{FitVoxels, MM2_PER_S, MapVoxels};
use super::layout::parameter_row;
use super::oracle::{self, Parameters, TensorMaps};
use super::{DtiMap, Problem};

/// An operator on the host, of vectors that are a part of anything.
pub(crate) trait OnSlices: Operator {
    /// `y = A(x)`.
    ///
    /// # Panics
    /// Where a vector is not of its space.
    fn apply_to(&self, x: &[f32], y: &mut [f32]);
}

/// Two spaces of `n_voxels` voxels and the problem they belong to.
macro_rules! operator {
    ($(#[$doc:meta])* $name:ident: $from:ident -> $to:ident, $apply:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<'a> {
            problem: &'a Problem,
            n_voxels: usize,
            domain: HostSpace<'a>,
            range: HostSpace<'a>,
        }

        impl<'a> $name<'a> {
            /// For `n_voxels` voxels.
            pub fn new(problem: &'a Problem, workers: &'a Workers, n_voxels: usize) -> Self {
                Self {
                    problem,
                    n_voxels,
                    domain: HostSpace::new(workers, problem.$from() * n_voxels),
                    range: HostSpace::new(workers, problem.$to() * n_voxels),
                }
            }
        }

        impl<'a> Operator for $name<'a> {
            type Domain = HostSpace<'a>;
            type Range = HostSpace<'a>;

            fn domain(&self) -> &HostSpace<'a> {
                &self.domain
            }

            fn range(&self) -> &HostSpace<'a> {
                &self.range
            }

            /// # Panics
            /// Where a vector is not of its space.
            fn apply(&self, x: &Vec<f32>, y: &mut Vec<f32>) -> Result<(), HostError> {
                self.apply_to(x, y);
                Ok(())
            }
        }

        impl OnSlices for $name<'_> {
            fn apply_to(&self, x: &[f32], y: &mut [f32]) {
                assert_eq!(x.len(), self.problem.$from() * self.n_voxels, "signals or parameters");
                assert_eq!(y.len(), self.problem.$to() * self.n_voxels, "parameters or maps");
                self.$apply(x, y);
            }
        }
    };
}

operator! {
    /// Signals to parameters in `f64`, one voxel after the other.
    ScalarFit: n_volumes -> n_parameter_rows, fit
}
operator! {
    /// Parameters to maps in `f64`, one voxel after the other.
    ScalarMaps: n_parameter_rows -> n_map_rows, map
}
operator! {
    /// Signals to parameters in `f32`, one voxel per SIMD lane.
    LanesFit: n_volumes -> n_parameter_rows, fit
}
operator! {
    /// Parameters to maps in `f32`, one voxel per SIMD lane.
    LanesMaps: n_parameter_rows -> n_map_rows, map
}

impl ScalarFit<'_> {
    fn fit(&self, signals: &[f32], parameters: &mut [f32]) {
        let mut samples = vec![0.0; self.problem.n_volumes()];
        let n = self.n_voxels;
        for voxel in 0..n {
            let fitted = fit_voxel(self.problem, signals, n, voxel, &mut samples);
            for (row, value) in fitted.into_iter().enumerate() {
                parameters[row * n + voxel] = value;
            }
        }
    }
}

/// Fits one voxel of `[volume][n]` in `f64`: the values of its parameter rows.
pub(crate) fn fit_voxel(
    problem: &Problem,
    signals: &[f32],
    n: usize,
    voxel: usize,
    samples: &mut [f64],
) -> [f32; parameter_row::COUNT] {
    for (sample, row) in samples.iter_mut().zip(signals.chunks_exact(n)) {
        *sample = f64::from(row[voxel]);
    }
    let (Parameters { s0, tensor, residual, status }, raised) =
        oracle::fit(samples, &problem.design, &problem.recipe);
    let mut rows = [0.0; parameter_row::COUNT];
    rows[parameter_row::S0] = s0 as f32;
    for k in 0..6 {
        rows[parameter_row::TENSOR + k] = tensor[k] as f32;
    }
    rows[parameter_row::RESIDUAL] = if problem.wants_residual() { residual as f32 } else { 0.0 };
    rows[parameter_row::RAISED] = raised as f32;
    rows[parameter_row::STATUS] = status.code();
    rows
}

impl ScalarMaps<'_> {
    fn map(&self, parameters: &[f32], maps: &mut [f32]) {
        write_maps(self.problem, self.n_voxels, parameters, maps);
    }
}

/// Maps `[row][n]` from parameters `[row][n]`, in `f64`.
pub(crate) fn write_maps(problem: &Problem, n: usize, parameters: &[f32], maps: &mut [f32]) {
    for voxel in 0..n {
        let read = |row: usize| f64::from(parameters[row * n + voxel]);
        let status = Status::from_code(read(parameter_row::STATUS) as f32);
        let tensor = std::array::from_fn(|k| read(parameter_row::TENSOR + k));
        let there = matches!(status, Status::Fitted | Status::NotConverged);
        let found = there.then(|| TensorMaps::new(tensor, &problem.recipe));
        let mut put = |map: DtiMap, values: &[f64]| {
            if let Some(row) = problem.map_row(map) {
                for (k, &value) in values.iter().enumerate() {
                    maps[(row + k) * n + voxel] = value as f32;
                }
            }
        };
        let mm2_per_s = |x: f64| x * f64::from(MM2_PER_S);
        match found {
            Some(t) => {
                let [l1, l2, l3] = t.eigenvalues.map(mm2_per_s);
                let [v1, v2, v3] = &t.eigenvectors;
                let scalars = [
                    (DtiMap::Fa, t.fa),
                    (DtiMap::Md, mm2_per_s(t.md)),
                    (DtiMap::Ad, mm2_per_s(t.ad)),
                    (DtiMap::Rd, mm2_per_s(t.rd)),
                    (DtiMap::L1, l1),
                    (DtiMap::L2, l2),
                    (DtiMap::L3, l3),
                    (DtiMap::Mo, t.mo),
                    (DtiMap::S0, read(parameter_row::S0)),
                    (DtiMap::Residual, read(parameter_row::RESIDUAL)),
                ];
                for (map, value) in scalars {
                    put(map, &[value]);
                }
                put(DtiMap::V1, v1);
                put(DtiMap::V2, v2);
                put(DtiMap::V3, v3);
                put(DtiMap::Tensor, &t.tensor.map(mm2_per_s));
            }
            None => {
                for map in DtiMap::ALL {
                    put(map, &[0.0; 6][..map.n_volumes()]);
                }
            }
        }
        let status = match found {
            Some(t) if t.clipped && status == Status::Fitted => Status::Constrained,
            Some(t) if t.is_negative && status == Status::Fitted => Status::NegativeDiffusion,
            _ => status,
        };
        put(DtiMap::Status, &[f64::from(status.code())]);
    }
}

impl LanesFit<'_> {
    fn fit(&self, signals: &[f32], parameters: &mut [f32]) {
        self.domain.workers().simd().run(FitVoxels {
            tables: &self.problem.tables,
            recipe: &self.problem.recipe,
            residual: self.problem.wants_residual(),
            n_voxels: self.n_voxels,
            signals,
            parameters,
        });
    }
}

impl LanesMaps<'_> {
    fn map(&self, parameters: &[f32], maps: &mut [f32]) {
        self.domain.workers().simd().run(MapVoxels {
            layout: &self.problem.layout,
            recipe: &self.problem.recipe,
            n_voxels: self.n_voxels,
            parameters,
            maps,
        });
    }
}
