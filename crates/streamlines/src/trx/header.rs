//! `header.json`.

use fimbria_image::{Affine, Grid};
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
        let count = |key: &str| {
            value[key].as_u64().ok_or_else(|| format!("header.json: {key} is {}", value[key]))
        };
        let counts =
            Counts { streamlines: count("NB_STREAMLINES")?, points: count("NB_VERTICES")? };
        let rows = value["VOXEL_TO_RASMM"].as_array().filter(|rows| rows.len() == 4);
        let affine = rows.and_then(|rows| Some([row(&rows[0])?, row(&rows[1])?, row(&rows[2])?]));
        let affine = affine.map(Affine).filter(|affine| affine.inverse().is_some());
        let ras_from_vox = affine.ok_or_else(|| {
            format!("header.json: VOXEL_TO_RASMM {} is no affine", value["VOXEL_TO_RASMM"])
        })?;
        let dims = value["DIMENSIONS"].as_array().filter(|dims| dims.len() == 3);
        let dims = dims.and_then(|d| Some([dim(&d[0])?, dim(&d[1])?, dim(&d[2])?]));
        let dims = dims.ok_or_else(|| {
            format!("header.json: DIMENSIONS {} are no three counts", value["DIMENSIONS"])
        })?;
        Ok(Self { grid: Grid { dims, ras_from_vox }, counts })
    }

    pub(super) fn to_json(self) -> String {
        let [x, y, z] = self.grid.ras_from_vox.0;
        let value = json!({
            "DIMENSIONS": self.grid.dims,
            "NB_STREAMLINES": self.counts.streamlines,
            "NB_VERTICES": self.counts.points,
            "VOXEL_TO_RASMM": [x, y, z, [0.0, 0.0, 0.0, 1.0]],
        });
        format!("{value:#}\n")
    }
}

fn row(value: &Value) -> Option<[f64; 4]> {
    let numbers = value.as_array()?.iter().map(Value::as_f64).collect::<Option<Vec<_>>>()?;
    numbers.try_into().ok()
}

/// Dimensions as no image exceeds; some writers give them as 2.0.
fn dim(value: &Value) -> Option<usize> {
    let n = value.as_f64()?;
    (n.fract() == 0.0 && (0.0..=1e6).contains(&n)).then_some(n as usize)
}

#[cfg(test)]
mod tests {
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
