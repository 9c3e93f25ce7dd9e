//! The fits there are: those that [`fimbria_models::each_fit`] names, a file for each with its options, what
//! help and page say, and the call of its science.
//!
//! [`fit_maps`]: the stage around any of them; [`curve`]: what those by Levenberg and Marquardt's method
//! share; `fit_report`: what is said of a fit; [`mod@follow`]: a fit of a series that grows.

pub mod curve;
pub mod fit_maps;
pub(crate) mod fit_report;
pub mod follow;

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::path::Path;

use clap::{ArgMatches, Command};
use fimbria_image::{GradientTable, MapSpec, Mask};
use fimbria_models::FittedMap;
use fimbria_report::{FigureError, Section};

use self::fit_maps::{FitMaps, FitModel, InRun, Maps, Outcome};
use self::follow::follow;
use crate::method_text::{MethodText, WRITTEN_BY_FITS};
use crate::options::{OptionError, Values, from_values};
use crate::stages::in_run::InRunError;
use crate::stages::load::SubjectFiles;
use crate::stages::method::{Method, OptionTable};
use crate::stages::shown::{Methods, ShownMap, ShownMaps};
use crate::{
    MapContext, MapLayout, MapStyle, MissingProduct, Named, Product, Products, RunRecord, Session,
    Stage, StageError, Written,
};

/// Declares the module of each fit, and lists them.
macro_rules! fits {
    ($($name:ident)*) => {
        $(pub mod $name;)*

        /// Every fit, in the order of a run.
        pub static FITS: &[&dyn Fit] = &[$(&Of::<$name::Parameters>::NEW),*];

        /// The folder of each in a run, in that order.
        pub const FOLDERS_OF_FITS: &[Written] = &[$(<$name::Parameters>::IN_RUN.folder(
            concat!(stringify!($name), "/"),
            concat!("maps and texts, as `fimbria fit ", stringify!($name), "` writes them"),
        )),*];
    };
}
fimbria_models::each_fit!(fits);

/// The diffusion tensor.
pub const DTI: &dyn Fit = &Of::<dti::Parameters>::NEW;
/// Fibre orientation densities.
pub const FOD: &dyn Fit = &Of::<fod::Parameters>::NEW;
/// Kurtosis.
pub const DKI: &dyn Fit = &Of::<dki::Parameters>::NEW;

/// The fit of this name.
pub fn fit_named(name: &str) -> Option<&'static dyn Fit> {
    FITS.iter().copied().find(|fit| fit.name() == name)
}

/// The stage of a fit in a run, with its table's options.
pub(crate) fn in_run(
    fit: &dyn Fit,
    tables: &BTreeMap<String, Values>,
    style: MapStyle,
    entities: &str,
) -> Result<Box<dyn FitStage>, InRunError> {
    let none = Values::new();
    let values = tables.get(fit.name()).unwrap_or(&none);
    let stage = fit.of_values(values, style, entities.to_owned());
    stage.map_err(InRunError::in_table(fit.name()))
}

/// A fit before its options are known.
pub trait Fit: Sync {
    /// The name of the command, of the stage, and of its folder.
    fn name(&self) -> &'static str;

    /// What its help says.
    fn text(&self) -> &'static MethodText;

    /// When a run makes it.
    fn in_run(&self) -> InRun;

    /// Whether it is one of the maps that a run's presets stand for.
    fn in_presets(&self) -> bool;

    /// What its stage hands on.
    fn product(&self) -> Product;

    /// The maps that it writes where nothing is said.
    fn maps(&self) -> Vec<MapSpec>;

    /// What it writes besides.
    fn others(&self) -> Vec<Written>;

    /// The file of a map in a layout, in the layout's usual format.
    fn file_of(&self, map: &MapSpec, layout: MapLayout) -> String;

    /// Adds its options to a command.
    fn options(&self, command: Command) -> Command;

    /// The part of its help that follows the options.
    fn help(&self) -> String;

    /// The stage that a command line asks for.
    ///
    /// # Errors
    /// Where options contradict each other.
    fn of_matches(
        &self,
        matches: &ArgMatches,
        style: MapStyle,
        entities: String,
    ) -> Result<Box<dyn FitStage>, OptionError>;

    /// The stage with these options.
    ///
    /// # Errors
    /// Where they are none, or contradict each other.
    fn of_values(
        &self,
        values: &Values,
        style: MapStyle,
        entities: String,
    ) -> Result<Box<dyn FitStage>, OptionError>;

