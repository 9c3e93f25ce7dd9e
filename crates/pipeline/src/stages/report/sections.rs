//! The sections of the page.

use fimbria_image::{Image, Mask};
use fimbria_models::Fitted;
use fimbria_models::dti::{DtiMap, Method};
use fimbria_phantoms::Truth;
use fimbria_report::figure::{
    Direction, Glyphs, Scalar, Status, glyphs, mosaic_difference, mosaic_rgb, mosaic_scalar,
    mosaic_status,
};
use fimbria_report::plot::{Axes, Axis, Guide, Sample, histogram};
use fimbria_report::{Figure, FigureError, Layout, Page, Section, Table, Window, colour};

use crate::stages::accuracy::Accuracy;
use crate::stages::dti::Dti;
use crate::{ByteSize, Choice as _, RunRecord, StageError};

/// The voxels that were given to the fit.
pub(super) fn fitted_mask(fit: &Fitted) -> Result<Mask, StageError> {
    let status = fit.map(DtiMap::Status).ok_or("the fit has no status map")?;
    Ok(Mask::from_image(status))
}

pub(super) fn subtitle(mask: &Mask) -> String {
    let [nx, ny, nz] = mask.grid.dims;
    let [dx, dy, dz] = mask.grid.ras_from_vox.spacing();
    let voxels = mask.len();
    format!("{nx} × {ny} × {nz} voxels of {dx:.2} × {dy:.2} × {dz:.2} mm, {voxels} in the mask")
}

pub(super) fn headlines(
    mut page: Page,
    fit: &Fitted,
    mask: &Mask,
    accuracy: Option<&Accuracy>,
) -> Page {
    if let Some(fa) = fit.map(DtiMap::Fa) {
        page = page.headline(format!("{:.2}", median_in(fa, mask)), "median FA");
    }
    if let Some(md) = fit.map(DtiMap::Md) {
        let md = 1e3 * median_in(md, mask);
        page = page.headline(format!("{md:.2}"), "median MD, 10⁻³ mm²/s");
    }
    if let Some(row) = accuracy.and_then(Accuracy::direction) {
        page = page.headline(format!("{:.1}°", row.median), "median angle to the truth");
    }
    let good = fit.status.of(fimbria_models::Status::Fitted)
        + fit.status.of(fimbria_models::Status::Constrained);
    let share = 100.0 * good as f64 / mask.len().max(1) as f64;
    page.headline(format!("{share:.1} %"), "voxels fitted")
}

fn median_in(map: &Image, mask: &Mask) -> f64 {
    let mut values: Vec<f32> = mask.voxels.iter().map(|&v| map.data[v as usize]).collect();
    values.retain(|value| value.is_finite());
    if values.is_empty() {
        return 0.0;
    }
    let middle = values.len() / 2;
    f64::from(*values.select_nth_unstable_by(middle, f32::total_cmp).1)
}

pub(super) fn maps(fit: &Fitted, mask: &Mask) -> Result<Section, FigureError> {
    let mut section = Section::new("Maps");
    if let Some(fa) = fit.map(DtiMap::Fa) {
        let style = Scalar {
            window: Window::Fixed([0.0, 1.0]),
            ..Scalar::new("Fractional anisotropy", "")
        };
        section = section.figure(mosaic_scalar(fa, mask, &style)?, "Black is 0, white is 1.");
        if let Some(v1) = fit.map(DtiMap::V1) {
            let figure = mosaic_rgb(v1, fa, mask, &Direction::new("Principal direction"))?;
            section = section.figure(figure, "Colour is the direction of V1, brightness FA.");
        }
    }
    if let Some(md) = fit.map(DtiMap::Md) {
        let style =
            Scalar { scale: colour::Scale::Lagoon, ..Scalar::new("Mean diffusivity", "mm²/s") };
        section = section.figure(
            mosaic_scalar(md, mask, &style)?,
            "From the 1st to the 99th percentile of the mask.",
        );
    }
    Ok(section)
}

