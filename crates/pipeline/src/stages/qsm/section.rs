//! Susceptibility.

use fimbria_image::{Image, Mask};
use fimbria_report::figure::{Scalar, mosaic_scalar};
use fimbria_report::plot::{Axes, Axis, Marks, Series, xy};
use fimbria_report::{Figure, FigureError, Section, Window, colour};

use super::ChiMap;
use crate::stages::life::section::nearly_most;

/// `field`: what the map is made of, where it is known.
pub(in crate::stages) fn susceptibility(
    map: &ChiMap,
    field: Option<&Image>,
) -> Result<Section, FigureError> {
    let mask = mapped(map);
    let style = Scalar {
        scale: colour::Scale::Grey,
        window: Window::Symmetric,
        ..Scalar::new("Magnetic susceptibility", "ppm")
    };
    // A map is seen beside that without guidance in the same colours.
    let window = map.unguided.as_ref().map_or(Window::Symmetric, |unguided| {
        let most = nearly_most(unguided);
        Window::Fixed([-most, most])
    });
    let of_chi = Scalar { window, ..style.clone() };
    let iterations = match (map.convergence.rows.len(), &map.stopped) {
        (n, Some(stopped)) if n > 0 => format!(" {n} iterations, ended by {}.", stopped.as_str()),
        (n, None) if n > 0 => format!(" {n} iterations."),
        _ => String::new(),
    };
    let mut section = Section::new("Susceptibility").figure(
        mosaic_scalar(&map.chi, &mask, &of_chi)?,
        format!("Where the local field is known; dark is diamagnetic.{iterations}"),
    );
    section = section.fold();
    if let Some(unguided) = &map.unguided {
        let mut by_guidance = map.chi.clone();
        by_guidance.data.iter_mut().zip(&unguided.data).for_each(|(chi, tv)| *chi -= tv);
        section = section
            .figure(
                mosaic_scalar(unguided, &mask, &Scalar { heading: "Without guidance", ..of_chi })?,
                "The map of total variation alone, which knows nothing of diffusion.",
            )
            .figure(
                mosaic_scalar(&by_guidance, &mask, &Scalar { heading: "Guided less unguided", ..style })?,
                "What diffusion adds to the map, in colours of its own. A finding that is here and not in the \
                 map without guidance was not seen by the field.",
            );
    }
    if let Some(msa) = &map.anisotropy {
        let style = Scalar { heading: "Susceptibility anisotropy", ..style };
        section = section.figure(
            mosaic_scalar(msa, &mask, &style)?,
            "Along the fibre less across it; 0 where there is none.",
        );
    }
    let field = field.filter(|field| mask.grid.check_same(&field.grid, "the field").is_ok());
    if let Some(field) = field {
        let style = Scalar { heading: "Local field", ..style };
        section = section.figure(
            mosaic_scalar(field, &mask, &style)?,
            "What the map is made of: the field of sources inside the mask.",
        );
    }
    if let Some(residual) = &map.residual {
        let style = Scalar { heading: "Residual of the field", ..style };
        let caption = format!(
            "The field of the map less the local field, in colours of its own. {}It should look like \
             noise: what has the shape of veins or rims is not explained.",
            share(field, residual, &mask)
        );
        section = section.figure(mosaic_scalar(residual, &mask, &style)?, caption);
    }
    Ok(section.figures(convergence(&map.convergence.columns, &map.convergence.rows)))
}

/// How much of the field is left.
fn share(field: Option<&Image>, residual: &Image, mask: &Mask) -> String {
    let rms = |image: &Image| {
        let squares = mask.voxels.iter().map(|&v| f64::from(image.data[v as usize]).powi(2));
        (squares.sum::<f64>() / mask.len().max(1) as f64).sqrt()
    };
    match field.map(rms) {
        Some(whole) if whole > 0.0 => {
            format!(
                "It is {:.0} % of the field (root mean squares). ",
                100.0 * rms(residual) / whole
            )
        }
        _ => String::new(),
    }
}

/// The voxels with a value.
pub(in crate::stages) fn mapped(map: &ChiMap) -> Mask {
    let mapped = map.chi.data.iter().enumerate().filter(|(_, chi)| **chi != 0.0);
    Mask { grid: map.chi.grid, voxels: mapped.map(|(v, _)| v as u32).collect() }
}

/// How an iteration went: every column but the first over the first.
pub(in crate::stages) fn convergence<S: AsRef<str>>(
    columns: &[S],
    rows: &[Vec<f64>],
) -> Vec<(Figure, String)> {
    let mut figures = Vec::new();
    for (column, head) in columns.iter().enumerate().skip(1) {
        let head = head.as_ref();
        // Of a relative field the size of the map has no unit.
        let (name, unit) = head.strip_suffix("_ppm").map_or((head, ""), |name| (name, "ppm"));
        let in_words = COLUMNS.iter().find(|words| words.column == name);
        let plain = head.replace('_', " ");
        let (heading, caption) =
            in_words.map_or((&*plain, ""), |words| (words.heading, words.caption));
        // Sizes of the map hardly change; the others fall by powers of ten.
        let is_size = name == "rms_x";
        let value = |row: &Vec<f64>| {
            let value = row.get(column).copied().unwrap_or(f64::NAN);
            if is_size { value } else { value.log10() }
        };
        let points: Vec<[f64; 2]> =
            rows.iter().filter(|row| !row.is_empty()).map(|row| [row[0], value(row)]).collect();
        if points.is_empty() {
            continue;
        }
        let label = if is_size { "root mean square" } else { "power of ten" };
        let axes = Axes {
            heading,
            x: Axis::new("iteration", ""),
            y: Axis::new(label, unit),
            ..Axes::default()
        };
        let series = [Series { name: heading, points: &points, marks: Marks::Line }];
        figures.push((xy(&series, &axes), caption.to_owned()));
    }
    figures
}

/// A column of `iterations.tsv` in words.
struct Words {
    column: &'static str,
    heading: &'static str,
    caption: &'static str,
}

const COLUMNS: &[Words] = &[
    Words {
        column: "rms_x",
        heading: "Size of the map",
        caption: "It has settled where this is level; while it still rises, more iterations change the map.",
    },
    Words {
        column: "relative_change",
        heading: "Change of the map by an iteration",
        caption: "Over the size of the map. The iteration ends where this is below the tolerance.",
    },
    Words {
        column: "data",
        heading: "Misfit of the field",
        caption: "The sum of squares that the map leaves of the field, by weight.",
    },
    Words {
        column: "variation",
        heading: "Edges of the map",
        caption: "The sum of jumps between neighbours that diffusion and magnitude do not explain.",
    },
    Words {
        column: "penalty",
        heading: "Roughness of the map",
        caption: "The sum of squares that keeps it smooth.",
    },
    Words {
        column: "relative_gradient",
        heading: "Gradient of the objective",
        caption: "Over that at the start: zero at the best map.",
    },
];
