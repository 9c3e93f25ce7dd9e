//! Samples against truth, FSL and each other.

mod common;
mod devices;
mod models;
mod processes;
mod sample;
mod xfibres;
