//! The definition, in f64 and without haste: what everything else is tested against.
//!
//! `M[(θ,v),f] = S0(v) Σ_a D[θ,a] Φ(a,v,f)`, so that M = Φ ×₁ D ×₂ S0; θ is fastest in rows.

use crate::entry::{EncodeOptions, Share, Sharer, SharerScratch};
use crate::{Encoding, LifeError, Protocol, Response, Signal};
use fimbria_compute::dense::vector::dot;
use fimbria_image::Grid;

/// Φ as a list of coordinates in the order of streamlines, S0 folded in, beside D in full width.
#[derive(Clone, Debug)]
pub struct Oracle {
    /// Weighted volumes: the length of a column.
    pub rows: usize,
    /// Voxels that streamlines pass, linear indices, ascending.
    pub voxels: Vec<u32>,
    /// Number of streamlines.
    pub streamlines: usize,
    /// Columns of D, one after the other.
    pub dictionary: Vec<f64>,
    /// Voxel (position in `voxels`), atom, streamline, value.
    pub phi: Vec<(u32, u32, u32, f64)>,
}

impl Oracle {
    /// Encodes `streamlines` on `grid`; `s0` gives the signal without weighting of a linear index.
    ///
    /// # Errors
    /// Where the options are wrong.
    pub fn new(
        streamlines: &[&[[f32; 3]]],
        grid: Grid,
        options: &EncodeOptions,
        protocol: &Protocol,
        response: &Response,
        s0: impl Fn(u32) -> f64,
    ) -> Result<Self, LifeError> {
        let sharer = Sharer::new(grid, None, options)?;
        let (mut scratch, mut shares) = (SharerScratch::default(), Vec::new());
        let mut all: Vec<(usize, Share)> = Vec::new();
        let mut atoms: Vec<[f64; 3]> = match sharer.orientations() {
            Some(all) => (0..all.len()).map(|atom| all.direction(atom)).collect(),
            None => Vec::new(),
        };
        for (f, points) in streamlines.iter().enumerate() {
            sharer.share(points, &mut scratch, &mut shares);
            let first = if sharer.orientations().is_none() { atoms.len() as u32 } else { 0 };
            all.extend(shares.iter().map(|s| (f, Share { atom: first + s.atom, ..*s })));
            if sharer.orientations().is_none() {
                atoms.extend(&scratch.dirs);
            }
        }
        let mut voxels: Vec<u32> = all.iter().map(|(_, share)| share.voxel).collect();
        voxels.sort_unstable();
        voxels.dedup();
        let phi = all.iter().map(|(f, share)| {
            let voxel = voxels.partition_point(|&v| v < share.voxel) as u32;
            (voxel, share.atom, *f as u32, share.value * s0(share.voxel))
        });
        let phi = phi.collect();
        let rows = protocol.rows();
        let mut dictionary = vec![0.0; rows * atoms.len()];
        for (dir, column) in atoms.iter().zip(dictionary.chunks_mut(rows)) {
            protocol.column(response, *dir, column);
        }
        Ok(Self { rows, voxels, streamlines: streamlines.len(), dictionary, phi })
    }

    /// The same system as products have it, S0 and all, for measurements of a plain loop.
    pub fn of_encoding(
        encoding: &Encoding,
        signal: &Signal,
        protocol: &Protocol,
        response: &Response,
    ) -> Self {
        let rows = protocol.rows();
        let mut dictionary = vec![0.0; rows * encoding.atoms.len()];
        for (dir, column) in encoding.atoms.iter().zip(dictionary.chunks_mut(rows)) {
            protocol.column(response, dir.map(f64::from), column);
        }
        let phi = (0..encoding.streamlines()).flat_map(|f| {
            encoding.entries_of(f).iter().map(move |entry| {
                let s0 = f64::from(signal.s0[entry.voxel as usize]);
                (entry.voxel, entry.atom, f as u32, f64::from(entry.value) * s0)
            })
        });
        Self {
            rows,
            voxels: encoding.voxels.clone(),
            streamlines: encoding.streamlines(),
            dictionary,
            phi: phi.collect(),
        }
    }

    fn column(&self, atom: u32) -> &[f64] {
        &self.dictionary[atom as usize * self.rows..][..self.rows]
    }

    /// y = M w.
    pub fn apply(&self, w: &[f64]) -> Vec<f64> {
        let mut y = vec![0.0; self.rows * self.voxels.len()];
        for &(voxel, atom, f, value) in &self.phi {
            let y = &mut y[voxel as usize * self.rows..][..self.rows];
            for (y, d) in y.iter_mut().zip(self.column(atom)) {
                *y += d * w[f as usize] * value;
            }
        }
        y
    }

    /// w = M'y.
    pub fn adjoint(&self, y: &[f64]) -> Vec<f64> {
        let mut w = vec![0.0; self.streamlines];
        for &(voxel, atom, f, value) in &self.phi {
            let y = &y[voxel as usize * self.rows..][..self.rows];
            let dot: f64 = self.column(atom).iter().zip(y).map(|(d, y)| d * y).sum();
            w[f as usize] += value * dot;
        }
        w
    }

    /// SBB-NNLS (Kim, Sra and Dhillon 2013) in the form used by LiFE, from zero: after each
    /// iteration ½‖Mx - b‖², and the last x.
    pub fn sbb(&self, b: &[f64], iterations: usize) -> (Vec<f64>, Vec<f64>) {
        let mut x = vec![0.0; self.streamlines];
        let residual =
            |x: &[f64]| -> Vec<f64> { self.apply(x).iter().zip(b).map(|(mx, b)| mx - b).collect() };
        let mut g = self.adjoint(&residual(&x));
        let mut old = g.clone();
        let mut objectives = Vec::new();
        for iteration in 1..=iterations {
            let held: Vec<bool> = x.iter().zip(&g).map(|(&x, &g)| x == 0.0 && g > 0.0).collect();
            zero(&held, &mut old);
            let forward = self.apply(&old);
            let step = if iteration % 2 == 0 {
                dot(&old, &old) / dot(&forward, &forward)
            } else {
                let mut back = self.adjoint(&forward);
                zero(&held, &mut back);
                dot(&forward, &forward) / dot(&back, &back)
            };
            for (x, g) in x.iter_mut().zip(&g) {
                *x = (*x - step * g).max(0.0);
            }
            old.copy_from_slice(&g);
            let r = residual(&x);
            g = self.adjoint(&r);
            objectives.push(0.5 * dot(&r, &r));
        }
        (objectives, x)
    }
}

fn zero(held: &[bool], v: &mut [f64]) {
    v.iter_mut().zip(held).filter(|(_, held)| **held).for_each(|(v, _)| *v = 0.0);
}
