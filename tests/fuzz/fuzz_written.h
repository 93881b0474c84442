/* A property of modules: what can be written as a portable artifact reads as a module of which that holds as well. */
#ifndef RIDGELINE_TESTS_FUZZ_FUZZ_WRITTEN_H
#define RIDGELINE_TESTS_FUZZ_FUZZ_WRITTEN_H

#include "fuzz_check.h"

/* Writes the module for the newest version of StableHLO and for an old one, and reads it again. FUZZ_REFUSED when no version
 * can hold it, which `why` does not say. */
enum fuzz_outcome fuzz_check_written(const struct ir_module *module, struct strbuf *why);

#endif
