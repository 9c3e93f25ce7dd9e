//! Pages of the manual, which warnings end with.

use std::fmt;

/// A page of the manual that says what to do about a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// Images laid on each other, and labels that come along.
    Align,
    /// Data sets of many people.
    Bids,
    /// What streamlines explain and connect.
    Connectomes,
    /// Motion, eddy currents, dropped slices.
    Correct,
    /// Orientation densities and maxima.
    Densities,
    /// Fibre populations.
    Fixels,
    /// What is needed for a device.
    Install,
    /// Kurtosis.
    Kurtosis,
    /// Whether a series is good.
    Quality,
    /// Maps summed up over regions.
    Regions,
    /// One subject from one file.
    Run,
    /// Ball and sticks.
    Sticks,
    /// Phase, fields and susceptibility.
    Susceptibility,
    /// Streamlines.
    Tracking,
    /// Streamlines chosen, bundles and their profiles.
    Tracts,
    /// Messages in order, where no single method is at fault.
    Troubleshooting,
}

impl Page {
    /// All pages.
    pub const ALL: [Self; 16] = [
        Self::Align,
        Self::Bids,
        Self::Connectomes,
        Self::Correct,
        Self::Densities,
        Self::Fixels,
        Self::Install,
        Self::Kurtosis,
        Self::Quality,
        Self::Regions,
        Self::Run,
        Self::Sticks,
        Self::Susceptibility,
        Self::Tracking,
        Self::Tracts,
        Self::Troubleshooting,
    ];

    /// The name of its file in `docs`, without the extension.
    pub fn name(self) -> &'static str {
        match self {
            Self::Align => "align",
            Self::Bids => "bids",
            Self::Connectomes => "connectomes",
            Self::Correct => "correct",
            Self::Densities => "densities",
            Self::Fixels => "fixels",
            Self::Install => "install",
            Self::Kurtosis => "kurtosis",
            Self::Quality => "quality",
            Self::Regions => "regions",
            Self::Run => "run",
            Self::Sticks => "sticks",
            Self::Susceptibility => "susceptibility",
            Self::Tracking => "tracking",
            Self::Tracts => "tracts",
            Self::Troubleshooting => "troubleshooting",
        }
    }

    /// Where the page of this version is read.
    pub fn link(self) -> String {
        let [repository, version] = [env!("CARGO_PKG_REPOSITORY"), env!("CARGO_PKG_VERSION")];
        format!("{repository}/blob/v{version}/docs/{}.md", self.name())
    }

    /// The warning as it is told and recorded: with what tells of this page behind it.
    pub fn behind(self, warning: impl fmt::Display) -> String {
        format!("{warning} (fimbria help {})", self.name())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_page_is_in_the_manual() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let summary = std::fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
        for page in Page::ALL {
            let file = format!("{}.md", page.name());
            assert!(docs.join(&file).is_file(), "{file}");
            assert!(summary.contains(&format!("({file})")), "{file} is not in the book");
        }
    }
}
