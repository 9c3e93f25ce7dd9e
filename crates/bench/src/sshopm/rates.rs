//! Table III: general and unrolled, in every place.

use fimbria_tensors::batch::{Products, Shift, Stop, executed_flops, nominal_flops};

use super::Stops;
use super::processor::{Processor, Timed};
use super::set::{SAMPLED, Set};
use crate::table::{Table, digits, digits_or_dash, number, percent, words};
use crate::{Console, Failure};

/// Three tables, one for each way to stop.
pub(super) fn print(
    set: &Set,
    stops: Stops,
    places: &[Processor],
    console: &dyn Console,
) -> Result<(), Failure> {
    let Stops { iterations, tolerance, max_iterations } = stops;
    let without = Shift::Fixed(0.0);
    let at_rest =
        format!("until λ changes by at most {tolerance:e} of itself (or {max_iterations})");
    let mut naive = None;
    for (title, stop, shift) in [
        (format!("{iterations} iterations without a shift"), stops.fixed(), without),
        (format!("{at_rest}, without a shift"), stops.at_rest(), without),
        (format!("{at_rest}, adaptive shift"), stops.at_rest(), Shift::Adaptive),
    ] {
        console.print(&format!("\nTable III: {title}"))?;
        let table = begin(console)?;
        for (products, name) in [
            (Products::General, "general"),
            (Products::Tables, "tables"),
            (Products::Plain, "plain"),
            (Products::Shared, "shared"),
        ] {
            if shift == Shift::Adaptive && products != Products::Shared {
                continue; // the others do not make A x^(m-2)
            }
            for place in places {
                if place.is_device() && products == Products::General {
                    continue; // a device's general products are those with tables
                }
                if products == Products::Plain && !place.is_device() && set.layout().order() == 8 {
                    continue; // over a thousand operations in a row, which no cache thanks
                }
                let is_slow = matches!(products, Products::General | Products::Tables);
                let is_sampled = is_slow && !place.is_device() && set.len() > 2 * SAMPLED;
                let batch = if is_sampled { set.sample() } else { set.batch() };
                let timed = place.time(&batch, products, shift, stop, console)?;
                let scale = if is_sampled { set.per_sample() } else { 1.0 };
                let seconds = scale * timed.seconds;
                if products == Products::General && place.is_single() {
                    naive = Some(seconds);
                }
                let ms = digits(1e3 * seconds);
                let shown = [
                    name.to_owned(),
                    place.short_name(),
                    if is_sampled { format!("~{ms}") } else { ms },
                    digits_or_dash(naive.map(|naive| naive / seconds)),
                ];
                let at_rest = match stop {
                    Stop::Iterations(_) => "-".to_owned(),
                    Stop::Tolerance { .. } => percent(timed.at_rest / timed.starts),
                };
                let rates = rates(&timed, set, products, shift, place);
                table.row_of(timed.time, shown.into_iter().chain(rates).chain([at_rest]))?;
            }
        }
    }
    Ok(())
}

fn begin(console: &dyn Console) -> Result<Table<'_>, Failure> {
    let columns = [
        words("products", 8),
        words("on", Processor::NAME),
        number("ms", 7),
        number("ratio", 6),
        number("GFLOPS", 7),
        number("executed", 8),
        number("of peak", 7),
        number("iterations", 10),
        number("at rest", 7),
    ];
    Table::begin(console, columns)
}

/// GFLOPS, executed, its share of the peak, mean iterations.
fn rates(
    timed: &Timed,
    set: &Set,
    products: Products,
    shift: Shift,
    place: &Processor,
) -> [String; 4] {
    let rate = timed.iterations / timed.seconds;
    let executed = executed_flops(set.layout(), products, shift).map(|flops| flops as f64 * rate);
    [
        digits(1e-9 * rate * nominal_flops(set.layout(), shift) as f64),
        digits_or_dash(executed.map(|flops| 1e-9 * flops)),
        executed.map_or("-".to_owned(), |flops| percent(flops / place.peak_flops())),
        digits(timed.iterations / timed.starts),
    ]
}
