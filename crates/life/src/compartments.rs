//! What stands in every voxel beside streamlines, as in COMMIT (Daducci et al. 2015): isotropic tissue, and
//! water hindered by the fibres of the voxel.

use std::sync::Arc;

use crate::{OrientationGrid, Protocol, Response};

/// The steps of the grid at whose orientations fibres share columns: half a degree, as those of
/// streamlines do.
const STEPS: usize = 360;

/// Directions of the fibres of every voxel of an image, in the frame of streamlines.
#[derive(Clone, Debug, PartialEq)]
pub struct Fibres {
    per_voxel: usize,
    dirs: Vec<[f32; 3]>,
}

impl Fibres {
    /// `dirs` voxel by voxel, `per_voxel` of each, of any length; zero or not finite where there is none.
    ///
    /// # Panics
    /// If the directions are not a multiple of `per_voxel`, or that is 0.
    pub fn new(per_voxel: usize, dirs: Vec<[f32; 3]>) -> Self {
        assert!(dirs.len().is_multiple_of(per_voxel));
        Self { per_voxel, dirs }
    }

    /// How many fibres a voxel has at most.
    pub fn per_voxel(&self) -> usize {
        self.per_voxel
    }

    /// The unit directions of a voxel's fibres, `None` for those that it does not have.
    pub fn of_voxel(&self, voxel: usize) -> impl Iterator<Item = Option<[f64; 3]>> {
        self.dirs[voxel * self.per_voxel..][..self.per_voxel].iter().map(|dir| {
            let dir = dir.map(f64::from);
            let length = dir.iter().map(|c| c * c).sum::<f64>().sqrt();
            (length > 0.0 && length.is_finite()).then(|| dir.map(|c| c / length))
        })
    }
}

/// Water around the fibres of a voxel: zeppelins as long as the tissue along streamlines.
#[derive(Clone, Debug, PartialEq)]
pub struct Hindered {
    /// Diffusivities across the fibres (mm²/s), one weight each.
    pub radial_mm2_per_s: Vec<f64>,
    /// The fibres.
    pub fibres: Arc<Fibres>,
}

/// The compartments of the voxels of an encoding, and the columns of the dictionary that they use: behind those
/// of streamlines.
#[derive(Clone, Debug, Default)]
pub struct Compartments {
    isotropic_mm2_per_s: Vec<f64>,
    hindered: Vec<Response>,
    /// Orientations that fibres have.
    dirs: Vec<[f64; 3]>,
    fibres_per_voxel: usize,
    /// Of each voxel and fibre its orientation, [`NONE`] where there is no fibre.
    orientation: Vec<u32>,
}

/// No fibre.
const NONE: u32 = u32::MAX;

impl Compartments {
    /// Those of these voxels of the image: of `isotropic` diffusivities (mm²/s), and around fibres, along which
    /// water diffuses as in streamlines of this `response`.
    pub fn new(
        response: &Response,
        isotropic: &[f64],
        hindered: Option<&Hindered>,
        voxels: &[u32],
    ) -> Self {
        let isotropic_mm2_per_s = isotropic.to_vec();
        let Some(Hindered { radial_mm2_per_s, fibres }) = hindered else {
            return Self { isotropic_mm2_per_s, ..Self::default() };
        };
        let response = |&radial_mm2_per_s: &f64| Response { radial_mm2_per_s, ..*response };
        let grid = OrientationGrid::new(STEPS).expect("steps that a grid has");
        let mut number = vec![NONE; grid.len()];
        let mut dirs = Vec::new();
        let mut orientation = Vec::with_capacity(voxels.len() * fibres.per_voxel);
        for dir in voxels.iter().flat_map(|&voxel| fibres.of_voxel(voxel as usize)) {
            orientation.push(dir.map_or(NONE, |dir| {
                let at = grid.orientation(dir);
                if number[at] == NONE {
                    number[at] = dirs.len() as u32;
                    dirs.push(grid.direction(at));
                }
                number[at]
            }));
        }
        let hindered = radial_mm2_per_s.iter().map(response).collect();
        let fibres_per_voxel = fibres.per_voxel;
        Self { isotropic_mm2_per_s, hindered, dirs, fibres_per_voxel, orientation }
    }

