//! Many regions, in which a point is looked up once.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use fimbria_compute::dense::vec3::{dot, norm, sub};
use fimbria_image::{Affine, Grid, voxels_on_line};

/// From scanner mm of the streamlines to mm of the space that the regions lie in; `None` where nothing
/// leads there.
pub type Bring = Arc<dyn Fn([f64; 3]) -> Option<[f64; 3]> + Send + Sync>;

/// A region that cannot be one.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RegionError {
    /// Nothing could pass it.
    #[error("{0} has no voxel inside")]
    Empty(String),
    /// No grid can be found in a matrix that has no inverse.
    #[error("the affine of {0} cannot be inverted")]
    Singular(String),
}

/// Regions, numbered in the order they were added.
///
/// Those on one grid share an array that holds, for each voxel, which of them it is in, so that a point
/// costs one look-up for all of them. A region is met where a streamline crosses one of its voxels, or comes
/// near enough to the centre of a ball: by its points or on the straight pieces between them.
#[derive(Default)]
pub struct Regions {
    lattices: Vec<Lattice>,
    balls: Vec<Ball>,
    len: usize,
    bring: Option<Bring>,
}

impl fmt::Debug for Regions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} regions on {} grids", self.len, self.lattices.len())
    }
}

/// Numbers of regions: bit r of word r / 64.
type Set = Vec<u64>;

struct Lattice {
    grid: Grid,
    vox_from_ras: Affine,
    /// Per voxel which of `sets`; the first is empty.
    set_of: Vec<u32>,
    sets: Vec<Set>,
}

struct Ball {
    region: usize,
    centre: [f64; 3],
    radius_mm: f64,
}

/// What a streamline meets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Met {
    anywhere: Set,
    first: Set,
    last: Set,
}

fn has(set: &Set, region: usize) -> bool {
    set.get(region / 64).is_some_and(|word| word >> (region % 64) & 1 == 1)
}

fn put(set: &mut Set, region: usize) {
    if set.len() <= region / 64 {
        set.resize(region / 64 + 1, 0);
    }
    set[region / 64] |= 1 << (region % 64);
}

fn add(set: &mut Set, other: &Set) {
    if set.len() < other.len() {
        set.resize(other.len(), 0);
    }
    set.iter_mut().zip(other).for_each(|(mine, theirs)| *mine |= theirs);
}

impl Met {
    /// True where it passes the region.
    pub fn passes(&self, region: usize) -> bool {
        has(&self.anywhere, region)
    }

    /// True where its first point lies in the region.
    pub fn begins_in(&self, region: usize) -> bool {
        has(&self.first, region)
    }

    /// True where its last point lies in the region.
    pub fn ends_in(&self, region: usize) -> bool {
        has(&self.last, region)
    }

    fn clear(&mut self) {
        for set in [&mut self.anywhere, &mut self.first, &mut self.last] {
            set.clear();
        }
    }
}

