//! Quantitative susceptibility mapping: from the field in a gradient-echo scan to magnetic
//! susceptibility in ppm, guided by diffusion.
//!
//! * [`Geometry`]: voxels and B0; the kernels [`sphere_field`] and [`Cylinder`] as published;
//!   [`Lattice`]: what is added to them in voxels that are no cubes;
//! * [`FieldModel`]: which voxels are solved for and as what [`Shape`] ([`shapes_of`] takes it
//!   from FA·V1), and where the field is known;
//! * [`oracle`]: the model as a double loop in f64; [`HostOperator`]: the same by SIMD and
//!   threads, dense as published or fast; [`device`]: the same on GPUs; [`Distributed`]: over
//!   several processes;
//! * [`Laplacian`]: the penalty;
//! * [`solver`]: Landweber as published and conjugate gradients, over any such operators;
//! * [`tensor`]: the field of susceptibility tensors, and tensors from the field;
//! * [`dqsm`]: all of these as one function; [`variation`]: total variation, guided or not;
//!   [`nonlinear`]: steps downhill of the phase itself; [`ilsqr`]: least squares and their streaks taken
//!   off; [`fourier`]: further methods without guidance; [`metrics`]: how far a map is from the truth;
//! * [`phase`] and [`background`]: from the scanner's phase to the local field;
//! * [`dqsm_files`]: the original program's files, and [`Published`] its parameters.
//!
//! Susceptibility and field are in ppm (field relative to B0), voxel lists ascending linear
//! indices, x fastest. Directions inside this crate are in voxel axes, B0's included, so that
//! oblique volumes are not resampled. This crate knows nothing of file names, commands or models
//! of diffusion.

pub mod background;
mod checks;
mod convolution;
pub mod device;
mod direct;
pub mod dqsm;
pub mod dqsm_files;
mod error;
pub mod fourier;
mod geometry;
pub mod ilsqr;
mod kernel;
mod laplacian;
mod lattice;
pub mod metrics;
mod model;
mod noise;
pub mod nonlinear;
mod operator;
pub mod oracle;
mod pairs;
pub mod phase;
mod published;
mod shared;
pub mod solver;
pub mod tensor;
pub mod variation;

pub use checks::checks;
pub use error::QsmError;
pub use geometry::{Geometry, dir_vox};
pub use kernel::{Cylinder, RECEIVER_RADIUS, dipole_fields, sphere_field};
pub use laplacian::{Edges, Laplacian};
pub use lattice::Lattice;
pub use model::{FA_THRESHOLD, FieldModel, Shape, shapes_of, whole_length};
pub use noise::noise_of_field;
pub use operator::{Distributed, DoubleOperator, HostOperator, Products, Share};
pub use published::{PUBLISHED_SUPPORT, Published};
pub use shared::{SeveralDevices, Shared};
