//! Figure 5: how many tensors it takes to keep each place busy.

use std::path::Path;

use fimbria_tensors::batch::{Products, Shift, nominal_flops};

use super::Stops;
use super::processor::Processor;
use super::set::Set;
use crate::figures::{Curves, Shown, add, draw};
use crate::table::{Table, digits, number};
use crate::{Console, Failure};

/// A row for 1, 2, 4 ... tensors, two columns for each place.
pub(super) fn print(
    set: &Set,
    stops: Stops,
    places: &[Processor],
    figures: Option<&Path>,
    console: &dyn Console,
) -> Result<(), Failure> {
    let names: Vec<String> = places.iter().map(Processor::short_name).collect();
    console.print(&format!(
        "\nFigure 5: shared products, {} iterations without a shift; on {}",
        stops.iterations,
        names.join(" | "),
    ))?;
    let mut columns = vec![number("tensors", 7)];
    for _ in places {
        columns.extend([number("ms", 9), number("GFLOPS", 7)]);
    }
    let table = Table::begin(console, columns)?;
    let shift = Shift::Fixed(0.0);
    let sizes = std::iter::successors(Some(1), |n| Some(2 * n)).take_while(|&n| n <= set.len());
    let mut curves = Curves::new();
    for n in sizes {
        let mut row = vec![n.to_string()];
        for (place, name) in places.iter().zip(&names) {
            let timed =
                place.time(&set.first(n), Products::Shared, shift, stops.fixed(), console)?;
            let flops = timed.iterations * nominal_flops(set.layout(), shift) as f64;
            add(&mut curves, name, [n as f64, 1e-9 * flops / timed.seconds]);
            row.extend([digits(1e3 * timed.seconds), digits(1e-9 * flops / timed.seconds)]);
        }
        table.row(row)?;
    }
    let Some(folder) = figures else { return Ok(()) };
    let order = set.layout().order();
    let shown = Shown {
        file: &format!("gflops-by-tensors-order-{order}.svg"),
        heading: "Performance on sets of tensors",
        x: "tensors",
        y: "GFLOP/s",
    };
    draw(&curves, &shown, folder, console)
}
