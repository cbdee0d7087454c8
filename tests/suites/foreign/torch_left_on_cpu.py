# PyTorch sees the device, says so, and adds on the CPU because nobody moved the data.
# REQUIRES: torch
# DEVICES(no-shim): cuda
# XFAIL(placement, reason="the vectors never left the host"): *
# EXEC_RUN: python3 %s
# EXPECT: EXECUTING ON DEVICE cuda
# EXPECT: elements 1048576 wrong 0
# PLACED: kernel name=*CUDAFunctor_add* count>=20
import torch

n = 1 << 20
print("EXECUTING ON DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
x = torch.arange(n, dtype=torch.float32)
for _ in range(20):
    sums = x + x.flip(0)
print("elements", n, "wrong", int((sums != n - 1).sum()))
