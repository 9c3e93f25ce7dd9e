//! Where all particles in flight are.

use fimbria_compute::philox::{Philox, uniform};

/// The widest registers there are.
pub(super) const MAX_LANES: usize = 16;

/// Registers of particles that wait for memory together.
pub(super) const REGISTERS: usize = 2;

/// Room for all of their lanes.
pub(super) const IN_FLIGHT: usize = REGISTERS * MAX_LANES;

/// Steps between two collections of points: their rows stay in the first-level cache.
pub(super) const ROWS: usize = 64;

pub(super) type PerLane<T> = [T; IN_FLIGHT];

/// The particles, lane by lane.
pub(super) struct Particles {
    pub(super) pos: [PerLane<f32>; 3],
    pub(super) dir: [PerLane<f32>; 3],
    /// Directions found here, while those ahead are looked up.
    pub(super) here: [PerLane<f32>; 3],
    /// 1 where there is a direction to go on in.
    pub(super) has_dir: PerLane<f32>,
    /// 1 at the first point of a half.
    pub(super) is_first: PerLane<f32>,
    /// Points of the half before this one.
    pub(super) point: PerLane<f32>,
    /// Decide the sign of a step where there is no direction yet.
    pub(super) sign_here: PerLane<f32>,
    pub(super) sign_ahead: PerLane<f32>,
    /// What random numbers depend on.
    pub(super) item_low: PerLane<u32>,
    pub(super) item_high: PerLane<u32>,
    pub(super) step: PerLane<u32>,
    /// The direction of the half's first step.
    pub(super) first_dir: [PerLane<f32>; 3],
    /// Why halves ended in the last step, as [`EndReason`](crate::EndReason); 0 where not.
    pub(super) ended: PerLane<u8>,
    pub(super) is_live: PerLane<bool>,
    /// Positions of the last steps, and directions where loops are looked for.
    pub(super) rows: Box<[[PerLane<f32>; 3]; ROWS]>,
    pub(super) dir_rows: Box<[[PerLane<f32>; 3]; ROWS]>,
    /// Places of these positions among padded voxels.
    pub(super) place_rows: Box<[PerLane<u32>; ROWS]>,
    /// The first row that is not in the path yet.
    pub(super) from_row: PerLane<usize>,
    pub(super) paths: Vec<Path>,
}

/// The points of one sample so far, both halves.
#[derive(Clone, Default)]
pub(super) struct Path {
    pub(super) points: Vec<[f32; 3]>,
    pub(super) places: Vec<u32>,
    pub(super) dirs: Vec<[f32; 3]>,
    pub(super) wants_dirs: bool,
}

impl Default for Particles {
    fn default() -> Self {
        let zeros = [0.0; IN_FLIGHT];
        Self {
            pos: [zeros; 3],
            dir: [zeros; 3],
            here: [zeros; 3],
            has_dir: zeros,
            is_first: zeros,
            point: zeros,
            sign_here: zeros,
            sign_ahead: zeros,
            item_low: [0; IN_FLIGHT],
            item_high: [0; IN_FLIGHT],
            step: [0; IN_FLIGHT],
            first_dir: [zeros; 3],
            ended: [0; IN_FLIGHT],
            is_live: [false; IN_FLIGHT],
            rows: Box::new([[zeros; 3]; ROWS]),
            dir_rows: Box::new([[zeros; 3]; ROWS]),
            place_rows: Box::new([[0; IN_FLIGHT]; ROWS]),
            from_row: [0; IN_FLIGHT],
            paths: vec![Path::default(); IN_FLIGHT],
        }
    }
}

impl Particles {
    /// Takes the rows before `to_row` into the path of a lane.
    pub(super) fn note(&mut self, lane: usize, to_row: usize) {
        if !self.is_live[lane] {
            return;
        }
        let rows = self.from_row[lane]..to_row;
        let path = &mut self.paths[lane];
        let point = |row: &[PerLane<f32>; 3]| [row[0][lane], row[1][lane], row[2][lane]];
        path.points.extend(self.rows[rows.clone()].iter().map(point));
        path.places.extend(self.place_rows[rows.clone()].iter().map(|row| row[lane]));
        if path.wants_dirs {
            path.dirs.extend(self.dir_rows[rows].iter().map(point));
        }
        self.from_row[lane] = to_row;
    }

    /// The random number that chooses the first fibre of a lane.
    pub(super) fn fibre_number(&self, choices: Philox, lane: usize) -> f32 {
        uniform(choices.at(self.item(lane), self.step[lane])[0])
    }

    fn item(&self, lane: usize) -> u64 {
        u64::from(self.item_high[lane]) << 32 | u64::from(self.item_low[lane])
    }
}
