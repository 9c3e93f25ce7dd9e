//! `fimbria bench qsm`

mod paper;
mod products;
mod solvers;

use std::path::PathBuf;

use clap::Args;
use fimbria_cluster::World;
use fimbria_compute::{SimdLevel, Workers};
use fimbria_pipeline::options::{Described as _, Takes, within};
use fimbria_qsm::{FieldModel, Geometry, Products, Shape};

use self::products::Rows;
use super::table::{Table, number, words};
use crate::simd::simd_level;
use crate::{Console, Failure, Machine, SharedBenchmark, usage};

/// Time the products and solvers of diffusion-guided susceptibility mapping
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub struct BenchQsm {
    /// Voxels along each side of the volumes to time
    #[arg(long, value_name = "N", num_args = 1.., default_values_t = [32, 48, 64])]
    #[arg(number = within(8_u32, 512, ""))]
    sides: Vec<u32>,

    /// Part of the voxels that are cylinders
    #[arg(long, value_name = "SHARE", default_value_t = 1.0 / 3.0)]
    #[arg(number = within(0.0, 1.0, ""))]
    cylinders: f64,

    /// Leave out the dense product and the plain loop, which take longest
    #[arg(long)]
    fast_only: bool,

    /// Leave out the paper's own problem
    #[arg(long)]
    no_paper: bool,

    /// Voxels along each side of the paper's problem; 80 has as many pairs as its mouse brain
    #[arg(long, value_name = "N", default_value_t = 80, conflicts_with = "no_paper")]
    #[arg(number = within(8_u32, 512, ""))]
    paper_side: u32,

    /// Draw the paper's two figures into this folder, as SVG
    #[arg(long, value_name = "FOLDER", conflicts_with = "no_paper")]
    #[arg(takes = Takes::FOLDER)]
    figures: Option<PathBuf>,

    /// Leave out the comparison of solvers
    #[arg(long)]
    no_solvers: bool,

    /// SIMD level of the threads: scalar, avx2, avx512 or neon
    #[arg(usually = "the widest")]
    #[arg(long, value_name = "LEVEL", value_parser = simd_level)]
    simd: Option<SimdLevel>,
}

const HELP: &str = "\
Outputs, on standard output:
  A row per product and place for each volume (every voxel unknown and receiver, cylinders along
  axes that turn smoothly):
    s         wall time of A x
    s adj.    wall time of A' y: both together are one Landweber iteration
    cpu s     processor time of A x, of all threads: what to trust on a busy machine
    ns/pair   processor time over all pairs of a voxel and a voxel
    ratio     the plain loop's processor time over this one's
  The plain loop (scalar f32, one thread) is timed on 1 % of the rows and scaled; the dense product,
  where it would take long, on as many planes of receivers as hold 4·10^9 pairs, and scaled. Then
  the paper's own table, on a volume with as many pairs as its mouse brain, for each number of
  threads, devices together and, under mpirun, processes: seconds for each Landweber iteration, the
  speed-up over one thread (its Figure 1), and the time to the end (its Figure 2; 1100 iterations,
  as its 16 h at 52 s each). The plain loop's row there is twice its A x, timed and scaled as above.
  With --figures, of each product: speed-up-dense.svg, minutes-to-end-dense.svg and so on. Then
  iterations, products with A and time that solvers need to reach the objective of 100 Landweber
  iterations, on 24^3 voxels.

Several processes:
  `mpirun --bind-to none -n 2 fimbria bench qsm --figures FOLDER` of a program built with MPI: the
  first measures by itself, while the others sleep, then all of them, those of a machine with equal
  parts of the threads.";

impl SharedBenchmark for BenchQsm {
    /// The first process measures, and all share the paper's problem.
    fn run(
        self,
        machine: Machine,
        world: &mut World,
        console: &dyn Console,
    ) -> Result<(), Failure> {
        let Self { sides, cylinders, fast_only, no_paper, paper_side, figures, no_solvers, simd } =
            self;
        if !(0.0..=1.0).contains(&cylinders) {
            return Err(usage("--cylinders is a share, 0 to 1"));
        }
        let at_level = |workers: Workers| match simd {
            Some(level) => workers.with_simd(level),
            None => workers,
        };
        let with = |threads: usize| Ok(at_level(Workers::new(threads)?));
        let counts = machine.thread_counts();
        let Machine { workers, devices, devices_only } = machine;
        let all = at_level(workers);
        let which: &[Products] =
            if fast_only { &[Products::Fast] } else { &[Products::Dense, Products::Fast] };
        let is_first = world.comm().rank() == 0;
        if is_first {
            let pools = counts.iter().map(|&count| with(count)).collect::<Result<Vec<_>, _>>()?;
            let table = Table::begin(
                console,
                [
                    number("side", 4),
                    words("product", 8),
                    words("on", 28),
                    number("s", 8),
                    number("s adj.", 8),
                    number("cpu s", 8),
                    number("ns/pair", 8),
                    number("ratio", 7),
                ],
            )?;
            for side in sides {
                let rows = Rows::new(&table, side as usize, cylinders);
                rows.all((&pools, &all), &devices, which, console)?;
            }
        }
        if !no_paper {
            let side = paper_side as usize;
            let problem = paper::Problem { side, cylinders, which, devices_only };
            problem.table(console, &all, &with, &devices, world, figures.as_deref())?;
        }
        if is_first && !no_solvers && !devices_only {
            solvers::table(console, cylinders, &all)?;
        }
        // What is left is the first's: the others do not take its cores while they wait for its end.
        world.wait_asleep();
        Ok(())
    }
}

/// A cube of voxels, cylinders mixed among spheres; seen from all of it, or from some planes.
fn cube(side: usize, cylinders: f64, planes: Option<usize>) -> Result<FieldModel, Failure> {
    let geometry =
        Geometry { dims: [side; 3], spacing: [1.0; 3], b0: [0.0, 0.0, 1.0], reversed: [false; 3] };
    let mask: Vec<u32> = (0..geometry.len() as u32).collect();
    let shape = |&voxel: &u32| {
        let [x, y, z] = geometry.voxel(voxel as usize).map(|i| i as f64 / 10.0);
        let axis = [(x + z).sin(), (y - 0.3).cos(), (x * y).sin() + 0.2];
        let length = axis.iter().map(|a| a * a).sum::<f64>().sqrt();
        // A golden-ratio sequence spreads them evenly.
        let turn = (f64::from(voxel) * 0.618_033_988_749_895).fract();
        if turn < cylinders { Shape::Cylinder(axis.map(|a| a / length)) } else { Shape::Sphere }
    };
    let shapes = mask.iter().map(shape).collect();
    let plane = side * side;
    let receivers = planes.map_or(0..geometry.len(), |planes| {
        let first = (side - planes) / 2 / 4 * 4;
        first * plane..(first + planes) * plane
    });
    let receivers: Vec<u32> = receivers.map(|v| v as u32).collect();
    Ok(FieldModel::new(&geometry, &mask, shapes, &receivers)?)
}

/// Numbers of either sign.
fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 37 % 101) as f32 - 50.0) * 1e-3).collect()
}
