//! Linear transforms of ITK, as ANTs writes them: text, and MATLAB's old binary form.
//!
//! Both hold the name of a class, its parameters and its fixed ones, of places in LPS mm: x to the left, y to the back.

use fimbria_image::Affine;
use fimbria_registration::rotation;

/// What a text file of ITK begins with.
pub(super) const TEXT_START: &[u8] = b"#Insight Transform File";
/// More numbers than a linear transform has.
const MOST_NUMBERS: usize = 1 << 12;

/// The transforms of a text, in the order in which they take points; or why it is none.
pub(super) fn from_text(text: &str) -> Result<Vec<Affine>, String> {
    let mut all = Vec::new();
    let mut of_class: Option<(&str, Vec<f64>)> = None;
    for line in text.lines() {
        let Some((key, value)) = line.split_once(':').filter(|_| !line.starts_with('#')) else {
            continue;
        };
        match key.trim() {
            "Transform" => of_class = Some((value.trim(), Vec::new())),
            "Parameters" => {
                let (_, parameters) = of_class.as_mut().ok_or("parameters come before a class")?;
                *parameters = numbers(value)?;
            }
            "FixedParameters" => {
                let (class, parameters) = of_class.take().ok_or("it names no class")?;
                all.extend(affine(class, &parameters, &numbers(value)?)?);
            }
            _ => {}
        }
    }
    if let Some((class, parameters)) = of_class {
        all.extend(affine(class, &parameters, &[])?);
    }
    // What was added to a composite last takes points first.
    all.reverse();
    if all.is_empty() { Err("it names no transform".to_owned()) } else { Ok(all) }
}

fn numbers(words: &str) -> Result<Vec<f64>, String> {
    let number = |word: &str| {
        let number = word.parse().ok().filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| format!("`{word}` is no finite number"))
    };
    words.split_whitespace().map(number).collect()
}

/// A matrix of a MATLAB file of level 4.
struct Block<'a> {
    name: &'a str,
    values: Vec<f64>,
}

/// Splits the first matrix off; `None` where the bytes are none.
fn block<'a>(bytes: &mut &'a [u8]) -> Option<Block<'a>> {
    let head = bytes.first_chunk::<20>()?;
    let word = |at: usize, big: bool| {
        let four = [head[at], head[at + 1], head[at + 2], head[at + 3]];
        usize::try_from(if big { i32::from_be_bytes(four) } else { i32::from_le_bytes(four) }).ok()
    };
    // Thousands: byte order; hundreds: by rows; tens: double or single.
    let big = word(0, true).is_some_and(|kind| matches!(kind, 1000 | 1010 | 1100 | 1110));
    let kind = word(0, big)? % 1000;
    if !matches!(kind, 0 | 10 | 100 | 110) || word(12, big)? != 0 {
        return None;
    }
    let count = word(4, big)?.checked_mul(word(8, big)?).filter(|n| *n <= MOST_NUMBERS)?;
    let length = word(16, big)?;
    let (name, rest) = bytes.get(20..)?.split_at_checked(length)?;
    let size = if kind % 100 == 10 { 4 } else { 8 };
    let (values, rest) = rest.split_at_checked(count * size)?;
    *bytes = rest;
    let value = |bytes: &[u8]| match (<[u8; 4]>::try_from(bytes), <[u8; 8]>::try_from(bytes), big) {
        (Ok(four), _, false) => f64::from(f32::from_le_bytes(four)),
        (Ok(four), _, true) => f64::from(f32::from_be_bytes(four)),
        (_, Ok(eight), false) => f64::from_le_bytes(eight),
        (_, Ok(eight), true) => f64::from_be_bytes(eight),
        _ => f64::NAN,
    };
    let name = std::str::from_utf8(name).ok()?.trim_end_matches('\0');
    Some(Block { name, values: values.chunks_exact(size).map(value).collect() })
}

/// The transform of a binary file; `None` where it is no such file.
pub(super) fn from_binary(mut bytes: &[u8]) -> Option<Result<Vec<Affine>, String>> {
    let parameters = block(&mut bytes).filter(|block| block.name.contains("Transform"))?;
    let fixed = block(&mut bytes).map_or_else(Vec::new, |block| block.values);
    if parameters.values.iter().chain(&fixed).any(|value| !value.is_finite()) {
        return Some(Err("it has numbers that are not finite".to_owned()));
    }
    Some(affine(parameters.name, &parameters.values, &fixed).map(|one| one.into_iter().collect()))
}

