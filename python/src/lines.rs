//! Streamlines in arrays and in files.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use fimbria_compute::Progress as _;
use fimbria_image::{Datatype, Grid};
use fimbria_pipeline::StageError;
use fimbria_pipeline::stages::given_lines::GivenLines;
use fimbria_streamlines::{
    CHUNK_POINTS, Column, ColumnKind, Format, Group, Header, ReadStreamlines, Streamlines,
    TractogramError, WriteOptions, WriteStreamlines, create, open,
};
use numpy::{PyArray1, PyArray2, PyArrayMethods as _, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::FimbriaError;
use crate::arrays::affine;
use crate::work::{Machine, chain, run, run_apart};

/// Types of numbers with the names that NumPy has for them.
const TYPES: [(Datatype, &str); 11] = [
    (Datatype::Int8, "int8"),
    (Datatype::UInt8, "uint8"),
    (Datatype::Int16, "int16"),
    (Datatype::UInt16, "uint16"),
    (Datatype::Int32, "int32"),
    (Datatype::UInt32, "uint32"),
    (Datatype::Int64, "int64"),
    (Datatype::UInt64, "uint64"),
    (Datatype::Float16, "float16"),
    (Datatype::Float32, "float32"),
    (Datatype::Float64, "float64"),
];

fn datatype(name: &str) -> PyResult<Datatype> {
    let found = TYPES.iter().find(|(_, known)| *known == name);
    found.map(|(datatype, _)| *datatype).ok_or_else(|| {
        PyValueError::new_err(format!("numbers of type {name} cannot be stored with streamlines"))
    })
}

fn name_of(datatype: Datatype) -> &'static str {
    TYPES.iter().find(|(known, _)| *known == datatype).map_or("uint8", |(_, name)| *name)
}

/// A column of data: its name, type, width, and its rows as bytes.
type ColumnArg<'py> = (String, String, usize, PyReadonlyArray1<'py, u8>);

fn column((name, datatype_, width, bytes): &ColumnArg<'_>, rows: usize) -> PyResult<Column> {
    let kind = ColumnKind { width: *width, ..ColumnKind::new(name, datatype(datatype_)?) };
    let bytes = bytes.as_slice()?.to_vec();
    if bytes.len() != rows * kind.row_bytes() {
        let found = bytes.len() / kind.row_bytes().max(1);
        return Err(PyValueError::new_err(format!(
            "`{name}` has {found} rows, and there must be {rows}"
        )));
    }
    Ok(Column::from_bytes(kind, bytes))
}

/// Streamlines whose points lie in an array of NumPy, which is kept and read only.
struct Held {
    header: Header,
    offsets: Vec<u64>,
    first: *const [f32; 3],
    per_point: Vec<Column>,
    per_streamline: Vec<Column>,
    _points: Py<PyArray2<f32>>,
}

// SAFETY: the points are read only, and the array that holds them is kept.
unsafe impl Send for Held {}
// SAFETY: as above.
unsafe impl Sync for Held {}

impl Held {
    /// Points `from..to`.
    fn points(&self, from: u64, to: u64) -> &[[f32; 3]] {
        let all = self.offsets.last().copied().unwrap_or(0);
        assert!(from <= to && to <= all, "points {from} to {to} of {all}");
        // SAFETY: the array is contiguous and has as many rows of three as the last offset says.
        unsafe { std::slice::from_raw_parts(self.first.add(from as usize), (to - from) as usize) }
    }

    /// Streamlines `from..to` with their data.
    fn part(&self, from: usize, to: usize) -> Streamlines {
        let (first, last) = (self.offsets[from], self.offsets[to]);
        let offsets = self.offsets[from..=to].iter().map(|offset| offset - first).collect();
        let mut part = Streamlines::from_parts(offsets, self.points(first, last).to_vec());
        let rows = |column: &Column, from: usize, to: usize| {
            let row = column.kind.row_bytes();
            let bytes = column.bytes()[from * row..to * row].to_vec();
            Column::from_bytes(column.kind.clone(), bytes)
        };
        for column in &self.per_point {
            part.add_per_point(rows(column, first as usize, last as usize));
        }
        for column in &self.per_streamline {
            part.add_per_streamline(rows(column, from, to));
        }
        part
    }
}

/// Reads them from the beginning.
struct Reader {
    held: Arc<Held>,
    next: usize,
}

impl ReadStreamlines for Reader {
    fn header(&self) -> &Header {
        &self.held.header
    }

