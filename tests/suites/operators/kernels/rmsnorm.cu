// y = x / rms(x) * w. One warp for each row.
#define WIDTH 80

extern "C" __global__ void rmsnorm_f32(const float *x, const float *w, float *y, unsigned base) {
    const unsigned row = blockIdx.x * WIDTH;
    float squares = 0.0f;
    for (unsigned i = threadIdx.x; i < WIDTH; i += 32) squares += x[row + i] * x[row + i];
    for (int lane = 16; lane > 0; lane /= 2) squares += __shfl_xor_sync(0xffffffff, squares, lane);
    const float root = sqrtf(squares / WIDTH + 1e-5f);
    for (unsigned i = threadIdx.x; i < WIDTH; i += 32) y[base + row + i] = x[row + i] / root * w[i];
}
