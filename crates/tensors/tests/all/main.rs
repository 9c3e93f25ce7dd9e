//! Kernels, peaks and bases.

mod devices;
mod forms;
mod locked;
mod nvrtc;
mod peaks;
mod sh_peers;
