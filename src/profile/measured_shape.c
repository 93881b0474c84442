/* Shapes of kernels as text: a flat JSON object, one row of the table below per key. A scanner of its own, because a
 * profile has hundreds of thousands of them and a JSON document per row would be most of the loading time. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/decimal.h"
#include "profile/measured_kernels.h"

enum key_kind { KEY_EXTENT, KEY_NUMBER, KEY_BOOL, KEY_FLAG, KEY_FUNCTION };

struct shape_key {
  const char *name;
  uint32_t classes; /* bit per enum kernel_class */
  enum key_kind kind;
  bool is_needed;
  double least, absent; /* smallest value; value when it is absent */
  size_t offset; /* in struct kernel_shape; FLAG: the bit */
};

#define BIT(class_of) (1u << KERNEL_##class_of)
#define ATTENTION (BIT(ATTENTION_PREFILL) | BIT(ATTENTION_DECODE))
#define PASS (BIT(ELEMENTWISE) | BIT(SOFTMAX) | BIT(NORMALISATION))
#define ALL ((1u << KERNEL_CLASS_COUNT) - 1)
#define AT(member) offsetof(struct kernel_shape, member)

static const struct shape_key keys[] = {
    {"m", BIT(GEMM), KEY_EXTENT, true, 1, 0, AT(gemm.m)},
    {"n", BIT(GEMM), KEY_EXTENT, true, 1, 0, AT(gemm.n)},
    {"k", BIT(GEMM), KEY_EXTENT, true, 1, 0, AT(gemm.k)},
    {"batch", BIT(GEMM), KEY_EXTENT, false, 1, 1, AT(gemm.batch)},
    {"batch", ATTENTION, KEY_EXTENT, false, 1, 1, AT(attention.batch)},
    {"queries", ATTENTION, KEY_EXTENT, false, 1, 1, AT(attention.queries)},
    {"context", ATTENTION, KEY_EXTENT, true, 1, 0, AT(attention.context)},
    {"heads", ATTENTION, KEY_EXTENT, true, 1, 0, AT(attention.heads)},
    {"kv_heads", ATTENTION, KEY_EXTENT, true, 1, 0, AT(attention.kv_heads)},
    {"head_dim", ATTENTION, KEY_EXTENT, true, 1, 0, AT(attention.head_dim)},
    {"window", ATTENTION, KEY_NUMBER, false, 0, 0, AT(attention.window)},
    {"causal", ATTENTION, KEY_BOOL, false, 0, 0, AT(attention.is_causal)},
    {"tokens", BIT(GROUPED_GEMM), KEY_EXTENT, true, 1, 0, AT(grouped.tokens)},
    {"hidden", BIT(GROUPED_GEMM), KEY_EXTENT, true, 1, 0, AT(grouped.hidden)},
    {"inter", BIT(GROUPED_GEMM), KEY_EXTENT, true, 1, 0, AT(grouped.inter)},
    {"top_k", BIT(GROUPED_GEMM), KEY_EXTENT, true, 1, 0, AT(grouped.top_k)},
    {"experts", BIT(GROUPED_GEMM), KEY_EXTENT, true, 1, 0, AT(grouped.experts)},
    {"tensor_parallel", BIT(GROUPED_GEMM), KEY_EXTENT, false, 1, 1, AT(grouped.tensor_parallel)},
    {"expert_parallel", BIT(GROUPED_GEMM), KEY_EXTENT, false, 1, 1, AT(grouped.expert_parallel)},
    {"skew", BIT(GROUPED_GEMM), KEY_NUMBER, false, 0, 0, AT(grouped.skew)},
    {"plain", BIT(GROUPED_GEMM), KEY_BOOL, false, 0, 0, AT(grouped.is_plain)},
    {"rows", PASS, KEY_EXTENT, false, 1, 1, AT(pass.rows)},
    {"columns", PASS, KEY_EXTENT, true, 1, 0, AT(pass.columns)},
    {"planes", PASS, KEY_EXTENT, false, 1, 1, AT(planes)},
    {"reads", PASS, KEY_NUMBER, false, 0, 1, AT(pass.reads)},
    {"writes", PASS, KEY_NUMBER, false, 0, 1, AT(pass.writes)},
    {"vector_flops", PASS, KEY_NUMBER, false, 0, 0, AT(pass.vector_flops)},
    {"function", PASS, KEY_FUNCTION, false, 0, HW_FUNCTION_COUNT, AT(pass.function)},
    {"warm", ALL, KEY_FLAG, false, 0, 0, KERNEL_WARM},
    {"quantises", ALL, KEY_FLAG, false, 0, 0, KERNEL_QUANTISES},
    {"bias", ALL, KEY_FLAG, false, 0, 0, KERNEL_BIAS},
};
enum { KEY_COUNT = sizeof keys / sizeof keys[0] };
_Static_assert(KEY_COUNT <= 32, "one bit per key");

static const char *const function_names[HW_FUNCTION_COUNT] = {
    [HW_FUNCTION_EXP] = "exp",     [HW_FUNCTION_LOG] = "log", [HW_FUNCTION_RSQRT] = "rsqrt",
    [HW_FUNCTION_TANH] = "tanh",   [HW_FUNCTION_SIN] = "sin", [HW_FUNCTION_DIVIDE] = "divide",
    [HW_FUNCTION_POWER] = "power", [HW_FUNCTION_ERF] = "erf", [HW_FUNCTION_OTHER] = "other",
};

