/* The artifact's scheduler (elk.md section 4; readings of section 9, items 16 to 23): time runs backwards from 0, the last
 * operator ends there; each operator before it gets a deadline, a plan and a load.
 * Path: compat_designs.c runs it once per design and parameter on the tables of compat_tables.c. */
#include <math.h>
#include <stdlib.h>

#include "plan/compat_int.h"

/* One operator of the sequence, placed. Times in ms, negative; zero-byte loads have no length. */
struct compat_slot {
  const struct compat_choice *choice;
  double start, end;
  double load_start, load_end;
  double load_ms; /* as stretched by its own link time */
  double link_ms; /* of the load */
};

enum status compat_schedule_init(struct compat_schedule *schedule, const struct plan_compat_program *program,
                                 const struct compat_table *tables, uint32_t layers) {
  const uint32_t per_layer = (uint32_t)(program->sequence.count / layers);
  *schedule = (struct compat_schedule){
      .program = program,
      .tables = tables,
      .ahead_max = per_layer > 0 ? per_layer - 1 : 0,
      .slots = calloc(program->sequence.count, sizeof *schedule->slots),
  };
  return schedule->slots != NULL ? STATUS_OK : STATUS_MEMORY;
}

void compat_schedule_release(struct compat_schedule *schedule) {
  free(schedule->slots);
  schedule->slots = NULL;
}

static const struct compat_table *table_at(const struct compat_schedule *schedule, size_t at) {
  return &schedule->tables[schedule->program->sequence.data[at]];
}

/* ---- What is resident, and the plan that fits beside it ---- */

/* Operators preloaded while another runs, as the design counts them. */
struct window {
  double bytes;
  bool is_full; /* Basic: one operator with a load is enough */
};

static double counted_bytes(const struct compat_schedule *schedule, const struct compat_rules *rules, size_t at) {
  const double real = (double)schedule->slots[at].choice->cold_bytes;
  const double smallest = (double)table_at(schedule, at)->smallest_cold;
  switch ((enum plan_compat_design)rules->design) {
  case PLAN_COMPAT_DYN:
    return sqrt(smallest * real) * compat_elk.resident_factor;
  case PLAN_COMPAT_FULL:
  case PLAN_COMPAT_IDEAL:
    return smallest * compat_elk.resident_factor;
  case PLAN_COMPAT_BASIC:
  case PLAN_COMPAT_STATIC:
  case PLAN_COMPAT_DESIGN_COUNT:
    break;
  }
  return real;
}

/* The plan of the operator beside `resident` bytes; NULL when none fits. */
static const struct compat_choice *choose(const struct compat_table *table, const struct compat_rules *rules,
                                          double resident) {
  const double sram = (double)compat_elk.sram_bytes;
  double room = sram - resident;
  if (rules->design == PLAN_COMPAT_IDEAL) {
    return (double)table->smallest_hot <= room ? &table->choices.data[table->fastest] : NULL;
  }
  if (rules->design == PLAN_COMPAT_DYN || rules->design == PLAN_COMPAT_FULL) {
    return compat_table_lookup(table, table->priced.data, table->priced.count, room);
  }
  if (rules->design == PLAN_COMPAT_STATIC) {
    if (resident > sram - (double)rules->execution_bytes) {
      return NULL;
    }
    room = (double)rules->execution_bytes;
  }
  return rules->largest_cold ? compat_table_lookup(table, table->largest.data, table->largest.count, room)
                             : compat_table_lookup(table, table->smallest.data, table->smallest.count, room);
}

/* ---- Contention for the links ---- */

/* Mode True: walking back from the deadline, how much time the operator needs until the links had time for its exchange.
 * Under a load the links have the share that the load leaves. Loads of the operators i+1 .. last are looked at. */
static double link_limited_start(const struct compat_schedule *schedule, size_t i, size_t last, double deadline,
                                 double exchange_ms) {
  double at = deadline;
  double left = exchange_ms;
  for (size_t j = last; j > i && left > 0.0; j--) {
    const struct compat_slot *slot = &schedule->slots[j];
    if (slot->load_ms <= 0.0 || slot->load_start >= at) {
      continue;
    }
    const double load_end = slot->load_end < at ? slot->load_end : at;
    if (left <= at - load_end) {
      break;
    }
    left -= at - load_end;
    const double share = (slot->load_ms - slot->link_ms) / slot->load_ms;
    const double offer = (load_end - slot->load_start) * share;
    if (left <= offer) {
      return load_end - left / share;
    }
    left -= offer;
    at = slot->load_start;
  }
  return at - left;
}

/* Mode False: the link time of the loads under operator `i` must fit in its compute time; the latest load that does not
 * keeps what fits, gives way to before the operator, and pushes the loads before it. */
