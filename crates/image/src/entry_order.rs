//! In which order, and in which axes, programs store the entries of symmetric tensors.

use crate::Image;
use crate::frames::{BvecFrame, Matrix3, turn_quartics, turn_tensors};

/// The convention of a program for maps of symmetric tensors of N unique entries.
#[derive(Clone, Copy, Debug)]
pub struct EntryOrder<const N: usize> {
    /// The lexicographic entry that each stored volume holds.
    entries: [usize; N],
    /// The axes the entries refer to.
    frame: BvecFrame,
    /// The names of the lexicographic entries.
    names: &'static [&'static str; N],
    /// Turns a map, stored lexicographically, into other axes.
    turn: fn(&mut Image, &Matrix3),
}

/// The convention of a program for maps of diffusion tensors.
///
/// | convention | volumes | axes |
/// |---|---|---|
/// | [`FIMBRIA`](Self::FIMBRIA), BIDS (`Reference: "xyz"`) | xx xy xz yy yz zz | scanner RAS+ |
/// | [`FSL`](Self::FSL) (`dtifit --save_tensor`) | xx xy xz yy yz zz | voxel, x reversed where det(affine) > 0 |
/// | [`MRTRIX`](Self::MRTRIX) (`dwi2tensor`) | xx yy zz xy xz yz | scanner RAS+ |
/// | [`DIPY`](Self::DIPY) (NIfTI intent 1005: rows of the lower triangle) | xx xy yy xz yz zz | voxel |
pub type TensorOrder = EntryOrder<6>;

/// The convention of a program for maps of the kurtosis tensor W (a pure number, symmetric, of
/// order 4; unique entries, not multiplied by how often they occur).
///
/// | convention | volumes | axes |
/// |---|---|---|
/// | [`FIMBRIA`](Self::FIMBRIA), DESIGNER inside, PyDesigner | 1111 1112 1113 1122 1123 1133 1222 1223 1233 1333 2222 2223 2233 2333 3333 | scanner RAS+ |
/// | [`MRTRIX`](Self::MRTRIX) (`dwi2tensor -dkt`) | 1111 2222 3333 1112 1113 1222 1333 2223 2333 1122 1133 2233 1123 1223 1233 | scanner RAS+ |
/// | [`DIPY`](Self::DIPY) (`DiffusionKurtosisFit.kt`) | 1111 2222 3333 1112 1113 1222 2223 1333 2333 1122 1133 2233 1123 1223 1233 | voxel |
///
/// DIPY and MRtrix3 differ in the seventh and eighth volume only, which is easily missed.
pub type KurtosisOrder = EntryOrder<15>;

impl EntryOrder<6> {
    /// Lexicographic, scanner axes.
    pub const FIMBRIA: Self = Self {
        entries: [0, 1, 2, 3, 4, 5],
        frame: BvecFrame::Scanner,
        names: &["xx", "xy", "xz", "yy", "yz", "zz"],
        turn: turn_tensors,
    };
    /// Lexicographic, FSL's voxel axes.
    pub const FSL: Self = Self { frame: BvecFrame::Fsl, ..Self::FIMBRIA };
    /// Diagonal first, scanner axes.
    pub const MRTRIX: Self = Self { entries: [0, 3, 5, 1, 2, 4], ..Self::FIMBRIA };
    /// Rows of the lower triangle, voxel axes.
    pub const DIPY: Self =
        Self { entries: [0, 1, 3, 2, 4, 5], frame: BvecFrame::Voxel, ..Self::FIMBRIA };
}

impl EntryOrder<15> {
    /// Lexicographic, scanner axes.
    pub const FIMBRIA: Self = Self {
        entries: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14],
        frame: BvecFrame::Scanner,
        names: &[
            "1111", "1112", "1113", "1122", "1123", "1133", "1222", "1223", "1233", "1333", "2222",
            "2223", "2233", "2333", "3333",
        ],
        turn: turn_quartics,
    };
    /// By powers, then axes; scanner axes.
    pub const MRTRIX: Self =
        Self { entries: [0, 10, 14, 1, 2, 6, 9, 11, 13, 3, 5, 12, 4, 7, 8], ..Self::FIMBRIA };
    /// By powers, then the other axis; voxel axes.
    pub const DIPY: Self = Self {
        entries: [0, 10, 14, 1, 2, 6, 11, 9, 13, 3, 5, 12, 4, 7, 8],
        frame: BvecFrame::Voxel,
        ..Self::FIMBRIA
    };
}

impl<const N: usize> EntryOrder<N> {
    /// The lexicographic entry (of xx xy xz yy yz zz, of 1111 1112 ... 3333) that each stored volume holds.
    pub const fn entries(&self) -> [usize; N] {
        self.entries
    }

    /// The names of the stored volumes.
    pub fn names(&self) -> [&'static str; N] {
        self.entries.map(|entry| self.names[entry])
    }

    /// The axes the entries refer to.
    pub fn frame(&self) -> BvecFrame {
        self.frame
    }

