//! What figures show, read back from their SVG and the PNG inside it.

use fimbria_image::{Affine, Grid, Image, Mask};
use fimbria_report::{
    Figure, FigureError, Layout, Plane, Window, colour,
    figure::{
        Direction, Glyphs, Scalar, Status, glyphs, mosaic_difference, mosaic_rgb, mosaic_scalar,
        mosaic_status,
    },
};

/// A slice of a figure: its pixels and where they and their letters are.
struct Panel {
    rect: [f64; 4],
    width: usize,
    pixels: Vec<[u8; 3]>,
    /// Text and position, in drawing order: the four sides, then the place of the slice.
    texts: Vec<(String, [f64; 2])>,
}

impl Panel {
    fn letter(&self, letter: &str) -> Option<[f64; 2]> {
        self.texts.iter().find(|(text, _)| text == letter).map(|(_, position)| *position)
    }

    fn centre(&self) -> [f64; 2] {
        let [x, y, w, h] = self.rect;
        [x + 0.5 * w, y + 0.5 * h]
    }
}

/// Panels of a figure; pictures that no letters follow (the colour bar) are none.
fn panels(figure: &Figure) -> Vec<Panel> {
    let mut panels: Vec<Panel> = Vec::new();
    for line in figure.svg().lines() {
        let number = |name: &str| attribute(line, name).unwrap().parse::<f64>().unwrap();
        if line.starts_with("<image") {
            let rect = ["x", "y", "width", "height"].map(number);
            let uri = attribute(line, "href").unwrap();
            let file = base64(uri.strip_prefix("data:image/png;base64,").unwrap());
            let (width, pixels) = decode(&file);
            panels.push(Panel { rect, width, pixels, texts: Vec::new() });
        } else if let Some((_, text)) = line.strip_prefix("<text").and_then(|l| l.split_once('>'))
            && let Some(panel) = panels.last_mut()
        {
            let text = text.strip_suffix("</text>").unwrap().to_string();
            panel.texts.push((text, [number("x"), number("y")]));
        }
    }
    panels.retain(|panel| panel.letter("I").or(panel.letter("P")).is_some());
    panels
}

fn attribute<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(&format!(" {name}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

fn base64(text: &str) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bytes = Vec::new();
    for group in text.as_bytes().chunks(4) {
        let used = group.iter().filter(|c| **c != b'=').count();
        let word = group.iter().fold(0u32, |w, &c| w << 6 | u32::from(digit(c)));
        bytes.extend(&word.to_be_bytes()[1..used]);
    }
    bytes
}

fn decode(file: &[u8]) -> (usize, Vec<[u8; 3]>) {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(file));
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().unwrap();
    let mut samples = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut samples).unwrap();
    (info.width as usize, samples.chunks(3).map(|rgb| [rgb[0], rgb[1], rgb[2]]).collect())
}

