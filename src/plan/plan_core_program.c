/* From a plan to a core program (plan_core_program.h). */
#include "plan/plan_core_program.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/intern.h"
#include "plan/plan_place.h"
#include "plan/plan_validate.h"

#define NONE UINT32_MAX

enum { ITERATIONS_MAX = 1 << 20 }; /* of all operators together; real plans have thousands */

/* What belongs to one step; buffers are indices, NONE where there is none. */
struct step_buffers {
  uint32_t execute[PLAN_TENSORS_MAX], preload[PLAN_TENSORS_MAX];
  uint32_t preloaded_by[PLAN_TENSORS_MAX]; /* instruction */
  uint32_t share, scratch;
  uint32_t last_reader; /* of its output; 0 = none */
};

struct build {
  const struct plan_file *file;
  struct core_program *out;
  struct step_buffers *steps;
  uint32_t *order; /* step of each load */
  struct plan_place place; /* what is free where the instructions stand */
  struct diag_list *diags;
  enum status status; /* why something failed; STATUS_OK = memory */
};

static const struct plan_operator *operator_of(const struct build *b, uint32_t step) {
  return &b->file->program->operators.data[step];
}

static const struct plan_tensor *tensors_of(const struct build *b, uint32_t step) {
  return &b->file->program->tensors.data[operator_of(b, step)->tensor_first];
}

static bool is_from_memory(const struct plan_tensor *tensor) {
  return !tensor->is_output && tensor->source == PLAN_SOURCE_MEMORY;
}

static uint64_t bytes_of(uint64_t elements, uint32_t bits) {
  return ceil_div_u64(sat_mul_u64(elements, bits), 8);
}

static uint64_t piece_bytes(const struct build *b, uint32_t step, uint32_t tensor) {
  const struct core_operator *op = &b->out->operators.data[step];
  return bytes_of(core_grid_piece_elements(&op->grid, tensor), op->element_bits[tensor]);
}

static uint64_t share_bytes(const struct build *b, uint32_t step) {
  const struct core_operator *op = &b->out->operators.data[step];
  uint32_t output = op->grid.tensor_count - 1u;
  uint64_t elements = 1;
  for (uint32_t a = 0; a < op->grid.axis_count; a++) {
    bool has = (op->grid.tensors[output].axes >> a & 1) != 0;
    elements = has ? sat_mul_u64(elements, op->grid.extents[a]) : elements;
  }
  return bytes_of(ceil_div_u64(elements, b->out->cores), op->element_bits[output]);
}

/* ---- operators ---- */

/* Loops that move most come first, so that they rotate least. */
static void order_loops(const struct build *b, uint32_t step, const struct core_rings *rings, uint8_t *nest) {
  uint64_t bytes[CORE_LOOPS_MAX] = {0};
  for (uint32_t l = 0; l < rings->loop_count; l++) {
    for (uint32_t t = 0; t < operator_of(b, step)->tensor_count; t++) {
      bytes[l] += (rings->loops[l].moved >> t & 1) != 0 ? piece_bytes(b, step, t) : 0;
    }
    uint32_t place = l;
    for (; place > 0 && bytes[nest[place - 1]] < bytes[l]; place--) {
      nest[place] = nest[place - 1];
    }
    nest[place] = (uint8_t)l;
  }
}

static enum status add_operator(struct build *b, uint32_t step, struct diag_list *diags) {
  const struct plan_operator *op = operator_of(b, step);
  struct core_operator made = {.name = (uint32_t)b->out->names.count, .rings = (uint32_t)b->out->rings.count};
  struct core_rings rings;
  struct core_fault fault;
  plan_partition_grid(b->file->program, op, &b->file->steps[step].execute, &made.grid);
  for (uint32_t t = 0; t < op->tensor_count; t++) {
    made.element_bits[t] = tensors_of(b, step)[t].element_bits;
  }
  if (!core_rings_build(&made.grid, &rings, &fault)) {
    struct strbuf text = {0};
    core_fault_print(&fault, &text);
    diag_file(diags, DIAG_E0809_CORE_PROGRAM, NULL, 0, 0, "steps[%u]: %s", step, strbuf_text(&text));
    strbuf_release(&text);
    return STATUS_INPUT;
  }
  for (size_t r = b->out->rings.count; r-- > 0;) { /* the latest first: layers repeat */
    if (core_rings_equal(&b->out->rings.data[r], &rings)) {
      made.rings = (uint32_t)r;
      break;
    }
  }
  const char *text = intern_text(b->file->program->strings, op->name);
  const char *name = arena_strndup(&b->out->arena, text, strlen(text));
  if (name == NULL || !vec_push(&b->out->names, name) || !vec_push(&b->out->operators, made)
      || (made.rings == b->out->rings.count && !vec_push(&b->out->rings, rings))) {
    return STATUS_MEMORY;
  }
  order_loops(b, step, &rings, b->out->operators.data[step].nest);
  return STATUS_OK;
}

