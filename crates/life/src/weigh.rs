//! From an encoding and a signal to weights.

use fimbria_compute::comm::Comm;
use fimbria_compute::{Backend, Progress};

use crate::exact::exact_sum;
use crate::groups::Grouped;
use crate::rounds::{Penalties, Run};
use crate::solve::{Reason, Solution, Step, Stop};
use crate::{
    Basis, Blocks, Compartments, DealtProduct, Dictionary, Encoding, Hindered, LifeError, Protocol,
    Rank, Response, Signal, check_diffusivity,
};

/// What the signal is explained by.
#[derive(Clone, Debug, PartialEq)]
pub struct TissueOptions {
    /// Tissue along streamlines.
    pub response: Response,
    /// Isotropic tissue of these diffusivities (mm²/s) in every voxel, one weight each.
    pub isotropic_mm2_per_s: Vec<f64>,
    /// Water hindered by the fibres of each voxel.
    pub hindered: Option<Hindered>,
    /// Vectors of the columns' basis.
    pub rank: Rank,
    /// True where signals are explained over the unweighted one of their voxel, as by DIPY.
    pub relative: bool,
}

impl Default for TissueOptions {
    fn default() -> Self {
        Self {
            response: Response::default(),
            isotropic_mm2_per_s: Vec::new(),
            hindered: None,
            rank: Rank::Full,
            relative: false,
        }
    }
}

/// How weights are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// [`conjugate`](crate::solve::conjugate), on ever fewer streamlines.
    #[default]
    Conjugate,
    /// [`sbb`](crate::solve::sbb), on all of them, as published.
    Sbb,
}

/// How weights are found, and when it is enough.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WeighOptions {
    /// The solver, where there are no groups.
    pub method: Method,
    /// When it stops.
    pub stop: Stop,
    /// An L1 penalty on weights as a share of the least that leaves none; 0 for none.
    pub l1: f64,
    /// A penalty on groups of streamlines, minimised by
    /// [`proximal`](crate::solve::proximal).
    pub groups: Option<Grouped>,
}

/// Who hears of every iteration: the step, and a way to the weights then, of streamlines and of
/// compartments.
pub type Watch<'w> = &'w mut dyn FnMut(&Step, &dyn Fn() -> Vec<f32>);

/// A system of equations: everything that products need.
#[derive(Clone, Debug)]
pub struct System {
    /// The space of columns.
    pub basis: Basis,
    /// D.
    pub dictionary: Dictionary,
    /// What stands beside streamlines.
    pub compartments: Compartments,
    /// Φ, of columns of norm 1.
    pub blocks: Blocks,
    /// y in coordinates of the basis, in the order of blocks.
    pub data: Vec<f32>,
    /// The inverse norm of every column of M: a weight is the unknown times this.
    pub factors: Vec<f32>,
    /// Half the squared length of the part of y that lies outside the space of the basis: no weights make
    /// ½‖Mw - y‖² smaller.
    pub outside: f64,
    /// Streamlines; the unknowns beyond them are compartments.
    pub streamlines: usize,
}

/// Weights and how good they are.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// Of every streamline.
    pub streamlines: Vec<f32>,
    /// Of every compartment, isotropic ones first, voxel by voxel of all processes.
    pub compartments: Vec<Vec<f32>>,
    /// ½‖y - M w‖², without penalty.
    pub objective: f64,
    /// The projected gradient's norm over that without weights, columns of norm 1.
    pub optimality: f64,
    /// Iterations of all rounds.
    pub iterations: usize,
    /// Products with M and with M'.
    pub products: [usize; 2],
    /// Rounds on some of the streamlines.
    pub rounds: usize,
    /// Why it ended.
    pub reason: Reason,
}

impl Weights {
    /// Streamlines of positive weight.
    pub fn nonzero(&self) -> usize {
        self.streamlines.iter().filter(|w| **w > 0.0).count()
    }
}

