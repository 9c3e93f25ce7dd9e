//! The fields of both header versions, at their places.

use crate::ByteOrder;

/// Which of the two headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    One,
    Two,
}

impl Version {
    /// Bytes of the header proper, as its first field says.
    pub(crate) const fn header_bytes(self) -> usize {
        match self {
            Self::One => 348,
            Self::Two => 540,
        }
    }

    /// Where data may begin in a single file: after the header and the four bytes that say
    /// whether extensions follow.
    pub(crate) const fn data_offset(self) -> usize {
        self.header_bytes() + 4
    }

    /// Where the magic letters stand.
    pub(crate) const fn magic_at(self) -> usize {
        match self {
            Self::One => 344,
            Self::Two => 4,
        }
    }

    const fn places(self) -> &'static FieldsAt {
        match self {
            Self::One => &ONE,
            Self::Two => &TWO,
        }
    }
}

/// The fields that matter here. Numbers are as wide as the wider version holds them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Fields {
    pub(crate) dim: [i64; 8],
    pub(crate) intent_parameters: [f64; 3],
    pub(crate) intent_code: i32,
    pub(crate) intent_name: String,
    pub(crate) datatype: i32,
    pub(crate) bitpix: i32,
    /// `pixdim[0]` is the sign of the qform's third axis.
    pub(crate) pixdim: [f64; 8],
    pub(crate) data_offset: f64,
    pub(crate) slope: f64,
    pub(crate) intercept: f64,
    /// Largest and least value that viewers show at first; both 0 for their own choice.
    pub(crate) shown: [f64; 2],
    pub(crate) units: i32,
    pub(crate) description: String,
    pub(crate) qform_code: i32,
    pub(crate) sform_code: i32,
    pub(crate) quaternion_bcd: [f64; 3],
    pub(crate) q_offset_mm: [f64; 3],
    pub(crate) sform: [[f64; 4]; 3],
}

/// How a number is stored.
#[derive(Clone, Copy)]
enum Kind {
    U8,
    I16,
    I32,
    I64,
    F32,
    F64,
}

use Kind::{F32, F64, I16, I32, I64, U8};

/// Byte at which the first number of a field stands, and its kind.
type FieldAt = (usize, Kind);

struct FieldsAt {
    dim: FieldAt,
    intent_parameters: FieldAt,
    intent_code: FieldAt,
    intent_name: usize,
    datatype: FieldAt,
    bitpix: FieldAt,
    pixdim: FieldAt,
    data_offset: FieldAt,
    slope: FieldAt,
    intercept: FieldAt,
    shown: FieldAt,
    units: FieldAt,
    description: usize,
    qform_code: FieldAt,
    sform_code: FieldAt,
    quaternion_bcd: FieldAt,
    q_offset_mm: FieldAt,
    sform: FieldAt,
}

const ONE: FieldsAt = FieldsAt {
    dim: (40, I16),
    intent_parameters: (56, F32),
    intent_code: (68, I16),
    intent_name: 328,
    datatype: (70, I16),
    bitpix: (72, I16),
    pixdim: (76, F32),
    data_offset: (108, F32),
    slope: (112, F32),
    intercept: (116, F32),
    shown: (124, F32),
    units: (123, U8),
    description: 148,
    qform_code: (252, I16),
    sform_code: (254, I16),
    quaternion_bcd: (256, F32),
    q_offset_mm: (268, F32),
    sform: (280, F32),
};

const TWO: FieldsAt = FieldsAt {
    dim: (16, I64),
    intent_parameters: (80, F64),
    intent_code: (504, I32),
    intent_name: 508,
    datatype: (12, I16),
    bitpix: (14, I16),
    pixdim: (104, F64),
    data_offset: (168, I64),
    slope: (176, F64),
    intercept: (184, F64),
    shown: (192, F64),
    units: (500, I32),
    description: 240,
    qform_code: (344, I32),
    sform_code: (348, I32),
    quaternion_bcd: (352, F64),
    q_offset_mm: (376, F64),
    sform: (400, F64),
};

const INTENT_NAME_BYTES: usize = 16;
const DESCRIPTION_BYTES: usize = 80;

impl Fields {
    /// Takes the fields out of a header.
    ///
    /// # Panics
    /// Where `header` is shorter than [`Version::header_bytes`].
    pub(crate) fn read(header: &[u8], version: Version, order: ByteOrder) -> Self {
        let p = version.places();
        let number = |place, index| number(header, place, index, order);
        Self {
            dim: std::array::from_fn(|i| number(p.dim, i) as i64),
            intent_parameters: std::array::from_fn(|i| number(p.intent_parameters, i)),
            intent_code: number(p.intent_code, 0) as i32,
            intent_name: text(&header[p.intent_name..][..INTENT_NAME_BYTES]),
            datatype: number(p.datatype, 0) as i32,
            bitpix: number(p.bitpix, 0) as i32,
            pixdim: std::array::from_fn(|i| number(p.pixdim, i)),
            data_offset: number(p.data_offset, 0),
            slope: number(p.slope, 0),
            intercept: number(p.intercept, 0),
            shown: std::array::from_fn(|i| number(p.shown, i)),
            units: number(p.units, 0) as i32,
            description: text(&header[p.description..][..DESCRIPTION_BYTES]),
            qform_code: number(p.qform_code, 0) as i32,
            sform_code: number(p.sform_code, 0) as i32,
            quaternion_bcd: std::array::from_fn(|i| number(p.quaternion_bcd, i)),
            q_offset_mm: std::array::from_fn(|i| number(p.q_offset_mm, i)),
            sform: std::array::from_fn(|r| std::array::from_fn(|c| number(p.sform, 4 * r + c))),
        }
    }

