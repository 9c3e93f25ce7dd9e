//! A field that bends and crosses, and a collector that keeps everything.

// Not every test file uses everything.
#![allow(dead_code)]

use fimbria_compute::Workers;
use fimbria_image::sticks::{PackedStick, StickSamples};
use fimbria_image::{Affine, Grid, Image, Mask};
use fimbria_tracking::{Collect, EndReason, Field, Region, Sample, Seed, Space, seeds_of_region};

/// Everything about a sample.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) order: (usize, u32),
    pub(crate) points: Vec<[u32; 3]>,
    pub(crate) n_first: usize,
    pub(crate) n_made: usize,
    pub(crate) ends: [EndReason; 2],
    pub(crate) kept: bool,
}

#[derive(Default)]
pub(crate) struct Everything(pub(crate) Vec<Seen>);

impl Collect for Everything {
    type Block = Vec<Seen>;
    fn sample(&mut self, sample: &Sample<'_>) {
        self.0.push(Seen {
            order: (sample.seed_index, sample.number),
            points: sample.points.iter().map(|p| p.map(f32::to_bits)).collect(),
            n_first: sample.n_first,
            n_made: sample.all_points.len(),
            ends: sample.ends,
            kept: sample.kept,
        });
    }
    fn end_block(&mut self) -> Vec<Seen> {
        let mut block = std::mem::take(&mut self.0);
        block.sort_by_key(|seen| seen.order);
        block
    }
}

/// Anisotropic voxels, det > 0, two crossing fibres that bend, some voxels without samples, some
/// sticks without direction.
pub(crate) fn field(workers: &Workers) -> Field {
    let ras_from_vox = Affine([[1.5, 0.1, 0., -9.], [-0.1, 1.8, 0.2, 4.], [0., -0.2, 2.2, 7.]]);
    let grid = Grid { dims: [16, 14, 12], ras_from_vox };
    let voxels = (0..grid.len() as u32).filter(|v| v % 37 != 5).collect();
    let mut samples = StickSamples::empty(Mask { grid, voxels }, 2, 5).unwrap();
    for (i, stick) in samples.sticks.iter_mut().enumerate() {
        let (slot, sample, fibre) = (i / 10, i / 2 % 5, i % 2);
        let t = slot as f64 * 0.01 + sample as f64 * 0.1;
        let v = if fibre == 0 { [t.cos(), t.sin(), 0.3] } else { [0.2, t.sin(), t.cos()] };
        let v = if i % 211 == 0 { [0.0; 3] } else { v };
        *stick =
            PackedStick::new(v, 0.2 + 0.5 * (t * 3.0).sin().abs() * (1.0 - fibre as f64 * 0.9));
    }
    Field::new(samples, workers)
}

/// Seeds of every third voxel of the grid.
pub(crate) fn seeds(space: &Space) -> Vec<Seed> {
    let mut image = Image::zeros(*space.grid(), 1);
    image.data.iter_mut().step_by(3).for_each(|v| *v = 1.0);
    seeds_of_region(space, &space.region(&image, "seeds").unwrap(), 0)
}

/// The region of voxels from `from` to `to` along x.
pub(crate) fn slab(space: &Space, name: &str, from: usize, to: usize) -> Region {
    let mut image = Image::zeros(*space.grid(), 1);
    for index in 0..image.data.len() {
        let [i, ..] = space.grid().voxel(index);
        image.data[index] = if (from..to).contains(&i) { 1.0 } else { 0.0 };
    }
    space.region(&image, name).unwrap()
}
