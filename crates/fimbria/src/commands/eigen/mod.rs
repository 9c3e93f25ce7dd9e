//! `fimbria eigen`

mod input;

use std::path::PathBuf;

use clap::Args;
use fimbria_compute::{Backend, Progress as _};
use fimbria_pipeline::{Hashing, Logbook};
use fimbria_tensors::pairs::{Pair, PairFinder, Search};
use fimbria_tensors::sshopm::{Extremum, Shift};
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::args::{OutputArgs, ThreadArgs};
use crate::commands::{command_line, session};
use crate::console::Console;
use crate::failure::Failure;
use input::{EigenError, Entries, Tensors};

/// Find all real eigenpairs of symmetric tensors of any order and dimension
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Eigen {
    /// File of tensors (JSON)
    tensors: PathBuf,

    /// Largest residual of a pair, relative to the Frobenius norm of A (plus |λ| times that of B)
    #[arg(long, value_name = "T", default_value_t = Search::default().tolerance)]
    #[arg(help_heading = "Search")]
    tolerance: f64,

    /// Starts to follow for each tensor [default: as many as seem needed; 128 with --shift]
    #[arg(long, value_name = "N", help_heading = "Search")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    starts: Option<u32>,

    /// Seed of the random starts
    #[arg(long, value_name = "SEED", default_value_t = 0, help_heading = "Search")]
    rng_seed: u64,

    /// Use the shifted power method (SS-HOPM) alone, from random starts, with this shift: maxima
    /// for 0 and above, minima below; `maxima` and `minima` adapt the shift in every iteration.
    /// Starts that do not converge in 1000 iterations are counted
    #[arg(long, value_name = "ALPHA", help_heading = "Search", value_parser = shift)]
    #[arg(allow_hyphen_values = true)]
    shift: Option<Shift>,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    threads: ThreadArgs,
}

const HELP: &str = "\
Input:
  {\"order\": 4, \"dimension\": 3, \"tensors\": [[15 unique entries], ...]}
  For generalised pairs A x^(m-1) = λ B x^(m-1), with B positive definite and m even, a tensor is
  {\"a\": [...], \"b\": [...]}, or the file has a list \"b\" beside \"tensors\" with the entries of
  each tensor's B (or null).

Outputs:
  OUT           {\"tensors\": [{\"pairs\": [{\"lambda\": L, \"x\": [...], \"kind\": \"maximum\",
                \"residual\": R}, ...]}, ...]}, one for each tensor of the input, in its order
  OUT.run.json  what was done
  kind is maximum, minimum or saddle of A x^m (over B x^m) on the unit sphere, by the eigenvalues
  of the projected second derivative. residual is |A x^(m-1) - λ x| (or - λ B x^(m-1)).
  A pair whose second derivative is singular has \"degenerate\": true. It may be one of a continuum
  (every x for a multiple of the identity, a circle for a rank-1 tensor): one pair is listed for
  all degenerate ones with the same λ, its kind is that of the values nearby. Of order 2, a whole
  orthonormal basis is listed.
  A tensor whose pairs cannot be all (the indices of critical points have a known alternating
  sum) has \"incomplete\": true; more --starts help.
  With --shift, each tensor also has the numbers of starts \"converged\" and \"not_converged\".

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
        let Self { tensors: path, tolerance, starts, rng_seed, shift, output, threads } = self;
        let name = output.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut out = output.file(std::slice::from_ref(&name), console)?;
        let workers = threads.start()?;
        let command_line = command_line();
        let log = Logbook::new(session(Backend::cpu(&workers), console, &command_line));

        let hashing = Hashing::start(vec![("tensors".to_owned(), path.clone())]);
        let input = log.stage("read", || Tensors::read(&path))?;
        let finder = PairFinder::new(input.order, input.dimension).map_err(EigenError::Size)?;
        let tensors = input.into_entries()?;
        let starts = starts.map(|starts| starts as usize);
        let task = Task {
            finder: &finder,
            search: Search { starts, seed: rng_seed, tolerance },
            shift,
            log: &log,
        };
        let answers = log.stage("eigen", || {
            log.start("finding eigenpairs", tensors.len() as u64);
            let answers: Result<Vec<_>, EigenError> = workers.install(|| {
                tensors
                    .par_iter()
                    .enumerate()
                    .map(|(index, entries)| task.of(index, entries))
                    .collect()
            });
            let answers = answers?;
            log.count("tensors", answers.len() as u64);
            log.count("pairs", answers.iter().map(|answer| answer.pairs as u64).sum());
            log.count(
                "incomplete",
                answers.iter().map(|answer| u64::from(answer.incomplete)).sum(),
            );
            Ok::<_, EigenError>(answers)
        })?;
        for (index, _) in
            answers.iter().enumerate().filter(|(_, answer)| answer.incomplete).take(10)
        {
            log.warn(&format!("tensors[{index}]: pairs are missing; try more --starts"));
        }
        let answers: Vec<Value> = answers.into_iter().map(|answer| answer.json).collect();
        let mut text = serde_json::to_string_pretty(&json!({ "tensors": answers }))?;
        text.push('\n');
        out.write(&name, text.as_bytes())?;
        let parameters = json!({
            "order": finder.layout().order(),
            "dimension": finder.layout().dimension(),
            "tolerance": tolerance,
            "starts": starts,
            "rng_seed": rng_seed,
            "shift": shift.map(shift_name),
        });
        out.commit(log.record("eigen", hashing.finish()?, parameters))?;
        Ok(())
    }
}

/// What is done with each tensor.
struct Task<'a> {
    finder: &'a PairFinder,
    search: Search,
    shift: Option<Shift>,
    log: &'a Logbook<'a>,
}

