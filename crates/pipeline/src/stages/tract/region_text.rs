//! Regions as users say them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// A region: a ball, the voxels of an image, or those with some of its labels.
#[derive(Clone, Debug, PartialEq)]
pub enum RegionText {
    /// What is near a point.
    Ball {
        /// Scanner RAS+ mm.
        centre: [f64; 3],
        /// mm.
        radius_mm: f64,
    },
    /// Voxels above zero, or with one of the labels where there are any: numbers, or names of a table.
    Image {
        /// The image.
        path: PathBuf,
        /// Its labels that are meant.
        labels: Vec<String>,
    },
}

/// All numbers of a list; `None` where one is no finite number.
fn numbers(text: &str) -> Option<Vec<f64>> {
    let number = |word: &str| word.trim().parse().ok().filter(|x: &f64| x.is_finite());
    text.split(',').map(number).collect()
}

impl FromStr for RegionText {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(numbers) = numbers(text) {
            return match numbers[..] {
                [x, y, z, radius_mm] if radius_mm > 0.0 => {
                    Ok(Self::Ball { centre: [x, y, z], radius_mm })
                }
                _ => Err("a ball is x,y,z,radius: four numbers, mm, the radius above 0".into()),
            };
        }
        // Behind the last colon of a path there is a folder.
        let with_labels = text.rsplit_once(':').filter(|(_, rest)| !rest.contains(['/', '\\']));
        let (path, labels) = match with_labels {
            Some((path, labels)) => {
                let labels: Vec<_> = labels.split(',').map(|l| l.trim().to_owned()).collect();
                if path.is_empty() || labels.iter().any(String::is_empty) {
                    return Err("labels of an image are IMAGE:LABEL,LABEL".into());
                }
                (path, labels)
            }
            None => (text, Vec::new()),
        };
        if path.is_empty() {
            return Err("it names no image".into());
        }
        Ok(Self::Image { path: path.into(), labels })
    }
}

impl fmt::Display for RegionText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ball { centre: [x, y, z], radius_mm } => write!(f, "{x},{y},{z},{radius_mm}"),
            Self::Image { path, labels } if labels.is_empty() => write!(f, "{}", path.display()),
            Self::Image { path, labels } => write!(f, "{}:{}", path.display(), labels.join(",")),
        }
    }
}

impl Serialize for RegionText {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl RegionText {
    /// The image it is read from.
    pub(super) fn image(&self) -> Option<&Path> {
        match self {
            Self::Ball { .. } => None,
            Self::Image { path, .. } => Some(path),
        }
    }

    /// What a record says of it: an image is among its inputs.
    pub(super) fn in_record(&self) -> String {
        match self {
            Self::Ball { .. } => self.to_string(),
            Self::Image { labels, .. } if labels.is_empty() => "image".to_owned(),
            Self::Image { labels, .. } => format!("image:{}", labels.join(",")),
        }
    }

    /// The same with an image beside `folder`, if it has no folder of its own.
    pub(super) fn beside(self, folder: &Path) -> Self {
        match self {
            Self::Image { path, labels } => Self::Image { path: folder.join(path), labels },
            ball => ball,
        }
    }
}

/// Where bundles begin: a point, or the middle of a region.
#[derive(Clone, Debug, PartialEq)]
pub enum StartText {
    /// Scanner RAS+ mm.
    Point([f64; 3]),
    /// Its centre of gravity.
    Region(RegionText),
}

impl FromStr for StartText {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match numbers(text).as_deref() {
            Some(&[x, y, z]) => Ok(Self::Point([x, y, z])),
            Some(&[x, y, z, _]) => Ok(Self::Point([x, y, z])),
            Some(_) => Err("a point is x,y,z: three numbers, mm".into()),
            None => Ok(Self::Region(text.parse()?)),
        }
    }
}

impl Serialize for StartText {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Point([x, y, z]) => to.collect_str(&format_args!("{x},{y},{z}")),
            Self::Region(region) => to.collect_str(region),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balls_masks_and_labels_are_told_apart() {
        let of = |text: &str| text.parse::<RegionText>();
        let ball = RegionText::Ball { centre: [-1.0, 2.5, 3.0], radius_mm: 4.0 };
        assert_eq!(of("-1,2.5,3,4"), Ok(ball));
        let image = |path: &str, labels: &[&str]| RegionText::Image {
            path: path.into(),
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        };
        assert_eq!(of("a.nii.gz"), Ok(image("a.nii.gz", &[])));
        assert_eq!(of("a.nii.gz:17, 53"), Ok(image("a.nii.gz", &["17", "53"])));
        assert_eq!(of("a.mif:Left-Thalamus"), Ok(image("a.mif", &["Left-Thalamus"])));
        assert_eq!(of(r"C:\data\a.nii"), Ok(image(r"C:\data\a.nii", &[])));
        for wrong in ["1,2,3", "1,2,3,0", "1,2,3,4,5", "", ":3", "a.nii:", "a.nii:3,,4"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
        for text in ["-1,2.5,3,4", "a.nii:17,53", "a.nii"] {
            assert_eq!(of(text).unwrap().to_string(), text);
        }
    }
}
