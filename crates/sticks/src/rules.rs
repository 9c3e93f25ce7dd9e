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
//! Metropolis: a jump proposes each parameter once, in the order of [`slots`](crate::slots), as
//! its value plus a normal number times its step; a proposal outside its range, or with
//! ln U >= E - E', is refused. After every `adapt_every` jumps each step is multiplied by
//! √((taken + 1)/(refused + 1)), at most to [`WIDEST`], through burn-in and sampling alike. Angles
//! are kept in (-1/2, 1/2] turns, which changes nothing, since all depends on sines and cosines; for
//! the same reason a step of more than [`WIDEST_TURN`] proposes as one of just that.
//!
//! Proposal number k of jump n of a voxel takes from Philox (seed, voxel, step
//! n ⌈P/2⌉ + ⌊k/2⌋) its words (0, 1; 2) where k is even, else (0, 1; 3): Box and Muller's first or
//! second normal number, and U.
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
/// Largest step.
pub(crate) const WIDEST: f64 = 1e10;
/// Largest step of an angle that makes a difference, in turns.
pub(crate) const WIDEST_TURN: f64 = 8.0;
/// First steps of fractions and (in radians) angles.
pub(crate) const FIRST_STEP: f64 = 0.2;
/// First steps of the others, relative to the first value; that of τ.
pub(crate) const FIRST_SHARE: f64 = 0.1;
/// The same of τ.
pub(crate) const FIRST_PRECISION_SHARE: f64 = 0.5;
/// Largest negative exponent: e to it is nothing beside 1.
pub(crate) const MOST_EXPONENT: f64 = 87.0;
/// A sum of squares is never taken for less, in units of the voxel's scale: noise-free data.
pub(crate) const LEAST_SQUARES: f64 = 1e-12;
