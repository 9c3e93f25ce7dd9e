//! Table II: a tensor with all its entries, and with its unique ones.

use fimbria_tensors::batch::product_flops;
use fimbria_tensors::tables::Tables;

use super::dense::DenseTensor;
use super::set::Set;
use crate::clock::best;
use crate::table::{Table, digits, number, words};
use crate::{Console, Failure};

/// Products timed in a row.
const REPEATS: usize = 5000;

/// What both store and do, and how long the products take.
pub(super) fn print(set: &Set, console: &dyn Console) -> Result<(), Failure> {
    let layout = set.layout();
    let (m, n, unique) = (layout.order(), layout.dimension(), layout.len());
    let batch = set.first(1);
    let (a, x) = (batch.tensors, batch.starts);
    let dense = DenseTensor::from_unique(&layout, a);
    let tables = Tables::new(layout);
    let table = Table::begin(
        console,
        [
            words("Table II", 10),
            words("entries", 8),
            number("values", 6),
            number("flops", 6),
            number("ns", 6),
        ],
    )?;
    // The dense tensor's chain of matrix-vector products: 2 (nᵐ + nᵐ⁻¹ + …).
    let chain = |down_to: usize| (down_to + 1..=m).map(|k| 2 * n.pow(k as u32)).sum::<usize>();
    let unique_flops = product_flops(layout);
    for (row, (name, left)) in [("A x^m", 0), ("A x^(m-1)", 1)].into_iter().enumerate() {
        let mut room = Vec::new();
        let of_dense = each(console, x, |x| {
            dense.contract_into(x, m - left, &mut room);
            room[0]
        })?;
        let mut y = [0.0; 3];
        let of_unique = each(console, x, |x| {
            if left == 0 {
                return tables.form(a, x);
            }
            tables.gradient(a, x, &mut y);
            y[0]
        })?;
        for (name, kind, values, flops, seconds) in [
            (name, "all", dense.n_entries(), chain(left), of_dense),
            ("", "unique", unique, unique_flops[row], of_unique),
        ] {
            let (values, flops) = (values.to_string(), flops.to_string());
            table.row([name.to_owned(), kind.to_owned(), values, flops, digits(1e9 * seconds)])?;
        }
    }
    let factorial: usize = (1..=m).product();
    let fewer = |all: usize, unique: usize| digits(all as f64 / unique as f64);
    console.print(&format!(
        "{} times fewer values, which grows to m! = {factorial} with the dimension; {} and {} times \
         fewer flops\n",
        fewer(dense.n_entries(), unique),
        fewer(chain(0), unique_flops[0]),
        fewer(chain(1), unique_flops[1]),
    ))?;
    Ok(())
}

/// Seconds of one product, over many with changing vectors.
fn each(
    console: &dyn Console,
    vectors: &[f32],
    mut product: impl FnMut(&[f32]) -> f32,
) -> Result<f64, Failure> {
    let time = best(console, || {
        let sum: f32 = vectors.chunks(3).cycle().take(REPEATS).map(&mut product).sum();
        std::hint::black_box(sum);
        Ok::<_, Failure>(())
    })?;
    Ok(time.wall / REPEATS as f64)
}
