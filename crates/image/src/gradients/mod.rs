//! The diffusion weighting of every volume: reading, checking, writing and finding its files.
//!
//! A [`GradientTable`] holds b in s/mm² and unit directions in scanner RAS+ axes. Every reader
//! turns its file's directions into that frame once, checks the table as a whole, and returns it
//! in a [`GradientsRead`] beside the [`Repair`]s it made: what could not be meant otherwise is
//! repaired and said, everything else is a [`GradientError`] with the offending values.
//!
//! | text | one file per format | directions are in |
//! |---|---|---|
//! | FSL bvals and bvecs | `fsl` | a [`BvecFrame`](crate::BvecFrame), FSL's own by default |
//! | MRtrix table (x y z b), `dw_scheme` of a .mif | `mrtrix` | scanner axes |
//! | b-matrices | `bmatrix` | a [`BvecFrame`](crate::BvecFrame) |

mod assemble;
mod bmatrix;
mod deviation;
mod error;
mod find;
mod fsl;
mod mrtrix;
mod repair;
mod shells;
mod table;
mod text;

pub use assemble::{BScaling, GradientsRead, TableOptions};
pub use deviation::GradientDeviation;
pub use error::GradientError;
pub use find::{GradientFiles, find_beside, of_image};
pub use fsl::FslGradients;
pub use repair::Repair;
pub use shells::Shell;
pub use table::GradientTable;
