/* ridgeline_corpus [--data DIR] [--list-failures] [--list-twins] [--list-as-printed] [--json FILE] [--jobs N]
 *                  [--skip-code N] [FOLDER or FILE...]
 *
 * Folders are below DIR; without any, corpus/ and workloads/: then every row of the exception tables must be met. Results go
 * to memory shared by N processes (default 2), so a crash costs one file, not the run. See corpus.h. */
#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "corpus.h"

enum { MAX_JOBS = 8, MAX_DEPTH = 16 };

/* ---- list of files ---------------------------------------------------------------------------------------------- */

static bool has_suffix(const char *name, const char *suffix) {
  size_t length = strlen(name), tail = strlen(suffix);
  return length > tail && strcmp(name + length - tail, suffix) == 0;
}

/* Row of the table: the first folder below corpus/, two levels for stablehlo and models. */
static void folder_of(const char *relative, char *out, size_t size) {
  const char *start = strncmp(relative, "corpus/", 7) == 0 ? relative + 7 : relative;
  bool is_deep = strncmp(start, "stablehlo/", 10) == 0 || strncmp(start, "models/", 7) == 0;
  const char *slash = strchr(start, '/');
  const char *second = slash && is_deep ? strchr(slash + 1, '/') : NULL;
  const char *end = second ? second : slash;
  snprintf(out, size, "%.*s", end ? (int)(end - start) : (int)strlen(start), start);
}

static bool add_file(struct corpus *corpus, const char *path) {
  if (corpus->count == corpus->capacity) {
    corpus->capacity = corpus->capacity ? corpus->capacity * 2 : 1024;
    struct corpus_file *files = realloc(corpus->files, corpus->capacity * sizeof *files);
    if (!files) {
      return false;
    }
    corpus->files = files;
  }
  struct corpus_file *file = &corpus->files[corpus->count];
  file->path = strdup(path);
  if (!file->path) {
    return false;
  }
  size_t prefix = strlen(corpus->data);
  bool is_below = strncmp(path, corpus->data, prefix) == 0 && path[prefix] == '/';
  file->relative = is_below ? file->path + prefix + 1 : file->path;
  folder_of(file->relative, file->folder, sizeof file->folder);
  corpus->count++;
  return true;
}

static bool add_path(struct corpus *corpus, const char *path, int depth) {
  struct stat info;
  if (stat(path, &info) != 0) {
    return false;
  }
  if (!S_ISDIR(info.st_mode)) {
    return add_file(corpus, path);
  }
  struct dirent **entries = NULL;
  int count = depth < MAX_DEPTH ? scandir(path, &entries, NULL, alphasort) : 0;
  bool ok = count >= 0;
  for (int i = 0; i < count; i++) {
    const char *name = entries[i]->d_name;
    char child[4096];
    int length = snprintf(child, sizeof child, "%s/%s", path, name);
    if (ok && name[0] != '.' && length < (int)sizeof child) {
      bool is_program = has_suffix(name, ".mlir") || has_suffix(name, ".mlir.gz") || corpus_is_hlo(child);
      bool is_folder = stat(child, &info) == 0 && S_ISDIR(info.st_mode);
      ok = is_folder ? add_path(corpus, child, depth + 1) : !is_program || add_file(corpus, child);
    }
    free(entries[i]);
  }
  free(entries);
  return ok;
}

/* ---- processes -------------------------------------------------------------------------------------------------- */

/* Shared by the processes: the next file nobody has taken. */
struct shared {
  atomic_size_t next;
};

static void work(const struct corpus *corpus, struct shared *shared) {
  for (size_t i; (i = atomic_fetch_add(&shared->next, 1)) < corpus->count;) {
    corpus_check_file(corpus, &corpus->files[i], &corpus->results[i]);
  }
}

