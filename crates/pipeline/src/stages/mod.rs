//! The stages there are, one file each.

pub mod accuracy;
pub mod dti;
pub mod fit_maps;
pub mod load;
pub mod phantom;
pub mod report;
