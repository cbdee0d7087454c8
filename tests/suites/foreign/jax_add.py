# JAX adds two vectors on the device, and the host checks them. The compiler names the kernel after the operation.
# REQUIRES: jax
# DEVICES(no-shim): cuda
# SCOPE: dtype=f32 op=vector_add shape=1048576 library=jax
# EXEC_RUN: python3 %s %{device.index}
# EXPECT: elements 1048576 wrong 0
# PLACED: kernel name=*add* count>=20
# CONTROL_RUN: python3 %s %{device.index} spoil
import sys

import jax
import numpy

n = 1 << 20
x = numpy.arange(n, dtype=numpy.float32)
device = jax.devices("gpu")[int(sys.argv[1])]
a, b = jax.device_put(x, device), jax.device_put(x[::-1].copy(), device)
add = jax.jit(lambda a, b: a + b)
for _ in range(20):
    c = add(a, b)
sums = numpy.array(c)
if len(sys.argv) > 2:
    sums[::2] += 1
print("elements", n, "wrong", int((sums != n - 1).sum()))