/* ---- buffers ---- */

static bool add_buffer(struct build *b, enum core_buffer_kind kind, uint32_t step, uint32_t tensor, uint64_t bytes,
                       const uint16_t *pieces, uint32_t *index) {
  struct core_buffer buffer = {.kind = (uint8_t)kind, .op = step, .tensor = tensor, .size_bytes = bytes};
  for (uint32_t a = 0; a < CORE_AXES_MAX; a++) {
    buffer.pieces[a] = pieces != NULL ? pieces[a] : 1;
  }
  *index = (uint32_t)b->out->buffers.count;
  return vec_push(&b->out->buffers, buffer);
}

static bool add_tensor(struct build *b, uint32_t step, uint32_t tensor, const struct core_grid *cold) {
  const struct core_grid *hot = &b->out->operators.data[step].grid;
  struct step_buffers *own = &b->steps[step];
  uint64_t bytes = piece_bytes(b, step, tensor);
  bytes = core_grid_pieces(hot, tensor) > 1 ? 2 * plan_word_bytes(bytes) : bytes; /* both begin at a word */
  own->preload[tensor] = NONE;
  if (is_from_memory(&tensors_of(b, step)[tensor])) {
    uint64_t cold_bytes = bytes_of(core_grid_piece_elements(cold, tensor), tensors_of(b, step)[tensor].element_bits);
    if (!add_buffer(b, CORE_BUFFER_PRELOAD, step, tensor, cold_bytes, cold->tensors[tensor].pieces,
                    &own->preload[tensor])) {
      return false;
    }
  }
  return add_buffer(b, CORE_BUFFER_EXECUTE, step, tensor, bytes, hot->tensors[tensor].pieces, &own->execute[tensor]);
}

static bool add_buffers(struct build *b, uint32_t step) {
  const struct plan_operator *op = operator_of(b, step);
  struct step_buffers *own = &b->steps[step];
  struct core_grid cold;
  uint64_t sum = 0;
  plan_partition_grid(b->file->program, op, &b->file->steps[step].preload, &cold);
  for (uint32_t t = 0; t < op->tensor_count; t++) {
    if (!add_tensor(b, step, t, &cold)) {
      return false;
    }
    sum += plan_word_bytes(b->out->buffers.data[own->execute[t]].size_bytes);
  }
  uint64_t hot = b->file->steps[step].cost.hot_bytes;
  own->share = own->scratch = NONE;
  if (hot > sum && !add_buffer(b, CORE_BUFFER_SCRATCH, step, 0, hot - sum, NULL, &own->scratch)) {
    return false;
  }
  bool is_kept = own->last_reader > 0 || tensors_of(b, step)[op->tensor_count - 1].memory_bytes > 0;
  return !is_kept
         || add_buffer(b, CORE_BUFFER_SHARE, step, op->tensor_count - 1u, share_bytes(b, step), NULL, &own->share);
}

/* ---- places ---- */

static bool refuse(struct build *b, uint32_t step, const struct core_buffer *buffer) {
  diag_file(b->diags, DIAG_E0809_CORE_PROGRAM, NULL, 0, 0,
            "steps[%u] (%s): no place for %" PRIu64 " bytes of tensor %u of steps[%u]: %" PRIu64 " of %" PRIu64
            " bytes of SRAM per core are free",
            step, b->out->names.data[step], buffer->size_bytes, buffer->tensor, buffer->op, b->place.free_bytes,
            b->out->sram_bytes);
  b->status = STATUS_INPUT;
  return false;
}

