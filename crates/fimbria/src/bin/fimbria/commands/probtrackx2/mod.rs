//! `fimbria probtrackx2`
//!
//! * `options`: files, outputs, regions; `steps`: how streamlines are propagated; `absent`: what FSL
//!   has and this program has not

mod absent;
mod options;
mod steps;

use std::path::PathBuf;

use clap::Args;
use fimbria_compute::comm::Solo;
use fimbria_pipeline::options::{Described as _, within};
use fimbria_pipeline::probtrackx2::{
    LocalFiles, MatrixFiles, PROBTRACKX2_WRITES, Probtrackx2, RegionFiles,
};
use fimbria_pipeline::{Named, OutputFolder, Writes};
use fimbria_tracking::Sequence;

use self::absent::AbsentFlags;
use self::options::{Condition, FileArgs, LocalArgs, OutputFlags, RegionArgs};
use self::steps::{Sampling, StepArgs};
use crate::args::{DeviceArgs, ThreadArgs};
use crate::commands::run_stages_in;
use crate::console::Console;
use crate::failure::Failure;

/// Track as FSL's probtrackx2 does: its options, its files, its numbers
#[derive(Debug, Args)]
#[command(add = Writes(PROBTRACKX2_WRITES), after_long_help = HELP, disable_version_flag = true)]
pub(crate) struct Probtrackx2Command {
    #[command(flatten)]
    files: FileArgs,

    #[command(flatten)]
    outputs: OutputFlags,

    #[command(flatten)]
    regions: RegionArgs,

    #[command(flatten)]
    steps: StepArgs,

    #[command(flatten)]
    local: LocalArgs,

    /// How much is said: 0, or 1 and 2 for what was read
    #[arg(short = 'V', value_name = "LEVEL", default_value_t = 0)]
    #[arg(help_heading = "Messages")]
    #[arg(number = within(0_u8, 2, ""))]
    verbosity: u8,

    #[command(flatten)]
    absent: AbsentFlags,

    /// Random numbers: philox; constant:U, always U; lcg:X, a linear congruence from X. The latter
    /// two are drawn in FSL's order by one thread, to repeat a path exactly
    #[arg(long, value_name = "RNG", default_value = "philox", value_parser = generator)]
    rng: Generator,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    devices: DeviceArgs,
}

/// What `--rng` names.
#[derive(Clone, Copy, Debug)]
enum Generator {
    Philox,
    Fixed(Sequence),
}

fn generator(text: &str) -> Result<Generator, String> {
    let wrong = "it must be philox, constant:U with U from 0 to 1, or lcg:X with X below 2^31";
    match text.split_once(':') {
        None if text == "philox" => Ok(Generator::Philox),
        Some(("constant", u)) => match u.parse::<f32>() {
            Ok(u) if (0.0..=1.0).contains(&u) => Ok(Generator::Fixed(Sequence::Constant(u))),
            _ => Err(wrong.to_owned()),
        },
        Some(("lcg", x)) => match x.parse::<u32>() {
            Ok(x) if x < 1 << 31 => Ok(Generator::Fixed(Sequence::Lcg(x))),
            _ => Err(wrong.to_owned()),
        },
        _ => Err(wrong.to_owned()),
    }
}

const HELP: &str = "\
Outputs, in the folder of --dir (images are float32, on the grid of --seedref):
{outputs}

Units:
  Millimetres; angles as cosines.

Surfaces:
  A streamline meets a surface where it crosses a triangle with a vertex whose number is not 0 (of
  any where the file has no numbers), and by that all these vertices of the triangle, or with
  --closestvertex the nearest. --wtstop ends it where it crosses the surface again.

Order and frame:
  Samples are angles in FSL's frame: voxel axes, x reversed where det(affine) > 0. Points of
  --simple are stored voxel coordinates; saved_paths.txt has radiological ones, as FSL's does. A
  surface's vertices count where their number is not 0, all where they have none; --meshspace says
  what their coordinates count in. Warps are fields of displacements or positions in FSL's
  millimetres: --xfm in the space of the samples, --invxfm in that of the seeds, as FNIRT and
  convertwarp write them.

