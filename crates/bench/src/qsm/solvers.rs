use fimbria_compute::Workers;
use fimbria_compute::operator::{Operator as _, VectorSpace as _};
use fimbria_qsm::dqsm::DqsmOptions;
use fimbria_qsm::solver::{Method, Objective, Solver, safe_step};
use fimbria_qsm::{Edges, HostOperator, Laplacian, Products};

use super::super::clock::once;
use super::super::table::{Table, digits, digits_or_dash, number, words};
use crate::{Console, Failure};

/// Iterations of each solver to the objective of 100 Landweber iterations.
pub(super) fn table(
    console: &dyn Console,
    cylinders: f64,
    workers: &Workers,
) -> Result<(), Failure> {
    const SIDE: usize = 24;
    const ITERATIONS: usize = 100;
    let model = super::cube(SIDE, cylinders, None)?;
    let data = HostOperator::new(&model, Products::Fast, workers)?;
    let penalty = Laplacian::new(&model, Edges::Free, workers);
    // A map of blocks, and its field.
    let block = |&voxel: &u32| {
        let [x, y, z] = model.geometry.voxel(voxel as usize).map(|i| i / 6 % 2);
        if (x + y + z) % 2 == 0 { 0.1 } else { -0.05 }
    };
    let chi: Vec<f32> = model.unknowns.iter().map(block).collect();
    let mut field = data.range().zeros()?;
    data.apply(&chi, &mut field)?;
    let kappa = DqsmOptions::KAPPA;
    let objective = Objective::new(&data, &penalty, &field, kappa)?;
    let step = safe_step(&objective, None)?;
    let table = Table::begin(
        console,
        [
            words("solver", 10),
            number("iterations", 10),
            number("products", 9),
            number("objective", 12),
            number("s", 8),
            number("cpu s", 8),
        ],
    )?;
    let mut goal = None;
    let methods =
        [("landweber", Method::Landweber { step }), ("cgls", Method::Cgls), ("lsmr", Method::Lsmr)];
    for (name, method) in methods {
        let mut solver = Solver::new(&objective, method, None)?;
        let mut value = f64::INFINITY;
        let time = once(console, || {
            while solver.number() < ITERATIONS && goal.is_none_or(|goal| value > goal) {
                let done = solver.step()?;
                value = kappa * done.data + (1.0 - kappa) * done.penalty;
            }
            Ok::<(), Failure>(())
        })?;
        goal = goal.or(Some(value));
        table.row_of(
            time,
            [
                name.to_owned(),
                solver.number().to_string(),
                (2 * solver.number() + 1).to_string(),
                format!("{value:.5e}"),
                digits(time.wall),
                digits_or_dash(time.processor),
            ],
        )?;
    }
    Ok(())
}
