//! Connectome evaluation: how much each streamline of a tractogram explains of the measured
//! signal (LiFE: Pestilli et al. 2014; ENCODE: Caiafa and Pestilli 2017; MPI-LiFE: Gugnani et al.
//! 2017).
//!
//! The signal of every voxel is the sum of what its streamlines contribute along their directions:
//! with the demeaned signal y and one weight for each streamline,
//!
//! ```text
//! min ½‖y - M w‖²  over w ≥ 0,      M[(θ,v),f] = S0(v) Σ_a D[θ,a] Φ(a,v,f)
//! ```
//!
//! and a streamline that the others make superfluous has weight zero. M itself is never formed:
//!
//! * [`Encoder`] turns streamlines into Φ ([`Encoding`]): which voxels, along which directions
//!   (exact ones or an [`OrientationGrid`]), how much ([`Normalise`]); a [`Surveyor`] says before how
//!   large it becomes, and which voxels each of several processes has ([`Deal`]);
//! * [`Protocol`] and [`Response`] make the columns of D, [`Basis`] shortens them to a
//!   [`Dictionary`], [`Signal`] is y;
//! * [`Blocks`] is Φ in the order of products, which [`DealtProduct`] makes, on threads and devices
//!   ([`product`]);
//! * [`solve`] has the solvers, over any operator, and [`Groups`] that are penalised together; [`Shared`] is one on several processes;
//! * [`System`] is all of it together, and finds [`Weights`];
//! * [`evidence`] is what weights say: predictions, errors, cross-validation, virtual lesions;
//!   [`Query`] finds streamlines by where they run;
//! * [`oracle`] is the definition in f64;
//! * [`sift2`] weighs streamlines by the density of fibres instead of the signal.
//!
//! Positions are scanner RAS+ mm, directions scanner axes, b in s/mm², diffusivities in mm²/s.

mod basis;
mod check;
mod compartments;
mod deal;
mod dictionary;
mod encoding;
mod entry;
mod error;
pub mod evidence;
mod exact;
mod groups;
mod listed_directions;
pub mod oracle;
mod orientations;
mod orthant;
mod processes;
pub mod product;
mod query;
mod renumber;
mod response;
mod rounds;
pub mod sift2;
mod signal;
pub mod solve;
mod survey;
#[cfg(test)]
mod testing;
mod trace;
mod weigh;

pub use basis::{Basis, Rank};
pub use check::checks;
pub use compartments::{Compartments, Fibres, Hindered};
pub use deal::Deal;
pub use dictionary::Dictionary;
pub use encoding::{EncodeCounts, Encoder, Encoding, Entry};
pub use entry::{Atoms, CountBy, EncodeOptions, Normalise, Share, Sharer, SharerScratch};
pub use error::LifeError;
pub use groups::{GroupPenalty, Grouped, Groups};
pub use listed_directions::ListedDirections;
pub use orientations::{OrientationGrid, Orientations};
pub use orthant::OrthantSpace;
pub use processes::{Parted, Shared};
pub use product::{Agree, Blocks, DealtProduct, PartialProduct};
pub use query::Query;
pub use response::{Demean, Protocol, Response, check_diffusivity};
pub use signal::Signal;
pub use survey::{Survey, Surveyor};
pub use trace::{Piece, TraceNotes, Tracer};
pub use weigh::{Method, System, TissueOptions, Watch, WeighOptions, Weights};
