//! The maps of a kurtosis fit.

use fimbria_image::{MapKind, MapSpec, Window, map_table};

const MM2_PER_S: &str = "mm^2/s";

const fn number(name: &'static str, description: &'static str) -> MapSpec {
    MapSpec::scalar(name, "", description)
}

map_table! {
    /// One output of a kurtosis fit.
    pub enum DkiMap {
        /// Mean kurtosis.
        Mk = number("MK", "mean kurtosis, the mean of K over all directions, clipped").within(Window::Fixed([0.0, 2.0])),
        /// Axial kurtosis.
        Ak = number(
            "AK",
            "axial kurtosis, K along the first eigenvector of the tensor, clipped",
        ).within(Window::Fixed([0.0, 2.0])),
        /// Radial kurtosis.
        Rk = number("RK", "radial kurtosis, the mean of K across that eigenvector, clipped").within(Window::Fixed([0.0, 2.0])),
        /// Mean of the kurtosis tensor.
        Mkt = number(
            "MKT",
            "mean of the kurtosis tensor, (W1111 + W2222 + W3333 + 2 W1122 + 2 W1133 + 2 W2233) / 5",
        ),
        /// Kurtosis fractional anisotropy.
        Kfa = number("KFA", "kurtosis fractional anisotropy, 0 to 1").within(Window::Fixed([0.0, 1.0])),
        /// Largest apparent kurtosis of any direction.
        Kmax = number("Kmax", "largest kurtosis of any direction, clipped"),
        /// Smallest apparent kurtosis of any direction.
        Kmin = number("Kmin", "smallest kurtosis of any direction, clipped"),
        /// Fractional anisotropy of the diffusion tensor.
        Fa = number(
            "FA",
            "fractional anisotropy of the tensor, 0 to 1 (above 1 where an eigenvalue is negative, status 7)",
        ).within(Window::Fixed([0.0, 1.0])),
        /// Mean diffusivity.
        Md = MapSpec::scalar("MD", MM2_PER_S, "mean diffusivity, mm²/s"),
        /// Axial diffusivity.
        Ad = MapSpec::scalar(
            "AD",
            MM2_PER_S,
            "axial diffusivity, the largest eigenvalue, mm²/s",
        ),
        /// Radial diffusivity.
        Rd = MapSpec::scalar(
            "RD",
            MM2_PER_S,
            "radial diffusivity, the mean of the other two eigenvalues, mm²/s",
        ),
        /// How far the tensor is from one that is the same about its first eigenvector.
        Linearity = number(
            "linearity",
            "linearity of the tensor, (λ1 - λ2) / (λ1 + λ2 + λ3); 1: diffusion along a line",
        ),
        /// How far it is flat.
        Planarity = number(
            "planarity",
            "planarity of the tensor, 2 (λ2 - λ3) / (λ1 + λ2 + λ3); 1: diffusion in a plane",
        ),
        /// How far it is round.
        Sphericity = number(
            "sphericity",
            "sphericity of the tensor, 3 λ3 / (λ1 + λ2 + λ3); 1: the same in every direction",
        ),
        /// Eigenvector of the largest eigenvalue of the diffusion tensor.
        V1 = MapSpec::of_kind(
            "V1",
            MapKind::Vector,
            3,
            "",
            "unit eigenvector of the largest eigenvalue, x y z in scanner RAS axes, sign arbitrary",
        ),
        /// Signal without diffusion weighting.
        S0 = MapSpec::scalar(
            "S0",
            "arbitrary",
            "signal without diffusion weighting, input units",
        ),
        /// The diffusion tensor.
        Tensor = MapSpec::of_kind(
            "tensor",
            MapKind::Tensor,
            6,
            MM2_PER_S,
            "diffusion tensor, xx xy xz yy yz zz in scanner RAS axes, mm²/s",
        ),
        /// The kurtosis tensor.
        Kurtosis = MapSpec::of_kind(
            "kurtosis",
            MapKind::Kurtosis,
            15,
            "",
            "kurtosis tensor W in scanner RAS axes, 1111 1112 1113 1122 1123 1133 1222 1223 1233 \
             1333 2222 2223 2233 2333 3333",
        ),
        /// Root mean square of the residuals.
        Residual = MapSpec::residual(),
        /// What became of the voxel ([`Status`](fimbria_image::Status)).
        Status = MapSpec::status(),
    }
}

impl DkiMap {
    /// True for the maps that need the largest or smallest kurtosis of all directions.
    pub(crate) fn is_extreme(self) -> bool {
        matches!(self, Self::Kmax | Self::Kmin)
    }
}
