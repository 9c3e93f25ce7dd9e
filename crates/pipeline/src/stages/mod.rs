//! The stages there are, one file each.

pub mod accuracy;
pub mod coefficients;
pub mod curve;
pub mod dki;
pub mod dki1d;
pub mod dti;
pub mod expr;
pub mod field;
pub mod fit_maps;
pub mod fod;
pub mod fod_field;
pub mod hot;
pub mod ivim;
pub mod life;
pub mod load;
pub mod load_field;
pub mod load_local_field;
pub mod mono;
pub mod peaks;
pub mod phantom;
pub mod qsm;
pub mod report;
pub mod sticks;
pub mod stremi;
pub mod stremi1d;
pub mod track;
