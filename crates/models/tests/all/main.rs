//! Fits against truth, other programs and each other.

mod curve_devices;
mod curves;
mod curves_real;
mod dki_devices;
mod dki_peers;
mod dti_devices;
mod dti_fit;
mod dti_fsl;
mod dti_operators;
mod dti_peers;
mod expr_fit;
mod fod_fit;
mod hostile;
mod hot_devices;
mod hot_real;
mod laws;
mod locked;
mod msdki;
mod noddi;
mod noddi_truth;
mod nvrtc;
mod partly;
mod recovery;
mod reference;
