//! What tests of figures track in, and a console that keeps what they print.

use std::sync::Mutex;

use fimbria_compute::{Progress, Workers};
use fimbria_image::sticks::{PackedStick, StickSamples};
use fimbria_image::{Affine, Grid, Mask};
use fimbria_tracking::{Field, Seed, Space};

use super::subject::Subject;
use crate::{Console, Failure};

/// One fibre along x, fanned out sample by sample: the middle sample is straight. One seed.
pub(super) fn fan(workers: &Workers) -> Subject {
    let grid = Grid { dims: [40, 30, 9], ras_from_vox: Affine::from_spacing([2.0; 3]) };
    let mut samples = StickSamples::empty(Mask::full(grid), 1, 11).unwrap();
    for (at, stick) in samples.sticks.iter_mut().enumerate() {
        *stick = PackedStick::new([1.0, 0.1 * ((at % 11) as f64 - 5.0), 0.0], 0.5);
    }
    let (field, space) = (Field::new(samples, workers), Space::same(grid));
    Subject::of(field, space, vec![Seed { key: 0, region: 0, pos: [20.0, 15.0, 5.0] }])
}

/// Keeps what is printed.
#[derive(Default)]
pub(super) struct Kept(Mutex<String>);

impl Kept {
    /// The words of the one row that begins so, without that beginning.
    pub(super) fn row(&self, beginning: &str) -> Vec<String> {
        let shown = self.0.lock().unwrap();
        let mut rows = shown.lines().filter_map(|line| line.strip_prefix(beginning));
        let row = rows.next().unwrap_or_else(|| panic!("no {beginning}: {shown}"));
        assert_eq!(rows.next(), None, "{shown}");
        row.split_whitespace().map(str::to_owned).collect()
    }
}

impl Progress for Kept {
    fn start(&self, _what: &str, _total: u64) {}
    fn advance(&self, _items: u64) {}
    fn warn(&self, _message: &str) {}
    fn is_cancelled(&self) -> bool {
        false
    }
}

impl Console for Kept {
    fn print(&self, text: &str) -> Result<(), Failure> {
        self.0.lock().unwrap().push_str(text);
        Ok(())
    }
}
