//! The algorithm in words, and its constants: what the oracle, the lanes and the kernels all do.
//!
//! Minimise C(p) = ½ Σ wᵢ (fᵢ(p) - yᵢ)² over a box, for samples i, weights w, parameters p.
//! With r = f - y and J = ∂f/∂p: g = JᵀWr, H = JᵀWJ (the other likelihoods change C, r and J only;
//! see [`Likelihood`](super::Likelihood)).
//!
//! ```text
//! p = clamp(start), C = ∞, g = 0, H = 0, D = 0, λ = FIRST_DAMPING, ν = 2
//! E = ½ ROUNDING² Σ w y²                       what rounding of the samples can do to the cost
//! not finite: a sample, weight, constant or start; or Σ w y² = 0  → BadProblem
//! repeat:
//!   held_j   = fixed_j or H_jj <= no_influence or (p_j <= lower_j and g_j > 0)
//!                                              or (p_j >= upper_j and g_j < 0)
//!   solve (H + λ D) δ = -g by Cholesky; held parameters have the identity as their row and column
//!   and 0 on the right; `singular` where a pivot <= PIVOT (H_jj + λ D_jj) or is NaN
//!   p'       = clamp(p + δ), p where held;  δ = p' - p
//!   predicted = -Σ_j δ_j (g_j + ½ Σ_k H_jk δ_k)
//!   remaining = ½ gᵀH⁻¹g over what is not held, the same of an undamped step; ∞ where H is singular
//!   evaluate C', g', H' at p'
//!   usable   = not singular and C' + Σ_j H'_jj is finite
//!   first time (C = ∞): not usable → BadProblem; else take C', g', H', D = diag H'; go on
//!   R        = FLAT C + 2 √(C E) + E           rounding of the cost: ½ Σ w ((r + ε f)² - r²)
//!   flat     = predicted <= R                  too little for the rounded cost to judge
//!   accept   = usable and (C' < C or (flat and C' <= C + R))
//!   still    = Σ D_j δ_j² <= STEP² Σ D_j p_j²
//!   last     = DECREASE C + E
//!   converged = usable and predicted >= -E (the step taken if accepted)
//!               and (0 <= remaining <= last or λ <= LAST_DAMPING and (predicted <= last or still))
//!   accept:  p, C, g, H = primed;  D = max(D, diag H)
//!            ρ = 1 if predicted <= E, else the decrease over the predicted one:
//!                (C_old - C') / predicted, or if flat -½ Σ_j δ_j (g_j + g'_j) / predicted in [-1, 1]
//!            λ = max(LEAST_DAMPING, λ max(SHRINK, 1 - (2ρ - 1)³)), ν = 2
//!   reject:  λ = λ ν, ν = 2ν
//!   iterations += 1
//!   stop:    converged, or λ > MOST_DAMPING or iterations = max_iterations → NotConverged
//! converged: factor H without damping over the parameters that are neither fixed nor at a bound;
//!            H_jj <= no_influence or <= FADED D_j, or a pivot <= SINGULAR H_jj → Singular;
//!            else one at a bound → AtBound
//! ```
//!
//! `remaining` is the gradient measured in the metric of the problem, whatever the units of its
//! parameters. Unlike the decrease that a damped step predicts it cannot be small far from the
//! minimum, and unlike the damping it is small near every minimum: where residuals are large and the
//! model is strongly curved, undamped steps overshoot for ever, and damping never goes. Where H is
//! singular, damping must have gone. There a cost too flat to judge a step by is judged by the slopes
//! at its two ends. No test is on an absolute cost: signals may be of any size.
//!
//! Nielsen's update of the damping: H. B. Nielsen, "Damping parameter in Marquardt's method"
//! (1999). Scaling by the largest diagonal so far: J. J. Moré, "The Levenberg-Marquardt algorithm"
//! (1978).

/// Damping of the first step, relative to the diagonal of H.
pub const FIRST_DAMPING: f64 = 1e-3;
/// A step that does not lower the cost at this damping never will.
pub const MOST_DAMPING: f64 = 1e12;
/// Damping never falls below this (far below the rounding of H, so that it can rise again soon).
pub const LEAST_DAMPING: f64 = 1e-12;
/// The most a good step lowers the damping.
pub const SHRINK: f64 = 0.1;
/// Iterations after which a problem is given up, unless asked otherwise.
pub const MAX_ITERATIONS: u32 = 100;
/// The same for expressions, whose starts are a user's guess, often far off.
pub const MAX_ITERATIONS_OF_EXPRESSIONS: u32 = 1000;

/// Constants that depend on the precision of the arithmetic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// Relative rounding of one sample and its prediction (an exponential carries the rounding of
    /// its argument, a few times its own).
    pub rounding: f64,
    /// Relative rounding of the sum that is the cost.
    pub flat: f64,
    /// A predicted decrease of this fraction of the cost is the last: the estimate is then within
    /// √(decrease · samples) standard errors of the minimum, and closer after that step.
    pub decrease: f64,
    /// A step that moves the prediction by this fraction of its size is the last.
    pub step: f64,
    /// Damping must have fallen to this before a step can be the last.
    pub last_damping: f64,
    /// A pivot of the damped matrix that is this fraction of its diagonal is rounding.
    pub pivot: f64,
    /// A pivot of the final undamped H that is this fraction of its diagonal is rounding: the
    /// samples do not determine this parameter.
    pub singular: f64,
    /// A parameter whose final diagonal entry of H is this fraction of its largest on the way has
    /// lost its influence.
    pub faded: f64,
    /// Below this a diagonal entry of H counts as zero.
    pub no_influence: f64,
}

impl Rules {
    /// For `f32` arithmetic.
    pub const SINGLE: Self = Self {
        rounding: 3e-7,
        flat: 1e-5,
        decrease: 1e-6,
        step: 1e-6,
        last_damping: 1.1e-6,
        pivot: 1e-8,
        singular: 1e-6,
        faded: 1e-10,
        no_influence: 1e-30,
    };

    /// For `f64` arithmetic.
    pub const DOUBLE: Self = Self {
        rounding: 6e-16,
        flat: 1e-13,
        decrease: 1e-14,
        step: 1e-12,
        last_damping: 1.1e-8,
        pivot: 1e-17,
        singular: 1e-13,
        faded: 1e-20,
        no_influence: 1e-200,
    };
}
