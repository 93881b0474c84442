/* Inside of the Chakra traces: the schema as far as it is written, re-declared, and the groups of ranks.
 * Schema: et_def.proto of MLCommons Chakra, version 0.0.4. Conventions of attributes: what ASTRA-sim's workload layer reads. */
#ifndef RIDGELINE_REPORT_REPORT_CHAKRA_INT_H
#define RIDGELINE_REPORT_REPORT_CHAKRA_INT_H

#include "base/strbuf.h"
#include "base/vec.h"
#include "cluster/step.h"
#include "report/report_step.h"

/* ---- messages (report_chakra_nodes.c) ---- */

enum chakra_node_type { CHAKRA_COMPUTE = 4, CHAKRA_SEND = 5, CHAKRA_RECEIVE = 6, CHAKRA_COLLECTIVE = 7 };
enum chakra_collective_type {
  CHAKRA_ALL_REDUCE = 0,
  CHAKRA_REDUCE = 1,
  CHAKRA_ALL_GATHER = 2,
  CHAKRA_BROADCAST = 5,
  CHAKRA_ALL_TO_ALL = 6,
  CHAKRA_REDUCE_SCATTER = 7
};

struct chakra_node {
  uint64_t id;
  const char *name;
  enum chakra_node_type type;
  const uint64_t *data, *control; /* ids of nodes that must have ended */
  size_t data_count, control_count;
  uint64_t duration_us, duration_ns; /* COMPUTE: the same time, rounded so that sums of either are right */
  uint64_t flops, bytes; /* COMPUTE: operations, and memory traffic */
  enum chakra_collective_type collective;
  uint64_t size_bytes; /* of communication, see report_chakra.c */
  uint32_t group; /* COLLECTIVE: name of its process group; 0 = all ranks */
  uint64_t source, target; /* SEND, RECEIVE: ranks */
  uint32_t tag;
};

void chakra_write_metadata(const struct report_chakra_options *options, struct strbuf *out);
void chakra_write_node(const struct chakra_node *node, struct strbuf *out);

/* ---- groups (report_chakra_groups.c) ---- */

/* Which of the devices of a stage exchange data, by position in the stage. */
struct chakra_pattern {
  bool is_pairs;
  uint32_t count, size; /* groups; ranks of the largest */
  uint32_t first_group; /* name of its first group in the first stage; 0 = it is all ranks */
  uint32_t *group_of; /* groups: number of each position's group, UINT32_MAX = in none */
  uint32_t *to, *from; /* pairs: partner of each position, UINT32_MAX = none */
};
/* Where a graph's groups are among the patterns. */
struct chakra_place {
  const struct work_graph *graph;
  uint32_t groups; /* as in work_collective; 0 with size: not known beyond the size */
  uint32_t size;
  uint32_t pattern;
};
struct chakra_groups {
  struct arena arena;
  uint64_t devices_per_stage;
  uint32_t stages;
  VEC(struct chakra_pattern) patterns;
  VEC(struct chakra_place) places;
};
/* All patterns of the program's graphs, subgraphs included. */
enum status chakra_groups_collect(struct chakra_groups *groups, const struct step_program *program, uint64_t devices);
void chakra_groups_release(struct chakra_groups *groups);
void chakra_groups_print(const struct chakra_groups *groups, struct strbuf *out);
const struct chakra_pattern *chakra_pattern_of(const struct chakra_groups *groups, const struct work_graph *graph,
                                               const struct work_collective *collective);

/* ---- order of work (report_chakra_order.c) ---- */

/* One run of a part of the program: a micro-batch through a chunk, or the update. */
struct chakra_pass {
  uint8_t place, role; /* enum step_place, step_role */
  uint16_t chunk;
  uint32_t microbatch;
};
struct chakra_order {
  VEC(struct chakra_pass) passes; /* of all stages, stage after stage */
  VEC(size_t) first; /* of each stage, and the end */
};
/* The passes of every stage in the order in which the spans begin; of a program that is one pass, that one. STATUS_INPUT
 * when there are no spans to tell. */
enum status chakra_order_of(struct chakra_order *order, const struct step_program *program,
                            const struct step_result *result);
void chakra_order_release(struct chakra_order *order);

#endif
