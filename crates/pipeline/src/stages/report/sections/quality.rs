//! What the series is worth, before anything is made of it.

use fimbria_models::quality::{self, SeriesQuality};
use fimbria_report::plot::{Axes, Axis, Cells, Guide, Marks, Series, matrix, q_space, xy};
use fimbria_report::{Figure, Level, Section, Table, Verdict, colour};

use crate::stages::quality::Quality;

/// The strip at the top.
pub(in crate::stages::report) fn verdicts(quality: &Quality) -> impl Iterator<Item = Verdict> {
    quality.verdicts.iter().map(|verdict| Verdict {
        name: verdict.name.clone(),
        level: match verdict.level {
            quality::Level::Good => Level::Good,
            quality::Level::Doubtful => Level::Doubtful,
            quality::Level::Bad => Level::Bad,
            quality::Level::Unknown => Level::Unknown,
        },
        value: verdict.value.clone(),
        says: verdict.says.clone(),
        threshold: verdict.threshold.clone(),
        source: verdict.source.clone(),
    })
}

/// What the verdicts rest on.
pub(in crate::stages::report) fn series(quality: &Quality) -> Section {
    let Quality { series, gradient_check, framewise_mm, .. } = quality;
    let mut section = Section::new("The series").fold().figures(vec![
        (
            q_space(&samples(series)),
            "Every volume at the root of its b along its direction, in scanner axes, and again at the other \
             side. Drag to turn, or use the arrow keys."
                .to_owned(),
        ),
        (
            by_volume(series, "Distance from where neighbours lie", ["displacement", "mm"], |volume| {
                volume.displacement_mm
            }),
            "Each volume against what volumes of nearly its direction predict, moved and turned to fit \
             best; root mean square over the mask. After a correction of motion this is near zero."
                .to_owned(),
        ),
        (
            by_volume(series, "Likeness to neighbours", ["correlation", ""], |volume| volume.alike),
            "Correlation over the mask with what volumes of nearly its direction predict; less where b is \
             larger, since noise is."
                .to_owned(),
        ),
        (
            by_volume(series, "What neighbours leave", ["residual over σ", ""], |volume| {
                Some(volume.residual? / series.sigma?)
            }),
            "Root mean square of a volume less what volumes of nearly its direction predict, over the noise \
             level; of noise alone some 1.1 to 1.4."
                .to_owned(),
        ),
    ]);
    if framewise_mm.iter().any(Option::is_some) {
        section = section.figure(
            motion(framewise_mm),
            "Framewise displacement as the confounds have it, before correction.",
        );
    }
    let rows: Vec<Vec<Option<f64>>> = (0..series.slices.first().map_or(0, Vec::len))
        .map(|slice| series.slices.iter().map(|volume| volume[slice]).collect())
        .collect();
    if rows.iter().flatten().any(Option::is_some) {
        let cells = Cells {
            rows: &rows,
            label: "signal over what neighbours predict",
            unit: "",
            scale: colour::Scale::Lagoon,
            range: [0.5, 1.5],
            aspect: 0.5,
            names: &[],
        };
        let axes = Axes {
            heading: "Slices of every volume",
            x: Axis::new("volume", ""),
            y: Axis::new("slice along the third axis of the array", ""),
            ..Axes::default()
        };
        section = section.figure(
            matrix(&cells, &axes),
            "A slice that was dropped is dark beside the others of its volume; slices with too few voxels \
             are grey.",
        );
    }
    let number = |x: Option<f64>| x.map_or("–".to_owned(), |x| format!("{x:.1}"));
    section = section.table(Table {
        caption: match series.sigma {
            Some(sigma) => {
                format!("Shells; the noise level σ is {sigma:.3} in the units of the series.")
            }
            None => "Shells; the noise level is not known.".to_owned(),
        },
        columns: ["b, s/mm²", "volumes", "signal over σ", "contrast over σ"]
            .map(str::to_owned)
            .to_vec(),
        rows: series
            .shells
            .iter()
            .map(|shell| {
                let volumes = shell.volumes.len().to_string();
                vec![format!("{:.0}", shell.b), volumes, number(shell.snr), number(shell.cnr)]
            })
            .collect(),
    });
    if gradient_check.is_empty() {
        return section;
    }
    let longest = gradient_check.iter().take(5).enumerate();
    section.table(Table {
        caption: format!(
            "The gradient table as it is and after {} flips and swaps of its axes: mean length of fibres, \
             the five longest. They run on where the table lies as the image does.",
            gradient_check.len().saturating_sub(1)
        ),
        columns: ["", "change", "length, mm"].map(str::to_owned).to_vec(),
        rows: longest
            .map(|(at, (change, mm))| vec![(at + 1).to_string(), change.clone(), format!("{mm:.2}")])
            .collect(),
    })
}

/// Shell, b and direction of every volume.
fn samples(series: &SeriesQuality) -> Vec<(usize, f64, [f64; 3])> {
    let shells = series.shells.iter().enumerate();
    let of_shell = |(at, shell): (usize, &quality::ShellQuality)| {
        let volumes = shell.volumes.clone().into_iter();
        let b = shell.b;
        volumes.map(move |volume| (at, b, series.volumes[volume].dir_ras)).collect::<Vec<_>>()
    };
    shells.flat_map(of_shell).collect()
}

/// A number of every volume, by shell.
fn by_volume(
    series: &SeriesQuality,
    heading: &str,
    [label, unit]: [&str; 2],
    of: impl Fn(&quality::VolumeQuality) -> Option<f64>,
) -> Figure {
    let points: Vec<(String, Vec<[f64; 2]>)> = series
        .shells
        .iter()
        .map(|shell| {
            let volumes = shell.volumes.iter();
            let point = |v: &usize| Some([*v as f64, of(&series.volumes[*v])?]);
            (format!("b = {:.0}", shell.b), volumes.filter_map(point).collect())
        })
        .collect();
    let series: Vec<Series<'_>> =
        points.iter().map(|(name, points)| Series { name, points, marks: Marks::Dots }).collect();
    let shown = if series.len() > 6 { &series[..6] } else { &series[..] };
    let all: Vec<[f64; 2]> = points.iter().flat_map(|(_, points)| points.clone()).collect();
    let axes =
        Axes { heading, x: Axis::new("volume", ""), y: Axis::new(label, unit), ..Axes::default() };
    match series.len() {
        0..=6 => xy(shown, &axes),
        // So many names are not read.
        _ => xy(&[Series { name: label, points: &all, marks: Marks::Dots }], &axes),
    }
}

fn motion(framewise_mm: &[Option<f64>]) -> Figure {
    let points: Vec<[f64; 2]> = framewise_mm
        .iter()
        .enumerate()
        .map(|(volume, mm)| [volume as f64, mm.unwrap_or(f64::NAN)])
        .collect();
    let axes = Axes {
        heading: "Motion in the scanner",
        x: Axis::new("volume", ""),
        y: Axis::new("framewise displacement", "mm"),
        guides: vec![Guide::Horizontal(0.5, "0.5 mm".to_owned())],
    };
    xy(&[Series { name: "framewise displacement", points: &points, marks: Marks::Line }], &axes)
}
