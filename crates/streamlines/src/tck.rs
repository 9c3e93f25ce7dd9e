//! MRtrix3's TCK: a text header, then triplets of floats in scanner RAS+ mm; a triplet of NaN ends a
//! streamline, one of infinity the file.
//! Described at <https://mrtrix.readthedocs.io/en/latest/getting_started/image_data.html>.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use fimbria_image::{ByteOrder, Datatype, open_regular};

use crate::format::{Description, Format, Mark, lost_columns, lost_groups};
use crate::scratch::decode_points;
use crate::{Counts, Header, ReadStreamlines, Streamlines, TractogramError, WriteStreamlines};

/// What there is to say of the format.
pub(crate) const FORMAT: Format = Format(&Description {
    name: "TCK",
    extension: "tck",
    holds: "MRtrix3, points only",
    told_by: Mark::Start(&[MAGIC.as_bytes()]),
    position_types: &[Datatype::Float32, Datatype::Float64],
    // Every reader knows Float32.
    keeps_position_type: false,
    seldom_read: &[(
        Datatype::Float64,
        "a TCK of Float64 is MRtrix3's alone: nibabel and DIPY do not read it",
    )],
    marks_its_end: true,
    holds_columns: false,
    losses: |header| {
        let mut losses = lost_columns(header);
        losses.extend(lost_groups(header));
        losses
    },
    open: |path| Ok(Box::new(Reader::open(path)?)),
    create: |path, header| Ok(Box::new(Writer::create(path, header)?)),
});

const MAGIC: &str = "mrtrix tracks";
/// No header is longer; what is gets refused rather than held.
const LONGEST_HEADER: u64 = 1 << 20;
/// Points that are decoded at a time: they stay in the cache of a core.
const BLOCK_POINTS: usize = 1 << 13;

/// A TCK file being read.
pub(crate) struct Reader {
    path: PathBuf,
    header: Header,
    file: File,
    triplet: Triplet,
    /// As they were read; once they are decoded what is left of a point that the next bytes complete.
    bytes: Vec<u8>,
    points: Vec<[f32; 3]>,
    /// Points that were handed on.
    taken: usize,
    /// Streamlines read.
    done: u64,
    at_end: bool,
    /// True where the file holds the triplet that ends it.
    has_end: bool,
}

/// How a point is stored.
#[derive(Clone, Copy)]
struct Triplet {
    wide: bool,
    order: ByteOrder,
}

impl Triplet {
    fn bytes(self) -> usize {
        if self.wide { 24 } else { 12 }
    }

    /// Appends the whole points that there are.
    fn decode(self, bytes: &[u8], points: &mut Vec<[f32; 3]>) {
        let datatype = if self.wide { Datatype::Float64 } else { Datatype::Float32 };
        decode_points(datatype, self.order, bytes, points);
    }
}

/// How many points there are before one that is none.
fn finite_points(points: &[[f32; 3]]) -> usize {
    /// So many are looked at together, without a branch.
    const TOGETHER: usize = 16;
    /// The exponent of what is no number, and of infinity.
    const NONE: u32 = 0x7f80_0000;
    let is_none = |x: &f32| x.to_bits() & NONE == NONE;
    let has_none =
        |some: &&[[f32; 3]]| some.as_flattened().iter().fold(false, |any, x| any | is_none(x));
    let before =
        points.chunks_exact(TOGETHER).take_while(|some| !has_none(some)).count() * TOGETHER;
    let rest = &points[before..];
    before + rest.iter().position(|point| point.iter().any(is_none)).unwrap_or(rest.len())
}

impl Reader {
    pub(crate) fn open(path: &Path) -> Result<Self, TractogramError> {
        let mut file = open_regular(path).map_err(TractogramError::io("open", path))?;
        let length = file.metadata().map_err(TractogramError::io("open", path))?.len();
        let mut start = Vec::new();
        (&mut file)
            .take(LONGEST_HEADER)
            .read_to_end(&mut start)
            .map_err(TractogramError::io("read", path))?;
        let parsed = parse_header(&start).map_err(|why| TractogramError::header(path, why))?;
        if parsed.offset > length {
            let why = format!(
                "its data should begin at byte {}, and it has {length} bytes: it was cut short",
                parsed.offset
            );
            return Err(TractogramError::header(path, why));
        }
        let io = TractogramError::io("read", path);
        let has_end = ends(&mut file, &parsed, length).map_err(&io)?;
        file.seek(SeekFrom::Start(parsed.offset)).map_err(io)?;
        Ok(Self {
            path: path.to_owned(),
            header: parsed.header,
            file,
            triplet: parsed.triplet,
            bytes: Vec::new(),
            points: Vec::new(),
            taken: 0,
            done: 0,
            at_end: false,
            has_end,
        })
    }

