//! Samples as streamlines.

use fimbria_image::{Affine, Datatype};
use fimbria_streamlines::{Column, ColumnKind, Streamlines};

use crate::Space;
use crate::packed::{put, take};
use crate::sample::{Collect, Parcel, Sample};

/// Makes streamlines of the samples that are kept: from the far end of the first half through the
/// seed to the far end of the second, the seed point once. In the order of seeds and samples.
///
/// Per streamline: `seed` (radiological index of the seed voxel, or row), `region`, `sample`,
/// `seed_point` (which point is the seed), `end_first`, `end_last` (why the ends ended there, as
/// numbered by [`EndReason`](crate::EndReason)).
pub struct Lines {
    ras_from_vox: Affine,
    made: Vec<Line>,
}

struct Line {
    order: (usize, u32),
    points: Vec<[f32; 3]>,
    numbers: [u32; 4],
    ends: [u8; 2],
}

const NUMBERS: [&str; 4] = ["seed", "region", "sample", "seed_point"];
const ENDS: [&str; 2] = ["end_first", "end_last"];

impl Lines {
    /// None yet.
    pub fn new(space: &Space) -> Self {
        Self { ras_from_vox: space.ras_from_radiological(), made: Vec::new() }
    }

    /// The columns of data per streamline.
    pub fn columns() -> Vec<ColumnKind> {
        let numbers = NUMBERS.iter().map(|name| ColumnKind::new(name, Datatype::UInt32));
        numbers.chain(ENDS.iter().map(|name| ColumnKind::new(name, Datatype::UInt8))).collect()
    }
}

impl Collect for Lines {
    type Block = Streamlines;

    fn sample(&mut self, sample: &Sample<'_>) {
        if !sample.kept {
            return;
        }
        let ras = |p: &[f32; 3]| self.ras_from_vox.apply(p.map(f64::from)).map(|x| x as f32);
        let seed_point = sample.halves()[0].len().saturating_sub(1) as u32;
        let seed = sample.seed;
        self.made.push(Line {
            order: sample.order,
            points: sample.joined().map(ras).collect(),
            numbers: [seed.key, seed.region, sample.number, seed_point],
            ends: sample.ends.map(|end| end as u8),
        });
    }

    fn end_block(&mut self) -> Streamlines {
        let mut made = std::mem::take(&mut self.made);
        made.sort_unstable_by_key(|line| line.order);
        let mut lines = Streamlines::default();
        for line in &made {
            lines.push(&line.points);
        }
        for (i, name) in NUMBERS.iter().enumerate() {
            let column: Vec<_> = made.iter().map(|line| line.numbers[i]).collect();
            lines.add_per_streamline(Column::from_u32(name, &column));
        }
        for (i, name) in ENDS.iter().enumerate() {
            let column: Vec<_> = made.iter().map(|line| line.ends[i]).collect();
            lines.add_per_streamline(Column::from_u8(name, &column));
        }
        lines
    }
}

impl Parcel for Lines {
    /// All of it is in blocks.
    fn merge(&mut self, _: Self) {}

    fn pack(block: Streamlines) -> Vec<u8> {
        let mut bytes = Vec::new();
        put(&mut bytes, block.offsets());
        put(&mut bytes, block.positions());
        block.per_streamline().iter().for_each(|column| put(&mut bytes, column.bytes()));
        bytes
    }

    fn unpack(mut bytes: &[u8]) -> Streamlines {
        let mut lines = Streamlines::from_parts(take(&mut bytes), take(&mut bytes));
        for kind in Self::columns() {
            lines.add_per_streamline(Column::from_bytes(kind, take(&mut bytes)));
        }
        lines
    }
}
