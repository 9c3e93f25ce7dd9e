//! A subject from series to report: which stages, with which parameters.

use std::path::Path;

use fimbria_image::{GradientTable, ImageHeader};
use fimbria_phantoms::{CrossingSpec, Diffusivities, GreSpec};
use fimbria_qsm::FA_THRESHOLD;
use fimbria_sticks::BadOption;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::stages::accuracy::Compare;
use crate::stages::dki::{Dki, DkiParameters};
use crate::stages::dki1d::Dki1dParameters;
use crate::stages::dti::{Dti, DtiParameters};
use crate::stages::expr::ExprParameters;
use crate::stages::field::{BackgroundMethod, FieldParameters, MakeField, PhaseFiles};
use crate::stages::fit_maps::{FitMaps, FitModel};
use crate::stages::fod::{Fod, FodParameters};
use crate::stages::fod_field::FodField;
use crate::stages::gre::GrePhantom;
use crate::stages::guide::Guide;
use crate::stages::ivim::IvimParameters;
use crate::stages::life::{LifeInRun, LifeParameters};
use crate::stages::load::{Load, LoadError, SubjectFiles};
use crate::stages::mono::MonoParameters;
use crate::stages::peaks::{FindPeaks, PeaksParameters};
use crate::stages::phantom::{Phantom, PhantomSpec};
use crate::stages::qsm::{MapSusceptibility, QsmOptionError, QsmParameters};
use crate::stages::report::Report;
use crate::stages::sticks::{Resume, Sticks, SticksParameters, Within};
use crate::stages::stremi::StremiParameters;
use crate::stages::stremi1d::Stremi1dParameters;
use crate::stages::track::{WholeBrain, WholeBrainParameters};
use crate::{
    ByteSize, Choice, MapFormat, MapStyle, Named, OutputFolder, Stage, StageError, bids_entities,
};

/// Everything `fimbria run` can be told; the form of its TOML file, one table per stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunConfig {
    /// The subject.
    pub input: SubjectFiles,
    /// What is done.
    pub run: Systems,
    /// The tensor fit.
    pub dti: DtiParameters,
    /// The fibre orientation densities.
    pub fod: FodParameters,
    /// The search for fibre directions.
    pub peaks: PeaksParameters,
    /// The sampling of ball and sticks.
    pub sticks: SticksParameters,
    /// Tracking.
    pub track: WholeBrainParameters,
    /// The evaluation of the streamlines.
    pub life: LifeParameters,
    /// The kurtosis fit.
    pub dki: DkiParameters,
    /// The fit of stretched exponentials.
    pub stremi: StremiParameters,
    /// The fit of kurtosis along each direction.
    pub dki1d: Dki1dParameters,
    /// The fit of a stretched exponential along each direction.
    pub stremi1d: Stremi1dParameters,
    /// The fit of intravoxel incoherent motion.
    pub ivim: IvimParameters,
    /// The fit of one exponential.
    pub mono: MonoParameters,
    /// The fit of a formula; none where there is no such table.
    pub expr: Option<ExprParameters>,
    /// A gradient-echo scan of the same head; none where there is no phase.
    pub gre: PhaseFiles,
    /// The field of its phase.
    pub field: FieldParameters,
    /// The susceptibility that explains it.
    pub qsm: QsmParameters,
    /// How maps are written.
    pub maps: MapStyle,
    /// The page.
    pub report: ReportConfig,
}

impl Default for RunConfig {
    fn default() -> Self {
        Self {
            input: SubjectFiles::default(),
            run: Systems::default(),
            dti: DtiParameters::default(),
            fod: FodParameters::default(),
            peaks: PeaksParameters::default(),
            sticks: SticksParameters {
                within: Named(Within::Fibres),
                ..SticksParameters::default()
            },
            track: WholeBrainParameters::default(),
            life: LifeParameters::default(),
            dki: DkiParameters::default(),
            stremi: StremiParameters::default(),
            dki1d: Dki1dParameters::default(),
            stremi1d: Stremi1dParameters::default(),
            ivim: IvimParameters::default(),
            mono: MonoParameters::default(),
            expr: None,
            gre: PhaseFiles::default(),
            field: FieldParameters::default(),
            qsm: QsmParameters { zero_mean: true, ..QsmParameters::default() },
            maps: MapStyle::default(),
            report: ReportConfig::default(),
        }
    }
}

/// What is done besides the tensor fit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Systems {
    /// `None`: all that the gradient table supports, of those that are usual.
    pub fits: Option<Vec<Named<System>>>,
}

