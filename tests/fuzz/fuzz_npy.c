/* Fuzz target: arrays in numpy's files. What is read has sizes that agree with each other and with the budget, and written as
 * .npy it is read as the same array. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "fuzz_check.h"
#include "io/npy.h"

enum { BUDGET_BYTES = 1 << 24 };

static bool has_agreeing_sizes(const struct npy_array *a) {
  uint64_t count = 1;
  bool is_empty = false;
  for (uint32_t d = 0; d < a->rank; d++) {
    if (a->dims[d] < 0) {
      return false;
    }
    is_empty |= a->dims[d] == 0;
  }
  for (uint32_t d = 0; d < a->rank && !is_empty; d++) {
    count *= (uint64_t)a->dims[d]; /* cannot overflow: the elements are in memory */
  }
  return a->rank <= NPY_MAX_RANK && a->count == (is_empty ? 0 : count) && a->size_bytes == a->count * a->element_bytes
         && a->size_bytes <= BUDGET_BYTES;
}

/* Written as a file of its own and read again. */
static bool comes_back(const struct npy_array *a) {
  struct npy_source source = {a->name, a->dtype, a->rank, a->dims, a->data, a->size_bytes};
  struct strbuf file = {0};
  struct npy_arrays again;
  struct diag_list diags;
  diag_init(&diags);
  npy_header(&source, &file);
  strbuf_add(&file, (const char *)a->data, a->size_bytes);
  bool ok = npy_parse(&again, "again.npy", strbuf_text(&file), file.length, BUDGET_BYTES, &diags) == STATUS_OK;
  if (ok) {
    const struct npy_array *b = &again.items.data[0];
    ok = b->dtype == a->dtype && b->rank == a->rank && b->size_bytes == a->size_bytes
         && memcmp(b->dims, a->dims, a->rank * sizeof *a->dims) == 0 && memcmp(b->data, a->data, a->size_bytes) == 0;
  }
  npy_release(&again);
  diag_release(&diags);
  strbuf_release(&file);
  return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct npy_arrays arrays;
  struct diag_list diags;
  struct strbuf why = {0};
  enum fuzz_outcome outcome = FUZZ_REFUSED;
  diag_init(&diags);
  enum status status = npy_parse(&arrays, "input", data, size, BUDGET_BYTES, &diags);
  if ((status == STATUS_OK) != (diags.error_count == 0)) {
    strbuf_printf(&why, "status %d with %zu errors", (int)status, diags.error_count);
    outcome = FUZZ_BROKEN;
  } else if (status == STATUS_OK) {
    outcome = FUZZ_ACCEPTED;
    for (size_t i = 0; i < arrays.items.count && outcome == FUZZ_ACCEPTED; i++) {
      if (!has_agreeing_sizes(&arrays.items.data[i]) || !comes_back(&arrays.items.data[i])) {
        strbuf_printf(&why, "array %zu is inconsistent or does not come back", i);
        outcome = FUZZ_BROKEN;
      }
    }
  }
  fuzz_require(outcome, &why);
  npy_release(&arrays);
  diag_release(&diags);
  return 0;
}
