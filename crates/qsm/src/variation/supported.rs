//! Which edges of a guide a map of the field itself supports.
//!
//! An edge of diffusion alone would be painted into a guided map: it costs less there than to be missing. So of
//! an edge of the guide, g = ∇(Σ c Φ), every part from 0 to all of it costs nothing,
//!
//! λ Σ min |∇χ - s t g|, 0 ≤ s ≤ 1,
//!
//! and t is 0 where the map of total variation alone, ∇τ, goes another way: where the cosine of both,
//! Σ ∇τ·g / (Σ |∇τ|² Σ |g|²)^½ with sums over the place's surroundings, is below [`COSINE`].

use fimbria_compute::fft::Complex32;

use crate::fourier::KSpace;

/// The surroundings: a Gaussian with this full width at half maximum, in voxels, which lengths of a lattice are in: noise
/// and streaks come by the voxel. No width in mm is better in voxels of 1 to 4 mm (docs/susceptibility.md).
const WIDTH: f64 = 7.0;
/// Edges that agree less count nothing, and all that agree by a tenth more.
const COSINE: f32 = 0.25;
const RISE: f32 = 10.0;

/// The differences of the guide, `rises`, times t; `own` are those of the map.
pub(super) fn supported(
    space: &KSpace<'_>,
    mut rises: Vec<[f32; 3]>,
    own: &[[f32; 3]],
) -> Vec<[f32; 3]> {
    let dot = |(a, b): (&[f32; 3], &[f32; 3])| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let sigma = WIDTH / (8.0 * std::f64::consts::LN_2).sqrt();
    let width = 2.0 * (std::f64::consts::PI * sigma).powi(2);
    let gaussian = space.over_k(|k| (-width * k.iter().map(|k| k * k).sum::<f64>()).exp());
    let around = |a: &[[f32; 3]], b: &[[f32; 3]]| {
        let products: Vec<f32> = a.iter().zip(b).map(dot).collect();
        let mut spectrum = space.forward(&products);
        space.each(&mut spectrum, |k, x: &mut Complex32| *x *= gaussian[k]);
        space.back(spectrum)
    };
    let (along, of_guide, of_map) = (around(&rises, own), around(&rises, &rises), around(own, own));
    for (i, rise) in rises.iter_mut().enumerate() {
        // Rounding of the transforms may leave sums of squares below 0.
        let lengths = (of_guide[i] * of_map[i]).max(0.0).sqrt();
        let cosine = if lengths > 0.0 { along[i] / lengths } else { 0.0 };
        let part = ((cosine - COSINE) * RISE).clamp(0.0, 1.0);
        *rise = rise.map(|r| part * r);
    }
    rises
}

#[cfg(test)]
mod tests {
    use fimbria_compute::Workers;

    use super::*;
    use crate::Geometry;
    use crate::variation::Ring;

    /// The definition, by sums over all pairs of places.
    #[test]
    fn edges_stay_where_the_cosine_in_their_surroundings_is_high() {
        let workers = Workers::new(1).unwrap();
        let geometry = Geometry {
            dims: [8, 8, 12],
            spacing: [1.4, 1.5, 1.6],
            b0: [0.0, 0.0, 1.0],
            reversed: [false; 3],
        };
        let space = KSpace::new(&geometry, &workers).unwrap();
        let (ring, shape, n) = (Ring::new(&space), space.shape(), space.elements());
        let numbers = |seed: usize| (0..n).map(move |i| ((i * 37 + seed * 11) % 101) as f32 / 50.0);
        let guide: Vec<f32> = numbers(1).collect();
        // Along the guide's edges in one half, against them in the other. Voxels are small beside the Gaussian,
        // which both sample.
        let own = guide
            .iter()
            .zip(numbers(5))
            .enumerate()
            .map(|(i, (g, other))| 0.05 * other + if 2 * i < n { 0.3 * g } else { -0.3 * g });
        let own: Vec<f32> = own.collect();
        let [guide, own] = [guide, own].map(|map| ring.differences(&map, &workers));
        let at = |i: usize| [i % shape[0], i / shape[0] % shape[1], i / (shape[0] * shape[1])];
        let sigma = WIDTH / 2.3548;
        let weight = |i: usize, j: usize| -> f64 {
            let along = |a: usize| -> f64 {
                let apart = at(i)[a] as f64 - at(j)[a] as f64;
                let image = |k: i32| (apart + f64::from(k) * shape[a] as f64) * geometry.spacing[a];
                (-3..=3).map(|k| (-0.5 * (image(k) / sigma).powi(2)).exp()).sum()
            };
            along(0) * along(1) * along(2)
        };
        let dot = |a: [f32; 3], b: [f32; 3]| {
            (0..3).map(|k| f64::from(a[k]) * f64::from(b[k])).sum::<f64>()
        };
        let part = |i: usize| {
            let around = |a: &[[f32; 3]], b: &[[f32; 3]]| -> f64 {
                (0..n).map(|j| weight(i, j) * dot(a[j], b[j])).sum()
            };
            let lengths = (around(&guide, &guide) * around(&own, &own)).sqrt();
            ((around(&guide, &own) / lengths - f64::from(COSINE)) * f64::from(RISE)).clamp(0.0, 1.0)
        };
        let kept = supported(&space, guide.clone(), &own);
        let mut parts = Vec::new();
        for i in (0..n).step_by(97) {
            let expected = part(i);
            for a in 0..3 {
                let apart = f64::from(kept[i][a]) - expected * f64::from(guide[i][a]);
                // Ten times the rounding of a transform in f32.
                assert!(apart.abs() < 1e-4, "{i}: {apart}");
            }
            parts.push(expected);
        }
        assert!(parts.contains(&0.0) && parts.contains(&1.0), "{parts:?}");
    }
}
