//! C = A·B, 48×64 by 64×40.

use crate::device::Kernel;
use crate::operator::{Operator, Subject, numbers};

const M: usize = 48;
const K: usize = 64;
const N: usize = 40;

/// The operator.
pub fn operator() -> Operator {
    Operator {
        subject: Subject {
            title: "matmul 48x64x40",
            inputs: vec![numbers(1, M * K), numbers(2, K * N)],
            elements: M * N,
            host: |inputs, output| {
                for (position, value) in output.iter_mut().enumerate() {
                    let (i, j) = (position / N, position % N);
                    *value = (0..K).map(|k| inputs[0][i * K + k] * inputs[1][k * N + j]).sum();
                }
            },
            oracle: |inputs| {
                let product = |i: usize, j: usize| {
                    (0..K).map(|k| f64::from(inputs[0][i * K + k]) * f64::from(inputs[1][k * N + j])).sum()
                };
                (0..M * N).map(|position| product(position / N, position % N)).collect()
            },
        },
        kernel: Kernel {
            name: "matmul_f32",
            opencl: "kernel void matmul_f32(global const float *a, global const float *b, global float *c, uint base) {
                const uint i = get_global_id(0) / 40, j = get_global_id(0) % 40;
                float sum = 0.0f;
                for (uint k = 0; k < 64; ++k) sum += a[i * 64 + k] * b[k * 40 + j];
                c[base + i * 40 + j] = sum;
            }",
            cuda: include_str!("../suites/operators/kernels/matmul.cu"),
            grid: (9, 256),
        },
    }
}
