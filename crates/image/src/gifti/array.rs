//! One array of a GIFTI file.

use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;

use super::error::Problem;

/// What an array holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Points,
    Triangles,
    /// Numbers on vertices, of whatever meaning.
    Values,
}

/// An array as its attributes announce it.
#[derive(Clone, Debug)]
pub(super) struct Announced {
    pub(super) content: Content,
    pub(super) dims: Vec<usize>,
    pub(super) column_major: bool,
    datatype: Datatype,
    encoding: Encoding,
    big_endian: bool,
}

#[derive(Clone, Copy, Debug)]
enum Datatype {
    U8,
    I16,
    I32,
    U32,
    F32,
    F64,
}

#[derive(Clone, Copy, Debug)]
enum Encoding {
    Ascii,
    Base64,
    Compressed,
}

impl Announced {
    /// From the attributes of a `DataArray`, asked for by name.
    pub(super) fn new(
        attribute: impl Fn(&'static str) -> Result<Option<String>, Problem>,
    ) -> Result<Self, Problem> {
        let needed = |name| attribute(name)?.ok_or(Problem::Missing(name));
        let unknown = |name, value: String| Problem::Unknown { name, value };
        let content = match needed("Intent")?.as_str() {
            "NIFTI_INTENT_POINTSET" => Content::Points,
            "NIFTI_INTENT_TRIANGLE" => Content::Triangles,
            _ => Content::Values,
        };
        let datatype = needed("DataType")?;
        let datatype = match datatype.as_str() {
            "NIFTI_TYPE_UINT8" => Datatype::U8,
            "NIFTI_TYPE_INT16" => Datatype::I16,
            "NIFTI_TYPE_INT32" => Datatype::I32,
            "NIFTI_TYPE_UINT32" => Datatype::U32,
            "NIFTI_TYPE_FLOAT32" => Datatype::F32,
            "NIFTI_TYPE_FLOAT64" => Datatype::F64,
            _ => return Err(unknown("DataType", datatype)),
        };
        let encoding = needed("Encoding")?;
        let encoding = match encoding.as_str() {
            "ASCII" => Encoding::Ascii,
            "Base64Binary" => Encoding::Base64,
            "GZipBase64Binary" => Encoding::Compressed,
            _ => return Err(unknown("Encoding", encoding)),
        };
        let number = |name| -> Result<usize, Problem> {
            let value = needed(name)?;
            value.trim().parse().map_err(|_| unknown(name, value))
        };
        const DIMS: [&str; 6] = ["Dim0", "Dim1", "Dim2", "Dim3", "Dim4", "Dim5"];
        let n = number("Dimensionality")?;
        let names = DIMS.get(..n).ok_or_else(|| unknown("Dimensionality", n.to_string()))?;
        Ok(Self {
            content,
            dims: names.iter().map(|name| number(name)).collect::<Result<_, _>>()?,
            column_major: attribute("ArrayIndexingOrder")?.as_deref() == Some("ColumnMajorOrder"),
            datatype,
            encoding,
            big_endian: attribute("Endian")?.as_deref() == Some("BigEndian"),
        })
    }

    /// The numbers in the text of its `Data`, at most `room` of them.
    pub(super) fn decoded(&self, text: &str, room: usize) -> Result<Vec<f64>, Problem> {
        let wrong_length = |found| Problem::Length { dims: self.dims.clone(), found };
        let expected = self.dims.iter().try_fold(1usize, |n, dim| n.checked_mul(*dim));
        let expected = expected.ok_or_else(|| wrong_length(0))?;
        if expected > room {
            return Err(Problem::Implausible { numbers: expected, room });
        }
        let data = |error: &dyn std::fmt::Display| Problem::Data(error.to_string());
        let numbers = if let Encoding::Ascii = self.encoding {
            text.split_ascii_whitespace()
                .map(|word| word.parse::<f64>().map_err(|_| data(&format!("`{word}`"))))
                .collect::<Result<Vec<_>, _>>()?
        } else {
            let compact: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
            let mut bytes = STANDARD.decode(&compact).map_err(|e| data(&e))?;
            if let Encoding::Compressed = self.encoding {
                // No more is unpacked than the header asks for, and one to see that it is too much.
                let most = expected as u64 * self.datatype.len() as u64 + 1;
                let mut unpacked = Vec::new();
                ZlibDecoder::new(&bytes[..])
                    .take(most)
                    .read_to_end(&mut unpacked)
                    .map_err(|e| data(&e))?;
                bytes = unpacked;
            }
            self.datatype.numbers(&bytes, self.big_endian)
        };
        if numbers.len() != expected {
            return Err(wrong_length(numbers.len()));
        }
        Ok(numbers)
    }
}

impl Datatype {
    fn len(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::I16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// A part of a number at the end counts as one, so that the length shows it.
    fn numbers(self, bytes: &[u8], big_endian: bool) -> Vec<f64> {
        let number = |chunk: &[u8]| {
            let mut le = [0; 8];
            le[..chunk.len()].copy_from_slice(chunk);
            if big_endian {
                le[..chunk.len()].reverse();
            }
            let [a, b, c, d, ..] = le;
            match self {
                Self::U8 => f64::from(a),
                Self::I16 => f64::from(i16::from_le_bytes([a, b])),
                Self::I32 => f64::from(i32::from_le_bytes([a, b, c, d])),
                Self::U32 => f64::from(u32::from_le_bytes([a, b, c, d])),
                Self::F32 => f64::from(f32::from_le_bytes([a, b, c, d])),
                Self::F64 => f64::from_le_bytes(le),
            }
        };
        bytes.chunks(self.len()).map(number).collect()
    }
}
