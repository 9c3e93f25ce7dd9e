//! What is known of the parameters of a series before its signals are looked at.
//!
//! Heads move little from one volume to the next, and now and then at once: changes are of Student's distribution,
//! whose width is learnt from the series (expectation and maximisation). Fields of eddy currents are linear in g √b but
//! for a small part of each volume, whose width is learnt, too.

use super::Contrast;
use super::even::Even;
use fimbria_compute::dense::lu;

/// Parameters of a volume: turn and shift of its head, and from here on its field: a constant and the polynomials.
pub(crate) const EDDY: usize = 6;
/// Turns are in mm at this distance from the middle.
pub(crate) const TURN_MM: f64 = 50.0;

/// Degrees of freedom of the distribution of changes.
const FREEDOM: f64 = 2.0;
/// No width is below this, mm.
const LEAST: f64 = 2e-3;
/// The width of changes before anything is learnt.
const FIRST: f64 = 1.0;
/// That of what gradients leave of fields: wide ones would make room for a step of the head that the next volumes' fields take
/// back.
const FIRST_FIELD: f64 = 0.1;
/// Of what fields have of a gradient of 1000 s/mm², mm.
const FIELD: f64 = 5.0;

/// Between two scans a head may move so far, mm.
const BETWEEN: f64 = 10.0;

/// How volumes follow each other.
pub(crate) struct Order {
    /// Of each volume the axis of its phase encoding.
    pub axes: Vec<usize>,
    /// Whether a volume is the first of a scan after another.
    pub begins: Vec<bool>,
}

impl Order {
    /// Volumes of one scan.
    #[cfg(test)]
    pub(crate) fn of_one(volumes: usize, axis: usize) -> Self {
        Self { axes: vec![axis; volumes], begins: vec![false; volumes] }
    }
}

/// The prior, as precise as was learnt.
pub(crate) struct Prior {
    width: usize,
    first: usize,
    /// Of each weighted volume, g √b; against the axis of the phase encoding -g √b.
    gradients: Vec<Option<[f64; 3]>>,
    /// Volumes of each shell.
    shells: Vec<Vec<usize>>,
    order: Order,
    /// Gᵀ G of the volumes along each axis, inverted.
    normals: [Option<Vec<f64>>; 3],
    /// Widths of changes of turns and shifts.
    changes: [f64; 2],
    /// What each change from the volume before counts; large ones count less.
    weights: Vec<f64>,
    /// Of each coefficient of the field, what the gradients leave.
    fields: Vec<f64>,
    /// What follows the gradients of each shell as no head does.
    pub(super) even: Vec<Even>,
}

impl Prior {
    /// `first` is the volume that does not move; `terms` the polynomials of the field, and none for no field at all.
    pub(crate) fn new(
        first: usize,
        gradients: Vec<Option<[f64; 3]>>,
        shells: Vec<Vec<usize>>,
        order: Order,
        terms: usize,
    ) -> Self {
        let n_fields = if terms == 0 { 0 } else { terms + 1 };
        let normal = |axis: usize| {
            let mut normal = vec![0.0; 9];
            let own = gradients.iter().zip(&order.axes).filter(|(_, of)| **of == axis);
            for g in own.filter_map(|(g, _)| g.as_ref()) {
                (0..9).for_each(|i| normal[i] += g[i / 3] * g[i % 3]);
            }
            // Directions in a plane say nothing across it.
            let least = 1e-9 * (normal[0] + normal[4] + normal[8]);
            (0..3).for_each(|i| normal[4 * i] += least);
            lu::inverse(&normal, 3)
        };
        Self {
            width: EDDY + n_fields,
            first,
            normals: [0, 1, 2].map(normal),
            even: vec![Even::default(); shells.len()],
            shells,
            order,
            changes: [FIRST; 2],
            weights: vec![1.0; gradients.len()],
            fields: vec![FIRST_FIELD; n_fields],
            gradients,
        }
    }

    /// Parameters of a volume.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The volume that does not move.
    pub(crate) fn first(&self) -> usize {
        self.first
    }

    /// Of each shell, the largest part of a parameter that followed its gradients as no head does, mm; it was taken off.
    pub(crate) fn even_mm(&self) -> impl Iterator<Item = f64> {
        self.even.iter().map(|even| even.largest_mm)
    }

    /// Widths of changes of turns and shifts, mm.
    pub(crate) fn changes(&self) -> [f64; 2] {
        self.changes
    }