/* Gives a buffer its segments. An execute state grows from its preload state `grown` (NONE: from nothing). */
static bool place_buffer(struct build *b, uint32_t step, uint32_t index, uint32_t grown) {
  struct core_buffer *buffer = &b->out->buffers.data[index];
  uint64_t bytes = buffer->size_bytes;
  size_t first = b->out->segments.count;
  if (grown != NONE) {
    const struct core_buffer *before = &b->out->buffers.data[grown];
    for (uint32_t k = 0; k < before->segment_count; k++) {
      struct core_segment segment = b->out->segments.data[before->segment_first + k];
      if (!vec_push(&b->out->segments, segment)) {
        return false;
      }
    }
    uint64_t has = plan_word_bytes(before->size_bytes);
    bytes = plan_word_bytes(bytes) - has;
  }
  bool is_long = buffer->kind == CORE_BUFFER_PRELOAD || buffer->kind == CORE_BUFFER_SHARE;
  if (plan_word_bytes(bytes) > b->place.free_bytes) {
    return refuse(b, step, buffer);
  }
  bool grows = b->out->segments.count > first;
  if (!plan_place_take(&b->place, b->out, bytes, is_long ? PLAN_PLACE_LOW : PLAN_PLACE_HIGH, grows)) {
    return false;
  }
  buffer->segment_first = (uint32_t)first;
  buffer->segment_count = (uint32_t)(b->out->segments.count - first);
  return true;
}

/* ---- instructions ---- */

static bool emit(struct build *b, struct core_instruction instruction) {
  return vec_push(&b->out->instructions, instruction);
}

static bool emit_buffer(struct build *b, enum core_instruction_kind kind, uint32_t step, uint32_t buffer) {
  return emit(b, (struct core_instruction){.kind = (uint8_t)kind, .op = step, .buffer = buffer + 1});
}

static bool emit_allocate(struct build *b, uint32_t step, uint32_t buffer, uint32_t grown) {
  return place_buffer(b, step, buffer, grown) && emit_buffer(b, CORE_ALLOCATE, step, buffer);
}

static bool emit_free(struct build *b, uint32_t step, uint32_t buffer) {
  const struct core_buffer *ended = &b->out->buffers.data[buffer];
  for (uint32_t k = 0; k < ended->segment_count; k++) {
    if (!plan_place_give(&b->place, b->out->segments.data[ended->segment_first + k])) {
      return false;
    }
  }
  return emit_buffer(b, CORE_FREE, step, buffer);
}

static bool emit_barrier(struct build *b, uint32_t step) {
  return emit(b, (struct core_instruction){.kind = CORE_BARRIER, .op = step});
}

static bool emit_preload(struct build *b, uint32_t step) {
  struct step_buffers *own = &b->steps[step];
  for (uint32_t t = 0; t < operator_of(b, step)->tensor_count; t++) {
    if (own->preload[t] == NONE) {
      continue;
    }
    struct core_instruction preload = {.kind = CORE_PRELOAD,
                                       .op = step,
                                       .buffer = own->preload[t] + 1,
                                       .bytes = b->out->buffers.data[own->preload[t]].size_bytes,
                                       .memory_bytes = tensors_of(b, step)[t].memory_bytes};
    if (!emit_allocate(b, step, own->preload[t], NONE) || !emit(b, preload)) {
      return false;
    }
    own->preloaded_by[t] = (uint32_t)(b->out->instructions.count - 1);
  }
  return true;
}

/* One for each part in which the value was made; their bytes add up to those of the piece. */
static bool emit_gathers(struct build *b, const struct plan_tensor *tensor, struct core_instruction gather) {
  uint32_t first = plan_first_producer(tensor), parts = tensor->producer - first;
  uint64_t bytes = gather.bytes;
  bool is_good = true;
  for (uint32_t k = 0; k < parts && is_good; k++) {
    gather.source = b->steps[first + k].share + 1;
    gather.bytes = bytes / parts + (k < bytes % parts ? 1 : 0);
    is_good = emit(b, gather);
  }
  return is_good;
}

/* One input becomes what the operator computes with. */
static bool emit_input(struct build *b, uint32_t step, uint32_t tensor) {
  struct step_buffers *own = &b->steps[step];
  const struct core_buffer *hot = &b->out->buffers.data[own->execute[tensor]];
  uint64_t piece = piece_bytes(b, step, tensor);
  struct core_instruction fill = {.op = step, .buffer = own->execute[tensor] + 1};
  if (own->preload[tensor] == NONE) {
    fill.kind = CORE_GATHER;
    fill.bytes = piece;
    return emit_allocate(b, step, own->execute[tensor], NONE) && emit_gathers(b, &tensors_of(b, step)[tensor], fill);
  }
  const struct core_buffer *cold = &b->out->buffers.data[own->preload[tensor]];
  uint64_t ratio = 1; /* pieces of the preload state in one of the execute state */
  for (uint32_t a = 0; a < CORE_AXES_MAX; a++) {
    ratio *= (uint64_t)(cold->pieces[a] / hot->pieces[a]);
  }
  fill.kind = CORE_DISTRIBUTE;
  fill.source = own->preload[tensor] + 1;
  fill.bytes = (ratio - 1) * cold->size_bytes;
  struct core_instruction wait = {.kind = CORE_WAIT, .op = step, .target = own->preloaded_by[tensor]};
  return emit(b, wait) && emit_allocate(b, step, own->execute[tensor], own->preload[tensor]) && emit(b, fill)
         && emit_buffer(b, CORE_FREE, step, own->preload[tensor]); /* its bytes are the execute state's now */
}

