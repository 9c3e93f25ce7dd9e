//! Which voxels are solved for, as what shape, and where the field is known.

use fimbria_compute::dense::vec3;
use fimbria_image::{Image, Mask};

use crate::geometry::dir_vox;
use crate::{Cylinder, Geometry, QsmError};

/// The shape that a voxel's susceptibility is taken to have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Isotropic.
    Sphere,
    /// Along a fibre axis (voxel axes, unit length).
    Cylinder([f64; 3]),
    /// Along several: Σ f n n' / Σ f of their axes n and fractions f, xx xy xz yy yz zz (voxel axes).
    Crossing([f64; 6]),
}

impl Shape {
    /// M of anisotropy 1 in a field along `b0`, of fibres: Σ f (n·b) n / Σ f - b/3.
    pub(crate) fn of_anisotropy(&self, b0: [f64; 3]) -> Option<[f64; 3]> {
        let along = match self {
            Self::Sphere => return None,
            Self::Cylinder(axis) => axis.map(|n| vec3::dot(*axis, b0) * n),
            Self::Crossing([xx, xy, xz, yy, yz, zz]) => {
                [[*xx, *xy, *xz], [*xy, *yy, *yz], [*xz, *yz, *zz]].map(|row| vec3::dot(row, b0))
            }
        };
        Some(std::array::from_fn(|a| along[a] - b0[a] / 3.0))
    }

    /// The same in axes of which those with a sign of -1 run the other way.
    pub(crate) fn mirrored(&self, signs: [f64; 3]) -> Self {
        match self {
            Self::Sphere => Self::Sphere,
            Self::Cylinder(axis) => Self::Cylinder([0, 1, 2].map(|a| signs[a] * axis[a])),
            Self::Crossing([xx, xy, xz, yy, yz, zz]) => {
                let [x, y, z] = signs;
                Self::Crossing([*xx, x * y * xy, x * z * xz, *yy, y * z * yz, *zz])
            }
        }
    }

    /// Of `fibres`, unit vectors in voxel axes with fractions above 0; a sphere of none.
    fn of_fibres(fibres: &[([f64; 3], f64)]) -> Self {
        let whole: f64 = fibres.iter().map(|(_, fraction)| fraction).sum();
        match fibres {
            [] => Self::Sphere,
            [(axis, _)] => Self::Cylinder(*axis),
            several => {
                let moment = |(i, j): (usize, usize)| {
                    several.iter().map(|(n, f)| f * n[i] * n[j]).sum::<f64>() / whole
                };
                Self::Crossing([(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)].map(moment))
            }
        }
    }
}

/// Default of the FA above which a voxel is a cylinder.
pub const FA_THRESHOLD: f64 = 0.2;

/// Everything the forward model depends on: b = A x, from the susceptibility x of the unknowns to
/// the field b at the receivers.
///
/// Voxels are linear indices (x fastest) in a box that just holds them all; the caller keeps the
/// lists of the same order in the full grid.
#[derive(Clone, Debug)]
pub struct FieldModel {
    /// The box.
    pub geometry: Geometry,
    /// The voxels solved for, ascending.
    pub unknowns: Vec<u32>,
    /// The shape of each.
    pub shapes: Vec<Shape>,
    /// The voxels where the field is known, ascending.
    pub receivers: Vec<u32>,
    /// A receiver farther than this many voxels along any axis does not see a source; `None` is
    /// exact.
    pub support: Option<u32>,
}

impl FieldModel {
    /// Of `shapes`, one for each voxel of `mask`, seen from the voxels of `receivers`, both on the
    /// grid of `geometry`.
    ///
    /// # Errors
    /// Where the mask is empty or outside the grid, or `shapes` is of another length.
    pub fn new(
        geometry: &Geometry,
        mask: &[u32],
        shapes: Vec<Shape>,
        receivers: &[u32],
    ) -> Result<Self, QsmError> {
        if mask.is_empty() || receivers.is_empty() {
            return Err(QsmError::EmptyMask);
        }
        if shapes.len() != mask.len() {
            let (found, expected) = (shapes.len(), mask.len());
            return Err(QsmError::Length { what: "the list of shapes", found, expected });
        }
        let voxels = geometry.len();
        if let Some(&voxel) = mask.iter().chain(receivers).find(|&&v| v as usize >= voxels) {
            return Err(QsmError::MaskOutside { voxel, voxels });
        }
        let (mut low, mut high) = ([usize::MAX; 3], [0; 3]);
        for &voxel in mask.iter().chain(receivers) {
            let at = geometry.voxel(voxel as usize);
            for a in 0..3 {
                low[a] = low[a].min(at[a]);
                high[a] = high[a].max(at[a] + 1);
            }
        }
        let dims: [usize; 3] = std::array::from_fn(|a| high[a] - low[a]);
        let in_box = |voxel: &u32| {
            let at = geometry.voxel(*voxel as usize);
            let at: [usize; 3] = std::array::from_fn(|a| at[a] - low[a]);
            (at[0] + dims[0] * (at[1] + dims[1] * at[2])) as u32
        };
        Ok(Self {
            geometry: Geometry { dims, ..*geometry },
            unknowns: mask.iter().map(in_box).collect(),
            shapes,
            receivers: receivers.iter().map(in_box).collect(),
            support: None,
        })
    }