pub(super) fn directions(fit: &Fitted, mask: &Mask) -> Result<Option<Section>, FigureError> {
    let (Some(v1), Some(fa)) = (fit.map(DtiMap::V1), fit.map(DtiMap::Fa)) else {
        return Ok(None);
    };
    let style = Glyphs { threshold: 0.15, ..Glyphs::new("V1 over FA") };
    let figure = glyphs(v1, fa, &closer_look(mask), &style)?;
    Ok(Some(Section::new("Directions").figure(
        figure,
        "The middle of the brain; a stick in every voxel with FA of 0.15 or more.",
    )))
}

/// The mask within the middle half of its box along each in-plane axis, so that single sticks can
/// be told apart.
fn closer_look(mask: &Mask) -> Mask {
    const WIDEST: usize = 44;
    let grid = mask.grid;
    let voxels = || mask.voxels.iter().map(|&v| grid.voxel(v as usize));
    let range = |axis: usize| {
        let low = voxels().map(|p| p[axis]).min().unwrap_or(0);
        let high = voxels().map(|p| p[axis]).max().unwrap_or(0);
        let trim = (high + 1 - low).saturating_sub(WIDEST) / 2;
        low + trim..=high - trim
    };
    let ranges = [0, 1, 2].map(range);
    let inside = |v: &u32| {
        let p = grid.voxel(*v as usize);
        (0..3).all(|axis| ranges[axis].contains(&p[axis]))
    };
    Mask { grid, voxels: mask.voxels.iter().copied().filter(inside).collect() }
}

pub(super) fn truth(
    accuracy: &Accuracy,
    fit: &Fitted,
    truth: Option<&Truth>,
    mask: &Mask,
) -> Result<Section, FigureError> {
    let rows = accuracy.rows.iter().map(|row| {
        let error = |error: f64| format!("{error:.3} {}", row.unit).trim_end().to_owned();
        vec![
            row.quantity.clone(),
            row.voxels.to_string(),
            error(row.median),
            error(row.percentile_95),
            error(row.worst),
        ]
    });
    let mut section = Section::new("How close to the truth")
        .text(
            "FA and MD are compared where a voxel holds a single compartment, V1 where it holds a \
             single fibre. Noise sets a floor that no fit can go below.",
        )
        .table(Table {
            caption: "Errors: absolute for FA, relative for MD, the angle for V1.".to_owned(),
            columns: ["", "voxels", "median", "95 %", "worst"].map(str::to_owned).to_vec(),
            rows: rows.collect(),
        });
    if !accuracy.angles_deg.is_empty() {
        section = section.figure(angle_histogram(accuracy), "Voxels of a single fibre.");
    }
    if let (Some(fa), Some(true_fa)) =
        (fit.map(DtiMap::Fa), truth.and_then(|truth| truth.map("FA")))
    {
        let voxels = mask.voxels.iter().copied();
        let known = voxels.filter(|&v| true_fa.data[v as usize].is_finite()).collect();
        let style = Scalar {
            scale: colour::Scale::Difference,
            window: Window::Symmetric,
            ..Scalar::new("FA, estimated minus true", "")
        };
        let known = Mask { grid: mask.grid, voxels: known };
        section = section
            .figure(mosaic_difference(fa, true_fa, &known, &style)?, "Dark is no difference.");
    }
    Ok(section)
}

fn angle_histogram(accuracy: &Accuracy) -> Figure {
    let shown = accuracy.direction();
    let (median, end) = shown.map_or((0.0, 1.0), |row| (row.median, 1.5 * row.percentile_95));
    histogram(
        &[Sample { name: "V1", values: &accuracy.angles_deg }],
        48,
        &Axes {
            heading: "Angle to the true direction",
            x: Axis::new("angle", "°").over(0.0, end.max(1e-3)),
            y: Axis::new("share of voxels", "%"),
            guides: vec![Guide::Vertical(median, format!("median {median:.2}°"))],
        },
    )
}

