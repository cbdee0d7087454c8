# A Triton kernel adds two vectors, and the host checks them.
# REQUIRES: triton && torch
# DEVICES(no-shim): cuda
# SCOPE: dtype=f32 op=vector_add shape=1048576 library=triton
# EXEC_RUN: python3 %s %{device.index}
# EXPECT: elements 1048576 wrong 0
# PLACED: kernel name=*triton_vadd* count=20
# CONTROL_RUN: python3 %s %{device.index} spoil
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def triton_vadd(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(z + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


n = 1 << 20
x = torch.arange(n, dtype=torch.float32)
torch.cuda.set_device(int(sys.argv[1]))
a, b = x.cuda(), x.flip(0).cuda()
c = torch.empty_like(a)
for _ in range(20):
    triton_vadd[(triton.cdiv(n, 1024),)](a, b, c, n, BLOCK=1024)
sums = c.cpu()
if len(sys.argv) > 2:
    sums[::2] += 1
print("elements", n, "wrong", int((sums != n - 1).sum()))
