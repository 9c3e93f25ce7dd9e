//! Whole evaluations: weights from streamlines and a series.

use std::sync::{Arc, Mutex};

use fimbria_compute::comm::{Comm, Solo};
use fimbria_compute::device::DeviceOptions;
use fimbria_compute::philox::{Philox, normals};
use fimbria_compute::{Backend, Progress, Silent, Workers};
use fimbria_image::{Affine, GradientTable, Grid, Image};
use fimbria_life::evidence::{predict, rmse};
use fimbria_life::oracle::Oracle;
use fimbria_life::solve::{Reason, Stop};
use fimbria_life::{
    Demean, EncodeOptions, Encoder, Encoding, Fibres, Grouped, Groups, Hindered, LifeError, Method,
    Protocol, Rank, Response, Signal, Surveyor, System, TissueOptions, WeighOptions, Weights,
};
use fimbria_testing::as_processes;

const GRID: Grid = Grid { dims: [16, 16, 10], ras_from_vox: Affine::IDENTITY };

/// One unweighted volume, then spread directions at each b.
fn table(b_values: &[f64], directions: usize) -> GradientTable {
    let mut table =
        GradientTable { b_s_per_mm2: vec![0.0], dirs_ras: vec![[0.0; 3]], b0_threshold: 50.0 };
    for &b in b_values {
        for k in 0..directions {
            let z = (k as f64 + 0.5) / directions as f64;
            let (sin, cos) = (k as f64 * 2.399_963).sin_cos();
            let rho = (1.0 - z * z).sqrt();
            table.b_s_per_mm2.push(b);
            table.dirs_ras.push([rho * cos, rho * sin, z]);
        }
    }
    table
}

/// Bent streamlines across the grid, along x, y or z.
fn lines(count: usize) -> (Vec<u64>, Vec<[f32; 3]>) {
    let philox = Philox::new(23);
    let (mut offsets, mut points) = (vec![0], Vec::new());
    for f in 0..count as u64 {
        let [a, b, c, _] = normals::<f32>(philox.at(f, 0));
        for step in 0..30 {
            let t = step as f32 / 29.0;
            let (across, up) = (7.5 + 3.0 * a + b * (3.0 * t).sin(), 4.5 + 2.0 * b + c * t);
            points.push(match f % 3 {
                0 => [15.0 * t, across, up],
                1 => [across, 15.0 * t, up],
                _ => [across, up + 3.0, 9.0 * t],
            });
        }
        offsets.push(points.len() as u64);
    }
    (offsets, points)
}

/// The signal of a process's voxels.
fn part_of(signal: &Signal, encoding: &Encoding) -> Signal {
    let rows = signal.rows;
    let pick = |all: &[f32], width: usize| -> Vec<f32> {
        let places = encoding.place.iter().map(|place| *place as usize);
        places.flat_map(|place| &all[place * width..][..width]).copied().collect()
    };
    let [y, taken] = [&signal.y, &signal.taken].map(|all| pick(all, rows));
    Signal { y, taken, s0: pick(&signal.s0, 1), ..*signal }
}

struct Subject {
    protocol: Protocol,
    encoding: Encoding,
    signal: Signal,
}

/// The signal of planted weights, given isotropic tissue and noise.
fn subject(b: &[f64], weights: &[f64], isotropic: f64, noise: f32, workers: &Workers) -> Subject {
    let protocol = Protocol::new(&table(b, 30), &Affine::IDENTITY.linear(), Demean::Mean).unwrap();
    let (offsets, points) = lines(weights.len());
    let options = EncodeOptions::default();
    let mut encoder = Encoder::new(GRID, None, &options, workers, &Silent).unwrap();
    encoder.add(&offsets, &points).unwrap();
    let encoding = encoder.finish().unwrap();
    let mut image = Image::zeros(GRID, protocol.rows() + 1);
    image.volume_mut(0).fill(500.0);
    let philox = Philox::new(31);
    let mut column = vec![0.0; protocol.rows()];
    protocol.isotropic_column(3e-3, &mut column);
    for (row, c) in column.iter().enumerate() {
        for (voxel, sample) in image.volume_mut(row + 1).iter_mut().enumerate() {
            let noise = noise * normals::<f32>(philox.at(voxel as u64, row as u32))[0];
            *sample = 250.0 + (500.0 * isotropic * c) as f32 + noise;
        }
    }
    for (f, weight) in weights.iter().enumerate() {
        for entry in encoding.entries_of(f) {
            let dir = encoding.atoms[entry.atom as usize].map(f64::from);
            protocol.column(&TissueOptions::default().response, dir, &mut column);
            let voxel = encoding.voxels[entry.voxel as usize] as usize;
            for (row, c) in column.iter().enumerate() {
                let add = 500.0 * weight * f64::from(entry.value) * c;
                image.volume_mut(row + 1)[voxel] += add as f32;
            }
        }
    }
    let voxels = &encoding.voxels;
    let signal = Signal::gather(&image, &GRID, voxels, &protocol, workers, &Solo, &Silent).unwrap();
    Subject { protocol, encoding, signal }
}

