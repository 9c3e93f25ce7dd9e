//! The magnitude of a gradient-echo scan.

use fimbria_image::Image;

/// Over all volumes, of what is a number above 0.
pub(super) fn root_mean_square(image: &Image) -> Vec<f32> {
    let mut squares = vec![0.0_f32; image.grid.len()];
    for volume in 0..image.n_volumes {
        let strength = |m: f32| if m.is_finite() { m.max(0.0) } else { 0.0 };
        let pairs = squares.iter_mut().zip(image.volume(volume));
        pairs.for_each(|(square, m)| *square += strength(*m).powi(2));
    }
    let n = image.n_volumes.max(1) as f32;
    squares.into_iter().map(|square| (square / n).sqrt()).collect()
}
