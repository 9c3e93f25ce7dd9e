use fimbria_compute::fft::{Complex32, RealFft3};
use fimbria_compute::operator::{LinearOperator, Operator, VectorSpace as _};
use fimbria_compute::{HostError, HostSpace, Workers};
use rayon::prelude::*;

use crate::convolution::{even_spectrum, padded, place};
use crate::kernel::dipole_fields;
use crate::operator::check_weights;
use crate::{Edges, FieldModel, Laplacian, Lattice, QsmError, Shape, Share};

/// The field of susceptibility tensors that are symmetric about known axes, exact: from the mean
/// of every unknown's tensor, then the anisotropy of every one with fibres
/// ([`Shape::Cylinder`], [`Shape::Crossing`]), to the receivers.
///
/// Every voxel is a dipole along its magnetisation M ([`magnetisation`](super::magnetisation));
/// where nothing is anisotropic the field is that of spheres. Three transforms of a zero-padded
/// volume and one back.
pub struct TensorOperator<'w> {
    domain: HostSpace<'w>,
    range: HostSpace<'w>,
    b0: [f32; 3],
    /// Which unknowns have an axis, and M of anisotropy 1 there.
    fibres: Vec<(u32, [f32; 3])>,
    fft: RealFft3<f32>,
    /// Of the field of a magnetisation along a voxel axis, of each axis that is its own.
    spectra: Vec<(usize, Vec<f32>)>,
    /// Padded places of the unknowns and of the receivers.
    sources: Vec<u32>,
    receivers: Vec<u32>,
    weights: Option<Vec<f32>>,
}

/// The components of the magnetisation that belong to one of several.
pub(super) fn components(share: Share) -> Vec<usize> {
    (0..3).filter(|a| share.has(*a)).collect()
}

/// Half the spectrum of the field of a magnetisation along voxel axis `a`, on the padded `shape`.
pub(super) fn spectrum_of_component(
    model: &FieldModel,
    shape: [usize; 3],
    a: usize,
    workers: &Workers,
) -> Result<Vec<f32>, QsmError> {
    let geometry = &model.geometry;
    let own = Lattice::new(geometry).magnetised();
    let kernel = |steps| if steps == [0; 3] { own[a] } else { dipole_fields(geometry, steps)[a] };
    let (_, half) = even_spectrum(geometry.dims, model.support, shape, workers, kernel)?;
    Ok(half.into_iter().map(|value| value as f32).collect())
}

/// The unknowns of `model` that have fibres, by themselves; `None` where there are none.
pub(super) fn model_of_fibres(model: &FieldModel) -> Result<Option<FieldModel>, QsmError> {
    let voxels: Vec<u32> =
        fibres_of(model).map(|(unknown, _)| model.unknowns[unknown as usize]).collect();
    if voxels.is_empty() {
        return Ok(None);
    }
    let shapes = vec![Shape::Sphere; voxels.len()];
    FieldModel::new(&model.geometry, &voxels, shapes, &voxels).map(Some)
}

/// The unknowns of `model` that have fibres, and M of anisotropy 1 there.
pub(super) fn fibres_of(model: &FieldModel) -> impl Iterator<Item = (u32, [f64; 3])> {
    let b0 = model.geometry.b0;
    (0..).zip(&model.shapes).filter_map(move |(i, shape)| Some((i, shape.of_anisotropy(b0)?)))
}

impl<'w> TensorOperator<'w> {
    /// Of the unknowns of `model`.
    ///
    /// # Errors
    /// Where the volume is too large to transform.
    pub fn new(model: &FieldModel, workers: &'w Workers) -> Result<Self, QsmError> {
        Self::of_share(model, workers, Share::WHOLE)
    }

