//! The state of as many chains as there are lanes, and the jumps.

use fimbria_compute::math::{ln, sincos_turns};
use fimbria_compute::philox::{Philox, normals, uniform};
use fimbria_compute::{Flags as _, Word as _};

use super::constants::Constants;
use super::curve::Curve;
use super::pack::Pack;
use super::priors::Judged;
use crate::Noise;
use crate::batch::{Batch, Recorded};
use crate::rules::{
    FIRST_PRECISION_SHARE, FIRST_SHARE, FIRST_STEP, LEAST_SQUARES, PARTIAL_SUMS, WIDEST,
    WIDEST_TURN,
};
use crate::slots::{DIFFUSIVITY, FIBRES, MOST, OFFSET, PRECISION, RATIO, S0, SPREAD, phi, theta};

/// Chains side by side. Rows over measurements have a number for each lane; sticks are
/// `[fibre][measurement]`; a proposal for one fibre leaves its new stick in the first row.
pub(crate) struct Chain<'a, R: Pack> {
    token: R::Token,
    pub(super) constants: &'a Constants,
    pub(super) is_rician: bool,
    item: [R::Word; 2],
    pub(super) p: [R; MOST],
    step: [R; MOST],
    taken: [R; MOST],
    refused: [R; MOST],
    /// Proposals taken since burn-in.
    all_taken: R,
    /// Sum of squares, or energy of Rician noise.
    pub(super) misfit: R,
    pub(super) y: Vec<R>,
    pub(super) b: Vec<R>,
    pub(super) ball: Vec<R>,
    pub(super) sticks: Vec<R>,
    /// Signal at unit S0.
    pub(super) m: Vec<R>,
    pub(super) new_ball: Vec<R>,
    pub(super) new_sticks: Vec<R>,
    pub(super) new_m: Vec<R>,
    pub(super) parts: [R; PARTIAL_SUMS],
    /// I + L of each voxel, columns first; `None` for all nominal.
    bend: Option<[[R; 3]; 3]>,
}

impl<'a, R: Pack> Chain<'a, R> {
    #[inline(always)]
    pub(super) fn new(token: R::Token, constants: &'a Constants) -> Self {
        let zero = R::filled(token, 0.0);
        let none = zero.to_word();
        let (n, n_fibres) = (constants.n, constants.n_fibres);
        Self {
            token,
            constants,
            is_rician: constants.noise == Noise::Rician,
            item: [none; 2],
            p: [zero; MOST],
            step: [zero; MOST],
            taken: [zero; MOST],
            refused: [zero; MOST],
            all_taken: zero,
            misfit: zero,
            y: vec![zero; n],
            b: vec![zero; n],
            ball: vec![zero; n],
            sticks: vec![zero; n * n_fibres],
            m: vec![zero; n],
            new_ball: vec![zero; n],
            new_sticks: vec![zero; n * n_fibres],
            new_m: vec![zero; n],
            parts: [zero; PARTIAL_SUMS],
            bend: None,
        }
    }

    #[inline(always)]
    pub(super) fn value(&self, value: f32) -> R {
        R::filled(self.token, value)
    }

    /// Takes the voxels from `first` on.
    #[inline(always)]
    pub(super) fn load(&mut self, batch: &Batch<'_>, first: usize) {
        let token = self.token;
        let row = |rows: &[f32], row: usize| R::read(token, &rows[row * batch.stride + first..]);
        self.item = [R::read_words(token, &batch.items[first..]), self.value(0.0).to_word()];
        for slot in 0..MOST {
            self.p[slot] = row(batch.starts, slot);
        }
        for i in 0..self.constants.n {
            self.y[i] = row(batch.y, i);
            self.b[i] = self.value(self.constants.b[i]);
        }
        self.bend = None;
        if let Some(bend) = batch.bend {
            let mut columns = [[self.value(0.0); 3]; 3];
            for (k, column) in columns.iter_mut().enumerate() {
                for (l, entry) in column.iter_mut().enumerate() {
                    *entry = row(bend, 3 * l + k);
                }
            }
            self.bend = Some(columns);
            for i in 0..self.constants.n {
                let root = self.root(i);
                let mut square = self.value(0.0);
                for l in 0..3 {
                    let mut bent = columns[0][l] * root[0];
                    bent = columns[1][l].mul_add(root[1], bent);
                    bent = columns[2][l].mul_add(root[2], bent);
                    square = bent.mul_add(bent, square);
                }
                self.b[i] = square;
            }
        }
        self.begin();
    }

