//! bedpostX folders: the samples that FSL's bedpostx writes and probtrackx2, XTRACT and FSLeyes
//! read.
//!
//! | file | holds |
//! |---|---|
//! | `merged_th1samples`, `merged_ph1samples`, `merged_f1samples`, `...2...` | a volume per sample: polar angle, azimuth (radians), fraction |
//! | `mean_th1samples`, `mean_ph1samples`, `mean_f1samples`, `mean_fsumsamples` | their means |
//! | `dyads1`, `dyads1_dispersion` | principal eigenvector of the mean of v vᵀ; 1 - its eigenvalue |
//! | `dyads2_thr0.05`, `dyads2_thr0.05_modf2` | the further dyads where the mean of their f is at least 0.05; the same times mean f2 / mean f1 |
//! | `nodif_brain_mask` | where there are samples |
//!
//! In place of the merged images there may be one file of half precision, which FSL cannot read:
//! [`write_half`].
//!
//! Angles and vectors are in voxel axes, x reversed where det(affine) > 0
//! ([`BvecFrame::Fsl`](crate::BvecFrame)): v = (sin θ cos φ, sin θ sin φ, cos θ). They are turned
//! to scanner axes here, and only here. θ or φ of exactly 0 means "no direction" to FSL, so that
//! is never written for a stick that has one.

mod dyads;
mod error;
mod half;
mod maps;
mod read;
mod write;

pub use dyads::Dyads;
pub use error::BedpostxError;
pub use half::{half_file, write_half};
pub use read::{read_bedpostx, sample_files};
pub use write::{Merged, bedpostx_files, write_bedpostx};

#[cfg(test)]
mod tests;