    fn next_chunk(
        &mut self,
        chunk: &mut Streamlines,
        at_least: usize,
    ) -> Result<bool, TractogramError> {
        let (from, offsets) = (self.next, &self.held.offsets);
        let n = offsets.len() - 1;
        if from == n {
            return Ok(false);
        }
        let wanted = offsets[from] + at_least as u64;
        let to = (from + 1..n).find(|&to| offsets[to] >= wanted).unwrap_or(n);
        *chunk = self.held.part(from, to);
        self.next = to;
        Ok(true)
    }
}

/// Streamlines in arrays.
#[pyclass(frozen, module = "fimbria._core")]
pub(crate) struct Lines(Arc<Held>);

#[pymethods]
impl Lines {
    /// Points `[n][3]`, contiguous; where each streamline starts, and where the last one ends.
    #[new]
    fn new(
        points: PyReadonlyArray2<'_, f32>,
        offsets: PyReadonlyArray1<'_, u64>,
        per_point: Vec<ColumnArg<'_>>,
        per_streamline: Vec<ColumnArg<'_>>,
        groups: Vec<(String, Vec<u32>)>,
        grid: Option<([usize; 3], Vec<[f64; 4]>)>,
    ) -> PyResult<Self> {
        let (slice, n) = (points.as_slice()?, points.as_array().nrows());
        let offsets = offsets.as_slice()?.to_vec();
        if points.as_array().ncols() != 3 {
            return Err(PyValueError::new_err("points have three coordinates each"));
        }
        if offsets.first() != Some(&0)
            || offsets.last() != Some(&(n as u64))
            || !offsets.is_sorted()
        {
            return Err(PyValueError::new_err(format!(
                "offsets must ascend from 0 to the number of points, which is {n}"
            )));
        }
        let first = slice.as_ptr().cast();
        let streamlines = offsets.len() - 1;
        let columns = |given: &[ColumnArg<'_>], rows| -> PyResult<Vec<Column>> {
            given.iter().map(|one| column(one, rows)).collect()
        };
        let (per_point, per_streamline) =
            (columns(&per_point, n)?, columns(&per_streamline, streamlines)?);
        let grid = grid.map(|(dims, rows)| -> PyResult<Grid> {
            Ok(Grid { dims, ras_from_vox: affine(&rows)? })
        });
        let group = |(name, members): (String, Vec<u32>)| match members
            .iter()
            .find(|member| **member as usize >= streamlines)
        {
            None => Ok(Group { name, members, data: Vec::new() }),
            Some(beyond) => Err(PyValueError::new_err(format!(
                "group `{name}` has streamline {beyond} of {streamlines}"
            ))),
        };
        let header = Header {
            grid: grid.transpose()?,
            n_streamlines: Some(streamlines as u64),
            n_points: Some(n as u64),
            per_point: per_point.iter().map(|column| column.kind.clone()).collect(),
            per_streamline: per_streamline.iter().map(|column| column.kind.clone()).collect(),
            groups: groups.into_iter().map(group).collect::<PyResult<_>>()?,
            ..Header::default()
        };
        let _points = Bound::clone(&points).unbind();
        Ok(Self(Arc::new(Held { header, offsets, first, per_point, per_streamline, _points })))
    }
}

impl Lines {
    /// For stages.
    pub(crate) fn given(&self) -> GivenLines {
        let held = Arc::clone(&self.0);
        GivenLines(Arc::new(move || Box::new(Reader { held: Arc::clone(&held), next: 0 })))
    }
}

/// Streamlines as arrays; memory is handed over.
pub(crate) fn parts_of<'py>(
    py: Python<'py>,
    header: &Header,
    streamlines: Streamlines,
) -> PyResult<Bound<'py, PyDict>> {
    let (offsets, points, per_point, per_streamline) = streamlines.into_parts();
    let n = points.len();
    let parts = PyDict::new(py);
    parts.set_item("offsets", PyArray1::from_vec(py, offsets))?;
    parts.set_item("points", PyArray1::from_vec(py, points.into_flattened()).reshape([n, 3])?)?;
    let rows = |columns: Vec<Column>| {
        let columns = columns.into_iter().map(|column| {
            let (kind, bytes) = column.into_parts();
            (kind.name, name_of(kind.datatype), kind.width, PyArray1::from_vec(py, bytes))
        });
        columns.collect::<Vec<_>>()
    };
    parts.set_item("per_point", rows(per_point))?;
    parts.set_item("per_streamline", rows(per_streamline))?;
    head_into(&parts, header)?;
    Ok(parts)
}

/// What holds for all streamlines.
fn head_into(parts: &Bound<'_, PyDict>, header: &Header) -> PyResult<()> {
    let groups = header.groups.iter().map(|group| (&group.name, &group.members));
    parts.set_item("groups", groups.collect::<Vec<_>>())?;
    let grid = header.grid.map(|grid| (grid.dims, grid.ras_from_vox.0));
    parts.set_item("grid", grid)
}

