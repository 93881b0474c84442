/* Names of the sorts of stages. */
#include "plan/plan_program.h"

const char *plan_stage_kind_name(enum plan_stage_kind kind) {
  static const char *const names[] = {
#define PLAN_STAGE_KIND(id, name, summary) [PLAN_STAGE_##id] = name,
#include "plan/plan_stage_kinds.def"
#undef PLAN_STAGE_KIND
  };
  return kind < PLAN_STAGE_KIND_COUNT ? names[kind] : "?";
}
