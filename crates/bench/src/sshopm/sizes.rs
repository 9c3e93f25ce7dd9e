//! Figure 5: how many tensors it takes to keep each place busy.

use fimbria_tensors::batch::{Products, Shift, nominal_flops};

use super::Stops;
use super::processor::Processor;
use super::set::Set;
use crate::table::{Table, digits, number};
use crate::{Console, Failure};

/// A row for 1, 2, 4 ... tensors, two columns for each place.
pub(super) fn print(
    set: &Set,
    stops: Stops,
    places: &[Processor],
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
    for n in sizes {
        let mut row = vec![n.to_string()];
        for place in places {
            let timed =
                place.time(&set.first(n), Products::Shared, shift, stops.fixed(), console)?;
            let flops = timed.iterations * nominal_flops(set.layout(), shift) as f64;
            row.extend([digits(1e3 * timed.seconds), digits(1e-9 * flops / timed.seconds)]);
        }
        table.row(row)?;
    }
    Ok(())
}
