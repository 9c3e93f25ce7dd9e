//! A subject from series to report: which stages, with which parameters.

mod needs;
mod plan;
mod preset;

use std::collections::BTreeMap;
use std::path::Path;

use fimbria_image::{BvecFrame, GradientTable, ImageHeader};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::options::{OptionError, Options, Place, Resolve as _, Values, in_run, in_words, usual};
use crate::stages::accuracy::Compare;
use crate::stages::connectome::{ConnectomeInRun, ConnectomeOptions};
use crate::stages::field::{FieldParameters, MakeField, PhaseFiles};
use crate::stages::fits::fit_maps::InRun;
use crate::stages::fits::{DKI, DTI, FITS, FOD, Fit, FitStage, fit_named};
use crate::stages::fod_field::FodField;
use crate::stages::gradients::{CheckGradients, FixGradients};
use crate::stages::guide::Guide;
use crate::stages::head::{HeadOptions, HeadPhantom};
use crate::stages::life::{LifeInRun, LifeParameters};
use crate::stages::load::{Load, LoadError, SubjectFiles};
use crate::stages::methods;
use crate::stages::peaks::{FindPeaks, PeaksParameters};
use crate::stages::qsm::{MapSusceptibility, QsmParameters};
use crate::stages::quality::{JudgeQuality, QualityOptions};
use crate::stages::report::Report;
use crate::stages::sift2::{Sift2InRun, Sift2Parameters};
use crate::stages::sticks::{Resume, Sticks, SticksInRun, SticksParameters};
use crate::stages::track::{Through, TrackInRun, WholeBrain};
use crate::{
    ByteSize, Choice, MapFormat, MapStyle, Named, OutputFolder, Stage, StageError, bids_entities,
};

use self::plan::Plan;
pub use self::preset::Preset;

/// Everything `fimbria run` can be told; the form of its TOML file, one table per stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunConfig {
    /// The subject.
    pub input: SubjectFiles,
    /// What is done.
    pub run: Systems,
    /// How maps are written.
    pub maps: MapStyle,
    /// The page.
    pub report: ReportConfig,
    /// The options of stages that are no fits and of [`FITS`], by their names.
    #[serde(flatten)]
    pub tables: BTreeMap<String, Values>,
}

/// What is done besides the tensor fit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Systems {
    /// Names of a [`System`] or of one of [`FITS`]; `None`: all that the gradient table supports,
    /// of those that are usual.
    pub fits: Option<Vec<String>>,
    /// The same by one word, instead.
    pub preset: Option<Named<Preset>>,
}

/// Something that is done besides fits, with what goes before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// Fibre orientation densities and their peaks.
    Peaks,
    /// Ball and sticks.
    Sticks,
    /// Streamlines.
    Track,
    /// What each streamline explains, with the streamlines.
    Life,
    /// Weights that make them as dense as the fibres, with the streamlines.
    Sift2,
}

impl Choice for System {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Peaks, "peaks", "fibre orientation densities and their peaks"),
        (Self::Sticks, "sticks", "samples of ball and sticks"),
        (
            Self::Track,
            "track",
            "streamlines through the sticks, or without them the densities that peaks are of",
        ),
        (Self::Life, "life", "weights of the streamlines: what each explains of the signal"),
        (
            Self::Sift2,
            "sift2",
            "weights that make the streamlines as dense as the fibres; a connectome is of these",
        ),
    ];
}

/// What is asked for, and what of it is not made.
#[derive(Default)]
struct Asked {
    systems: Vec<System>,
    fits: Vec<&'static dyn Fit>,
    plan: Plan,
}

