//! Operators that compute each element from the elements at its own position.

use crate::device::Kernel;
use crate::operator::{Operator, Subject, numbers};

/// No multiple of a block, so that a kernel without a bound breaks a guard; so many that a kernel lasts long enough for a device's
/// busy counter.
const SUMS: usize = 1_048_583;

const ROWS: usize = 23;
const WIDTH: usize = 96;
const GATED: usize = ROWS * WIDTH;

/// z = x + y, 1048583 elements.
pub fn vector_add() -> Operator {
    Operator {
        subject: Subject {
            title: "vector_add 1048583",
            inputs: vec![numbers(7, SUMS), numbers(8, SUMS)],
            elements: SUMS,
            host: |inputs, output| {
                for (element, value) in output.iter_mut().enumerate() {
                    *value = inputs[0][element] + inputs[1][element];
                }
            },
            oracle: |inputs| {
                inputs[0].iter().zip(&inputs[1]).map(|(x, y)| f64::from(*x) + f64::from(*y)).collect()
            },
        },
        kernel: Kernel {
            name: "vector_add_f32",
            opencl:
                "kernel void vector_add_f32(global const float *x, global const float *y, global float *z,
                    uint base) {
                const uint e = get_global_id(0);
                z[base + e] = x[e] + y[e];
            }",
            cuda: include_str!("../suites/operators/kernels/vector_add.cu"),
            grid: (16_385, 64),
        },
    }
}

/// The gate of a feed-forward layer: silu(gate) · up, 23 rows of 96.
pub fn swiglu() -> Operator {
    Operator {
        subject: Subject {
            title: "swiglu 23x96",
            inputs: vec![numbers(9, GATED).iter().map(|gate| gate * 6.0).collect(), numbers(10, GATED)],
            elements: GATED,
            host: |inputs, output| {
                for (element, value) in output.iter_mut().enumerate() {
                    let gate = inputs[0][element];
                    *value = gate / (1.0 + (-gate).exp()) * inputs[1][element];
                }
            },
            oracle: |inputs| {
                let gated = |gate: f64, up: f64| gate * up * (0.5 + 0.5 * (gate / 2.0).tanh());
                inputs[0]
                    .iter()
                    .zip(&inputs[1])
                    .map(|(gate, up)| gated(f64::from(*gate), f64::from(*up)))
                    .collect()
            },
        },
        kernel: Kernel {
            name: "swiglu_f32",
            opencl:
                "kernel void swiglu_f32(global const float *gate, global const float *up, global float *y,
                    uint base) {
                const uint e = get_global_id(0);
                y[base + e] = gate[e] / (1.0f + exp(-gate[e])) * up[e];
            }",
            cuda: include_str!("../suites/operators/kernels/swiglu.cu"),
            grid: (35, 64),
        },
    }
}
