//! Draws every kind of figure from a made-up head on an oblique grid and puts them on one page.
//!
//! `cargo run --release -p fimbria-report --example gallery -- FOLDER` writes
//! `FOLDER/gallery.html`, two figures as SVG files, and the wordmark.

use std::{error::Error, fs, path::PathBuf};

use fimbria_image::{Affine, Grid, Image, Mask};
use fimbria_report::{
    Layout, Page, Section, Table, Window, colour,
    figure::{
        Direction, Glyphs, Scalar, Status, glyphs, mosaic_difference, mosaic_rgb, mosaic_scalar,
        mosaic_status,
    },
    plot::{Axes, Axis, Guide, Marks, Sample, Series, bars, histogram, scatter, xy},
    wordmark,
};

/// Maps of a head that has one bundle across, one around and one upwards.
struct Head {
    mask: Mask,
    fa: Image,
    noisy_fa: Image,
    md: Image,
    peaks: Image,
    status: Image,
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("usage: gallery FOLDER")?);
    fs::create_dir_all(&folder)?;
    let head = head();
    let colours =
        mosaic_rgb(&head.peaks, &head.fa, &head.mask, &Direction::new("Principal direction"))?;
    let sticks = closer_look(&head)?;
    fs::write(folder.join("directions.svg"), colours.svg())?;
    fs::write(folder.join("sticks.svg"), sticks.svg())?;
    fs::write(folder.join("fimbria.svg"), wordmark())?;

    let page = Page::new("A made-up head")
        .subtitle("Every figure of fimbria, from maps with a closed form")
        .headline("0.61", "median FA in the bundles")
        .headline("1.9°", "median angle to the truth")
        .headline("99.2 %", "voxels fitted")
        .headline("3.1 s", "fit on 2 threads")
        .fact("Series", "gallery.nii.gz, 84 × 104 × 62 voxels of 1.9 × 1.9 × 2.2 mm")
        .fact("Protocol", "6 × b = 0, 30 × b = 1000, 60 × b = 2000 s/mm²")
        .fact("Model", "diffusion tensor, weighted least squares")
        .fact("Device", "CPU, AVX2")
        .warning("Nothing on this page was measured: it shows what pages look like.")
        .section(
            Section::new("Maps")
                .figure(
                    mosaic_scalar(&head.fa, &head.mask, &Scalar {
                        window: Window::Fixed([0.0, 1.0]),
                        ..Scalar::new("Fractional anisotropy", "")
                    })?,
                    "Grey from 0 to 1. The grid is turned by 12 degrees about the front-back \
                     axis; slices are those of the grid.",
                )
                .figure(colours, "Brightness is FA.")
                .figure(
                    mosaic_scalar(&head.md, &head.mask, &Scalar {
                        scale: colour::Scale::Lagoon,
                        ..Scalar::new("Mean diffusivity", "mm²/s")
                    })?,
                    "From the 1st to the 99th percentile. Some voxels have no value.",
                ),
        )
        .section(
            Section::new("Directions")
                .text("Sticks are the maxima of the fitted form, as long as their amplitude.")
                .figure(sticks, "A closer look at the middle, where two bundles cross."),
        )
        .section(
            Section::new("How close to the truth")
                .figure(
                    mosaic_difference(&head.noisy_fa, &head.fa, &head.mask, &Scalar {
                        scale: colour::Scale::Difference,
                        window: Window::Symmetric,
                        ..Scalar::new("FA, estimated minus true", "")
                    })?,
                    "Dark is right, blue too low, orange too high.",
                )
                .figures(plots(&head))
                .table(Table {
                    caption: "Error by bundle".into(),
                    columns: ["Bundle", "Voxels", "FA bias", "Median angle", "Remark"]
                        .map(String::from)
                        .to_vec(),
                    rows: vec![
                        ["across", "8 112", "−0.004", "1.7°", "straight"].map(String::from).to_vec(),
                        ["around", "5 340", "0.011", "2.3°", "bends"].map(String::from).to_vec(),
                    ],
                }),
        )
        .section(
            Section::new("Quality of the fit")
                .figure(
                    mosaic_status(&head.status, &head.mask, &Status {
                        heading: "Status",
                        categories: &[(1, "fitted"), (2, "constraint active"), (4, "bad signal")],
                        layout: Layout::default(),
                    })?,
                    "What became of every voxel.",
                )
                .figures(vec![(residuals(), "Residual of each volume.".into())]),
        )
        .section(
            Section::new("Methods")
                .text(
                    "Tensors were fitted by weighted least squares to the logarithm of the \
                     signal, the weights being the squared signal that ordinary least squares \
                     predicts.",
                )
                .list(vec![
                    "Basser PJ, Mattiello J, Le Bihan D (1994). Estimation of the effective \
                     self-diffusion tensor from the NMR spin echo. https://doi.org/10.1006/jmrb.1994.1037"
                        .into(),
                ])
                .record("Run record", "{\n  \"command\": \"gallery <folder>\"\n}"),
        )
        .footer("fimbria 0.1.0, example gallery");
    fs::write(folder.join("gallery.html"), page.to_html())?;
    Ok(())
}

