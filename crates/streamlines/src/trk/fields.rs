//! The 1000 bytes at the start.

use fimbria_image::{ByteOrder, Datatype};

use crate::ColumnKind;

pub(super) const SIZE: usize = 1000;
/// Names of columns, per kind of data.
pub(super) const MOST_NAMES: usize = 10;
const NAME_BYTES: usize = 20;

/// Where each field starts.
mod at {
    pub(super) const DIMS: usize = 6;
    pub(super) const VOXEL_SIZE: usize = 12;
    pub(super) const N_SCALARS: usize = 36;
    pub(super) const SCALAR_NAMES: usize = 38;
    pub(super) const N_PROPERTIES: usize = 238;
    pub(super) const PROPERTY_NAMES: usize = 240;
    pub(super) const VOX_TO_RAS: usize = 440;
    pub(super) const VOXEL_ORDER: usize = 948;
    pub(super) const N_COUNT: usize = 988;
    pub(super) const VERSION: usize = 992;
    pub(super) const HEADER_SIZE: usize = 996;
}

/// Byte of the number of streamlines, which is known last.
pub(super) const COUNT_AT: u64 = at::N_COUNT as u64;

/// What the header says, in its own terms.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fields {
    pub(super) order: ByteOrder,
    pub(super) dims: [i16; 3],
    pub(super) voxel_size_mm: [f32; 3],
    /// `None` where it is not recorded (version 1, or its last element is 0).
    pub(super) vox_to_ras: Option<[[f32; 4]; 3]>,
    /// Three letters such as `LPS`; empty where not recorded.
    pub(super) voxel_order: String,
    pub(super) scalars: Vec<ColumnKind>,
    pub(super) properties: Vec<ColumnKind>,
    /// 0: not counted.
    pub(super) n_streamlines: i32,
}

impl Fields {
    pub(super) fn parse(bytes: &[u8; SIZE]) -> Result<Self, String> {
        if !bytes.starts_with(b"TRACK") {
            return Err("it does not start with TRACK".into());
        }
        let order = match (SIZE as i32).to_le_bytes() {
            little if bytes[at::HEADER_SIZE..] == little => ByteOrder::Little,
            _ if bytes[at::HEADER_SIZE..] == (SIZE as i32).to_be_bytes() => ByteOrder::Big,
            _ => return Err("the size of the header is not 1000 in either byte order".into()),
        };
        let version = int(bytes, at::VERSION, order);
        if !(1..=3).contains(&version) {
            return Err(format!("version {version} is not known"));
        }
        let recorded = version >= 2 && float(bytes, at::VOX_TO_RAS + 60, order) != 0.0;
        let row = |i: usize| {
            std::array::from_fn(|j| float(bytes, at::VOX_TO_RAS + 16 * i + 4 * j, order))
        };
        Ok(Self {
            order,
            dims: std::array::from_fn(|a| short(bytes, at::DIMS + 2 * a, order)),
            voxel_size_mm: std::array::from_fn(|a| float(bytes, at::VOXEL_SIZE + 4 * a, order)),
            vox_to_ras: recorded.then(|| [row(0), row(1), row(2)]),
            voxel_order: text(&bytes[at::VOXEL_ORDER..at::VOXEL_ORDER + 4]),
            scalars: columns(
                short(bytes, at::N_SCALARS, order),
                &bytes[at::SCALAR_NAMES..],
                "scalars",
            )?,
            properties: columns(
                short(bytes, at::N_PROPERTIES, order),
                &bytes[at::PROPERTY_NAMES..],
                "properties",
            )?,
            n_streamlines: int(bytes, at::N_COUNT, order),
        })
    }

