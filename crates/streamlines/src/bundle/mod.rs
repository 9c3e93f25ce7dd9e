//! Bundles along their core: profiles of maps, and streamlines that stray.
//!
//! Every streamline has the same number of nodes, evenly spaced from end to end and counted in one direction
//! ([`Course`]). At each node the bundle has a mean and a covariance ([`Core`]); the distance of a streamline
//! from the core at node k is Mahalanobis', d = √((x - m)ᵀ C⁻¹ (x - m)), with C over n. Streamlines near the core
//! count for more in a [`Profile`], and those far from it are outliers (automated fibre quantification: Yeatman et al.
//! 2012, PLoS ONE 7, e49790). [`QuickBundles`] are streamlines that lie together, whatever their names.

mod core;
mod course;
mod profile;
mod quick;

pub use self::core::{Core, CoreSums, OneSpread};
pub use course::{Course, CourseSums, Nodes, nodes};
pub use profile::{NEAREST, Profile, ProfilePoint};
pub use quick::{Cluster, QuickBundles};
