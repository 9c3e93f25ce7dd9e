//! Ball-and-sticks sampling: where fibres may run in every voxel, and how sure that is.
//!
//! The signal is that of a ball (water that diffuses alike everywhere) and of one to four sticks
//! (water that diffuses along a direction only). Models and priors are those of FSL's bedpostx; the
//! posterior is sampled by Metropolis jumps whose moves mix faster than its own (Behrens et al. 2003 and 2007, Jbabdi
//! et al. 2012, Sotiropoulos et al. 2016). [`sample`] takes a series and gives [`Sampled`]: the
//! samples of directions and fractions that tracking takes, and maps of everything else.
//!
//! Module by module:
//!
//! * `rules` states the algorithm and its constants; everything below follows it;
//! * `start`: a tensor, then ball and sticks by Levenberg-Marquardt, from two sides;
//! * `oracle`: posterior and chain as plain scalar `f64` ([`sample_slowly`]);
//! * `lanes`: the same in `f32`, one voxel per SIMD lane;
//! * `device`: the same as a kernel, a group of items per voxel, with the bits of the lanes;
//! * `sampler` deals voxels to threads and devices, `rounds` to processes ([`sample_along`]), `chunk`
//!   keeps what is finished;
//! * `summary`: what is kept of a voxel, its fibres sorted, its effective samples counted.
//!
//! Random numbers are keyed by (seed, voxel, step): the same samples whatever the threads, the
//! processes, the chunks, the mask, and whether a processor or a device drew them. Inside b is in ms/µm² and
//! diffusivity in µm²/ms; maps are in mm²/s. Directions are in scanner RAS+ axes throughout; θ and
//! φ refer to those. This crate reads no files and prints nothing.

mod batch;
mod checks;
mod chunk;
mod device;
mod error;
mod lanes;
mod maps;
mod measure;
mod options;
mod oracle;
mod protocol;
mod rounds;
mod rules;
mod sample;
mod sampler;
mod slots;
mod start;
mod summary;

/// Another number where the same options and seed draw other samples than before: kept work of the
/// earlier ones is then not taken up.
pub const REVISION: u32 = 2;

pub use checks::checks;
pub use chunk::{CHUNK, Keeper};
pub use error::SticksError;
pub use lanes::JumpTime;
pub use measure::{sample_slowly, time_jump};
pub use options::{BadOption, Diffusivity, MOST_FIBRES, Noise, Offset, Relevance, SticksOptions};
pub use sample::{Sampled, sample, sample_along};
