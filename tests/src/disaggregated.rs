//! Prefill on one device and decoding on another: the first computes keys and values of a prompt and attends over
//! them, the cache crosses to the second, and the second decodes one step on what arrived.

use crate::arguments::{Arguments, Place};
use crate::attention::{
    CACHE, DECODE, DIM, GROUPS, PREFILL, QUERIES, TOKENS, attend, group_of, judge, prefill_host,
    prefill_oracle, wide,
};
use crate::operator::{GUARD, GUARD_VALUE, Subject, numbers};
use crate::sys::cuda::{Argument, Cuda, Source};

/// Width of a token before the projections.
const WIDTH: usize = 32;
/// Elements of the prefill's output; the decoding step's output follows.
const PREFILLED: usize = TOKENS * QUERIES * DIM;
const DECODED: usize = QUERIES * DIM;

/// Keys, then values, of all tokens: token by matrix, one matrix of `WIDTH` rows for both.
const PROJECT: Source = Source {
    name: "kv_project_f32",
    text: include_str!("../suites/operators/kernels/kv_project.cu"),
    grid: (37, 64),
};

/// What is computed: prefill's output, then the decoding step's.
pub fn subject() -> Subject {
    Subject {
        title: "disaggregated 8q2kv 37x16",
        inputs: vec![
            numbers(17, TOKENS * WIDTH),
            numbers(18, WIDTH * 2 * GROUPS * DIM).iter().map(|weight| weight * 0.25).collect(),
            numbers(19, PREFILLED),
            numbers(20, DECODED),
        ],
        elements: PREFILLED + DECODED,
        host,
        oracle,
    }
}

/// Both devices in memory.
fn host(inputs: &[Vec<f32>], output: &mut [f32]) {
    let here: Vec<f32> = (0..2 * CACHE)
        .map(|element| {
            let (token, column) = projected(element);
            (0..WIDTH).map(|i| inputs[0][token * WIDTH + i] * inputs[1][i * 2 * GROUPS * DIM + column]).sum()
        })
        .collect();
    let (prefilled, decoded) = output.split_at_mut(PREFILLED);
    prefill_host(&inputs[2], &here[..CACHE], &here[CACHE..], prefilled);
    let mut there = vec![f32::NAN; 2 * CACHE];
    there.copy_from_slice(&here);
    for (head, out) in decoded.chunks_mut(DIM).enumerate() {
        let query = &inputs[3][head * DIM..][..DIM];
        attend(query, &there[..CACHE], &there[CACHE..], group_of(head), TOKENS, out);
    }
}

fn oracle(inputs: &[Vec<f32>]) -> Vec<f64> {
    let (tokens, weights, queries, next) =
        (wide(&inputs[0]), wide(&inputs[1]), wide(&inputs[2]), wide(&inputs[3]));
    let cache: Vec<f64> = (0..2 * CACHE)
        .map(|element| {
            let (token, column) = projected(element);
            (0..WIDTH).map(|i| tokens[token * WIDTH + i] * weights[i * 2 * GROUPS * DIM + column]).sum()
        })
        .collect();
    let (keys, values) = cache.split_at(CACHE);
    let mut right = prefill_oracle(&queries, keys, values);
    for head in 0..QUERIES {
        right.extend(judge(&next[head * DIM..][..DIM], keys, values, group_of(head), TOKENS));
    }
    right
}

/// Token and column of the projection that an element of the cache is. The cache is laid out as keys or values,
/// group, token, dimension; the columns as keys or values, group, dimension.
fn projected(element: usize) -> (usize, usize) {
    (element / DIM % TOKENS, element / (TOKENS * DIM) * DIM + element % DIM)
}

/// Prefill on CUDA device 0 and decoding on device 1.
///
/// # Errors
/// The call that failed, or that there are no two devices which reach each other.
pub fn on_two(subject: &Subject, arguments: Arguments) -> Result<Vec<f32>, String> {
    if arguments.place != Place::Cuda(0) {
        return Err("this program runs on the host or on CUDA devices 0 and 1".to_owned());
    }
    let inputs = &subject.inputs;
    let mut padded = subject.padded();
    let middle = GUARD + PREFILLED;

    let first = Cuda::open(0)?;
    let second = Cuda::open(1)?;
    first.reach(&second)?;
    second.reach(&first)?;
    let base = Argument::Number(GUARD as u32);

    let (tokens, weights) = (first.upload(&inputs[0])?, first.upload(&inputs[1])?);
    let here = first.upload(&[f32::NAN; 2 * CACHE])?;
    let project = [tokens.at(0), weights.at(0), here.at(0), Argument::Number(0)];
    first.launch(&PROJECT, &project, arguments.repeat)?;
    let queries = first.upload(&inputs[2])?;
    let prefilled = first.upload(&padded[..middle + GUARD])?;
    let prefill = [queries.at(0), here.at(0), here.at(CACHE), prefilled.at(0), base];
    first.launch(&PREFILL.on_cuda(), &prefill, arguments.repeat)?;
    first.finish()?;

    let there = second.upload(&[f32::NAN; 2 * CACHE])?;
    first.copy_to(&here, &second, &there)?;

    let next = second.upload(&inputs[3])?;
    let decoded = second.upload(&padded[..2 * GUARD + DECODED])?;
    let decode = [next.at(0), there.at(0), there.at(CACHE), decoded.at(0), base];
    second.launch(&DECODE.on_cuda(), &decode, arguments.repeat)?;
    second.finish()?;

    // Each output has guards of its own. Those between the two have no place in the common output: a broken one
    // breaks a guard there.
    let (prefilled, decoded) = (first.download(&prefilled)?, second.download(&decoded)?);
    padded[..middle].copy_from_slice(&prefilled[..middle]);
    padded[middle..].copy_from_slice(&decoded[GUARD..]);
    if prefilled[middle..].iter().chain(&decoded[..GUARD]).any(|guard| *guard != GUARD_VALUE) {
        padded[0] = f32::NAN;
    }
    Ok(padded)
}
