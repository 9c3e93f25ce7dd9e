//! Which devices a user asks for: `auto`, `cpu`, `gpu`, `gpu:0,1`, `opencl:N`.

use std::fmt;
use std::str::FromStr;

use super::{Device, DeviceError, DeviceInfo, DeviceOptions, Inventory};
use crate::Progress;

/// A choice of devices, parsed from what the user wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// `auto`: every GPU, or the CPU where there is none.
    #[default]
    Auto,
    /// `cpu`: no device.
    Cpu,
    /// `gpu`: every GPU, of which there must be one.
    AllGpus,
    /// `gpu:0,1`: these, counted as [`Inventory::gpus`] lists them.
    Gpus(Vec<usize>),
    /// `opencl:0,1`: these, counted as [`Inventory::opencl`] lists them. The only way to use a
    /// processor behind OpenCL, or an NVIDIA card through OpenCL.
    OpenCl(Vec<usize>),
}

/// A choice that cannot be read or that this machine does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// Not one of the forms.
    #[error("`{0}` names no device: use auto, cpu, gpu, gpu:0,1 or opencl:0")]
    Unreadable(String),
    /// A GPU was asked for and there is none.
    #[error("no GPU was found; `fimbria devices` says what is missing")]
    NoGpu,
    /// A number beyond the list.
    #[error("there is no {list}:{index}; this machine has {count} (see `fimbria devices`)")]
    NoSuchDevice {
        /// `gpu` or `opencl`.
        list: &'static str,
        /// The number asked for.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// A device that was asked for does not open.
    #[error(transparent)]
    Open(#[from] DeviceError),
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (list, indices) = match self {
            Self::Auto => return f.write_str("auto"),
            Self::Cpu => return f.write_str("cpu"),
            Self::AllGpus => return f.write_str("gpu"),
            Self::Gpus(indices) => ("gpu", indices),
            Self::OpenCl(indices) => ("opencl", indices),
        };
        let indices: Vec<String> = indices.iter().map(usize::to_string).collect();
        write!(f, "{list}:{}", indices.join(","))
    }
}

impl FromStr for Selection {
    type Err = SelectionError;

    fn from_str(text: &str) -> Result<Self, SelectionError> {
        let unreadable = || SelectionError::Unreadable(text.to_owned());
        let indices = |list: &str| -> Result<Vec<usize>, SelectionError> {
            let mut indices = Vec::new();
            for index in list.split(',') {
                let index = index.trim().parse().map_err(|_| unreadable())?;
                // Twice the same device would be two handles on one card.
                if !indices.contains(&index) {
                    indices.push(index);
                }
            }
            Ok(indices)
        };
        match text.split_once(':') {
            None => match text {
                "auto" => Ok(Self::Auto),
                "cpu" => Ok(Self::Cpu),
                "gpu" => Ok(Self::AllGpus),
                _ => Err(unreadable()),
            },
            Some(("gpu", list)) => Ok(Self::Gpus(indices(list)?)),
            Some(("opencl", list)) => Ok(Self::OpenCl(indices(list)?)),
            Some(_) => Err(unreadable()),
        }
    }
}

impl Selection {
    /// The devices chosen; none means the CPU.
    ///
    /// # Errors
    /// Where the machine does not have what was asked for.
    pub fn choose(&self, inventory: &Inventory) -> Result<Vec<DeviceInfo>, SelectionError> {
        let gpus = || inventory.gpus().cloned().collect::<Vec<_>>();
        match self {
            Self::Auto => Ok(gpus()),
            Self::Cpu => Ok(Vec::new()),
            Self::AllGpus => match gpus() {
                none if none.is_empty() => Err(SelectionError::NoGpu),
                all => Ok(all),
            },
            Self::Gpus(indices) => pick("gpu", &gpus(), indices),
            Self::OpenCl(indices) => pick("opencl", &inventory.opencl, indices),
        }
    }

    /// Opens the devices chosen. A device that was asked for must open; one that `auto` found and
    /// that does not is told to `progress` and left out.
    ///
    /// # Errors
    /// As [`choose`](Self::choose), and [`SelectionError::Open`].
    pub fn open(
        &self,
        inventory: &Inventory,
        options: &DeviceOptions,
        progress: &dyn Progress,
    ) -> Result<Vec<Device>, SelectionError> {
        let mut devices = Vec::new();
        for info in self.choose(inventory)? {
            match Device::open(&info, options) {
                Ok(device) => devices.push(device),
                Err(error) if *self == Self::Auto => {
                    progress.warn(&format!("{error}; the device is not used"));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(devices)
    }
}

fn pick(
    list: &'static str,
    devices: &[DeviceInfo],
    indices: &[usize],
) -> Result<Vec<DeviceInfo>, SelectionError> {
    let count = devices.len();
    indices
        .iter()
        .map(|&index| {
            let found = devices.get(index).cloned();
            found.ok_or(SelectionError::NoSuchDevice { list, index, count })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read() {
        for (text, selection) in [
            ("auto", Selection::Auto),
            ("cpu", Selection::Cpu),
            ("gpu", Selection::AllGpus),
            ("gpu:0,1", Selection::Gpus(vec![0, 1])),
            ("gpu:2,2", Selection::Gpus(vec![2])),
            ("opencl:0", Selection::OpenCl(vec![0])),
        ] {
            assert_eq!(text.parse(), Ok(selection));
        }
    }

    #[test]
    fn a_selection_is_written_as_it_is_read() {
        for text in ["auto", "cpu", "gpu", "gpu:0,1", "opencl:3"] {
            assert_eq!(text.parse::<Selection>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_names_no_device_is_refused_with_the_text() {
        for text in ["", "cuda", "gpu:", "gpu:x", "gpu:-1", "vulkan:0", "gpu:0,"] {
            assert_eq!(text.parse::<Selection>(), Err(SelectionError::Unreadable(text.to_owned())),);
        }
    }

    #[test]
    fn a_machine_without_gpu_gives_the_cpu_for_auto_and_an_error_for_gpu() {
        let nothing = Inventory::default();
        assert_eq!(Selection::Auto.choose(&nothing).map(|chosen| chosen.len()), Ok(0));
        assert_eq!(
            Selection::AllGpus.choose(&nothing).map(|chosen| chosen.len()),
            Err(SelectionError::NoGpu)
        );
        assert_eq!(
            Selection::OpenCl(vec![3]).choose(&nothing).map(|chosen| chosen.len()),
            Err(SelectionError::NoSuchDevice { list: "opencl", index: 3, count: 0 })
        );
    }
}
