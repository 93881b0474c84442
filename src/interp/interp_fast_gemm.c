/* Blocked products of matrices: see interp_fast_gemm.h. The result is cut into tasks, bands of rows or of columns; a task
 * packs its parts of a and b into panels, in blocks over the contracted dimension, and multiplies panel by panel. What a
 * task computes does not depend on the threads.
 * Source of the scheme: Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication, ACM TOMS 34 (2008). */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parallel.h"
#include "interp/interp_fast_gemm.h"

struct kernel {
  unsigned rows, columns; /* of a tile */
  size_t element_bytes;
  void (*pack_a)(const void *data, const int64_t *rows, uint64_t count, const int64_t *columns, uint64_t k,
                 void *panel);
  void (*pack_b)(const void *data, const int64_t *rows, uint64_t k, const int64_t *columns, uint64_t count,
                 void *panel);
  void (*tile)(uint64_t k, const void *a, const void *b, void *c, const int64_t *rows, uint64_t m,
               const int64_t *columns, uint64_t n, bool adds);
  void (*row)(const struct interp_gemm *g, const void *a, const void *b, void *c, uint64_t first, uint64_t n);
};

/* Elements lie one after the other. */
static bool is_unit(const int64_t *offsets, uint64_t count) {
  for (uint64_t i = 1; i < count; i++) {
    if (offsets[i] - offsets[i - 1] != 1) {
      return false;
    }
  }
  return true;
}

static bool is_even(const int64_t *offsets, uint64_t count) {
  for (uint64_t i = 2; i < count; i++) {
    if (offsets[i] - offsets[i - 1] != offsets[1] - offsets[0]) {
      return false;
    }
  }
  return true;
}

/* ---- kernels ------------------------------------------------------------------------------------------------------------ */

#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* Tiles fill the vector registers: 16 of 16 bytes, 16 of 32, 32 of 64, less those for one row of b. */
#define ELEMENT float
#define VECTOR_BYTES 16
#define ROWS 4
#define VECTORS 2
#define NAME(x) x##_f32
#define TARGET
#include "interp/interp_fast_gemm_kernel.h"

#define ELEMENT double
#define VECTOR_BYTES 16
#define ROWS 4
#define VECTORS 2
#define NAME(x) x##_f64
#define TARGET
#include "interp/interp_fast_gemm_kernel.h"

#define ELEMENT uint32_t
#define VECTOR_BYTES 16
#define ROWS 4
#define VECTORS 2
#define NAME(x) x##_u32
#define TARGET
#include "interp/interp_fast_gemm_kernel.h"

#define ELEMENT uint64_t
#define VECTOR_BYTES 16
#define ROWS 4
#define VECTORS 2
#define NAME(x) x##_u64
#define TARGET
#include "interp/interp_fast_gemm_kernel.h"

#ifdef __x86_64__
#define ELEMENT float
#define VECTOR_BYTES 32
#define ROWS 6
#define VECTORS 2
#define NAME(x) x##_f32_avx2
#define TARGET __attribute__((target("avx2,fma")))
#include "interp/interp_fast_gemm_kernel.h"

#define ELEMENT double
#define VECTOR_BYTES 32
#define ROWS 6
#define VECTORS 2
#define NAME(x) x##_f64_avx2
#define TARGET __attribute__((target("avx2,fma")))
#include "interp/interp_fast_gemm_kernel.h"

#define ELEMENT uint32_t
#define VECTOR_BYTES 32
#define ROWS 6
#define VECTORS 2
#define NAME(x) x##_u32_avx2
#define TARGET __attribute__((target("avx2")))
#include "interp/interp_fast_gemm_kernel.h"

#define ELEMENT float
#define VECTOR_BYTES 64
#define ROWS 12
#define VECTORS 2
#define NAME(x) x##_f32_avx512
#define TARGET __attribute__((target("avx512f,fma")))
#include "interp/interp_fast_gemm_kernel.h"

#define ELEMENT double
#define VECTOR_BYTES 64
#define ROWS 12
#define VECTORS 2
#define NAME(x) x##_f64_avx512
#define TARGET __attribute__((target("avx512f,fma")))
#include "interp/interp_fast_gemm_kernel.h"
#endif

static const struct kernel *choose(enum dtype dtype) {
#ifdef __x86_64__
  bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f");
  switch (dtype) {
  case DTYPE_F32:
    return has_avx512 ? &kernel_f32_avx512 : has_avx2 ? &kernel_f32_avx2 : &kernel_f32;
  case DTYPE_F64:
    return has_avx512 ? &kernel_f64_avx512 : has_avx2 ? &kernel_f64_avx2 : &kernel_f64;
  case DTYPE_UI32:
    return has_avx2 ? &kernel_u32_avx2 : &kernel_u32;
  default:
    return &kernel_u64;
  }
#else
  return dtype == DTYPE_F32    ? &kernel_f32
         : dtype == DTYPE_F64  ? &kernel_f64
         : dtype == DTYPE_UI32 ? &kernel_u32
                               : &kernel_u64;
#endif
}