    /// Volumes of each shell.
    pub(super) fn shells(&self) -> &[Vec<usize>] {
        &self.shells
    }

    /// The gradient of a weighted volume: g √b.
    pub(super) fn gradient(&self, volume: usize) -> Option<[f64; 3]> {
        self.gradients[volume]
    }

    pub(crate) fn has_field(&self) -> bool {
        self.width > EDDY
    }

    /// Whether a parameter of a volume is looked for.
    pub(crate) fn is_free(&self, volume: usize, parameter: usize) -> bool {
        if parameter < EDDY { volume != self.first } else { self.gradients[volume].is_some() }
    }

    /// Coefficient `k` of all volumes as a function of their gradients, at each gradient.
    fn followed(&self, of: &[f64], k: usize) -> Vec<f64> {
        let mut sums = [[0.0; 3]; 3];
        let volumes = self.gradients.iter().zip(&self.order.axes);
        for ((g, &axis), row) in volumes.clone().zip(of.chunks_exact(self.width)) {
            let Some(g) = g else { continue };
            (0..3).for_each(|i| sums[axis][i] += g[i] * row[k]);
        }
        let model = |axis: usize| -> [f64; 3] {
            let Some(inverse) = &self.normals[axis] else { return [0.0; 3] };
            std::array::from_fn(|i| (0..3).map(|j| inverse[3 * i + j] * sums[axis][j]).sum())
        };
        let models = [0, 1, 2].map(model);
        let at = |(g, &axis): (&Option<[f64; 3]>, &usize)| {
            g.map_or(0.0, |g| (0..3).map(|i| g[i] * models[axis][i]).sum())
        };
        volumes.map(at).collect()
    }

    /// Whether all volumes of a shell have one axis of the phase encoding: fields along two are never the same motion.
    fn has_one_axis(&self, shell: &[usize]) -> bool {
        shell.iter().all(|&v| self.order.axes[v] == self.order.axes[shell[0]])
    }

    /// How precisely a turn or shift is known from the volume before.
    pub(super) fn step_known(&self, volume: usize, parameter: usize) -> f64 {
        if self.order.begins[volume] {
            1.0 / (BETWEEN * BETWEEN)
        } else {
            self.weights[volume] / self.changes[parameter / 3].powi(2)
        }
    }

    /// Takes the mean over each shell off turns, shifts and fields. Signals do not change where all of a shell moves, but
    /// for what the edge of a mask makes of it, which must not count against the little that is known before.
    pub(crate) fn without_means(&self, of: &mut [f64]) {
        for shell in &self.shells {
            let width = if self.has_one_axis(shell) { self.width } else { EDDY };
            for k in 0..width {
                let sum: f64 = shell.iter().map(|v| of[v * self.width + k]).sum();
                let mean = sum / shell.len() as f64;
                shell.iter().for_each(|v| of[v * self.width + k] -= mean);
            }
        }
    }

    /// Λ θ.
    pub(crate) fn apply(&self, theta: &[f64]) -> Vec<f64> {
        let (n, p) = (self.gradients.len(), self.width);
        let mut out = vec![0.0; n * p];
        for v in 1..n {
            for k in 0..EDDY {
                let change = self.step_known(v, k) * (theta[v * p + k] - theta[(v - 1) * p + k]);
                out[v * p + k] += change;
                out[(v - 1) * p + k] -= change;
            }
        }
        for (k, width) in self.fields.iter().enumerate().map(|(k, width)| (EDDY + k, width)) {
            let followed = self.followed(theta, k);
            for v in (0..n).filter(|v| self.gradients[*v].is_some()) {
                let own = theta[v * p + k] - followed[v];
                out[v * p + k] = own / width.powi(2) + followed[v] / (FIELD * FIELD);
            }
            // The mean over each shell of what does not follow the gradients.
            let mut means = vec![0.0; n * p];
            let weighted = self.shells.iter().filter(|shell| self.gradients[shell[0]].is_some());
            for shell in weighted.filter(|shell| self.has_one_axis(shell)) {
                let sum: f64 = shell.iter().map(|v| theta[v * p + k] - followed[*v]).sum();
                let by = sum / shell.len() as f64 / (LEAST * LEAST);
                shell.iter().for_each(|v| means[v * p + k] = by);
            }
            let along = self.followed(&means, k);
            (0..n).for_each(|v| out[v * p + k] += means[v * p + k] - along[v]);
        }
        out
    }

