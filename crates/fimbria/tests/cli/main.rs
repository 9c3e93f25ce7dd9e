//! The program as a user meets it: one behaviour per test.

mod bench;
mod bids;
mod circles;
mod compare;
mod contents;
mod convert;
mod demo;
mod devices;
mod dqsm_files;
mod eigen;
mod faults;
mod field;
mod fit_curves;
mod fit_dki;
mod fit_dti;
mod fit_expr;
mod follow;
mod help;
mod hostile;
mod info;
mod interrupt;
mod kills;
mod life;
#[cfg(target_os = "linux")]
mod life_devices;
mod memory;
#[cfg(feature = "mpi")]
mod mpi;
#[cfg(target_os = "linux")]
mod null_gpu;
mod options;
mod outputs;
mod peaks;
mod phantom;
mod probtrackx2;
mod promises;
mod provenance;
mod qsm;
mod qsm_options;
mod quality;
mod records;
mod replay;
mod report;
mod run;
mod run_plan;
mod sift2;
mod snapshots;
mod sticks;
mod track;
mod tract;
mod tractogram;
mod util;
mod volumes;
