//! The stage around any voxelwise fit: runs it, counts what became of the voxels, writes and
//! restores its maps.

use std::marker::PhantomData;
use std::ops::Deref;
use std::path::Path;

use fimbria_compute::queue::Shares;
use fimbria_compute::{Backend, Progress as _};
use fimbria_image::{GradientTable, MapSpec, Status, StatusCounts};
use fimbria_models::curve::{CurveOptions, rules};
use fimbria_models::{Fitted, FittedMap, RaisedSamples};
use fimbria_workflow::ensure_same_work;
use serde_json::{Value, json};
use xxhash_rust::xxh3::Xxh3;

use crate::method_text::MethodText;
use crate::options::{Options, from_values, usual};
use crate::stages::fits::curve::{CurveParameters, ERRORS, SolverOptions, earlier};
use crate::stages::fits::fit_report::{VOLUMES, report_counts, report_volumes};
use crate::stages::load::Subject;
use crate::stages::shown::{Methods, ShownMaps};
use crate::stages::volumes::{ChosenVolumes, VolumeChoice, VolumesError};
use crate::{
    Choice, Derivatives, Hashing, Input, Logbook, MapContext, MapStyle, Named, OutputFolder, Page,
    Product, Products, RunRecord, Stage, StageError, Taken, Written,
};

/// The options of a model's fit, which know how to fit it: all that is said of a model stands here.
pub trait FitModel: Options + Clone {
    /// Name of the stage, of its folder and of its entry in records ("dti"); names of files in
    /// FSL's layout begin with it.
    const STAGE: &'static str;
    /// The `model` label of BIDS ("tensor").
    const BIDS_MODEL: &'static str;
    /// The model in words, for sidecars ("Diffusion tensor").
    const DESCRIPTION: &'static str;
    /// What its help says.
    const TEXT: &'static MethodText;
    /// Text files that are written beside the maps; a fit may make only the first of them.
    const TEXTS: &'static [Written] = &[];
    /// Its files among derivatives of BIDS.
    const DERIVATIVES: Derivatives = Derivatives {
        place: |file, names| names.map(Self::BIDS_MODEL, file),
        ..Derivatives::FROM_SERIES
    };
    /// What a run makes of it.
    const IN_RUN: InRun = InRun::WhereAsked;
    /// Whether it is one of the maps that a run's presets stand for.
    const IN_PRESETS: bool = false;

    /// What the fit makes of the gradients' non-linearity.
    const DEVIATION: Deviation = Deviation::Refused;

    /// The options that fits of curves share, where it is one: they answer what follows from them.
    fn curve(&self) -> Option<&CurveParameters> {
        None
    }

    /// Whether the options go together.
    ///
    /// # Errors
    /// Which do not.
    fn consistent(&self) -> Result<(), String> {
        self.curve().map_or(Ok(()), CurveParameters::check)
    }

    /// Whether a gradient table supports the model.
    ///
    /// # Errors
    /// Why not.
    fn check(&self, _gradients: &GradientTable) -> Result<(), StageError> {
        Ok(())
    }

    /// Which volumes the fit takes.
    fn choice(&self) -> VolumeChoice {
        self.curve().map(CurveParameters::volumes).unwrap_or_default()
    }

    /// The volumes that it takes of a series with this gradient table.
    ///
    /// # Errors
    /// Where those that were asked for are not there.
    fn volumes(&self, gradients: &GradientTable) -> Result<ChosenVolumes, VolumesError> {
        self.choice().choose(gradients, |table| self.check(table).is_ok())
    }

    /// Whether those volumes support the model.
    ///
    /// # Errors
    /// Why not.
    fn supports(&self, gradients: &GradientTable) -> Result<(), StageError> {
        self.check(&self.volumes(gradients)?.gradients)
    }

    /// The parameters as records have them: with what is in effect where nothing was said.
    fn in_effect(&self) -> Value {
        match self.curve() {
            Some(_) => SolverOptions::in_effect(json!(self), rules::MAX_ITERATIONS),
            None => json!(self),
        }
    }

    /// The maps that are written, the status last.
    fn maps(&self) -> Vec<MapSpec>;

    /// The same where nothing is said, as help describes them.
    fn described_maps() -> Vec<MapSpec> {
        usual::<Self>().maps()
    }

