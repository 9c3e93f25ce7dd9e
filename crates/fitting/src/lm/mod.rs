//! Levenberg-Marquardt for many small independent problems; [`rules`] states the algorithm.
//!
//! A [`Model`] has its signal written once, over a [`Number`]. [`fit`] takes [`Problems`] that
//! share a model and fits them in `f32`, one per SIMD lane, or in `f64`, one after the other; both
//! follow the same [`rules`]. Results are rows, see [`Rows`]. [`robust::refit`] takes outliers
//! their pull, [`keep_determined`] keeps what can be known of a fit that ended singular, whoever
//! fits.
//!
//! ```
//! use fimbria_compute::SimdLevel;
//! use fimbria_fitting::lm::*;
//!
//! /// S0 exp(-b D)
//! struct Decay;
//! impl Model<2> for Decay {
//!     fn n_covariates(&self) -> usize {
//!         1
//!     }
//!     #[inline(always)]
//!     fn signal<N: Number>(&self, p: &[N; 2], b: &[N::Constant], _: &[N::Constant]) -> N {
//!         p[0] * (-p[1] * b[0]).exp()
//!     }
//! }
//!
//! let parameters = [Parameter::new("S0", 1.0, 0.0, 10.0), Parameter::new("D", 1.0, 0.0, 5.0)];
//! let b = [0.0, 0.5, 1.0, 2.0];
//! let samples: Vec<f32> = b.iter().map(|b: &f32| 3.0 * (-0.7 * b).exp()).collect();
//! let problems = Problems {
//!     n: 1,
//!     stride: 1,
//!     samples: &samples,
//!     covariates: &b,
//!     constants: &[],
//!     weights: Weights::Equal,
//!     starts: Starts::Shared,
//! };
//! let options = LmOptions::default();
//! let mut results = vec![0.0; Rows::new(2, &options).count()];
//! let on = Arithmetic::Single(SimdLevel::best());
//! fit(&Decay, &parameters, &problems, &options, on, &mut results)?;
//! assert!((results[1] - 0.7).abs() < 1e-6);
//! # Ok::<(), LmError>(())
//! ```

mod determined;
pub mod device;
mod dual;
mod expression;
mod fit;
mod formulas;
mod lanes;
mod likelihood;
mod model;
mod number;
pub mod oracle;
mod problems;
pub mod robust;
pub mod rules;
mod trust;

pub use determined::keep_determined;
pub use dual::Dual;
pub use expression::{Expression, ExpressionError, MOST_PARAMETERS};
pub use fit::{Arithmetic, fit};
pub use formulas::SignalFormulas;
pub use likelihood::Likelihood;
pub use model::{Model, Parameter, derivative_error, with_prepared};
pub use number::Number;
pub use problems::{LmError, LmOptions, LmStatus, Problems, Rows, Sigma, Starts, Weights};
pub use robust::Robust;
