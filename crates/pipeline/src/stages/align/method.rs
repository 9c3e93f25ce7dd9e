//! Alignment among all methods.

use super::ALIGN_WRITES;
use crate::RunRecord;
use crate::stages::method::Method;
use crate::stages::shown::Methods;

pub(in crate::stages) const METHOD: Method =
    Method { writes: ALIGN_WRITES, text, ..Method::named("align") };

/// What was done, where a record is that of an alignment.
fn text(records: &[RunRecord]) -> Option<Methods> {
    let record = records.iter().find(|record| record.task == "align")?;
    let (mm, degrees) = {
        let moved = record.results.get("moved")?;
        (moved["mm"].as_f64()?, moved["degrees"].as_f64()?)
    };
    let text = format!(
        "Images were aligned by a rigid motion ({mm:.1} mm, {degrees:.1} degrees) that maximises their normalised mutual \
         information, by quasi-Newton ascent from coarse to fine with histograms of cubic B-spline windows. Images were \
         interpolated by cubic splines; voxels have the label of the largest share."
    );
    let references = vec![
        "Studholme C, Hill DLG, Hawkes DJ. An overlap invariant entropy measure of 3D medical image alignment. Pattern \
         Recognition 32, 71-86 (1999).",
        "Thévenaz P, Unser M. Optimization of mutual information for multiresolution image registration. IEEE Trans Image \
         Process 9, 2083-2099 (2000).",
    ];
    Some(Methods { text, references })
}
