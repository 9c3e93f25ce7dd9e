//! How long the edges of a voxel are, of which steps and starts are parts.

use fimbria_image::Grid;

/// The edges of a voxel, mm.
pub(super) struct Edges {
    pub(super) shortest: f32,
    pub(super) longest: f32,
}

impl Edges {
    pub(super) fn from_grid(grid: &Grid) -> Self {
        let edges = grid.ras_from_vox.spacing();
        Self {
            shortest: edges.into_iter().fold(f64::INFINITY, f64::min) as f32,
            longest: edges.into_iter().fold(0.0, f64::max) as f32,
        }
    }
}