/* ---- blocks ------------------------------------------------------------------------------------------------------------- */

/* A block of b (BLOCK_K × BLOCK_N) is meant for the second-level cache, one of a (BLOCK_M × BLOCK_K) for half of it. */
enum { BLOCK_K = 256, BLOCK_N = 512, BLOCK_M = 96, MAX_TASKS = 16 };
/* Products below which a thread costs more than it saves. */
static const uint64_t TASK_PRODUCTS = 500000;

/* How a product is cut: `bands` bands of `band` rows (or columns) of each batch. */
struct cut {
  const struct interp_gemm *g;
  const struct kernel *kernel;
  bool by_columns, is_row; /* is_row: m = 1, and no panels are needed */
  uint64_t bands, band;
  size_t panel_bytes; /* of one task */
  uint8_t *panels;
};

static uint64_t least(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

static uint64_t round_up(uint64_t x, uint64_t step) {
  return (x + step - 1) / step * step;
}

/* rows × columns of the result, from (i0, j0) on. */
static void multiply_part(const struct cut *cut, const uint8_t *a, const uint8_t *b, uint8_t *c, uint8_t *panels,
                          const uint64_t from[2], const uint64_t size[2]) {
  const struct interp_gemm *g = cut->g;
  const struct kernel *kernel = cut->kernel;
  size_t bytes = kernel->element_bytes;
  uint8_t *b_panels = panels + round_up(BLOCK_M, kernel->rows) * BLOCK_K * bytes;
  for (uint64_t j0 = 0; j0 < size[1]; j0 += BLOCK_N) {
    uint64_t n = least(BLOCK_N, size[1] - j0);
    const int64_t *columns = g->b.columns + from[1] + j0, *c_columns = g->c.columns + from[1] + j0;
    for (uint64_t p0 = 0; p0 < g->k; p0 += BLOCK_K) {
      uint64_t k = least(BLOCK_K, g->k - p0);
      for (uint64_t j = 0; j < n; j += kernel->columns) {
        kernel->pack_b(b, g->b.rows + p0, k, columns + j, least(kernel->columns, n - j), b_panels + j * k * bytes);
      }
      for (uint64_t i0 = 0; i0 < size[0]; i0 += BLOCK_M) {
        uint64_t m = least(BLOCK_M, size[0] - i0);
        const int64_t *rows = g->a.rows + from[0] + i0, *c_rows = g->c.rows + from[0] + i0;
        for (uint64_t i = 0; i < m; i += kernel->rows) {
          kernel->pack_a(a, rows + i, least(kernel->rows, m - i), g->a.columns + p0, k, panels + i * k * bytes);
        }
        for (uint64_t j = 0; j < n; j += kernel->columns) {
          for (uint64_t i = 0; i < m; i += kernel->rows) {
            kernel->tile(k, panels + i * k * bytes, b_panels + j * k * bytes, c, c_rows + i, least(kernel->rows, m - i),
                         c_columns + j, least(kernel->columns, n - j), p0 > 0);
          }
        }
      }
    }
  }
}

static void multiply_task(const struct cut *cut, uint64_t task, uint8_t *panels) {
  const struct interp_gemm *g = cut->g;
  uint64_t batch = task / cut->bands, first = task % cut->bands * cut->band;
  int64_t bytes = (int64_t)cut->kernel->element_bytes;
  const uint8_t *a = (const uint8_t *)g->a.data + g->a_starts[batch] * bytes;
  const uint8_t *b = (const uint8_t *)g->b.data + g->b_starts[batch] * bytes;
  uint8_t *c = (uint8_t *)g->c.data + g->c_starts[batch] * bytes;
  uint64_t from[2] = {cut->by_columns ? 0 : first, cut->by_columns ? first : 0};
  uint64_t size[2] = {cut->by_columns ? g->m : least(cut->band, g->m - first),
                      cut->by_columns ? least(cut->band, g->n - first) : g->n};
  if (cut->is_row) {
    cut->kernel->row(g, a, b, c, first, size[1]);
  } else {
    multiply_part(cut, a, b, c, panels, from, size);
  }
}

/* A share of the tasks, one after the other in the same panels. */
static void multiply_share(void *user, size_t share) {
  const struct cut *cut = user;
  uint64_t tasks = cut->g->batches * cut->bands, shares = least(tasks, MAX_TASKS);
  uint8_t *panels = cut->panels ? cut->panels + share * cut->panel_bytes : NULL;
  for (uint64_t task = tasks * share / shares; task < tasks * (share + 1) / shares; task++) {
    multiply_task(cut, task, panels);
  }
}

/* Bands that `extent` rows or columns are cut into: as many as keep all cores busy, but not so narrow that packing the other
 * operand again for each costs more than it saves. */
static uint64_t count_bands(const struct interp_gemm *g, uint64_t extent) {
  enum { NARROWEST = 96 };
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  uint64_t cores = online > 1 ? (uint64_t)online : 1, most = least(g->m * g->n * g->k / TASK_PRODUCTS, 2 * cores);
  uint64_t wide = extent / NARROWEST, bands = wide > cores ? wide : cores;
  bands = least(least(bands, most), MAX_TASKS);
  return g->batches >= cores || bands == 0 ? 1 : bands;
}

/* A band of rows packs all of b again, a band of columns all of a; elements that are not adjacent cost more to pack. */
static void cut_product(struct cut *cut) {
  enum { STRIDED_COST = 4 };
  const struct interp_gemm *g = cut->g;
  uint64_t a_cost = g->m * (is_unit(g->a.rows, g->m) ? 1 : STRIDED_COST);
  uint64_t b_cost = g->n * (is_unit(g->b.columns, g->n) ? 1 : STRIDED_COST);
  uint64_t row_bands = count_bands(g, g->m), column_bands = count_bands(g, g->n);
  bool is_unit_a = is_unit(g->a.columns, g->k), is_unit_b = is_unit(g->b.rows, g->k);
  cut->is_row = g->m == 1 && ((is_unit(g->b.columns, g->n) && is_unit(g->c.columns, g->n)) || (is_unit_a && is_unit_b));
  cut->by_columns = cut->is_row || column_bands * a_cost + b_cost < row_bands * b_cost + a_cost
                    || g->m < 2 * (uint64_t)cut->kernel->rows;
  uint64_t bands = cut->by_columns ? column_bands : row_bands, extent = cut->by_columns ? g->n : g->m;
  cut->band = round_up((extent + bands - 1) / bands, cut->by_columns ? cut->kernel->columns : cut->kernel->rows);
  cut->bands = (extent + cut->band - 1) / cut->band;
  uint64_t block_n = round_up(least(BLOCK_N, g->n), cut->kernel->columns);
  cut->panel_bytes =
      cut->is_row ? 0 : (round_up(BLOCK_M, cut->kernel->rows) + block_n) * BLOCK_K * cut->kernel->element_bytes;
}

static void clear(const struct interp_gemm *g, size_t bytes) {
  for (uint64_t batch = 0; batch < g->batches; batch++) {
    for (uint64_t i = 0; i < g->m; i++) {
      for (uint64_t j = 0; j < g->n; j++) {
        int64_t at = g->c_starts[batch] + g->c.rows[i] + g->c.columns[j];
        memset((uint8_t *)g->c.data + at * (int64_t)bytes, 0, bytes);
      }
    }
  }
}

bool interp_gemm_run(const struct interp_gemm *gemm) {
  struct interp_gemm g = *gemm;
  if (g.m == 0 || g.n == 0 || g.batches == 0) {
    return true;
  }
  struct cut cut = {.g = &g, .kernel = choose(g.dtype)};
  if (g.k == 0) {
    clear(&g, cut.kernel->element_bytes);
    return true;
  }
  bool turns = (g.n == 1 && g.m > 1) || (!is_unit(g.c.columns, g.n) && is_unit(g.c.rows, g.m));
  if (turns && g.m > 1) { /* c' = b' a': rows of the result are what is adjacent in memory */
    g = (struct interp_gemm){.dtype = g.dtype, .m = g.n, .n = g.m, .k = g.k, .batches = g.batches};
    g.a = (struct interp_matrix){gemm->b.data, gemm->b.columns, gemm->b.rows};
    g.b = (struct interp_matrix){gemm->a.data, gemm->a.columns, gemm->a.rows};
    g.c = (struct interp_matrix){gemm->c.data, gemm->c.columns, gemm->c.rows};
    g.a_starts = gemm->b_starts;
    g.b_starts = gemm->a_starts;
    g.c_starts = gemm->c_starts;
  }
  cut_product(&cut);
  uint64_t shares = least(g.batches * cut.bands, MAX_TASKS);
  if (cut.panel_bytes > 0) {
    cut.panels = aligned_alloc(64, round_up(shares * cut.panel_bytes, 64));
    if (!cut.panels) {
      return false;
    }
  }
  bool is_small = g.m * g.n * g.k * g.batches < 2 * TASK_PRODUCTS;
  if (is_small) {
    for (size_t share = 0; share < shares; share++) {
      multiply_share(&cut, share);
    }
  } else {
    parallel_for(shares, 0, multiply_share, &cut);
  }
  free(cut.panels);
  return true;
}
