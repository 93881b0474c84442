/* Schedules from paths; see joint_expand.h. */
#include "plan/joint_expand.h"

#include <stddef.h>

static const struct plan_choice_set *set_of(const struct plan_chain *chain, uint32_t step) {
  return &chain->sets[chain->steps[step].set];
}

/* Bytes that loads of later steps take while `step` runs; for each step in turn. */
struct resident {
  uint64_t cold_bytes;
  uint32_t next; /* in the order */
};

static uint64_t beside(struct resident *resident, const struct plan_chain *chain, const struct plan_schedule *schedule,
                       uint32_t step) {
  for (; resident->next < schedule->load_count; resident->next++) {
    const uint32_t loaded = schedule->order[resident->next];
    const struct plan_decision *decision = &schedule->decisions[loaded];
    if (decision->release > step) {
      break;
    }
    resident->cold_bytes += set_of(chain, loaded)->preloads[decision->preload].cold_bytes;
  }
  resident->cold_bytes -= set_of(chain, step)->preloads[schedule->decisions[step].preload].cold_bytes;
  return resident->cold_bytes + chain->steps[step].live_bytes;
}

static uint16_t best_execute(const struct plan_chain *chain, uint32_t step, uint32_t preload, uint64_t other_bytes,
                             double price) {
  const struct plan_choice_set *set = set_of(chain, step);
  double least = 0;
  uint32_t best = UINT32_MAX;
  for (uint32_t x = 0; x < set->execute_count && set->executes[x].hot_bytes + other_bytes <= chain->sram_bytes; x++) {
    const int64_t distribute_ps = set->distribute_ps[(size_t)preload * set->execute_count + x];
    if (distribute_ps == PLAN_UNREACHABLE) {
      continue;
    }
    const int64_t link_ps = distribute_ps + set->executes[x].serial_ps + set->executes[x].shift_ps;
    const double key = (double)plan_step_duration(chain, step, preload, x) + price * (double)link_ps;
    if (best == UINT32_MAX || key < least) {
      least = key;
      best = x;
    }
  }
  return (uint16_t)best;
}

void joint_expand(const struct joint_model *model, const struct joint_path *path, const uint32_t *order, double price,
                  struct plan_schedule *schedule) {
  const struct plan_chain *chain = model->chain;
  for (uint32_t n = 0; n < model->node_count; n++) {
    const struct joint_node *node = &model->nodes[n];
    for (uint32_t i = node->first_step; i < node->first_step + node->step_count; i++) {
      schedule->decisions[i] = (struct plan_decision){.release = i, .priority = path->priorities[n]};
    }
  }
  schedule->load_count = model->load_count;
  for (uint32_t l = 0; l < model->load_count; l++) {
    const uint32_t step = model->nodes[model->load_nodes[l]].first_step;
    schedule->decisions[step].preload = (uint16_t)model->states[path->states[l]].preload;
    schedule->decisions[step].release = model->nodes[path->releases[l]].first_step;
    schedule->order[l] = model->nodes[model->load_nodes[order != NULL ? order[l] : l]].first_step;
  }
  struct resident resident = {0};
  for (uint32_t i = 0; i < chain->step_count; i++) {
    uint64_t other_bytes = beside(&resident, chain, schedule, i);
    schedule->decisions[i].execute = best_execute(chain, i, schedule->decisions[i].preload, other_bytes, price);
  }
}

void joint_pull_releases(const struct plan_chain *chain, struct plan_schedule *schedule, uint64_t *used) {
  struct resident resident = {0};
  for (uint32_t i = 0; i < chain->step_count; i++) {
    used[i] =
        beside(&resident, chain, schedule, i) + set_of(chain, i)->executes[schedule->decisions[i].execute].hot_bytes;
  }
  uint32_t earliest = 0;
  for (uint32_t k = 0; k < schedule->load_count; k++) {
    struct plan_decision *decision = &schedule->decisions[schedule->order[k]];
    const uint64_t cold_bytes = set_of(chain, schedule->order[k])->preloads[decision->preload].cold_bytes;
    while (decision->release > earliest && used[decision->release - 1] + cold_bytes <= chain->sram_bytes) {
      used[--decision->release] += cold_bytes;
    }
    earliest = decision->release;
  }
}
