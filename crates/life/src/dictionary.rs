//! The columns that streamlines share: D in ENCODE's M = Φ ×₁ D ×₂ S0, in the coordinates of a
//! [`Basis`].

use bytemuck::{Pod, Zeroable};
use fimbria_compute::Workers;
use fimbria_memory::zeros;
use rayon::prelude::*;

use crate::{Basis, Compartments, Protocol, Response};

/// Coordinates of every atom's column.
#[derive(Clone, Debug)]
pub struct Dictionary {
    rank: usize,
    stride: usize,
    /// Columns one after the other, in large pages: they are read in no order.
    columns: Vec<Line>,
}

/// Numbers at a line of the caches, so that a register of 512 bits never straddles two.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([f32; Dictionary::ALIGN]);

impl Dictionary {
    /// Columns begin at multiples of so many numbers; what lies behind the coordinates is zero.
    pub const ALIGN: usize = 16;

    /// The columns of tissue along each direction of `atoms`, then those of compartments.
    pub fn new(
        protocol: &Protocol,
        response: &Response,
        basis: &Basis,
        atoms: &[[f32; 3]],
        compartments: &Compartments,
        workers: &Workers,
    ) -> Self {
        let rank = basis.rank();
        let stride = rank.next_multiple_of(Self::ALIGN);
        let lines = stride / Self::ALIGN;
        let mut columns: Vec<Line> = zeros(lines * (atoms.len() + compartments.columns()));
        let scratch = || (vec![0.0; protocol.rows()], vec![0.0; rank]);
        let fill =
            |(column, coordinates): &mut (Vec<f64>, Vec<f64>), atom: usize, to: &mut [Line]| {
                match atoms.get(atom) {
                    Some(dir) => protocol.column(response, unit(*dir), column),
                    None => compartments.fill(atom - atoms.len(), protocol, column),
                }
                basis.project(column, coordinates, workers.simd());
                for (to, from) in bytemuck::cast_slice_mut(to).iter_mut().zip(coordinates) {
                    *to = *from as f32;
                }
            };
        workers.install(|| {
            let each = columns.par_chunks_mut(lines).enumerate();
            each.for_each_init(scratch, |scratch, (atom, to)| fill(scratch, atom, to));
        });
        Self { rank, stride, columns }
    }

    /// Columns of `rank` numbers, one after the other.
    pub(crate) fn from_columns(rank: usize, numbers: &[f32]) -> Self {
        let stride = rank.next_multiple_of(Self::ALIGN);
        let lines = stride / Self::ALIGN;
        let mut columns: Vec<Line> = zeros(lines * (numbers.len() / rank));
        for (to, from) in columns.chunks_mut(lines).zip(numbers.chunks(rank)) {
            bytemuck::cast_slice_mut(to)[..rank].copy_from_slice(from);
        }
        Self { rank, stride, columns }
    }

    /// Coordinates of a column.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// From one column to the next.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.columns().len() / self.stride
    }

    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// All columns, one after the other.
    pub fn columns(&self) -> &[f32] {
        bytemuck::cast_slice(&self.columns)
    }

    /// One column.
    pub fn column(&self, atom: usize) -> &[f32] {
        &self.columns()[atom * self.stride..][..self.stride]
    }
}

/// A direction of `f32` at unit length in f64.
fn unit(dir: [f32; 3]) -> [f64; 3] {
    let dir = dir.map(f64::from);
    let norm = (dir[0] * dir[0] + dir[1] * dir[1] + dir[2] * dir[2]).sqrt();
    dir.map(|c| c / norm)
}