/// Something that is done besides the tensor fit, with what follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// Fibre orientation densities and their peaks.
    Fibres,
    /// Ball and sticks.
    Sticks,
    /// Streamlines.
    Tracks,
    /// What each streamline explains, with the streamlines.
    Life,
    /// Kurtosis.
    Kurtosis,
    /// Stretched exponentials.
    Stretched,
    /// Kurtosis along each direction.
    Kurtosis1d,
    /// A stretched exponential along each direction.
    Stretched1d,
    /// Intravoxel incoherent motion.
    Perfusion,
    /// One exponential.
    Mono,
}

impl Choice for System {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Fibres, "fibres", "fibre orientation densities and their peaks"),
        (Self::Sticks, "sticks", "samples of ball and sticks"),
        (Self::Tracks, "tracks", "streamlines through the sticks, or without them the peaks"),
        (Self::Life, "life", "weights of the streamlines: what each explains of the signal"),
        (Self::Kurtosis, "kurtosis", "diffusion kurtosis"),
        (Self::Stretched, "stretched", "stretched exponentials along the axes of the tensor"),
        (Self::Kurtosis1d, "kurtosis-1d", "kurtosis along each direction by itself"),
        (Self::Stretched1d, "stretched-1d", "a stretched exponential along each direction"),
        (Self::Perfusion, "ivim", "intravoxel incoherent motion"),
        (Self::Mono, "mono", "one exponential over all volumes"),
    ];
}

impl System {
    /// True for what a run does that was not asked for anything by name: what is usual, where the
    /// protocol determines it.
    fn is_default_of(self, gradients: &GradientTable, config: &RunConfig) -> bool {
        match self {
            Self::Fibres => config.fod.tells_fibres_apart(gradients),
            // With fewer directions crossings cannot be told from noise.
            Self::Sticks | Self::Tracks | Self::Life => config.fod.tells_fibres_apart(gradients),
            // Each volume has one b and direction in these.
            Self::Kurtosis | Self::Stretched => {
                config.input.grad_dev.is_none() && config.check_fit(self, gradients).is_ok()
            }
            Self::Kurtosis1d | Self::Stretched1d | Self::Perfusion | Self::Mono => false,
        }
    }
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
    /// The gradient table, which says what can be fitted, cannot be read.
    #[error(transparent)]
    Gradients(#[from] LoadError),
    /// No series is named.
    #[error("no series is named: give one, or `dwi` in the table [input]")]
    NoSeries,
    /// The sampling cannot be done.
    #[error(transparent)]
    Sticks(#[from] BadOption),
    /// The options of the map of susceptibility contradict each other or make no sense.
    #[error(transparent)]
    Qsm(#[from] QsmOptionError),
    /// Something that is done upon what is not done.
    #[error(
        "`{}` takes the directions of `fibres` or `sticks`, and run.fits has neither: add one", .0.name()
    )]
    NoDirections(System),
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
        merge(&mut table, toml::from_str(&text).map_err(unusable)?);
        let mut config: Self = table.try_into().map_err(unusable)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        for path in config.input.paths_mut().chain(config.gre.paths_mut()) {
            *path = folder.join(&*path);
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
            let change = parse_setting(setting).map_err(unusable)?;
            let mut table = Table::try_from(&self)?;
            merge(&mut table, change);
            self = table.try_into().map_err(unusable)?;
        }
        Ok(self)
    }

    /// The stages, in order, of a run into the folder `root`. Reads the header of the series and
    /// its gradient table, which say what can be fitted.
    ///
    /// # Errors
    /// [`ConfigError::NoSeries`], or where there is no gradient table.
    pub fn stages(self, root: &Path) -> Result<Vec<Box<dyn Stage>>, ConfigError> {
        let name = self.input.dwi.file_name().ok_or(ConfigError::NoSeries)?;
        let name = name.to_string_lossy().into_owned();
        let header = ImageHeader::read(&self.input.dwi).map_err(LoadError::from)?;
        let gradients = self.input.read_gradients(&header)?.table;
        let systems: Vec<System> = match &self.run.fits {
            Some(named) => named.iter().map(|system| system.0).collect(),
            None => {
                let all = System::CHOICES.iter().map(|(system, ..)| *system);
                all.filter(|system| system.is_default_of(&gradients, &self)).collect()
            }
        };
        self.check(&systems, &gradients)?;
        let Self { input, run: _, dti, fod, peaks, sticks, track, life, dki, stremi, .. } = self;
        let Self { dki1d, stremi1d, ivim, mono, expr, gre, field, qsm, maps, report, .. } = self;
        let entities = bids_entities(&input.dwi);
        let memory = input.memory;
        let mut stages: Vec<Box<dyn Stage>> = vec![
            Box::new(Load { files: input, found: Some(maps) }),
            Box::new(Dti { parameters: dti, style: maps, entities: entities.clone() }),
        ];
        if systems.contains(&System::Fibres) {
            stages.extend(fibre_stages(fod, peaks, maps, &entities));
        }
        if systems.contains(&System::Sticks) {
            stages.push(sampling(sticks, root)?);
        }
        let is_evaluated = systems.contains(&System::Life);
        if is_evaluated || systems.contains(&System::Tracks) {
            let life = is_evaluated.then_some((life, memory));
            stages.extend(streamline_stages(track, life, maps, &entities, root));
        }
        for (system, stage) in [
            (System::Kurtosis, fit_stage(dki, maps, &entities)),
            (System::Stretched, fit_stage(stremi, maps, &entities)),
            (System::Kurtosis1d, fit_stage(dki1d, maps, &entities)),
            (System::Stretched1d, fit_stage(stremi1d, maps, &entities)),
            (System::Perfusion, fit_stage(ivim, maps, &entities)),
            (System::Mono, fit_stage(mono, maps, &entities)),
        ] {
            stages.extend(systems.contains(&system).then_some(stage));
        }
        stages.extend(expr.map(|expr| fit_stage(expr, maps, &entities)));
        if !gre.phase.is_empty() {
            stages.extend(susceptibility_stages(Some(gre), field, qsm, maps)?);
        }
        stages.push(Box::new(Report { title: report.title.unwrap_or(name) }));
        Ok(stages)
    }

