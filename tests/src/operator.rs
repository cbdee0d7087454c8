//! How every operator is run and checked: on padded memory, against FP64, over the whole output.

use crate::arguments::{self, Arguments, Place, Spoil};
use crate::device::{self, Device, Job, Kernel};
use std::process::ExitCode;

/// Guard elements before and behind the output.
pub const GUARD: usize = 64;
/// Their value: one that no operator computes.
pub const GUARD_VALUE: f32 = -12_345.5;

/// What is computed, and how it is judged.
pub struct Subject {
    /// Name and shape, the first line that is printed.
    pub title: &'static str,
    /// Inputs.
    pub inputs: Vec<Vec<f32>>,
    /// Elements of the output.
    pub elements: usize,
    /// The host path: writes the output.
    pub host: fn(&[Vec<f32>], &mut [f32]),
    /// The oracle in double precision.
    pub oracle: fn(&[Vec<f32>]) -> Vec<f64>,
}

/// A subject that one kernel computes.
pub struct Operator {
    /// What is computed.
    pub subject: Subject,
    /// What computes it on a device.
    pub kernel: Kernel,
}

impl Subject {
    /// The output before anything is computed, between its guards.
    pub fn padded(&self) -> Vec<f32> {
        vec![GUARD_VALUE; self.elements + 2 * GUARD]
    }

    /// The padded output, computed in Rust.
    pub fn on_host(&self) -> Vec<f32> {
        let mut padded = self.padded();
        (self.host)(&self.inputs, &mut padded[GUARD..GUARD + self.elements]);
        padded
    }

    /// The lines that the program prints about a padded output, and whether it is right to single precision.
    pub fn report(&self, padded: &[f32]) -> (String, bool) {
        self.report_within(padded, 1e-5)
    }

    /// The same where an element may be off by `tolerance` of one more than itself.
    pub fn report_within(&self, padded: &[f32], tolerance: f64) -> (String, bool) {
        let output = &padded[GUARD..GUARD + self.elements];
        let guards = padded[..GUARD].iter().chain(&padded[GUARD + self.elements..]);
        let intact = guards.clone().all(|guard| *guard == GUARD_VALUE);
        let oracle = (self.oracle)(&self.inputs);
        let (mut wrong, mut worst) = (0, 0.0_f64);
        for (value, right) in output.iter().zip(&oracle) {
            let error = (f64::from(*value) - right).abs();
            if error.is_nan() || error > tolerance * (1.0 + right.abs()) {
                wrong += 1;
            }
            worst = if error.is_nan() || error > worst { error } else { worst };
        }
        let guards = if intact { "intact" } else { "broken" };
        let (first, middle, last) = (output[0], output[self.elements / 2], output[self.elements - 1]);
        let text = format!(
            "{}\nelements {} wrong {wrong} guards {guards}\nmax error {worst:.6}\nvalues {first:.6} {middle:.6} {last:.6}\n",
            self.title, self.elements
        );
        (text, wrong == 0 && intact)
    }
}

impl Operator {
    /// The padded output, computed on `device`.
    ///
    /// # Errors
    /// What the device refused.
    pub fn on_device(&self, device: &dyn Device, repeat: u32) -> Result<Vec<f32>, String> {
        device.compute(&Job {
            kernel: self.kernel,
            repeat,
            inputs: &self.subject.inputs,
            output: self.subject.padded(),
            base: GUARD as u32,
            elements: self.subject.elements,
        })
    }
}

/// The body of an operator program: 0 right, 1 wrong, 2 usage, 3 the device refused.
pub fn main(operator: &Operator) -> ExitCode {
    run(&operator.subject, |Arguments { place, repeat, .. }| {
        operator.on_device(&*device::open(place)?, repeat)
    })
}

/// The same with another way to compute on devices.
pub fn run(subject: &Subject, on_device: impl Fn(Arguments) -> Result<Vec<f32>, String>) -> ExitCode {
    let arguments = match arguments::read(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(2);
        }
    };
    let padded = match arguments.place {
        Place::Host => Ok(subject.on_host()),
        Place::OpenCl(_) | Place::Cuda(_) => on_device(arguments),
    };
    let mut padded = match padded {
        Ok(padded) => padded,
        Err(why) => {
            eprintln!("{:?}: {why}", arguments.place);
            return ExitCode::from(3);
        }
    };
    spoil(&mut padded, arguments.spoil, 0.01);
    let (text, right) = subject.report(&padded);
    print!("{text}");
    if right { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

/// Spoils a padded output: one element by `much`, or one guard.
pub fn spoil(padded: &mut [f32], what: Spoil, much: f32) {
    match what {
        Spoil::Nothing => {}
        Spoil::Element => padded[GUARD + (padded.len() - 2 * GUARD) / 3] += much,
        Spoil::Guard => padded[GUARD - 1] += 1.0,
    }
}

/// `n` numbers in [-1, 1) that are the same everywhere: a linear congruential sequence from `seed`.
pub fn numbers(seed: u32, n: usize) -> Vec<f32> {
    let mut state = seed;
    (0..n)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // The upper 24 bits fit a single-precision number exactly.
            (state >> 8) as f32 / 8_388_608.0 - 1.0
        })
        .collect()
}
