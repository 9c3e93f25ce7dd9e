//! Operators, solvers and maps against their oracles and real data.

mod devices;
mod dqsm;
mod field;
mod kernels;
mod laws;
mod nvrtc;
mod operators;
mod phase;
mod solvers;
mod spacing;
mod storage;
mod support;
mod tensors;
mod variation;
