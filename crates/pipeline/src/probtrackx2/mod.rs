//! FSL's probtrackx2: its options, its files, its numbers.
//!
//! Inputs are found by base name as FSL finds them, regions and seeds may be listed in text files,
//! and what is written has FSL's names and forms. How streamlines are made and judged is FSL's to
//! the quirk: samples at the ends with half weight, halves judged for themselves
//! ([`Judgement::HalfByHalf`](fimbria_tracking::Judgement::HalfByHalf)), the point outside the mask
//! kept.

mod inputs;
mod job;
mod local;
mod matrices;
mod outputs;
mod seed_set;

pub use self::local::LocalFiles;
pub use self::outputs::PROBTRACKX2_WRITES;
use std::path::PathBuf;

use fimbria_image::bedpostx::BedpostxError;
use fimbria_image::gifti::GiftiError;
use fimbria_image::{GridMismatch, ImageError, NumbersError};
use fimbria_tracking::{FirstFibre, Propagation, Sequence, SingularTransform, WarpError};
use fimbria_workflow::{Input, Logbook, OutputError, OutputFolder, Products, Stage, StageError};
use serde_json::{Value, json};

use crate::Choice as _;
use crate::surfaces::{MeshSpace, SurfaceError};
use crate::transforms::TransformError;

/// What probtrackx2 is asked for; names as FSL's options.
#[derive(Clone, Debug)]
pub struct Probtrackx2 {
    /// Base name of the samples.
    pub samples: PathBuf,
    /// Brain mask.
    pub mask: PathBuf,
    /// Seeds: an image, a list of images, or with `simple` a list of points.
    pub seed: PathBuf,
    /// Base name of the map of visits.
    pub out: String,
    /// Seeds are points in a text file.
    pub simple: bool,
    /// Keep only what reaches another seed region.
    pub network: bool,
    /// Write the map of visits.
    pub opd: bool,
    /// Count distances instead of visits.
    pub pd: bool,
    /// Write mean lengths too.
    pub ompl: bool,
    /// Write maps of the seeds that reach targets.
    pub os2t: bool,
    /// The targets.
    pub target_masks: Option<PathBuf>,
    /// Write them as a matrix too.
    pub s2t_as_text: bool,
    /// Write a map of visits for each target, of the samples that reach it.
    pub otargetpaths: bool,
    /// Regions to write maps of visits of, by themselves.
    pub fopd: Option<PathBuf>,
    /// Write mean orientations.
    pub opathdir: bool,
    /// Matrices.
    pub matrices: MatrixFiles,
    /// From seed space to that of the samples, as FLIRT writes it; or a warp.
    pub xfm: Option<PathBuf>,
    /// The other way round; a warp needs it.
    pub invxfm: Option<PathBuf>,
    /// Image of the seed space.
    pub seedref: Option<PathBuf>,
    /// What coordinates of surfaces count in.
    pub mesh_space: MeshSpace,
    /// Of a triangle that is crossed only the nearest vertex is met.
    pub closest_vertex: bool,
    /// Samples per seed.
    pub n_samples: u32,
    /// Radius of the sphere to start in, mm.
    pub sampvox_mm: f32,
    /// Steps, fibres, curvature.
    pub propagation: Propagation,
    /// What differs from place to place.
    pub local: LocalFiles,
    /// Regions.
    pub regions: RegionFiles,
    /// Say what was read.
    pub is_verbose: bool,
    /// Write every path.
    pub save_paths: bool,
    /// Seed of the random numbers.
    pub rng_seed: u64,
    /// Fixed numbers instead, one particle at a time.
    pub sequence: Option<Sequence>,
}

/// Which sparse matrices are wanted, and what they count.
#[derive(Clone, Debug, Default)]
pub struct MatrixFiles {
    /// From seed to seed.
    pub omatrix1: bool,
    /// Least length of what it counts, mm.
    pub distthresh1: f32,
    /// From seed to voxel of `target2`.
    pub omatrix2: bool,
    /// A mask on a grid of its own.
    pub target2: Option<PathBuf>,
    /// Between the places of `target3`, or from these to those of `lrtarget3`.
    pub omatrix3: bool,
    /// Rows, and columns too where there are no others.
    pub target3: Option<PathBuf>,
    /// Columns.
    pub lrtarget3: Option<PathBuf>,
    /// Least length of what matrix 3 counts, mm.
    pub distthresh3: f32,
}

