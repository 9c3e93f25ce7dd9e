//! What a graph of stages runs, skips and hands on.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fimbria_compute::{Backend, Silent, Workers};
use fimbria_workflow::{
    Existing, Finished, Input, Logbook, OutputFolder, PipelineError, Product, Products, Session,
    Stage, StageError, Taken, Unfinished, run_stages,
};
use serde_json::{Value, json};

struct Number(f64);
struct Square(f64);

/// Reads a number from a file, in memory only.
struct Load {
    path: PathBuf,
    runs: Arc<AtomicUsize>,
}

impl Stage for Load {
    fn name(&self) -> &'static str {
        "load"
    }
    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Number>()]
    }
    fn inputs(&self) -> Vec<Input> {
        vec![("number".into(), self.path.clone())]
    }
    fn parameters(&self) -> Value {
        json!({})
    }
    fn compute(&self, products: &mut Products, _log: &Logbook<'_>) -> Result<(), StageError> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        products.put(Number(fs::read_to_string(&self.path)?.trim().parse()?));
        Ok(())
    }
}

/// Squares the number and writes it.
struct SquareIt {
    factor: f64,
    runs: Arc<AtomicUsize>,
}

impl Stage for SquareIt {
    fn name(&self) -> &'static str {
        "square"
    }
    fn takes(&self) -> Vec<Taken> {
        vec![Taken::always::<Number>()]
    }
    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Square>()]
    }
    fn parameters(&self) -> Value {
        json!({ "factor": self.factor })
    }
    fn outputs(&self) -> Vec<String> {
        vec!["square.txt".into()]
    }
    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        let number = products.get::<Number>()?.0;
        log.count("numbers", 1);
        products.put(Square(self.factor * number * number));
        Ok(())
    }
    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        _log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        out.write("square.txt", products.get::<Square>()?.0.to_string().as_bytes())?;
        Ok(())
    }
    fn restore(
        &self,
        folder: &Path,
        products: &mut Products,
        _log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        products.put(Square(fs::read_to_string(folder.join("square.txt"))?.parse()?));
        Ok(())
    }
}

/// Writes the root of the square, or fails.
struct Root {
    fails: bool,
}

impl Stage for Root {
    fn name(&self) -> &'static str {
        "root"
    }
    fn takes(&self) -> Vec<Taken> {
        vec![Taken::always::<Square>()]
    }
    fn parameters(&self) -> Value {
        json!({})
    }
    fn outputs(&self) -> Vec<String> {
        vec!["root.txt".into()]
    }
    fn compute(&self, products: &mut Products, _log: &Logbook<'_>) -> Result<(), StageError> {
        products.get::<Square>()?;
        if self.fails { Err("out of luck".into()) } else { Ok(()) }
    }
    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        _log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        out.write("root.txt", products.get::<Square>()?.0.sqrt().to_string().as_bytes())?;
        Ok(())
    }
}

/// A folder with a number in a file, and counters of how often each stage ran.
struct Bench {
    folder: tempfile::TempDir,
    loads: Arc<AtomicUsize>,
    squares: Arc<AtomicUsize>,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("number.txt"), "3").unwrap();
        Self { folder, loads: Arc::default(), squares: Arc::default() }
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    fn run(&self, factor: f64, fails: bool, existing: Existing) -> Result<Finished, PipelineError> {
        let stages: Vec<Box<dyn Stage>> = vec![
            self.load(),
            Box::new(SquareIt { factor, runs: self.squares.clone() }),
            Box::new(Root { fails }),
        ];
        self.run_all(&stages, existing)
    }

    fn load(&self) -> Box<dyn Stage> {
        let path = self.folder.path().join("number.txt");
        Box::new(Load { path, runs: self.loads.clone() })
    }

    fn run_all(
        &self,
        stages: &[Box<dyn Stage>],
        existing: Existing,
    ) -> Result<Finished, PipelineError> {
        let workers = Workers::new(1).unwrap();
        let session = Session {
            on: Backend::cpu(&workers),
            progress: &Silent,
            unfinished: &Unfinished::new(),
            command_line: &[],
        };
        run_stages("test", stages, &self.out(), existing, session)
    }

    fn runs(&self) -> (usize, usize) {
        (self.loads.load(Ordering::Relaxed), self.squares.load(Ordering::Relaxed))
    }

    fn root(&self) -> String {
        fs::read_to_string(self.out().join("root/root.txt")).unwrap()
    }
}

