/* Reading .npy: a magic, a header that is a Python dictionary with three keys, the elements. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/input_file.h"
#include "io/npy.h"

static const char magic[] = "\x93NUMPY";
enum { MAGIC_BYTES = 6 };

/* Kinds of elements: letter and bytes of a descr ("<f4": byte order, letter, bytes). */
static const struct {
  char letter;
  uint8_t bytes;
  uint8_t swapped_bytes; /* unit of byte order: a part of a complex number */
  enum dtype dtype;
} kinds[] = {
    {'b', 1, 1, DTYPE_I1},   {'i', 1, 1, DTYPE_I8},    {'i', 2, 2, DTYPE_I16},
    {'i', 4, 4, DTYPE_I32},  {'i', 8, 8, DTYPE_I64},   {'u', 1, 1, DTYPE_UI8},
    {'u', 2, 2, DTYPE_UI16}, {'u', 4, 4, DTYPE_UI32},  {'u', 8, 8, DTYPE_UI64},
    {'f', 2, 2, DTYPE_F16},  {'f', 4, 4, DTYPE_F32},   {'f', 8, 8, DTYPE_F64},
    {'c', 8, 4, DTYPE_C64},  {'c', 16, 8, DTYPE_C128}, {'V', 1, 1, DTYPE_NONE},
    {'V', 2, 2, DTYPE_NONE}, /* ml_dtypes: bfloat16 is V2, float8_* and int4 are V1 ... */
    {'f', 1, 1, DTYPE_NONE}, /* ... and float8_e5m2 is f1 */
};
enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

/* What a letter means that has no kind here. */
static const struct {
  char letter;
  const char *what;
} refused[] = {{'O', "Python objects"},       {'U', "text"},   {'S', "text"}, {'a', "text"}, {'M', "dates"},
               {'m', "differences of dates"}, {'V', "records"}};

/* The header while it is read. */
struct header {
  const char *file, *name;
  struct diag_list *diags;
  const char *at, *end;
  size_t kind; /* index into kinds */
  bool is_big_endian, is_fortran;
  bool has_descr, has_order, has_shape;
  uint32_t rank;
  int64_t dims[NPY_MAX_RANK];
};

/* ---- messages ------------------------------------------------------------------------------------------------------- */

static enum status refuse(const struct header *h, enum diag_id id, const char *what) {
  diag_file(h->diags, id, h->file, 0, 0, "'%s'%s%s%s %s", h->file, h->name[0] ? ", array '" : "", h->name,
            h->name[0] ? "'" : "", what);
  return id == DIAG_E0005_LIMIT ? STATUS_LIMIT : STATUS_INPUT;
}

static bool damaged(const struct header *h) {
  refuse(h, DIAG_E0003_FORMAT, "has a damaged .npy header");
  return false;
}

/* ---- the dictionary -------------------------------------------------------------------------------------------------- */

static void skip_blanks(struct header *h) {
  while (h->at < h->end && (*h->at == ' ' || *h->at == '\n' || *h->at == '\t' || *h->at == '\r')) {
    h->at++;
  }
}

static bool take(struct header *h, char c) {
  skip_blanks(h);
  if (h->at < h->end && *h->at == c) {
    h->at++;
    return true;
  }
  return false;
}

static bool take_word(struct header *h, const char *word) {
  size_t length = strlen(word);
  skip_blanks(h);
  if ((size_t)(h->end - h->at) >= length && memcmp(h->at, word, length) == 0) {
    h->at += length;
    return true;
  }
  return false;
}

/* A quoted string without escapes. */
static bool take_string(struct header *h, const char **text, size_t *length) {
  skip_blanks(h);
  char quote = h->at < h->end ? *h->at : '\0';
  if (quote != '\'' && quote != '"') {
    return false;
  }
  const char *close = memchr(h->at + 1, quote, (size_t)(h->end - h->at) - 1);
  if (!close) {
    return false;
  }
  *text = h->at + 1;
  *length = (size_t)(close - h->at) - 1;
  h->at = close + 1;
  return true;
}

