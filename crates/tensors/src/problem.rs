//! The eigenproblem A xᵐ⁻¹ = λ x, or A xᵐ⁻¹ = λ B xᵐ⁻¹, at one point.

use crate::layout::Layout;
use crate::tables::Chain;
use crate::tangent::tangent_basis;
use fimbria_compute::dense::vector::dot;

/// A symmetric tensor of order 2 or more with the tables to evaluate it.
#[derive(Clone, Copy, Debug)]
pub struct Form<'a> {
    chain: &'a Chain,
    entries: &'a [f64],
}

/// A form's value and derivatives at x, without the factors m and m (m - 1).
#[derive(Clone, Debug, Default)]
pub struct Derivatives {
    /// A xᵐ.
    pub value: f64,
    /// A xᵐ⁻¹: n components.
    pub gradient: Vec<f64>,
    /// A xᵐ⁻²: n rows of n components.
    pub hessian: Vec<f64>,
    unique: Vec<f64>,
    spare: Vec<f64>,
}

impl<'a> Form<'a> {
    /// The tensor with these unique entries.
    ///
    /// # Panics
    /// Where their number is not the layout's, or the order is below 2.
    pub fn new(chain: &'a Chain, entries: &'a [f64]) -> Self {
        assert_eq!(entries.len(), chain.layout().len(), "unique entries");
        assert!(chain.layout().order() >= 2, "an eigenproblem has order 2 or more");
        Self { chain, entries }
    }

    /// Order, dimension and the places of the entries.
    pub fn layout(&self) -> &'a Layout {
        self.chain.layout()
    }

    /// m.
    pub fn order(&self) -> usize {
        self.chain.layout().order()
    }

    /// n.
    pub fn dimension(&self) -> usize {
        self.chain.layout().dimension()
    }

    /// The unique entries.
    pub fn entries(&self) -> &'a [f64] {
        self.entries
    }

    /// Value and derivatives at `x`, all from A xᵐ⁻².
    pub fn evaluate(&self, x: &[f64], at: &mut Derivatives) {
        let n = x.len();
        let Derivatives { value, gradient, hessian, unique, spare } = at;
        self.chain.contract_into(self.entries, x, self.order() - 2, unique, spare);
        hessian.resize(n * n, 0.0);
        let mut upper = unique.iter();
        for i in 0..n {
            for (j, &entry) in (i..n).zip(&mut upper) {
                hessian[i * n + j] = entry;
                hessian[j * n + i] = entry;
            }
        }
        gradient.clear();
        gradient.extend(hessian.chunks_exact(n).map(|row| dot(row, x)));
        *value = dot(gradient, x);
    }
}

/// The pairs of A, or those of A with a positive definite B of the same layout.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// A.
    pub a: Form<'a>,
    /// B; none stands for the tensor E with E xᵐ⁻¹ = x on the unit sphere.
    pub b: Option<Form<'a>>,
}

/// How far a unit vector is from being an eigenvector, and which way it would have to go.
#[derive(Clone, Debug, Default)]
pub struct Local {
    /// A xᵐ / B xᵐ.
    pub lambda: f64,
    /// A xᵐ⁻¹ - λ B xᵐ⁻¹; orthogonal to x.
    pub residual: Vec<f64>,
    /// B xᵐ⁻¹, or x.
    pub metric: Vec<f64>,
    /// B xᵐ, or 1.
    pub weight: f64,
    /// (m - 1)(A xᵐ⁻² - λ B xᵐ⁻²), or (m - 1) A xᵐ⁻² - λ I: on the tangent space the derivative of
    /// the residual.
    pub jacobian: Vec<f64>,
    /// Of A.
    pub of_a: Derivatives,
    /// Of B, where there is one.
    pub of_b: Derivatives,
}

impl Problem<'_> {
    /// n.
    pub fn dimension(&self) -> usize {
        self.a.dimension()
    }

    /// Everything there is to know at the unit vector `x`.
    pub fn evaluate(&self, x: &[f64], at: &mut Local) {
        let n = x.len();
        let m1 = (self.a.order() - 1) as f64;
        let Local { lambda, residual, metric, weight, jacobian, of_a, of_b } = at;
        self.a.evaluate(x, of_a);
        metric.clear();
        jacobian.clear();
        match self.b {
            None => {
                (*lambda, *weight) = (of_a.value, 1.0);
                metric.extend_from_slice(x);
                jacobian.extend(of_a.hessian.iter().map(|a| m1 * a));
                (0..n).for_each(|i| jacobian[i * n + i] -= *lambda);
            }
            Some(b) => {
                b.evaluate(x, of_b);
                (*lambda, *weight) = (of_a.value / of_b.value, of_b.value);
                metric.extend_from_slice(&of_b.gradient);
                let pairs = of_a.hessian.iter().zip(&of_b.hessian);
                jacobian.extend(pairs.map(|(a, b)| m1 * (a - *lambda * b)));
            }
        }
        residual.clear();
        residual.extend(of_a.gradient.iter().zip(&*metric).map(|(a, b)| a - *lambda * b));
    }
}

impl Local {
    /// C = Uᵀ J U, n - 1 rows: the second derivative of λ along the sphere up to a positive factor
    /// (Kolda and Mayo 2011, section 4), with U an orthonormal basis of the vectors orthogonal to
    /// x. Negative definite: a strict local maximum of λ; positive definite: a minimum.
    pub fn projected_hessian(&self, x: &[f64]) -> Vec<f64> {
        let n = x.len();
        let basis = tangent_basis(x);
        let image = |u: &[f64]| -> Vec<f64> {
            self.jacobian.chunks_exact(n).map(|row| dot(row, u)).collect()
        };
        let images: Vec<_> = basis.chunks_exact(n).map(image).collect();
        let rows = basis.chunks_exact(n);
        rows.flat_map(|u| images.iter().map(move |image| dot(u, image))).collect()
    }
}
