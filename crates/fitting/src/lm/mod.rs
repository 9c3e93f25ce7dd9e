//! Levenberg-Marquardt for many small independent problems; [`rules`] states the algorithm.

pub mod rules;