    /// The header, without magic letters. Integers saturate, text is cut.
    pub(crate) fn write(&self, version: Version, order: ByteOrder) -> Vec<u8> {
        let p = version.places();
        let mut header = vec![0; version.header_bytes()];
        put(&mut header, (0, I32), order, &[version.header_bytes() as f64]);
        put(&mut header, p.dim, order, &self.dim.map(|d| d as f64));
        put(&mut header, p.intent_parameters, order, &self.intent_parameters);
        put(&mut header, p.intent_code, order, &[self.intent_code.into()]);
        put(&mut header, p.datatype, order, &[self.datatype.into()]);
        put(&mut header, p.bitpix, order, &[self.bitpix.into()]);
        put(&mut header, p.pixdim, order, &self.pixdim);
        put(&mut header, p.data_offset, order, &[self.data_offset]);
        put(&mut header, p.slope, order, &[self.slope]);
        put(&mut header, p.intercept, order, &[self.intercept]);
        put(&mut header, p.shown, order, &self.shown);
        put(&mut header, p.units, order, &[self.units.into()]);
        put(&mut header, p.qform_code, order, &[self.qform_code.into()]);
        put(&mut header, p.sform_code, order, &[self.sform_code.into()]);
        put(&mut header, p.quaternion_bcd, order, &self.quaternion_bcd);
        put(&mut header, p.q_offset_mm, order, &self.q_offset_mm);
        put(&mut header, p.sform, order, self.sform.as_flattened());
        put_text(&mut header[p.intent_name..][..INTENT_NAME_BYTES], &self.intent_name);
        put_text(&mut header[p.description..][..DESCRIPTION_BYTES], &self.description);
        header
    }
}

fn bytes_at<const N: usize>(header: &[u8], at: usize, order: ByteOrder) -> [u8; N] {
    let mut bytes: [u8; N] = std::array::from_fn(|i| header[at + i]);
    if order == ByteOrder::Big {
        bytes.reverse();
    }
    bytes
}

/// Number `index` of a field. Exact but for 64-bit integers beyond 2^53, which no header needs.
fn number(header: &[u8], (at, kind): FieldAt, index: usize, order: ByteOrder) -> f64 {
    match kind {
        U8 => header[at + index].into(),
        I16 => i16::from_le_bytes(bytes_at(header, at + 2 * index, order)).into(),
        I32 => i32::from_le_bytes(bytes_at(header, at + 4 * index, order)).into(),
        I64 => i64::from_le_bytes(bytes_at(header, at + 8 * index, order)) as f64,
        F32 => f32::from_le_bytes(bytes_at(header, at + 4 * index, order)).into(),
        F64 => f64::from_le_bytes(bytes_at(header, at + 8 * index, order)),
    }
}

fn put(header: &mut [u8], (mut at, kind): FieldAt, order: ByteOrder, values: &[f64]) {
    for &value in values {
        let mut bytes = match kind {
            U8 => vec![value as u8],
            I16 => (value as i16).to_le_bytes().to_vec(),
            I32 => (value as i32).to_le_bytes().to_vec(),
            I64 => (value as i64).to_le_bytes().to_vec(),
            F32 => (value as f32).to_le_bytes().to_vec(),
            F64 => value.to_le_bytes().to_vec(),
        };
        if order == ByteOrder::Big {
            bytes.reverse();
        }
        header[at..at + bytes.len()].copy_from_slice(&bytes);
        at += bytes.len();
    }
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim_end().to_owned()
}

/// As much of the text as leaves a zero at the end, cut between characters.
fn put_text(field: &mut [u8], text: &str) {
    let mut end = text.len().min(field.len() - 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    field[..end].copy_from_slice(&text.as_bytes()[..end]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_survive_both_versions_and_byte_orders() {
        let fields = Fields {
            dim: [4, 5, 6, 7, 8, 1, 1, 1],
            intent_parameters: [1.0, -2.0, 0.5],
            intent_code: 1005,
            intent_name: "tensor".into(),
            datatype: 16,
            bitpix: 32,
            pixdim: [-1.0, 2.0, 2.5, 3.0, 4.5, 0.0, 0.0, 0.0],
            data_offset: 352.0,
            slope: 0.25,
            intercept: -8.0,
            shown: [3.5, -1.0],
            units: 10,
            description: "fimbria".into(),
            qform_code: 1,
            sform_code: 2,
            quaternion_bcd: [0.5, 0.25, -0.125],
            q_offset_mm: [-90.0, 91.5, 3.0],
            sform: [[2.0, 0.5, 0.0, 9.0], [0.0, -2.5, 0.25, 8.0], [0.0, 0.0, 3.0, 7.0]],
        };
        for version in [Version::One, Version::Two] {
            for order in [ByteOrder::Little, ByteOrder::Big] {
                let header = fields.write(version, order);
                assert_eq!(header.len(), version.header_bytes());
                assert_eq!(Fields::read(&header, version, order), fields);
            }
        }
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        let fields = Fields { intent_name: "ααααααααα".into(), ..Fields::default() };
        let header = fields.write(Version::One, ByteOrder::Little);
        let back = Fields::read(&header, Version::One, ByteOrder::Little);
        assert_eq!(back.intent_name, "ααααααα"); // 15 bytes hold seven letters of two
    }
}
