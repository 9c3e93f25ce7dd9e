//! Colour scales, direction coding and categories.

/// An sRGB colour.
pub type Rgb = [u8; 3];

/// Behind the voxels of every figure, in light and dark pages alike: maps are read against black.
pub const BACKGROUND: Rgb = [0x0d, 0x0f, 0x13];

/// A voxel of the mask whose value is not a number.
pub const NO_VALUE: Rgb = [0xa8, 0x2e, 0x6b];

/// Entries of a colour table. Together with [`BACKGROUND`] and [`NO_VALUE`] they fit the palette
/// of an indexed PNG.
pub const STEPS: usize = 250;

/// A colour scale for scalar maps.
///
/// All but `Grey` are paths through OKLCh (Ottosson 2020, <https://bottosson.github.io/posts/oklab/>)
/// on which lightness changes linearly with the value, so that equal steps look equal and a black
/// and white print still orders the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Black to white.
    Grey,
    /// Night blue over green to yellow.
    Lagoon,
    /// Black over violet and red to pale yellow.
    Ember,
    /// For signed values: dark at zero, light blue below, light orange above.
    Difference,
}

/// A point of a colour path: OKLCh lightness, chroma and hue in degrees.
type Stop = [f64; 3];

const LAGOON: [Stop; 5] = [
    [0.26, 0.10, 295.0],
    [0.43, 0.12, 262.0],
    [0.60, 0.11, 195.0],
    [0.77, 0.18, 145.0],
    [0.94, 0.19, 108.0],
];
const EMBER: [Stop; 5] = [
    [0.16, 0.03, 285.0],
    [0.36, 0.16, 300.0],
    [0.56, 0.20, 365.0],
    [0.76, 0.17, 408.0],
    [0.96, 0.09, 466.0],
];
const DIFFERENCE_BELOW: [Stop; 3] = [[0.24, 0.0, 262.0], [0.56, 0.15, 255.0], [0.88, 0.08, 220.0]];
const DIFFERENCE_ABOVE: [Stop; 3] = [[0.24, 0.0, 35.0], [0.56, 0.17, 38.0], [0.88, 0.11, 78.0]];

impl Scale {
    /// The scale as a table of [`STEPS`] colours, low value first.
    pub fn table(self) -> Vec<Rgb> {
        (0..STEPS).map(|i| self.at(i as f64 / (STEPS - 1) as f64)).collect()
    }

    /// The colour at `t` in 0..=1.
    fn at(self, t: f64) -> Rgb {
        match self {
            Self::Grey => [(255.0 * t).round() as u8; 3],
            Self::Lagoon => along(&LAGOON, t),
            Self::Ember => along(&EMBER, t),
            Self::Difference if t < 0.5 => along(&DIFFERENCE_BELOW, 1.0 - 2.0 * t),
            Self::Difference => along(&DIFFERENCE_ABOVE, 2.0 * t - 1.0),
        }
    }
}

/// The colour a share `t` along equally spaced stops.
fn along(stops: &[Stop], t: f64) -> Rgb {
    let x = t * (stops.len() - 1) as f64;
    let i = (x as usize).min(stops.len() - 2);
    let f = x - i as f64;
    let [l, c, h] = std::array::from_fn(|k| stops[i][k] * (1.0 - f) + stops[i + 1][k] * f);
    srgb_from_oklch(l, c, h)
}

/// The sRGB colour of this lightness and hue whose chroma is `chroma`, or less where the screen
/// cannot show as much.
fn srgb_from_oklch(lightness: f64, chroma: f64, hue_degrees: f64) -> Rgb {
    let (sin, cos) = hue_degrees.to_radians().sin_cos();
    let linear = |c: f64| linear_srgb_from_oklab(lightness, c * cos, c * sin);
    let shown = |c: f64| linear(c).iter().all(|v| (-1e-6..=1.0 + 1e-6).contains(v));
    let (mut low, mut high) = (0.0, chroma);
    if !shown(high) {
        for _ in 0..24 {
            let middle = 0.5 * (low + high);
            if shown(middle) { low = middle } else { high = middle }
        }
        high = low;
    }
    linear(high).map(|v| {
        let v = v.clamp(0.0, 1.0);
        let encoded = if v <= 0.003_130_8 { 12.92 * v } else { 1.055 * v.powf(1.0 / 2.4) - 0.055 };
        (255.0 * encoded).round() as u8
    })
}