    /// A row of Λ.
    pub(crate) fn row(&self, at: usize) -> Vec<f64> {
        let mut unit = vec![0.0; self.gradients.len() * self.width];
        unit[at] = 1.0;
        self.apply(&unit)
    }

    /// What widths are learnt from: changes of turns and shifts from each volume to the next, then what gradients leave
    /// of each coefficient of each weighted volume.
    pub(crate) fn contrasts(&self) -> Vec<Contrast> {
        let (n, p) = (self.gradients.len(), self.width);
        let change = |at: usize| {
            vec![((at / EDDY) * p + at % EDDY, -1.0), ((at / EDDY + 1) * p + at % EDDY, 1.0)]
        };
        let changes = (0..EDDY * (n - 1)).map(change);
        let own = move |v: usize, k: usize| -> Option<Contrast> {
            let here = self.gradients[v]?;
            let axis = self.order.axes[v];
            let inverse = self.normals[axis].as_deref().unwrap_or(&[0.0; 9]);
            let shared = |other: [f64; 3]| -> f64 {
                (0..9).map(|i| here[i / 3] * inverse[i] * other[i % 3]).sum()
            };
            let part = |w: usize| Some((w * p + EDDY + k, -shared(self.gradients[w]?)));
            let alike = (0..n).filter(|w| self.order.axes[*w] == axis);
            let mut all: Contrast = alike.filter_map(part).collect();
            all.iter_mut().filter(|(at, _)| at / p == v).for_each(|(_, by)| *by += 1.0);
            Some(all)
        };
        let fields = (0..self.fields.len()).flat_map(|k| (0..n).map(move |v| (v, k)));
        changes.chain(fields.filter_map(|(v, k)| own(v, k))).collect()
    }