impl Regions {
    /// None, in a space that `bring` leads to; without it in that of the streamlines.
    pub fn in_space(bring: Option<Bring>) -> Self {
        Self { bring, ..Self::default() }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True without regions.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds the voxels of `grid` for which `is_inside` holds, and says the number of the region. `name` is
    /// for messages.
    ///
    /// # Errors
    /// [`RegionError`].
    pub fn add_voxels(
        &mut self,
        name: &str,
        grid: &Grid,
        is_inside: impl Fn(usize) -> bool,
    ) -> Result<usize, RegionError> {
        let at = match self.lattices.iter().position(|lattice| lattice.grid == *grid) {
            Some(at) => at,
            None => {
                let vox_from_ras = grid.ras_from_vox.inverse();
                let vox_from_ras =
                    vox_from_ras.ok_or_else(|| RegionError::Singular(name.into()))?;
                let set_of = vec![0; grid.len()];
                self.lattices.push(Lattice {
                    grid: *grid,
                    vox_from_ras,
                    set_of,
                    sets: vec![vec![]],
                });
                self.lattices.len() - 1
            }
        };
        let Lattice { set_of, sets, .. } = &mut self.lattices[at];
        let region = self.len;
        let mut with_region: HashMap<u32, u32> = HashMap::new();
        for (voxel, set) in set_of.iter_mut().enumerate() {
            if is_inside(voxel) {
                *set = *with_region.entry(*set).or_insert_with(|| {
                    let mut with = sets[*set as usize].clone();
                    put(&mut with, region);
                    sets.push(with);
                    (sets.len() - 1) as u32
                });
            }
        }
        if with_region.is_empty() {
            return Err(RegionError::Empty(name.into()));
        }
        self.len += 1;
        Ok(region)
    }

    /// Adds what is at most `radius_mm` from `centre`, and says the number of the region.
    pub fn add_ball(&mut self, centre: [f64; 3], radius_mm: f64) -> usize {
        self.balls.push(Ball { region: self.len, centre, radius_mm });
        self.len += 1;
        self.len - 1
    }

    /// What a streamline meets, into `met`. Points in scanner RAS+ mm; one that is not finite is nowhere.
    pub fn meet(&self, points: &[[f32; 3]], met: &mut Met) {
        met.clear();
        if points.is_empty() || self.is_empty() {
            return;
        }
        let course = self.course(points);
        self.cross(&course, &mut met.anywhere);
        self.cross(&course[..1], &mut met.first);
        self.cross(&course[course.len() - 1..], &mut met.last);
    }

    /// The points in the space of the regions, NaN where nothing leads there. A way there may bend, so that pieces are
    /// brought over in parts of half a voxel's edge at most.
    fn course(&self, points: &[[f32; 3]]) -> Vec<[f64; 3]> {
        let points = points.iter().map(|point| point.map(f64::from));
        let Some(bring) = &self.bring else { return points.collect() };
        let edge = |lattice: &Lattice| {
            lattice.grid.ras_from_vox.spacing().into_iter().fold(f64::INFINITY, f64::min)
        };
        let edges = self.lattices.iter().map(edge);
        let widths = edges.chain(self.balls.iter().map(|ball| ball.radius_mm));
        let part_mm = widths.fold(f64::INFINITY, f64::min) / 2.0;
        let mut course = Vec::new();
        let mut before = None;
        for to in points {
            if let Some(from) = before.replace(to) {
                let parts = (norm(sub(to, from)) / part_mm).ceil();
                // Streamlines that leap farther are no streamlines.
                let parts = if parts < MOST_PARTS { parts as usize } else { 1 };
                for k in 1..parts {
                    let share = k as f64 / parts as f64;
                    course.push(std::array::from_fn(|a| from[a] + share * (to[a] - from[a])));
                }
            }
            course.push(to);
        }
        course.into_iter().map(|pos| bring(pos).unwrap_or([f64::NAN; 3])).collect()
    }

    /// Adds the regions that a polyline in their space meets.
    fn cross(&self, course: &[[f64; 3]], set: &mut Set) {
        for Lattice { grid, vox_from_ras, set_of, sets } in &self.lattices {
            let course_vox = course.iter().map(|pos| vox_from_ras.apply(*pos));
            voxels_on_line(grid.dims, course_vox, |voxel| {
                let set_here = set_of[grid.index(voxel)];
                if set_here != 0 {
                    add(set, &sets[set_here as usize]);
                }
            });
        }
        for Ball { region, centre, radius_mm } in &self.balls {
            let is_met = match course {
                [only] => is_near([*only; 2], *centre, *radius_mm),
                _ => course
                    .windows(2)
                    .any(|piece| is_near([piece[0], piece[1]], *centre, *radius_mm)),
            };
            if is_met {
                put(set, *region);
            }
        }
    }
}

/// Most parts of a piece that is brought over.
const MOST_PARTS: f64 = 1e5;

/// True where a place of the straight piece lies so near to a centre. Of a piece whose one end is not finite the other
/// end counts.
fn is_near([from, to]: [[f64; 3]; 2], centre: [f64; 3], radius_mm: f64) -> bool {
    let (step, out) = (sub(to, from), sub(centre, from));
    let square = dot(step, step);
    if !square.is_finite() {
        return [from, to].into_iter().any(|end| norm(sub(centre, end)) <= radius_mm);
    }
    let share = if square > 0.0 { (dot(out, step) / square).clamp(0.0, 1.0) } else { 0.0 };
    let away: [f64; 3] = std::array::from_fn(|a| out[a] - share * step[a]);
    dot(away, away) <= radius_mm * radius_mm
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row_of_voxels(n: usize, mm: f64) -> Grid {
        Grid { dims: [n, 1, 1], ras_from_vox: Affine::from_spacing([mm; 3]) }
    }

    fn met(regions: &Regions, points: &[[f32; 3]]) -> Met {
        let mut met = Met::default();
        regions.meet(points, &mut met);
        met
    }

    #[test]
    fn overlapping_regions_of_several_grids_are_each_met() {
        let mut regions = Regions::default();
        let (coarse, fine) = (row_of_voxels(10, 2.0), row_of_voxels(40, 0.5));
        assert_eq!(regions.add_voxels("a", &coarse, |v| v >= 4), Ok(0));
        assert_eq!(regions.add_voxels("b", &coarse, |v| v <= 5), Ok(1));
        assert_eq!(regions.add_voxels("c", &fine, |v| v == 20), Ok(2));
        assert_eq!(regions.add_ball([30.0, 0.0, 0.0], 1.5), 3);
        let at = |x: f32| [x, 0.0, 0.0];
        // 10.2 mm is coarse voxel 5 and fine voxel 20.
        let here = met(&regions, &[at(10.2)]);
        assert_eq!([0, 1, 2, 3].map(|r| here.passes(r)), [true, true, true, false]);
        assert!(here.begins_in(2) && here.ends_in(2));
        let there = met(&regions, &[at(9.0), at(9.4), at(30.0)]);
        assert!(there.ends_in(3) && there.begins_in(0) && !there.begins_in(3));
        let outside = met(&regions, &[at(-5.0), at(f32::NAN)]);
        assert!((0..4).all(|region| !outside.passes(region)));
        assert_eq!(met(&regions, &[]), Met::default());
    }

    #[test]
    fn what_lies_between_distant_points_is_met() {
        let mut regions = Regions::default();
        regions.add_voxels("a", &row_of_voxels(40, 1.0), |v| v == 20).unwrap();
        regions.add_ball([10.0, 0.0, 0.0], 1.0);
        let line = met(&regions, &[[0.0; 3], [35.0, 0.0, 0.0]]);
        assert!(line.passes(0) && line.passes(1) && !line.begins_in(0));
        let past = met(&regions, &[[0.0, 1.1, 0.0], [35.0, 1.1, 0.0]]);
        assert!(!past.passes(0) && !past.passes(1));
        let alone = [[f32::NAN, 0.0, 0.0], [10.0, 0.5, 0.0], [f32::INFINITY, 0.0, 0.0]];
        assert!(met(&regions, &alone).passes(1));
    }

    #[test]
    fn a_corner_cut_between_points_of_a_voxel_apart_is_met() {
        let grid = Grid { dims: [4, 4, 1], ras_from_vox: Affine::from_spacing([2.0; 3]) };
        let mut regions = Regions::default();
        regions.add_voxels("a", &grid, |v| grid.voxel(v) == [2, 1, 0]).unwrap();
        // In steps of a millimetre, half a voxel, from voxel 1 1 to 2 2.
        let line = [[2.3, 2.1, 0.0], [2.9, 2.7, 0.0], [3.5, 3.3, 0.0]];
        let met = met(&regions, &line);
        assert!(met.passes(0) && !met.begins_in(0) && !met.ends_in(0));
    }

    #[test]
    fn a_way_that_bends_is_followed_between_points() {
        // y there is a parabola over x: the straight piece between the ends' places misses its top.
        let bring: Bring = Arc::new(|p| Some([p[0], 4.0 - 0.04 * (p[0] - 10.0).powi(2), 0.0]));
        let mut regions = Regions::in_space(Some(bring));
        let grid = Grid { dims: [21, 5, 1], ras_from_vox: Affine::from_spacing([1.0; 3]) };
        regions.add_voxels("a", &grid, |v| grid.voxel(v) == [10, 4, 0]).unwrap();
        assert!(met(&regions, &[[0.0; 3], [20.0, 0.0, 0.0]]).passes(0));
    }

    #[test]
    fn more_regions_than_a_word_has_bits_are_told_apart() {
        let grid = row_of_voxels(200, 1.0);
        let mut regions = Regions::default();
        for region in 0..200 {
            regions.add_voxels("", &grid, |v| v == region || v == 7).unwrap();
        }
        let at = met(&regions, &[[130.0, 0.0, 0.0]]);
        assert!((0..200).all(|region| at.passes(region) == (region == 130)));
        let all = met(&regions, &[[7.0, 0.0, 0.0]]);
        assert!((0..200).all(|region| all.passes(region)));
    }

    #[test]
    fn regions_of_another_space_are_looked_up_where_points_are_brought() {
        let bring: Bring = Arc::new(|p| (p[0] < 5.0).then_some([p[0] + 10.0, p[1], p[2]]));
        let mut regions = Regions::in_space(Some(bring));
        regions.add_voxels("a", &row_of_voxels(20, 1.0), |v| v == 12).unwrap();
        assert!(met(&regions, &[[2.0, 0.0, 0.0]]).passes(0));
        assert!(!met(&regions, &[[12.0, 0.0, 0.0]]).passes(0));
    }

    #[test]
    fn a_region_of_nothing_is_named() {
        let mut regions = Regions::default();
        let error = regions.add_voxels("far.nii", &row_of_voxels(3, 1.0), |_| false);
        assert_eq!(error, Err(RegionError::Empty("far.nii".into())));
        assert!(regions.is_empty());
    }
}
