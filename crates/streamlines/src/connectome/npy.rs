//! Matrices as numpy keeps them.

/// Bytes before the numbers: numpy wants a multiple of 64.
const HEADER: usize = 128;

/// A square matrix, row-major, as a file of numpy's format 1.0: little-endian f64.
///
/// # Panics
/// Where there are not n × n numbers.
pub fn npy(values: &[f64], n: usize) -> Vec<u8> {
    assert_eq!(values.len(), n * n, "a square matrix");
    let words = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({n}, {n}), }}");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(((HEADER - 10) as u16).to_le_bytes());
    bytes.extend(format!("{words:<width$}\n", width = HEADER - 11).into_bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_padded_and_the_numbers_follow() {
        let bytes = npy(&[1.0, 2.0, 3.0, 4.0], 2);
        assert_eq!(bytes.len(), HEADER + 32);
        assert_eq!(&bytes[..10], b"\x93NUMPY\x01\x00\x76\x00");
        assert!(
            bytes[10..].starts_with(b"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }")
        );
        assert_eq!(bytes[HEADER - 1], b'\n');
        assert_eq!(bytes[HEADER + 8..HEADER + 16], 2.0_f64.to_le_bytes());
    }
}