    /// Where the file ends without the triplet that says so: an error where its header counts
    /// more than came.
    fn end_of_file(&self) -> Result<(), TractogramError> {
        match self.header.n_streamlines {
            Some(stated) if stated > self.done => {
                let reason = format!(
                    "the file ends here, without its last triplet, and its header counts {stated} \
                     streamlines: it was cut short"
                );
                Err(TractogramError::damaged(&self.path, self.done, reason))
            }
            _ => Ok(()),
        }
    }

    /// Decodes the next points where all were taken; false at the end of the file.
    fn refill(&mut self) -> Result<bool, TractogramError> {
        if self.taken < self.points.len() {
            return Ok(true);
        }
        let size = self.triplet.bytes();
        let room = (BLOCK_POINTS * size - self.bytes.len()) as u64;
        let read = (&mut self.file).take(room).read_to_end(&mut self.bytes);
        read.map_err(TractogramError::io("read", &self.path))?;
        self.points.clear();
        self.taken = 0;
        self.triplet.decode(&self.bytes, &mut self.points);
        self.bytes.drain(..self.points.len() * size);
        Ok(!self.points.is_empty())
    }
}

impl ReadStreamlines for Reader {
    fn header(&self) -> &Header {
        &self.header
    }

    fn next_chunk(
        &mut self,
        chunk: &mut Streamlines,
        at_least: usize,
    ) -> Result<bool, TractogramError> {
        chunk.reset_for(&self.header);
        let mut open = false;
        while !self.at_end && (open || chunk.is_empty() || chunk.n_points() < at_least) {
            if !self.refill()? {
                if open || !self.bytes.is_empty() {
                    let reason = "the file ends before the streamline does";
                    return Err(TractogramError::damaged(&self.path, self.done, reason));
                }
                // Programs that are stopped leave files without the last triplet.
                self.end_of_file()?;
                (self.at_end, self.has_end) = (true, false);
                break;
            }
            let rest = &self.points[self.taken..];
            let run = finite_points(rest);
            chunk.extend_points(&rest[..run]);
            open |= run > 0;
            self.taken += run;
            let Some(point) = rest.get(run).copied() else { continue };
            self.taken += 1;
            if point[0].is_nan() {
                chunk.end_streamline();
                self.done += 1;
                open = false;
            } else if point[0].is_infinite() && !open {
                (self.at_end, self.has_end) = (true, true);
            } else {
                let reason = format!("{point:?} is no point");
                return Err(TractogramError::damaged(&self.path, self.done, reason));
            }
        }
        Ok(!chunk.is_empty())
    }

    fn doubts(&self) -> Vec<String> {
        let name = self.path.display();
        let mut doubts = Vec::new();
        if !self.has_end {
            doubts.push(format!(
                "{name} ends without the triplet that ends a TCK: it was cut short, or the program \
                 that wrote it was stopped"
            ));
        }
        if let Some(stated) = self.header.n_streamlines
            && self.at_end
            && stated != self.done
        {
            doubts.push(format!(
                "{name}: its header counts {stated} streamlines, and {} are there",
                self.done
            ));
        }
        doubts
    }
}

/// True where the last whole triplet is the one that ends a file. Data may follow it, so that a
/// reader that comes to it knows better.
fn ends(file: &mut File, parsed: &Parsed, length: u64) -> std::io::Result<bool> {
    let size = parsed.triplet.bytes();
    let whole = (length - parsed.offset) / size as u64;
    if whole == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::Start(parsed.offset + (whole - 1) * size as u64))?;
    let (mut last, mut point) = ([0; 24], Vec::new());
    file.read_exact(&mut last[..size])?;
    parsed.triplet.decode(&last[..size], &mut point);
    Ok(point.iter().any(|point| point[0].is_infinite()))
}

struct Parsed {
    header: Header,
    triplet: Triplet,
    offset: u64,
}

fn parse_header(start: &[u8]) -> Result<Parsed, String> {
    let (mut ended, mut at) = (false, 0);
    let mut lines = Vec::new();
    while let Some(length) = start[at..].iter().position(|byte| *byte == b'\n') {
        let line = String::from_utf8_lossy(&start[at..at + length]).trim_end().to_owned();
        at += length + 1;
        if line == "END" {
            ended = true;
            break;
        }
        lines.push(line);
    }
    if lines.first().map(String::as_str) != Some(MAGIC) {
        return Err(format!("the first line is not `{MAGIC}`"));
    }
    if !ended {
        return Err("the header has no line END".into());
    }
    let mut header = Header::default();
    let (mut triplet, mut offset) = (None, None);
    for line in &lines[1..] {
        let Some((key, value)) = line.split_once(':') else { continue };
        let (key, value) = (key.trim(), value.trim());
        match key {
            "datatype" => triplet = Some(parse_datatype(value)?),
            "file" => offset = Some(parse_file(value, at as u64)?),
            "count" => header.n_streamlines = value.parse().ok(),
            "total_count" => {}
            _ => header.keyvals.push((key.to_owned(), value.to_owned())),
        }
    }
    let triplet = triplet.ok_or("the header has no datatype")?;
    header.position_type = if triplet.wide { Datatype::Float64 } else { Datatype::Float32 };
    Ok(Parsed { header, triplet, offset: offset.ok_or("the header has no entry `file`")? })
}

