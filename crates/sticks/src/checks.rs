//! This crate's kernels against their twins, for `fimbria devices --check`.

use fimbria_compute::check::Check;

use crate::device::{GROUP_BYTES, check, short};
use crate::{Diffusivity, Noise, Offset};

/// The checks of this crate's kernels.
pub fn checks() -> Vec<Check> {
    let of = short;
    vec![
        check(
            "sticks (one diffusivity)",
            of(Diffusivity::Single, Noise::Gaussian, Offset::None),
            false,
            GROUP_BYTES,
        ),
        check(
            "sticks (gamma, f0)",
            of(Diffusivity::Gamma, Noise::Gaussian, Offset::Relevance),
            true,
            GROUP_BYTES,
        ),
        check(
            "sticks (zeppelin, Rician)",
            of(Diffusivity::Zeppelin, Noise::Rician, Offset::Flat),
            false,
            GROUP_BYTES,
        ),
        // As where there are more measurements than a group's memory holds.
        check(
            "sticks (rows of each item's own)",
            of(Diffusivity::Zeppelin, Noise::Gaussian, Offset::None),
            true,
            0,
        ),
    ]
}
