//! Tissue that is not healthy: nothing is known of it, and nothing asked.

use fimbria_image::Image;
use fimbria_tracking::{Anatomy, Densities, EndReason, Space, Tissues};

use crate::anatomy::{PLAIN, Tissue, along_x, between_cortices, curves, ends, straight, tissues};
use crate::densities::{ALONG_X, CURVES, densities, grid, seed};

#[test]
fn a_lesion_is_no_boundary_of_white_matter() {
    let mut image = Image::zeros(grid(), 5);
    for index in 0..grid().len() {
        let tissue = if grid().voxel(index)[0] < 15 { 2 } else { 4 };
        image.volume_mut(tissue)[index] = 1.0;
    }
    let tissues = Tissues::new(&image, &grid()).unwrap();
    let all: Vec<_> = (0..31).map(|x| seed([x as f32, 15.0, 7.0])).collect();
    assert!(tissues.boundary_seeds(&all, &Space::same(grid())).is_empty());
}

/// White matter with a lesion in it, or across the boundary to the cortex and as deep.
fn with_lesion(from: f32, to: f32) -> Tissues {
    tissues(
        move |at| {
            if (from..to).contains(&at[0]) { Tissue::Lesion } else { between_cortices(at) }
        },
    )
}

/// Nothing to follow from here on along x.
fn up_to(x: f64) -> Densities {
    densities(move |at| if at[0] > x { Vec::new() } else { vec![ALONG_X] })
}

#[test]
fn a_lesion_in_white_matter_is_passed_and_may_be_ended_in() {
    let lesion = with_lesion(17.5, 21.5);
    let passed = along_x(PLAIN(&lesion), &straight());
    assert_eq!(passed, along_x(PLAIN(&tissues(between_cortices)), &straight()));
    for crop in [false, true] {
        for line in along_x(Anatomy { crop, ..PLAIN(&lesion) }, &up_to(19.0)) {
            assert!(line.kept, "{:?}", line.ends);
            assert!(line.ends.contains(&EndReason::Lesion), "{:?}", line.ends);
            assert!(line.ends.contains(&EndReason::Cortex), "{:?}", line.ends);
            // Where the densities end, and not cut.
            assert!((18.5..20.0).contains(&ends(&line)[1][0]), "{:?}", ends(&line));
        }
    }
    // Of white matter the same is wrong, as is what ends before the lesion.
    let white = tissues(between_cortices);
    for (tissues, x) in [(&white, 19.0), (&lesion, 16.0)] {
        assert!(along_x(PLAIN(tissues), &up_to(x)).iter().all(|line| !line.kept), "{x}");
    }
}

#[test]
fn a_lesion_across_the_boundary_is_no_cortex() {
    // From white matter two voxels into the cortex, which begins again behind it.
    let lesion = with_lesion(22.5, 27.5);
    for line in along_x(PLAIN(&lesion), &straight()) {
        assert!(line.kept && line.ends == [EndReason::Cortex; 2], "{:?}", line.ends);
        assert!((ends(&line)[1][0] - 27.5).abs() < 1e-3, "{:?}", ends(&line));
    }
    // Who ends in it is right, and is not cut at a boundary that nobody knows.
    for line in along_x(Anatomy { crop: true, ..PLAIN(&lesion) }, &up_to(26.0)) {
        assert!(line.kept && line.ends.contains(&EndReason::Lesion), "{:?}", line.ends);
        assert!(ends(&line)[1][0] > 24.5, "{:?}", ends(&line));
    }
    // Of curves, which look ahead, no end lies where the cortex was.
    let made = curves(&lesion, &up_to(26.0), &CURVES);
    assert!(made.iter().any(|line| line.kept && line.ends.contains(&EndReason::Lesion)));
    for line in made {
        let in_lesion = |end: &[f32; 3]| (22.6..27.4).contains(&end[0]);
        if ends(&line).iter().any(in_lesion) {
            assert!(line.ends.contains(&EndReason::Lesion), "{:?}", line.ends);
        }
    }
}

#[test]
fn a_lesion_beside_subcortical_grey_matter_ends_nobody() {
    let tissues = tissues(|at| match at[0] {
        x if (18.5..20.5).contains(&x) => Tissue::Deep,
        x if (20.5..24.5).contains(&x) => Tissue::Lesion,
        _ => between_cortices(at),
    });
    for line in along_x(PLAIN(&tissues), &up_to(22.0)) {
        assert!(line.kept && line.ends.contains(&EndReason::Lesion), "{:?}", line.ends);
        assert!(ends(&line)[1][0] > 21.0, "{:?}", ends(&line));
    }
    // Who leaves it for white matter has left the grey matter: there it ends.
    for line in along_x(PLAIN(&tissues), &straight()) {
        assert!(line.kept && line.ends.contains(&EndReason::Deep), "{:?}", line.ends);
        assert!(ends(&line)[1][0] < 20.5, "{:?}", ends(&line));
    }
}
