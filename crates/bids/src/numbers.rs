//! What the table of all sessions says of one.

use std::collections::BTreeMap;
use std::path::Path;

use fimbria_image::{Image, Status, read_image};
use fimbria_pipeline::stages::studies::fit_of_folder;
use fimbria_pipeline::{BidsName, RunRecord};
use serde_json::{Map, Value, json};

use crate::BidsError;

/// Medians of the maps of every fit over the voxels fitted, the share of these, the volumes used, and
/// how many warnings there were, by the names of columns.
pub(crate) fn from_run(run: &Path, record: &RunRecord) -> Result<Map<String, Value>, BidsError> {
    let mut numbers = Map::new();
    for stage in &record.stages {
        if let (true, Some(used)) = (stage.name == "dti", stage.counts.get("volumes_used")) {
            numbers.insert("volumes_used".to_owned(), json!(used));
        }
    }
    let mut maps: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for output in &record.outputs {
        if let Some((stage, file)) = output.file.split_once('/')
            && fit_of_folder(stage).is_some()
        {
            maps.entry(stage).or_default().push(file);
        }
    }
    for (stage, files) in maps {
        let folder = run.join(stage);
        let named = |file: &&str| BidsName::parse(Path::new(file)).is_some();
        let images: Vec<_> = files.into_iter().filter(|f| f.ends_with(".nii.gz")).collect();
        let Some(status) = images.iter().find(|f| f.contains("_param-status_")) else { continue };
        let status = read_image(folder.join(status))?;
        for file in images.iter().filter(|file| named(file)) {
            let Some(name) = BidsName::parse(Path::new(file)) else { continue };
            let (Some(model), Some(param)) = (name.entity("model"), name.entity("param")) else {
                continue;
            };
            let desc = name.entity("desc").map_or(String::new(), |desc| format!("_{desc}"));
            if param == "status" {
                let name = format!("{model}{desc}_fitted_percent");
                numbers.insert(name, json!(fitted_percent(&status)));
                continue;
            }
            let image = read_image(folder.join(file))?;
            if image.n_volumes == 1
                && let Some(median) = median(&image, &status)
            {
                // With the digits that a single has.
                let digits: f64 = median.to_string().parse().unwrap_or_default();
                numbers.insert(format!("{model}_{param}{desc}_median"), json!(digits));
            }
        }
    }
    numbers.insert("warnings".to_owned(), json!(record.warnings.len()));
    Ok(numbers)
}

/// Whether a voxel of this code has maps.
fn is_fitted(code: f32) -> bool {
    matches!(
        Status::from_code(code),
        Status::Fitted
            | Status::Constrained
            | Status::NotPositive
            | Status::NotConverged
            | Status::NegativeDiffusion
    )
}

/// Percent of the voxels of the mask that have maps, to a hundredth.
fn fitted_percent(status: &Image) -> f64 {
    let inside = status.data.iter().filter(|code| **code > 0.0).count();
    let fitted = status.data.iter().filter(|code| is_fitted(**code)).count();
    (1e4 * fitted as f64 / inside.max(1) as f64).round() / 100.0
}

/// The median of a map over the voxels fitted; `None` where there are none.
fn median(map: &Image, status: &Image) -> Option<f32> {
    let both = map.data.iter().zip(&status.data);
    let mut values: Vec<f32> =
        both.filter(|(v, s)| is_fitted(**s) && v.is_finite()).map(|(value, _)| *value).collect();
    let middle = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable_by(middle, f32::total_cmp).1)
}

#[cfg(test)]
mod tests {
    use fimbria_image::{Affine, Grid};

    use super::*;

    #[test]
    fn medians_are_over_voxels_that_were_fitted() {
        let grid = Grid { dims: [5, 1, 1], ras_from_vox: Affine::IDENTITY };
        let image = |data: [f32; 5]| Image { grid, n_volumes: 1, data: data.to_vec() };
        let map = image([9.0, 1.0, 3.0, 2.0, f32::NAN]);
        // Outside, fitted, bad signal, fitted, fitted.
        let status = image([0.0, 1.0, 4.0, 1.0, 1.0]);
        assert_eq!(median(&map, &status), Some(2.0));
        assert_eq!(fitted_percent(&status), 75.0);
        assert_eq!(median(&map, &image([0.0; 5])), None);
    }
}
