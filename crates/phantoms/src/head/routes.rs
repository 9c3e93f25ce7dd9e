//! Where the bundles run: ellipsoids that all fibres of a bundle pass, in order.
//!
//! A fibre keeps its place: what is a third of the way from the middle to the edge of one ellipsoid
//! is so in all. Wide ellipsoids at the ends make a bundle fan out. Positions are those of the right
//! side, in mm from the anterior commissure; the left is its mirror image.

use fimbria_compute::dense::vec3::Vec3;

use super::shapes::Ball;
use super::tissue::Bundled;

/// What becomes of a fibre at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It goes on to the cortex, outwards.
    Cortex,
    /// It goes on into the folia of the cerebellum, to their cortex.
    Folia,
    /// It ends where the last ellipsoid is: at a nucleus, or where the brain ends.
    There,
}

/// An ellipsoid that fibres pass: its centre and its semi-axes, mm.
pub(super) type Gate = (Vec3, Vec3);

/// A bundle of the right side, or one of both.
pub(super) struct Route {
    pub(super) name: &'static str,
    /// What becomes of the first and of the last end.
    pub(super) ends: [End; 2],
    pub(super) gates: &'static [Gate],
    /// The last gate is on the midline, and from there the way goes on to the other side.
    pub(super) crosses: bool,
    /// What all fibres take of the cross section where they run densest, mm².
    pub(super) area_mm2: f64,
    /// How its fibres lie in deep white matter.
    pub(super) fibres: Bundled,
}

use End::{Cortex, Folia, There};

const fn route(
    name: &'static str,
    ends: [End; 2],
    crosses: bool,
    area_mm2: f64,
    [dispersion, inside]: [f64; 2],
    gates: &'static [Gate],
) -> Route {
    Route { name, ends, gates, crosses, area_mm2, fibres: Bundled { dispersion, inside } }
}

impl Route {
    /// The tube through the gates between the ends, which no sulcus enters.
    pub(super) fn tube(&self) -> Vec<Ball> {
        let ball = |(centre, [a, b, c]): &Gate| {
            let all = a + b + c;
            let widest = a.max(*b).max(*c);
            // The mean of the two smaller: the bundle runs along the third.
            (*centre, (0.5 * (all - widest)).clamp(1.6, 3.2))
        };
        self.gates.iter().map(ball).collect()
    }

    /// Whether it runs in a hemisphere.
    pub(super) fn is_cerebral(&self) -> bool {
        self.ends[0] == Cortex || self.ends[1] == Cortex
    }
}

