//! The mean responses of a group: with one set of them amounts compare between subjects.

use std::collections::BTreeMap;
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
        let mut by_shells: BTreeMap<String, Vec<Response>> = BTreeMap::new();
        for response in own.filter_map(|path| read(&path)) {
            let shells = format!("{:?} {}", response.b_s_per_mm2, response.zonal[0].len());
            by_shells.entry(shells).or_default().push(response);
        }
        let groups = by_shells.len();
        let largest = by_shells.into_values().max_by_key(Vec::len).unwrap_or_default();
        if groups > 1 {
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