fn parse_datatype(text: &str) -> Result<Triplet, String> {
    let (wide, order) = match text.to_ascii_lowercase().as_str() {
        "float32le" => (false, ByteOrder::Little),
        "float32be" => (false, ByteOrder::Big),
        "float32" => (false, ByteOrder::NATIVE),
        "float64le" => (true, ByteOrder::Little),
        "float64be" => (true, ByteOrder::Big),
        "float64" => (true, ByteOrder::NATIVE),
        _ => {
            return Err(format!(
                "`{text}` is no datatype of coordinates (Float32LE, Float64BE ..)"
            ));
        }
    };
    Ok(Triplet { wide, order })
}

/// `. OFFSET`: the data are in the file itself.
fn parse_file(text: &str, header_bytes: u64) -> Result<u64, String> {
    let offset = text.strip_prefix('.').and_then(|rest| rest.trim().parse::<u64>().ok());
    match offset {
        Some(offset) if offset >= header_bytes => Ok(offset),
        Some(offset) => Err(format!("data cannot start at byte {offset}, inside the header")),
        None => Err(format!("`file: {text}` does not say where in this file the data start")),
    }
}

/// A TCK file being written.
pub(crate) struct Writer {
    path: PathBuf,
    file: BufWriter<File>,
    wide: bool,
    /// Those of a streamline.
    bytes: Vec<u8>,
    counts: Counts,
    /// Where the digits of the count are.
    count_at: u64,
}

/// Digits that every number of streamlines fits in.
const COUNT_DIGITS: usize = 20;

impl Writer {
    pub(crate) fn create(path: &Path, header: &Header) -> Result<Self, TractogramError> {
        let wide = header.position_type == Datatype::Float64;
        let mut text = format!("{MAGIC}\n");
        for (key, value) in &header.keyvals {
            for line in value.lines() {
                text += &format!("{}: {line}\n", key.replace([':', '\n'], " "));
            }
        }
        text += if wide { "datatype: Float64LE\n" } else { "datatype: Float32LE\n" };
        let count_at = text.len() + "count: ".len();
        text += &format!("count: {:0COUNT_DIGITS$}\n", 0);
        // The offset counts its own digits too: aligned to 64 bytes, four digits or more.
        let offset = (text.len() + "file: . 0000000000\nEND\n".len()).next_multiple_of(64);
        text += &format!("file: . {offset}\nEND\n");
        let mut bytes = text.into_bytes();
        bytes.resize(offset, 0);
        let file = File::create(path).map_err(TractogramError::io("create", path))?;
        let mut file = BufWriter::with_capacity(1 << 18, file);
        file.write_all(&bytes).map_err(TractogramError::io("write", path))?;
        let counts = Counts::default();
        let (path, bytes, count_at) = (path.to_owned(), Vec::new(), count_at as u64);
        Ok(Self { path, file, wide, bytes, counts, count_at })
    }

    /// Writes points as they are.
    fn triplets(&mut self, points: &[[f32; 3]]) -> std::io::Result<()> {
        self.bytes.clear();
        let numbers = points.as_flattened().iter();
        match self.wide {
            true => self.bytes.extend(numbers.flat_map(|x| f64::from(*x).to_le_bytes())),
            false => self.bytes.extend(numbers.flat_map(|x| x.to_le_bytes())),
        }
        self.file.write_all(&self.bytes)
    }
}

impl WriteStreamlines for Writer {
    fn write(&mut self, chunk: &Streamlines) -> Result<(), TractogramError> {
        let error = TractogramError::io("write", &self.path);
        for points in chunk.iter() {
            // It would end the streamline, or the file.
            if let Some(point) = points.get(finite_points(points)) {
                let reason = format!("a point at {point:?} has no place in a TCK");
                return Err(TractogramError::unwritable(&self.path, reason));
            }
            self.triplets(points).map_err(&error)?;
            self.triplets(&[[f32::NAN; 3]]).map_err(&error)?;
        }
        self.counts.add(chunk);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Counts, TractogramError> {
        let error = TractogramError::io("write", &self.path);
        self.triplets(&[[f32::INFINITY; 3]]).map_err(&error)?;
        self.file.seek(SeekFrom::Start(self.count_at)).map_err(&error)?;
        let count = format!("{:0COUNT_DIGITS$}", self.counts.streamlines);
        self.file.write_all(count.as_bytes()).map_err(&error)?;
        self.file.flush().map_err(&error)?;
        Ok(self.counts)
    }
}