enum hw_function measured_function_find(const char *name) {
  unsigned i = 0;
  while (i < HW_FUNCTION_COUNT && strcmp(function_names[i], name) != 0) {
    i++;
  }
  return (enum hw_function)i;
}

unsigned measured_shape_keys(enum kernel_class class_of, const char *names[MEASURED_SHAPE_KEY_MAX],
                             bool is_needed[MEASURED_SHAPE_KEY_MAX]) {
  unsigned count = 0;
  for (unsigned i = 0; i < KEY_COUNT && count < MEASURED_SHAPE_KEY_MAX; i++) {
    if (keys[i].classes & 1u << class_of) {
      names[count] = keys[i].name;
      is_needed[count++] = keys[i].is_needed;
    }
  }
  return count;
}

/* Far beyond any array; keeps every product of extents finite. */
static const double largest_number = 1e15;

/* False when the value is not one the key may have. */
static bool set_value(struct kernel_shape *shape, const struct shape_key *key, double value) {
  char *at = (char *)shape + key->offset;
  switch (key->kind) {
  case KEY_EXTENT:
  case KEY_NUMBER:
    memcpy(at, &value, sizeof value);
    return value >= key->least && value <= largest_number; /* refuses NaN as well */
  case KEY_BOOL:
    *(bool *)at = value != 0;
    return value == 0 || value == 1;
  case KEY_FLAG:
    shape->flags |= value != 0 ? (uint32_t)key->offset : 0;
    return value == 0 || value == 1;
  case KEY_FUNCTION:
    *(uint8_t *)at = (uint8_t)(value >= 0 && value < HW_FUNCTION_COUNT ? value : HW_FUNCTION_COUNT);
    return value >= 0 && value <= HW_FUNCTION_COUNT && value == floor(value);
  }
  return false;
}

struct scanner {
  const char *at;
};

static void skip_space(struct scanner *s) {
  while (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r') {
    s->at++;
  }
}

static bool take(struct scanner *s, char c) {
  skip_space(s);
  bool is_there = *s->at == c;
  s->at += is_there;
  return is_there;
}

/* A string without escapes; no key and no name has any. */
static bool take_string(struct scanner *s, const char **text, size_t *length) {
  if (!take(s, '"')) {
    return false;
  }
  *text = s->at;
  while (*s->at != '\0' && *s->at != '"' && *s->at != '\\') {
    s->at++;
  }
  *length = (size_t)(s->at - *text);
  return take(s, '"');
}

static bool is_number_part(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

static bool take_number(struct scanner *s, double *value) {
  const char *start = s->at;
  uint64_t whole = 0;
  while (*s->at >= '0' && *s->at <= '9' && s->at - start < 15) {
    whole = whole * 10 + (uint64_t)(*s->at++ - '0');
  }
  if (s->at > start && !is_number_part(*s->at)) {
    *value = (double)whole;
    return true;
  }
  while (is_number_part(*s->at)) {
    s->at++;
  }
  return decimal_parse(start, (size_t)(s->at - start), value);
}

static const struct shape_key *find_key(enum kernel_class class_of, const char *name, size_t length) {
  for (unsigned i = 0; i < KEY_COUNT; i++) {
    const struct shape_key *key = &keys[i];
    if ((key->classes & 1u << class_of) && strncmp(key->name, name, length) == 0 && key->name[length] == '\0') {
      return key;
    }
  }
  return NULL;
}

/* One "key": value; the bit of the key is set in *seen. */
static bool take_member(struct scanner *s, struct kernel_shape *shape, uint32_t *seen) {
  const char *text;
  size_t length;
  if (!take_string(s, &text, &length) || !take(s, ':')) {
    return false;
  }
  const struct shape_key *key = find_key(shape->class_of, text, length);
  if (key == NULL || (*seen & 1u << (key - keys)) != 0) {
    return false;
  }
  *seen |= 1u << (key - keys);
  skip_space(s);
  double value = 0;
  if (key->kind == KEY_FUNCTION && *s->at == '"') {
    char name[16] = "";
    if (!take_string(s, &text, &length) || length >= sizeof name) {
      return false;
    }
    memcpy(name, text, length);
    enum hw_function function = measured_function_find(name);
    return (function != HW_FUNCTION_COUNT || strcmp(name, "none") == 0) && set_value(shape, key, function);
  }
  return take_number(s, &value) && set_value(shape, key, value);
}

bool measured_shape_parse(enum kernel_class class_of, enum kernel_format format, const char *json,
                          struct kernel_shape *shape) {
  *shape = (struct kernel_shape){.class_of = class_of, .format = format};
  for (unsigned i = 0; i < KEY_COUNT; i++) {
    if (!keys[i].is_needed && (keys[i].classes & 1u << class_of)) {
      (void)set_value(shape, &keys[i], keys[i].absent);
    }
  }
  struct scanner s = {json};
  uint32_t seen = 0;
  bool is_good = take(&s, '{');
  if (is_good && !take(&s, '}')) {
    do {
      is_good = take_member(&s, shape, &seen);
    } while (is_good && take(&s, ','));
    is_good = is_good && take(&s, '}');
  }
  skip_space(&s);
  for (unsigned i = 0; i < KEY_COUNT && is_good; i++) {
    is_good = !keys[i].is_needed || !(keys[i].classes & 1u << class_of) || (seen & 1u << i) != 0;
  }
  return is_good && *s.at == '\0';
}