    /// Whether the gradient table supports every fit, before the first one begins.
    fn check(&self, systems: &[System], gradients: &GradientTable) -> Result<(), ConfigError> {
        let is_source = |system: &System| matches!(system, System::Fibres | System::Sticks);
        let follows = |system: &&System| matches!(system, System::Tracks | System::Life);
        if let Some(&system) =
            systems.iter().find(follows).filter(|_| !systems.iter().any(is_source))
        {
            return Err(ConfigError::NoDirections(system));
        }
        let named = systems.iter().map(|&system| self.check_fit(system, gradients));
        let formula = self.expr.iter().map(|expr| expr.supports(gradients));
        let tensor = std::iter::once(self.dti.supports(gradients));
        tensor.chain(named).chain(formula).collect::<Result<(), _>>().map_err(ConfigError::Fit)
    }

    /// Whether the gradient table supports the fit of a system, where it is one.
    fn check_fit(&self, system: System, gradients: &GradientTable) -> Result<(), StageError> {
        match system {
            System::Kurtosis => self.dki.supports(gradients),
            System::Stretched => self.stremi.supports(gradients),
            System::Kurtosis1d => self.dki1d.supports(gradients),
            System::Stretched1d => self.stremi1d.supports(gradients),
            System::Perfusion => self.ivim.supports(gradients),
            System::Mono => self.mono.supports(gradients),
            System::Fibres | System::Sticks | System::Tracks | System::Life => Ok(()),
        }
    }
}

fn fit_stage<P: FitModel>(parameters: P, style: MapStyle, entities: &str) -> Box<dyn Stage> {
    Box::new(FitMaps { parameters, style, entities: entities.to_owned() })
}

