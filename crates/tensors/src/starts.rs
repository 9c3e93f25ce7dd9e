//! Where searches for eigenpairs begin.

use fimbria_compute::philox::{Philox, normals, uniform};

use fimbria_compute::dense::vector::normalise;

/// A random start as in the paper: each component uniform in (-1, 1), then scaled to length 1.
///
/// The numbers are keyed by what they are for: component c is word c mod 4 of Philox stream c / 4
/// of `seed`, at item `tensor`, step `start`; so that lanes and devices draw the same.
pub fn in_cube(seed: u64, tensor: u64, start: u32, x: &mut [f64]) {
    for (stream, components) in x.chunks_mut(4).enumerate() {
        let words = Philox::new(seed).stream(stream as u32).at(tensor, start);
        for (component, word) in components.iter_mut().zip(words) {
            // An odd multiple of 2^-23, hence never 0.
            *component = 2.0 * f64::from(uniform::<f32>(word)) - 1.0;
        }
    }
    normalise(x);
}

/// `count` starts spread evenly over half the unit sphere of n dimensions (over x with a last
/// component >= 0), n numbers each.
///
/// In 2 dimensions equal angles; in 3 a spiral whose turns enclose equal areas (as in Swinbank and
/// Purser 2006); beyond that the directions of normal deviates from a fixed random sequence, which are
/// even on average only. The same for every tensor.
///
/// # Panics
/// In 0 dimensions.
pub fn on_half_sphere(count: usize, dimension: usize) -> Vec<f64> {
    let mut starts = vec![0.0; count * dimension];
    for (i, x) in starts.chunks_exact_mut(dimension).enumerate() {
        let part = (i as f64 + 0.5) / count as f64;
        match x {
            [x] => *x = 1.0,
            [x, y] => (*y, *x) = (std::f64::consts::PI * part).sin_cos(),
            [x, y, z] => [*x, *y, *z] = on_spiral(i, part),
            x => {
                for (block, components) in x.chunks_mut(4).enumerate() {
                    let drawn = normals::<f32>(Philox::new(0).at(i as u64, block as u32));
                    for (component, normal) in components.iter_mut().zip(drawn) {
                        *component = f64::from(normal);
                    }
                }
                normalise(x);
                if x[dimension - 1] < 0.0 {
                    x.iter_mut().for_each(|x| *x = -*x);
                }
            }
        }
    }
    starts
}

/// The starts of [`on_half_sphere`] in 3 dimensions.
pub fn half_sphere(count: usize) -> Vec<[f64; 3]> {
    (0..count).map(|i| on_spiral(i, (i as f64 + 0.5) / count as f64)).collect()
}

/// The point at height `z` that is turned `i` times by the golden angle.
fn on_spiral(i: usize, z: f64) -> [f64; 3] {
    let golden_angle = std::f64::consts::PI * (3.0 - 5.0_f64.sqrt());
    let (sin, cos) = (golden_angle * i as f64).sin_cos();
    let radius = (1.0 - z * z).sqrt();
    [radius * cos, radius * sin, z]
}

#[cfg(test)]
mod tests {
    use super::*;
    use fimbria_compute::dense::vector::{dot, norm};

    #[test]
    fn starts_have_length_1_and_lie_on_the_half_sphere() {
        for n in 1..8 {
            let starts = on_half_sphere(50, n);
            for x in starts.chunks_exact(n) {
                assert!((norm(x) - 1.0).abs() < 1e-14 && x[n - 1] >= 0.0, "{x:?}");
            }
        }
    }

    #[test]
    fn evenly_spread_starts_leave_no_hole() {
        let starts = on_half_sphere(128, 3);
        for probe in on_half_sphere(1000, 3).chunks_exact(3) {
            let nearest = starts.chunks_exact(3).map(|x| dot(x, probe).abs()).fold(0.0, f64::max);
            // 128 equal caps of half the sphere have a radius of 7.2 degrees; none is missed by
            // twice that.
            assert!(nearest > 14.4_f64.to_radians().cos(), "{probe:?}: {nearest}");
        }
    }

    #[test]
    fn random_starts_depend_on_seed_tensor_and_start_only() {
        let draw = |seed, tensor, start| {
            let mut x = [0.0; 6];
            in_cube(seed, tensor, start, &mut x);
            x
        };
        assert_eq!(draw(1, 2, 3), draw(1, 2, 3));
        for other in [draw(2, 2, 3), draw(1, 3, 3), draw(1, 2, 4)] {
            assert_ne!(draw(1, 2, 3), other);
        }
        assert!((norm(&draw(1, 2, 3)) - 1.0).abs() < 1e-15);
    }
}
