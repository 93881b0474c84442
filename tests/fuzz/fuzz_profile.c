/* Fuzz target: measured rows into a profile. An input is a mapping file, a line "%%%" and the table a.csv that it maps; or, when
 * it has no such line, a CSV in the columns of a profile. What is imported exports as CSV, which imports again and exports the
 * same. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "fuzz_check.h"
#include "profile/measured_kernels.h"

static const char separator[] = "\n%%%\n";

/* Import reads files: a folder of their own, gone when the process ends. */
static struct { char folder[64], mapping[96], table[96], exported[96]; } paths;

static void remove_files(void) {
  (void)unlink(paths.mapping);
  (void)unlink(paths.table);
  (void)unlink(paths.exported);
  (void)rmdir(paths.folder);
}

static void make_folder(void) {
  (void)snprintf(paths.folder, sizeof paths.folder, "%s/rdg_fuzz_XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
  if (mkdtemp(paths.folder) == NULL || atexit(remove_files) != 0) {
    abort();
  }
  (void)snprintf(paths.mapping, sizeof paths.mapping, "%s/m.yaml", paths.folder);
  (void)snprintf(paths.table, sizeof paths.table, "%s/a.csv", paths.folder);
  (void)snprintf(paths.exported, sizeof paths.exported, "%s/e.csv", paths.folder);
}

static void write_file(const char *path, const void *data, size_t size) {
  FILE *file = fopen(path, "wb");
  if (file == NULL || fwrite(data, 1, size, file) != size || fclose(file) != 0) {
    abort();
  }
}

static const uint8_t *find_separator(const uint8_t *data, size_t size) {
  const size_t length = sizeof separator - 1;
  for (size_t i = 0; i + length <= size; i++) {
    if (memcmp(data + i, separator, length) == 0) {
      return data + i;
    }
  }
  return NULL;
}

static enum status import(struct store *profile, const uint8_t *data, size_t size, struct diag_list *diags) {
  const uint8_t *split = find_separator(data, size);
  uint64_t added = 0, absent = 0;
  if (split == NULL) {
    write_file(paths.table, data, size);
    return profile_import_csv(profile, paths.table, &added, diags);
  }
  const uint8_t *table = split + sizeof separator - 1;
  write_file(paths.mapping, data, (size_t)(split - data));
  write_file(paths.table, table, (size_t)(data + size - table));
  return profile_import_mapping(profile, paths.mapping, paths.folder, &added, &absent, diags);
}

/* Every row is a kernel of this chip database or is counted as skipped. */
static bool check_kernels(struct store *profile, const struct fuzz_chips *chips, struct strbuf *why) {
  struct measured_kernels kernels = {0};
  struct diag_list diags;
  diag_init(&diags);
  bool is_good = measured_kernels_load(&kernels, profile, &chips->database, &diags) == STATUS_OK;
  for (size_t i = 0; is_good && i < kernels.rows.count; i++) {
    const struct measured_kernel *row = &kernels.rows.data[i];
    is_good = row->chip != NULL && isfinite(row->latency_s) && row->latency_s > 0 && row->fold < 5
              && row->source < kernels.sources.count;
  }
  if (!is_good) {
    strbuf_puts(why, "a profile that was imported has no sound kernels");
  }
  measured_kernels_release(&kernels);
  diag_release(&diags);
  return is_good;
}

/* CSV → a new profile → the same CSV. */
static bool check_export(struct store *profile, bool programs, struct strbuf *why) {
  struct strbuf first = {0}, second = {0};
  struct diag_list diags;
  struct store *again = NULL;
  uint64_t added = 0;
  diag_init(&diags);
  bool is_good = profile_export_csv(profile, programs, &first, &diags) == STATUS_OK;
  write_file(paths.exported, strbuf_text(&first), first.length);
  is_good = is_good && store_open(":memory:", false, &diags, &again) == STATUS_OK
            && profile_import_csv(again, paths.exported, &added, &diags) == STATUS_OK
            && profile_export_csv(again, programs, &second, &diags) == STATUS_OK;
  if (!is_good) {
    strbuf_printf(why, "the export is refused: %s\n%s", diags.entries.count > 0 ? diags.entries.data[0].message : "",
                  strbuf_text(&first));
  } else if (strcmp(strbuf_text(&first), strbuf_text(&second)) != 0) {
    strbuf_printf(why, "the export is no fixed point:\n%s\nthen\n%s", strbuf_text(&first), strbuf_text(&second));
    is_good = false;
  }
  store_close(again);
  strbuf_release(&first);
  strbuf_release(&second);
  diag_release(&diags);
  return is_good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct fuzz_chips chips;
  if (chips.gpu == NULL) {
    if (!fuzz_chips_load(&chips)) {
      abort();
    }
    make_folder();
  }
  struct store *profile = NULL;
  struct diag_list diags;
  struct strbuf why = {0};
  diag_init(&diags);
  enum status status = store_open(":memory:", false, &diags, &profile);
  status = status == STATUS_OK ? import(profile, data, size, &diags) : status;
  enum fuzz_outcome outcome = fuzz_check_status(status, &diags, &why) ? FUZZ_REFUSED : FUZZ_BROKEN;
  if (status == STATUS_OK && outcome == FUZZ_REFUSED) {
    bool is_good =
        check_kernels(profile, &chips, &why) && check_export(profile, false, &why) && check_export(profile, true, &why);
    outcome = is_good ? FUZZ_ACCEPTED : FUZZ_BROKEN;
  }
  fuzz_require(outcome, &why);
  store_close(profile);
  diag_release(&diags);
  return 0;
}
