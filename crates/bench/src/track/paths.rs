//! Visits with and without random numbers: the paper's Figures 4.12 and 4.13.

use std::path::Path;

use fimbria_compute::{Interrupted, Progress, Workers};
use fimbria_image::{Image, Mask, Window};
use fimbria_report::colour::Scale;
use fimbria_report::figure::{Scalar, mosaic_scalar};
use fimbria_tracking::{Propagation, Seed, Sequence, Tally, track_slowly};
use rayon::prelude::*;

use super::super::clock::Interruptible;
use super::super::table::{Table, digits, number, percent, words};
use super::circle::{Circle, by_voxel, in_centres};
use super::subject::{Subject, methods};
use crate::figures::save;
use crate::{Console, Failure};

/// Every choice in the middle: the nearest voxel, of its samples the middle one.
const NO_RANDOM_NUMBERS: Sequence = Sequence::Constant(0.5);

/// Where in their voxels they start, which the paper does not say: in the centre, as probtrackx2 does,
/// so that all of a voxel without random numbers take one path; or anywhere.
const CENTRES: &str = "voxel centres";
const ANYWHERE: &str = "anywhere";

/// Prints how many voxels are visited, and how alike the paths of one voxel are, and draws visits.
/// `particles`: in all.
pub(super) fn table(
    subject: &Subject,
    particles: u32,
    workers: &Workers,
    folder: &Path,
    console: &dyn Console,
) -> Result<(), Failure> {
    let circle = Circle::of(subject);
    let seeds = circle.seeds(particles);
    let (_, basic) = methods()[0];
    let quiet = Interruptible(console);
    let table = Table::begin(
        console,
        [
            words("random numbers", 17),
            words("starts", 13),
            number("particles", 9),
            number("points each", 11),
            number("voxels visited", 14),
            number("in common", 9),
            words("from a circle of", 54),
        ],
    )?;
    let (paper, its) = Circle::PAPER;
    for name in ["paper, none", "paper, every step"] {
        let circle = its.described(paper);
        table.row([name, "-", "100000", "-", "-", "-", &circle])?;
    }
    let mut drawn = Vec::new();
    for (starts, seeds) in [(CENTRES, in_centres(&seeds)), (ANYWHERE, seeds)] {
        let by_voxel = by_voxel(&seeds);
        for (name, file, figure, sequence) in [
            ("none", "visits-no-random-numbers.svg", "without", Some(NO_RANDOM_NUMBERS)),
            ("every step", "visits-random-numbers.svg", "with", None),
        ] {
            let found = visits(subject, &by_voxel, &basic, sequence, workers, &quiet)?;
            let counts: Vec<u32> = counts(subject, &found.all).collect();
            table.row([
                name.to_owned(),
                starts.to_owned(),
                particles.to_string(),
                digits(found.all.points as f64 / f64::from(particles)),
                counts.iter().filter(|&&count| count > 0).count().to_string(),
                found.in_common().map_or("-".to_owned(), percent),
                circle.described(subject.space.grid().dims.map(|n| n as f32)),
            ])?;
            if starts == CENTRES {
                let image = subject.space.image(|voxel| f64::from(counts[voxel]).ln_1p() as f32);
                let heading = format!("Visits of {particles} particles {figure} random numbers");
                drawn.push((file, heading, image));
            }
        }
    }
    // The same colours in both.
    let most = drawn.iter().flat_map(|(.., image)| &image.data).copied().fold(0.0, f32::max);
    let mask = tracked_in(subject);
    for (file, heading, image) in &drawn {
        draw(image, &mask, most, heading, file, folder, console)?;
    }
    Ok(())
}

/// Where the particles of a circle have been.
struct Reached<'a> {
    all: Tally<'a>,
    /// Of every two particles that start in one voxel, voxels that the first visits, and those of them
    /// that the second visits, too.
    visited: u64,
    shared: u64,
}