/// A transform of one class, from RAS mm to RAS mm: x to M (x - c) + c + t. None of a composite, whose parts follow.
fn affine(class: &str, parameters: &[f64], fixed: &[f64]) -> Result<Option<Affine>, String> {
    let name = class.split('_').next().unwrap_or_default();
    let needed = match name {
        "CompositeTransform" => return Ok(None),
        "IdentityTransform" => 0,
        "TranslationTransform" | "VersorTransform" => 3,
        "Euler3DTransform" | "VersorRigid3DTransform" => 6,
        "Similarity3DTransform" => 7,
        "AffineTransform" | "MatrixOffsetTransformBase" | "Rigid3DTransform" => 12,
        _ => return Err(format!("it is a {class}, which is not read")),
    };
    if parameters.len() != needed {
        return Err(format!("a {class} has {needed} parameters, not {}", parameters.len()));
    }
    let three = |at: usize| [parameters[at], parameters[at + 1], parameters[at + 2]];
    let unit = Affine::IDENTITY.linear();
    let (linear, shift) = match name {
        "TranslationTransform" => (unit, three(0)),
        "VersorTransform" => (from_versor(three(0)), [0.0; 3]),
        "VersorRigid3DTransform" => (from_versor(three(0)), three(3)),
        "Similarity3DTransform" => {
            (from_versor(three(0)).map(|row| row.map(|x| x * parameters[6])), three(3))
        }
        "Euler3DTransform" => (from_angles(three(0), fixed.get(3) == Some(&1.0)), three(3)),
        "IdentityTransform" => (unit, [0.0; 3]),
        _ => ([three(0), three(3), three(6)], three(9)),
    };
    let centre: [f64; 3] = match fixed {
        [x, y, z, ..] => [*x, *y, *z],
        _ => [0.0; 3],
    };
    let lps = Affine(std::array::from_fn(|i| {
        let kept: f64 = (0..3).map(|j| linear[i][j] * centre[j]).sum();
        [linear[i][0], linear[i][1], linear[i][2], shift[i] + centre[i] - kept]
    }));
    Ok(Some(between_lps_and_ras(&lps)))
}

/// The same map of places whose x and y count the other way.
fn between_lps_and_ras(affine: &Affine) -> Affine {
    const SIGNS: [f64; 4] = [-1.0, -1.0, 1.0, 1.0];
    Affine(std::array::from_fn(|i| std::array::from_fn(|j| SIGNS[i] * SIGNS[j] * affine.0[i][j])))
}

/// The rotation of a versor: the vector part of a unit quaternion, whose scalar part is not negative.
fn from_versor(vector: [f64; 3]) -> [[f64; 3]; 3] {
    let sine = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    let by = if sine > 0.0 { 2.0 * sine.min(1.0).asin() / sine } else { 0.0 };
    rotation(vector.map(|x| by * x))
}

/// The rotation by angles about x, y and z: about y first, then x, then z; or about x, then y, then z.
fn from_angles(angles: [f64; 3], is_zyx: bool) -> [[f64; 3]; 3] {
    let about = |axis: usize| {
        let mut vector = [0.0; 3];
        vector[axis] = angles[axis];
        let turn = rotation(vector);
        Affine(std::array::from_fn(|i| [turn[i][0], turn[i][1], turn[i][2], 0.0]))
    };
    let [first, second] = if is_zyx { [0, 1] } else { [1, 0] };
    about(2).after(&about(second)).after(&about(first)).linear()
}

