//! Whether a gradient table lies as its image does: fibres run on where it does, and break off where
//! axes are swapped or flipped.
//!
//! Every way to swap and flip axes is tried, 24 in all, and scored by the mean length of streamlines
//! along the main directions. To turn the table is to turn these directions, so that one tensor fit does
//! for all. The axes are those in which the table was given, so that what is found can be done to it; of
//! a table in scanner axes those of the voxels are tried too, as it may have been made of bvecs.
//! After Jeurissen B, Leemans A, Sijbers J. Med Image Anal 18, 953 (2014).
//!
//! * `change`: what can be done to a table;
//! * `fibres`: how far streamlines run on.

mod change;
mod fibres;

use fimbria_compute::Workers;
use fimbria_image::frames::Matrix3;
use fimbria_image::{BvecFrame, Image};
use rayon::prelude::*;

use change::changes;
pub use change::{AxisChange, TableChange};
use fibres::Directions;

/// How well a table fits its image.
#[derive(Clone, Debug, PartialEq)]
pub struct GradientCheck {
    /// Mean length of streamlines, mm, after each change: the first is none.
    pub lengths_mm: Vec<(TableChange, f64)>,
    /// Streamlines of each.
    pub n_seeds: usize,
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GradientVerdict {
    /// No change makes fibres run on farther.
    Right,
    /// This one does.
    Wrong(TableChange),
    /// Another change does as well: the data do not tell.
    Unclear,
    /// The image is too thin, or has too few fibres, for any to run on.
    TooThin,
}

/// Streamlines start where it is this.
const START: f32 = 0.3;
/// So many of them at most.
const SEEDS: usize = 2000;
/// Fewer tell nothing.
const FEWEST_SEEDS: usize = 100;
/// What is better has streamlines longer by this factor. On whole heads it is 1.2 to 1.8; in blocks of
/// some ten voxels an edge chance alone makes 1.06.
const BETTER: f64 = 1.15;

impl GradientCheck {
    /// Of the main directions `v1` (scanner axes) and fractional anisotropies `fa` of a tensor fit to
    /// the table; both 0 where there is no tissue. `axes` are those that the table was given in.
    pub fn new(v1: &Image, fa: &Image, axes: BvecFrame, workers: &Workers) -> Self {
        let field = Directions::new(v1, fa);
        let starts: Vec<usize> =
            (0..field.fa.len()).filter(|voxel| field.fa[*voxel] >= START).collect();
        let stride = starts.len().div_ceil(SEEDS).max(1);
        let seeds: Vec<usize> = starts.iter().copied().step_by(stride).collect();
        let lengths_mm = workers.install(|| {
            let mean = |(change, turn): (TableChange, Matrix3)| {
                let total: f64 = seeds.iter().map(|seed| field.length_mm(*seed, &turn)).sum();
                (change, total / seeds.len().max(1) as f64)
            };
            changes(axes, &v1.grid.ras_from_vox).into_par_iter().map(mean).collect()
        });
        let n_seeds = if field.is_thin(&starts) { 0 } else { seeds.len() };
        Self { lengths_mm, n_seeds }
    }

    /// The change with the longest streamlines.
    pub fn best(&self) -> (TableChange, f64) {
        let longer = |a: (TableChange, f64), b: &(TableChange, f64)| if b.1 > a.1 { *b } else { a };
        self.lengths_mm.iter().fold(self.lengths_mm[0], longer)
    }

    /// The longest streamlines, mm, after any change but this.
    pub fn longest_but(&self, but: TableChange) -> f64 {
        let others = self.lengths_mm.iter().filter(|(change, _)| *change != but);
        others.map(|(_, length)| *length).fold(0.0, f64::max)
    }

    /// What follows for the table as it is.
    pub fn verdict(&self) -> GradientVerdict {
        let (best, longest) = self.best();
        let (none, given) = self.lengths_mm[0];
        if self.n_seeds < FEWEST_SEEDS {
            GradientVerdict::TooThin
        } else if given > BETTER * self.longest_but(none) {
            GradientVerdict::Right
        } else if longest > BETTER * self.longest_but(best) {
            GradientVerdict::Wrong(best)
        } else {
            GradientVerdict::Unclear
        }
    }
}

#[cfg(test)]
mod tests {
    use fimbria_image::frames::{product, turned};
    use fimbria_image::{Affine, Grid};

    use super::change::are_alike;
    use super::*;

