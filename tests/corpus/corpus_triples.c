/* One triple of jax.export: see corpus_triples.h. Outputs are compared bit by bit where they are determined: the recorded
 * numbers are printed so that they read back as they were. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "corpus_triples.h"
#include "io/input_file.h"
#include "mlir/bytecode.h"
#include "mlir/mlir.h"

/* Custom calls that hold the code of a device. */
static const char *const device_targets[] = {"tpu_custom_call", "mosaic_gpu_v2", "__gpu$xla.gpu.triton"};

/* Records whose values another implementation need not give. */
static const struct {
  const char *name, *why;
} undetermined[] = {
    {"tpu_stablehlo_dynamic_reduce_window.data_variadic_2023_06_17.mlir",
     "the initial values 1 and 2 are no identities of its bodies + and -: the TPU took them nine times per window"},
};

static bool is_undetermined(const char *name) {
  for (size_t i = 0; i < sizeof undetermined / sizeof *undetermined; i++) {
    if (strncmp(name, undetermined[i].name, strlen(undetermined[i].name)) == 0) {
      return true;
    }
  }
  return false;
}

static bool fail(char *reason, const struct diag_list *diags, const char *what) {
  const struct diag *diag = NULL;
  for (size_t i = 0; diags && !diag && i < diags->entries.count; i++) {
    diag = diags->entries.data[i].severity == DIAG_ERROR ? &diags->entries.data[i] : NULL;
  }
  snprintf(reason, TRIPLE_REASON, "%s%s%s", what, diag ? ": " : "", diag ? diag->message : "");
  return false;
}

/* ---- running -------------------------------------------------------------------------------------------------------------- */

/* The file, or NULL with a reason; checked and ready to run. */
static struct ir_module *read_module(const char *path, bool is_bytecode, struct input_file *file,
                                     struct diag_list *diags, char *reason) {
  struct ir_module *module = NULL;
  if (input_file_read(file, path, 0, diags) != STATUS_OK) {
    return fail(reason, diags, "cannot be read"), NULL;
  }
  struct source source = {file->name, file->text, file->length};
  enum status status =
      is_bytecode ? mlir_bytecode_read(&source, NULL, diags, &module) : mlir_parse(&source, NULL, diags, &module);
  if (status != STATUS_OK || analyze_infer(module, diags) != STATUS_OK) {
    fail(reason, diags, "is refused");
    ir_module_free(module);
    return NULL;
  }
  return module;
}

/* Runs the module on as many partitions as the record has devices, each with the same (global) inputs. */
static bool run_module(const struct ir_module *module, const struct triple_record *record, struct diag_list *diags,
                       struct triple_values *outputs, char *reason) {
  struct ir_op entry = interp_entry(module);
  uint32_t devices = (uint32_t)record->devices, inputs = record->inputs.count;
  const struct ir_type_data *type = entry.id ? ir_type_get(module, ir_function_type(module, entry)) : NULL;
  uint32_t count = type ? type->count - type->input_count : 0;
  if (!type || count > TRIPLE_VALUES) {
    return fail(reason, NULL, "has no entry function of this kind");
  }
  struct interp_value **arguments = calloc((size_t)devices * TRIPLE_VALUES, sizeof *arguments);
  struct interp_value **results = calloc((size_t)devices * TRIPLE_VALUES, sizeof *results);
  struct interp_options options = {.partitions = devices};
  for (uint32_t i = 0; i < devices * inputs; i++) {
    arguments[i] = record->inputs.values[i % inputs];
  }
  bool ok = interp_run(module, entry, &options, arguments, inputs, diags, results) == STATUS_OK;
  for (uint32_t i = 0; ok && i < devices * count; i++) {
    if (i < count) {
      outputs->values[outputs->count++] = results[i];
    } else { /* every device has the whole result */
      const struct interp_value *first = results[i % count], *other = results[i];
      ok &= first->size_bytes == other->size_bytes && memcmp(first->data, other->data, first->size_bytes) == 0;
      interp_release(results[i]);
    }
  }
  free(arguments);
  free(results);
  return ok || fail(reason, diags, "does not run");
}

