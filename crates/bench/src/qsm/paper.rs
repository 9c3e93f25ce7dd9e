use fimbria_compute::Workers;
use fimbria_compute::device::Device;
use fimbria_qsm::Products;

use super::super::table::{Table, digits, digits_or_dash, number, words};
use super::cube;
use super::products::{PLAIN_PLACE, time_plain, time_products};
use crate::{Console, Failure};

/// Iterations to the end: the paper's 16 hours at 52 seconds each.
const ITERATIONS: f64 = 1100.0;

/// Where the paper computed, and seconds for each iteration (21 cards: 112 minutes to the end).
const PAPER: [(&str, f64); 4] = [
    ("12 cores of Westmere", 640.0),
    ("1 Tesla M2070", 140.0),
    ("4096 cores of Blue Gene/Q", 52.0),
    ("21 Tesla M2090", 112.0 * 60.0 / ITERATIONS),
];

/// The problem that stands for the paper's mouse brain.
pub(super) struct Problem {
    /// Voxels along each side.
    pub(super) side: usize,
    /// Part of them that are cylinders.
    pub(super) cylinders: f64,
    /// Leaves out the dense product and the plain loop.
    pub(super) fast_only: bool,
}

impl Problem {
    /// The paper's table and its two figures, on this machine.
    pub(super) fn table(
        &self,
        console: &dyn Console,
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
        let &Self { side, cylinders, fast_only } = self;
        if !fast_only {
            // The adjoint sums the same pairs.
            let product = time_plain(&cube(side, cylinders, None)?)?;
            let each = 2.0 * product.wall;
            row("plain", PLAIN_PLACE, each, product.processor.map(|s| 2.0 * s), each)?;
        }
        let which: &[Products] =
            if fast_only { &[Products::Fast] } else { &[Products::Dense, Products::Fast] };
        for &products in which {
            let times = time_products(side, cylinders, one, all, devices, &[products])?;
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
}