static bool take_int(struct header *h, int64_t *value) {
  skip_blanks(h);
  const char *start = h->at;
  for (*value = 0; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++) {
    if (__builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, *h->at - '0', value)) {
      return false;
    }
  }
  bool found = h->at > start;
  if (found && h->at < h->end && *h->at == 'L') { /* written by Python 2 */
    h->at++;
  }
  return found;
}

static bool refuse_kind(const struct header *h, const char *descr, size_t length) {
  const char *what = NULL;
  char letter = length > 1 ? descr[1] : '\0';
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    what = !what && refused[i].letter == letter ? refused[i].what : what;
  }
  char text[128];
  snprintf(text, sizeof text, "holds %s ('%.*s'), which no program takes", what ? what : "elements of another kind",
           (int)(length < 32 ? length : 32), descr);
  refuse(h, DIAG_E0003_FORMAT, text);
  return false;
}

/* "<f4", "|b1", ">i8", "=u2". */
static bool read_descr(struct header *h) {
  const char *text;
  size_t length;
  if (take(h, '[') || take(h, '(')) {
    refuse(h, DIAG_E0003_FORMAT, "holds records (a structured dtype), which no program takes");
    return false;
  }
  if (!take_string(h, &text, &length)) {
    return damaged(h);
  }
  if (length < 2 || !strchr("<>|=", text[0])) {
    return refuse_kind(h, text, length);
  }
  uint64_t bytes = 0;
  for (size_t i = 2; i < length && bytes < 1000; i++) {
    bytes = text[i] >= '0' && text[i] <= '9' ? 10 * bytes + (uint64_t)(text[i] - '0') : 1000;
  }
  for (h->kind = 0; h->kind < KIND_COUNT; h->kind++) {
    if (kinds[h->kind].letter == text[1] && kinds[h->kind].bytes == bytes) {
      h->is_big_endian = text[0] == '>';
      return true;
    }
  }
  return refuse_kind(h, text, length);
}

static bool read_shape(struct header *h) {
  if (!take(h, '(')) {
    return damaged(h);
  }
  while (!take(h, ')')) {
    if (h->rank == NPY_MAX_RANK) {
      refuse(h, DIAG_E0003_FORMAT, "has more than 64 dimensions");
      return false;
    }
    if (!take_int(h, &h->dims[h->rank++])) {
      return damaged(h);
    }
    if (!take(h, ',')) {
      return take(h, ')') || damaged(h);
    }
  }
  return true;
}

static bool read_order(struct header *h) {
  h->is_fortran = take_word(h, "True");
  return h->is_fortran || take_word(h, "False") || damaged(h);
}

static bool read_dictionary(struct header *h) {
  const struct {
    const char *key;
    bool *seen;
    bool (*read)(struct header *h);
  } members[] = {{"descr", &h->has_descr, read_descr},
                 {"fortran_order", &h->has_order, read_order},
                 {"shape", &h->has_shape, read_shape}};
  if (!take(h, '{')) {
    return damaged(h);
  }
  while (!take(h, '}')) {
    const char *key;
    size_t length, i = 0;
    if (!take_string(h, &key, &length) || !take(h, ':')) {
      return damaged(h);
    }
    while (i < 3 && !(strlen(members[i].key) == length && memcmp(members[i].key, key, length) == 0)) {
      i++;
    }
    if (i == 3 || *members[i].seen) {
      return damaged(h);
    }
    *members[i].seen = true;
    if (!members[i].read(h)) {
      return false;
    }
    if (!take(h, ',')) {
      if (!take(h, '}')) {
        return damaged(h);
      }
      break;
    }
  }
  skip_blanks(h);
  return (h->has_descr && h->has_order && h->has_shape && h->at == h->end) || damaged(h);
}

/* ---- elements ------------------------------------------------------------------------------------------------------- */

static void swap_bytes(uint8_t *data, size_t size, size_t unit) {
  for (size_t i = 0; unit > 1 && i + unit <= size; i += unit) {
    for (size_t low = 0, high = unit - 1; low < high; low++, high--) {
      uint8_t byte = data[i + low];
      data[i + low] = data[i + high];
      data[i + high] = byte;
    }
  }
}