/// Every fourth streamline has a weight.
fn planted(count: usize) -> Vec<f64> {
    (0..count).map(|f| if f % 4 == 1 { 0.05 + 0.01 * (f % 9) as f64 } else { 0.0 }).collect()
}

const OPTIONS: WeighOptions = WeighOptions {
    method: Method::Conjugate,
    stop: Stop { max_iterations: 3000, gradient: 1e-5, objective: 0.0 },
    l1: 0.0,
    groups: None,
};

fn weigh(
    subject: &Subject,
    tissue: &TissueOptions,
    options: &WeighOptions,
    on: &Backend<'_>,
    comm: &dyn Comm,
) -> Result<Weights, LifeError> {
    let Subject { protocol, encoding, signal } = subject;
    let system = System::new(encoding, signal, protocol, tissue, on, comm)?;
    system.weigh(options, None, on, comm, &Silent, &mut |_, _| ())
}

#[test]
fn planted_streamlines_are_found_and_false_ones_get_nothing() {
    let workers = Workers::new(2).unwrap();
    let on = Backend::cpu(&workers);
    let planted = planted(150);
    let subject = subject(&[2000.0], &planted, 0.0, 0.0, &workers);
    // Columns overlap a lot: a gradient of 1e-5 still leaves some weights open.
    let options = WeighOptions { stop: Stop { gradient: 1e-6, ..OPTIONS.stop }, ..OPTIONS };
    let found = weigh(&subject, &TissueOptions::default(), &options, &on, &Solo).unwrap();
    assert_eq!(found.reason, Reason::Optimal);
    let is_seen = |f: usize| subject.encoding.entries_of(f).len() > 20;
    for f in (0..150).filter(|&f| is_seen(f)) {
        // Samples are rounded to f32 (3e-5 of signals of 25).
        let error = (f64::from(found.streamlines[f]) - planted[f]).abs();
        assert!(error < 5e-3, "{f}: {} {}", found.streamlines[f], planted[f]);
    }
}

#[test]
fn rounds_on_few_streamlines_come_to_the_optimum_of_all() {
    let workers = Workers::new(2).unwrap();
    let on = Backend::cpu(&workers);
    let subject = subject(&[2000.0], &planted(900), 0.0, 10.0, &workers);
    let found = weigh(&subject, &TissueOptions::default(), &OPTIONS, &on, &Solo).unwrap();
    assert!(found.rounds > 1 && found.optimality <= 1e-5, "{found:?}");
    let options = WeighOptions { method: Method::Sbb, ..OPTIONS };
    let published = weigh(&subject, &TissueOptions::default(), &options, &on, &Solo).unwrap();
    // 3000 steps of the other method need not be enough for it.
    let ratio = found.objective / published.objective;
    assert!((1.0 - 1e-4..1.0 + 1e-7).contains(&ratio), "{ratio} {published:?}");
}

#[test]
fn a_short_basis_costs_less_than_its_error() {
    let workers = Workers::new(2).unwrap();
    let on = Backend::cpu(&workers);
    let subject = subject(&[2000.0], &planted(300), 0.0, 10.0, &workers);
    let full = weigh(&subject, &TissueOptions::default(), &OPTIONS, &on, &Solo).unwrap();
    let tissue = TissueOptions { rank: Rank::Error(1e-3), ..TissueOptions::default() };
    let short = weigh(&subject, &tissue, &OPTIONS, &on, &Solo).unwrap();
    // The objective contains what the basis misses of the signal exactly; of M w it misses 1e-3.
    assert!((short.objective / full.objective - 1.0).abs() < 1e-3);
}