static bool emit_rotations(struct build *b, uint32_t step, const uint32_t *before, const uint32_t *now,
                           uint32_t iteration) {
  const struct core_rings *rings = &b->out->rings.data[b->out->operators.data[step].rings];
  for (uint32_t l = 0; l < rings->loop_count; l++) {
    for (uint32_t t = 0; t < operator_of(b, step)->tensor_count && now[l] != before[l]; t++) {
      struct core_instruction rotate = {.kind = CORE_ROTATE,
                                        .loop = (uint8_t)l,
                                        .op = step,
                                        .buffer = b->steps[step].execute[t] + 1,
                                        .repeat = iteration,
                                        .bytes = piece_bytes(b, step, t)};
      if ((rings->loops[l].moved >> t & 1) != 0 && !emit(b, rotate)) {
        return false;
      }
    }
  }
  return emit_barrier(b, step);
}

static bool emit_iterations(struct build *b, uint32_t step) {
  uint64_t iterations = core_operator_iterations(b->out, step);
  uint32_t output = b->steps[step].execute[operator_of(b, step)->tensor_count - 1];
  for (uint64_t n = 0; n < iterations; n++) {
    struct core_instruction compute = {.kind = CORE_COMPUTE, .op = step, .buffer = output + 1, .repeat = (uint32_t)n};
    uint32_t before[CORE_LOOPS_MAX], now[CORE_LOOPS_MAX];
    if (!emit(b, compute)) {
      return false;
    }
    if (n + 1 < iterations) {
      core_operator_counts(b->out, step, n, before);
      core_operator_counts(b->out, step, n + 1, now);
      if (!emit_rotations(b, step, before, now, (uint32_t)n)) {
        return false;
      }
    }
  }
  return true;
}

static bool emit_result(struct build *b, uint32_t step) {
  const struct step_buffers *own = &b->steps[step];
  const struct core_grid *grid = &b->out->operators.data[step].grid;
  uint32_t output = grid->tensor_count - 1u;
  uint64_t parts = core_grid_replicas(grid, output) / core_grid_pieces(grid, output);
  if (own->share == NONE) {
    return true;
  }
  struct core_instruction keep = {.kind = parts > 1 ? CORE_REDUCE : CORE_GATHER,
                                  .op = step,
                                  .buffer = own->share + 1,
                                  .source = own->execute[output] + 1,
                                  .parts = (uint32_t)parts,
                                  .bytes = parts > 1 ? piece_bytes(b, step, output) : share_bytes(b, step)};
  struct core_instruction store = {.kind = CORE_STORE,
                                   .op = step,
                                   .buffer = own->share + 1,
                                   .bytes = share_bytes(b, step),
                                   .memory_bytes = tensors_of(b, step)[output].memory_bytes};
  return emit_allocate(b, step, own->share, NONE) && emit(b, keep) && (store.memory_bytes == 0 || emit(b, store));
}

/* Shares that this step was the last to read. */
static bool emit_free_shares(struct build *b, uint32_t step) {
  const struct plan_tensor *tensors = tensors_of(b, step);
  bool is_good = true;
  for (uint32_t t = 0; is_good && t + 1u < operator_of(b, step)->tensor_count; t++) {
    bool is_made = tensors[t].producer > 0 && !is_from_memory(&tensors[t]);
    for (uint32_t p = is_made ? plan_first_producer(&tensors[t]) : step; is_good && p < step && p < tensors[t].producer;
         p++) {
      bool is_last = b->steps[p].last_reader == step;
      for (uint32_t u = 0; u < t; u++) {
        is_last &= !plan_is_made_by(&tensors[u], p);
      }
      is_good = !is_last || emit_free(b, step, b->steps[p].share);
    }
  }
  return is_good;
}

