//! One decoding step of attention with grouped queries: 8 query heads share 2 key/value heads, 37 tokens in
//! the cache, 16 dimensions.

use crate::operator::{Operator, numbers};

const QUERIES: usize = 8;
const GROUPS: usize = 2;
const TOKENS: usize = 37;
const DIM: usize = 16;

/// The operator.
pub fn operator() -> Operator {
    Operator {
        title: "attention_decode 8q2kv 37x16",
        source: "kernel void attention_decode_f32(global const float *q, global const float *k,
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
        kernel: "attention_decode_f32",
        inputs: vec![
            numbers(4, QUERIES * DIM),
            numbers(5, GROUPS * TOKENS * DIM),
            numbers(6, GROUPS * TOKENS * DIM),
        ],
        elements: QUERIES * DIM,
        host: |inputs, output| {
            for (element, value) in output.iter_mut().enumerate() {
                let (head, d) = (element / DIM, element % DIM);
                let row = |token: usize| (head / (QUERIES / GROUPS) * TOKENS + token) * DIM;
                let scores: Vec<f32> = (0..TOKENS)
                    .map(|t| {
                        (0..DIM).map(|i| inputs[0][head * DIM + i] * inputs[1][row(t) + i]).sum::<f32>() / 4.0
                    })
                    .collect();
                let top = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let weights: Vec<f32> = scores.iter().map(|score| (score - top).exp()).collect();
                let sum: f32 =
                    weights.iter().enumerate().map(|(t, weight)| weight * inputs[2][row(t) + d]).sum();
                *value = sum / weights.iter().sum::<f32>();
            }
        },
        oracle: |inputs| {
            let attend = |element: usize| {
                let (head, d) = (element / DIM, element % DIM);
                let row = |token: usize| (head / (QUERIES / GROUPS) * TOKENS + token) * DIM;
                let at = |input: usize, position: usize| f64::from(inputs[input][position]);
                // Unshifted: the scores are small, and the oracle shall not repeat what it judges.
                let weight = |t: usize| {
                    ((0..DIM).map(|i| at(0, head * DIM + i) * at(1, row(t) + i)).sum::<f64>() / 4.0).exp()
                };
                let total: f64 = (0..TOKENS).map(weight).sum();
                (0..TOKENS).map(|t| weight(t) * at(2, row(t) + d)).sum::<f64>() / total
            };
            (0..QUERIES * DIM).map(attend).collect()
        },
    }
}
