//! Figures of maps and the HTML page that shows them.
//!
//! * [`figure`]: slices of volumes as SVG. Scalar mosaics with a colour bar, direction-coded
//!   colour, sticks along fibre directions, streamlines, status maps, differences to a truth.
//! * [`plot`]: curves, clouds of points, histograms and bars as SVG.
//! * [`Page`]: a self-contained HTML document of verdicts, sections, figures, tables and warnings;
//!   [`Scene`]: maps and streamlines in it to look around in.
//!
//! Pictures are drawn in the neurological convention, the subject's left on the left, whatever
//! the storage order of the volume; every panel carries the letters of its sides. Voxels become
//! small PNG images inside the SVG, all text and all lines stay vector graphics.
//!
//! The same input gives the same bytes. Nothing here reads or writes files, and nothing refers to
//! the network: a page shows itself on a cluster without internet.

pub mod colour;
pub mod figure;
pub mod page;
pub mod plot;

mod mark;
mod numbers;
mod orientation;
mod raster;
mod scene;
mod slices;
mod svg;
mod window;

pub use figure::{Figure, FigureError};
pub use fimbria_image::Window;
pub use mark::wordmark;
pub use page::{Level, Page, Section, Table, Verdict};
pub use scene::{Scene, SceneLines};
pub use slices::{Layout, Plane};