/// Files of regions, each an image or a list of images.
#[derive(Clone, Debug, Default)]
pub struct RegionFiles {
    /// Inclusion.
    pub waypoints: Option<PathBuf>,
    /// One is enough.
    pub any: bool,
    /// In the order of the list.
    pub in_order: bool,
    /// By each half.
    pub by_each_half: bool,
    /// Exclusion.
    pub avoid: Option<PathBuf>,
    /// Termination.
    pub stop: Option<PathBuf>,
    /// Termination on leaving.
    pub wtstop: Option<PathBuf>,
    /// Least length of a half, mm.
    pub least_length_mm: f32,
    /// Neither exclusion nor termination at the first point.
    pub force_first_step: bool,
}

/// Why it cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum Probtrackx2Error {
    /// The samples.
    #[error(transparent)]
    Samples(#[from] BedpostxError),
    /// An image.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// An image on another grid.
    #[error(transparent)]
    Grid(#[from] GridMismatch),
    /// A surface to write.
    #[error(transparent)]
    Gifti(#[from] GiftiError),
    /// A surface to start from or to cross.
    #[error(transparent)]
    Surface(#[from] SurfaceError),
    /// A warp.
    #[error("{}: {source}", path.display())]
    Warp {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: WarpError,
    },
    /// Outputs.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A list that does not hold numbers.
    #[error(transparent)]
    Numbers(#[from] NumbersError),
    /// A text file.
    #[error("{}: {reason}", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Nothing of this name.
    #[error("there is neither an image nor a list called {}", .0.display())]
    Missing(PathBuf),
    /// No seeds.
    #[error("{} has no voxel and no vertex above zero: nowhere to start from", .0.display())]
    NoSeeds(PathBuf),
    /// Options that need others.
    #[error("{0}")]
    Options(&'static str),
    /// A matrix without inverse.
    #[error(transparent)]
    Singular(#[from] SingularTransform),
    /// A file that is no transform.
    #[error(transparent)]
    Transform(#[from] TransformError),
    /// Stopped.
    #[error(transparent)]
    Interrupted(#[from] fimbria_compute::Interrupted),
}

impl Stage for Probtrackx2 {
    fn name(&self) -> &'static str {
        "probtrackx2"
    }

    /// Every file that is read, with what names it: images found by base name, and what lists name.
    fn inputs(&self) -> Vec<Input> {
        let Self { samples, mask, seed, regions, matrices, local, .. } = self;
        let named = [
            ("mask", Some(mask)),
            ("seed", Some(seed)),
            ("seedref", self.seedref.as_ref()),
            ("xfm", self.xfm.as_ref()),
            ("invxfm", self.invxfm.as_ref()),
            ("targetmasks", self.target_masks.as_ref()),
            ("fopd", self.fopd.as_ref()),
            ("waypoints", regions.waypoints.as_ref()),
            ("avoid", regions.avoid.as_ref()),
            ("stop", regions.stop.as_ref()),
            ("wtstop", regions.wtstop.as_ref()),
            ("prefdir", local.prefdir.as_ref()),
            ("locfibchoice", local.locfibchoice.as_ref()),
            ("loccurvthresh", local.loccurvthresh.as_ref()),
            ("no_integrity", local.skip.as_ref()),
            ("target2", matrices.target2.as_ref()),
            ("target3", matrices.target3.as_ref()),
            ("lrtarget3", matrices.lrtarget3.as_ref()),
        ];
        let named = named.into_iter().filter_map(|(role, path)| Some((role, path?)));
        let mut inputs = vec![("samples".to_owned(), samples.clone())];
        for (role, path) in named {
            let file = inputs::image_called(path).unwrap_or_else(|| path.clone());
            if inputs::is_list(&file) {
                let listed = inputs::files(&file).unwrap_or_default();
                inputs.extend(listed.into_iter().map(|file| (format!("{role} listed"), file)));
            }
            inputs.push((role.to_owned(), file));
        }
        inputs
    }

    fn parameters(&self) -> Value {
        // Whole, so that a new one is not forgotten.
        let Self {
            samples: _,
            mask: _,
            seed: _,
            out,
            simple,
            network,
            opd,
            pd,
            ompl,
            os2t,
            target_masks: _,
            s2t_as_text,
            otargetpaths,
            fopd: _,
            opathdir,
            matrices,
            xfm: _,
            invxfm: _,
            seedref: _,
            mesh_space,
            closest_vertex,
            n_samples,
            sampvox_mm,
            propagation,
            local,
            regions,
            is_verbose: _,
            save_paths,
            rng_seed,
            sequence,
        } = self;
        let MatrixFiles {
            omatrix1,
            distthresh1,
            omatrix2,
            target2: _,
            omatrix3,
            target3: _,
            lrtarget3: _,
            distthresh3,
        } = matrices;
        let LocalFiles {
            prefdir: _,
            locfibchoice: _,
            loccurvthresh: _,
            skip: _,
            noprobinterpol,
            onewayonly,
        } = local;
        let RegionFiles {
            waypoints: _,
            any,
            in_order,
            by_each_half,
            avoid: _,
            stop: _,
            wtstop: _,
            least_length_mm,
            force_first_step,
        } = regions;
        json!({
            "out": out, "simple": simple, "network": network, "opd": opd, "pd": pd, "ompl": ompl,
            "os2t": os2t, "s2tastext": s2t_as_text, "otargetpaths": otargetpaths,
            "noprobinterpol": noprobinterpol, "onewayonly": onewayonly, "opathdir": opathdir,
            "omatrix1": omatrix1, "distthresh1": distthresh1, "omatrix2": omatrix2,
            "omatrix3": omatrix3, "distthresh3": distthresh3,
            "meshspace": mesh_space.name(), "closestvertex": closest_vertex,
            "nsamples": n_samples, "sampvox": sampvox_mm,
            "propagation": propagation_parameters(propagation),
            "waycond": if *any { "OR" } else { "AND" }, "wayorder": in_order,
            "onewaycondition": by_each_half, "distthresh": least_length_mm,
            "forcefirststep": force_first_step, "savepaths": save_paths, "rseed": rng_seed,
            "rng": sequence.map_or("philox".to_owned(), |sequence| format!("{sequence:?}")),
        })
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        self.compute_into(products, None, log)
    }

    /// With `--simple` maps are written as they come, one for each point.
    fn compute_into(
        &self,
        _products: &mut Products,
        out: Option<&mut OutputFolder>,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let out = out.ok_or("one process does probtrackx2")?;
        self.run(log, out)?;
        let command = format!("{}\n", log.session().command_line.join(" "));
        out.write("probtrackx.log", command.as_bytes())?;
        Ok(())
    }
}

/// How streamlines are propagated, as records list it.
fn propagation_parameters(propagation: &Propagation) -> Value {
    let Propagation {
        step_mm,
        max_points,
        min_cos,
        fibre_threshold,
        use_fraction,
        modified_euler,
        loop_check,
        first_fibre,
        // Those of the command.
        sample_choice: _,
        ends_inside: _,
    } = propagation;
    let first_fibre = match first_fibre {
        FirstFibre::Number(0) => "largest".to_owned(),
        FirstFibre::Number(number) => format!("number {}", number + 1),
        FirstFibre::Uniform => "uniform".to_owned(),
        FirstFibre::Proportional => "proportional".to_owned(),
        FirstFibre::Any => "any".to_owned(),
    };
    json!({
        "step_mm": step_mm, "max_points": max_points, "min_cos": min_cos,
        "fibre_threshold": fibre_threshold, "use_fraction": use_fraction,
        "modified_euler": modified_euler, "loop_check": loop_check, "first_fibre": first_fibre,
    })
}
