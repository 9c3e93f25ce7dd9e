//! The work of the stage.

use std::path::Path;

use fimbria_compute::Progress as _;
use fimbria_image::{Affine, BvecFrame, SignalSource, counted};
use fimbria_life::evidence::{
    CrossValidation, mean, median, of_all_voxels, predict, rmse, virtual_lesion,
};
use fimbria_life::solve::Reason;
use fimbria_life::{Encoding, LifeError, Protocol, Signal, System, TissueOptions, Weights};
use fimbria_workflow::with_sidecar;
use serde_json::{Value, json};

use super::encode::{encode, survey};
use super::evidence::named_sets;
use super::other_inputs::OtherInputs;
use super::{Evaluation, Life, LifeInputError, NamedSet, Prediction, write};
use crate::stages::given_lines::{GivenLines, open_lines};
use crate::stages::load::{Subject, SubjectFiles};
use crate::{Input, Logbook, OutputFolder, Page, Product, Products, Stage, StageError, Taken};

impl Stage for Life {
    fn name(&self) -> &'static str {
        "life"
    }

    fn takes(&self) -> Vec<Taken> {
        vec![Taken::always::<Subject>(), Taken::where_made::<GivenLines>()]
    }

    fn makes(&self) -> Vec<Product> {
        vec![Product::of::<Evaluation>()]
    }

    fn inputs(&self) -> Vec<Input> {
        let mut inputs = vec![("tractogram".to_owned(), self.files.tractogram.clone())];
        let others = [
            ("directions", &self.parameters.directions),
            ("sets", &self.files.sets),
            ("start", &self.files.start),
        ];
        let peaks = self.hindered.peaks.iter();
        inputs.extend(peaks.flat_map(|path| with_sidecar("peaks", path)));
        for (role, path) in others {
            inputs.extend(path.iter().map(|path| (role.to_owned(), path.clone())));
        }
        inputs.extend(self.files.labels.iter().flat_map(|path| with_sidecar("labels", path)));
        let second = self.second.iter().flat_map(SubjectFiles::inputs);
        inputs.extend(second.map(|(role, path)| (format!("second {role}"), path)));
        inputs
    }

    fn parameters(&self) -> Value {
        json!({
            "life": self.parameters.in_effect(),
            "hindered": self.hindered.hindered,
            "maps": self.style,
            "entities": self.entities,
        })
    }

    fn outputs(&self) -> Vec<String> {
        write::file_names(self)
    }

    fn compute(&self, products: &mut Products, log: &Logbook<'_>) -> Result<(), StageError> {
        let subject = products.get::<Subject>()?;
        let evaluation = self.evaluate(subject, products.find::<GivenLines>(), log)?;
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
            .inspect_err(|_| self.say_how_to_go_on(log))
    }
}

