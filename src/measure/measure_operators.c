/* Suite "operators": measured kernels of published tables beside predictions, on rows that no constant has seen.
 * Path: mapping files + tables → profile in memory → measured_kernels → operators_score → goals → text or JSON, and a
 * page of charts. */
#include "measure/measure_operators.h"

#include "profile/profile_places.h"

/* Every table that a mapping file names, as rows of kernels. */
static enum status load_kernels(const struct hw_database *chips, const struct measure_options *options,
                                struct diag_list *diags, struct measured_kernels *kernels) {
  const char *data = profile_data_directory(options->data_directory);
  struct store *profile = NULL;
  uint64_t added = 0, absent = 0;
  STATUS_TRY(store_open(":memory:", false, diags, &profile));
  enum status status =
      profile_import_all(profile, profile_mapping_directory(options->mapping_directory), data, &added, &absent, diags);
  if (status == STATUS_OK && added == 0) {
    diag_file(diags, DIAG_E0001_OPEN, data, 0, 0,
              "no data: none of the measured tables is in '%s' (--data or $RIDGELINE_DATA say where they are)", data);
    status = STATUS_IO;
  }
  if (status == STATUS_OK) {
    status = measured_kernels_load(kernels, profile, chips, diags);
  }
  store_close(profile);
  return status;
}

static enum status read_filter(const struct hw_database *chips, const struct measure_options *options,
                               struct diag_list *diags, struct operator_filter *only) {
  *only = OPERATOR_ALL_ROWS;
  if (options->chip) {
    const struct hw_chip *chip = hw_database_find(chips, options->chip, diags);
    if (!chip) {
      return STATUS_INPUT;
    }
    only->chip = chip->id;
  }
  if (options->class_name) {
    only->class_of = kernel_class_find(options->class_name);
    if (only->class_of == KERNEL_CLASS_COUNT) {
      struct strbuf names = {0};
      for (unsigned c = 0; c < KERNEL_CLASS_COUNT; c++) {
        strbuf_printf(&names, "%s%s", c ? ", " : "", kernel_class_name((enum kernel_class)c));
      }
      diag_file(diags, DIAG_E0601_USAGE, NULL, 0, 0, "there is no class '%s'; there are: %s", options->class_name,
                strbuf_text(&names));
      strbuf_release(&names);
      return STATUS_INPUT;
    }
  }
  return STATUS_OK;
}

static enum status write_reports(const struct operator_set *set, const struct measure_options *options,
                                 struct diag_list *diags, struct strbuf *out) {
  operator_goal_list goals = {0};
  enum status status = operator_goals(set, &goals);
  if (status == STATUS_OK && options->as_json) {
    status = operators_write_json(set, &goals, out);
  } else if (status == STATUS_OK) {
    operators_write_text(set, &goals, out);
    status = out->failed ? STATUS_MEMORY : STATUS_OK;
  }
  if (status == STATUS_OK && options->page) {
    status = operators_write_page(set, &goals, options->charts_directory, options->page, diags);
  }
  vec_release(&goals);
  return status;
}

enum status measure_operators(const struct hw_database *chips, const struct measure_options *options,
                              struct diag_list *diags, struct strbuf *out) {
  struct operator_set set = {0};
  STATUS_TRY(read_filter(chips, options, diags, &set.only));
  if (options->page) {
    STATUS_TRY(operators_check_page(options->charts_directory, diags));
  }
  enum status status = load_kernels(chips, options, diags, &set.kernels);
  if (status == STATUS_OK) {
    status = operators_score(&set, profile_data_directory(options->data_directory), diags);
  }
  if (status == STATUS_OK) {
    status = write_reports(&set, options, diags, out);
  }
  operator_set_release(&set);
  return status;
}
