//! Writing, as a stream: positions go where they stay, everything shorter waits beside them.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use fimbria_image::{Datatype, Grid};
use half::f16;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::header::TrxHeader;
use super::name;
use crate::scratch::Spill;
use crate::{
    Column, ColumnKind, Counts, Group, Header, Streamlines, TractogramError, WriteStreamlines,
};

/// Arrays start at multiples of this many bytes, so that they can be mapped.
const ALIGNMENT: u16 = 64;

/// A TRX being written.
pub(crate) struct Writer {
    path: PathBuf,
    grid: Grid,
    place: Container,
    position_type: Datatype,
    offsets: Waiting,
    per_point: Vec<Waiting>,
    per_streamline: Vec<Waiting>,
    groups: Vec<Group>,
    counts: Counts,
    block: Vec<u8>,
}

/// An archive that is closed by name alone: one that is dropped where its disk is full would try to close
/// itself and complain on standard error. Its file stays open until the program ends.
type Archive = ManuallyDrop<Box<ZipWriter<BufWriter<File>>>>;

/// Where positions are written.
enum Container {
    Zip(Archive),
    Folder(BufWriter<File>),
}

impl Container {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Zip(zip) => zip.write_all(bytes),
            Self::Folder(file) => file.write_all(bytes),
        }
    }
}

/// A part that is written while positions are.
struct Waiting {
    name: String,
    bytes: Spill,
}

fn zip_options() -> SimpleFileOptions {
    SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Stored)
        .with_alignment(ALIGNMENT)
        .large_file(true)
}

fn positions_name(datatype: Datatype) -> String {
    name::column_name(&ColumnKind { width: 3, ..ColumnKind::new("positions", datatype) })
}

impl Writer {
    pub(crate) fn create_zip(path: &Path, header: &Header) -> Result<Self, TractogramError> {
        check_names(path, header)?;
        let error = TractogramError::io("create", path);
        let file = BufWriter::with_capacity(1 << 18, File::create(path).map_err(&error)?);
        let mut zip = ZipWriter::new(file);
        zip.start_file(positions_name(header.position_type), zip_options())
            .map_err(|why| error(why.into()))?;
        Self::new(path, path, header, Container::Zip(ManuallyDrop::new(Box::new(zip))))
    }

    pub(crate) fn create_folder(path: &Path, header: &Header) -> Result<Self, TractogramError> {
        check_names(path, header)?;
        let error = TractogramError::io("create", path);
        fs::create_dir_all(path).map_err(&error)?;
        let file = File::create(path.join(positions_name(header.position_type))).map_err(&error)?;
        let place = Container::Folder(BufWriter::with_capacity(1 << 18, file));
        Self::new(path, &path.join("header.json"), header, place)
    }

    /// What waits does so in the folder of `neighbour`.
    fn new(
        path: &Path,
        neighbour: &Path,
        header: &Header,
        place: Container,
    ) -> Result<Self, TractogramError> {
        let grid = header.grid.ok_or_else(|| TractogramError::NoGrid(path.to_owned()))?;
        let error = TractogramError::io("create a temporary file beside", path);
        let waiting = |name: String| -> Result<Waiting, TractogramError> {
            Ok(Waiting { name, bytes: Spill::beside(neighbour).map_err(&error)? })
        };
        let columns = |folder: &str, kinds: &[ColumnKind]| {
            let name = |kind| format!("{folder}/{}", name::column_name(kind));
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
        let Self { path, grid, place, offsets, per_point, per_streamline, groups, counts, .. } =
            self;
        let text = TrxHeader { grid, counts }.to_json();
        let mut rest = Rest::after(place, &path)?;
        for waiting in [offsets].into_iter().chain(per_point).chain(per_streamline) {
            rest.add(&waiting.name, &mut waiting.bytes.into_reader()?)?;
        }
        for group in &groups {
            let members = Column::from_u32(&group.name, &group.members);
            rest.add(
                &format!("groups/{}", name::column_name(&members.kind)),
                &mut members.bytes(),
            )?;
            for column in &group.data {
                let name = format!("dpg/{}/{}", group.name, name::column_name(&column.kind));
                rest.add(&name, &mut column.bytes())?;
            }
        }
        rest.add("header.json", &mut text.as_bytes())?;
        rest.close()?;
        Ok(counts)
    }
}

/// Takes the parts that follow the positions.
enum Rest<'a> {
    Zip(Archive),
    Folder(&'a Path),
}

impl<'a> Rest<'a> {
    fn after(place: Container, path: &'a Path) -> io::Result<Self> {
        match place {
            Container::Zip(zip) => Ok(Self::Zip(zip)),
            Container::Folder(mut file) => {
                file.flush()?;
                Ok(Self::Folder(path))
            }
        }
    }

    fn add(&mut self, name: &str, bytes: &mut dyn io::Read) -> io::Result<()> {
        match self {
            Self::Zip(zip) => {
                zip.start_file(name, zip_options())?;
                io::copy(bytes, &mut ***zip)?;
            }
            Self::Folder(root) => {
                let path = root.join(name);
                if let Some(folder) = path.parent() {
                    fs::create_dir_all(folder)?;
                }
                io::copy(bytes, &mut File::create(path)?)?;
            }
        }
        Ok(())
    }

    fn close(self) -> io::Result<()> {
        match self {
            Self::Zip(zip) => ManuallyDrop::into_inner(zip).finish()?.flush(),
            Self::Folder(_) => Ok(()),
        }
    }
}

/// Names become those of files, so they must be able to.
fn check_names(path: &Path, header: &Header) -> Result<(), TractogramError> {
    let columns = header.per_point.iter().chain(&header.per_streamline).map(|kind| &kind.name);
    let groups = header.groups.iter();
    let group_columns = groups.clone().flat_map(|g| g.data.iter().map(|c| &c.kind.name));
    let mut names = columns.chain(groups.map(|group| &group.name)).chain(group_columns);
    match names.find(|name| !name::is_safe(name)) {
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
