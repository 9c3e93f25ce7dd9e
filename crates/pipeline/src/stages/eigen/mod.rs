//! The stage that finds the eigenpairs of symmetric tensors of any order and dimension.

mod batch;
mod input;

use std::path::PathBuf;

use clap::Args;
use fimbria_compute::Progress as _;
use fimbria_models::dti::Precision;
use fimbria_tensors::pairs::{Extremes, Kind, Pair, PairFinder, Search, find_extremes};
use fimbria_tensors::sshopm::{Extremum, Shift};
use rayon::prelude::*;
use serde_json::{Value, json};

use self::batch::{Given, Voxel};
pub use self::input::{EigenError, Entries, Tensors};

use crate::options::{Described as _, FileType, Takes, above, at_least, choice, within};
use crate::{
    Choice, FileKind, Input, Logbook, Named, OutputFolder, Page, Product, Products, Stage,
    StageError, Written,
};

/// What `fimbria eigen` writes.
pub const EIGEN_WRITES: &[Written] = &[
    Written::file(
        "OUT",
        FileKind::Json,
        "{\"tensors\": [{\"pairs\": [{\"lambda\": L, \"x\": [...], \"kind\": \
         \"maximum\", \"residual\": R}, ...]}, ...]}, one for each tensor of the \
         input, in its order; of an image with \"voxel\": [i, j, k]",
    ),
    Written::RECORD_BESIDE,
];

/// What is looked for.
#[derive(Clone, Debug, Args)]
pub struct EigenOptions {
    /// File of tensors: JSON; an array of numpy, a row of unique entries each; or an image whose
    /// volumes are the entries, of any order
    #[arg(takes = Takes::any_of(&[FileType::Json, FileType::Array, FileType::Image]))]
    pub tensors: PathBuf,

    /// Voxels of an image to take
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    #[arg(usually = "those that are not 0", takes = Takes::MASK)]
    pub mask: Option<PathBuf>,

    /// Dimension of the tensors of an array
    #[arg(long, value_name = "N", default_value_t = 3, help_heading = "Input")]
    #[arg(number = within(1_usize, PairFinder::MAX_DIMENSION, ""))]
    pub dimension: usize,

    /// Which pairs are listed, separated by commas
    #[arg(long, value_name = "KINDS", value_delimiter = ',', help_heading = "Search")]
    #[arg(value_parser = choice::<Kind>(), usually = "all; maxima and minima in single precision")]
    pub kinds: Option<Vec<Named<Kind>>>,

    /// Arithmetic of the search. In single precision SS-HOPM leads to maxima and minima, many tensors
    /// at once, on devices too; pairs are polished in double precision
    #[arg(long, value_name = "PRECISION", default_value = "double", conflicts_with = "shift")]
    #[arg(value_parser = choice::<Precision>(), help_heading = "Search")]
    pub precision: Named<Precision>,

    /// Largest residual of a pair, relative to the Frobenius norm of A (plus |λ| times that of B)
    #[arg(long, value_name = "T", default_value_t = Search::default().tolerance)]
    #[arg(help_heading = "Search")]
    #[arg(number = above(0.0, ""))]
    pub tolerance: f64,

