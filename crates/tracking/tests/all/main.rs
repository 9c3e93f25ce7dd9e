//! Tracks, visits and matrices against truth and FSL.

mod anatomy;
mod bend;
mod counted;
mod densities;
mod deterministic;
mod devices;
mod in_flight;
mod laws;
mod lesions;
mod local;
mod matrices;
mod processes;
mod reseed;
mod same;
mod several_devices;
mod statistics;
mod surfaces;