    /// First steps and the signals of the start.
    #[inline(always)]
    fn begin(&mut self) {
        let turn = (FIRST_STEP / std::f64::consts::TAU) as f32;
        for slot in 0..MOST {
            self.step[slot] = match slot {
                OFFSET => self.value(FIRST_STEP as f32),
                PRECISION => self.p[slot] * FIRST_PRECISION_SHARE as f32,
                _ if slot < FIBRES => self.p[slot] * FIRST_SHARE as f32,
                _ if (slot - FIBRES) % 3 == 2 => self.value(FIRST_STEP as f32),
                _ => self.value(turn),
            };
        }
        self.taken = [self.value(0.0); MOST];
        self.refused = self.taken;
        self.all_taken = self.value(0.0);
        let p = self.p;
        self.misfit = self.all_columns(&p);
        let always = self.value(0.0).at_most(self.value(1.0));
        self.keep_columns(always);
    }

    /// √b g of a measurement.
    #[inline(always)]
    fn root(&self, i: usize) -> [R; 3] {
        let [x, y, z] = &self.constants.root;
        [self.value(x[i]), self.value(y[i]), self.value(z[i])]
    }

    /// The vector whose product with a nominal gradient is that of the fibre's with the true one.
    #[inline(always)]
    pub(super) fn direction(&self, theta: R, phi: R) -> [R; 3] {
        let (sin_theta, cos_theta) = sincos_turns(theta);
        let (sin_phi, cos_phi) = sincos_turns(phi);
        let v = [sin_theta * cos_phi, sin_theta * sin_phi, cos_theta];
        match &self.bend {
            None => v,
            Some(columns) => {
                let mut bent = v;
                for k in 0..3 {
                    let column = columns[k];
                    bent[k] = column[2].mul_add(v[2], column[1].mul_add(v[1], column[0] * v[0]));
                }
                bent
            }
        }
    }

    #[inline(always)]
    pub(super) fn curve(&self, p: &[R; MOST]) -> Curve<R> {
        Curve::new(self.constants.diffusivity, p[DIFFUSIVITY], p[SPREAD], p[RATIO])
    }

    /// All jumps; writes the samples of the lanes from `first` on.
    #[inline(always)]
    pub(super) fn run(&mut self, first: usize, to: &mut Recorded) {
        let constants = self.constants;
        let (n_sampled, stride) = (constants.sampled.len(), to.stride);
        let end = stride.min(first + R::LANES);
        let mut sample = 0;
        for jump in 0..constants.burn_in + constants.jumps {
            self.jump(jump);
            if (jump + 1).is_multiple_of(constants.adapt_every) {
                self.adapt();
            }
            if jump + 1 == constants.burn_in {
                self.all_taken = self.value(0.0);
            }
            if jump >= constants.burn_in
                && (jump + 1 - constants.burn_in).is_multiple_of(constants.sample_every)
            {
                for (k, &slot) in constants.sampled.iter().enumerate() {
                    let at = (sample * n_sampled + k) * stride;
                    self.p[slot].write(&mut to.samples[at + first..at + end]);
                }
                sample += 1;
            }
        }
        let proposals = constants.jumps as f32 * n_sampled as f32;
        (self.all_taken / proposals).write(&mut to.acceptance[first..end]);
    }

