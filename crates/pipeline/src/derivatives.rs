//! How the files of a method are named and described among derivatives of BIDS.

use std::path::Path;

use serde_json::Value;

use crate::BidsName;

/// The files of a method as derivatives.
pub struct Derivatives {
    /// What they are made of, for their sidecars.
    pub sources: &'static [Source],
    /// Whether those of other labels stand beside them.
    pub by_labels: bool,
    /// Whether what is added to a session makes them anew and is not refused: tables that gather what other stages made, to
    /// which it adds lines, and an alignment that brings more along.
    pub gathers: bool,
    /// Whether a file is none of them.
    pub leaves_out: fn(&Derived<'_>) -> bool,
    /// Where a file lies, below the folder of the session.
    pub place: fn(&Derived<'_>, &DerivativeNames) -> String,
    /// The sidecar of a file that its stage writes without one; `None` where BIDS has none either.
    pub describe: fn(&Derived<'_>) -> Option<Value>,
    /// Adds to a sidecar that the stage wrote.
    pub complete: fn(&Derived<'_>, &mut Value),
}

/// What derivatives are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The diffusion-weighted series.
    Series,
    /// Its mask, where it has one.
    Mask,
    /// The gradient-echo scan.
    Scan,
    /// The segmentation whose regions are connected, with its table of names.
    Labels,
    /// The tissues that streamlines end by.
    Tissues,
    /// The T1-weighted image that is laid on the series.
    T1w,
}

impl Derivatives {
    /// Maps of this model, made of the series; of a stage that names them in BIDS itself.
    pub const FROM_SERIES: Self = Self {
        sources: &[Source::Series, Source::Mask],
        by_labels: false,
        gathers: false,
        leaves_out: |_| false,
        place: |file, names| names.map(file.stage, file),
        describe: |_| None,
        complete: |_, _| (),
    };
}

/// A file of a stage of a run.
#[derive(Clone, Copy)]
pub struct Derived<'a> {
    /// The stage.
    pub stage: &'a str,
    /// The file, below the folder of the stage.
    pub file: &'a str,
    /// The parameters of the stage.
    pub parameters: &'a Value,
    /// The folder of the stage.
    pub folder: &'a Path,
    /// The table of names of the labels.
    pub label_names: Option<&'a Path>,
}

impl Derived<'_> {
    /// The file up to its first dot.
    pub fn stem(&self) -> &str {
        self.file.split('.').next().unwrap_or(self.file)
    }

    /// The file from its first dot on, without it.
    pub fn extension(&self) -> &str {
        self.file.split_once('.').map_or("", |(_, extension)| extension)
    }

    /// The name of the map in the file, whichever layout it is written in.
    pub fn map(&self) -> &str {
        let param = self.stem().split("_param-").nth(1);
        param.and_then(|rest| rest.split('_').next()).unwrap_or(self.stem())
    }
}

/// What names of derivatives of one series begin with.
pub struct DerivativeNames {
    /// The entities of the series, with an underscore at the end (`sub-01_space-ACPC_`).
    pub series: String,
    /// Those of them that a gradient-echo scan has: subject, session, space.
    pub scan: String,
    /// `seg-NAME_` of the labels between which streamlines are counted.
    pub labels: String,
}

impl DerivativeNames {
    /// Of the series of this name, with these labels.
    pub fn from_series(series: &BidsName, labels: Option<&str>) -> Self {
        let mut scan = series.clone();
        scan.entities.retain(|(key, _)| ["sub", "ses", "space"].contains(&key.as_str()));
        let labels = labels.map_or(String::new(), |name| format!("seg-{}_", alphanumeric(name)));
        Self { series: series.clone().without("desc").prefix(), scan: scan.prefix(), labels }
    }

    /// `sub-01_space-ACPC`: what tells the series from others.
    pub fn label(&self) -> &str {
        self.series.trim_end_matches('_')
    }

    /// The place of a file as a map of this model; of a file that its stage names in BIDS, that name.
    pub fn map(&self, model: &str, file: &Derived<'_>) -> String {
        if BidsName::parse(Path::new(file.file)).is_some() {
            return format!("dwi/{}", file.file);
        }
        let param = alphanumeric(file.stem());
        let suffix = format!("model-{model}_param-{param}_dwimap");
        self.beside_series(&suffix, file.extension())
    }

    /// The place of a file beside the series: `suffix` with what entities come before it.
    pub fn beside_series(&self, suffix: &str, extension: &str) -> String {
        format!("dwi/{}{suffix}.{extension}", self.series)
    }

    /// The place of a file of the labels beside the series.
    pub fn beside_labels(&self, suffix: &str, extension: &str) -> String {
        self.beside_series(&format!("{}{suffix}", self.labels), extension)
    }

    /// The place of a map of `file.stage` beside the gradient-echo scan: `suffix`, where BIDS has a name for it.
    pub fn beside_scan(&self, file: &Derived<'_>, suffix: Option<&str>) -> String {
        let own = || format!("desc-{}_{}", alphanumeric(file.map()), file.stage);
        let suffix = suffix.map_or_else(own, str::to_owned);
        format!("anat/{}{suffix}.{}", self.scan, file.extension())
    }
}

/// A label of BIDS: letters and digits.
pub(crate) fn alphanumeric(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).collect()
}
