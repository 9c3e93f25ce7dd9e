//! Paths of probtrackx2 with every random draw fixed (section 5 of the reference data's README).

use std::io::Read as _;
use std::path::Path;

use fimbria_compute::Workers;
use fimbria_image::OpenOptions;
use fimbria_image::bedpostx::read_bedpostx;
use fimbria_tracking::{
    EndReason, Field, LocalRules, Propagation, Propagator, SampleChoice, Sequence, Space, Visit,
    is_reversed, propagate,
};

/// Keeps every point.
#[derive(Default)]
struct Path3(Vec<[f32; 3]>);

impl Visit for Path3 {
    fn enter(&mut self, pos: [f32; 3], _dir: [f32; 3]) -> Result<(), EndReason> {
        self.0.push(pos);
        Ok(())
    }
    fn leave(&mut self) -> Result<(), EndReason> {
        Ok(())
    }
}

/// A path of the reference: the seed as typed, points of the first half, all points.
struct Reference {
    seed: [f32; 3],
    first_half: usize,
    points: Vec<[f32; 3]>,
}

fn references(path: &Path) -> Vec<Reference> {
    let mut text = String::new();
    let file = std::fs::File::open(path).unwrap();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let mut paths: Vec<Reference> = Vec::new();
    for line in text.lines() {
        let numbers =
            |text: &str| text.split_whitespace().map(|n| n.parse().unwrap()).collect::<Vec<f32>>();
        if let Some(header) = line.strip_prefix('#') {
            let n = numbers(header);
            let (seed, first_half) = ([n[1], n[2], n[3]], n[4] as usize);
            paths.push(Reference { seed, first_half, points: Vec::new() });
        } else {
            let point = numbers(line).try_into().unwrap();
            paths.last_mut().unwrap().points.push(point);
        }
    }
    paths
}

/// How many paths agree, of how many; with a sequence only those before the first that does not.
fn agreement(
    input: &str,
    case: &str,
    options: &Propagation,
    draws: Sequence,
) -> Option<(usize, usize)> {
    let folder = fimbria_testing::refdata("fsl")?;
    let samples = folder.join("inputs").join(input).join("merged");
    let mask = folder.join("inputs").join(input).join("nodif_brain_mask.nii.gz");
    let workers = Workers::new(2).unwrap();
    let samples =
        workers.install(|| read_bedpostx(&samples, Some(&mask), &OpenOptions::default())).unwrap();
    let field = Field::new(samples, &workers);
    let path = folder.join("cases/deterministic").join(format!("{input}_{case}.txt.gz"));
    let references = references(&path);
    let (space, local) = (Space::same(*field.grid()), LocalRules::default());
    let by = Propagator { field: &field, options, local: &local, space: &space, towards: None };
    let mut draws = draws;
    let mut agree = 0;
    for (index, reference) in references.iter().enumerate() {
        let mut start = reference.seed;
        if is_reversed(field.grid()) {
            start[0] = field.grid().dims[0] as f32 - 1.0 - start[0];
        }
        let mut path = Path3::default();
        let first = propagate(by, 0, start, None, &mut draws, &mut path);
        let first_half = path.0.len();
        let back = first.first_dir.map(|dir| dir.map(|x| -x));
        propagate(by, 1, start, back, &mut draws, &mut path);
        let near = |a: &[f32; 3], b: &[f32; 3]| (0..3).all(|k| (a[k] - b[k]).abs() <= 2e-4);
        let same = first_half == reference.first_half
            && path.0.len() == reference.points.len()
            && path.0.iter().zip(&reference.points).all(|(a, b)| near(a, b));
        agree += usize::from(same);
        if !same && matches!(draws, Sequence::Lcg(_)) {
            return Some((agree, index + 1));
        }
    }
    Some((agree, references.len()))
}

fn fsl() -> Propagation {
    Propagation {
        sample_choice: SampleChoice::HalfWeightEnds,
        ends_inside: false,
        ..Propagation::default()
    }
}

/// 98 % of the paths must be the same: ties of `f32` arithmetic change a few.
fn check(input: &str, case: &str, options: &Propagation) {
    let Some((agree, total)) = agreement(input, case, options, Sequence::Constant(0.5)) else {
        return;
    };
    assert!(agree * 100 >= total * 98, "{input} {case}: {agree} of {total}");
}

/// A tie shifts all draws that follow it, so only the first 50 paths must be the same.
fn check_sequence(input: &str, case: &str, options: &Propagation) {
    let Some((agree, _)) = agreement(input, case, options, Sequence::Lcg(12_345)) else { return };
    assert!(agree >= 50, "{input} {case}: {agree} before the first that differs");
}

#[test]
fn paths_at_one_half_are_those_of_probtrackx2() {
    for input in ["phantom_detneg", "phantom_detpos", "phantom_aniso", "realbpx"] {
        check(input, "U050_euler", &fsl());
    }
}

#[test]
fn paths_of_modified_euler_at_one_half_are_those_of_probtrackx2() {
    let options = Propagation { modified_euler: true, ..fsl() };
    for input in ["phantom_detneg", "phantom_detpos", "phantom_aniso", "realbpx"] {
        check(input, "U050_modeuler", &options);
    }
}

#[test]
fn paths_of_a_sequence_are_those_of_probtrackx2() {
    check_sequence("phantom_aniso", "SEQ_euler", &fsl());
    check_sequence("realbpx", "SEQ_euler", &fsl());
}
