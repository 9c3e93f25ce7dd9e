//! Threads, and how much is dealt at a time: in place of the paper's Figures 4.14 and 4.15.

use std::path::Path;

use fimbria_compute::Workers;
use fimbria_tracking::Deal;

use super::super::clock::{Interruptible, best};
use super::super::table::{Table, digits, number, words};
use super::subject::{Subject, methods};
use super::{NAME, Processor};
use crate::figures::{Curves, Shown, add, draw};
use crate::{Console, Failure};

pub(super) fn table(
    subject: &Subject,
    particles: u32,
    counts: &[usize],
    places: &[Processor],
    figures: Option<&Path>,
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
        let ratio = *first.get_or_insert(time.wall) / time.wall;
        table.row_of(
            time,
            [
                place.name(),
                at_a_time.to_string(),
                digits(time.wall),
                digits(1e-6 * points as f64 / time.wall),
                digits(ratio),
            ],
        )?;
        Ok::<f64, Failure>(time.wall)
    };
    let mut first = None;
    let (mut by_threads, mut by_samples) = (Curves::new(), Curves::new());
    if let Some(&n_threads) = counts.last() {
        let doubled = std::iter::successors(Some(1), |threads| Some(2 * threads));
        for threads in doubled.take_while(|threads| *threads < n_threads).chain([n_threads]) {
            let place = Processor::Threads(Workers::new(threads)?);
            let seconds = row(&place, Deal::default(), Deal::default().block, &mut first)?;
            add(&mut by_threads, "threads", [threads as f64, seconds]);
        }
        for block in [64, 256, 1024, 4096, 16_384] {
            let place = Processor::Threads(Workers::new(n_threads)?);
            let seconds = row(&place, Deal { block, ..Deal::default() }, block, &mut first)?;
            add(&mut by_samples, &place.name(), [block as f64, seconds]);
        }
    }
    for place in places.iter().filter(|place| matches!(place, Processor::Device(..))) {
        for launch in [1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18] {
            let seconds = row(place, Deal { launch, ..Deal::default() }, launch, &mut first)?;
            add(&mut by_samples, &place.name(), [launch as f64, seconds]);
        }
    }
    let Some(folder) = figures else { return Ok(()) };
    // The name of a single curve is not drawn.
    let on = match &by_samples[..] {
        [(name, _)] => format!(", {name}"),
        _ => String::new(),
    };
    for (curves, file, x, on) in [
        (&by_samples, "seconds-by-samples-at-a-time.svg", "samples at a time", &*on),
        (&by_threads, "seconds-by-threads.svg", "threads", ""),
    ] {
        if !curves.is_empty() {
            let heading = &format!("Tracking, basic, {particles} particles{on}");
            draw(curves, &Shown { file, heading, x, y: "seconds" }, folder, console)?;
        }
    }
    Ok(())
}
