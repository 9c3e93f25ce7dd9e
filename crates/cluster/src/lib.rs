//! Several processes as one, over MPI.
//!
//! [`World::start`] is called once, by `main`, before there are threads; it gives the processes
//! that `mpirun` started together, as a [`Comm`]. Built without the feature `mpi`, which links the
//! system's MPI, or started by itself, a program is its whole world.
//!
//! This is the only crate that knows MPI. How sums are made is an [`Exchange`]; unless another one
//! is set they are the same to the bit on every process and in every run.

mod link;
#[cfg(feature = "mpi")]
mod mpi_world;

use std::time::Duration;

use fimbria_compute::comm::{Comm, Solo};

pub use link::Link;

/// How vectors are summed over processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exchange {
    /// Each process adds, in the order of ranks, its part of the vector, and hands it to all (a
    /// reduce-scatter, then an all-gather: twice the vector's bytes over each link, whatever the
    /// number of processes).
    #[default]
    Scatter,
    /// One MPI_Allreduce, in an order that MPI chooses.
    Blocking,
    /// One MPI_Iallreduce for each chunk of the vector, all under way at once.
    Pipelined,
}

impl Exchange {
    /// All of them in their order, what they are called, and what they are.
    pub const ALL: [(Self, &'static str, &'static str); 3] = [
        (Self::Scatter, "scatter", "reduce-scatter and all-gather, in the order of processes"),
        (Self::Blocking, "blocking", "one MPI_Allreduce, in an order that MPI chooses"),
        (Self::Pipelined, "pipelined", "MPI_Iallreduce by chunks, in an order that MPI chooses"),
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// What it is.
    pub fn what(self) -> &'static str {
        Self::ALL[self as usize].2
    }
}

/// The processes that work together. MPI ends when it is dropped.
pub struct World {
    #[cfg(feature = "mpi")]
    mpi: Option<mpi_world::MpiWorld>,
    solo: Solo,
}

impl World {
    /// Joins the processes that `mpirun` started with this one.
    pub fn start() -> Self {
        Self {
            #[cfg(feature = "mpi")]
            mpi: mpi_world::MpiWorld::start(),
            solo: Solo,
        }
    }

    /// How they communicate.
    pub fn comm(&self) -> &dyn Comm {
        #[cfg(feature = "mpi")]
        if let Some(mpi) = &self.mpi {
            return mpi;
        }
        &self.solo
    }

    /// Sums over processes are made this way from now on; all processes must say the same.
    pub fn set_exchange(&mut self, exchange: Exchange) {
        #[cfg(feature = "mpi")]
        if let Some(mpi) = &mut self.mpi {
            mpi.exchange = exchange;
        }
        // Alone there is nothing to exchange.
        let _ = exchange;
    }

    /// For a process that has failed: whether all the others fail within `patience` of it, and say so
    /// by this call. Then each ends by itself; else somebody has to [`abort`](Self::abort) those that
    /// still wait for this one. True where it is alone.
    pub fn all_fail_within(&self, patience: Duration) -> bool {
        #[cfg(feature = "mpi")]
        if let Some(mpi) = &self.mpi {
            return mpi.all_fail_within(patience);
        }
        // Alone there is nobody to wait for.
        let _ = patience;
        true
    }

    /// Waits until every process calls this, asleep but for a look now and then: in other calls those that wait
    /// take the cores of those that work.
    pub fn wait_asleep(&self) {
        #[cfg(feature = "mpi")]
        if let Some(mpi) = &self.mpi {
            mpi.wait_asleep();
        }
    }

    /// Ends all processes at once, after one of them has failed and said why. Returns where this
    /// process is alone.
    pub fn abort(&self, code: i32) {
        #[cfg(feature = "mpi")]
        if let Some(mpi) = &self.mpi {
            mpi.abort(code);
        }
        // Alone there is nobody to stop.
        let _ = code;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_by_itself_is_its_whole_world() {
        let world = World::start();
        let comm = world.comm();
        assert_eq!((comm.rank(), comm.size()), (0, 1));
        let mut sums = [1.5, -2.0];
        comm.sum_f64(&mut sums);
        assert_eq!(sums, [1.5, -2.0]);
    }

    #[test]
    fn a_link_takes_its_latency_and_a_time_for_each_byte() {
        let mut world = World::start();
        let links = world.set_fastest_exchange(1000);
        assert!(links.is_sorted_by_key(|(_, link)| link.seconds(1000)));
        assert!(links.iter().all(|(_, link)| link.processes == 1 && link.latency >= 0.0));
        let link = Link { latency: 1e-6, per_byte: 1e-9, processes: 2 };
        assert!((link.seconds(500) - 5e-6).abs() < 1e-15);
    }
}
