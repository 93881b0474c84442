/* What the entry function of a program takes and gives, for callers: one entry per leaf of its types. */
#include <stdio.h>
#include <string.h>

#include "api/api_context.h"
#include "interp/interp.h"
#include "mlir/mlir.h"

_Static_assert((int)RDG_DTYPE_INDEX == (int)DTYPE_INDEX && (int)DTYPE_COUNT == (int)RDG_DTYPE_INDEX + 1
                   && (int)RDG_DTYPE_UI2 == (int)DTYPE_UI2 && (int)RDG_DTYPE_F16 == (int)DTYPE_F16
                   && (int)RDG_DTYPE_F64 == (int)DTYPE_F64,
               "public and internal numbers of element types agree");

const char *rdg_dtype_name(rdg_dtype dtype) {
  return dtype_name((int)dtype > 0 && (int)dtype < DTYPE_COUNT ? (enum dtype)dtype : DTYPE_NONE);
}

rdg_dtype rdg_dtype_parse(const char *name) {
  return (rdg_dtype)dtype_parse(name, strlen(name));
}

size_t rdg_dtype_size(rdg_dtype dtype) {
  return (int)dtype > 0 && (int)dtype < DTYPE_COUNT ? ir_dense_element_size((enum dtype)dtype) : 0;
}

/* ---- names ---------------------------------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end) {
  size_t a = strlen(text), b = strlen(end);
  return a >= b && strcmp(text + a - b, end) == 0;
}

/* Frameworks name arguments in attributes: jax.arg_info = "x", ttir.name = "x"; NULL when there is none. */
static const char *framework_name(const struct ir_module *m, struct ir_op function, uint32_t parameter) {
  struct ir_attr all = ir_op_attr(m, function, "arg_attrs");
  if (!all.id || parameter >= ir_attr_get(m, all)->list_count) {
    return NULL;
  }
  const struct ir_attr_data *dict =
      ir_attr_get(m, (struct ir_attr){m->lists.data[ir_attr_get(m, all)->list_first + parameter]});
  for (uint32_t i = 0; i < dict->list_count; i++) {
    const char *key = ir_text(m, m->lists.data[dict->list_first + 2 * i]);
    const struct ir_attr_data *value = ir_attr_get(m, (struct ir_attr){m->lists.data[dict->list_first + 2 * i + 1]});
    if (value->kind == IR_ATTR_STRING && (ends_with(key, ".arg_info") || ends_with(key, ".name"))) {
      return ir_text(m, value->text);
    }
  }
  return NULL;
}

/* ---- leaves --------------------------------------------------------------------------------------------------------- */

/* Leaves of a type that a caller gives or gets; tokens are none. Saturates at more than there may be. */
static size_t count_leaves(const struct ir_module *m, struct ir_type type) {
  const struct ir_type_data *data = ir_type_get(m, type);
  if (data->kind == IR_TYPE_TOKEN) {
    return 0;
  }
  if (data->kind != IR_TYPE_TUPLE) {
    return 1;
  }
  if (data->leaf_count > API_MAX_LEAVES) { /* of shared parts there may be millions */
    return API_MAX_LEAVES + 1;
  }
  size_t count = 0;
  for (uint32_t i = 0; i < data->count && count <= API_MAX_LEAVES; i++) {
    count += count_leaves(m, (struct ir_type){m->lists.data[data->first + i]});
  }
  return count;
}

struct signer {
  rdg_program *program;
  const struct ir_module *m;
  struct api_signature *signature;
  bool ok;
};

static const char *type_text(struct signer *s, struct ir_type type) {
  struct strbuf text = {0};
  mlir_print_type(s->m, type, &text);
  const char *copy = text.failed ? NULL : arena_strndup(&s->program->arena, strbuf_text(&text), text.length);
  strbuf_release(&text);
  s->ok &= copy != NULL;
  return copy;
}

static const char *number_text(struct signer *s, const char *stem, size_t number) {
  char text[48];
  int length = snprintf(text, sizeof text, "%s%zu", stem, number);
  const char *copy = arena_strndup(&s->program->arena, text, (size_t)length);
  s->ok &= copy != NULL;
  return copy;
}