    /// What it writes besides these with some options, as descriptions say it.
    fn described_others() -> Vec<Written> {
        usual::<Self>().curve().map(|_| ERRORS).into_iter().collect()
    }

    /// The maps that the page shows, and their heading.
    fn shown(&self) -> Option<ShownMaps> {
        None
    }

    /// What was done, in words for a paper.
    fn methods(&self) -> Option<Methods> {
        None
    }

    /// The files that the fit reads beside the subject's.
    fn inputs(&self) -> Vec<Input> {
        self.curve().map(|curve| curve.noise.inputs()).unwrap_or_default()
    }

    /// Fits the model.
    ///
    /// # Errors
    /// Whatever makes the fit impossible.
    fn fit(&self, job: &FitJob<'_>) -> Result<Outcome, StageError>;
}

/// What a fit works on.
pub struct FitJob<'a> {
    /// The series, of the volumes that are used.
    pub subject: &'a Subject,
    /// Which of all volumes of the series these are.
    pub volumes: &'a [usize],
    /// How many the series has.
    pub series_volumes: usize,
    /// Among them may be the maps of an earlier fit of fewer volumes.
    pub products: &'a Products,
    /// Where to say what is done, and on what.
    pub log: &'a Logbook<'a>,
}

impl<'a> FitJob<'a> {
    /// Where it runs.
    pub fn on(&self) -> &'a Backend<'a> {
        &self.log.session().on
    }

    /// What a fit of a curve by `P` may be told: with its noise level, and the maps of an earlier fit to start from.
    ///
    /// # Errors
    /// Where the noise level cannot be had.
    pub(super) fn curve_options<P: FitModel>(
        &self,
        curve: &CurveParameters,
    ) -> Result<CurveOptions, StageError> {
        let earlier = earlier::<P>(self.products);
        Ok(CurveOptions { earlier, ..curve.options(self.subject, self.log)? })
    }
}

/// The maps of these names, all where none are named.
pub(super) fn written<T: Choice>(named: Option<&Vec<Named<T>>>) -> Vec<T> {
    let all = || T::CHOICES.iter().map(|(map, ..)| *map).collect();
    named.map_or_else(all, |maps| maps.iter().map(|map| map.0).collect())
}

/// What a fit makes of gradients that deviate from voxel to voxel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deviation {
    /// It follows them.
    Followed,
    /// It takes those of the table, and says so.
    Ignored,
    /// It refuses them.
    Refused,
}

/// When a run makes a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InRun {
    /// Always.
    Always,
    /// Before what takes it.
    BeforeOthers,
    /// Where it is named.
    WhereAsked,
    /// Where it has a table of its own, too.
    ByTable,
    /// Where the gradient table supports it, too.
    WhereSupported,
}

impl InRun {
    /// The folder of the fit in a run, as the run's help lists it.
    pub(super) const fn folder(self, folder: &'static str, holds: &'static str) -> Written {
        let written = Written::folder(folder, holds);
        match self {
            Self::Always | Self::WhereSupported => written,
            Self::BeforeOthers => written.only("with peaks, or where asked for"),
            Self::WhereAsked => written.only("where asked for"),
            Self::ByTable => written.only("with a table of its own, or where asked for"),
        }
    }
}

/// What a fit makes.
pub struct Outcome {
    /// Its maps.
    pub fitted: Fitted,
    /// The text files of [`FitModel::TEXTS`], in their order.
    pub texts: Vec<String>,
}

impl From<Fitted> for Outcome {
    fn from(fitted: Fitted) -> Self {
        Self { fitted, texts: Vec::new() }
    }
}

/// The product of a fit: the [`Fitted`] of the model with parameters `P`.
pub struct Maps<P> {
    outcome: Outcome,
    model: PhantomData<fn() -> P>,
}

impl<P> Maps<P> {
    /// The contents of a text file, by its place in [`FitModel::TEXTS`].
    pub fn text(&self, index: usize) -> Option<&str> {
        self.outcome.texts.get(index).map(String::as_str)
    }

    /// All of it, to keep.
    pub fn into_outcome(self) -> Outcome {
        self.outcome
    }
}

