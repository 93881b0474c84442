/* Data that an ONNX model keeps in files beside it. Path: program.c → import_onnx → here. */
#ifndef RIDGELINE_PROGRAM_EXTERNAL_DATA_H
#define RIDGELINE_PROGRAM_EXTERNAL_DATA_H

#include <stdbool.h>
#include <stdint.h>

/* import_options.read_external: `model_path` (a const char *) is the path of the model. Refuses what leaves the model's
 * directory through a symbolic link. */
bool external_data_read(void *model_path, const char *location, uint64_t offset, uint64_t length, void *to);

#endif
