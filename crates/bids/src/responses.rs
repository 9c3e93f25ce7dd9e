//! The mean responses of a group: with one set of them amounts compare between subjects.

use std::path::Path;

use fimbria_models::fod::{Brightness, Response};
use fimbria_pipeline::RunRecord;

/// The files, and how those of a session end of which they are the mean.
pub(crate) const GROUP_RESPONSES: [(&str, &str); 3] = [
    ("group_response.txt", "_param-response_dwimap.txt"),
    ("group_response_gm.txt", "_param-responsegm_dwimap.txt"),
    ("group_response_csf.txt", "_param-responsecsf_dwimap.txt"),
];

/// The texts of the mean responses of all finished sessions, by the names of their files, and what the user
/// should know of them.
pub(crate) fn mean_responses(
    out: &Path,
    finished: &[(String, RunRecord)],
) -> (Vec<(&'static str, String)>, Option<String>) {
    let (mut means, mut doubt) = (Vec::new(), None);
    for (name, end) in GROUP_RESPONSES {
        let own = finished.iter().flat_map(|(folder, record)| {
            let files = record.outputs.iter().filter(|output| output.file.ends_with(end));
            files.map(move |output| out.join(folder).join(&output.file))
        });
        // What cannot be read is no response; its record says how it was written.
        let read = |path: &Path| Response::from_text(&std::fs::read_to_string(path).ok()?).ok();
        let groups = alike(own.filter_map(|path| read(&path)));
        let is_one = groups.len() < 2;
        // The first of the largest.
        let largest = groups.into_iter().rev().max_by_key(Vec::len).unwrap_or_default();
        if !is_one {
            doubt = Some(format!(
                "responses of the group are the mean of {} sessions of the same shells; others have other shells",
                largest.len()
            ));
        }
        means.extend(
            Response::mean(&largest, Brightness::Common).map(|mean| (name, mean.to_string())),
        );
    }
    (means, doubt)
}

/// Responses of the same shells and degrees together.
fn alike(responses: impl Iterator<Item = Response>) -> Vec<Vec<Response>> {
    let mut groups: Vec<Vec<Response>> = Vec::new();
    for response in responses {
        match groups.iter_mut().find(|group| group[0].is_like(&response)) {
            Some(group) => group.push(response),
            None => groups.push(vec![response]),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells_as_scanners_round_them_are_the_same() {
        let response = |b: f64| Response {
            b_s_per_mm2: Some(vec![0.0, b]),
            zonal: vec![vec![100.0], vec![50.0, -10.0]],
        };
        let groups = alike([2998.0, 1000.0, 3000.0, 3004.0].map(response).into_iter());
        assert_eq!(groups.iter().map(Vec::len).collect::<Vec<_>>(), [3, 1]);
    }
}
