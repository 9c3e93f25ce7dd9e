//! Curves, clouds of points, histograms, bars, and strips of one value of each subject.
//!
//! Plots have no ground of their own and take the text colour of the page, light or dark. Points
//! that are not finite are left out.

mod bars;
mod frame;
mod histogram;
mod scatter;
mod strip;
mod xy;

pub use bars::bars;
pub use frame::{Axes, Axis, Guide};
pub use histogram::{Sample, histogram};
pub use scatter::scatter;
pub use strip::{Dot, strip};
pub use xy::{Marks, Series, xy};
