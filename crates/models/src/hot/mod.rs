//! Generalised diffusion tensors: ln S = ln S0 - b D(g), where D is a homogeneous form of order 4,
//! 6 or 8 of the direction (Özarslan and Mareci 2003).
//!
//! A diffusion tensor is the form of order 2. Higher orders follow diffusivities with more than
//! one maximum: D(g) = Σ μ D_{i1…im} g_{i1}…g_{im} has (m+1)(m+2)/2 unique entries (15, 28, 45),
//! which, with ln S0, are the unknowns of a log-linear fit
//! ([`fimbria_fitting::linear`]). It takes at least as many well-spread directions, and an
//! unweighted volume or a second b.
//!
//! # What the maxima of D are not
//! D(g) is what the signal loses in direction g, not how many fibres point there. Where fibres
//! cross, what is left of the signal along one fibre is mostly that of the others, which hardly
//! lose any there: D is small along every fibre and largest *between* them. Of two equal bundles
//! (1.7 and 0.3 µm²/ms along and across) the maximum is on the bisector of their angle at every b;
//! at 90° there are two maxima, each 45° from both fibres
//! (`maxima_of_the_diffusivity_are_not_the_fibres` in the tests computes it without any fit).
//! Fibre directions come from an orientation density instead.
//!
//! # Measures
//! Mean, variance and anisotropy are those of Özarslan, Vemuri and Mareci (2005), see `measures`:
//! with the generalised trace gentr(D), three times the mean of D over the sphere, V is the
//! variance of D/gentr(D), and GA = 1 - 1 / (1 + (250 V)^ε) with ε = 1 + 1 / (1 + 5000 V).
//! They do not depend on the order that a form is written in.
//!
//! # References
//! Özarslan E, Mareci TH. Magn Reson Med 50, 955 (2003);
//! Özarslan E, Vemuri BC, Mareci TH. Magn Reson Med 53, 866 (2005);
//! Barmpoutis A, Vemuri BC. ISBI 2010, 1385 (positivity).

mod design;
mod error;
mod fit;
mod form;
mod maps;
mod measures;
mod options;
mod positivity;
#[cfg(test)]
mod tests;

pub use error::HotError;
pub use fit::{fit, maps};
pub use options::{HotMethod, HotOptions, HotOrder};
