/* Memory of the fullest device: state, activations of the micro-batches in flight, temporaries, buffers, reserve. Where it is
 * not known what the arguments are, those of a whole step are taken for parameters, those of a pass for data. */
#include <math.h>
#include <string.h>

#include "cluster/step_int.h"

/* Inputs of a part by what they are; parts of one chunk share them. */
static void add_inputs(const struct step_part *part, enum step_argument unknown, double largest[STEP_ARGUMENT_COUNT]) {
  double bytes[STEP_ARGUMENT_COUNT] = {0};
  for (size_t i = 0; i < part->graph->inputs.count; i++) {
    const struct work_tensor *tensor = &part->graph->tensors.data[part->graph->inputs.data[i]];
    bytes[part->arguments != NULL ? part->arguments[i] : unknown] += (double)tensor->size_bytes;
  }
  for (int c = 0; c < STEP_ARGUMENT_COUNT; c++) {
    largest[c] = fmax(largest[c], bytes[c]);
  }
}

static void add_state(const double bytes[STEP_ARGUMENT_COUNT], struct step_memory *memory) {
  memory->parameter_bytes += bytes[STEP_PARAMETER];
  memory->gradient_bytes += bytes[STEP_GRADIENT];
  memory->optimizer_bytes += bytes[STEP_OPTIMIZER];
}

static double above_zero(double value) {
  return value > 0 ? value : 0;
}

/* What a part needs beside its inputs and outputs. */
static double temporary_of(const struct work_graph *graph) {
  const struct work_memory *memory = &graph->memory;
  return above_zero((double)memory->peak_bytes - (double)memory->argument_bytes - (double)memory->output_bytes);
}

/* A program that is the whole step: its own peak. Results that take no argument's storage are temporaries, the rest of what
 * is there beside the arguments is activations. */
static void add_whole(const struct step_part *part, struct step_memory *memory) {
  double bytes[STEP_ARGUMENT_COUNT] = {0};
  const struct work_memory *peak = &part->graph->memory;
  add_inputs(part, STEP_PARAMETER, bytes);
  add_state(bytes, memory);
  double inside = above_zero((double)peak->peak_bytes - (double)peak->argument_bytes);
  double activation = fmin(inside, (double)peak->temporary_peak_bytes);
  memory->temporary_bytes = inside - activation;
  memory->activation_bytes = activation + bytes[STEP_DATA];
}

/* One chunk: its state, and `in_flight` times what its forward pass leaves for the backward one. */
static void add_chunk(const struct step_part parts[STEP_ROLE_COUNT], double in_flight, struct step_memory *memory) {
  double bytes[STEP_ARGUMENT_COUNT] = {0}, temporary = 0;
  for (int r = STEP_FORWARD; r < STEP_ROLE_COUNT; r++) {
    if (parts[r].graph != NULL) {
      add_inputs(&parts[r], STEP_DATA, bytes);
      temporary = fmax(temporary, temporary_of(parts[r].graph));
    }
  }
  add_state(bytes, memory);
  memory->temporary_bytes = fmax(memory->temporary_bytes, temporary);
  if (parts[STEP_FORWARD].graph != NULL) {
    memory->activation_bytes += in_flight * (double)parts[STEP_FORWARD].graph->memory.output_bytes;
  }
}

static double total_of(const struct step_memory *memory) {
  return memory->parameter_bytes + memory->gradient_bytes + memory->optimizer_bytes + memory->activation_bytes
         + memory->temporary_bytes + memory->buffer_bytes + memory->reserve_bytes;
}

void step_memory_of(const struct step_program *program, const struct step_network *network,
                    const struct step_pipeline *pipeline, uint64_t gathered_bytes, struct step_memory *memory) {
  /* context of the driver and buffers of the communication library: 0.5 to 1 GB on GPUs */
  double reserve_bytes = network->device->kind == HW_KIND_GPU ? 0.75e9 : 0.25e9;
  hw_cluster_number(network->cluster, "memory.reserve", &reserve_bytes);
  memset(memory, 0, sizeof *memory);
  for (uint32_t s = 0; s < program->stages; s++) {
    struct step_memory stage = {.buffer_bytes = (double)gathered_bytes, .reserve_bytes = reserve_bytes};
    if (pipeline == NULL) {
      add_whole(&program->parts[STEP_ONLY][STEP_WHOLE], &stage);
    }
    for (uint32_t c = 0; pipeline != NULL && c < program->chunks; c++) {
      const struct step_pipeline_input place = {.stages = program->stages, .chunks = program->chunks};
      add_chunk(program->parts[step_place_of(&place, s, c)],
                (double)pipeline->stages[s].in_flight / (double)program->chunks, &stage);
    }
    stage.total_bytes = total_of(&stage);
    if (s == 0 || stage.total_bytes > memory->total_bytes) {
      *memory = stage;
    }
  }
  memory->capacity_bytes = network->device->memory_size_bytes;
  memory->fits = memory->total_bytes <= memory->capacity_bytes;
}
