//! What goes wrong in real scans: the head moves, slices lose their signal, gradients are not the same
//! everywhere.

use fimbria_compute::dense::vec3::{Vec3, add, norm, scale, sub};
use fimbria_compute::philox::{Philox, normals, uniform};
use fimbria_compute::{Interrupted, Progress};
use fimbria_image::frames::{Matrix3, product, transposed, turned};
use fimbria_image::{BvecFrame, Grid, Image};

use super::MIDDLE_MM;
use crate::PhantomError;
use crate::placement::turn_about;
use crate::render::place;
use crate::zeros::zeros;

/// How much of each there is; none of any by default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// How far the head moves at most from where it is in the first volume, mm; it turns by as many
    /// degrees at most.
    pub motion: f64,
    /// Slices of weighted volumes that lose most of their signal.
    pub dropped_slices: usize,
    /// Largest deviation of the gradients in the brain, as a fraction.
    pub nonlinearity: f64,
}

/// The faults that were made.
#[derive(Clone, Debug, Default)]
pub struct Faulty {
    /// Where the head is in each volume; empty where it keeps still.
    pub poses: Vec<Pose>,
    /// The slices that lost signal, by volume and slice.
    pub dropped: Vec<Dropped>,
    /// How gradients deviate: nine volumes as FSL's `grad_dev` has them.
    pub deviation: Option<Image>,
    coils: Option<Coils>,
}

/// Where the head is: turned about scanner x, then y, then z through the middle of the head, then
/// moved.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pose {
    /// Along the scanner's axes.
    pub moved_mm: Vec3,
    /// About the scanner's axes.
    pub turned_deg: Vec3,
}

/// A slice that lost signal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropped {
    /// Its volume, from 0.
    pub volume: usize,
    /// Its place along the third axis of the grid, from 0.
    pub slice: usize,
    /// What is left of the signal.
    pub left: f32,
}

impl Faults {
    pub(super) fn check(&self) -> Result<(), PhantomError> {
        let valid = (0.0..=50.0).contains(&self.motion);
        PhantomError::require(valid, "motion", self.motion, "0 to 50 mm (and degrees)")?;
        let valid = (0.0..=0.3).contains(&self.nonlinearity);
        PhantomError::require(valid, "non-linearity", self.nonlinearity, "0 to 0.3")
    }

    /// Makes them: for a series whose volumes are weighted or not, of a brain in voxels `brain`.
    pub(super) fn made(
        &self,
        grid: Grid,
        is_weighted: &[bool],
        brain: &[u32],
        seed: u64,
    ) -> Result<Faulty, PhantomError> {
        let source = Philox::new(seed).stream(33);
        let coils = (self.nonlinearity > 0.0).then(|| {
            Coils::new(self.nonlinearity, brain.iter().map(|&v| place(&grid, v as usize)))
        });
        Ok(Faulty {
            poses: self.poses(is_weighted.len(), source),
            dropped: self.dropped(&grid, is_weighted, brain, source)?,
            deviation: coils.map(|coils| coils.image(grid)).transpose()?,
            coils,
        })
    }

    /// A random walk that ends nowhere near its largest distance more often than elsewhere.
    fn poses(&self, volumes: usize, source: Philox) -> Vec<Pose> {
        if self.motion == 0.0 {
            return Vec::new();
        }
        let mut poses = vec![Pose::default(); volumes];
        for volume in 1..volumes {
            let before = poses[volume - 1];
            let step = |part: u32| {
                let [x, y, z, _] = normals::<f32>(source.at(volume as u64, part));
                [x, y, z].map(f64::from)
            };
            poses[volume] = Pose {
                moved_mm: add(before.moved_mm, step(0)),
                turned_deg: add(before.turned_deg, step(1)),
            };
        }
        let largest = |of: fn(&Pose) -> Vec3| poses.iter().map(|p| norm(of(p))).fold(0.0, f64::max);
        let [moved, turned] = [largest(|p| p.moved_mm), largest(|p| p.turned_deg)];
        for pose in poses.iter_mut().skip(1) {
            pose.moved_mm = scale(pose.moved_mm, self.motion / moved);
            pose.turned_deg = scale(pose.turned_deg, self.motion / turned);
        }
        poses
    }

