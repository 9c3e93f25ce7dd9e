//! Writing, as a stream: positions go where they stay, everything shorter waits beside them.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use fimbria_image::arrays::{ArrayWriter, column_name, is_safe_name};
use fimbria_image::{Datatype, Grid};
use half::f16;

use super::header::TrxHeader;
use crate::scratch::Spill;
use crate::{
    Column, ColumnKind, Counts, Group, Header, Streamlines, TractogramError, WriteStreamlines,
};

/// A TRX being written.
pub(crate) struct Writer {
    path: PathBuf,
    grid: Grid,
    place: ArrayWriter,
    position_type: Datatype,
    offsets: Waiting,
    per_point: Vec<Waiting>,
    per_streamline: Vec<Waiting>,
    groups: Vec<Group>,
    counts: Counts,
    block: Vec<u8>,
}

/// A part that is written while positions are.
struct Waiting {
    name: String,
    bytes: Spill,
}

fn positions_name(datatype: Datatype) -> String {
    column_name(&ColumnKind { width: 3, ..ColumnKind::new("positions", datatype) })
}

impl Writer {
    pub(crate) fn create_zip(path: &Path, header: &Header) -> Result<Self, TractogramError> {
        check_names(path, header)?;
        let place = ArrayWriter::create_zip(path).map_err(TractogramError::io("create", path))?;
        Self::new(path, path, header, place)
    }

    pub(crate) fn create_folder(path: &Path, header: &Header) -> Result<Self, TractogramError> {
        check_names(path, header)?;
        let place =
            ArrayWriter::create_folder(path).map_err(TractogramError::io("create", path))?;
        Self::new(path, &path.join("header.json"), header, place)
    }

    /// What waits does so in the folder of `neighbour`.
    fn new(
        path: &Path,
        neighbour: &Path,
        header: &Header,
        mut place: ArrayWriter,
    ) -> Result<Self, TractogramError> {
        let grid = header.grid.ok_or_else(|| TractogramError::NoGrid(path.to_owned()))?;
        place
            .start(&positions_name(header.position_type))
            .map_err(TractogramError::io("create", path))?;
        let error = TractogramError::io("create a temporary file beside", path);
        let waiting = |name: String| -> Result<Waiting, TractogramError> {
            Ok(Waiting { name, bytes: Spill::beside(neighbour).map_err(&error)? })
        };
        let columns = |folder: &str, kinds: &[ColumnKind]| {
            let name = |kind| format!("{folder}/{}", column_name(kind));
            kinds.iter().map(|kind| waiting(name(kind))).collect::<Result<Vec<_>, _>>()
        };
        let mut writer = Self {
            path: path.to_owned(),
            grid,
            place,
            position_type: header.position_type,
            offsets: waiting("offsets.uint64".into())?,
            per_point: columns("dpv", &header.per_point)?,
            per_streamline: columns("dps", &header.per_streamline)?,
            groups: header.groups.clone(),
            counts: Counts::default(),
            block: Vec::new(),
        };
        let start = writer.offsets.bytes.write_all(&0u64.to_le_bytes());
        start.map_err(TractogramError::io("write", path))?;
        Ok(writer)
    }

    fn write_chunk(&mut self, chunk: &Streamlines) -> io::Result<()> {
        self.block.clear();
        let numbers = chunk.positions().as_flattened();
        match self.position_type {
            Datatype::Float16 => {
                let halves = numbers.iter().map(|x| f16::from_f32(*x).to_le_bytes());
                self.block.extend(halves.flatten());
            }
            Datatype::Float64 => {
                self.block.extend(numbers.iter().flat_map(|x| f64::from(*x).to_le_bytes()));
            }
            _ => self.block.extend(numbers.iter().flat_map(|x| x.to_le_bytes())),
        }
        self.place.write_all(&self.block)?;
        self.block.clear();
        let ends = chunk.offsets()[1..].iter().map(|end| self.counts.points + end);
        self.block.extend(ends.flat_map(u64::to_le_bytes));
        self.offsets.bytes.write_all(&self.block)?;
        for (waiting, column) in self.per_point.iter_mut().zip(chunk.per_point()) {
            waiting.bytes.write_all(column.bytes())?;
        }
        for (waiting, column) in self.per_streamline.iter_mut().zip(chunk.per_streamline()) {
            waiting.bytes.write_all(column.bytes())?;
        }
        Ok(())
    }

    fn finish_parts(self) -> io::Result<Counts> {
        let Self { grid, mut place, offsets, per_point, per_streamline, groups, counts, .. } = self;
        let text = TrxHeader { grid, counts }.to_json();
        for waiting in [offsets].into_iter().chain(per_point).chain(per_streamline) {
            place.add(&waiting.name, &mut waiting.bytes.into_reader()?)?;
        }
        for group in &groups {
            let members = Column::from_u32(&group.name, &group.members);
            place.add(&format!("groups/{}", column_name(&members.kind)), &mut members.bytes())?;
            for column in &group.data {
                let name = format!("dpg/{}/{}", group.name, column_name(&column.kind));
                place.add(&name, &mut column.bytes())?;
            }
        }
        place.add("header.json", &mut text.as_bytes())?;
        place.close()?;
        Ok(counts)
    }
}

/// Names become those of files, so they must be able to.
fn check_names(path: &Path, header: &Header) -> Result<(), TractogramError> {
    let columns = header.per_point.iter().chain(&header.per_streamline).map(|kind| &kind.name);
    let groups = header.groups.iter();
    let group_columns = groups.clone().flat_map(|g| g.data.iter().map(|c| &c.kind.name));
    let mut names = columns.chain(groups.map(|group| &group.name)).chain(group_columns);
    match names.find(|name| !is_safe_name(name)) {
        Some(name) => {
            let reason = format!("`{name}` cannot be the name of a file");
            Err(TractogramError::unwritable(path, reason))
        }
        None => Ok(()),
    }
}

impl WriteStreamlines for Writer {
    fn write(&mut self, chunk: &Streamlines) -> Result<(), TractogramError> {
        self.write_chunk(chunk).map_err(TractogramError::io("write", &self.path))?;
        self.counts.add(chunk);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Counts, TractogramError> {
        let error = TractogramError::io("write", &self.path);
        self.finish_parts().map_err(error)
    }
}
