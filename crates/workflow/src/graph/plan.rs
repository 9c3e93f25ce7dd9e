//! Which of the stages of a run have to run, by what they take and what is there.

use std::path::{Path, PathBuf};

use super::{Existing, PipelineError, fingerprint_of};
use crate::left::earlier_run;
use crate::{Hashed, Hashing, Input, InputEntry, RunRecord, Stage};

/// A stage needs what no stage before it makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stage {stage} needs a {product}, which no stage before it makes")]
pub struct Unmade {
    stage: &'static str,
    product: &'static str,
}

/// Which of the stages before stage `index` make what it takes, the last one of each product.
pub(super) fn makers(stages: &[&dyn Stage], index: usize) -> Result<Vec<usize>, Unmade> {
    let stage = stages[index];
    let mut makers = Vec::new();
    for taken in stage.takes() {
        let maker = stages[..index].iter().rposition(|s| s.makes().contains(&taken.product));
        match maker {
            Some(maker) => makers.push(maker),
            None if taken.is_needed => {
                return Err(Unmade { stage: stage.name(), product: taken.product.name() });
            }
            None => {}
        }
    }
    makers.sort_unstable();
    makers.dedup();
    Ok(makers)
}

/// What is to be done about every stage.
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
}

/// What is to be done about one.
pub(super) struct Step {
    pub(super) folder: PathBuf,
    pub(super) inputs: Hashed,
    /// Inputs that stages before it write.
    pub(super) written: Vec<Input>,
    pub(super) fingerprint: String,
    /// The stages whose products or files it takes.
    pub(super) makers: Vec<usize>,
    /// The record of an earlier run that makes this one superfluous.
    pub(super) earlier: Option<RunRecord>,
    /// True where its products are wanted: it runs, or is read back.
    pub(super) is_needed: bool,
}

impl Plan {
    pub(super) fn new(
        stages: &[Box<dyn Stage>],
        root: &Path,
        existing: Existing,
    ) -> Result<Self, PipelineError> {
        let mut steps: Vec<Step> = Vec::with_capacity(stages.len());
        let all: Vec<&dyn Stage> = stages.iter().map(|stage| &**stage).collect();
        for (i, stage) in stages.iter().enumerate() {
            let mut makers = makers(&all, i)?;
            let writer = |path: &Path| {
                (0..i).find(|&j| {
                    let file = path.strip_prefix(&steps[j].folder).ok().and_then(Path::to_str);
                    file.is_some_and(|file| all[j].outputs().iter().any(|output| output == file))
                })
            };
            let (mut written, mut inputs) = (Vec::new(), Vec::new());
            for input in stage.inputs() {
                match writer(&input.1) {
                    Some(writer) => {
                        makers.push(writer);
                        written.push(input);
                    }
                    None => inputs.push(input),
                }
            }
            makers.sort_unstable();
            makers.dedup();
            let inputs = Hashing::start(inputs).wait()?;
            let upstream: Vec<_> = makers.iter().map(|&j| &steps[j].fingerprint).collect();
            let fingerprint = fingerprint_of(&**stage, &inputs.entries, &upstream);
            let folder = root.join(stage.name());
            let earlier = (existing == Existing::Resume && !stage.outputs().is_empty())
                .then(|| earlier_run(&folder, &fingerprint))
                .flatten();
            let is_needed = false;
            steps.push(Step { folder, inputs, written, fingerprint, makers, earlier, is_needed });
        }
        for i in (0..stages.len()).rev() {
            let must_run = steps[i].earlier.is_none()
                && (steps[i].is_needed || !stages[i].outputs().is_empty());
            // What a stage changes, it needs for being read back, too.
            let takes = stages[i].takes();
            let changes = takes.iter().any(|taken| stages[i].makes().contains(&taken.product));
            if must_run || steps[i].is_needed && changes {
                steps[i].is_needed = true;
                for j in steps[i].makers.clone() {
                    steps[j].is_needed = true;
                }
            }
        }
        Ok(Self { steps })
    }

    /// The inputs of all stages, each file once.
    pub(super) fn inputs(&self) -> Vec<InputEntry> {
        let mut inputs: Vec<InputEntry> = Vec::new();
        for input in self.steps.iter().flat_map(|step| &step.inputs.entries) {
            if !inputs.contains(input) {
                inputs.push(input.clone());
            }
        }
        inputs
    }
}
