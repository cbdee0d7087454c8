// Rotation of neighbouring pairs: 19 positions, 4 heads, 32 dimensions. One thread for each element.
extern "C" __global__ void rope_f32(const float *x, float *y, unsigned base) {
    const unsigned e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= 19 * 4 * 32) return;
    const unsigned d = e % 32, position = e / (4 * 32);
    const float angle = position * powf(10000.0f, -(float)(d / 2 * 2) / 32.0f);
    const float own = x[e], other = x[e ^ 1];
    y[base + e] = own * cosf(angle) + (d % 2 == 0 ? -other : other) * sinf(angle);
}
