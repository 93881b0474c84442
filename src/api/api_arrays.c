/* Named tensors: read from numpy's files or spelt as attributes, and written to files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_context.h"
#include "interp/interp.h"
#include "io/npy.h"
#include "mlir/mlir.h"

static const uint64_t default_budget_bytes = (uint64_t)8 << 30;

/* Either of the two has items. */
struct rdg_arrays {
  struct npy_arrays files;
  VEC(struct interp_value *) values;
};

rdg_status rdg_arrays_read(rdg_context *ctx, const char *path, uint64_t memory_budget_bytes, rdg_arrays **arrays) {
  api_begin(ctx);
  *arrays = calloc(1, sizeof **arrays);
  if (!*arrays) {
    return api_result(ctx, RDG_ERROR_MEMORY);
  }
  uint64_t budget = memory_budget_bytes ? memory_budget_bytes : default_budget_bytes;
  enum status status = npy_read(&(*arrays)->files, path, budget, &ctx->diags);
  if (status != STATUS_OK) {
    rdg_arrays_free(*arrays);
    *arrays = NULL;
  }
  return api_result(ctx, api_status(status));
}

/* ---- attributes ------------------------------------------------------------------------------------------------------ */

/* A splat must not become more than this: a text of a few bytes can name any size. */
static bool is_small(const struct ir_module *m, struct ir_type type) {
  uint64_t bytes = ir_dense_element_size((enum dtype)ir_type_get(m, type)->dtype);
  bool overflows = false, is_empty = false;
  for (uint32_t i = 0; i < ir_type_get(m, type)->rank; i++) {
    int64_t dim = ir_type_dims(m, type)[i];
    is_empty |= dim == 0;
    overflows |= dim < 0 || __builtin_mul_overflow(bytes, (uint64_t)dim, &bytes);
  }
  return is_empty || (!overflows && bytes <= default_budget_bytes);
}

static enum status add_attributes(rdg_context *ctx, const struct ir_module *m, struct ir_attr list,
                                  rdg_arrays *arrays) {
  for (uint64_t i = 0; i < ir_attr_length(m, list); i++) {
    struct ir_attr item = {m->lists.data[ir_attr_get(m, list)->list_first + i]};
    const struct ir_attr_data *data = ir_attr_get(m, item);
    bool is_tensor = data->kind == IR_ATTR_DENSE && ir_type_is_static(m, data->type);
    if (!is_tensor || data->type.id == 0 || ir_type_get(m, data->type)->dtype == DTYPE_NONE) {
      diag_file(&ctx->diags, DIAG_E0601_USAGE, NULL, 0, 0, "argument %zu is no 'dense<...> : tensor<...>' of numbers",
                (size_t)i);
      return STATUS_INPUT;
    }
    if (!is_small(m, data->type)) {
      diag_file(&ctx->diags, DIAG_E0005_LIMIT, NULL, 0, 0, "argument %zu takes more than 8 GiB", (size_t)i);
      return STATUS_LIMIT;
    }
    struct interp_value *value = interp_from_attr(m, item);
    if (!value || !vec_push(&arrays->values, value)) {
      interp_release(value);
      return STATUS_MEMORY;
    }
  }
  return STATUS_OK;
}

rdg_status rdg_arrays_parse(rdg_context *ctx, const char *text, rdg_arrays **arrays) {
  api_begin(ctx);
  struct ir_module *module = NULL;
  struct ir_attr list;
  struct source source = {"arguments", text, strlen(text)};
  *arrays = calloc(1, sizeof **arrays);
  enum status status = *arrays ? mlir_parse_list(&source, &ctx->diags, &module, &list) : STATUS_MEMORY;
  if (status == STATUS_OK) {
    status = add_attributes(ctx, module, list, *arrays);
  }
  ir_module_free(module);
  if (status != STATUS_OK) {
    rdg_arrays_free(*arrays);
    *arrays = NULL;
  }
  return api_result(ctx, api_status(status));
}

/* ---- for callers ---------------------------------------------------------------------------------------------------- */

size_t rdg_arrays_count(const rdg_arrays *arrays) {
  return arrays->files.items.count + arrays->values.count;
}

bool rdg_arrays_get(const rdg_arrays *arrays, size_t i, const char **name, rdg_tensor *tensor) {
  size_t files = arrays->files.items.count;
  if (i >= rdg_arrays_count(arrays)) {
    return false;
  }
  if (name) {
    *name = i < files ? arrays->files.items.data[i].name : "";
  }
  if (i < files) {
    const struct npy_array *a = &arrays->files.items.data[i];
    *tensor = (rdg_tensor){(rdg_dtype)a->dtype, a->rank, a->dims, a->data, a->size_bytes};
  } else {
    const struct interp_value *v = arrays->values.data[i - files];
    *tensor = (rdg_tensor){(rdg_dtype)v->dtype, v->rank, v->dims, v->data, (size_t)v->size_bytes};
  }
  return true;
}

void rdg_arrays_free(rdg_arrays *arrays) {
  if (!arrays) {
    return;
  }
  npy_release(&arrays->files);
  for (size_t i = 0; i < arrays->values.count; i++) {
    interp_release(arrays->values.data[i]);
  }
  vec_release(&arrays->values);
  free(arrays);
}

rdg_status rdg_arrays_write(rdg_context *ctx, const char *path, const char *const *names, const rdg_tensor *tensors,
                            size_t count) {
  api_begin(ctx);
  struct npy_source *sources = calloc(count + 1, sizeof *sources);
  char(*numbers)[32] = calloc(count + 1, sizeof *numbers);
  enum status status = sources && numbers ? STATUS_OK : STATUS_MEMORY;
  for (size_t i = 0; status == STATUS_OK && i < count; i++) {
    (void)snprintf(numbers[i], sizeof numbers[i], "arr_%zu", i);
    bool is_type = (int)tensors[i].dtype >= 0 && (int)tensors[i].dtype < DTYPE_COUNT;
    sources[i] = (struct npy_source){.name = names ? names[i] : numbers[i],
                                     .dtype = is_type ? (enum dtype)tensors[i].dtype : DTYPE_NONE,
                                     .rank = tensors[i].rank,
                                     .dims = tensors[i].dims,
                                     .data = tensors[i].data,
                                     .size_bytes = tensors[i].size_bytes};
  }
  if (status == STATUS_OK) {
    status = npy_write(path, sources, count, &ctx->diags);
  }
  free(sources);
  free(numbers);
  return api_result(ctx, api_status(status));
}
