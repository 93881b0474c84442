/* Shared inside work/: the words of the text form and the helpers that sealing, liveness and the verifier have in common. */
#ifndef RIDGELINE_WORK_WORK_INT_H
#define RIDGELINE_WORK_WORK_INT_H

#include "work/work.h"

/* Nesting of subgraphs that any walk here follows; deeper graphs are refused by the parser and the verifier. */
enum { WORK_MAX_NESTING = 256 };

struct work_words {
  const char *const *names;
  uint32_t count;
};
extern const struct work_words work_words_class, work_words_engine, work_words_function, work_words_precision,
    work_words_axis, work_words_collective, work_words_reduction, work_words_role, work_words_kind;
/* Index of (text, length) in the table, or its count. */
uint32_t work_words_find(const struct work_words *words, const char *text, size_t length);
/* The word, or "?" when the value is out of range (unverified graphs are printed too). */
const char *work_words_get(const struct work_words *words, uint32_t value);

/* Devices that a work graph can name; more members than that are refused by the parser. */
enum { WORK_MAX_DEVICES = 1 << 24 };

/* One line of the text form: "groups 3 : 8 of 4 from 0 steps(...)". */
void work_groups_print(const struct work_graph *graph, uint32_t index, struct strbuf *out);

/* What is wrong with groups: `what` NULL = their shape is right; devices that stand twice, UINT32_MAX = none. In pairs a
 * device may be a source and a target. */
struct work_groups_fault {
  uint32_t twice, twice_source, twice_target;
  const char *what;
};
/* False when memory is exhausted. */
bool work_groups_check(const struct work_graph *graph, const struct work_groups *groups,
                       struct work_groups_fault *fault);
static inline bool work_collective_has_pairs(const struct work_collective *collective) {
  return collective->kind == WORK_PERMUTE || collective->kind == WORK_SEND_RECV;
}

static inline bool work_task_is_control(const struct work_task *task) {
  return task->kind == WORK_LOOP || task->kind == WORK_CONDITIONAL;
}
/* Off-chip bytes of one border access. */
uint64_t work_access_bytes(const struct work_graph *graph, const struct work_access *access);
/* Index into subgraphs[] of the branch of a conditional with most FLOPs, then bytes. Needs a sealed graph. */
uint32_t work_costliest_branch(const struct work_graph *graph, const struct work_task *task);
/* Fills roots[tensor] = work_tensor_root for all tensors, linear. */
void work_tensor_roots(const struct work_graph *graph, uint32_t *roots);
/* Numbers the sorts of tasks (work_task.alike) of a graph and its subgraphs, once all else is derived. */
enum status work_graph_sort_alike(struct work_graph *graph);
/* Bytes that one execution of a task moves, subgraphs multiplied out. Needs a sealed graph. */
uint64_t work_task_traffic(const struct work_graph *graph, const struct work_task *task);

#endif
