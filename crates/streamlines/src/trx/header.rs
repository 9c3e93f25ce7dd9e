//! `header.json`.

use fimbria_image::Grid;
use fimbria_image::arrays::{count_in, grid_entries, grid_in};
use serde_json::{Value, json};

use crate::Counts;

/// What the header says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TrxHeader {
    pub(super) grid: Grid,
    pub(super) counts: Counts,
}

impl TrxHeader {
    pub(super) fn parse(text: &[u8]) -> Result<Self, String> {
        let value: Value =
            serde_json::from_slice(text).map_err(|why| format!("header.json: {why}"))?;
        let counts = Counts {
            streamlines: count_in(&value, "NB_STREAMLINES")?,
            points: count_in(&value, "NB_VERTICES")?,
        };
        Ok(Self { grid: grid_in(&value)?, counts })
    }

    pub(super) fn to_json(self) -> String {
        let mut entries = grid_entries(&self.grid);
        entries.insert("NB_STREAMLINES".to_owned(), json!(self.counts.streamlines));
        entries.insert("NB_VERTICES".to_owned(), json!(self.counts.points));
        let value = Value::Object(entries);
        format!("{value:#}\n")
    }
}

#[cfg(test)]
mod tests {
    use fimbria_image::Affine;

    use super::*;

    #[test]
    fn the_header_survives_being_written() {
        let ras_from_vox = Affine([[1.1, 0., 0., 0.3], [0., 2., 0.1, 0.], [0., 0., 3., -7.]]);
        let header = TrxHeader {
            grid: Grid { dims: [3, 4, 5], ras_from_vox },
            counts: Counts { streamlines: 6, points: 7 },
        };
        assert_eq!(TrxHeader::parse(header.to_json().as_bytes()), Ok(header));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, key) in [
            ("{}", "NB_STREAMLINES"),
            (r#"{"NB_STREAMLINES":1,"NB_VERTICES":-1}"#, "NB_VERTICES"),
            (r#"{"NB_STREAMLINES":1,"NB_VERTICES":1}"#, "VOXEL_TO_RASMM"),
        ] {
            assert!(TrxHeader::parse(text.as_bytes()).unwrap_err().contains(key));
        }
    }
}
