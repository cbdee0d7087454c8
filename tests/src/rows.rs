//! Operators that reduce each row and scale it: on CUDA one warp for each row.

use crate::device::Kernel;
use crate::operator::{Operator, Subject, numbers};

const NORMED: usize = 27;
const NORMED_WIDTH: usize = 80;
const EPSILON: f32 = 1e-5;

const ROWS: usize = 21;
/// More than a warp, and no multiple of it.
const WIDTH: usize = 101;

/// Root mean square normalisation with a weight for each column, 27 rows of 80.
pub fn rmsnorm() -> Operator {
    Operator {
        subject: Subject {
            title: "rmsnorm 27x80",
            inputs: vec![numbers(11, NORMED * NORMED_WIDTH), numbers(12, NORMED_WIDTH)],
            elements: NORMED * NORMED_WIDTH,
            host: |inputs, output| {
                let rows = inputs[0].chunks(NORMED_WIDTH).zip(output.chunks_mut(NORMED_WIDTH));
                for (row, normed) in rows {
                    let mean = row.iter().map(|x| x * x).sum::<f32>() / NORMED_WIDTH as f32;
                    let scale = 1.0 / (mean + EPSILON).sqrt();
                    for ((value, x), weight) in normed.iter_mut().zip(row).zip(&inputs[1]) {
                        *value = x * scale * weight;
                    }
                }
            },
            oracle: |inputs| {
                let normed = |row: &[f32]| {
                    let mean = row.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>() / NORMED_WIDTH as f64;
                    let root = (mean + f64::from(EPSILON)).sqrt();
                    let scaled = row.iter().zip(&inputs[1]);
                    scaled.map(|(x, weight)| f64::from(*x) * f64::from(*weight) / root).collect::<Vec<_>>()
                };
                inputs[0].chunks(NORMED_WIDTH).flat_map(normed).collect()
            },
        },
        kernel: Kernel {
            name: "rmsnorm_f32",
            opencl: "kernel void rmsnorm_f32(global const float *x, global const float *w, global float *y, uint base) {
                const uint e = get_global_id(0), column = e % 80, row = e - column;
                float squares = 0.0f;
                for (uint i = 0; i < 80; ++i) squares += x[row + i] * x[row + i];
                y[base + e] = x[e] / sqrt(squares / 80.0f + 1e-5f) * w[column];
            }",
            cuda: include_str!("../suites/operators/kernels/rmsnorm.cu"),
            grid: (NORMED as u32, 32),
        },
    }
}

/// Softmax of 21 rows of 101, with values whose exponentials need the shift by the row's maximum.
pub fn softmax() -> Operator {
    Operator {
        subject: Subject {
            title: "softmax 21x101",
            inputs: vec![numbers(13, ROWS * WIDTH).iter().map(|x| x * 4.0 + 120.0).collect()],
            elements: ROWS * WIDTH,
            host: |inputs, output| {
                for (row, shares) in inputs[0].chunks(WIDTH).zip(output.chunks_mut(WIDTH)) {
                    let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                    let total: f32 = row.iter().map(|x| (x - top).exp()).sum();
                    for (value, x) in shares.iter_mut().zip(row) {
                        *value = (x - top).exp() / total;
                    }
                }
            },
            oracle: |inputs| {
                // Unshifted, which double precision bears.
                let shares = |row: &[f32]| {
                    let weights: Vec<f64> = row.iter().map(|x| f64::from(*x).exp()).collect();
                    let total: f64 = weights.iter().sum();
                    weights.into_iter().map(move |weight| weight / total)
                };
                inputs[0].chunks(WIDTH).flat_map(shares).collect()
            },
        },
        kernel: Kernel {
            name: "softmax_f32",
            opencl: "kernel void softmax_f32(global const float *x, global float *y, uint base) {
                const uint e = get_global_id(0), row = e - e % 101;
                float top = -INFINITY, total = 0.0f;
                for (uint i = 0; i < 101; ++i) top = fmax(top, x[row + i]);
                for (uint i = 0; i < 101; ++i) total += exp(x[row + i] - top);
                y[base + e] = exp(x[e] - top) / total;
            }",
            cuda: include_str!("../suites/operators/kernels/softmax.cu"),
            grid: (ROWS as u32, 32),
        },
    }
}
