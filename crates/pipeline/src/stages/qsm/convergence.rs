//! How an iteration converged: a row for each step, in columns that the method has.

use fimbria_qsm::solver::Iteration;
use fimbria_qsm::variation::Step;

/// Its file.
pub(super) const FILE: &str = "iterations.tsv";

/// The column of the size of the map.
const RMS: &str = "rms_x_ppm";

/// The columns of methods that minimise a penalty.
pub(super) const PENALTY: &[&str] =
    &["iteration", RMS, "relative_change", "data", "penalty", "relative_gradient"];
/// The columns of methods that minimise a variation.
pub(super) const VARIATION: &[&str] = &["iteration", RMS, "relative_change", "data", "variation"];
/// The columns of methods that solve one problem after the other: what both have.
pub(super) const GRADIENT: &[&str] = &["iteration", RMS, "relative_change", "relative_gradient"];

/// Numbers of every iteration; none of a method without any.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConvergenceLog {
    /// What stands in each column.
    pub columns: Vec<&'static str>,
    /// A row for each iteration.
    pub rows: Vec<Vec<f64>>,
}

impl ConvergenceLog {
    /// The `columns` of iterations.
    pub(super) fn from_iterations(columns: &[&'static str], iterations: &[Iteration]) -> Self {
        let value = |i: &Iteration, column: &str| match column {
            "iteration" => i.number as f64,
            "relative_change" => i.relative_change,
            "data" => i.data,
            "penalty" => i.penalty,
            "relative_gradient" => i.relative_gradient,
            _ => i.rms,
        };
        let row = |i: &Iteration| columns.iter().map(|column| value(i, column)).collect();
        Self { columns: columns.to_vec(), rows: iterations.iter().map(row).collect() }
    }

    /// The columns [`VARIATION`] of steps.
    pub(super) fn from_steps(steps: &[Step]) -> Self {
        let row = |(number, step): (usize, &Step)| {
            vec![number as f64, step.rms, step.relative_change, step.data, step.variation]
        };
        Self { columns: VARIATION.to_vec(), rows: (1..).zip(steps).map(row).collect() }
    }

    /// The rows of a file with these columns.
    pub(super) fn from_text(columns: &[&'static str], text: &str) -> Self {
        let row = |line: &str| line.split('\t').filter_map(|cell| cell.parse().ok()).collect();
        Self { columns: columns.to_vec(), rows: text.lines().skip(1).map(row).collect() }
    }

    /// The same of a map in no known unit, which is in ppm `factor` times as large.
    pub(super) fn relative(&mut self, factor: f64) {
        let Some(rms) = self.columns.iter().position(|column| *column == RMS) else { return };
        self.columns[rms] = "rms_x";
        self.rows.iter_mut().for_each(|row| row[rms] /= factor);
    }

    /// The file.
    pub(super) fn text(&self) -> String {
        let mut text = self.columns.join("\t") + "\n";
        for row in &self.rows {
            let cell = |(column, value): (&&str, &f64)| match *column {
                "iteration" => value.to_string(),
                "data" | "penalty" | "variation" => format!("{value:.8e}"),
                _ => format!("{value:.6e}"),
            };
            let cells: Vec<String> = self.columns.iter().zip(row).map(cell).collect();
            text += &(cells.join("\t") + "\n");
        }
        text
    }
}
