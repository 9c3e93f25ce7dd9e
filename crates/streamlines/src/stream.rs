//! Tractograms as streams: bounded memory whatever their size.

use std::path::Path;

use fimbria_compute::Progress;
use fimbria_image::{Datatype, Grid};

use crate::{Format, Header, Streamlines, TractogramError};

/// Points per chunk that keep memory small (16 MB) and calls few.
pub const CHUNK_POINTS: usize = 1 << 20;

/// A tractogram being read.
pub trait ReadStreamlines: Send {
    /// What the file says of all its streamlines.
    fn header(&self) -> &Header;

    /// Replaces what `chunk` holds by the next streamlines, in file order: as many as have
    /// `at_least` points together, or the rest. False where none were left.
    ///
    /// # Errors
    /// Where the file cannot be read or contradicts itself.
    fn next_chunk(
        &mut self,
        chunk: &mut Streamlines,
        at_least: usize,
    ) -> Result<bool, TractogramError>;

    /// What the user should know of the file, as far as it was read: what its header leaves open,
    /// and signs that it was cut short. To be asked for once all is read.
    fn doubts(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A tractogram being written.
pub trait WriteStreamlines: Send {
    /// Appends streamlines, whose columns are those of the header given to [`create`].
    ///
    /// # Errors
    /// Where the file cannot be written.
    fn write(&mut self, chunk: &Streamlines) -> Result<(), TractogramError>;

    /// Writes what comes last and the counts; without it the file is not whole.
    ///
    /// # Errors
    /// Where the file cannot be written.
    fn finish(self: Box<Self>) -> Result<Counts, TractogramError>;
}

/// How much was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Streamlines.
    pub streamlines: u64,
    /// Points of all of them.
    pub points: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, chunk: &Streamlines) {
        self.streamlines += chunk.len() as u64;
        self.points += chunk.n_points() as u64;
    }
}

/// What may be chosen when a tractogram is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteOptions {
    /// Type of the coordinates: Float32 or Float64 for TCK, Float16, Float32 or Float64 for TRX,
    /// Float32 for TRK [default: the header's for TRX, else Float32, which every reader of TCK
    /// knows].
    pub position_type: Option<Datatype>,
    /// The grid of the image the streamlines lie on [default: the header's].
    pub grid: Option<Grid>,
}

/// Opens a tractogram of any format, told by its content.
///
/// # Errors
/// Where it cannot be opened, is no tractogram, or its header says what cannot be.
pub fn open(path: impl AsRef<Path>) -> Result<Box<dyn ReadStreamlines>, TractogramError> {
    let path = path.as_ref();
    (Format::from_content(path)?.0.open)(path)
}

/// Starts a tractogram of the given format with what `header` holds, as far as the format can
/// ([`Format::losses`]). Counts in `header` are not used: those written are counted.
///
/// # Errors
/// Where the file cannot be made, the format needs a grid and there is none, or the grid, the
/// position type or a column do not fit it.
pub fn create(
    path: impl AsRef<Path>,
    format: Format,
    header: &Header,
    options: &WriteOptions,
) -> Result<Box<dyn WriteStreamlines>, TractogramError> {
    let path = path.as_ref();
    let mut header = header.clone();
    header.grid = options.grid.or(header.grid);
    header.position_type = match options.position_type {
        Some(chosen) if format.holds_positions(chosen) => chosen,
        Some(chosen) => {
            let reason = format!("{format} has no coordinates of type {chosen}");
            return Err(TractogramError::unwritable(path, reason));
        }
        None => format.default_position_type(header.position_type),
    };
    (format.0.create)(path, &header)
}

/// Writes everything that is left in `reader`, warns of its doubts and finishes.
///
/// # Errors
/// Where reading or writing fails, or the user stops it.
pub fn copy(
    reader: &mut dyn ReadStreamlines,
    mut writer: Box<dyn WriteStreamlines>,
    progress: &dyn Progress,
) -> Result<Counts, TractogramError> {
    progress.start("copying streamlines", reader.header().n_streamlines.unwrap_or(0));
    let mut chunk = Streamlines::default();
    while reader.next_chunk(&mut chunk, CHUNK_POINTS)? {
        progress.check()?;
        writer.write(&chunk)?;
        progress.advance(chunk.len() as u64);
    }
    for doubt in reader.doubts() {
        progress.warn(&doubt);
    }
    writer.finish()
}
