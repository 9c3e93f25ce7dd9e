//! A fixed number of iterations: all lanes run one tensor.

use std::marker::PhantomData;

use fimbria_compute::{Lanes, Real};
use pulp::{Simd, WithSimd};

use super::pair::{QUAD, load, splat, store};
use super::{Advance, Task};
use crate::unrolled::Form;

pub(super) struct Solve<'a, F, A> {
    task: Task<'a>,
    iterations: u32,
    kind: PhantomData<(F, A)>,
}

impl<'a, F, A> Solve<'a, F, A> {
    pub(super) fn new(task: Task<'a>, iterations: u32) -> Self {
        Self { task, iterations, kind: PhantomData }
    }
}

impl<F: Form, A: Advance> WithSimd for Solve<'_, F, A> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Task { tensors, starts, shift, mut to, .. } = self.task;
        let width = QUAD * Lanes::<S>::LANES;
        to.iterations.fill(self.iterations);
        for (t, tensor) in tensors.chunks_exact(F::ENTRIES).enumerate() {
            let mut a = [splat(simd, 0.0); 45];
            for (a, &entry) in a[..F::ENTRIES].iter_mut().zip(tensor) {
                *a = splat(simd, entry);
            }
            for (g, group) in starts.chunks(width).enumerate() {
                let mut columns = [[0.0; 64]; 3];
                for (lane, start) in group.iter().enumerate() {
                    for i in 0..3 {
                        columns[i][lane] = start[i];
                    }
                }
                let mut x = [
                    load(simd, &columns[0]),
                    load(simd, &columns[1]),
                    load(simd, &columns[2]),
                ];
                for _ in 0..self.iterations {
                    x = A::advance::<F, _>(&a, &x, shift).1;
                }
                let (lambda, _) = A::advance::<F, _>(&a, &x, shift);
                let mut values = [0.0; 64];
                store(lambda, &mut values);
                for i in 0..3 {
                    store(x[i], &mut columns[i]);
                }
                let first = t * starts.len() + g * width;
                for lane in 0..group.len() {
                    to.lambda[first + lane] = values[lane];
                    to.x[first + lane] = [columns[0][lane], columns[1][lane], columns[2][lane]];
                }
            }
        }
    }
}
