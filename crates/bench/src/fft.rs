//! `fimbria bench fft`

use clap::Args;
use fimbria_compute::Workers;
use fimbria_compute::device::Device;
use fimbria_compute::fft::{Complex32, DeviceFft, DeviceFftError, Fft3, good_size};
use fimbria_compute::philox::{Philox, normals};
use fimbria_pipeline::options::{Described as _, within};

use super::clock::{Time, best};
use super::floors::{Floor, Needs};
use super::table::{Table, counted, digits, digits_or_dash, number, percent, words};
use crate::{Benchmark, Console, Failure, Machine};

/// Time 3-D Fourier transforms on threads and devices
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub struct BenchFft {
    /// Edges of the cubes to transform, separated by commas; raised to the next product of 2, 3,
    /// 5 and 7
    #[arg(long, value_name = "N", value_delimiter = ',')]
    #[arg(default_values_t = [64, 96, 128, 160, 200, 256])]
    #[arg(number = within(4_u32, 1024, ""))]
    size: Vec<u32>,
}

const HELP: &str = "\
Outputs, on standard output:
  What processor and devices attain, then a row per size and place for one forward complex f32
  transform, in place, of data that are already there:
    ms         wall time
    GFLOP/s    nominal: 5 N log2 N operations for N elements
    ratio      how many times faster than one thread
    floor      the time that reading and writing the volume once, or the nominal operations in
               multiply-adds, take at the attained rates, over the wall time";

impl Benchmark for BenchFft {
    fn run(self, machine: Machine, console: &dyn Console) -> Result<(), Failure> {
        let Self { size } = self;
        let mut on_threads = Vec::new();
        for threads in machine.thread_counts() {
            let workers = Workers::new(threads)?;
            let floor = Floor::of_cpu(&workers);
            let name = counted(workers.threads());
            console.print(&floor.described(&name))?;
            on_threads.push((name, workers, floor));
        }
        let mut on_devices = Vec::new();
        for device in machine.devices {
            let floor = Floor::of_device(&device)?;
            console.print(&floor.described(&device.info().name))?;
            on_devices.push((device, floor));
        }

        let table = Table::begin(
            console,
            [
                words("cube", 6),
                words("on", 28),
                number("ms", 8),
                number("GFLOP/s", 8),
                number("ratio", 6),
                number("floor", 6),
            ],
        )?;
        for edge in size {
            let n = good_size(edge as usize);
            let elements = n.pow(3) as f64;
            let operations = 5.0 * elements * elements.log2();
            let needs = Needs { instructions: 0.5 * operations, bytes: 16.0 * elements };
            // That of one thread, where threads have rows.
            let mut one = None;
            let row = |on: &str, time: Time, one: Option<f64>, floor: &Floor| {
                table.row_of(
                    time,
                    [
                        format!("{n}³"),
                        on.to_owned(),
                        digits(1e3 * time.wall),
                        digits(1e-9 * operations / time.wall),
                        digits_or_dash(one.map(|one| one / time.wall)),
                        percent(floor.seconds(needs) / time.wall),
                    ],
                )
            };
            let volume = numbers(n.pow(3));
            for (name, workers, floor) in &on_threads {
                let time = on_cpu(n, &volume, workers, console)?;
                one = one.or(Some(time.wall));
                row(name, time, one, floor)?;
            }
            for (device, floor) in &on_devices {
                row(&device.info().name, on_device(n, &volume, device, console)?, one, floor)?;
            }
        }
        Ok(())
    }
}

/// Transforms that are repeated in place would grow by the root of the number of elements each
/// time; forward and inverse by turns keep the numbers as they are.
fn on_cpu(
    n: usize,
    volume: &[Complex32],
    workers: &Workers,
    console: &dyn Console,
) -> Result<Time, Failure> {
    let plan = Fft3::new([n; 3])?;
    let mut data = volume.to_vec();
    let there_and_back = best(console, || {
        plan.forward(workers, &mut data);
        plan.inverse(workers, &mut data);
        Ok::<_, Failure>(())
    })?;
    Ok(there_and_back.times(0.5))
}

fn on_device(
    n: usize,
    volume: &[Complex32],
    device: &Device,
    console: &dyn Console,
) -> Result<Time, Failure> {
    let plan = DeviceFft::new(device, [n; 3], &[0, 1, 2])?;
    let mut data = device.upload(volume)?;
    let there_and_back = best(console, || {
        plan.forward(&mut data)?;
        plan.inverse(&mut data)?;
        Ok::<_, DeviceFftError>(device.synchronize()?)
    })?;
    Ok(there_and_back.times(0.5))
}

fn numbers(n: usize) -> Vec<Complex32> {
    let random = Philox::new(1);
    let number = |i: usize| {
        let [re, im, ..] = normals::<f32>(random.at(i as u64, 0));
        Complex32::new(re, im)
    };
    (0..n).map(number).collect()
}
