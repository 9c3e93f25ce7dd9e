//! What weights say about the signal and about streamlines.
//!
//! * [`predict`]: the demeaned signal that weights give; [`rmse`]: how far it is from a measured
//!   one, by voxel; [`CrossValidation`]: how that compares with a second measurement;
//! * [`virtual_lesion`]: what the signal loses when some streamlines are taken away, in the
//!   measures of ENCODE ([`Lesion`]).

mod compare;
mod lesion;

use fimbria_compute::Workers;
use rayon::prelude::*;

pub use compare::{Comparison, compare};
pub use lesion::{Lesion, virtual_lesion};

use fimbria_compute::comm::Comm;

use crate::{Basis, Compartments, Dictionary, Encoding, Signal};

/// M w in the rows of the signal, voxel by voxel of this process. `beside` are the
/// compartments and the weights of each, voxel by voxel of all processes.
pub fn predict(
    encoding: &Encoding,
    signal: &Signal,
    dictionary: &Dictionary,
    basis: &Basis,
    weights: &[f32],
    beside: (&Compartments, &[Vec<f32>]),
    workers: &Workers,
) -> Vec<f32> {
    let rank = dictionary.rank();
    let mut coordinates = vec![0.0_f64; rank * signal.voxels()];
    let mut add = |voxel: usize, atom: usize, value: f64| {
        let to = &mut coordinates[voxel * rank..][..rank];
        for (to, c) in to.iter_mut().zip(dictionary.column(atom)) {
            *to += value * f64::from(*c);
        }
    };
    for (f, &weight) in weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
        for entry in encoding.entries_of(f) {
            let s0 = signal.s0[entry.voxel as usize];
            let value = f64::from(weight) * f64::from(entry.value) * f64::from(s0);
            add(entry.voxel as usize, entry.atom as usize, value);
        }
    }
    let (compartments, of_compartments) = beside;
    for (compartment, weights) in of_compartments.iter().enumerate() {
        for (voxel, &place) in encoding.place.iter().enumerate() {
            let Some(column) = compartments.column_of(compartment, voxel) else { continue };
            let value = f64::from(weights[place as usize]) * f64::from(signal.s0[voxel]);
            add(voxel, encoding.atoms.len() + column, value);
        }
    }
    let mut predicted = vec![0.0_f32; signal.rows() * signal.voxels()];
    workers.install(|| {
        let voxels = predicted.par_chunks_mut(signal.rows()).zip(coordinates.par_chunks(rank));
        voxels.for_each_init(
            || vec![0.0; signal.rows()],
            |rows, (to, coordinates)| {
                basis.expand(coordinates, rows, workers.simd());
                to.iter_mut().zip(rows).for_each(|(to, from)| *to = *from as f32);
            },
        );
    });
    predicted
}

/// Root mean squared difference of each voxel's `rows` numbers.
pub fn rmse(a: &[f32], b: &[f32], rows: usize) -> Vec<f32> {
    let square = |(a, b): (&f32, &f32)| (f64::from(*a) - f64::from(*b)).powi(2);
    let of_voxel = |(a, b): (&[f32], &[f32])| {
        (a.iter().zip(b).map(square).sum::<f64>() / rows as f64).sqrt() as f32
    };
    a.chunks(rows).zip(b.chunks(rows)).map(of_voxel).collect()
}

/// A prediction against a second measurement of the same voxels.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossValidation {
    /// Root mean squared difference of the prediction and the second measurement, by voxel.
    pub rmse: Vec<f32>,
    /// That over the difference of the two measurements (Rrmse): below 1 the model, fitted to the
    /// first, predicts the second better than the first itself does. NaN where both are the same.
    ///
    /// Both are NaN where one of the measurements has no usable signal.
    pub ratio: Vec<f32>,
}

impl CrossValidation {
    /// Of `predicted` from the signal `first`, and `second`, on the same voxels.
    pub fn new(predicted: &[f32], first: &Signal, second: &Signal) -> Self {
        let rows = first.rows();
        let mut of_model = rmse(predicted, &second.y, rows);
        let of_data = rmse(&first.y, &second.y, rows);
        for (voxel, rmse) in of_model.iter_mut().enumerate() {
            if first.s0[voxel] <= 0.0 || second.s0[voxel] <= 0.0 {
                *rmse = f32::NAN;
            }
        }
        let ratio = of_model.iter().zip(&of_data).map(|(model, data)| match data {
            0.0 => f32::NAN,
            data => model / data,
        });
        Self { ratio: ratio.collect(), rmse: of_model }
    }
}

/// On the first process the `values` of the voxels of all, `width` a voxel, in the order of all
/// voxels; on the others nothing.
pub fn of_all_voxels(
    encoding: &Encoding,
    values: Vec<f32>,
    width: usize,
    comm: &dyn Comm,
) -> Vec<f32> {
    if comm.size() == 1 {
        return values;
    }
    let bytes = |values: &[f32]| bytemuck::cast_slice(values).to_vec();
    if comm.rank() > 0 {
        comm.to_first(bytemuck::cast_slice(&encoding.place).to_vec(), comm.rank());
        comm.to_first(bytes(&values), comm.rank());
        return Vec::new();
    }
    let mut all = vec![0.0; width * encoding.passed.len()];
    let mut put = |place: &[u32], values: &[f32]| {
        for (&place, values) in place.iter().zip(values.chunks(width)) {
            all[place as usize * width..][..width].copy_from_slice(values);
        }
    };
    put(&encoding.place, &values);
    drop(values);
    for from in 1..comm.size() {
        let place = comm.to_first(Vec::new(), from);
        let values = comm.to_first(Vec::new(), from);
        put(&bytemuck::pod_collect_to_vec(&place), &bytemuck::pod_collect_to_vec(&values));
    }
    all
}

/// The median of the numbers that are finite; NaN of none.
pub fn median(values: &[f32]) -> f32 {
    let mut finite: Vec<f32> = values.iter().copied().filter(|v| v.is_finite()).collect();
    if finite.is_empty() {
        return f32::NAN;
    }
    finite.sort_by(f32::total_cmp);
    let n = finite.len();
    0.5 * (finite[(n - 1) / 2] + finite[n / 2])
}

/// The mean of the numbers that are finite; NaN of none.
pub fn mean(values: &[f32]) -> f64 {
    let finite = || values.iter().filter(|v| v.is_finite());
    finite().map(|v| f64::from(*v)).sum::<f64>() / finite().count() as f64
}