#[test]
fn stages_hand_on_in_memory_and_record_what_they_did() {
    let bench = Bench::new();
    let finished = bench.run(4.0, false, Existing::Refuse).unwrap();
    assert_eq!(bench.root(), "6");
    let stages: Vec<_> = finished.record.stages.iter().map(|s| &*s.name).collect();
    assert_eq!(stages, ["load", "square", "root"]);
    assert_eq!(finished.record.stages[1].counts["numbers"], 1);
    assert_eq!(finished.record.inputs.len(), 1);
    assert_eq!(finished.record.inputs[0].bytes, 1);
    let outputs: Vec<_> = finished.record.outputs.iter().map(|o| &*o.file).collect();
    assert_eq!(outputs, ["square/square.txt", "root/root.txt"]);
    assert!(finished.record.is_complete_in(&bench.out()));
}

#[test]
fn resuming_after_a_failure_runs_only_what_is_missing() {
    let bench = Bench::new();
    let error = bench.run(4.0, true, Existing::Refuse).err().unwrap();
    assert_eq!(error.to_string(), "stage root failed");
    assert!(!bench.out().join("run.json").exists(), "an unfinished run looks finished");
    let finished = bench.run(4.0, false, Existing::Resume).unwrap();
    assert_eq!(bench.runs(), (1, 1), "load and square ran again");
    assert_eq!(bench.root(), "6");
    assert!(finished.record.stages[0].resumed);
}

#[test]
fn resuming_with_another_parameter_runs_that_stage_and_those_after_it() {
    let bench = Bench::new();
    bench.run(4.0, false, Existing::Refuse).unwrap();
    bench.run(9.0, false, Existing::Resume).unwrap();
    assert_eq!(bench.runs(), (2, 2));
    assert_eq!(bench.root(), "9");
}

#[test]
fn resuming_with_another_input_runs_everything() {
    let bench = Bench::new();
    bench.run(4.0, false, Existing::Refuse).unwrap();
    fs::write(bench.folder.path().join("number.txt"), "5").unwrap();
    bench.run(4.0, false, Existing::Resume).unwrap();
    assert_eq!(bench.root(), "10");
}

#[test]
fn resuming_a_folder_with_a_missing_output_runs_that_stage() {
    let bench = Bench::new();
    bench.run(4.0, false, Existing::Refuse).unwrap();
    fs::remove_file(bench.out().join("square/square.txt")).unwrap();
    bench.run(4.0, false, Existing::Resume).unwrap();
    assert_eq!(bench.runs(), (2, 2));
}

#[test]
fn existing_stage_outputs_are_refused() {
    let bench = Bench::new();
    bench.run(4.0, true, Existing::Refuse).err().unwrap();
    let error = bench.run(4.0, false, Existing::Refuse).err().unwrap();
    assert!(error.to_string().contains("square/square.txt"), "{error}");
}

#[test]
fn a_missing_input_is_named_and_leaves_no_folder() {
    let bench = Bench::new();
    fs::remove_file(bench.folder.path().join("number.txt")).unwrap();
    let error = bench.run(4.0, false, Existing::Refuse).err().unwrap();
    assert!(error.to_string().contains("number.txt"), "{error}");
    assert!(!bench.out().exists());
}

#[test]
fn what_no_stage_makes_is_missed_before_the_first_one_runs() {
    let bench = Bench::new();
    let stages: Vec<Box<dyn Stage>> = vec![bench.load(), Box::new(Root { fails: false })];
    let error = bench.run_all(&stages, Existing::Refuse).err().unwrap().to_string();
    assert!(error.contains("root needs a") && error.contains("Square"), "{error}");
    assert_eq!(bench.loads.load(Ordering::Relaxed), 0);
}