    fn dropped(
        &self,
        grid: &Grid,
        is_weighted: &[bool],
        brain: &[u32],
        source: Philox,
    ) -> Result<Vec<Dropped>, PhantomError> {
        let per_slice = grid.dims[0] * grid.dims[1];
        let mut count = vec![0usize; grid.dims[2]];
        brain.iter().for_each(|&voxel| count[voxel as usize / per_slice] += 1);
        // A slice that only grazes the brain would be no fault that anybody sees.
        let fewest = count.iter().max().map_or(0, |most| most / 4).max(1);
        let slices: Vec<_> = (0..count.len()).filter(|&slice| count[slice] >= fewest).collect();
        let volumes: Vec<_> = (0..is_weighted.len()).filter(|&v| is_weighted[v]).collect();
        let places = slices.len() * volumes.len();
        let needed = "at most as many as weighted volumes have slices of brain";
        let valid = self.dropped_slices <= places;
        PhantomError::require(valid, "dropped slices", self.dropped_slices, needed)?;
        // The places with the smallest of random numbers, one each.
        let drawn = |place: usize| source.at(place as u64, 2);
        let mut order: Vec<_> = (0..places).map(|place| (drawn(place)[0], place)).collect();
        order.sort_unstable();
        order.truncate(self.dropped_slices);
        let of = |(_, at): (u32, usize)| Dropped {
            volume: volumes[at / slices.len()],
            slice: slices[at % slices.len()],
            left: 0.05 + 0.35 * uniform::<f32>(drawn(at)[1]),
        };
        let mut dropped: Vec<_> = order.into_iter().map(of).collect();
        dropped.sort_unstable_by_key(|d| (d.volume, d.slice));
        Ok(dropped)
    }
}

impl Faulty {
    /// Where the head is in a volume, if it moves.
    pub(super) fn pose(&self, volume: usize) -> Option<&Pose> {
        self.poses.get(volume).filter(|pose| **pose != Pose::default())
    }

    /// Whether gradients are not what was asked for.
    pub(super) fn bends(&self) -> bool {
        self.coils.is_some()
    }

    /// The gradient at a place of the scanner where `g` was asked for.
    pub(super) fn bent(&self, g: Vec3, at: Vec3) -> Vec3 {
        self.coils.map_or(g, |coils| turned(&coils.matrix(at), g))
    }

    /// Takes the signal from the slices of a volume that lose it.
    pub(super) fn drop_slices(&self, volume: usize, grid: &Grid, samples: &mut [f32]) {
        let per_slice = grid.dims[0] * grid.dims[1];
        for dropped in self.dropped.iter().filter(|dropped| dropped.volume == volume) {
            let from = dropped.slice * per_slice;
            samples[from..from + per_slice].iter_mut().for_each(|sample| *sample *= dropped.left);
        }
    }
}

impl Pose {
    fn rotation(&self) -> Matrix3 {
        let turn = |axis: usize| turn_about(axis, self.turned_deg[axis].to_radians()).linear();
        product(&turn(2), &product(&turn(1), &turn(0)))
    }

    /// A direction of the scanner in the axes of the head.
    pub(super) fn in_head(&self, dir: Vec3) -> Vec3 {
        turned(&transposed(&self.rotation()), dir)
    }

    /// Where a point of the still head is.
    pub(super) fn of_head(&self, p: Vec3) -> Vec3 {
        add(add(turned(&self.rotation(), sub(p, MIDDLE_MM)), MIDDLE_MM), self.moved_mm)
    }

