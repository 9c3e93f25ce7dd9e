//! `fimbria bench sshopm`
//!
//! * `place`: where a batch runs, how it is timed; `set`: the tensors and starts of the tables
//! * `storage`: Table II, beside `dense` tensors; `rates`: Table III; `sizes`: Figure 5; `larger`: other orders, dimensions

mod dense;
mod larger;
mod processor;
mod rates;
mod set;
mod sizes;
mod storage;

use std::path::PathBuf;

use clap::Args;
use fimbria_pipeline::options::{Described as _, Takes, one_of, within};
use fimbria_tensors::batch::{Shift, Stop, nominal_flops};

use self::processor::Processor;
use self::set::Set;
use crate::{Benchmark, Console, Failure, Machine};

/// Time SS-HOPM as the paper's tables do, beside a naive loop and what the hardware attains
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub struct BenchSshopm {
    /// Orders of the tensors, separated by commas: 4, 6, 8
    #[arg(long, value_name = "ORDERS", value_delimiter = ',', default_values_t = [4, 6])]
    #[arg(number = one_of(&[4_usize, 6, 8]))]
    order: Vec<usize>,

    /// Tensors, rounded up to whole rows of 32
    #[arg(long, value_name = "N", default_value_t = 1024)]
    #[arg(number = within(1_u32, 1_000_000, ""))]
    tensors: u32,

    /// Starting vectors of each tensor, random in the cube
    #[arg(long, value_name = "N", default_value_t = 128)]
    #[arg(number = within(1_u32, 4096, ""))]
    starts: u32,

    /// Iterations where their number is fixed
    #[arg(long, value_name = "N", default_value_t = 20)]
    #[arg(number = within(1_u32, 10_000, ""))]
    iterations: u32,

    /// Change of λ, relative to λ, at which an iteration stops otherwise: 1e-7 to 0.1
    #[arg(long, value_name = "X", default_value_t = 1e-6)]
    #[arg(number = within(1e-7_f32, 0.1, ""))]
    tolerance: f32,

    /// Iterations after which it stops all the same
    #[arg(long, value_name = "N", default_value_t = 200)]
    #[arg(number = within(1_u32, 10_000, ""))]
    max_iterations: u32,

    /// Also sets of 1, 2, 4 ... tensors, as in the paper's Figure 5
    #[arg(long)]
    figure: bool,

    /// Draw the paper's Figure 5 into this folder, as SVG
    #[arg(long, value_name = "FOLDER", requires = "figure")]
    #[arg(takes = Takes::FOLDER)]
    figures: Option<PathBuf>,

    /// Also larger orders and dimensions, and where each kind of product stops paying
    #[arg(long)]
    larger: bool,
}

const HELP: &str = "\
Outputs, on standard output, for each order:
  Table II     stored values and flops of A x^m and of A x^(m-1): of the tensor with all its
               entries, and of its unique entries; each timed (plain loops, one thread)
  Table III    milliseconds for all tensors and starts: with a fixed number of iterations; until λ
               rests, without a shift; until λ rests, with the adaptive shift
  Figure 5     --figure: sets of 1, 2, 4 ... tensors
  larger       --larger: microseconds per iteration of other orders and dimensions, one thread

Products:
  general      indices computed on the fly; with one thread this is the naive loop
  tables       the same with precomputed indices and multinomials; devices have these only
  blocked      16 starts at once in register tiles, any order and dimension (--larger)
  plain        unrolled as in the paper, every term by itself (on threads order 4 and 6)
  shared       unrolled, from A x^(m-2) with shared subexpressions

Columns:
  ms           wall time; devices: tensors and starts are there already, endpoints stay there.
               `~`: timed on every 17th tensor, and multiplied
  GFLOPS       nominal: iterations times the flops of plain sums, as stated above the table, to set
               beside the paper's
  executed     GFLOP/s really done, a multiply-add being two, where the count is known: of plain
               products the compiler merges what their terms share
  of peak      executed over the multiply-add rate that was measured in the same place
  iterations   mean of all starts
  at rest      share of starts whose λ met the tolerance
  ratio        the naive loop's time over this one; with the adaptive shift, that of the naive loop
               without a shift

  The paper (2011, order 4): 2451 ms general and 289 ms unrolled on one core of a Nehalem, 1.9 ms on
  a Tesla C2050; its tolerance is not stated.

Data:
  `fimbria phantom tensors` with 2 % of noise: one or two fibres in each tensor.

References:
  Ballard, Kolda, Plantenga 2011, Efficiently computing tensor eigenvalues on a GPU
  Kolda, Mayo 2014, An adaptive shifted power method for computing generalized tensor eigenpairs";

/// Fixed and by tolerance: when iterations end.
#[derive(Clone, Copy, Debug)]
struct Stops {
    iterations: u32,
    tolerance: f32,
    max_iterations: u32,
}

impl Stops {
    fn fixed(self) -> Stop {
        Stop::Iterations(self.iterations)
    }

    fn at_rest(self) -> Stop {
        Stop::Tolerance { tolerance: self.tolerance, max_iterations: self.max_iterations }
    }
}

impl Benchmark for BenchSshopm {
    fn run(self, machine: Machine, console: &dyn Console) -> Result<(), Failure> {
        let Self {
            order,
            tensors,
            starts,
            iterations,
            tolerance,
            max_iterations,
            figure,
            figures,
            larger,
        } = self;
        let stops = Stops { iterations, tolerance, max_iterations };
        let counts = machine.thread_counts();
        let Machine { devices, devices_only, .. } = machine;
        let places = Processor::all(&counts, devices, console)?;
        for order in order {
            let set = Set::new(order, tensors, starts)?;
            console.print(&format!(
                "\nOrder {order}, dimension 3: {} tensors, {starts} starts each; nominal flops of an \
                 iteration {}, with a shift {}\n",
                set.len(),
                nominal_flops(set.layout(), Shift::Fixed(0.0)),
                nominal_flops(set.layout(), Shift::Adaptive),
            ))?;
            if !devices_only {
                storage::print(&set, console)?;
            }
            rates::print(&set, stops, &places, console)?;
            if figure {
                sizes::print(&set, stops, &places, figures.as_deref(), console)?;
            }
        }
        if larger {
            larger::print(&places, console)?;
        }
        Ok(())
    }
}
