/* Times of kernels, nodes and whole programs of the suite "neusight". */
#include <math.h>
#include <string.h>

#include "kernel/kernel_board.h"
#include "measure/measure_neusight.h"

/* Eager PyTorch takes the host about this long per kernel; shorter kernels wait for it. */
static const double host_pace_s = 6e-6;
/* Share of the power limit that a chip draws while memory is what it waits for; from T4 and A100. */
static const double waiting_power = 0.45;

const struct neusight_device neusight_devices[] = {
    {"Tesla P4", "P4", "nvidia_p4", 1, true},
    {"Tesla P100-PCIE-16GB", "P100", "nvidia_p100_pcie", 1, true},
    {"Tesla V100-PCIE-32GB", "V100", "nvidia_v100_pcie", 1, true},
    {"Tesla T4", "T4", "nvidia_t4", 1, true},
    {"NVIDIA A100-PCIE-40GB", "A100-40", "nvidia_a100_pcie_40", 1, true},
    {"NVIDIA A100 80GB PCIe", "A100-80", "nvidia_a100_pcie_80", 1, false},
    {"NVIDIA L4", "L4", "nvidia_l4", 1, false},
    {"NVIDIA H100 80GB HBM3", "H100", "nvidia_h100_sxm", 1, false},
    {"AMD Instinct MI100", "MI100", "amd_mi100", 1, true},
    {"AMD Instinct MI210", "MI210", "amd_mi210", 1, true},
    {"AMD Instinct MI250", "MI250", "amd_mi250", 0.5, false}, /* a process sees one of the two dies */
    {0},
};

bool neusight_device_is(const struct neusight_device *device, const char *name) {
  size_t i = 0;
  while (name[i] != '\0' && (name[i] == device->name[i] || (name[i] == '_' && device->name[i] == ' '))) {
    i++;
  }
  return name[i] == '\0' && device->name[i] == '\0';
}

const struct neusight_device *neusight_device_find(const char *name) {
  for (const struct neusight_device *device = neusight_devices; device->name; device++) {
    if (neusight_device_is(device, name)) {
      return device;
    }
  }
  return NULL;
}

static void take_share(struct hw_chip *chip, double share) {
  for (unsigned d = 0; d < DTYPE_COUNT; d++) {
    chip->matrix_flops[d] *= share;
    chip->vector_flops[d] *= share;
  }
  for (unsigned f = 0; f < HW_FUNCTION_COUNT; f++) {
    chip->function_rate[f] *= share;
  }
  chip->cores *= share;
  chip->memory_size_bytes *= share;
  chip->memory_Bps *= share;
  chip->cache_size_bytes *= share;
  chip->cache_Bps *= share;
  chip->scratch_size_bytes *= share;
  chip->scratch_Bps *= share;
  chip->tdp_W *= share;
}

bool neusight_timer_init(struct neusight_timer *timer, const struct hw_database *chips,
                         const struct neusight_device *device) {
  static const enum kernel_class classes[] = {KERNEL_GEMM, KERNEL_ELEMENTWISE, KERNEL_SOFTMAX, KERNEL_NORMALISATION};
  const struct hw_chip *chip = hw_database_find(chips, device->chip_id, NULL);
  if (!chip || chip->missing) {
    return false;
  }
  *timer = (struct neusight_timer){.device = device, .chip = *chip};
  take_share(&timer->chip, device->share);
  bool has_all = true;
  for (unsigned i = 0; i < sizeof classes / sizeof classes[0]; i++) {
    has_all &= kernel_constants_of(&timer->chip, classes[i], KERNEL_FORMAT_F32, &timer->constants[classes[i]]);
  }
  return has_all;
}

static double constant(const struct kernel_constants *constants, const char *name, double absent) {
  int index = kernel_constant_find(constants->model, name);
  return index >= 0 ? constants->values[index] : absent;
}

static double time_of(const struct neusight_timer *timer, const struct kernel_constants *constants,
                      const struct kernel_shape *shape) {
  struct kernel_time time;
  constants->model->time(&timer->chip, shape, constants->values, &time);
  return time.time_s;
}

double neusight_benchmark(const struct neusight_timer *timer, struct kernel_shape shape) {
  shape.flags |= KERNEL_WARM;
  return time_of(timer, &timer->constants[shape.class_of], &shape);
}

