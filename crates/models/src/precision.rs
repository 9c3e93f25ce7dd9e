//! A precision by the names that solvers and kernels know.

use fimbria_compute::SimdLevel;
use fimbria_fitting::expr;
use fimbria_fitting::lm::Arithmetic;

use crate::dti::Precision;
use crate::voxelwise::Cost;

/// That of kernels.
pub(crate) fn of_kernels(precision: Precision) -> expr::Precision {
    match precision {
        Precision::Single => expr::Precision::Single,
        Precision::Double => expr::Precision::Double,
    }
}

/// The arithmetic of a thread.
pub(crate) fn arithmetic_of(precision: Precision, simd: SimdLevel) -> Arithmetic {
    match precision {
        Precision::Single => Arithmetic::Single(simd),
        Precision::Double => Arithmetic::Double,
    }
}

/// What a curve costs that costs this in single precision.
pub(crate) fn cost_in(precision: Precision, single: Cost) -> Cost {
    match precision {
        Precision::Single => single,
        Precision::Double => single.in_double(),
    }
}
