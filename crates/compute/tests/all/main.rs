//! Devices, queues and kernels as a user of the crate meets them.

mod checks;
mod cuda;
mod device;
mod in_hand;
mod inventory;
mod locked;
mod measure;
mod metered;
mod nvrtc;
mod queue;
mod races;
mod refused;
