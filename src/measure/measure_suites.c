/* The table of validation suites. */
#include "measure/measure.h"

const struct measure_suite measure_suites[] = {
    {"workloads", "whole training steps with a measured step time", measure_workloads},
    {0},
};
