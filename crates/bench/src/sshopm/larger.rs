//! Other orders and dimensions: where each kind of product stops paying.

use fimbria_tensors::batch::{Batch, Products, Shift, Stop, nominal_flops};
use fimbria_tensors::layout::Layout;
use fimbria_tensors::starts::on_half_sphere;

use super::processor::Processor;
use crate::table::{Table, digits, digits_or_dash, number, words};
use crate::{Console, Failure};

/// (order, dimension), by number of unique entries.
const SIZES: [(usize, usize); 12] = [
    (3, 3),
    (4, 3),
    (6, 3),
    (4, 4),
    (8, 3),
    (4, 5),
    (6, 4),
    (4, 6),
    (6, 6),
    (4, 10),
    (4, 16),
    (6, 10),
];
const KINDS: [(Products, &str); 5] = [
    (Products::General, "general"),
    (Products::Tables, "tables"),
    (Products::Blocked, "blocked"),
    (Products::Plain, "plain"),
    (Products::Shared, "shared"),
];
const STARTS: usize = 32;
const ITERATIONS: u32 = 10;
/// Unique entries of all tensors together, on a thread and on a device.
const ENTRIES: [usize; 2] = [1 << 11, 1 << 15];
/// Entries and dimensions beyond which a device's compiler is not asked to unroll.
const UNROLLED: (usize, usize) = (126, 6);

/// A table for one thread and for each device: a row per size, a column per kind of product.
pub(super) fn print(places: &[Processor], console: &dyn Console) -> Result<(), Failure> {
    for place in places.iter().filter(|place| place.is_single() || place.is_device()) {
        console.print(&format!(
            "\nLarger orders and dimensions: microseconds per iteration on {}",
            place.short_name()
        ))?;
        let mut columns = vec![words("m, n", 5), number("unique", 6), number("flops", 7)];
        columns.extend(KINDS.map(|(_, name)| number(name, 8)));
        columns.extend([words("best", 7), number("GFLOPS", 7)]);
        let table = Table::begin(console, columns)?;
        for (m, n) in SIZES {
            let layout = Layout::new(m, n)?;
            let flops = nominal_flops(layout, Shift::Fixed(1.0));
            let mut row = vec![format!("{m}, {n}"), layout.len().to_string(), flops.to_string()];
            let mut best = (f64::INFINITY, "-");
            for (products, name) in KINDS {
                let seconds = time(place, layout, products, console)?;
                row.push(digits_or_dash(seconds.map(|seconds| 1e6 * seconds)));
                if let Some(seconds) = seconds.filter(|&seconds| seconds < best.0) {
                    best = (seconds, name);
                }
            }
            row.extend([best.1.to_owned(), digits(1e-9 * flops as f64 / best.0)]);
            table.row(row)?;
        }
    }
    Ok(())
}

/// Seconds per iteration, where there are such products.
fn time(
    place: &Processor,
    layout: Layout,
    products: Products,
    console: &dyn Console,
) -> Result<Option<f64>, Failure> {
    let (m, n) = (layout.order(), layout.dimension());
    let has_them = match (products, place.is_device()) {
        (Products::General | Products::Blocked, on_device) => !on_device,
        (Products::Tables, _) => true,
        (Products::Plain | Products::Shared, true) => layout.len() <= UNROLLED.0 && n <= UNROLLED.1,
        (Products::Plain, false) => n == 3 && matches!(m, 4 | 6),
        (Products::Shared, false) => n == 3 && matches!(m, 4 | 6 | 8),
    };
    if !has_them {
        return Ok(None);
    }
    let count = (ENTRIES[usize::from(place.is_device())] / layout.len()).max(2);
    // Unit vectors of so many components are as good as any tensors.
    let numbers = on_half_sphere(count, layout.len());
    let tensors: Vec<f32> = numbers.iter().map(|&a| a as f32).collect();
    let starts: Vec<f32> = on_half_sphere(STARTS, n).iter().map(|&x| x as f32).collect();
    let batch = Batch { layout, tensors: &tensors, starts: &starts };
    let stop = Stop::Iterations(ITERATIONS);
    let timed = place.time(&batch, products, Shift::Fixed(1.0), stop, console)?;
    Ok(Some(timed.seconds / timed.iterations))
}
