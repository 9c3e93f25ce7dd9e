//! Tensors from one program's order and frame to another's.

use std::fmt;
use std::str::FromStr;

use fimbria_image::{Image, KurtosisOrder, TensorOrder};

/// Whose order and frame a map of tensors has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Convention {
    Fimbria,
    Fsl,
    Mrtrix,
    Dipy,
}

/// From one convention to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorConventions {
    from: Convention,
    to: Convention,
}

impl FromStr for Convention {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "fimbria" => Ok(Self::Fimbria),
            "fsl" => Ok(Self::Fsl),
            "mrtrix" => Ok(Self::Mrtrix),
            "dipy" => Ok(Self::Dipy),
            _ => Err(format!("'{text}' is none of fimbria, fsl, mrtrix, dipy")),
        }
    }
}

impl fmt::Display for TensorConventions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |convention| match convention {
            Convention::Fimbria => "fimbria",
            Convention::Fsl => "fsl",
            Convention::Mrtrix => "mrtrix",
            Convention::Dipy => "dipy",
        };
        write!(f, "{}:{}", name(self.from), name(self.to))
    }
}

impl FromStr for TensorConventions {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (from, to) = text.split_once(':').ok_or("expected FROM:TO, such as dipy:mrtrix")?;
        Ok(Self { from: from.parse()?, to: to.parse()? })
    }
}

impl Convention {
    fn of_diffusion(self) -> TensorOrder {
        match self {
            Self::Fimbria => TensorOrder::FIMBRIA,
            Self::Fsl => TensorOrder::FSL,
            Self::Mrtrix => TensorOrder::MRTRIX,
            Self::Dipy => TensorOrder::DIPY,
        }
    }

    /// FSL has no kurtosis tensors.
    fn of_kurtosis(self) -> Option<KurtosisOrder> {
        match self {
            Self::Fimbria => Some(KurtosisOrder::FIMBRIA),
            Self::Fsl => None,
            Self::Mrtrix => Some(KurtosisOrder::MRTRIX),
            Self::Dipy => Some(KurtosisOrder::DIPY),
        }
    }
}

impl TensorConventions {
    /// What a map of so many volumes says of itself afterwards: kind, frame and order.
    pub(super) fn description(self, n_volumes: usize) -> String {
        let frame = match self.to {
            Convention::Fimbria | Convention::Mrtrix => "scanner RAS axes",
            Convention::Fsl => "the axes of FSL's bvecs",
            Convention::Dipy => "voxel axes",
        };
        match (n_volumes, self.to.of_kurtosis()) {
            (15, Some(order)) => {
                format!("kurtosis tensor W in {frame}, {}", order.names().join(" "))
            }
            _ => {
                let names = match self.to {
                    Convention::Fimbria | Convention::Fsl => "xx xy xz yy yz zz",
                    Convention::Mrtrix => "xx yy zz xy xz yz",
                    Convention::Dipy => "xx xy yy xz yz zz",
                };
                format!("diffusion tensor, {names} in {frame}")
            }
        }
    }

    /// The same tensors; says what is wrong with a map that has none.
    pub(super) fn apply(self, map: &Image) -> Result<Image, String> {
        let Self { from, to } = self;
        match map.n_volumes {
            6 => Ok(to.of_diffusion().from_fimbria(&from.of_diffusion().to_fimbria(map))),
            15 => {
                let orders = from.of_kurtosis().zip(to.of_kurtosis());
                let (from, to) = orders.ok_or("FSL has no order of kurtosis tensors")?;
                Ok(to.from_fimbria(&from.to_fimbria(map)))
            }
            n => Err(format!(
                "--tensors is for maps of 6 (diffusion) or 15 volumes (kurtosis), not {n}"
            )),
        }
    }
}