    /// The stage that wrote a folder, by its record.
    fn of_record(&self, record: &RunRecord) -> Option<Box<dyn FitStage>>;

    /// It among all methods.
    fn method(&self) -> &'static Method;
}

/// A fit with its options: the stage.
pub trait FitStage: Stage {
    /// The same with another name, that of its folder among others of its model.
    fn in_folder(self: Box<Self>, name: &'static str) -> Box<dyn Stage>;

    /// Whether a gradient table supports it.
    ///
    /// # Errors
    /// Why not.
    fn supports(&self, gradients: &GradientTable) -> Result<(), StageError>;

    /// The maps that it makes with its options.
    fn maps(&self) -> Vec<MapSpec>;

    /// Takes what the fit made from the products: for callers that write no files.
    ///
    /// # Errors
    /// Where it was not computed.
    fn take_outcome(&self, products: &mut Products) -> Result<Outcome, MissingProduct>;

    /// What the page shows of its maps; `None` where none are on the page of a run.
    fn shown(&self) -> Option<ShownMaps>;

    /// Those maps among the products, in their order.
    fn shown_maps<'p>(&self, products: &'p Products) -> Vec<(ShownMap, &'p FittedMap)>;

    /// What the page shows of its maps, where they are among the products.
    ///
    /// # Errors
    /// Where no picture can be made.
    fn section(&self, products: &Products, mask: &Mask) -> Result<Option<Section>, FigureError>;

    /// What was done, in words for a paper.
    fn methods(&self) -> Option<Methods>;

    /// Fits whenever more volumes are there; see [`follow`](fn@follow).
    ///
    /// # Errors
    /// As [`follow`](fn@follow) has them.
    fn follow(
        &self,
        files: &SubjectFiles,
        root: &Path,
        overwrite: bool,
        session: Session<'_>,
    ) -> Result<RunRecord, StageError>;
}

impl<P: FitModel> FitStage for FitMaps<P> {
    fn in_folder(self: Box<Self>, name: &'static str) -> Box<dyn Stage> {
        Box::new(Self { name, ..*self })
    }

    fn supports(&self, gradients: &GradientTable) -> Result<(), StageError> {
        self.parameters.supports(gradients)
    }

    fn maps(&self) -> Vec<MapSpec> {
        self.parameters.maps()
    }

    fn take_outcome(&self, products: &mut Products) -> Result<Outcome, MissingProduct> {
        Ok(products.take::<Maps<P>>()?.into_outcome())
    }

    fn shown(&self) -> Option<ShownMaps> {
        self.parameters.shown()
    }

    fn shown_maps<'p>(&self, products: &'p Products) -> Vec<(ShownMap, &'p FittedMap)> {
        let Some(fit) = products.find::<Maps<P>>() else { return Vec::new() };
        let shown = self.parameters.shown().into_iter().flat_map(|shown| shown.maps);
        let of = |shown: ShownMap| {
            let map = fit.maps.iter().find(|map| map.spec.name == shown.name)?;
            Some((shown, map))
        };
        shown.filter_map(of).collect()
    }

    fn section(&self, products: &Products, mask: &Mask) -> Result<Option<Section>, FigureError> {
        match (products.find::<Maps<P>>(), self.parameters.shown()) {
            (Some(fit), Some(shown)) => shown.section(fit, mask).map(Some),
            _ => Ok(None),
        }
    }

    fn methods(&self) -> Option<Methods> {
        self.parameters.methods()
    }

    fn follow(
        &self,
        files: &SubjectFiles,
        root: &Path,
        overwrite: bool,
        session: Session<'_>,
    ) -> Result<RunRecord, StageError> {
        follow(files, self, root, overwrite, session)
    }
}

/// The fit with options `P`.
struct Of<P>(PhantomData<fn() -> P>);

impl<P: FitModel> Of<P> {
    const NEW: Self = Self(PhantomData);

    fn stage(
        parameters: P,
        style: MapStyle,
        entities: String,
    ) -> Result<Box<dyn FitStage>, OptionError> {
        parameters.consistent().map_err(OptionError::Unusable)?;
        Ok(Box::new(FitMaps { name: P::STAGE, parameters, style, entities }))
    }
}

