//! Attention with grouped queries: 8 query heads share 2 key/value heads, 37 tokens, 16 dimensions. Decoding is
//! one query that sees every token; prefill is a query for each token, which sees the tokens up to its own.
//!
//! Queries and outputs are laid out as token, head, dimension; keys and values as group, token, dimension.

use crate::device::Kernel;
use crate::operator::{Operator, Subject, numbers};

/// Query heads.
pub const QUERIES: usize = 8;
/// Key/value heads.
pub const GROUPS: usize = 2;
/// Tokens in the cache.
pub const TOKENS: usize = 37;
/// Dimensions of a head.
pub const DIM: usize = 16;
/// Elements of all keys, and of all values.
pub const CACHE: usize = GROUPS * TOKENS * DIM;

/// The kernel of one decoding step.
pub const DECODE: Kernel = Kernel {
    name: "attention_decode_f32",
    opencl: "kernel void attention_decode_f32(global const float *q, global const float *k,
            global const float *v, global float *o, uint base) {
        const uint e = get_global_id(0), head = e / 16, d = e % 16, group = head / 4;
        float scores[37];
        float top = -INFINITY;
        for (uint t = 0; t < 37; ++t) {
            float dot = 0.0f;
            for (uint i = 0; i < 16; ++i) dot += q[head * 16 + i] * k[(group * 37 + t) * 16 + i];
            scores[t] = dot * 0.25f;
            top = fmax(top, scores[t]);
        }
        float total = 0.0f, sum = 0.0f;
        for (uint t = 0; t < 37; ++t) {
            const float weight = exp(scores[t] - top);
            total += weight;
            sum += weight * v[(group * 37 + t) * 16 + d];
        }
        o[base + e] = sum / total;
    }",
    cuda: include_str!("../suites/operators/kernels/attention.cu"),
    grid: (QUERIES as u32, 32),
};

/// The kernel of a prefill.
pub const PREFILL: Kernel = Kernel {
    name: "attention_prefill_f32",
    // Without an array of scores: the sums are scaled whenever a larger score comes up.
    opencl: "kernel void attention_prefill_f32(global const float *q, global const float *k,
            global const float *v, global float *o, uint base) {
        const uint e = get_global_id(0), token = e / 128, row = e / 16 * 16, group = e / 64 % 2, d = e % 16;
        float top = -INFINITY, total = 0.0f, sum = 0.0f;
        for (uint t = 0; t <= token; ++t) {
            float dot = 0.0f;
            for (uint i = 0; i < 16; ++i) dot += q[row + i] * k[(group * 37 + t) * 16 + i];
            const float score = dot * 0.25f, higher = fmax(top, score);
            const float shrink = exp(top - higher), weight = exp(score - higher);
            total = total * shrink + weight;
            sum = sum * shrink + weight * v[(group * 37 + t) * 16 + d];
            top = higher;
        }
        o[base + e] = sum / total;
    }",
    cuda: include_str!("../suites/operators/kernels/attention.cu"),
    grid: ((TOKENS * QUERIES) as u32, 32),
};

/// One decoding step.
pub fn decode() -> Operator {
    Operator {
        subject: Subject {
            title: "attention_decode 8q2kv 37x16",
            inputs: vec![numbers(4, QUERIES * DIM), numbers(5, CACHE), numbers(6, CACHE)],
            elements: QUERIES * DIM,
            host: |inputs, output| {
                for (head, out) in output.chunks_mut(DIM).enumerate() {
                    let query = &inputs[0][head * DIM..][..DIM];
                    attend(query, &inputs[1], &inputs[2], group_of(head), TOKENS, out);
                }
            },
            oracle: |inputs| {
                let head = |head: usize| {
                    let query = &inputs[0][head * DIM..][..DIM];
                    judge(&wide(query), &wide(&inputs[1]), &wide(&inputs[2]), group_of(head), TOKENS)
                };
                (0..QUERIES).flat_map(head).collect()
            },
        },
        kernel: DECODE,
    }
}

/// A causal prefill.
pub fn prefill() -> Operator {
    Operator {
        subject: Subject {
            title: "attention_prefill 8q2kv 37x16",
            inputs: vec![numbers(14, TOKENS * QUERIES * DIM), numbers(15, CACHE), numbers(16, CACHE)],
            elements: TOKENS * QUERIES * DIM,
            host: |inputs, output| prefill_host(&inputs[0], &inputs[1], &inputs[2], output),
            oracle: |inputs| prefill_oracle(&wide(&inputs[0]), &wide(&inputs[1]), &wide(&inputs[2])),
        },
        kernel: PREFILL,
    }
}

/// The key/value head of a query head.
pub fn group_of(head: usize) -> usize {
    head / (QUERIES / GROUPS)
}

/// A causal prefill in single precision.
pub fn prefill_host(queries: &[f32], keys: &[f32], values: &[f32], output: &mut [f32]) {
    for (row, out) in output.chunks_mut(DIM).enumerate() {
        let (token, head) = (row / QUERIES, row % QUERIES);
        attend(&queries[row * DIM..][..DIM], keys, values, group_of(head), token + 1, out);
    }
}

/// The oracle of a causal prefill.
pub fn prefill_oracle(queries: &[f64], keys: &[f64], values: &[f64]) -> Vec<f64> {
    let row = |row: usize| {
        let (token, head) = (row / QUERIES, row % QUERIES);
        judge(&queries[row * DIM..][..DIM], keys, values, group_of(head), token + 1)
    };
    (0..TOKENS * QUERIES).flat_map(row).collect()
}

/// What one query head reads from the first `visible` tokens, in single precision.
pub fn attend(query: &[f32], keys: &[f32], values: &[f32], group: usize, visible: usize, out: &mut [f32]) {
    let row = |token: usize| (group * TOKENS + token) * DIM;
    let scores: Vec<f32> = (0..visible)
        .map(|t| query.iter().zip(&keys[row(t)..]).map(|(q, k)| q * k).sum::<f32>() / 4.0)
        .collect();
    let top = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let weights: Vec<f32> = scores.iter().map(|score| (score - top).exp()).collect();
    let total: f32 = weights.iter().sum();
    for (d, value) in out.iter_mut().enumerate() {
        let sum: f32 = weights.iter().enumerate().map(|(t, weight)| weight * values[row(t) + d]).sum();
        *value = sum / total;
    }
}

/// The same in double precision. Unshifted: the scores are small, and the oracle shall not repeat what it judges.
pub fn judge(query: &[f64], keys: &[f64], values: &[f64], group: usize, visible: usize) -> Vec<f64> {
    let row = |token: usize| (group * TOKENS + token) * DIM;
    let weight = |t: usize| ((0..DIM).map(|i| query[i] * keys[row(t) + i]).sum::<f64>() / 4.0).exp();
    let weights: Vec<f64> = (0..visible).map(weight).collect();
    let total: f64 = weights.iter().sum();
    (0..DIM).map(|d| (0..visible).map(|t| weights[t] * values[row(t) + d]).sum::<f64>() / total).collect()
}

/// In double precision.
pub fn wide(numbers: &[f32]) -> Vec<f64> {
    numbers.iter().copied().map(f64::from).collect()
}
