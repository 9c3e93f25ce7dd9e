//! Forms with known maxima.

// Not every test file uses everything.
#![allow(dead_code)]

use fimbria_compute::philox::{Philox, normals};
use fimbria_image::{Affine, Grid, Image};
use fimbria_tensors::layout::Layout;

/// `n` random directions.
pub(crate) fn normal_directions(seed: u64, n: usize) -> Vec<[f64; 3]> {
    let random = Philox::new(seed);
    let direction = |item: usize| {
        let [x, y, z, _] = normals::<f32>(random.at(item as u64, 0));
        unit([x, y, z].map(f64::from))
    };
    (0..n).map(direction).collect()
}

pub(crate) fn unit(x: [f64; 3]) -> [f64; 3] {
    let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
    x.map(|x| x / norm)
}

fn cross(a: &[f64; 3], b: &[f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Three orthogonal axes, the first along `a`.
pub(crate) fn frame(a: [f64; 3], b: [f64; 3]) -> [[f64; 3]; 3] {
    let w = unit(cross(&a, &b));
    [a, cross(&w, &a), w]
}

/// Radians between two axes of any length.
pub(crate) fn angle(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    let dot: f64 = (0..3).map(|i| a[i] * b[i]).sum();
    let c = cross(a, b);
    c.iter().map(|x| x * x).sum::<f64>().sqrt().atan2(dot.abs())
}

/// The unique entries of Σ w (u·g)^order.
pub(crate) fn powers(order: usize, fibres: &[(f64, [f64; 3])]) -> Vec<f64> {
    let layout = Layout::new(order, 3).unwrap();
    let mut entries = Vec::with_capacity(layout.len());
    for class in layout.index_classes() {
        let product = |u: &[f64; 3]| class.iter().map(|&i| u[i]).product::<f64>();
        entries.push(fibres.iter().map(|(w, u)| w * product(u)).sum());
    }
    entries
}

/// One voxel for each form.
pub(crate) fn image_of(forms: &[Vec<f64>]) -> Image {
    let grid = Grid { dims: [forms.len(), 1, 1], ras_from_vox: Affine::IDENTITY };
    let mut image = Image::zeros(grid, forms[0].len());
    for (voxel, form) in forms.iter().enumerate() {
        for (entry, &value) in form.iter().enumerate() {
            image.volume_mut(entry)[voxel] = value as f32;
        }
    }
    image
}
