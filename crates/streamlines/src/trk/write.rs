//! Writing: little endian, version 2, voxel order as the affine has it.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use fimbria_image::{Affine, ByteOrder, Datatype};

use super::fields::{self, Fields, MOST_NAMES};
use super::frame::voxel_order;
use crate::{ColumnKind, Counts, Header, Streamlines, TractogramError, WriteStreamlines};

/// A TRK file being written.
pub(crate) struct Writer {
    path: PathBuf,
    file: BufWriter<File>,
    stored_from_ras: Affine,
    counts: Counts,
}

impl Writer {
    pub(crate) fn create(path: &Path, header: &Header) -> Result<Self, TractogramError> {
        let grid = header.grid.ok_or_else(|| TractogramError::NoGrid(path.to_owned()))?;
        let refuse = |reason: String| TractogramError::unwritable(path, reason);
        let mut dims = [0; 3];
        for (dim, n) in dims.iter_mut().zip(grid.dims) {
            *dim = i16::try_from(n)
                .map_err(|_| refuse(format!("TRK has no room for {n} voxels along an axis")))?;
        }
        let spacing = grid.ras_from_vox.spacing();
        let vox_from_ras = grid.ras_from_vox.inverse().ok_or_else(|| {
            refuse(format!("the affine {:?} cannot be inverted", grid.ras_from_vox.0))
        })?;
        let mm_from_vox = Affine(std::array::from_fn(|a| {
            let mut row = [0.0; 4];
            (row[a], row[3]) = (spacing[a], spacing[a] / 2.0);
            row
        }));
        let fields = Fields {
            order: ByteOrder::Little,
            dims,
            voxel_size_mm: spacing.map(|mm| mm as f32),
            vox_to_ras: Some(grid.ras_from_vox.0.map(|row| row.map(|x| x as f32))),
            voxel_order: voxel_order(&grid.ras_from_vox),
            scalars: as_floats(&header.per_point).map_err(refuse)?,
            properties: as_floats(&header.per_streamline).map_err(refuse)?,
            n_streamlines: 0,
        };
        let file = File::create(path).map_err(TractogramError::io("create", path))?;
        let mut file = BufWriter::with_capacity(1 << 18, file);
        file.write_all(&fields.to_bytes()).map_err(TractogramError::io("write", path))?;
        let stored_from_ras = mm_from_vox.after(&vox_from_ras);
        Ok(Self { path: path.to_owned(), file, stored_from_ras, counts: Counts::default() })
    }

    fn write_streamline(&mut self, chunk: &Streamlines, index: usize) -> std::io::Result<()> {
        let points = chunk.points(index);
        self.file.write_all(&(points.len() as i32).to_le_bytes())?;
        let first = chunk.offsets()[index] as usize;
        for (row, point) in (first..).zip(points) {
            for x in self.stored_from_ras.apply(point.map(f64::from)) {
                self.file.write_all(&(x as f32).to_le_bytes())?;
            }
            for column in chunk.per_point() {
                self.write_row(column, row)?;
            }
        }
        for column in chunk.per_streamline() {
            self.write_row(column, index)?;
        }
        Ok(())
    }

    fn write_row(&mut self, column: &crate::Column, row: usize) -> std::io::Result<()> {
        let width = column.kind.width;
        for at in row * width..(row + 1) * width {
            self.file.write_all(&(column.value(at) as f32).to_le_bytes())?;
        }
        Ok(())
    }
}

/// The same columns as TRK holds them.
fn as_floats(kinds: &[ColumnKind]) -> Result<Vec<ColumnKind>, String> {
    let numbers = kinds.iter().map(|kind| kind.width).sum::<usize>();
    if kinds.len() > MOST_NAMES || numbers > i16::MAX as usize {
        return Err(format!(
            "TRK holds at most {MOST_NAMES} columns of a kind, not {}",
            kinds.len()
        ));
    }
    let float = |kind: &ColumnKind| ColumnKind { datatype: Datatype::Float32, ..kind.clone() };
    Ok(kinds.iter().map(float).collect())
}

impl WriteStreamlines for Writer {
    fn write(&mut self, chunk: &Streamlines) -> Result<(), TractogramError> {
        let error = TractogramError::io("write", &self.path);
        for index in 0..chunk.len() {
            self.write_streamline(chunk, index).map_err(&error)?;
        }
        self.counts.add(chunk);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Counts, TractogramError> {
        let error = TractogramError::io("write", &self.path);
        // 0 means not counted, which readers take from the file's length.
        let count = i32::try_from(self.counts.streamlines).unwrap_or(0);
        self.file.seek(SeekFrom::Start(fields::COUNT_AT)).map_err(&error)?;
        self.file.write_all(&count.to_le_bytes()).map_err(&error)?;
        self.file.flush().map_err(&error)?;
        Ok(self.counts)
    }
}
