//! Vectors of any length.

/// The scalar product, summed from the first to the last.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The Euclidean length.
pub fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// Scales `x` to length 1; false, and `x` as it was, where that is impossible.
pub fn normalise(x: &mut [f64]) -> bool {
    let length = norm(x);
    let possible = length > 0.0 && length.is_finite();
    if possible {
        x.iter_mut().for_each(|x| *x /= length);
    }
    possible
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_a_length_is_scaled_to_one() {
        let mut x = [2.0, -1.0, 2.0, 4.0];
        assert!(normalise(&mut x));
        assert_eq!(x, [0.4, -0.2, 0.4, 0.8]);
        for hopeless in [[0.0; 2], [f64::NAN, 1.0], [f64::INFINITY, 1.0]] {
            let mut x = hopeless;
            assert!(!normalise(&mut x));
            assert_eq!(x.map(f64::to_bits), hopeless.map(f64::to_bits));
        }
    }
}
