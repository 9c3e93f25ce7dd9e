//! The work of the stage.

use fimbria_compute::Backend;
use fimbria_compute::Progress as _;
use fimbria_image::{Affine, BvecFrame, StoredImage};
use fimbria_life::evidence::{CrossValidation, mean, median, predict, rmse, virtual_lesion};
use fimbria_life::solve::Reason;
use fimbria_life::{Grouped, Groups, Protocol, Signal, System, WeighOptions, Weights};
use serde_json::{Value, json};

use super::checkpoint::Checkpoint;
use super::evidence::{named_sets, read_weights};
use super::{Evaluation, Life, LifeInputError, NamedSet, encode_file, write};
use crate::stages::load::Subject;
use crate::{Input, Logbook, OutputFolder, Products, Stage, StageError};

impl Stage for Life<'_> {
    fn name(&self) -> &'static str {
        "life"
    }

    fn needs(&self) -> &'static [&'static str] {
        &["load", "phantom"]
    }

    fn inputs(&self) -> Vec<Input> {
        let mut inputs = vec![("tractogram".to_owned(), self.files.tractogram.clone())];
        let others = [
            ("second dwi", &self.files.second),
            ("labels", &self.files.labels),
            ("sets", &self.files.sets),
            ("start", &self.files.start),
        ];
        for (role, path) in others {
            inputs.extend(path.iter().map(|path| (role.to_owned(), path.clone())));
        }
        // A TRX folder has no hash of its own.
        inputs.retain(|(_, path)| !path.is_dir());
        inputs
    }

    fn parameters(&self) -> Value {
        json!({ "life": self.parameters, "maps": self.style, "entities": self.entities })
    }

    fn outputs(&self) -> Vec<String> {
        write::file_names(self)
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let subject = products.get::<Subject>()?;
        let evaluation = self.evaluate(subject, log)?;
        products.put(evaluation);
        Ok(())
    }

    fn write(
        &self,
        products: &Products,
        out: &mut OutputFolder,
        log: &Logbook<'_>,
    ) -> Result<(), StageError> {
        write::write(self, products.get::<Subject>()?, products.get::<Evaluation>()?, out, log)
    }
}

