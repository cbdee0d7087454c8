// A program as nvcc builds it: it knows the runtime API and nothing of this harness.
// REQUIRES: tool:nvcc
// DEVICES(no-shim): cuda
// SCOPE: dtype=f32 op=vector_add shape=1048576
// RUN: nvcc -arch=native -o %t %s
// EXEC_RUN: %t %{device.index}
// EXPECT: elements 1048576 wrong 0
// EXPECT: values 0.0 1572864.0 3145725.0
// PLACED: kernel name=*vadd_kernel* count=20
// PLACED: memcpy dir=D2H bytes=4194304 count=1
// One spoilt element must not go unseen.
// CONTROL_RUN: %t %{device.index} spoil

#include <cstdio>
#include <cstdlib>
#include <vector>

static void good(cudaError_t code, const char *call) {
    if (code == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(code));
    std::exit(3);
}

__global__ void vadd_kernel(const float *x, const float *y, float *z, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}

int main(int argc, char **argv) {
    const int n = 1 << 20;
    const size_t bytes = n * sizeof(float);
    std::vector<float> x(n), y(n), z(n, -1.0f);
    for (int i = 0; i < n; ++i) {
        x[i] = float(i);
        y[i] = 2.0f * float(i);
    }
    good(cudaSetDevice(argc > 1 ? std::atoi(argv[1]) : 0), "cudaSetDevice");
    float *a, *b, *c;
    good(cudaMalloc(&a, bytes), "cudaMalloc");
    good(cudaMalloc(&b, bytes), "cudaMalloc");
    good(cudaMalloc(&c, bytes), "cudaMalloc");
    good(cudaMemcpy(a, x.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    good(cudaMemcpy(b, y.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    for (int run = 0; run < 20; ++run) vadd_kernel<<<n / 256, 256>>>(a, b, c, n);
    good(cudaGetLastError(), "vadd_kernel");
    good(cudaMemcpy(z.data(), c, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
    if (argc > 2) z[n / 3] += 1.0f;
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += z[i] != 3.0f * float(i);
    std::printf("elements %d wrong %d\nvalues %.1f %.1f %.1f\n", n, wrong, z[0], z[n / 2], z[n - 1]);
    return wrong != 0;
}
