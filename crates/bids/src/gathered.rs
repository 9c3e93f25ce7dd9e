//! A table of what other stages made (regions), extended by what is added to a session.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use fimbria_pipeline::RunRecord;

use crate::BidsError;
use crate::made::{Earlier, Made};
use crate::publish::Ran;

/// Lines of the `earlier` table that are of stages which stay are added to the one that was `ran`. The results that
/// the table then has besides its own: those of the earlier one, where no line of it was replaced by another.
pub(crate) fn extend(
    ran: &Ran<'_>,
    made: &Made,
    earlier: &Earlier,
    staying: &[Made],
    folder: &Path,
) -> Result<Vec<String>, BidsError> {
    let stage = made.method();
    let before = earlier.made.iter().find(|before| before.is_for(made));
    let table = |file: &&String| file.ends_with(".tsv");
    let (Some(before), true) = (before, has_same_labels(&ran.record, &earlier.record)) else {
        return Ok(Vec::new());
    };
    let outputs = ran.record.outputs.iter().filter_map(|output| output.file.split_once('/'));
    let mut tables = outputs.filter(|(of, file)| *of == stage && file.ends_with(".tsv"));
    let (Some((_, new)), Some(old)) = (tables.next(), before.files.iter().find(table)) else {
        return Ok(Vec::new());
    };
    let [new, old] = [ran.folder.join(stage).join(new), folder.join(old)];
    // What somebody took away has no lines to keep.
    let Ok(old) = fimbria_image::read_regular_text(&old) else { return Ok(Vec::new()) };
    let text = fs::read_to_string(&new).map_err(BidsError::io("read", &new))?;
    let stays =
        |stage: &str| staying.iter().any(|one| one.series == made.series && one.method() == stage);
    let (text, is_kept) = joined(&text, &old, stays);
    fs::write(&new, text).map_err(BidsError::io("write", &new))?;
    let results = std::iter::once(&before.fingerprint.results).chain(&before.gathered);
    Ok(results.filter(|_| is_kept).cloned().collect())
}

/// Whether both are of the same segmentation.
fn has_same_labels(one: &RunRecord, other: &RunRecord) -> bool {
    let mut labels = one.inputs.iter().filter(|input| input.role == "labels");
    labels.all(|input| {
        let mut others = other.inputs.iter().filter(|other| other.role == "labels");
        others.any(|other| other.xxh3_128 == input.xxh3_128)
    })
}

/// The lines of `new`, and those of `old` of other maps, of stages that stay, by regions; and whether maps of both have
/// the same lines in both. A line begins with the index of its region, a name, and stage/map.
fn joined(new: &str, old: &str, stays: impl Fn(&str) -> bool) -> (String, bool) {
    let map = |line: &str| line.split('\t').nth(2).unwrap_or_default().to_owned();
    let region = |line: &&str| line.split('\t').next().and_then(|index| index.parse::<u32>().ok());
    let maps: HashSet<String> = new.lines().skip(1).map(map).collect();
    let lines: HashSet<&str> = new.lines().collect();
    let (again, others): (Vec<&str>, Vec<&str>) =
        old.lines().skip(1).partition(|line| maps.contains(&map(line)));
    let is_kept = |line: &&str| map(line).split_once('/').is_some_and(|(stage, _)| stays(stage));
    let mut all: Vec<&str> =
        new.lines().skip(1).chain(others.into_iter().filter(is_kept)).collect();
    all.sort_by_key(region);
    all.insert(0, new.lines().next().unwrap_or_default());
    (all.join("\n") + "\n", again.iter().all(|line| lines.contains(line)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_other_maps_stay_beside_the_new_ones_of_their_region() {
        let old = "index\tname\tmap\tn\n1\ta\tdti/FA\t5\n1\ta\tdki/MK\t6\n2\tb\tdti/FA\t7\n2\tb\tdki/MK\t8\n";
        let new = "index\tname\tmap\tn\n1\ta\tdti/FA\t5\n1\ta\tmsdki/MSK\t3\n2\tb\tdti/FA\t7\n2\tb\tmsdki/MSK\t4\n";
        let (text, is_kept) = joined(new, old, |stage| stage == "dki");
        let maps: Vec<&str> = text.lines().skip(1).map(|l| l.split('\t').nth(2).unwrap()).collect();
        assert_eq!(maps, ["dti/FA", "msdki/MSK", "dki/MK", "dti/FA", "msdki/MSK", "dki/MK"]);
        assert!(is_kept);
        // What is gone has no lines, and other numbers are other results.
        let (text, is_kept) = joined(&new.replace("FA\t5", "FA\t4"), old, |_| false);
        assert_eq!((text.lines().count(), is_kept), (5, false));
    }
}
