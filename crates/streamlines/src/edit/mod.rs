//! Streamlines chosen and changed, chunk by chunk.
//!
//! * [`Regions`]: what each streamline meets, of many regions at once;
//! * [`Rules`]: which streamlines are kept by what they meet, their length and their weight;
//! * [`Chosen`]: one bit for each streamline of a tractogram, and what becomes of groups;
//! * [`Reshape`]: points made evenly spaced, or as few as a tolerance allows;
//! * [`Joined`]: several tractograms as one.

mod chosen;
mod join;
mod places;
mod regions;
mod reshape;
mod rules;

pub use chosen::Chosen;
pub use join::Joined;
pub use places::{LONGEST_PIECE_MM, Place, along, compressed, evenly};
pub use regions::{Bring, Met, RegionError, Regions};
pub use reshape::{Reshape, ReshapeError};
pub use rules::Rules;
