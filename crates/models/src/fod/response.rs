//! The signal of one tissue, by shell, and its text form.

use std::fmt;

use fimbria_image::GradientTable;
use fimbria_image::gradients::Shell;

/// A response and a shell belong together where their b differ by less than this, s/mm², or by
/// this fraction.
const SAME_B: f64 = GradientTable::SHELL_GAP;
const SAME_B_RELATIVE: f64 = 0.05;

/// The signal of one tissue: zonal harmonics about the fibre's axis for each shell.
///
/// The signal at angle θ from the axis is Σ_l `zonal[l / 2]` Y_l0(θ), l = 0, 2, …, in input units.
/// An isotropic tissue has l = 0 only.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// b of the shells in s/mm², ascending; `None` where a file does not say.
    pub b_s_per_mm2: Option<Vec<f64>>,
    /// Coefficients of each shell, l = 0, 2, …; all of one length.
    pub zonal: Vec<Vec<f64>>,
}

/// The responses of all tissues.
#[derive(Clone, Debug, PartialEq)]
pub struct Responses {
    /// Single fibres.
    pub white: Response,
    /// Grey matter, fluid; `None` for a model of fibres only.
    pub isotropic: Option<[Response; 2]>,
}

/// What can be wrong with a response.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ResponseError {
    /// Not a number.
    #[error("line {line} has \"{text}\" where a number is expected")]
    NotANumber {
        /// Line, from 1.
        line: usize,
        /// What stands there.
        text: String,
    },
    /// No rows.
    #[error("it has no rows of coefficients")]
    Empty,
    /// Rows of different lengths.
    #[error("line {line} has {found} numbers, those before have {expected}")]
    Ragged {
        /// Line, from 1.
        line: usize,
        /// Numbers there.
        found: usize,
        /// Numbers in the lines before.
        expected: usize,
    },
    /// The header names another number of shells than there are rows.
    #[error("its header names {named} shells, but it has {rows} rows")]
    ShellCount {
        /// Shells named.
        named: usize,
        /// Rows.
        rows: usize,
    },
    /// The first coefficient is the mean signal.
    #[error("the mean signal of its shell {0} is not positive")]
    NotPositive(usize),
    /// No shell of the data, or not all of them.
    #[error("it has shells at b = {response:?} s/mm², the data at {data:?}")]
    OtherShells {
        /// Shells of the response, empty where it does not say.
        response: Vec<f64>,
        /// Shells of the data.
        data: Vec<f64>,
    },
    /// Rows without b and shells are not equally many.
    #[error("it has {rows} rows and does not say for which shells; the data have {data:?} s/mm²")]
    Unnamed {
        /// Rows.
        rows: usize,
        /// Shells of the data.
        data: Vec<f64>,
    },
}

impl Response {
    /// Reads MRtrix3's text: a row for each shell, ascending in b; `#` begins a comment, and a
    /// comment "Shells: b,b,…" names them.
    ///
    /// # Errors
    /// [`ResponseError`].
    pub fn from_text(text: &str) -> Result<Self, ResponseError> {
        let mut b_s_per_mm2 = None;
        let mut zonal: Vec<Vec<f64>> = Vec::new();
        for (line, content) in (1..).zip(text.lines()) {
            let (numbers, comment) = content.split_once('#').unwrap_or((content, ""));
            if let Some(shells) = comment.trim().strip_prefix("Shells:") {
                let shells = shells.split(',').map(|b| number(b.trim(), line));
                b_s_per_mm2 = Some(shells.collect::<Result<Vec<_>, _>>()?);
            }
            let separators = |c: char| c.is_whitespace() || c == ',';
            let row = numbers.split(separators).filter(|text| !text.is_empty());
            let row = row.map(|text| number(text, line)).collect::<Result<Vec<_>, _>>()?;
            if row.is_empty() {
                continue;
            }
            if let Some(first) = zonal.first()
                && first.len() != row.len()
            {
                let (found, expected) = (row.len(), first.len());
                return Err(ResponseError::Ragged { line, found, expected });
            }
            if row[0] <= 0.0 {
                return Err(ResponseError::NotPositive(zonal.len()));
            }
            zonal.push(row);
        }
        match &b_s_per_mm2 {
            _ if zonal.is_empty() => Err(ResponseError::Empty),
            Some(shells) if shells.len() != zonal.len() => {
                Err(ResponseError::ShellCount { named: shells.len(), rows: zonal.len() })
            }
            _ => Ok(Self { b_s_per_mm2, zonal }),
        }
    }

    /// The row of each shell of the data, `None` for shells it does not have.
    ///
    /// # Errors
    /// Where it has a shell that the data have not, or does not say which shells it has and they
    /// are not as many as those of the data.
    pub(crate) fn rows_of(&self, shells: &[Shell]) -> Result<Vec<Option<usize>>, ResponseError> {
        let data: Vec<f64> = shells.iter().map(|shell| shell.b_s_per_mm2.round()).collect();
        let Some(b) = &self.b_s_per_mm2 else {
            return if self.zonal.len() == shells.len() {
                Ok((0..shells.len()).map(Some).collect())
            } else {
                Err(ResponseError::Unnamed { rows: self.zonal.len(), data })
            };
        };
        let same = |b: f64, shell: &Shell| is_same_b(b, shell.b_s_per_mm2);
        if !b.iter().all(|&b| shells.iter().any(|shell| same(b, shell))) {
            return Err(ResponseError::OtherShells { response: b.clone(), data });
        }
        let nearest = |shell: &Shell| {
            let distance = |&i: &usize| (b[i] - shell.b_s_per_mm2).abs();
            let near = (0..b.len()).filter(|&i| same(b[i], shell));
            near.min_by(|i, j| distance(i).total_cmp(&distance(j)))
        };
        Ok(shells.iter().map(nearest).collect())
    }
}

/// Whether b is that of a shell, both in s/mm².
pub(super) fn is_same_b(b: f64, of_shell: f64) -> bool {
    (b - of_shell).abs() <= SAME_B.max(SAME_B_RELATIVE * of_shell)
}

fn number(text: &str, line: usize) -> Result<f64, ResponseError> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(ResponseError::NotANumber { line, text: text.to_owned() }),
    }
}

impl fmt::Display for Response {
    /// MRtrix3's text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(shells) = &self.b_s_per_mm2 {
            let shells: Vec<String> = shells.iter().map(|b| format!("{b:.0}")).collect();
            writeln!(f, "# Shells: {}", shells.join(","))?;
        }
        for row in &self.zonal {
            let row: Vec<String> = row.iter().map(f64::to_string).collect();
            writeln!(f, "{}", row.join(" "))?;
        }
        Ok(())
    }
}
