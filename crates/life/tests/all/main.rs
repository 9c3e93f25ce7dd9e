//! Products and weights against their oracles, truth and real data.

mod devices;
mod golden;
mod nvrtc;
mod phantom;
mod weigh;