/// What the page can be told.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReportConfig {
    /// Its heading; `None` for the name of the series.
    pub title: Option<String>,
}

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {path}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why not.
        source: std::io::Error,
    },
    /// The file is no TOML, or has a key or value that is not known.
    #[error("{path} is no configuration")]
    File {
        /// The file.
        path: String,
        /// What is wrong.
        source: Box<toml::de::Error>,
    },
    /// A setting on the command line cannot be used.
    #[error("the setting `{setting}` cannot be used")]
    Setting {
        /// As given.
        setting: String,
        /// What is wrong.
        source: Box<toml::de::Error>,
    },
    /// A table of the file is that of no stage.
    #[error("[{0}] is no stage of a run")]
    Table(String),
    /// Options of a stage that are none, or contradict each other.
    #[error("[{table}]: {source}")]
    Options {
        /// The stage.
        table: String,
        /// What is wrong.
        source: OptionError,
    },
    /// Something that no run does.
    #[error("run.fits has `{name}`, which is none of {known}")]
    Unknown {
        /// As asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// The gradient table, which says what can be fitted, cannot be read.
    #[error(transparent)]
    Gradients(#[from] LoadError),
    /// What is done is said twice.
    #[error("run.preset and run.fits both say what is done: give one of them")]
    Twice,
    /// Susceptibility of nothing.
    #[error("the preset susceptibility takes a gradient-echo scan: give the table [gre]")]
    NoScan,
    /// A connectome of no streamlines.
    #[error("[connectome] counts streamlines, and none are made: add `track` to run.fits")]
    NoStreamlines,
    /// No series is named.
    #[error("no series is named: give one, or `dwi` in the table [input]")]
    NoSeries,
    /// Something that is done upon what is not done.
    #[error(
        "`{}` takes the directions of `peaks` or `sticks`, and run.fits has neither: add one", .0.name()
    )]
    NoDirections(System),
    /// Streamlines are to be as dense as nothing.
    #[error("`sift2` weighs streamlines by the densities of `peaks`: add it to run.fits")]
    NoDensities,
    /// A fit that the gradient table does not support, or a formula that is none.
    #[error(transparent)]
    Fit(StageError),
    /// Something that TOML cannot express, such as a path that is not UTF-8.
    #[error("the parameters cannot be written as TOML")]
    Unwritable(#[from] toml::ser::Error),
}

