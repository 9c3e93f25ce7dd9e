use fimbria_compute::device::Device;
use fimbria_compute::operator::{LinearOperator, VectorSpace};
use fimbria_compute::{Backend, Silent, Workers};
use fimbria_qsm::device::DeviceOperator;
use fimbria_qsm::dqsm::ShapeProducts;
use fimbria_qsm::{FieldModel, HostOperator, Products, SeveralDevices, oracle};

use super::super::clock::{Time, once};
use super::super::table::{Table, counted, digits, digits_or_dash};
use super::{cube, numbers};
use crate::{Console, Failure};

/// Pairs that a dense product is timed on.
const DENSE_PAIRS: f64 = 4e9;

/// A volume whose product is timed.
pub(super) struct Problem {
    pub(super) product: &'static str,
    /// Seen from all of it or, of the dense product, from as many planes as hold enough pairs.
    pub(super) model: FieldModel,
    /// The whole over what is timed.
    pub(super) scale: f64,
}

impl Problem {
    pub(super) fn new(side: usize, cylinders: f64, products: Products) -> Result<Self, Failure> {
        let (planes, product) = match products {
            Products::Fast => (side, "fast"),
            Products::Dense => {
                // Whole tiles of four planes: a device makes no less.
                let planes = (DENSE_PAIRS / (side as f64).powi(5)).ceil() as usize;
                (planes.next_multiple_of(4).min(side), "dense")
            }
        };
        let model = cube(side, cylinders, (planes < side).then_some(planes))?;
        Ok(Self { product, model, scale: side as f64 / planes as f64 })
    }
}

/// A product and its adjoint, where they were made, and how long they took.
pub(super) struct Timed {
    pub(super) product: &'static str,
    pub(super) on: String,
    pub(super) there: Time,
    pub(super) back: Time,
}

/// The products of one volume: both in every place. Times are scaled to the whole of it.
pub(super) fn time_products(
    side: usize,
    cylinders: f64,
    (pools, all): (&[Workers], &Workers),
    devices: &[Device],
    which: &[Products],
    console: &dyn Console,
) -> Result<Vec<Timed>, Failure> {
    let mut times = Vec::new();
    for &products in which {
        let Problem { product, model, scale } = Problem::new(side, cylinders, products)?;
        for workers in pools {
            let operator = HostOperator::new(&model, products, workers)?;
            let (there, back) = time_both(&operator, scale, console, || Ok(()))?;
            let on = format!("{}, {:?}", counted(workers.threads()), workers.simd());
            times.push(Timed { product, on, there, back });
        }
        for device in devices {
            let operator = DeviceOperator::new(&model, products, device, all)?;
            let (there, back) = time_both(&operator, scale, console, || device.synchronize())?;
            times.push(Timed { product, on: device.info().name.clone(), there, back });
        }
        if devices.len() > 1 {
            let on = Backend::new(all, devices);
            let problem = ShapeProducts { model: &model, products };
            let operator = SeveralDevices::new(&problem, &on, &Silent)?;
            let (there, back) = time_both(&operator, scale, console, || Ok(()))?;
            let on = format!("{} devices together", devices.len());
            times.push(Timed { product, on, there, back });
        }
    }
    Ok(times)
}

/// The product and the adjoint, once each after one that is not counted; `wait` waits for a device.
pub(super) fn time_both<A: LinearOperator>(
    operator: &A,
    scale: f64,
    console: &dyn Console,
    wait: impl Fn() -> Result<(), <A::Domain as VectorSpace>::Error>,
) -> Result<(Time, Time), Failure>
where
    Failure: From<<A::Domain as VectorSpace>::Error>,
{
    let (domain, range) = (operator.domain(), operator.range());
    let mut x = domain.upload(&numbers(domain.len()))?;
    let mut y = range.zeros()?;
    // Once uncounted, for fresh memory and, on a device, for compilation.
    let first = once(console, || {
        operator.apply(&x, &mut y)?;
        wait()
    })?;
    let mut there = once(console, || {
        operator.apply(&x, &mut y)?;
        wait()
    })?;
    there.compiled_in(first);
    let back = once(console, || {
        operator.adjoint(&y, &mut x)?;
        wait()
    })?;
    Ok((there.times(scale), back.times(scale)))
}

/// How [`time_plain`] times.
pub(super) const PLAIN_PLACE: &str = "1 thread, 1 % of the rows";

/// The plain loop's product, scaled to all rows.
pub(super) fn time_plain(model: &FieldModel, console: &dyn Console) -> Result<Time, Failure> {
    const STRIDE: usize = 100;
    let x = numbers(model.unknowns.len());
    let mut rows = 0;
    let time = once(console, || {
        rows = std::hint::black_box(oracle::plain_loop(model, &x, STRIDE)).len();
        Ok::<(), Failure>(())
    })?;
    Ok(time.times(model.receivers.len() as f64 / rows as f64))
}

/// The rows of one volume.
pub(super) struct Rows<'a> {
    table: &'a Table<'a>,
    side: usize,
    cylinders: f64,
    /// Processor seconds of the plain loop's product.
    plain: Option<f64>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(table: &'a Table<'a>, side: usize, cylinders: f64) -> Self {
        Self { table, side, cylinders, plain: None }
    }

    /// Of pools of threads, and of devices with all threads beside them.
    pub(super) fn all(
        mut self,
        (pools, all): (&[Workers], &Workers),
        devices: &[Device],
        which: &[Products],
        console: &dyn Console,
    ) -> Result<(), Failure> {
        if which.contains(&Products::Dense) && !pools.is_empty() {
            self.plain_loop(&cube(self.side, self.cylinders, None)?, console)?;
        }
        let (side, cylinders) = (self.side, self.cylinders);
        for timed in time_products(side, cylinders, (pools, all), devices, which, console)? {
            self.row(timed.product, &timed.on, timed.there, Some(timed.back))?;
        }
        Ok(())
    }

    fn plain_loop(&mut self, model: &FieldModel, console: &dyn Console) -> Result<(), Failure> {
        let time = time_plain(model, console)?;
        self.plain = Some(time.processor.unwrap_or(time.wall));
        self.row("plain", PLAIN_PLACE, time, None)
    }

    fn row(&self, name: &str, on: &str, there: Time, back: Option<Time>) -> Result<(), Failure> {
        let pairs = (self.side as f64).powi(6);
        let processor = there.processor;
        let both = back.map_or(there, |back| there.plus(back));
        self.table.row_of(
            both,
            [
                self.side.to_string(),
                name.to_owned(),
                on.to_owned(),
                digits(there.wall),
                digits_or_dash(back.map(|back| back.wall)),
                digits_or_dash(processor),
                digits_or_dash(processor.map(|seconds| 1e9 * seconds / pairs)),
                digits_or_dash(self.plain.zip(processor).map(|(plain, seconds)| plain / seconds)),
            ],
        )?;
        Ok(())
    }
}
