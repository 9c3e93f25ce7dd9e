//! Reading.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use fimbria_image::arrays::read_onto;
use fimbria_image::{Affine, ByteOrder, open_regular};

use super::fields::{self, Fields};
use super::frame::Frame;
use crate::{Header, ReadStreamlines, Streamlines, TractogramError};

/// A TRK file being read.
pub(crate) struct Reader {
    path: PathBuf,
    header: Header,
    file: BufReader<File>,
    order: ByteOrder,
    ras_from_stored: Affine,
    /// Streamlines read.
    done: u64,
    record: Vec<u8>,
    /// What the header leaves open.
    doubts: Vec<String>,
    /// Bytes read, and bytes there are.
    read: u64,
    length: u64,
}

impl Reader {
    pub(crate) fn open(path: &Path) -> Result<Self, TractogramError> {
        let file = open_regular(path).map_err(TractogramError::io("open", path))?;
        let length = file.metadata().map_err(TractogramError::io("open", path))?.len();
        let mut file = BufReader::with_capacity(1 << 18, file);
        let mut bytes = [0; fields::SIZE];
        file.read_exact(&mut bytes)
            .map_err(|_| TractogramError::header(path, "it is shorter than a TRK header"))?;
        let wrong = |why: String| TractogramError::header(path, why);
        let fields = Fields::parse(&bytes).map_err(wrong)?;
        let frame = Frame::from_fields(&fields).map_err(wrong)?;
        let header = Header {
            grid: Some(frame.grid),
            n_streamlines: u64::try_from(fields.n_streamlines).ok().filter(|n| *n > 0),
            per_point: fields.scalars,
            per_streamline: fields.properties,
            ..Header::default()
        };
        Ok(Self {
            path: path.to_owned(),
            header,
            file,
            order: fields.order,
            ras_from_stored: frame.ras_from_stored,
            done: 0,
            record: Vec::new(),
            doubts: frame.doubts,
            read: fields::SIZE as u64,
            length,
        })
    }

    /// The number of points of the next streamline, or `None` at the end of the file.
    fn next_length(&mut self) -> Result<Option<u64>, TractogramError> {
        self.record.clear();
        let read = (&mut self.file).take(4).read_to_end(&mut self.record);
        match read.map_err(TractogramError::io("read", &self.path))? {
            0 => Ok(None),
            4 => {
                let points = fields::int(&self.record, 0, self.order);
                let points = u64::try_from(points).map_err(|_| {
                    TractogramError::damaged(&self.path, self.done, format!("{points} points"))
                })?;
                Ok(Some(points))
            }
            _ => Err(self.ends_early()),
        }
    }

    fn ends_early(&self) -> TractogramError {
        TractogramError::damaged(&self.path, self.done, "the file ends before the streamline does")
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
        let width = |kinds: &[crate::ColumnKind]| kinds.iter().map(|k| k.width).sum::<usize>();
        let point_numbers = 3 + width(&self.header.per_point);
        let end_numbers = width(&self.header.per_streamline);
        while chunk.is_empty() || chunk.n_points() < at_least {
            // A header that counts is believed: what follows the last streamline is not read.
            if self.header.n_streamlines == Some(self.done) {
                break;
            }
            let Some(points) = self.next_length()? else {
                if let Some(stated) = self.header.n_streamlines {
                    let reason = format!("the file ends, and its header counts {stated}");
                    return Err(TractogramError::damaged(&self.path, self.done, reason));
                }
                break;
            };
            let bytes = 4 * (points * point_numbers as u64 + end_numbers as u64);
            self.record.clear();
            if read_onto(&mut self.file, bytes, &mut self.record).is_err() {
                return Err(self.ends_early());
            }
            self.reverse_foreign_bytes();
            self.unpack(points as usize, point_numbers, chunk);
            self.read += 4 + bytes;
            self.done += 1;
        }
        Ok(!chunk.is_empty())
    }

    fn doubts(&self) -> Vec<String> {
        let name = self.path.display();
        let mut doubts: Vec<_> =
            self.doubts.iter().map(|doubt| format!("{name}: {doubt}")).collect();
        if self.header.n_streamlines == Some(self.done) && self.read < self.length {
            doubts.push(format!(
                "{name}: {} bytes follow the {} streamlines that its header counts, and were not \
                 read",
                self.length - self.read,
                self.done
            ));
        }
        doubts
    }
}

impl Reader {
    fn reverse_foreign_bytes(&mut self) {
        if self.order == ByteOrder::Big {
            for number in self.record.chunks_exact_mut(4) {
                number.reverse();
            }
        }
    }

    /// One streamline from its little-endian record.
    fn unpack(&self, points: usize, point_numbers: usize, chunk: &mut Streamlines) {
        let (body, end) = self.record.split_at(4 * points * point_numbers);
        for row in body.chunks_exact(4 * point_numbers) {
            let stored =
                std::array::from_fn(|a| f64::from(fields::float(row, 4 * a, ByteOrder::Little)));
            chunk.push_point(self.ras_from_stored.apply(stored).map(|x| x as f32));
        }
        let parts = chunk.parts_mut();
        let mut at = 12;
        for column in parts.per_point {
            let size = column.kind.row_bytes();
            for row in body.chunks_exact(4 * point_numbers) {
                column.bytes_mut().extend_from_slice(&row[at..at + size]);
            }
            at += size;
        }
        let mut at = 0;
        for column in parts.per_streamline {
            let size = column.kind.row_bytes();
            column.bytes_mut().extend_from_slice(&end[at..at + size]);
            at += size;
        }
        chunk.end_streamline();
    }
}
