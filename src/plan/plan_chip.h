/* The constants of a chip that planning needs, read from its YAML fields through the rows of plan_chip.def; nothing else
 * in plan/ knows a constant of a chip. A field that a chip does not state is derived from its peaks (the row says how), so
 * that Wormhole, Blackhole, GC200, Bow and WSE-3 plan as well; `ridgeline chips show` lists which is which. */
#ifndef RIDGELINE_PLAN_PLAN_CHIP_H
#define RIDGELINE_PLAN_PLAN_CHIP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "hw/hw.h"
#include "plan/plan_program.h"

enum plan_topology { PLAN_ALL_TO_ALL, PLAN_MESH_2D, PLAN_TORUS_2D, PLAN_RING, PLAN_TOPOLOGY_COUNT };

/* One sort of vector stage on a core: cycles = per_element x elements + per_call. */
struct plan_stage_rate {
  double per_element; /* a 2-byte element and a primitive operation */
  double per_call;
};

struct plan_chip {
  const struct hw_chip *chip; /* not owned; NULL for chips made in tests */
  const char *id;
  uint32_t cores; /* of all chips of the pod */
  uint32_t cores_per_chip;
  uint64_t sram_bytes; /* per core, what plans may use: smem_per_core less the reserve */
  uint64_t reserve_bytes; /* code, transfer buffers, stack */
  double clock_Hz;

  /* Network between cores. Rates are those of one core's port, each direction. */
  uint8_t topology; /* enum plan_topology */
  uint32_t mesh_rows, mesh_columns; /* topologies with places */
  double link_Bps; /* one core's ingress (and egress) */
  double cross_chip_factor; /* times every exchange that may leave the chip; 1 on one chip */
  double sync_cycles; /* one barrier of all cores */
  bool can_overlap; /* a core can compute while its port receives */
  /* Traffic that is not between neighbours passes several links of a topology with places: times the bytes of a core's
   * port, at least 1 (plan_chip_set_topology). */
  double exchange_factor; /* from any core to any other */
  double preload_factor; /* from the memory at the edges */

  /* Off-chip memory; has_memory false: everything must be on the chip (GC200, WSE-3). */
  bool has_memory;
  double memory_Bps;
  double memory_efficiency; /* share of it that long streams reach */

  /* Tile formulas, in cycles of one core; docs/plan-cost.md states them. */
  double matrix_rows, matrix_depth, matrix_columns; /* block of the matrix unit: elements of m, k, n */
  double matrix_block_cycles; /* per m x k x n block at the type's full rate (2-byte elements) */
  double matrix_load_cycles; /* per k x n block: loading weights */
  double matrix_column_cycles; /* per n block */
  double matrix_call_cycles; /* per product of a batch */
  struct plan_stage_rate stages[PLAN_STAGE_KIND_COUNT]; /* of all kinds but MATRIX */
  /* Short reductions and long element-wise vectors run at other rates: see plan_tile.c. */
  double reduce_short_cycles, reduce_short_limit_cycles;
  double elementwise_long_cycles, elementwise_long_floor_cycles;
  double matrix_rate_factor[DTYPE_COUNT]; /* rate(type) / rate(f16); 0 = not taken */
};

/* STATUS_INPUT and E0803 with the missing field when the chip has not what planning needs (a GPU). */
enum status plan_chip_read(const struct hw_chip *chip, struct diag_list *diags, struct plan_chip *out);
/* One line per constant: value, unit, field, stated or derived. */
void plan_chip_explain(const struct plan_chip *chip, struct strbuf *out);

/* Sets topology and factors; rows and columns are ignored by topologies without places (0 = the squarest grid that holds
 * the cores). Chips made in tests call it as well. */
void plan_chip_set_topology(struct plan_chip *chip, enum plan_topology topology, uint32_t rows, uint32_t columns);
/* "all-to-all", "mesh-2d", "torus-2d", "ring": what chip files and tables say. */
const char *plan_topology_name(enum plan_topology topology);

#endif
