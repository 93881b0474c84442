/* The invariants of core programs (core_program_verify): one pass over the instructions with the state of every buffer. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "base/checked.h"
#include "work/core_program.h"

static const char *const needs[] = {
#define CORE_INSTRUCTION(id, name, needs, summary) [CORE_##id] = needs,
#include "work/core_instructions.def"
#undef CORE_INSTRUCTION
};

struct buffer_state {
  uint32_t preloaded_by; /* instruction + 1 that fills it from memory */
  uint64_t gathered_bytes; /* EXECUTE: of its piece, so far */
  bool is_live, was_live, is_filled;
};

struct operator_state {
  uint16_t tensors; /* whose execute state is there */
  uint64_t iterations; /* computed so far */
  uint16_t rotated[CORE_LOOPS_MAX]; /* tensors passed on by each loop since the last iteration */
};

struct verify {
  const struct core_program *program;
  struct diag_list *diags;
  struct buffer_state *buffers;
  struct operator_state *operators;
  VEC(uint32_t) live; /* buffers */
  bool failed;
};

static void verify_fail(struct verify *v, size_t index, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void verify_fail(struct verify *v, size_t index, const char *format, ...) {
  struct strbuf text = {0};
  va_list args;
  va_start(args, format);
  strbuf_vprintf(&text, format, args);
  va_end(args);
  if (index < v->program->instructions.count) {
    const char *name = core_instruction_name((enum core_instruction_kind)v->program->instructions.data[index].kind);
    diag_file(v->diags, DIAG_E0809_CORE_PROGRAM, NULL, 0, 0, "instruction %zu, %s: %s", index, name,
              strbuf_text(&text));
  } else {
    diag_file(v->diags, DIAG_E0809_CORE_PROGRAM, NULL, 0, 0, "%s", strbuf_text(&text));
  }
  strbuf_release(&text);
  v->failed = true;
}

/* ---- what does not depend on the order ---- */

static void verify_operators(struct verify *v) {
  for (uint32_t op = 0; op < v->program->operators.count; op++) {
    const struct core_operator *checked = &v->program->operators.data[op];
    struct core_rings rings;
    struct core_fault fault;
    if (checked->rings >= v->program->rings.count) {
      verify_fail(v, SIZE_MAX, "operator %u has rings outside the program", op);
    } else if (!core_rings_build(&checked->grid, &rings, &fault)
               || !core_rings_equal(&rings, &v->program->rings.data[checked->rings])) {
      verify_fail(v, SIZE_MAX, "operator %u has rings that are not those of its grid", op);
    } else if (core_grid_cores(&checked->grid) > v->program->cores) {
      verify_fail(v, SIZE_MAX, "operator %u runs on %" PRIu64 " of %u cores", op, core_grid_cores(&checked->grid),
                  v->program->cores);
    } else {
      uint64_t seen = 0;
      for (uint32_t l = 0; l < rings.loop_count; l++) {
        seen |= checked->nest[l] < rings.loop_count ? (uint64_t)1 << checked->nest[l] : 0;
      }
      if (seen != ((uint64_t)1 << rings.loop_count) - 1) {
        verify_fail(v, SIZE_MAX, "operator %u has a nest that is no order of its loops", op);
      }
    }
  }
}

static void verify_segments(struct verify *v, uint32_t b) {
  const struct core_buffer *buffer = &v->program->buffers.data[b];
  uint64_t sum = 0;
  if (buffer->segment_first > v->program->segments.count
      || buffer->segment_count > v->program->segments.count - buffer->segment_first) {
    verify_fail(v, SIZE_MAX, "buffer %u has segments outside the program", b);
    return;
  }
  for (uint32_t k = 0; k < buffer->segment_count; k++) {
    const struct core_segment *segment = &v->program->segments.data[buffer->segment_first + k];
    uint64_t end = sat_add_u64(segment->offset_bytes, segment->size_bytes);
    if (end > v->program->sram_bytes) {
      verify_fail(v, SIZE_MAX, "buffer %u ends at %" PRIu64 ", the SRAM at %" PRIu64, b, end, v->program->sram_bytes);
    }
    sum = sat_add_u64(sum, segment->size_bytes);
  }
  if (sum < buffer->size_bytes) {
    verify_fail(v, SIZE_MAX, "buffer %u of %" PRIu64 " bytes has segments of %" PRIu64, b, buffer->size_bytes, sum);
  }
}

static void verify_buffers(struct verify *v) {
  for (uint32_t b = 0; b < v->program->buffers.count; b++) {
    const struct core_buffer *buffer = &v->program->buffers.data[b];
    if (buffer->op >= v->program->operators.count
        || (buffer->kind != CORE_BUFFER_SCRATCH
            && buffer->tensor >= v->program->operators.data[buffer->op].grid.tensor_count)) {
      verify_fail(v, SIZE_MAX, "buffer %u is of a tensor that does not exist", b);
    } else {
      verify_segments(v, b);
    }
  }
}

/* ---- instructions ---- */

static bool has_operands(struct verify *v, size_t index) {
  const struct core_instruction *i = &v->program->instructions.data[index];
  if (i->kind >= CORE_INSTRUCTION_KIND_COUNT) {
    verify_fail(v, index, "unknown kind %u", i->kind);
    return false;
  }
  const char *need = needs[i->kind];
  bool is_good = i->op < v->program->operators.count && i->buffer <= v->program->buffers.count
                 && i->source <= v->program->buffers.count && (need[0] == 'B') == (i->buffer > 0)
                 && (need[1] == 'S') == (i->source > 0) && (need[2] != 'T' || i->target < index);
  if (!is_good) {
    verify_fail(v, index, "operands are missing or outside the program");
    return false;
  }
  if (need[3] == 'L' && i->loop >= v->program->rings.data[v->program->operators.data[i->op].rings].loop_count) {
    verify_fail(v, index, "loop %u of operator %u does not exist", i->loop, i->op);
    return false;
  }
  return true;
}

/* A state that grows: it begins with the segments of its preload state, of which the last may have become longer. */
static bool grows_from(const struct verify *v, const struct core_buffer *a, const struct core_buffer *b) {
  const struct core_segment *own = v->program->segments.data + a->segment_first;
  const struct core_segment *before = v->program->segments.data + b->segment_first;
  bool is_state = a->kind == CORE_BUFFER_EXECUTE && b->kind == CORE_BUFFER_PRELOAD && a->op == b->op
                  && a->tensor == b->tensor && a->segment_count >= b->segment_count;
  for (uint32_t k = 0; is_state && k < b->segment_count; k++) {
    bool is_last = k + 1 == b->segment_count;
    is_state = own[k].offset_bytes == before[k].offset_bytes
               && (is_last ? own[k].size_bytes >= before[k].size_bytes : own[k].size_bytes == before[k].size_bytes);
  }
  return is_state;
}

static bool overlap(const struct verify *v, const struct core_buffer *a, const struct core_buffer *b) {
  for (uint32_t i = 0; i < a->segment_count; i++) {
    const struct core_segment *left = &v->program->segments.data[a->segment_first + i];
    for (uint32_t j = 0; j < b->segment_count; j++) {
      const struct core_segment *right = &v->program->segments.data[b->segment_first + j];
      if (left->offset_bytes < right->offset_bytes + right->size_bytes
          && right->offset_bytes < left->offset_bytes + left->size_bytes) {
        return true;
      }
    }
  }
  return false;
}

/* Buffers that exist at once are apart, and so are the segments of one. */
static void allocate(struct verify *v, size_t index, uint32_t b) {
  const struct core_buffer *buffer = &v->program->buffers.data[b];
  if (v->buffers[b].was_live) {
    verify_fail(v, index, "buffer %u begins twice", b);
    return;
  }
  for (size_t k = 0; k < v->live.count; k++) {
    const struct core_buffer *other = &v->program->buffers.data[v->live.data[k]];
    if (overlap(v, buffer, other) && !grows_from(v, buffer, other)) {
      verify_fail(v, index, "buffer %u lies on buffer %u", b, v->live.data[k]);
    }
  }
  for (uint32_t k = 1; k < buffer->segment_count; k++) {
    struct core_buffer front = *buffer, one = *buffer;
    front.segment_count = k;
    one.segment_first += k;
    one.segment_count = 1;
    if (overlap(v, &front, &one)) {
      verify_fail(v, index, "buffer %u lies on itself", b);
    }
  }
  v->buffers[b].is_live = v->buffers[b].was_live = vec_push(&v->live, b);
}

static void end_buffer(struct verify *v, uint32_t b) {
  v->buffers[b].is_live = false;
  for (size_t k = 0; k < v->live.count; k++) {
    if (v->live.data[k] == b) {
      v->live.data[k] = v->live.data[--v->live.count];
    }
  }
  const struct core_buffer *buffer = &v->program->buffers.data[b];
  if (buffer->kind == CORE_BUFFER_EXECUTE) {
    v->operators[buffer->op].tensors &= (uint16_t) ~(1u << buffer->tensor);
  }
}

/* Between two iterations each loop whose count changes has passed on each of its tensors once. */
static void verify_rotations(struct verify *v, size_t index, uint32_t op) {
  struct operator_state *state = &v->operators[op];
  const struct core_rings *rings = &v->program->rings.data[v->program->operators.data[op].rings];
  uint32_t before[CORE_LOOPS_MAX] = {0}, now[CORE_LOOPS_MAX] = {0};
  if (state->iterations > 0) {
    core_operator_counts(v->program, op, state->iterations - 1, before);
    core_operator_counts(v->program, op, state->iterations, now);
  }
  for (uint32_t l = 0; l < rings->loop_count; l++) {
    uint16_t moved = now[l] != before[l] ? rings->loops[l].moved : 0;
    if (state->rotated[l] != moved) {
      verify_fail(v, index, "loop %u of operator %u has passed on tensors %#x, not %#x, before iteration %" PRIu64, l,
                  op, state->rotated[l], moved, state->iterations);
    }
    state->rotated[l] = 0;
  }
}

static void compute(struct verify *v, size_t index, const struct core_instruction *i) {
  struct operator_state *state = &v->operators[i->op];
  uint32_t count = v->program->operators.data[i->op].grid.tensor_count;
  uint16_t all = (uint16_t)((1u << count) - 1);
  if (state->tensors != all) {
    verify_fail(v, index, "operator %u has tensors %#x on the chip, of %#x", i->op, state->tensors, all);
  }
  if (i->repeat != state->iterations) {
    verify_fail(v, index, "iteration %u of operator %u, after %" PRIu64, i->repeat, i->op, state->iterations);
  }
  verify_rotations(v, index, i->op);
  state->iterations++;
}

static void rotate(struct verify *v, size_t index, const struct core_instruction *i) {
  const struct core_buffer *buffer = &v->program->buffers.data[i->buffer - 1];
  uint16_t bit = (uint16_t)(1u << buffer->tensor);
  if (buffer->kind != CORE_BUFFER_EXECUTE || buffer->op != i->op || (v->operators[i->op].rotated[i->loop] & bit) != 0) {
    verify_fail(v, index, "buffer %u does not rotate in loop %u here", i->buffer - 1, i->loop);
  }
  v->operators[i->op].rotated[i->loop] |= bit;
}

/* The buffer has its contents: an input can be computed with. */
static void fill(struct verify *v, uint32_t b) {
  const struct core_buffer *buffer = &v->program->buffers.data[b];
  v->buffers[b].is_filled = true;
  if (buffer->kind == CORE_BUFFER_EXECUTE) {
    v->operators[buffer->op].tensors |= (uint16_t)(1u << buffer->tensor);
  }
}

/* An input is there when all parts of its value have come. */
static void gather(struct verify *v, const struct core_instruction *i) {
  uint32_t b = i->buffer - 1;
  const struct core_buffer *buffer = &v->program->buffers.data[b];
  const struct core_operator *op = &v->program->operators.data[buffer->op];
  uint64_t *gathered = &v->buffers[b].gathered_bytes, piece = 0;
  if (buffer->kind == CORE_BUFFER_EXECUTE) {
    uint64_t elements = core_grid_piece_elements(&op->grid, buffer->tensor);
    piece = ceil_div_u64(sat_mul_u64(elements, op->element_bits[buffer->tensor]), 8);
  }
  *gathered = sat_add_u64(*gathered, i->bytes);
  if (*gathered >= piece) {
    fill(v, b);
  }
}

static void step(struct verify *v, size_t index) {
  const struct core_instruction *i = &v->program->instructions.data[index];
  uint32_t b = i->buffer - 1;
  if (i->kind == CORE_ALLOCATE) {
    allocate(v, index, b);
    const struct core_buffer *buffer = &v->program->buffers.data[b];
    if (buffer->kind == CORE_BUFFER_EXECUTE
        && buffer->tensor + 1u == v->program->operators.data[buffer->op].grid.tensor_count) {
      fill(v, b); /* partial results begin at nothing */
    }
    return;
  }
  if (i->buffer > 0 && !v->buffers[b].is_live) {
    verify_fail(v, index, "buffer %u does not exist here", b);
    return;
  }
  if (i->source > 0 && !(v->buffers[i->source - 1].is_live && v->buffers[i->source - 1].is_filled)) {
    verify_fail(v, index, "buffer %u has nothing to read here", i->source - 1);
  }
  switch ((enum core_instruction_kind)i->kind) {
  case CORE_PRELOAD:
    v->buffers[b].preloaded_by = (uint32_t)index + 1;
    break;
  case CORE_WAIT: {
    const struct core_instruction *preload = &v->program->instructions.data[i->target];
    if (preload->kind != CORE_PRELOAD) {
      verify_fail(v, index, "instruction %u is no preload", i->target);
    } else {
      fill(v, preload->buffer - 1);
    }
    break;
  }
  case CORE_GATHER:
    gather(v, i);
    break;
  case CORE_DISTRIBUTE:
  case CORE_REDUCE:
    fill(v, b);
    break;
  case CORE_COMPUTE:
    compute(v, index, i);
    break;
  case CORE_ROTATE:
    rotate(v, index, i);
    break;
  case CORE_FREE:
    if (v->buffers[b].preloaded_by > 0 && !v->buffers[b].is_filled) {
      verify_fail(v, index, "buffer %u ends while it is being loaded", b);
    }
    end_buffer(v, b);
    break;
  case CORE_ALLOCATE:
  case CORE_STORE:
  case CORE_BARRIER:
  case CORE_INSTRUCTION_KIND_COUNT:
    break;
  }
}

static void verify_end(struct verify *v) {
  for (size_t k = 0; k < v->live.count; k++) {
    verify_fail(v, SIZE_MAX, "buffer %u is never freed", v->live.data[k]);
  }
  for (uint32_t op = 0; op < v->program->operators.count; op++) {
    uint64_t iterations = core_operator_iterations(v->program, op);
    if (v->operators[op].iterations != iterations) {
      verify_fail(v, SIZE_MAX, "operator %u computes %" PRIu64 " of %" PRIu64 " iterations", op,
                  v->operators[op].iterations, iterations);
    }
  }
}

enum status core_program_verify(const struct core_program *program, struct diag_list *diags) {
  struct verify v = {.program = program,
                     .diags = diags,
                     .buffers = calloc(program->buffers.count + 1, sizeof *v.buffers),
                     .operators = calloc(program->operators.count + 1, sizeof *v.operators)};
  enum status status = STATUS_MEMORY;
  if (v.buffers != NULL && v.operators != NULL) {
    verify_operators(&v);
    verify_buffers(&v);
    for (size_t i = 0; i < program->instructions.count && !v.failed; i++) {
      if (has_operands(&v, i)) {
        step(&v, i);
      }
    }
    if (!v.failed) { /* what follows an error would only repeat it */
      verify_end(&v);
    }
    status = v.failed ? STATUS_INPUT : STATUS_OK;
  }
  vec_release(&v.live);
  free(v.buffers);
  free(v.operators);
  return status;
}
