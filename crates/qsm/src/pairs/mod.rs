//! Sums over pairs of a cylinder and a receiver, evaluated when they are needed.
//!
//! A cylinder acts on a slab two voxels thick. Sources are grouped by the axis that the slab's
//! normal is steepest along, and each group sees the receivers as columns of 4×4 voxels along that
//! axis: a source meets a few planes of a column, found from its slab, about N^(2/3) of N voxels
//! in all. Without the cull each source is evaluated at every plane of every column: the paper's
//! operator.
//!
//! The field is made column by column while the sources pass; the adjoint holds a block of sources
//! while the columns pass. Nothing is written by two threads, and neither the order of summation
//! nor the formula depends on the number of lanes or threads.
//!
//! An evaluation is 12 multiplications (most of them fused with an addition), a division and 4
//! additions of registers. In random directions 4 of 10 evaluated pairs lie within the slab.

mod columns;
pub(crate) mod number;
mod reach;
mod source;
mod sum;

use fimbria_compute::Workers;
use rayon::prelude::*;

use self::columns::{AT, Columns, FOOT, HALF_FOOT};
use self::number::Element;
use self::reach::{Reach, half_reach};
use self::source::Seen;
pub(crate) use self::source::Source;
use self::sum::{BLOCK, FieldOfColumn, Scratch, SeenByBlock};
use crate::{Cylinder, FieldModel};

/// Cylinders and the receivers that see them.
pub(crate) struct Pairs {
    groups: Vec<Group>,
    sources: usize,
}

/// Sources whose slabs are steepest along one axis.
struct Group {
    /// Two voxel axes across the columns, and the one along.
    axes: [usize; 3],
    /// Which of the cylinders each is.
    index: Vec<u32>,
    sources: Vec<Source<f32>>,
    reach: Reach,
    columns: Columns,
    support: Option<f32>,
}

impl Pairs {
    /// `cylinders`, each with its voxel, seen from the receivers of `model`; with `cull` only
    /// where they reach.
    pub(crate) fn new(
        model: &FieldModel,
        cylinders: &[([usize; 3], Cylinder)],
        cull: bool,
    ) -> Self {
        let group = |axes| Group::new(model, cylinders, axes, cull);
        let mut groups: Vec<Group> = [[1, 2, 0], [2, 0, 1], [0, 1, 2]].map(group).into();
        groups.retain(|group| !group.sources.is_empty());
        Self { groups, sources: cylinders.len() }
    }

    /// Adds to `field` (receivers) what the sources of susceptibilities `x` make there.
    pub(crate) fn add_field(&self, workers: &Workers, x: &[f32], field: &mut [f32]) {
        for group in &self.groups {
            let amount = |(source, &i): (&Source<f32>, &u32)| source.strength * x[i as usize];
            let amounts: Vec<f32> = group.sources.iter().zip(&group.index).map(amount).collect();
            let mut volume = vec![0.0; group.columns.len()];
            let columns = volume.par_chunks_mut(group.columns.column_len()).enumerate();
            workers.install(|| {
                columns.for_each_init(Scratch::default, |scratch, (column, field)| {
                    let amounts = &amounts[..];
                    workers.simd().run(FieldOfColumn { group, amounts, column, field, scratch });
                });
            });
            for (field, &place) in field.iter_mut().zip(&group.columns.receivers) {
                *field += volume[place as usize];
            }
        }
    }

    /// The adjoint of [`add_field`](Self::add_field): what each source sees of `field`.
    pub(crate) fn gather(&self, workers: &Workers, field: &[f32]) -> Vec<f32> {
        let mut x = vec![0.0; self.sources];
        for group in &self.groups {
            let mut volume = vec![0.0; group.columns.len()];
            for (field, &place) in field.iter().zip(&group.columns.receivers) {
                volume[place as usize] = *field;
            }
            let mut seen = vec![0.0; group.sources.len()];
            let blocks = seen.par_chunks_mut(BLOCK).enumerate();
            workers.install(|| {
                blocks.for_each_init(Scratch::default, |scratch, (block, x)| {
                    let (volume, first) = (&volume[..], block * BLOCK);
                    workers.simd().run(SeenByBlock { group, volume, first, x, scratch });
                });
            });
            for (&i, seen) in group.index.iter().zip(seen) {
                x[i as usize] = seen;
            }
        }
        x
    }

