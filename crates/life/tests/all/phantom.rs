//! A head with bundles: weights planted on its streamlines come back, and connections that are not
//! there get none.

use fimbria_compute::comm::Solo;
use fimbria_compute::{Backend, Silent, Workers};
use fimbria_image::Affine;
use fimbria_life::evidence::predict;
use fimbria_life::solve::Stop;
use fimbria_life::{
    Compartments, Demean, EncodeOptions, Encoder, Encoding, Grouped, Groups, Protocol, Response,
    Signal, System, TissueOptions, WeighOptions, Weights,
};
use fimbria_phantoms::{
    Acquisition, CrossingSpec, Diffusivities, Placement, ShellSpec, Subject, Tract, crossing,
    tracts,
};

/// The head in voxels of 4 mm, one shell of 64 directions.
fn spec(snr: f64) -> CrossingSpec {
    let usual = CrossingSpec::default();
    CrossingSpec {
        placement: Placement { dims: [38, 45, 35], voxel_mm: [4.0; 3], ..usual.placement },
        acquisition: Acquisition {
            b0s: 4,
            shells: vec![ShellSpec { b_s_per_mm2: 2000.0, directions: 64 }],
        },
        snr,
        samples_per_axis: 3,
        ..usual
    }
}

struct Head {
    subject: Subject,
    tracts: Vec<Tract>,
    encoding: Encoding,
    protocol: Protocol,
}

impl Head {
    fn new(spec: &CrossingSpec, spacing_mm: f64, workers: &Workers) -> Self {
        let subject = crossing(spec, workers, &Silent).unwrap();
        let tracts = tracts(&spec.placement, spacing_mm).unwrap();
        let frame = Affine::IDENTITY.linear();
        let protocol = Protocol::new(&subject.gradients, &frame, Demean::Mean).unwrap();
        let (mut offsets, mut points) = (vec![0], Vec::new());
        for line in tracts.iter().flat_map(|tract| &tract.streamlines) {
            points.extend(line);
            offsets.push(points.len() as u64);
        }
        let (grid, options) = (subject.dwi.grid, EncodeOptions::default());
        let mask = Some(&subject.mask);
        let mut encoder = Encoder::new(grid, mask, &options, workers, &Silent).unwrap();
        encoder.add(&offsets, &points).unwrap();
        let encoding = encoder.finish().unwrap();
        Self { subject, tracts, encoding, protocol }
    }

    fn signal(&self, workers: &Workers) -> Signal {
        let (dwi, voxels) = (&self.subject.dwi, &self.encoding.voxels);
        Signal::gather(dwi, &dwi.grid, voxels, &self.protocol, workers, &Solo, &Silent).unwrap()
    }

    fn weigh(
        &self,
        signal: &Signal,
        gradient: f64,
        penalty: &WeighOptions,
        workers: &Workers,
    ) -> (System, Weights) {
        let on = Backend::cpu(workers);
        let system =
            System::new(&self.encoding, signal, &self.protocol, &tissue(), &on, &Solo).unwrap();
        let stop = Stop { max_iterations: 3000, gradient, objective: 0.0 };
        let options = WeighOptions { stop, ..penalty.clone() };
        let found = system.weigh(&options, None, &on, &Solo, &Silent, &mut |_, _| ()).unwrap();
        (system, found)
    }

    /// A group for each bundle, as it is in the head's own tractogram.
    fn bundles(&self) -> Groups {
        let mut first = 0;
        let members = self.tracts.iter().map(|tract| {
            let begin = first;
            first += tract.streamlines.len() as u32;
            (begin..first).collect()
        });
        let members: Vec<Vec<u32>> = members.collect();
        Groups::new(members, first as usize).unwrap()
    }

    /// True where there are such fibres, for every streamline.
    fn is_true(&self) -> Vec<bool> {
        let of_tract = |tract: &Tract| vec![tract.is_true; tract.streamlines.len()];
        self.tracts.iter().flat_map(of_tract).collect()
    }
}

/// Fibres as the phantom has them.
fn tissue() -> TissueOptions {
    let Diffusivities { axial, radial, .. } = Diffusivities::default();
    let response = Response { axial_mm2_per_s: axial, radial_mm2_per_s: radial };
    TissueOptions { response, ..TissueOptions::default() }
}

