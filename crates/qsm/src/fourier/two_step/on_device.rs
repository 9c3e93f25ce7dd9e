//! The iterations on a device: volumes stay there, their numbers come back. Two transforms of real volumes an
//! iteration, as on threads.

use fimbria_compute::Progress;
use fimbria_compute::device::{
    Argument, Buffer, Device, DeviceError, DeviceSpace, Kernel, KernelSource, Launch,
};
use fimbria_compute::fft::{Complex32, DeviceRealFft};
use fimbria_compute::math;
use fimbria_compute::operator::VectorSpace as _;

use super::{ITERATIONS, TOLERANCE, TwoStep};
use crate::device::{DeviceOperatorError, EDGES, Ended, RING};
use crate::variation::Step;

/// The text of the kernels of the two steps.
pub(crate) fn two_step_source() -> KernelSource {
    KernelSource::new("qsm two steps", include_str!("../../device/two_step.cl"))
        .after(EDGES)
        .after(RING)
        .after(math::KERNEL_TEXT)
}

/// The map on a device, and all that its iterations have.
pub(super) struct OnDevice {
    /// Of the volume without its padding.
    dims: [usize; 3],
    per_length: [f32; 3],
    rho: f32,
    volumes: DeviceSpace,
    halves: DeviceSpace,
    fft: DeviceRealFft,
    /// Over the half spectrum: the field, what it and the whole equation are multiplied by, and D.
    field: Buffer<Complex32>,
    pull: Buffer<f32>,
    inverse: Buffer<f32>,
    dipole: Buffer<f32>,
    /// Every difference counts.
    bits: Buffer<u32>,
    ones: Buffer<f32>,
    /// z less its multiplier, and the multiplier, three numbers a voxel.
    h: Buffer<f32>,
    u: Buffer<f32>,
    /// The map, the one that comes after, and any.
    chi: Buffer<f32>,
    next: Buffer<f32>,
    work: Buffer<f32>,
    spectrum: Buffer<Complex32>,
    /// What the map leaves of the field.
    left: Buffer<f32>,
    kernels: Kernels,
}

struct Kernels {
    pull_edges: Kernel,
    fill_in: Kernel,
    shrink: Kernel,
    within: Kernel,
}

impl OnDevice {
    /// At a map of zeros.
    pub(super) fn new(problem: &TwoStep<'_>, device: &Device) -> Result<Self, DeviceOperatorError> {
        let space = problem.space;
        let fft = DeviceRealFft::new(device, space.shape())?;
        let (elements, half) = (fft.elements(), fft.spectrum_elements());
        let volumes = DeviceSpace::new(device, elements)?;
        let halves = DeviceSpace::new(device, half)?;
        let source = two_step_source();
        let kernel = |name| device.kernel(&source, name);
        Ok(Self {
            dims: space.dims(),
            per_length: problem.ring.per_length(),
            rho: problem.rho,
            field: device.upload(&problem.field)?,
            pull: device.upload(&problem.pull)?,
            inverse: device.upload(&problem.inverse)?,
            dipole: device.upload(&space.dipole)?,
            bits: device.upload(&vec![7; elements])?,
            ones: device.upload(&vec![1.0; elements])?,
            h: device.zeros(3 * elements)?,
            u: device.zeros(3 * elements)?,
            chi: volumes.zeros()?,
            next: volumes.zeros()?,
            work: volumes.zeros()?,
            spectrum: device.zeros(half)?,
            left: halves.zeros()?,
            kernels: Kernels {
                pull_edges: kernel("pull_edges")?,
                fill_in: kernel("fill_in")?,
                shrink: kernel("shrink")?,
                within: kernel("within")?,
            },
            volumes,
            halves,
            fft,
        })
    }

    /// As [`TwoStep::run`].
    pub(super) fn run(&mut self, progress: &dyn Progress) -> Result<(Vec<f32>, Vec<Step>), Ended> {
        let mut log = Vec::new();
        progress.start("inverting the field", ITERATIONS as u64);
        for _ in 0..ITERATIONS {
            progress.check().map_err(|stop| Ended::Whole(stop.into()))?;
            let (step, is_last) = self.step()?;
            log.push(step);
            progress.advance(1);
            if is_last {
                break;
            }
        }
        Ok((self.chi.to_vec()?, log))
    }