/// A region around the centre, two peaks per voxel.
fn closer_look(head: &Head) -> Result<fimbria_report::Figure, Box<dyn Error>> {
    let grid = head.mask.grid;
    let near = |&&index: &&u32| {
        let [x, y, z] = grid.voxel(index as usize);
        x.abs_diff(42) < 24 && y.abs_diff(52) < 14 && z.abs_diff(31) < 10
    };
    let voxels = head.mask.voxels.iter().filter(near).copied().collect();
    let style = Glyphs { threshold: 0.12, ..Glyphs::new("Fibre directions over FA") };
    Ok(glyphs(&head.peaks, &head.fa, &Mask { grid, voxels }, &style)?)
}

fn plots(head: &Head) -> Vec<(fimbria_report::Figure, String)> {
    let at = |image: &Image, i: &u32| f64::from(image.data[*i as usize]);
    let pairs: Vec<[f64; 2]> =
        head.mask.voxels.iter().map(|i| [at(&head.fa, i), at(&head.noisy_fa, i)]).collect();
    let angles: Vec<f64> =
        (0..4000).map(|i| 4.0 * (-(1.0 - (f64::from(i) + 0.5) / 4000.0).ln()).sqrt()).collect();
    let better: Vec<f64> = angles.iter().map(|a| 0.6 * a).collect();
    vec![
        (
            scatter(
                &pairs,
                &Axes {
                    heading: "Estimated and true FA",
                    x: Axis::new("true FA", "").over(0.0, 1.0),
                    y: Axis::new("estimated FA", "").over(0.0, 1.0),
                    guides: vec![Guide::Identity],
                },
            ),
            "One count per voxel; dotted: equal.".into(),
        ),
        (
            histogram(
                &[Sample { name: "ols", values: &angles }, Sample { name: "wls", values: &better }],
                48,
                &Axes {
                    heading: "Angle to the true direction",
                    x: Axis::new("angle", "°").over(0.0, 12.0),
                    y: Axis::new("share of voxels", "%"),
                    guides: vec![Guide::Vertical(1.9, "median 1.9°".into())],
                },
            ),
            "Where one bundle runs.".into(),
        ),
        (
            bars(
                &[("fimbria", 0.8), ("peer A", 9.4), ("peer B", 21.7)],
                &Axes {
                    heading: "Time of the fit",
                    y: Axis::new("user CPU", "s"),
                    ..Axes::default()
                },
            ),
            "Invented numbers.".into(),
        ),
        (
            xy(
                &[
                    Series { name: "data term", points: &decay(1.0, 9.0), marks: Marks::Line },
                    Series {
                        name: "penalty",
                        points: &decay(0.4, 20.0),
                        marks: Marks::LineAndDots,
                    },
                ],
                &Axes {
                    heading: "Convergence",
                    x: Axis::new("iteration", ""),
                    y: Axis::new("objective", ""),
                    guides: vec![],
                },
            ),
            "Two curves.".into(),
        ),
    ]
}

fn decay(height: f64, length: f64) -> Vec<[f64; 2]> {
    (0..40).map(|i| [f64::from(i), height * (-f64::from(i) / length).exp()]).collect()
}

fn residuals() -> fimbria_report::Figure {
    let shell = |first: u32, n: u32, level: f64| -> Vec<[f64; 2]> {
        let noise = |v: u32| (hash(v) - 0.5) * 0.2;
        (first..first + n).map(|v| [f64::from(v), level * (1.0 + noise(v))]).collect()
    };
    let (low, middle, high) = (shell(0, 6, 31.0), shell(6, 30, 22.0), shell(36, 60, 17.0));
    xy(
        &[
            Series { name: "b = 0", points: &low, marks: Marks::Dots },
            Series { name: "b = 1000", points: &middle, marks: Marks::Dots },
            Series { name: "b = 2000", points: &high, marks: Marks::Dots },
        ],
        &Axes {
            heading: "Residual by volume",
            x: Axis::new("volume", ""),
            y: Axis::new("RMS residual", "a.u."),
            guides: vec![],
        },
    )
}

