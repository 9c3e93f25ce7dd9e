//! Homogeneous polynomials in x, y, z with integer coefficients.
//!
//! Spherical harmonics are such polynomials up to a factor, so that their products and integrals
//! can be had without rounding. Up to degree 16 all coefficients and sums stay far inside `i128`.

/// The exponents of the monomials of a degree, x first: the lexicographic order of unique entries.
pub(super) fn exponents(degree: usize) -> impl Iterator<Item = [usize; 3]> {
    (0..=degree).rev().flat_map(move |i| {
        let rest = degree - i;
        (0..=rest).rev().map(move |j| [i, j, rest - j])
    })
}

/// The place of a monomial among those of its degree.
pub(super) fn place([_, j, k]: [usize; 3]) -> usize {
    (j + k) * (j + k + 1) / 2 + k
}

/// `degree! / (i! j! k!)`: how often a unique entry stands in the full tensor.
pub(super) fn multiplicity([i, j, k]: [usize; 3]) -> i128 {
    choose(i + j + k, i) * choose(j + k, j)
}

/// n over k.
pub(super) fn choose(n: usize, k: usize) -> i128 {
    (0..k).fold(1, |c, t| c * (n - t) as i128 / (t + 1) as i128)
}

/// 1·3·5 … (n-1) for even n, the moments of the normal distribution.
fn odd_factorial(n: usize) -> i128 {
    (1..n).step_by(2).map(|t| t as i128).product()
}

/// A polynomial by the coefficients of all monomials of its degree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Polynomial {
    pub(super) degree: usize,
    pub(super) coefficients: Vec<i128>,
}

impl Polynomial {
    pub(super) fn zero(degree: usize) -> Self {
        Self { degree, coefficients: vec![0; (degree + 1) * (degree + 2) / 2] }
    }

    /// `(x² + y² + z²)^power`.
    pub(super) fn radius_squared(power: usize) -> Self {
        let mut result = Self::zero(2 * power);
        for e in exponents(power) {
            result.coefficients[place(e.map(|t| 2 * t))] = multiplicity(e);
        }
        result
    }

    /// The real and the imaginary part of `(x + iy)^m`.
    pub(super) fn sectors(m: usize) -> [Self; 2] {
        let mut parts = [Self::zero(m), Self::zero(m)];
        for j in 0..=m {
            // i^j is 1, i, -1, -i in turn.
            let sign = if j % 4 < 2 { 1 } else { -1 };
            parts[j % 2].coefficients[place([m - j, j, 0])] = sign * choose(m, j);
        }
        parts
    }

    /// `self + factor z^power other`; degrees must agree.
    pub(super) fn add_scaled(&mut self, factor: i128, power: usize, other: &Self) {
        for (e, c) in exponents(other.degree).zip(&other.coefficients) {
            self.coefficients[place([e[0], e[1], e[2] + power])] += factor * c;
        }
    }

    pub(super) fn product(&self, other: &Self) -> Self {
        let mut result = Self::zero(self.degree + other.degree);
        for (a, ca) in exponents(self.degree).zip(&self.coefficients) {
            for (b, cb) in exponents(other.degree).zip(&other.coefficients) {
                result.coefficients[place(std::array::from_fn(|t| a[t] + b[t]))] += ca * cb;
            }
        }
        result
    }

    /// Divides by the greatest common divisor of the coefficients, and returns it.
    pub(super) fn reduce(&mut self) -> i128 {
        let divisor = self.coefficients.iter().fold(0, |d, &c| greatest_common_divisor(d, c));
        if divisor > 1 {
            self.coefficients.iter_mut().for_each(|c| *c /= divisor);
        }
        divisor.max(1)
    }

    /// The integral over the unit sphere of this polynomial times a monomial: `4π` times
    /// `Σ c (a-1)!! (b-1)!! (c-1)!! / (degree + 1)!!` over monomials with even exponents only.
    pub(super) fn integral_with(&self, monomial: [usize; 3]) -> f64 {
        let mut sum = 0;
        for (e, c) in exponents(self.degree).zip(&self.coefficients) {
            let e: [usize; 3] = std::array::from_fn(|t| e[t] + monomial[t]);
            if e.iter().all(|t| t % 2 == 0) {
                sum += c * e.map(odd_factorial).into_iter().product::<i128>();
            }
        }
        let degree = self.degree + monomial.iter().sum::<usize>();
        4.0 * std::f64::consts::PI * (sum as f64 / odd_factorial(degree + 2) as f64)
    }
}

fn greatest_common_divisor(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.abs(), b.abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
