//! Figures of a benchmark, as files.

use std::fs;
use std::path::Path;

use fimbria_report::Figure;
use fimbria_report::plot::{Axes, Axis, Marks, Series, xy};

use crate::{Console, Failure};

/// Named curves, each of points.
pub(crate) type Curves = Vec<(String, Vec<[f64; 2]>)>;

/// Adds a point to the curve of this name, where both coordinates have logarithms: those.
pub(crate) fn add(curves: &mut Curves, name: &str, [x, y]: [f64; 2]) {
    let point = [x.log10(), y.log10()];
    match curves.iter_mut().find(|(of, _)| of == name) {
        Some((_, points)) => points.push(point),
        None => curves.push((name.to_owned(), vec![point])),
    }
}

/// What a figure shows: its file, heading, and the quantities of its logarithmic axes.
pub(crate) struct Shown<'a> {
    pub(crate) file: &'a str,
    pub(crate) heading: &'a str,
    pub(crate) x: &'a str,
    pub(crate) y: &'a str,
}

/// Draws curves over logarithmic axes into `folder`, and says where.
pub(crate) fn draw(
    curves: &Curves,
    shown: &Shown<'_>,
    folder: &Path,
    console: &dyn Console,
) -> Result<(), Failure> {
    let series: Vec<Series<'_>> = curves
        .iter()
        .map(|(name, points)| Series { name, points, marks: Marks::LineAndDots })
        .collect();
    let axes = Axes {
        heading: shown.heading,
        x: Axis::new(shown.x, "power of 10"),
        y: Axis::new(shown.y, "power of 10"),
        guides: Vec::new(),
    };
    save(&xy(&series, &axes), shown.file, folder, console)
}

/// Writes a figure into `folder`, and says where.
pub(crate) fn save(
    figure: &Figure,
    file: &str,
    folder: &Path,
    console: &dyn Console,
) -> Result<(), Failure> {
    fs::create_dir_all(folder)?;
    let path = folder.join(file);
    fs::write(&path, figure.svg())?;
    console.print(&format!("{}\n", path.display()))
}