/// Grids that cover about the same box around the scanner's centre, stored in many ways: RAS,
/// LAS, LPI, permuted axes with flips, and each of them turned by 20 degrees about z and x.
fn grids() -> Vec<Grid> {
    let storages: [[(usize, f64); 3]; 4] = [
        [(0, 1.0), (1, 1.0), (2, 1.0)],
        [(0, -1.0), (1, 1.0), (2, 1.0)],
        [(0, -1.0), (1, -1.0), (2, -1.0)],
        [(2, -1.0), (0, 1.0), (1, -1.0)],
    ];
    // Box of 60 x 72 x 50 mm, voxels of 3 x 2 x 2.5 mm along RAS.
    let (dims_ras, mm) = ([20usize, 36, 20], [3.0, 2.0, 2.5]);
    let (sin, cos) = 20f64.to_radians().sin_cos();
    let about_z = Affine([[cos, -sin, 0.0, 0.0], [sin, cos, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]);
    let about_x = Affine([[1.0, 0.0, 0.0, 0.0], [0.0, cos, -sin, 0.0], [0.0, sin, cos, 0.0]]);
    let mut grids = Vec::new();
    for storage in storages {
        let mut rows = [[0.0; 4]; 3];
        let mut dims = [0; 3];
        for (axis, &(ras, sign)) in storage.iter().enumerate() {
            rows[ras][axis] = sign * mm[ras];
            rows[ras][3] = -sign * mm[ras] * 0.5 * (dims_ras[ras] - 1) as f64;
            dims[axis] = dims_ras[ras];
        }
        let straight = Affine(rows);
        for ras_from_vox in [straight, about_z.after(&straight), about_x.after(&straight)] {
            grids.push(Grid { dims, ras_from_vox });
        }
    }
    grids
}

fn map(grid: Grid, value: impl Fn([f64; 3]) -> f64) -> Image {
    let mut image = Image::zeros(grid, 1);
    for index in 0..grid.len() {
        let pos_vox = grid.voxel(index).map(|i| i as f64);
        image.data[index] = value(grid.ras_from_vox.apply(pos_vox)) as f32;
    }
    image
}

#[test]
fn brightness_rises_towards_the_letter_of_its_axis() {
    for grid in grids() {
        let mask = Mask::full(grid);
        for (axis, letters) in [["L", "R"], ["P", "A"], ["I", "S"]].into_iter().enumerate() {
            let ramp = map(grid, |pos_ras| pos_ras[axis]);
            let style =
                Scalar { window: Window::Fixed([-50.0, 50.0]), ..Scalar::new("ramp", "mm") };
            let panels = panels(&mosaic_scalar(&ramp, &mask, &style).unwrap());
            assert_eq!(panels.len(), 12, "ten axial slices, one coronal, one sagittal");
            let mut shown = 0;
            for panel in &panels {
                let [low, high] = letters.map(|letter| panel.letter(letter));
                let (Some(low), Some(high)) = (low, high) else { continue };
                shown += 1;
                // Slope of the picture by moments, to the right and down as in the SVG.
                let height = panel.pixels.len() / panel.width;
                let mut slope = [0.0; 2];
                for (i, pixel) in panel.pixels.iter().enumerate() {
                    let value = f64::from(pixel[0]);
                    slope[0] += value * ((i % panel.width) as f64 - 0.5 * (panel.width - 1) as f64)
                        / panel.width.pow(3) as f64;
                    slope[1] += value * ((i / panel.width) as f64 - 0.5 * (height - 1) as f64)
                        / height.pow(3) as f64;
                }
                let towards = [high[0] - low[0], high[1] - low[1]];
                let length = towards[0].hypot(towards[1]);
                let along = (slope[0] * towards[0] + slope[1] * towards[1]) / length;
                assert!(along > 0.0, "axis {axis} of {grid:?} falls towards {}", letters[1]);
            }
            assert!(shown >= 2, "axis {axis} is in the plane of at least two panels");
        }
    }
}

#[test]
fn a_marker_lies_where_its_scanner_position_says() {
    let marker = [15.0, 18.0, 10.0];
    for grid in grids() {
        let pos_vox = grid.ras_from_vox.inverse().unwrap().apply(marker).map(f64::round);
        let mut image = Image::zeros(grid, 1);
        let index = grid.index(pos_vox.map(|v| v as usize));
        image.data[index] = 1.0;
        let pos_ras = grid.ras_from_vox.apply(pos_vox);
        let style = Scalar {
            window: Window::Fixed([0.0, 1.0]),
            layout: Layout { slices: 100, orthogonal: false },
            ..Scalar::new("marker", "")
        };
        let panels = panels(&mosaic_scalar(&image, &Mask::full(grid), &style).unwrap());
        let white = |panel: &&Panel| panel.pixels.contains(&[255; 3]);
        let found: Vec<_> = panels.iter().filter(white).collect();
        assert_eq!(found.len(), 1, "{grid:?}");
        let panel = found[0];
        // True proportions: 60 x 72 mm in the picture.
        let [x, y, w, h] = panel.rect;
        assert!((w / h - 60.0 / 72.0).abs() < 1e-3, "{w} by {h}");
        let pixel = panel.pixels.iter().position(|p| *p == [255; 3]).unwrap();
        let height = panel.pixels.len() / panel.width;
        let right = x + w * ((pixel % panel.width) as f64 + 0.5) / panel.width as f64;
        let down = y + h * ((pixel / panel.width) as f64 + 0.5) / height as f64;
        let px_per_mm = w / 60.0;
        let [centre_x, centre_y] = panel.centre();
        // In the grid's own axes: undo its rotation, which keeps the centre in place.
        let rotation = grid.ras_from_vox.rotation();
        let expected: Vec<f64> = (0..2)
            .map(|c| {
                // The storage axis next to scanner axis c, pointing along it.
                let nearest =
                    |a: &usize, b: &usize| rotation[c][*a].abs().total_cmp(&rotation[c][*b].abs());
                let axis = (0..3).max_by(nearest).unwrap();
                let along: f64 = (0..3).map(|r| rotation[r][axis] * pos_ras[r]).sum();
                along * rotation[c][axis].signum()
            })
            .collect();
        // Coordinates in the SVG have two decimals.
        assert!((right - centre_x - px_per_mm * expected[0]).abs() < 0.05, "{grid:?}");
        assert!((centre_y - down - px_per_mm * expected[1]).abs() < 0.05, "{grid:?}");
    }
}

#[test]
fn slices_are_labelled_with_their_scanner_coordinate() {
    let straight = Grid { dims: [9, 9, 1], ras_from_vox: Affine::IDENTITY };
    let mut moved = straight;
    moved.ras_from_vox.0[2][3] = -7.0;
    let mut turned = moved;
    turned.ras_from_vox.0[2][1] = 0.1;
    for (grid, label) in [(straight, "z = 0"), (moved, "z = −7"), (turned, "z ≈ −7")] {
        let style = Scalar::new("zero", "");
        let figure = mosaic_scalar(&Image::zeros(grid, 1), &Mask::full(grid), &style).unwrap();
        assert_eq!(panels(&figure)[0].texts[4].0, label);
    }
}

#[test]
fn directions_have_the_colours_of_the_field() {
    for (dir_ras, colour) in [
        ([1.0, 0.0, 0.0], [255, 15, 19]),
        ([0.0, -1.0, 0.0], [13, 255, 19]),
        ([0.0, 0.0, 1.0], [13, 15, 255]),
    ] {
        // Components that vanish are lifted to the figure's ground.
        assert!((0..3).all(|k| colour[k] == 255 || colour[k] == colour::BACKGROUND[k]));
        let grid = Grid { dims: [6, 5, 4], ras_from_vox: Affine::from_spacing([-2.0, 2.0, 2.0]) };
        let mut dirs = Image::zeros(grid, 3);
        for c in 0..3 {
            dirs.volume_mut(c).fill(dir_ras[c]);
        }
        let weight = map(grid, |_| 0.7);
        let style = Direction::new("V1");
        let figure = mosaic_rgb(&dirs, &weight, &Mask::full(grid), &style).unwrap();
        for panel in panels(&figure) {
            assert!(panel.pixels.iter().all(|p| *p == colour), "{dir_ras:?}");
        }
    }
}

#[test]
fn sticks_follow_scanner_directions_on_turned_and_flipped_grids() {
    // Along (cos 30°, sin 30°) in scanner axes. On a grid turned by 20 degrees about z that is
    // 10 degrees from the rows of pixels, however the grid is stored.
    let grids = grids();
    for (i, grid) in grids.iter().enumerate().filter(|(i, _)| i % 3 < 2) {
        let degrees: f64 = if i % 3 == 0 { 30.0 } else { 10.0 };
        let mut peaks = Image::zeros(*grid, 3);
        peaks.volume_mut(0).fill(30f64.to_radians().cos() as f32);
        peaks.volume_mut(1).fill(30f64.to_radians().sin() as f32);
        let style = Glyphs { plane: Some(Plane::Axial), ..Glyphs::new("sticks") };
        let background = Image::zeros(*grid, 1);
        let figure = glyphs(&peaks, &background, &Mask::full(*grid), &style).unwrap();
        let svg = figure.svg();
        let path = svg.lines().find(|line| line.starts_with("<path")).unwrap();
        let sticks: Vec<[f64; 2]> = attribute(path, "d")
            .unwrap()
            .split('M')
            .skip(1)
            .map(|stick| {
                let (_, ends) = stick.split_once('l').unwrap();
                let (x, y) = ends.split_once(' ').unwrap();
                [x.parse().unwrap(), y.parse().unwrap()]
            })
            .collect();
        assert_eq!(sticks.len(), 20 * 36, "one per voxel of the slice");
        for [x, y] in sticks {
            // Up is negative in an SVG. Two decimals of a stick of some 20 pixels: 0.03 degrees.
            let angle = (-y / x).atan().to_degrees();
            assert!((angle - degrees).abs() < 0.05, "{angle} for {degrees} on {grid:?}");
        }
    }
}

#[test]
fn several_peaks_and_missing_ones_share_a_voxel() {
    let grid = Grid { dims: [1, 2, 1], ras_from_vox: Affine::IDENTITY };
    let mut peaks = Image::zeros(grid, 6);
    // Voxel 0: x and y. Voxel 1: x only, the other missing.
    peaks.volume_mut(0).fill(1.0);
    peaks.volume_mut(4)[0] = 1.0;
    peaks.volume_mut(3)[1] = f32::NAN;
    let style = Glyphs::new("peaks");
    let figure = glyphs(&peaks, &Image::zeros(grid, 1), &Mask::full(grid), &style).unwrap();
    let svg = figure.svg();
    let paths = svg.lines().filter(|line| line.starts_with("<path"));
    let counts: Vec<usize> =
        paths.map(|p| attribute(p, "d").unwrap().matches('M').count()).collect();
    assert_eq!(counts.iter().sum::<usize>(), 3);
    assert_eq!(counts.len(), 2, "one path per colour");
}

#[test]
fn equal_maps_have_a_dark_difference_and_errors_have_the_colour_of_their_sign() {
    let grid = Grid { dims: [3, 1, 1], ras_from_vox: Affine::IDENTITY };
    let (mut estimate, truth) = (map(grid, |_| 0.5), map(grid, |_| 0.5));
    estimate.data[0] = 0.4;
    estimate.data[2] = 0.6;
    let style = Scalar {
        scale: colour::Scale::Difference,
        window: Window::Symmetric,
        ..Scalar::new("error", "")
    };
    let figure = mosaic_difference(&estimate, &truth, &Mask::full(grid), &style).unwrap();
    let pixels = panels(&figure).remove(0).pixels;
    assert!(pixels[1].iter().all(|v| *v < 50), "zero is dark: {:?}", pixels[1]);
    assert!(pixels[0][2] > pixels[0][0] + 50, "too low is blue: {:?}", pixels[0]);
    assert!(pixels[2][0] > pixels[2][2] + 50, "too high is orange: {:?}", pixels[2]);
}

#[test]
fn voxels_without_a_value_are_named_and_outside_is_ground() {
    let grid = Grid { dims: [3, 1, 1], ras_from_vox: Affine::IDENTITY };
    let mut image = map(grid, |_| 1.0);
    image.data[2] = f32::NAN;
    let mask = Mask { grid, voxels: vec![0, 2] };
    let figure = mosaic_scalar(&image, &mask, &Scalar::new("map", "")).unwrap();
    let pixels = panels(&figure).remove(0).pixels;
    assert_eq!(pixels[1..], [colour::BACKGROUND, colour::NO_VALUE]);
    assert!(figure.svg().contains(">no value<"));
}

#[test]
fn a_status_map_counts_the_categories_that_occur() {
    let grid = Grid { dims: [4, 1, 1], ras_from_vox: Affine::IDENTITY };
    let mut image = map(grid, |_| 1.0);
    image.data[3] = 9.0;
    let style = Status {
        heading: "Status",
        categories: &[(1, "fitted"), (2, "constraint active")],
        layout: Layout::default(),
    };
    let svg = mosaic_status(&image, &Mask::full(grid), &style).unwrap().svg();
    assert!(svg.contains(">fitted 3<") && svg.contains(">other 1<"));
    assert!(!svg.contains("constraint"));
}

#[test]
fn an_empty_mask_is_a_figure_that_says_so() {
    let grid = Grid { dims: [4, 4, 4], ras_from_vox: Affine::IDENTITY };
    let mask = Mask { grid, voxels: vec![] };
    let (scalar, vectors) = (Image::zeros(grid, 1), Image::zeros(grid, 3));
    let figures = [
        mosaic_scalar(&scalar, &mask, &Scalar::new("a", "")),
        mosaic_rgb(&vectors, &scalar, &mask, &Direction::new("b")),
        glyphs(&vectors, &scalar, &mask, &Glyphs::new("c")),
    ];
    for figure in figures {
        assert!(figure.unwrap().svg().contains("The mask has no voxels"));
    }
}

#[test]
fn a_volume_of_two_slices_is_shown_as_two_large_slices() {
    // The shape and affine of a real series of two oblique slices.
    let ras_from_vox =
        Affine([[-2.0, 0.0, 0.0, 107.7], [0.0, 1.973, -0.327, -85.8], [0.0, 0.327, 1.973, -52.3]]);
    let grid = Grid { dims: [104, 104, 2], ras_from_vox };
    let style = Scalar::new("FA", "");
    let figure = mosaic_scalar(&Image::zeros(grid, 1), &Mask::full(grid), &style).unwrap();
    let panels = panels(&figure);
    assert_eq!(panels.len(), 2);
    assert!(panels.iter().all(|panel| panel.rect[2] > 400.0 && panel.width == 104));
}

#[test]
fn wrong_grids_and_volume_counts_are_errors_that_name_the_map() {
    let grid = Grid { dims: [4, 4, 4], ras_from_vox: Affine::IDENTITY };
    let other = Grid { dims: [4, 4, 5], ..grid };
    let mask = Mask::full(grid);
    let error = mosaic_scalar(&Image::zeros(other, 1), &mask, &Scalar::new("FA", "")).unwrap_err();
    assert!(matches!(error, FigureError::Grid(_)) && error.to_string().contains("FA"));
    let (two, four) = (Image::zeros(grid, 2), Image::zeros(grid, 4));
    let error = mosaic_rgb(&two, &two, &mask, &Direction::new("V1")).unwrap_err();
    assert_eq!(error.to_string(), "V1 has 2 volumes where at least 3 are needed");
    let error = glyphs(&four, &two, &mask, &Glyphs::new("peaks")).unwrap_err();
    assert_eq!(error.to_string(), "peaks has 4 volumes where three per direction are needed");
}