impl Life {
    fn evaluate(
        &self,
        subject: &Subject,
        given: Option<&GivenLines>,
        log: &Logbook<'_>,
    ) -> Result<Evaluation, StageError> {
        let (grid, on) = (*subject.dwi.grid(), log.session().on);
        let parameters = &self.parameters;
        let frame_from_ras = if parameters.in_voxel_axes() {
            BvecFrame::Voxel.frame_from_ras(&grid.ras_from_vox)
        } else {
            Affine::IDENTITY.linear()
        };
        let protocol = Protocol::new(&subject.gradients, &frame_from_ras, parameters.demean.0)?;
        let hindered = self.hindered.read(&grid, &frame_from_ras, log)?;
        let tissue = TissueOptions { hindered, ..parameters.tissue() };
        tissue.check(&protocol)?;
        let OtherInputs { second, nodes, sets, start } = OtherInputs::open(self, subject, log)?;
        let mask = (subject.mask.len() < grid.len()).then_some(&subject.mask);
        let (lines, options) = (|| open_lines(given, &self.files.tractogram), parameters.encode()?);
        let inputs = self.inputs_of_all(subject, &protocol, &options, log);
        let (survey, deal) = survey(lines()?, grid, mask, &options, protocol.rows(), inputs, log)?;
        let second_held = second.as_ref().map(SignalSource::held_bytes);
        self.state_memory(&survey, &deal, subject, second_held, &protocol, &tissue, log)?;
        let (mut encoding, header) = encode(lines()?, grid, mask, &options, Some(&deal), log)?;
        let streamlines = encoding.streamlines();
        let sets = named_sets(&header, sets, streamlines)?;
        let groups = self.grouped(&sets, streamlines)?;
        log.check()?;

        log.start("gathering signal and columns", 0);
        let voxels = &encoding.voxels;
        let measured = |series: &dyn SignalSource| {
            Signal::gather(series, &grid, voxels, &protocol, on.workers, on.comm, log)
        };
        let signal = measured(&*subject.dwi)?;
        report_signal(&signal, encoding.passed.len(), log);
        // Before the weights, so that a series which cannot be compared costs no fit.
        let repeated = match (second, &self.second) {
            (Some(second), Some(files)) => {
                Some(repeated(measured(&second), encoding.passed.len(), &files.dwi, log)?)
            }
            _ => None,
        };
        let begin =
            self.begin(&encoding, &signal, &protocol, &tissue, groups.as_ref(), start, log)?;
        let system = System::new(&encoding, &signal, &protocol, &tissue, &on, on.comm)?;
        log.count("rank", system.basis.rank() as u64);
        log.note(&format!(
            "weighing {} by the signal of the {} that they pass",
            counted(streamlines, "streamline"),
            counted(encoding.passed.len(), "voxel"),
        ));
        let weights = self.weigh(&system, groups, begin, log)?;
        report(&weights, log);

        let judge = || {
            let System { dictionary, basis, compartments, .. } = &system;
            let Weights { streamlines, compartments: beside, .. } = &weights;
            let beside = (compartments, &beside[..]);
            log.start("predicting the signal", 0);
            // Where the model is relative to S0, so are its weights: times S0 they predict the
            // series itself.
            let predicted =
                predict(&encoding, &signal, dictionary, basis, streamlines, beside, on.workers);
            let of_all = |values, width| of_all_voxels(&encoding, values, width, on.comm);
            let errors = of_all(rmse(&signal.y, &predicted, signal.rows()), 1);
            let without = match compartments.is_empty() {
                true => vec![0.0; predicted.len()],
                false => predict(&encoding, &signal, dictionary, basis, &[], beside, on.workers),
            };
            let without = of_all(rmse(&signal.y, &without, signal.rows()), 1);
            let has_hindered = tissue.hindered.is_some();
            let restricted = has_hindered.then(|| of_all(restricted(&encoding, streamlines), 1));
            let s0 = of_all(signal.s0.clone(), 1);
            let relative: Vec<f32> = errors.iter().zip(&s0).map(|(e, s0)| e / s0).collect();
            log.result("rmse_median", f64::from(median(&usable(&errors, &s0))));
            log.result("rmse_s0_mean", mean(&relative));
            let relative: Vec<f32> = without.iter().zip(&s0).map(|(e, s0)| e / s0).collect();
            log.result("rmse_s0_mean_without", mean(&relative));
            let second = repeated.as_ref();
            let cross = second.map(|second| CrossValidation::new(&predicted, &signal, second));
            let cross = cross.map(|CrossValidation { rmse, ratio }| {
                let [rmse, ratio] = [rmse, ratio].map(|values| of_all(values, 1));
                CrossValidation { rmse, ratio }
            });
            if let Some(cross) = cross.as_ref().filter(|_| on.comm.rank() == 0) {
                let ratio = median(&usable(&cross.ratio, &s0));
                log.result("rrmse_median", f64::from(ratio));
                if ratio.is_nan() {
                    log.warn(
                        Page::Connectomes,
                        "the second series is the first: nothing is validated by it",
                    );
                }
            }
            log.start("virtual lesions", sets.len() as u64);
            let lesion = |NamedSet { name, members }: NamedSet| {
                log.check()?;
                let found = virtual_lesion(
                    &encoding,
                    &signal,
                    dictionary,
                    basis,
                    streamlines,
                    &predicted,
                    &members,
                    &on,
                );
                log.advance(1);
                Ok((name, found))
            };
            let lesions = sets.into_iter().map(lesion).collect::<Result<_, StageError>>()?;
            Ok::<_, StageError>((predicted, [errors, without], restricted, s0, cross, lesions))
        };
        let (mut signalled, [rmse, rmse_without], restricted, s0, cross, lesions) =
            judge().inspect_err(|_| self.say_how_to_go_on(log))?;
        drop((system, repeated));
        // What was taken before the fit comes back.
        signalled.iter_mut().zip(&signal.taken).for_each(|(to, taken)| *to += taken);
        let rows = signal.rows();
        drop(signal);
        let Encoding { entries, start, atoms, .. } = &mut encoding;
        (*entries, *start, *atoms) = Default::default();
        let predicted = of_all_voxels(&encoding, signalled, rows, on.comm);
        let (voxels, table) = (encoding.passed, &subject.gradients);
        // Python makes an image of the prediction: what the weights took shall not lie beside it.
        fimbria_memory::give_back();
        let writes = on.comm.rank() == 0;
        let prediction = writes.then(|| Prediction::new(grid, &voxels, &s0, predicted, table));
        Ok(Evaluation {
            grid,
            voxels,
            s0,
            weights,
            prediction,
            rmse,
            rmse_without,
            restricted,
            n_isotropic: parameters.isotropic.len(),
            cross,
            nodes,
            lesions,
        })
    }
}