/* A child that dies is replaced, so that the other files are still checked. */
static void run_jobs(const struct corpus *corpus, struct shared *shared, int jobs) {
  int running = 0;
  while (running > 0 || atomic_load(&shared->next) < corpus->count) {
    while (running < jobs && atomic_load(&shared->next) < corpus->count) {
      fflush(stdout);
      pid_t child = fork();
      if (child == 0) {
        work(corpus, shared);
        _exit(0);
      }
      if (child < 0) {
        work(corpus, shared);
        break;
      }
      running++;
    }
    if (running > 0 && wait(NULL) > 0) {
      running--;
    }
  }
}

static void *share(size_t size) {
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

/* ---- options ---------------------------------------------------------------------------------------------------- */

struct arguments {
  struct corpus_options options;
  const char *data;
  int jobs, skip_code, first_folder;
};

static const char *default_data(void) {
  const char *data = getenv("RIDGELINE_DATA");
  return data && *data ? data : RDG_SOURCE_DIR "/../shared/data";
}

static bool parse_arguments(int argc, char **argv, struct arguments *a) {
  *a = (struct arguments){.data = default_data(), .jobs = 2};
  int i = 1;
  for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(argv[i], "--list-failures") == 0) {
      a->options.list_failures = true;
    } else if (strcmp(argv[i], "--list-twins") == 0) {
      a->options.list_twins = true;
    } else if (strcmp(argv[i], "--list-as-printed") == 0) {
      a->options.list_as_printed = true;
    } else if (strcmp(argv[i], "--json") == 0 && value) {
      a->options.json_path = argv[++i];
    } else if (strcmp(argv[i], "--data") == 0 && value) {
      a->data = argv[++i];
    } else if (strcmp(argv[i], "--jobs") == 0 && value) {
      a->jobs = atoi(argv[++i]);
    } else if (strcmp(argv[i], "--skip-code") == 0 && value) {
      a->skip_code = atoi(argv[++i]);
    } else {
      fprintf(stderr, "unknown option '%s'\n", argv[i]);
      return false;
    }
  }
  a->first_folder = i;
  a->jobs = a->jobs < 1 ? 1 : a->jobs > MAX_JOBS ? MAX_JOBS : a->jobs;
  return true;
}

static bool list_files(struct corpus *corpus, int argc, char **argv, int first) {
  static const char *const defaults[] = {"corpus", "workloads"};
  char path[4096];
  bool ok = true;
  corpus->is_whole = first >= argc;
  if (corpus->is_whole) {
    for (size_t i = 0; ok && i < sizeof defaults / sizeof defaults[0]; i++) {
      snprintf(path, sizeof path, "%s/%s", corpus->data, defaults[i]);
      ok = add_path(corpus, path, 0);
    }
  }
  for (int i = first; ok && i < argc; i++) {
    snprintf(path, sizeof path, "%s/%s", corpus->data, argv[i]);
    ok = add_path(corpus, path, 0) || add_path(corpus, argv[i], 0);
    if (!ok) {
      fprintf(stderr, "cannot read '%s'\n", argv[i]);
    }
  }
  return ok;
}

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
  struct arguments a;
  if (!parse_arguments(argc, argv, &a)) {
    return 2;
  }
  char probe[4096];
  snprintf(probe, sizeof probe, "%s/corpus", a.data);
  if (access(probe, R_OK) != 0) {
    printf("corpus: 0 files, skipped: no data (%s)\n", a.data);
    return a.skip_code;
  }
  struct corpus corpus = {.data = a.data};
  if (!list_files(&corpus, argc, argv, a.first_folder)) {
    return 2;
  }
  struct shared *shared = share(sizeof *shared);
  corpus.results = share((corpus.count + 1) * sizeof *corpus.results);
  if (!shared || !corpus.results) {
    fprintf(stderr, "out of memory\n");
    return 2;
  }
  double start = now_s();
  run_jobs(&corpus, shared, a.jobs);
  int code = corpus_report(&corpus, &a.options, now_s() - start);
  munmap(corpus.results, (corpus.count + 1) * sizeof *corpus.results);
  munmap(shared, sizeof *shared);
  for (size_t i = 0; i < corpus.count; i++) {
    free(corpus.files[i].path);
  }
  free(corpus.files);
  return code;
}
