//! One run: what is read, tracked and handed to the writers.

use std::path::PathBuf;

use fimbria_compute::queue::Shares;
use fimbria_compute::{Progress as _, Workers};
use fimbria_image::bedpostx::read_bedpostx;
use fimbria_image::{ImageHeader, OpenOptions, SpaceCodes, counted};
use fimbria_tracking::{
    Collect, Counts, Deal, Field, Judgement, Met, Needs, NetworkMatrix, Points, Region, Rules,
    Sample, Seed, Sequence, Space, Tally, Targets, Tracking, Waypoints, track_on, track_slowly,
};
use fimbria_workflow::OutputFolder;

use super::inputs::SeedSpace;
use super::matrices::Matrices;
use super::seed_set::SeedSet;
use super::{MatrixFiles, Probtrackx2, Probtrackx2Error, inputs, outputs};
use crate::stages::track::{count, note_who_judges, tell_outside};
use crate::{Logbook, Page};

impl Probtrackx2 {
    /// Tracks and stages every output.
    pub(super) fn run(
        &self,
        log: &Logbook<'_>,
        out: &mut OutputFolder,
    ) -> Result<(), Probtrackx2Error> {
        let workers = log.session().on.workers;
        let (samples, mask) = (&self.samples, inputs::image(&self.mask)?);
        let samples =
            workers.install(|| read_bedpostx(samples, Some(&mask), &OpenOptions::default()))?;
        let field = Field::new(samples, workers);
        let reference = inputs::image(self.seedref.as_ref().unwrap_or(&self.mask))?;
        let reference = ImageHeader::read(&reference)?;
        let space = inputs::space(
            *reference.grid(),
            field.grid(),
            self.xfm.as_deref(),
            self.invxfm.as_deref(),
            log,
        )?;
        let here = SeedSpace {
            space: &space,
            mesh_space: self.mesh_space,
            closest: self.closest_vertex,
            workers,
        };
        let seed_set = if self.simple {
            SeedSet::points(&self.seed, &space)?
        } else {
            SeedSet::read(&self.seed, &here)?
        };
        self.check(&seed_set)?;
        let mut rules = self.rules(&here, &seed_set)?;
        rules.local = self.local.rules(&here, &field, &seed_set, self.matrices.omatrix3)?;
        if !rules.local.is_empty() && !log.session().on.devices.is_empty() {
            log.note("options that differ from place to place are worked on by the threads");
        }
        let targets = match (&self.target_masks, self.os2t || self.s2t_as_text) {
            (Some(path), true) => inputs::regions(path, &here)?,
            (None, true) => {
                return Err(Probtrackx2Error::Options("--os2t needs --targetmasks"));
            }
            _ => Vec::new(),
        };
        for region in targets.iter().chain(&rules.waypoints.regions) {
            if region.is_empty() {
                log.warn(
                    Page::Tracking,
                    &format!("{} has no voxel: nothing can reach it", region.name),
                );
            }
        }
        let alternatives = match &self.fopd {
            Some(path) => inputs::regions(path, &here)?,
            None => Vec::new(),
        };
        if alternatives.iter().any(|region| region.mesh().is_some()) {
            return Err(Probtrackx2Error::Options(
                "--fopd counts visits of voxels: it takes images",
            ));
        }
        let matrices = Matrices::read(&self.matrices, &here, &seed_set)?;
        if self.is_verbose {
            log.note(&format!(
                "{} in {}; {} of {} with {}",
                counted(seed_set.seeds.len(), "seed"),
                counted(seed_set.n_regions(), "region"),
                counted(field.n_samples(), "sample"),
                counted(field.size().slots, "voxel"),
                counted(field.n_fibres(), "fibre")
            ));
        }
        let job = Job {
            options: self,
            workers,
            field: &field,
            space: &space,
            rules: &rules,
            seed_set: &seed_set,
            targets: &targets,
            alternatives: &alternatives,
            matrices: &matrices,
            codes: reference.space_codes(),
        };
        let tracking = job.tracking(&seed_set.seeds);
        let is_inside = |pos| tracking.field.is_inside(pos);
        tell_outside(tracking.space, tracking.seeds, is_inside, log);
        if rules.local.is_empty() {
            note_who_judges(&tracking, log);
        }
        job.run(log, out)
    }

