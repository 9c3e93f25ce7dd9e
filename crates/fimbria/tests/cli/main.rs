//! The program as a user meets it: one behaviour per test.

mod bench;
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
mod life;
mod memory;
#[cfg(feature = "mpi")]
mod mpi;
mod options;
mod outputs;
mod peaks;
mod phantom;
mod probtrackx2;
mod qsm;
mod qsm_options;
mod run;
mod sticks;
mod track;
mod tractogram;
mod util;
mod volumes;
