//! This crate's kernels against their twins, for `fimbria devices --check`.

use fimbria_compute::check::Check;

use crate::device::{check, short};
use crate::{Diffusivity, Noise, Offset};

/// The checks of this crate's kernels.
pub fn checks() -> Vec<Check> {
    let of = short;
    vec![
        check(
            "sticks (one diffusivity)",
            of(Diffusivity::Single, Noise::Gaussian, Offset::None),
            false,
        ),
        check(
            "sticks (gamma, f0)",
            of(Diffusivity::Gamma, Noise::Gaussian, Offset::Relevance),
            true,
        ),
        check(
            "sticks (zeppelin, Rician)",
            of(Diffusivity::Zeppelin, Noise::Rician, Offset::Flat),
            false,
        ),
    ]
}
