//! Which streamlines are kept, as options and as tables of a file.

use clap::Args;
use fimbria_streamlines::edit::Rules;
use fimbria_workflow::with_sidecar;
use serde::Serialize;
use serde_json::{Value, json};

use super::region_text::RegionText;
use super::regions::RegionReader;
use crate::options::{Described as _, OptionError, at_least};
use crate::{Input, StageError};

/// What streamlines pass, where they end, and how long they are.
#[derive(Clone, Debug, Default, PartialEq, Args, Serialize)]
#[command(next_help_heading = "Which streamlines")]
pub struct RuleOptions {
    /// Keep what passes this region; all of them where there are several. A region is an image (voxels above zero, on
    /// any grid), labels of one (IMAGE:LABEL,LABEL; numbers, or names of --lut), or a ball (X,Y,Z,RADIUS, mm)
    #[arg(long, value_name = "REGION", allow_hyphen_values = true)]
    pub include: Vec<RegionText>,

    /// Keep what passes one of these regions at least
    #[arg(long, value_name = "REGION", allow_hyphen_values = true)]
    pub include_any: Vec<RegionText>,

    /// Leave out what passes one of these regions
    #[arg(long, value_name = "REGION", allow_hyphen_values = true)]
    pub exclude: Vec<RegionText>,

    /// Keep what has an end in this region; given twice, one end in each (the same twice: both ends in it)
    #[arg(long, value_name = "REGION", allow_hyphen_values = true)]
    pub ends_in: Vec<RegionText>,

    /// Of every streamline look at its two ends only, for all regions
    #[arg(long)]
    pub ends_only: bool,

    /// Keep what is so long at least
    #[arg(long, value_name = "MM", number = at_least(0.0, "mm"))]
    pub min_length: Option<f64>,

    /// Keep what is so long at most
    #[arg(long, value_name = "MM", number = at_least(0.0, "mm"))]
    pub max_length: Option<f64>,
}

impl RuleOptions {
    /// Refuses what no streamline can be.
    ///
    /// # Errors
    /// [`OptionError::Unusable`].
    pub fn check(&self) -> Result<(), OptionError> {
        let unusable = |said: String| Err(OptionError::Unusable(said));
        if self.ends_in.len() > 2 {
            let n = self.ends_in.len();
            return unusable(format!(
                "a streamline has two ends, and {n} regions are given for them"
            ));
        }
        match (self.min_length, self.max_length) {
            (Some(least), Some(most)) if least > most => {
                unusable(format!("no streamline is {least} mm long at least and {most} mm at most"))
            }
            _ => Ok(()),
        }
    }

    /// All regions, each with its role.
    pub(super) fn regions(&self) -> impl Iterator<Item = (&'static str, &RegionText)> {
        fn with_role<'a>(
            role: &'static str,
            list: &'a [RegionText],
        ) -> impl Iterator<Item = (&'static str, &'a RegionText)> {
            list.iter().map(move |region| (role, region))
        }
        with_role("include", &self.include)
            .chain(with_role("include any", &self.include_any))
            .chain(with_role("exclude", &self.exclude))
            .chain(with_role("ends in", &self.ends_in))
    }

    /// The images of the regions.
    pub(super) fn inputs(&self) -> Vec<Input> {
        let images = self.regions().filter_map(|(role, region)| Some((role, region.image()?)));
        images.flat_map(|(role, path)| with_sidecar(role, path)).collect()
    }

    pub(super) fn in_record(&self) -> Value {
        let list = |list: &[RegionText]| -> Vec<String> {
            list.iter().map(RegionText::in_record).collect()
        };
        let Self { include, include_any, exclude, ends_in, ends_only, min_length, max_length } =
            self;
        json!({
            "include": list(include),
            "include_any": list(include_any),
            "exclude": list(exclude),
            "ends_in": list(ends_in),
            "ends_only": ends_only,
            "min_length": min_length,
            "max_length": max_length,
        })
    }

    /// The rules, whose regions are read.
    pub(super) fn rules(&self, reader: &mut RegionReader<'_>) -> Result<Rules, StageError> {
        let mut numbers = |list: &[RegionText]| -> Result<Vec<usize>, StageError> {
            list.iter().map(|region| reader.number(region)).collect()
        };
        Ok(Rules {
            include: numbers(&self.include)?,
            include_any: numbers(&self.include_any)?,
            exclude: numbers(&self.exclude)?,
            ends_in: numbers(&self.ends_in)?,
            ends_only: self.ends_only,
            length_mm: [self.min_length, self.max_length],
            ..Rules::default()
        })
    }
}
