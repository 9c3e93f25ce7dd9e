//! Tensors as rows of numpy's arrays and as voxels of images.

use std::path::Path;

use fimbria_image::{is_image_name, read_image, read_mask};
use fimbria_tensors::layout::Layout;

use super::input::{EigenError, Entries, Tensors};

/// Where a tensor is in its file.
pub(super) type Voxel = [usize; 3];

/// Tensors, and their voxels where they are of an image.
pub(super) struct Given {
    pub(super) order: usize,
    pub(super) dimension: usize,
    pub(super) tensors: Vec<Entries>,
    pub(super) voxels: Option<Vec<Voxel>>,
}

impl Given {
    /// Reads JSON, an array of numpy or an image, by what the file begins with and its name.
    pub(super) fn read(
        path: &Path,
        mask: Option<&Path>,
        dimension: usize,
    ) -> Result<Self, EigenError> {
        if is_image_name(path) {
            return Self::of_image(path, mask);
        }
        if mask.is_some() {
            return Err(EigenError::Mask { path: path.to_owned() });
        }
        if path.extension().is_some_and(|extension| extension == "npy") {
            return Self::of_npy(path, dimension);
        }
        let input = Tensors::read(path)?;
        let (order, dimension) = (input.order, input.dimension);
        Ok(Self { order, dimension, tensors: input.into_entries()?, voxels: None })
    }

    fn of_image(path: &Path, mask: Option<&Path>) -> Result<Self, EigenError> {
        let image = read_image(path)?;
        let order = order_of(image.n_volumes, 3)
            .ok_or(EigenError::Entries { found: image.n_volumes, dimension: 3 })?;
        let inside: Vec<usize> = match mask {
            Some(mask) => {
                read_mask(mask, &image.grid)?.voxels.iter().map(|&voxel| voxel as usize).collect()
            }
            None => (0..image.grid.len()).collect(),
        };
        let mut tensors = Vec::new();
        let mut voxels = Vec::new();
        for voxel in inside {
            let a: Vec<f64> =
                (0..image.n_volumes).map(|v| f64::from(image.volume(v)[voxel])).collect();
            // Without a mask, what is outside is 0.
            if mask.is_some() || a.iter().any(|&entry| entry != 0.0) {
                tensors.push(Entries { a, b: None });
                voxels.push(image.grid.voxel(voxel));
            }
        }
        Ok(Self { order, dimension: 3, tensors, voxels: Some(voxels) })
    }

    fn of_npy(path: &Path, dimension: usize) -> Result<Self, EigenError> {
        let error = |why: &str| EigenError::Npy { path: path.to_owned(), why: why.to_owned() };
        let bytes = fimbria_image::read_regular(path)
            .map_err(|source| EigenError::Read { path: path.to_owned(), source })?;
        let Array { rows, columns, values } = Array::parse(&bytes).map_err(|why| error(&why))?;
        let order = order_of(columns, dimension)
            .ok_or(EigenError::Entries { found: columns, dimension })?;
        let row = |row: usize| values[row * columns..(row + 1) * columns].to_vec();
        let tensors = (0..rows).map(|k| Entries { a: row(k), b: None }).collect();
        Ok(Self { order, dimension, tensors, voxels: None })
    }
}

/// The order of which a symmetric tensor has so many unique entries.
fn order_of(entries: usize, dimension: usize) -> Option<usize> {
    (2..=64)
        .map_while(|order| Some((order, Layout::new(order, dimension).ok()?.len())))
        .take_while(|(_, len)| *len <= entries)
        .find_map(|(order, len)| (len == entries).then_some(order))
}

/// A matrix of numpy's format, row after row.
struct Array {
    rows: usize,
    columns: usize,
    values: Vec<f64>,
}

