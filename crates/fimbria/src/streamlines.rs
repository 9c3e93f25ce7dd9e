//! Streamlines.

use fimbria_pipeline::stages::track::TracksFound;

/// Streamlines, flat: streamline `i` is `positions[offsets[i]..offsets[i + 1]]`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Streamlines {
    /// Where each begins; one more than there are streamlines.
    pub offsets: Vec<u64>,
    /// All points, scanner RAS+ mm.
    pub positions: Vec<[f32; 3]>,
}

impl Streamlines {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The points of each.
    pub fn iter(&self) -> impl Iterator<Item = &[[f32; 3]]> {
        self.offsets.windows(2).map(|ends| &self.positions[ends[0] as usize..ends[1] as usize])
    }
}

impl From<TracksFound> for Streamlines {
    fn from(tracks: TracksFound) -> Self {
        let (offsets, positions, ..) = tracks.lines.streamlines.into_parts();
        Self { offsets, positions }
    }
}
