//! The maps of a field.

use fimbria_image::{MapKind, MapSpec, Window};

pub(super) static TOTAL: MapSpec = MapSpec::of_kind(
    "total_field",
    MapKind::Scalar,
    1,
    "ppm",
    "field of all sources relative to B0, ppm, positive along B0 beside a paramagnetic source",
)
.within(Window::Symmetric);
pub(super) static LOCAL: MapSpec = MapSpec::of_kind(
    "local_field",
    MapKind::Scalar,
    1,
    "ppm",
    "field of the sources inside the mask relative to B0, ppm",
)
.within(Window::Symmetric);
pub(super) static TOTAL_RELATIVE: MapSpec = MapSpec::of_kind(
    "total_field",
    MapKind::Scalar,
    1,
    "rad",
    "field of all sources, radians of the phase of the echo",
)
.within(Window::Symmetric);
pub(super) static LOCAL_RELATIVE: MapSpec = MapSpec::of_kind(
    "local_field",
    MapKind::Scalar,
    1,
    "rad",
    "field of the sources inside the mask, radians of the phase of the echo",
)
.within(Window::Symmetric);
pub(super) static MASK: MapSpec =
    MapSpec::of_kind("mask", MapKind::Code, 1, "", "1 where the local field is known")
        .within(Window::Fixed([0.0, 1.0]));
pub(super) static QUALITY: MapSpec = MapSpec::of_kind(
    "quality",
    MapKind::Scalar,
    1,
    "",
    "how reliable the phase is, 0 to 1: the mean over a voxel's steps to neighbours, as ROMEO",
)
.within(Window::Fixed([0.0, 1.0]));
pub(super) static WEIGHTS: MapSpec = MapSpec::of_kind(
    "weights",
    MapKind::Scalar,
    1,
    "",
    "how surely the field is known: 1 / its standard deviation, its median 1, at most 2",
);
pub(super) static R2STAR: MapSpec =
    MapSpec::of_kind("r2star", MapKind::Scalar, 1, "1/s", "R2*, rate of decay of the magnitude");

/// What the fields are, with the background and without.
pub(super) fn fields(is_relative: bool) -> [&'static MapSpec; 2] {
    if is_relative { [&TOTAL_RELATIVE, &LOCAL_RELATIVE] } else { [&TOTAL, &LOCAL] }
}
