//! How an iteration went: a row for each, in columns that the method has.

use fimbria_qsm::solver::Iteration;
use fimbria_qsm::variation::Step;

/// Its file.
pub(super) const FILE: &str = "iterations.tsv";

/// The column of the size of the map.
const RMS: &str = "rms_x_ppm";

/// Numbers of every iteration; none of a method without any.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Course {
    /// What stands in each column.
    pub columns: Vec<&'static str>,
    /// A row for each iteration.
    pub rows: Vec<Vec<f64>>,
}

impl Course {
    /// Of the methods whose map is smooth.
    pub(super) fn of_smooth(log: &[Iteration]) -> Self {
        let row = |i: &Iteration| {
            let numbers = [i.rms, i.relative_change, i.data, i.penalty, i.relative_gradient];
            std::iter::once(i.number as f64).chain(numbers).collect()
        };
        let columns =
            vec!["iteration", RMS, "relative_change", "data", "penalty", "relative_gradient"];
        Self { columns, rows: log.iter().map(row).collect() }
    }

    /// Of least squares whose streaks are taken off, by iterations that follow those of the map: of two
    /// problems only what is a part of each is told.
    pub(super) fn of_streaks(log: &[Iteration]) -> Self {
        let row =
            |i: &Iteration| vec![i.number as f64, i.rms, i.relative_change, i.relative_gradient];
        let columns = vec!["iteration", RMS, "relative_change", "relative_gradient"];
        Self { columns, rows: log.iter().map(row).collect() }
    }

    /// Of those whose edges are few.
    pub(super) fn of_variation(log: &[Step]) -> Self {
        let row = |(number, step): (usize, &Step)| {
            vec![number as f64, step.rms, step.relative_change, step.data, step.variation]
        };
        let columns = vec!["iteration", RMS, "relative_change", "data", "variation"];
        Self { columns, rows: (1..).zip(log).map(row).collect() }
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
