//! How the parts of a streamline become entries of Φ.

use std::sync::Arc;

use fimbria_image::{Grid, Mask};

use crate::trace::{Piece, TraceNotes, Tracer};
use crate::{LifeError, Orientations};

/// Which columns of the dictionary streamlines use.
#[derive(Clone, Debug, PartialEq)]
pub enum Atoms {
    /// One for each direction that occurs.
    Exact,
    /// Those of ENCODE's [`OrientationGrid`](crate::OrientationGrid) of so many steps.
    Grid(usize),
    /// Those of a list, in the axes that streamlines' directions are taken in.
    Listed(Arc<[[f64; 3]]>),
}

/// What the parts of a streamline in one voxel add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Normalise {
    /// To 1, by length: a streamline contributes the mean of the signal along its way through the
    /// voxel, however short.
    #[default]
    Length,
    /// To 1, by number of nodes: ENCODE.
    Nodes,
    /// To the number of nodes: DIPY.
    None,
    /// To the length over the edge of a voxel (cube root of its volume): what a tube of the
    /// weight's cross section fills of it, as in COMMIT.
    Volume,
}

/// What parts are measured by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountBy {
    /// The length of each segment inside each voxel.
    Length,
    /// Nodes.
    Nodes,
}

impl Normalise {
    /// What parts are measured by.
    pub fn count_by(self) -> CountBy {
        match self {
            Self::Length | Self::Volume => CountBy::Length,
            Self::Nodes | Self::None => CountBy::Nodes,
        }
    }
}

/// How a tractogram is encoded.
#[derive(Clone, Debug, PartialEq)]
pub struct EncodeOptions {
    /// Which columns are used.
    pub atoms: Atoms,
    /// What the parts in a voxel add up to.
    pub normalise: Normalise,
    /// ENCODE's conventions: directions in voxel axes (wrong angles where voxels are not cubes),
    /// nodes outside the image moved to its nearest voxel. Directions of the
    /// [`Protocol`](crate::Protocol) must be in voxel axes too.
    pub in_voxel_axes: bool,
}

impl Default for EncodeOptions {
    fn default() -> Self {
        Self { atoms: Atoms::Grid(360), normalise: Normalise::Length, in_voxel_axes: false }
    }
}

/// An entry of Φ for one streamline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Linear index of the voxel.
    pub voxel: u32,
    /// The atom: its orientation, or the number of the streamline's point whose direction it is.
    pub atom: u32,
    /// How much, before the voxel's signal without weighting.
    pub value: f64,
}

/// Turns streamlines into [`Share`]s.
#[derive(Clone, Debug)]
pub struct Sharer {
    tracer: Tracer,
    orientations: Option<Orientations>,
    normalise: Normalise,
    edge_mm: f64,
    inside: Option<Vec<bool>>,
}

/// What a thread needs to share a streamline.
#[derive(Clone, Debug, Default)]
pub struct SharerScratch {
    pieces: Vec<Piece>,
    /// Unit directions at the points of the last streamline, in scanner axes (voxel axes for
    /// ENCODE); zero where it has none.
    pub dirs: Vec<[f64; 3]>,
}

impl Sharer {
    /// Shares by `options` on `grid`, in the voxels of `mask` where there is one.
    ///
    /// # Errors
    /// Where the orientation grid has a wrong size, a list has no directions, or mask and grid
    /// differ.
    pub fn new(
        grid: Grid,
        mask: Option<&Mask>,
        options: &EncodeOptions,
    ) -> Result<Self, LifeError> {
        let orientations = Orientations::from_atoms(&options.atoms)?;
        let inside = match mask {
            None => None,
            Some(mask) => {
                grid.check_same(&mask.grid, "the mask")?;
                let mut inside = vec![false; grid.len()];
                mask.voxels.iter().for_each(|&voxel| inside[voxel as usize] = true);
                Some(inside)
            }
        };
        let count_by = options.normalise.count_by();
        let tracer = Tracer::new(grid, count_by, options.in_voxel_axes);
        Ok(Self {
            tracer: tracer.ok_or(LifeError::SingularAffine)?,
            orientations,
            normalise: options.normalise,
            edge_mm: grid.ras_from_vox.determinant().abs().cbrt(),
            inside,
        })
    }

    /// Shares in the voxels of which `is_kept` says so by linear index, and in no others.
    pub(crate) fn keep(&mut self, is_kept: impl Fn(usize) -> bool) {
        let voxels = self.tracer.grid().len();
        let inside = self.inside.get_or_insert_with(|| vec![true; voxels]);
        for (voxel, inside) in inside.iter_mut().enumerate().filter(|(_, inside)| **inside) {
            *inside = is_kept(voxel);
        }
    }

    /// The tracer.
    pub fn tracer(&self) -> &Tracer {
        &self.tracer
    }

    /// The orientations that atoms have; `None` where each direction has its own.
    pub fn orientations(&self) -> Option<&Orientations> {
        self.orientations.as_ref()
    }

    /// The voxel around a point, where it is one of the image and the mask.
    pub fn voxel_at(&self, point_ras_mm: [f32; 3]) -> Option<u32> {
        let voxel = self.tracer.voxel_at(point_ras_mm)?;
        let is_inside = self.inside.as_ref().is_none_or(|inside| inside[voxel as usize]);
        is_inside.then_some(voxel)
    }

    /// The shares of the streamline through `points_ras_mm`, by voxel and atom, one for each pair
    /// of them that occurs.
    pub fn share(
        &self,
        points_ras_mm: &[[f32; 3]],
        scratch: &mut SharerScratch,
        shares: &mut Vec<Share>,
    ) -> TraceNotes {
        shares.clear();
        let SharerScratch { pieces, dirs } = scratch;
        let notes = self.tracer.trace(points_ras_mm, pieces, dirs);
        if let Some(inside) = &self.inside {
            pieces.retain(|piece| inside[piece.voxel as usize]);
        }
        shares.extend(pieces.iter().map(|piece| {
            let nearest = |o: &Orientations| o.orientation(dirs[piece.point as usize]) as u32;
            let atom = self.orientations.as_ref().map_or(piece.point, nearest);
            Share { voxel: piece.voxel, atom, value: piece.amount }
        }));
        // Stable, so that sums over one atom run along the streamline.
        shares.sort_by_key(|share| (share.voxel, share.atom));
        shares.dedup_by(|next, kept| {
            let same = (next.voxel, next.atom) == (kept.voxel, kept.atom);
            if same {
                kept.value += next.value;
            }
            same
        });
        match self.normalise {
            Normalise::None => {}
            Normalise::Volume => shares.iter_mut().for_each(|s| s.value /= self.edge_mm),
            Normalise::Length | Normalise::Nodes => {
                for in_voxel in shares.chunk_by_mut(|a, b| a.voxel == b.voxel) {
                    let total: f64 = in_voxel.iter().map(|share| share.value).sum();
                    in_voxel.iter_mut().for_each(|share| share.value /= total);
                }
            }
        }
        notes
    }
}
