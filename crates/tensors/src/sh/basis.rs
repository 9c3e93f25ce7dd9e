//! How programs order and sign the coefficients.

/// A convention for real even spherical harmonics.
///
/// With `Y_l^m` the complex harmonics, orthonormal and with the Condon-Shortley phase, a basis
/// function of degree l and order -l ≤ m ≤ l is, for every convention, at place `l(l+1)/2 + m` and
///
/// | convention | m < 0 | m = 0 | m > 0 |
/// |---|---|---|---|
/// | [`Mrtrix`](Self::Mrtrix) (DIPY's `tournier07`, `legacy=False`) | √2 Im `Y_l^\|m\|` | `Y_l^0` | √2 Re `Y_l^m` |
/// | [`Dipy`](Self::Dipy) (`descoteaux07`, `legacy=False`) | √2 Re `Y_l^m` | `Y_l^0` | √2 Im `Y_l^m` |
/// | [`DipyLegacy`](Self::DipyLegacy) (`descoteaux07`, `legacy=True`) | √2 Re `Y_l^\|m\|` | `Y_l^0` | √2 Im `Y_l^m` |
///
/// All are the same functions up to order and sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShBasis {
    /// MRtrix3 since 0.3; fimbria's own.
    Mrtrix,
    /// DIPY's `descoteaux07` with `legacy=False`.
    Dipy,
    /// DIPY's `descoteaux07` with `legacy=True`, the default of its models until now.
    DipyLegacy,
}

impl ShBasis {
    /// Every convention.
    pub const ALL: [Self; 3] = [Self::Mrtrix, Self::Dipy, Self::DipyLegacy];

    /// Its name on command lines and in sidecars.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mrtrix => "mrtrix",
            Self::Dipy => "dipy",
            Self::DipyLegacy => "dipy-legacy",
        }
    }

    /// For each coefficient of this basis up to degree `lmax`, in its order: the place of that
    /// function in MRtrix3's order, and the sign that makes them equal.
    pub fn in_mrtrix(self, lmax: usize) -> Vec<(usize, f64)> {
        let mut places = Vec::with_capacity(sh_count(lmax));
        for l in (0..=lmax).step_by(2) {
            let middle = l * (l + 1) / 2;
            for place in 0..=2 * l {
                let m = place as isize - l as isize;
                places.push(match self {
                    Self::Mrtrix => (middle - l + place, 1.0),
                    Self::DipyLegacy => (middle + l - place, 1.0),
                    // Y_l^-m = (-1)^m conj Y_l^m.
                    Self::Dipy if m < 0 && m % 2 != 0 => (middle + l - place, -1.0),
                    Self::Dipy => (middle + l - place, 1.0),
                });
            }
        }
        places
    }
}

impl std::str::FromStr for ShBasis {
    type Err = UnknownShBasis;

    fn from_str(name: &str) -> Result<Self, UnknownShBasis> {
        let known = Self::ALL.into_iter().find(|basis| basis.name() == name);
        known.ok_or_else(|| UnknownShBasis(name.to_owned()))
    }
}

/// A name that is no basis.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a basis of spherical harmonics: mrtrix, dipy or dipy-legacy")]
pub struct UnknownShBasis(String);

/// Number of coefficients of even degree up to `lmax`: 1, 6, 15, 28, 45 …, which is also the
/// number of unique entries of a symmetric tensor of order `lmax`.
pub const fn sh_count(lmax: usize) -> usize {
    (lmax + 1) * (lmax + 2) / 2
}

/// The even `lmax` with `count` coefficients, if there is one.
pub fn lmax_of_count(count: usize) -> Option<usize> {
    let next = (0..).step_by(2).find(|&lmax| sh_count(lmax) >= count)?;
    (sh_count(next) == count).then_some(next)
}
