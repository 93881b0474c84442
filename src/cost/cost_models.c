/* The table of cost models: one row each. */
#include <string.h>

#include "cost/cost.h"

const struct cost_model *const cost_models[] = {
    &cost_roofline,
    NULL,
};

const struct cost_model *cost_model_find(const char *name) {
  for (const struct cost_model *const *model = cost_models; *model != NULL; model++) {
    if (strcmp((*model)->name, name) == 0) {
      return *model;
    }
  }
  return NULL;
}
