//! Any bytes as a finished chunk of `sticks`: refused, or taken up as samples and maps that can be used.
#![no_main]

use std::sync::{Mutex, OnceLock};

use fimbria_compute::{Backend, Progress, Workers};
use fimbria_image::bedpostx::Dyads;
use fimbria_image::{Affine, GradientTable, Grid, Image, Mask};
use fimbria_sticks::{Keeper, SticksError, SticksOptions, sample};
use libfuzzer_sys::fuzz_target;

/// Keeps one chunk.
struct Kept(Mutex<Option<Vec<u8>>>);

impl Keeper for Kept {
    fn kept(&self, _: usize) -> Option<Vec<u8>> {
        self.0.lock().unwrap().clone()
    }

    fn keep(&self, _: usize, results: &[u8]) -> std::io::Result<()> {
        *self.0.lock().unwrap() = Some(results.to_vec());
        Ok(())
    }
}

/// Lets work go on, or not.
struct Goes(bool);

impl Progress for Goes {
    fn start(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) {}
    fn warn(&self, _: &str) {}
    fn is_cancelled(&self) -> bool {
        !self.0
    }
}

/// Samples two voxels, for which a chunk may be kept.
fn sampled(kept: &Kept, goes: bool) -> Result<(), SticksError> {
    static WORKERS: OnceLock<Workers> = OnceLock::new();
    let workers = WORKERS.get_or_init(|| Workers::new(1).expect("a thread"));
    let grid = Grid { dims: [2, 1, 1], ras_from_vox: Affine::IDENTITY };
    let third = 3.0_f64.sqrt().recip();
    let gradients = GradientTable {
        b_s_per_mm2: vec![0.0, 1000.0, 1000.0, 1000.0, 1000.0, 1000.0, 1000.0],
        dirs_ras: vec![
            [0.0; 3],
            [1.0, 0.0, 0.0],
            [0.0, 1.0, 0.0],
            [0.0, 0.0, 1.0],
            [third; 3],
            [-third, third, third],
            [third, -third, third],
        ],
        b0_threshold: GradientTable::DEFAULT_B0_THRESHOLD,
    };
    let of_volume = [9.0, 2.0, 6.0, 6.0, 4.0, 5.0, 5.0];
    let data = of_volume.iter().flat_map(|s| [100.0 * s, 90.0 * s]).collect();
    let series = Image { grid, n_volumes: of_volume.len(), data };
    let options = SticksOptions {
        n_fibres: 1,
        burn_in: 4,
        jumps: 4,
        sample_every: 2,
        adapt_every: 2,
        ..SticksOptions::default()
    };
    let (mask, on) = (Mask::full(grid), Backend::cpu(workers));
    let found = sample(&series, &mask, &gradients, None, &options, Some(kept), &on, &Goes(goes))?;
    workers.install(|| Dyads::from_samples(&found.sticks, 0.05));
    for map in &found.maps {
        assert_eq!(map.image.data.len(), grid.len());
    }
    Ok(())
}

/// Bytes of a chunk.
fn length() -> usize {
    static LENGTH: OnceLock<usize> = OnceLock::new();
    *LENGTH.get_or_init(|| {
        let kept = Kept(Mutex::new(None));
        sampled(&kept, true).expect("two voxels can be sampled");
        kept.kept(0).expect("a chunk").len()
    })
}

fuzz_target!(|input: (bool, Vec<u8>)| {
    let (is_whole, mut bytes) = input;
    let length = length();
    if is_whole {
        bytes.resize(length, 0);
    }
    let is_refused = bytes.len() != length;
    // What is not taken up would be sampled, and that is cancelled.
    let found = sampled(&Kept(Mutex::new(Some(bytes))), false);
    assert_eq!(found.is_err(), is_refused);
});
