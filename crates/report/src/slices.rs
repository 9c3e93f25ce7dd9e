//! Which slices to show, and their pixels.

use fimbria_image::Mask;

use crate::{colour::Rgb, orientation::Canonical, raster::Raster};

/// A plane of the body, by the canonical axis it is normal to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plane {
    /// Normal to left-right.
    Sagittal,
    /// Normal to front-back.
    Coronal,
    /// Normal to up-down.
    Axial,
}

impl Plane {
    /// Canonical axis normal to the plane.
    fn normal(self) -> usize {
        self as usize
    }

    /// Canonical axes that run to the right and up in the picture.
    pub(crate) fn axes(self) -> [usize; 2] {
        match self {
            Self::Sagittal => [1, 2],
            Self::Coronal => [0, 2],
            Self::Axial => [0, 1],
        }
    }

    /// Letters of the left, right, upper and lower side of the picture.
    pub(crate) fn sides(self) -> [&'static str; 4] {
        const ENDS: [[&str; 2]; 3] = [["L", "R"], ["P", "A"], ["I", "S"]];
        let [across, up] = self.axes();
        [ENDS[across][0], ENDS[across][1], ENDS[up][1], ENDS[up][0]]
    }

    /// The word for the plane.
    pub fn name(self) -> &'static str {
        ["sagittal", "coronal", "axial"][self as usize]
    }
}

const PLANES: [Plane; 3] = [Plane::Sagittal, Plane::Coronal, Plane::Axial];

/// How many slices a mosaic has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Slices of the main plane at most: axial, or the plane of a thin slab. At least one is
    /// shown.
    pub slices: usize,
    /// Whether one slice of each other plane is added where the volume is not a thin slab.
    pub orthogonal: bool,
}

impl Default for Layout {
    fn default() -> Self {
        Self { slices: 10, orthogonal: true }
    }
}

/// One slice of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    pub(crate) plane: Plane,
    /// Canonical voxel index along the plane's normal.
    position: usize,
}

/// A volume cut to the box of its mask.
#[derive(Clone, Debug)]
pub(crate) struct View {
    canonical: Canonical,
    /// First canonical voxel of the box.
    low: [usize; 3],
    /// First canonical voxel beyond the box.
    high: [usize; 3],
    /// Mask voxels in each slice normal to each canonical axis.
    area: [Vec<usize>; 3],
}

impl View {
    /// The view of a mask; `None` where the mask is empty.
    pub(crate) fn new(mask: &Mask) -> Option<Self> {
        let canonical = Canonical::new(&mask.grid);
        let mut area = canonical.dims.map(|n| vec![0; n]);
        for &index in &mask.voxels {
            let voxel = canonical.voxel(index as usize);
            for c in 0..3 {
                area[c][voxel[c]] += 1;
            }
        }
        let mut low = [0; 3];
        let mut high = [0; 3];
        for c in 0..3 {
            low[c] = area[c].iter().position(|&n| n > 0)?;
            high[c] = area[c].iter().rposition(|&n| n > 0)? + 1;
        }
        Some(Self { canonical, low, high, area })
    }

    /// The same slices of the whole volume.
    pub(crate) fn over_whole_volume(self) -> Self {
        Self { low: [0; 3], high: self.canonical.dims, ..self }
    }

    fn size_mm(&self, axis: usize) -> f64 {
        (self.high[axis] - self.low[axis]) as f64 * self.canonical.spacing_mm[axis]
    }

    /// Width and height of a plane's pictures.
    pub(crate) fn extent_mm(&self, plane: Plane) -> [f64; 2] {
        plane.axes().map(|axis| self.size_mm(axis))
    }

    /// Size of a voxel in a plane's pictures.
    pub(crate) fn voxel_mm(&self, plane: Plane) -> [f64; 2] {
        plane.axes().map(|axis| self.canonical.spacing_mm[axis])
    }

    /// True where a plane's pictures would be narrow strips.
    fn is_strip(&self, plane: Plane) -> bool {
        let [w, h] = self.extent_mm(plane);
        w.min(h) < 0.2 * w.max(h)
    }

    /// The plane to look through the volume in: axial, or that of a slab too thin for it.
    pub(crate) fn main_plane(&self) -> Plane {
        let thin = (0..3).fold(2, |t, c| if self.size_mm(c) < self.size_mm(t) { c } else { t });
        if self.is_strip(Plane::Axial) { PLANES[thin] } else { Plane::Axial }
    }

    /// The other planes, as far as they show more than a strip.
    pub(crate) fn cross_planes(&self) -> Vec<Plane> {
        let main = self.main_plane();
        let others = [Plane::Coronal, Plane::Sagittal, Plane::Axial];
        others.into_iter().filter(|&p| p != main && !self.is_strip(p)).collect()
    }

    /// At most `count` slices of a plane, evenly through the part where the mask is not tiny.
    pub(crate) fn through(&self, plane: Plane, count: usize) -> Vec<Slice> {
        let area = &self.area[plane.normal()];
        let largest = area.iter().copied().max().unwrap_or(0);
        let positions: Vec<usize> =
            (0..area.len()).filter(|&i| area[i] > 0 && 5 * area[i] >= largest).collect();
        let count = count.clamp(1, positions.len());
        // The middles of `count` equal parts.
        (0..count)
            .map(|i| Slice {
                plane,
                position: positions[(2 * i + 1) * positions.len() / (2 * count)],
            })
            .collect()
    }

