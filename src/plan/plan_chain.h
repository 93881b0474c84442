/* The abstract planning problem, its decisions, and the one evaluator of time that every policy is measured by.
 *
 * A chain of steps runs one after the other on the cores. A step may need a load from memory first. Loads go over one
 * memory channel, one at a time, in an order of their own. Each step chooses how it executes (memory for time) and in which
 * state its tensors are preloaded (memory and link time for distribution time), and how early its load may begin.
 *
 * Times are integer picoseconds, sizes bytes per core; nothing here knows operators or tensors, so that searches can be
 * tested on random chains against exhaustive enumeration.
 */
#ifndef RIDGELINE_PLAN_PLAN_CHAIN_H
#define RIDGELINE_PLAN_PLAN_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

/* One way to run a step. Alone it takes duration(execute) = compute + shift + serial, or max(compute, shift) + serial where
 * the chain overlaps; distribution comes on top. shift and serial are link time. */
struct plan_execute {
  uint64_t hot_bytes; /* while the step runs: its tensors, output included */
  int64_t compute_ps, shift_ps, serial_ps;
};

/* One state that a step's tensors from memory wait in. */
struct plan_preload {
  uint64_t cold_bytes; /* from the load's release until the step starts */
  int64_t memory_ps; /* memory channel */
  int64_t link_ps; /* each core's ingress */
};

#define PLAN_UNREACHABLE INT64_MAX

/* Compute and shift of an option, in turns or overlapped. */
static inline int64_t plan_main_phase_ps(const struct plan_execute *execute, bool overlaps) {
  if (overlaps) {
    return execute->compute_ps > execute->shift_ps ? execute->compute_ps : execute->shift_ps;
  }
  return execute->compute_ps + execute->shift_ps;
}

/* Options of one sort of step; shared by all steps alike. A step without data from memory has one preload state of 0 bytes
 * and 0 ps. Every preload state reaches at least one execute option. */
struct plan_choice_set {
  uint32_t execute_count, preload_count;
  const struct plan_execute *executes; /* ascending hot_bytes */
  const struct plan_preload *preloads; /* ascending cold_bytes */
  const int64_t
      *distribute_ps; /* [preload x execute_count + execute], link time; PLAN_UNREACHABLE. What is reachable has
                                 * hot_bytes >= cold_bytes */
  int64_t loss_ps; /* best duration that was thinned away is at most this much better, per step */
};

struct plan_step {
  uint32_t set; /* in plan_chain.sets */
  uint64_t live_bytes; /* per core: values on the chip beside its own tensors */
  uint32_t layer; /* repetition; UINT32_MAX = none */
};

/* All sums over a chain stay below 2^56 ps (20 hours) and 2^62 bytes. */
struct plan_chain {
  uint32_t step_count, set_count;
  const struct plan_step *steps;
  const struct plan_choice_set *sets;
  uint64_t sram_bytes; /* per core */
  bool overlaps; /* shift overlaps compute */
};

/* True when the step loads anything from memory. */
bool plan_step_loads(const struct plan_chain *chain, uint32_t step);
/* Alone, without contention, from this preload state; PLAN_UNREACHABLE. */
int64_t plan_step_duration(const struct plan_chain *chain, uint32_t step, uint32_t preload, uint32_t execute);

/* While a load is under way, who waits for whom on the links. */
enum plan_priority {
  PLAN_EXCHANGE_FIRST, /* the load advances only where exchange leaves the link free */
  PLAN_PRELOAD_FIRST /* the load keeps its rate; exchange takes what is left */
};

struct plan_decision {
  uint16_t execute, preload;
  /* The load may begin once step `release` - 1 has ended (release 0: at once); release <= the step itself. Its cold bytes
   * count from then on. Without loads: the step itself. */
  uint32_t release;
  uint8_t priority; /* enum plan_priority, of the step's exchange against loads under way while it runs */
};

struct plan_schedule {
  struct plan_decision *decisions; /* step_count */
  uint32_t *order; /* load_count steps that load, in the order of their loads; releases are non-decreasing along it */
  uint32_t load_count;
};

/* When what happened, with or without contention for the links. */
struct plan_interval {
  int64_t load_start_ps, load_end_ps; /* equal when the step loads nothing: when it could have started */
  int64_t start_ps, end_ps; /* on the cores, distribution included */
  uint64_t resident_bytes; /* largest need while it runs: hot, live, and cold of all released loads of later steps */
};

struct plan_timeline {
  struct plan_interval *steps; /* step_count */
  int64_t makespan_ps;
  int64_t memory_busy_ps; /* sum of memory_ps */
  int64_t link_busy_ps; /* link time of loads, distribution and exchange */
  int64_t compute_ps; /* sum of compute_ps */
  int64_t stall_load_ps; /* cores wait for a load */
  int64_t stall_link_ps; /* steps stretched by contention */
  uint64_t peak_bytes; /* largest resident_bytes */
};

/* Checks a schedule against the chain: indices, reachability, release and order rules, SRAM at every step. Returns the
 * first step that breaks a rule, with `reason` a static text; UINT32_MAX when sound. */
uint32_t plan_schedule_check(const struct plan_chain *chain, const struct plan_schedule *schedule, const char **reason);

/* Runs a sound schedule. Rules (docs/plan.md derives them):
 *  - the k-th load starts when the (k-1)-th has ended and its release has come; alone it takes D = max(memory, link);
 *  - a step starts when the step before has ended and its load is complete; it is a link phase (distribution + serial, link
 *    fraction 1) and then a main phase (compute and shift; without overlap they alternate in short turns, duration
 *    c + x with link fraction x / (c + x); with overlap duration max(c, x), link fraction x / duration);
 *  - while a load of link share s = link / D is under way during a phase of link fraction f, with speeds u of the phase and
 *    w of the load: PRELOAD_FIRST w = 1; alternating phases u = 1 / (1 - f + f / (1 - s)), overlapped ones
 *    u = min(1, (1 - s) / f); EXCHANGE_FIRST u = 1; alternating w = 1 - f, overlapped w = min(1, (1 - f) / s);
 *    a load with s = 0 and a phase with f = 0 disturb nobody: u = w = 1;
 *  - speeds are constant between events; times are rounded up to picoseconds at events.
 * `contention` false: u = w = 1 always. The timeline's array is the caller's (step_count). */
void plan_timeline_run(const struct plan_chain *chain, const struct plan_schedule *schedule, bool contention,
                       struct plan_timeline *timeline);

#endif
