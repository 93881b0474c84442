/* Core programs: lifetime, iterations, text, sums, and what a single core does (core_program.h). */
#include "work/core_program.h"

#include <inttypes.h>
#include <string.h>

#include "base/checked.h"

static const char *const names[] = {
#define CORE_INSTRUCTION(id, name, needs, summary) [CORE_##id] = name,
#include "work/core_instructions.def"
#undef CORE_INSTRUCTION
};

static const char *const buffer_names[] = {
    [CORE_BUFFER_EXECUTE] = "execute",
    [CORE_BUFFER_PRELOAD] = "preload",
    [CORE_BUFFER_SHARE] = "share",
    [CORE_BUFFER_SCRATCH] = "scratch",
};

const char *core_instruction_name(enum core_instruction_kind kind) {
  return kind < CORE_INSTRUCTION_KIND_COUNT ? names[kind] : "?";
}

void core_program_init(struct core_program *program) {
  memset(program, 0, sizeof *program);
  arena_init(&program->arena, 0);
}

void core_program_release(struct core_program *program) {
  vec_release(&program->names);
  vec_release(&program->operators);
  vec_release(&program->rings);
  vec_release(&program->buffers);
  vec_release(&program->segments);
  vec_release(&program->instructions);
  arena_release(&program->arena);
}

static const struct core_rings *rings_of(const struct core_program *program, uint32_t op) {
  return &program->rings.data[program->operators.data[op].rings];
}

uint64_t core_operator_iterations(const struct core_program *program, uint32_t op) {
  const struct core_rings *rings = rings_of(program, op);
  uint64_t iterations = 1;
  for (uint32_t l = 0; l < rings->loop_count; l++) {
    iterations = sat_mul_u64(iterations, rings->loops[l].radix);
  }
  return iterations;
}

void core_operator_counts(const struct core_program *program, uint32_t op, uint64_t repeat, uint32_t *counts) {
  const struct core_rings *rings = rings_of(program, op);
  uint64_t inner = 1; /* iterations of one round of all loops further in */
  for (uint32_t k = rings->loop_count; k-- > 0;) {
    uint32_t l = program->operators.data[op].nest[k];
    uint32_t radix = rings->loops[l].radix;
    uint64_t place = repeat / inner % radix, rounds = repeat / inner / radix;
    counts[l] = (uint32_t)((rounds * (radix - 1u) + place) % radix);
    inner *= radix;
  }
}

/* ---- text ---- */

static void print_operator(const struct core_program *program, uint32_t op, struct strbuf *out) {
  const struct core_operator *printed = &program->operators.data[op];
  const char *name = printed->name < program->names.count ? program->names.data[printed->name] : "?";
  strbuf_printf(out, "operator %u %s", op, name);
  for (uint32_t a = 0; a < printed->grid.axis_count; a++) {
    strbuf_printf(out, " %" PRIu64 "/%u", printed->grid.extents[a], printed->grid.spatial[a]);
  }
  strbuf_printf(out, " cores %" PRIu64 " iterations %" PRIu64 "\n", core_grid_cores(&printed->grid),
                core_operator_iterations(program, op));
}

static void print_instruction(const struct core_instruction *i, size_t index, struct strbuf *out) {
  strbuf_printf(out, "%zu: %s", index, core_instruction_name((enum core_instruction_kind)i->kind));
  if (i->kind != CORE_WAIT) {
    strbuf_printf(out, " op %u", i->op);
  }
  if (i->buffer > 0) {
    strbuf_printf(out, " b%u", i->buffer - 1);
  }
  if (i->source > 0) {
    strbuf_printf(out, " from b%u", i->source - 1);
  }
  if (i->kind == CORE_WAIT) {
    strbuf_printf(out, " for %u", i->target);
  }
  if (i->kind == CORE_ROTATE || i->kind == CORE_COMPUTE) {
    strbuf_printf(out, " iteration %u", i->repeat);
  }
  if (i->kind == CORE_ROTATE) {
    strbuf_printf(out, " loop %u", i->loop);
  }
  if (i->kind == CORE_REDUCE) {
    strbuf_printf(out, " parts %u", i->parts);
  }
  if (i->bytes > 0) {
    strbuf_printf(out, " bytes %" PRIu64, i->bytes);
  }
  if (i->memory_bytes > 0) {
    strbuf_printf(out, " memory %" PRIu64, i->memory_bytes);
  }
  strbuf_putc(out, '\n');
}

void core_program_print(const struct core_program *program, struct strbuf *out) {
  strbuf_printf(out, "cores %u sram %" PRIu64 "\n", program->cores, program->sram_bytes);
  for (uint32_t op = 0; op < program->operators.count; op++) {
    print_operator(program, op, out);
  }
  for (size_t b = 0; b < program->buffers.count; b++) {
    const struct core_buffer *buffer = &program->buffers.data[b];
    strbuf_printf(out, "b%zu: %s op %u tensor %u size %" PRIu64 " at", b, buffer_names[buffer->kind], buffer->op,
                  buffer->tensor, buffer->size_bytes);
    for (uint32_t k = 0; k < buffer->segment_count; k++) {
      const struct core_segment *segment = &program->segments.data[buffer->segment_first + k];
      strbuf_printf(out, " %" PRIu64 "+%" PRIu64, segment->offset_bytes, segment->size_bytes);
    }
    strbuf_putc(out, '\n');
  }
  for (size_t i = 0; i < program->instructions.count; i++) {
    print_instruction(&program->instructions.data[i], i, out);
  }
}

/* ---- one core ---- */

