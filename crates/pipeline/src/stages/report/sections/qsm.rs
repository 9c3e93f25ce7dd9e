//! Susceptibility.

use fimbria_image::{Image, Mask};
use fimbria_qsm::dqsm::Iterate;
use fimbria_report::figure::{Scalar, mosaic_scalar};
use fimbria_report::plot::{Axes, Axis, Marks, Series, xy};
use fimbria_report::{Figure, FigureError, Section, Window, colour};

use super::Methods;
use crate::stages::qsm::{ChiMap, QsmMethod, QsmParameters};

/// `field`: what the map is made of, where it is known.
pub(in crate::stages::report) fn susceptibility(
    map: &ChiMap,
    field: Option<&Image>,
) -> Result<Section, FigureError> {
    let mask = mapped(map);
    let style = Scalar {
        scale: colour::Scale::Grey,
        window: Window::Symmetric,
        ..Scalar::new("Magnetic susceptibility", "ppm")
    };
    let iterations = match (map.course.rows.len(), &map.stopped) {
        (n, Some(stopped)) if n > 0 => format!(" {n} iterations, ended by {}.", stopped.as_str()),
        (n, None) if n > 0 => format!(" {n} iterations."),
        _ => String::new(),
    };
    let mut section = Section::new("Susceptibility").figure(
        mosaic_scalar(&map.chi, &mask, &style)?,
        format!("Where the local field is known; dark is diamagnetic.{iterations}"),
    );
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
    Ok(section.figures(convergence(&map.course.columns, &map.course.rows)))
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
pub(in crate::stages::report) fn mapped(map: &ChiMap) -> Mask {
    let mapped = map.chi.data.iter().enumerate().filter(|(_, chi)| **chi != 0.0);
    Mask { grid: map.chi.grid, voxels: mapped.map(|(v, _)| v as u32).collect() }
}

/// How an iteration went: every column but the first over the first.
pub(in crate::stages::report) fn convergence<S: AsRef<str>>(
    columns: &[S],
    rows: &[Vec<f64>],
) -> Vec<(Figure, String)> {
    let mut figures = Vec::new();
    for (column, head) in columns.iter().enumerate().skip(1) {
        let head = head.as_ref();
        // Of a relative field the size of the map has no unit.
        let (name, unit) = head.strip_suffix("_ppm").map_or((head, ""), |name| (name, "ppm"));
        let in_words = COURSE.iter().find(|words| words.column == name);
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

const COURSE: &[Words] = &[
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

const BILGIC: &str = "Bilgic B et al. Magn Reson Med 72, 1444 (2014)";
const FANSI: &str = "Milovic C et al. Magn Reson Med 80, 814 (2018)";

/// What was done, in words for a paper.
///
/// `is_guided` says whether there were fibre directions.
pub(in crate::stages::report) fn methods(qsm: &QsmParameters, is_guided: bool) -> Methods {
    let (shape, references) = match qsm.method.0 {
        QsmMethod::Dqsm => (
            "cylinders along",
            vec![
                "Ng A et al. ISMRM (2013) 2394",
                "Kaluza OL et al. \"Fast diffusion-guided QSM using Graphical Processing Units\"",
            ],
        ),
        QsmMethod::Tensor => {
            ("tensors symmetric about", vec!["Liu C. Magn Reson Med 63, 1471 (2010)"])
        }
        QsmMethod::Dtv if is_guided => {
            let text = format!(
                "Susceptibility was mapped from the local field inside the mask by total variation \
                 (λ = {}) of what diffusion does not explain: fractional anisotropy, mean diffusivity \
                 and S0 with their squares, and tensors along the tensor's first eigenvector whose \
                 anisotropy is proportional to fractional anisotropy, with coefficients fitted to the \
                 field.",
                qsm.in_effect().strength.unwrap_or_default()
            );
            return Methods { text, references: vec![BILGIC, FANSI] };
        }
        QsmMethod::Dtv | QsmMethod::Tv => {
            let text = format!(
                "Susceptibility was mapped from the local field inside the mask by total variation \
                 (λ = {}), without guidance.",
                qsm.in_effect().strength.unwrap_or_default()
            );
            return Methods { text, references: vec![BILGIC, FANSI] };
        }
        QsmMethod::Tgv => {
            let text = format!(
                "Susceptibility was mapped from the local field inside the mask by total generalised \
                 variation (λ = {}), without guidance.",
                qsm.in_effect().strength.unwrap_or_default()
            );
            let references = vec![
                "Langkammer C et al. NeuroImage 111, 622 (2015)",
                "Bredies K et al. SIAM J Imaging Sci 3, 492 (2010)",
            ];
            return Methods { text, references };
        }
        QsmMethod::Medi => {
            let text = format!(
                "Susceptibility was mapped from the local field inside the mask by total variation \
                 but for the edges of the magnitude (λ = {}).",
                qsm.in_effect().strength.unwrap_or_default()
            );
            return Methods { text, references: vec!["Liu J et al. NeuroImage 59, 2560 (2012)"] };
        }
        QsmMethod::Ndi => {
            let all = qsm.in_effect();
            let text = format!(
                "Susceptibility was mapped from the phase inside the mask by nonlinear dipole \
                 inversion (λ = {}, at most {} steps).",
                all.strength.unwrap_or_default(),
                all.iterations.unwrap_or_default()
            );
            return Methods {
                text,
                references: vec!["Polak D et al. NMR Biomed 33, e4271 (2020)"],
            };
        }
        QsmMethod::Ilsqr => {
            let all = qsm.in_effect();
            let text = format!(
                "Susceptibility was mapped from the local field inside the mask by iLSQR: weighted \
                 least squares of at most {} iterations, and streaks of the frequencies where |D| < {} \
                 taken off.",
                all.iterations.unwrap_or_default(),
                all.strength.unwrap_or_default()
            );
            return Methods { text, references: vec!["Li W et al. NeuroImage 108, 111 (2015)"] };
        }
        QsmMethod::Tkd | QsmMethod::Tikhonov | QsmMethod::Rts => {
            let strength = qsm.in_effect().strength.unwrap_or_default();
            let (how, reference) = match qsm.method.0 {
                QsmMethod::Tkd => (
                    format!("truncated k-space division (|D| of {strength} at least)"),
                    "Shmueli K et al. Magn Reson Med 62, 1510 (2009)",
                ),
                QsmMethod::Tikhonov => {
                    (format!("Tikhonov regularisation (λ = {strength})"), BILGIC)
                }
                _ => (
                    format!(
                        "inversion in two steps: of the frequencies where |D| > {strength} as they \
                         are, of the others by total variation"
                    ),
                    "Kames C et al. NeuroImage 167, 276 (2018)",
                ),
            };
            let text = format!(
                "Susceptibility was mapped from the local field inside the mask by {how}, without \
                 guidance."
            );
            return Methods { text, references: vec![reference] };
        }
    };
    let qsm = qsm.in_effect();
    let (kappa, fa) = (qsm.kappa.unwrap_or_default(), qsm.fa_threshold.unwrap_or_default());
    let solver = match qsm.solver.unwrap_or_default().0 {
        Iterate::Landweber => "Landweber's iteration",
        Iterate::Lsmr => "LSMR",
        Iterate::Cgls => "conjugate gradients",
    };
    // What κ weighs depends on the units of the data.
    let unit = if qsm.is_published() { " (fields in tesla)" } else { "" };
    let voxels = if is_guided {
        format!(
            "guided by diffusion: voxels of FA above {fa} as {shape} the tensor's first eigenvector, \
             others as spheres"
        )
    } else {
        "without guidance, every voxel as a sphere".to_owned()
    };
    let text = format!(
        "Susceptibility was mapped from the local field {voxels}; \
         κ‖Ax - b‖² + (1 - κ)‖Dx‖², D a Laplacian, was made smaller by {solver} with κ = {kappa}{unit}."
    );
    Methods { text, references }
}
