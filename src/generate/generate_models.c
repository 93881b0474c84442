/* The models that can be generated. */
#include "generate/generate.h"

const struct generate_model *const generate_models[] = {0};