    /// Options that need others, or bear no others.
    fn check(&self, seed_set: &SeedSet) -> Result<(), Probtrackx2Error> {
        let MatrixFiles { omatrix1, omatrix2, omatrix3, target2, target3, .. } = &self.matrices;
        let counts_seeds = self.os2t || self.s2t_as_text || *omatrix1 || *omatrix2 || *omatrix3;
        for (is_wrong, why) in [
            (
                self.network && seed_set.n_regions() < 2,
                "--network needs a list of two seed regions or more",
            ),
            (
                self.simple && (self.network || counts_seeds),
                "--simple writes a map for each point: leave out --network, --os2t, --s2tastext \
                 and --omatrix1 to 3, or give the seeds as an image",
            ),
            (
                self.otargetpaths && !self.os2t,
                "--otargetpaths needs --os2t, which says what reaches targets",
            ),
            (
                self.local.onewayonly && seed_set.surfaces.is_empty(),
                "--onewayonly needs seeds on a surface, which has an inside",
            ),
            (*omatrix2 && target2.is_none(), "--omatrix2 needs --target2"),
            (*omatrix3 && target3.is_none(), "--omatrix3 needs --target3"),
        ] {
            if is_wrong {
                return Err(Probtrackx2Error::Options(why));
            }
        }
        Ok(())
    }

    fn rules(&self, here: &SeedSpace<'_>, seed_set: &SeedSet) -> Result<Rules, Probtrackx2Error> {
        let files = &self.regions;
        let read = |path: &Option<PathBuf>| match path {
            Some(path) => inputs::regions(path, here),
            None => Ok(Vec::new()),
        };
        Ok(Rules {
            avoid: read(&files.avoid)?,
            stop: read(&files.stop)?,
            stop_on_leaving: read(&files.wtstop)?,
            waypoints: Waypoints {
                regions: read(&files.waypoints)?,
                any: files.any,
                in_order: files.in_order,
                by_each_half: files.by_each_half,
            },
            network: if self.network { seed_set.all_regions(here)? } else { Vec::new() },
            least_length_mm: files.least_length_mm,
            force_first_step: files.force_first_step,
            judgement: Judgement::HalfByHalf,
            ..Rules::default()
        })
    }
}

/// Everything read, ready to be tracked.
pub(super) struct Job<'a> {
    pub(super) options: &'a Probtrackx2,
    pub(super) workers: &'a Workers,
    field: &'a Field,
    pub(super) space: &'a Space,
    rules: &'a Rules,
    pub(super) seed_set: &'a SeedSet,
    targets: &'a [Region],
    pub(super) alternatives: &'a [Region],
    pub(super) matrices: &'a Matrices,
    pub(super) codes: Option<SpaceCodes>,
}

