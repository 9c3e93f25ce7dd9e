/// A sparse matrix in compressed rows: of each row the columns and values of its entries.
///
/// Entries not listed are zero; an entry listed twice counts twice.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Csr {
    columns: usize,
    row_start: Vec<usize>,
    column: Vec<u32>,
    value: Vec<f32>,
}

/// Why arrays are not a matrix in compressed rows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CsrError {
    /// The row starts do not begin with zero, or decrease.
    #[error("row starts must ascend from 0: at row {row} stands {start}")]
    RowStarts {
        /// The first row with a wrong start.
        row: usize,
        /// Its start.
        start: usize,
    },
    /// The lists differ in length.
    #[error("{columns} column indices and {values} values for {entries} entries")]
    Lengths {
        /// What the last row start says.
        entries: usize,
        /// Number of column indices.
        columns: usize,
        /// Number of values.
        values: usize,
    },
    /// An entry lies outside the matrix.
    #[error("entry {entry} is in column {column} of a matrix of {columns} columns")]
    Column {
        /// Position of the entry.
        entry: usize,
        /// Its column.
        column: u32,
        /// Number of columns of the matrix.
        columns: usize,
    },
    /// More rows or columns than their indices can count.
    #[error("{0} rows or columns; at most 2^32 - 1 can be counted")]
    TooLarge(usize),
}

impl Csr {
    /// The matrix of `row_start.len() - 1` rows whose row `i` has the entries `row_start[i]` to
    /// `row_start[i + 1]` of `column` and `value`.
    ///
    /// # Errors
    /// Where the arrays contradict each other.
    pub(super) fn new(
        columns: usize,
        row_start: Vec<usize>,
        column: Vec<u32>,
        value: Vec<f32>,
    ) -> Result<Self, CsrError> {
        for size in [columns, row_start.len()] {
            u32::try_from(size).map_err(|_| CsrError::TooLarge(size))?;
        }
        let mut least = 0;
        for (row, &start) in row_start.iter().enumerate() {
            if start < least || (row == 0 && start != 0) {
                return Err(CsrError::RowStarts { row, start });
            }
            least = start;
        }
        if row_start.is_empty() || column.len() != least || value.len() != least {
            let (columns, values) = (column.len(), value.len());
            return Err(CsrError::Lengths { entries: least, columns, values });
        }
        if let Some(entry) = column.iter().position(|&c| c as usize >= columns) {
            return Err(CsrError::Column { entry, column: column[entry], columns });
        }
        Ok(Self { columns, row_start, column, value })
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.row_start.len() - 1
    }

    /// Number of columns.
    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    /// Number of entries.
    pub(super) fn entries(&self) -> usize {
        self.value.len()
    }

    /// Where each row's entries start, and where the last ends: rows + 1 numbers.
    pub(super) fn row_start(&self) -> &[usize] {
        &self.row_start
    }

    /// The column of each entry.
    pub(super) fn column(&self) -> &[u32] {
        &self.column
    }

    /// The value of each entry.
    pub(super) fn value(&self) -> &[f32] {
        &self.value
    }

    /// The columns and values of one row's entries.
    pub(super) fn row(&self, row: usize) -> (&[u32], &[f32]) {
        let entries = self.row_start[row]..self.row_start[row + 1];
        (&self.column[entries.clone()], &self.value[entries])
    }

    /// The transposed matrix; each of its rows lists its entries in the order of this one's rows.
    #[must_use]
    pub(super) fn transposed(&self) -> Self {
        let mut row_start = vec![0; self.columns + 1];
        for &column in &self.column {
            row_start[column as usize + 1] += 1;
        }
        for row in 0..self.columns {
            row_start[row + 1] += row_start[row];
        }
        let mut next = row_start.clone();
        let mut column = vec![0; self.entries()];
        let mut value = vec![0.0; self.entries()];
        for row in 0..self.rows() {
            let (columns, values) = self.row(row);
            for (&j, &a) in columns.iter().zip(values) {
                let place = &mut next[j as usize];
                column[*place] = row as u32;
                value[*place] = a;
                *place += 1;
            }
        }
        Self { columns: self.rows(), row_start, column, value }
    }
}