static void add_leaf(struct signer *s, struct ir_type type, const char *name) {
  const struct ir_type_data *data = ir_type_get(s->m, type);
  size_t i = s->signature->count++;
  rdg_signature_entry *entry = &s->signature->entries[i];
  s->signature->types[i] = type;
  *entry = (rdg_signature_entry){.name = name, .type = type_text(s, type)};
  if (data->kind != IR_TYPE_TENSOR) {
    return;
  }
  int64_t *dims = arena_alloc(&s->program->arena, (data->rank + 1U) * sizeof *dims);
  s->ok &= dims != NULL;
  for (uint32_t d = 0; dims && d < data->rank; d++) {
    int64_t dim = ir_type_dims(s->m, type)[d];
    dims[d] = dim == IR_DYNAMIC ? -1 : dim;
  }
  entry->dtype = (rdg_dtype)data->dtype;
  entry->rank = data->rank;
  entry->dims = dims;
}

/* Tuples nest no deeper than the parser allows. */
static void add_leaves(struct signer *s, struct ir_type type, const char *name) {
  const struct ir_type_data *data = ir_type_get(s->m, type);
  if (data->kind != IR_TYPE_TUPLE && data->kind != IR_TYPE_TOKEN) {
    add_leaf(s, type, name ? name : number_text(s, "arr_", s->signature->count));
  }
  for (uint32_t i = 0; data->kind == IR_TYPE_TUPLE && i < data->count; i++) {
    add_leaves(s, (struct ir_type){s->m->lists.data[data->first + i]}, name);
  }
}

/* Types [first, last) of the function type. */
static void sign(struct signer *s, struct ir_op function, uint32_t first, uint32_t last, bool is_inputs) {
  const struct ir_type_data *type = ir_type_get(s->m, ir_function_type(s->m, function));
  size_t count = 0;
  for (uint32_t i = first; i < last && count <= API_MAX_LEAVES; i++) {
    count += count_leaves(s->m, (struct ir_type){s->m->lists.data[type->first + i]});
  }
  if (count > API_MAX_LEAVES) {
    return;
  }
  s->signature->entries = arena_calloc(&s->program->arena, count + 1, sizeof *s->signature->entries);
  s->signature->types = arena_calloc(&s->program->arena, count + 1, sizeof *s->signature->types);
  s->ok &= s->signature->entries && s->signature->types;
  for (uint32_t i = first; s->ok && i < last; i++) {
    const char *name = is_inputs ? framework_name(s->m, function, i - first) : NULL;
    add_leaves(s, (struct ir_type){s->m->lists.data[type->first + i]},
               name || !is_inputs ? name : number_text(s, "arg", i - first));
  }
}

bool api_sign(rdg_program *program) {
  const struct ir_module *m = program->program->module;
  struct ir_op function = program->program->entry;
  const struct ir_type_data *type = ir_type_get(m, ir_function_type(m, function));
  struct signer inputs = {.program = program, .m = m, .signature = &program->inputs, .ok = true};
  struct signer outputs = {.program = program, .m = m, .signature = &program->outputs, .ok = true};
  sign(&inputs, function, 0, type->input_count, true);
  sign(&outputs, function, type->input_count, type->count, false);
  return inputs.ok && outputs.ok;
}

/* ---- for callers ---------------------------------------------------------------------------------------------------- */

size_t rdg_program_input_count(const rdg_program *program) {
  return program->inputs.count;
}

size_t rdg_program_output_count(const rdg_program *program) {
  return program->outputs.count;
}

static bool get(const struct api_signature *signature, size_t i, rdg_signature_entry *entry) {
  if (i >= signature->count) {
    return false;
  }
  *entry = signature->entries[i];
  return true;
}

bool rdg_program_input(const rdg_program *program, size_t i, rdg_signature_entry *entry) {
  return get(&program->inputs, i, entry);
}

bool rdg_program_output(const rdg_program *program, size_t i, rdg_signature_entry *entry) {
  return get(&program->outputs, i, entry);
}
