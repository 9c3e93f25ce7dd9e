//! Sums over pairs of a source and a receiver, evaluated when they are needed.
//!
//! The field of all sources is made tile by tile of 4³ receivers, which stay in registers while
//! the sources pass; the adjoint holds a block of sources while the tiles pass. Nothing is
//! written by two threads, and neither the order of summation nor the formula depends on the
//! number of lanes or threads.
//!
//! A cylinder acts on a slab two voxels thick, so that most tiles are out of its reach: with the
//! cull on only (tile, source) pairs that meet are evaluated, about N^(2/3) of N voxels for each
//! source. Without it this is the paper's operator, every voxel on every voxel.

mod kinds;
mod near;
mod number;
mod tiles;

use std::ops::Range;

use fimbria_compute::{Lanes, Workers};
use pulp::{Simd, WithSimd};
use rayon::prelude::*;

pub(crate) use self::kinds::{CylinderSource, Cylinders, Kind, SphereSource, Spheres};
use self::near::{Near, Slabs};
use self::number::Number as _;
use self::tiles::{AT, BOX, tile_offset};
pub(crate) use self::tiles::{TILE, Tiles};
use crate::{FieldModel, Geometry};

/// Sources between two roundings of a tile's sums to f64.
const CHUNK: usize = 128;
/// Sources that one task of the adjoint holds.
const BLOCK: usize = 256;
/// Vectors in flight.
const FLIGHT: usize = 4;

/// Sources of one kind and the receivers that see them.
pub(crate) struct Pairs<K: Kind> {
    sources: Vec<K::Source<f32>>,
    slabs: Slabs,
    tiles: Tiles,
    cull: bool,
    support: Option<f32>,
}

impl<K: Kind> Pairs<K> {
    /// `sources` seen from the receivers of `model`; with `cull` only where they reach.
    pub(crate) fn new(model: &FieldModel, sources: Vec<K::Source<f32>>, cull: bool) -> Self {
        let mut slabs = Slabs::default();
        for source in &sources {
            let (at, slab) = (K::position(source), K::slab(source));
            for a in 0..3 {
                slabs.at[a].push(at[a]);
                slabs.normal[a].push(if cull { slab.normal[a] } else { 0.0 });
            }
            slabs.half.push(slab.half);
        }
        Self {
            sources,
            slabs,
            tiles: Tiles::new(&model.geometry, &model.receivers),
            cull,
            support: model.support.map(|support| support as f32),
        }
    }

    /// Adds to `field` (receivers) what the sources of strengths `x` make there.
    pub(crate) fn add_field(&self, workers: &Workers, x: &[f32], field: &mut [f32]) {
        if self.sources.is_empty() {
            return;
        }
        let amounts: Vec<f32> =
            self.sources.iter().zip(x).map(|(source, x)| K::strength(source) * x).collect();
        let mut volume = vec![0.0; self.tiles.len()];
        let boxes = volume.par_chunks_mut(BOX).enumerate();
        workers.install(|| {
            boxes.for_each_init(Scratch::default, |scratch, (index, field)| {
                let (pairs, amounts) = (self, &amounts[..]);
                workers.simd().run(FieldOfBox { pairs, amounts, index, field, scratch });
            });
        });
        for (field, &place) in field.iter_mut().zip(&self.tiles.receivers) {
            *field += volume[place as usize];
        }
    }

    /// The adjoint of [`add_field`](Self::add_field): what each source sees of `field`.
    pub(crate) fn gather(&self, workers: &Workers, field: &[f32]) -> Vec<f32> {
        let mut volume = vec![0.0; self.tiles.len()];
        for (field, &place) in field.iter().zip(&self.tiles.receivers) {
            volume[place as usize] = *field;
        }
        let mut x = vec![0.0; self.sources.len()];
        let blocks = x.par_chunks_mut(BLOCK).enumerate();
        workers.install(|| {
            blocks.for_each_init(Scratch::default, |scratch, (block, x)| {
                let (pairs, volume) = (self, &volume[..]);
                let first = block * BLOCK;
                workers.simd().run(SeenByBlock { pairs, volume, first, x, scratch });
            });
        });
        x
    }

    /// The sources among `range` that reach a box.
    fn near(&self, near: &mut Near, range: Range<usize>, index: usize) {
        let origin = self.tiles.box_origin(index);
        near.fill(&self.slabs, (range.start, range.end), origin, self.support);
    }
}

/// What a thread keeps from task to task.
#[derive(Default)]
struct Scratch {
    near: Near,
    ids: Vec<u32>,
    /// TILE partial sums for each source of a block.
    sums: Vec<f32>,
    totals: Vec<f64>,
}

/// Places of the tiles whose bit is set.
fn set_bits(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let tile = (bits != 0).then(|| bits.trailing_zeros() as usize);
        bits &= bits.wrapping_sub(1);
        tile
    })
}

fn tile_origin(tiles: &Tiles, index: usize, tile: usize) -> [f32; 3] {
    let (origin, offset) = (tiles.box_origin(index), tile_offset(tile));
    [origin[0] + offset[0], origin[1] + offset[1], origin[2] + offset[2]]
}

