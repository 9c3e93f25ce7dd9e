//! A tractogram file, encoded as it is read.

use std::path::Path;

use fimbria_compute::{Progress as _, Workers};
use fimbria_image::{Grid, Mask};
use fimbria_life::{EncodeCounts, EncodeOptions, Encoder, Encoding};
use fimbria_streamlines::{CHUNK_POINTS, Header, Streamlines, open};

use crate::{Logbook, StageError};

/// Bytes of a point in a file of TCK or TRK, for what a file without counts may hold.
const POINT_BYTES: u64 = 12;

/// Encodes the streamlines of `path`, and gives what the file says of all of them.
///
/// # Errors
/// Where the file cannot be read or nothing of it lies in the image.
pub fn encode_file(
    path: &Path,
    grid: Grid,
    mask: Option<&Mask>,
    options: &EncodeOptions,
    log: &Logbook<'_>,
) -> Result<(Encoding, Header), StageError> {
    let workers: &Workers = log.session().on.workers;
    let mut reader = open(path)?;
    let header = reader.header().clone();
    let mut encoder = Encoder::new(grid, mask, options, workers, log)?;
    log.start("encoding streamlines", header.n_streamlines.unwrap_or(0));
    let size = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let all_points = header.n_points.unwrap_or(size / POINT_BYTES);
    let mut chunk = Streamlines::default();
    let mut has_said = false;
    while reader.next_chunk(&mut chunk, CHUNK_POINTS)? {
        encoder.add(chunk.offsets(), chunk.positions())?;
        if !has_said && chunk.n_points() > 0 {
            let share = all_points as f64 / chunk.n_points() as f64;
            log.note(&memory_note(encoder.entries(), share.max(1.0)));
            has_said = true;
        }
    }
    let encoding = encoder.finish()?;
    report(&encoding, log);
    Ok((encoding, header))
}

/// What the whole will take, from a part of it.
fn memory_note(entries: usize, share: f64) -> String {
    /// Of an entry: as it is encoded, and as products have it.
    const BYTES: f64 = 12.0 + 12.0;
    let entries = entries as f64 * share;
    let bytes = BYTES * entries;
    let entries = match 1e-6 * entries {
        millions if millions >= 1.0 => format!("{millions:.1} million"),
        _ => format!("{entries:.0}"),
    };
    let memory = match 1e-9 * bytes {
        gigabytes if gigabytes >= 1.0 => format!("{gigabytes:.1} GB"),
        _ => format!("{:.0} MB", (1e-6 * bytes).ceil()),
    };
    format!("about {entries} entries, {memory} of memory at most")
}

/// Counts what became of the streamlines, and warns of those that left nothing.
fn report(encoding: &Encoding, log: &Logbook<'_>) {
    let EncodeCounts {
        streamlines,
        encoded,
        short,
        not_finite,
        outside,
        partly_outside,
        repeated_points,
    } = encoding.counts;
    log.count("streamlines", streamlines);
    log.count("streamlines_encoded", encoded);
    log.count("entries", encoding.entries.len() as u64);
    log.count("atoms", encoding.atoms.len() as u64);
    log.count("voxels_passed", encoding.voxels.len() as u64);
    log.count("repeated_points", repeated_points);
    for (number, name, trouble) in [
        (short, "streamlines_short", "have fewer than two distinct points and get no weight"),
        (not_finite, "streamlines_not_finite", "have a coordinate that is no number: no weight"),
        (outside, "streamlines_outside", "lie outside the image and get no weight"),
        (partly_outside, "streamlines_partly_outside", "leave the image: the part inside counts"),
    ] {
        log.count(name, number);
        if number > 0 {
            log.warn(&format!("{number} of {streamlines} streamlines {trouble}"));
        }
    }
}
