//! Surfaces in the seed space of a tracking.

use std::path::{Path, PathBuf};

use fimbria_image::gifti::{GiftiError, Surface};
use fimbria_tracking::{Mesh, MeshTooLarge, Region, Space};

use crate::options::Choice;

/// What coordinates of surfaces count in, by FSL's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MeshSpace {
    /// Scanner millimetres of the reference of the seed space.
    #[default]
    Caret,
    /// FreeSurfer's millimetres around the centre of the volume.
    Freesurfer,
    /// Millimetres from the first radiological voxel.
    First,
    /// Radiological voxels.
    Vox,
}

impl Choice for MeshSpace {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Caret, "caret", "scanner millimetres, by the reference's affine"),
        (Self::Freesurfer, "freesurfer", "FreeSurfer's millimetres around the volume's centre"),
        (Self::First, "first", "voxels times their size, as FIRST writes them"),
        (Self::Vox, "vox", "voxels"),
    ];
}

impl MeshSpace {
    /// Radiological voxel coordinates of the seed space of a vertex.
    pub(crate) fn voxel(self, space: &Space, vertex: [f32; 3]) -> Option<[f32; 3]> {
        let [x, y, z] = vertex.map(f64::from);
        let grid = space.grid();
        let mm = grid.ras_from_vox.spacing();
        // Halves of dimensions are whole numbers to FSL.
        let [cx, cy, cz] = grid.dims.map(|n| (n / 2) as f64);
        let voxel = match self {
            Self::Caret => space.ras_from_radiological().inverse()?.apply([x, y, z]),
            Self::Freesurfer => [cx - x / mm[0], cz - z / mm[1], cy + y / mm[2]],
            Self::First => [x / mm[0], y / mm[1], z / mm[2]],
            Self::Vox => [x, y, z],
        };
        Some(voxel.map(|x| x as f32))
    }
}

/// Why streamlines cannot be cut with a surface.
#[derive(Debug, thiserror::Error)]
pub enum SurfaceError {
    /// The file.
    #[error(transparent)]
    Gifti(#[from] GiftiError),
    /// Nothing to cross.
    #[error("{} has no triangle with a vertex above zero: nothing can cross it", .0.display())]
    NoTriangles(PathBuf),
    /// Too much of it.
    #[error("{}: {source}", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// What is too much.
        source: MeshTooLarge,
    },
}

/// True for names of surfaces.
pub(crate) fn is_surface(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gii")
}

/// The triangles of a surface as a region: those with a vertex whose value is not zero, all where
/// there are no values. Of a triangle that is crossed all such vertices are met, or the `closest`.
pub(crate) fn crossed_region(
    path: &Path,
    surface: &Surface,
    mesh_space: MeshSpace,
    space: &Space,
    closest: bool,
) -> Result<Region, SurfaceError> {
    // A grid whose voxels cannot be told apart has no place for it.
    let voxel = |vertex: &[f32; 3]| mesh_space.voxel(space, *vertex).unwrap_or([f32::NAN; 3]);
    let is_active = (0..surface.vertices.len() as u32).map(|v| surface.counts(v)).collect();
    let vertices = surface.vertices.iter().map(voxel).collect();
    let mesh = Mesh::new(space.grid(), vertices, &surface.triangles, is_active)
        .map_err(|source| SurfaceError::TooLarge { path: path.to_owned(), source })?;
    if mesh.n_triangles() == 0 {
        return Err(SurfaceError::NoTriangles(path.to_owned()));
    }
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    Ok(Region::of_surface(&name, mesh, closest))
}
