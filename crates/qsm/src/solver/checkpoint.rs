//! A solver as bytes, to go on from after the process was killed.

use super::{Iteration, Saved};

/// A solver between two iterations, and the iterations that led there.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The solver.
    pub saved: Saved,
    /// What it did so far.
    pub log: Vec<Iteration>,
    /// The step that a Landweber iteration was found to be safe with.
    pub step: f64,
}

impl Checkpoint {
    /// Everything, little-endian.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let Saved { number, numbers, vectors } = &self.saved;
        for count in [*number, numbers.len(), vectors.len()] {
            bytes.extend((count as u64).to_le_bytes());
        }
        let numbers = numbers.iter().chain([&self.step]);
        numbers.for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes.extend((self.log.len() as u64).to_le_bytes());
        for i in &self.log {
            bytes.extend((i.number as u64).to_le_bytes());
            for value in [i.rms, i.relative_change, i.data, i.penalty, i.relative_gradient] {
                bytes.extend(value.to_le_bytes());
            }
        }
        for vector in vectors {
            bytes.extend((vector.len() as u64).to_le_bytes());
            vector.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
        }
        bytes
    }

    /// The checkpoint of these bytes; `None` where they are none, or not a whole one.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Rest(bytes).checkpoint()
    }
}

/// The bytes not yet read.
struct Rest<'b>(&'b [u8]);

impl Rest<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn count(&mut self) -> Option<usize> {
        usize::try_from(u64::from_le_bytes(self.take()?)).ok()
    }

    fn number(&mut self) -> Option<f64> {
        self.take().map(f64::from_le_bytes)
    }

    fn vector(&mut self) -> Option<Vec<f32>> {
        let bytes = self.count()?.checked_mul(4)?;
        let (values, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(values.as_chunks().0.iter().map(|&value| f32::from_le_bytes(value)).collect())
    }

    fn iteration(&mut self) -> Option<Iteration> {
        Some(Iteration {
            number: self.count()?,
            rms: self.number()?,
            relative_change: self.number()?,
            data: self.number()?,
            penalty: self.number()?,
            relative_gradient: self.number()?,
        })
    }

    fn checkpoint(&mut self) -> Option<Checkpoint> {
        let [number, numbers, vectors] = [self.count()?, self.count()?, self.count()?];
        let numbers = (0..numbers).map(|_| self.number()).collect::<Option<_>>()?;
        let step = self.number()?;
        let iterations = self.count()?;
        let mut log = Vec::new();
        for _ in 0..iterations {
            log.push(self.iteration()?);
        }
        let vectors = (0..vectors).map(|_| self.vector()).collect::<Option<_>>()?;
        let saved = Saved { number, numbers, vectors };
        self.0.is_empty().then_some(Checkpoint { saved, log, step })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint() -> Checkpoint {
        let iteration = Iteration {
            number: 1,
            rms: 0.1,
            relative_change: 1.0,
            data: 3.0,
            penalty: 0.5,
            relative_gradient: 0.25,
        };
        let vectors = vec![vec![1.0, 2.0], vec![-3.0; 3], vec![], vec![0.5, 0.25]];
        let saved = Saved { number: 1, numbers: vec![2.0, 4.0], vectors };
        Checkpoint { saved, log: vec![iteration], step: 0.7 }
    }

    #[test]
    fn a_checkpoint_comes_back_whole_or_not_at_all() {
        let bytes = checkpoint().to_bytes();
        assert_eq!(Checkpoint::from_bytes(&bytes), Some(checkpoint()));
        for length in [0, 3, 20, 60, bytes.len() - 1] {
            assert_eq!(Checkpoint::from_bytes(&bytes[..length]), None, "{length}");
        }
    }
}