impl Life<'_> {
    fn evaluate(&self, subject: &Subject, log: &Logbook<'_>) -> Result<Evaluation, StageError> {
        let (grid, on) = (*subject.dwi.grid(), self.backend(log));
        let parameters = &self.parameters;
        let frame_from_ras = if parameters.in_voxel_axes() {
            BvecFrame::Voxel.frame_from_ras(&grid.ras_from_vox)
        } else {
            Affine::IDENTITY.linear()
        };
        let protocol = Protocol::new(&subject.gradients, &frame_from_ras, parameters.demean.0)?;
        parameters.tissue().check(&protocol)?;
        let mask = (subject.mask.len() < grid.len()).then_some(&subject.mask);
        let (encoding, header) =
            encode_file(&self.files.tractogram, grid, mask, &parameters.encode(), log)?;
        log.check()?;

        log.start("gathering signal and columns", 0);
        let voxels = &encoding.voxels;
        let measured = |series: &dyn fimbria_image::SignalSource| {
            let signal = Signal::gather(series, &grid, voxels, &protocol, on.workers, log)?;
            let is_relative = parameters.is_relative();
            Ok::<_, StageError>(if is_relative { signal.relative() } else { signal })
        };
        let signal = measured(&*subject.dwi)?;
        let unusable = signal.dark + signal.not_finite;
        log.count("voxels_dark", signal.dark);
        log.count("voxels_not_finite", signal.not_finite);
        if unusable > 0 {
            log.warn(&format!(
                "{unusable} of {} voxels that streamlines pass have no usable signal and are left \
                 out",
                voxels.len()
            ));
        }

        let tissue = parameters.tissue();
        let system = System::new(&encoding, &signal, &protocol, &tissue, &on, self.comm)?;
        log.count("rank", system.basis.rank() as u64);
        let megabytes = (encoding.bytes() + system.blocks.bytes()) >> 20;
        log.note(&format!(
            "{} streamlines, {} voxels, {} entries, {} atoms of {} of {} numbers; {megabytes} MB",
            encoding.streamlines(),
            voxels.len(),
            encoding.entries.len(),
            encoding.atoms.len(),
            system.basis.rank(),
            system.basis.rows(),
        ));
        let sets = named_sets(&header, self.files.sets.as_deref(), encoding.streamlines())?;
        let weights = self.weigh(&system, &sets, log)?;
        report(&weights, log);

        log.start("predicting the signal", 0);
        let Weights { streamlines, isotropic, .. } = &weights;
        let System { dictionary, basis, .. } = &system;
        let predicted =
            predict(&encoding, &signal, dictionary, basis, streamlines, isotropic, on.workers);
        let errors = rmse(&signal.y, &predicted, signal.rows());
        let relative: Vec<f32> = errors.iter().zip(&signal.s0).map(|(e, s0)| e / s0).collect();
        log.result("rmse_median", f64::from(median(&usable(&errors, &signal))));
        log.result("rmse_s0_mean", mean(&relative));
        let cross = match &self.files.second {
            None => None,
            Some(path) => {
                let second = on.workers.install(|| StoredImage::open(path, &Default::default()))?;
                let cross = CrossValidation::new(&predicted, &signal, &measured(&second)?);
                log.result("rrmse_median", f64::from(median(&usable(&cross.ratio, &signal))));
                Some(cross)
            }
        };
        log.start("virtual lesions", sets.len() as u64);
        let mut lesions = Vec::new();
        for set in sets {
            log.check()?;
            let members = &set.members;
            let lesion = virtual_lesion(
                &encoding,
                &signal,
                dictionary,
                basis,
                streamlines,
                &predicted,
                members,
            );
            lesions.push((set.name, lesion));
            log.advance(1);
        }
        Ok(Evaluation { encoding, signal, weights, predicted, rmse: errors, cross, lesions })
    }

    /// Threads, and one device: processes of one machine take turns at them.
    fn backend<'l>(&self, log: &Logbook<'l>) -> Backend<'l> {
        let Backend { workers, devices } = log.session().on;
        let devices = match devices.len() {
            0 => devices,
            n => std::slice::from_ref(&devices[self.comm.rank() % n]),
        };
        Backend { workers, devices }
    }

    /// The penalty on sets; all streamlines together are none of them.
    fn grouped(
        &self,
        sets: &[NamedSet],
        streamlines: usize,
    ) -> Result<Option<Grouped>, StageError> {
        let share = self.parameters.group;
        if share == 0.0 {
            return Ok(None);
        }
        let members: Vec<_> = sets[1..].iter().map(|set| set.members.clone()).collect();
        let groups = Groups::new(members, streamlines)?;
        if groups.is_empty() {
            return Err(LifeInputError::NoGroups.into());
        }
        Ok(Some(Grouped { groups, share }))
    }

    fn weigh(
        &self,
        system: &System,
        sets: &[NamedSet],
        log: &Logbook<'_>,
    ) -> Result<Weights, StageError> {
        let key = format!("fimbria life: {} {}", system.streamlines, self.parameters());
        let mut checkpoint = self.checkpoint.as_ref().map(|(path, _)| Checkpoint::new(path, &key));
        let mut start = match &self.files.start {
            Some(path) => Some(read_weights(path)?),
            None => None,
        };
        if let (Some(checkpoint), Some((_, true))) = (&checkpoint, &self.checkpoint) {
            match checkpoint.read(system.streamlines) {
                Some(weights) => start = Some(weights),
                None => log.warn("nothing to resume from: beginning anew"),
            }
        }
        let mut cannot_keep = None;
        let mut watch = |_: &fimbria_life::solve::Step, weights: &dyn Fn() -> Vec<f32>| {
            let mine = checkpoint.as_mut().filter(|_| self.comm.rank() == 0);
            if let Some(Err(error)) = mine.map(|c| c.keep(weights)) {
                cannot_keep.get_or_insert(error);
            }
        };
        let on = self.backend(log);
        let groups = self.grouped(sets, system.streamlines)?;
        let options = WeighOptions { groups, ..self.parameters.weigh() };
        let weights = system.weigh(&options, start.as_deref(), &on, self.comm, log, &mut watch)?;
        if let Some(error) = cannot_keep {
            log.warn(&format!("the work could not have been resumed: {error}"));
        }
        if let Some(checkpoint) = checkpoint.filter(|_| self.comm.rank() == 0) {
            checkpoint.remove();
        }
        Ok(weights)
    }
}

/// The values of voxels with a signal.
fn usable(values: &[f32], signal: &Signal) -> Vec<f32> {
    let pairs = values.iter().zip(&signal.s0);
    pairs.filter(|(_, s0)| **s0 > 0.0).map(|(value, _)| *value).collect()
}

/// Notes what the weights came to, and warns where they are no optimum.
fn report(weights: &Weights, log: &Logbook<'_>) {
    let Weights { objective, optimality, iterations, rounds, products, reason, .. } = weights;
    log.result("objective", *objective);
    log.result("nonzero", weights.nonzero());
    log.result("iterations", *iterations);
    log.result("optimality", *optimality);
    log.count("rounds", *rounds as u64);
    log.count("products_forward", products[0] as u64);
    log.count("products_adjoint", products[1] as u64);
    let streamlines = weights.streamlines.len();
    log.note(&format!(
        "{} of {streamlines} streamlines keep a weight after {iterations} iterations",
        weights.nonzero()
    ));
    if *reason != Reason::Optimal {
        log.warn(&format!(
            "the weights are not the optimum yet: the projected gradient is {optimality:.1e} of \
             that without weights after {iterations} iterations"
        ));
    }
}
