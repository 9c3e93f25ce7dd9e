//! `fimbria phantom tensors`

use clap::Args;
use fimbria_phantoms::TensorsSpec;
use fimbria_pipeline::stages::tensors::TensorsPhantom;

use super::Making;
use crate::console::Console;
use crate::failure::Failure;

/// A sheet of higher-order tensors with one or two fibres per voxel
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Tensors {
    /// Number of voxels along x and y
    #[arg(long, value_name = "NX,NY", default_value = "32,32", value_parser = two::<usize>)]
    size: [usize; 2],

    /// Order of the tensors: 4, 6 or 8
    #[arg(long, value_name = "M", default_value_t = 4)]
    order: usize,

    /// Crossing angles in degrees at the least and at the greatest x, linear in between
    #[arg(long, value_name = "DEG,DEG", default_value = "60,90", value_parser = two::<f64>)]
    angles: [f64; 2],

    /// Standard deviation of the noise on every entry, relative to the maximum of a single fibre
    #[arg(long, value_name = "SIGMA", default_value_t = 0.0)]
    noise: f64,

    /// Seed of fractions, tilts and noise
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    rng_seed: u64,

    #[command(flatten)]
    making: Making,
}

const HELP: &str = "\
Outputs:
  hot               unique entries of the form 0.1 |g|^m + sum f_k (u_k.g)^m of the fibres u_k
                    (15, 28 or 45 volumes for order 4, 6, 8): what `fimbria peaks` reads
  truth/dirs        6 volumes: x y z of two fibres, larger fraction first, 0 = none
  truth/fractions   2 volumes: f of each; 1 for a single fibre, 0.4 to 0.6 for two
  truth/count       number of fibres: 2 in the middle half of the rows, 1 elsewhere
  truth/angle       angle between the fibres, degrees; NaN with one
  run.json          parameters, machine, times

Units:
  Angles in degrees; the form has none.

Order and frame:
  Unique entries in lexicographic order of their indices (1111 1112 1113 1122 ...), not multiplied
  by their multiplicities. Entries and directions are in scanner RAS axes.

References:
  After the test set of Ballard, Kolda, Plantenga 2011, Efficiently computing tensor eigenvalues
  on a GPU: 32 x 32 voxels of order 4.";

impl Tensors {
    pub(super) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { size, order, angles, noise, rng_seed, making } = self;
        let spec = TensorsSpec { size, order, angles_deg: angles, noise, seed: rng_seed };
        making.run(|format| Box::new(TensorsPhantom { spec, format }), console)
    }
}

/// Two numbers separated by a comma, or one for both.
fn two<T: std::str::FromStr + Copy>(text: &str) -> Result<[T; 2], String> {
    let numbers: Result<Vec<T>, _> = text.split(',').map(|part| part.trim().parse()).collect();
    match numbers.as_deref() {
        Ok(&[both]) => Ok([both; 2]),
        Ok(&[x, y]) => Ok([x, y]),
        _ => Err("write one number, or two separated by a comma".to_owned()),
    }
}
