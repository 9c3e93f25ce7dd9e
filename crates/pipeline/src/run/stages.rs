//! The stages of a run, in order.

use std::path::Path;

use fimbria_image::ImageHeader;

use super::{Asked, ConfigError, RunConfig, System, options_of};
use crate::options::{Place, Resolve as _};
use crate::stages::connectome::{ConnectomeInRun, ConnectomeOptions};
use crate::stages::field::{FieldParameters, MakeField, PhaseFiles};
use crate::stages::fits::{DTI, FITS, FOD, FitStage};
use crate::stages::fod_field::FodField;
use crate::stages::gradients::{CheckGradients, FixGradients};
use crate::stages::guide::Guide;
use crate::stages::life::{LifeInRun, LifeParameters};
use crate::stages::load::{Load, LoadError};
use crate::stages::peaks::{FindPeaks, PeaksParameters};
use crate::stages::qsm::{MapSusceptibility, QsmParameters};
use crate::stages::quality::{JudgeQuality, QualityOptions};
use crate::stages::report::Report;
use crate::stages::sift2::{Sift2InRun, Sift2Parameters};
use crate::stages::sticks::{Resume, Sticks, SticksInRun};
use crate::stages::track::{Through, TrackInRun, WholeBrain};
use crate::{ByteSize, MapStyle, Named, OutputFolder, Stage, bids_entities};

impl RunConfig {
    /// The stages, in order, of a run into the folder `root`. Reads the header of the series and
    /// its gradient table, which say what can be fitted.
    ///
    /// # Errors
    /// [`ConfigError::NoSeries`], or where there is no gradient table.
    pub fn stages(mut self, root: &Path) -> Result<Vec<Box<dyn Stage>>, ConfigError> {
        let name = self.input.dwi.file_name().ok_or(ConfigError::NoSeries)?;
        let name = name.to_string_lossy().into_owned();
        let header = ImageHeader::read(&self.input.dwi).map_err(LoadError::from)?;
        let gradients = self.input.read_gradients(&header)?.table;
        let Asked { systems, fits, mut plan } = self.asked(&gradients)?;
        check_order(&systems)?;
        let given = self.tables.clone();
        if let Some(degree) = plan.lower_degree() {
            let table = self.tables.entry(FOD.name().to_owned()).or_default();
            table.insert("order".to_owned(), degree.into());
        }
        let entities = bids_entities(&self.input.dwi);
        let tensor = self.fit(DTI, &entities)?;
        let density = self.fit(FOD, &entities)?;
        // A fit that is made by itself already, or with the peaks, is not made twice.
        let is_made = |name: &str| {
            name == DTI.name() || name == FOD.name() && systems.contains(&System::Peaks)
        };
        let mut others: Vec<Box<dyn FitStage>> = Vec::new();
        for &fit in FITS.iter().filter(|fit| !is_made(fit.name())) {
            if fits.iter().any(|asked| asked.name() == fit.name()) {
                others.push(self.fit(fit, &entities)?);
            }
        }
        // Before the first one begins.
        let has_peaks = systems.contains(&System::Peaks);
        let density_of_peaks = has_peaks.then_some(&density);
        for fit in std::iter::once(&tensor).chain(density_of_peaks).chain(&others) {
            fit.supports(&gradients).map_err(ConfigError::Fit)?;
        }
        let susceptibility = match self.tables.contains_key("gre") {
            false => None,
            true => Some(susceptibility_stages(
                Some(self.scan()?),
                self.options("field")?,
                self.options("qsm")?,
                self.maps,
            )?),
        };
        let peaks: PeaksParameters = self.options("peaks")?;
        let mut track = self.track()?;
        let is_counted = self.tables.contains_key("connectome") && !plan.leaves_out("connectome");
        let connectome: Option<ConnectomeOptions> = match is_counted {
            true => Some(self.options("connectome")?),
            false => None,
        };
        peaks.check().map_err(options_of("peaks"))?;
        let quality: QualityOptions = self.options("quality")?;
        let (sticks, life) = (self.options("sticks")?, self.options("life")?);
        let sift2: Sift2Parameters = self.options("sift2")?;
        let Self { input, maps, report, .. } = self;
        let (memory, axes) = (input.memory, input.table_axes(&header));
        let mut stages: Vec<Box<dyn Stage>> =
            vec![Box::new(Load { files: input, found: Some(maps) })];
        if quality.fix_gradients {
            stages.push(Box::new(FixGradients { axes }));
        }
        stages.extend([
            tensor as Box<dyn Stage>,
            Box::new(CheckGradients { axes }),
            Box::new(JudgeQuality { options: quality }),
        ]);
        if has_peaks {
            stages.extend(fibre_stages(density, peaks, maps, &entities));
        }
        if systems.contains(&System::Sticks) {
            stages.push(sampling(sticks, root)?);
        }
        let is_evaluated = systems.contains(&System::Life);
        let is_weighed = systems.contains(&System::Sift2);
        if is_evaluated || is_weighed || systems.contains(&System::Track) {
            let life = is_evaluated.then_some(life);
            let sift2 = is_weighed.then_some(sift2);
            let is_sampled = systems.contains(&System::Sticks);
            let through = if is_sampled { Through::Samples } else { Through::Densities };
            track.check(through).map_err(options_of("track"))?;
            if is_evaluated {
                track.to_be_evaluated(through);
            }
            let streamlines = (track, through);
            let of_lines = OfLines { life, sift2, connectome, memory };
            stages.extend(streamline_stages(streamlines, of_lines, maps, &entities, root));
        } else if connectome.is_some() {
            return Err(ConfigError::NoStreamlines);
        }
        stages.extend(others.into_iter().map(|fit| fit as Box<dyn Stage>));
        stages.extend(susceptibility.into_iter().flatten());
        stages.push(Box::new(Report { title: report.title.unwrap_or(name) }));
        plan.compare(&given, &stages);
        // What cannot be loaded leaves nothing, not even a plan.
        let after_load = plan.stage(stages[0].inputs());
        stages.splice(1..1, after_load);
        Ok(stages)
    }
}