impl<P> From<Outcome> for Maps<P> {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, model: PhantomData }
    }
}

impl<P> Deref for Maps<P> {
    type Target = Fitted;

    fn deref(&self) -> &Fitted {
        &self.outcome.fitted
    }
}

/// Fits a model to the [`Subject`] and hands on its [`Maps`].
pub struct FitMaps<P> {
    /// That of the stage and of its folder, which is the model's where it is fitted once.
    pub name: &'static str,
    /// What to fit.
    pub parameters: P,
    /// How to write the maps.
    pub style: MapStyle,
    /// Entities for names of BIDS.
    pub entities: String,
}

impl<P: FitModel> FitMaps<P> {
    /// The stage that wrote a folder, by its record; `None` where it was another.
    pub fn of_record(record: &RunRecord) -> Option<Self> {
        let parameters = record.parameters_of(P::STAGE)?;
        let part = |name: &str| parameters.get(name).cloned();
        Some(Self {
            name: P::STAGE,
            parameters: from_values(part("fit")?.as_object()?).ok()?,
            style: serde_json::from_value(part("maps")?).ok()?,
            entities: serde_json::from_value(part("entities")?).ok()?,
        })
    }

    /// The options of the fit that wrote a folder, by its record: one with a label too.
    pub(in crate::stages) fn options_in(record: &RunRecord) -> Option<P> {
        let is_labelled =
            |name: &str| name.strip_prefix(P::STAGE).is_some_and(|rest| rest.starts_with('_'));
        let labelled = || match &record.stages[..] {
            [only] if is_labelled(&only.name) => Some(&record.parameters),
            _ => None,
        };
        let parameters = record.parameters_of(P::STAGE).or_else(labelled)?;
        from_values(parameters.get("fit")?.as_object()?).ok()
    }

    /// What the fits of these records did, in words for a paper, and with which volumes: what several did alike is
    /// told once.
    pub(in crate::stages) fn methods_in(records: &[RunRecord]) -> Option<Methods> {
        let mut fits: Vec<(Methods, Vec<&str>)> = Vec::new();
        for record in records {
            let Some(methods) = Self::options_in(record).and_then(|fit| fit.methods()) else {
                continue;
            };
            let volumes = record.results.get(VOLUMES).and_then(Value::as_str);
            match fits.iter_mut().find(|(other, _)| other.text == methods.text) {
                Some((_, known)) => known.extend(volumes.filter(|v| !known.contains(v))),
                None => fits.push((methods, Vec::from_iter(volumes))),
            }
        }
        Methods::joined(fits.into_iter().map(|(mut methods, volumes)| {
            if !volumes.is_empty() {
                let volumes = volumes.join(" s/mm²; in another fit ");
                methods.text += &format!(" Volumes used: {volumes} s/mm².");
            }
            methods
        }))
    }

    /// Tells one fit from another: by all that it takes.
    fn fingerprint(&self, subject: &Subject) -> Result<u128, StageError> {
        let mut hash = Xxh3::new();
        hash.update(self.parameters.in_effect().to_string().as_bytes());
        for input in Hashing::start(self.parameters.inputs()).finish()? {
            hash.update(input.xxh3_128.as_bytes());
        }
        subject.hash(&mut hash);
        Ok(hash.digest128())
    }

    fn context(&self, subject: Option<&Subject>, log_keyvals: Vec<(String, String)>) -> MapContext {
        let carried = subject.map(|subject| subject.carried.clone()).unwrap_or_default();
        MapContext {
            stage: P::STAGE,
            model: P::BIDS_MODEL,
            label: label_of(P::STAGE, self.name),
            model_entry: json!({
                "Description": P::DESCRIPTION,
                "Parameters": bids_parameters(self.parameters.in_effect()),
            }),
            entities: self.entities.clone(),
            carried: carried.with(log_keyvals),
        }
    }
}