/// What streamlines of these weights are of each voxel.
fn restricted(encoding: &Encoding, weights: &[f32]) -> Vec<f32> {
    let mut sums = vec![0.0_f64; encoding.voxels.len()];
    for (f, &weight) in weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
        for entry in encoding.entries_of(f) {
            sums[entry.voxel as usize] += f64::from(weight) * f64::from(entry.value);
        }
    }
    sums.into_iter().map(|sum| sum as f32).collect()
}

/// The second series, with a warning of what cannot be compared.
fn repeated(
    measured: Result<Signal, LifeError>,
    voxels: usize,
    path: &Path,
    log: &Logbook<'_>,
) -> Result<Signal, StageError> {
    let signal = measured.map_err(|error| match error {
        LifeError::NoSignal { .. } => {
            let (path, what) = (path.to_owned(), error.to_string());
            StageError::from(LifeInputError::NoRepetition { path, what })
        }
        other => other.into(),
    })?;
    match signal.dark + signal.not_finite {
        0 => {}
        unusable => log.warn(
            Page::Connectomes,
            &format!(
                "{unusable} of {} that streamlines pass: no usable signal in {}, not compared",
                counted(voxels, "voxel"),
                path.display()
            ),
        ),
    }
    Ok(signal)
}

/// Counts the voxels without a usable signal, and warns of them.
fn report_signal(signal: &Signal, voxels: usize, log: &Logbook<'_>) {
    let Signal { dark, not_finite, .. } = *signal;
    log.count("voxels_dark", dark);
    log.count("voxels_not_finite", not_finite);
    if dark + not_finite > 0 {
        log.warn(
            Page::Connectomes,
            &format!(
                "{} of {} that streamlines pass: no usable signal, left out",
                dark + not_finite,
                counted(voxels, "voxel")
            ),
        );
    }
}

/// The values of voxels with a signal.
fn usable(values: &[f32], s0: &[f32]) -> Vec<f32> {
    let pairs = values.iter().zip(s0);
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
        "{} of {} keep a weight after {}",
        weights.nonzero(),
        counted(streamlines, "streamline"),
        counted(*iterations, "iteration")
    ));
    if weights.nonzero() == 0 && *reason == Reason::Optimal {
        log.warn(
            Page::Connectomes,
            "no streamline has a weight: the signal asks for none of them, or a penalty of 1 or \
             more left none",
        );
    }
    if *reason != Reason::Optimal {
        log.warn(Page::Connectomes, &format!(
            "the weights are not the optimum yet: the projected gradient is {optimality:.1e} of \
             that without weights after {}",
            counted(*iterations, "iteration")
        ));
    }
}
