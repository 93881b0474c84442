/* The table of validation suites. */
#include "measure/measure.h"

const struct measure_suite measure_suites[] = {
    {.name = "workloads",
     .summary = "whole training steps (Llama-3-style, ResNet) on GPUs and TPUs",
     .run = measure_workloads},
    {.name = "operators",
     .summary =
         "measured kernels (products, attention, MoE layers, passes) on rows no constant has seen, and the goals",
     .run = measure_operators,
     .takes_filters = true,
     .has_page = true},
    {.name = "neusight",
     .summary = "single-precision operators and whole networks in eager PyTorch, beside four published predictors",
     .run = measure_neusight},
    {.name = "intercore",
     .summary = "dense products on the tiles of a GC200, beside the planner's partition costs",
     .run = measure_intercore},
    {.name = "distributed",
     .summary = "published training runs on many devices, and the goals",
     .run = measure_distributed},
    {.name = "collectives",
     .summary = "measured collectives on sizes no constant has seen, and on systems left out, beside two constants",
     .run = measure_collectives},
    {.name = NULL},
};
