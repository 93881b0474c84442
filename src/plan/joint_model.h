/* What the label-setting search sees of a chain: nodes instead of steps, menus instead of options.
 *
 *   plan_chain ─► joint_model (contracted) ─► joint_labels ─► joint_expand ─► plan_schedule
 *
 * A node is one step that loads, or a run of steps without loads between two of them. Thousands of operators carry no bytes
 * from memory; as a run they cost the search one node, and what they need of the SRAM still limits what may be resident. A
 * menu lists the ways to run a node, memory for time, and only those that are worth it.
 */
#ifndef RIDGELINE_PLAN_JOINT_MODEL_H
#define RIDGELINE_PLAN_JOINT_MODEL_H

#include "plan/plan_policy.h"

#define JOINT_NONE UINT32_MAX

/* One way to run a node; for a run of steps the sums over them. */
struct joint_option {
  uint64_t need_bytes; /* hot bytes; live bytes too in runs */
  int64_t link_ps; /* nothing but link: distribution and serial */
  int64_t main_ps; /* compute and shift */
  int64_t shift_ps; /* link time within main_ps */
};

struct joint_menu {
  uint32_t first, count; /* in options: ascending need, descending time */
};

/* A preload state that no other of its set beats. */
struct joint_state {
  uint32_t preload; /* in the choice set */
  uint32_t menu;
  uint64_t cold_bytes;
  int64_t load_ps, link_ps;
  double share; /* link_ps / load_ps */
};

struct joint_set {
  uint32_t first_state, state_count;
  size_t first_excess; /* in excess_ps: [a x state_count + b] */
  int64_t least_load_ps, least_link_ps;
};

struct joint_node {
  uint32_t first_step, step_count;
  uint32_t load; /* number among the loading nodes; JOINT_NONE = a run */
  uint32_t set; /* of a loading node: in sets (that of the chain) */
  uint32_t menu; /* of a run */
  uint64_t live_bytes; /* of a loading node; 0 for runs */
  int64_t least_ps; /* shortest duration that fits the SRAM on its own */
  int64_t least_turn_ps; /* loading: shortest load and duration together */
  int64_t least_link_ps; /* smallest link time, load not included */
};

struct joint_model {
  const struct plan_chain *chain;
  uint32_t node_count, load_count, state_count, menu_count, option_count;
  struct joint_node *nodes;
  uint32_t *load_nodes; /* load -> node */
  struct joint_set *sets;
  struct joint_state *states;
  struct joint_menu *menus;
  struct joint_option *options;
  int64_t *excess_ps; /* how much longer a step may take from state a than from state b, whatever it executes */
  uint32_t window_limit; /* no more loads than this fit the SRAM beside each other */
};

/* `price`: a second of link time counts as this many seconds more. `contracts` false: every step is a node. All memory is
 * the arena's. False when it is exhausted. */
bool joint_model_build(struct joint_model *model, const struct plan_chain *chain, double price, bool contracts,
                       struct arena *arena);

/* The fastest option with need <= room, or NULL. */
const struct joint_option *joint_menu_pick(const struct joint_model *model, uint32_t menu, uint64_t room_bytes);

#endif
