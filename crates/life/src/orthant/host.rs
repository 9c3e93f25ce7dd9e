use fimbria_compute::operator::VectorSpace as _;
use fimbria_compute::{HostError, HostSpace};
use rayon::prelude::*;

use super::OrthantSpace;

/// Elements that one task works on.
const BLOCK: usize = 8192;

impl OrthantSpace for HostSpace<'_> {
    fn hold(&self, x: &Vec<f32>, g: &Vec<f32>, v: &mut Vec<f32>) -> Result<(), HostError> {
        assert!([x.len(), g.len(), v.len()] == [self.len(); 3], "vectors of another space");
        let blocks = v.par_chunks_mut(BLOCK).zip(x.par_chunks(BLOCK).zip(g.par_chunks(BLOCK)));
        self.workers().install(|| {
            blocks.for_each(|(v, (x, g))| {
                for ((v, x), g) in v.iter_mut().zip(x).zip(g) {
                    if *x <= 0.0 && *g > 0.0 {
                        *v = 0.0;
                    }
                }
            });
        });
        Ok(())
    }

    fn restrict_to_face(&self, x: &Vec<f32>, v: &mut Vec<f32>) -> Result<(), HostError> {
        assert!([x.len(), v.len()] == [self.len(); 2], "vectors of another space");
        let blocks = v.par_chunks_mut(BLOCK).zip(x.par_chunks(BLOCK));
        self.workers().install(|| {
            blocks.for_each(|(v, x)| {
                for (v, x) in v.iter_mut().zip(x) {
                    if *x <= 0.0 {
                        *v = 0.0;
                    }
                }
            });
        });
        Ok(())
    }

    fn longest_step(&self, x: &Vec<f32>, p: &Vec<f32>) -> Result<f64, HostError> {
        assert!([x.len(), p.len()] == [self.len(); 2], "vectors of another space");
        let of_block = |(x, p): (&[f32], &[f32])| {
            let steps = x.iter().zip(p).filter(|(_, p)| **p > 0.0).map(|(x, p)| x / p);
            steps.fold(f32::INFINITY, f32::min)
        };
        let blocks = x.par_chunks(BLOCK).zip(p.par_chunks(BLOCK));
        let least = self.workers().install(|| {
            // The least of some numbers does not depend on their order.
            blocks.map(of_block).reduce(|| f32::INFINITY, f32::min)
        });
        Ok(f64::from(least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fimbria_compute::Workers;

    #[test]
    fn bounds_hold_what_would_leave_the_orthant() {
        let workers = Workers::new(2).unwrap();
        let space = HostSpace::new(&workers, 4);
        let x = vec![0.0, 0.0, 2.0, 3.0];
        let g = vec![1.0, -1.0, 1.0, -4.0];
        let mut projected = g.clone();
        space.hold(&x, &g, &mut projected).unwrap();
        assert_eq!(projected, [0.0, -1.0, 1.0, -4.0]);
        let mut free = g.clone();
        space.restrict_to_face(&x, &mut free).unwrap();
        assert_eq!(free, [0.0, 0.0, 1.0, -4.0]);
    }

    #[test]
    fn the_longest_step_ends_where_the_first_element_is_zero() {
        let workers = Workers::new(2).unwrap();
        let space = HostSpace::new(&workers, 3);
        let x = vec![4.0, 3.0, 1.0];
        assert_eq!(space.longest_step(&x, &vec![2.0, 6.0, -1.0]).unwrap(), 0.5);
        assert_eq!(space.longest_step(&x, &vec![0.0, -6.0, -1.0]).unwrap(), f64::INFINITY);
    }
}
