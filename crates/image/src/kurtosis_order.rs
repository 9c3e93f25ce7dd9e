//! In which order, and in which axes, programs store the fifteen entries of a kurtosis tensor.

use crate::Image;
use crate::frames::{BvecFrame, turn_quartics};

/// The convention of a program for maps of the kurtosis tensor W (a pure number, symmetric, of
/// order 4; unique entries, not multiplied by how often they occur).
///
/// | convention | volumes | axes |
/// |---|---|---|
/// | [`Fimbria`](Self::Fimbria), DESIGNER inside, PyDesigner | 1111 1112 1113 1122 1123 1133 1222 1223 1233 1333 2222 2223 2233 2333 3333 | scanner RAS+ |
/// | [`Mrtrix`](Self::Mrtrix) (`dwi2tensor -dkt`) | 1111 2222 3333 1112 1113 1222 1333 2223 2333 1122 1133 2233 1123 1223 1233 | scanner RAS+ |
/// | [`Dipy`](Self::Dipy) (`DiffusionKurtosisFit.kt`) | 1111 2222 3333 1112 1113 1222 2223 1333 2333 1122 1133 2233 1123 1223 1233 | voxel |
///
/// DIPY and MRtrix3 differ in the seventh and eighth volume only, which is easily missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KurtosisOrder {
    /// Lexicographic, scanner axes.
    Fimbria,
    /// By powers, then axes; scanner axes.
    Mrtrix,
    /// By powers, then the other axis; voxel axes.
    Dipy,
}

/// The names of the lexicographic entries.
const NAMES: [&str; 15] = [
    "1111", "1112", "1113", "1122", "1123", "1133", "1222", "1223", "1233", "1333", "2222", "2223",
    "2233", "2333", "3333",
];

impl KurtosisOrder {
    /// Every convention.
    pub const ALL: [Self; 3] = [Self::Fimbria, Self::Mrtrix, Self::Dipy];

    /// The lexicographic entry (of 1111 1112 ... 3333) that each stored volume holds.
    pub const fn entries(self) -> [usize; 15] {
        match self {
            Self::Fimbria => [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14],
            Self::Mrtrix => [0, 10, 14, 1, 2, 6, 9, 11, 13, 3, 5, 12, 4, 7, 8],
            Self::Dipy => [0, 10, 14, 1, 2, 6, 11, 9, 13, 3, 5, 12, 4, 7, 8],
        }
    }

    /// The names of the stored volumes.
    pub fn names(self) -> [&'static str; 15] {
        self.entries().map(|e| NAMES[e])
    }

    /// The axes the entries refer to.
    pub fn frame(self) -> BvecFrame {
        match self {
            Self::Fimbria | Self::Mrtrix => BvecFrame::Scanner,
            Self::Dipy => BvecFrame::Voxel,
        }
    }

    /// A kurtosis map of fimbria's convention in this one.
    ///
    /// # Panics
    /// Where the map has not fifteen volumes.
    pub fn from_fimbria(self, map: &Image) -> Image {
        let turned = (self.frame() != BvecFrame::Scanner).then(|| {
            let mut turned = map.clone();
            turn_quartics(&mut turned, &self.frame().frame_from_ras(&map.grid.ras_from_vox));
            turned
        });
        let map = turned.as_ref().unwrap_or(map);
        let mut stored = Image::zeros(map.grid, 15);
        for (volume, entry) in self.entries().into_iter().enumerate() {
            stored.volume_mut(volume).copy_from_slice(map.volume(entry));
        }
        stored
    }

    /// A kurtosis map of this convention in fimbria's.
    ///
    /// # Panics
    /// Where the map has not fifteen volumes.
    pub fn to_fimbria(self, stored: &Image) -> Image {
        assert_eq!(stored.n_volumes, 15, "a kurtosis map has 15 volumes");
        let mut map = Image::zeros(stored.grid, 15);
        for (volume, entry) in self.entries().into_iter().enumerate() {
            map.volume_mut(entry).copy_from_slice(stored.volume(volume));
        }
        if self.frame() != BvecFrame::Scanner {
            turn_quartics(&mut map, &self.frame().ras_from_frame(&stored.grid.ras_from_vox));
        }
        map
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Affine, Grid};

    /// One voxel whose array x axis runs along scanner +y, y along -x.
    fn map() -> Image {
        let ras_from_vox =
            Affine([[0.0, -2.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0]]);
        let mut map = Image::zeros(Grid { dims: [1, 1, 1], ras_from_vox }, 15);
        map.data = (0..15u8).map(|i| f32::from(i) + 1.0).collect();
        map
    }

    #[test]
    fn stored_volumes_are_those_the_programs_document() {
        assert_eq!(
            KurtosisOrder::Mrtrix.names(),
            [
                "1111", "2222", "3333", "1112", "1113", "1222", "1333", "2223", "2333", "1122",
                "1133", "2233", "1123", "1223", "1233"
            ]
        );
        let (mut mrtrix, dipy) = (KurtosisOrder::Mrtrix.names(), KurtosisOrder::Dipy.names());
        mrtrix.swap(6, 7);
        assert_eq!(dipy, mrtrix);
        let stored = KurtosisOrder::Mrtrix.from_fimbria(&map());
        assert_eq!(&stored.data[..4], [1.0, 11.0, 15.0, 2.0]);
    }

    #[test]
    fn dipy_counts_in_voxel_axes() {
        // Voxel x = RAS y, voxel y = -RAS x: xxxx is RAS 2222, xxxy is -RAS 1222, xxyy is 1122.
        let stored = KurtosisOrder::Dipy.from_fimbria(&map());
        let of = |name: &str| {
            let place = KurtosisOrder::Dipy.names().iter().position(|n| *n == name).unwrap();
            stored.data[place]
        };
        assert_eq!((of("1111"), of("2222"), of("3333")), (11.0, 1.0, 15.0));
        assert_eq!((of("1112"), of("1122"), of("1113"), of("2333")), (-7.0, 4.0, 12.0, -10.0));
    }

    #[test]
    fn every_order_is_undone_by_its_inverse() {
        for order in KurtosisOrder::ALL {
            assert_eq!(order.to_fimbria(&order.from_fimbria(&map())), map(), "{order:?}");
            let mut entries = order.entries();
            entries.sort_unstable();
            assert_eq!(entries, KurtosisOrder::Fimbria.entries());
        }
    }
}
