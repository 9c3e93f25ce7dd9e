//! The stage that tracks the voxels with a direction: a whole brain.

use std::path::Path;

use fimbria_image::sticks::StickSamples;
use fimbria_image::{Image, Mask, WriteOptions, read_image, write_image};
use fimbria_streamlines::{Format, Header, Streamlines, Tractogram, WriteOptions as LineOptions};
use fimbria_tensors::peaks::Peaks;
use fimbria_tracking::{
    DensityTracking, Field, Lines, Rules, Seed, Space, Tally, Tissues, Tracking, seeds_of_region,
};
use fimbria_workflow::Input;
use serde_json::{Value, json};

use super::counted::{Counted, counted, counted_through_densities, reshaping};
use super::edges::Edges;
use super::follow::{Drawn, tell_misplaced};
use super::resolved::Setting;
use super::source::densities_of;
use super::{
    AnatomyOptions, STEP_MM, Through, TrackError, TrackInRun, TrackParameters, tracks_name,
};
use crate::options::{Place, Resolve as _, Resolved, from_values};
use crate::stages::doubts::warn_of_place_of;
use crate::stages::load::Subject;
use crate::stages::load_orientations::OrientationField;
use crate::stages::peaks::with_fibres;
use crate::{Logbook, OutputFolder, Page, Product, Products, RunRecord, Stage, StageError, Taken};

/// Streamlines through the whole brain.
pub struct Tracked {
    /// How many streamlines pass each voxel.
    pub visits: Image,
    /// The streamlines.
    pub lines: Tractogram,
}

/// Tracks the voxels with fibres through the [`StickSamples`], or through the densities of the
/// [`OrientationField`] in voxels whose [`Peaks`] are those of fibres; from the boundary of grey and white
/// matter, where that is asked for, in all voxels with densities. Hands on what was [`Tracked`].
pub struct WholeBrain {
    /// How, and where streamlines may end.
    pub options: TrackInRun,
    /// Which of them.
    pub through: Through,
}

impl WholeBrain {
    /// The stage that wrote a folder, by its record; `None` where it was another.
    pub fn of_record(record: &RunRecord) -> Option<Self> {
        let parameters = record.parameters_of("track")?;
        let through = match parameters.get("through")?.as_str()? {
            name if name == Through::Samples.name() => Through::Samples,
            _ => Through::Densities,
        };
        let anatomy = parameters.get("anatomy").filter(|anatomy| anatomy.is_object());
        let act = record.inputs.iter().find(|input| input.role == "act");
        let asks = |option: &str| anatomy.and_then(|anatomy| anatomy[option].as_bool());
        let anatomy = AnatomyOptions {
            act: act.filter(|_| anatomy.is_some()).map(|input| input.path.clone()),
            backtrack: asks("backtrack"),
            crop: asks("crop"),
            seed_boundary: asks("seed_boundary") == Some(true),
        };
        let parameters = from_values(parameters.get("track")?.as_object()?).ok()?;
        Some(Self { options: TrackInRun { parameters, anatomy }, through })
    }

    /// The name of the file of streamlines.
    fn tracks(&self) -> String {
        tracks_name(self.options.parameters.tracks.0.0.unwrap_or(Format::DEFAULT))
    }

    /// The options that streamlines are made with.
    pub(in crate::stages) fn resolved(&self) -> Resolved<TrackParameters> {
        let TrackInRun { parameters, anatomy } = &self.options;
        let (through, ended_by) = (self.through, anatomy.ended_by());
        parameters.resolve(&Setting { through, place: Place::Run, ended_by })
    }

    /// How tissues end them.
    pub(in crate::stages) fn resolved_anatomy(&self) -> Resolved<AnatomyOptions> {
        let TrackInRun { parameters, anatomy } = &self.options;
        anatomy.resolve(parameters)
    }

    /// Through samples, from every voxel that has some.
    fn through_samples(
        &self,
        samples: StickSamples,
        log: &Logbook<'_>,
    ) -> Result<Tracked, StageError> {
        let (edges, mask) = (Edges::from_grid(&samples.mask.grid), samples.mask.clone());
        let options = self.resolved();
        let step_mm = options.step.unwrap_or(0.25 * edges.shortest);
        log.result(STEP_MM, step_mm);
        let field = Field::new(samples, log.session().on.workers);
        self.tracked(&mask, None, log, |space, rules, seeds, new, each| {
            let tracking = Tracking {
                field: &field,
                space,
                propagation: &options.propagation(step_mm),
                rules,
                seeds,
                n_samples: options.samples.unwrap_or(1),
                jitter_mm: options.jitter.unwrap_or(0.5 * edges.longest),
                rng_seed: options.rng_seed,
            };
            counted(&tracking, log, new, each)
        })
    }