    /// Calls `visit` with the index of a cylinder, that of a receiver and the kernel between them
    /// in f64, for every pair that is evaluated; what rounding leaves of the fast sums is held
    /// against it.
    pub(crate) fn each_pair(
        &self,
        model: &FieldModel,
        cylinders: &[([usize; 3], Cylinder)],
        mut visit: impl FnMut(usize, usize, f64),
    ) {
        for group in &self.groups {
            group.each_pair(model, cylinders, &mut visit);
        }
    }
}

impl Group {
    /// Those of `cylinders` that belong to the last of `axes`.
    fn new(
        model: &FieldModel,
        cylinders: &[([usize; 3], Cylinder)],
        axes: [usize; 3],
        cull: bool,
    ) -> Self {
        let belongs = |cylinder: &Cylinder| {
            let steep = |a: usize| (cylinder.axis[a] * model.geometry.spacing[a]).abs();
            let steepest = (0..3).fold(0, |m, a| if steep(a) > steep(m) { a } else { m });
            steepest == axes[2]
        };
        let mut sources: Vec<(u32, Source<f32>)> = cylinders
            .iter()
            .enumerate()
            .filter(|(_, (_, cylinder))| belongs(cylinder))
            .map(|(i, (at, cylinder))| {
                (i as u32, Source::new(&model.geometry, *at, cylinder, axes))
            })
            .collect();
        // Those that reach as many planes follow each other: the loop over planes ends as expected.
        sources.sort_by_key(|(_, source)| (2.0 * half_reach(source)) as u32);
        let (index, sources): (Vec<u32>, Vec<Source<f32>>) = sources.into_iter().unzip();
        let columns = Columns::new(&model.geometry, &model.receivers, axes);
        let reach = Reach::new(&sources, columns.planes, cull);
        let support = model.support.map(|support| support as f32);
        Self { axes, index, sources, reach, columns, support }
    }

    /// The middle of a column's foot.
    fn middle(&self, column: usize) -> [f32; 2] {
        self.columns.corner(column).map(|p| p + HALF_FOOT)
    }

    fn each_pair(
        &self,
        model: &FieldModel,
        cylinders: &[([usize; 3], Cylinder)],
        visit: &mut impl FnMut(usize, usize, f64),
    ) {
        let mut receiver_at = vec![u32::MAX; self.columns.len()];
        for (receiver, &place) in self.columns.receivers.iter().enumerate() {
            receiver_at[place as usize] = receiver as u32;
        }
        let mut hits = Vec::new();
        let all = 0..self.sources.len();
        for (column, &span) in self.columns.spans.iter().enumerate() {
            let corner = self.columns.corner(column).map(f64::from);
            let middle = self.middle(column);
            self.reach.hits(pulp::Scalar::new(), middle, span, all.clone(), &mut hits);
            for hit in &hits {
                let index = self.index[hit.source as usize] as usize;
                let (at, cylinder) = &cylinders[index];
                let source = Source::<f64>::new(&model.geometry, *at, cylinder, self.axes);
                for i in 0..FOOT {
                    let across = [0, 1].map(|a| corner[a] + f64::from(AT[a][i]) - source.at[a]);
                    let seen = Seen::new(&source, across, f64::from_f64(1.0));
                    for plane in hit.planes() {
                        let place = column * self.columns.column_len() + plane * FOOT + i;
                        let along = plane as f64 - source.at[2];
                        let farthest = across[0].abs().max(across[1].abs()).max(along.abs());
                        let is_seen = self.support.is_none_or(|s| farthest <= f64::from(s));
                        if is_seen && receiver_at[place] != u32::MAX {
                            let [a, b] = seen.factors(along);
                            visit(index, receiver_at[place] as usize, a * b * source.strength);
                        }
                    }
                }
            }
        }
    }
}
