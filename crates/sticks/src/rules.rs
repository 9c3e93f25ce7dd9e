//! The algorithm in words, and its constants: what the oracle, the lanes and the kernel all do.
//!
//! The signal of measurement i with b and unit direction g (Behrens 2003, 2007; Jbabdi 2012;
//! Sotiropoulos 2016):
//!
//! ```text
//! S_i = S0 m_i,   m_i = (1 - f0 - Σ f_j) B(b) + Σ f_j A(b, (g·v_j)²) + f0
//!
//! single     B = exp(-b d)                          A = exp(-b d c),  c = (g·v)²
//! gamma      B = (1 + b s²/d)^(-d²/s²)              A = (1 + b c s²/d)^(-d²/s²)
//!            (as single where s < LEAST_SPREAD)
//! zeppelin   B as gamma                             A = exp(-3 b d/(2R+1) ((1-R) c + R))
//! ```
//!
//! With f0 in the model the ball takes what is left. The energy, minus the logarithm of the
//! posterior up to a constant, is that of the noise plus that of the priors:
//!
//! ```text
//! gaussian   N/2 ln Σ (y - S)²                      the noise level is integrated out
//! rician     -N ln τ + Σ [τ (y - S)²/2 - ln I0e(τ S y)],  I0e(x) = I0(x) exp(-x)
//!
//! S0  flat from 0            d  flat on [0, 5];  zeppelin: -2 ln d + 4 d on the same
//! s   ln s on (0, 10], zeppelin (0, 4]             θ  -ln |sin θ|       φ  flat
//! R   ((R - mean)/std)² on (mean - 2 std, 2 mean]  τ  flat above 0
//! f   0 < f < 1, f0 + Σ f <= 1; fudge ln f where relevance is determined;  f0 likewise
//! ```
//!
//! Metropolis: a jump makes the moves of [`slots::moves`](crate::slots::moves), in their order. Each
//! adds normal numbers z times its scale to some of the parameters:
//!
//! ```text
//! S0        alone
//! curve     on even jumps S0, d, ln s and R at once by scale L⁻ᵀz; on the next d alone, and
//!           after the second joint move s alone where there is one
//! f0, τ     each alone
//! angles    of a fibre: θ by scale z₁, φ by scale z₂/w
//! fraction  of a fibre by Δ = scale z, and S0 by c Δ
//! both      of that fibre once more, then those of the next fibre
//! ```
//!
//! A proposal with a parameter outside its range, or with ln U >= E - E' + ln Q, is refused; Q = s'/s
//! in the joint move, since steps of ln s are proposed with the density 1/s, else 1. L, w and c are
//! learnt before jump 0 and, up to the end of burn-in, before every `adapt_every`-th jump, from the
//! state there is; then they stay, so that a step is as likely as the one back:
//!
//! ```text
//! L Lᵀ = JᵀJ/σ² + 1/width²   J = [m, ∂S/∂d, s ∂S/∂s, ∂S/∂R], by differences over DIFFERENCE
//!                            1/σ² = N/Σ (y - S)², rician τ
//!                            width = 1, 1, 1, the std of R's prior
//!                            L_kk² >= LEAST_PIVOT of the diagonal's element
//! w    = max(|sin θ|, LEAST_SINE)
//! c    = -S0 Σ m (A - B)/Σ m²    what a change of f leaves of y - S is then least
//! ```
//!
//! After every `adapt_every` jumps each scale is multiplied by √((taken + 1)/(refused + 1)), at most
//! to [`WIDEST`], through burn-in and sampling alike; both moves of a fibre's angles have one scale.
//! Angles are kept in (-1/2, 1/2] turns, which changes nothing, since all depends on sines and
//! cosines; for the same reason a scale of more than [`WIDEST_TURN`] proposes as one of just that.
//!
//! Move k of jump n of a voxel takes from Philox (seed, voxel, step n (M + 1) + k), M moves a jump,
//! its words (0, 1; 2): Box and Muller's normal numbers, and U. The third and fourth number of the
//! joint move are those of words (0, 1) of step n (M + 1) + M.
//!
//! Sums over measurements are made in [`PARTIAL_SUMS`] parts, measurement i in part i modulo
//! that, then halved in pairs (part k plus part k + 16, ...): so the threads of a group sum them.

/// Parts of a sum over measurements.
pub(crate) const PARTIAL_SUMS: usize = 32;
/// Largest diffusivity, µm²/ms.
pub(crate) const MOST_DIFFUSIVITY: f64 = 5.0;
/// Smallest spread of diffusivities that is not taken for none, µm²/ms.
pub(crate) const LEAST_SPREAD: f64 = 0.01;
/// Least diffusivity that a spread is divided by, µm²/ms.
pub(crate) const LEAST_DIFFUSIVITY: f64 = 1e-6;
/// Largest spread, µm²/ms.
pub(crate) const MOST_SPREAD: f64 = 10.0;
/// The same with zeppelins.
pub(crate) const MOST_ZEPPELIN_SPREAD: f64 = 4.0;
/// Largest scale.
pub(crate) const WIDEST: f64 = 1e10;
/// Largest scale of an angle that makes a difference, in turns.
pub(crate) const WIDEST_TURN: f64 = 8.0;
/// First scales of fractions and (in radians) angles.
pub(crate) const FIRST_STEP: f64 = 0.2;
/// First scales of the others, relative to the first value; that of τ.
pub(crate) const FIRST_SHARE: f64 = 0.1;
/// The same of τ.
pub(crate) const FIRST_PRECISION_SHARE: f64 = 0.5;
/// That of the joint move, near which half of its proposals are taken.
pub(crate) const FIRST_JOINT: f64 = 1.2;
/// Over which differences of the signal by d, s (µm²/ms) and R are taken.
pub(crate) const DIFFERENCE: f64 = 0.05;
/// Least share of its diagonal that a pivot of the joint move's factor is.
pub(crate) const LEAST_PIVOT: f64 = 1e-4;
/// Width of S0, d and ln s in the joint move where the data tell nothing of them.
pub(crate) const JOINT_WIDTH: f64 = 1.0;
/// Least sine of θ that steps of φ are divided by.
pub(crate) const LEAST_SINE: f64 = 0.05;
/// Largest negative exponent: e to it is nothing beside 1.
pub(crate) const MOST_EXPONENT: f64 = 87.0;
/// A sum of squares is never taken for less, in units of the voxel's scale: noise-free data.
pub(crate) const LEAST_SQUARES: f64 = 1e-12;
