//! The gyri by which cortex is divided: those of the Desikan-Killiany atlas, by FreeSurfer's names,
//! numbers and colours (`aparc+aseg`).
//!
//! Where each runs is ours: lines drawn through the middle of a gyrus of this head, between the sulci that it has,
//! near the places that the atlas describes (Desikan RS et al. NeuroImage 31, 968 (2006)). They are
//! approximate. Positions are those of the right side, in mm from the anterior commissure; the left is
//! its mirror image.

use fimbria_compute::dense::vec3::Vec3;

/// On which side of the Sylvian fissure a gyrus lies, where there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beside {
    /// Frontal and parietal.
    Above,
    /// Temporal.
    Below,
    /// At its bottom, or elsewhere in the hemisphere.
    Anywhere,
}

use Beside::{Above, Anywhere, Below};

/// A gyrus of both hemispheres.
pub(super) struct Gyrus {
    /// Its number in FreeSurfer's annotation.
    pub(super) number: u16,
    /// The names of the left and the right.
    pub(super) names: [&'static str; 2],
    /// Red, green, blue.
    pub(super) rgb: [u8; 3],
    /// Where it may lie.
    pub(super) beside: Beside,
    /// Through its middle, mm.
    pub(super) lines: &'static [&'static [Vec3]],
}

impl Gyrus {
    /// The number of its label: 1000 and its own on the left, 2000 and its own on the right.
    pub(super) fn label(&self, is_right: bool) -> u16 {
        self.number + if is_right { 2000 } else { 1000 }
    }
}

macro_rules! gyrus {
    ($number:literal, $name:literal, $rgb:expr, $beside:expr, $lines:expr) => {
        Gyrus {
            number: $number,
            names: [concat!("ctx-lh-", $name), concat!("ctx-rh-", $name)],
            rgb: $rgb,
            beside: $beside,
            lines: $lines,
        }
    };
}

