//! The stages there are, one file each.

pub mod dti;
pub mod load;
