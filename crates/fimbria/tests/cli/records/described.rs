//! What a description says of the files that a command writes.

use serde_json::Value;

use crate::util::Folder;

/// A file that a description says is written.
pub(super) struct Described {
    name: String,
    is_image: bool,
}

impl Described {
    /// All those of a command.
    pub(super) fn of(folder: &Folder, command: &str) -> Vec<Self> {
        let text = folder.done(&format!("describe {command} --format json")).stdout;
        let mut methods: Value = serde_json::from_str(&text).unwrap();
        // Of a command with others below it there is a list.
        let is_it = |method: &&mut Value| method["name"] == command;
        let method = match methods.as_array_mut() {
            Some(list) => list.iter_mut().find(is_it).unwrap().take(),
            None => methods,
        };
        let mut files = Vec::new();
        for output in method["outputs"].as_array().unwrap() {
            let name = output["file"].as_str().unwrap().replace("NAME", "*");
            let in_layouts = output["files"].as_object().unwrap().values();
            files.extend(in_layouts.map(|file| {
                let name = file.as_str().unwrap().rsplit('/').next().unwrap();
                Self { name: stem(name).to_owned(), is_image: true }
            }));
            files.push(Self { name, is_image: output["type"] == "image" });
        }
        files
    }

    /// Whether a file of an output folder is this one, or the sidecar of an image.
    pub(super) fn is(&self, file: &str) -> bool {
        if self.name.starts_with("OUT") {
            return true;
        }
        if self.name.ends_with('/') {
            return is_like(&format!("{}*", self.name), file);
        }
        let found = if self.is_image { stem(file) } else { file };
        // probtrackx2 --out paths
        let renamed = found.strip_prefix("paths").map(|rest| format!("fdt_paths{rest}"));
        is_like(&self.name, renamed.as_deref().unwrap_or(found))
    }
}

/// A name without the extension of an image or of what stands beside it.
fn stem(name: &str) -> &str {
    [".nii.gz", ".nii", ".mif", ".mif.gz", ".json"]
        .iter()
        .find_map(|extension| name.strip_suffix(extension))
        .unwrap_or(name)
}

/// Whether `name` is `pattern`, whose `*` may be anything.
fn is_like(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => name.strip_prefix(before).is_some_and(|rest| {
            let mut ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
            ends.any(|at| is_like(after, &rest[at..]))
        }),
    }
}