/* In a program a pass finds what the kernel before left in the last cache, as a repeated pass does. */
static void find_in_cache(const struct neusight_timer *timer, struct kernel_shape *shape) {
  if (shape->class_of != KERNEL_GEMM) {
    double room = timer->chip.cache_size_bytes * constant(&timer->constants[shape->class_of], "cache_fraction", 0);
    double bytes = kernel_bytes(shape);
    shape->cached_bytes = room > 0 ? bytes * fmin(1, fmax(0, 2 - bytes / room)) : 0;
  }
}

static double in_program(const struct neusight_timer *timer, const struct kernel_constants *products,
                         struct kernel_shape shape) {
  shape.flags = 0;
  find_in_cache(timer, &shape);
  const struct kernel_constants *used = shape.class_of == KERNEL_GEMM ? products : &timer->constants[shape.class_of];
  return fmax(host_pace_s, time_of(timer, used, &shape));
}

double neusight_node_time(const struct neusight_timer *timer, const struct neusight_graph *graph, const char *node) {
  double sum = NAN;
  for (size_t i = 0; i < graph->kernels.count; i++) {
    const struct neusight_kernel *kernel = &graph->kernels.data[i];
    if (!kernel->is_backward && strcmp(graph->nodes.data[kernel->node], node) == 0) {
      sum = isnan(sum) ? neusight_benchmark(timer, kernel->shape)
                       : sum + in_program(timer, &timer->constants[KERNEL_GEMM], kernel->shape);
    }
  }
  return sum;
}

double neusight_roofline(const struct neusight_timer *timer, const struct kernel_shape *shape) {
  double flops = timer->chip.matrix_flops[DTYPE_F32];
  enum dtype runs_as;
  hw_chip_matrix_rate(&timer->chip, DTYPE_F32, &flops, &runs_as);
  return fmax(kernel_flops(shape) / flops, kernel_bytes(shape) / timer->chip.memory_Bps);
}

struct program_sums {
  double forward_s, backward_s;
  double flops; /* of products */
};

static struct program_sums sum_program(const struct neusight_timer *timer, const struct neusight_graph *graph,
                                       double layers, bool is_training, const struct kernel_constants *products) {
  struct program_sums sums = {0};
  for (size_t i = 0; i < graph->kernels.count; i++) {
    const struct neusight_kernel *kernel = &graph->kernels.data[i];
    double times = kernel->is_repeated ? layers : 1;
    if (kernel->is_backward && !is_training) {
      continue;
    }
    double time_s = times * in_program(timer, products, kernel->shape);
    *(kernel->is_backward ? &sums.backward_s : &sums.forward_s) += time_s;
    sums.flops += kernel->shape.class_of == KERNEL_GEMM ? times * kernel_flops(&kernel->shape) : 0;
  }
  return sums;
}

/* The limit holds on average: what kernels that wait for memory leave goes to products. Their clock is the largest that
 * keeps the average; a clock is set by the energy per operation that would allow it. */
struct neusight_program_time neusight_program(const struct neusight_timer *timer, const struct neusight_graph *graph,
                                              double layers, bool is_training) {
  enum { STEPS = 14 };
  struct kernel_constants products = timer->constants[KERNEL_GEMM];
  int index = kernel_constant_find(products.model, "energy_J");
  double limit = timer->chip.tdp_W, energy = index >= 0 ? products.values[index] : 0;
  double peak = timer->chip.matrix_flops[DTYPE_F32], efficiency = constant(&products, "lane_efficiency", 1);
  enum dtype runs_as;
  hw_chip_matrix_rate(&timer->chip, DTYPE_F32, &peak, &runs_as);
  bool may_limit = energy > 0 && kernel_power_W(&timer->chip, energy, 1) > limit;
  double low = 0.05, high = 1, clock = 1;
  struct program_sums sums = {0};
  for (int step = 0; step <= STEPS; step++) {
    double power = may_limit ? kernel_power_W(&timer->chip, energy, clock) : 0;
    if (may_limit) {
      products.values[index] = energy * limit / power * (clock < 1 ? 1 : 0.5);
    }
    sums = sum_program(timer, graph, layers, is_training, &products);
    double total = sums.forward_s + sums.backward_s, busy = fmin(total, sums.flops / (clock * peak * efficiency));
    bool is_over = power * busy + waiting_power * limit * (total - busy) > limit * total;
    if (!may_limit || (clock >= 1 && !is_over)) {
      break;
    }
    *(is_over ? &high : &low) = clock;
    clock = (low + high) / 2;
  }
  return (struct neusight_program_time){sums.forward_s, sums.backward_s, clock};
}