#[test]
fn isotropic_tissue_is_told_apart_where_there_are_two_shells() {
    let workers = Workers::new(2).unwrap();
    let on = Backend::cpu(&workers);
    let subject = subject(&[1000.0, 2500.0], &planted(300), 0.3, 0.0, &workers);
    let tissue = TissueOptions { isotropic_mm2_per_s: vec![3e-3], ..TissueOptions::default() };
    let found = weigh(&subject, &tissue, &OPTIONS, &on, &Solo).unwrap();
    let mean: f32 =
        found.compartments[0].iter().sum::<f32>() / subject.encoding.voxels.len() as f32;
    assert!((mean - 0.3).abs() < 0.01, "{mean}");
}

/// Directions of the fibres of every other voxel.
const FIBRES: [[f32; 3]; 2] = [[0.6, 0.0, 0.8], [0.0, -2.0, 0.0]];

fn around_fibres() -> Hindered {
    let of_voxel = |voxel: usize| FIBRES.map(|dir| dir.map(|c| c * (voxel % 2) as f32));
    let fibres = Arc::new(Fibres::new(2, (0..GRID.len()).flat_map(of_voxel).collect()));
    Hindered { radial_mm2_per_s: vec![0.5e-3], fibres }
}

/// Adds water around the fibres, of these parts of the unweighted signal.
fn add_around_fibres(subject: &mut Subject, parts: [f64; 2]) {
    let Subject { protocol, encoding, signal } = subject;
    let response = Response { radial_mm2_per_s: 0.5e-3, ..Response::default() };
    let rows = protocol.rows();
    let mut column = vec![0.0; rows];
    for (dir, part) in FIBRES.into_iter().zip(parts) {
        let dir = dir.map(f64::from);
        let length = dir.iter().map(|c| c * c).sum::<f64>().sqrt();
        protocol.column(&response, dir.map(|c| c / length), &mut column);
        for (position, _) in encoding.voxels.iter().enumerate().filter(|(_, v)| **v % 2 == 1) {
            let s0 = f64::from(signal.s0[position]);
            let samples = &mut signal.y[position * rows..][..rows];
            samples.iter_mut().zip(&column).for_each(|(y, c)| *y += (s0 * part * c) as f32);
        }
    }
}

#[test]
fn water_around_fibres_is_found_beside_streamlines() {
    let workers = Workers::new(2).unwrap();
    let on = Backend::cpu(&workers);
    let planted = planted(300);
    let mut subject = subject(&[1000.0, 2500.0], &planted, 0.3, 0.0, &workers);
    add_around_fibres(&mut subject, [0.2, 0.1]);
    let tissue = TissueOptions {
        hindered: Some(around_fibres()),
        isotropic_mm2_per_s: vec![3e-3],
        ..TissueOptions::default()
    };
    let found = weigh(&subject, &tissue, &OPTIONS, &on, &Solo).unwrap();
    let voxels = &subject.encoding.voxels;
    assert_eq!(found.compartments.len(), 3);
    for (compartment, expected) in [(0, [0.3, 0.3]), (1, [0.0, 0.2]), (2, [0.0, 0.1])] {
        for (has_fibres, expected) in expected.into_iter().enumerate() {
            let weights = found.compartments[compartment].iter().zip(voxels);
            let of_kind: Vec<f32> =
                weights.filter(|(_, v)| **v as usize % 2 == has_fibres).map(|(w, _)| *w).collect();
            let mean = of_kind.iter().sum::<f32>() / of_kind.len() as f32;
            // Directions at half a degree, and what streamlines along a fibre take over.
            assert!((mean - expected).abs() < 0.02, "{compartment} {has_fibres}: {mean}");
        }
    }
    let predicted = {
        let Subject { protocol, encoding, signal } = &subject;
        let system = System::new(encoding, signal, protocol, &tissue, &on, &Solo).unwrap();
        let beside = (&system.compartments, &found.compartments[..]);
        let System { dictionary, basis, .. } = &system;
        predict(encoding, signal, dictionary, basis, &found.streamlines, beside, &workers)
    };
    let errors = rmse(&predicted, &subject.signal.y, subject.protocol.rows());
    // Of 500.
    assert!(errors.iter().all(|error| *error < 2.0), "{errors:?}");
}

