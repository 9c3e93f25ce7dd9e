//! Total generalised variation: six transforms an iteration.

use fimbria_compute::Progress;
use fimbria_compute::device::{Argument, Buffer, Device, DeviceError, Kernel};
use fimbria_compute::fft::Complex32;
use fimbria_compute::operator::VectorSpace as _;

use super::{Common, Copies, Scene};
use crate::device::{DeviceOperatorError, Ended};
use crate::variation::alternating::MU_OF_LAMBDA;
use crate::variation::data::Data;
use crate::variation::generalised::{Generalised, OF_SECOND};
use crate::variation::{Outside, VariationMap};

/// As [`Generalised`] on threads.
pub(in crate::variation) struct GeneralisedOnDevice<'a> {
    host: &'a Generalised<'a>,
    common: Common<'a>,
    inverse: Buffer<f32>,
    differences: [Buffer<Complex32>; 3],
    pull_together: Kernel,
    pull_slopes: Kernel,
    solve_slopes: Kernel,
    shrink_first: Kernel,
    shrink_second: Kernel,
}

/// What changes from step to step besides the copies.
struct Slopes {
    /// The copies of ∇χ - v and of E v less their multipliers, and these.
    h: Buffer<f32>,
    u: Buffer<f32>,
    second: Buffer<f32>,
    of_second: Buffer<f32>,
    pull: Buffer<f32>,
    /// Right sides: of the map with its copy, of two components of v, of the third.
    right: [Buffer<Complex32>; 3],
    /// What they give: the map with its field, and v.
    found: [Buffer<Complex32>; 3],
}

impl<'a> GeneralisedOnDevice<'a> {
    /// `counted` are the differences that count.
    pub(in crate::variation) fn new(
        host: &'a Generalised<'a>,
        counted: Option<&'a [u8]>,
        device: &Device,
    ) -> Result<Self, DeviceOperatorError> {
        let scene = Scene {
            space: &host.space,
            ring: host.ring,
            places: &host.places,
            counted,
            variation: host.variation,
        };
        let common = Common::new(scene, device)?;
        let [x, y, z] = &host.system.differences;
        Ok(Self {
            host,
            inverse: device.upload(&host.system.inverse)?,
            differences: [device.upload(x)?, device.upload(y)?, device.upload(z)?],
            pull_together: common.kernel("pull_together")?,
            pull_slopes: common.kernel("pull_slopes")?,
            solve_slopes: common.kernel("solve_slopes")?,
            shrink_first: common.kernel("shrink_first")?,
            shrink_second: common.kernel("shrink_second")?,
            common,
        })
    }

    /// As [`Generalised::run`].
    pub(in crate::variation) fn run(
        &self,
        data: &Data<'_>,
        progress: &dyn Progress,
    ) -> Result<VariationMap, Ended> {
        let common = &self.common;
        let three =
            || Ok::<_, DeviceError>([common.complex()?, common.complex()?, common.complex()?]);
        let mut slopes = Slopes {
            h: common.of_each(3)?,
            u: common.of_each(3)?,
            second: common.of_each(6)?,
            of_second: common.of_each(6)?,
            pull: common.of_each(1)?,
            right: three()?,
            found: three()?,
        };
        let reached = common.run(data, progress, |copies| {
            self.find_map(copies, &mut slopes)?;
            self.shrink(copies, &mut slopes)
        })?;
        Ok(reached.into_map(Vec::new(), 0.0))
    }

    /// The map, its field and v that agree best with the copies.
    fn find_map(&self, copies: &mut Copies, slopes: &mut Slopes) -> Result<(), DeviceError> {
        let (common, system) = (&self.common, &self.host.system);
        let [both, v01, v2] = &mut slopes.right;
        let mut arguments = common.ring();
        arguments.extend([system.mu, system.rho].map(Argument::from));
        arguments.push((&copies.p).into());
        arguments.push((&copies.q).into());
        arguments.push((&slopes.h).into());
        arguments.push((&mut slopes.pull).into());
        arguments.push((&mut *both).into());
        // SAFETY: the kernel's thirteen parameters; all volumes have an element for each of the shape, that of
        // differences three.
        unsafe { self.pull_together.launch(common.fft.launch(), &arguments)? };
        let mut arguments = common.ring();
        arguments.extend([system.mu, system.second].map(Argument::from));
        arguments.push((&slopes.h).into());
        arguments.push((&slopes.second).into());
        arguments.push((&mut *v01).into());
        arguments.push((&mut *v2).into());
        // SAFETY: the kernel's twelve parameters; as above, of second differences six.
        unsafe { self.pull_slopes.launch(common.fft.launch(), &arguments)? };
        slopes.right.iter_mut().try_for_each(|right| common.fft.forward(right))?;
        let ([both, of_v01, of_v2], [map, v01, v2]) = (&slopes.right, &mut slopes.found);
        let [x, y, z] = &self.differences;
        let [nx, ny, nz] = common.fft.shape_arguments();
        let arguments = [
            nx,
            ny,
            nz,
            system.mu.into(),
            system.second.into(),
            x.into(),
            y.into(),
            z.into(),
            (&common.dipole).into(),
            (&self.inverse).into(),
            both.into(),
            of_v01.into(),
            of_v2.into(),
            map.into(),
            v01.into(),
            v2.into(),
        ];
        // SAFETY: the kernel's sixteen parameters; the volumes have an element for each of the shape, D and
        // its inverse half as many, and there is a difference for each frequency of an axis.
        unsafe { self.solve_slopes.launch(common.fft.launch(), &arguments)? };
        slopes.found.iter_mut().try_for_each(|found| common.fft.inverse(found))?;
        common.split(&slopes.found[0], copies)
    }

    /// The steps of ∇χ - v and of E v; returns Σ |∇χ - v| + 3 Σ |E v|.
    fn shrink(&self, copies: &mut Copies, slopes: &mut Slopes) -> Result<f64, DeviceError> {
        let (common, system) = (&self.common, &self.host.system);
        let [_, v01, v2] = &slopes.found;
        let mut arguments = common.ring();
        arguments.push(MU_OF_LAMBDA.recip().into());
        arguments.push((&common.bits).into());
        arguments.push((&copies.next).into());
        arguments.push(v01.into());
        arguments.push(v2.into());
        arguments.push((&mut slopes.u).into());
        arguments.push((&mut slopes.h).into());
        arguments.push((&mut copies.work).into());
        // SAFETY: the kernel's fourteen parameters; all volumes have an element for each of the shape, those
        // of differences three.
        unsafe { self.shrink_first.launch(common.fft.launch(), &arguments)? };
        let first = common.volumes.dot(&copies.work, &common.ones)?;
        let threshold = OF_SECOND * MU_OF_LAMBDA.recip() * system.mu / system.second;
        let all = u32::from(self.host.variation.outside == Outside::Nothing);
        let mut arguments = common.ring();
        arguments.push(threshold.into());
        arguments.push(all.into());
        arguments.push((&common.bits).into());
        arguments.push(v01.into());
        arguments.push(v2.into());
        arguments.push((&mut slopes.of_second).into());
        arguments.push((&mut slopes.second).into());
        arguments.push((&mut copies.work).into());
        // SAFETY: the kernel's fourteen parameters; as above, of second differences six.
        unsafe { self.shrink_second.launch(common.fft.launch(), &arguments)? };
        Ok(first + f64::from(OF_SECOND) * common.volumes.dot(&copies.work, &common.ones)?)
    }
}
