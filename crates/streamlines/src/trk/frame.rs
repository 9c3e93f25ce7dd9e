//! From TrackVis's millimetres to the scanner's.

use fimbria_image::{Affine, Grid};

use super::fields::Fields;

/// The scanner's axes with their letters: towards negative, towards positive.
const LETTERS: [[char; 2]; 3] = [['L', 'R'], ['P', 'A'], ['I', 'S']];

/// A signed axis: which scanner axis, and whether towards positive.
type Direction = (usize, bool);

/// Where each voxel axis of an affine points. The axis that lies closest to one of the scanner's
/// chooses first, each the scanner axis that is left and closest to it: nibabel's rule, which
/// decides what its files mean.
fn directions(affine: &Affine) -> [Direction; 3] {
    let turn = affine.rotation();
    let along = |axis: usize, world: usize| turn[world][axis].abs();
    let closest = |axis| (0..3).map(|world| along(axis, world)).fold(0.0, f64::max);
    let mut order = [0, 1, 2];
    order.sort_by(|a, b| closest(*b).total_cmp(&closest(*a)));
    let mut free = vec![0, 1, 2];
    let mut found = [(0, true); 3];
    for axis in order {
        // Of equals the first, as a strict comparison keeps it.
        let mut best = 0;
        for (at, world) in free.iter().enumerate() {
            if along(axis, *world) > along(axis, free[best]) {
                best = at;
            }
        }
        let world = free.remove(best);
        found[axis] = (world, turn[world][axis] > 0.0);
    }
    found
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
    let axes: Vec<_> = text.chars().filter_map(direction).collect();
    match <[Direction; 3]>::try_from(axes) {
        Ok(order) if text.len() == 3 && (0..3).all(|w| order.iter().any(|(o, _)| *o == w)) => {
            Ok(order)
        }
        _ => Err(format!("`{text}` is no order of voxel axes (such as RAS or LPS)")),
    }
}

/// Where a TRK file's streamlines lie: the grid of the image, and the map from stored coordinates.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) grid: Grid,
    pub(super) ras_from_stored: Affine,
    /// What the header leaves open, in words.
    pub(super) doubts: Vec<String>,
}

