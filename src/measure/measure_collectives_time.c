/* Time of a measured collective as the tables' harnesses see it. */
#include <math.h>
#include <string.h>

#include "measure/measure_collectives.h"

double collective_row_time(const struct measured_collective *row, const struct collective_constants *constants) {
  struct collective_result result;
  if (row->one_shot_max > 0 || row->two_shot_max > 0) {
    struct collective_constants own = *constants;
    own.values[COLLECTIVE_ONE_SHOT_MAX] = row->one_shot_max;
    own.values[COLLECTIVE_TWO_SHOT_MAX] = row->two_shot_max;
    collective_time(row->cluster, &row->slice, &own, &row->request, &result);
    return result.time_s;
  }
  collective_time(row->cluster, &row->slice, constants, &row->request, &result);
  return result.time_s;
}

bool collective_has_launch(enum collective_table table) {
  return table != COLLECTIVE_TABLE_AICONFIGURATOR && table != COLLECTIVE_TABLE_AIC_KERNEL
         && table != COLLECTIVE_TABLE_TPU_RECIPES;
}

/* Reads and writes the input once, off chip. */
static double copy_s(const struct measured_collective *row) {
  return row->copied_bytes > 0 && row->chip && row->chip->memory_Bps > 0
             ? 2 * row->copied_bytes / (row->chip->memory_Bps * row->chip->memory_efficiency)
             : 0;
}

/* Kernels that are launched one after the other without waiting come no faster than the host launches them; else the launch
 * is waited for. */
static double seen_s(enum collective_table table, double device_s, double launch_s) {
  return table == COLLECTIVE_TABLE_AIC_EAGER ? fmax(device_s, launch_s) : device_s + launch_s;
}

double collective_with_harness(const struct measured_collective *row, const struct collective_harness *harness,
                               double time_s) {
  enum collective_table table = collective_machines[row->machine].table;
  return seen_s(table, time_s + copy_s(row), harness->launch_s[table][row->request.kind]);
}

/* ---- launches ---- */

struct launch_rows {
  const struct measured_collectives *all;
  const double *times_s;
  const char *left_out;
  enum collective_table table;
  enum work_collective_kind kind;
};

static bool is_row_of(const struct launch_rows *of, const struct measured_collective *row) {
  bool is_left_out = strcmp(collective_machines[row->machine].cluster, of->left_out) == 0;
  return !row->is_test && !is_left_out && collective_machines[row->machine].table == of->table
         && row->request.kind == of->kind;
}

/* Mean deviation with a launch. vTrain's rows are 1 MB apart; every 16th will do. */
static double deviation(const struct launch_rows *of, double launch_s) {
  double sum = 0;
  size_t count = 0, seen = 0;
  for (size_t i = 0; i < of->all->rows.count; i++) {
    const struct measured_collective *row = &of->all->rows.data[i];
    if (is_row_of(of, row) && seen++ % (of->table == COLLECTIVE_TABLE_VTRAIN ? 16 : 1) == 0) {
      sum += fabs(log(seen_s(of->table, of->times_s[i] + copy_s(row), launch_s) / row->measured_s));
      count++;
    }
  }
  return count > 0 ? sum / (double)count : 0;
}

/* Golden section over [0, 300 us] after a coarse search: the deviation has one valley where latencies matter at all. */
static double best_launch_s(const struct launch_rows *of) {
  enum { STEPS = 24, HALVINGS = 10 };
  double best_s = 0, least = deviation(of, 0), step_s = 4e-6;
  for (int i = 1; i <= STEPS; i++) {
    double value = deviation(of, i * step_s);
    if (value < least) {
      least = value;
      best_s = i * step_s;
    }
  }
  for (int i = 0; i < HALVINGS; i++) {
    step_s /= 2;
    for (int sign = -1; sign <= 1; sign += 2) {
      double next_s = fmax(0, best_s + sign * step_s), value = deviation(of, next_s);
      if (value < least) {
        least = value;
        best_s = next_s;
      }
    }
  }
  return best_s;
}

void collective_harness_fit(const struct measured_collectives *all, const double *times_s, const char *left_out,
                            struct collective_harness *harness) {
  *harness = (struct collective_harness){0};
  for (int table = 0; table < COLLECTIVE_TABLE_COUNT; table++) {
    for (int kind = 0; kind < COLLECTIVE_KINDS; kind++) {
      struct launch_rows of = {all, times_s, left_out, (enum collective_table)table, (enum work_collective_kind)kind};
      if (collective_has_launch(of.table)) {
        harness->launch_s[table][kind] = best_launch_s(&of);
      }
    }
  }
}
