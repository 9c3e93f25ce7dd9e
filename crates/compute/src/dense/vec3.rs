//! Vectors of three components.
//!
//! Each is inlined: what calls them in other crates does so 10^9 times, also where it is built for tests.

/// Three components along x, y and z.
pub type Vec3 = [f64; 3];

/// a + b.
#[inline]
pub fn add(a: Vec3, b: Vec3) -> Vec3 {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// a - b.
#[inline]
pub fn sub(a: Vec3, b: Vec3) -> Vec3 {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// a times a number.
#[inline]
pub fn scale(a: Vec3, by: f64) -> Vec3 {
    a.map(|c| c * by)
}

/// a · b.
#[inline]
pub fn dot(a: Vec3, b: Vec3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// a × b.
#[inline]
pub fn cross(a: Vec3, b: Vec3) -> Vec3 {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// The Euclidean length.
#[inline]
pub fn norm(a: Vec3) -> f64 {
    dot(a, a).sqrt()
}

/// The direction of a vector, `None` of one that has no finite length above 0.
#[inline]
pub fn unit(a: Vec3) -> Option<Vec3> {
    let length = norm(a);
    (length.is_finite() && length > 0.0).then(|| a.map(|c| c / length))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn axes_follow_each_other_by_the_right_hand() {
        let [x, y, z] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        assert_eq!((cross(x, y), cross(y, z), cross(z, x)), (z, x, y));
    }

    #[test]
    fn what_has_no_length_has_no_direction() {
        assert_eq!(unit([0.0, 3.0, -4.0]), Some([0.0, 0.6, -0.8]));
        for v in [[0.0; 3], [f64::NAN, 0.0, 1.0], [f64::INFINITY, 0.0, 0.0]] {
            assert_eq!(unit(v), None);
        }
    }

    proptest! {
        #[test]
        fn a_cross_product_is_orthogonal_to_both_and_as_long_as_their_area(
            a in prop::array::uniform3(-10.0..10.0_f64),
            b in prop::array::uniform3(-10.0..10.0_f64),
        ) {
            let c = cross(a, b);
            // Roundings of products up to 300, and of their squares.
            prop_assert!(dot(a, c).abs() < 1e-11 && dot(b, c).abs() < 1e-11);
            let area = dot(a, a) * dot(b, b) - dot(a, b).powi(2);
            prop_assert!((dot(c, c) - area).abs() < 1e-10);
            prop_assert_eq!(sub(add(a, b), b).map(f64::round), a.map(f64::round));
            prop_assert!((norm(scale(a, -2.0)) - 2.0 * norm(a)).abs() < 1e-14 * (1.0 + norm(a)));
        }
    }
}