impl Frame {
    pub(super) fn from_fields(fields: &Fields) -> Result<Self, String> {
        let sizes = fields.voxel_size_mm;
        if !sizes.iter().all(|mm| mm.is_finite() && *mm > 0.0) {
            return Err(format!("voxels cannot be of {sizes:?} mm"));
        }
        if fields.dims.iter().any(|n| *n < 0) {
            return Err(format!("an image cannot have {:?} voxels", fields.dims));
        }
        let dims = fields.dims.map(|n| n as usize);
        let mut doubts = Vec::new();
        let affine = match fields.vox_to_ras {
            Some(rows) => Affine(rows.map(|row| row.map(f64::from))),
            None => {
                doubts.push(
                    "its header has no vox_to_ras: nothing says where its streamlines lie in the scanner; they are \
                     placed as nibabel and DIPY place them, as if voxel 0 0 0 lay at 0 0 0 mm and voxels were 1 mm \
                     apart"
                        .to_owned(),
                );
                Affine::IDENTITY
            }
        };
        if affine.inverse().is_none() {
            return Err(format!("vox_to_ras {:?} cannot be inverted", affine.0));
        }
        // TrackVis's own order where none is recorded.
        let order = if fields.voxel_order.is_empty() { "LPS" } else { &fields.voxel_order };
        let stored_axes = parse_order(order)?;
        let axes = directions(&affine);
        // Row `a`: voxel axis `a` of the affine, from stored millimetres.
        let row = |stored: usize, same: bool, steps: usize| {
            let mut row = [0.0; 4];
            let per_mm = 1.0 / f64::from(sizes[stored]);
            row[stored] = if same { per_mm } else { -per_mm };
            row[3] = if same { -0.5 } else { steps as f64 - 0.5 };
            row
        };
        // As letters say it: an axis of the affine is the stored axis of the same scanner axis.
        let by_letters = Affine(std::array::from_fn(|a| {
            let (world, up) = axes[a];
            let stored = stored_axes.iter().position(|(w, _)| *w == world).unwrap_or(a);
            row(stored, stored_axes[stored].1 == up, dims[stored])
        }));
        // As nibabel reads and writes it: the inverse permutation, each flip with its stored axis.
        let by_nibabel = Affine(std::array::from_fn(|stored| {
            let (world, up) = stored_axes[stored];
            let a = axes.iter().position(|(w, _)| *w == world).unwrap_or(stored);
            row(a, axes[a].1 == up, dims[stored])
        }));
        if by_letters != by_nibabel {
            doubts.push(format!(
                "its header is ambiguous: voxel_order is {order} where vox_to_ras has axes {}; its \
                 streamlines are placed as nibabel and DIPY place them, so look whether they lie on \
                 the image",
                voxel_order(&affine)
            ));
        }
        Ok(Self {
            grid: Grid { dims, ras_from_vox: affine },
            ras_from_stored: affine.after(&by_nibabel),
            doubts,
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
        let frame = Frame::from_fields(&fields("LAS")).unwrap();
        assert_eq!(frame.ras_from_stored.apply([1.0, 1.0, 1.5]), [90.0, -120.0, -60.0]);
        assert_eq!(voxel_order(&frame.grid.ras_from_vox), "LAS");
    }

    #[test]
    fn a_reversed_axis_is_counted_from_the_other_end() {
        // The image holds x towards the left, the streamlines towards the right.
        let frame = Frame::from_fields(&fields("RAS")).unwrap();
        let last = frame.grid.ras_from_vox.apply([9.0, 0.0, 0.0]);
        assert_eq!(frame.ras_from_stored.apply([1.0, 1.0, 1.5]), last);
    }

    #[test]
    fn axes_that_are_only_reversed_leave_no_doubt() {
        for order in ["LAS", "RAS", "LPI", "RPI"] {
            let none: Vec<String> = vec![];
            assert_eq!(Frame::from_fields(&fields(order)).unwrap().doubts, none, "{order}");
        }
    }

    #[test]
    fn a_header_without_a_matrix_is_the_identity_and_said() {
        // nibabel 5.4: "Field 'vox_to_ras' in the TRK's header was not recorded ... assuming it's the identity".
        for recorded in [fields("RAS"), Fields { voxel_order: String::new(), ..fields("") }] {
            let frame = Frame::from_fields(&Fields { vox_to_ras: None, ..recorded }).unwrap();
            assert_eq!(frame.grid.ras_from_vox, Affine::IDENTITY);
            assert!(frame.doubts[0].contains("no vox_to_ras"), "{:?}", frame.doubts);
        }
    }

    #[test]
    fn permuted_axes_are_read_as_nibabel_reads_them_and_said() {
        // nibabel 5.4, get_affine_trackvis_to_rasmm of the same header.
        let frame = Frame::from_fields(&fields("SLA")).unwrap();
        assert_eq!(frame.grid.dims, [10, 20, 30]);
        let p = frame.ras_from_stored.apply([1.5, 1.0, 5.0]);
        let expected = [90.0 - 2.0 * (5.0 / 3.0 - 0.5), -119.5, -60.0];
        for axis in 0..3 {
            assert!((p[axis] - expected[axis]).abs() < 1e-12, "{p:?} {expected:?}");
        }
        let [doubt] = &frame.doubts[..] else { panic!("{:?}", frame.doubts) };
        assert!(doubt.contains("SLA") && doubt.contains("LAS"), "{doubt}");
    }

    #[test]
    fn letters_that_are_no_order_are_refused() {
        for wrong in ["RAR", "RA", "XYZ", "RASS"] {
            assert!(Frame::from_fields(&fields(wrong)).is_err(), "{wrong}");
        }
    }
}