#[test]
fn isotropic_tissue_cannot_be_seen_in_one_shell() {
    let workers = Workers::new(2).unwrap();
    let on = Backend::cpu(&workers);
    let subject = subject(&[2000.0], &planted(20), 0.0, 0.0, &workers);
    let tissue = TissueOptions { isotropic_mm2_per_s: vec![3e-3], ..TissueOptions::default() };
    let refused = weigh(&subject, &tissue, &OPTIONS, &on, &Solo);
    assert!(matches!(refused, Err(LifeError::IsotropicVanishes)), "{refused:?}");
}

#[test]
fn diffusivities_in_square_metres_are_refused() {
    let workers = Workers::new(2).unwrap();
    let on = Backend::cpu(&workers);
    let subject = subject(&[2000.0], &planted(20), 0.0, 0.0, &workers);
    let response = Response { axial_mm2_per_s: 1e-9, radial_mm2_per_s: 0.0 };
    let tissue = TissueOptions { response, ..TissueOptions::default() };
    let refused = weigh(&subject, &tissue, &OPTIONS, &on, &Solo);
    assert!(matches!(refused, Err(LifeError::ResponseVanishes(_))), "{refused:?}");
}

#[test]
fn a_penalty_leaves_fewer_streamlines() {
    let workers = Workers::new(2).unwrap();
    let on = Backend::cpu(&workers);
    let subject = subject(&[2000.0], &planted(300), 0.0, 10.0, &workers);
    let count = |l1| {
        let options = WeighOptions { l1, ..OPTIONS };
        weigh(&subject, &TissueOptions::default(), &options, &on, &Solo).unwrap().nonzero()
    };
    let (none, some, all) = (count(0.0), count(0.05), count(1.01));
    assert!(none > some && some > 0 && all == 0, "{none} {some} {all}");
}

/// Ten groups of thirty streamlines, every second of which has weights.
fn planted_groups() -> (Vec<f64>, Vec<Vec<u32>>) {
    let weight = |f: usize| match f / 30 % 2 {
        0 => 0.05 + 0.01 * (f % 9) as f64,
        _ => 0.0,
    };
    let groups = (0..10).map(|group| (30 * group..30 * (group + 1)).collect()).collect();
    ((0..300).map(weight).collect(), groups)
}

#[test]
fn a_penalty_on_groups_ends_where_the_kkt_conditions_hold() {
    let workers = Workers::new(2).unwrap();
    let on = Backend::cpu(&workers);
    let (planted, members) = planted_groups();
    let subject = subject(&[2000.0], &planted, 0.0, 10.0, &workers);
    let (share, root) = (0.2, 30.0_f64.sqrt());
    let weigh = |share: f64| {
        let groups = Groups::new(members.clone(), 300).unwrap();
        let options = WeighOptions { groups: Some(Grouped { groups, share }), ..OPTIONS };
        weigh(&subject, &TissueOptions::default(), &options, &on, &Solo).unwrap()
    };
    let found = weigh(share);
    assert_eq!(found.reason, Reason::Optimal);
    // The definition's slopes, in f64: of the weights found, and of none.
    let Subject { protocol, encoding, signal } = &subject;
    let response = TissueOptions::default().response;
    let oracle = Oracle::of_encoding(encoding, signal, protocol, &response);
    let slopes = |w: &[f64]| -> Vec<f64> {
        let pairs = oracle.apply(w).into_iter().zip(&signal.y);
        oracle.adjoint(&pairs.map(|(mw, y)| mw - f64::from(*y)).collect::<Vec<_>>())
    };
    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|v| v * v).sum::<f64>().sqrt();
    let inward = |slopes: &[f64], group: &[u32]| {
        norm(&mut group.iter().map(|&f| (-slopes[f as usize]).max(0.0)))
    };
    let at_zero = slopes(&[0.0; 300]);
    let least = members.iter().map(|group| inward(&at_zero, group) / root).fold(0.0, f64::max);
    let strength = share * least * root;
    let w: Vec<f64> = found.streamlines.iter().map(|w| f64::from(*w)).collect();
    let slopes = slopes(&w);
    // Optimal to 1e-5 of the slopes at zero, of which the strength is a fifth.
    let close = 1e-3 * strength;
    for (number, group) in members.iter().enumerate() {
        let size = norm(&mut group.iter().map(|&f| w[f as usize]));
        assert_eq!(size > 0.0, number % 2 == 0, "group {number}: {size}");
        if size == 0.0 {
            assert!(inward(&slopes, group) <= strength + close);
        }
        for &f in group.iter().filter(|_| size > 0.0) {
            let (w, slope) = (w[f as usize], slopes[f as usize]);
            let rest = slope + strength * w / size;
            assert!(if w > 0.0 { rest.abs() < close } else { rest > -close }, "{f}: {w} {rest}");
        }
    }
    assert_eq!(weigh(1.01).nonzero(), 0);
}

