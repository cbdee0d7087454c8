// Softmax of each row, shifted by its maximum. One warp for each row.
#define WIDTH 101

extern "C" __global__ void softmax_f32(const float *x, float *y, unsigned base) {
    const unsigned row = blockIdx.x * WIDTH;
    float top = x[row], total = 0.0f;
    for (unsigned i = threadIdx.x; i < WIDTH; i += 32) top = fmaxf(top, x[row + i]);
    for (int lane = 16; lane > 0; lane /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, lane));
    for (unsigned i = threadIdx.x; i < WIDTH; i += 32) total += expf(x[row + i] - top);
    for (int lane = 16; lane > 0; lane /= 2) total += __shfl_xor_sync(0xffffffff, total, lane);
    for (unsigned i = threadIdx.x; i < WIDTH; i += 32) y[base + row + i] = expf(x[row + i] - top) / total;
}
