/* The inputs of hostile_cases.def that need more than repetition. */
#ifndef RIDGELINE_TESTS_FUZZ_HOSTILE_TEXTS_H
#define RIDGELINE_TESTS_FUZZ_HOSTILE_TEXTS_H

#include "base/strbuf.h"

#define HOSTILE(name, reader, expectation, count, prefix, open, middle, close, suffix)
#define HOSTILE_MADE(name, reader, expectation, function) void hostile_##function(struct strbuf *out);
#include "hostile_cases.def"
#undef HOSTILE
#undef HOSTILE_MADE

#endif
