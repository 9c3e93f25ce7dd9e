//! From one file to another, sample by sample as they are stored.

use std::path::Path;
use std::sync::atomic::Ordering;

use crate::error::{ImageError, UnwritableError};
use crate::header::Shape;
use crate::layout::Layout;
use crate::stored::StoredImage;
use crate::transcode::{Changes, Transcoder};
use crate::write::{Target, WriteOptions};
use crate::{Datatype, Scaling};

/// What [`copy_image`] wrote.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Copied {
    /// The type of the samples.
    pub datatype: Datatype,
    /// How they become values: the scaling of the source where its stored numbers were kept.
    pub scaling: Scaling,
    /// Samples that the type cannot hold: outside its range, or NaN among integers.
    pub clipped: u64,
    /// Samples that became the nearest number of the type.
    pub rounded: u64,
}

/// Writes an image as another file stores it: all dimensions, the type of the samples, their exact
/// numbers and their scaling are kept where the format has them. The format is that of the name,
/// as [`write_image`](crate::write_image) tells it; samples are taken from the source block by
/// block, and no copy of them is held.
///
/// NIfTI has no bits (they become `UInt8`) and no half precision (`Float32`, which holds all of
/// it); a scaling that a NIfTI-1 header would round, or that MRtrix3 would pass over (of other than whole
/// numbers in a .mif), is applied, in `Float64`. With `datatype`,
/// values are brought to that type: rounded to nearest (halves to even) and clipped to its range,
/// NaN among integers to 0; [`Copied`] counts what changed. `options.datatype` is not used.
///
/// # Errors
/// As [`write_image`](crate::write_image).
pub fn copy_image(
    path: impl AsRef<Path>,
    from: &StoredImage,
    datatype: Option<Datatype>,
    options: &WriteOptions,
) -> Result<Copied, ImageError> {
    let path = path.as_ref();
    let target =
        Target::from_name(path).ok_or_else(|| ImageError::Extension { path: path.to_owned() })?;
    let writer = target.writer;
    let kept = (writer.kept)(from.datatype());
    let scaling = from.scaling();
    let holds_scaling = scaling.is_none() || (writer.holds_scaling)(kept, scaling);
    let (datatype, scaling) = match datatype {
        Some(datatype) => (datatype, Scaling::NONE),
        None if holds_scaling => (kept, scaling),
        None => (Datatype::Float64, Scaling::NONE),
    };
    let options = WriteOptions { datatype, ..options.clone() };
    let mut shape = Shape {
        grid: *from.grid(),
        dims: from.header.notes.listed_dims.clone(),
        volume_steps: from.header.notes.volume_steps.clone(),
        scaling,
    };
    if writer.any_layout {
        let least = if options.dw_scheme.is_some() { 4 } else { 3 };
        shape.dims.resize(shape.dims.len().max(least), 1);
    }
    if options.gzip_level > 9 {
        let source = UnwritableError::GzipLevel(options.gzip_level);
        return Err(ImageError::Unwritable { path: path.to_owned(), source });
    }
    let layout = &from.header.layout;
    let order = options.mif_layout.of_all_axes(layout.axes.len());
    let walk = if writer.any_layout { layout.reordered(&order) } else { layout.clone() };
    let transcoder = Transcoder {
        data: from.stored_bytes(),
        walk: Layout::simplified(&walk),
        from: (from.datatype(), from.byte_order()),
        scaling: if scaling.is_none() { from.scaling() } else { Scaling::NONE },
        to: (datatype, options.byte_order),
        changes: Changes::default(),
    };
    let encode = |from, to| transcoder.encode(from, to);
    target.write_all(path, &shape, transcoder.n_bytes(), &encode, &options)?;
    Ok(Copied {
        datatype,
        scaling,
        clipped: transcoder.changes.clipped.load(Ordering::Relaxed),
        rounded: transcoder.changes.rounded.load(Ordering::Relaxed),
    })
}