/// What the folder of a fit says beside its name: `b1200` of `dti_b1200`.
pub(in crate::stages) fn label_of(fit: &str, folder: &'static str) -> &'static str {
    folder.strip_prefix(fit).and_then(|rest| rest.strip_prefix('_')).unwrap_or_default()
}

impl<P: FitModel> Stage for FitMaps<P> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn takes(&self) -> Vec<Taken> {
        vec![Taken::always::<Subject>()]
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Maps<P>>()]
    }

    fn inputs(&self) -> Vec<Input> {
        self.parameters.inputs()
    }

    fn parameters(&self) -> Value {
        json!({
            "fit": self.parameters.in_effect(), "maps": self.style, "entities": self.entities,
        })
    }

    fn outputs(&self) -> Vec<String> {
        let context = self.context(None, Vec::new());
        let maps = self.parameters.maps();
        let maps = maps.iter().flat_map(|map| self.style.file_names(map, &context));
        maps.chain(P::TEXTS.iter().map(|text| text.file.to_owned())).collect()
    }

    fn map_files(&self) -> Vec<(MapSpec, String)> {
        self.style.map_files(self.parameters.maps(), &self.context(None, Vec::new()))
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let subject = products.get::<Subject>()?;
        match (P::DEVIATION, subject.has_one_table()) {
            (Deviation::Followed, _) | (_, Ok(())) => {}
            (Deviation::Refused, Err(unused)) => return Err(unused.into()),
            (Deviation::Ignored, Err(_)) => log.warn(
                Page::Troubleshooting,
                "the gradient deviation is not followed here: every voxel has the b and directions \
                 of the table",
            ),
        }
        let comm = log.session().on.comm;
        if comm.size() > 1 {
            ensure_same_work(comm, self.fingerprint(subject)?, 0)?;
        }
        let chosen = self.parameters.volumes(&subject.gradients)?;
        report_volumes(&chosen, log);
        let view = (!chosen.is_all()).then(|| chosen.view(subject));
        let subject = view.as_ref().unwrap_or(subject);
        let job =
            FitJob { subject, volumes: &chosen.volumes, series_volumes: chosen.of, products, log };
        let outcome = self.parameters.fit(&job)?;
        report_counts(&outcome.fitted, log);
        log.count_shares(&outcome.fitted.shares);
        if outcome.fitted.left_to_threads {
            log.left_to_threads();
        }
        products.put(Maps::<P>::from(outcome));
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let subject = products.find::<Subject>();
        let context = self.context(subject, log.session().header_entries());
        let Outcome { fitted, texts } = &products.get::<Maps<P>>()?.outcome;
        for FittedMap { spec, image } in &fitted.maps {
            log.check()?;
            self.style.write(spec, image, &context, out, log.session().on.workers)?;
        }
        for (Written { file, .. }, text) in P::TEXTS.iter().zip(texts) {
            out.write(file, text.as_bytes())?;
        }
        Ok(())
    }

    fn restore(
        &self,
        folder: &Path,
        products: &mut Products,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let context = self.context(None, Vec::new());
        let mut maps = Vec::new();
        for spec in self.parameters.maps() {
            let image = self.style.read(&spec, &context, folder, log.session().on.workers)?;
            // The number of directions of a map by direction stands in its file.
            let spec = MapSpec { n_volumes: image.n_volumes, ..spec };
            maps.push(FittedMap { spec, image });
        }
        let mut status = StatusCounts::default();
        if let Some(map) = maps.last() {
            for &code in map.image.data.iter().filter(|code| **code > 0.0) {
                status.add(Status::from_code(code));
            }
        }
        // A fit may have made only the first of them.
        let paths = P::TEXTS.iter().map(|text| folder.join(text.file));
        let texts = paths.take_while(|path| path.exists()).map(std::fs::read_to_string);
        let texts = texts.collect::<Result<_, _>>()?;
        // What was counted while fitting stands in the record of that run.
        let fitted = Fitted {
            maps,
            status,
            raised: RaisedSamples::default(),
            shares: Shares { devices: Vec::new(), cpu: 0 },
            left_to_threads: false,
            seconds: 0.0,
        };
        products.put(Maps::<P>::from(Outcome { fitted, texts }));
        Ok(())
    }
}

/// The parameters as sidecars of BIDS have them: its own word for the method, nothing of what was
/// written.
fn bids_parameters(mut parameters: Value) -> Value {
    if let Value::Object(entries) = &mut parameters {
        entries.remove("maps");
        if let Some(method) = entries.remove("method") {
            entries.insert("FitMethod".to_owned(), method);
        }
    }
    parameters
}
