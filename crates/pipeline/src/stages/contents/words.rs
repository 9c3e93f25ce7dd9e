//! What a file says in words: sidecar, description, command history, intent.

use std::io::Read as _;
use std::path::Path;

use fimbria_image::{BvecFrame, ImageHeader};
use fimbria_tensors::sh::ShBasis;
use serde_json::Value;

use super::{Claim, Contents};

/// What BIDS (BEP 16) says in the sidecar beside an image.
pub(super) fn of_sidecar(image: &Path) -> Option<Claim> {
    /// Sidecars are a screenful; what is larger is something else.
    const LONGEST: u64 = 1 << 20;
    let mut text = String::new();
    let file = fimbria_image::open_regular(fimbria_image::sidecar_of(image)?).ok()?;
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    claim_of_sidecar(&serde_json::from_str(&text).ok()?)
}

fn claim_of_sidecar(sidecar: &Value) -> Option<Claim> {
    let encoding = &sidecar["OrientationEncoding"];
    let frame = match encoding["Reference"].as_str() {
        Some("xyz") => Some(BvecFrame::Scanner),
        Some("ijk") => Some(BvecFrame::Voxel),
        Some("bvec") => Some(BvecFrame::Fsl),
        _ => None,
    };
    let what = match encoding["Type"].as_str() {
        Some("sh") => {
            let basis = encoding["SphericalHarmonicBasis"].as_str().unwrap_or_default();
            Contents::Harmonics(basis_in(&basis.to_lowercase()))
        }
        Some("tensor") if encoding["TensorRank"] == 2 => Contents::Tensor,
        Some("tensor") => Contents::Entries,
        Some("unit3vector" | "3vector") => Contents::Directions,
        _ => {
            let claim = of_description(sidecar["Description"].as_str().unwrap_or_default())?;
            return Some(Claim { place: "sidecar", ..claim });
        }
    };
    Some(Claim { what, frame, place: "sidecar" })
}

/// What each of these words means in a description; the first that is found counts. NIfTI keeps 79
/// bytes of one.
const WORDS: [(&str, Contents); 32] = [
    ("standard error", Contents::Numbers),
    ("fibre directions per voxel", Contents::Numbers),
    ("number of fibre", Contents::Numbers),
    ("values in the fibre directions", Contents::Numbers),
    ("spherical harmonic", Contents::Harmonics(None)),
    ("unique entries", Contents::Entries),
    ("kurtosis tensor w in scanner ras axes, 1111 1112", Contents::Entries),
    ("kurtosis tensor w in the axes of fsl's bvecs, 1111 1112", Contents::Entries),
    ("mean of the kurtosis tensor", Contents::Numbers),
    ("a kurtosis tensor", Contents::Kurtosis),
    ("kurtosis tensor w", Contents::Kurtosis),
    ("diffusion tensor", Contents::Tensor),
    ("unit eigenvector of l2", Contents::Across),
    ("unit eigenvector of l3", Contents::Across),
    ("unit eigenvector", Contents::Directions),
    ("unit vector", Contents::Directions),
    ("fibre directions", Contents::Directions),
    ("per direction of directions.txt", Contents::Numbers),
    ("along the axes of the tensor", Contents::Numbers),
    ("generalised diffusivit", Contents::Numbers),
    ("stretching exponent", Contents::Numbers),
    ("amounts of fibres", Contents::Numbers),
    ("outside mask", Contents::Numbers),
    ("outside the mask", Contents::Numbers),
    ("plain numbers", Contents::Numbers),
    ("diffusion-weighted series", Contents::Numbers),
    ("predicted signal", Contents::Numbers),
    ("weights of the isotropic", Contents::Numbers),
    ("angles of the samples", Contents::Numbers),
    ("fractions of the samples", Contents::Numbers),
    ("signal fractions", Contents::Numbers),
    ("streamlines", Contents::Numbers),
];

