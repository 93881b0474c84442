/* Life of a step's result. */
#include "cluster/step.h"

#include <string.h>

void step_result_init(struct step_result *result) {
  memset(result, 0, sizeof *result);
}

void step_result_release(struct step_result *result) {
  vec_release(&result->collectives);
  vec_release(&result->spans);
  vec_release(&result->notes);
  arena_release(&result->arena);
}
