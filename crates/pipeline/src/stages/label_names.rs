//! What labels are called: the table that lies beside their image, and what names tell of a label.

use std::path::{Path, PathBuf};

use fimbria_image::split_image_name;
use fimbria_streamlines::connectome::RegionNames;

use crate::{Logbook, Page, StageError};

/// FreeSurfer's table of all its labels, as people copy it beside a segmentation.
const FREESURFER: &str = "FreeSurferColorLUT.txt";

/// The table of names beside the image `NAME.nii.gz`, where there is one: `NAME.tsv` as BIDS has it, `NAME.txt`
/// where it names labels, or FreeSurfer's own.
pub(in crate::stages) fn table_beside(labels: &Path) -> Option<PathBuf> {
    let name = labels.file_name()?.to_str()?;
    let stem = split_image_name(name)?.0;
    let beside = |file: &str| Some(labels.with_file_name(file)).filter(|path| path.is_file());
    let names_labels = |path: &PathBuf| RegionNames::read(path).is_ok();
    beside(&format!("{stem}.tsv"))
        .or_else(|| beside(&format!("{stem}.txt")).filter(names_labels))
        .or_else(|| beside(FREESURFER))
}

/// What labels are called; one without a name by its number.
pub(in crate::stages) fn names_of(
    table: Option<&Path>,
    labels: &[u32],
    log: &Logbook<'_>,
) -> Result<Option<Vec<String>>, StageError> {
    let Some(path) = table else { return Ok(None) };
    let names = RegionNames::read(path)?;
    let without: Vec<_> = labels.iter().filter(|label| names.name(**label).is_none()).collect();
    if let [first, ..] = without[..] {
        log.warn(
            Page::Connectomes,
            &format!(
                "{} names {} of {} labels: {first} is the first without a name",
                path.display(),
                labels.len() - without.len(),
                labels.len()
            ),
        );
    }
    let name = |label: &u32| names.name(*label).map_or_else(|| label.to_string(), str::to_owned);
    Ok(Some(labels.iter().map(name).collect()))
}

/// What FreeSurfer, SynthSeg and the phantom head call what is no grey matter, without its side.
const NO_GREY: [&str; 38] = [
    "unknown",
    "cerebral-white-matter",
    "cerebellum-white-matter",
    "cerebellar-white-matter",
    "unsegmentedwhitematter",
    "wm-hypointensities",
    "non-wm-hypointensities",
    "hypointensities",
    "corpus-callosum",
    "corpuscallosum",
    "cc-posterior",
    "cc-mid-posterior",
    "cc-central",
    "cc-mid-anterior",
    "cc-anterior",
    "fornix",
    "optic-chiasm",
    "lateral-ventricle",
    "inferior-lateral-ventricle",
    "inf-lat-vent",
    "3rd-ventricle",
    "4th-ventricle",
    "5th-ventricle",
    "csf",
    "choroid-plexus",
    "vessel",
    "medial-wall",
    "medialwall",
    "skull",
    "bone",
    "marrow",
    "connective-tissue",
    "fat",
    "skin",
    "eye",
    "vein",
    "dura",
    "air",
];
/// What such names begin with where they have a side.
const SIDES: [&str; 4] = ["left-", "right-", "ctx-lh-", "ctx-rh-"];
/// What all parcels of white matter begin with.
const WHITE: [&str; 2] = ["wm-lh-", "wm-rh-"];

/// Whether a label of this name is white matter, fluid, or no brain at all.
pub(in crate::stages) fn is_no_grey(name: &str) -> bool {
    let name = name.to_lowercase().replace(['_', ' '], "-");
    let sideless = SIDES.iter().find_map(|side| name.strip_prefix(side)).unwrap_or(&name);
    NO_GREY.contains(&sideless) || WHITE.iter().any(|white| name.starts_with(white))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_is_no_grey_matter() {
        for name in [
            "Left-Cerebral-White-Matter",
            "Right-Inf-Lat-Vent",
            "3rd-Ventricle",
            "CSF",
            "CC_Mid_Anterior",
            "ctx-lh-unknown",
            "ctx_rh_Medial_wall",
            "wm-lh-precentral",
            "left cerebral white matter",
            "Skull",
        ] {
            assert!(is_no_grey(name), "{name}");
        }
        for name in [
            "ctx-lh-precentral",
            "Left-Thalamus",
            "Left-VentralDC",
            "Brain-Stem",
            "Left-Cerebellum-Cortex",
            "Splenium of corpus callosum",
            "7",
        ] {
            assert!(!is_no_grey(name), "{name}");
        }
    }

    #[test]
    fn the_table_beside_an_image_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let write = |name: &str, text: &str| std::fs::write(at(name), text).unwrap();
        let labels = at("aparc.nii.gz");
        assert_eq!(table_beside(&labels), None);
        write("FreeSurferColorLUT.txt", "17 Left-Hippocampus 220 216 20 0\n");
        assert_eq!(table_beside(&labels), Some(at("FreeSurferColorLUT.txt")));
        // Numbers alone are no names.
        write("aparc.txt", "17\n18\n");
        assert_eq!(table_beside(&labels), Some(at("FreeSurferColorLUT.txt")));
        write("aparc.txt", "17 Left-Hippocampus\n");
        assert_eq!(table_beside(&labels), Some(at("aparc.txt")));
        write("aparc.tsv", "index\tname\n17\tLeft-Hippocampus\n");
        assert_eq!(table_beside(&labels), Some(at("aparc.tsv")));
    }
}