pub(super) fn quality(fit: &Fitted, mask: &Mask) -> Result<Section, FigureError> {
    let mut section = Section::new("Quality of the fit");
    if let Some(residual) = fit.map(DtiMap::Residual) {
        let style = Scalar {
            scale: colour::Scale::Ember,
            window: Window::FromZero,
            ..Scalar::new("Residual", "input units")
        };
        section = section.figure(
            mosaic_scalar(residual, mask, &style)?,
            "Root mean square of measured minus predicted signal.",
        );
    }
    if let Some(status) = fit.map(DtiMap::Status) {
        const CATEGORIES: [(u8, &str); 5] = [
            (1, "fitted"),
            (2, "constraint active"),
            (3, "not converged"),
            (4, "bad signal"),
            (5, "singular"),
        ];
        let style =
            Status { heading: "Status", categories: &CATEGORIES, layout: Layout::default() };
        section =
            section.figure(mosaic_status(status, mask, &style)?, "What became of each voxel.");
    }
    Ok(section)
}

/// What was done, in words for a paper; the method as the records of the stages have it.
pub(super) fn methods(records: &[RunRecord]) -> Section {
    let fit = records.iter().find_map(Dti::of_record).map(|dti| dti.parameters);
    let fit = fit.unwrap_or_default();
    let (how, reference) = match fit.method.0 {
        Method::Ols => ("by ordinary least squares", None),
        Method::Wls => (
            "by least squares, once unweighted and once weighted by the squared predicted signal",
            Some("Chung S, Lu Y, Henry RG. NeuroImage 33, 531 (2006)"),
        ),
        Method::Iwls => (
            "by least squares weighted by the squared measured signal and then twice by the \
             squared predicted signal",
            Some("Veraart J et al. NeuroImage 81, 335 (2013)"),
        ),
        Method::Nlls => ("by non-linear least squares of S", None),
        Method::Restore => (
            "by RESTORE, non-linear least squares without outliers",
            Some("Chang LC, Jones DK, Pierpaoli C. Magn Reson Med 53, 1088 (2005)"),
        ),
    };
    let numerics = match fit.compat {
        Some(program) => format!(", with the numerics of {}", program.0.name()),
        None => String::new(),
    };
    let basser = "Basser PJ, Mattiello J, Le Bihan D. J Magn Reson B 103, 247 (1994)";
    Section::new("Methods")
        .text(format!(
            "ln S = ln S0 - b gᵀDg was fitted in every voxel of the mask {how}{numerics}. FA, MD \
             and the mode follow from the eigenvalues of D. Directions are in scanner RAS axes, \
             diffusivities in mm²/s."
        ))
        .list([Some(basser), reference].into_iter().flatten().map(str::to_owned).collect())
}

pub(super) fn record(records: &[RunRecord]) -> Section {
    let stages = records.iter().flat_map(|record| &record.stages);
    let rows = stages.map(|stage| {
        let counts = stage.counts.iter().filter(|(_, number)| **number > 0);
        let counts: Vec<_> = counts.map(|(what, number)| format!("{number} {what}")).collect();
        vec![
            stage.name.clone(),
            format!("{:.2} s{}", stage.seconds, if stage.resumed { ", earlier" } else { "" }),
            counts.join(", ").replace('_', " "),
        ]
    });
    let inputs = records.iter().flat_map(|record| &record.inputs).map(|input| {
        let name = input.path.file_name().unwrap_or_default().to_string_lossy();
        [input.role.clone(), format!("{name}, {}", ByteSize(input.bytes))]
    });
    let machine = records.iter().map(|record| &record.machine).next();
    let machine = machine.map(|machine| {
        let devices =
            if machine.devices.is_empty() { "CPU".to_owned() } else { machine.devices.join(", ") };
        ["ran on".to_owned(), format!("{devices}, {} threads, {}", machine.threads, machine.simd)]
    });
    let text: Vec<_> = records.iter().map(RunRecord::to_json).collect();
    Section::new("What was done")
        .facts(inputs.chain(machine).collect())
        .table(Table {
            caption: String::new(),
            columns: ["stage", "time", "counts"].map(str::to_owned).to_vec(),
            rows: rows.collect(),
        })
        .record("Complete records of all stages", text.join("\n"))
}
