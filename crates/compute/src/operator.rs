//! What solvers are generic over: vector spaces and the operators between them.
//!
//! A solver is written once over these traits; whether vectors live in host memory or on a card,
//! and whether an operator is scalar, SIMD or a kernel, is the operator's business. No solver
//! tests for a device or for MPI.

/// Vectors of one length in one place (host memory or a device), and the arithmetic on them.
pub trait VectorSpace {
    /// A vector; a handle to device memory where the space is a device's.
    type Vector;
    /// What can go wrong: never for the host, a device error for a device.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Number of elements of a vector (of this process's part).
    fn len(&self) -> usize;

    /// True for the space of empty vectors.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A vector of zeros.
    ///
    /// # Errors
    /// Where memory cannot be had.
    fn zeros(&self) -> Result<Self::Vector, Self::Error>;

    /// A vector with the given elements.
    ///
    /// # Errors
    /// Where memory cannot be had or the copy fails.
    fn upload(&self, host: &[f32]) -> Result<Self::Vector, Self::Error>;

    /// The elements of `x`.
    ///
    /// # Errors
    /// Where the copy fails.
    fn download(&self, x: &Self::Vector, host: &mut [f32]) -> Result<(), Self::Error>;

    /// `y = x`.
    ///
    /// # Errors
    /// Where the device fails.
    fn copy(&self, x: &Self::Vector, y: &mut Self::Vector) -> Result<(), Self::Error>;

    /// `y = alpha x + y`.
    ///
    /// # Errors
    /// Where the device fails.
    fn axpy(&self, alpha: f32, x: &Self::Vector, y: &mut Self::Vector) -> Result<(), Self::Error>;

    /// `x = alpha x`.
    ///
    /// # Errors
    /// Where the device fails.
    fn scale(&self, alpha: f32, x: &mut Self::Vector) -> Result<(), Self::Error>;

    /// The inner product, summed in f64 over fixed blocks in a fixed order, so that it does not
    /// depend on the number of threads.
    ///
    /// # Errors
    /// Where the device fails.
    fn dot(&self, x: &Self::Vector, y: &Self::Vector) -> Result<f64, Self::Error>;

    /// `x = max(x, 0)`, element by element: the projection onto the non-negative orthant.
    ///
    /// # Errors
    /// Where the device fails.
    fn project_nonnegative(&self, x: &mut Self::Vector) -> Result<(), Self::Error>;
}

/// A map from one vector space to another, linear or not.
pub trait Operator {
    /// Where inputs live.
    type Domain: VectorSpace;
    /// Where outputs live.
    type Range: VectorSpace<Error = <Self::Domain as VectorSpace>::Error>;

    /// The space of inputs.
    fn domain(&self) -> &Self::Domain;

    /// The space of outputs.
    fn range(&self) -> &Self::Range;

    /// `y = A(x)`.
    ///
    /// # Errors
    /// Where the device fails.
    fn apply(
        &self,
        x: &<Self::Domain as VectorSpace>::Vector,
        y: &mut <Self::Range as VectorSpace>::Vector,
    ) -> Result<(), <Self::Domain as VectorSpace>::Error>;
}

/// Says in an `impl Operator` between which spaces the operator maps: those in its fields `domain` and
/// `range`.
#[macro_export]
macro_rules! between {
    ($domain:ty => $range:ty) => {
        type Domain = $domain;
        type Range = $range;

        fn domain(&self) -> &Self::Domain {
            &self.domain
        }

        fn range(&self) -> &Self::Range {
            &self.range
        }
    };
}

/// A linear operator with its adjoint.
pub trait LinearOperator: Operator {
    /// `x = A' y`.
    ///
    /// # Errors
    /// Where the device fails.
    fn adjoint(
        &self,
        y: &<Self::Range as VectorSpace>::Vector,
        x: &mut <Self::Domain as VectorSpace>::Vector,
    ) -> Result<(), <Self::Domain as VectorSpace>::Error>;

    /// `g = A' (A x - b)`, returning `‖A x - b‖²`. The default goes through a residual vector;
    /// an operator that can do both products in one pass over its data overrides it.
    ///
    /// # Errors
    /// Where the device fails.
    fn gradient(
        &self,
        x: &<Self::Domain as VectorSpace>::Vector,
        b: &<Self::Range as VectorSpace>::Vector,
        g: &mut <Self::Domain as VectorSpace>::Vector,
    ) -> Result<f64, <Self::Domain as VectorSpace>::Error> {
        let mut residual = self.range().zeros()?;
        self.apply(x, &mut residual)?;
        self.range().axpy(-1.0, b, &mut residual)?;
        self.adjoint(&residual, g)?;
        self.range().dot(&residual, &residual)
    }

    /// `g = A' A x`, returning `‖A x‖²`.
    ///
    /// # Errors
    /// Where the device fails.
    fn normal(
        &self,
        x: &<Self::Domain as VectorSpace>::Vector,
        g: &mut <Self::Domain as VectorSpace>::Vector,
    ) -> Result<f64, <Self::Domain as VectorSpace>::Error> {
        self.gradient(x, &self.range().zeros()?, g)
    }

    /// `‖A x‖²`.
    ///
    /// # Errors
    /// Where the device fails.
    fn squares(
        &self,
        x: &<Self::Domain as VectorSpace>::Vector,
    ) -> Result<f64, <Self::Domain as VectorSpace>::Error> {
        let mut y = self.range().zeros()?;
        self.apply(x, &mut y)?;
        self.range().dot(&y, &y)
    }
}