static void move_loads(struct compat_schedule *schedule, size_t i, size_t last) {
  const struct compat_slot *op = &schedule->slots[i];
  double budget = op->choice->compute_ms;
  for (size_t j = last; j > i; j--) {
    struct compat_slot *slot = &schedule->slots[j];
    const double end = slot->load_end < op->end ? slot->load_end : op->end;
    const double start = slot->load_start > op->start ? slot->load_start : op->start;
    if (slot->load_ms <= 0.0 || end <= start) {
      continue;
    }
    const double rate = slot->link_ms / slot->load_ms;
    if (rate * (end - start) <= budget) {
      budget -= rate * (end - start);
      continue;
    }
    const double earlier = (end - op->start) - budget / rate;
    slot->load_start -= earlier;
    slot->load_end -= earlier;
    for (size_t k = j - 1; k > i; k--) {
      struct compat_slot *nearer = &schedule->slots[k];
      const double push = nearer->load_end - schedule->slots[k + 1].load_start;
      if (push > 0.0) {
        nearer->load_start -= push;
        nearer->load_end -= push;
      }
    }
    return;
  }
}

/* ---- Placing one operator ---- */

static double start_of(const struct compat_schedule *schedule, const struct compat_rules *rules, size_t i, size_t last,
                       double deadline, const struct compat_choice *choice) {
  const double start = deadline - choice->time_ms;
  if (rules->threshold <= 0.0 || rules->moves_loads) {
    return start;
  }
  const double limited = link_limited_start(schedule, i, last, deadline, choice->exchange_ms);
  return limited < start ? limited : start;
}

/* The number of operators preloaded while `i` runs that lets it start latest. `*last` is the last of them. */
static bool place(struct compat_schedule *schedule, const struct compat_rules *rules, size_t i, size_t *last) {
  const size_t count = schedule->program->sequence.count;
  struct compat_slot *slot = &schedule->slots[i];
  struct window window = {0};
  slot->choice = NULL;
  for (size_t next = i + 1; next < count && next - i - 1 <= schedule->ahead_max; next++) {
    if (next > i + 1) { /* operator next - 1 is preloaded too */
      if (window.is_full) {
        break;
      }
      window.bytes += counted_bytes(schedule, rules, next - 1);
      window.is_full = rules->design == PLAN_COMPAT_BASIC && table_at(schedule, next - 1)->smallest_cold > 0;
    }
    const struct compat_slot *after = &schedule->slots[next];
    const double deadline = fmin(schedule->slots[i + 1].start, after->load_start);
    const struct compat_choice *choice = choose(table_at(schedule, i), rules, window.bytes);
    schedule->candidates++;
    if (choice == NULL || schedule->candidates > COMPAT_CANDIDATES_MAX) {
      break;
    }
    const double start = start_of(schedule, rules, i, next - 1, deadline, choice);
    if (slot->choice == NULL || start > slot->start) {
      slot->choice = choice;
      slot->start = start;
      slot->end = deadline;
      *last = next - 1;
    }
    if (after->load_start >= schedule->slots[i + 1].start) {
      break;
    }
  }
  return slot->choice != NULL;
}

static bool place_last(struct compat_schedule *schedule, const struct compat_rules *rules) {
  const size_t i = schedule->program->sequence.count - 1;
  struct compat_slot *slot = &schedule->slots[i];
  slot->choice = choose(table_at(schedule, i), rules, 0.0);
  if (slot->choice != NULL) {
    slot->end = 0.0;
    slot->start = start_of(schedule, rules, i, i, 0.0, slot->choice);
  }
  return slot->choice != NULL;
}

/* The load ends when its operator starts or the next load does. */
static void place_load(struct compat_schedule *schedule, const struct compat_rules *rules, size_t i) {
  struct compat_slot *slot = &schedule->slots[i];
  const struct compat_table *table = table_at(schedule, i);
  const double ratio = rules->link_GBps * compat_elk.cores / compat_elk.memory_rate;
  slot->link_ms = 0.0;
  slot->load_ms = table->load_ms;
  if (table->smallest_cold > 0 && rules->threshold > 0.0) {
    slot->link_ms = table->load_ms * ((double)slot->choice->cold_bytes / (double)table->smallest_cold) / ratio;
    slot->load_ms = fmax(table->load_ms, slot->link_ms / rules->threshold);
  } else if (ratio < 1.0) {
    slot->load_ms = table->load_ms / ratio;
  }
  slot->load_end = slot->start;
  if (i + 1 < schedule->program->sequence.count) {
    slot->load_end = fmin(slot->start, schedule->slots[i + 1].load_start);
  }
  slot->load_start = slot->load_end - slot->load_ms;
}

bool compat_schedule_run(struct compat_schedule *schedule, const struct compat_rules *rules, double *latency_ms,
                         double *busy_ms) {
  double first = 0.0;
  *busy_ms = 0.0;
  for (size_t i = schedule->program->sequence.count; i-- > 0;) {
    const bool is_last = i + 1 == schedule->program->sequence.count;
    size_t last = i;
    if (is_last ? !place_last(schedule, rules) : !place(schedule, rules, i, &last)) {
      return false;
    }
    if (rules->moves_loads && rules->threshold > 0.0) {
      move_loads(schedule, i, last);
    }
    place_load(schedule, rules, i);
    *busy_ms += schedule->slots[i].end - schedule->slots[i].start;
    first = fmin(first, fmin(schedule->slots[i].start, schedule->slots[i].load_start));
  }
  *latency_ms = -first;
  return true;
}