/// Numbers in 0..1 that look random.
fn hash(i: u32) -> f64 {
    let mixed = (i ^ 0x9e37_79b9).wrapping_mul(0x85eb_ca6b);
    f64::from((mixed ^ mixed >> 13).wrapping_mul(0xc2b2_ae35) >> 8) / f64::from(1 << 24)
}

fn head() -> Head {
    // Stored to the left and to the back, turned about the front-back axis.
    let (sin, cos) = 12f64.to_radians().sin_cos();
    let ras_from_vox = Affine([
        [-1.9 * cos, 0.0, 2.2 * sin, 66.0],
        [0.0, -1.9, 0.0, 98.0],
        [1.9 * sin, 0.0, 2.2 * cos, -84.0],
    ]);
    let grid = Grid { dims: [84, 104, 62], ras_from_vox };
    let mut mask = Mask { grid, voxels: Vec::new() };
    let [mut fa, mut noisy_fa, mut md, mut status] = [(); 4].map(|()| Image::zeros(grid, 1));
    let mut peaks = Image::zeros(grid, 6);
    peaks.data.fill(f32::NAN);
    let centre = ras_from_vox.apply(grid.dims.map(|n| 0.5 * (n - 1) as f64));
    for index in 0..grid.len() {
        let pos_ras = ras_from_vox.apply(grid.voxel(index).map(|i| i as f64));
        let [x, y, z] = std::array::from_fn(|c| pos_ras[c] - centre[c]);
        let radius = ((x / 66.0).powi(2) + (y / 88.0).powi(2) + (z / 58.0).powi(2)).sqrt();
        if radius > 1.0 {
            continue;
        }
        mask.voxels.push(index as u32);
        let bundles = bundles([x, y, z], radius);
        let strength: f64 = bundles.iter().map(|(w, _)| w).fold(0.0, |a, &w| f64::max(a, w));
        let noise = hash(index as u32) - 0.5;
        fa.data[index] = (0.08 + 0.72 * strength) as f32;
        noisy_fa.data[index] =
            fa.data[index] + (0.12 * noise * (1.2 - strength) + 0.03 * x / 66.0) as f32;
        let fluid = if x.abs() < 12.0 && y.abs() < 26.0 && z.abs() < 11.0 && z.abs() > 4.0 {
            1.0
        } else {
            0.0
        };
        md.data[index] = (0.000_7 + 0.000_2 * radius + 0.001_6 * fluid + 0.000_08 * noise) as f32;
        status.data[index] = if noise > 0.492 { 2.0 } else { 1.0 };
        if (z + 30.0).abs() < 8.0 && (y - 70.0).powi(2) + x * x < 90.0 {
            (md.data[index], status.data[index]) = (f32::NAN, 4.0);
        }
        let mut order: Vec<_> = bundles.into_iter().filter(|(w, _)| *w > 0.08).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (peak, (amplitude, dir_ras)) in order.into_iter().take(2).enumerate() {
            for c in 0..3 {
                peaks.volume_mut(3 * peak + c)[index] = (amplitude * dir_ras[c]) as f32;
            }
        }
    }
    Head { mask, fa, noisy_fa, md, peaks, status }
}

/// Strength and direction of the bundles at a position relative to the centre, in mm.
fn bundles([x, y, z]: [f64; 3], radius: f64) -> Vec<(f64, [f64; 3])> {
    let bump = |d: f64| (-d * d).exp();
    let inner = bump(radius / 0.85).powf(0.6) * f64::from(u8::from(radius < 0.93));
    // Across: an arch that dips towards the middle.
    let arch = z - 8.0 - 0.006 * x * x;
    let slope = 0.012 * x;
    let length = slope.hypot(1.0);
    let across = (bump(arch / 8.0) * bump(y / 34.0) * inner, [1.0 / length, 0.0, slope / length]);
    // Around: along ellipses in axial planes.
    let ring = (x / 40.0).hypot(y / 58.0);
    let (tx, ty) = (-y / 58.0 * 40.0, x / 40.0 * 58.0);
    let turn = tx.hypot(ty).max(1e-9);
    let around = (bump((ring - 1.0) / 0.16) * bump(z / 30.0) * inner, [tx / turn, ty / turn, 0.0]);
    // Upwards: two columns that lean outwards.
    let lean = x.signum() * 0.25;
    let column = x.abs() - 24.0 - 0.25 * z;
    let norm = lean.hypot(1.0);
    let upwards =
        (0.9 * bump(column / 7.0) * bump((y + 6.0) / 16.0) * inner, [lean / norm, 0.0, 1.0 / norm]);
    vec![across, around, upwards]
}