    /// The part of it that belongs to one of several, each with components of the magnetisation: the sum
    /// of all parts is the whole. Of more than three the others have nothing to do.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of_share(
        model: &FieldModel,
        workers: &'w Workers,
        share: Share,
    ) -> Result<Self, QsmError> {
        let geometry = &model.geometry;
        let shape = padded(geometry.dims)?;
        let own = components(share).into_iter();
        let spectra = own.map(|a| Ok((a, spectrum_of_component(model, shape, a, workers)?)));
        let fibres: Vec<_> = fibres_of(model).map(|(i, m)| (i, m.map(|m| m as f32))).collect();
        let places = |voxels: &[u32]| voxels.iter().map(|&v| place(geometry, shape, v)).collect();
        Ok(Self {
            domain: HostSpace::new(workers, model.unknowns.len() + fibres.len()),
            range: HostSpace::new(workers, model.receivers.len()),
            b0: geometry.b0.map(|b| b as f32),
            fibres,
            fft: RealFft3::new(shape)?,
            spectra: spectra.collect::<Result<_, QsmError>>()?,
            sources: places(&model.unknowns),
            receivers: places(&model.receivers),
            weights: None,
        })
    }

    /// Each receiver's field times its weight.
    ///
    /// # Errors
    /// Where there is not one finite weight for each receiver.
    pub fn weighted(mut self, weights: Vec<f32>) -> Result<Self, QsmError> {
        check_weights(&weights, self.range.len())?;
        self.weights = Some(weights);
        Ok(self)
    }

    fn spectrum(&self) -> Vec<Complex32> {
        vec![Complex32::default(); self.fft.spectrum_shape().iter().product()]
    }

    fn forward(&self, volume: &[f32]) -> Vec<Complex32> {
        let mut spectrum = self.spectrum();
        self.fft.forward(self.domain.workers(), volume, &mut spectrum);
        spectrum
    }

    fn volume(&self) -> Vec<f32> {
        vec![0.0; self.fft.shape().iter().product()]
    }

    /// `with(&mut to, from, kernel)` of every element.
    fn times(
        &self,
        kernel: &[f32],
        from: &[Complex32],
        to: &mut [Complex32],
        with: impl Fn(&mut Complex32, Complex32, f32) + Sync,
    ) {
        self.domain.workers().install(|| {
            let kernel = kernel.par_iter();
            to.par_iter_mut().zip(from).zip(kernel).for_each(|((to, x), k)| with(to, *x, *k));
        });
    }
}

impl<'w> Operator for TensorOperator<'w> {
    fimbria_compute::between!(HostSpace<'w> => HostSpace<'w>);

    fn apply(&self, x: &Vec<f32>, y: &mut Vec<f32>) -> Result<(), HostError> {
        let (means, anisotropies) = x.split_at(self.sources.len());
        if self.spectra.is_empty() {
            y.fill(0.0);
            return Ok(());
        }
        let mut field = self.spectrum();
        let mut volume = self.volume();
        for &(a, ref kernel) in &self.spectra {
            for (&place, x) in self.sources.iter().zip(means) {
                volume[place as usize] = self.b0[a] * x;
            }
            for ((unknown, m), x) in self.fibres.iter().zip(anisotropies) {
                volume[self.sources[*unknown as usize] as usize] += m[a] * x;
            }
            let spectrum = self.forward(&volume);
            self.times(kernel, &spectrum, &mut field, |field, m, kernel| *field += m * kernel);
        }
        self.fft.inverse(self.domain.workers(), &mut field, &mut volume);
        for (y, &place) in y.iter_mut().zip(&self.receivers) {
            *y = volume[place as usize];
        }
        if let Some(weights) = &self.weights {
            y.iter_mut().zip(weights).for_each(|(y, w)| *y *= w);
        }
        Ok(())
    }
}