impl<P: FitModel> Fit for Of<P> {
    fn name(&self) -> &'static str {
        P::STAGE
    }

    fn text(&self) -> &'static MethodText {
        P::TEXT
    }

    fn in_run(&self) -> InRun {
        P::IN_RUN
    }

    fn in_presets(&self) -> bool {
        P::IN_PRESETS
    }

    fn product(&self) -> Product {
        Product::of::<Maps<P>>()
    }

    fn maps(&self) -> Vec<MapSpec> {
        P::described_maps()
    }

    fn others(&self) -> Vec<Written> {
        [P::described_others().as_slice(), P::TEXTS, WRITTEN_BY_FITS].concat()
    }

    fn file_of(&self, map: &MapSpec, layout: MapLayout) -> String {
        let style = MapStyle { layout: Named(layout), format: None };
        let (stage, model) = (P::STAGE, P::BIDS_MODEL);
        style.file_names(map, &MapContext { stage, model, ..MapContext::default() }).swap_remove(0)
    }

    fn options(&self, command: Command) -> Command {
        P::augment_args(command)
    }

    fn help(&self) -> String {
        P::TEXT.help_of_fit(&P::described_maps(), P::TEXTS)
    }

    fn of_matches(
        &self,
        matches: &ArgMatches,
        style: MapStyle,
        entities: String,
    ) -> Result<Box<dyn FitStage>, OptionError> {
        let parameters = P::from_arg_matches(matches);
        let parameters = parameters.map_err(|error| OptionError::Unusable(error.to_string()))?;
        Self::stage(parameters, style, entities)
    }

    fn of_values(
        &self,
        values: &Values,
        style: MapStyle,
        entities: String,
    ) -> Result<Box<dyn FitStage>, OptionError> {
        Self::stage(from_values(values)?, style, entities)
    }

    fn of_record(&self, record: &RunRecord) -> Option<Box<dyn FitStage>> {
        Some(Box::new(FitMaps::<P>::of_record(record)?))
    }

    fn method(&self) -> &'static Method {
        &const {
            Method {
                table: Some(OptionTable {
                    check: |values| {
                        Self::stage(from_values(values)?, MapStyle::default(), String::new())
                            .map(drop)
                    },
                    ..OptionTable::of::<P>()
                }),
                restored: |record| {
                    let stage = FitMaps::<P>::of_record(record)?;
                    // Densities are not shown, only what came of them.
                    stage.shown().is_some().then(|| Box::new(stage) as _)
                },
                text: FitMaps::<P>::methods_in,
                derivatives: Some(P::DERIVATIVES),
                ..Method::named(P::STAGE)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// rustc says nothing of a file that no name leads to.
    #[test]
    fn every_file_of_the_folder_is_a_fit_of_its_name() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/stages/fits");
        let files = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
        let files: BTreeSet<_> =
            files.map(|file| file.file_stem().unwrap().to_string_lossy().into_owned()).collect();
        let others = ["curve", "fit_maps", "fit_report", "follow", "mod"];
        let fits = FITS.iter().map(|fit| fit.name());
        assert_eq!(files, others.into_iter().chain(fits).map(str::to_owned).collect());
    }

    #[test]
    fn every_fit_has_a_name_of_its_own_and_help_that_says_what_it_needs() {
        for (index, fit) in FITS.iter().enumerate() {
            assert!(FITS[..index].iter().all(|other| other.name() != fit.name()));
            assert!(std::ptr::addr_eq(fit_named(fit.name()).unwrap(), *fit));
            let help = fit.help();
            for part in ["Outputs", "Units:", "Order and frame:", "References:", "status"] {
                assert!(help.contains(part), "{}: {part}", fit.name());
            }
            assert_eq!(fit.maps().last().unwrap().name, "status");
        }
    }

    #[test]
    fn options_come_back_from_a_record() {
        for fit in FITS {
            let values = match fit.name() {
                "expr" => {
                    serde_json::json!({ "model": "S0*exp(-b*D)", "param": ["S0=1,0,-", "D=1"] })
                }
                _ => serde_json::json!({}),
            };
            let values = values.as_object().unwrap();
            let stage = fit.of_values(values, MapStyle::default(), String::new()).unwrap();
            let effective = stage.parameters()["fit"].as_object().unwrap().clone();
            let again = fit.of_values(&effective, MapStyle::default(), String::new()).unwrap();
            assert_eq!(again.parameters(), stage.parameters());
        }
    }
}
