//! What was found, as tables: of BIDS, and as FSL's `eddy` writes them.

use std::fmt::Write as _;

use fimbria_image::Mask;
use fimbria_registration::{Corrected, Lattice, Motion, Place, Scan};
use serde_json::{Value, json};

use super::section::MOVED;
use crate::stages::confounds::displaced_mm;
use crate::stages::head::POSE_COLUMNS;

/// The name of a table and its text.
pub(super) type Text = (&'static str, String);

/// Their names.
pub(super) const NAMES: [&str; 7] = [
    "confounds.tsv",
    "outliers.tsv",
    "eddy_parameters",
    "eddy_movement_rms",
    "eddy_outlier_map",
    "eddy_outlier_n_stdev_map",
    "eddy_outlier_report",
];

/// All tables; of fields with so many terms.
pub(super) fn all(
    corrected: &Corrected,
    motions: &[Motion],
    scans: &[Scan],
    mask: &Mask,
    terms: usize,
) -> impl Iterator<Item = Text> {
    let [parameters, rms, map, deviations, report] = eddy_files(corrected, motions, scans, mask);
    let texts = [confounds(corrected, motions, scans, terms), outliers(corrected, scans)];
    NAMES.into_iter().zip(texts.into_iter().chain([parameters, rms, map, deviations, report]))
}

/// The number of the series of a volume, from 1.
fn series_of(scans: &[Scan], volume: usize) -> usize {
    let mut end = 0;
    let is_before = |scan: &&Scan| {
        end += scan.volumes;
        end <= volume
    };
    1 + scans.iter().take_while(is_before).count()
}

/// How far the head moved since the volume before, mm; the first of a series has none.
fn displaced(motions: &[Motion], scans: &[Scan], volume: usize) -> Option<f64> {
    let before = volume.checked_sub(1)?;
    let is_same = series_of(scans, before) == series_of(scans, volume);
    is_same.then(|| displaced_mm(numbers(&motions[before]), numbers(&motions[volume])))
}

/// What the page shows of each volume.
pub(super) fn volumes(corrected: &Corrected, motions: &[Motion], scans: &[Scan]) -> Value {
    let moved: Vec<_> =
        (0..motions.len()).map(|volume| displaced(motions, scans, volume)).collect();
    let [before, after] = &corrected.left;
    json!({ MOVED: moved, "residual_before": before, "residual_after": after })
}

/// Motion, fields and residuals of each volume.
fn confounds(corrected: &Corrected, motions: &[Motion], scans: &[Scan], terms: usize) -> String {
    let series = if scans.len() > 1 { "series\t" } else { "" };
    let mut text = format!(
        "{series}{POSE_COLUMNS}\tframewise_displacement\teddy_shift\tresidual_before\tresidual_after\tdropped_slices"
    );
    (1..=terms).for_each(|term| text += &format!("\teddy_{term:02}"));
    text += "\n";
    let number = |x: f64| if x.is_finite() { format!("{x:.6}") } else { "n/a".to_owned() };
    for (volume, motion) in motions.iter().enumerate() {
        let mut row: Vec<String> = number_of_series(scans, volume).into_iter().collect();
        row.extend(numbers(motion).iter().map(|x| format!("{x:.6}")));
        row.push(number(displaced(motions, scans, volume).unwrap_or(f64::NAN)));
        row.push(number(corrected.eddy_shift_mm[volume]));
        row.extend(corrected.left.iter().map(|left| number(left[volume])));
        let dropped = corrected.outliers.iter().filter(|outlier| outlier.volume == volume);
        row.push(dropped.count().to_string());
        let field = &corrected.places[volume].eddy;
        row.extend((0..terms).map(|term| number(field.get(term).copied().unwrap_or(0.0))));
        let _ = writeln!(text, "{}", row.join("\t"));
    }
    text
}

/// The column that says it, where there are several.
fn number_of_series(scans: &[Scan], volume: usize) -> Option<String> {
    (scans.len() > 1).then(|| series_of(scans, volume).to_string())
}

/// mm, then radians.
fn numbers(motion: &Motion) -> [f64; 6] {
    let ([x, y, z], [a, b, c]) = (motion.shift_mm, motion.turn_rad);
    [x, y, z, a, b, c]
}

/// Slices that lost their signal.
fn outliers(corrected: &Corrected, scans: &[Scan]) -> String {
    let series = if scans.len() > 1 { "series\t" } else { "" };
    let mut text = format!("{series}volume\tslice\tz\tsignal_left\n");
    for outlier in &corrected.outliers {
        let [volume, slice] = [outlier.volume, outlier.slice];
        let series = number_of_series(scans, volume).map(|number| number + "\t");
        let series = series.unwrap_or_default();
        let _ = writeln!(text, "{series}{volume}\t{slice}\t{:.3}\t{:.4}", outlier.z, outlier.left);
    }
    text
}

/// The text files that programs which read FSL's `eddy` look for.
fn eddy_files(
    corrected: &Corrected,
    motions: &[Motion],
    scans: &[Scan],
    mask: &Mask,
) -> [String; 5] {
    let (volumes, slices) = (corrected.places.len(), mask.grid.dims[2]);
    let outlier_at = |volume: usize, slice: usize| {
        corrected.outliers.iter().find(|o| (o.volume, o.slice) == (volume, slice))
    };
    let map = |cell: &dyn Fn(usize, usize) -> String| -> String {
        let row =
            |volume| (0..slices).map(|slice| cell(volume, slice)).collect::<Vec<_>>().join(" ");
        (0..volumes).map(|volume| format!("{}\n", row(volume))).collect()
    };
    let is_one = map(&|v, s| u8::from(outlier_at(v, s).is_some()).to_string());
    let deviations = map(&|v, s| outlier_at(v, s).map_or(0.0, |o| o.z).to_string());
    let report: String = corrected
        .outliers
        .iter()
        .map(|o| {
            format!(
                "Slice {} in scan {} is an outlier with mean {:.4} standard deviations off\n",
                o.slice, o.volume, o.z
            )
        })
        .collect();
    let parameters: String = motions
        .iter()
        .zip(&corrected.places)
        .map(|(motion, place)| {
            let all = numbers(motion).into_iter().chain(place.eddy.iter().copied());
            format!("{}\n", all.map(|x| format!("{x:.6}")).collect::<Vec<_>>().join("  "))
        })
        .collect();
    [
        parameters,
        movement_rms(corrected, scans, mask),
        format!("One row per scan, one column per slice. Outlier: 1, Non-outlier: 0\n{is_one}"),
        format!("One row per scan, one column per slice.\n{deviations}"),
        report,
    ]
}

/// How far the mask moved, mm, root mean square: from the first volume, and from the one before.
fn movement_rms(corrected: &Corrected, scans: &[Scan], mask: &Mask) -> String {
    /// Voxels; more tell no more.
    const ENOUGH: usize = 5000;
    let lattice = Lattice::new(&mask.grid);
    let every = mask.len().div_ceil(ENOUGH).max(1);
    let points: Vec<[f64; 3]> =
        mask.voxels.iter().step_by(every).map(|&v| lattice.place(v as usize)).collect();
    let heads = corrected.heads(scans);
    let apart = |a: &Place, b: &Place| {
        let square = |&p: &[f64; 3]| -> f64 {
            let [a, b] = [a.in_scanner(p), b.in_scanner(p)];
            (0..3).map(|i| (a[i] - b[i]).powi(2)).sum()
        };
        (points.iter().map(square).sum::<f64>() / points.len().max(1) as f64).sqrt()
    };
    let row = |v: usize| {
        let before = &heads[v.saturating_sub(1)];
        format!("{:.6}  {:.6}\n", apart(&heads[0], &heads[v]), apart(before, &heads[v]))
    };
    (0..heads.len()).map(row).collect()
}

#[cfg(test)]
mod tests {
    use fimbria_image::{Affine, Grid, Image};

    use super::*;

    #[test]
    fn a_volume_is_of_the_series_that_it_was_read_from() {
        let grid = Grid { dims: [2, 2, 2], ras_from_vox: Affine::IDENTITY };
        let of = |volumes| Scan::new(&Image::zeros(grid, volumes));
        let scans = [of(3), of(1), of(2)];
        let numbers: Vec<usize> = (0..6).map(|volume| series_of(&scans, volume)).collect();
        assert_eq!(numbers, [1, 1, 1, 2, 3, 3]);
        let motion = Motion { shift_mm: [1.0, 0.0, 0.0], turn_rad: [0.0; 3] };
        let still = Motion { shift_mm: [0.0; 3], ..motion };
        let motions = [still, motion, motion, still, motion, still];
        let moved: Vec<_> = (0..6).map(|volume| displaced(&motions, &scans, volume)).collect();
        assert_eq!(moved, [None, Some(1.0), Some(0.0), None, None, Some(1.0)]);
    }
}