impl Job<'_> {
    fn run(&self, log: &Logbook<'_>, out: &mut OutputFolder) -> Result<(), Probtrackx2Error> {
        let seeds = &self.seed_set.seeds;
        let mut saved = String::new();
        let mut shares = Shares::none(log.session().on.devices.len());
        // One stream of numbers for all points.
        let mut sequence = self.options.sequence;
        let mut total: Option<Tally<'_>> = None;
        if self.options.simple {
            // A map for each point.
            for (index, typed) in self.seed_set.typed.iter().enumerate() {
                let seed = &seeds[index..=index];
                let tally = self.track(seed, log, &mut sequence, &mut saved, &mut shares)?;
                let name = format!("{}_{}_{}_{}", self.options.out, typed[0], typed[1], typed[2]);
                // The map of a point that comes again is that of the last time, as FSL's.
                if !self.seed_set.typed[index + 1..].contains(typed) {
                    self.write_visits(&tally, &name, out)?;
                }
                match &mut total {
                    Some(total) => total.merge(tally),
                    None => total = Some(tally),
                }
            }
        } else {
            total = Some(self.track(seeds, log, &mut sequence, &mut saved, &mut shares)?);
        }
        if self.options.save_paths {
            out.write("saved_paths.txt", saved.as_bytes())?;
        }
        let Some(total) = total else { return Ok(()) };
        count(&total, log);
        if sequence.is_none() {
            log.count_shares_of("samples", &shares);
        }
        if total.kept.iter().sum::<u64>() == 0 {
            log.warn(Page::Tracking, "no sample was kept: see in run.json why they ended");
        }
        if !self.options.simple {
            self.write_visits(&total, &self.options.out, out)?;
            self.write_waytotal(&total, out)?;
        }
        self.write_targets(&total, out)?;
        self.write_target_paths(&total, out)?;
        self.write_network(&total, out)?;
        self.write_matrices(&total, out)
    }

    fn tracking<'t>(&'t self, seeds: &'t [Seed]) -> Tracking<'t> {
        Tracking {
            field: self.field,
            space: self.space,
            propagation: &self.options.propagation,
            rules: self.rules,
            seeds,
            n_samples: self.options.n_samples,
            jitter_mm: self.options.sampvox_mm,
            rng_seed: self.options.rng_seed,
        }
    }

    fn track<'t>(
        &'t self,
        seeds: &'t [Seed],
        log: &Logbook<'_>,
        sequence: &mut Option<Sequence>,
        saved: &mut String,
        shares: &mut Shares,
    ) -> Result<Tally<'t>, Probtrackx2Error> {
        let options = self.options;
        let new = || {
            let distances = options.pd || options.ompl;
            let regions = self.seed_set.n_regions().max(1);
            let mut tally = Tally::new(self.space, regions, distances);
            if !self.targets.is_empty() {
                tally.targets = Some(Targets::new(self.targets, seeds.len()));
            }
            tally.network = options.network.then(|| NetworkMatrix::new(regions));
            if options.otargetpaths {
                tally.count_target_paths(options.opathdir);
            }
            if options.opathdir {
                tally.visits.count_orientations();
            }
            self.matrices.count_in(&mut tally, self.space, &options.propagation);
            Counted { tally, saves: options.save_paths, saved: Vec::new() }
        };
        let tracking = self.tracking(seeds);
        let counted = match sequence {
            Some(sequence) => {
                let mut counted = new();
                track_slowly(&tracking, Some(sequence), log, &mut counted)?;
                saved.push_str(&counted.end_block());
                vec![counted]
            }
            None => {
                let on = log.session().on;
                let made = track_on(&tracking, on, Deal::default(), log, new, |block: String| {
                    saved.push_str(&block);
                    Ok::<(), Probtrackx2Error>(())
                })?;
                shares.add(&made.shares);
                made.collectors
            }
        };
        let mut tallies = counted.into_iter().map(|counted| counted.tally);
        let mut sum = tallies.next().unwrap_or_else(|| new().tally);
        tallies.for_each(|tally| sum.merge(tally));
        Ok(sum)
    }
}

/// A tally, and where wanted the paths as text.
struct Counted<'a> {
    tally: Tally<'a>,
    saves: bool,
    /// By what samples are sorted by: they end in any order.
    saved: Vec<((usize, u32), String)>,
}

impl Counted<'_> {
    fn save(&mut self, sample: &Sample<'_>) {
        if self.saves {
            let mut text = String::new();
            outputs::save_path(sample, &mut text);
            self.saved.push((sample.order, text));
        }
    }
}

impl Collect for Counted<'_> {
    type Block = String;

    fn sample(&mut self, sample: &Sample<'_>) {
        self.tally.add(sample);
        self.save(sample);
    }

    fn needs(&self) -> Needs<'_> {
        // Paths are written as they were made, kept or not.
        let points = if self.saves { Points::All } else { Points::None };
        Needs { points, ..self.tally.needs() }
    }

    fn counted(&mut self, counts: &Counts) {
        self.tally.add_counts(counts);
    }

    fn met(&mut self, met: &Met<'_>) {
        self.tally.add_met(met);
    }

    fn counted_sample(&mut self, sample: &Sample<'_>) {
        self.save(sample);
    }

    fn end_block(&mut self) -> String {
        self.saved.sort_unstable_by_key(|(order, _)| *order);
        self.saved.drain(..).map(|(_, text)| text).collect()
    }
}
