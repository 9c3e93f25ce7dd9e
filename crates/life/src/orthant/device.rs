use fimbria_compute::device::{Buffer, DeviceError, DeviceSpace, Kernel, KernelSource, Launch};
use fimbria_compute::math;
use fimbria_compute::operator::VectorSpace as _;

use super::OrthantSpace;

/// Items of a group.
const GROUP: usize = 128;
/// Elements that a group looks through.
const BLOCK: usize = 32 * GROUP;

/// The text of the kernels.
pub(crate) fn kernel_source() -> KernelSource {
    KernelSource::new("orthant", include_str!("orthant.cl"))
        .after(math::KERNEL_TEXT)
        .with("GROUP", GROUP)
        .with("BLOCK", BLOCK)
}

/// A kernel of them; compiled once for a device, which remembers it.
fn kernel(space: &DeviceSpace, name: &str) -> Result<Kernel, DeviceError> {
    space.device().kernel(&kernel_source(), name)
}

impl OrthantSpace for DeviceSpace {
    fn hold(
        &self,
        x: &Buffer<f32>,
        g: &Buffer<f32>,
        v: &mut Buffer<f32>,
    ) -> Result<(), DeviceError> {
        self.check(x)?;
        self.check(g)?;
        self.check(v)?;
        let arguments = [(self.len() as u64).into(), x.into(), g.into(), v.into()];
        // SAFETY: the kernel's four parameters; the vectors have n elements.
        unsafe { kernel(self, "hold")?.launch(Launch::items(self.len()), &arguments) }
    }

    fn restrict_to_face(&self, x: &Buffer<f32>, v: &mut Buffer<f32>) -> Result<(), DeviceError> {
        self.check(x)?;
        self.check(v)?;
        let arguments = [(self.len() as u64).into(), x.into(), v.into()];
        // SAFETY: the kernel's three parameters; the vectors have n elements.
        unsafe { kernel(self, "restrict_to_face")?.launch(Launch::items(self.len()), &arguments) }
    }

    fn longest_step(&self, x: &Buffer<f32>, p: &Buffer<f32>) -> Result<f64, DeviceError> {
        self.check(x)?;
        self.check(p)?;
        let groups = self.len().div_ceil(BLOCK);
        let least = self.device().allocate::<f32>(groups)?;
        let arguments = [(self.len() as u64).into(), x.into(), p.into(), (&least).into()];
        let launch = Launch::groups_of(GROUP, groups);
        // SAFETY: the kernel's four parameters; the vectors have n elements, and there is a number
        // for each group.
        unsafe { kernel(self, "longest_step")?.launch(launch, &arguments)? };
        let least = least.to_vec()?.into_iter().fold(f32::INFINITY, f32::min);
        Ok(if least == f32::MAX { f64::INFINITY } else { f64::from(least) })
    }
}