fn error(error: TractogramError) -> PyErr {
    FimbriaError::new_err(chain(&error))
}

/// A file of streamlines, a chunk after the other.
#[pyclass(frozen, module = "fimbria._core")]
pub(crate) struct LineFile(Arc<Mutex<Box<dyn ReadStreamlines>>>);

#[pymethods]
impl LineFile {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let (reader, _) = run_apart(py, move |_| Ok(open(path)?))?;
        Ok(Self(Arc::new(Mutex::new(reader))))
    }

    /// What the file says of all its streamlines: how many there are and of points, where it does.
    #[getter]
    fn head<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let reader = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let parts = PyDict::new(py);
        let header = reader.header();
        head_into(&parts, header)?;
        parts.set_item("n_streamlines", header.n_streamlines)?;
        parts.set_item("n_points", header.n_points)?;
        Ok(parts)
    }

    /// The next streamlines, of so many points together or more; `None` where none were left.
    fn next_chunk<'py>(
        &self,
        py: Python<'py>,
        points: usize,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let reader = Arc::clone(&self.0);
        let (read, _) = run_apart(py, move |_| {
            let mut reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
            let mut chunk = Streamlines::default();
            let is_there = reader.next_chunk(&mut chunk, points)?;
            Ok(is_there.then(|| (reader.header().clone(), chunk)))
        })?;
        read.map(|(header, chunk)| parts_of(py, &header, chunk)).transpose()
    }

    /// What the user should know of the file once all is read.
    fn doubts(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).doubts()
    }
}

/// A file of streamlines while it is written: beside its name until it is whole.
#[pyclass(frozen, module = "fimbria._core")]
pub(crate) struct LineWriter {
    path: PathBuf,
    part: PathBuf,
    writer: Mutex<Option<Box<dyn WriteStreamlines>>>,
}

#[pymethods]
impl LineWriter {
    /// In the format of the name, with the columns and the grid of `like`.
    #[new]
    fn new(path: PathBuf, like: &Lines, position_type: Option<&str>) -> PyResult<Self> {
        let format = Format::from_name(&path).map_err(error)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let part = path.with_file_name(format!(".{}.{name}", std::process::id()));
        let position_type = position_type.map(datatype).transpose()?;
        let options = WriteOptions { position_type, ..WriteOptions::default() };
        // The user named the file, not what it is called until it is whole.
        let named = |error: TractogramError| {
            let (part, path) = (part.display().to_string(), path.display().to_string());
            FimbriaError::new_err(chain(&error).replace(&part, &path))
        };
        let writer = create(&part, format, &like.0.header, &options).map_err(named)?;
        Ok(Self { path, part, writer: Mutex::new(Some(writer)) })
    }

    /// Appends streamlines with the same columns.
    fn write(&self, py: Python<'_>, lines: &Lines, machine: Machine) -> PyResult<()> {
        let held = Arc::clone(&lines.0);
        run(py, &machine, |log| {
            let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
            let writer = writer.as_mut().ok_or("the file is finished already")?;
            let mut reader = Reader { held, next: 0 };
            log.start("writing streamlines", reader.header().n_streamlines.unwrap_or(0));
            let mut chunk = Streamlines::default();
            while reader.next_chunk(&mut chunk, CHUNK_POINTS)? {
                log.check()?;
                writer.write(&chunk)?;
                log.advance(chunk.len() as u64);
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Makes the file whole and gives it its name: how many streamlines and points it has. Where it cannot,
    /// or is interrupted, nothing is left of it.
    fn finish(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(writer) = writer else {
            return Err(PyValueError::new_err("the file is finished already"));
        };
        let (part, path) = (self.part.clone(), self.path.clone());
        let finished = run_apart(py, move |log| {
            let finished = writer.finish().map_err(StageError::from).and_then(|counts| {
                log.check()?;
                std::fs::rename(&part, &path)?;
                Ok((counts.streamlines, counts.points))
            });
            if finished.is_err() {
                // Where there is nothing to be removed there is nothing left.
                let _ = std::fs::remove_file(&part);
            }
            finished
        });
        if finished.is_err() {
            self.remove();
        }
        Ok(finished?.0)
    }

    /// Leaves nothing behind of a file that is not finished.
    fn abandon(&self) {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if writer.is_some() {
            self.remove();
        }
    }
}

impl LineWriter {
    fn remove(&self) {
        // Where there is nothing to be removed there is nothing left.
        let _ = std::fs::remove_file(&self.part);
    }
}

/// Python may lose a writer before its `with` begins: an interrupt is answered as soon as the writer is made.
impl Drop for LineWriter {
    fn drop(&mut self) {
        self.abandon();
    }
}
