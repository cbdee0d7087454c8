//! The operators that run on the Neural Engine, in half precision, through a compiled model that the command line names.
//!
//! Their inputs are quarters, so that every sum of products is a number of half precision whatever the order: the
//! engine's product is right to the last bit or it is wrong. Only the softmax of attention is rounded.

use crate::arguments::Spoil;
use crate::operator::{GUARD, Subject, spoil};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A subject that a model computes.
pub struct Operator {
    /// What is computed.
    pub subject: Subject,
    /// Names of the model's inputs, in the order of the subject's. What is behind them are weights inside the model.
    pub inputs: &'static [&'static str],
    /// Part of one more than itself by which an element of the model's output may be off.
    pub tolerance: f64,
}

/// Name of every model's output.
const OUTPUT: &str = "z";

/// Side of the product's squares; `models.py` has the same numbers.
const SIDE: usize = 512;
/// Side of the product that no engine takes.
const TINY: usize = 4;
/// Channels, rows and columns of the convolution, and the side of its filters.
const CHANNELS: usize = 64;
const EXTENT: usize = 64;
const FILTER: usize = 3;
/// Heads, positions and depth of the attention.
const HEADS: usize = 8;
const LENGTH: usize = 256;
const DEPTH: usize = 64;

/// A product of 512×512 in half precision.
pub fn matmul() -> Operator {
    product::<SIDE>("matmul 512x512x512 f16")
}

/// A product of 4×4 in single precision: Core ML leaves it on the CPU.
pub fn tiny_matmul() -> Operator {
    product::<TINY>("matmul 4x4x4 f32")
}

fn product<const N: usize>(title: &'static str) -> Operator {
    Operator {
        subject: Subject {
            title,
            inputs: vec![quarters(1, N * N), quarters(2, N * N)],
            elements: N * N,
            host: |inputs, output| {
                for (row, out) in inputs[0].chunks(N).zip(output.chunks_mut(N)) {
                    out.fill(0.0);
                    for (a, line) in row.iter().zip(inputs[1].chunks(N)) {
                        out.iter_mut().zip(line).for_each(|(sum, b)| *sum += a * b);
                    }
                }
            },
            oracle: |inputs| {
                let mut output = vec![0.0; N * N];
                for (row, out) in inputs[0].chunks(N).zip(output.chunks_mut(N)) {
                    for (a, line) in row.iter().zip(inputs[1].chunks(N)) {
                        out.iter_mut().zip(line).for_each(|(sum, b)| *sum += f64::from(*a) * f64::from(*b));
                    }
                }
                output
            },
        },
        inputs: &["x", "y"],
        tolerance: 1e-5,
    }
}

/// A 3×3 convolution of 64 channels.
pub fn convolution() -> Operator {
    Operator {
        subject: Subject {
            title: "conv 64x64x64 3x3 f16",
            inputs: vec![
                quarters(3, CHANNELS * EXTENT * EXTENT),
                quarters(4, CHANNELS * CHANNELS * FILTER * FILTER),
            ],
            elements: CHANNELS * EXTENT * EXTENT,
            host: |inputs, output| {
                output.fill(0.0);
                convolve(|at, from, weight| output[at] += inputs[0][from] * inputs[1][weight]);
            },
            oracle: |inputs| {
                let mut output = vec![0.0; CHANNELS * EXTENT * EXTENT];
                convolve(|at, from, weight| {
                    output[at] += f64::from(inputs[0][from]) * f64::from(inputs[1][weight]);
                });
                output
            },
        },
        inputs: &["x"],
        tolerance: 1e-5,
    }
}