    /// The slice of a plane next to the mask's centre of gravity that shows some of the mask.
    pub(crate) fn central(&self, plane: Plane) -> Slice {
        let area = &self.area[plane.normal()];
        let total: usize = area.iter().sum();
        let moment: f64 = area.iter().enumerate().map(|(i, &n)| i as f64 * n as f64).sum();
        let centre = moment / total as f64;
        let occupied = (0..area.len()).filter(|&i| area[i] > 0);
        let distance = |i: usize| (i as f64 - centre).abs();
        let position = occupied.min_by(|&a, &b| distance(a).total_cmp(&distance(b)));
        Slice { plane, position: position.unwrap_or(0) }
    }

    /// Columns and rows of a plane's pictures.
    pub(crate) fn pixels(&self, plane: Plane) -> [usize; 2] {
        plane.axes().map(|axis| self.high[axis] - self.low[axis])
    }

    /// Linear storage index of the voxel at a column and a row, counted from the upper left.
    pub(crate) fn index(&self, slice: Slice, column: usize, row: usize) -> usize {
        let [across, up] = slice.plane.axes();
        let mut voxel = [slice.position; 3];
        voxel[across] = self.low[across] + column;
        voxel[up] = self.high[up] - 1 - row;
        self.canonical.index(voxel)
    }

    /// A slice with every voxel in the colour that `paint` gives its linear storage index.
    pub(crate) fn paint(&self, slice: Slice, paint: impl Fn(usize) -> Rgb) -> Raster {
        let [width, height] = self.pixels(slice.plane);
        Raster::new(width, height, |column, row| paint(self.index(slice, column, row)))
    }

    /// Where a point is in a slice's pictures: columns and rows from the upper left corner, and
    /// voxels from the middle of the slice. `pos_vox` are storage voxel coordinates.
    pub(crate) fn locate(&self, slice: Slice, pos_vox: [f64; 3]) -> [f64; 3] {
        let [across, up] = slice.plane.axes();
        let pos = self.canonical.coordinates(pos_vox);
        [
            pos[across] + 0.5 - self.low[across] as f64,
            self.high[up] as f64 - 0.5 - pos[up],
            pos[slice.plane.normal()] - slice.position as f64,
        ]
    }

    /// Components of a scanner direction to the right and up in a plane's pictures.
    pub(crate) fn project(&self, plane: Plane, dir_ras: [f64; 3]) -> [f64; 2] {
        let turned = self.canonical.turn(dir_ras);
        plane.axes().map(|axis| turned[axis])
    }

    /// Where a slice is, as `z = 12` in scanner mm; `≈` where the grid is oblique and
    /// only the middle of the slice is there.
    pub(crate) fn place(&self, slice: Slice) -> String {
        let normal = slice.plane.normal();
        let mut voxel: [usize; 3] = std::array::from_fn(|c| (self.low[c] + self.high[c]) / 2);
        voxel[normal] = slice.position;
        let mm = self.canonical.pos_ras(voxel)[normal].round() + 0.0;
        let sign = if self.canonical.is_oblique() { '≈' } else { '=' };
        format!("{} {sign} {mm}", ["x", "y", "z"][normal]).replace('-', "−")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fimbria_image::{Affine, Grid};

    fn full(dims: [usize; 3], spacing_mm: [f64; 3]) -> View {
        let ras_from_vox = Affine::from_spacing(spacing_mm);
        View::new(&Mask::full(Grid { dims, ras_from_vox })).unwrap()
    }

    #[test]
    fn slices_are_spread_evenly_and_never_more_than_there_are() {
        let view = full([8, 8, 100], [1.0; 3]);
        let positions: Vec<usize> =
            view.through(Plane::Axial, 4).into_iter().map(|s| s.position).collect();
        assert_eq!(positions, [12, 37, 62, 87]);
        assert_eq!(full([104, 104, 2], [2.0; 3]).through(Plane::Axial, 10).len(), 2);
    }

    #[test]
    fn a_slab_is_shown_in_its_own_plane_only() {
        for (dims, plane) in [
            ([104, 104, 2], Plane::Axial),
            ([104, 2, 104], Plane::Coronal),
            ([2, 104, 104], Plane::Sagittal),
        ] {
            let view = full(dims, [2.0; 3]);
            assert_eq!(view.main_plane(), plane);
            assert_eq!(view.cross_planes(), []);
        }
    }

    #[test]
    fn a_head_is_shown_in_three_planes() {
        let view = full([70, 90, 60], [2.0; 3]);
        assert_eq!(view.main_plane(), Plane::Axial);
        assert_eq!(view.cross_planes(), [Plane::Coronal, Plane::Sagittal]);
    }

    #[test]
    fn the_view_is_cut_to_the_mask() {
        let grid = Grid { dims: [10, 10, 10], ras_from_vox: Affine::from_spacing([1.0, 1.0, 3.0]) };
        let voxels = vec![grid.index([2, 3, 4]) as u32, grid.index([5, 4, 6]) as u32];
        let view = View::new(&Mask { grid, voxels }).unwrap();
        assert_eq!(view.pixels(Plane::Coronal), [4, 3]);
        assert_eq!(view.extent_mm(Plane::Coronal), [4.0, 9.0]);
        // No voxel of the mask has z = 5; the nearer of its neighbours is shown.
        assert_eq!(view.central(Plane::Axial).position, 4);
    }

    #[test]
    fn an_empty_mask_has_no_view() {
        let grid = Grid { dims: [3, 3, 3], ras_from_vox: Affine::IDENTITY };
        assert!(View::new(&Mask { grid, voxels: vec![] }).is_none());
    }
}