    /// One iteration: how it went, and whether it was the last.
    fn step(&mut self) -> Result<(Step, bool), DeviceError> {
        self.find_map()?;
        let variation = self.shrink()?;
        self.volumes.copy(&self.next, &mut self.work)?;
        self.volumes.axpy(-1.0, &self.chi, &mut self.work)?;
        let change = self.volumes.dot(&self.work, &self.work)?;
        let size = self.volumes.dot(&self.next, &self.next)?;
        std::mem::swap(&mut self.chi, &mut self.next);
        let data = self.halves.dot(&self.left, &self.left)? / self.fft.elements() as f64;
        let voxels: usize = self.dims.iter().product();
        let rms = (self.square_within()? / voxels.max(1) as f64).sqrt();
        let relative_change = if size > 0.0 { (change / size).sqrt() } else { 0.0 };
        let step = Step { rms, relative_change, data, variation };
        Ok((step, relative_change <= TOLERANCE))
    }

    /// The map that agrees best with the copies, and what it leaves of the field.
    fn find_map(&mut self) -> Result<(), DeviceError> {
        let mut arguments = self.ring();
        arguments.push((&self.h).into());
        arguments.push((&mut self.work).into());
        // SAFETY: the kernel's eight parameters; the volumes have an element for each of the shape, that of
        // differences three.
        unsafe { self.kernels.pull_edges.launch(self.fft.launch(), &arguments)? };
        self.fft.forward(&self.work, &mut self.spectrum)?;
        let half = self.spectrum.len();
        let [nx, ..] = self.fft.shape_arguments();
        let arguments = [
            (half as u64).into(),
            nx,
            self.rho.into(),
            (&self.field).into(),
            (&self.pull).into(),
            (&self.inverse).into(),
            (&self.dipole).into(),
            (&mut self.spectrum).into(),
            (&mut self.left).into(),
        ];
        // SAFETY: the kernel's nine parameters; all have an element for each of the half spectrum.
        unsafe { self.kernels.fill_in.launch(Launch::items(half), &arguments)? };
        self.fft.inverse(&mut self.spectrum, &mut self.next)
    }

    /// The step of the edges; returns Σ |∇χ|, axis by axis.
    fn shrink(&mut self) -> Result<f64, DeviceError> {
        let mut arguments = self.ring();
        arguments.extend([Argument::from(self.rho.recip()), 1_u32.into()]);
        arguments.push((&self.bits).into());
        // No difference is free: what is in its place is not read.
        arguments.push(0_u32.into());
        arguments.push((&self.ones).into());
        arguments.push((&self.next).into());
        arguments.push((&mut self.u).into());
        arguments.push((&mut self.h).into());
        arguments.push((&mut self.work).into());
        // SAFETY: the kernel's fifteen parameters; the volumes have an element for each of the shape, those
        // of differences three.
        unsafe { self.kernels.shrink.launch(self.fft.launch(), &arguments)? };
        self.volumes.dot(&self.work, &self.ones)
    }

    /// Σ χ² of the volume without its padding.
    fn square_within(&mut self) -> Result<f64, DeviceError> {
        let mut arguments = self.fft.shape_arguments().to_vec();
        arguments.extend(self.dims.map(|n| Argument::from(n as u32)));
        arguments.push((&self.chi).into());
        arguments.push((&mut self.work).into());
        // SAFETY: the kernel's eight parameters; the volumes have an element for each of the shape.
        unsafe { self.kernels.within.launch(self.fft.launch(), &arguments)? };
        self.volumes.dot(&self.work, &self.work)
    }

    /// Six: the shape, and how many voxels there are to a unit of length.
    fn ring(&self) -> Vec<Argument> {
        let per_length = self.per_length.map(Argument::from);
        self.fft.shape_arguments().into_iter().chain(per_length).collect()
    }
}