impl RunConfig {
    /// Reads a TOML file. Relative paths in it are relative to its folder.
    ///
    /// # Errors
    /// [`ConfigError`] where it cannot be read or understood.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let name = path.display().to_string();
        let text = fimbria_image::read_regular_text(path)
            .map_err(|source| ConfigError::Unreadable { path: name.clone(), source })?;
        let unusable = |source| ConfigError::File { path: name.clone(), source: Box::new(source) };
        // Read as a whole first, which says where in the file a mistake is.
        toml::from_str::<Self>(&text).map_err(unusable)?;
        let mut table = Table::try_from(Self::default())?;
        merge(&mut table, with_words(toml::from_str(&text).map_err(unusable)?));
        let mut config: Self = table.try_into().map_err(unusable)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        for path in config.input.paths_mut() {
            *path = folder.join(&*path);
        }
        config.check_tables()?;
        for (name, values) in &mut config.tables {
            if let Some(table) = methods::table(name) {
                (table.paths_beside)(folder, values);
            }
        }
        Ok(config)
    }

    /// Changes single values: each setting is `table.key=value`, the value in TOML or a plain
    /// word.
    ///
    /// # Errors
    /// [`ConfigError::Setting`] for keys and values that are not known.
    pub fn with_settings(mut self, settings: &[String]) -> Result<Self, ConfigError> {
        for setting in settings {
            let unusable = |source| ConfigError::Setting {
                setting: setting.clone(),
                source: Box::new(source),
            };
            let change = with_words(parse_setting(setting).map_err(unusable)?);
            let mut table = Table::try_from(&self)?;
            merge(&mut table, change);
            self = table.try_into().map_err(unusable)?;
        }
        self.check_tables()?;
        Ok(self)
    }

    /// Whether every table is that of a stage, and has its options.
    fn check_tables(&self) -> Result<(), ConfigError> {
        for (name, values) in &self.tables {
            let table = methods::table(name).ok_or_else(|| ConfigError::Table(name.clone()))?;
            (table.check)(values).map_err(options_of(name))?;
            if let Some(fit) = fit_named(name) {
                self.fit(fit, "")?;
            }
        }
        Ok(())
    }

    /// The options of a stage that is no fit, by its table.
    fn options<T: Options>(&self, name: &str) -> Result<T, ConfigError> {
        let none = Values::new();
        let values = self.tables.get(name).unwrap_or(&none);
        in_run(values).map_err(options_of(name))
    }

    /// The scan of [gre]. Its mask is that of the series where none is named and both lie on one grid.
    fn scan(&self) -> Result<PhaseFiles, ConfigError> {
        let mut scan: PhaseFiles = self.options("gre")?;
        if let (None, Some(mask), Some(phase)) = (&scan.mask, &self.input.mask, scan.phase.first())
        {
            // What cannot be read says so when it is.
            let grid = |path: &Path| ImageHeader::read(path).ok().map(|header| *header.grid());
            if let (Some(of_mask), Some(of_phase)) = (grid(mask), grid(phase))
                && of_phase.check_same(&of_mask, "the mask").is_ok()
            {
                scan.mask = Some(mask.clone());
            }
        }
        Ok(scan)
    }

    /// The options of streamlines; a connectome is of more than usual.
    fn track(&self) -> Result<TrackInRun, ConfigError> {
        let mut track: TrackInRun = self.options("track")?;
        let parameters = &mut track.parameters;
        if self.run.preset == Some(Named(Preset::Connectome)) && parameters.samples.is_none() {
            parameters.select.get_or_insert(preset::STREAMLINES);
        }
        Ok(track)
    }

    /// The stage of a fit, with its table's options.
    fn fit(&self, fit: &dyn Fit, entities: &str) -> Result<Box<dyn FitStage>, ConfigError> {
        let none = Values::new();
        let values = self.tables.get(fit.name()).unwrap_or(&none);
        fit.of_values(values, self.maps, entities.to_owned()).map_err(options_of(fit.name()))
    }

    /// What is to be done with a series of these gradients.
    fn asked(&self, gradients: &GradientTable) -> Result<Asked, ConfigError> {
        let mut asked = match (&self.run.fits, self.run.preset) {
            (Some(_), Some(_)) => return Err(ConfigError::Twice),
            (Some(names), None) => self.by_name(names)?,
            (None, Some(Named(preset))) => preset.asked(self, gradients)?,
            (None, None) => self.usual(gradients)?,
        };
        asked.limit_densities(self, gradients, self.run.fits.is_some())?;
        Ok(asked)
    }

    /// What has these names.
    fn by_name(&self, names: &[String]) -> Result<Asked, ConfigError> {
        let mut asked = Asked::default();
        for name in names {
            match (System::from_name(name), fit_named(name)) {
                (Some(system), _) => asked.systems.push(system),
                (None, Some(fit)) => asked.fits.push(fit),
                (None, None) => {
                    let fits = FITS.iter().map(|fit| fit.name());
                    let systems = System::CHOICES.iter().map(|(system, ..)| *system);
                    let known = systems.map(System::name).chain(fits).collect::<Vec<_>>();
                    return Err(ConfigError::Unknown {
                        name: name.clone(),
                        known: known.join(", "),
                    });
                }
            }
        }
        asked.fits.extend(self.by_table());
        Ok(asked)
    }

    /// Whether streamlines follow densities: where sticks are sampled they follow these.
    pub fn follows_densities(&self) -> bool {
        match (&self.run.fits, self.run.preset) {
            (Some(names), _) => {
                let has = |system: System| names.iter().any(|name| name == system.name());
                let are_made = [System::Track, System::Life, System::Sift2].into_iter().any(has);
                are_made && !has(System::Sticks)
            }
            (None, Some(Named(preset))) => preset.follows_densities(),
            (None, None) => false,
        }
    }

    /// The fits that their tables ask for.
    fn by_table(&self) -> impl Iterator<Item = &'static dyn Fit> {
        let is_asked =
            |fit: &&dyn Fit| fit.in_run() == InRun::ByTable && self.tables.contains_key(fit.name());
        FITS.iter().copied().filter(is_asked)
    }

    /// What is done with a series of these gradients where nothing is said.
    fn usual(&self, gradients: &GradientTable) -> Result<Asked, ConfigError> {
        let systems = System::CHOICES.iter().map(|(system, ..)| *system);
        let systems = systems.filter(|system| *system != System::Sift2).collect();
        let mut asked = Asked { systems, ..Asked::default() };
        for &fit in FITS.iter().filter(|fit| fit.in_run() == InRun::WhereSupported) {
            asked.add_fit(fit, self, gradients)?;
        }
        asked.fits.extend(self.by_table());
        Ok(asked)
    }

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

