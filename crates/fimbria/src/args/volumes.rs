//! Which volumes a fit uses.

use clap::Args;

/// Shells by their b.
#[derive(Debug, Args)]
pub(crate) struct ShellArgs {
    /// Use only the shells nearest to these b, s/mm², separated by commas, and the unweighted
    /// volumes [default: all]
    #[arg(long, value_name = "B,B", value_delimiter = ',', value_parser = shell)]
    shells: Option<Vec<f64>>,
}

impl ShellArgs {
    /// Their b, s/mm²; `None` for all.
    pub(crate) fn list(self) -> Option<Vec<f64>> {
        let Self { shells } = self;
        shells
    }
}

fn shell(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(b) if b.is_finite() && b >= 0.0 => Ok(b),
        _ => Err("it must be a number from 0 on, in s/mm²".to_owned()),
    }
}