#[test]
fn without_strength_a_penalty_on_groups_changes_nothing() {
    let workers = Workers::new(2).unwrap();
    let on = Backend::cpu(&workers);
    let (planted, members) = planted_groups();
    let subject = subject(&[2000.0], &planted, 0.0, 10.0, &workers);
    let groups = Groups::new(members, 300).unwrap();
    let options = WeighOptions { groups: Some(Grouped { groups, share: 0.0 }), ..OPTIONS };
    let none = weigh(&subject, &TissueOptions::default(), &options, &on, &Solo).unwrap();
    let plain = weigh(&subject, &TissueOptions::default(), &OPTIONS, &on, &Solo).unwrap();
    // Both end at a gradient of 1e-5: objectives agree to its square and rounding.
    assert!((none.objective / plain.objective - 1.0).abs() < 1e-6, "{none:?} {plain:?}");
}

#[test]
fn a_warm_start_takes_fewer_iterations() {
    let workers = Workers::new(2).unwrap();
    let on = Backend::cpu(&workers);
    let Subject { protocol, encoding, signal } =
        subject(&[2000.0], &planted(300), 0.0, 10.0, &workers);
    let tissue = TissueOptions::default();
    let system = System::new(&encoding, &signal, &protocol, &tissue, &on, &Solo).unwrap();
    let run = |start: Option<&[f32]>| {
        system.weigh(&OPTIONS, start, &on, &Solo, &Silent, &mut |_, _| ()).unwrap()
    };
    let cold = run(None);
    let warm = run(Some(&cold.streamlines));
    assert!(warm.iterations < cold.iterations / 4, "{} {}", warm.iterations, cold.iterations);
    let refused = system.weigh(&OPTIONS, Some(&[0.0; 3]), &on, &Solo, &Silent, &mut |_, _| ());
    assert!(matches!(refused, Err(LifeError::WarmStart { found: 3, streamlines: 300 })));
}

#[test]
fn weights_on_the_way_begin_where_they_were_with_isotropic_ones() {
    let workers = Workers::new(2).unwrap();
    let subject = subject(&[1000.0, 2500.0], &planted(60), 0.3, 5.0, &workers);
    let tissue = TissueOptions { isotropic_mm2_per_s: vec![3e-3], ..TissueOptions::default() };
    let on = Backend::cpu(&workers);
    let Subject { protocol, encoding, signal } = &subject;
    let system = System::new(encoding, signal, protocol, &tissue, &on, &Solo).unwrap();
    for method in [Method::Conjugate, Method::Sbb] {
        let mut kept = None;
        let mut keep = |step: &fimbria_life::solve::Step, weights: &dyn Fn() -> Vec<f32>| {
            if step.iteration == 4 {
                kept = Some((step.objective, weights()));
            }
        };
        let options = WeighOptions { method, ..OPTIONS };
        system.weigh(&options, None, &on, &Solo, &Silent, &mut keep).unwrap();
        let (objective, weights) = kept.unwrap();
        assert_eq!(weights.len(), 60 + encoding.voxels.len());
        let none = Stop { max_iterations: 0, ..OPTIONS.stop };
        let there = WeighOptions { stop: none, ..options };
        let again =
            system.weigh(&there, Some(&weights), &on, &Solo, &Silent, &mut |_, _| ()).unwrap();
        // Weights are rounded to f32; the watched objective is that of the columns' space.
        let ratio = (again.objective - system.outside) / objective;
        assert!((ratio - 1.0).abs() < 1e-5, "{method:?}: {ratio}");
    }
}

