//! Particles and methods: the paper's Figures 4.8 to 4.10.

use std::path::Path;

use fimbria_tracking::Deal;

use super::super::clock::{Interruptible, Time, best, once};
use super::super::table::{Table, digits, digits_or_dash, number, words};
use super::subject::{Subject, methods};
use super::{NAME, Processor};
use crate::figures::{Curves, Shown, add, draw};
use crate::{Console, Failure};

/// Particles from which a single run is long enough to be timed by itself.
const LONG: u32 = 500_000;

pub(super) fn table(
    subject: &Subject,
    particles: &[u32],
    plain: u32,
    places: &[Processor],
    figures: Option<&Path>,
    console: &dyn Console,
) -> Result<(), Failure> {
    let table = Table::begin(
        console,
        [
            words("method", 12),
            number("particles", 9),
            words("on", NAME),
            number("s", 7),
            number("M points/s", 10),
            number("per core", 8),
            number("ratio", 6),
            number("points each", 11),
        ],
    )?;
    let quiet = Interruptible(console);
    for (method, propagation) in methods() {
        let mut plainly: Option<f64> = None;
        let mut curves = Curves::new();
        for wanted in particles {
            let made = subject.samples_for(*wanted) * subject.seeds.len() as u32;
            let row = |on: &str, time: Time, points: u64, plainly: Option<f64>| {
                let per_core = time.processor.map(|seconds| points as f64 / seconds);
                table.row_of(
                    time,
                    [
                        method.to_owned(),
                        made.to_string(),
                        on.to_owned(),
                        digits(time.wall),
                        digits(1e-6 * points as f64 / time.wall),
                        digits_or_dash(per_core.map(|rate| 1e-6 * rate)),
                        digits_or_dash(per_core.zip(plainly).map(|(rate, plainly)| rate / plainly)),
                        digits(points as f64 / f64::from(made)),
                    ],
                )
            };
            if *wanted <= plain {
                let mut points = 0;
                let time = once(console, || -> Result<(), Failure> {
                    points = subject.plainly(&propagation, *wanted, &quiet)?;
                    Ok(())
                })?;
                plainly = time.processor.map(|seconds| points as f64 / seconds);
                row("plain, 1 thread", time, points, plainly)?;
                add(&mut curves, "plain, 1 thread", [f64::from(made), time.wall]);
            }
            for place in places {
                let mut points = 0;
                let work = || -> Result<(), Failure> {
                    let deal = Deal::default();
                    points = subject.counted(&propagation, *wanted, place, deal, &quiet)?;
                    Ok(())
                };
                let time =
                    if *wanted >= LONG { once(console, work)? } else { best(console, work)? };
                // Processor time of a device is not that of the threads beside it.
                let processor = match place {
                    Processor::Threads(_) => time.processor,
                    Processor::Device(..) => None,
                };
                row(&place.name(), Time { processor, ..time }, points, plainly)?;
                add(&mut curves, &place.name(), [f64::from(made), time.wall]);
            }
        }
        if let Some(folder) = figures {
            let shown = Shown {
                file: &format!("seconds-by-particles-{}.svg", method.replace([' ', ',', '+'], "-")),
                heading: &format!("Tracking, {method}"),
                x: "particles",
                y: "seconds",
            };
            draw(&curves, &shown, folder, console)?;
        }
    }
    Ok(())
}