/// The kernel at the receivers of a tile from element `first` on.
#[inline(always)]
fn value<K: Kind, S: Simd>(
    simd: S,
    seen: &K::Seen<Lanes<S>>,
    source: &K::Source<f32>,
    origin: [f32; 3],
    first: usize,
    support: Option<f32>,
) -> Lanes<S> {
    let at = [
        Lanes::load(simd, &AT[0][first..]),
        Lanes::load(simd, &AT[1][first..]),
        Lanes::load(simd, &AT[2][first..]),
    ];
    let value = K::value(seen, at);
    match support {
        None => value,
        Some(support) => {
            let position = K::position(source);
            let x = (at[0] + (origin[0] - position[0])).abs();
            let y = (at[1] + (origin[1] - position[1])).abs();
            let z = (at[2] + (origin[2] - position[2])).abs();
            value.within(x.max(y).max(z), Lanes::new(simd, support))
        }
    }
}

/// The field in one box.
struct FieldOfBox<'a, K: Kind> {
    pairs: &'a Pairs<K>,
    amounts: &'a [f32],
    index: usize,
    field: &'a mut [f32],
    scratch: &'a mut Scratch,
}

impl<K: Kind> WithSimd for FieldOfBox<'_, K> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { pairs, amounts, index, field, scratch } = self;
        let active = pairs.tiles.active[index];
        if active == 0 {
            return;
        }
        pairs.near(&mut scratch.near, 0..pairs.sources.len(), index);
        for tile in set_bits(active) {
            let ids: &[u32] = if pairs.cull {
                scratch.near.of_tile(simd, tile, &mut scratch.ids);
                &scratch.ids
            } else {
                &scratch.near.id
            };
            let origin = tile_origin(&pairs.tiles, index, tile);
            let mut total = [0.0_f64; TILE];
            for ids in ids.chunks(CHUNK) {
                let mut sums = [0.0_f32; TILE];
                field_of_chunk::<K, S>(simd, pairs, amounts, ids, origin, &mut sums);
                for i in 0..TILE {
                    total[i] += f64::from(sums[i]);
                }
            }
            for (field, total) in field[tile * TILE..][..TILE].iter_mut().zip(total) {
                *field = total as f32;
            }
        }
    }
}

#[inline(always)]
fn field_of_chunk<K: Kind, S: Simd>(
    simd: S,
    pairs: &Pairs<K>,
    amounts: &[f32],
    ids: &[u32],
    origin: [f32; 3],
    sums: &mut [f32; TILE],
) {
    let n = Lanes::<S>::LANES;
    let zero = Lanes::new(simd, 0.0);
    let mut first = 0;
    while first < TILE {
        let (mut a, mut b, mut c, mut d) = (zero, zero, zero, zero);
        for &id in ids {
            let source = &pairs.sources[id as usize];
            let amount = Lanes::new(simd, amounts[id as usize]);
            let seen = K::seen(source, origin, zero);
            let support = pairs.support;
            a = value::<K, S>(simd, &seen, source, origin, first, support).mul_add(amount, a);
            b = value::<K, S>(simd, &seen, source, origin, first + n, support).mul_add(amount, b);
            c = value::<K, S>(simd, &seen, source, origin, first + 2 * n, support)
                .mul_add(amount, c);
            d = value::<K, S>(simd, &seen, source, origin, first + 3 * n, support)
                .mul_add(amount, d);
        }
        a.store(&mut sums[first..]);
        b.store(&mut sums[first + n..]);
        c.store(&mut sums[first + 2 * n..]);
        d.store(&mut sums[first + 3 * n..]);
        first += FLIGHT * n;
    }
}

/// What a block of sources sees of the whole field.
struct SeenByBlock<'a, K: Kind> {
    pairs: &'a Pairs<K>,
    volume: &'a [f32],
    /// Index of the block's first source.
    first: usize,
    x: &'a mut [f32],
    scratch: &'a mut Scratch,
}

impl<K: Kind> WithSimd for SeenByBlock<'_, K> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { pairs, volume, first, x, scratch } = self;
        scratch.sums.clear();
        scratch.sums.resize(x.len() * TILE, 0.0);
        scratch.totals.clear();
        scratch.totals.resize(x.len(), 0.0);
        for (index, &active) in pairs.tiles.active.iter().enumerate() {
            if active == 0 {
                continue;
            }
            pairs.near(&mut scratch.near, first..first + x.len(), index);
            if scratch.near.id.is_empty() {
                continue;
            }
            for tile in set_bits(active) {
                let ids: &[u32] = if pairs.cull {
                    scratch.near.of_tile(simd, tile, &mut scratch.ids);
                    &scratch.ids
                } else {
                    &scratch.near.id
                };
                let origin = tile_origin(&pairs.tiles, index, tile);
                let field = &volume[index * BOX + tile * TILE..][..TILE];
                seen_of_tile::<K, S>(simd, pairs, field, ids, origin, first, &mut scratch.sums);
            }
            for &id in &scratch.near.id {
                let i = id as usize - first;
                let sums = &mut scratch.sums[i * TILE..][..TILE];
                scratch.totals[i] += sums.iter().map(|&sum| f64::from(sum)).sum::<f64>();
                sums.fill(0.0);
            }
        }
        for (i, x) in x.iter_mut().enumerate() {
            let strength = f64::from(K::strength(&pairs.sources[first + i]));
            *x = (scratch.totals[i] * strength) as f32;
        }
    }
}

