//! What every voxel of the head is made of, by samples within it.

use fimbria_compute::{Progress, Workers};
use fimbria_image::{Grid, Image};

use super::anatomy::Anatomy;
use super::labels::{Label, Part, Tissue};
use super::made;
use crate::PhantomError;
use crate::zeros::zeros;

/// Tissues that a voxel may hold.
pub(super) const TISSUES: usize = Tissue::ALL.len();

/// Parts of the voxels of a grid.
pub(super) struct Cells {
    /// [`Tissue::ALL`], a volume each: parts of the voxel's volume, of sum 1.
    pub(super) tissues: Image,
    /// The number of the [`Label`] that most samples have; of cortex its gyrus where the voxel's middle is.
    pub(super) labels: Image,
}

impl Cells {
    /// Samples the head at `per_axis`³ points of every voxel in which two parts meet.
    ///
    /// # Errors
    /// Where memory is short or the user stops it.
    pub(super) fn sample(
        anatomy: &Anatomy,
        grid: Grid,
        per_axis: usize,
        workers: &Workers,
        progress: &dyn Progress,
    ) -> Result<Self, PhantomError> {
        let n = grid.len();
        let (mut tissues, mut labels) = (zeros(grid, TISSUES)?, zeros(grid, 1)?);
        let along = |i: usize| (i as f64 + 0.5) / per_axis as f64 - 0.5;
        let last = per_axis - 1;
        let points = (0..per_axis.pow(3))
            .map(|i| [i, i / per_axis, i / (per_axis * per_axis)].map(|i| i % per_axis));
        // Corners first: where they are alike the voxel is of one part.
        let is_corner = |p: &[usize; 3]| p.iter().all(|i| *i == 0 || *i == last);
        let (corners, others): (Vec<_>, Vec<_>) = points.partition(is_corner);
        let offset = |p: [usize; 3]| p.map(along);
        let corners: Vec<_> = corners.into_iter().map(offset).collect();
        let others: Vec<_> = others.into_iter().map(offset).collect();
        let cell = |voxel: usize| {
            let centre = grid.voxel(voxel).map(|i| i as f64);
            let part = |by: &[f64; 3]| {
                let p = grid.ras_from_vox.apply([0, 1, 2].map(|a| centre[a] + by[a]));
                let (part, is_right) = anatomy.part(p);
                (part.label(is_right), part)
            };
            let mut seen: Vec<(&Label, Part)> = corners.iter().map(part).collect();
            if seen.iter().any(|(label, _)| label.number != seen[0].0.number) {
                seen.extend(others.iter().map(part));
            }
            let (most, parts) = composed(&seen);
            let place = grid.ras_from_vox.apply(centre);
            (with_gyrus(anatomy, most, place), parts)
        };
        progress.start("sampling the head", n as u64);
        const SLAB: usize = 1 << 17;
        for first in (0..n).step_by(SLAB) {
            let end = n.min(first + SLAB);
            let cells = made(first..end, workers, progress, |voxel| Some(cell(voxel)))?;
            for (l, (number, parts)) in cells.into_iter().enumerate() {
                labels.data[first + l] = f32::from(number);
                for (t, part) in parts.into_iter().enumerate() {
                    tissues.data[t * n + first + l] = part;
                }
            }
            progress.advance((end - first) as u64);
        }
        Ok(Self { tissues, labels })
    }

    /// The part of a voxel that is of a tissue.
    pub(super) fn water(&self, tissue: Tissue, voxel: usize) -> f32 {
        self.tissues.volume(tissue as usize)[voxel]
    }

    /// The part of a voxel that is brain, with its fluid and its veins.
    pub(super) fn brain(&self, voxel: usize) -> f32 {
        use Tissue::{Blood, CorticalGrey, Fluid, SubcorticalGrey, White};
        let all = [CorticalGrey, SubcorticalGrey, White, Fluid, Blood];
        all.into_iter().map(|tissue| self.water(tissue, voxel)).sum()
    }
}

/// The number of a label, of cortex that of the gyrus at a place.
fn with_gyrus(anatomy: &Anatomy, number: u16, place: [f64; 3]) -> u16 {
    let is_side = |is_right: &bool| Part::Cortex.label(*is_right).number == number;
    let side = [false, true].into_iter().find(is_side);
    side.map_or(number, |is_right| anatomy.gyrus(place, is_right))
}

/// The label most seen and the parts of all tissues.
fn composed(seen: &[(&Label, Part)]) -> (u16, [f32; TISSUES]) {
    let mut parts = [0.0; TISSUES];
    for (_, part) in seen {
        parts[part.tissue() as usize] += 1.0;
    }
    parts.iter_mut().for_each(|part| *part /= seen.len() as f32);
    let mut numbers: Vec<u16> = seen.iter().map(|(label, _)| label.number).collect();
    numbers.sort_unstable();
    let runs = numbers.chunk_by(|a, b| a == b);
    // Of those seen equally often the lowest number.
    let most = runs.rev().max_by_key(|run| run.len()).map_or(0, |run| run[0]);
    (most, parts)
}
