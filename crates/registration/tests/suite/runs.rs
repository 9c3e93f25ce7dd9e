//! A head scanned in two runs.

use fimbria_compute::Workers;
use fimbria_image::GradientTable;
use fimbria_image::frames::{product, turned};
use fimbria_registration::{Distortion, Lattice, Scan as Measured, rotation};

use crate::distorted::shift;
use crate::phantom;
use crate::scans::{Made, Scan};

/// Two runs as one series.
pub(crate) struct Runs {
    pub(crate) made: Made,
    pub(crate) scans: Vec<Measured>,
}

fn opposed(p: [f64; 3]) -> (f64, [f64; 3]) {
    let (mm, slopes) = shift(p);
    (-mm, slopes.map(|slope| -slope))
}

/// Every second volume, then the others: directions of both halves are on the whole sphere.
fn halves(table: &GradientTable) -> GradientTable {
    let is_b0 = |v: &usize| table.is_b0(*v);
    let (b0s, weighted): (Vec<usize>, Vec<usize>) = (0..table.len()).partition(is_b0);
    let half = |at: usize| {
        let [b0s, weighted] = [&b0s, &weighted].map(|of| of.iter().skip(at).step_by(2));
        b0s.chain(weighted).copied()
    };
    let order: Vec<usize> = half(0).chain(half(1)).collect();
    GradientTable {
        b_s_per_mm2: order.iter().map(|v| table.b_s_per_mm2[*v]).collect(),
        dirs_ras: order.iter().map(|v| table.dirs_ras[*v]).collect(),
        ..table.clone()
    }
}

impl Runs {
    /// A scan in two halves that differ in nothing.
    pub(crate) fn cut(made: Made) -> Self {
        let half = made.table.len() / 2;
        let of = |volumes| Measured { volumes, ..Measured::new(&made.series) };
        Self { scans: vec![of(half), of(made.table.len() - half)], made }
    }

    /// Two halves with opposed encodings, a field that the head brings along, and between them a jump of so many mm and
    /// degrees.
    pub(crate) fn opposed(scan: &Scan, jump: f64, workers: &Workers) -> Self {
        let table = halves(&scan.table());
        let (n, half) = (table.len(), table.len() / 2);
        let mut places = scan.places(&table);
        let third = jump / 3f64.sqrt();
        let between = rotation([third, -third, third].map(f64::to_radians));
        for place in &mut places[half..] {
            place.turn = product(&between, &place.turn);
            place.shift_mm = turned(&between, place.shift_mm);
            (0..3).for_each(|a| place.shift_mm[a] += [third, third, -third][a]);
            place.eddy.iter_mut().for_each(|a| *a = -*a);
        }
        let shift_of = |v: usize| if v < half { shift } else { opposed };
        let series =
            workers.install(|| phantom::distorted_series(&table, &places, scan.sigma, &shift_of));
        let lattice = Lattice::new(&series.grid);
        let one = |volumes: usize, sign: f64| {
            let mm = (0..series.grid.len()).map(|v| (sign * shift(lattice.place(v)).0) as f32);
            let distortion = Distortion::along(1, &series.grid, &mm.collect::<Vec<_>>());
            let distortion = Some(distortion);
            Measured { volumes, is_reversed: sign < 0.0, distortion, ..Measured::new(&series) }
        };
        let scans = vec![one(half, 1.0), one(n - half, -1.0)];
        Self { made: Made { series, table, places, dropped: Vec::new() }, scans }
    }

    /// The first of the two.
    pub(crate) fn first_alone(&self) -> Self {
        let n = self.scans[0].volumes;
        let Made { series, table, places, .. } = &self.made;
        let mut series = series.clone();
        series.data.truncate(n * series.grid.len());
        series.n_volumes = n;
        let table = GradientTable {
            b_s_per_mm2: table.b_s_per_mm2[..n].to_vec(),
            dirs_ras: table.dirs_ras[..n].to_vec(),
            ..table.clone()
        };
        let made = Made { series, table, places: places[..n].to_vec(), dropped: Vec::new() };
        Self { made, scans: self.scans[..1].to_vec() }
    }
}