impl LinearOperator for TensorOperator<'_> {
    /// The kernels are even: the same convolutions the other way.
    fn adjoint(&self, y: &Vec<f32>, x: &mut Vec<f32>) -> Result<(), HostError> {
        x.fill(0.0);
        if self.spectra.is_empty() {
            return Ok(());
        }
        let mut volume = self.volume();
        for (i, (&place, y)) in self.receivers.iter().zip(y).enumerate() {
            let weight = self.weights.as_ref().map_or(1.0, |weights| weights[i]);
            volume[place as usize] = weight * y;
        }
        let spectrum = self.forward(&volume);
        let (means, anisotropies) = x.split_at_mut(self.sources.len());
        for &(a, ref kernel) in &self.spectra {
            let mut seen = self.spectrum();
            self.times(kernel, &spectrum, &mut seen, |seen, y, kernel| *seen = y * kernel);
            self.fft.inverse(self.domain.workers(), &mut seen, &mut volume);
            for (x, &place) in means.iter_mut().zip(&self.sources) {
                *x += self.b0[a] * volume[place as usize];
            }
            for (x, (unknown, m)) in anisotropies.iter_mut().zip(&self.fibres) {
                *x += m[a] * volume[self.sources[*unknown as usize] as usize];
            }
        }
        Ok(())
    }
}

/// The penalty of both maps: a Laplacian of the means, and one of the anisotropies, which are 0
/// where there is no axis.
pub struct TensorPenalty<'w> {
    domain: HostSpace<'w>,
    range: HostSpace<'w>,
    means: Laplacian<'w>,
    anisotropies: Option<Laplacian<'w>>,
}

impl<'w> TensorPenalty<'w> {
    /// Of the unknowns of `model`; `edges` lie beyond the means.
    ///
    /// # Errors
    /// None of a sound model.
    pub fn new(model: &FieldModel, edges: Edges, workers: &'w Workers) -> Result<Self, QsmError> {
        let means = Laplacian::new(model, edges, workers);
        let alone = model_of_fibres(model)?;
        let anisotropies = alone.map(|alone| Laplacian::new(&alone, Edges::Zero, workers));
        let fibres = anisotropies.as_ref().map_or(0, |d| d.domain().len());
        let rows = means.range().len() + anisotropies.as_ref().map_or(0, |d| d.range().len());
        Ok(Self {
            domain: HostSpace::new(workers, model.unknowns.len() + fibres),
            range: HostSpace::new(workers, rows),
            means,
            anisotropies,
        })
    }

    /// Applies `product` to the parts of both maps.
    fn each(
        &self,
        from: (&[f32], usize),
        to: (&mut [f32], usize),
        product: impl Fn(&Laplacian<'w>, &Vec<f32>, &mut Vec<f32>) -> Result<(), HostError>,
    ) -> Result<(), HostError> {
        let (from, to) = (from.0.split_at(from.1), to.0.split_at_mut(to.1));
        let part = |laplacian: &Laplacian<'w>, from: &[f32], to: &mut [f32]| {
            let (from, mut product_of) = (from.to_vec(), to.to_vec());
            product(laplacian, &from, &mut product_of)?;
            to.copy_from_slice(&product_of);
            Ok(())
        };
        part(&self.means, from.0, to.0)?;
        self.anisotropies.as_ref().map_or(Ok(()), |d| part(d, from.1, to.1))
    }
}

impl<'w> Operator for TensorPenalty<'w> {
    fimbria_compute::between!(HostSpace<'w> => HostSpace<'w>);

    fn apply(&self, x: &Vec<f32>, y: &mut Vec<f32>) -> Result<(), HostError> {
        let (columns, rows) = (self.means.domain().len(), self.means.range().len());
        self.each((x, columns), (y, rows), |d, x, y| d.apply(x, y))
    }
}

impl LinearOperator for TensorPenalty<'_> {
    fn adjoint(&self, y: &Vec<f32>, x: &mut Vec<f32>) -> Result<(), HostError> {
        let (columns, rows) = (self.means.domain().len(), self.means.range().len());
        self.each((y, rows), (x, columns), |d, y, x| d.adjoint(y, x))
    }
}
