//! Threads, and how much is dealt at a time: in place of the paper's Figures 4.14 and 4.15.

use fimbria_compute::Workers;
use fimbria_tracking::Deal;

use super::super::clock::{Interruptible, best};
use super::super::table::{Table, digits, number, words};
use super::subject::{Subject, methods};
use super::{NAME, Processor};
use crate::{Console, Failure};

pub(super) fn table(
    subject: &Subject,
    particles: u32,
    counts: &[usize],
    places: &[Processor],
    console: &dyn Console,
) -> Result<(), Failure> {
    let table = Table::begin(
        console,
        [
            words("on", NAME),
            number("samples at a time", 17),
            number("s", 7),
            number("M points/s", 10),
            number("ratio", 6),
        ],
    )?;
    let quiet = Interruptible(console);
    let (_, basic) = methods()[0];
    let row = |place: &Processor, deal: Deal, at_a_time: u64, first: &mut Option<f64>| {
        let mut points = 0;
        let time = best(console, || -> Result<(), Failure> {
            points = subject.counted(&basic, particles, place, deal, &quiet)?;
            Ok(())
        })?;
        let first = *first.get_or_insert(time.wall);
        table.row_of(
            time,
            [
                place.name(),
                at_a_time.to_string(),
                digits(time.wall),
                digits(1e-6 * points as f64 / time.wall),
                digits(first / time.wall),
            ],
        )?;
        Ok::<(), Failure>(())
    };
    let mut first = None;
    if let Some(&n_threads) = counts.last() {
        let doubled = std::iter::successors(Some(1), |threads| Some(2 * threads));
        for threads in doubled.take_while(|threads| *threads < n_threads).chain([n_threads]) {
            let place = Processor::Threads(Workers::new(threads)?);
            row(&place, Deal::default(), Deal::default().block, &mut first)?;
        }
        for block in [64, 256, 1024, 4096, 16_384] {
            let place = Processor::Threads(Workers::new(n_threads)?);
            row(&place, Deal { block, ..Deal::default() }, block, &mut first)?;
        }
    }
    for place in places.iter().filter(|place| matches!(place, Processor::Device(..))) {
        for launch in [1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18] {
            row(place, Deal { launch, ..Deal::default() }, launch, &mut first)?;
        }
    }
    Ok(())
}