/// What is wrong with the table `name`.
fn options_of(name: &str) -> impl FnOnce(OptionError) -> ConfigError {
    |source| ConfigError::Options { table: name.to_owned(), source }
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
fn fibre_stages(
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
fn susceptibility_stages(
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
fn sampling(options: SticksInRun, root: &Path) -> Result<Box<dyn Stage>, ConfigError> {
    let SticksInRun { sampling: parameters, within: Named(within) } = options;
    parameters.options().map_err(options_of("sticks"))?;
    let keep = Some(OutputFolder::kept(&root.join("sticks"), "sticks"));
    let (extension, resume) = ("nii.gz", Resume::WhereSame);
    Ok(Box::new(Sticks { parameters, within, extension, keep, resume }))
}

/// What is made of streamlines, where it is wanted: what each of them explains, how much each weighs, and
/// between which labels they run; within so much memory.
#[derive(Default)]
struct OfLines {
    life: Option<LifeParameters>,
    sift2: Option<Sift2Parameters>,
    connectome: Option<ConnectomeOptions>,
    memory: Option<ByteSize>,
}

/// Streamlines, and what is made of them.
fn streamline_stages(
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

/// The stages of the demo: a head instead of a subject, and its truth to compare with.
pub fn demo_stages(options: HeadOptions, root: &Path) -> Result<Vec<Box<dyn Stage>>, ConfigError> {
    let (style, entities, usual) = (MapStyle::default(), "", RunConfig::default());
    let mut stages: Vec<Box<dyn Stage>> = vec![
        Box::new(HeadPhantom { options, format: MapFormat::NiiGz }),
        usual.fit(DTI, entities)?,
        Box::new(CheckGradients { axes: BvecFrame::Fsl }),
        Box::new(JudgeQuality { options: QualityOptions::default() }),
    ];
    let density = usual.fit(FOD, entities)?;
    stages.extend(fibre_stages(density, usual.options("peaks")?, style, entities));
    stages.push(sampling(demo_sticks(), root)?);
    let track = usual.options("track")?;
    let of_lines = OfLines { life: Some(demo_life()), ..OfLines::default() };
    let streamlines = (track, Through::Samples);
    stages.extend(streamline_stages(streamlines, of_lines, style, entities, root));
    stages.push(usual.fit(DKI, entities)?);
    stages.extend(susceptibility_stages(None, usual.options("field")?, demo_qsm(), style)?);
    stages.push(Box::new(Compare));
    stages.push(Box::new(Report { title: "fimbria demo: a head of known truth".to_owned() }));
    Ok(stages)
}

/// The usual map, its mean that of the truth.
fn demo_qsm() -> QsmParameters {
    QsmParameters { zero_mean: true, ..usual() }
}

/// Half as many jumps as by default: the demo is to be short.
fn demo_sticks() -> SticksInRun {
    let usual: SticksInRun = usual();
    let sampling = SticksParameters { burn_in: 500, jumps: 625, ..usual.sampling };
    SticksInRun { sampling, ..usual }
}

/// A fibre as white matter of the head has it where nothing crosses, and as near the optimum as pictures
/// show.
fn demo_life() -> LifeParameters {
    LifeParameters { axial: 1.45e-3, radial: 0.45e-3, tolerance: 1e-2, ..usual() }
}

/// A setting as a table; a value that is no TOML is taken as a word.
fn parse_setting(setting: &str) -> Result<Table, toml::de::Error> {
    toml::from_str(setting).or_else(|error| match setting.split_once('=') {
        Some((key, word)) if !word.trim().is_empty() => {
            let quoted = Value::String(word.trim().to_owned());
            toml::from_str(&format!("{key} = {quoted}")).map_err(|_| error)
        }
        _ => Err(error),
    })
}

/// The same, with words for the numbers that JSON does not have.
fn with_words(mut table: Table) -> Table {
    let stages = table.iter_mut().filter(|(name, _)| *name != "input");
    stages.for_each(|(_, table)| in_words(table));
    table
}

fn merge(table: &mut Table, change: Table) {
    for (key, value) in change {
        match (table.get_mut(&key), value) {
            (Some(Value::Table(inner)), Value::Table(change)) => merge(inner, change),
            (_, value) => {
                table.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_change_single_values_and_words_need_no_quotes() {
        let settings = [
            "dti.method=nlls",
            "dti.maps=[\"FA\", \"MD\"]",
            "input.b0_threshold=20",
            "input.memory=2G",
        ];
        let config = RunConfig::default().with_settings(&settings.map(str::to_owned)).unwrap();
        let dti = config.fit(DTI, "").unwrap().parameters();
        assert_eq!(dti["fit"]["method"], "nlls");
        assert_eq!(dti["fit"]["maps"], serde_json::json!(["FA", "MD"]));
        assert_eq!(config.input.b0_threshold, Some(20.0));
        assert_eq!(config.input.memory.unwrap().0, 2 << 30);
    }

    #[test]
    fn unknown_keys_and_values_are_refused_by_name() {
        for (setting, part) in [
            ("dti.methood=wls", "methood"),
            ("dti.method=magic", "magic"),
            ("dtii.method=wls", "dtii"),
            ("dti", "dti"),
        ] {
            let error = RunConfig::default().with_settings(&[setting.to_owned()]).unwrap_err();
            let text = format!("{error} {:?}", std::error::Error::source(&error));
            assert!(text.contains(part), "{text}");
        }
    }

    /// The parameters of the map of a run with these settings, in effect.
    fn qsm(settings: &[&str]) -> serde_json::Value {
        let settings: Vec<String> = settings.iter().map(|s| (*s).to_owned()).collect();
        let config = RunConfig::default().with_settings(&settings).unwrap();
        let (field, qsm) = (config.options("field").unwrap(), config.options("qsm").unwrap());
        let stages = susceptibility_stages(None, field, qsm, MapStyle::default()).unwrap();
        stages[2].parameters()["qsm"].clone()
    }

    #[test]
    fn a_run_writes_its_tracks() {
        let none = ["track.tracks=none".to_owned()];
        let track: TrackInRun =
            RunConfig::default().with_settings(&none).unwrap().options("track").unwrap();
        let said = track.check(Through::Samples).unwrap_err().to_string();
        assert!(said.contains("`tracks` cannot be none"), "{said}");
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

    #[test]
    fn paths_of_a_file_are_relative_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.toml");
        std::fs::write(&path, "[input]\ndwi = \"dwi.nii.gz\"\n[dti]\nmethod = \"ols\"\n").unwrap();
        let config = RunConfig::read(&path).unwrap();
        assert_eq!(config.input.dwi, folder.path().join("dwi.nii.gz"));
        let dti = config.fit(DTI, "").unwrap().parameters();
        assert_eq!(dti["fit"]["method"], "ols");
    }
}