/* Inputs end before the share of the result begins, the result after. */
static bool emit_end(struct build *b, uint32_t step) {
  const struct step_buffers *own = &b->steps[step];
  uint32_t output = operator_of(b, step)->tensor_count - 1u;
  bool is_good = true;
  for (uint32_t t = 0; is_good && t < output; t++) {
    is_good = emit_free(b, step, own->execute[t]);
  }
  is_good = is_good && emit_result(b, step) && emit_free(b, step, own->execute[output]);
  if (is_good && own->scratch != NONE) {
    is_good = emit_free(b, step, own->scratch);
  }
  if (is_good && own->share != NONE && own->last_reader == 0) {
    is_good = emit_free(b, step, own->share);
  }
  return is_good && emit_barrier(b, step);
}

static bool emit_step(struct build *b, uint32_t step) {
  const struct plan_operator *op = operator_of(b, step);
  const struct step_buffers *own = &b->steps[step];
  bool is_good = true;
  for (uint32_t pass = 0; pass < 2; pass++) { /* what the chip has first: its shares may end then */
    for (uint32_t t = 0; is_good && t + 1u < op->tensor_count; t++) {
      is_good = (own->preload[t] == NONE) == (pass != 0) || emit_input(b, step, t);
    }
    is_good = is_good && (pass != 0 || emit_free_shares(b, step));
  }
  if (is_good && own->scratch != NONE) {
    is_good = emit_allocate(b, step, own->scratch, NONE);
  }
  return is_good && emit_allocate(b, step, own->execute[op->tensor_count - 1], NONE) && emit_barrier(b, step)
         && emit_iterations(b, step) && emit_end(b, step);
}

static bool emit_all(struct build *b) {
  const struct plan_file *file = b->file;
  uint32_t next = 0; /* load not yet released; releases do not decrease along the loads */
  for (uint32_t i = 0; i < file->step_count; i++) {
    for (; file->chip.has_memory && next < file->load_count && file->steps[b->order[next]].release <= i; next++) {
      if (!emit_preload(b, b->order[next])) {
        return false;
      }
    }
    for (uint32_t j = 0; i == 0 && !file->chip.has_memory && j < file->step_count; j++) {
      if (!emit_preload(b, j)) { /* all tensors lie on the chip from the start */
        return false;
      }
    }
    if (!emit_step(b, i)) {
      return false;
    }
  }
  return true;
}

/* ---- all ---- */

static void find_readers_and_order(struct build *b) {
  for (uint32_t i = 0; i < b->file->step_count; i++) {
    const struct plan_tensor *tensors = tensors_of(b, i);
    for (uint32_t t = 0; t + 1u < operator_of(b, i)->tensor_count; t++) {
      bool is_made = !is_from_memory(&tensors[t]) && tensors[t].producer > 0;
      for (uint32_t p = is_made ? plan_first_producer(&tensors[t]) : i; p < i && p < tensors[t].producer; p++) {
        b->steps[p].last_reader = i;
      }
    }
    uint32_t place = b->file->steps[i].load_order;
    if (place < b->file->load_count) {
      b->order[place] = i;
    }
  }
}

static enum status build(struct build *b) {
  uint64_t iterations = 0;
  find_readers_and_order(b);
  for (uint32_t i = 0; i < b->file->step_count; i++) {
    STATUS_TRY(add_operator(b, i, b->diags));
    iterations = sat_add_u64(iterations, core_operator_iterations(b->out, i));
    if (iterations > ITERATIONS_MAX) {
      diag_file(b->diags, DIAG_E0809_CORE_PROGRAM, NULL, 0, 0, "more than %d iterations in the first %u steps",
                ITERATIONS_MAX, i + 1);
      return STATUS_LIMIT;
    }
    if (!add_buffers(b, i)) {
      return STATUS_MEMORY;
    }
  }
  if (emit_all(b)) {
    return STATUS_OK;
  }
  return b->status != STATUS_OK ? b->status : STATUS_MEMORY;
}

enum status plan_core_program(const struct plan_file *file, struct diag_list *diags, struct core_program *program) {
  core_program_init(program);
  program->cores = file->chip.cores;
  program->sram_bytes = file->chip.sram_bytes;
  struct build b = {.file = file,
                    .out = program,
                    .diags = diags,
                    .steps = calloc(file->step_count + 1u, sizeof *b.steps),
                    .order = calloc(file->load_count + 1u, sizeof *b.order)};
  bool is_ready = plan_place_init(&b.place, program->sram_bytes) && b.steps != NULL && b.order != NULL;
  enum status status = is_ready ? build(&b) : STATUS_MEMORY;
  plan_place_release(&b.place);
  free(b.steps);
  free(b.order);
  return status;
}
