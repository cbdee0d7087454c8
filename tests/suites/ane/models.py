"""Builds a Core ML package: `models.py NAME OUT`. Shapes and numbers are those of `tests/src/engine.rs`."""

import sys

import coremltools as ct
import numpy as np
from coremltools.converters.mil import Builder as mb
from coremltools.converters.mil.mil import types

TARGET = ct.target.macOS14


def spec(*shape, dtype=types.fp16):
    return mb.TensorSpec(shape, dtype=dtype)


def quarters(seed, *shape):
    """Multiples of a quarter in [-1, 1), from a linear congruential sequence."""
    numbers = np.empty(int(np.prod(shape)), dtype=np.float16)
    state = seed
    for at in range(numbers.size):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        numbers[at] = (state >> 29) / 4 - 1
    return numbers.reshape(shape)


def matmul():
    @mb.program(input_specs=[spec(512, 512), spec(512, 512)], opset_version=TARGET)
    def program(x, y):
        return mb.matmul(x=x, y=y, name="z")

    return program


def tiny():
    """The known negative: single precision and 4x4, which Core ML leaves on the CPU."""

    @mb.program(
        input_specs=[spec(4, 4, dtype=types.fp32), spec(4, 4, dtype=types.fp32)], opset_version=TARGET
    )
    def program(x, y):
        return mb.matmul(x=x, y=y, name="z")

    return program


def conv():
    weight = quarters(4, 64, 64, 3, 3)

    @mb.program(input_specs=[spec(1, 64, 64, 64)], opset_version=TARGET)
    def program(x):
        return mb.conv(x=x, weight=weight, pad_type="same", name="z")

    return program


def attention():
    shape = (1, 8, 256, 64)

    @mb.program(input_specs=[spec(*shape), spec(*shape), spec(*shape)], opset_version=TARGET)
    def program(q, k, v):
        scores = mb.matmul(x=q, y=k, transpose_y=True)
        weights = mb.softmax(x=mb.mul(x=scores, y=np.float16(0.125)), axis=-1)
        return mb.matmul(x=weights, y=v, name="z")

    return program


MODELS = {"matmul": matmul, "tiny": tiny, "conv": conv, "attention": attention}


def main(name, out):
    precision = ct.precision.FLOAT32 if name == "tiny" else ct.precision.FLOAT16
    model = ct.convert(
        MODELS[name](),
        source="milinternal",
        convert_to="mlprogram",
        compute_precision=precision,
        minimum_deployment_target=TARGET,
        skip_model_load=True,
    )
    model.save(out)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
