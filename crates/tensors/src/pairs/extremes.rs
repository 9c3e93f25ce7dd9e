//! Maxima and minima of many tensors: the shifted power method in batches, in `f32` on threads or
//! devices, and each pair that it leads to polished in `f64`.

use fimbria_compute::device::{Device, DeviceError};
use fimbria_compute::queue::{Shares, in_halves, run_chunks};
use fimbria_compute::{Backend, Interrupted, Progress};
use rayon::prelude::*;

use super::{Kind, Pair, PairFinder, PairsError, Search};
use crate::batch::{Batch, BatchError, DeviceBatch, Products, Shift, Stop, solve};
use crate::starts::on_half_sphere;

/// What was reached of one tensor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extremes {
    /// The pairs, largest λ first.
    pub pairs: Vec<Pair>,
    /// Starts whose λ settled.
    pub converged: usize,
    /// Starts whose λ did not.
    pub not_converged: usize,
}

/// A batch without an answer.
#[derive(Debug, thiserror::Error)]
pub enum ExtremesError {
    /// A tensor that has no pairs.
    #[error("tensors[{index}]")]
    Tensor {
        /// Its number.
        index: usize,
        /// Why.
        source: PairsError,
    },
    /// Nothing solves it.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// The user stopped it.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

/// Tensors of one task.
const CHUNK: usize = 4096;

struct Chunk<'a> {
    tensors: &'a [Vec<f64>],
    found: &'a mut [Extremes],
}

/// The maxima, the minima or both of each tensor that the shifted power method leads to from
/// `search.starts` directions (128 where none are given), the same for every tensor and spread evenly
/// over half the sphere, of odd order over all of it. Of order 4, 6 and 8 in dimension 3 the shift
/// adapts; of others it is the least that is enough for every tensor of their norm. Saddles it does not
/// lead to.
///
/// The search is in `f32`; each pair is polished in `f64` as in [`PairFinder::find`], certified, and kept
/// where its residual is within the tolerance. Of directions within 0.6° of each other one is polished.
///
/// # Errors
/// [`ExtremesError`], of the first tensor that is none.
pub fn find_extremes(
    finder: &PairFinder,
    tensors: &[Vec<f64>],
    kinds: &[Kind],
    search: &Search,
    on: &Backend<'_>,
    progress: &dyn Progress,
) -> Result<(Vec<Extremes>, Shares), ExtremesError> {
    let mut found = vec![Extremes::default(); tensors.len()];
    let way = Way::new(finder, kinds, search);
    let mut chunks: Vec<Chunk<'_>> = tensors
        .chunks(CHUNK)
        .zip(found.chunks_mut(CHUNK))
        .map(|(tensors, found)| Chunk { tensors, found })
        .collect();
    for (index, tensor) in tensors.iter().enumerate() {
        finder.check(tensor, search).map_err(|source| ExtremesError::Tensor { index, source })?;
    }
    let shares = run_chunks(
        on.devices,
        &mut chunks,
        |device, chunk| {
            let mut pieces: Vec<&[f64]> = chunk.tensors.iter().map(Vec::as_slice).collect();
            let ends = in_halves(&mut pieces, &mut |some| way.on_device(device, some), &joined)?;
            on.workers.install(|| way.polish(chunk, &ends));
            progress.advance(chunk.tensors.len() as u64);
            Ok(())
        },
        |chunk| {
            let pieces: Vec<&[f64]> = chunk.tensors.iter().map(Vec::as_slice).collect();
            let ends = way.passes(&pieces, |batch, products, shift, stop| {
                solve(batch, products, shift, stop, on.workers)
            })?;
            on.workers.install(|| way.polish(chunk, &ends));
            progress.advance(chunk.tensors.len() as u64);
            Ok::<(), ExtremesError>(())
        },
        progress,
    )?;
    Ok((found, shares))
}

/// Where the starts of each tensor ended, of all passes.
type Ends = Vec<Vec<(Vec<f32>, bool)>>;

fn joined(mut first: Ends, second: Ends) -> Ends {
    first.extend(second);
    first
}

