//! Formats, against truth and against nibabel.

mod formats;
mod nibabel;
mod trx;
