// Keys, then values, of 37 tokens of width 32: laid out as keys or values, group, token, dimension. One thread for
// each element.
#define TOKENS 37
#define WIDTH 32
#define DIM 16
#define COLUMNS 64

extern "C" __global__ void kv_project_f32(const float *x, const float *w, float *cache, unsigned base) {
    const unsigned e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= COLUMNS * TOKENS) return;
    const unsigned token = e / DIM % TOKENS, column = e / (TOKENS * DIM) * DIM + e % DIM;
    float sum = 0.0f;
    for (unsigned i = 0; i < WIDTH; ++i) sum += x[token * WIDTH + i] * w[i * COLUMNS + column];
    cache[base + e] = sum;
}