/// From series to fibre directions.
fn fibre_stages(
    fod: FodParameters,
    peaks: PeaksParameters,
    style: MapStyle,
    entities: &str,
) -> [Box<dyn Stage>; 3] {
    [
        Box::new(Fod { parameters: fod, style, entities: entities.to_owned() }),
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
) -> Result<[Box<dyn Stage>; 3], QsmOptionError> {
    let compares = files.is_none();
    let parameters = of_noisy_field(qsm);
    parameters.check(&[])?;
    let fa_threshold = parameters.fa_threshold.unwrap_or(FA_THRESHOLD);
    Ok([
        Box::new(MakeField { files, parameters: field, style }),
        Box::new(Guide { fa_threshold }),
        Box::new(MapSusceptibility { parameters, style, dqsm_files: false, compares, keep: None }),
    ])
}

/// What noisy fields want where it is not said: a smaller share of the data and an early end. The
/// published program has its own numbers, and methods without guidance need none.
fn of_noisy_field(given: QsmParameters) -> QsmParameters {
    if given.is_published() || !given.is_guided() {
        return given;
    }
    let (kappa, iterations) = (given.kappa.or(Some(0.95)), given.iterations.or(Some(20)));
    QsmParameters { kappa, iterations, ..given }
}

/// The sampling, with a place to keep what an interruption leaves.
fn sampling(parameters: SticksParameters, root: &Path) -> Result<Box<dyn Stage>, ConfigError> {
    parameters.options().check()?;
    let keep = Some(root.join("sticks").join(OutputFolder::KEPT));
    Ok(Box::new(Sticks { parameters, extension: "nii.gz", keep, resume: Resume::WhereSame }))
}

/// Streamlines, and where it is wanted what each of them explains, within so much memory.
fn streamline_stages(
    track: WholeBrainParameters,
    life: Option<(LifeParameters, Option<ByteSize>)>,
    style: MapStyle,
    entities: &str,
    root: &Path,
) -> Vec<Box<dyn Stage>> {
    let track = WholeBrain { parameters: track };
    let tractogram = root.join("track").join(track.tracks());
    let mut stages: Vec<Box<dyn Stage>> = vec![Box::new(track)];
    if let Some((parameters, memory)) = life {
        let entities = entities.to_owned();
        stages.push(Box::new(LifeInRun { parameters, style, entities, tractogram, memory }));
    }
    stages
}

/// The stages of the demo: a phantom instead of a subject, and its truth to compare with.
pub fn demo_stages(spec: CrossingSpec, root: &Path) -> Result<Vec<Box<dyn Stage>>, ConfigError> {
    let (style, entities) = (MapStyle::default(), String::new());
    let diffusivities = spec.diffusivities;
    let gre = GreSpec { placement: spec.placement, seed: spec.seed, ..GreSpec::default() };
    let mut stages: Vec<Box<dyn Stage>> = vec![
        Box::new(Phantom { spec: PhantomSpec::Crossing(spec), format: MapFormat::NiiGz }),
        Box::new(Dti { parameters: DtiParameters::default(), style, entities: entities.clone() }),
    ];
    stages.extend(fibre_stages(
        FodParameters::default(),
        PeaksParameters::default(),
        style,
        &entities,
    ));
    stages.push(sampling(demo_sticks(), root)?);
    let life = demo_life(&diffusivities);
    let track = WholeBrainParameters::default();
    stages.extend(streamline_stages(track, Some((life, None)), style, &entities, root));
    stages.push(Box::new(Dki { parameters: DkiParameters::default(), style, entities }));
    stages.push(Box::new(GrePhantom { spec: gre, format: MapFormat::NiiGz }));
    stages.extend(susceptibility_stages(None, demo_field(), demo_qsm(), style)?);
    stages.push(Box::new(Compare));
    stages
        .push(Box::new(Report { title: "fimbria demo: a head with crossing bundles".to_owned() }));
    Ok(stages)
}

/// The phantom's mask is its head to the voxel, so that the field on its border is background: what
/// spherical means would take off with it, the slow part of the brain's own field, is kept.
fn demo_field() -> FieldParameters {
    FieldParameters { background: Named(BackgroundMethod::Lbv), ..FieldParameters::default() }
}

/// Half as many iterations as in a run.
fn demo_qsm() -> QsmParameters {
    QsmParameters { iterations: Some(10), zero_mean: true, ..QsmParameters::default() }
}

/// Half as many jumps as by default: the demo is to be short.
fn demo_sticks() -> SticksParameters {
    let within = Named(Within::Fibres);
    SticksParameters { burn_in: 500, jumps: 625, within, ..SticksParameters::default() }
}

/// Tissue as the phantom has it, and as near the optimum as pictures show.
fn demo_life(phantom: &Diffusivities) -> LifeParameters {
    LifeParameters {
        axial: phantom.axial,
        radial: phantom.radial,
        tolerance: 1e-2,
        ..LifeParameters::default()
    }
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
    use fimbria_models::dti::Method;

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
        assert_eq!(config.dti.method(), Method::Nlls);
        assert_eq!(config.dti.maps.len(), 2);
        assert_eq!(config.input.b0_threshold, Some(20.0));
        assert_eq!(config.input.memory.unwrap().0, 2 << 30);
    }

    #[test]
    fn unknown_keys_and_values_are_refused_by_name() {
        for (setting, part) in
            [("dti.methood=wls", "methood"), ("dti.method=magic", "magic"), ("dti", "dti")]
        {
            let error = RunConfig::default().with_settings(&[setting.to_owned()]).unwrap_err();
            let text = format!("{error} {:?}", std::error::Error::source(&error));
            assert!(text.contains(part), "{text}");
        }
    }

    /// The parameters of the map of a run with these settings, in effect.
    fn qsm(settings: &[&str]) -> serde_json::Value {
        let settings: Vec<String> = settings.iter().map(|s| (*s).to_owned()).collect();
        let config = RunConfig::default().with_settings(&settings).unwrap();
        let stages =
            susceptibility_stages(None, config.field, config.qsm, MapStyle::default()).unwrap();
        stages[2].parameters()["qsm"].clone()
    }

    #[test]
    fn the_share_of_a_noisy_field_is_not_that_of_the_published_program() {
        let plain = qsm(&[]);
        assert_eq!((plain["kappa"].as_f64(), plain["iterations"].as_u64()), (Some(0.95), Some(20)));
        assert_eq!(qsm(&["qsm.kappa=0.9"])["kappa"], 0.9);
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
        assert_eq!(config.dti.method(), Method::Ols);
    }
}
