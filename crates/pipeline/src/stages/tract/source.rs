//! The ways through tractograms, and the writing of what is kept.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use fimbria_compute::Workers;
use fimbria_image::{Datatype, Grid, ImageHeader};
use fimbria_streamlines::edit::{Joined, Reshape};
use fimbria_streamlines::{
    CHUNK_POINTS, Counts, Format, Header, ReadStreamlines, Streamlines, WriteOptions,
    WriteStreamlines, create, open,
};

pub(super) use crate::stages::given_lines::pass;
use crate::{Logbook, OutputFolder, Page, StageError};

/// Opens tractograms as one.
pub(super) fn open_all(inputs: &[PathBuf]) -> Result<Joined, StageError> {
    let parts = inputs.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    Ok(Joined::new(parts))
}

/// The streamlines of a chunk in groups so small that `nodes` nodes of each fit into little memory.
pub(super) fn blocks(chunk: &Streamlines, nodes: usize) -> impl Iterator<Item = Range<usize>> {
    let (n, step) = (chunk.len(), (CHUNK_POINTS / nodes.max(1)).max(1));
    (0..n).step_by(step).map(move |start| start..(start + step).min(n))
}

/// Warns of what a reader doubts, once all was read.
pub(super) fn warn_of_doubts(reader: &dyn ReadStreamlines, log: &Logbook<'_>) {
    for doubt in reader.doubts() {
        log.warn(Page::Tracts, &doubt);
    }
}

/// The grid of an image that names where a tractogram lies.
pub(super) fn grid_of(reference: Option<&Path>) -> Result<Option<Grid>, StageError> {
    match reference {
        Some(path) => Ok(Some(*ImageHeader::read(path)?.grid())),
        None => Ok(None),
    }
}

/// Warns of what a format has no place for.
pub(super) fn warn_of_losses(format: Format, header: &Header, log: &Logbook<'_>) {
    for loss in format.losses(header) {
        log.warn(Page::Tracts, &format!("{format} has no place for {loss}: left out"));
    }
    if header.position_type == Datatype::Float64 {
        let warning = "coordinates pass through float32: digits of float64 beyond it are lost";
        log.warn(Page::Tracts, warning);
    }
}

/// The file of weights beside a tractogram.
pub(super) fn weights_beside(name: &str) -> String {
    format!("{name}.weights.txt")
}

/// Streamlines that are kept, as they come.
pub(super) struct Kept {
    writer: Box<dyn WriteStreamlines>,
    weights: Option<(PathBuf, BufWriter<File>)>,
    some: Streamlines,
}

impl Kept {
    /// Starts the tractogram `name`, with a list of weights beside it where `listed`.
    pub(super) fn create(
        out: &mut OutputFolder,
        name: &str,
        format: Format,
        header: &Header,
        grid: Option<Grid>,
        listed: bool,
    ) -> Result<Self, StageError> {
        let options = WriteOptions { grid, ..WriteOptions::default() };
        let writer = create(out.stage(name)?, format, header, &options)?;
        let weights = match listed {
            true => {
                let path = out.stage(&weights_beside(name))?;
                let file = File::create(&path)?;
                Some((path, BufWriter::new(file)))
            }
            false => None,
        };
        let some = Streamlines::for_header(header);
        Ok(Self { writer, weights, some })
    }

    /// Takes those of a chunk that `keep` holds for.
    pub(super) fn write(
        &mut self,
        chunk: &Streamlines,
        weights: &[f64],
        keep: impl Fn(usize) -> bool,
    ) -> Result<(), StageError> {
        for index in (0..chunk.len()).filter(|index| keep(*index)) {
            self.some.push_from(chunk, index);
            self.add_weight(weights[index])?;
        }
        self.writer.write(&self.some)?;
        self.some.clear();
        Ok(())
    }

    /// The same with points made anew; `written` counts streamlines for messages.
    pub(super) fn write_reshaped(
        &mut self,
        chunk: &Streamlines,
        weights: &[f64],
        keep: impl Fn(usize) -> bool,
        reshape: Reshape,
        written: &mut usize,
        workers: &Workers,
    ) -> Result<(), StageError> {
        let mut expected = 0.0;
        for index in (0..chunk.len()).filter(|index| keep(*index)) {
            expected += reshape.expected_points(chunk.points(index));
            self.some.push_from(chunk, index);
            self.add_weight(weights[index])?;
            if expected >= CHUNK_POINTS as f64 {
                self.flush_reshaped(reshape, written, workers)?;
                expected = 0.0;
            }
        }
        self.flush_reshaped(reshape, written, workers)
    }

    fn flush_reshaped(
        &mut self,
        reshape: Reshape,
        written: &mut usize,
        workers: &Workers,
    ) -> Result<(), StageError> {
        self.writer.write(&reshape.apply(&self.some, *written, workers)?)?;
        *written += self.some.len();
        self.some.clear();
        Ok(())
    }

    fn add_weight(&mut self, weight: f64) -> Result<(), StageError> {
        if let Some((path, file)) = &mut self.weights {
            let written = writeln!(file, "{weight}");
            written.map_err(|error| format!("could not write {}: {error}", path.display()))?;
        }
        Ok(())
    }

    /// Finishes the files.
    pub(super) fn finish(self) -> Result<Counts, StageError> {
        if let Some((path, mut file)) = self.weights {
            let written = file.flush();
            written.map_err(|error| format!("could not write {}: {error}", path.display()))?;
        }
        Ok(self.writer.finish()?)
    }
}
