//! The stage that weighs streamlines by the density of fibres.

mod in_run;
mod method;
mod section;

use std::path::{Path, PathBuf};

use clap::Args;
use fimbria_compute::Progress as _;
use fimbria_image::{Grid, counted};
use fimbria_life::sift2::{FixelLengths, Sift2, Sift2Options, Sift2Step, sift2};
use fimbria_life::{CountBy, Tracer};
use fimbria_tensors::lobes::{LobeOptions, Lobes};
use serde::Serialize;
use serde_json::{Value, json};

use crate::options::{Described as _, within};
use crate::stages::given_lines::{GivenLines, for_each_chunk, open_lines};
use crate::stages::load_orientations::OrientationField;
use crate::stages::track::{AnatomyOptions, white_shares};
use crate::stages::weights::{WeightsError, read_weights};
use crate::{
    ByteSize, FileKind, Input, Logbook, OutputFolder, Page, Product, Products, Stage, StageError,
    Taken, Written,
};

pub use self::in_run::Sift2InRun;
pub(in crate::stages) use self::method::METHOD;

/// What `fimbria sift2` writes.
pub const SIFT2_WRITES: &[Written] = &[
    Written::file(
        "weights.txt",
        FileKind::Table,
        "weight of each streamline, a line each, 0 where it passes no fibres: what `connectome \
         --weights` and tck2connectome -tck_weights_in read",
    ),
    Written::file(
        "mu.txt",
        FileKind::Table,
        "what turns weight times length (mm) in a voxel into density of fibres",
    ),
    Written::file(
        "iterations.tsv",
        FileKind::Table,
        "iteration, objective, and misfit of densities over the densities (root mean squares)",
    ),
    Written::file(
        "run.json",
        FileKind::Json,
        "inputs with hashes, parameters, machine, times, misfit before and after",
    ),
];

/// The options of the model.
#[derive(Clone, Copy, Debug, PartialEq, Args, Serialize)]
pub struct Sift2Parameters {
    /// How far apart the weights of one fixel's streamlines may be: the larger, the nearer
    #[arg(long, value_name = "LAMBDA", number = within(0.0, 1e6, ""))]
    #[arg(default_value_t = Sift2Options::default().total_variation)]
    pub variation: f64,

    /// How far weights may be from 1: the larger, the nearer
    #[arg(long, value_name = "LAMBDA", number = within(0.0, 1e6, ""))]
    #[arg(default_value_t = Sift2Options::default().tikhonov)]
    pub tikhonov: f64,

    /// Fixels that streamlines at weight 1 fill to less than this part do not count
    #[arg(long, value_name = "PART", number = within(0.0, 1.0, ""))]
    #[arg(default_value_t = Sift2Options::default().least_filled)]
    pub least_filled: f64,

    /// Lobes whose maximum is not above this are noise, in units of the densities
    #[arg(long, value_name = "VALUE", number = within(0.0, 1e30, ""))]
    #[arg(default_value_t = f64::from(LobeOptions::default().least_peak))]
    pub least_peak: f64,

    /// Iterations at most; with 0 the weights of --start are only judged
    #[arg(long, value_name = "N", number = within(0_usize, 1_000_000, ""))]
    #[arg(default_value_t = Sift2Options::default().most_iterations)]
    pub iterations: usize,
}

/// Weighs streamlines.
#[derive(Clone, Debug)]
pub struct WeighByDensities {
    /// The streamlines.
    pub tractogram: PathBuf,
    /// Tissues, of which white matter counts.
    pub act: Option<PathBuf>,
    /// Weights to begin with; 1 where there are none.
    pub start: Option<PathBuf>,
    /// How.
    pub parameters: Sift2Parameters,
    /// Memory that may be held.
    pub memory: Option<ByteSize>,
}

/// Why streamlines are not weighed.
#[derive(Debug, thiserror::Error)]
enum WeighError {
    /// It would take more memory than is allowed.
    #[error(
        "weighing takes about {needed} of memory, and {allowed} are allowed: allow more, or weigh fewer \
         streamlines"
    )]
    Memory { needed: ByteSize, allowed: ByteSize },
}

/// Streamlines that are followed before it is asked whether to go on.
const BLOCK: usize = 512;