impl TissueOptions {
    /// Compartments of each voxel beside streamlines.
    pub fn compartments_per_voxel(&self) -> usize {
        let hindered = self.hindered.as_ref();
        let around = hindered.map_or(0, |h| h.fibres.per_voxel() * h.radial_mm2_per_s.len());
        self.isotropic_mm2_per_s.len() + around
    }

    /// Refuses what the protocol cannot show.
    ///
    /// # Errors
    /// [`LifeError::Diffusivity`], [`LifeError::ResponseVanishes`], [`LifeError::IsotropicVanishes`].
    pub fn check(&self, protocol: &Protocol) -> Result<(), LifeError> {
        /// Of a signal of 1: a hundredth of the noise of good data.
        const LEAST: f64 = 1e-4;
        self.response.check()?;
        let mut column = vec![0.0; protocol.rows()];
        let mut vanishes_along = |dir: [f64; 3]| {
            protocol.column(&self.response, dir, &mut column);
            column.iter().all(|c| c.abs() < LEAST)
        };
        if [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].into_iter().all(&mut vanishes_along)
        {
            return Err(LifeError::ResponseVanishes(self.response.axial_mm2_per_s));
        }
        for &diffusivity in &self.isotropic_mm2_per_s {
            check_diffusivity("isotropic", diffusivity)?;
            protocol.isotropic_column(diffusivity, &mut column);
            if column.iter().all(|c| c.abs() < 1e-6) {
                return Err(LifeError::IsotropicVanishes);
            }
        }
        for &radial_mm2_per_s in self.hindered.iter().flat_map(|h| &h.radial_mm2_per_s) {
            check_diffusivity("hindered", radial_mm2_per_s)?;
            Response { radial_mm2_per_s, ..self.response }.check()?;
        }
        Ok(())
    }
}

impl System {
    /// The system of `encoding` and `signal`; of `comm`'s processes each has those of its voxels.
    ///
    /// # Errors
    /// As [`TissueOptions::check`] and [`Blocks::new`].
    pub fn new(
        encoding: &Encoding,
        signal: &Signal,
        protocol: &Protocol,
        tissue: &TissueOptions,
        on: &Backend<'_>,
        comm: &dyn Comm,
    ) -> Result<Self, LifeError> {
        tissue.check(protocol)?;
        let TissueOptions { response, isotropic_mm2_per_s, hindered, rank, relative } = tissue;
        let workers = on.workers;
        let compartments =
            Compartments::new(response, isotropic_mm2_per_s, hindered.as_ref(), &encoding.voxels);
        let basis = Basis::new(protocol, response, &compartments, *rank);
        let atoms = &encoding.atoms;
        let dictionary = Dictionary::new(protocol, response, &basis, atoms, &compartments, workers);
        let mut blocks =
            Blocks::new(encoding, &signal.unweighted(*relative), &compartments, workers)?;
        let squares = blocks.column_squares(&dictionary, workers, comm);
        // A column without length explains nothing, whatever its weight: it keeps none.
        let inverse = |square: &f64| if *square > 0.0 { square.sqrt().recip() as f32 } else { 0.0 };
        let factors: Vec<f32> = squares.iter().map(inverse).collect();
        blocks.scale_columns(&factors, workers);
        let stride = dictionary.stride();
        let order = blocks.voxel_order();
        let (data, outside) = signal.in_basis(&basis, stride, order, *relative, workers);
        let outside = 0.5 * exact_sum(&outside, encoding.passed.len(), comm);
        let streamlines = encoding.streamlines();
        Ok(Self { basis, dictionary, compartments, blocks, data, factors, outside, streamlines })
    }

    /// Number of unknowns.
    pub fn unknowns(&self) -> usize {
        self.factors.len()
    }