/// Every product of the convolution: places in output, input and weights.
fn convolve(mut each: impl FnMut(usize, usize, usize)) {
    let edge = FILTER / 2;
    for out in 0..CHANNELS {
        for channel in 0..CHANNELS {
            for (i, j) in (0..FILTER * FILTER).map(|k| (k / FILTER, k % FILTER)) {
                let weight = ((out * CHANNELS + channel) * FILTER + i) * FILTER + j;
                let rows = edge.saturating_sub(i)..(EXTENT + edge - i).min(EXTENT);
                for row in rows {
                    for column in edge.saturating_sub(j)..(EXTENT + edge - j).min(EXTENT) {
                        let from = (channel * EXTENT + row + i - edge) * EXTENT + column + j - edge;
                        each((out * EXTENT + row) * EXTENT + column, from, weight);
                    }
                }
            }
        }
    }
}

/// Attention of 8 heads over 256 positions.
pub fn attention() -> Operator {
    let count = HEADS * LENGTH * DEPTH;
    Operator {
        subject: Subject {
            title: "attention 8x256x64 f16",
            inputs: vec![quarters(5, count), quarters(6, count), quarters(7, count)],
            elements: count,
            host: |inputs, output| {
                let values = attend(inputs);
                output.iter_mut().zip(values).for_each(|(out, value)| *out = value as f32);
            },
            oracle: attend,
        },
        inputs: &["q", "k", "v"],
        // Half precision has eleven bits: weights of a softmax over 256 positions keep about three decimals.
        tolerance: 1e-2,
    }
}

fn attend(inputs: &[Vec<f32>]) -> Vec<f64> {
    let mut output = vec![0.0; HEADS * LENGTH * DEPTH];
    let size = LENGTH * DEPTH;
    for head in 0..HEADS {
        let of = |n: usize| inputs[n][head * size..][..size].chunks(DEPTH);
        for (query, out) in of(0).zip(output[head * size..][..size].chunks_mut(DEPTH)) {
            let dot =
                |key: &[f32]| query.iter().zip(key).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
            let scores: Vec<f64> = of(1).map(|key| dot(key) / 8.0).collect();
            let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let weights: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
            let sum: f64 = weights.iter().sum();
            for (weight, value) in weights.iter().zip(of(2)) {
                out.iter_mut().zip(value).for_each(|(out, v)| *out += weight / sum * f64::from(*v));
            }
        }
    }
    output
}

/// `n` multiples of a quarter in [-1, 1) that are the same everywhere; `models.py` makes the same.
fn quarters(seed: u32, n: usize) -> Vec<f32> {
    let mut state = seed;
    (0..n)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 29) as f32 / 4.0 - 1.0
        })
        .collect()
}

/// A command line: `--device host|ane --model PATH --seconds N --spoil WHAT`, and what else a program knows.
#[derive(Debug, PartialEq)]
pub struct Arguments {
    /// The compiled model; `None` computes in Rust on the host.
    pub model: Option<PathBuf>,
    /// How long the model is run again and again: the engine's energy cannot be read of one run.
    pub seconds: u64,
    /// What to spoil.
    pub spoil: Spoil,
    /// `--tiny`.
    pub tiny: bool,
}

impl Arguments {
    /// Reads a command line.
    ///
    /// # Errors
    /// A sentence about the first argument that is not understood.
    pub fn read(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut device = "host".to_owned();
        let mut read = Self { model: None, seconds: 0, spoil: Spoil::Nothing, tiny: false };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            if argument == "--tiny" {
                read.tiny = true;
                continue;
            }
            let value = arguments.next().ok_or(format!("{argument} needs a value"))?;
            match argument.as_str() {
                "--device" => device = value,
                "--model" => read.model = Some(value.into()),
                "--seconds" => {
                    read.seconds = value.parse().map_err(|_| format!("--seconds {value}: not a number"))?;
                }
                "--spoil" if value == "element" => read.spoil = Spoil::Element,
                "--spoil" if value == "guard" => read.spoil = Spoil::Guard,
                "--spoil" => return Err(format!("--spoil {value}: element or guard")),
                _ => return Err(format!("unknown argument {argument}")),
            }
        }
        match (device.as_str(), &read.model) {
            ("host", _) => Ok(Self { model: None, ..read }),
            ("ane", Some(_)) => Ok(read),
            ("ane", None) => Err("--device ane needs --model".to_owned()),
            (other, _) => Err(format!("--device {other}: this program knows host and ane")),
        }
    }
}