/// The program itself with its threads, and a chunk of streamlines.
const BESIDE: u64 = 64 << 20;
/// Streamlines after which it is said how much memory all of them take.
const FORESEEN_AFTER: usize = 1000;

impl WeighByDensities {
    /// How much of each of `voxels` is white matter; everything where nobody says.
    fn white(
        &self,
        grid: &Grid,
        voxels: &[u32],
        log: &Logbook<'_>,
    ) -> Result<Vec<f32>, StageError> {
        let act = AnatomyOptions { act: self.act.clone(), ..AnatomyOptions::default() };
        let workers = log.session().on.workers;
        let tissues = workers.install(|| act.read(grid, log))?;
        let shares = |tissues| white_shares(tissues, grid, voxels);
        Ok(tissues.as_ref().map_or_else(|| vec![1.0; voxels.len()], shares))
    }

    /// Says how much memory all streamlines take, by the first ones.
    fn foresee(
        &self,
        tracks: &FixelLengths,
        streamlines: u64,
        held: u64,
        log: &Logbook<'_>,
    ) -> Result<(), WeighError> {
        let lengths = tracks.bytes() as f64 / tracks.streamlines() as f64 * streamlines as f64;
        let solving = Sift2::bytes(streamlines, tracks.fixels() as u64);
        let needed = ByteSize(BESIDE + held + lengths as u64 + solving);
        log.note(&format!("about {needed} of memory at most"));
        match self.memory {
            Some(allowed) if needed.0 > allowed.0 => Err(WeighError::Memory { needed, allowed }),
            _ => Ok(()),
        }
    }

    fn weigh(
        &self,
        field: &OrientationField,
        given: Option<&GivenLines>,
        log: &Logbook<'_>,
    ) -> Result<Sift2, StageError> {
        let workers = log.session().on.workers;
        let basis = field.basis.ok_or(
            "streamlines are weighed by densities in spherical harmonics: these are unique entries \
             (fit fod writes harmonics too)",
        )?;
        let grid = *field.coefficients.grid();
        let voxels = &field.mask.voxels;
        let options =
            LobeOptions { least_peak: self.parameters.least_peak as f32, ..LobeOptions::default() };
        let what = (Some(basis), field.order);
        let lobes = Lobes::find(&*field.coefficients, voxels, what, options, workers, log)?;
        let white = self.white(&grid, voxels, log)?;
        let of_lobe = (0..voxels.len()).flat_map(|k| lobes.of_voxel(k).map(move |_| k));
        let white: Vec<f32> = of_lobe.map(|k| white[k]).collect();

        let mut number = vec![u32::MAX; grid.len()];
        (0..).zip(voxels).for_each(|(k, &voxel)| number[voxel as usize] = k);
        let frame_from_ras = field.frame.frame_from_ras(&grid.ras_from_vox);
        let fixel_at = |voxel: u32, dir: [f64; 3]| {
            let k = Some(number[voxel as usize]).filter(|k| *k != u32::MAX)?;
            let dir = fimbria_image::frames::turned(&frame_from_ras, dir);
            lobes.along(k as usize, dir).map(|lobe| lobe as u32)
        };
        let tracer = Tracer::new(grid, CountBy::Length, false)
            .ok_or("the orientation of the densities cannot be inverted")?;
        let mut lines = open_lines(given, &self.tractogram)?;
        let mut tracks = FixelLengths::new(lobes.len());
        let all = lines.header().n_streamlines.unwrap_or(0);
        let held = field.coefficients.held_bytes() + 4 * grid.len() as u64;
        let mut is_foreseen = false;
        for_each_chunk(&mut *lines, "following streamlines", log, |_, chunk| {
            // A chunk takes seconds on one thread.
            for first in (0..chunk.len()).step_by(BLOCK) {
                log.check()?;
                let offsets = &chunk.offsets()[first..=chunk.len().min(first + BLOCK)];
                tracks.add(offsets, chunk.positions(), &tracer, &fixel_at, workers);
            }
            if !is_foreseen && tracks.streamlines() >= FORESEEN_AFTER {
                is_foreseen = true;
                self.foresee(&tracks, all.max(tracks.streamlines() as u64), held, log)?;
            }
            Ok(())
        })?;
        let start = self.start.as_ref().map(|path| start_weights(path, tracks.streamlines()));
        let start = start.transpose()?;
        let options = Sift2Options {
            tikhonov: self.parameters.tikhonov,
            total_variation: self.parameters.variation,
            least_filled: self.parameters.least_filled,
            most_iterations: self.parameters.iterations,
            ..Sift2Options::default()
        };
        Ok(sift2(&tracks, lobes.integrals(), &white, start.as_deref(), &options, workers, log)?)
    }

