// Attention of 8 query heads on 2 key/value heads, 37 tokens, 16 dimensions. One warp for each query head (of
// each token). Queries and outputs are token, head, dimension; keys and values group, token, dimension.
#define QUERIES 8
#define GROUPS 2
#define TOKENS 37
#define DIM 16

// What the query of this block's warp reads from the first `visible` tokens.
__device__ void attend(const float *query, const float *k, const float *v, unsigned visible, float *out) {
    __shared__ float weights[TOKENS];
    float top = __int_as_float(0xff800000), total = 0.0f;
    for (unsigned t = threadIdx.x; t < visible; t += 32) {
        float dot = 0.0f;
        for (unsigned i = 0; i < DIM; ++i) dot += query[i] * k[t * DIM + i];
        weights[t] = dot * 0.25f;
        top = fmaxf(top, weights[t]);
    }
    for (int lane = 16; lane > 0; lane /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, lane));
    for (unsigned t = threadIdx.x; t < visible; t += 32) {
        weights[t] = expf(weights[t] - top);
        total += weights[t];
    }
    for (int lane = 16; lane > 0; lane /= 2) total += __shfl_xor_sync(0xffffffff, total, lane);
    __syncwarp();
    if (threadIdx.x >= DIM) return;
    float sum = 0.0f;
    for (unsigned t = 0; t < visible; ++t) sum += weights[t] * v[t * DIM + threadIdx.x];
    out[threadIdx.x] = sum / total;
}

// One query that sees every token.
extern "C" __global__ void attention_decode_f32(const float *q, const float *k, const float *v, float *o,
                                                unsigned base) {
    const unsigned head = blockIdx.x, group = head / (QUERIES / GROUPS) * TOKENS * DIM;
    attend(q + head * DIM, k + group, v + group, TOKENS, o + base + head * DIM);
}

// A query for each token, which sees the tokens up to its own.
extern "C" __global__ void attention_prefill_f32(const float *q, const float *k, const float *v, float *o,
                                                 unsigned base) {
    const unsigned row = blockIdx.x, token = row / QUERIES;
    const unsigned group = row % QUERIES / (QUERIES / GROUPS) * TOKENS * DIM;
    attend(q + row * DIM, k + group, v + group, token + 1, o + base + row * DIM);
}