impl Array {
    /// Reads versions 1 to 3, f4 or f8 of either byte order, in rows.
    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let no_array = || "it is no array of numpy".to_owned();
        let rest = bytes.strip_prefix(b"\x93NUMPY").ok_or_else(no_array)?;
        let (version, rest) = rest.split_at_checked(2).ok_or_else(no_array)?;
        let (length, rest) = match version[0] {
            1 => {
                let (length, rest) = rest.split_at_checked(2).ok_or_else(no_array)?;
                (usize::from(u16::from_le_bytes([length[0], length[1]])), rest)
            }
            2 | 3 => {
                let (length, rest) = rest.split_at_checked(4).ok_or_else(no_array)?;
                (u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize, rest)
            }
            other => return Err(format!("version {other} of numpy's format is not known")),
        };
        let (header, data) = rest.split_at_checked(length).ok_or_else(no_array)?;
        let header = std::str::from_utf8(header).map_err(|_| no_array())?;
        let value = |key: &str| -> Option<&str> {
            let rest = header.split_once(&format!("'{key}':"))?.1.trim_start();
            let end = if rest.starts_with('(') { rest.find(')')? + 1 } else { rest.find(',')? };
            Some(rest[..end].trim().trim_matches('\''))
        };
        let words = value("descr").zip(value("fortran_order")).zip(value("shape"));
        let ((kind, in_columns), shape) = words.ok_or_else(no_array)?;
        if in_columns != "False" {
            return Err("its rows are not together: numpy.ascontiguousarray".to_owned());
        }
        let sizes: Option<Vec<usize>> = shape
            .trim_matches(['(', ')'])
            .split(',')
            .map(str::trim)
            .filter(|size| !size.is_empty())
            .map(|size| size.parse().ok())
            .collect();
        let (rows, columns) = match sizes.as_deref() {
            Some([columns]) => (1, *columns),
            Some([rows, columns]) => (*rows, *columns),
            _ => return Err(format!("its shape is {shape}, not (tensors, entries)")),
        };
        /// The number of so many bytes.
        type Number = fn(&[u8]) -> f64;
        let (bytes_of_value, number): (usize, Number) = match kind {
            "<f4" => (4, |b| f32::from_le_bytes(b.try_into().unwrap_or_default()).into()),
            ">f4" => (4, |b| f32::from_be_bytes(b.try_into().unwrap_or_default()).into()),
            "<f8" => (8, |b| f64::from_le_bytes(b.try_into().unwrap_or_default())),
            ">f8" => (8, |b| f64::from_be_bytes(b.try_into().unwrap_or_default())),
            other => return Err(format!("it holds {other}, not f4 or f8")),
        };
        let expected = rows.checked_mul(columns).and_then(|n| n.checked_mul(bytes_of_value));
        if expected != Some(data.len()) {
            return Err(format!("{} bytes do not fill its shape, {shape}", data.len()));
        }
        let values = data.chunks_exact(bytes_of_value).map(number).collect();
        Ok(Self { rows, columns, values })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(words: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((words.len() as u16).to_le_bytes());
        bytes.extend(words.as_bytes());
        bytes.extend(data);
        bytes
    }

    #[test]
    fn arrays_of_either_size_and_byte_order_are_read() {
        let values = [1.5_f32, -2.0, 0.25, 8.0, 0.0, 3.0];
        let words = "{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }\n";
        let data: Vec<u8> = values.iter().flat_map(|value| value.to_be_bytes()).collect();
        let array = Array::parse(&file(words, &data)).unwrap();
        assert_eq!((array.rows, array.columns), (2, 3));
        assert_eq!(array.values, values.map(f64::from));
        let words = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n";
        let data: Vec<u8> = [7.0_f64, -1.0].iter().flat_map(|value| value.to_le_bytes()).collect();
        let array = Array::parse(&file(words, &data)).unwrap();
        assert_eq!((array.rows, array.values), (1, vec![7.0, -1.0]));
    }

    #[test]
    fn what_is_no_matrix_of_numbers_is_refused() {
        let of = |words: &str, bytes: usize| Array::parse(&file(words, &vec![0; bytes])).err();
        let refusal = |words: &str, bytes: usize| of(words, bytes).unwrap();
        let int = "{'descr': '<i4', 'fortran_order': False, 'shape': (1, 3), }";
        assert!(refusal(int, 12).contains("<i4"));
        let columns = "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 3), }";
        assert!(refusal(columns, 12).contains("not together"));
        let deep = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, 1), }";
        assert!(refusal(deep, 12).contains("(1, 3, 1)"));
        let short = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
        assert!(refusal(short, 12).contains("12 bytes"));
        let huge = "{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999999999, 3), }";
        assert!(refusal(huge, 12).contains("shape"));
        assert!(Array::parse(b"\x93NUMPY").is_err() && Array::parse(b"{}").is_err());
        assert!(refusal("{}", 0).contains("no array"));
    }

    #[test]
    fn the_order_follows_from_the_number_of_entries() {
        assert_eq!(order_of(6, 3), Some(2));
        assert_eq!(order_of(10, 3), Some(3));
        assert_eq!(order_of(45, 3), Some(8));
        assert_eq!(order_of(15, 5), Some(2));
        assert_eq!(order_of(7, 3), None);
        assert_eq!(order_of(0, 3), None);
    }
}
