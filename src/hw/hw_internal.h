/* What the files of this module share: reading of documents, the table of typed fields, resolution of rates. */
#ifndef RIDGELINE_HW_HW_INTERNAL_H
#define RIDGELINE_HW_HW_INTERNAL_H

#include "base/strbuf.h"
#include "hw/hw.h"
#include "hw/hw_yaml.h"

enum hw_unit_class {
  HW_UNIT_TEXT,
  HW_UNIT_RATE,
  HW_UNIT_RESULT_RATE,
  HW_UNIT_BANDWIDTH,
  HW_UNIT_BIT_RATE,
  HW_UNIT_BYTES,
  HW_UNIT_HERTZ,
  HW_UNIT_SECOND,
  HW_UNIT_WATT,
  HW_UNIT_FRACTION,
  HW_UNIT_FACTOR,
  HW_UNIT_CYCLES,
  HW_UNIT_PER_CLOCK,
  HW_UNIT_ELK_RATE,
  HW_UNIT_PRICE,
  HW_UNIT_COUNT
};

struct hw_unit {
  const char *name;
  enum hw_unit_class unit_class;
  double min, max;
};

/* NULL when the spelling is not a unit. */
const struct hw_unit *hw_unit_find(const char *name);
const char *const *hw_unit_names(size_t *count);
const char *hw_unit_class_example(enum hw_unit_class unit_class);

/* What a reader of a text field needs: the place for messages and the chip to fill (NULL: only check). */
struct hw_text_context {
  const struct hw_node *node;
  const struct source *source;
  struct diag_list *diags;
  struct hw_chip *chip;
};

typedef bool hw_text_reader(struct hw_text_context *context);
hw_text_reader hw_read_matrix_runs_as;
hw_text_reader hw_read_vector_runs_as;
hw_text_reader hw_read_f32_default;
hw_text_reader hw_read_fusion;

struct hw_field_row {
  const char *key;
  hw_text_reader *reader; /* NULL: a number */
  enum hw_unit_class unit_class;
  size_t offset; /* of the double in struct hw_chip */
  double min, max;
};

const struct hw_field_row *hw_field_rows(size_t *count);
const struct hw_field_row *hw_field_row_find(const char *key);

/* A field as it is carried through inheritance: the public view and the parsed value of a text field. */
struct hw_fact_row {
  struct hw_field field;
  const struct hw_node *value; /* lives as long as the loader */
  const struct source *source;
  uint32_t distance; /* files between the chip and the one that states it */
};

/* Fills the typed members of `chip` from `rows` and resolves what follows from them. */
void hw_chip_fill(struct hw_chip *chip, const struct hw_fact_row *rows, size_t row_count);
/* Rates: defaults for types the chip has no row for. Before: what the file's runs_as maps say; HW_RUNS_DEFAULT else. */
void hw_rates_resolve(struct hw_chip *chip);
enum { HW_RUNS_DEFAULT = 0xFF, HW_RUNS_VECTOR = 0xFE };
/* "bf16", "fp8", "int8", ... of the runs_as maps to an engine type; DTYPE_NONE when unknown. */
enum dtype hw_engine_type_parse(const char *name);
const char *const *hw_engine_type_names(size_t *count);

/* Sets chip->missing. */
bool hw_chip_find_missing(struct hw_chip *chip, struct arena *arena);

bool hw_name_equal(const char *a, const char *b);
/* The field of that key in fields sorted by key, or NULL. */
const struct hw_field *hw_field_find(const struct hw_field *fields, size_t count, const char *key);
/* Writes up to four of `names` that `name` was perhaps meant to be, quoted and with commas: the nearest by spelling, then
 * those that contain it. "" when there is none. */
void hw_put_near_names(struct strbuf *out, const char *name, const char *const *names, size_t count);

#endif
