//! LSMR: the normal equations by Golub and Kahan's bidiagonalisation (Fong and Saunders, "LSMR: An
//! iterative algorithm for sparse least-squares problems", SIAM J. Sci. Comput. 33, 2011, section
//! 2.8), the gradient's norm falling with every iteration.
//!
//! A and D stand above each other as one operator K, whose rows have the objective's inner
//! product. The published algorithm has no residuals, which tell the data's part of the objective
//! from the penalty's: here they follow x along images of its directions, at no product more.

use bytemuck::{Pod, Zeroable};
use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace};

use super::objective::{DomainVector, Objective, Rows, SpaceError};
use super::{Descend, Iterate, Saved, SavedVectors};
use crate::QsmError;

/// A direction in the domain and its image under K.
struct Along<A: LinearOperator, D: LinearOperator + Operator<Domain = A::Domain>> {
    way: DomainVector<A>,
    image: Rows<A, D>,
}

/// What rotations leave to the next iteration; names as published.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Rotated {
    alpha: f64,
    alpha_bar: f64,
    zeta_bar: f64,
    rho: f64,
    rho_bar: f64,
    c_bar: f64,
    s_bar: f64,
    /// θ of the iteration before, over its ρ.
    theta_over_rho: f64,
    /// Of ζ̄: rotations make it ever less, but vectors in single precision do not follow.
    least_zeta_bar: f64,
}

/// Between two iterations.
pub(super) struct Lsmr<A: LinearOperator, D: LinearOperator + Operator<Domain = A::Domain>> {
    /// The vectors of the bidiagonalisation, of length 1.
    u: Rows<A, D>,
    v: DomainVector<A>,
    /// h, whose image is that of the iteration before, and h̄.
    h: Along<A, D>,
    h_bar: Along<A, D>,
    rotated: Rotated,
}

impl<A, D> Lsmr<A, D>
where
    A: LinearOperator,
    D: LinearOperator + Operator<Domain = A::Domain>,
{
    /// From the residuals of the start.
    pub(super) fn new(
        objective: &Objective<'_, A, D>,
        residual: &Rows<A, D>,
    ) -> Result<Self, SpaceError<A>> {
        let domain = objective.data.domain();
        let (mut u, mut v) = (objective.rows()?, domain.zeros()?);
        objective.add(1.0, residual, &mut u)?;
        let beta = objective.square(&u)?.sqrt();
        objective.scale(reciprocal(beta), &mut u)?;
        objective.adjoint(&u, &mut v)?;
        let alpha = domain.dot(&v, &v)?.sqrt();
        domain.scale(reciprocal(alpha) as f32, &mut v)?;
        let along = || -> Result<_, SpaceError<A>> {
            Ok(Along { way: domain.zeros()?, image: objective.rows()? })
        };
        let (mut h, h_bar) = (along()?, along()?);
        domain.copy(&v, &mut h.way)?;
        let rotated = Rotated {
            alpha,
            alpha_bar: alpha,
            zeta_bar: alpha * beta,
            rho: 1.0,
            rho_bar: 1.0,
            c_bar: 1.0,
            s_bar: 0.0,
            theta_over_rho: 0.0,
            least_zeta_bar: f64::from(f32::EPSILON) * alpha * beta,
        };
        Ok(Self { u, v, h, h_bar, rotated })
    }

    /// As [`save`](Descend::save) left it.
    pub(super) fn restore(
        objective: &Objective<'_, A, D>,
        saved: &mut SavedVectors<'_>,
    ) -> Result<Self, QsmError> {
        let u = saved.rows(objective)?;
        let v = saved.unknowns(objective)?;
        let mut along = || -> Result<_, QsmError> {
            Ok(Along { way: saved.unknowns(objective)?, image: saved.rows(objective)? })
        };
        let (h, h_bar) = (along()?, along()?);
        let rotated = bytemuck::cast::<[f64; 9], Rotated>(saved.numbers()?);
        Ok(Self { u, v, h, h_bar, rotated })
    }
}