#[inline(always)]
fn seen_of_tile<K: Kind, S: Simd>(
    simd: S,
    pairs: &Pairs<K>,
    field: &[f32],
    ids: &[u32],
    origin: [f32; 3],
    block: usize,
    sums: &mut [f32],
) {
    let n = Lanes::<S>::LANES;
    let zero = Lanes::new(simd, 0.0);
    let mut first = 0;
    while first < TILE {
        let a = Lanes::load(simd, &field[first..]);
        let b = Lanes::load(simd, &field[first + n..]);
        let c = Lanes::load(simd, &field[first + 2 * n..]);
        let d = Lanes::load(simd, &field[first + 3 * n..]);
        for &id in ids {
            let source = &pairs.sources[id as usize];
            let seen = K::seen(source, origin, zero);
            let support = pairs.support;
            let sums = &mut sums[(id as usize - block) * TILE + first..][..FLIGHT * n];
            let at_a = value::<K, S>(simd, &seen, source, origin, first, support);
            let at_b = value::<K, S>(simd, &seen, source, origin, first + n, support);
            let at_c = value::<K, S>(simd, &seen, source, origin, first + 2 * n, support);
            let at_d = value::<K, S>(simd, &seen, source, origin, first + 3 * n, support);
            at_a.mul_add(a, Lanes::load(simd, sums)).store(sums);
            at_b.mul_add(b, Lanes::load(simd, &sums[n..])).store(&mut sums[n..]);
            at_c.mul_add(c, Lanes::load(simd, &sums[2 * n..])).store(&mut sums[2 * n..]);
            at_d.mul_add(d, Lanes::load(simd, &sums[3 * n..])).store(&mut sums[3 * n..]);
        }
        first += FLIGHT * n;
    }
}

/// The same sums in f64, without lanes; what rounding leaves of the fast ones is held against it.
pub(crate) mod double {
    use super::*;

    /// Calls `visit` with the index of a source, that of a receiver and the kernel between them,
    /// for every pair that [`Pairs`] evaluates.
    pub(crate) fn each_pair<K: Kind>(
        pairs: &Pairs<K>,
        sources: &[K::Source<f64>],
        mut visit: impl FnMut(usize, usize, f64),
    ) {
        let mut receiver_at = vec![u32::MAX; pairs.tiles.len()];
        for (receiver, &place) in pairs.tiles.receivers.iter().enumerate() {
            receiver_at[place as usize] = receiver as u32;
        }
        let (mut near, mut ids) = (Near::default(), Vec::new());
        for (index, &active) in pairs.tiles.active.iter().enumerate() {
            pairs.near(&mut near, 0..sources.len(), index);
            for tile in set_bits(active) {
                near.of_tile(pulp::Scalar::new(), tile, &mut ids);
                let ids = if pairs.cull { &ids } else { &near.id };
                let origin = tile_origin(&pairs.tiles, index, tile).map(f64::from);
                for &id in ids {
                    let source = &sources[id as usize];
                    let seen = K::seen(source, origin, 0.0);
                    for element in 0..TILE {
                        let receiver = receiver_at[index * BOX + tile * TILE + element];
                        if receiver == u32::MAX {
                            continue;
                        }
                        let at = [0, 1, 2].map(|a| f64::from(AT[a][element]));
                        let position = K::position(source);
                        let far = |support: f32| {
                            let d = |a: usize| (origin[a] + at[a] - position[a]).abs();
                            d(0).max(d(1)).max(d(2)) > f64::from(support)
                        };
                        if !pairs.support.is_some_and(far) {
                            let value = K::value(&seen, at) * K::strength(source);
                            visit(id as usize, receiver as usize, value);
                        }
                    }
                }
            }
        }
    }
}

/// The cylinders of `model` as sources, and their indices among the unknowns.
pub(crate) fn cylinders<E: number::Element>(
    model: &FieldModel,
) -> (Vec<u32>, Vec<CylinderSource<E>>) {
    let source = |(index, cylinder): (usize, crate::Cylinder)| {
        let at = model.geometry.voxel(model.unknowns[index] as usize);
        (index as u32, CylinderSource::new(&model.geometry, at, &cylinder))
    };
    model.cylinder_sources().map(source).unzip()
}

/// The spheres of `model` as sources, and their indices among the unknowns.
pub(crate) fn spheres<E: number::Element>(model: &FieldModel) -> (Vec<u32>, Vec<SphereSource<E>>) {
    let geometry: &Geometry = &model.geometry;
    let spheres = model.shapes.iter().enumerate().filter(|(_, s)| **s == crate::Shape::Sphere);
    let source = |(index, _): (usize, _)| {
        let at = geometry.voxel(model.unknowns[index] as usize);
        (index as u32, SphereSource::new(geometry, at))
    };
    spheres.map(source).unzip()
}