/* ---- comparing ------------------------------------------------------------------------------------------------------------- */

static bool has_type_of(const struct interp_value *a, const struct interp_value *b) {
  return a->kind == INTERP_TENSOR && a->dtype == b->dtype && a->rank == b->rank
         && (a->rank == 0 || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0);
}

static bool check_types(const struct triple_values *outputs, const struct triple_values *expected, char *reason) {
  bool ok = outputs->count == expected->count;
  for (uint32_t i = 0; ok && i < expected->count; i++) {
    ok = has_type_of(outputs->values[i], expected->values[i]);
  }
  return ok || fail(reason, NULL, "the outputs have other types or shapes than recorded");
}

static bool check_values(const struct triple_values *outputs, const struct triple_values *expected, char *reason) {
  for (uint32_t i = 0; i < expected->count; i++) {
    const struct interp_value *a = outputs->values[i], *b = expected->values[i];
    if (a->size_bytes > 0 && memcmp(a->data, b->data, a->size_bytes) != 0) {
      struct strbuf text = {0};
      interp_print(a, &text);
      snprintf(reason, TRIPLE_REASON, "output %u differs: %s", i, strbuf_text(&text));
      strbuf_release(&text);
      return false;
    }
  }
  return true;
}

/* A kernel of a device is refused with its name. */
static bool check_refused(const struct diag_list *diags) {
  for (size_t i = 0; i < diags->entries.count; i++) {
    const struct diag *d = &diags->entries.data[i];
    for (size_t k = 0; k < sizeof device_targets / sizeof *device_targets; k++) {
      if (d->id == DIAG_E0701_NOT_EXECUTABLE && strstr(d->message, device_targets[k])) {
        return true;
      }
    }
  }
  return false;
}

/* One of the two forms of the program. */
static bool run_form(const char *path, bool is_bytecode, const struct triple_record *record, enum triple_kind *kind,
                     char *reason) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  struct diag_list diags;
  struct input_file file = {0};
  struct triple_values outputs = {0};
  diag_init(&diags);
  struct ir_module *module = read_module(path, is_bytecode, &file, &diags, reason);
  bool ok = module && run_module(module, record, &diags, &outputs, reason);
  *kind = is_undetermined(name)           ? TRIPLE_BY_TYPE
          : triple_is_decomposition(name) ? TRIPLE_BY_RECONSTRUCTION
                                          : TRIPLE_BY_VALUE;
  if (module && !ok && check_refused(&diags)) {
    *kind = TRIPLE_DEVICE_KERNEL;
    ok = true;
  } else {
    ok = ok && check_types(&outputs, &record->expected, reason)
         && (*kind != TRIPLE_BY_VALUE || check_values(&outputs, &record->expected, reason))
         && (*kind != TRIPLE_BY_RECONSTRUCTION || triple_check_decomposition(name, record, &outputs, reason));
  }
  triple_values_release(&outputs);
  ir_module_free(module);
  input_file_release(&file);
  diag_release(&diags);
  return ok;
}

bool triple_run(const char *path, enum triple_kind *kind, char *reason) {
  char text_path[4096], record_path[4096];
  int stem = (int)(strlen(path) - strlen(".mlir.bc"));
  struct diag_list diags;
  struct input_file file = {0};
  struct triple_record record = {0};
  enum triple_kind text_kind = TRIPLE_BY_VALUE;
  snprintf(text_path, sizeof text_path, "%.*s.mlir", stem, path);
  snprintf(record_path, sizeof record_path, "%.*s.io.txt", stem, path);
  diag_init(&diags);
  bool ok = input_file_read(&file, record_path, 0, &diags) == STATUS_OK
                ? triple_record_parse(file.text, &record, reason)
                : fail(reason, &diags, "has no record");
  ok = ok && run_form(path, true, &record, kind, reason) && run_form(text_path, false, &record, &text_kind, reason);
  if (ok && *kind != text_kind) {
    ok = fail(reason, NULL, "artifact and text do different things");
  }
  triple_values_release(&record.inputs);
  triple_values_release(&record.expected);
  input_file_release(&file);
  diag_release(&diags);
  return ok;
}