/// All, by their number. The fourth of the annotation is the callosum, which is no cortex.
pub(super) const GYRI: [Gyrus; 34] = [
    gyrus!(1, "bankssts", [25, 100, 40], Below, &[&[[55., -46., 8.], [50., -58., 19.]]]),
    gyrus!(
        2,
        "caudalanteriorcingulate",
        [125, 100, 160],
        Anywhere,
        &[&[[4., 31., 22.], [4., 18., 31.], [4., 6., 34.]]]
    ),
    gyrus!(3, "caudalmiddlefrontal", [100, 25, 0], Above, &[&[[34., 4., 55.], [40., 16., 46.]]]),
    gyrus!(5, "cuneus", [220, 20, 100], Anywhere, &[&[[6., -74., 22.], [8., -86., 20.]]]),
    gyrus!(6, "entorhinal", [220, 20, 10], Anywhere, &[&[[25., -3., -29.], [24., 6., -29.]]]),
    gyrus!(
        7,
        "fusiform",
        [180, 220, 140],
        Anywhere,
        &[&[[37., -20., -33.], [36., -42., -25.], [34., -62., -17.]]]
    ),
    gyrus!(
        8,
        "inferiorparietal",
        [220, 60, 220],
        Above,
        &[&[[50., -60., 34.], [44., -70., 26.]], &[[44., -56., 47.], [38., -62., 46.]]]
    ),
    gyrus!(
        9,
        "inferiortemporal",
        [180, 40, 120],
        Below,
        &[&[[49., -10., -36.], [54., -28., -29.], [52., -52., -20.]]]
    ),
    gyrus!(
        10,
        "isthmuscingulate",
        [140, 20, 140],
        Anywhere,
        &[&[[5., -42., 26.], [6., -48., 14.], [10., -48., 3.]]]
    ),
    gyrus!(
        11,
        "lateraloccipital",
        [20, 30, 140],
        Anywhere,
        &[
            &[[36., -82., 14.], [36., -84., -4.], [26., -92., 2.]],
            &[[38., -74., -10.], [36., -80., -8.]]
        ]
    ),
    gyrus!(
        12,
        "lateralorbitofrontal",
        [35, 75, 50],
        Anywhere,
        &[&[[20., 18., -18.], [24., 32., -18.], [26., 46., -13.]]]
    ),
    gyrus!(
        13,
        "lingual",
        [225, 140, 140],
        Anywhere,
        &[&[[10., -56., -5.], [12., -70., -9.], [12., -84., -10.]]]
    ),
    gyrus!(
        14,
        "medialorbitofrontal",
        [200, 35, 75],
        Anywhere,
        &[&[[7., 16., -17.], [7., 34., -17.], [8., 50., -11.]]]
    ),
    gyrus!(
        15,
        "middletemporal",
        [160, 100, 50],
        Below,
        &[&[[55., -4., -25.], [60., -18., -17.], [61., -40., -6.], [57., -56., 4.]]]
    ),
    gyrus!(
        16,
        "parahippocampal",
        [20, 220, 60],
        Anywhere,
        &[&[[24., -20., -25.], [22., -38., -16.]]]
    ),
    gyrus!(17, "paracentral", [60, 220, 60], Anywhere, &[&[[5., -14., 56.], [5., -30., 60.]]]),
    gyrus!(
        18,
        "parsopercularis",
        [220, 180, 140],
        Above,
        &[&[[53., 15., 24.], [51., 17., 8.], [46., 14., 0.]]]
    ),
    gyrus!(19, "parsorbitalis", [20, 100, 50], Anywhere, &[&[[42., 36., -8.], [39., 41., -7.]]]),
    gyrus!(20, "parstriangularis", [220, 60, 20], Above, &[&[[48., 30., 18.], [46., 31., 4.]]]),
    gyrus!(
        21,
        "pericalcarine",
        [120, 100, 60],
        Anywhere,
        &[&[[8., -66., 1.], [8., -80., 2.], [8., -93., 3.]]]
    ),
    gyrus!(
        22,
        "postcentral",
        [220, 20, 20],
        Above,
        &[
            &[
                [20., -36., 69.],
                [36., -28., 60.],
                [50., -21., 42.],
                [60., -13., 22.],
                [60., -10., 10.]
            ],
            &[[56., -18., 9.], [49., -20., 9.]]
        ]
    ),
    gyrus!(
        23,
        "posteriorcingulate",
        [220, 180, 220],
        Anywhere,
        &[&[[4., -6., 35.], [4., -20., 36.], [4., -32., 35.]]]
    ),
    gyrus!(
        24,
        "precentral",
        [60, 20, 220],
        Above,
        &[
            &[[20., -18., 69.], [37., -11., 57.], [50., -3., 38.], [58., 4., 18.], [57., 5., 4.]],
            &[[54., 0., 3.], [49., -1., 2.]]
        ]
    ),
    gyrus!(
        25,
        "precuneus",
        [160, 140, 180],
        Anywhere,
        &[&[[5., -50., 50.], [5., -62., 44.], [6., -60., 28.]]]
    ),
    gyrus!(
        26,
        "rostralanteriorcingulate",
        [80, 20, 140],
        Anywhere,
        &[&[[4., 37., -6.], [4., 41., 6.], [4., 37., 15.]]]
    ),
    gyrus!(
        27,
        "rostralmiddlefrontal",
        [75, 50, 125],
        Anywhere,
        &[&[[34., 28., 42.], [34., 44., 26.], [28., 56., 8.]]]
    ),
    gyrus!(
        28,
        "superiorfrontal",
        [20, 220, 160],
        Anywhere,
        &[
            &[[5., 56., 12.], [5., 46., 36.], [5., 20., 46.], [5., 0., 50.]],
            &[[10., 56., 24.], [12., 44., 43.], [13., 24., 58.], [13., 0., 65.]]
        ]
    ),
    gyrus!(
        29,
        "superiorparietal",
        [20, 180, 140],
        Anywhere,
        &[&[[20., -52., 64.], [20., -70., 54.]]]
    ),
    gyrus!(
        30,
        "superiortemporal",
        [140, 220, 220],
        Below,
        &[&[[46., 9., -17.], [56., -8., -10.], [59., -28., 1.], [56., -42., 10.]]]
    ),
    gyrus!(
        31,
        "supramarginal",
        [80, 160, 20],
        Above,
        &[&[[58., -34., 24.], [52., -42., 42.]], &[[54., -34., 16.], [46., -36., 17.]]]
    ),
    gyrus!(32, "frontalpole", [100, 0, 100], Anywhere, &[&[[9., 62., -4.], [12., 64., 1.]]]),
    gyrus!(
        33,
        "temporalpole",
        [70, 70, 70],
        Below,
        &[&[[37., 13., -27.], [30., 11., -32.]], &[[29., 8., -20.], [34., 15., -20.]]]
    ),
    gyrus!(
        34,
        "transversetemporal",
        [150, 150, 200],
        Below,
        &[&[[44., -26., 8.], [51., -15., 2.]]]
    ),
    gyrus!(
        35,
        "insula",
        [255, 192, 32],
        Anywhere,
        &[
            &[[39., 11., -8.], [39., -4., -3.], [39., -20., 3.]],
            &[[38., 11., -1.], [38., -16., 9.]],
            &[[38., 1., -12.], [38., -14., -7.]]
        ]
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gyri_have_the_numbers_of_the_annotation() {
        let numbers: Vec<u16> = GYRI.iter().map(|gyrus| gyrus.number).collect();
        let expected: Vec<u16> = (1..=35).filter(|number| *number != 4).collect();
        assert_eq!(numbers, expected);
        let precentral = GYRI.iter().find(|gyrus| gyrus.number == 24).unwrap();
        assert_eq!(precentral.names, ["ctx-lh-precentral", "ctx-rh-precentral"]);
        // A line has two points and more.
        assert!(GYRI.iter().all(|gyrus| gyrus.lines.iter().all(|line| line.len() > 1)));
    }
}
