//! Streamlines chosen, images made of them, bundles found, cleaned and measured.

mod assignments;
mod bundles;
mod clean;
mod cluster;
mod edit;
mod labels;
mod map;
mod profile;
mod region_text;
mod regions;
mod rules;
mod sample;
mod source;
mod space;
mod visited;

use std::path::PathBuf;

use fimbria_streamlines::MapAlongError;

pub use self::assignments::ConnectedText;
pub use self::bundles::{BUNDLES_WRITES, BundleOptions, FindBundles, TractFormat};
pub use self::clean::{CLEAN_WRITES, CleanBundle, CleanOptions};
pub use self::cluster::{CLUSTER_WRITES, ClusterOptions, ClusterTracts};
pub use self::edit::{EDIT_WRITES, EditOptions, EditTracts};
pub(in crate::stages) use self::labels::LabelNames;
pub use self::labels::NamesError;
pub use self::map::{MAP_WRITES, MapOf, MapOptions, MapTracts};
pub(super) use self::profile::stem;
pub use self::profile::{PROFILE_WRITES, ProfileBundle, ProfileOptions};
pub use self::region_text::{RegionText, StartText};
pub use self::rules::RuleOptions;
pub use self::sample::{SAMPLE_WRITES, SampleOptions, SampleTracts, SampledForm};
pub use self::space::SpaceOptions;
use crate::options::OptionError;

/// What else can be wrong with bundles and what they are found by.
#[derive(Debug, thiserror::Error)]
pub enum TractError {
    /// An image without a way back.
    #[error("{}: its matrix cannot be inverted", .0.display())]
    Singular(PathBuf),
    /// An image that is no map.
    #[error("{}", path.display())]
    Map {
        /// The image.
        path: PathBuf,
        /// Why not.
        source: MapAlongError,
    },
    /// Two maps that columns could not tell apart.
    #[error("two maps are named {0}: columns are told apart by the names of files")]
    MapName(String),
    /// A list of labels that is none, or not of this tractogram.
    #[error("{}: {why}", path.display())]
    Assignments {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// Values that another column of the tractogram has the name of.
    #[error("the tractogram has data named {0} already: give the map's file another name")]
    DataName(String),
    /// A region of nothing.
    #[error("{0} has no voxel inside")]
    NoStart(String),
    /// A file of bundles that is none.
    #[error("{}", path.display())]
    Toml {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: Box<toml::de::Error>,
    },
    /// A file of bundles that cannot be read.
    #[error("could not read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file of bundles without any.
    #[error("{} has no bundle: each is a table, [NAME], with its regions", .0.display())]
    NoBundles(PathBuf),
    /// A bundle whose name no file can have.
    #[error("{}: `{name}` cannot be the name of a file; letters, digits, - and _ can", path.display())]
    BundleName {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// A bundle that cannot be looked for.
    #[error("{}, bundle {name}: {source}", path.display())]
    Bundle {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
        /// Why not.
        source: Box<OptionError>,
    },
    /// A bundle without streamlines, or none that counts.
    #[error("{}: no streamline has points and a weight above 0: there is nothing to measure", .0.display())]
    NoStreamlines(PathBuf),
}
