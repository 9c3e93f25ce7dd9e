//! Values with names: what a user writes for them on a command line or in a file.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use fimbria_image::BvecFrame;
use fimbria_image::gradients::BScaling;
use fimbria_models::dti::{Compat, DtiMap, Method, Precision};
use fimbria_models::fod::Tissues;
use fimbria_models::hot::{HotMethod, HotOrder};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A type whose few values have names.
pub trait Choice: Copy + PartialEq + Send + Sync + 'static {
    /// Every value, its name, and what it means in a few words.
    const CHOICES: &'static [(Self, &'static str, &'static str)];

    /// The name of this value.
    fn name(self) -> &'static str {
        // Every value is listed; a test of each type holds it to that.
        Self::CHOICES.iter().find(|(value, ..)| *value == self).map_or("", |(_, name, _)| name)
    }

    /// The value of this name, in letters of either case.
    fn from_name(name: &str) -> Option<Self> {
        Self::CHOICES
            .iter()
            .find(|(_, n, _)| n.eq_ignore_ascii_case(name))
            .map(|(value, ..)| *value)
    }
}

/// A value that is read and written by its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Named<T>(pub T);

impl<T: Choice> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name())
    }
}

impl<'de, T: Choice> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        T::from_name(&name).map(Self).ok_or_else(|| {
            let names: Vec<_> = T::CHOICES.iter().map(|(_, name, _)| *name).collect();
            D::Error::custom(format!("`{name}` is none of {}", names.join(", ")))
        })
    }
}

/// A parser of the names of a choice, which lists them in the help.
pub fn choice<T: Choice>() -> impl TypedValueParser<Value = Named<T>> {
    let values = T::CHOICES.iter().map(|(_, name, help)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(values).try_map(|name| {
        // Only listed names come through.
        T::from_name(&name).map(Named).ok_or("not one of the possible values")
    })
}

impl Choice for BvecFrame {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Fsl, "fsl", "voxel axes, x reversed where det(affine) > 0: FSL, BIDS"),
        (Self::Voxel, "voxel", "voxel axes as they are: DIPY"),
        (Self::Scanner, "scanner", "scanner RAS axes: MRtrix3"),
    ];
}

impl Choice for BScaling {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Auto, "auto", "by the format, as FSL and MRtrix3 do"),
        (Self::Yes, "yes", "multiply b by the squared length of its direction"),
        (Self::No, "no", "normalise directions, leave b"),
    ];
}

impl Choice for Method {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Ols, "ols", "ordinary least squares of ln S"),
        (Self::Wls, "wls", "OLS, then one pass weighted by the squared predicted signal"),
        (Self::Iwls, "iwls", "a pass weighted by the squared signal, two by the predicted one"),
        (Self::Nlls, "nlls", "non-linear least squares of S"),
        (Self::Restore, "restore", "NLLS without outliers (RESTORE)"),
    ];
}

impl Choice for Compat {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Fsl, "fsl", "the numerics of FSL's dtifit"),
        (Self::Dipy, "dipy", "the numerics of DIPY's TensorModel"),
        (Self::Mrtrix, "mrtrix", "the numerics of MRtrix3's dwi2tensor"),
    ];
}

impl Choice for Precision {
    const CHOICES: &'static [(Self, &'static str, &'static str)] =
        &[(Self::Single, "single", "f32"), (Self::Double, "double", "f64, many times slower")];
}

impl Choice for HotOrder {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Four, "4", "15 unique entries"),
        (Self::Six, "6", "28 unique entries"),
        (Self::Eight, "8", "45 unique entries"),
    ];
}

impl Choice for HotMethod {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Ols, "ols", "ordinary least squares of ln S"),
        (Self::Wls, "wls", "OLS, then one pass weighted by the squared predicted signal"),
        (Self::Iwls, "iwls", "a pass weighted by the squared signal, two by the predicted one"),
    ];
}

impl Choice for Tissues {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Auto, "auto", "three where the data have unweighted volumes"),
        (Self::White, "white", "fibres only, on the weighted volumes"),
        (Self::Three, "three", "fibres, grey matter and fluid"),
    ];
}

impl Choice for DtiMap {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = Self::TABLE;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let error = serde_json::from_str::<Named<Method>>("\"lls\"").unwrap_err().to_string();
        assert!(error.starts_with("`lls` is none of ols, wls, iwls, nlls, restore"), "{error}");
    }
}
