//! Which gyrus a point of the cortex belongs to: the nearest of those on its side of the Sylvian fissure.
//! Positions in mm from the anterior commissure, x from the midline outwards.

use fimbria_compute::dense::vec3::Vec3;

use super::gyri::{Beside, GYRI, Gyrus};
use super::shapes::to_line;
use super::sulci::sylvian_height;

/// Where the fissure parts gyri: from the insula outwards, and from its back end to its front, mm.
const OUT_MM: f64 = 34.0;
const ALONG_MM: [f64; 2] = [-46.0, 24.0];

/// The gyrus at a point of the pattern.
pub(super) fn gyrus(p: Vec3) -> &'static Gyrus {
    let beside = beside_fissure(p);
    let may_be = |gyrus: &&Gyrus| {
        beside == Beside::Anywhere || [beside, Beside::Anywhere].contains(&gyrus.beside)
    };
    let distance =
        |gyrus: &Gyrus| gyrus.lines.iter().map(|line| to_line(p, line)).fold(f64::MAX, f64::min);
    let nearer = |nearest: (f64, &'static Gyrus), gyrus: &'static Gyrus| {
        let distance = distance(gyrus);
        if distance < nearest.0 { (distance, gyrus) } else { nearest }
    };
    GYRI.iter().filter(may_be).fold((f64::MAX, &GYRI[0]), nearer).1
}

/// On which side of the fissure a point is; anywhere where it does not reach.
fn beside_fissure(p: Vec3) -> Beside {
    let [from, to] = ALONG_MM;
    if p[0] < OUT_MM || !(from..to).contains(&p[1]) {
        return Beside::Anywhere;
    }
    if p[2] < sylvian_height(p[1]) { Beside::Below } else { Beside::Above }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_anatomists_name_are_of_their_gyrus() {
        // In front of and behind the central sulcus, above and below the fissure, in it, and on the medial
        // side above the callosum, above and below the calcarine sulcus.
        for (p, name) in [
            ([40., -8., 52.], "precentral"),
            ([40., -26., 54.], "postcentral"),
            ([52., 16., 12.], "parsopercularis"),
            ([56., -8., -8.], "superiortemporal"),
            ([39., 0., -4.], "insula"),
            ([4., -20., 34.], "posteriorcingulate"),
            ([5., -80., 22.], "cuneus"),
            ([10., -70., -10.], "lingual"),
            ([36., 14., -29.], "temporalpole"),
        ] {
            assert_eq!(gyrus(p).names[1].strip_prefix("ctx-rh-"), Some(name), "{p:?}");
        }
    }

    #[test]
    fn the_lids_of_the_fissure_are_of_two_lobes() {
        for y in [-40.0, -20.0, 0.0, 15.0] {
            let height = sylvian_height(y);
            let [below, above] = [-2.0, 2.0].map(|off| gyrus([52.0, y, height + off]).beside);
            assert_eq!([below, above], [Beside::Below, Beside::Above], "{y}");
        }
    }
}
