"""Times four kinds of work on a CUDA device: nanoseconds a step, one line each on standard error."""

import sys
import time

import torch

device = torch.device("cuda", int(sys.argv[1]))
torch.cuda.set_device(device)
model = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024)).to(device)
batch = torch.randn(256, 1024, device=device)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)


def train():
    optimizer.zero_grad()
    model(batch).square().mean().backward()
    optimizer.step()


def spin(cycles):
    return lambda: torch.cuda._sleep(cycles)


# Cycles for 20 and 48 µs at the 1.98 GHz of an H200; what they really last is the plain time of the table.
for name, steps, step in [
    ("empty launch", 20000, spin(0)),
    ("kernel of 20 µs", 4000, spin(39600)),
    ("kernel of 48 µs", 2000, spin(95000)),
    ("training step", 500, train),
]:
    for _ in range(50):
        step()
    torch.cuda.synchronize()
    start = time.perf_counter_ns()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    print((time.perf_counter_ns() - start) // steps, name, file=sys.stderr)
print("measured")