    /// `still` as it is seen when the head has moved: between voxels by lines, zero outside.
    ///
    /// # Errors
    /// Where the user stops it.
    pub(super) fn seen(
        &self,
        still: &[f32],
        grid: &Grid,
        progress: &dyn Progress,
    ) -> Result<Vec<f32>, Interrupted> {
        let Some(vox_from_ras) = grid.ras_from_vox.inverse() else { return Ok(still.to_vec()) };
        let back = transposed(&self.rotation());
        let [nx, ny, nz] = grid.dims;
        let at = |voxel: usize| {
            let p = sub(sub(place(grid, voxel), self.moved_mm), MIDDLE_MM);
            let q = vox_from_ras.apply(add(turned(&back, p), MIDDLE_MM));
            let low = q.map(f64::floor);
            let mut sum = 0.0;
            for corner in 0..8 {
                let up = [corner & 1, corner >> 1 & 1, corner >> 2];
                let c = [0, 1, 2].map(|a| low[a] + f64::from(up[a]));
                if (0..3).all(|a| c[a] >= 0.0 && c[a] < [nx, ny, nz][a] as f64) {
                    let [x, y, z] = c.map(|c| c as usize);
                    let near = (0..3).map(|a| 1.0 - (q[a] - c[a]).abs()).product::<f64>();
                    sum += near * f64::from(still[x + nx * (y + ny * z)]);
                }
            }
            sum as f32
        };
        let mut seen = Vec::with_capacity(grid.len());
        for slice in 0..nz {
            progress.check()?;
            seen.extend((slice * nx * ny..(slice + 1) * nx * ny).map(at));
        }
        Ok(seen)
    }
}

/// Gradient coils whose fields have, besides the linear term, one of third order about the scanner's
/// origin. Each field is harmonic, as fields in air are.
#[derive(Clone, Copy, Debug)]
struct Coils {
    /// Of the third-order terms, 1/mm².
    weight: f64,
}

impl Coils {
    /// So weighted that gradients deviate at `places` by `most` at most.
    fn new(most: f64, places: impl Iterator<Item = Vec3>) -> Self {
        let one = Self { weight: 1.0 };
        let deviation =
            |p| one.deviation(p).into_iter().flatten().fold(0.0, |m: f64, l| m.max(l.abs()));
        let largest = places.map(deviation).fold(0.0, f64::max);
        Self { weight: if largest > 0.0 { most / largest } else { 0.0 } }
    }

    /// Column j: the gradient of what coil j's field has beyond its linear term. Of x and y it is
    /// x (4 z² - x² - y²) and y (4 z² - x² - y²), of z it is z (2 z² - 3 x² - 3 y²).
    fn deviation(self, [x, y, z]: Vec3) -> Matrix3 {
        let rows = [
            [4.0 * z * z - 3.0 * x * x - y * y, -2.0 * x * y, -6.0 * x * z],
            [-2.0 * x * y, 4.0 * z * z - x * x - 3.0 * y * y, -6.0 * y * z],
            [8.0 * x * z, 8.0 * y * z, 6.0 * z * z - 3.0 * x * x - 3.0 * y * y],
        ];
        rows.map(|row| row.map(|term| self.weight * term))
    }

    fn matrix(self, p: Vec3) -> Matrix3 {
        let mut matrix = self.deviation(p);
        (0..3).for_each(|a| matrix[a][a] += 1.0);
        matrix
    }

    /// In the axes of FSL's bvecs, column by column.
    fn image(self, grid: Grid) -> Result<Image, PhantomError> {
        let mut image = zeros(grid, 9)?;
        let ras_from_fsl = BvecFrame::Fsl.ras_from_frame(&grid.ras_from_vox);
        let fsl_from_ras = BvecFrame::Fsl.frame_from_ras(&grid.ras_from_vox);
        for voxel in 0..grid.len() {
            let ras = self.deviation(place(&grid, voxel));
            let fsl = product(&fsl_from_ras, &product(&ras, &ras_from_fsl));
            for column in 0..3 {
                for row in 0..3 {
                    image.volume_mut(3 * column + row)[voxel] = fsl[row][column] as f32;
                }
            }
        }
        Ok(image)
    }
}

#[cfg(test)]
mod tests {
    use fimbria_compute::Silent;
    use fimbria_image::gradients::GradientDeviation;

    use super::*;
    use crate::Placement;

    fn grid() -> Grid {
        let tilt_deg = [5.0, -8.0, 12.0];
        let placement =
            Placement { dims: [9, 10, 8], voxel_mm: [20.0; 3], tilt_deg, x_right_to_left: true };
        placement.grid().unwrap()
    }