    /// Learns widths from parameters, n x p, and the variances of the contrasts; whether some changes may be far larger
    /// than others.
    pub(crate) fn learn(&mut self, theta: &[f64], variances: &[f64], is_robust: bool) {
        let n = self.gradients.len();
        let contrasts = self.contrasts();
        let squares: Vec<f64> = contrasts
            .iter()
            .zip(variances)
            .map(|(contrast, variance)| {
                contrast.iter().map(|(at, by)| by * theta[*at]).sum::<f64>().powi(2) + variance
            })
            .collect();
        let (changes, fields) = squares.split_at(EDDY * (n - 1));
        let mut sums = [0.0; 2];
        let within = (1..n).zip(changes.as_chunks::<EDDY>().0);
        for (v, squares) in within.filter(|(v, _)| !self.order.begins[*v]) {
            let parts = [0, 3].map(|at| squares[at..at + 3].iter().sum::<f64>());
            let size: f64 = (0..2).map(|i| parts[i] / self.changes[i].powi(2)).sum();
            self.weights[v] = if is_robust { (FREEDOM + 6.0) / (FREEDOM + size) } else { 1.0 };
            (0..2).for_each(|i| sums[i] += self.weights[v] * parts[i]);
        }
        let scans = 1 + self.order.begins.iter().filter(|begins| **begins).count();
        let count = (n as f64 - scans as f64).max(1.0);
        (0..2).for_each(|i| self.changes[i] = (sums[i] / (3.0 * count)).sqrt().max(LEAST));
        let weighted = fields.len() / self.fields.len().max(1);
        for (width, squares) in self.fields.iter_mut().zip(fields.chunks_exact(weighted.max(1))) {
            *width = (squares.iter().sum::<f64>() / weighted as f64).sqrt().max(LEAST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prior(n: usize) -> Prior {
        let gradient = |v: usize| {
            let t = v as f64;
            (!v.is_multiple_of(5)).then(|| [t.sin(), (1.7 * t).cos(), (0.3 * t).sin()])
        };
        let (weighted, b0s) = (0..n).partition(|v: &usize| !v.is_multiple_of(5));
        let order = Order::of_one(n, 1);
        Prior::new(0, (0..n).map(gradient).collect(), vec![b0s, weighted], order, 3)
    }

    #[test]
    fn one_jump_does_not_widen_what_is_expected_of_other_changes() {
        let (n, mut prior) = (20, prior(20));
        let p = prior.width();
        let mut theta = vec![0.0; n * p];
        for v in 0..n {
            let at = if v < 9 { 0.0 } else { 5.0 };
            theta[v * p + 3] = at + 0.01 * (v as f64).sin();
        }
        let variances = vec![1e-6; prior.contrasts().len()];
        for _ in 0..30 {
            prior.learn(&theta, &variances, true);
        }
        assert!(prior.weights[9] < 1e-3 && prior.weights[5] > 0.1, "{:?}", prior.weights);
        assert!(prior.changes.iter().all(|width| *width < 0.1), "{:?}", prior.changes);
    }

    #[test]
    fn a_field_that_follows_the_gradients_costs_less_than_one_that_does_not() {
        let (n, prior) = (20, prior(20));
        let p = prior.width();
        let cost = |field: &dyn Fn(usize, [f64; 3]) -> f64| -> f64 {
            let mut theta = vec![0.0; n * p];
            for v in 0..n {
                let gradient = prior.gradients[v];
                theta[v * p + EDDY + 1] = gradient.map_or(0.0, |g| field(v, g));
            }
            prior.apply(&theta).iter().zip(&theta).map(|(a, b)| a * b).sum()
        };
        let follows = cost(&|_, g| g[0] - 0.5 * g[2]);
        let does_not = cost(&|v, _| if v % 2 == 0 { 1.0 } else { -1.0 });
        let common = cost(&|_, _| 1.0);
        assert!(follows < 0.2 * does_not && does_not < common, "{follows} {does_not} {common}");
    }
    #[test]
    fn nothing_is_learnt_from_the_motion_between_scans() {
        let (n, p) = (20, prior(20).width());
        let learnt = |between: f64| {
            let mut prior = prior(n);
            prior.order.begins[9] = true;
            let at = |v: usize| if v < 9 { 0.0 } else { between };
            let theta: Vec<f64> = (0..n * p)
                .map(|i| if i % p == 3 { at(i / p) + 0.01 * (i as f64).sin() } else { 0.0 })
                .collect();
            let variances = vec![1e-6; prior.contrasts().len()];
            (0..10).for_each(|_| prior.learn(&theta, &variances, false));
            prior.changes
        };
        let [near, far] = [0.0, 8.0].map(learnt);
        // Differences of numbers near 8 and of numbers near 0 round differently.
        assert!((near[1] - far[1]).abs() < 1e-9 && far[1] < 0.1, "{near:?} {far:?}");
    }

    #[test]
    fn fields_of_an_opposed_scan_follow_the_gradients_with_the_other_sign() {
        let n = 20;
        let mut prior = prior(n);
        let gradients = prior.gradients.clone();
        // The second half against the axis.
        prior.gradients[n / 2..].iter_mut().flatten().for_each(|g| *g = g.map(|x| -x));
        let p = prior.width();
        let cost = |sign: f64| -> f64 {
            let mut theta = vec![0.0; n * p];
            for (v, g) in gradients.iter().enumerate() {
                let by = if v < n / 2 { 1.0 } else { sign };
                theta[v * p + EDDY + 1] = by * g.map_or(0.0, |g| g[0] - 0.5 * g[2]);
            }
            prior.apply(&theta).iter().zip(&theta).map(|(a, b)| a * b).sum()
        };
        assert!(cost(-1.0) < 0.05 * cost(1.0), "{} {}", cost(-1.0), cost(1.0));
    }

    #[test]
    fn fields_along_two_axes_follow_the_gradients_each_in_its_own_way() {
        let n = 20;
        let mut prior = prior(n);
        let gradients = prior.gradients.clone();
        let p = prior.width();
        let mut theta = vec![0.0; n * p];
        for (v, g) in gradients.iter().enumerate() {
            let own = |g: [f64; 3]| if v % 2 == 0 { g[0] - 0.5 * g[2] } else { g[1] + g[2] };
            theta[v * p + EDDY + 1] = g.map_or(0.0, own);
        }
        let cost = |prior: &Prior| -> f64 {
            prior.apply(&theta).iter().zip(&theta).map(|(a, b)| a * b).sum()
        };
        let of_one = cost(&prior);
        let axes = (0..n).map(|v| v % 2).collect();
        let shells = prior.shells.clone();
        let order = Order { axes, begins: vec![false; n] };
        prior = Prior::new(0, gradients.clone(), shells, order, 3);
        let of_two = cost(&prior);
        assert!(of_two < 0.2 * of_one, "{of_two} {of_one}");
    }
}
