/* The artifact's constants for four chips of 1,472 cores (elk.md sections 2.1 and 4.7). */
#include "plan/compat_int.h"

const struct compat_constants compat_elk = {
    .cores = 4 * 1472,
    .cores_per_chip = 1472,
    .sram_bytes = UINT64_C(624) * 1024,
    .element_bytes = 2,
    .cycles_per_ms = 1.325e6,
    .memory_rate = 16000.0,
    .memory_unit = 1048576.0,
    .link_GBps = 5.5,
    .link_truncated_GBps = 5.0,
    .link_bytes_per_cycle = 5.5 * 1073741824.0 / 1.325e9,
    .sync_cycles = 118.0,
    .exchange_cycles = 0.56,
    .exchange_factor = 1.25,
    .resident_factor = 1.01,
};