    #[test]
    fn fields_of_coils_are_harmonic_and_their_gradients_are_theirs() {
        let coils = Coils { weight: 1e-5 };
        let field = |[x, y, z]: Vec3| {
            let across = 4.0 * z * z - x * x - y * y;
            let along = 2.0 * z * z - 3.0 * (x * x + y * y);
            [x * across, y * across, z * along].map(|f| 1e-5 * f)
        };
        let (p, h) = ([31.0, -22.0, 45.0], 1e-3);
        let moved = |axis: usize, by: f64| {
            let mut q = p;
            q[axis] += by;
            q
        };
        for coil in 0..3 {
            let mut laplacian = 0.0;
            for axis in 0..3 {
                let [below, here, above] =
                    [-1.0, 0.0, 1.0].map(|k| field(moved(axis, k * h))[coil]);
                laplacian += above - 2.0 * here + below;
                // Central differences of a cubic: off by 1e-5 h².
                let slope = (above - below) / (2.0 * h);
                assert!((coils.deviation(p)[axis][coil] - slope).abs() < 1e-8, "{coil} {axis}");
            }
            // Second differences of numbers near 1, in units of h².
            assert!(laplacian.abs() < 1e-13, "{coil}: {laplacian}");
        }
    }

    #[test]
    fn the_image_of_deviations_says_what_is_done() {
        let grid = grid();
        let coils = Coils { weight: 1e-5 };
        let image = coils.image(grid).unwrap();
        let ras_from_fsl = BvecFrame::Fsl.ras_from_frame(&grid.ras_from_vox);
        for voxel in [0, 333, 719] {
            let columns = std::array::from_fn(|k| f64::from(image.volume(k)[voxel]));
            let read = GradientDeviation::from_fsl(columns, &ras_from_fsl).unwrap();
            let done = coils.matrix(place(&grid, voxel));
            for (a, b) in read.matrix_ras().iter().flatten().zip(done.iter().flatten()) {
                // Samples are f32.
                assert!((a - b).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn a_head_that_moves_is_seen_where_it_is() {
        let grid = grid();
        // Linear in scanner space, so that lines between voxels are exact.
        let at = |p: Vec3| 100.0 + 0.3 * p[0] - 0.2 * p[1] + 0.1 * p[2];
        let still: Vec<_> = (0..grid.len()).map(|v| at(place(&grid, v)) as f32).collect();
        let pose = Pose { moved_mm: [3.0, -2.0, 1.0], turned_deg: [4.0, -3.0, 5.0] };
        let seen = pose.seen(&still, &grid, &Silent).unwrap();
        let p = [12.0, 5.0, -7.0];
        let voxel = grid.ras_from_vox.inverse().unwrap().apply(p).map(f64::round);
        let voxel = voxel[0] as usize + 9 * (voxel[1] as usize + 10 * voxel[2] as usize);
        let here = place(&grid, voxel);
        // What is here was there in the still head.
        let back = transposed(&pose.rotation());
        let there = add(turned(&back, sub(sub(here, pose.moved_mm), MIDDLE_MM)), MIDDLE_MM);
        assert!(norm(sub(pose.of_head(there), here)) < 1e-9);
        assert!((f64::from(seen[voxel]) - at(there)).abs() < 1e-4);
        let g = [0.6, 0.0, 0.8];
        assert!((norm(pose.in_head(g)) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn motion_and_losses_are_as_large_and_as_many_as_asked_for() {
        let brain: Vec<u32> = (0..720).collect();
        let weighted: Vec<_> = (0..40).map(|v| v % 8 != 0).collect();
        let faults = Faults { motion: 4.0, dropped_slices: 30, nonlinearity: 0.1 };
        let made = faults.made(grid(), &weighted, &brain, 5).unwrap();
        let largest = made.poses.iter().map(|p| norm(p.moved_mm)).fold(0.0, f64::max);
        assert!((largest - 4.0).abs() < 1e-12 && made.poses[0] == Pose::default());
        let mut places: Vec<_> = made.dropped.iter().map(|d| (d.volume, d.slice)).collect();
        places.dedup();
        assert_eq!(places.len(), 30);
        assert!(made.dropped.iter().all(|d| weighted[d.volume] && d.left > 0.0 && d.left < 0.41));
        let deviation = made.deviation.unwrap();
        let most = deviation.data.iter().fold(0.0_f32, |most, l| most.max(l.abs()));
        // The largest entry in scanner axes; turned into the grid's it can be somewhat larger.
        assert!((0.08..0.14).contains(&most), "{most}");
        let all = Faults { dropped_slices: 35 * 8 + 1, ..faults };
        assert!(all.made(grid(), &weighted, &brain, 5).is_err());
    }
}