    /// Sees only as far as `support` voxels along each axis.
    #[must_use]
    pub fn with_support(mut self, support: Option<u32>) -> Self {
        self.support = support;
        self
    }

    /// How many unknowns have fibres.
    pub fn cylinders(&self) -> usize {
        self.shapes.iter().filter(|shape| **shape != Shape::Sphere).count()
    }

    /// Whether no unknown has several fibres.
    ///
    /// # Errors
    /// [`QsmError::Crossing`].
    pub(crate) fn check_cylinders(&self) -> Result<(), QsmError> {
        let several = self.shapes.iter().filter(|shape| matches!(shape, Shape::Crossing(_)));
        match several.count() {
            0 => Ok(()),
            count => Err(QsmError::Crossing { count }),
        }
    }

    /// The cylinders: index among the unknowns, and what follows from the axis.
    pub(crate) fn cylinder_sources(&self) -> impl Iterator<Item = (usize, Cylinder)> {
        self.shapes.iter().enumerate().filter_map(|(index, shape)| match shape {
            Shape::Sphere | Shape::Crossing(_) => None,
            // A unit vector has a direction.
            Shape::Cylinder(axis) => Cylinder::new(&self.geometry, *axis).map(|c| (index, c)),
        })
    }
}

/// The shape of each voxel of `mask`: a cylinder along the vector where it is longer than
/// `threshold` (strictly), else a sphere. Vectors are FA·V1, or V1 with `fa` given apart; scanner
/// axes. NaN is a sphere. Of several vectors, three volumes each, their lengths are the fractions of
/// fibres, whose sum is taken for FA where that is not given; those that are 0 or NaN are none.
///
/// # Errors
/// Where grids differ, the vectors are not three volumes each, or more than one voxel of 200 has an
/// anisotropy far above 1.
pub fn shapes_of(
    vectors: &Image,
    fa: Option<&Image>,
    mask: &Mask,
    threshold: f64,
) -> Result<Vec<Shape>, QsmError> {
    mask.grid.check_same(&vectors.grid, "the image of fibre directions")?;
    if vectors.n_volumes == 0 || !vectors.n_volumes.is_multiple_of(3) {
        let what = "each voxel's fibre direction";
        return Err(QsmError::Length { what, found: vectors.n_volumes, expected: 3 });
    }
    if let Some(fa) = fa {
        mask.grid.check_same(&fa.grid, "FA")?;
    }
    let anisotropy = |voxel: usize| match fa {
        Some(fa) => f64::from(fa.volume(0)[voxel]),
        None => whole_length(vectors, voxel),
    };
    // Rounding of stored numbers, and estimates of negative eigenvalues, exceed 1 a little.
    let beyond = mask.voxels.iter().filter(|&&voxel| anisotropy(voxel as usize) > 1.25);
    let count = beyond.count();
    if 200 * count > mask.len() {
        let what = if fa.is_some() { "FA" } else { "the length of FA·V1" };
        return Err(QsmError::Anisotropy { what, count });
    }
    let affine = vectors.grid.ras_from_vox;
    let shape = |&voxel: &u32| {
        let voxel = voxel as usize;
        // NaN is not above it.
        let has_fibres = anisotropy(voxel) > threshold;
        if !has_fibres {
            return Shape::Sphere;
        }
        let fibre = |vector: [f64; 3]| {
            Some((dir_vox(&affine, vec3::unit(vector)?), vec3::dot(vector, vector).sqrt()))
        };
        Shape::of_fibres(&vectors_at(vectors, voxel).filter_map(fibre).collect::<Vec<_>>())
    };
    Ok(mask.voxels.iter().map(shape).collect())
}

/// The vectors of a voxel, three volumes each.
fn vectors_at(vectors: &Image, voxel: usize) -> impl Iterator<Item = [f64; 3]> {
    (0..vectors.n_volumes / 3)
        .map(move |fibre| std::array::from_fn(|a| f64::from(vectors.volume(3 * fibre + a)[voxel])))
}

/// The sum of the lengths of a voxel's vectors (three volumes each), of those that are numbers; NaN
/// where none is.
pub fn whole_length(vectors: &Image, voxel: usize) -> f64 {
    let lengths = vectors_at(vectors, voxel).map(|vector| vec3::dot(vector, vector).sqrt());
    lengths.filter(|length| length.is_finite()).reduce(|a, b| a + b).unwrap_or(f64::NAN)
}