/// The text of a map of RAS mm as ITK reads it.
pub(crate) fn to_text(affine: &Affine) -> String {
    let lps = between_lps_and_ras(affine);
    let words = |numbers: &[f64]| {
        numbers.iter().map(|number| format!("{number:?}")).collect::<Vec<_>>().join(" ")
    };
    let shift = lps.0.map(|row| row[3]);
    let numbers: Vec<f64> = lps.linear().into_iter().flatten().chain(shift).collect();
    format!(
        "#Insight Transform File V1.0\n#Transform 0\nTransform: AffineTransform_double_3_3\nParameters: {}\n\
         FixedParameters: 0 0 0\n",
        words(&numbers)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(kind: i32, name: &str, values: &[f64]) -> Vec<u8> {
        let head = [kind, values.len() as i32, 1, 0, name.len() as i32 + 1];
        let mut bytes: Vec<u8> = head.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend(name.bytes().chain([0]));
        match kind {
            10 => values.iter().for_each(|x| bytes.extend((*x as f32).to_le_bytes())),
            _ => values.iter().for_each(|x| bytes.extend(x.to_le_bytes())),
        }
        bytes
    }

    fn is_near(all: &[Affine], point: [f64; 3], there: [f64; 3]) {
        let at = all.iter().fold(point, |at, affine| affine.apply(at));
        (0..3).for_each(|a| assert!((at[a] - there[a]).abs() < 1e-5, "{at:?} {there:?}"));
    }

    #[test]
    fn each_class_takes_points_where_itk_takes_them() {
        for (class, parameters, fixed, there) in [
            (
                "AffineTransform_double_3_3",
                "1.1 0.1 -0.2 0.05 0.9 0.3 -0.1 0.2 1.2 5 -6 7",
                "1 2 3",
                CASES[0],
            ),
            ("Euler3DTransform_double_3_3", "0.1 -0.2 0.3 4 5 -6", "1 2 3 0", CASES[1]),
            ("Euler3DTransform_double_3_3", "0.1 -0.2 0.3 4 5 -6", "1 2 3 1", CASES[2]),
            ("VersorRigid3DTransform_double_3_3", "0.1 -0.2 0.15 4 5 -6", "1 2 3", CASES[3]),
            ("Similarity3DTransform_double_3_3", "0.1 -0.2 0.15 4 5 -6 1.2", "1 2 3", CASES[4]),
            ("TranslationTransform_double_3_3", "4 5 -6", "", [6.0, 15.0, 24.0]),
        ] {
            let text = format!(
                "#Insight Transform File V1.0\n#Transform 0\nTransform: {class}\nParameters: {parameters}\n\
                 FixedParameters: {fixed}\n"
            );
            is_near(&from_text(&text).unwrap(), [10.0, 20.0, 30.0], there);
            let values = [parameters, fixed].map(|words| numbers(words).unwrap());
            for kind in [0, 10] {
                let mut bytes = bytes_of(kind, class, &values[0]);
                bytes.extend(bytes_of(kind, "fixed", &values[1]));
                is_near(&from_binary(&bytes).unwrap().unwrap(), [10.0, 20.0, 30.0], there);
            }
        }
    }

    /// Where SimpleITK 2.5.7 takes the point (10, 20, 30) RAS.
    const CASES: [[f64; 3]; 5] = [
        [13.7, 16.25, 39.1],
        [3.238533632, 20.998872176, 18.958818740],
        [2.715723973, 21.121762891, 18.991681506],
        [6.979885660, 23.128691724, 13.815001475],
        [9.375862792, 29.154430068, 17.178001770],
    ];

    #[test]
    fn of_a_composite_the_last_takes_points_first() {
        let text = "#Insight Transform File V1.0\n#Transform 0\nTransform: CompositeTransform_double_3_3\n\
                    #Transform 1\nTransform: AffineTransform_double_3_3\nParameters: 2 0 0 0 2 0 0 0 2 0 0 0\n\
                    FixedParameters: 0 0 0\n\n#Transform 2\nTransform: TranslationTransform_double_3_3\n\
                    Parameters: 0 0 5\nFixedParameters: \n";
        is_near(&from_text(text).unwrap(), [1.0, 2.0, 3.0], [2.0, 4.0, 16.0]);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let affine = Affine([[0.9, 0.1, -0.2, 5.0], [0.2, 1.1, 0.3, -4.0], [0.0, -0.1, 0.8, 1e-7]]);
        let read = from_text(&to_text(&affine)).unwrap();
        assert_eq!(read, [affine]);
    }

    #[test]
    fn what_is_no_transform_says_why() {
        let text = |class: &str, parameters: &str| {
            from_text(&format!(
                "Transform: {class}\nParameters: {parameters}\nFixedParameters: 0 0 0\n"
            ))
            .unwrap_err()
        };
        assert!(text("BSplineTransform_double_3_3", "1").contains("BSplineTransform"));
        assert!(text("AffineTransform_double_3_3", "1 2").contains("12 parameters, not 2"));
        assert!(text("AffineTransform_double_3_3", "1 x").contains("`x`"));
        assert!(from_text("").is_err());
        assert!(from_binary(&bytes_of(0, "A", &[1.0])).is_none());
        let cut = bytes_of(0, "AffineTransform_double_3_3", &[1.0; 12]);
        assert!(from_binary(&cut[..cut.len() - 1]).is_none());
        let none = bytes_of(0, "AffineTransform_double_3_3", &[f64::NAN; 12]);
        assert!(from_binary(&none).unwrap().is_err());
    }
}
