//! Unknowns in the order that they have where voxels run to the right, to the front and up.
//!
//! A difference is that of a voxel and the next one, and |∇χ| takes those along three axes together: stored the other
//! way round, a map has other voxels next to each other, and a head's another map (by 6 to 9 % of its spread). So the
//! unknowns of a volume with reversed axes, and the directions that go with them, are put into the scanner's order, and
//! the map is put back.

use super::{Guidance, Prior, Supported, VariationMap};
use crate::{FieldModel, Geometry};

pub(super) struct AlongScanner {
    pub(super) model: FieldModel,
    /// Where each unknown stands among those given.
    order: Vec<u32>,
}

impl AlongScanner {
    /// `None` where no axis is reversed.
    pub(super) fn new(model: &FieldModel) -> Option<Self> {
        let geometry = model.geometry;
        let Geometry { dims, reversed, .. } = geometry;
        if reversed == [false; 3] {
            return None;
        }
        let turned = |&voxel: &u32| {
            let at = geometry.voxel(voxel as usize);
            let at = [0, 1, 2].map(|a| if reversed[a] { dims[a] - 1 - at[a] } else { at[a] });
            (at[0] + dims[0] * (at[1] + dims[1] * at[2])) as u32
        };
        let unknowns: Vec<u32> = model.unknowns.iter().map(turned).collect();
        let mut order: Vec<u32> = (0..unknowns.len() as u32).collect();
        order.sort_unstable_by_key(|&i| unknowns[i as usize]);
        let mut receivers: Vec<u32> = model.receivers.iter().map(turned).collect();
        receivers.sort_unstable();
        let signs = reversed.map(|reversed| if reversed { -1.0 } else { 1.0 });
        let b0 = [0, 1, 2].map(|a| signs[a] * geometry.b0[a]);
        let model = FieldModel {
            geometry: Geometry { b0, reversed: [false; 3], ..geometry },
            unknowns: order.iter().map(|&i| unknowns[i as usize]).collect(),
            shapes: order.iter().map(|&i| model.shapes[i as usize].mirrored(signs)).collect(),
            receivers,
            support: model.support,
        };
        Some(Self { model, order })
    }

    /// Numbers of the unknowns given, in the scanner's order.
    pub(super) fn ordered(&self, given: &[f32]) -> Vec<f32> {
        self.order.iter().map(|&i| given[i as usize]).collect()
    }

    /// `map(prior)`, what is known of the unknowns in the scanner's order.
    pub(super) fn with_prior<T>(&self, prior: Prior<'_>, map: impl FnOnce(Prior<'_>) -> T) -> T {
        let ordered = |guidance: &Guidance| Guidance {
            fa: self.ordered(&guidance.fa),
            images: guidance.images.iter().map(|image| self.ordered(image)).collect(),
        };
        match prior {
            Prior::Total | Prior::Generalised => map(prior),
            Prior::Magnitude(magnitude) => map(Prior::Magnitude(&self.ordered(magnitude))),
            Prior::Explained(guidance) => map(Prior::Explained(&ordered(guidance))),
            Prior::Supported(Supported { guidance, coefficients, own }) => {
                let (guidance, own) = (&ordered(guidance), &self.ordered(own)[..]);
                map(Prior::Supported(&Supported { guidance, coefficients, own }))
            }
        }
    }

    /// The map with its unknowns as given.
    pub(super) fn put_back(&self, map: VariationMap) -> VariationMap {
        let as_given = |ordered: Vec<f32>| {
            let mut given = vec![0.0; ordered.len()];
            self.order.iter().zip(ordered).for_each(|(&i, x)| given[i as usize] = x);
            given
        };
        let (chi, field) = (as_given(map.chi), as_given(map.field));
        VariationMap { chi, field, ..map }
    }
}