impl<A, D> Descend<A, D> for Lsmr<A, D>
where
    A: LinearOperator,
    D: LinearOperator + Operator<Domain = A::Domain>,
{
    fn step(
        &mut self,
        objective: &Objective<'_, A, D>,
        at: &mut Iterate<A, D>,
    ) -> Result<f64, SpaceError<A>> {
        let domain = objective.data.domain();
        let Self { u, v, h, h_bar, rotated } = self;
        if rotated.zeta_bar.abs() <= rotated.least_zeta_bar {
            // Nowhere left to go.
            return Ok(0.0);
        }
        // The next vectors of the bidiagonalisation: β u and α v.
        let mut image = objective.rows()?;
        objective.apply(v, &mut image)?;
        objective.scale(-rotated.alpha, u)?;
        objective.add(1.0, &image, u)?;
        let beta = objective.square(u)?.sqrt();
        objective.scale(reciprocal(beta), u)?;
        // h = v - (θ / ρ) h was made when v was.
        objective.scale(-rotated.theta_over_rho, &mut h.image)?;
        objective.add(1.0, &image, &mut h.image)?;
        domain.scale(-beta as f32, v)?;
        let mut next = domain.zeros()?;
        objective.adjoint(u, &mut next)?;
        domain.axpy(1.0, &next, v)?;
        let alpha = domain.dot(v, v)?.sqrt();
        domain.scale(reciprocal(alpha) as f32, v)?;

        let Rotated { alpha_bar, zeta_bar, rho: rho_before, rho_bar: rho_bar_before, .. } =
            *rotated;
        let rho = alpha_bar.hypot(beta);
        let (c, s) = (alpha_bar / rho, beta / rho);
        let theta = s * alpha;
        let theta_bar = rotated.s_bar * rho;
        let rho_bar = (rotated.c_bar * rho).hypot(theta);
        let (c_bar, s_bar) = (rotated.c_bar * rho / rho_bar, theta / rho_bar);
        let zeta = c_bar * zeta_bar;

        // h̄ = h - (θ̄ ρ / (ρ' ρ̄')) h̄ and x += ζ / (ρ ρ̄) h̄, the residuals with them.
        let kept = -theta_bar * rho / (rho_before * rho_bar_before);
        domain.scale(kept as f32, &mut h_bar.way)?;
        domain.axpy(1.0, &h.way, &mut h_bar.way)?;
        objective.scale(kept, &mut h_bar.image)?;
        objective.add(1.0, &h.image, &mut h_bar.image)?;
        let step = zeta / (rho * rho_bar);
        domain.axpy(step as f32, &h_bar.way, &mut at.x)?;
        objective.add(-step, &h_bar.image, &mut at.residual)?;
        let change = step.abs() * domain.dot(&h_bar.way, &h_bar.way)?.sqrt();

        let theta_over_rho = theta / rho;
        domain.scale(-theta_over_rho as f32, &mut h.way)?;
        domain.axpy(1.0, v, &mut h.way)?;
        let (alpha_bar, zeta_bar) = (c * alpha, -s_bar * zeta_bar);
        *rotated = Rotated {
            alpha,
            alpha_bar,
            zeta_bar,
            rho,
            rho_bar,
            c_bar,
            s_bar,
            theta_over_rho,
            ..*rotated
        };
        Ok(change)
    }

    fn square(&self) -> f64 {
        self.rotated.zeta_bar * self.rotated.zeta_bar
    }

    fn save(&self, objective: &Objective<'_, A, D>, saved: &mut Saved) -> Result<(), QsmError> {
        let Self { u, v, h, h_bar, rotated } = self;
        saved.put_rows(objective, u)?;
        saved.put_unknowns(objective, v)?;
        for along in [h, h_bar] {
            saved.put_unknowns(objective, &along.way)?;
            saved.put_rows(objective, &along.image)?;
        }
        saved.numbers.extend(bytemuck::cast::<Rotated, [f64; 9]>(*rotated));
        Ok(())
    }
}

/// 1 / x, and 0 for what has no length.
fn reciprocal(x: f64) -> f64 {
    if x > 0.0 { 1.0 / x } else { 0.0 }
}
