//! Which sources act on a box of receivers, and on each of its tiles.

use fimbria_compute::{Lanes, Real};
use pulp::Simd;

use super::tiles::{BOX_EDGE, EDGE, tile_offset};

/// Added to every reach, in voxel edges: more than f32 rounds in volumes of 10,000 voxels a side.
/// A tile taken for nothing costs time only.
const SLACK: f32 = 0.01;

/// Half of the distance between the first and last voxel of a box and of a tile.
const HALF_BOX: f32 = 0.5 * (BOX_EDGE - 1) as f32;
const HALF_TILE: f32 = 0.5 * (EDGE - 1) as f32;

/// Positions and slabs of sources, each number of all of them together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slabs {
    pub(crate) at: [Vec<f32>; 3],
    pub(crate) normal: [Vec<f32>; 3],
    pub(crate) half: Vec<f32>,
}

/// The sources that reach a box: what its tiles need to choose among them.
#[derive(Default)]
pub(crate) struct Near {
    /// Index of the source.
    pub(crate) id: Vec<u32>,
    /// Σ normal (centre of the box - position).
    centre: Vec<f32>,
    normal: [Vec<f32>; 3],
    /// Largest |Σ normal (centre of a tile - position)| of a tile reached.
    reach: Vec<f32>,
    distance: Vec<f32>,
}

impl Near {
    /// The sources among `from..to` that reach the box at `origin`; where there is no cull, all.
    pub(crate) fn fill(
        &mut self,
        slabs: &Slabs,
        (from, to): (usize, usize),
        origin: [f32; 3],
        support: Option<f32>,
    ) {
        self.id.clear();
        self.centre.clear();
        self.reach.clear();
        for normal in &mut self.normal {
            normal.clear();
        }
        for i in from..to {
            let normal = [slabs.normal[0][i], slabs.normal[1][i], slabs.normal[2][i]];
            let d = [0, 1, 2].map(|a| origin[a] + HALF_BOX - slabs.at[a][i]);
            if support.is_some_and(|s| d.iter().any(|d| d.abs() > s + HALF_BOX)) {
                continue;
            }
            let centre = normal[0] * d[0] + normal[1] * d[1] + normal[2] * d[2];
            let extent = normal[0].abs() + normal[1].abs() + normal[2].abs();
            if centre.abs() <= slabs.half[i] + HALF_BOX * extent + SLACK {
                self.id.push(i as u32);
                self.centre.push(centre);
                self.reach.push(slabs.half[i] + HALF_TILE * extent + SLACK);
                for a in 0..3 {
                    self.normal[a].push(normal[a]);
                }
            }
        }
        self.distance.resize(self.id.len(), 0.0);
    }

    /// Puts the indices of the sources that reach a tile into `ids`, ascending.
    #[inline(always)]
    pub(crate) fn of_tile<S: Simd>(&mut self, simd: S, tile: usize, ids: &mut Vec<u32>) {
        let n = Lanes::<S>::LANES;
        let offset = tile_offset(tile);
        let step = [
            Lanes::new(simd, offset[0] + HALF_TILE - HALF_BOX),
            Lanes::new(simd, offset[1] + HALF_TILE - HALF_BOX),
            Lanes::new(simd, offset[2] + HALF_TILE - HALF_BOX),
        ];
        let count = self.id.len();
        let whole = count / n * n;
        let mut i = 0;
        while i < whole {
            let centre = Lanes::load(simd, &self.centre[i..]);
            let x = Lanes::load(simd, &self.normal[0][i..]).mul_add(step[0], centre);
            let y = Lanes::load(simd, &self.normal[1][i..]).mul_add(step[1], x);
            let z = Lanes::load(simd, &self.normal[2][i..]).mul_add(step[2], y);
            (z.abs() - Lanes::load(simd, &self.reach[i..])).store(&mut self.distance[i..]);
            i += n;
        }
        while i < count {
            let d = [0, 1, 2].map(|a| offset[a] + HALF_TILE - HALF_BOX);
            let w = self.centre[i]
                + self.normal[0][i] * d[0]
                + self.normal[1][i] * d[1]
                + self.normal[2][i] * d[2];
            self.distance[i] = w.abs() - self.reach[i];
            i += 1;
        }
        // No branch that could be guessed wrong: each is written, and kept where it counts.
        ids.resize(count, 0);
        let mut kept = 0;
        for (id, distance) in self.id.iter().zip(&self.distance[..count]) {
            ids[kept] = *id;
            kept += usize::from(*distance <= 0.0);
        }
        ids.truncate(kept);
    }
}
