//! `fimbria eigen`

use clap::Args;
use fimbria_compute::comm::Solo;
use fimbria_pipeline::Writes;
use fimbria_pipeline::stages::eigen::{EIGEN_WRITES, EigenOptions, FindEigenpairs};

use crate::args::{DeviceArgs, OutputArgs, ThreadArgs};
use crate::commands::run_stages_in;
use crate::console::Console;
use crate::failure::Failure;

/// Find all real eigenpairs of symmetric tensors of any order and dimension
#[derive(Debug, Args)]
#[command(add = Writes(EIGEN_WRITES), after_long_help = HELP)]
pub(crate) struct Eigen {
    #[command(flatten)]
    options: EigenOptions,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    devices: DeviceArgs,
}

const HELP: &str = "\
Input:
  {\"order\": 4, \"dimension\": 3, \"tensors\": [[15 unique entries], ...]}
  For generalised pairs A x^(m-1) = λ B x^(m-1), with B positive definite and m even, a tensor is
  {\"a\": [...], \"b\": [...]}, or the file has a list \"b\" beside \"tensors\" with the entries of
  each tensor's B (or null).
  An array of numpy (.npy) has a row of unique entries for each tensor, f4 or f8; the order follows
  from how many they are and --dimension. An image (.nii, .nii.gz, .mif) has a volume for each
  entry, in dimension 3: fit hot's, kurtosis W, or any other order.

Outputs:
{outputs}
  kind is maximum, minimum or saddle of A x^m (over B x^m) on the unit sphere, by the eigenvalues
  of the projected second derivative. residual is |A x^(m-1) - λ x| (or - λ B x^(m-1)).
  A pair whose second derivative is singular has \"degenerate\": true. It may be one of a continuum
  (every x for a multiple of the identity, a circle for a rank-1 tensor): one pair is listed for
  all degenerate ones with the same λ, its kind is that of the values nearby. Of order 2, a whole
  orthonormal basis is listed.
  A tensor whose pairs cannot be all (the indices of critical points have a known alternating
  sum) has \"incomplete\": true; more --starts help.
  With --shift and in single precision, each tensor also has the numbers of starts \"converged\" and
  \"not_converged\".

Units:
  λ and residual are in the unit of the entries (λ with B: in that of A over that of B); x has
  length 1.

Order and frame:
  Unique entries are in lexicographic order of their indices (1111 1112 1113 1122 ...), not
  multiplied by their multiplicities. Pairs are sorted, largest λ first. Of x and -x one is listed:
  of even order that whose largest component is positive, of odd order that with λ >= 0. x is in
  the frame of the entries.

References:
  Ballard, Kolda, Plantenga 2011, Efficiently computing tensor eigenvalues on a GPU
  Kolda, Mayo 2011, SIAM J. Matrix Anal. Appl. 32:1095 and 2014, 35:1563
  Jaffe, Weiss, Nadler 2018, SIAM J. Matrix Anal. Appl. 39:1071";

impl Eigen {
    pub(crate) fn run(self, console: &Console) -> Result<(), Failure> {
        let Self { options, output, threads, devices } = self;
        let file = output.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let find = FindEigenpairs { options, file };
        let folder = |planned: &[String]| output.file(planned, console);
        run_stages_in("eigen", &[&find], &folder, &Solo, threads, devices, console)
    }
}