/// Ottosson's matrices.
fn linear_srgb_from_oklab(l: f64, a: f64, b: f64) -> [f64; 3] {
    let long = (l + 0.396_337_777_4 * a + 0.215_803_757_3 * b).powi(3);
    let medium = (l - 0.105_561_345_8 * a - 0.063_854_172_8 * b).powi(3);
    let short = (l - 0.089_484_177_5 * a - 1.291_485_548_0 * b).powi(3);
    [
        4.076_741_662_1 * long - 3.307_711_591_3 * medium + 0.230_969_929_2 * short,
        -1.268_438_004_6 * long + 2.609_757_401_1 * medium - 0.341_319_396_5 * short,
        -0.004_196_086_3 * long - 0.703_418_614_7 * medium + 1.707_614_701_0 * short,
    ]
}

/// Direction-coded colour: red for left-right, green for front-back, blue for up-down, times a
/// brightness in 0..=1. `dir_ras` need not be a unit vector; zero or NaN gives black.
pub fn direction(dir_ras: [f32; 3], brightness: f32) -> Rgb {
    let norm = dir_ras.iter().map(|v| v * v).sum::<f32>().sqrt();
    if norm.is_nan() || norm <= 0.0 {
        return [0; 3];
    }
    dir_ras.map(|v| (255.0 * v.abs() / norm * brightness.clamp(0.0, 1.0)).round() as u8)
}

/// Colours of series and categories: told apart by readers with any colour vision, legible on
/// light and dark ground. The first is the quiet one.
pub const SERIES: [Rgb; 7] = [
    [0x3f, 0x8f, 0xa3],
    [0xd9, 0x8b, 0x2b],
    [0x8c, 0x6b, 0xb8],
    [0xc9, 0x4f, 0x5d],
    [0x5f, 0x9e, 0x56],
    [0x4a, 0x72, 0xc4],
    [0x8a, 0x8d, 0x93],
];

/// Colours of status categories: what is well is grey, what is not stands out.
pub(crate) const STATUS: [Rgb; 7] = [
    [0x5b, 0x66, 0x73],
    [0xe0, 0xb0, 0x4a],
    [0xe0, 0x78, 0x3c],
    [0xd1, 0x3f, 0x5a],
    [0xa0, 0x6b, 0xd6],
    [0x4f, 0xb3, 0xbf],
    [0x8f, 0xb3, 0x5a],
];

/// `#rrggbb`.
pub(crate) fn hex([r, g, b]: Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CIE L* of an sRGB colour: a measure of lightness other than the one the scales are made in.
    fn cie_lightness(rgb: Rgb) -> f64 {
        let [r, g, b] = rgb.map(|v| {
            let v = f64::from(v) / 255.0;
            if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
        });
        let y = 0.2126 * r + 0.7152 * g + 0.0722 * b;
        if y <= 0.008_856 { 903.3 * y } else { 116.0 * y.cbrt() - 16.0 }
    }

    #[test]
    fn lightness_rises_along_every_sequential_scale() {
        for scale in [Scale::Grey, Scale::Lagoon, Scale::Ember] {
            let lightness: Vec<f64> = scale.table().into_iter().map(cie_lightness).collect();
            for (i, pair) in lightness.windows(2).enumerate() {
                // Rounding to 8 bits moves L* by up to 0.3 against a step of about 0.35.
                assert!(pair[1] > pair[0] - 0.15, "{scale:?} falls at step {i}: {pair:?}");
            }
            assert!(lightness.windows(20).all(|w| w[19] > w[0] + 3.0), "{scale:?} has a plateau");
        }
    }

    #[test]
    fn lightness_rises_away_from_zero_on_the_difference_scale() {
        let table = Scale::Difference.table();
        for half in
            [table[STEPS / 2..].to_vec(), table[..STEPS / 2].iter().rev().copied().collect()]
        {
            let lightness: Vec<f64> = half.into_iter().map(cie_lightness).collect();
            assert!(lightness.windows(10).all(|w| w[9] > w[0] + 2.0));
        }
    }

    #[test]
    fn white_and_grey_of_oklab_are_white_and_grey() {
        assert_eq!(srgb_from_oklch(1.0, 0.0, 0.0), [255; 3]);
        // OKLab lightness of a grey is the cube root of its linear intensity.
        let [r, g, b] = srgb_from_oklch(0.5, 0.0, 0.0);
        assert!(r == g && g == b && r == 99, "{r} {g} {b}");
    }

    #[test]
    fn axes_have_the_colours_of_the_field() {
        assert_eq!(direction([1.0, 0.0, 0.0], 1.0), [255, 0, 0], "left-right is red");
        assert_eq!(direction([0.0, -1.0, 0.0], 1.0), [0, 255, 0], "front-back is green");
        assert_eq!(direction([0.0, 0.0, 2.0], 0.5), [0, 0, 128], "up-down is blue");
        assert_eq!(direction([f32::NAN, 0.0, 1.0], 1.0), [0; 3]);
        assert_eq!(direction([0.0; 3], 1.0), [0; 3]);
    }
}
