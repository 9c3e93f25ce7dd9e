//! A map continued beyond where it is known.

/// Sweeps over the map, and how far each goes beyond the mean of the neighbours: waves as long as a head settle.
const SWEEPS: usize = 120;
const OVER: f32 = 1.9;

/// Replaces the values of the voxels that are not known by those of a harmonic function, which is the mean of its
/// neighbours everywhere: between known voxels it goes smoothly from one to the other, beyond them it levels out, as
/// fields do where nothing makes them. All are 0 where none is known.
///
/// # Panics
/// Where lengths differ.
pub fn continued(dims: [usize; 3], values: &mut [f32], is_known: &[bool]) {
    assert!(values.len() == is_known.len() && values.len() == dims.iter().product::<usize>());
    let known = || values.iter().zip(is_known).filter(|(_, is_known)| **is_known);
    let sum: f64 = known().map(|(value, _)| f64::from(*value)).sum();
    let mean = (sum / known().count().max(1) as f64) as f32;
    values.iter_mut().zip(is_known).filter(|(_, known)| !**known).for_each(|(v, _)| *v = mean);
    let strides = [1, dims[0], dims[0] * dims[1]];
    for _ in 0..SWEEPS {
        let mut voxel = 0;
        for z in 0..dims[2] {
            for y in 0..dims[1] {
                for x in 0..dims[0] {
                    if !is_known[voxel] {
                        let (mut sum, mut number) = (0.0, 0.0);
                        for (axis, at) in [x, y, z].into_iter().enumerate() {
                            if at > 0 {
                                (sum, number) = (sum + values[voxel - strides[axis]], number + 1.0);
                            }
                            if at + 1 < dims[axis] {
                                (sum, number) = (sum + values[voxel + strides[axis]], number + 1.0);
                            }
                        }
                        let step = sum / f32::max(number, 1.0) - values[voxel];
                        values[voxel] += OVER * step;
                    }
                    voxel += 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_known_planes_it_is_a_line_and_beyond_them_level() {
        let dims = [30, 4, 3];
        let x = |voxel: usize| voxel % 30;
        let is_known: Vec<bool> = (0..360).map(|v| [5, 20].contains(&x(v))).collect();
        let mut values: Vec<f32> = (0..360).map(|v| if x(v) == 5 { 2.0 } else { 8.0 }).collect();
        continued(dims, &mut values, &is_known);
        for (voxel, value) in values.iter().enumerate() {
            let known = 2.0 + 6.0 * (x(voxel).clamp(5, 20) - 5) as f32 / 15.0;
            // Sweeps end at rounding of numbers near 8, many times over.
            assert!((value - known).abs() < 1e-3, "{voxel}: {value} {known}");
        }
    }

    #[test]
    fn what_is_known_stays_and_nothing_known_is_zero() {
        let mut values = vec![3.0, -1.0, 7.0, f32::NAN];
        continued([4, 1, 1], &mut values, &[true, true, true, false]);
        assert_eq!(&values[..3], &[3.0, -1.0, 7.0]);
        // Each sweep leaves a tenth less of 4: 0.9 to the power of 120.
        assert!((values[3] - 7.0).abs() < 1e-4);
        continued([4, 1, 1], &mut values, &[false; 4]);
        assert_eq!(values, [0.0; 4]);
    }
}