#[test]
fn weights_planted_on_a_head_come_back() {
    let workers = Workers::new(2).unwrap();
    let head = Head::new(&spec(30.0), 4.0, &workers);
    let mut signal = head.signal(&workers);
    let none = WeighOptions::default();
    let (system, _) = head.weigh(&signal, 0.1, &none, &workers);
    // True streamlines carry 0.2 to 0.4, false ones nothing.
    let all = head.is_true();
    let planted: Vec<f32> = all
        .iter()
        .enumerate()
        .map(|(f, is_true)| if *is_true { 0.2 + 0.025 * (f % 9) as f32 } else { 0.0 })
        .collect();
    let System { dictionary, basis, .. } = &system;
    signal.y = predict(
        &head.encoding,
        &signal,
        dictionary,
        basis,
        &planted,
        (&Compartments::default(), &[]),
        &workers,
    );
    let (_, found) = head.weigh(&signal, 1e-7, &none, &workers);
    let (mut error, mut size) = (0.0_f64, 0.0_f64);
    for (w, planted) in found.streamlines.iter().zip(&planted) {
        // Where the signal is exactly that of the true ones, false ones get exactly nothing, and
        // all true ones keep a weight.
        assert_eq!(*w > 0.0, *planted > 0.0, "weight {w} of a streamline planted with {planted}");
        error += f64::from(w - planted).powi(2);
        size += f64::from(*planted).powi(2);
    }
    // Streamlines as far apart as voxels are wide: neighbours share voxels, so that rounding of
    // the signal (6e-8) shows some thousand times larger.
    let error = (error / size).sqrt();
    assert!(error < 2e-3, "{error}");
}

/// Sensitivity: the share of true streamlines that keep any weight. Specificity: the share of false
/// ones that have exactly none, and of those that have less than a fifth of what a true one keeps
/// (median).
///
/// Voxels at the edge of bundles, and where bundles cross, are no sums of the streamlines that are
/// there, and what is left over false ones explain a little of. Without a penalty half of them keep
/// some weight, all together two thousandths of it. A penalty on bundles, whose sum over a bundle's
/// streamlines is what little is left over, takes it from nine of ten and from no true one.
#[test]
#[allow(clippy::print_stderr)]
fn false_connections_explain_next_to_nothing() {
    let workers = Workers::new(2).unwrap();
    for snr in [f64::INFINITY, 30.0] {
        let head = Head::new(&spec(snr), 4.0, &workers);
        let is_true = head.is_true();
        let on_bundles = Grouped { groups: head.bundles(), share: 0.1 };
        let penalties = [
            ("no penalty", WeighOptions::default(), [0.95, 0.4, 0.8]),
            ("L1 0.03", WeighOptions { l1: 0.03, ..WeighOptions::default() }, [0.95, 0.7, 0.8]),
            (
                "groups 0.1",
                WeighOptions { groups: Some(on_bundles), ..WeighOptions::default() },
                [0.95, 0.8, 0.9],
            ),
        ];
        for (name, penalty, least) in penalties {
            let (_, found) = head.weigh(&head.signal(&workers), 1e-5, &penalty, &workers);
            let of = |kind: bool| -> Vec<f32> {
                let pairs = is_true.iter().zip(&found.streamlines);
                pairs.filter(|(t, _)| **t == kind).map(|(_, w)| *w).collect()
            };
            let (mut real, unreal) = (of(true), of(false));
            real.sort_by(f32::total_cmp);
            let median = real[real.len() / 2];
            let share = |weights: &[f32], least: f32| {
                weights.iter().filter(|w| **w > least).count() as f64 / weights.len() as f64
            };
            let sensitivity = share(&real, 0.0);
            let zero = 1.0 - share(&unreal, 0.0);
            let little = 1.0 - share(&unreal, 0.2 * median);
            let sum = |weights: &[f32]| weights.iter().map(|w| f64::from(*w)).sum::<f64>();
            let false_weight = sum(&unreal) / (sum(&unreal) + sum(&real));
            let counts = format!("{} true, {} false streamlines", real.len(), unreal.len());
            eprintln!(
                "SNR {snr}, {name}, {counts}: sensitivity {sensitivity:.3}, specificity {zero:.3} \
                 (weight of zero), {little:.3} (a fifth of the true ones' median), {:.2} % of the \
                 weight",
                100.0 * false_weight
            );
            let reached = [sensitivity, zero, little];
            assert!(
                reached.iter().zip(least).all(|(reached, least)| *reached > least),
                "SNR {snr}, {name}: {reached:?}"
            );
            assert!(false_weight < 0.005, "SNR {snr}, {name}: {false_weight}");
        }
    }
}
