/* Runs a fuzz target over stored inputs: every regular file of the folders and files named on the command line, in order
 * of their names. What CI does with each corpus. */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

static size_t replayed;

static int replay_file(const char *path) {
  FILE *file = fopen(path, "rb");
  struct stat info;
  if (file != NULL && fstat(fileno(file), &info) == 0 && !S_ISREG(info.st_mode)) {
    (void)fclose(file);
    return 0; /* folders within folders are not replayed */
  }
  if (file == NULL || fstat(fileno(file), &info) != 0) {
    if (file != NULL) {
      (void)fclose(file);
    }
    (void)fprintf(stderr, "cannot read '%s'\n", path);
    return 1;
  }
  size_t size = (size_t)info.st_size;
  /* an allocation of exactly this size, so that a sanitizer sees any read behind it */
  uint8_t *data = malloc(size > 0 ? size : 1);
  size_t got = data != NULL ? fread(data, 1, size, file) : 0;
  (void)fclose(file);
  if (data == NULL || got != size) {
    free(data);
    (void)fprintf(stderr, "cannot read '%s'\n", path);
    return 1;
  }
  (void)fprintf(stderr, "%s\n", path); /* a crash names its input */
  (void)LLVMFuzzerTestOneInput(data, size);
  free(data);
  replayed++;
  return 0;
}

static int replay_folder(const char *folder) {
  struct dirent **entries = NULL;
  int count = scandir(folder, &entries, NULL, alphasort);
  int failures = count < 0;
  for (int i = 0; i < count; i++) {
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
    if (entries[i]->d_name[0] != '.' && length > 0 && (size_t)length < sizeof path) {
      failures += replay_file(path);
    }
    free(entries[i]);
  }
  free(entries);
  return failures;
}

int main(int argc, char **argv) {
  int failures = 0;
  for (int i = 1; i < argc; i++) {
    struct stat info;
    bool is_folder = stat(argv[i], &info) == 0 && S_ISDIR(info.st_mode);
    failures += is_folder ? replay_folder(argv[i]) : replay_file(argv[i]);
  }
  printf("%zu inputs replayed\n", replayed);
  if (replayed == 0 || failures > 0) {
    (void)fprintf(stderr, "%d inputs could not be read\n", failures);
    return 1;
  }
  return 0;
}