/// How extremes are sought.
struct Way<'a> {
    finder: &'a PairFinder,
    kinds: &'a [Kind],
    search: &'a Search,
    starts: Vec<f32>,
    /// Signs of A that are searched for maxima: of even order those of -A are the minima.
    signs: Vec<f32>,
    products: Products,
    shift: Shift,
    stop: Stop,
}

impl<'a> Way<'a> {
    fn new(finder: &'a PairFinder, kinds: &'a [Kind], search: &'a Search) -> Self {
        /// The paper's number.
        const STARTS: usize = 128;
        let (order, dimension) = (finder.layout().order(), finder.layout().dimension());
        let even = order.is_multiple_of(2);
        let half = on_half_sphere(search.starts.unwrap_or(STARTS), dimension);
        let mut starts: Vec<f32> = half.iter().map(|&x| x as f32).collect();
        let mut signs = Vec::new();
        if even {
            signs.extend(kinds.contains(&Kind::Maximum).then_some(1.0));
            signs.extend(kinds.contains(&Kind::Minimum).then_some(-1.0));
        } else {
            // A changes its sign with x: its maxima over the whole sphere are minima at -x, too.
            starts.extend(half.iter().map(|&x| -x as f32));
            signs.push(1.0);
        }
        let adapts = matches!(order, 4 | 6 | 8) && dimension == 3;
        let (products, shift, max_iterations) = match adapts {
            true => (Products::Shared, Shift::Adaptive, 200),
            // A x^m of a tensor of norm 1 is convex with it (Kolda and Mayo 2011, (m - 1) ρ).
            false => (Products::Blocked, Shift::Fixed((order - 1) as f32), 1000),
        };
        let stop = Stop::Tolerance { tolerance: 1e-6, max_iterations };
        Self { finder, kinds, search, starts, signs, products, shift, stop }
    }

    /// The ends of all passes, by a solver of one batch.
    fn passes<E>(
        &self,
        tensors: &[&[f64]],
        solve: impl Fn(&Batch<'_>, Products, Shift, Stop) -> Result<crate::batch::Endpoints, E>,
    ) -> Result<Ends, E> {
        let layout = *self.finder.layout();
        let mut ends: Ends = vec![Vec::new(); tensors.len()];
        let of_norm_1: Vec<f64> =
            tensors.iter().flat_map(|tensor| self.finder.of_norm_1(tensor)).collect();
        for sign in &self.signs {
            let entries: Vec<f32> = of_norm_1.iter().map(|&entry| entry as f32 * sign).collect();
            let batch = Batch { layout, tensors: &entries, starts: &self.starts };
            let solved = solve(&batch, self.products, self.shift, self.stop)?;
            let x = solved.x.chunks_exact(self.starts.len());
            let n = self.starts.len() / layout.dimension();
            for ((ends, x), converged) in ends.iter_mut().zip(x).zip(solved.converged.chunks(n)) {
                let x = x.chunks_exact(layout.dimension()).map(<[f32]>::to_vec);
                ends.extend(x.zip(converged.iter().copied()));
            }
        }
        Ok(ends)
    }

    fn on_device(&self, device: &Device, tensors: &mut [&[f64]]) -> Result<Ends, DeviceError> {
        let solved = self.passes(tensors, |batch, products, shift, stop| {
            let mut on_device = DeviceBatch::new(device, batch, products, shift, stop)?;
            on_device.solve()?;
            Ok::<_, BatchError>(on_device.endpoints()?)
        });
        solved.map_err(|error| match error {
            BatchError::Device(error) => error,
            other => DeviceError::Runtime {
                device: device.info().name.clone(),
                call: "SS-HOPM",
                detail: other.to_string(),
            },
        })
    }

    fn polish(&self, chunk: &mut Chunk<'_>, ends: &Ends) {
        let Chunk { tensors, found, .. } = chunk;
        found.par_iter_mut().zip(tensors.par_iter()).zip(ends.par_iter()).for_each(
            |((found, tensor), ends)| {
                let settled: Vec<&[f32]> =
                    ends.iter().filter(|end| end.1).map(|end| end.0.as_slice()).collect();
                let mut pairs = self.finder.near(tensor, &settled, self.search);
                pairs.retain(|pair| self.kinds.contains(&pair.kind));
                let converged = settled.len();
                *found = Extremes { pairs, converged, not_converged: ends.len() - converged };
            },
        );
    }
}
