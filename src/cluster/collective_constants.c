/* Constants of a cluster's communication: its fields, else the defaults of collective_constants.def. */
#include "cluster/collective.h"

struct constant_row {
  const char *key;
  double value, lower, upper;
};

static const struct constant_row rows[COLLECTIVE_CONSTANT_COUNT] = {
#define COLLECTIVE_CONSTANT(id, key, unit, value, lower, upper, meaning) {key, value, lower, upper},
#include "cluster/collective_constants.def"
#undef COLLECTIVE_CONSTANT
};

static double within(const struct constant_row *row, double value) {
  return !(value > row->lower) ? row->lower : value < row->upper ? value : row->upper;
}

void collective_constants_of(const struct hw_cluster *cluster, struct collective_constants *constants) {
  for (int i = 0; i < COLLECTIVE_CONSTANT_COUNT; i++) {
    double value;
    constants->values[i] = hw_cluster_number(cluster, rows[i].key, &value) ? within(&rows[i], value) : rows[i].value;
  }
}
