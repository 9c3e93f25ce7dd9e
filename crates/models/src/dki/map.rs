//! The maps of a kurtosis fit: names, shapes, units.

use fimbria_image::{MapKind, MapSpec};

/// One output of a kurtosis fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DkiMap {
    /// Mean kurtosis.
    Mk,
    /// Axial kurtosis.
    Ak,
    /// Radial kurtosis.
    Rk,
    /// Mean of the kurtosis tensor.
    Mkt,
    /// Kurtosis fractional anisotropy.
    Kfa,
    /// Largest apparent kurtosis of any direction.
    Kmax,
    /// Smallest apparent kurtosis of any direction.
    Kmin,
    /// Fractional anisotropy of the diffusion tensor.
    Fa,
    /// Mean diffusivity.
    Md,
    /// Axial diffusivity.
    Ad,
    /// Radial diffusivity.
    Rd,
    /// Eigenvector of the largest eigenvalue of the diffusion tensor.
    V1,
    /// Signal without diffusion weighting.
    S0,
    /// The diffusion tensor.
    Tensor,
    /// The kurtosis tensor.
    Kurtosis,
    /// Root mean square of the residuals.
    Residual,
    /// What became of the voxel ([`Status`](fimbria_image::Status)).
    Status,
}

impl DkiMap {
    /// Every map, in the order they are written.
    pub const ALL: [Self; 17] = [
        Self::Mk,
        Self::Ak,
        Self::Rk,
        Self::Mkt,
        Self::Kfa,
        Self::Kmax,
        Self::Kmin,
        Self::Fa,
        Self::Md,
        Self::Ad,
        Self::Rd,
        Self::V1,
        Self::S0,
        Self::Tensor,
        Self::Kurtosis,
        Self::Residual,
        Self::Status,
    ];

    /// The name of its file, without extension.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mk => "MK",
            Self::Ak => "AK",
            Self::Rk => "RK",
            Self::Mkt => "MKT",
            Self::Kfa => "KFA",
            Self::Kmax => "Kmax",
            Self::Kmin => "Kmin",
            Self::Fa => "FA",
            Self::Md => "MD",
            Self::Ad => "AD",
            Self::Rd => "RD",
            Self::V1 => "V1",
            Self::S0 => "S0",
            Self::Tensor => "tensor",
            Self::Kurtosis => "kurtosis",
            Self::Residual => "residual",
            Self::Status => "status",
        }
    }

    /// Number of volumes.
    pub fn n_volumes(self) -> usize {
        match self {
            Self::V1 => 3,
            Self::Tensor => 6,
            Self::Kurtosis => 15,
            _ => 1,
        }
    }

    /// True for the maps that need the largest or smallest kurtosis of all directions.
    pub(crate) fn is_extreme(self) -> bool {
        matches!(self, Self::Kmax | Self::Kmin)
    }

    /// What it holds, with unit, order and frame.
    pub fn description(self) -> &'static str {
        match self {
            Self::Mk => "mean kurtosis, the mean of K over all directions, clipped",
            Self::Ak => "axial kurtosis, K along the first eigenvector of the tensor, clipped",
            Self::Rk => "radial kurtosis, the mean of K across that eigenvector, clipped",
            Self::Mkt => {
                "mean of the kurtosis tensor, (W1111 + W2222 + W3333 + 2 W1122 + 2 W1133 + 2 W2233) / 5"
            }
            Self::Kfa => "kurtosis fractional anisotropy, 0 to 1",
            Self::Kmax => "largest kurtosis of any direction, clipped",
            Self::Kmin => "smallest kurtosis of any direction, clipped",
            Self::Fa => {
                "fractional anisotropy of the tensor, 0 to 1 (above 1 where an eigenvalue is negative)"
            }
            Self::Md => "mean diffusivity, mm²/s",
            Self::Ad => "axial diffusivity, the largest eigenvalue, mm²/s",
            Self::Rd => "radial diffusivity, the mean of the other two eigenvalues, mm²/s",
            Self::V1 => {
                "unit eigenvector of the largest eigenvalue, x y z in scanner RAS axes, sign arbitrary"
            }
            Self::S0 => "signal without diffusion weighting, input units",
            Self::Tensor => "diffusion tensor, xx xy xz yy yz zz in scanner RAS axes, mm²/s",
            Self::Kurtosis => {
                "kurtosis tensor W in scanner RAS axes, 1111 1112 1113 1122 1123 1133 1222 1223 1233 \
                 1333 2222 2223 2233 2333 3333"
            }
            Self::Residual | Self::Status => "",
        }
    }

    /// The same as it is written to files.
    pub fn spec(self) -> MapSpec {
        let unit = match self {
            Self::Md | Self::Ad | Self::Rd | Self::Tensor => "mm^2/s",
            Self::S0 => "arbitrary",
            _ => "",
        };
        let kind = match self {
            Self::Residual => return MapSpec::residual(),
            Self::Status => return MapSpec::status(),
            Self::V1 => MapKind::Vector,
            Self::Tensor => MapKind::Tensor,
            Self::Kurtosis => MapKind::Kurtosis,
            _ => MapKind::Scalar,
        };
        MapSpec::of_kind(self.name(), kind, self.n_volumes(), unit, self.description())
    }
}