    /// Through densities, from every voxel of a mask.
    fn through_densities(
        &self,
        field: &OrientationField,
        mask: &Mask,
        log: &Logbook<'_>,
    ) -> Result<Tracked, StageError> {
        let (options, anatomy) = (self.resolved(), self.resolved_anatomy());
        let densities = densities_of(field, &field.mask, log)?;
        let shortest = Edges::from_grid(densities.grid()).shortest;
        let propagation = options.density_propagation(shortest, densities.order());
        log.result(STEP_MM, propagation.step_mm);
        let workers = log.session().on.workers;
        anatomy.inputs().iter().for_each(|(_, file)| warn_of_place_of(file, log));
        let tissues = workers.install(|| anatomy.read(densities.grid(), log))?;
        // Where grey matter begins, peaks are few.
        let mask = if anatomy.seed_boundary { &field.mask } else { mask };
        self.tracked(mask, tissues.as_ref(), log, |space, rules, seeds, new, each| {
            let anatomy_of = anatomy.constraint(&tissues);
            let Drawn { fixed, mut dynamic } =
                Drawn::new(&options, &densities, (seeds, space), anatomy_of, log)?;
            let tracking = DensityTracking {
                densities: &densities,
                space,
                propagation: &propagation,
                rules,
                anatomy: anatomy_of,
                seeds,
                chances: fixed.as_ref(),
                attempts: options.attempts(),
                jitter_mm: options.jitter,
                one_way: options.one_direction,
                rng_seed: options.rng_seed,
            };
            if let Some(anatomy) = &tracking.anatomy {
                tell_misplaced(anatomy, &tracking, log);
            }
            counted_through_densities(&tracking, dynamic.as_mut(), log, new, each)
        })
    }

    /// From the voxels of a mask, or where that is asked for the boundary of these tissues in them, by
    /// `track`, which is given where seeds are, what decides over streamlines, the seeds, what is counted,
    /// and where streamlines go.
    fn tracked(
        &self,
        mask: &Mask,
        tissues: Option<&Tissues>,
        log: &Logbook<'_>,
        track: impl for<'t> FnOnce(
            &'t Space,
            &'t Rules,
            &'t [Seed],
            &(dyn Fn() -> Counted<'t> + Sync),
            &mut dyn FnMut(Streamlines) -> Result<(), TrackError>,
        ) -> Result<Tally<'t>, TrackError>,
    ) -> Result<Tracked, StageError> {
        let grid = mask.grid;
        let space = Space::same(grid);
        let mut seeds =
            seeds_of_region(&space, &space.region(&mask.to_image(), "the voxels tracked")?, 0);
        if let Some(tissues) = tissues.filter(|_| self.options.anatomy.seed_boundary) {
            seeds = tissues.boundary_seeds(&seeds, &space);
            if seeds.is_empty() {
                return Err(TrackError::NoBoundary.into());
            }
        }
        let least_length_mm = self.resolved().min_length.unwrap_or(0.0);
        let rules = Rules { least_length_mm, ..Rules::default() };
        let new =
            || Counted { tally: Tally::new(&space, 1, false), lines: Some(Lines::new(&space)) };
        let mut header = Header::on(grid);
        header.per_streamline = Lines::columns();
        let mut lines = Streamlines::for_header(&header);
        let mut each = reshaping(self.options.parameters.reshape(), log, |block| {
            lines.append(&block);
            Ok(())
        });
        let tally = track(&space, &rules, &seeds, &new, &mut each)?;
        drop(each);
        if lines.is_empty() {
            log.warn(
                Page::Tracking,
                match tissues {
                    None => "no streamline is as long as track.min_length",
                    Some(_) => "no streamline was kept: see in run.json why they ended",
                },
            );
        }
        let visits = space.image(|voxel| tally.visits.count(voxel) as f32);
        Ok(Tracked { visits, lines: Tractogram::new(header, lines) })
    }
}

impl Stage for WholeBrain {
    fn name(&self) -> &'static str {
        "track"
    }

    fn takes(&self) -> Vec<Taken> {
        vec![
            Taken::where_made::<StickSamples>(),
            Taken::where_made::<OrientationField>(),
            Taken::where_made::<Peaks>(),
            Taken::where_made::<Subject>(),
        ]
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Tracked>()]
    }

    fn inputs(&self) -> Vec<Input> {
        self.options.anatomy.inputs().into_iter().collect()
    }

    fn parameters(&self) -> Value {
        let mut said = json!({ "through": self.through.name(), "track": self.resolved() });
        if self.options.anatomy.act.is_some() {
            said["anatomy"] = json!(self.resolved_anatomy());
        }
        said
    }

    fn outputs(&self) -> Vec<String> {
        vec!["visits.nii.gz".to_owned(), self.tracks()]
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let tracked = match self.through {
            Through::Samples => {
                self.through_samples(products.get::<StickSamples>()?.clone(), log)?
            }
            Through::Densities => {
                let mask = with_fibres(products.get::<Peaks>()?);
                self.through_densities(products.get::<OrientationField>()?, &mask, log)?
            }
        };
        products.put(tracked);
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let Tracked { visits, lines } = products.get::<Tracked>()?;
        let path = out.stage("visits.nii.gz")?;
        let subject = products.find::<Subject>();
        let space_codes = subject.and_then(|subject| subject.carried.space_codes);
        let description = "streamlines through each voxel".to_owned();
        let options = WriteOptions { space_codes, description, ..WriteOptions::default() };
        log.session().on.workers.install(|| write_image(&path, visits, &options))?;
        lines.write(out.stage(&self.tracks())?, &LineOptions::default())?;
        Ok(())
    }

    fn restore(
        &self,
        folder: &Path,
        products: &mut Products,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        let visits = folder.join("visits.nii.gz");
        let visits = log.session().on.workers.install(|| read_image(&visits))?;
        let lines = Tractogram::read(folder.join(self.tracks()))?;
        products.put(Tracked { visits, lines });
        Ok(())
    }
}
