/* What the parts of --compat elk share: the artifact's constants, prices of plans, tables, schedules. */
#ifndef RIDGELINE_PLAN_COMPAT_INT_H
#define RIDGELINE_PLAN_COMPAT_INT_H

#include "plan/plan_compat.h"

/* Every constant of the mode (elk.md sections 2 and 4.7), one row: compat_constants.c. */
struct compat_constants {
  uint32_t cores;
  uint32_t cores_per_chip; /* exchange costs exchange_factor more beyond one chip */
  uint64_t sram_bytes;
  uint64_t element_bytes;
  double cycles_per_ms;
  double memory_rate; /* "GB/s" of the HBM in memory_unit bytes per ms */
  double memory_unit; /* the artifact divides by 2^20 where 10^6 is meant: 4.9 % optimistic */
  double link_GBps; /* per core */
  double link_truncated_GBps; /* int() of it, in the designs that read it as an integer */
  double link_bytes_per_cycle; /* price of the own load in plan choice */
  double sync_cycles; /* one barrier */
  double exchange_cycles; /* per element and hop */
  double exchange_factor;
  double resident_factor; /* what is resident counts so much more in Dyn and Full */
};
extern const struct compat_constants compat_elk;

/* Bounds on hostile lists: plans of all operators together (the published models have up to 7 million), choices of one
 * operator before thinning (10^5), candidates of all schedules together (10^6). */
#define COMPAT_PLANS_MAX UINT64_C(16000000)
#define COMPAT_CHOICES_MAX 2000000
#define COMPAT_CANDIDATES_MAX UINT64_C(200000000)

/* A price in cycles and bytes per core. */
struct compat_cost {
  double compute_cycles; /* all iterations */
  double exchange_cycles; /* rotation and the shuffle after the operator */
  uint64_t hot_bytes;
};
/* False, with the bytes alone, when they exceed the SRAM. */
bool compat_price(const struct plan_compat_operator *op, const struct plan_partition *plan, struct compat_cost *cost);
/* Bytes per core of the inputs that are loaded, as the plan cuts them. */
uint64_t compat_cold_bytes(const struct plan_compat_operator *op, const struct plan_partition *plan);
/* From preload state to execute state; a negative number where `hot` does not follow from `cold` by merging pieces. */
double compat_warm_up_cycles(const struct plan_compat_operator *op, const struct plan_partition *cold,
                             const struct plan_partition *hot);

/* One entry of an operator's cold/hot table. */
struct compat_choice {
  uint64_t cold_bytes, hot_bytes;
  double time_ms; /* warm-up included */
  double compute_ms;
  double exchange_ms; /* the part that contends for the links; without warm-up */
};

/* A step function of memory: from `bytes` on, `choice`. */
struct compat_step {
  uint64_t bytes;
  uint32_t choice;
};

struct compat_table {
  VEC(struct compat_choice) choices; /* ascending cold, then hot; one per pair */
  VEC(struct compat_step) priced; /* Dyn, Full: least time plus half the link time of the own load */
  VEC(struct compat_step) smallest; /* Basic, Static: largest hot of the smallest cold */
  VEC(struct compat_step) largest; /* the same of the largest cold that fits */
  uint32_t fastest; /* choice */
  uint64_t smallest_hot, smallest_cold;
  double load_ms; /* HBM time; whatever the choice, the smallest cold bytes are moved */
};
/* Without choices when no partition fits; smallest_hot is then what would be needed, UINT64_MAX when there is none at all.
 * `*plans` counts on; STATUS_LIMIT beyond COMPAT_PLANS_MAX or
 * COMPAT_CHOICES_MAX. */
enum status compat_table_build(const struct plan_compat_operator *op, bool legal, struct compat_table *table,
                               uint64_t *plans);
void compat_table_release(struct compat_table *table);
/* NULL when nothing fits. */
const struct compat_choice *compat_table_lookup(const struct compat_table *table, const struct compat_step *steps,
                                                size_t count, double bytes);

/* How a design plans. */
struct compat_rules {
  uint8_t design; /* enum plan_compat_design */
  bool largest_cold, moves_loads;
  double link_GBps;
  double threshold; /* 0: loads and exchange do not contend */
  uint64_t execution_bytes; /* Static */
};

/* Arrays by position in the sequence; allocated once for all schedules. */
struct compat_schedule {
  const struct plan_compat_program *program;
  const struct compat_table *tables; /* by operator */
  uint32_t ahead_max; /* operators preloaded at most */
  struct compat_slot *slots;
  uint64_t candidates; /* tried so far, over all schedules */
};
enum status compat_schedule_init(struct compat_schedule *schedule, const struct plan_compat_program *program,
                                 const struct compat_table *tables, uint32_t layers);
void compat_schedule_release(struct compat_schedule *schedule);
/* False when some operator has no plan that fits, or the budget of candidates is used up. */
bool compat_schedule_run(struct compat_schedule *schedule, const struct compat_rules *rules, double *latency_ms,
                         double *busy_ms);

#endif
