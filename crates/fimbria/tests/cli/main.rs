//! The program as a user meets it: one behaviour per test.

mod convert;
mod faults;
mod fit_dti;
mod help;
mod info;
mod options;
mod outputs;
mod util;