/* The preload state of one tensor alone: its pieces over the replicas. */
static bool preload_grid(const struct core_operator *op, const struct core_buffer *buffer, struct core_grid *grid,
                         struct core_rings *rings) {
  struct core_fault fault;
  *grid = op->grid;
  grid->tensor_count = 1;
  grid->tensors[0].axes = op->grid.tensors[buffer->tensor].axes;
  memcpy(grid->tensors[0].pieces, buffer->pieces, sizeof buffer->pieces);
  return core_rings_build(grid, rings, &fault);
}

static void set_ranges(const struct core_grid *grid, const struct core_rings *rings, const uint32_t *coordinates,
                       const uint32_t *counts, uint32_t tensor, struct core_action *action) {
  action->has_ranges = true;
  for (uint32_t a = 0; a < grid->axis_count; a++) {
    core_rings_range(grid, rings, coordinates, counts, tensor, a, &action->low[a], &action->high[a]);
    action->is_active &= action->low[a] < action->high[a];
  }
}

static void set_share(const struct core_program *program, const struct core_operator *op, uint64_t core,
                      struct core_action *action) {
  uint64_t elements = 1;
  for (uint32_t a = 0; a < op->grid.axis_count; a++) {
    bool has = (op->grid.tensors[op->grid.tensor_count - 1].axes >> a & 1) != 0;
    elements = has ? sat_mul_u64(elements, op->grid.extents[a]) : elements;
  }
  uint64_t share = ceil_div_u64(elements, program->cores);
  action->has_share = true;
  action->first = core * share < elements ? core * share : elements;
  action->last = elements - action->first > share ? action->first + share : elements;
  action->is_active = action->first < action->last;
}

static void set_rotation(const struct core_program *program, const struct core_instruction *i,
                         const uint32_t *coordinates, struct core_action *action) {
  const struct core_operator *op = &program->operators.data[i->op];
  const struct core_rings *rings = rings_of(program, i->op);
  uint32_t counts[CORE_LOOPS_MAX] = {0}, source[CORE_AXES_MAX];
  uint32_t tensor = program->buffers.data[i->buffer - 1].tensor;
  core_operator_counts(program, i->op, i->repeat, counts);
  counts[i->loop]++;
  set_ranges(&op->grid, rings, coordinates, counts, tensor, action);
  action->is_active = true; /* an empty piece is passed on as well */
  action->has_partner = core_rings_source(&op->grid, rings, tensor, i->loop, coordinates, source);
  action->partner = core_grid_core(&op->grid, source);
}

void core_program_core(const struct core_program *program, uint64_t core, uint32_t instruction,
                       struct core_action *action) {
  const struct core_instruction *i = &program->instructions.data[instruction];
  const struct core_buffer *buffer = i->buffer > 0 ? &program->buffers.data[i->buffer - 1] : NULL;
  *action = (struct core_action){.is_active = true};
  if (i->kind == CORE_WAIT || i->kind == CORE_BARRIER || i->kind == CORE_ALLOCATE || i->kind == CORE_FREE) {
    return;
  }
  const struct core_operator *op = &program->operators.data[buffer != NULL ? buffer->op : i->op];
  if (i->kind == CORE_STORE || (buffer != NULL && buffer->kind == CORE_BUFFER_SHARE)) {
    set_share(program, op, core, action);
    return;
  }
  action->is_active = core < core_grid_cores(&op->grid);
  if (!action->is_active || buffer == NULL) {
    return;
  }
  uint32_t coordinates[CORE_AXES_MAX], counts[CORE_LOOPS_MAX] = {0};
  core_grid_coordinates(&op->grid, core, coordinates);
  if (i->kind == CORE_ROTATE) {
    set_rotation(program, i, coordinates, action);
  } else if (buffer->kind == CORE_BUFFER_PRELOAD) {
    struct core_grid grid;
    struct core_rings rings;
    if (preload_grid(op, buffer, &grid, &rings)) {
      set_ranges(&grid, &rings, coordinates, counts, 0, action);
    }
  } else {
    bool computes = i->kind == CORE_COMPUTE;
    core_operator_counts(program, i->op, computes ? i->repeat : 0, counts);
    set_ranges(&op->grid, rings_of(program, i->op), coordinates, counts, computes ? CORE_TENSORS_MAX : buffer->tensor,
               action);
  }
}

/* ---- sums ---- */

static void add_instruction(const struct core_instruction *i, struct core_totals *totals) {
  totals->memory_bytes += i->memory_bytes;
  totals->preload_bytes += i->kind == CORE_PRELOAD ? i->bytes : 0;
  totals->distribute_bytes += i->kind == CORE_DISTRIBUTE ? i->bytes : 0;
  totals->gather_bytes += i->kind == CORE_GATHER ? i->bytes : 0;
  totals->rotate_bytes += i->kind == CORE_ROTATE ? i->bytes : 0;
  totals->iterations += i->kind == CORE_COMPUTE;
}

void core_program_sum(const struct core_program *program, struct core_totals *totals) {
  *totals = (struct core_totals){0};
  uint64_t held = 0;
  for (size_t k = 0; k < program->instructions.count; k++) {
    const struct core_instruction *i = &program->instructions.data[k];
    const struct core_buffer *buffer = i->buffer > 0 ? &program->buffers.data[i->buffer - 1] : NULL;
    add_instruction(i, totals);
    if (i->kind == CORE_ALLOCATE) {
      held += buffer->size_bytes;
      totals->split_buffers += buffer->segment_count > 1;
    } else if (i->kind == CORE_FREE) {
      held -= buffer->size_bytes;
    } else if (i->kind == CORE_COMPUTE) { /* preload states have become execute states by then */
      totals->peak_bytes = held > totals->peak_bytes ? held : totals->peak_bytes;
    }
  }
}
