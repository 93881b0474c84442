/* All policies, in the order of tables. A new one is its own file and a row here. */
#include <stddef.h>
#include <string.h>

#include "plan/plan_policy.h"

const struct plan_policy *const plan_policies[] = {
    &plan_policy_basic, &plan_policy_static,    &plan_policy_dyn,
    &plan_policy_full,  &plan_policy_ideal,     &plan_policy_joint,
    &plan_policy_exact, &plan_policy_exact_mip, NULL,
};

const struct plan_policy *plan_policy_find(const char *name) {
  for (size_t k = 0; plan_policies[k] != NULL; k++) {
    if (strcmp(plan_policies[k]->name, name) == 0) {
      return plan_policies[k];
    }
  }
  return NULL;
}
