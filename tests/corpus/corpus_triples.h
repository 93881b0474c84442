/* The triples of jax.export: an artifact, its text, and a file of numpy literals with inputs and expected outputs.
 *
 *   corpus_triples.c         one triple: run the artifact and the text, compare
 *   corpus_literals.c        the literals
 *   corpus_decompositions.c  results that are not unique: what they must satisfy */
#ifndef RIDGELINE_TESTS_CORPUS_TRIPLES_H
#define RIDGELINE_TESTS_CORPUS_TRIPLES_H

#include "interp/interp.h"

enum { TRIPLE_VALUES = 8, TRIPLE_REASON = 240 };

/* How a triple was checked. */
enum triple_kind {
  TRIPLE_BY_VALUE, /* every element of the outputs */
  TRIPLE_BY_RECONSTRUCTION, /* what the outputs must satisfy, and those parts that are determined */
  TRIPLE_BY_TYPE, /* types and shapes: the values are not determined */
  TRIPLE_DEVICE_KERNEL, /* calls the code of a device: refused by name */
  TRIPLE_KINDS
};

struct triple_values {
  struct interp_value *values[TRIPLE_VALUES]; /* owned */
  uint32_t count;
};

/* What X.io.txt says. */
struct triple_record {
  struct triple_values inputs, expected;
  int devices;
};
/* False with a reason when the text is not understood. */
bool triple_record_parse(const char *text, struct triple_record *record, char *reason);
void triple_values_release(struct triple_values *values);

/* Runs a triple, given the path of its artifact; false with a reason. */
bool triple_run(const char *path, enum triple_kind *kind, char *reason);

/* True when the file (its name without folder) is of a kind whose outputs are not unique. */
bool triple_is_decomposition(const char *name);
/* The outputs against what they must satisfy: they give back the matrix (an input, or what the expected outputs give back),
 * orthogonal factors are orthogonal, triangular ones triangular, and eigenvalues and singular values are those expected.
 * Differences are measured in units of the largest element; they may be 32 n times the rounding of the element type. */
bool triple_check_decomposition(const char *name, const struct triple_record *record,
                                const struct triple_values *outputs, char *reason);

#endif