    /// Starts to follow for each tensor
    #[arg(long, value_name = "N", help_heading = "Search", number = at_least(1_usize, ""))]
    #[arg(usually = "as many as seem needed; 128 with --shift and in single precision")]
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
        let EigenOptions { tensors, mask, dimension, precision, .. } = &self.options;
        let workers = log.session().on.workers;
        let given = workers.install(|| Given::read(tensors, mask.as_deref(), *dimension))?;
        let finder = PairFinder::new(given.order, given.dimension).map_err(EigenError::Size)?;
        let search = self.search();
        log.start("finding eigenpairs", given.tensors.len() as u64);
        let answers = match precision.0 {
            Precision::Single => self.extremes(&finder, &given, &search, log)?,
            Precision::Double => self.pairs(&finder, &given, search, log)?,
        };
        log.count("tensors", answers.len() as u64);
        log.count("pairs", answers.iter().map(|answer| answer.pairs.len() as u64).sum());
        let incomplete = answers.iter().enumerate().filter(|(_, answer)| answer.incomplete);
        log.count("incomplete", incomplete.clone().count() as u64);
        for (index, _) in incomplete.take(10) {
            log.warn(
                Page::Troubleshooting,
                &format!("tensors[{index}]: pairs are missing; try more --starts"),
            );
        }
        let voxels: Vec<Option<Voxel>> = match given.voxels {
            Some(voxels) => voxels.into_iter().map(Some).collect(),
            None => vec![None; answers.len()],
        };
        Ok(text_of(answers.into_iter().zip(voxels))?)
    }

    fn search(&self) -> Search {
        let EigenOptions { tolerance, starts, rng_seed, .. } = self.options;
        Search { starts, seed: rng_seed, tolerance }
    }

    /// All pairs of the kinds asked for, tensor by tensor.
    fn pairs(
        &self,
        finder: &PairFinder,
        given: &Given,
        search: Search,
        log: &Logbook<'_>,
    ) -> Result<Vec<Answer>, EigenError> {
        let on = &log.session().on;
        if !on.devices.is_empty() && !on.only_where_it_pays {
            let what = "finding eigenpairs in double precision";
            log.warn(
                Page::Troubleshooting,
                &format!("no kernel does this: {what} runs on the CPU"),
            );
        }
        let kinds = self.kinds(&[Kind::Maximum, Kind::Minimum, Kind::Saddle]);
        let shift = self.options.shift;
        if let Some(Shift::Adaptive(extremum)) = shift {
            let kind = match extremum {
                Extremum::Maximum => Kind::Maximum,
                Extremum::Minimum => Kind::Minimum,
            };
            if !kinds.contains(&kind) {
                return Err(EigenError::NotAmongKinds {
                    shift: shift_name(Shift::Adaptive(extremum)),
                });
            }
        }
        let task = Task { finder, search, shift, kinds, log };
        on.workers.install(|| {
            let indexed = given.tensors.par_iter().enumerate();
            indexed.map(|(index, entries)| task.answer(index, entries)).collect()
        })
    }

    /// Maxima and minima of all tensors at once.
    fn extremes(
        &self,
        finder: &PairFinder,
        given: &Given,
        search: &Search,
        log: &Logbook<'_>,
    ) -> Result<Vec<Answer>, EigenError> {
        let kinds = self.kinds(&[Kind::Maximum, Kind::Minimum]);
        if kinds.contains(&Kind::Saddle) {
            let what = "the shifted power method does not lead to saddles";
            return Err(EigenError::OnlyDouble { what });
        }
        if given.tensors.iter().any(|entries| entries.b.is_some()) {
            let what = "generalised pairs are not sought in single precision";
            return Err(EigenError::OnlyDouble { what });
        }
        let tensors: Vec<Vec<f64>> =
            given.tensors.iter().map(|entries| entries.a.clone()).collect();
        let on = &log.session().on;
        let (found, shares) = find_extremes(finder, &tensors, &kinds, search, on, log)?;
        log.count_shares(&shares);
        let answer = |Extremes { pairs, converged, not_converged }: Extremes| {
            Answer::of_starts(pairs, converged, not_converged)
        };
        Ok(found.into_iter().map(answer).collect())
    }

    fn kinds(&self, usual: &[Kind]) -> Vec<Kind> {
        let named = |kinds: &Vec<Named<Kind>>| kinds.iter().map(|kind| kind.0).collect();
        self.options.kinds.as_ref().map_or_else(|| usual.to_vec(), named)
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
        let mask = self.options.mask.iter().map(|path| ("mask".to_owned(), path.clone()));
        std::iter::once(("tensors".to_owned(), self.options.tensors.clone())).chain(mask).collect()
    }

    fn parameters(&self) -> Value {
        let EigenOptions {
            tensors: _,
            mask: _,
            dimension,
            kinds,
            precision,
            tolerance,
            starts,
            rng_seed,
            shift,
        } = &self.options;
        json!({
            "tolerance": tolerance, "starts": starts, "rng_seed": rng_seed,
            "shift": shift.map(shift_name), "dimension": dimension, "kinds": kinds,
            "precision": precision,
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
    kinds: Vec<Kind>,
    log: &'a Logbook<'a>,
}

/// What is said of one tensor.
struct Answer {
    pairs: Vec<Pair>,
    /// Of the shifted power method, how many starts settled and how many did not.
    starts: Option<[usize; 2]>,
    incomplete: bool,
}

impl Answer {
    /// Of the shifted power method: what its starts led to, and how many of them settled.
    fn of_starts(pairs: Vec<Pair>, converged: usize, not_converged: usize) -> Self {
        Self { pairs, starts: Some([converged, not_converged]), incomplete: false }
    }

    fn json(&self, voxel: Option<Voxel>) -> Value {
        let mut json = json!({ "pairs": pairs_json(&self.pairs) });
        if let Some([converged, not_converged]) = self.starts {
            json["converged"] = converged.into();
            json["not_converged"] = not_converged.into();
        }
        if self.incomplete {
            json["incomplete"] = true.into();
        }
        if let Some(voxel) = voxel {
            json["voxel"] = json!(voxel);
        }
        json
    }
}

/// The file: one answer after the other, since numbers take many times as much memory as values of JSON
/// than as text.
fn text_of(
    answers: impl Iterator<Item = (Answer, Option<Voxel>)>,
) -> Result<String, serde_json::Error> {
    let mut text = "{\n  \"tensors\": [".to_owned();
    let empty = text.len();
    for (answer, voxel) in answers {
        text.push_str(if text.len() == empty { "\n    " } else { ",\n    " });
        let one = serde_json::to_string_pretty(&answer.json(voxel))?;
        text.push_str(&one.replace('\n', "\n    "));
    }
    text.push_str(if text.len() == empty { "]\n}\n" } else { "\n  ]\n}\n" });
    Ok(text)
}

impl Task<'_> {
    fn answer(&self, index: usize, entries: &Entries) -> Result<Answer, EigenError> {
        /// The paper's number.
        const STARTS_OF_THE_POWER_METHOD: usize = 128;
        let Entries { a, b } = entries;
        let b = b.as_deref();
        let Self { finder, search, shift, kinds, log } = self;
        let wanted = |pairs: Vec<Pair>| -> Vec<Pair> {
            pairs.into_iter().filter(|pair| kinds.contains(&pair.kind)).collect()
        };
        let answer = match shift {
            None => finder.find(a, b, index as u64, search, *log).map(|found| {
                let pairs = wanted(found.pairs);
                Answer { pairs, starts: None, incomplete: !found.balanced }
            }),
            Some(shift) => {
                let starts = search.starts.unwrap_or(STARTS_OF_THE_POWER_METHOD);
                let reached = finder.reach(a, b, index as u64, starts, *shift, search, *log);
                reached.map(|reached| {
                    let (converged, not_converged) = (reached.converged, reached.not_converged);
                    Answer::of_starts(wanted(reached.pairs), converged, not_converged)
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

impl Choice for Kind {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Maximum, "maxima", "local maxima of A x^m on the sphere"),
        (Self::Minimum, "minima", "local minima"),
        (Self::Saddle, "saddles", "neither"),
    ];
}
