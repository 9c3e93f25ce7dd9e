//! Why a gradient table cannot be used.

use std::path::PathBuf;

use crate::counted;

/// A gradient table that cannot be used, with the values that say why. Volumes count from 0, lines
/// and columns of text from 1.
#[derive(Debug, thiserror::Error)]
pub enum GradientError {
    /// A token that is not a number.
    #[error("{what}, line {line}, column {column}: `{token}` is not a number")]
    NotANumber {
        /// Which text ("bvals", "bvecs", "gradient table", "b-matrices").
        what: &'static str,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// The token, cut to 40 characters.
        token: String,
    },
    /// A text without a single number.
    #[error("{what}: no numbers found")]
    Empty {
        /// Which text.
        what: &'static str,
    },
    /// A row with another number of values than it should have.
    #[error("{what}, line {line}: {} where {expected} are needed", counted(*found, "value"))]
    RowLength {
        /// Which text.
        what: &'static str,
        /// Line, from 1.
        line: usize,
        /// Values in this row.
        found: usize,
        /// What was expected, such as "4 (x y z b)".
        expected: String,
    },
    /// bvecs that are neither three rows nor three columns.
    #[error(
        "bvecs: {} of {}; needed are 3 rows (x, y, z) or 3 columns, with one direction per volume",
        counted(*rows, "row"),
        counted(*columns, "value")
    )]
    BvecShape {
        /// Rows found.
        rows: usize,
        /// Values in the first row.
        columns: usize,
    },
    /// Three-row b-matrices whose rows do not come in threes.
    #[error("b-matrices: {} of 3 values: no whole 3x3 matrices", counted(*rows, "row"))]
    BMatrixRows {
        /// Rows found.
        rows: usize,
    },
    /// A b-matrix that is not symmetric.
    #[error("volume {volume}: the b-matrix is not symmetric ({upper} against {lower})")]
    BMatrixAsymmetric {
        /// Volume, from 0.
        volume: usize,
        /// The entry above the diagonal.
        upper: f64,
        /// Its mirror image.
        lower: f64,
    },
    /// A b-matrix that no single direction describes.
    #[error(
        "volume {volume}: the b-matrix has eigenvalues {eigenvalues_s_per_mm2:?} s/mm²; only \
         encoding along one direction (one large eigenvalue) is supported"
    )]
    BMatrixRank {
        /// Volume, from 0.
        volume: usize,
        /// Its eigenvalues, largest first.
        eigenvalues_s_per_mm2: [f64; 3],
    },
    /// As many b-values as directions are needed.
    #[error("{} but {}", counted(*b_values, "b-value"), counted(*directions, "direction"))]
    Count {
        /// Number of b-values.
        b_values: usize,
        /// Number of directions.
        directions: usize,
    },
    /// The table does not belong to the image.
    #[error(
        "the gradient table has {}, the image {}",
        counted(*entries, "entry"),
        counted(*volumes, "volume")
    )]
    Volumes {
        /// Entries of the table.
        entries: usize,
        /// Volumes of the image.
        volumes: usize,
    },
    /// A b-value that is negative, not finite, or in another unit.
    #[error("volume {volume}: b = {b_s_per_mm2} s/mm² is not a b-value")]
    BValue {
        /// Volume, from 0.
        volume: usize,
        /// The value as read.
        b_s_per_mm2: f64,
    },
    /// b so large that its unit must be another.
    #[error(
        "volume {volume}: b = {b_s_per_mm2:e} s/mm² is larger than any scanner makes; if the file \
         is in s/m², divide it by 1e6"
    )]
    BUnit {
        /// Volume, from 0.
        volume: usize,
        /// The value as read.
        b_s_per_mm2: f64,
    },
    /// A weighted volume without a direction.
    #[error(
        "volume {volume}: b = {b_s_per_mm2} s/mm² (above the b0 threshold, {b0_threshold}) but \
         its direction is {dir:?}"
    )]
    NoDirection {
        /// Volume, from 0.
        volume: usize,
        /// Its b.
        b_s_per_mm2: f64,
        /// The b0 threshold in use.
        b0_threshold: f64,
        /// The direction as read: zero or not a number.
        dir: [f64; 3],
    },
    /// A direction whose length is too far from 1 to be rounding.
    #[error(
        "volume {volume}: its direction has length {length:.4}, not 1; say whether lengths scale \
         b by their square or mean nothing (b-value scaling yes or no)"
    )]
    NotUnit {
        /// Volume, from 0.
        volume: usize,
        /// Length of the direction as read.
        length: f64,
    },
    /// No gradient files lie beside an image.
    #[error("no gradient table found beside {}; looked for {}", dwi.display(), list(looked_for))]
    NotFound {
        /// The image.
        dwi: PathBuf,
        /// The files looked for.
        looked_for: Vec<PathBuf>,
    },
    /// One of bvals and bvecs is there, the other is not.
    #[error("{} is there but {} is missing", found.display(), missing.display())]
    HalfPair {
        /// The file that is there.
        found: PathBuf,
        /// The file that is missing.
        missing: PathBuf,
    },
    /// A file that cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file far larger than any gradient table.
    #[error("{} has {bytes} bytes: too large to be a gradient table", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// An error in a file's text.
    #[error("{files}: {source}")]
    InFile {
        /// The file, or the pair of files.
        files: String,
        /// What is wrong with it.
        source: Box<GradientError>,
    },
}

/// File names for a message.
fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", ")
}
