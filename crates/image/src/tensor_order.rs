//! In which order, and in which axes, programs store the six entries of a diffusion tensor.

use crate::Image;
use crate::frames::{BvecFrame, turn_tensors};

/// The convention of a program for tensor maps.
///
/// | convention | volumes | axes |
/// |---|---|---|
/// | [`Fimbria`](Self::Fimbria), BIDS (`Reference: "xyz"`) | xx xy xz yy yz zz | scanner RAS+ |
/// | [`Fsl`](Self::Fsl) (`dtifit --save_tensor`) | xx xy xz yy yz zz | voxel, x reversed where det(affine) > 0 |
/// | [`Mrtrix`](Self::Mrtrix) (`dwi2tensor`) | xx yy zz xy xz yz | scanner RAS+ |
/// | [`DipyLowerTriangular`](Self::DipyLowerTriangular) (NIfTI intent 1005) | xx xy yy xz yz zz | voxel |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorOrder {
    /// Lexicographic, scanner axes.
    Fimbria,
    /// Lexicographic, FSL's voxel axes.
    Fsl,
    /// Diagonal first, scanner axes.
    Mrtrix,
    /// Rows of the lower triangle, voxel axes.
    DipyLowerTriangular,
}

impl TensorOrder {
    /// Every convention.
    pub const ALL: [Self; 4] = [Self::Fimbria, Self::Fsl, Self::Mrtrix, Self::DipyLowerTriangular];

    /// The lexicographic entry (of xx xy xz yy yz zz) that each stored volume holds.
    pub fn entries(self) -> [usize; 6] {
        match self {
            Self::Fimbria | Self::Fsl => [0, 1, 2, 3, 4, 5],
            Self::Mrtrix => [0, 3, 5, 1, 2, 4],
            Self::DipyLowerTriangular => [0, 1, 3, 2, 4, 5],
        }
    }

    /// The names of the stored volumes.
    pub fn names(self) -> [&'static str; 6] {
        self.entries().map(|e| ["xx", "xy", "xz", "yy", "yz", "zz"][e])
    }

    /// The axes the entries refer to.
    pub fn frame(self) -> BvecFrame {
        match self {
            Self::Fimbria | Self::Mrtrix => BvecFrame::Scanner,
            Self::Fsl => BvecFrame::Fsl,
            Self::DipyLowerTriangular => BvecFrame::Voxel,
        }
    }

    /// A tensor map of fimbria's convention in this one.
    ///
    /// # Panics
    /// Where the map has not six volumes.
    pub fn from_fimbria(self, map: &Image) -> Image {
        let turned = (self.frame() != BvecFrame::Scanner).then(|| {
            let mut turned = map.clone();
            turn_tensors(&mut turned, &self.frame().frame_from_ras(&map.grid.ras_from_vox));
            turned
        });
        let map = turned.as_ref().unwrap_or(map);
        let mut stored = Image::zeros(map.grid, 6);
        for (volume, entry) in self.entries().into_iter().enumerate() {
            stored.volume_mut(volume).copy_from_slice(map.volume(entry));
        }
        stored
    }

    /// A tensor map of this convention in fimbria's.
    ///
    /// # Panics
    /// Where the map has not six volumes.
    pub fn to_fimbria(self, stored: &Image) -> Image {
        assert_eq!(stored.n_volumes, 6, "a tensor map has 6 volumes");
        let mut map = Image::zeros(stored.grid, 6);
        for (volume, entry) in self.entries().into_iter().enumerate() {
            map.volume_mut(entry).copy_from_slice(stored.volume(volume));
        }
        if self.frame() != BvecFrame::Scanner {
            turn_tensors(&mut map, &self.frame().ras_from_frame(&stored.grid.ras_from_vox));
        }
        map
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Affine, Grid};

    /// One voxel whose array x axis runs along scanner +y, y along -x (det > 0), with the tensor
    /// xx .. zz = 1 .. 6 in scanner axes.
    fn map() -> Image {
        let ras_from_vox =
            Affine([[0.0, -2.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0]]);
        let mut map = Image::zeros(Grid { dims: [1, 1, 1], ras_from_vox }, 6);
        map.data = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        map
    }

    #[test]
    fn stored_volumes_are_those_the_program_expects() {
        // Voxel components: x = RAS y, y = -RAS x, z = RAS z, so the tensor there is
        // xx = 4, xy = -2, xz = 5, yy = 1, yz = -3, zz = 6; FSL reverses x once more.
        let expected = [
            (TensorOrder::Fimbria, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
            (TensorOrder::Fsl, [4.0, 2.0, -5.0, 1.0, -3.0, 6.0]),
            (TensorOrder::Mrtrix, [1.0, 4.0, 6.0, 2.0, 3.0, 5.0]),
            (TensorOrder::DipyLowerTriangular, [4.0, -2.0, 1.0, 5.0, -3.0, 6.0]),
        ];
        for (order, volumes) in expected {
            assert_eq!(order.from_fimbria(&map()).data, volumes, "{order:?}");
        }
    }

    #[test]
    fn every_order_is_undone_by_its_inverse() {
        for order in TensorOrder::ALL {
            assert_eq!(order.to_fimbria(&order.from_fimbria(&map())), map(), "{order:?}");
        }
    }

    #[test]
    fn names_follow_the_order() {
        assert_eq!(TensorOrder::Mrtrix.names(), ["xx", "yy", "zz", "xy", "xz", "yz"]);
        assert_eq!(TensorOrder::DipyLowerTriangular.names(), ["xx", "xy", "yy", "xz", "yz", "zz"]);
    }
}
