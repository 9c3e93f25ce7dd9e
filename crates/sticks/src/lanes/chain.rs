//! The state of as many chains as there are lanes, and the jumps.

use fimbria_compute::math::{ln, sincos_turns};

use super::constants::Constants;
use super::curve::Curve;
use super::learn::Learnt;
use super::pack::Pack;
use crate::Noise;
use crate::batch::{Batch, Recorded};
use crate::rules::{
    FIRST_JOINT, FIRST_PRECISION_SHARE, FIRST_SHARE, FIRST_STEP, LEAST_SQUARES, PARTIAL_SUMS,
};
use crate::slots::{
    self, DIFFUSIVITY, FIBRES, JOINT, MOST, OFFSET, PRECISION, RATIO, SCALES, SPREAD, phi, theta,
};

/// Chains side by side. Rows over measurements have a number for each lane; sticks are
/// `[fibre][measurement]`; a proposal for one fibre leaves its new stick in the first row.
pub(crate) struct Chain<'a, R: Pack> {
    token: R::Token,
    pub(super) constants: &'a Constants,
    pub(super) is_rician: bool,
    pub(super) item: [R::Word; 2],
    pub(super) p: [R; MOST],
    pub(super) learnt: Learnt<R>,
    pub(super) scale: [R; SCALES],
    pub(super) taken: [R; SCALES],
    pub(super) refused: [R; SCALES],
    /// Proposals taken since burn-in.
    pub(super) all_taken: R,
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
    /// Slopes of the signal by all that the joint move changes but S0, whose slope is `m`.
    pub(super) slopes: Vec<R>,
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
            learnt: Learnt::none(zero),
            scale: [zero; SCALES],
            taken: [zero; SCALES],
            refused: [zero; SCALES],
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
            slopes: vec![zero; n * (constants.joint.len() - 1)],
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

    /// First scales and the signals of the start.
    #[inline(always)]
    fn begin(&mut self) {
        let turn = (FIRST_STEP / std::f64::consts::TAU) as f32;
        for slot in 0..SCALES {
            self.scale[slot] = match slot {
                OFFSET => self.value(FIRST_STEP as f32),
                JOINT => self.value(FIRST_JOINT as f32),
                PRECISION => self.p[slot] * FIRST_PRECISION_SHARE as f32,
                _ if slot < FIBRES => self.p[slot] * FIRST_SHARE as f32,
                _ if slots::is_fraction(slot) => self.value(FIRST_STEP as f32),
                _ => self.value(turn),
            };
        }
        self.taken = [self.value(0.0); SCALES];
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
        let proposals = constants.jumps as f32 * constants.moves.len() as f32;
        (self.all_taken / proposals).write(&mut to.acceptance[first..end]);
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