    /// A map of fimbria's convention in this one.
    ///
    /// # Panics
    /// Where the map has not a volume for each entry.
    pub fn from_fimbria(&self, map: &Image) -> Image {
        let turned = (self.frame != BvecFrame::Scanner).then(|| {
            let mut turned = map.clone();
            (self.turn)(&mut turned, &self.frame.frame_from_ras(&map.grid.ras_from_vox));
            turned
        });
        let map = turned.as_ref().unwrap_or(map);
        assert_eq!(map.n_volumes, N, "a volume for each of {N} entries");
        let mut stored = Image::zeros(map.grid, N);
        for (volume, entry) in self.entries.into_iter().enumerate() {
            stored.volume_mut(volume).copy_from_slice(map.volume(entry));
        }
        stored
    }

    /// A map of this convention in fimbria's.
    ///
    /// # Panics
    /// Where the map has not a volume for each entry.
    pub fn to_fimbria(&self, stored: &Image) -> Image {
        assert_eq!(stored.n_volumes, N, "a volume for each of {N} entries");
        let mut map = Image::zeros(stored.grid, N);
        for (volume, entry) in self.entries.into_iter().enumerate() {
            map.volume_mut(entry).copy_from_slice(stored.volume(volume));
        }
        if self.frame != BvecFrame::Scanner {
            (self.turn)(&mut map, &self.frame.ras_from_frame(&stored.grid.ras_from_vox));
        }
        map
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Affine, Grid};

    /// One voxel whose array x axis runs along scanner +y, y along -x (det > 0), with the entries
    /// 1, 2, ... in scanner axes.
    fn map(entries: u8) -> Image {
        let ras_from_vox =
            Affine([[0.0, -2.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0]]);
        let grid = Grid { dims: [1, 1, 1], ras_from_vox };
        let data: Vec<f32> = (1..=entries).map(f32::from).collect();
        Image { grid, n_volumes: data.len(), data }
    }

    #[test]
    fn stored_tensors_are_those_the_program_expects() {
        // Voxel components: x = RAS y, y = -RAS x, z = RAS z, so the tensor there is
        // xx = 4, xy = -2, xz = 5, yy = 1, yz = -3, zz = 6; FSL reverses x once more.
        let expected = [
            (TensorOrder::FIMBRIA, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
            (TensorOrder::FSL, [4.0, 2.0, -5.0, 1.0, -3.0, 6.0]),
            (TensorOrder::MRTRIX, [1.0, 4.0, 6.0, 2.0, 3.0, 5.0]),
            (TensorOrder::DIPY, [4.0, -2.0, 1.0, 5.0, -3.0, 6.0]),
        ];
        for (order, volumes) in expected {
            assert_eq!(order.from_fimbria(&map(6)).data, volumes, "{order:?}");
        }
    }

    #[test]
    fn stored_kurtosis_is_as_the_programs_document() {
        assert_eq!(
            KurtosisOrder::MRTRIX.names(),
            [
                "1111", "2222", "3333", "1112", "1113", "1222", "1333", "2223", "2333", "1122",
                "1133", "2233", "1123", "1223", "1233"
            ]
        );
        let (mut mrtrix, dipy) = (KurtosisOrder::MRTRIX.names(), KurtosisOrder::DIPY.names());
        mrtrix.swap(6, 7);
        assert_eq!(dipy, mrtrix);
        let stored = KurtosisOrder::MRTRIX.from_fimbria(&map(15));
        assert_eq!(&stored.data[..4], [1.0, 11.0, 15.0, 2.0]);
    }

    #[test]
    fn dipy_counts_kurtosis_in_voxel_axes() {
        // Voxel x = RAS y, voxel y = -RAS x: xxxx is RAS 2222, xxxy is -RAS 1222, xxyy is 1122.
        let stored = KurtosisOrder::DIPY.from_fimbria(&map(15));
        let of = |name: &str| {
            let place = KurtosisOrder::DIPY.names().iter().position(|n| *n == name).unwrap();
            stored.data[place]
        };
        assert_eq!((of("1111"), of("2222"), of("3333")), (11.0, 1.0, 15.0));
        assert_eq!((of("1112"), of("1122"), of("1113"), of("2333")), (-7.0, 4.0, 12.0, -10.0));
    }

    #[test]
    fn every_order_is_undone_by_its_inverse() {
        fn check<const N: usize>(orders: &[EntryOrder<N>]) {
            for order in orders {
                let map = map(N as u8);
                assert_eq!(order.to_fimbria(&order.from_fimbria(&map)), map, "{order:?}");
                let mut entries = order.entries();
                entries.sort_unstable();
                assert_eq!(entries, std::array::from_fn(|entry| entry));
            }
        }
        use {KurtosisOrder as W, TensorOrder as D};
        check(&[D::FIMBRIA, D::FSL, D::MRTRIX, D::DIPY]);
        check(&[W::FIMBRIA, W::MRTRIX, W::DIPY]);
    }

    #[test]
    fn names_follow_the_order() {
        assert_eq!(TensorOrder::MRTRIX.names(), ["xx", "yy", "zz", "xy", "xz", "yz"]);
        assert_eq!(TensorOrder::DIPY.names(), ["xx", "xy", "yy", "xz", "yz", "zz"]);
    }
}