/// All but the U-fibres.
pub(super) const ROUTES: [Route; 19] = [
    route(
        "forceps_minor",
        [Cortex, Cortex],
        true,
        150.0,
        [0.06, 0.56],
        &[
            ([20., 50., 12.], [10., 6., 15.]),
            ([12., 35., 10.], [3., 3.5, 6.]),
            ([0., 26.5, 7.5], [0.3, 3.2, 6.]),
        ],
    ),
    route(
        "callosum_front",
        [Cortex, Cortex],
        true,
        130.0,
        [0.07, 0.56],
        &[
            ([30., 24., 40.], [16., 9., 9.]),
            ([17., 17., 27.], [3., 10., 3.]),
            ([0., 13., 20.6], [0.3, 9., 2.6]),
        ],
    ),
    route(
        "callosum_middle",
        [Cortex, Cortex],
        true,
        130.0,
        [0.07, 0.58],
        &[
            ([36., -8., 41.], [22., 11., 13.]),
            ([18., -5., 30.], [3., 12., 2.5]),
            ([0., -5., 23.8], [0.3, 9., 2.5]),
        ],
    ),
    route(
        "callosum_back",
        [Cortex, Cortex],
        true,
        130.0,
        [0.07, 0.58],
        &[
            ([35., -38., 40.], [20., 10., 13.]),
            ([18., -26., 28.], [3., 10., 2.5]),
            ([0., -22., 21.6], [0.3, 8., 2.6]),
        ],
    ),
    route(
        "forceps_major",
        [Cortex, Cortex],
        true,
        140.0,
        [0.06, 0.62],
        &[
            ([16.5, -92., 6.], [8.5, 5., 13.]),
            ([27., -72., 14.], [3., 4., 6.]),
            ([24.5, -56., 18.], [2.5, 4., 4.]),
            ([17., -47.5, 16.5], [2.2, 2.8, 3.8]),
            ([8.5, -41., 11.8], [1.6, 2.8, 4.]),
            ([0., -38.8, 9.], [0.3, 3.4, 4.5]),
        ],
    ),
    route(
        "corticospinal",
        [Cortex, There],
        false,
        90.0,
        [0.06, 0.68],
        &[
            ([31., -16., 46.], [25., 9., 17.]),
            ([25.5, -15., 27.], [4.5, 7., 3.]),
            ([22., -14., 8.], [2., 5., 3.]),
            ([17.5, -14.5, -5.], [2., 3.5, 2.]),
            ([12.5, -16.5, -14.], [3.4, 2.6, 2.]),
            ([6.5, -18.5, -28.], [3.2, 3.8, 2.]),
            ([3.8, -26., -44.], [2.3, 2.3, 2.]),
            ([3.6, -30., -62.], [2.1, 2.1, 0.3]),
        ],
    ),
    route(
        "anterior_thalamic",
        [Cortex, There],
        false,
        60.0,
        [0.09, 0.52],
        &[
            ([22., 44., 10.], [9., 6., 13.]),
            ([21., 26., 7.], [3., 3., 6.]),
            ([19.4, 11., 5.], [1.2, 3., 5.]),
            ([16., 0., 7.], [1.5, 2., 4.]),
            ([9., -10., 7.], [2.5, 3., 4.]),
        ],
    ),
    route(
        "arcuate",
        [Cortex, Cortex],
        false,
        60.0,
        [0.1, 0.54],
        &[
            ([43.5, 10., 21.], [6., 11., 12.]),
            ([34.5, -2., 29.5], [2.5, 3., 4.]),
            ([33.8, -18., 31.5], [2.5, 4., 4.]),
            ([35.5, -32., 28.5], [3., 3., 4.]),
            ([39.5, -43.5, 16.5], [2.5, 3., 4.]),
            ([44., -42., 3.5], [2.5, 3., 3.5]),
            ([47., -28., -8.], [5., 17., 8.]),
        ],
    ),
    route(
        "slf",
        [Cortex, Cortex],
        false,
        45.0,
        [0.1, 0.54],
        &[
            ([39., -52., 40.], [6., 6., 6.]),
            ([34., -34., 35.], [2.5, 4., 3.]),
            ([32.5, -10., 35.], [2.5, 4., 3.]),
            ([32., 12., 31.], [2.5, 3., 3.]),
            ([34., 30., 28.], [7., 6., 8.]),
        ],
    ),
    route(
        "anterior_commissure",
        [Cortex, Cortex],
        true,
        9.0,
        [0.06, 0.5],
        &[
            ([37., 5., -25.], [4., 4., 3.]),
            ([29., 1., -15.5], [1.0, 1.0, 1.0]),
            ([21., 0.5, -9.5], [0.8, 0.8, 0.8]),
            ([12., 3.4, -5.], [0.7, 0.7, 0.7]),
            ([0., 3.6, -3.6], [0.3, 0.7, 0.7]),
        ],
    ),
    route(
        "optic_tract",
        [There, There],
        false,
        7.0,
        [0.05, 0.5],
        &[
            ([1.8, 1.7, -16.9], [0.8, 0.8, 0.8]),
            ([9.5, -6., -15.], [0.8, 0.8, 0.8]),
            ([16.5, -14.5, -10.5], [0.8, 0.8, 0.8]),
            ([20.5, -22., -4.], [0.8, 0.8, 0.8]),
        ],
    ),
    route(
        "cingulum",
        [Cortex, Cortex],
        false,
        34.0,
        [0.09, 0.52],
        &[
            ([6.5, 32., -8.], [2., 2.4, 2.4]),
            ([6.5, 37., 2.], [2., 2.2, 2.4]),
            ([6.5, 31.5, 17.], [2., 2.2, 2.2]),
            ([6.5, 16., 28.5], [2., 2.4, 2.2]),
            ([6.5, -6., 32.5], [2., 2.4, 2.2]),
            ([6.5, -28., 28.5], [2., 2.4, 2.2]),
            ([8., -43., 17.], [2.1, 2.2, 2.4]),
            ([11., -48.5, 4.], [2.1, 2.2, 2.4]),
            ([18., -44., -5.], [2.1, 2.4, 2.]),
            ([22., -32., -13.], [1.9, 2.2, 1.9]),
            ([23., -16., -20.], [2., 4., 1.5]),
        ],
    ),
    route(
        "ilf",
        [Cortex, Cortex],
        false,
        50.0,
        [0.1, 0.5],
        &[
            ([34., -84., 0.], [8., 6., 8.]),
            ([38., -66., 0.], [3., 3., 4.]),
            ([40., -45., -9.], [3., 4., 3.]),
            ([40., -20., -18.], [3., 4., 3.]),
            ([39., 3., -24.], [4., 4., 4.]),
        ],
    ),
    route(
        "ifof",
        [Cortex, Cortex],
        false,
        50.0,
        [0.09, 0.52],
        &[
            ([30., -84., 8.], [8., 5., 10.]),
            ([35., -60., 9.], [2.5, 3., 4.]),
            ([36., -38., 4.], [2., 3., 4.]),
            ([34.5, -16., -6.], [1.5, 3., 3.]),
            ([31., 4., -12.], [2., 3., 2.]),
            ([26., 22., -5.], [2.5, 3., 3.]),
            ([28., 46., 6.], [9., 6., 12.]),
        ],
    ),
    route(
        "uncinate",
        [Cortex, Cortex],
        false,
        30.0,
        [0.09, 0.47],
        &[
            ([38., 6., -26.], [4., 4., 3.]),
            ([33., 6., -19.], [2.5, 2.5, 2.]),
            ([29., 12., -12.], [2., 2., 2.]),
            ([23., 26., -12.], [3., 2., 2.]),
            ([21., 44., -9.], [8., 5., 4.]),
        ],
    ),
    route(
        "optic_radiation",
        [There, Cortex],
        false,
        45.0,
        [0.07, 0.56],
        &[
            ([22., -24., -1.], [1.5, 1.5, 1.5]),
            ([30., -21., -2.], [1.8, 4., 1.5]),
            ([36., -33., -2.], [1.5, 3.5, 4.]),
            ([33., -52., 4.], [2., 4., 5.]),
            ([26., -68., 5.], [2.5, 3., 5.]),
            ([15., -82., 2.], [4., 5., 6.]),
        ],
    ),
    route(
        "fornix",
        [There, There],
        false,
        8.0,
        [0.05, 0.45],
        &[
            ([2.6, -6., -9.], [0.7, 0.7, 0.7]),
            ([2.4, 0.5, -2.], [0.7, 0.7, 0.7]),
            ([2.2, 1., 5.], [0.7, 0.7, 0.7]),
            ([2.4, -6., 13.], [0.8, 0.8, 0.8]),
            ([3.6, -20., 15.], [0.9, 0.9, 0.8]),
            ([10., -33., 11.], [0.8, 0.8, 0.8]),
            ([19.5, -38., 4.], [0.7, 0.7, 0.7]),
            ([24., -30., -5.], [0.7, 0.7, 0.7]),
            ([24.4, -19., -11.], [0.7, 0.7, 0.7]),
        ],
    ),
    route(
        "pontine",
        [Folia, Folia],
        true,
        110.0,
        [0.1, 0.55],
        &[
            ([27., -60., -37.], [4., 5., 3.]),
            ([20., -42., -36.], [3., 3., 3.]),
            ([13., -27., -30.], [2.5, 3.5, 5.]),
            ([0., -14.5, -28.], [0.3, 4., 7.]),
        ],
    ),
    route(
        "lemniscus",
        [There, There],
        false,
        35.0,
        [0.08, 0.58],
        &[
            ([12., -21., 2.], [2.5, 2.5, 2.]),
            ([10., -25., -8.], [2., 1.5, 1.5]),
            ([6., -29., -20.], [2.5, 1.5, 1.5]),
            ([3.5, -30., -34.], [2., 1.8, 1.5]),
            ([1.8, -31., -46.], [1., 2., 1.5]),
            ([2.8, -34.5, -62.], [1.5, 1.5, 0.3]),
        ],
    ),
];
