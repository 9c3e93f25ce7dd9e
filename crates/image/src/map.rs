//! What a map is.

use std::borrow::Cow;

use crate::{Status, Window};

/// What the volumes of a map are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapKind {
    /// One number per voxel, or several without a common frame.
    Scalar,
    /// One of a few codes per voxel, stored as bytes.
    Code,
    /// x, y, z in scanner RAS axes.
    Vector,
    /// x, y, z of several vectors in scanner RAS axes, one after the other; NaN where there is none.
    Peaks,
    /// A symmetric matrix, xx xy xz yy yz zz in scanner RAS axes.
    Tensor,
    /// The kurtosis tensor: 15 unique entries, lexicographic, in scanner RAS axes.
    Kurtosis,
    /// Unique entries of a symmetric tensor of this order (4 and above) in scanner RAS axes,
    /// lexicographic.
    Form(usize),
    /// Coefficients of even real spherical harmonics up to this degree, in MRtrix3's basis and
    /// order, in scanner RAS axes.
    Harmonics(usize),
}

/// What a map is: all that its file says of it.
#[derive(Clone, Debug, PartialEq)]
pub struct MapSpec {
    /// The name of its file, without extension.
    pub name: Cow<'static, str>,
    /// What its volumes are.
    pub kind: MapKind,
    /// Number of volumes.
    pub n_volumes: usize,
    /// Unit as BIDS writes it ("mm^2/s"), empty for a pure number, "arbitrary" for signals.
    pub unit: Cow<'static, str>,
    /// What it holds, in a line, with unit, order and frame.
    pub description: Cow<'static, str>,
    /// The values that the colours of its pictures span.
    pub window: Window,
}

impl MapSpec {
    /// A map of one number per voxel.
    pub const fn scalar(name: &'static str, unit: &'static str, description: &'static str) -> Self {
        Self::of_kind(name, MapKind::Scalar, 1, unit, description)
    }

    /// A map of any kind with names known beforehand.
    pub const fn of_kind(
        name: &'static str,
        kind: MapKind,
        n_volumes: usize,
        unit: &'static str,
        description: &'static str,
    ) -> Self {
        Self {
            name: Cow::Borrowed(name),
            kind,
            n_volumes,
            unit: Cow::Borrowed(unit),
            description: Cow::Borrowed(description),
            window: Window::Robust,
        }
    }

    /// The same, with pictures that span these values.
    #[must_use]
    pub const fn within(mut self, window: Window) -> Self {
        self.window = window;
        self
    }

    /// The map that every fit writes last: the [`Status`] of each voxel.
    pub const fn status() -> Self {
        Self::of_kind("status", MapKind::Code, 1, "", Status::LEGEND).within(Status::WINDOW)
    }

    /// The map of residuals that every fit offers.
    pub const fn residual() -> Self {
        Self::scalar(
            "residual",
            "arbitrary",
            "root mean square of measured minus predicted signal, input units",
        )
        .within(Window::FromZero)
    }
}

impl MapSpec {
    /// The name and description of a map whose words are known beforehand; empty for others.
    #[doc(hidden)]
    pub const fn words(&'static self) -> (&'static str, &'static str) {
        match (&self.name, &self.description) {
            (Cow::Borrowed(name), Cow::Borrowed(description)) => (name, description),
            _ => ("", ""),
        }
    }
}

/// Declares the maps of a fit that users choose among: an enum with a [`MapSpec`] for each of its
/// values, so that a map is said in one line. It gets `ALL`, in the order of writing, `spec`, `name`,
/// and `TABLE` with the names and meanings.
#[macro_export]
macro_rules! map_table {
    ($(#[$about:meta])* pub enum $maps:ident { $($(#[$meta:meta])* $map:ident = $spec:expr,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $maps { $($(#[$meta])* $map,)* }

        impl $maps {
            /// Every map, in the order they are written.
            pub const ALL: [Self; [$(stringify!($map)),*].len()] = [$(Self::$map),*];

            /// Every map, the name of its file, and what it holds.
            pub const TABLE: &'static [(Self, &'static str, &'static str)] = &[$({
                const SPEC: &$crate::MapSpec = &$spec;
                (Self::$map, SPEC.words().0, SPEC.words().1)
            }),*];

            /// What its file says of it.
            pub fn spec(self) -> $crate::MapSpec {
                match self { $(Self::$map => $spec),* }
            }

            /// The name of its file, without extension.
            pub fn name(self) -> &'static str {
                Self::TABLE[self as usize].1
            }

            /// Number of volumes.
            pub fn n_volumes(self) -> usize {
                self.spec().n_volumes
            }
        }

        impl AsRef<str> for $maps {
            /// The name of its file, without extension.
            fn as_ref(&self) -> &str {
                self.name()
            }
        }
    };
}