/// The body of a program: 0 right, 1 wrong, 2 usage, 3 Core ML refused.
pub fn main(operator: &Operator, tiny: Option<&Operator>) -> ExitCode {
    let arguments = match Arguments::read(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(2);
        }
    };
    let operator = tiny.filter(|_| arguments.tiny).unwrap_or(operator);
    let subject = &operator.subject;
    let padded = match &arguments.model {
        None => Ok(subject.on_host()),
        Some(model) => operator.through(model, arguments.seconds).map(|output| {
            let mut padded = subject.padded();
            padded[GUARD..GUARD + subject.elements].copy_from_slice(&output);
            padded
        }),
    };
    let mut padded = match padded {
        Ok(padded) => padded,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(3);
        }
    };
    spoil(&mut padded, arguments.spoil, 0.5);
    let (text, right) = subject.report_within(&padded, operator.tolerance);
    print!("{text}");
    if right { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

impl Operator {
    /// The output of the compiled model, run for some seconds.
    #[cfg(target_os = "macos")]
    fn through(&self, model: &Path, seconds: u64) -> Result<Vec<f32>, String> {
        use runproof_coreml::{Model, Units};
        let model = Model::load(model, Units::CpuAndEngine)?;
        let named = self.inputs.iter().zip(&self.subject.inputs);
        let named: Vec<_> = named.map(|(name, numbers)| ((*name).to_owned(), numbers.clone())).collect();
        let inputs = model.prepare(&named)?;
        model.repeat(&inputs, std::time::Duration::from_secs(seconds))?;
        let output = model.predict(&inputs, OUTPUT)?;
        if output.len() == self.subject.elements {
            Ok(output)
        } else {
            Err(format!("the model's output has {} numbers, not {}", output.len(), self.subject.elements))
        }
    }

    #[cfg(not(target_os = "macos"))]
    fn through(&self, model: &Path, _seconds: u64) -> Result<Vec<f32>, String> {
        let names = self.inputs.join(", ");
        Err(format!("`{}` ({names} to {OUTPUT}) is for Core ML, and this host is not macOS", model.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_one_of_half_precision() {
        for operator in [matmul(), tiny_matmul(), convolution()] {
            let exact = |value: &f32| runproof_coreml::halves::rounded(*value) == *value;
            assert!(operator.subject.inputs.iter().flatten().all(exact), "{}", operator.subject.title);
            let padded = operator.subject.on_host();
            assert!(padded[GUARD..padded.len() - GUARD].iter().all(exact), "{}", operator.subject.title);
            assert!(padded[GUARD..padded.len() - GUARD].iter().any(|value| *value != 0.0));
        }
    }

    #[test]
    fn usage() {
        let read = |words: &str| Arguments::read(words.split_whitespace().map(str::to_owned));
        let plain = Arguments { model: None, seconds: 0, spoil: Spoil::Nothing, tiny: false };
        assert_eq!(read(""), Ok(plain));
        let all = Arguments { model: Some("m".into()), seconds: 3, spoil: Spoil::Guard, tiny: true };
        assert_eq!(read("--device ane --model m --seconds 3 --spoil guard --tiny"), Ok(all));
        for (words, says) in [
            ("--device ane", "--device ane needs --model"),
            ("--device cuda", "knows host and ane"),
            ("--seconds x", "not a number"),
            ("--spoil all", "element or guard"),
            ("--fast 1", "unknown argument"),
            ("--model", "needs a value"),
        ] {
            assert!(read(words).unwrap_err().contains(says), "{words}");
        }
    }
}
