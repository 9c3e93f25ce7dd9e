//! Which devices work.

use clap::Args;
use fimbria_compute::device::{Device, DeviceOptions, Selection, list, may_have_gpu};
use fimbria_compute::{Backend, Progress, Workers};
use fimbria_pipeline::Page;
use fimbria_pipeline::options::{Described as _, above};

use crate::failure::Failure;

/// Which devices work beside the threads.
#[derive(Debug, Args)]
#[command(next_help_heading = "Machine")]
pub(crate) struct DeviceArgs {
    /// Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu,
    /// gpu:0,1 or opencl:0
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = selection)]
    device: Selection,

    /// Fraction of a device's free memory to use
    #[arg(long, value_name = "FRACTION", default_value_t = 0.8)]
    #[arg(number = above(0.0, "").up_to(1.0))]
    device_memory: f64,
}

impl DeviceArgs {
    /// True where a device is asked for by name.
    pub(crate) fn names_a_device(&self) -> bool {
        !matches!(self.device, Selection::Auto | Selection::Cpu)
    }

    /// The same without any device, for work that only threads do.
    pub(crate) fn without(self) -> Self {
        Self { device: Selection::Cpu, ..self }
    }

    /// The threads and the devices that [`open`](Self::open) has opened.
    pub(crate) fn backend<'a>(&self, workers: &'a Workers, opened: &'a [Device]) -> Backend<'a> {
        let on = Backend::new(workers, opened);
        if self.device == Selection::Auto { on.only_where_it_pays() } else { on }
    }

    /// Opens the devices chosen; none for the CPU alone. With `auto`, a device that does not open
    /// costs a warning.
    pub(crate) fn open(&self, progress: &dyn Progress) -> Result<Vec<Device>, Failure> {
        self.open_metered(false, progress)
    }

    /// [`open`](Self::open), where it is asked for with a [meter](DeviceOptions::metered).
    pub(crate) fn open_metered(
        &self,
        metered: bool,
        progress: &dyn Progress,
    ) -> Result<Vec<Device>, Failure> {
        let Self { device: selection, device_memory } = self;
        let is_cpu = match selection {
            Selection::Cpu => true,
            Selection::Auto => !may_have_gpu(),
            _ => false,
        };
        if is_cpu {
            return Ok(Vec::new());
        }
        let memory_fraction = *device_memory;
        let options = DeviceOptions { memory_fraction, metered, ..DeviceOptions::default() };
        let mut devices = Vec::new();
        for info in selection.choose(&list())? {
            match Device::open(&info, &options) {
                Ok(device) => devices.push(device),
                Err(error) if *selection == Selection::Auto => {
                    let warning = format!("{} is not used: {error}", info.name);
                    progress.warn(&Page::Install.behind(warning));
                }
                Err(error) => return Err(error.into()),
            }
        }
        for device in &devices {
            progress.note(&format!("using {} ({})", device.info().name, device.info().runtime));
        }
        Ok(devices)
    }
}

fn selection(text: &str) -> Result<Selection, String> {
    text.parse().map_err(|error: fimbria_compute::device::SelectionError| error.to_string())
}
