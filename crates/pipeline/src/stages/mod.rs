//! The stages there are, one file each.

pub mod accuracy;
pub mod coefficients;
pub mod dki;
pub mod dti;
pub mod expr;
pub mod fit_maps;
pub mod hot;
pub mod load;
pub mod load_field;
pub mod peaks;
pub mod phantom;
pub mod report;