#[test]
fn a_device_comes_to_the_same_weights() {
    let Some(device) = fimbria_testing::opencl_device() else { return };
    let workers = Workers::new(2).unwrap();
    let devices = [device];
    let subject = subject(&[2000.0], &planted(120), 0.0, 10.0, &workers);
    let run =
        |on: &Backend<'_>| weigh(&subject, &TissueOptions::default(), &OPTIONS, on, &Solo).unwrap();
    let here = run(&Backend::cpu(&workers));
    let there = run(&Backend::new(&workers, &devices));
    // To the bit: products on a device have those of the threads.
    assert!(there == here, "{here:?} {there:?}");
}

#[test]
fn the_threads_do_what_a_full_device_cannot() {
    let Some(_) = fimbria_testing::opencl_device() else { return };
    let workers = Workers::new(2).unwrap();
    let subject = subject(&[2000.0], &planted(120), 0.0, 10.0, &workers);
    let (tissue, heard) = (TissueOptions::default(), Heard::default());
    let run = |on: &Backend<'_>| {
        let Subject { protocol, encoding, signal } = &subject;
        let system = System::new(encoding, signal, protocol, &tissue, on, &Solo).unwrap();
        system.weigh(&OPTIONS, None, on, &Solo, &heard, &mut |_, _| ()).unwrap()
    };
    let here = run(&Backend::cpu(&workers));
    // From no room at all to enough of it.
    for limit in (0..60).map(|step| step << 16) {
        let options = DeviceOptions { memory_limit: Some(limit), ..DeviceOptions::default() };
        let devices = [fimbria_testing::opencl_device_with(&options).unwrap()];
        let said = heard.0.lock().unwrap().len();
        let there = run(&Backend::new(&workers, &devices));
        if heard.0.lock().unwrap().len() == said {
            break;
        }
        assert!(there == here, "{limit}: {there:?} {here:?}");
    }
    let said = heard.0.into_inner().unwrap();
    assert!(said.len() >= 5, "{said:?}");
    assert!(said.iter().all(|warning| warning.ends_with("goes to the threads")), "{said:?}");
}

/// The warnings that were said.
#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Progress for Heard {
    fn start(&self, _what: &str, _total: u64) {}
    fn advance(&self, _items: u64) {}
    fn is_cancelled(&self) -> bool {
        false
    }
    fn warn(&self, message: &str) {
        self.0.lock().unwrap().push(message.to_owned());
    }
}

#[test]
fn any_number_of_processes_comes_to_the_same_weights() {
    let workers = Workers::new(1).unwrap();
    let whole = subject(&[1000.0, 2000.0], &planted(900), 0.1, 10.0, &workers);
    let (offsets, points) = lines(900);
    let isotropic = TissueOptions { isotropic_mm2_per_s: vec![3e-3], ..TissueOptions::default() };
    let hindered = TissueOptions { hindered: Some(around_fibres()), ..isotropic.clone() };
    for (tissue, method) in [
        (TissueOptions::default(), Method::Conjugate),
        (isotropic, Method::Conjugate),
        (hindered, Method::Conjugate),
        (TissueOptions::default(), Method::Sbb),
    ] {
        let stop = Stop { max_iterations: 60, ..OPTIONS.stop };
        let options = WeighOptions { method, stop, ..OPTIONS };
        let weighed = |size: usize| -> Vec<Weights> {
            as_processes(size, |comm| {
                let workers = Workers::new(1).unwrap();
                let encode = EncodeOptions::default();
                let mut surveyor = Surveyor::new(GRID, None, &encode, &workers).unwrap();
                if comm.rank() == 0 {
                    surveyor.add(&offsets, &points);
                } else {
                    surveyor.skip(900);
                }
                let (_, deal) = surveyor.finish(30, comm);
                let encoder = Encoder::new(GRID, None, &encode, &workers, &Silent).unwrap();
                let mut encoder = encoder.share(&deal, comm);
                encoder.add(&offsets, &points).unwrap();
                let encoding = encoder.finish().unwrap();
                assert_eq!(encoding.passed, whole.encoding.voxels);
                assert_eq!(encoding.counts, whole.encoding.counts);
                let signal = part_of(&whole.signal, &encoding);
                let protocol = whole.protocol.clone();
                let subject = Subject { protocol, encoding, signal };
                weigh(&subject, &tissue, &options, &Backend::cpu(&workers), comm).unwrap()
            })
        };
        let alone = weighed(1);
        for size in [2, 3] {
            for found in weighed(size) {
                // To the bit: sums over processes are exact.
                assert!(found == alone[0], "{size}: {} {}", found.objective, alone[0].objective);
            }
        }
    }
}
