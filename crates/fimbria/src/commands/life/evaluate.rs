use std::path::PathBuf;

use clap::Args;
use fimbria_cluster::World;
use fimbria_image::gradients::BScaling;
use fimbria_life::{Atoms, Demean, Method, Normalise};
use fimbria_pipeline::stages::life::{
    AtomsName, Compat, Life, LifeFiles, LifeParameters, LoadSeries, RankName, read_directions,
};
use fimbria_pipeline::{Named, OutputFolder, Stage, bids_entities};

use crate::args::{DeviceArgs, MapArgs, OutputArgs, SubjectArgs, ThreadArgs, choice};
#[cfg(feature = "mpi")]
use crate::args::{ExchangeName, exchange};
use crate::commands::processes::run_together;
use crate::console::Console;
use crate::failure::Failure;

/// Weigh every streamline of a tractogram by what it explains of the signal (LiFE)
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Evaluate {
    /// Streamlines: TCK, TRK or TRX
    #[arg(value_name = "TRACTOGRAM")]
    tractogram: PathBuf,

    /// Diffusion-weighted series, 4-D; without --mask all its voxels count
    #[arg(long, value_name = "DWI", help_heading = "Input")]
    dwi: PathBuf,

    #[command(flatten)]
    subject: SubjectArgs,

    /// A second series that repeats the first volume by volume, to predict (cross-validation); its
    /// gradient table, where it has one, must say so
    #[arg(long, value_name = "DWI", help_heading = "Input")]
    second: Option<PathBuf>,

    /// Label image, 3-D: nodes of connectome matrices of the weights (ends count up to 4 mm away)
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    labels: Option<PathBuf>,

    /// Sets of streamlines for virtual lesions, beside the groups of a TRX: lines of a name and the
    /// numbers of streamlines from 0, separated by blanks
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    sets: Option<PathBuf>,

    /// Weights to begin with, one a line
    #[arg(long, value_name = "FILE", conflicts_with = "resume", help_heading = "Input")]
    start: Option<PathBuf>,

    /// Take over the conventions of another program; other options still change them
    #[arg(long, value_name = "PROGRAM", value_parser = choice::<Compat>())]
    compat: Option<Named<Compat>>,

    /// Directions of columns: exact, or grid:STEPS (ENCODE's grid of orientations) [default:
    /// grid:360]
    #[arg(long, value_name = "ATOMS")]
    atoms: Option<AtomsName>,

    /// Columns for the directions listed in this file, three numbers a line, in the axes that
    /// streamlines' are taken in: each part of a streamline takes the nearest
    #[arg(long, value_name = "FILE", conflicts_with = "atoms")]
    directions: Option<PathBuf>,

    /// Diffusivity along streamlines, mm²/s [default: 0.001]
    #[arg(long, value_name = "D")]
    axial: Option<f64>,

    /// Diffusivity across streamlines, mm²/s: 0 is a stick, more a zeppelin [default: 0]
    #[arg(long, value_name = "D")]
    radial: Option<f64>,

    /// Isotropic compartments of every voxel, mm²/s, separated by commas [default: none]
    #[arg(long, value_name = "D", value_delimiter = ',')]
    isotropic: Option<Vec<f64>>,

    /// What the parts of a streamline in a voxel add up to [default: length]
    #[arg(long, value_name = "HOW", value_parser = choice::<Normalise>())]
    normalise: Option<Named<Normalise>>,

    /// What is taken from signal and columns [default: mean]
    #[arg(long, value_name = "CENTRE", value_parser = choice::<Demean>())]
    demean: Option<Named<Demean>>,

    /// Numbers a column is held in: auto (as many as miss 0.1 % of columns), full (one for each
    /// volume) or how many [default: auto]
    #[arg(long, value_name = "RANK")]
    rank: Option<RankName>,

    /// How weights are found [default: conjugate]
    #[arg(long, value_name = "SOLVER", value_parser = choice::<Method>())]
    solver: Option<Named<Method>>,

    /// Iterations at most [default: 1000]
    #[arg(long, value_name = "N")]
    max_iterations: Option<usize>,

    /// End once the projected gradient is this share of that without weights [default: 1e-5]
    #[arg(long, value_name = "SHARE", value_parser = below_one, allow_hyphen_values = true)]
    tolerance: Option<f64>,

    /// L1 penalty on weights, as a share of the least that leaves none [default: 0]
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true)]
    l1: Option<f64>,

    /// Penalty on each set of streamlines (--sets, or the groups of a TRX): Σ √n ‖w‖, as a share of
    /// the least that leaves no set any weight [default: 0]
    #[arg(long, value_name = "SHARE", conflicts_with = "solver")]
    #[arg(value_parser = share, allow_hyphen_values = true)]
    group: Option<f64>,

    /// How processes of mpirun add up
    #[cfg(feature = "mpi")]
    #[arg(long, value_name = "EXCHANGE", default_value = "scatter", value_parser = exchange())]
    #[arg(help_heading = "Machine")]
    exchange: ExchangeName,

    /// Begin with the weights that the same command left in OUT/.resume when it was interrupted or
    /// could not write its results
    #[arg(long, help_heading = "Output")]
    resume: bool,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    style: MapArgs,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    devices: DeviceArgs,
}