    /// Rings about an axis that is none of the voxels', in oblique voxels of unlike edges: no change
    /// of axes leaves them as they are. The table they were measured by was changed in these axes; x of
    /// the array runs to the left where `x` is below 0.
    fn rings(change: AxisChange, axes: BvecFrame, x: f64) -> (Image, Image) {
        const ABOUT: [f64; 3] = [0.5, 0.3, 0.812_403_840_463_596];
        let ras_from_vox = Affine([
            [1.7 * x, 0.9, 0.1, 30.0],
            [-0.9 * x, 1.7, 0.6, -9.0],
            [0.1 * x, -0.5, 2.3, 4.0],
        ]);
        let grid = Grid { dims: [32, 30, 26], ras_from_vox };
        let (mut v1, mut fa) = (Image::zeros(grid, 3), Image::zeros(grid, 1));
        let (edges, n) = (ras_from_vox.spacing(), grid.len());
        let ras_from_axes = axes.ras_from_frame(&ras_from_vox);
        // From the voxels to the axes of the table, changed there, and to the scanner.
        let axes_from_vox = product(&axes.frame_from_ras(&ras_from_vox), &ras_from_vox.rotation());
        let measured = product(&ras_from_axes, &product(&change.matrix(), &axes_from_vox));
        for index in 0..n {
            let at = grid.voxel(index);
            let at: [f64; 3] =
                [0, 1, 2].map(|a| edges[a] * (at[a] as f64 - 0.5 * (grid.dims[a] - 1) as f64));
            let height: f64 = (0..3).map(|a| at[a] * ABOUT[a]).sum();
            let out = [0, 1, 2].map(|a| at[a] - height * ABOUT[a]);
            let radius = out.iter().map(|x| x * x).sum::<f64>().sqrt();
            if !(8.0..22.0).contains(&radius) || height.abs() > 8.0 {
                continue;
            }
            let along = [0, 1, 2].map(|a| {
                let (b, c) = ((a + 1) % 3, (a + 2) % 3);
                (ABOUT[b] * out[c] - ABOUT[c] * out[b]) / radius
            });
            for (row, scanner) in turned(&measured, along).into_iter().enumerate() {
                v1.data[row * n + index] = scanner as f32;
            }
            fa.data[index] = 0.6;
        }
        (v1, fa)
    }

    /// What undoes a change.
    fn inverse(change: AxisChange) -> AxisChange {
        let none = AxisChange::all()[0].matrix();
        let is_undone =
            |undo: &AxisChange| are_alike(&product(&undo.matrix(), &change.matrix()), &none);
        AxisChange::all().into_iter().find(is_undone).unwrap()
    }

    const FRAMES: [BvecFrame; 3] = [BvecFrame::Fsl, BvecFrame::Voxel, BvecFrame::Scanner];

    #[test]
    fn every_way_to_swap_and_flip_axes_of_any_table_is_found() {
        let workers = Workers::new(2).unwrap();
        for (frame, x) in FRAMES.iter().flat_map(|frame| [(*frame, -1.0), (*frame, 1.0)]) {
            for change in AxisChange::all() {
                let (v1, fa) = rings(change, frame, x);
                let check = GradientCheck::new(&v1, &fa, frame, &workers);
                let expected = match inverse(change) {
                    none if none == AxisChange::all()[0] => GradientVerdict::Right,
                    change => GradientVerdict::Wrong(TableChange { change, axes: frame }),
                };
                assert_eq!(check.verdict(), expected, "{change} {frame:?}: {:?}", check.lengths_mm);
            }
        }
    }

    #[test]
    fn a_scanner_table_that_was_made_of_wrong_bvecs_is_found() {
        let workers = Workers::new(2).unwrap();
        for change in AxisChange::all() {
            let (v1, fa) = rings(change, BvecFrame::Voxel, -1.0);
            let check = GradientCheck::new(&v1, &fa, BvecFrame::Scanner, &workers);
            let undo = inverse(change);
            match check.verdict() {
                GradientVerdict::Right => assert_eq!(undo, AxisChange::all()[0]),
                GradientVerdict::Wrong(found) => {
                    let all = changes(BvecFrame::Scanner, &v1.grid.ras_from_vox);
                    let (_, turn) = all.iter().find(|(change, _)| *change == found).unwrap();
                    assert!(are_alike(turn, &undo.matrix()), "{change}: {found:?}");
                }
                other => panic!("{other:?} of {change}"),
            }
        }
    }

    #[test]
    fn the_24_changes_are_all_different() {
        let all = AxisChange::all();
        for (at, change) in all.iter().enumerate() {
            for other in &all[..at] {
                assert!(!are_alike(&change.matrix(), &other.matrix()), "{change}, {other}");
            }
        }
    }

    #[test]
    fn where_another_change_is_a_little_better_nothing_is_called_right() {
        let changes = AxisChange::all().into_iter();
        let axes = BvecFrame::Fsl;
        let lengths_mm: Vec<_> = changes
            .zip([18.3, 18.8, 17.9].into_iter().chain(std::iter::repeat(10.0)))
            .map(|(change, length)| (TableChange { change, axes }, length))
            .collect();
        let check = GradientCheck { lengths_mm, n_seeds: 2000 };
        assert_eq!(check.verdict(), GradientVerdict::Unclear);
    }

    #[test]
    fn thin_images_do_not_tell() {
        let (v1, mut fa) = rings(AxisChange::all()[0], BvecFrame::Fsl, -1.0);
        for (index, fa) in fa.data.iter_mut().enumerate() {
            if v1.grid.voxel(index)[2] > 1 {
                *fa = 0.0;
            }
        }
        let check = GradientCheck::new(&v1, &fa, BvecFrame::Fsl, &Workers::new(1).unwrap());
        assert_eq!(check.verdict(), GradientVerdict::TooThin);
    }

    #[test]
    fn directions_at_random_do_not_tell() {
        let (mut v1, fa) = rings(AxisChange::all()[0], BvecFrame::Fsl, -1.0);
        let n = fa.data.len();
        for index in 0..n {
            let axis = index.wrapping_mul(2_654_435_761) >> 7;
            for row in 0..3 {
                v1.data[row * n + index] = f32::from(u8::from(row == axis % 3));
            }
        }
        let check = GradientCheck::new(&v1, &fa, BvecFrame::Fsl, &Workers::new(1).unwrap());
        assert!(!matches!(check.verdict(), GradientVerdict::Wrong(_)), "{:?}", check.lengths_mm);
    }
}
