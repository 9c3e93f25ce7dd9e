//! What a density, an arc and its chance are, in plain `f64`.
//!
//! A streamline at `start` that runs along `t` goes on along a circle that touches `t` there, of given
//! length, to a direction `e`. The chance of that arc is made of the densities at places along it, each
//! in the direction of the arc at that place (Tournier et al. 2010): here their geometric mean by the
//! trapezoidal rule, so that densities in other units, or more places, leave it as it is. It is zero
//! where a density is below the cut-off. `e` is spread evenly over the cap around `t` that the largest
//! angle allows, so that the chance is one per solid angle of `e`.

use super::field::Densities;
use super::form::exponents;

/// The density at a point, radiological voxel coordinates, in a direction.
pub(super) fn density(field: &Densities, pos: [f64; 3], dir: [f64; 3]) -> f64 {
    let (forms, stride) = field.forms();
    let lattice = field.lattice();
    let mut sum = 0.0;
    for corner in 0..8 {
        let is_above = [corner & 1, corner >> 1 & 1, corner >> 2];
        let at: [f64; 3] = std::array::from_fn(|a| pos[a].floor() + f64::from(is_above[a]));
        let weight: f64 = (0..3).map(|a| 1.0 - (pos[a] - at[a]).abs()).product();
        let first = field.form_at(&lattice, at.map(|x| x as f32));
        let form = &forms[first..first + stride];
        let value: f64 = exponents(field.order())
            .zip(form)
            .map(|([i, j, k], c)| {
                let powers = [dir[0].powi(i as i32), dir[1].powi(j as i32), dir[2].powi(k as i32)];
                f64::from(*c) * powers.iter().product::<f64>()
            })
            .sum();
        sum += weight * value;
    }
    sum
}

/// Two directions across `t`, and across each other.
pub(super) fn across(t: [f64; 3]) -> [[f64; 3]; 2] {
    // Duff et al., J Comput Graph Tech 6, 1 (2017).
    let sign = 1.0_f64.copysign(t[2]);
    let a = -1.0 / (sign + t[2]);
    let b = t[0] * t[1] * a;
    [[1.0 + sign * t[0] * t[0] * a, sign * b, -sign * t[0]], [b, sign + t[1] * t[1] * a, -t[1]]]
}

/// Where an arc of `length` (mm) that leaves the origin along `t` is after a part of it, mm, and its
/// direction there; `angle` and `turn` say where it ends: `angle` off `t`, in the plane that is
/// turned by `turn` from the first direction across.
pub(super) fn along_arc(
    t: [f64; 3],
    angle: f64,
    turn: f64,
    length: f64,
    part: f64,
) -> ([f64; 3], [f64; 3]) {
    let [p, q] = across(t);
    let bend: [f64; 3] = std::array::from_fn(|a| turn.cos() * p[a] + turn.sin() * q[a]);
    let radius = length / angle;
    let here = part * angle;
    let (ahead, aside) = (radius * here.sin(), radius * (1.0 - here.cos()));
    (
        std::array::from_fn(|a| ahead * t[a] + aside * bend[a]),
        std::array::from_fn(|a| here.cos() * t[a] + here.sin() * bend[a]),
    )
}

/// An arc and how it is weighed.
#[derive(Clone, Copy)]
pub(super) struct Arc {
    pub(super) angle: f64,
    pub(super) turn: f64,
    pub(super) length_mm: f64,
    pub(super) places: usize,
    pub(super) power: f64,
    pub(super) cutoff: f64,
}

impl Arc {
    /// The logarithm of its chance, but for what the start contributes, which is the same for all.
    pub(super) fn log_chance(self, field: &Densities, pos: [f64; 3], t: [f64; 3]) -> f64 {
        let mut sum = 0.0;
        for place in 1..=self.places {
            let part = place as f64 / self.places as f64;
            let (mm, dir) = along_arc(t, self.angle, self.turn, self.length_mm, part);
            let m = field.vox_from_dir();
            let at: [f64; 3] = std::array::from_fn(|a| {
                pos[a] + (0..3).map(|k| f64::from(m[a][k]) * mm[k]).sum::<f64>()
            });
            let value = density(field, at, dir);
            if value < self.cutoff {
                return f64::NEG_INFINITY;
            }
            sum += value.ln() * if place == self.places { 0.5 } else { 1.0 };
        }
        self.power / self.places as f64 * sum
    }
}

/// The frame of a curve: its direction, and two across it.
#[derive(Clone, Copy)]
pub(super) struct Frame(pub(super) [[f64; 3]; 3]);

impl Frame {
    /// The frame after a length `mm` along a curve whose curvatures along the two directions across stay
    /// as they are, 1/mm, and how far it went, mm: the solution of t' = k1 u + k2 v, u' = -k1 t,
    /// v' = -k2 t (Bishop, Am Math Mon 82, 246 (1975)).
    pub(super) fn carried(self, [k1, k2]: [f64; 2], mm: f64) -> ([f64; 3], Self) {
        let Self([t, u, v]) = self;
        let k = k1.hypot(k2);
        if k == 0.0 {
            return (t.map(|x| x * mm), self);
        }
        let (sin, cos) = (k * mm).sin_cos();
        // The direction in which it bends, and the one that stays.
        let bend: [f64; 3] = std::array::from_fn(|a| (k1 * u[a] + k2 * v[a]) / k);
        let stays: [f64; 3] = std::array::from_fn(|a| (k1 * v[a] - k2 * u[a]) / k);
        let turned: [f64; 3] = std::array::from_fn(|a| cos * bend[a] - sin * t[a]);
        let moved = std::array::from_fn(|a| (sin * t[a] + (1.0 - cos) * bend[a]) / k);
        let frame = Self([
            std::array::from_fn(|a| cos * t[a] + sin * bend[a]),
            std::array::from_fn(|a| (k1 * turned[a] - k2 * stays[a]) / k),
            std::array::from_fn(|a| (k2 * turned[a] + k1 * stays[a]) / k),
        ]);
        (moved, frame)
    }

    /// That of the curve the other way.
    pub(super) fn reversed(self) -> Self {
        let Self([t, u, v]) = self;
        Self([t.map(|x| -x), u.map(|x| -x), v])
    }
}

/// What a curve looks ahead by.
#[derive(Clone, Copy)]
pub(super) struct Probe {
    pub(super) length_mm: f64,
    pub(super) places: usize,
    pub(super) power: f64,
    pub(super) cutoff: f64,
}

impl Probe {
    /// The chance of two curvatures: the mean of the densities along the probe, its start among them,
    /// raised to the power; zero where one is below the cut-off.
    pub(super) fn chance(self, field: &Densities, pos: [f64; 3], frame: Frame, k: [f64; 2]) -> f64 {
        let m = field.vox_from_dir();
        let value = |place: usize| {
            let (mm, frame) = frame.carried(k, self.length_mm * place as f64 / self.places as f64);
            let at: [f64; 3] = std::array::from_fn(|a| {
                pos[a] + (0..3).map(|j| f64::from(m[a][j]) * mm[j]).sum::<f64>()
            });
            density(field, at, frame.0[0])
        };
        let values: Vec<_> = (0..=self.places).map(value).collect();
        if values.iter().any(|value| *value < self.cutoff) {
            return 0.0;
        }
        (values.iter().sum::<f64>() / values.len() as f64).powf(self.power)
    }
}
