//! Series of a session that are one measurement: made one before they are run.

use fimbria_pipeline::BidsName;
use fimbria_pipeline::stages::load::JoinedSeries;

use crate::made::Earlier;
use crate::planned::Planned;
use crate::{BidsError, Participants, Series, Session};

impl Participants {
    /// The session with those of its series made one that are corrected together.
    pub(crate) fn joined(&self, session: &Session) -> Result<Session, BidsError> {
        let (mut weighted, unweighted) = self.weighted(session);
        if self.separate || !self.config.corrects() || weighted.len() < 2 {
            return Ok(session.clone());
        }
        weighted.sort_by_key(|series| in_order(&series.name));
        let files: Vec<_> =
            weighted.iter().map(|series| series.files(&self.config.input)).collect();
        let (mut series, mut apart) = (Vec::new(), Vec::new());
        for together in self.config.together(&files)? {
            let own: Vec<&Series> = together.series.iter().map(|at| weighted[*at]).collect();
            series.extend(one_of(&own));
            if let (Some(reason), Some(first)) = (together.apart, own.first()) {
                let name = &first.name;
                apart
                    .push(format!("{name} is not joined to other series of its session: {reason}"));
            }
        }
        name_apart(&mut series);
        series.extend(unweighted.into_iter().cloned());
        Ok(Session { series, apart, ..session.clone() })
    }

    /// What is to be said of results of a session that are there by names under which this call makes none: where series
    /// were joined otherwise, or are gone.
    pub(crate) fn unmade(
        &self,
        planned: &[Planned<'_>],
        earlier: Option<&Earlier>,
    ) -> Option<String> {
        let names = earlier.iter().flat_map(|earlier| earlier.all_series());
        let names = names.filter_map(|series| series["name"].as_str());
        let is_made = |name: &&str| planned.iter().any(|one| one.names().label() == *name);
        let unmade: Vec<&str> = names.filter(|name| !is_made(name)).collect();
        (!unmade.is_empty()).then(|| {
            format!(
                "results of {} are there from before and stay: this call joins series otherwise, or they are gone; the \
                 group's table has them too",
                unmade.join(", ")
            )
        })
    }
}

/// Where a series stands among others: by its entities, numbers as such.
fn in_order(name: &BidsName) -> Vec<(String, Option<u64>, String)> {
    let entities = name.entities.iter().cloned();
    entities.map(|(key, value)| (key, value.parse().ok(), value)).collect()
}

/// These series as one, which has what belongs to the first; `None` of none.
fn one_of(own: &[&Series]) -> Option<Series> {
    let (first, others) = own.split_first()?;
    let mut one = (*first).clone();
    if others.is_empty() {
        return Some(one);
    }
    let joined = others.iter().map(|other| {
        let [bval, bvec] = other.tables.clone().map_or([None, None], |tables| tables.map(Some));
        JoinedSeries { bval, bvec, ..other.dwi.clone().into() }
    });
    one.joined = joined.collect();
    // What was measured of one of them says nothing of all.
    (one.confounds, one.image_qc) = (None, None);
    one.called = others.iter().fold(one.called, |called, other| called.shared_with(&other.name));
    Some(one)
}

/// Lets joined series keep the names of their first ones where two would be called the same.
fn name_apart(series: &mut [Series]) {
    let prefixes: Vec<String> = series.iter().map(|one| one.called.prefix()).collect();
    let is_twice = |prefix: &String| prefixes.iter().filter(|other| *other == prefix).count() > 1;
    if prefixes.iter().any(is_twice) {
        series.iter_mut().for_each(|one| one.called = one.name.clone());
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use crate::DataSet;

    use super::*;

    /// The series of a session of these names.
    fn series(names: &[&str]) -> Vec<Series> {
        let folder = tempfile::tempdir().unwrap();
        let dwi = folder.path().join("sub-1/dwi");
        fs::create_dir_all(&dwi).unwrap();
        for name in names {
            fs::write(dwi.join(format!("sub-1_{name}dwi.nii")), "").unwrap();
        }
        fs::write(folder.path().join("dwi.bval"), "").unwrap();
        fs::write(folder.path().join("dwi.bvec"), "").unwrap();
        DataSet::open(folder.path(), Vec::new()).unwrap().sessions.remove(0).series
    }

    fn one(all: &[Series]) -> Series {
        one_of(&all.iter().collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn one_of_several_is_called_by_what_they_share_and_has_the_table_of_each() {
        let all = series(&["dir-AP_run-1_", "dir-PA_run-1_"]);
        let joined = one(&all);
        assert_eq!(joined.called.to_string(), "sub-1_run-1_dwi.nii");
        assert_eq!(joined.name, all[0].name);
        assert!(joined.joined[0].dwi.ends_with("sub-1_dir-PA_run-1_dwi.nii"));
        assert!(joined.joined[0].bval.as_deref().unwrap().ends_with("dwi.bval"));
        assert_eq!(one(&all[..1]).called, all[0].called);
    }

    #[test]
    fn two_of_the_same_name_are_called_by_their_first_ones() {
        let all = series(&["run-1_", "run-2_", "run-3_", "run-4_"]);
        let mut two = [one(&all[..2]), one(&all[2..])];
        assert_eq!(two[0].called, two[1].called);
        name_apart(&mut two);
        assert_eq!(two.map(|one| one.called.prefix()), ["sub-1_run-1_", "sub-1_run-3_"]);
    }

    #[test]
    fn the_tenth_run_follows_the_ninth() {
        let name =
            |run: &str| BidsName::parse(Path::new(&format!("sub-1_run-{run}_dwi.nii"))).unwrap();
        assert!(in_order(&name("9")) < in_order(&name("10")));
        assert!(in_order(&name("02")) < in_order(&name("3")));
    }
}
