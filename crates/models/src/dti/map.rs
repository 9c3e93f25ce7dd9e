//! The maps of a tensor fit: names, shapes, units.

use fimbria_image::{MapKind, MapSpec, Status};

/// One output of a tensor fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DtiMap {
    /// Fractional anisotropy.
    Fa,
    /// Mean diffusivity.
    Md,
    /// Axial diffusivity.
    Ad,
    /// Radial diffusivity.
    Rd,
    /// Largest eigenvalue.
    L1,
    /// Middle eigenvalue.
    L2,
    /// Smallest eigenvalue.
    L3,
    /// Eigenvector of [`L1`](Self::L1).
    V1,
    /// Eigenvector of [`L2`](Self::L2).
    V2,
    /// Eigenvector of [`L3`](Self::L3).
    V3,
    /// Mode of the tensor.
    Mo,
    /// Signal without diffusion weighting.
    S0,
    /// The tensor itself.
    Tensor,
    /// Root mean square of the residuals.
    Residual,
    /// What became of the voxel ([`Status`](fimbria_image::Status)).
    Status,
}

impl DtiMap {
    /// Every map, in the order they are written.
    pub const ALL: [Self; 15] = [
        Self::Fa,
        Self::Md,
        Self::Ad,
        Self::Rd,
        Self::L1,
        Self::L2,
        Self::L3,
        Self::V1,
        Self::V2,
        Self::V3,
        Self::Mo,
        Self::S0,
        Self::Tensor,
        Self::Residual,
        Self::Status,
    ];

    /// The name of its file, without extension.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fa => "FA",
            Self::Md => "MD",
            Self::Ad => "AD",
            Self::Rd => "RD",
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::L3 => "L3",
            Self::V1 => "V1",
            Self::V2 => "V2",
            Self::V3 => "V3",
            Self::Mo => "MO",
            Self::S0 => "S0",
            Self::Tensor => "tensor",
            Self::Residual => "residual",
            Self::Status => "status",
        }
    }

    /// Number of volumes.
    pub fn n_volumes(self) -> usize {
        match self {
            Self::V1 | Self::V2 | Self::V3 => 3,
            Self::Tensor => 6,
            _ => 1,
        }
    }

    /// What it holds, with unit, order and frame.
    pub fn description(self) -> &'static str {
        match self {
            Self::Fa => "fractional anisotropy, 0 to 1 (above 1 where an eigenvalue is negative)",
            Self::Md => "mean diffusivity, mm²/s",
            Self::Ad => "axial diffusivity, the largest eigenvalue, mm²/s",
            Self::Rd => "radial diffusivity, the mean of the other two eigenvalues, mm²/s",
            Self::L1 => "largest eigenvalue, mm²/s",
            Self::L2 => "middle eigenvalue, mm²/s",
            Self::L3 => "smallest eigenvalue, mm²/s",
            Self::V1 => "unit eigenvector of L1, x y z in scanner RAS axes, sign arbitrary",
            Self::V2 => "unit eigenvector of L2, x y z in scanner RAS axes, sign arbitrary",
            Self::V3 => "unit eigenvector of L3, x y z in scanner RAS axes, sign arbitrary",
            Self::Mo => "mode, -1 (planar) to 1 (linear)",
            Self::S0 => "signal without diffusion weighting, input units",
            Self::Tensor => "diffusion tensor, xx xy xz yy yz zz in scanner RAS axes, mm²/s",
            Self::Residual => "root mean square of measured minus predicted signal, input units",
            Self::Status => Status::LEGEND,
        }
    }

    /// Its unit as BIDS writes it, empty for a pure number.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Md | Self::Ad | Self::Rd | Self::L1 | Self::L2 | Self::L3 | Self::Tensor => {
                "mm^2/s"
            }
            Self::S0 | Self::Residual => "arbitrary",
            Self::Fa | Self::V1 | Self::V2 | Self::V3 | Self::Mo | Self::Status => "",
        }
    }

    /// What its volumes are.
    pub fn kind(self) -> MapKind {
        match self {
            Self::V1 | Self::V2 | Self::V3 => MapKind::Vector,
            Self::Tensor => MapKind::Tensor,
            Self::Status => MapKind::Code,
            _ => MapKind::Scalar,
        }
    }

    /// All of that.
    pub fn spec(self) -> MapSpec {
        let (name, unit, description) = (self.name(), self.unit(), self.description());
        MapSpec::of_kind(name, self.kind(), self.n_volumes(), unit, description)
    }
}

impl AsRef<str> for DtiMap {
    /// The name of its file, without extension.
    fn as_ref(&self) -> &str {
        self.name()
    }
}
