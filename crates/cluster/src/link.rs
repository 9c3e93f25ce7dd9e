//! What a sum over processes costs, and which way of making it is the fastest.

use std::time::Instant;

use fimbria_compute::comm::Comm;

use crate::{Exchange, World};

/// What a sum over processes costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Seconds of a sum of nothing.
    pub latency: f64,
    /// Seconds for each byte of the vector, on each process.
    pub per_byte: f64,
    /// Number of processes it was measured with.
    pub processes: usize,
}

impl Link {
    /// Times sums of vectors without and with length. All processes find the same.
    pub fn measured(comm: &dyn Comm) -> Self {
        const LONG: usize = 1 << 18;
        let least = |len: usize, times: usize| {
            let mut values = vec![1.0; len];
            let mut least = f64::INFINITY;
            for _ in 0..times {
                comm.barrier();
                let begun = Instant::now();
                comm.sum_f64(&mut values);
                least = least.min(begun.elapsed().as_secs_f64());
            }
            // The first process's word, so that all go by the same.
            let mut bytes = least.to_le_bytes();
            comm.broadcast(&mut bytes, 0);
            f64::from_le_bytes(bytes)
        };
        let latency = least(1, 100);
        let per_byte = (least(LONG, 10) - latency).max(0.0) / (8 * LONG) as f64;
        Self { latency, per_byte, processes: comm.size() }
    }

    /// Seconds of a sum of so many f64.
    pub fn seconds(self, numbers: usize) -> f64 {
        self.latency + 8.0 * numbers as f64 * self.per_byte
    }
}

impl World {
    /// Measures every exchange, and uses the one that sums vectors of `numbers` f64 fastest from
    /// now on. Returns what each costs, the fastest first.
    pub fn set_fastest_exchange(&mut self, numbers: usize) -> [(Exchange, Link); 3] {
        let mut links = Exchange::ALL.map(|(exchange, ..)| {
            self.set_exchange(exchange);
            (exchange, Link::measured(self.comm()))
        });
        links.sort_by(|(_, a), (_, b)| a.seconds(numbers).total_cmp(&b.seconds(numbers)));
        self.set_exchange(links[0].0);
        links
    }
}