/// Whether everything that is done has what it is done upon.
fn check_order(systems: &[System]) -> Result<(), ConfigError> {
    let is_source = |system: &System| matches!(system, System::Peaks | System::Sticks);
    let follows = |system: &&System| matches!(system, System::Track | System::Life | System::Sift2);
    if systems.contains(&System::Sift2) && !systems.contains(&System::Peaks) {
        return Err(ConfigError::NoDensities);
    }
    match systems.iter().find(follows) {
        Some(&system) if !systems.iter().any(is_source) => Err(ConfigError::NoDirections(system)),
        _ => Ok(()),
    }
}

/// From series to fibre directions.
pub(super) fn fibre_stages(
    density: Box<dyn FitStage>,
    peaks: PeaksParameters,
    style: MapStyle,
    entities: &str,
) -> [Box<dyn Stage>; 3] {
    [
        density,
        Box::new(FodField),
        Box::new(FindPeaks { parameters: peaks, style, entities: entities.to_owned() }),
    ]
}

/// From phase to susceptibility; `files` of the scan, or `None` of a phantom's.
pub(super) fn susceptibility_stages(
    files: Option<PhaseFiles>,
    field: FieldParameters,
    qsm: QsmParameters,
    style: MapStyle,
) -> Result<[Box<dyn Stage>; 3], ConfigError> {
    let compares = files.is_none();
    field.check().map_err(options_of("field"))?;
    qsm.check().map_err(options_of("qsm"))?;
    let parameters = qsm.resolve(&Place::Run);
    let (fa_threshold, weighs) = (parameters.fibre_threshold(), parameters.weighs());
    let relative = files.as_ref().is_some_and(|files| files.relative);
    let (dqsm_files, checkpointing) = (false, None);
    let map =
        MapSusceptibility { parameters, style, dqsm_files, compares, relative, checkpointing };
    Ok([
        Box::new(MakeField { files, parameters: field.resolve(&Place::Run), style }),
        Box::new(Guide { fa_threshold, weighs }),
        Box::new(map),
    ])
}

/// The sampling, with a place to keep what an interruption leaves.
pub(super) fn sampling(options: SticksInRun, root: &Path) -> Result<Box<dyn Stage>, ConfigError> {
    let SticksInRun { sampling: parameters, within: Named(within) } = options;
    parameters.options().map_err(options_of("sticks"))?;
    let keep = Some(OutputFolder::kept(&root.join("sticks"), "sticks"));
    let (extension, resume) = ("nii.gz", Resume::WhereSame);
    Ok(Box::new(Sticks { parameters, within, extension, keep, resume }))
}

/// What is made of streamlines, where it is wanted: what each of them explains, how much each weighs, and
/// between which labels they run; within so much memory.
#[derive(Default)]
pub(super) struct OfLines {
    pub(super) life: Option<LifeParameters>,
    pub(super) sift2: Option<Sift2Parameters>,
    pub(super) connectome: Option<ConnectomeOptions>,
    pub(super) memory: Option<ByteSize>,
}

/// Streamlines, and what is made of them.
pub(super) fn streamline_stages(
    (track, through): (TrackInRun, Through),
    of_lines: OfLines,
    style: MapStyle,
    entities: &str,
    root: &Path,
) -> Vec<Box<dyn Stage>> {
    let OfLines { life, sift2, connectome, memory } = of_lines;
    let act = track.anatomy.act.clone();
    let track = WholeBrain { options: track, through };
    let tractogram = root.join("track").join(track.tracks());
    let mut stages: Vec<Box<dyn Stage>> = vec![Box::new(track)];
    if let Some(parameters) = life {
        let (entities, tractogram) = (entities.to_owned(), tractogram.clone());
        stages.push(Box::new(LifeInRun { parameters, style, entities, tractogram, memory }));
    }
    let is_weighed = sift2.is_some();
    if let Some(parameters) = sift2 {
        stages.push(Box::new(Sift2InRun::new(parameters, tractogram.clone(), act, memory)));
    }
    if let Some(options) = connectome {
        stages.push(Box::new(ConnectomeInRun::new(options, tractogram, is_weighed)));
    }
    stages
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parameters of the map of a run with these settings, in effect.
    fn qsm(settings: &[&str]) -> serde_json::Value {
        let settings: Vec<String> = settings.iter().map(|s| (*s).to_owned()).collect();
        let config = RunConfig::default().with_settings(&settings).unwrap();
        let (field, qsm) = (config.options("field").unwrap(), config.options("qsm").unwrap());
        let stages = susceptibility_stages(None, field, qsm, MapStyle::default()).unwrap();
        stages[2].parameters()["qsm"].clone()
    }

    #[test]
    fn the_share_of_a_noisy_field_is_not_that_of_the_published_program() {
        let plain = qsm(&["qsm.method=dqsm"]);
        assert_eq!((plain["kappa"].as_f64(), plain["iterations"].as_u64()), (Some(0.95), Some(20)));
        assert_eq!(qsm(&["qsm.method=dqsm", "qsm.kappa=0.9"])["kappa"], 0.9);
        let published = qsm(&["qsm.compat=dqsm"]);
        assert_eq!(
            (published["kappa"].as_f64(), published["step"].as_f64()),
            (Some(0.75), Some(0.15))
        );
        assert_eq!(published["iterations"], 1000);
        assert_eq!(qsm(&["qsm.method=tkd"])["strength"], 0.15);
    }
}