    /// Little endian, version 2.
    pub(super) fn to_bytes(&self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
        put(0, b"TRACK\0");
        for a in 0..3 {
            put(at::DIMS + 2 * a, &self.dims[a].to_le_bytes());
            put(at::VOXEL_SIZE + 4 * a, &self.voxel_size_mm[a].to_le_bytes());
        }
        let rows = self.vox_to_ras.unwrap_or_default();
        for (i, row) in rows.iter().chain([&[0.0, 0.0, 0.0, 1.0]]).enumerate() {
            for (j, value) in row.iter().enumerate() {
                put(at::VOX_TO_RAS + 16 * i + 4 * j, &value.to_le_bytes());
            }
        }
        put(at::VOXEL_ORDER, self.voxel_order.as_bytes());
        for (count_at, names_at, columns) in [
            (at::N_SCALARS, at::SCALAR_NAMES, &self.scalars),
            (at::N_PROPERTIES, at::PROPERTY_NAMES, &self.properties),
        ] {
            let width = columns.iter().map(|column| column.width).sum::<usize>();
            put(count_at, &(width as i16).to_le_bytes());
            for (i, column) in columns.iter().enumerate() {
                put(names_at + i * NAME_BYTES, &name_bytes(column));
            }
        }
        put(at::N_COUNT, &self.n_streamlines.to_le_bytes());
        put(at::VERSION, &2i32.to_le_bytes());
        put(at::HEADER_SIZE, &(SIZE as i32).to_le_bytes());
        bytes
    }
}

/// The columns that `count` numbers per row fall into by their names; numbers without a name are a
/// column called `unnamed`.
fn columns(count: i16, names: &[u8], unnamed: &str) -> Result<Vec<ColumnKind>, String> {
    let total = usize::try_from(count).map_err(|_| format!("there cannot be {count} {unnamed}"))?;
    let mut columns = Vec::new();
    let mut left = total;
    for field in names.chunks_exact(NAME_BYTES).take(MOST_NAMES) {
        let name = text(field);
        if name.is_empty() || left == 0 {
            continue;
        }
        // After the name and its zero byte there may be how many numbers it stands for.
        let rest = text(field.get(name.len() + 1..).unwrap_or_default());
        let width = rest.parse().unwrap_or(1usize).clamp(1, left);
        columns.push(ColumnKind { name, datatype: Datatype::Float32, width });
        left -= width;
    }
    if left > 0 {
        let name = unnamed.to_owned();
        columns.push(ColumnKind { name, datatype: Datatype::Float32, width: left });
    }
    Ok(columns)
}

/// A name, and after a zero byte how many numbers it stands for where that is not one.
fn name_bytes(column: &ColumnKind) -> [u8; NAME_BYTES] {
    let width = if column.width == 1 { String::new() } else { format!("\0{}", column.width) };
    let mut field = [0; NAME_BYTES];
    let name = &column.name.as_bytes()[..column.name.len().min(NAME_BYTES - width.len())];
    field[..name.len()].copy_from_slice(name);
    field[name.len()..name.len() + width.len()].copy_from_slice(width.as_bytes());
    field
}

/// Up to the first zero byte.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim().to_owned()
}

fn array<const N: usize>(bytes: &[u8], at: usize, order: ByteOrder) -> [u8; N] {
    let mut little: [u8; N] = bytes[at..at + N].try_into().expect("N bytes");
    if order == ByteOrder::Big {
        little.reverse();
    }
    little
}

pub(super) fn short(bytes: &[u8], at: usize, order: ByteOrder) -> i16 {
    i16::from_le_bytes(array(bytes, at, order))
}

pub(super) fn int(bytes: &[u8], at: usize, order: ByteOrder) -> i32 {
    i32::from_le_bytes(array(bytes, at, order))
}

pub(super) fn float(bytes: &[u8], at: usize, order: ByteOrder) -> f32 {
    f32::from_le_bytes(array(bytes, at, order))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_survive_being_written() {
        let column = |name: &str, width| ColumnKind {
            name: name.into(),
            datatype: Datatype::Float32,
            width,
        };
        let fields = Fields {
            order: ByteOrder::Little,
            dims: [9, 8, 7],
            voxel_size_mm: [1.5, 2.0, 3.0],
            vox_to_ras: Some([[1.5, 0., 0., 4.], [0., 2., 0., 5.], [0., 0., 3., 6.]]),
            voxel_order: "RAS".into(),
            scalars: vec![column("colour", 3), column("fa", 1)],
            properties: vec![column("a name of 20 letters", 1)],
            n_streamlines: 12,
        };
        assert_eq!(Fields::parse(&fields.to_bytes()).unwrap(), fields);
    }

    #[test]
    fn numbers_without_names_are_one_column() {
        let unnamed = columns(3, &[0; 200], "scalars").unwrap();
        assert_eq!((unnamed.len(), unnamed[0].width, unnamed[0].name.as_str()), (1, 3, "scalars"));
        assert!(columns(-1, &[0; 200], "scalars").is_err());
    }
}
