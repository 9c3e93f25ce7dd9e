//! The diffusion tensor: ln S = ln S0 - b gᵀDg (Basser 1994).
//!
//! [`fit`] takes a series, a mask and a gradient table, and gives the [`Fitted`](crate::Fitted) maps.
//! [`DtiOptions`] choose the [`Method`] and, with [`Compat`], whose numerics to follow.
//!
//! The work is a pair of [operators](fimbria_compute::operator::Operator) made from a [`Problem`]:
//! signals to parameters, parameters to maps. Each exists in scalar `f64` and in `f32` lanes
//! ([`operators`]), and for linear fits on devices ([`device`]); lanes that fuse multiply-add and
//! devices give the same bits. What a method and a compatibility choice mean in numbers stands in
//! one table, `recipe`, that all of them read.
//!
//! Other log-linear models rest on [`fimbria_fitting::linear`], whose number of unknowns is known at run
//! time only. The tensor does not: its least squares start non-linear ones in the same registers, and
//! where samples are centred and solutions refined is another place, so that the last digits of every map
//! would change. Speed is no reason: the example `dti_by_linear` runs both, at 6.81 million voxels a second
//! each (two threads), and a third of the numbers differ, by 1.2e-7 µm²/ms at most.

mod design;
mod deviation;
pub mod device;
mod error;
mod fit;
pub(crate) mod lanes;
pub(crate) mod layout;
mod map;
pub mod operators;
mod options;
pub(crate) mod oracle;
mod problem;
mod recipe;
mod tables;
mod work;

pub use design::Design;
pub(crate) use design::distinct_directions;
pub use error::DtiError;
pub use fit::fit;
pub use map::DtiMap;
pub use options::{Compat, DtiOptions, Method, Precision};
pub use problem::Problem;
pub use work::LeastWork;
