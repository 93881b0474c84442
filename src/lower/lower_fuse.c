/* Applies a target's fusion rules to a work graph. Path: unfused graph (lower_module) → this → the graph that cost models
 * see. Loops and branches are fused inside; nothing fuses across their borders. */
#include <string.h>

#include "base/checked.h"
#include "lower/lower.h"
#include "lower/lower_fuse.h"

enum { MAX_NESTING = 200 };

/* TPU rules by the size of the scratch memory that holds the tiles of a fusion. Each operand or output streams through a
 * double-buffered tile of 256 x 256 f32 (512 KiB) in at most half of it. */
static const struct vmem_class {
  const char *key;
  double size_bytes;
  uint32_t max_operands;
} vmem_classes[] = {
    {"tpu/128MiB", 128.0 * 1048576, 96},
    {"tpu/64MiB", 64.0 * 1048576, 64},
    {"tpu/32MiB", 32.0 * 1048576, 32},
    {"tpu/16MiB", 0, 16},
};

static const struct vmem_class *vmem_class_of(const struct hw_chip *chip) {
  const double rounding = 0.97; /* sizes given in decimal megabytes */
  double size_bytes = chip->cache_size_bytes > 0 ? chip->cache_size_bytes : chip->scratch_size_bytes;
  const struct vmem_class *row = vmem_classes;
  while (size_bytes < row->size_bytes * rounding) {
    row++;
  }
  return row;
}

const char *lower_fusion_key(const struct hw_chip *chip) {
  switch (chip->fusion) {
  case HW_FUSION_GPU:
    return "gpu";
  case HW_FUSION_TPU:
    return vmem_class_of(chip)->key;
  default:
    return "none";
  }
}

static const struct fuse_rules fuse_rules_none = {.name = "none", .launch_s = 0, .memory_Bps = 1};

static struct fuse_rules rules_of(const struct hw_chip *chip) {
  struct fuse_rules rules = fuse_rules_none;
  if (chip->fusion == HW_FUSION_GPU) {
    rules = fuse_rules_gpu;
  } else if (chip->fusion == HW_FUSION_TPU) {
    rules = fuse_rules_tpu;
    rules.max_operands = vmem_class_of(chip)->max_operands;
  }
  return rules;
}

static enum status fuse_graph(const struct work_graph *graph, const struct fuse_rules *rules, unsigned depth,
                              struct fuse_operand_range *range, struct work_graph *out) {
  if (depth > MAX_NESTING) {
    return STATUS_LIMIT;
  }
  for (size_t i = 0; i < graph->subgraphs.count; i++) {
    struct work_graph *inside = work_graph_new_inside(out);
    if (inside == NULL) {
      return STATUS_MEMORY;
    }
    enum status status = fuse_graph(graph->subgraphs.data[i], rules, depth + 1, range, inside);
    work_subgraph_attach(out, inside);
    STATUS_TRY(status);
  }
  struct fuse_level level;
  enum status status = fuse_level_init(&level, graph, rules, range);
  if (status == STATUS_OK) {
    if (rules->library_calls != NULL) {
      rules->library_calls(&level);
    }
    if (rules->can_fuse != NULL) {
      fuse_by_priority(&level);
    }
    fuse_multi_output(&level);
    status = level.out_of_memory ? STATUS_MEMORY : fuse_emit(&level, out);
  }
  fuse_level_release(&level);
  return status;
}

bool fuse_copy_strings(const struct intern *from, struct intern *to) {
  for (uint32_t i = 1; i < from->entries.count; i++) {
    if (intern_add(to, from->entries.data[i].text, from->entries.data[i].length) != i) {
      return false;
    }
  }
  return true;
}

/* The TPU rules differ between chips in the number of operands alone. */
bool lower_fusion_same(const struct lower_fusion_report *report, const struct hw_chip *chip) {
  if (report->fusion != chip->fusion) {
    return false;
  }
  uint32_t max_operands = rules_of(chip).max_operands;
  return report->min_operands <= max_operands && max_operands <= report->max_operands;
}

static void fill_report(const struct work_graph *before, const struct work_graph *after,
                        struct lower_fusion_report *report) {
  struct work_total total;
  work_graph_total(before, &total);
  report->tasks_before = total.launches;
  report->bytes_before = sat_add_u64(total.read_bytes, total.write_bytes);
  work_graph_total(after, &total);
  report->tasks_after = total.launches;
  report->bytes_after = sat_add_u64(total.read_bytes, total.write_bytes);
}

enum status lower_fuse(const struct work_graph *unfused, const struct hw_chip *chip, struct lower_fusion_report *report,
                       struct work_graph **fused) {
  *fused = NULL;
  struct work_graph *out = work_graph_new();
  if (out == NULL) {
    return STATUS_MEMORY;
  }
  struct fuse_rules rules = rules_of(chip);
  struct fuse_operand_range range = {.most_accepted = 0, .least_refused = UINT32_MAX};
  enum status status = fuse_copy_strings(unfused->strings, out->strings) ? STATUS_OK : STATUS_MEMORY;
  if (status == STATUS_OK) {
    status = fuse_graph(unfused, &rules, 0, &range, out);
  }
  if (status == STATUS_OK) {
    status = work_graph_seal(out);
  }
  if (status != STATUS_OK) {
    work_graph_free(out);
    return status;
  }
  if (report != NULL) {
    fill_report(unfused, out, report);
    report->fusion = chip->fusion;
    report->min_operands = range.most_accepted;
    report->max_operands = range.least_refused - 1;
  }
  *fused = out;
  return STATUS_OK;
}
