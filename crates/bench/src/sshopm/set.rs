//! The paper's workload: tensors with one or two fibres, and starts.

use fimbria_phantoms::{TensorsSpec, tensors};
use fimbria_tensors::batch::Batch;
use fimbria_tensors::layout::Layout;
use fimbria_tensors::starts::in_cube;

use crate::Failure;

/// Tensors of a width of the phantom's sheet.
const ROW: usize = 32;
/// One tensor in so many is enough for loops that take long: no divisor of a row, so that all its
/// places occur.
pub(super) const SAMPLED: usize = 17;

/// Tensors of one order in dimension 3, and the starts of each.
pub(super) struct Set {
    layout: Layout,
    /// `[tensor][entry]`: all, and one in [`SAMPLED`].
    tensors: Vec<f32>,
    sample: Vec<f32>,
    /// `[start][component]`.
    starts: Vec<f32>,
}

impl Set {
    /// At least `count` tensors, from the phantom.
    pub(super) fn new(order: usize, count: u32, starts: u32) -> Result<Self, Failure> {
        let layout = Layout::new(order, 3)?;
        let rows = count.div_ceil(ROW as u32) as usize;
        let spec = TensorsSpec { size: [ROW, rows], order, noise: 0.02, ..TensorsSpec::default() };
        let sheet = tensors(&spec)?;
        let volumes: Vec<&[f32]> = (0..layout.len()).map(|e| sheet.hot.volume(e)).collect();
        let entries = |t: usize| volumes.iter().map(move |volume| volume[t]);
        let n = ROW * rows;
        Ok(Self {
            layout,
            tensors: (0..n).flat_map(entries).collect(),
            sample: (0..n).step_by(SAMPLED).flat_map(entries).collect(),
            starts: random_starts(starts),
        })
    }

    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    /// How many tensors.
    pub(super) fn len(&self) -> usize {
        self.tensors.len() / self.layout.len()
    }

    /// How many tensors one of the [`sample`](Self::sample) stands for.
    pub(super) fn per_sample(&self) -> f64 {
        self.tensors.len() as f64 / self.sample.len() as f64
    }

    /// All tensors.
    pub(super) fn batch(&self) -> Batch<'_> {
        self.first(self.len())
    }

    /// The first `n` tensors.
    pub(super) fn first(&self, n: usize) -> Batch<'_> {
        let tensors = &self.tensors[..n * self.layout.len()];
        Batch { layout: self.layout, tensors, starts: &self.starts }
    }

    /// One tensor in [`SAMPLED`].
    pub(super) fn sample(&self) -> Batch<'_> {
        Batch { layout: self.layout, tensors: &self.sample, starts: &self.starts }
    }
}

/// Unit vectors, components uniform in the cube before.
fn random_starts(count: u32) -> Vec<f32> {
    let mut starts = Vec::new();
    for start in 0..count {
        let mut x = [0.0; 3];
        in_cube(1, 0, start, &mut x);
        starts.extend(x.map(|x| x as f32));
    }
    starts
}