impl Reached<'_> {
    /// Adds the particles of one voxel: how many there are, and of each voxel how many visit it.
    fn add(&mut self, particles: u64, counts: impl Iterator<Item = u32>) {
        for count in counts.map(u64::from).filter(|&count| count > 0) {
            self.visited += count * (particles - 1);
            self.shared += count * (count - 1);
        }
    }

    /// The share of a particle's voxels that another one from the same voxel visits, too; none where no two
    /// particles start in one.
    fn in_common(&self) -> Option<f64> {
        (self.visited > 0).then(|| self.shared as f64 / self.visited as f64)
    }
}

/// By the plain tracker, which alone takes numbers that are not random.
fn visits<'a>(
    subject: &'a Subject,
    starts: &[Vec<Seed>],
    propagation: &Propagation,
    sequence: Option<Sequence>,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<Reached<'a>, Interrupted> {
    let none = || Reached { all: Tally::new(&subject.space, 1, false), visited: 0, shared: 0 };
    let of_voxel = |seeds: &Vec<Seed>| -> Result<Reached<'a>, Interrupted> {
        let (mut made, mut sequence) = (none(), sequence);
        let tracking = subject.tracking(propagation, seeds, 1);
        track_slowly(&tracking, sequence.as_mut(), progress, &mut made.all)?;
        let counts: Vec<u32> = counts(subject, &made.all).collect();
        made.add(seeds.len() as u64, counts.into_iter());
        Ok(made)
    };
    let sum = |mut sum: Reached<'a>, made: Reached<'a>| {
        sum.all.merge(made.all);
        sum.visited += made.visited;
        sum.shared += made.shared;
        Ok(sum)
    };
    workers.install(|| starts.par_iter().map(of_voxel).try_reduce(none, sum))
}

fn counts<'a>(subject: &Subject, tally: &'a Tally<'_>) -> impl Iterator<Item = u32> + use<'a> {
    (0..subject.space.grid().len()).map(|voxel| tally.visits.count(voxel))
}

/// The voxels that have samples, on the grid of the visits.
fn tracked_in(subject: &Subject) -> Mask {
    let Subject { field, space, .. } = subject;
    Mask::from_image(&space.image(|voxel| {
        let pos = space.grid().voxel(voxel).map(|x| x as f32);
        f32::from(u8::from(field.is_inside(space.to_samples(pos))))
    }))
}

