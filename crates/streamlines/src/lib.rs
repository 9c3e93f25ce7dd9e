//! Tractograms in memory and on disk.
//!
//! A streamline is a sequence of points in scanner RAS+ millimetres. In memory:
//!
//! * [`Streamlines`] holds many of them flat: all points in one array, where each streamline
//!   starts in another, and named [`Column`]s of data per point and per streamline;
//! * a [`Header`] says what holds for all of them: the grid of the image they lie on, groups, which
//!   columns there are;
//! * a [`Tractogram`] is both together.
//!
//! On disk there are TCK (MRtrix3), TRK (TrackVis, version 2) and TRX (zip and folder), one module
//! per format. Every format is read and written as a stream of [`Streamlines`], so that a
//! tractogram larger than memory passes through: [`open`] gives a [`ReadStreamlines`], [`create`] a
//! [`WriteStreamlines`], [`copy`] joins the two. A file's own frame, byte order and layout end
//! where its module ends.
//!
//! On top of them: [`LengthStatistics`], maps [along](MapAlong) streamlines and [made of them](TrackMap), [`connectome`] matrices from a
//! label image, streamlines chosen and changed ([`edit`]), and what runs along a [`bundle`].

mod along;
pub mod bundle;
pub mod connectome;
pub mod edit;
mod error;
mod format;
mod header;
mod lengths;
mod map;
mod scratch;
mod stream;
mod streamlines;
mod tck;
mod tractogram;
mod trk;
mod trx;

pub use along::{LookUp, MapAlong, MapAlongError, Statistic};
pub use error::TractogramError;
pub use format::{Format, tractogram_files};
pub use header::{Group, Header};
pub(crate) use lengths::distance_mm;
pub use lengths::{LengthStatistics, arc_length_mm};
pub use map::{Passing, TrackMap, TrackMapError};
pub use stream::{
    CHUNK_POINTS, Counts, ReadStreamlines, WriteOptions, WriteStreamlines, copy, create, open,
};
pub use streamlines::Streamlines;
pub use tractogram::Tractogram;

pub use fimbria_image::arrays::{Column, ColumnKind};
