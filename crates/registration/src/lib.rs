//! Volumes of a diffusion series laid on each other, and images laid on images.
//!
//! A series, or several of one head as one, is corrected in rounds. Each round predicts every volume from the others, lays all volumes
//! on their predictions, and looks for slices that lost their signal; the last one resamples the measured
//! volumes once.
//!
//! * [`Spline`]: a volume between its voxels;
//! * [`Place`]: where a volume's voxels were measured: rigid motion, then a shift along the phase
//!   encoding axis by a field of harmonic polynomials;
//! * [`Scan`]: volumes that were measured in one go; several are corrected together;
//! * [`Distortion`]: how far the head's own field, or a warp, shifts what it shows, in all volumes alike;
//! * `view`: the way from the head to a volume, of all these together;
//! * `predict`: what each volume should be, by a Gaussian process over q-space;
//! * `joint`: all volumes laid on their predictions at once, by Gauss-Newton steps with residuals cut off; its `prior`:
//!   heads change little from volume to volume, and fields of eddy currents follow the gradients;
//! * [`continued`]: a map of a field beyond where it is known;
//! * `outliers`: slices without signal;
//! * [`correct`]: the rounds; [`Corrected`] is what they find;
//! * [`align`]: an image on another of any contrast, by mutual information;
//! * [`image_onto`], [`labels_onto`]: an image on the grid of another, by a way that is known.
//!
//! Places are in mm along the voxel axes from the middle of the grid, unless a name says otherwise.
//! Fields are in mm of shift. This crate knows no files and no commands.

mod align;
mod continued;
mod correct;
mod distortion;
mod joint;
mod onto;
mod outliers;
mod place;
mod predict;
mod region;
mod resample;
mod scan;
mod smooth;
mod spline;
mod view;

pub use align::{AlignOptions, align, turn_and_shift};
pub use continued::continued;
pub use correct::{CorrectOptions, Corrected, Motion, bytes_needed, correct};
pub use distortion::Distortion;
pub use onto::{Way, image_onto, labels_onto, shares_onto};
pub use outliers::Outlier;
pub use place::{Eddy, Lattice, Place, rotation};
pub use scan::{Scan, are_alike, turned_deg};
pub use smooth::smooth;
pub use spline::Spline;
pub use view::Extent;
