//! Numbers as bytes on their way from process to process.

use bytemuck::Pod;

/// Appends how many there are, and they.
pub(crate) fn put<T: Pod>(bytes: &mut Vec<u8>, numbers: &[T]) {
    bytes.extend_from_slice(&(numbers.len() as u64).to_ne_bytes());
    bytes.extend_from_slice(bytemuck::cast_slice(numbers));
}

/// Takes what [`put`] appended off the front; none where it is not there.
pub(crate) fn take<T: Pod>(bytes: &mut &[u8]) -> Vec<T> {
    let Some((len, rest)) = bytes.split_first_chunk() else { return Vec::new() };
    let len = u64::from_ne_bytes(*len) as usize * size_of::<T>();
    let Some((numbers, rest)) = rest.split_at_checked(len) else { return Vec::new() };
    *bytes = rest;
    bytemuck::pod_collect_to_vec(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_taken_in_its_order() {
        let mut bytes = Vec::new();
        put(&mut bytes, &[1_u8, 2, 3]);
        put::<u64>(&mut bytes, &[]);
        put(&mut bytes, &[[0.5_f32, 1.5, -2.0]]);
        let mut rest = &bytes[..];
        assert_eq!(take::<u8>(&mut rest), [1, 2, 3]);
        assert!(take::<u64>(&mut rest).is_empty());
        assert_eq!(take::<[f32; 3]>(&mut rest), [[0.5, 1.5, -2.0]]);
        assert!(rest.is_empty());
    }
}
