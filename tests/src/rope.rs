//! Rotary position embedding of 31 positions, 64 heads, 128 dimensions, pairs side by side, base 10000. So many that a kernel lasts
//! long enough for a device's busy counter.

use crate::device::Kernel;
use crate::operator::{Operator, Subject, numbers};

const POSITIONS: usize = 31;
const HEADS: usize = 64;
const DIM: usize = 128;

/// The operator.
pub fn operator() -> Operator {
    Operator {
        subject: Subject {
            title: "rope 31x64x128",
            inputs: vec![numbers(3, POSITIONS * HEADS * DIM)],
            elements: POSITIONS * HEADS * DIM,
            host: |inputs, output| {
                for (element, value) in output.iter_mut().enumerate() {
                    let (d, position) = (element % DIM, element / (HEADS * DIM));
                    let angle = position as f32 * 10_000_f32.powf(-((d / 2 * 2) as f32) / DIM as f32);
                    let (own, other) = (inputs[0][element], inputs[0][element ^ 1]);
                    let other = if d % 2 == 0 { -other } else { other };
                    *value = own * angle.cos() + other * angle.sin();
                }
            },
            oracle: |inputs| {
                let rotate = |element: usize| {
                    let (d, position) = (element % DIM, element / (HEADS * DIM));
                    let angle = position as f64 * 10_000_f64.powf(-((d / 2 * 2) as f64) / DIM as f64);
                    let (own, other) = (f64::from(inputs[0][element]), f64::from(inputs[0][element ^ 1]));
                    let other = if d % 2 == 0 { -other } else { other };
                    own * angle.cos() + other * angle.sin()
                };
                (0..POSITIONS * HEADS * DIM).map(rotate).collect()
            },
        },
        kernel: Kernel {
            name: "rope_f32",
            opencl: "kernel void rope_f32(global const float *x, global float *y, uint base) {
                const uint e = get_global_id(0), d = e % 128, pos = e / (64 * 128);
                const float angle = (float)pos * pow(10000.0f, -(float)(d / 2 * 2) / 128.0f);
                const float self = x[e], other = x[e ^ 1];
                y[base + e] = self * cos(angle) + (d % 2 == 0 ? -other : other) * sin(angle);
            }",
            cuda: include_str!("../suites/operators/kernels/rope.cu"),
            grid: (3_968, 64),
        },
    }
}
