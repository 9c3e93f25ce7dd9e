//! The stages there are, one file each.

pub mod accuracy;
pub mod b0;
pub mod compare;
pub mod connectome;
pub mod contents;
pub mod convert;
pub mod doubts;
pub mod eigen;
pub mod field;
pub mod fits;
pub mod fod_field;
pub mod gre;
pub mod guide;
pub mod head;
pub mod life;
pub mod load;
pub mod load_local_field;
pub mod load_orientations;
pub mod peaks;
pub mod phantom;
pub mod qsm;
pub mod report;
pub mod sticks;
pub mod tensors;
pub mod track;
pub mod volumes;
