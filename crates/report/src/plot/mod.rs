//! Curves, clouds of points, histograms, bars, matrices, samples of q-space, and strips of one value of each
//! subject.
//!
//! Plots have no ground of their own and take the text colour of the page, light or dark. Points
//! that are not finite are left out.

mod bars;
mod frame;
mod histogram;
mod matrix;
mod q_space;
mod scatter;
mod strip;
mod xy;

pub use bars::bars;
pub use frame::{Axes, Axis, Guide};
pub use histogram::{Sample, histogram};
pub use matrix::{Cells, matrix};
pub use q_space::q_space;
pub use scatter::scatter;
pub use strip::{Dot, strip};
pub use xy::{Marks, Series, xy};