fn draw(
    image: &Image,
    mask: &Mask,
    most: f32,
    heading: &str,
    file: &str,
    folder: &Path,
    console: &dyn Console,
) -> Result<(), Failure> {
    let style = Scalar {
        scale: Scale::Ember,
        window: Window::Fixed([0.0, f64::from(most.max(1.0))]),
        ..Scalar::new(heading, "ln(1 + visits)")
    };
    save(&mosaic_scalar(image, mask, &style)?, file, folder, console)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::fan::{Kept, fan};
    use super::*;

    #[test]
    fn without_random_numbers_paths_keep_to_the_rows_they_start_in() {
        let workers = Workers::new(2).unwrap();
        let subject = fan(&workers);
        let circle = Circle::of(&subject);
        // 10 of 102 voxels, of 40; the paper's place is (20, 20, 5.85), and one seed is as near as can be.
        assert_eq!((circle.centre, circle.radius), ([20.0, 15.0, 5.0], 10.0 / 102.0 * 40.0));
        let seeds = circle.seeds(200);
        let starts = by_voxel(&seeds);
        let (_, basic) = methods()[0];
        let reached = |sequence| {
            let silent = fimbria_compute::Silent;
            let found = visits(&subject, &starts, &basic, sequence, &workers, &silent).unwrap();
            let counts = counts(&subject, &found.all).enumerate();
            let voxels = counts.filter(|(_, count)| *count > 0).map(|(voxel, _)| voxel);
            (voxels.collect::<Vec<usize>>(), found.in_common(), found.all.made)
        };
        let (straight, alike, made) = reached(Some(NO_RANDOM_NUMBERS));
        let rows: BTreeSet<usize> =
            seeds.iter().map(|seed| 40 * (seed.pos[1].round() as usize + 30 * 5)).collect();
        let whole: Vec<usize> = rows.iter().flat_map(|row| *row..row + 40).collect();
        assert_eq!((straight, alike, made), (whole.clone(), Some(1.0), 200));
        let (spread, alike, made) = reached(None);
        let few = alike.is_some_and(|alike| alike < 0.9);
        assert!(spread.len() > whole.len() && few, "{} {alike:?}", spread.len());
        assert_eq!(made, 200);
    }

    #[test]
    fn what_is_in_common_is_what_pairs_of_paths_share() {
        // Voxels that three particles of one start visit, and two of another.
        let paths: [&[&[usize]]; 2] = [&[&[0, 1, 2], &[1, 2], &[2, 3]], &[&[0, 4], &[4]]];
        let (visited, shared) = paths.iter().fold((0, 0), |sums, paths| {
            let pairs = paths.iter().enumerate().flat_map(|(i, one)| {
                let others = paths.iter().enumerate().filter(move |(j, _)| *j != i);
                others.map(move |(_, other)| {
                    (
                        one.len() as u64,
                        one.iter().filter(|voxel| other.contains(voxel)).count() as u64,
                    )
                })
            });
            pairs.fold(sums, |(visited, shared), (of_one, both)| (visited + of_one, shared + both))
        });
        let subject = fan(&Workers::new(1).unwrap());
        let mut found =
            Reached { all: Tally::new(&subject.space, 1, false), visited: 0, shared: 0 };
        found.add(3, [1, 2, 3, 1].into_iter());
        found.add(2, [1, 0, 0, 0, 2].into_iter());
        assert_eq!((found.visited, found.shared), (visited, shared));
        assert_eq!(found.in_common(), Some(10.0 / 17.0));
    }

    #[test]
    fn a_single_particle_has_none_to_be_like() {
        let (folder, console) = (tempfile::tempdir().unwrap(), Kept::default());
        let workers = Workers::new(1).unwrap();
        table(&fan(&workers), 1, &workers, folder.path(), &console).unwrap();
        for starts in [CENTRES, ANYWHERE] {
            let row = console.row(&format!("{:<17}  {starts:<13}", "none"));
            assert_eq!((row[0].as_str(), row[3].as_str()), ("1", "-"), "{starts}");
        }
    }

    #[test]
    fn figures_are_drawn_and_stand_beside_the_papers_numbers() {
        let (folder, console) = (tempfile::tempdir().unwrap(), Kept::default());
        let path = folder.path();
        let workers = Workers::new(2).unwrap();
        let subject = fan(&workers);
        super::super::numbers::table(path, &console).unwrap();
        table(&subject, 300, &workers, path, &console).unwrap();
        for (file, says) in [
            ("random-numbers.svg", "100000 expected"),
            ("random-numbers-off.svg", "1 in 22 outside"),
            ("visits-no-random-numbers.svg", "300 particles without random numbers"),
            ("visits-random-numbers.svg", "300 particles with random numbers"),
        ] {
            let svg = std::fs::read_to_string(path.join(file)).unwrap();
            assert!(svg.contains(says), "{file}");
        }
        assert_eq!(
            console.row("Philox, fimbria's")[..5],
            ["100", "100000", "100", "100000", "315"]
        );
        assert_eq!(console.row("paper, none")[..2], ["-", "100000"]);
        // Particles, points each, voxels visited, percent in common.
        for starts in [CENTRES, ANYWHERE] {
            let found = ["none", "every step"].map(|name| {
                let row = console.row(&format!("{name:<17}  {starts:<13}"));
                [2, 3].map(|at| row[at].parse::<u32>().unwrap())
            });
            let [[straight, all], [spread, few]] = found;
            assert!(straight < spread && few < 90, "{starts}: {found:?}");
            assert_eq!(all, 100, "{starts}");
        }
    }
}
