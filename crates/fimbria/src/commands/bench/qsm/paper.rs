use fimbria_compute::Workers;
use fimbria_compute::device::Device;
use fimbria_qsm::Products;

use super::super::table::{Table, digits, digits_or_dash, number, words};
use super::products::time_products;
use crate::console::Console;
use crate::failure::Failure;

/// A cube with about the 2.5·10¹¹ pairs of the paper's mouse brain.
const SIDE: usize = 80;

/// Iterations to the end: the paper's 16 hours at 52 seconds each.
const ITERATIONS: f64 = 1100.0;

/// Where the paper computed, and seconds for each iteration (21 cards: 112 minutes to the end).
const PAPER: [(&str, f64); 4] = [
    ("12 cores of Westmere", 640.0),
    ("1 Tesla M2070", 140.0),
    ("4096 cores of Blue Gene/Q", 52.0),
    ("21 Tesla M2090", 112.0 * 60.0 / ITERATIONS),
];

/// The paper's table and its two figures, on this machine.
pub(super) fn table(
    console: &Console,
    cylinders: f64,
    one: &Workers,
    all: &Workers,
    devices: &[Device],
) -> Result<(), Failure> {
    let table = Table::begin(
        console,
        [
            words("product", 8),
            words("on", 28),
            number("s/iteration", 11),
            number("cpu s", 8),
            number("speed-up", 8),
            number("min to end", 10),
        ],
    )?;
    let row = |product: &str, on: &str, seconds: f64, processor: Option<f64>, first: f64| {
        table.row([
            product.to_owned(),
            on.to_owned(),
            digits(seconds),
            digits_or_dash(processor),
            digits(first / seconds),
            digits(ITERATIONS * seconds / 60.0),
        ])
    };
    for (on, seconds) in PAPER {
        row("paper", on, seconds, None, PAPER[0].1)?;
    }
    for products in [Products::Dense, Products::Fast] {
        let times = time_products(SIDE, cylinders, one, all, devices, &[products])?;
        let seconds = times.iter().map(|timed| timed.there.wall + timed.back.wall);
        let seconds: Vec<f64> = seconds.collect();
        for (timed, &each) in times.iter().zip(&seconds) {
            let processor = timed.there.processor.zip(timed.back.processor);
            let processor = processor.map(|(there, back)| there + back);
            row(timed.product, &timed.on, each, processor, seconds[0])?;
        }
    }
    Ok(())
}
