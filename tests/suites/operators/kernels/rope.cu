// Rotation of neighbouring pairs: 31 positions, 64 heads, 128 dimensions. One thread for each element.
extern "C" __global__ void rope_f32(const float *x, float *y, unsigned base) {
    const unsigned e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= 31 * 64 * 128) return;
    const unsigned d = e % 128, position = e / (64 * 128);
    const float angle = position * powf(10000.0f, -(float)(d / 2 * 2) / 128.0f);
    const float own = x[e], other = x[e ^ 1];
    y[base + e] = own * cosf(angle) + (d % 2 == 0 ? -other : other) * sinf(angle);
}
