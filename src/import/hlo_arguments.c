/* Attributes of the arguments of @main: shardings, and what the head of the module says about storage, leaf by leaf.
 * Source of the forms: HloInputOutputAliasConfig and HloBufferDonorConfig as XLA prints them. See hlo_build.h. */
#include "import/hlo_build.h"

enum { ALIAS_NONE = -1, ALIAS_ANY = -2 /* donated; the compiler chooses the output */ };

/* Leaves of a part of a shape, which {1,0} names from the outside inwards. */
struct leaves {
  uint32_t first, count;
};

static bool read_index(struct hlo_cursor *c, const struct hlo_shape *shape, struct leaves *leaves) {
  int64_t index;
  leaves->first = 0;
  if (!hlo_try(c, '{')) {
    return false;
  }
  while (hlo_peek(c) != '}') {
    if (!hlo_integer(c, &index) || index < 0 || shape->kind != HLO_SHAPE_TUPLE || index >= (int64_t)shape->count) {
      return false;
    }
    leaves->first += shape->first_leaf[index];
    shape = shape->parts[index];
    (void)hlo_try(c, ',');
  }
  leaves->count = shape->leaf_count;
  return hlo_try(c, '}');
}

static const struct hlo_shape *parameter_shape(const struct hlo_module *hlo, const struct hlo_computation *entry,
                                               uint32_t i) {
  return hlo->instructions.data[entry->first + hlo->parameters.data[entry->parameter_first + i]].shape;
}

/* (1, {}, may-alias) or (1, {}): leaves of the arguments. */
static bool read_parameter(const struct hlo_module *hlo, const struct hlo_computation *entry, struct hlo_cursor *c,
                           struct leaves *leaves) {
  int64_t number;
  uint32_t before = 0;
  bool ok = hlo_try(c, '(') && hlo_integer(c, &number) && number >= 0 && number < (int64_t)entry->parameter_count
            && hlo_try(c, ',');
  for (int64_t i = 0; ok && i < number; i++) {
    before += parameter_shape(hlo, entry, (uint32_t)i)->leaf_count;
  }
  ok = ok && read_index(c, parameter_shape(hlo, entry, (uint32_t)number), leaves);
  leaves->first += before;
  (void)(ok && hlo_try(c, ',') && hlo_name(c).length);
  return ok && hlo_try(c, ')');
}

/* input_output_alias={ {0}: (1, {}, may-alias), ...}. What is not understood ends the list: storage is not the program. */
static void read_aliases(const struct hlo_module *hlo, const struct hlo_computation *entry, int64_t *output_of) {
  struct hlo_cursor c = hlo_cursor_of(hlo_attr_in(hlo, hlo->attr_first, hlo->attr_count, "input_output_alias"));
  const struct hlo_shape *result = hlo->instructions.data[entry->first + entry->root].shape;
  struct leaves output, argument;
  bool ok = c.at != NULL && hlo_try(&c, '{');
  while (ok && read_index(&c, result, &output) && hlo_try(&c, ':') && read_parameter(hlo, entry, &c, &argument)) {
    for (uint32_t i = 0; i < output.count && i < argument.count; i++) {
      output_of[argument.first + i] = output.first + i;
    }
    ok = hlo_try(&c, ',');
  }
}

/* buffer_donor={ (0, {}), (2, {1}) } */
static void read_donors(const struct hlo_module *hlo, const struct hlo_computation *entry, int64_t *output_of) {
  struct hlo_cursor c = hlo_cursor_of(hlo_attr_in(hlo, hlo->attr_first, hlo->attr_count, "buffer_donor"));
  struct leaves argument;
  bool ok = c.at != NULL && hlo_try(&c, '{');
  while (ok && read_parameter(hlo, entry, &c, &argument)) {
    for (uint32_t i = 0; i < argument.count; i++) {
      int64_t *output = &output_of[argument.first + i];
      *output = *output == ALIAS_NONE ? ALIAS_ANY : *output;
    }
    ok = hlo_try(&c, ',');
  }
}

/* Attributes of one leaf; a sharding of a tuple is not that of its leaves. */
static struct ir_attr leaf_attr(struct hlo_builder *b, const struct hlo_instruction *in, int64_t output) {
  b->pairs.count = 0;
  bool ok = in->shape->kind == HLO_SHAPE_TUPLE || hlo_push_annotations(b, in);
  if (ok && output >= 0 && output <= INT32_MAX) {
    ok = hlo_push_attr(b, "tf.aliasing_output", ir_attr_integer(b->m, output, ir_type_scalar(b->m, DTYPE_I32)));
  } else if (ok && output == ALIAS_ANY) {
    ok = hlo_push_attr(b, "jax.buffer_donor", ir_attr_bool(b->m, true));
  }
  struct ir_attr dict = {0};
  if (ok) {
    dict = ir_attr_dict(b->m, b->pairs.data, (uint32_t)b->pairs.count / 2);
  }
  (void)hlo_ok(b, !ok || dict.id != 0);
  return dict;
}

struct ir_attr hlo_argument_attrs(struct hlo_builder *b, uint32_t computation) {
  const struct hlo_module *hlo = b->hlo;
  const struct hlo_computation *entry = &hlo->computations.data[computation];
  size_t count = 0;
  for (uint32_t i = 0; i < entry->parameter_count; i++) {
    count += parameter_shape(hlo, entry, i)->leaf_count;
  }
  int64_t *output_of = malloc((count + 1) * sizeof *output_of);
  VEC(struct ir_attr) items = {0};
  struct ir_attr empty = ir_attr_dict(b->m, NULL, 0), all = {0};
  bool ok = hlo_ok(b, output_of != NULL), has_any = false;
  for (size_t i = 0; i < count && ok; i++) {
    output_of[i] = ALIAS_NONE;
  }
  if (ok) {
    read_aliases(hlo, entry, output_of);
    read_donors(hlo, entry, output_of);
  }
  for (uint32_t i = 0; i < entry->parameter_count && ok; i++) {
    const struct hlo_instruction *in =
        &hlo->instructions.data[entry->first + hlo->parameters.data[entry->parameter_first + i]];
    for (uint32_t k = 0; k < in->shape->leaf_count && ok; k++) {
      struct ir_attr dict = leaf_attr(b, in, output_of[items.count]);
      has_any = has_any || dict.id != empty.id;
      ok = dict.id != 0 && hlo_ok(b, vec_push(&items, dict));
    }
  }
  if (ok && has_any) {
    all = ir_attr_array(b->m, items.data, (uint32_t)items.count);
  }
  free(output_of);
  vec_release(&items);
  b->pairs.count = 0;
  return all;
}
