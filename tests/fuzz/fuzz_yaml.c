/* Fuzz target: one chip or cluster file from memory. A chip that loads must check, resolve its rates and answer every
 * question that a cost model asks, with finite numbers; a cluster that loads must give slices of as many devices as asked. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "fuzz_check.h"
#include "hw/hw_cluster.h"

static enum fuzz_outcome check_chip(const struct hw_chip *chip, struct strbuf *why) {
  for (int i = DTYPE_NONE; i < DTYPE_COUNT; i++) {
    double flops[2] = {0};
    enum dtype runs_as = DTYPE_NONE;
    bool has_matrix = hw_chip_matrix_rate(chip, (enum dtype)i, &flops[0], &runs_as);
    bool has_vector = hw_chip_vector_rate(chip, (enum dtype)i, &flops[1], &runs_as);
    if ((has_matrix && !(isfinite(flops[0]) && flops[0] > 0))
        || (has_vector && !(isfinite(flops[1]) && flops[1] > 0))) {
      strbuf_printf(why, "a rate of %s is %g and %g", dtype_name((enum dtype)i), flops[0], flops[1]);
      return FUZZ_BROKEN;
    }
  }
  for (size_t i = 0; i < chip->field_count; i++) {
    if (i > 0 && strcmp(chip->fields[i - 1].key, chip->fields[i].key) >= 0) {
      strbuf_printf(why, "the fields are not in order at '%s'", chip->fields[i].key);
      return FUZZ_BROKEN;
    }
    if (hw_chip_field(chip, chip->fields[i].key) != &chip->fields[i]) {
      strbuf_printf(why, "the field '%s' is not found", chip->fields[i].key);
      return FUZZ_BROKEN;
    }
  }
  return FUZZ_ACCEPTED;
}

static enum fuzz_outcome check_slices(const struct hw_cluster *cluster, struct strbuf *why) {
  static const uint64_t numbers[] = {1, 2, 7, 8, 12, 64, 256, 1000, 6144, 1 << 24};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    struct diag_list diags;
    struct hw_slice slice;
    diag_init(&diags);
    enum status status = hw_slice_of(cluster, numbers[i], NULL, &diags, &slice);
    size_t told = diags.error_count;
    diag_release(&diags);
    if ((status == STATUS_OK) != (told == 0) || (status == STATUS_OK && slice.devices != numbers[i])) {
      strbuf_printf(why, "a slice of %llu devices: status %d, %zu errors", (unsigned long long)numbers[i], (int)status,
                    told);
      return FUZZ_BROKEN;
    }
  }
  return FUZZ_ACCEPTED;
}

static enum fuzz_outcome check_as_cluster(const struct source *source, struct strbuf *why) {
  struct diag_list diags;
  struct hw_clusters clusters = {0};
  const struct hw_cluster *cluster = NULL;
  diag_init(&diags);
  enum status status = hw_cluster_parse(&clusters, source, RDG_SOURCE_DIR "/hardware", NULL, &diags, &cluster);
  enum fuzz_outcome outcome = FUZZ_REFUSED;
  if ((status == STATUS_OK) != (diags.error_count == 0) || (status == STATUS_OK) != (cluster != NULL)) {
    strbuf_printf(why, "as a cluster: status %d with %zu errors", (int)status, diags.error_count);
    outcome = FUZZ_BROKEN;
  } else if (status == STATUS_OK) {
    struct hw_database none = {0};
    (void)hw_cluster_check(cluster, &none, &diags);
    outcome = check_slices(cluster, why);
  }
  diag_release(&diags);
  hw_clusters_release(&clusters);
  return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  if (text == NULL) {
    return 0;
  }
  memcpy(text, data, size);
  text[size] = '\0';
  struct source source = {.name = "input.yaml", .text = text, .length = size};
  struct diag_list diags;
  diag_init(&diags);
  struct hw_database database = {0};
  const struct hw_chip *chip = NULL;
  struct strbuf why = {0};
  enum status status = hw_chip_parse(&database, &source, RDG_SOURCE_DIR "/hardware", &diags, &chip);
  enum fuzz_outcome outcome = FUZZ_REFUSED;
  if ((status == STATUS_OK) != (diags.error_count == 0) || (status == STATUS_OK) != (chip != NULL)) {
    strbuf_printf(&why, "status %d with %zu errors", (int)status, diags.error_count);
    outcome = FUZZ_BROKEN;
  } else if (status == STATUS_OK) {
    (void)hw_chip_check(chip, &diags);
    outcome = check_chip(chip, &why);
    (void)cost_roofline.supports(chip);
    (void)lower_fusion_key(chip);
  }
  if (outcome == FUZZ_REFUSED) {
    outcome = check_as_cluster(&source, &why);
  }
  fuzz_require(outcome, &why);
  diag_release(&diags);
  hw_database_release(&database);
  free(text);
  return 0;
}
