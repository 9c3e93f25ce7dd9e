//! The maps of a tensor fit.

use fimbria_image::{MapKind, MapSpec, Window, map_table};

const MM2_PER_S: &str = "mm^2/s";

const fn eigenvalue(name: &'static str, description: &'static str) -> MapSpec {
    MapSpec::scalar(name, MM2_PER_S, description)
}

const fn eigenvector(name: &'static str, description: &'static str) -> MapSpec {
    MapSpec::of_kind(name, MapKind::Vector, 3, "", description)
}

map_table! {
    /// One output of a tensor fit.
    pub enum DtiMap {
        /// Fractional anisotropy.
        Fa = MapSpec::scalar(
            "FA",
            "",
            "fractional anisotropy, 0 to 1 (above 1 where an eigenvalue is negative, status 8)",
        )
        .within(Window::Fixed([0.0, 1.0])),
        /// Mean diffusivity.
        Md = MapSpec::scalar("MD", MM2_PER_S, "mean diffusivity, mm²/s"),
        /// Axial diffusivity.
        Ad = eigenvalue("AD", "axial diffusivity, the largest eigenvalue, mm²/s"),
        /// Radial diffusivity.
        Rd = eigenvalue("RD", "radial diffusivity, the mean of the other two eigenvalues, mm²/s"),
        /// Largest eigenvalue.
        L1 = eigenvalue("L1", "largest eigenvalue, mm²/s"),
        /// Middle eigenvalue.
        L2 = eigenvalue("L2", "middle eigenvalue, mm²/s"),
        /// Smallest eigenvalue.
        L3 = eigenvalue("L3", "smallest eigenvalue, mm²/s"),
        /// Eigenvector of [`L1`](Self::L1).
        V1 = eigenvector("V1", "unit eigenvector of L1, x y z in scanner RAS axes, sign arbitrary"),
        /// Eigenvector of [`L2`](Self::L2).
        V2 = eigenvector("V2", "unit eigenvector of L2, x y z in scanner RAS axes, sign arbitrary"),
        /// Eigenvector of [`L3`](Self::L3).
        V3 = eigenvector("V3", "unit eigenvector of L3, x y z in scanner RAS axes, sign arbitrary"),
        /// Mode of the tensor.
        Mo = MapSpec::scalar("MO", "", "mode, -1 (planar) to 1 (linear)"),
        /// Signal without diffusion weighting.
        S0 = MapSpec::scalar(
            "S0",
            "arbitrary",
            "signal without diffusion weighting, input units",
        ),
        /// The tensor itself.
        Tensor = MapSpec::of_kind(
            "tensor",
            MapKind::Tensor,
            6,
            MM2_PER_S,
            "diffusion tensor, xx xy xz yy yz zz in scanner RAS axes, mm²/s",
        ),
        /// Root mean square of the residuals.
        Residual = MapSpec::residual(),
        /// What became of the voxel ([`Status`](fimbria_image::Status)).
        Status = MapSpec::status(),
    }
}