    #[inline(always)]
    pub(super) fn jump(&mut self, jump: u32) {
        let constants = self.constants;
        let n_sampled = constants.sampled.len();
        let philox = Philox::new(constants.seed);
        let per_jump = n_sampled.div_ceil(2) as u32;
        for pair in 0..per_jump {
            let step = self.item[0].splat(jump * per_jump + pair);
            let words = philox.lanes(self.item[0], self.item[1], step);
            // Two normal numbers of the first two words; the second pair of words is for chances.
            let [first, second, ..] = normals::<R>(words);
            for half in 0..2 {
                let k = 2 * pair as usize + half;
                if k < n_sampled {
                    let normal = if half == 0 { first } else { second };
                    let chance = uniform::<R>(words[2 + half]);
                    self.propose(constants.sampled[k], normal, chance);
                }
            }
        }
    }

    #[inline(always)]
    fn propose(&mut self, slot: usize, normal: R, chance: R) {
        let is_fibre = slot >= FIBRES;
        let is_angle = is_fibre && (slot - FIBRES) % 3 < 2;
        let mut new = self.p[slot];
        if is_angle {
            let step = self.step[slot].min(self.value(WIDEST_TURN as f32));
            new = normal.mul_add(step, new);
            let round = self.value(12_582_912.0);
            new = new - ((new + round) - round);
        } else {
            new = normal.mul_add(self.step[slot], new);
        }
        let Judged { inside, added } = self.judge(slot, new);

        let mut p = self.p;
        p[slot] = new;
        let more = new - self.p[slot];
        let fibre = slot.saturating_sub(FIBRES) / 3;
        let misfit = match slot {
            S0 | PRECISION => self.same_columns(&p),
            DIFFUSIVITY | SPREAD | RATIO => self.all_columns(&p),
            OFFSET => self.more_offset(more, &p),
            _ if is_angle => self.one_column(fibre, &p),
            _ => self.more_stick(fibre, more, &p),
        };
        let noise = if self.is_rician {
            misfit - self.misfit
        } else {
            ln(misfit / self.misfit) * (0.5 * self.constants.n as f32)
        };
        let take = inside & ln(chance).less(-(noise + added));

        let (zero, one) = (self.value(0.0), self.value(1.0));
        self.p[slot] = R::select(take, new, self.p[slot]);
        self.misfit = R::select(take, misfit, self.misfit);
        let taken = R::select(take, one, zero);
        self.taken[slot] = self.taken[slot] + taken;
        self.refused[slot] = self.refused[slot] + (one - taken);
        self.all_taken = self.all_taken + taken;
        if !take.any() {
            return;
        }
        match slot {
            S0 | PRECISION => {}
            DIFFUSIVITY | SPREAD | RATIO => self.keep_columns(take),
            OFFSET => self.keep_offset(R::select(take, more, zero)),
            _ if is_angle => self.keep_column(fibre, take),
            _ => self.keep_stick(fibre, R::select(take, more, zero)),
        }
    }

    #[inline(always)]
    fn adapt(&mut self) {
        let widest = self.value(WIDEST as f32);
        for &slot in &self.constants.sampled {
            let ratio = (self.taken[slot] + 1.0) / (self.refused[slot] + 1.0);
            self.step[slot] = (self.step[slot] * ratio.sqrt()).min(widest);
            self.taken[slot] = self.value(0.0);
            self.refused[slot] = self.value(0.0);
        }
    }

    /// Angles of a fibre in `p`.
    #[inline(always)]
    pub(super) fn direction_of(&self, p: &[R; MOST], fibre: usize) -> [R; 3] {
        self.direction(p[theta(fibre)], p[phi(fibre)])
    }

    /// The misfit as it is kept, of a sum over measurements: at least what noise-free data leave,
    /// or with the energy of the noise level.
    #[inline(always)]
    pub(super) fn finish_misfit(&self, p: &[R; MOST], sum: R) -> R {
        if self.is_rician {
            ln(p[PRECISION]).neg_mul_add(self.value(self.constants.n as f32), sum)
        } else {
            sum.max(self.value(LEAST_SQUARES as f32))
        }
    }
}
