//! Every maximum of a homogeneous form in every voxel: fibre directions.
//!
//! [`find_peaks`] takes an image of unique entries (or, [`find_peaks_sh`], of spherical harmonics)
//! of even order 4 to 12. In each voxel the form is evaluated along evenly spread directions of
//! the half sphere (one small matrix product for many voxels); those that exceed all their
//! neighbours are starts, which climb by safeguarded Newton steps on the sphere from
//! B = A x^(m-2). A maximum counts only where the Hessian on the tangent plane is negative
//! definite: the certificate of Kolda and Mayo (2011, SIMAX 32:1095, section 4). Why not SS-HOPM from
//! every direction: it ends in the same maxima, in which most starts agree, at many times the cost.
//!
//! [`low_rank`] takes forms apart into rank-one terms instead, whose directions stay apart where
//! maxima have merged.

mod ascent;
mod checks;
mod device;
mod directions;
mod error;
mod find;
mod find_on_devices;
pub mod low_rank;
mod matrix;
mod options;
mod scan;
mod select;
mod tile;

pub(crate) use checks::checks;
pub(crate) use directions::Directions;
pub use error::PeaksError;
pub use find::{ORDERS, PeakCounts, Peaks, find_peaks, find_peaks_sh};
pub use options::{PeakOptions, PeakStatus};