    fn report(&self, found: &Sift2, log: &Logbook<'_>) {
        log.count("streamlines", found.weights.len() as u64);
        log.count("astray", found.astray as u64);
        log.count("unfilled fixels", found.unfilled as u64);
        if found.astray > 0 {
            log.warn(
                Page::Connectomes,
                &format!(
                    "{} no fibres of the densities: weight 0",
                    match found.astray {
                        1 => "1 streamline passes".to_owned(),
                        n => format!("{} pass", counted(n, "streamline")),
                    }
                ),
            );
        }
        if !found.converged && self.parameters.iterations > 0 {
            log.warn(Page::Connectomes, "the weights have not settled: --iterations allows more");
        }
        let error = |step: Option<&Sift2Step>| json!(step.map(|step| step.error));
        if let [first, .., last] = &found.steps[..] {
            log.note(&format!(
                "{} have a weight: misfit {:.3} before, {:.3} after {}; mu {:.4e}",
                counted(found.weights.len() - found.astray, "streamline"),
                first.error,
                last.error,
                counted(found.steps.len() - 1, "iteration"),
                found.mu
            ));
        }
        log.result("mu", found.mu);
        log.result("misfit_before", error(found.steps.first()));
        log.result("misfit_after", error(found.steps.last()));
        log.result("iterations", found.steps.len() - 1);
    }
}

impl Stage for WeighByDensities {
    fn name(&self) -> &'static str {
        "sift2"
    }

    fn takes(&self) -> Vec<Taken> {
        vec![Taken::always::<OrientationField>(), Taken::where_made::<GivenLines>()]
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Sift2>()]
    }

    fn inputs(&self) -> Vec<Input> {
        let mut inputs = vec![("tractogram".to_owned(), self.tractogram.clone())];
        for (role, path) in [("act", &self.act), ("start", &self.start)] {
            inputs.extend(path.iter().map(|path| (role.to_owned(), path.clone())));
        }
        inputs
    }

    fn parameters(&self) -> Value {
        let mut values = json!(self.parameters);
        values["act"] = json!(self.act.as_ref().map(|_| "given"));
        values["start"] = json!(self.start.as_ref().map(|_| "given"));
        values
    }

    fn outputs(&self) -> Vec<String> {
        ["weights.txt", "mu.txt", "iterations.tsv"].map(str::to_owned).to_vec()
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let found = self.weigh(products.get::<OrientationField>()?, products.find(), log)?;
        self.report(&found, log);
        products.put(found);
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        _log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let found = products.get::<Sift2>()?;
        // Of ten million streamlines no text is to be held.
        out.write_in_parts("weights.txt", |file| {
            found.weights.iter().try_for_each(|weight| writeln!(file, "{weight}"))
        })?;
        out.write("mu.txt", format!("{:e}\n", found.mu).as_bytes())?;
        let row = |(i, step): (usize, &Sift2Step)| {
            format!("{i}\t{:.8e}\t{:.8e}\n", step.objective, step.error)
        };
        let rows: String = found.steps.iter().enumerate().map(row).collect();
        out.write("iterations.tsv", format!("iteration\tobjective\tmisfit\n{rows}").as_bytes())?;
        Ok(())
    }
}

/// Weights to begin with, as many as there are streamlines.
fn start_weights(path: &Path, streamlines: usize) -> Result<Vec<f32>, WeightsError> {
    let weights = read_weights(path)?;
    if weights.len() != streamlines {
        return Err(WeightsError::Number { path: path.to_owned(), weights: weights.len() });
    }
    Ok(weights.into_iter().map(|weight| weight as f32).collect())
}
