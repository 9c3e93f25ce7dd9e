use fimbria_compute::Workers;
use fimbria_image::Grid;

use crate::QsmError;
use crate::fourier::Periodic;

/// The unwrapped phase by its Laplacian, which wraps do not change:
/// ∇²φ = cos φ ∇² sin φ - sin φ ∇² cos φ (Schofield and Zhu, Opt Lett 28, 2003).
///
/// Smooth and without paths, but only up to what the padded volume's edge makes of it: take it
/// where region growing fails, and remove the background after it.
///
/// # Errors
/// Where the volume cannot be transformed.
pub fn unwrap_laplacian(
    grid: &Grid,
    phase: &[f32],
    mask: &[u32],
    workers: &Workers,
) -> Result<Vec<f32>, QsmError> {
    let space = Periodic::new(grid.dims, grid.ras_from_vox.spacing(), 2, workers)?;
    let mut inside = vec![0.0; phase.len()];
    mask.iter().for_each(|&v| inside[v as usize] = phase[v as usize]);
    let padded = space.pad(&inside);
    let laplacian = space.laplacian();
    let of = |values: Vec<f32>| {
        let mut spectrum = space.forward(&values);
        spectrum.iter_mut().zip(&laplacian).for_each(|(x, l)| *x *= *l);
        space.back(spectrum)
    };
    let sines = of(padded.iter().map(|p| p.sin()).collect());
    let cosines = of(padded.iter().map(|p| p.cos()).collect());
    let source: Vec<f32> = padded
        .iter()
        .zip(sines.iter().zip(&cosines))
        .map(|(phase, (sine, cosine))| phase.cos() * sine - phase.sin() * cosine)
        .collect();
    let mut spectrum = space.forward(&source);
    let inverse = |l: f32| if l == 0.0 { 0.0 } else { 1.0 / l };
    spectrum.iter_mut().zip(&laplacian).for_each(|(x, l)| *x *= inverse(*l));
    let unwrapped = space.crop(&space.back(spectrum));
    let mut result = vec![0.0; phase.len()];
    mask.iter().for_each(|&v| result[v as usize] = unwrapped[v as usize]);
    Ok(result)
}