    /// M on the devices and threads of `on`; `progress` hears of devices that fail or have no room.
    pub fn product<'a>(&'a self, on: &Backend<'a>, progress: &'a dyn Progress) -> DealtProduct<'a> {
        DealtProduct::new(&self.blocks, &self.dictionary, &self.data, on, progress)
    }

    /// Finds weights from `start` on (of streamlines, or of compartments too; `None` for
    /// zero). `watch` hears of every iteration, with the objective of the columns' space, and can ask
    /// for the weights then.
    ///
    /// # Errors
    /// Where the start is no vector of weights, or the caller asked to stop.
    pub fn weigh(
        &self,
        options: &WeighOptions,
        start: Option<&[f32]>,
        on: &Backend<'_>,
        comm: &dyn Comm,
        progress: &dyn Progress,
        watch: Watch<'_>,
    ) -> Result<Weights, LifeError> {
        let mut product = self.product(on, progress);
        self.weigh_by(&mut product, options, start, comm, progress, watch)
    }

    /// The same with a [`product`](Self::product) of this system that is there already.
    ///
    /// # Errors
    /// As [`weigh`](Self::weigh).
    pub fn weigh_by<'s>(
        &'s self,
        product: &mut DealtProduct<'s>,
        options: &WeighOptions,
        start: Option<&[f32]>,
        comm: &dyn Comm,
        progress: &dyn Progress,
        watch: Watch<'_>,
    ) -> Result<Weights, LifeError> {
        let start = self.start(start)?;
        if !(options.l1 >= 0.0 && options.l1.is_finite()) {
            return Err(LifeError::Penalty(options.l1));
        }
        let mut run = Run { system: self, options, product, comm, progress };
        let linear = run.penalty()?;
        let groups = run.group_penalty(linear.as_deref())?;
        let penalties = Penalties { linear: linear.as_deref(), groups: groups.as_ref() };
        match options.method {
            Method::Conjugate if groups.is_none() => run.in_rounds(start, penalties, watch),
            Method::Conjugate | Method::Sbb => {
                let all: Vec<usize> = (0..self.unknowns()).collect();
                let mut heard = |step: &Step, x: &dyn Fn() -> Vec<f32>| {
                    watch(step, &|| self.weights_of(&all, &x()));
                };
                let stop = &options.stop;
                let found = run.solve(start, penalties, stop, &mut heard)?;
                Ok(self.weights(found, 1, penalties))
            }
        }
    }

    /// The unknowns at given weights.
    fn start(&self, weights: Option<&[f32]>) -> Result<Vec<f32>, LifeError> {
        let mut start = vec![0.0; self.unknowns()];
        let Some(weights) = weights else { return Ok(start) };
        if ![self.streamlines, self.unknowns()].contains(&weights.len()) {
            let (found, streamlines) = (weights.len(), self.streamlines);
            return Err(LifeError::WarmStart { found, streamlines });
        }
        for (unknown, &value) in weights.iter().enumerate() {
            if !(value.is_finite() && value >= 0.0) {
                return Err(LifeError::BadWeight { streamline: unknown, value });
            }
            let factor = self.factors[unknown];
            start[unknown] = if factor > 0.0 { value / factor } else { 0.0 };
        }
        Ok(start)
    }

    /// Weights of all columns from unknowns of some.
    pub(crate) fn weights_of(&self, columns: &[usize], x: &[f32]) -> Vec<f32> {
        let mut weights = vec![0.0; self.unknowns()];
        for (&column, x) in columns.iter().zip(x) {
            weights[column] = x * self.factors[column];
        }
        weights
    }

    pub(crate) fn weights(
        &self,
        found: Solution<Vec<f32>>,
        rounds: usize,
        penalties: Penalties<'_>,
    ) -> Weights {
        let all: Vec<f32> = found.x.iter().zip(&self.factors).map(|(x, f)| x * f).collect();
        let (streamlines, rest) = all.split_at(self.streamlines);
        let voxels = rest.len() / self.blocks.compartments().max(1);
        Weights {
            streamlines: streamlines.to_vec(),
            compartments: rest.chunks(voxels.max(1)).map(<[f32]>::to_vec).collect(),
            objective: found.objective - penalties.value(&found.x) + self.outside,
            optimality: found.gradient,
            iterations: found.iterations,
            products: found.products,
            rounds,
            reason: found.reason,
        }
    }
}
