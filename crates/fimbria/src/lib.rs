//! Diffusion MRI on arrays, for Rust programs: brain masks, model fits, fibre densities, peaks and
//! tracking, with the methods and defaults of the `fimbria` program.
//!
//! An [`Engine`] holds the threads and devices that work. A [`Series`] holds samples with their gradient
//! table. Results are [`Maps`] by name and [`Streamlines`]. Nothing here reads files, prints, or keeps global
//! state.
//!
//! ```
//! use fimbria::ndarray::Array4;
//! use fimbria::{Engine, Frame, Gradients, Options, Series};
//!
//! // One voxel in which water moves three times as far along x as across it, D in mm²/s.
//! let (b, dirs) = (1000.0, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.6, 0.8, 0.0],
//!     [0.6, 0.0, 0.8], [0.0, 0.6, 0.8]]);
//! let diffusivity = |g: &[f64; 3]| 1.5e-3 * g[0] * g[0] + 0.5e-3 * (g[1] * g[1] + g[2] * g[2]);
//! let mut samples = vec![100.0_f32];
//! samples.extend(dirs.iter().map(|g| (100.0 * (-b * diffusivity(g)).exp()) as f32));
//! let samples = Array4::from_shape_vec((1, 1, 1, 7), samples)?;
//!
//! let table = Gradients::new(
//!     [vec![0.0], vec![b; 6]].concat(),
//!     [vec![[0.0; 3]], dirs.to_vec()].concat(),
//!     Frame::Scanner,
//! );
//! let affine = [[2.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0]];
//! let series = Series::new(samples.view(), affine, table)?;
//!
//! let engine = Engine::new(1, "cpu")?;
//! let maps = engine.fit("dti", &series, &Options::new().with("method", "ols"))?;
//! let md = maps["MD"][[0, 0, 0, 0]];
//! assert!((md - 2.5e-3 / 3.0).abs() < 1e-8);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! From a series to streamlines:
//!
//! ```no_run
//! # use fimbria::{Affine, Basis, Densities, Engine, Error, Frame, Options, Series, Streamlines};
//! # fn streamlines(series: Series, affine: Affine) -> Result<Streamlines, Error> {
//! let engine = Engine::new(0, "auto")?;
//! let mask = engine.brain_mask(&series);
//! let series = series.with_mask(mask.view())?;
//! let mut maps = engine.fit("fod", &series, &Options::new())?;
//! let fod = maps.take("fod").expect("every fit of densities gives them");
//! let densities = Densities::new(fod, affine, Basis::Mrtrix, Frame::Scanner)?.with_mask(mask.view())?;
//! engine.track(&densities, mask.view(), &Options::new().with("samples", 2))
//! # }
//! ```
//!
//! [`Options`] have the names of the program's long options without their dashes; the manual's
//! [reference](https://github.com/fimbria/fimbria/tree/main/docs/reference) lists those of each command,
//! with units and defaults. Arrays have the axes x, y, z, volume. Directions are unit vectors in scanner
//! RAS+ axes, positions scanner millimetres.
//!
//! The other crates of the workspace serve this one and the program, and change without notice.

mod densities;
mod engine;
mod error;
mod fit;
mod maps;
mod options;
mod series;
mod streamlines;

pub use ndarray;

pub use densities::{Basis, Densities};
pub use engine::{Engine, Observer};
pub use error::Error;
pub use fit::fits;
pub use maps::Maps;
pub use options::Options;
pub use series::{Affine, Frame, Gradients, Series};
pub use streamlines::Streamlines;
