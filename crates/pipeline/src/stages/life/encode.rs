//! A tractogram file, encoded as it is read.

use std::path::Path;

use fimbria_compute::{Progress as _, Workers};
use fimbria_image::{Grid, Mask, counted};
use fimbria_life::{Deal, EncodeCounts, EncodeOptions, Encoder, Encoding, Survey, Surveyor};
use fimbria_streamlines::{CHUNK_POINTS, Header, ReadStreamlines, Streamlines, open};
use fimbria_workflow::ensure_same_work;
use xxhash_rust::xxh3::Xxh3;

use crate::stages::given_lines::for_each_chunk;
use crate::{Logbook, Page, StageError};

/// Looks at streamlines, and says how large their encoding becomes, and which voxels each process is
/// to have, where a voxel has as much besides as `rows` entries. The processes share the work by
/// chunks; that all have the same streamlines, and the same other `inputs`, is made sure of.
///
/// # Errors
/// Where they cannot be read, or processes have others.
pub(super) fn survey(
    mut reader: Box<dyn ReadStreamlines>,
    grid: Grid,
    mask: Option<&Mask>,
    options: &EncodeOptions,
    rows: usize,
    mut inputs: Xxh3,
    log: &Logbook<'_>,
) -> Result<(Survey, Deal), StageError> {
    let comm = log.session().on.comm;
    let named = reader.header().grid.filter(|named| named.dims == grid.dims);
    if let Some(Err(elsewhere)) = named.map(|named| grid.check_same(&named, "that image")) {
        log.warn(Page::Connectomes, &format!(
            "the tractogram names an image of as many voxels in another place ({elsewhere}): one of \
             the two has a wrong affine, and weights mean nothing if it is this series"
        ));
    }
    let mut surveyor = Surveyor::new(grid, mask, options, log.session().on.workers)?;
    let mut number = 0;
    for_each_chunk(&mut *reader, "looking at streamlines", log, |_, chunk| {
        if number % comm.size() == comm.rank() {
            surveyor.add(chunk.offsets(), chunk.positions());
        } else {
            surveyor.skip(chunk.len());
        }
        if comm.size() > 1 {
            inputs.update(bytemuck::cast_slice(chunk.offsets()));
            inputs.update(bytemuck::cast_slice(chunk.positions()));
        }
        number += 1;
        Ok(())
    })?;
    ensure_same_work(comm, inputs.digest128(), 0)?;
    Ok(surveyor.finish(rows, comm))
}

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
    encode(open(path)?, grid, mask, options, None, log)
}

/// The same of streamlines wherever they are; in the voxels that are dealt to this process.
pub(super) fn encode(
    mut reader: Box<dyn ReadStreamlines>,
    grid: Grid,
    mask: Option<&Mask>,
    options: &EncodeOptions,
    deal: Option<&Deal>,
    log: &Logbook<'_>,
) -> Result<(Encoding, Header), StageError> {
    let workers: &Workers = log.session().on.workers;
    let header = reader.header().clone();
    let mut encoder = Encoder::new(grid, mask, options, workers, log)?;
    if let Some(deal) = deal {
        encoder = encoder.share(deal, log.session().on.comm);
    }
    log.start("encoding streamlines", header.n_streamlines.unwrap_or(0));
    let mut chunk = Streamlines::default();
    while reader.next_chunk(&mut chunk, CHUNK_POINTS)? {
        encoder.add(chunk.offsets(), chunk.positions())?;
    }
    let encoding = encoder.finish()?;
    report(&encoding, log);
    Ok((encoding, header))
}

/// Counts what became of the streamlines, and warns of those that left nothing.
fn report(encoding: &Encoding, log: &Logbook<'_>) {
    let EncodeCounts {
        streamlines,
        encoded,
        short,
        not_finite,
        outside,
        outside_mask,
        partly_outside,
        repeated_points,
        entries,
        atoms,
    } = encoding.counts;
    log.count("streamlines", streamlines);
    log.count("streamlines_encoded", encoded);
    log.count("entries", entries);
    log.count("atoms", atoms);
    log.count("voxels_passed", encoding.passed.len() as u64);
    log.count("repeated_points", repeated_points);
    for (number, name, trouble) in [
        (short, "streamlines_short", "fewer than two distinct points: no weight"),
        (not_finite, "streamlines_not_finite", "a coordinate that is no number: no weight"),
        (outside, "streamlines_outside", "outside the image: no weight"),
        (outside_mask, "streamlines_outside_mask", "in the image, outside its mask: no weight"),
        (
            partly_outside,
            "streamlines_partly_outside",
            "partly outside the image: the part inside counts",
        ),
    ] {
        log.count(name, number);
        if number > 0 {
            let streamlines = counted(streamlines, "streamline");
            log.warn(Page::Connectomes, &format!("{number} of {streamlines}: {trouble}"));
        }
    }
}
