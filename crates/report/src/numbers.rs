//! Numbers as text: coordinates, tick marks, powers of ten.

/// A coordinate of an SVG: at most two decimals, none that say nothing.
pub(crate) fn coordinate(x: f64) -> String {
    let text = format!("{x:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

/// Round tick values inside `low..=high`, about `target` of them, and the text of each.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ticks {
    /// Value and label of each tick, ascending.
    pub(crate) marks: Vec<(f64, String)>,
    /// Power of ten the labels are multiples of; 0 for plain numbers.
    pub(crate) exponent: i32,
}

impl Ticks {
    /// Steps are 1, 2 or 5 times a power of ten. Very small and very large ranges are labelled in
    /// multiples of a power of 1000, which belongs to the axis label (see [`with_unit`]).
    pub(crate) fn new(low: f64, high: f64, target: usize) -> Self {
        // Ranges that are none, overflow, or are too narrow for f64 to count steps in.
        let width = high - low;
        let largest = low.abs().max(high.abs());
        if !(width.is_finite() && width > 1e-9 * largest && largest > 1e-200) {
            return Self { marks: Vec::new(), exponent: 0 };
        }
        let raw = width / target.max(1) as f64;
        let power = 10f64.powi(raw.log10().floor() as i32);
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|m| m * power)
            .min_by(|a, b| (a - raw).abs().total_cmp(&(b - raw).abs()))
            .unwrap_or(power);
        let exponent = if (0.02..1e4).contains(&largest) {
            0
        } else if largest < 1.0 {
            // Diffusivities from 1e-4 on are thousandths.
            3 * ((10.0 * largest).log10() / 3.0).floor() as i32
        } else {
            3 * (largest.log10() / 3.0).floor() as i32
        };
        let unit = 10f64.powi(exponent);
        let decimals = (-(step / unit).log10().floor()).clamp(0.0, 6.0) as usize;
        // A hair of slack keeps ticks that fall on the ends in spite of rounding.
        let first = (low / step - 1e-6).ceil() as i64;
        let last = (high / step + 1e-6).floor() as i64;
        let marks = (first..=last)
            .map(|i| {
                let value = i as f64 * step;
                (value, minus_sign(&format!("{:.decimals$}", value / unit + 0.0)))
            })
            .collect();
        Self { marks, exponent }
    }
}

/// Four significant digits of a number that stands alone.
pub(crate) fn significant(x: f64) -> String {
    if !x.is_finite() {
        return "–".into();
    }
    let magnitude = if x == 0.0 { 0 } else { x.abs().log10().floor() as i32 };
    let text = if (-3..6).contains(&magnitude) {
        let decimals = (3 - magnitude).clamp(0, 6) as usize;
        let text = format!("{x:.decimals$}");
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_string()
        } else {
            text
        }
    } else {
        let mantissa = coordinate(x / 10f64.powi(magnitude));
        format!("{mantissa}·10{}", superscript(magnitude))
    };
    minus_sign(&text)
}

/// Label and unit as on an axis: `MD (10⁻³ mm²/s)`.
pub(crate) fn with_unit(label: &str, unit: &str, exponent: i32) -> String {
    let unit = unit_with_power(unit, exponent);
    if unit.is_empty() { label.into() } else { format!("{label} ({unit})") }
}

/// A unit with its power of ten, empty where there is neither.
pub(crate) fn unit_with_power(unit: &str, exponent: i32) -> String {
    match (exponent, unit) {
        (0, unit) => unit.into(),
        (e, "") => format!("10{}", superscript(e)),
        (e, unit) => format!("10{} {unit}", superscript(e)),
    }
}

/// A whole number with thin gaps between groups of three digits.
pub(crate) fn grouped(n: usize) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

fn superscript(n: i32) -> String {
    let digits = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let lift = |c: char| c.to_digit(10).map_or('⁻', |d| digits[d as usize]);
    n.to_string().chars().map(lift).collect()
}

fn minus_sign(text: &str) -> String {
    text.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(low: f64, high: f64) -> (Vec<String>, i32) {
        let ticks = Ticks::new(low, high, 4);
        (ticks.marks.into_iter().map(|(_, text)| text).collect(), ticks.exponent)
    }

    #[test]
    fn ticks_are_round_numbers_inside_the_range() {
        assert_eq!(labels(0.0, 1.0).0, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(-0.13, 0.21).0, ["−0.1", "0.0", "0.1", "0.2"]);
    }

    #[test]
    fn diffusivities_are_labelled_in_thousandths() {
        let (texts, exponent) = labels(0.000_31, 0.002_9);
        assert_eq!(texts, ["0.5", "1.0", "1.5", "2.0", "2.5"]);
        assert_eq!(exponent, -3);
        assert_eq!(with_unit("MD", "mm²/s", exponent), "MD (10⁻³ mm²/s)");
        // Below a thousandth too, so that strips beside each other have one unit.
        assert_eq!(labels(0.000_69, 0.000_93).1, -3);
        assert_eq!(labels(0.0, 0.000_05).1, -6);
    }

    #[test]
    fn ranges_that_are_none_have_no_ticks() {
        assert_eq!(labels(1.0, 1.0).0.len(), 0);
        assert_eq!(labels(f64::NAN, 1.0).0.len(), 0);
        assert_eq!(labels(-f64::MAX, f64::MAX).0.len(), 0);
        assert_eq!(labels(0.0, f64::MIN_POSITIVE).0.len(), 0);
        assert_eq!(labels(1e15, 1e15 + 1.0).0.len(), 0);
    }

    #[test]
    fn coordinates_are_short() {
        assert_eq!([1.0, 0.5, -0.001, 12.345].map(coordinate), ["1", "0.5", "0", "12.35"]);
    }

    #[test]
    fn numbers_alone_have_four_digits() {
        let texts = [0.0, 0.71234, 1234.5, -0.000_000_12, 2.0, f64::NAN].map(significant);
        assert_eq!(texts, ["0", "0.7123", "1234", "−1.2·10⁻⁷", "2", "–"]);
    }
}
