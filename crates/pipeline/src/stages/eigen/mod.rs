//! The stage that finds the eigenpairs of symmetric tensors of any order and dimension.

mod input;

use std::path::PathBuf;

use clap::Args;
use fimbria_compute::Progress as _;
use fimbria_tensors::pairs::{Pair, PairFinder, Search};
use fimbria_tensors::sshopm::{Extremum, Shift};
use rayon::prelude::*;
use serde_json::{Value, json};

pub use self::input::{EigenError, Entries, Tensors};

use crate::options::{Described as _, FileType, Takes, above, at_least};
use crate::{
    FileKind, Input, Logbook, OutputFolder, Page, Product, Products, Stage, StageError, Written,
};

/// What `fimbria eigen` writes.
pub const EIGEN_WRITES: &[Written] = &[
    Written::file(
        "OUT",
        FileKind::Json,
        "{\"tensors\": [{\"pairs\": [{\"lambda\": L, \"x\": [...], \"kind\": \
         \"maximum\", \"residual\": R}, ...]}, ...]}, one for each tensor of the \
         input, in its order",
    ),
    Written::RECORD_BESIDE,
];

/// What is looked for.
#[derive(Clone, Debug, Args)]
pub struct EigenOptions {
    /// File of tensors (JSON)
    #[arg(takes = Takes::any_of(&[FileType::Json]))]
    pub tensors: PathBuf,

    /// Largest residual of a pair, relative to the Frobenius norm of A (plus |λ| times that of B)
    #[arg(long, value_name = "T", default_value_t = Search::default().tolerance)]
    #[arg(help_heading = "Search")]
    #[arg(number = above(0.0, ""))]
    pub tolerance: f64,

    /// Starts to follow for each tensor
    #[arg(long, value_name = "N", help_heading = "Search", number = at_least(1_usize, ""))]
    #[arg(usually = "as many as seem needed; 128 with --shift")]
    pub starts: Option<usize>,

    /// Seed of the random starts
    #[arg(long, value_name = "SEED", default_value_t = 0, help_heading = "Search")]
    #[arg(number = at_least(0_u64, ""))]
    pub rng_seed: u64,

    /// Use the shifted power method (SS-HOPM) alone, from random starts, with this shift: maxima
    /// for 0 and above, minima below; `maxima` and `minima` adapt the shift in every iteration.
    /// Starts that do not converge in 1000 iterations are counted
    #[arg(long, value_name = "ALPHA", help_heading = "Search", value_parser = shift)]
    #[arg(allow_hyphen_values = true)]
    pub shift: Option<Shift>,
}

/// Finds the eigenpairs of the tensors of a file.
pub struct FindEigenpairs {
    /// What is looked for.
    pub options: EigenOptions,
    /// Name of the file to write.
    pub file: String,
}

/// The file to write.
struct Found(String);

impl FindEigenpairs {
    fn find(&self, log: &Logbook<'_>) -> Result<String, StageError> {
        let EigenOptions { tensors, tolerance, starts, rng_seed, shift } = &self.options;
        let input = Tensors::read(tensors)?;
        let finder = PairFinder::new(input.order, input.dimension).map_err(EigenError::Size)?;
        let tensors = input.into_entries()?;
        let search = Search { starts: *starts, seed: *rng_seed, tolerance: *tolerance };
        let task = Task { finder: &finder, search, shift: *shift, log };
        log.start("finding eigenpairs", tensors.len() as u64);
        let answers: Vec<Answer> = log.session().on.workers.install(|| {
            let indexed = tensors.par_iter().enumerate();
            indexed.map(|(index, entries)| task.of(index, entries)).collect::<Result<_, _>>()
        })?;
        log.count("tensors", answers.len() as u64);
        log.count("pairs", answers.iter().map(|answer| answer.pairs as u64).sum());
        let incomplete = answers.iter().enumerate().filter(|(_, answer)| answer.incomplete);
        log.count("incomplete", incomplete.clone().count() as u64);
        for (index, _) in incomplete.take(10) {
            log.warn(
                Page::Troubleshooting,
                &format!("tensors[{index}]: pairs are missing; try more --starts"),
            );
        }
        let answers: Vec<Value> = answers.into_iter().map(|answer| answer.json).collect();
        let mut text = serde_json::to_string_pretty(&json!({ "tensors": answers }))?;
        text.push('\n');
        Ok(text)
    }
}

impl Stage for FindEigenpairs {
    fn name(&self) -> &'static str {
        "eigen"
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Found>()]
    }

    fn inputs(&self) -> Vec<Input> {
        vec![("tensors".to_owned(), self.options.tensors.clone())]
    }

    fn parameters(&self) -> Value {
        let EigenOptions { tensors: _, tolerance, starts, rng_seed, shift } = &self.options;
        json!({
            "tolerance": tolerance, "starts": starts, "rng_seed": rng_seed,
            "shift": shift.map(shift_name),
        })
    }

    fn outputs(&self) -> Vec<String> {
        vec![self.file.clone()]
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        products.put(Found(self.find(log)?));
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        _log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        Ok(out.write(&self.file, products.get::<Found>()?.0.as_bytes())?)
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

/// The shift as it is written on the command line.
fn shift_name(shift: Shift) -> String {
    match shift {
        Shift::Fixed(alpha) => alpha.to_string(),
        Shift::Adaptive(Extremum::Maximum) => "maxima".to_owned(),
        Shift::Adaptive(Extremum::Minimum) => "minima".to_owned(),
    }
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
