# CuPy adds two vectors on the device, and the host checks them.
# REQUIRES: cupy
# DEVICES(no-shim): cuda
# SCOPE: dtype=f32 op=vector_add shape=1048576 library=cupy
# EXEC_RUN: python3 %s %{device.index}
# EXPECT: elements 1048576 wrong 0
# PLACED: kernel name=cupy_add* count>=20
# CONTROL_RUN: python3 %s %{device.index} spoil
import sys

import cupy
import numpy

n = 1 << 20
x = numpy.arange(n, dtype=numpy.float32)
cupy.cuda.Device(int(sys.argv[1])).use()
a, b = cupy.asarray(x), cupy.asarray(x[::-1].copy())
for _ in range(20):
    c = a + b
sums = cupy.asnumpy(c)
if len(sys.argv) > 2:
    sums[::2] += 1
print("elements", n, "wrong", int((sums != n - 1).sum()))