Streamlines are FSL's to the quirk, which is right for comparison and for studies under way: the
first and the last sample have half weight, one point outside the mask is kept, each half is judged
for itself. Differences: random numbers depend on seed voxel, sample and step alone, so that threads
do not change the result; a step that starts on a surface does not cross it; matrix 4 is not there.
What differs from place to place is worked on by the threads, one streamline at a time.
`fimbria track` has plainer rules and writes streamlines.

References:
  Behrens TEJ et al. NeuroImage 34, 144 (2007)            the algorithm
  Hernandez-Fernandez M et al. NeuroImage 188, 598 (2019) its options and outputs";

impl Probtrackx2Command {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self {
            files,
            outputs,
            regions,
            steps,
            local,
            verbosity,
            absent,
            rng,
            threads,
            devices,
        } = self;
        absent.refuse()?;
        let FileArgs {
            samples,
            mask,
            seed,
            out,
            dir,
            forcedir,
            simple,
            xfm,
            invxfm,
            seedref,
            meshspace,
            closestvertex,
        } = files;
        let OutputFlags {
            opd,
            pd,
            ompl,
            os2t,
            targetmasks,
            s2tastext,
            otargetpaths,
            omatrix1,
            distthresh1,
            omatrix2,
            target2,
            omatrix3,
            target3,
            lrtarget3,
            distthresh3,
            fopd,
            opathdir,
            savepaths,
        } = outputs;
        let RegionArgs {
            waypoints,
            waycond,
            wayorder,
            onewaycondition,
            avoid,
            stop,
            wtstop,
            network,
            forcefirststep,
        } = regions;
        let LocalArgs {
            prefdir,
            locfibchoice,
            loccurvthresh,
            no_integrity,
            noprobinterpol,
            onewayonly,
        } = local;
        let mut dir = dir;
        while !forcedir && dir.exists() {
            dir = PathBuf::from(format!("{}+", dir.display()));
        }
        let (propagation, sampling) = steps.split();
        let Sampling { n_samples, sampvox_mm, least_length_mm, rng_seed } = sampling;
        let job = Probtrackx2 {
            samples,
            mask,
            seed,
            out,
            simple,
            network,
            opd,
            pd,
            ompl,
            os2t,
            target_masks: targetmasks,
            s2t_as_text: s2tastext,
            otargetpaths,
            fopd,
            opathdir,
            matrices: MatrixFiles {
                omatrix1,
                distthresh1,
                omatrix2,
                target2,
                omatrix3,
                target3,
                lrtarget3,
                distthresh3,
            },
            xfm,
            invxfm,
            seedref,
            mesh_space: meshspace.0,
            closest_vertex: closestvertex,
            is_verbose: verbosity > 0 || console.is_verbose(),
            n_samples,
            sampvox_mm,
            propagation,
            local: LocalFiles {
                prefdir,
                locfibchoice,
                loccurvthresh,
                skip: no_integrity,
                noprobinterpol,
                onewayonly,
            },
            regions: RegionFiles {
                waypoints,
                any: waycond == Named(Condition::Or),
                in_order: wayorder,
                by_each_half: onewaycondition,
                avoid,
                stop,
                wtstop,
                least_length_mm,
                force_first_step: forcefirststep,
            },
            save_paths: savepaths,
            rng_seed,
            sequence: match rng {
                Generator::Philox => None,
                Generator::Fixed(sequence) => Some(sequence),
            },
        };
        // One with a + is another folder: nothing is ever in the way.
        let folder = |_: &[String]| OutputFolder::create(&dir, &[], true, console.unfinished());
        run_stages_in("probtrackx2", &[&job], &folder, &Solo, threads, devices, console)
    }
}
