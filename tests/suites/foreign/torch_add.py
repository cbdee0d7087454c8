# PyTorch adds two vectors on the device, and the host checks them.
# REQUIRES: torch
# DEVICES(no-shim): cuda
# SCOPE: dtype=f32 op=vector_add shape=1048576 library=torch
# EXEC_RUN: python3 %s %{device.index}
# EXPECT: elements 1048576 wrong 0
# PLACED: kernel name=*CUDAFunctor_add* count>=20
# PLACED: memcpy dir=D2H bytes=4194304 count>=1
# Spoilt sums must not go unseen.
# CONTROL_RUN: python3 %s %{device.index} spoil
import sys

import torch

n = 1 << 20
x = torch.arange(n, dtype=torch.float32)
device = torch.device("cuda", int(sys.argv[1]))
a, b = x.to(device), x.flip(0).to(device)
for _ in range(20):
    c = a + b
sums = c.cpu()
if len(sys.argv) > 2:
    sums[::2] += 1
print("elements", n, "wrong", int((sums != n - 1).sum()))