/* Column-major elements in row-major order: goes through the target and adds up the place in the source. */
static void transpose(const struct npy_array *array, uint8_t *to) {
  int64_t index[NPY_MAX_RANK] = {0};
  uint64_t stride[NPY_MAX_RANK], at = 0, bytes = array->element_bytes, step = 1;
  for (uint32_t d = 0; d < array->rank; d++) {
    stride[d] = step;
    step *= (uint64_t)array->dims[d];
  }
  for (uint64_t i = 0; i < array->count; i++) {
    memcpy(to + i * bytes, array->data + at * bytes, bytes);
    for (uint32_t d = array->rank; d-- > 0;) {
      at += stride[d];
      if (++index[d] < array->dims[d]) {
        break;
      }
      at -= stride[d] * (uint64_t)array->dims[d];
      index[d] = 0;
    }
  }
}

/* Bytes of the elements; false when they overflow. */
static bool count_bytes(const struct header *h, uint64_t *count, uint64_t *bytes) {
  bool is_empty = false, overflows = false;
  *count = 1;
  for (uint32_t d = 0; d < h->rank; d++) {
    is_empty |= h->dims[d] == 0;
  }
  for (uint32_t d = 0; d < h->rank && !is_empty; d++) {
    overflows |= __builtin_mul_overflow(*count, (uint64_t)h->dims[d], count);
  }
  *count = is_empty ? 0 : *count;
  return !__builtin_mul_overflow(*count, (uint64_t)kinds[h->kind].bytes, bytes) && !overflows;
}

static enum status fail_memory(const struct header *h) {
  diag_file(h->diags, DIAG_E0007_MEMORY, h->file, 0, 0, "out of memory while reading '%s'", h->file);
  return STATUS_MEMORY;
}

/* Checks the size of the data and brings it into the order of this library. */
static enum status read_elements(struct header *h, uint8_t *data, size_t available, uint64_t budget,
                                 struct npy_array *array) {
  uint64_t count, bytes;
  char text[160];
  if (!count_bytes(h, &count, &bytes) || bytes > available) {
    return refuse(h, DIAG_E0003_FORMAT, "is truncated: its header promises more elements than there are bytes");
  }
  if (bytes < available) {
    snprintf(text, sizeof text, "has %zu bytes behind its elements: is it several arrays in one file?",
             available - (size_t)bytes);
    return refuse(h, DIAG_E0003_FORMAT, text);
  }
  *array = (struct npy_array){.dtype = kinds[h->kind].dtype,
                              .element_bytes = kinds[h->kind].bytes,
                              .rank = h->rank,
                              .count = count,
                              .data = data,
                              .size_bytes = (size_t)bytes,
                              .name = strdup(h->name),
                              .dims = malloc((h->rank + 1) * sizeof *array->dims)};
  if (!array->name || !array->dims) {
    return fail_memory(h);
  }
  memcpy(array->dims, h->dims, h->rank * sizeof *array->dims);
  if (h->is_big_endian) {
    swap_bytes(data, (size_t)bytes, kinds[h->kind].swapped_bytes);
  }
  for (size_t i = 0; array->dtype == DTYPE_I1 && i < bytes; i++) {
    data[i] = data[i] != 0;
  }
  if (h->is_fortran && h->rank > 1 && bytes > 0) {
    uint8_t *moved = bytes <= budget ? malloc((size_t)bytes) : NULL;
    if (!moved) {
      return fail_memory(h);
    }
    transpose(array, moved);
    array->data = array->memory = moved;
  }
  return STATUS_OK;
}

