// z = x + y. One thread for each element, and a bound for the last block.
extern "C" __global__ void vector_add_f32(const float *x, const float *y, float *z, unsigned base) {
    const unsigned e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e < 1048583) z[base + e] = x[e] + y[e];
}