/// What a description in words says.
pub(super) fn of_description(words: &str) -> Option<Claim> {
    let words = words.to_lowercase();
    let (_, what) = WORDS.iter().find(|(word, _)| words.contains(word))?;
    let what = match what {
        Contents::Harmonics(_) => Contents::Harmonics(basis_in(&words)),
        other => *other,
    };
    let frame = [
        ("axes of fsl's bvecs", BvecFrame::Fsl),
        ("scanner", BvecFrame::Scanner),
        ("voxel axes", BvecFrame::Voxel),
    ];
    let frame = frame.into_iter().find(|(word, _)| words.contains(word)).map(|(_, frame)| frame);
    Some(Claim { what, frame, place: "description" })
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

/// Programs of MRtrix3 whose one kind of output is known; all of it is in scanner axes. Harmonics of the
/// signal (amp2sh, dwi2sh) are no densities of fibres: they are largest across them.
const MAKERS: [(&str, Contents); 10] = [
    ("dwi2fod", Contents::Harmonics(Some(ShBasis::Mrtrix))),
    ("mtnormalise", Contents::Harmonics(Some(ShBasis::Mrtrix))),
    ("shconv", Contents::Harmonics(Some(ShBasis::Mrtrix))),
    ("amp2sh", Contents::Numbers),
    ("dwi2sh", Contents::Numbers),
    ("mrfilter", Contents::Numbers),
    ("dwi2tensor", Contents::Tensor),
    ("tensor2metric", Contents::Numbers),
    ("sh2peaks", Contents::Directions),
    ("fixel2peaks", Contents::Directions),
];

/// Programs that bring an image from one form to another and leave it what it is.
const CONVERTERS: [&str; 3] = ["mrconvert", "mrtransform", "mrgrid"];

/// The last command in the history of a .mif that made something.
fn maker(header: &ImageHeader) -> Option<&str> {
    let commands = header.keyvals().iter().rev().filter(|(key, _)| key == "command_history");
    commands.map(|(_, command)| &**command).find(|command| !converts(command))
}

/// True where another program made the image of one of ours: MRtrix3 copies the comments, which tell of
/// the earlier image.
pub(super) fn is_made_anew(header: &ImageHeader) -> bool {
    maker(header).is_some_and(|command| !is_ours(command))
}

/// What the last command of the history of a .mif makes.
pub(super) fn of_history(header: &ImageHeader) -> Option<Claim> {
    let what = made_by(maker(header)?, header.n_volumes())?;
    Some(Claim { what, frame: Some(BvecFrame::Scanner), place: "command history" })
}

fn program_of(command: &str) -> Option<&str> {
    let program = command.split_whitespace().next()?.rsplit(['/', '\\']).next()?;
    Some(program.trim_end_matches(".exe"))
}

/// True of a command of this program, whatever its file is called.
fn is_ours(command: &str) -> bool {
    command.contains("(version=fimbria ") || program_of(command) == Some("fimbria")
}

fn converts(command: &str) -> bool {
    let ours = is_ours(command) && command.split_whitespace().nth(1) == Some("convert");
    ours || program_of(command).is_some_and(|program| CONVERTERS.contains(&program))
}

fn made_by(command: &str, n_volumes: usize) -> Option<Contents> {
    /// Of dwi2tensor -dkt.
    const KURTOSIS_ENTRIES: usize = 15;
    let program = program_of(command)?;
    let (_, what) = MAKERS.iter().find(|(name, _)| *name == program)?;
    let what = match what {
        Contents::Tensor if n_volumes == KURTOSIS_ENTRIES => Contents::Kurtosis,
        // The unweighted signal (-b0).
        Contents::Tensor if n_volumes == 1 => return None,
        Contents::Numbers if program == "tensor2metric" && is_first_vector(command) => {
            Contents::Directions
        }
        what => *what,
    };
    // Some of its volumes (mrconvert -coord) are nothing by themselves.
    Some(if what.can_have(n_volumes) { what } else { Contents::Numbers })
}

/// Whether tensor2metric was asked for the first eigenvector.
fn is_first_vector(command: &str) -> bool {
    let words: Vec<_> = command.split_whitespace().collect();
    let after = |option: &str| words.iter().position(|w| *w == option).map(|i| words.get(i + 1));
    after("-vector").is_some() && after("-num").is_none_or(|number| number == Some(&"1"))
}

/// bedpostX calls the mean directions of its samples so, and says no more of them.
pub(super) fn of_name(header: &ImageHeader) -> Option<Claim> {
    let name = header.path().file_name()?.to_str()?;
    let is_dyads = name.starts_with("dyads") && header.n_volumes() == 3;
    let (what, frame) = (Contents::Directions, Some(BvecFrame::Fsl));
    is_dyads.then_some(Claim { what, frame, place: "name (that of bedpostX's dyads)" })
}

/// FSL's programs mark V1 and dyads as colours and say nothing else; they are in its own axes.
pub(super) fn of_intent(header: &ImageHeader) -> Option<Claim> {
    /// NIfTI's code for a vector shown as a colour.
    const RGB_VECTOR: i32 = 2003;
    let is_vector = header.intent().code == RGB_VECTOR && header.n_volumes() == 3;
    let name = header.path().file_name()?.to_str()?;
    let is_across = name.contains("V2.") || name.contains("V3.");
    let what = if is_across { Contents::Across } else { Contents::Directions };
    let frame = Some(BvecFrame::Fsl);
    is_vector.then_some(Claim { what, frame, place: "intent (a vector, as FSL writes it)" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(words: &str) -> Option<Contents> {
        of_description(words).map(|claim| claim.what)
    }

    #[test]
    fn words_say_what_volumes_are() {
        let harmonics = said("FOD as real spherical harmonics, MRtrix3 basis, scanner RAS axes");
        assert_eq!(harmonics, Some(Contents::Harmonics(Some(ShBasis::Mrtrix))));
        assert_eq!(said("15 unique entries, 1111 1112 …"), Some(Contents::Entries));
        assert_eq!(said("FSL5.0"), None);
    }

    #[test]
    fn what_is_said_of_contents_is_understood() {
        for what in [
            Contents::Directions,
            Contents::Entries,
            Contents::Tensor,
            Contents::Kurtosis,
            Contents::Harmonics(None),
            Contents::Harmonics(Some(ShBasis::Mrtrix)),
            Contents::Harmonics(Some(ShBasis::DipyLegacy)),
            Contents::Numbers,
        ] {
            assert_eq!(said(&what.to_string()), Some(what));
        }
    }

    #[test]
    fn a_history_speaks_where_its_program_makes_one_kind() {
        let mrtrix = Some(Contents::Harmonics(Some(ShBasis::Mrtrix)));
        let dwi2fod = "/opt/bin/dwi2fod csd a.mif b.txt c.mif  (version=3.0.3)";
        assert_eq!(made_by(dwi2fod, 45), mrtrix);
        assert_eq!(made_by("dwi2tensor a.mif -dkt b.mif c.mif", 15), Some(Contents::Kurtosis));
        assert_eq!(made_by("dwi2tensor a.mif c.mif", 6), Some(Contents::Tensor));
        assert_eq!(made_by(dwi2fod, 3), Some(Contents::Numbers));
        assert_eq!(made_by("amp2sh a.mif b.mif", 45), Some(Contents::Numbers));
        let vector = "tensor2metric a.mif -vector v.mif";
        assert_eq!(made_by(vector, 3), Some(Contents::Directions));
        assert_eq!(made_by(&format!("{vector} -num 2"), 3), Some(Contents::Numbers));
        assert_eq!(
            made_by("tensor2metric a.mif -value l.mif -num 1,2,3", 3),
            Some(Contents::Numbers)
        );
        assert_eq!(made_by("mrcat a.mif b.mif c.mif", 45), None);
        assert_eq!(made_by("", 45), None);
        assert!(converts("mrconvert a.mif b.mif") && converts("bin/fimbria convert a b.mif"));
        assert!(converts("/tmp/renamed convert a b.mif  (version=fimbria 0.1.0)"));
        assert!(!converts(dwi2fod) && !is_ours(dwi2fod) && is_ours("fimbria fit fod a.mif"));
    }

    #[test]
    fn the_two_bases_of_one_program_are_not_told_apart() {
        let claimed = Contents::Harmonics(Some(ShBasis::DipyLegacy));
        assert!(claimed.allows(Contents::Harmonics(Some(ShBasis::Dipy))));
        assert!(!claimed.allows(Contents::Harmonics(Some(ShBasis::Mrtrix))));
        assert!(!claimed.allows(Contents::Entries));
    }
}
