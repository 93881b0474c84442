/* Words for the enums of work.h: used by reports, the printer and the parser of the text form. */
#include "work/work_int.h"
#include "work/work_result.h"

#include <string.h>

#include "hw/hw.h"

_Static_assert((int)WORK_FUNCTION_EXP == (int)HW_FUNCTION_EXP && (int)WORK_FUNCTION_LOG == (int)HW_FUNCTION_LOG
                   && (int)WORK_FUNCTION_RSQRT == (int)HW_FUNCTION_RSQRT
                   && (int)WORK_FUNCTION_TANH == (int)HW_FUNCTION_TANH && (int)WORK_FUNCTION_SIN == (int)HW_FUNCTION_SIN
                   && (int)WORK_FUNCTION_DIVIDE == (int)HW_FUNCTION_DIVIDE
                   && (int)WORK_FUNCTION_POWER == (int)HW_FUNCTION_POWER
                   && (int)WORK_FUNCTION_ERF == (int)HW_FUNCTION_ERF
                   && (int)WORK_FUNCTION_OTHER == (int)HW_FUNCTION_OTHER
                   && (int)WORK_FUNCTION_NONE == (int)HW_FUNCTION_COUNT,
               "special functions are numbered alike in work/ and hw/");

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static const char *const class_names[] = {
    "matrix",         "convolution", "elementwise", "reduction", "movement", "indexed", "sort",
    "linear_algebra", "random",      "collective",  "host",      "control",  "custom",  "free",
};
static const char *const engine_names[] = {"matrix", "vector", "function", "integer"};
static const char *const function_names[] = {"exp",    "log",   "rsqrt", "tanh",  "sin",
                                             "divide", "power", "erf",   "other", "none"};
static const char *const precision_names[] = {"default", "high", "highest"};
static const char *const axis_names[] = {"batch", "row", "column", "parallel", "reduction", "window"};
static const char *const reduction_names[] = {"none", "add", "multiply", "maximum", "minimum", "and", "or", "other"};
static const char *const collective_names[] = {"all_reduce", "all_gather",           "reduce_scatter",    "all_to_all",
                                               "permute",    "collective_broadcast", "collective_reduce", "send_recv"};
static const char *const role_names[] = {"input", "constant", "intermediate"};
static const char *const bound_names[] = {"matrix", "vector", "function", "integer", "cache",
                                          "memory", "launch", "network",  "none"};
static const struct work_kind_info kinds[] = {
#define WORK_KIND(id, name, cls, fusible, free) {name, WORK_CLASS_##cls, fusible, free},
#include "work/work_kinds.def"
#undef WORK_KIND
};
static const char *const kind_names[] = {
#define WORK_KIND(id, name, cls, fusible, free) name,
#include "work/work_kinds.def"
#undef WORK_KIND
};
_Static_assert(COUNT_OF(class_names) == WORK_CLASS_COUNT, "one name per class");
_Static_assert(COUNT_OF(engine_names) == WORK_ENGINE_COUNT, "one name per engine");
_Static_assert(COUNT_OF(function_names) == WORK_FUNCTION_NONE + 1, "one name per function");
_Static_assert(COUNT_OF(collective_names) == WORK_SEND_RECV + 1, "one name per collective");
_Static_assert(COUNT_OF(bound_names) == WORK_BOUND_COUNT, "one name per bound");

const struct work_words work_words_class = {class_names, COUNT_OF(class_names)};
const struct work_words work_words_engine = {engine_names, COUNT_OF(engine_names)};
const struct work_words work_words_function = {function_names, COUNT_OF(function_names)};
const struct work_words work_words_precision = {precision_names, COUNT_OF(precision_names)};
const struct work_words work_words_axis = {axis_names, COUNT_OF(axis_names)};
const struct work_words work_words_collective = {collective_names, COUNT_OF(collective_names)};
const struct work_words work_words_reduction = {reduction_names, COUNT_OF(reduction_names)};
const struct work_words work_words_role = {role_names, COUNT_OF(role_names)};
const struct work_words work_words_kind = {kind_names, COUNT_OF(kind_names)};

uint32_t work_words_find(const struct work_words *words, const char *text, size_t length) {
  for (uint32_t i = 0; i < words->count; i++) {
    if (strlen(words->names[i]) == length && memcmp(words->names[i], text, length) == 0) {
      return i;
    }
  }
  return words->count;
}

const char *work_words_get(const struct work_words *words, uint32_t value) {
  return value < words->count ? words->names[value] : "?";
}

const struct work_kind_info *work_kind_info(enum work_kind kind) {
  return &kinds[kind];
}
const char *work_class_name(enum work_class class_of) {
  return work_words_get(&work_words_class, class_of);
}
const char *work_engine_name(enum work_engine engine) {
  return work_words_get(&work_words_engine, engine);
}
const char *work_collective_name(enum work_collective_kind kind) {
  return work_words_get(&work_words_collective, kind);
}
const char *work_bound_name(enum work_bound bound) {
  return (unsigned)bound < WORK_BOUND_COUNT ? bound_names[bound] : "?";
}
