//! From TrackVis's millimetres to the scanner's.

use fimbria_image::{Affine, Grid};

use super::fields::Fields;

/// The scanner's axes with their letters: towards negative, towards positive.
const LETTERS: [[char; 2]; 3] = [['L', 'R'], ['P', 'A'], ['I', 'S']];

/// A signed axis: which scanner axis, and whether towards positive.
type Direction = (usize, bool);

/// Where each voxel axis of an affine points: every scanner axis is taken once, the best fits first.
fn directions(affine: &Affine) -> [Direction; 3] {
    let turn = affine.rotation();
    let mut taken = [None; 3];
    for _ in 0..3 {
        let mut best = (-1.0, 0, 0);
        for axis in (0..3).filter(|axis| taken[*axis].is_none()) {
            for world in (0..3).filter(|w| !taken.iter().flatten().any(|(t, _)| t == w)) {
                if turn[world][axis].abs() > best.0 {
                    best = (turn[world][axis].abs(), axis, world);
                }
            }
        }
        let (_, axis, world) = best;
        taken[axis] = Some((world, turn[world][axis] > 0.0));
    }
    taken.map(|direction| direction.unwrap_or((0, true)))
}

/// The three letters of an affine's voxel axes.
pub(super) fn voxel_order(affine: &Affine) -> String {
    directions(affine).iter().map(|(world, up)| LETTERS[*world][usize::from(*up)]).collect()
}

/// Three letters as directions.
fn parse_order(text: &str) -> Result<[Direction; 3], String> {
    let direction = |letter: char| {
        let upper = letter.to_ascii_uppercase();
        let world = LETTERS.iter().position(|pair| pair.contains(&upper))?;
        Some((world, LETTERS[world][1] == upper))
    };
    let found: Vec<_> = text.chars().filter_map(direction).collect();
    match <[Direction; 3]>::try_from(found) {
        Ok(order) if text.len() == 3 && (0..3).all(|w| order.iter().any(|(o, _)| *o == w)) => {
            Ok(order)
        }
        _ => Err(format!("`{text}` is no order of voxel axes (such as RAS or LPS)")),
    }
}

/// Where a TRK file's streamlines lie: the grid of the image, with the axes of its affine, and the
/// map from stored coordinates.
pub(super) struct Frame {
    pub(super) grid: Grid,
    pub(super) ras_from_stored: Affine,
}

impl Frame {
    pub(super) fn of(fields: &Fields) -> Result<Self, String> {
        let sizes = fields.voxel_size_mm;
        if !sizes.iter().all(|mm| mm.is_finite() && *mm > 0.0) {
            return Err(format!("voxels cannot be of {sizes:?} mm"));
        }
        if fields.dims.iter().any(|n| *n < 0) {
            return Err(format!("an image cannot have {:?} voxels", fields.dims));
        }
        let dims = fields.dims.map(|n| n as usize);
        let affine = match fields.vox_to_ras {
            Some(rows) => Affine(rows.map(|row| row.map(f64::from))),
            None => Affine::IDENTITY,
        };
        if affine.inverse().is_none() {
            return Err(format!("vox_to_ras {:?} cannot be inverted", affine.0));
        }
        // TrackVis's own order where none is recorded.
        let order = if fields.voxel_order.is_empty() { "LPS" } else { &fields.voxel_order };
        let stored_axes = parse_order(order)?;
        // Row `a`: coordinate along voxel axis `a` of the affine, from stored millimetres.
        let mut vox_from_stored = [[0.0; 4]; 3];
        let mut dims_of_affine = [0; 3];
        for (a, (world, up)) in directions(&affine).into_iter().enumerate() {
            let s = stored_axes.iter().position(|(w, _)| *w == world).unwrap_or(a);
            let per_mm = 1.0 / f64::from(sizes[s]);
            let same = stored_axes[s].1 == up;
            vox_from_stored[a][s] = if same { per_mm } else { -per_mm };
            vox_from_stored[a][3] = if same { -0.5 } else { dims[s] as f64 - 0.5 };
            dims_of_affine[a] = dims[s];
        }
        Ok(Self {
            grid: Grid { dims: dims_of_affine, ras_from_vox: affine },
            ras_from_stored: affine.after(&Affine(vox_from_stored)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fimbria_image::ByteOrder;

    const AFFINE: [[f32; 4]; 3] = [[-2., 0., 0., 90.], [0., 2., 0., -120.], [0., 0., 3., -60.]];

    fn fields(order: &str) -> Fields {
        Fields {
            order: ByteOrder::Little,
            dims: [10, 20, 30],
            voxel_size_mm: [2.0, 2.0, 3.0],
            vox_to_ras: Some(AFFINE),
            voxel_order: order.into(),
            scalars: vec![],
            properties: vec![],
            n_streamlines: 0,
        }
    }

    #[test]
    fn half_a_voxel_from_the_corner_is_the_centre_of_the_first_voxel() {
        let frame = Frame::of(&fields("LAS")).unwrap();
        assert_eq!(frame.ras_from_stored.apply([1.0, 1.0, 1.5]), [90.0, -120.0, -60.0]);
        assert_eq!(voxel_order(&frame.grid.ras_from_vox), "LAS");
    }

    #[test]
    fn a_reversed_axis_is_counted_from_the_other_end() {
        // The image holds x towards the left, the streamlines towards the right.
        let frame = Frame::of(&fields("RAS")).unwrap();
        let last = frame.grid.ras_from_vox.apply([9.0, 0.0, 0.0]);
        assert_eq!(frame.ras_from_stored.apply([1.0, 1.0, 1.5]), last);
    }

    #[test]
    fn swapped_axes_are_swapped_back() {
        let mut swapped = fields("SAL");
        swapped.dims = [30, 20, 10];
        swapped.voxel_size_mm = [3.0, 2.0, 2.0];
        let frame = Frame::of(&swapped).unwrap();
        assert_eq!(frame.grid.dims, [10, 20, 30]);
        // Stored third axis is the image's first.
        let p = frame.ras_from_stored.apply([1.5, 1.0, 5.0]);
        assert_eq!(p, frame.grid.ras_from_vox.apply([2.0, 0.0, 0.0]));
    }

    #[test]
    fn letters_that_are_no_order_are_refused() {
        for wrong in ["RAR", "RA", "XYZ", "RASS"] {
            assert!(Frame::of(&fields(wrong)).is_err(), "{wrong}");
        }
    }
}
