// C = A * B. One block for each tile of C; the tiles of A and B pass through shared memory. N is no multiple of
// a tile.
#define M 48
#define K 64
#define N 40
#define TILE 16

extern "C" __global__ void matmul_f32(const float *a, const float *b, float *c, unsigned base) {
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    const unsigned across = (N + TILE - 1) / TILE;
    const unsigned x = threadIdx.x % TILE, y = threadIdx.x / TILE;
    const unsigned i = blockIdx.x / across * TILE + y, j = blockIdx.x % across * TILE + x;
    float sum = 0.0f;
    for (unsigned from = 0; from < K; from += TILE) {
        left[y][x] = i < M ? a[i * K + from + x] : 0.0f;
        right[y][x] = j < N ? b[(from + y) * N + j] : 0.0f;
        __syncthreads();
        for (unsigned k = 0; k < TILE; ++k) sum += left[y][k] * right[k][x];
        __syncthreads();
    }
    if (i < M && j < N) c[base + i * N + j] = sum;
}