/// What is said of one tensor.
struct Answer {
    json: Value,
    pairs: usize,
    incomplete: bool,
}

impl Task<'_> {
    fn of(&self, index: usize, entries: &Entries) -> Result<Answer, EigenError> {
        /// The paper's number.
        const STARTS_OF_THE_POWER_METHOD: usize = 128;
        let Entries { a, b } = entries;
        let b = b.as_deref();
        let Self { finder, search, shift, log } = self;
        let answer = match shift {
            None => finder.find(a, b, index as u64, search, *log).map(|found| {
                let mut json = json!({ "pairs": pairs_json(&found.pairs) });
                if !found.balanced {
                    json["incomplete"] = true.into();
                }
                Answer { json, pairs: found.pairs.len(), incomplete: !found.balanced }
            }),
            Some(shift) => {
                let starts = search.starts.unwrap_or(STARTS_OF_THE_POWER_METHOD);
                let reached = finder.reach(a, b, index as u64, starts, *shift, search, *log);
                reached.map(|reached| Answer {
                    json: json!({
                        "pairs": pairs_json(&reached.pairs),
                        "converged": reached.converged,
                        "not_converged": reached.not_converged,
                    }),
                    pairs: reached.pairs.len(),
                    incomplete: false,
                })
            }
        };
        log.advance(1);
        answer.map_err(|source| EigenError::Tensor { index, source })
    }
}

fn pairs_json(pairs: &[Pair]) -> Value {
    let pair = |pair: &Pair| {
        let Pair { lambda, x, kind, residual, degenerate } = pair;
        let mut json =
            json!({ "lambda": lambda, "x": x, "kind": kind.name(), "residual": residual });
        if *degenerate {
            json["degenerate"] = true.into();
        }
        json
    };
    pairs.iter().map(pair).collect()
}

/// `0.5`, `maxima` or `minima`
fn shift(text: &str) -> Result<Shift, String> {
    match text {
        "maxima" => Ok(Shift::Adaptive(Extremum::Maximum)),
        "minima" => Ok(Shift::Adaptive(Extremum::Minimum)),
        number => match number.parse::<f64>() {
            Ok(alpha) if alpha.is_finite() => Ok(Shift::Fixed(alpha)),
            _ => Err("write a number, maxima or minima".to_owned()),
        },
    }
}

/// The shift as it is written on the command line.
fn shift_name(shift: Shift) -> String {
    match shift {
        Shift::Fixed(alpha) => alpha.to_string(),
        Shift::Adaptive(Extremum::Maximum) => "maxima".to_owned(),
        Shift::Adaptive(Extremum::Minimum) => "minima".to_owned(),
    }
}
