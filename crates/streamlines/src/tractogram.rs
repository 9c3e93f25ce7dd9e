//! A tractogram that fits memory.

use std::path::Path;

use crate::{
    CHUNK_POINTS, Counts, Format, Header, Streamlines, TractogramError, WriteOptions, create, open,
};

/// Streamlines and what holds for all of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tractogram {
    /// Grid, groups, remarks.
    pub header: Header,
    /// The streamlines with their data.
    pub streamlines: Streamlines,
}

impl Tractogram {
    /// Of streamlines, with a header that names their columns.
    pub fn new(mut header: Header, streamlines: Streamlines) -> Self {
        header.per_point = streamlines.per_point().iter().map(|c| c.kind.clone()).collect();
        header.per_streamline =
            streamlines.per_streamline().iter().map(|c| c.kind.clone()).collect();
        header.n_streamlines = Some(streamlines.len() as u64);
        header.n_points = Some(streamlines.n_points() as u64);
        Self { header, streamlines }
    }

    /// Reads a whole file of any format.
    ///
    /// # Errors
    /// As [`open`] and [`ReadStreamlines::next_chunk`](crate::ReadStreamlines::next_chunk).
    pub fn read(path: impl AsRef<Path>) -> Result<Self, TractogramError> {
        let mut reader = open(path)?;
        let header = reader.header().clone();
        let mut streamlines = Streamlines::for_header(&header);
        let mut chunk = Streamlines::default();
        while reader.next_chunk(&mut chunk, CHUNK_POINTS)? {
            streamlines.append(&chunk);
        }
        Ok(Self::new(header, streamlines))
    }

    /// Writes it in the format that the name asks for.
    ///
    /// # Errors
    /// As [`create`].
    pub fn write(
        &self,
        path: impl AsRef<Path>,
        options: &WriteOptions,
    ) -> Result<Counts, TractogramError> {
        let path = path.as_ref();
        let mut writer = create(path, Format::from_name(path)?, &self.header, options)?;
        writer.write(&self.streamlines)?;
        writer.finish()
    }
}
