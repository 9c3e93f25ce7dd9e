//! The densities of an ODX.

use fimbria_compute::Progress as _;
use fimbria_image::odx::{DESCOTEAUX, Harmonics, MaskedRows, Odx, TOURNIER};
use fimbria_image::{BvecFrame, read_mask};
use fimbria_tensors::sh::ShBasis;

use super::{FieldError, OrientationField, OrientationFiles, order_of};
use crate::stages::contents::Contents;
use crate::{Carried, Logbook};

impl OrientationFiles {
    /// Reads the densities of an ODX, where it has rows and the mask allows.
    pub(super) fn read_odx(&self, log: &Logbook<'_>) -> Result<OrientationField, FieldError> {
        let workers = log.session().on.workers;
        let path = &self.image;
        let mut odx = Odx::read(path)?;
        let none = || FieldError::NoHarmonics(path.clone());
        let basis = self.basis_in(odx.harmonics.as_ref().ok_or_else(none)?)?;
        let mut mask = odx.mask();
        let coefficients = MaskedRows::from_harmonics(&mut odx).ok_or_else(none)?;
        if let Some(path) = &self.mask {
            let given = workers.install(|| read_mask(path, &odx.grid))?;
            mask.voxels.retain(|voxel| given.voxels.binary_search(voxel).is_ok());
            if mask.is_empty() {
                return Err(FieldError::EmptyMask(path.clone()));
            }
        }
        let coefficients: Box<dyn fimbria_image::SignalSource + Send + Sync> =
            Box::new(coefficients);
        let order = order_of(path, self.order, coefficients.n_volumes())?;
        log.note(&format!("{} of order {order}", Contents::Harmonics(Some(basis))));
        log.count("voxels", mask.len() as u64);
        // Whatever the basis, an ODX is in scanner axes.
        let frame = self.frame.map_or(BvecFrame::Scanner, |frame| frame.0);
        let (basis, carried) = (Some(basis), Carried::default());
        Ok(OrientationField { coefficients, order, basis, frame, mask, carried })
    }

    /// The basis of harmonics, which must be that asked for.
    fn basis_in(&self, harmonics: &Harmonics) -> Result<ShBasis, FieldError> {
        let asked = self.sh_basis.map(|basis| basis.0);
        let Harmonics { basis, legacy, .. } = harmonics;
        let says = match (&**basis, legacy) {
            (TOURNIER, None | Some(false)) => Some(ShBasis::Mrtrix),
            (DESCOTEAUX, Some(true)) => Some(ShBasis::DipyLegacy),
            (DESCOTEAUX, Some(false)) => Some(ShBasis::Dipy),
            (DESCOTEAUX, None) => asked.filter(|asked| *asked != ShBasis::Mrtrix),
            _ => None,
        };
        let fits = says.filter(|says| asked.is_none_or(|asked| asked == *says));
        fits.ok_or_else(|| FieldError::OdxBasis {
            path: self.image.clone(),
            says: match legacy {
                Some(true) => format!("{basis} (legacy)"),
                _ => basis.clone(),
            },
            asked,
        })
    }
}
