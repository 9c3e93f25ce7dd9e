//! What the volumes of an image of coefficients are, and what the file itself says of it.

use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use fimbria_image::StoredImage;
use fimbria_tensors::sh::ShBasis;
use serde_json::Value;

/// What volumes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coefficients {
    /// Unique entries of a symmetric tensor.
    Entries,
    /// Spherical harmonics, of this basis where it is known.
    Harmonics(Option<ShBasis>),
}

impl Coefficients {
    /// True where what is asked for may be this.
    pub(super) fn allows(self, asked: Self) -> bool {
        match (self, asked) {
            (Self::Harmonics(None), Self::Harmonics(_)) => true,
            // Which of its two DIPY means, files do not say.
            (Self::Harmonics(Some(a)), Self::Harmonics(Some(b))) => {
                (a == ShBasis::Mrtrix) == (b == ShBasis::Mrtrix)
            }
            (claimed, asked) => claimed == asked,
        }
    }
}

impl fmt::Display for Coefficients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entries => f.write_str("unique entries of a symmetric tensor"),
            Self::Harmonics(None) => f.write_str("spherical harmonics"),
            Self::Harmonics(Some(basis)) => {
                write!(f, "spherical harmonics in the basis {}", basis.name())
            }
        }
    }
}

/// What a file says of its volumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// What they are.
    pub what: Coefficients,
    /// Where that stands.
    pub place: &'static str,
}

/// Programs of MRtrix3 whose output is spherical harmonics.
const MAKE_HARMONICS: [&str; 5] = ["dwi2fod", "amp2sh", "mtnormalise", "shconv", "dwi2sh"];

impl Claim {
    /// The first of: sidecar, description, the last program of the command history of a .mif.
    pub(super) fn of(stored: &StoredImage) -> Option<Self> {
        let claim = |place| move |what| Self { what, place };
        let history = stored.keyvals().iter().rev().find(|(key, _)| key == "command_history");
        of_sidecar(stored.path())
            .map(claim("sidecar"))
            .or_else(|| of_words(stored.description()).map(claim("description")))
            .or_else(|| of_history(&history?.1).map(claim("command history")))
    }
}

/// What BIDS (BEP 16) says in the sidecar beside an image.
fn of_sidecar(image: &Path) -> Option<Coefficients> {
    /// Sidecars are a screenful; what is larger is something else.
    const LONGEST: u64 = 1 << 20;
    let mut text = String::new();
    fimbria_image::open_regular(sidecar_of(image)?)
        .ok()?
        .take(LONGEST)
        .read_to_string(&mut text)
        .ok()?;
    let sidecar: Value = serde_json::from_str(&text).ok()?;
    let encoding = &sidecar["OrientationEncoding"];
    match encoding["Type"].as_str() {
        Some("sh") => {
            let basis = encoding["SphericalHarmonicBasis"].as_str().unwrap_or_default();
            Some(Coefficients::Harmonics(basis_in(&basis.to_lowercase())))
        }
        Some("tensor") => Some(Coefficients::Entries),
        _ => of_words(sidecar["Description"].as_str().unwrap_or_default()),
    }
}

/// `NAME.json` of `NAME.nii.gz`.
fn sidecar_of(image: &Path) -> Option<PathBuf> {
    let name = image.file_name()?.to_str()?;
    let name = name.strip_suffix(".gz").unwrap_or(name);
    let (stem, _) = name.rsplit_once('.')?;
    Some(image.with_file_name(format!("{stem}.json")))
}

/// What a description in words says.
fn of_words(words: &str) -> Option<Coefficients> {
    let words = words.to_lowercase();
    if words.contains("spherical harmonic") {
        return Some(Coefficients::Harmonics(basis_in(&words)));
    }
    words.contains("unique entries").then_some(Coefficients::Entries)
}

fn basis_in(words: &str) -> Option<ShBasis> {
    if words.contains("mrtrix") || words.contains("tournier") {
        Some(ShBasis::Mrtrix)
    } else if words.contains("descoteaux") || words.contains("dipy") {
        Some(ShBasis::DipyLegacy)
    } else {
        None
    }
}

fn of_history(command: &str) -> Option<Coefficients> {
    let program = command.split_whitespace().next()?.rsplit('/').next()?;
    let makes = MAKE_HARMONICS.contains(&program.trim_end_matches(".exe"));
    makes.then_some(Coefficients::Harmonics(Some(ShBasis::Mrtrix)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_volumes_are() {
        let harmonics =
            of_words("FOD as real spherical harmonics, MRtrix3 basis, scanner RAS axes");
        assert_eq!(harmonics, Some(Coefficients::Harmonics(Some(ShBasis::Mrtrix))));
        assert_eq!(of_words("15 unique entries, 1111 1112 …"), Some(Coefficients::Entries));
        assert_eq!(of_words("FSL5.0"), None);
    }

    #[test]
    fn a_history_speaks_where_its_program_makes_harmonics() {
        let mrtrix = Some(Coefficients::Harmonics(Some(ShBasis::Mrtrix)));
        assert_eq!(of_history("/opt/bin/dwi2fod csd a.mif b.txt c.mif  (version=3.0.3)"), mrtrix);
        assert_eq!(of_history("mrcat a.mif b.mif c.mif"), None);
        assert_eq!(of_history(""), None);
    }

    #[test]
    fn the_two_bases_of_one_program_are_not_told_apart() {
        let claimed = Coefficients::Harmonics(Some(ShBasis::DipyLegacy));
        assert!(claimed.allows(Coefficients::Harmonics(Some(ShBasis::Dipy))));
        assert!(!claimed.allows(Coefficients::Harmonics(Some(ShBasis::Mrtrix))));
        assert!(!claimed.allows(Coefficients::Entries));
    }

    #[test]
    fn a_sidecar_stands_beside_its_image() {
        let beside = |name: &str| sidecar_of(Path::new(name));
        assert_eq!(beside("a/fod.nii.gz"), Some("a/fod.json".into()));
        assert_eq!(beside("fod.mif"), Some("fod.json".into()));
        assert_eq!(beside("fod"), None);
    }
}