const HELP: &str = "\
Outputs (images float32):
  weights.txt         the weight of every streamline, one a line, in the order of the input
  pruned.EXT          the streamlines of positive weight, in the input's format; TRX and TRK with
                      their weights per streamline, TCK with pruned_weights.txt beside it
  rmse                root mean squared error of each voxel; rmse_s0: over the unweighted signal; NaN
                      where that is unusable, as rmse_xv
  prediction          predicted signal of every volume (unweighted volumes: their mean)
  evidence.tsv        virtual lesions: of each set of streamlines (all, TRX groups, --sets) what
                      the signal of its voxels loses without it
  rmse_xv, rrmse      with --second: error of its prediction, and that over the difference of the
                      two series (below 1: the model predicts better than a repetition)
  isotropic           with --isotropic: weights of the compartments, a volume each
  matrix_*.csv        with --labels: sums of weights, numbers and mean weights of streamlines of
                      positive weight and their mean lengths (mm) between nodes; matrix_labels.txt
  run.json            inputs with hashes, parameters, objective, nonzero, iterations, optimality,
                      times, counts, warnings

Units:
  Errors and predictions are in units of the series, diffusivities in mm²/s, b in s/mm². A weight
  is the share of the unweighted signal that a streamline carries through its voxels. objective is
  half the sum of squares of the demeaned signal's residual; with --compat dipy of the signal over
  the unweighted one. evidence.tsv: strength (d') without
  unit, earth_mover in units of the series, kullback_leibler and jeffreys in bits.

Order and frame:
  Streamlines are in scanner RAS mm, directions are taken in scanner axes, so that voxels need not
  be cubes; --compat encode takes them in voxel axes, as ENCODE does. Streamlines outside the image
  or mask, with fewer than two distinct points or with NaN get weight 0 and are counted. Labels
  may be on a grid of their own in the same space.

Solvers:
  All work on columns of norm 1, whatever a streamline's length. Weights at the optimum are the same
  as without; the path of --solver sbb, and where it is after few iterations, is not that of a
  program that steps in the weights themselves.

Memory:
  What is going to be held is said before the streamlines are encoded, and is an error where
  --memory allows less.

References:
  Pestilli F et al. Nat Methods 11, 1058 (2014)                    LiFE
  Caiafa C, Pestilli F. Sci Rep 7, 11491 (2017)                    ENCODE, --compat encode
  Gugnani S et al. HiPC (2017)                                     MPI-LiFE
  Kim D, Sra S, Dhillon I. Optim Methods Softw 28, 1012 (2013)     --solver sbb
  Schiavi S et al. Sci Adv 6, eaba8245 (2020)                      --group";

impl Evaluate {
    pub(super) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self {
            tractogram,
            dwi,
            subject,
            second,
            labels,
            sets,
            start,
            compat,
            atoms,
            directions,
            axial,
            radial,
            isotropic,
            normalise,
            demean,
            rank,
            solver,
            max_iterations,
            tolerance,
            l1,
            group,
            #[cfg(feature = "mpi")]
            exchange,
            resume,
            output,
            style,
            threads,
            devices,
        } = self;
        #[cfg_attr(not(feature = "mpi"), expect(unused_mut, reason = "there is one process"))]
        let mut world = World::start();
        #[cfg(feature = "mpi")]
        exchange.set(&mut world, console);
        let usual = compat.map_or_else(LifeParameters::default, |c| LifeParameters::of(c.0));
        let parameters = LifeParameters {
            compat: usual.compat,
            atoms: match &directions {
                Some(path) => {
                    let listed = read_directions(path).map_err(|e| Failure::Work(e.into()))?;
                    AtomsName(Atoms::Listed(listed))
                }
                None => atoms.unwrap_or(usual.atoms),
            },
            axial: axial.unwrap_or(usual.axial),
            radial: radial.unwrap_or(usual.radial),
            isotropic: isotropic.unwrap_or(usual.isotropic),
            normalise: normalise.unwrap_or(usual.normalise),
            demean: demean.unwrap_or(usual.demean),
            rank: rank.unwrap_or(usual.rank),
            solver: match solver {
                // The published iteration knows no sets.
                None if group.is_some() => LifeParameters::default().solver,
                given => given.unwrap_or(usual.solver),
            },
            max_iterations: max_iterations.unwrap_or(usual.max_iterations),
            tolerance: tolerance.unwrap_or(usual.tolerance),
            l1: l1.unwrap_or(usual.l1),
            group: group.unwrap_or(usual.group),
        };
        let entities = bids_entities(&dwi);
        let mut series = subject.files(dwi);
        if usual.compat == Some(Named(Compat::Encode)) && series.bvalue_scaling.0 == BScaling::Auto
        {
            // Its exponents are -b g'Qg with g as it stands in the file.
            series.bvalue_scaling = Named(BScaling::Yes);
        }
        let second = second.map(|second| series.repeated_by(second));
        let kept = output.path().join(OutputFolder::KEPT);
        let life = Life {
            files: LifeFiles { tractogram, directions, second, labels, sets, start },
            parameters,
            style: style.style(),
            entities,
            checkpoint: Some((kept.join("weights"), resume)),
            memory: series.memory,
        };
        let stages: [&dyn Stage; 2] = [&LoadSeries(series), &life];
        let folder = |planned: &[String]| output.folder(planned, console);
        run_together("life", &stages, &world, &folder, Some(&kept), threads, devices, console)
    }
}

/// A share of 0 to 1, 1 not included: with it nothing would be done.
fn below_one(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..1.0).contains(&share) => Ok(share),
        _ => Err("it must be a share of 0 or more and below 1".into()),
    }
}

/// A share from 0 on: with 1 or more nothing is left.
fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share.is_finite() && share >= 0.0 => Ok(share),
        _ => Err("it must be a finite number from 0 on".into()),
    }
}