    /// Compartments of a voxel: of isotropic tissue, then fibre by fibre the hindered ones.
    pub fn len(&self) -> usize {
        self.isotropic_mm2_per_s.len() + self.fibres_per_voxel * self.hindered.len()
    }

    /// True where there are streamlines alone.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Columns of the dictionary.
    pub fn columns(&self) -> usize {
        self.isotropic_mm2_per_s.len() + self.hindered.len() * self.dirs.len()
    }

    /// The column of a compartment of the voxel at this position in the encoding; `None` where it has no such
    /// fibre.
    pub fn column_of(&self, compartment: usize, position: usize) -> Option<usize> {
        let isotropic = self.isotropic_mm2_per_s.len();
        let Some(at) = compartment.checked_sub(isotropic) else { return Some(compartment) };
        let (fibre, response) = (at / self.hindered.len(), at % self.hindered.len());
        let orientation = self.orientation[position * self.fibres_per_voxel + fibre];
        (orientation != NONE).then(|| isotropic + response * self.dirs.len() + orientation as usize)
    }

    /// A column, demeaned.
    pub fn fill(&self, column: usize, protocol: &Protocol, to: &mut [f64]) {
        match column.checked_sub(self.isotropic_mm2_per_s.len()) {
            None => protocol.isotropic_column(self.isotropic_mm2_per_s[column], to),
            Some(at) => {
                let (response, dir) = (at / self.dirs.len(), at % self.dirs.len());
                protocol.column(&self.hindered[response], self.dirs[dir], to);
            }
        }
    }

    /// The diffusivities of isotropic compartments, mm²/s.
    pub(crate) fn isotropic_mm2_per_s(&self) -> &[f64] {
        &self.isotropic_mm2_per_s
    }

    /// The tissue of hindered compartments.
    pub(crate) fn hindered(&self) -> &[Response] {
        &self.hindered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Demean;
    use crate::testing::shells;

    fn compartments(voxels: &[u32]) -> Compartments {
        let none = [f32::NAN; 3];
        let dirs = [[2.0, 0.0, 0.0], [0.0; 3], [0.0, 0.3, 0.4], none, [-1.0, 0.0, 0.0], [0.0; 3]];
        let fibres = Arc::new(Fibres::new(2, dirs.to_vec()));
        let hindered = Hindered { radial_mm2_per_s: vec![0.2e-3, 0.4e-3], fibres };
        Compartments::new(&Response::default(), &[3e-3], Some(&hindered), voxels)
    }

    #[test]
    fn fibres_along_one_axis_share_their_columns() {
        let compartments = compartments(&[0, 2]);
        assert_eq!(compartments.len(), 1 + 2 * 2);
        assert_eq!(compartments.columns(), 1 + 2);
        for voxel in 0..2 {
            let of_voxel: Vec<_> = (0..5).map(|c| compartments.column_of(c, voxel)).collect();
            assert_eq!(of_voxel, [Some(0), Some(1), Some(2), None, None], "{voxel}");
        }
    }

    #[test]
    fn a_column_is_the_zeppelin_about_its_fibre() {
        let protocol = shells(&[1000.0, 2500.0], 30, Demean::None);
        let compartments = compartments(&[1]);
        let (mut found, mut expected) = (vec![0.0; protocol.rows()], vec![0.0; protocol.rows()]);
        let column = compartments.column_of(2, 0).unwrap();
        compartments.fill(column, &protocol, &mut found);
        let axial_mm2_per_s = Response::default().axial_mm2_per_s;
        let response = Response { axial_mm2_per_s, radial_mm2_per_s: 0.4e-3 };
        protocol.column(&response, [0.0, 0.6, 0.8], &mut expected);
        // Half a step of the grid is a quarter of a degree, 0.0044: of an exponent of 2.5 · 0.6 at most.
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found - expected).abs() < 2.5 * 0.6 * 0.0062, "{found} {expected}");
        }
        compartments.fill(0, &protocol, &mut found);
        protocol.isotropic_column(3e-3, &mut expected);
        assert_eq!(found, expected);
    }
}
