//! Homogeneous forms D(g) = Σ μ D_{i1…im} g_{i1}…g_{im} over the unit sphere.

use fimbria_tensors::layout::Layout;

/// The monomials of an even order: D(g) = Σₖ μₖ Dₖ xⁱ yʲ zˡ over the unique entries Dₖ, in
/// lexicographic order.
#[derive(Clone, Debug)]
pub(super) struct Form {
    order: usize,
    powers: Vec<[u8; 3]>,
    multiplicities: Vec<f64>,
}

impl Form {
    /// The forms of `order`, even and at most 8.
    pub(super) fn new(order: usize) -> Self {
        let layout = Layout::new(order, 3).unwrap_or_else(|error| unreachable!("{error}"));
        let powers = layout.exponents_3d().into_iter().map(|powers| powers.map(|p| p as u8));
        Self { order, powers: powers.collect(), multiplicities: layout.multiplicities() }
    }

    pub(super) fn order(&self) -> usize {
        self.order
    }

    /// Number of unique entries.
    pub(super) fn len(&self) -> usize {
        self.powers.len()
    }

    /// Powers of x, y, z, and multiplicity, of each entry.
    pub(super) fn terms(&self) -> impl Iterator<Item = ([u8; 3], f64)> {
        self.powers.iter().copied().zip(self.multiplicities.iter().copied())
    }

    /// What each entry contributes to D(g): Σ of these times the entries is the diffusivity.
    pub(super) fn row(&self, [x, y, z]: [f64; 3]) -> Vec<f64> {
        let power = |g: f64, p: u8| g.powi(i32::from(p));
        self.terms().map(|([i, j, k], m)| m * power(x, i) * power(y, j) * power(z, k)).collect()
    }

    /// What each entry contributes to the mean of D over the sphere.
    pub(super) fn mean_row(&self) -> Vec<f64> {
        self.terms().map(|(powers, m)| m * sphere_mean(powers.map(u32::from))).collect()
    }

    /// The entries of the form that is 1 on the sphere, (x² + y² + z²)^(m/2).
    pub(super) fn unit(&self) -> Vec<f64> {
        let factorial = |n: u8| (1..=n).map(f64::from).product::<f64>();
        self.terms()
            .map(|(powers, multiplicity)| {
                if powers.iter().any(|p| p % 2 == 1) {
                    return 0.0;
                }
                let of_squares: f64 = powers.iter().map(|p| factorial(p / 2)).product();
                factorial((self.order / 2) as u8) / of_squares / multiplicity
            })
            .collect()
    }

    /// The matrix Q (row-major) with DᵀQD = the mean of D² over the sphere.
    pub(super) fn square_mean(&self) -> Vec<f64> {
        let pairs = self.terms().flat_map(|(a, m)| {
            self.terms().map(move |(b, n)| {
                let sum = std::array::from_fn(|k| u32::from(a[k]) + u32::from(b[k]));
                m * n * sphere_mean(sum)
            })
        });
        pairs.collect()
    }
}

/// The mean of xⁱ yʲ zᵏ over the unit sphere: (i-1)!! (j-1)!! (k-1)!! / (i+j+k+1)!! where all are
/// even, else 0.
fn sphere_mean(powers: [u32; 3]) -> f64 {
    if powers.iter().any(|p| p % 2 == 1) {
        return 0.0;
    }
    // n!! of an odd n, the odd numbers up to it.
    let double_factorial = |n: u32| (1..=n).step_by(2).map(f64::from).product::<f64>();
    let above: f64 = powers.iter().map(|p| double_factorial(p.saturating_sub(1))).product();
    above / double_factorial(powers.iter().sum::<u32>() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fimbria_compute::dense::vector::dot;
    use fimbria_tensors::starts::half_sphere;

    #[test]
    fn the_unit_form_is_one_in_every_direction() {
        for order in [2, 4, 6, 8] {
            let form = Form::new(order);
            for g in half_sphere(20) {
                assert!((dot(&form.row(g), &form.unit()) - 1.0).abs() < 1e-13);
            }
            assert!((dot(&form.mean_row(), &form.unit()) - 1.0).abs() < 1e-13);
        }
    }

    #[test]
    fn means_are_those_of_many_directions() {
        let form = Form::new(4);
        let d: Vec<f64> = (0..form.len()).map(|k| ((k * k) as f64).sin()).collect();
        let n = 20_000;
        let values = || half_sphere(n).into_iter().map(|g| dot(&form.row(g), &d));
        let (mean, square) = (values().sum::<f64>(), values().map(|v| v * v).sum::<f64>());
        // The spiral integrates to about 1/n.
        assert!((mean / n as f64 - dot(&form.mean_row(), &d)).abs() < 1e-4);
        let rows = form.square_mean();
        let exact: f64 = rows.chunks(form.len()).zip(&d).map(|(q, d_i)| d_i * dot(q, &d)).sum();
        assert!((square / n as f64 - exact).abs() < 1e-3, "{square} {exact}");
    }
}