/* Places of header and elements. */
static bool find_header(struct header *h, const uint8_t *bytes, size_t length) {
  unsigned major = length >= MAGIC_BYTES + 2 ? bytes[MAGIC_BYTES] : 0;
  size_t start = major == 1 ? 10 : 12; /* format 1.0 has two bytes for the length of the header, later ones four */
  if (major < 1 || major > 3 || bytes[MAGIC_BYTES + 1] != 0 || length < start) {
    refuse(h, DIAG_E0003_FORMAT, "is no .npy file of format 1.0 to 3.0");
    return false;
  }
  size_t header_length = bytes[8] | (size_t)bytes[9] << 8;
  if (major > 1) {
    header_length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
  }
  if (header_length > length - start) {
    refuse(h, DIAG_E0003_FORMAT, "is truncated: it ends in its header");
    return false;
  }
  h->at = (const char *)bytes + start;
  h->end = h->at + header_length;
  return true;
}

static void release_array(struct npy_array *array) {
  free(array->name);
  free(array->dims);
  free(array->memory);
}

enum status npy_parse_one(const char *file, const char *name, void *memory, size_t length, uint64_t budget_bytes,
                          struct diag_list *diags, struct npy_arrays *arrays) {
  struct header h = {.file = file, .name = name, .diags = diags};
  struct npy_array array = {0};
  enum status status = STATUS_INPUT;
  if (length < MAGIC_BYTES || memcmp(memory, magic, MAGIC_BYTES) != 0) {
    refuse(&h, DIAG_E0003_FORMAT, "is neither a .npy nor a .npz file");
  } else if (find_header(&h, memory, length)) {
    uint8_t *data = (uint8_t *)memory + (h.end - (const char *)memory);
    size_t available = length - (size_t)(h.end - (const char *)memory);
    status = read_dictionary(&h) ? read_elements(&h, data, available, budget_bytes, &array) : STATUS_INPUT;
  }
  bool is_moved = array.memory != NULL; /* transposed: the file is not needed any more */
  if (!is_moved) {
    array.memory = memory;
  } else {
    free(memory);
  }
  if (status == STATUS_OK && !vec_push(&arrays->items, array)) {
    status = fail_memory(&h);
  }
  if (status != STATUS_OK) {
    release_array(&array);
  }
  return status;
}

void npy_release(struct npy_arrays *arrays) {
  for (size_t i = 0; i < arrays->items.count; i++) {
    release_array(&arrays->items.data[i]);
  }
  vec_release(&arrays->items);
}

bool npy_is_zip(const void *bytes, size_t length) {
  /* a local file header, or the end of an archive without entries */
  return length >= 4 && (memcmp(bytes, "PK\3\4", 4) == 0 || memcmp(bytes, "PK\5\6", 4) == 0);
}

enum status npy_parse(struct npy_arrays *arrays, const char *name, const void *bytes, size_t length,
                      uint64_t budget_bytes, struct diag_list *diags) {
  *arrays = (struct npy_arrays){0};
  if (npy_is_zip(bytes, length)) {
    return npy_parse_zip(name, bytes, length, budget_bytes, diags, arrays);
  }
  void *copy = malloc(length + 1);
  if (!copy) {
    diag_file(diags, DIAG_E0007_MEMORY, name, 0, 0, "out of memory while reading '%s'", name);
    return STATUS_MEMORY;
  }
  if (length > 0) {
    memcpy(copy, bytes, length);
  }
  return npy_parse_one(name, "", copy, length, budget_bytes, diags, arrays);
}

enum status npy_read(struct npy_arrays *arrays, const char *path, uint64_t budget_bytes, struct diag_list *diags) {
  struct input_file file;
  size_t limit = budget_bytes > SIZE_MAX / 2 ? SIZE_MAX / 2 : (size_t)budget_bytes;
  *arrays = (struct npy_arrays){0};
  STATUS_TRY(input_file_read(&file, path, limit, diags));
  enum status status;
  if (npy_is_zip(file.text, file.length)) {
    status = npy_parse_zip(file.name, file.text, file.length, budget_bytes, diags, arrays);
  } else {
    char *memory = file.text;
    file.text = NULL; /* the array keeps it */
    status = npy_parse_one(file.name, "", memory, file.length, budget_bytes, diags, arrays);
  }
  input_file_release(&file);
  return status;
}
