//! What shows how long a turn is: a wrapped phase jumps by a whole turn between neighbours, hardly
//! ever by a half; where there is no signal it is noise that fills the turn. The edges of a
//! magnitude or a map are the rarer the higher they are, and air is dark.

use super::PhaseError;

/// The voxels of a volume, and which of them are inside a mask.
pub(super) struct Voxels<'m> {
    dims: [usize; 3],
    mask: &'m [u32],
    inside: Vec<bool>,
}

impl<'m> Voxels<'m> {
    pub(super) fn new(dims: [usize; 3], mask: &'m [u32]) -> Self {
        let mut inside = vec![false; dims.iter().product()];
        mask.iter().for_each(|&v| inside[v as usize] = true);
        Self { dims, mask, inside }
    }

    /// Pairs of neighbours that are both inside, or both outside.
    fn neighbours(&self, inside: bool) -> impl Iterator<Item = (usize, usize)> {
        let [nx, ny, nz] = self.dims;
        let voxels = (0..self.inside.len()).filter(move |&v| self.inside[v] == inside);
        voxels.flat_map(move |v| {
            let next = [v % nx + 1 < nx, v / nx % ny + 1 < ny, v / (nx * ny) + 1 < nz];
            let steps = [1, nx, nx * ny].into_iter().zip(next).filter(|(_, next)| *next);
            let pairs = steps.map(move |(step, _)| (v, v + step));
            pairs.filter(move |(_, next)| self.inside[*next] == inside)
        })
    }
}

/// The numbers of an echo.
pub(super) struct Volume<'a> {
    voxels: &'a Voxels<'a>,
    values: &'a [f32],
    /// The least and the largest of all.
    pub(super) range: [f32; 2],
    /// What the middle half of those inside the mask spreads over.
    pub(super) spread: f32,
    /// How many different ones there are inside.
    distinct: usize,
}

/// A phase takes more values than this; labels and masks do not.
const LEAST_DISTINCT: usize = 32;
/// Voxels around the mask that show noise.
const LEAST_NOISE: usize = 100;

impl<'a> Volume<'a> {
    pub(super) fn new(voxels: &'a Voxels<'a>, values: &'a [f32]) -> Result<Self, PhaseError> {
        let inside = voxels.mask.iter().map(|&v| values[v as usize]);
        let mut inside: Vec<f32> = inside.filter(|v| v.is_finite()).collect();
        if inside.is_empty() {
            return Err(PhaseError::Empty);
        }
        inside.sort_unstable_by(f32::total_cmp);
        let finite = values.iter().copied().filter(|v| v.is_finite());
        let (low, high) = finite
            .fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        if inside[0] == inside[inside.len() - 1] {
            return Err(PhaseError::Constant { value: inside[0] });
        }
        let spread = inside[inside.len() * 3 / 4] - inside[inside.len() / 4];
        inside.dedup();
        Ok(Self { voxels, values, range: [low, high], spread, distinct: inside.len() })
    }

    pub(super) fn is_whole(&self) -> bool {
        self.values.iter().all(|v| !v.is_finite() || v.fract() == 0.0)
    }

    /// How many numbers are not below `from` and not above `to`.
    pub(super) fn count_between(&self, from: f32, to: f32) -> usize {
        self.values.iter().filter(|v| (from..=to).contains(v)).count()
    }

    /// True where the numbers show that `from` and `from + turn` are the same phase.
    pub(super) fn shows(&self, from: f32, turn: f32) -> bool {
        self.wraps_by(turn) || self.has_noise_over(from, turn)
    }

    /// Neighbours inside are more often a turn apart than half a turn.
    fn wraps_by(&self, turn: f32) -> bool {
        let [wholes, halves] = self.apart(turn);
        self.distinct >= LEAST_DISTINCT && wholes > 2 * halves
    }

    /// The same, in so many places that noise in radians does not do it.
    pub(super) fn wraps_often_by(&self, turn: f32) -> bool {
        /// Neighbours a turn apart.
        const OFTEN: usize = 30;
        let [wholes, halves] = self.apart(turn);
        wholes >= OFTEN && wholes > 2 * halves
    }

    /// How many neighbours inside are about a turn apart, and how many half a turn.
    fn apart(&self, turn: f32) -> [usize; 2] {
        let (mut wholes, mut halves) = (0_usize, 0_usize);
        for (a, b) in self.voxels.neighbours(true) {
            let apart = (self.values[b] - self.values[a]).abs() / turn;
            wholes += usize::from(apart > 0.7);
            halves += usize::from(apart > 0.4 && apart < 0.6);
        }
        [wholes, halves]
    }

    /// Around the mask neighbours have nothing to do with each other, and all parts of the turn are
    /// met.
    fn has_noise_over(&self, from: f32, turn: f32) -> bool {
        let around = self.values.iter().zip(&self.voxels.inside).filter(|(_, inside)| !**inside);
        let mut around: Vec<f32> = around.map(|(v, _)| *v).filter(|v| v.is_finite()).collect();
        around.sort_unstable_by(f32::total_cmp);
        // What a stripped head leaves is one number, no noise.
        let runs = around.chunk_by(|a, b| a == b);
        let commonest = runs.max_by_key(|run| run.len()).map(|run| (run[0], run.len()));
        let stripped = commonest.filter(|(_, count)| 20 * count > around.len()).map(|(v, _)| v);
        around.retain(|v| Some(*v) != stripped);
        let quarters = [0.0, 0.25, 0.5, 0.75, 1.0].map(|part| from + part * turn);
        let below = |value: f32| around.partition_point(|v| *v < value);
        let enough = |pair: &[f32]| 10 * (below(pair[1]) - below(pair[0])) >= around.len();
        if around.len() < LEAST_NOISE || !quarters.windows(2).all(enough) {
            return false;
        }
        let (mut pairs, mut far) = (0_usize, 0_usize);
        for (a, b) in self.voxels.neighbours(false) {
            let (a, b) = (self.values[a], self.values[b]);
            if [a, b].iter().all(|v| v.is_finite() && Some(*v) != stripped) {
                pairs += 1;
                far += usize::from((b - a).abs() > 0.3 * turn);
            }
        }
        // Of numbers that are independent and evenly spread half of the pairs.
        10 * far > pairs
    }
}
