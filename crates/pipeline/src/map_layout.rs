//! Formats of maps, and whose names, orders and frames they are written in.

use crate::Choice;

/// The format of maps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MapFormat {
    /// Compressed NIfTI.
    #[default]
    NiiGz,
    /// NIfTI.
    Nii,
    /// MRtrix3's.
    Mif,
}

impl Choice for MapFormat {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::NiiGz, "nii.gz", "compressed NIfTI"),
        (Self::Nii, "nii", "NIfTI"),
        (Self::Mif, "mif", "MRtrix3"),
    ];
}

/// Whose names, orders and frames maps are written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MapLayout {
    /// Plain names; tensors xx xy xz yy yz zz, scanner axes.
    #[default]
    Fimbria,
    /// dtifit's names; vectors and tensors in the axes of FSL's bvecs, tensors xx xy xz yy yz zz.
    Fsl,
    /// MRtrix3's names; tensors xx yy zz xy xz yz, scanner axes; .mif unless asked otherwise.
    Mrtrix,
    /// BIDS derivatives (BEP 16) with sidecars; tensors xx xy xz yy yz zz, scanner axes.
    Bids,
}

impl Choice for MapLayout {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Fimbria, "fimbria", "plain names, scanner axes"),
        (Self::Fsl, "fsl", "dti_FA ..., vectors and tensors in the axes of FSL's bvecs"),
        (Self::Mrtrix, "mrtrix", "dt.mif ..., tensors xx yy zz xy xz yz in scanner axes"),
        (Self::Bids, "bids", "..._model-tensor_param-fa_dwimap and sidecars, scanner axes"),
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_is_found_by_its_name() {
        for (layout, name, _) in MapLayout::CHOICES {
            assert_eq!(MapLayout::from_name(name), Some(*layout));
        }
        for (format, name, _) in MapFormat::CHOICES {
            assert_eq!(MapFormat::from_name(name), Some(*format));
        }
    }
}
