/* Output files that appear whole or not at all, diagnostics on stderr, and progress. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

/* Where the bytes go in the end: through symbolic links to the file they lead to. Devices, pipes and other things that are
 * not regular files are written to directly; only a regular or new file is replaced as a whole. */
static bool resolve_target(const char *path, struct cli_output *output) {
  struct stat info;
  bool exists = stat(path, &info) == 0;
  output->is_replaced = !exists || S_ISREG(info.st_mode);
  char *resolved = exists ? realpath(path, NULL) : NULL;
  int length = snprintf(output->target, sizeof output->target, "%s", resolved ? resolved : path);
  free(resolved);
  return length > 0 && (size_t)length < sizeof output->target;
}

static FILE *open_target(struct cli_output *output) {
  if (!output->is_replaced) {
    return fopen(output->target, "wb");
  }
  int length = snprintf(output->temporary, sizeof output->temporary, "%s.part%ld", output->target, (long)getpid());
  return length > 0 && (size_t)length < sizeof output->temporary ? fopen(output->temporary, "wb") : NULL;
}

static bool ends_with(const char *text, const char *end) {
  size_t a = strlen(text), b = strlen(end);
  return a >= b && strcasecmp(text + a - b, end) == 0;
}

int cli_output_check(const char *path) {
  if (!path || (!ends_with(path, ".gz") && !ends_with(path, ".zst"))) {
    return CLI_OK;
  }
  fprintf(stderr, "ridgeline: cannot write '%s': output is not compressed, give it a name without .gz or .zst\n", path);
  return CLI_USAGE;
}

int cli_output_open(struct cli_output *output, const char *path) {
  *output = (struct cli_output){.stream = stdout, .path = path};
  if (!path || strcmp(path, "-") == 0) {
    output->path = NULL;
    return CLI_OK;
  }
  int named = cli_output_check(path);
  if (named != CLI_OK) {
    return named;
  }
  errno = ENAMETOOLONG;
  output->stream = resolve_target(path, output) ? open_target(output) : NULL;
  if (!output->stream) {
    fprintf(stderr, "ridgeline: cannot write '%s': %s\n", path, strerror(errno));
    return CLI_FAILED;
  }
  return CLI_OK;
}

rdg_format cli_output_format(const char *path, bool json, bool with_trace) {
  if (with_trace && path
      && (ends_with(path, ".trace.json") || ends_with(path, ".pftrace") || ends_with(path, ".trace"))) {
    return RDG_FORMAT_TRACE;
  }
  return json || (path && ends_with(path, ".json")) ? RDG_FORMAT_JSON : RDG_FORMAT_TEXT;
}

static bool write_stream(void *user, const char *text, size_t length) {
  struct cli_output *output = user;
  bool is_taken = fwrite(text, 1, length, output->stream) == length;
  output->is_closed |= !is_taken && errno == EPIPE;
  output->failed |= !is_taken && !output->is_closed;
  return !output->failed; /* a reader that went away (| head) is content: the rest is dropped */
}

rdg_sink cli_output_sink(struct cli_output *output) {
  return (rdg_sink){write_stream, output};
}

int cli_output_close(struct cli_output *output, bool keep) {
  if (!output->path) {
    output->failed |= fflush(stdout) != 0 && errno != EPIPE;
    if (output->failed) {
      fprintf(stderr, "ridgeline: cannot write to standard output: %s\n", strerror(errno));
    }
    return output->failed ? CLI_FAILED : CLI_OK;
  }
  output->failed |= fclose(output->stream) != 0;
  int reason = errno;
  if (output->is_replaced && (!keep || output->failed)) {
    remove(output->temporary);
  } else if (output->is_replaced && rename(output->temporary, output->target) != 0) {
    reason = errno;
    output->failed = true;
    remove(output->temporary);
  }
  if (output->failed) {
    fprintf(stderr, "ridgeline: cannot write '%s': %s\n", output->path, strerror(reason));
    return CLI_FAILED;
  }
  return CLI_OK;
}

int cli_finish(rdg_context *ctx, rdg_status status) {
  fputs(rdg_diagnostics_text(ctx), stderr);
  if (status == RDG_ERROR_MEMORY && rdg_diagnostic_count(ctx) == 0) {
    fputs("ridgeline: out of memory\n", stderr);
  }
  if (status == RDG_OK) {
    return CLI_OK;
  }
  /* what the command line named wrongly is a usage error, wherever it was noticed */
  for (size_t i = 0; i < rdg_diagnostic_count(ctx); i++) {
    rdg_diagnostic d;
    if (rdg_diagnostic_get(ctx, i, &d) && strcmp(d.code, "E0601") == 0) {
      return CLI_USAGE;
    }
  }
  return CLI_FAILED;
}

struct cli_progress {
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t ended;
  bool is_over;
  char what[256];
};

static void *show_progress(void *argument) {
  struct cli_progress *p = argument;
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  pthread_mutex_lock(&p->mutex);
  for (unsigned seconds = 1; !p->is_over; seconds++) {
    until.tv_sec++;
    while (!p->is_over && pthread_cond_timedwait(&p->ended, &p->mutex, &until) != ETIMEDOUT) {
    }
    if (!p->is_over) {
      fprintf(stderr, "\r%s ... %u s", p->what, seconds);
    } else if (seconds > 1) {
      fprintf(stderr, "\r%*s\r", (int)strlen(p->what) + 16, "");
    }
  }
  pthread_mutex_unlock(&p->mutex);
  return NULL;
}

struct cli_progress *cli_progress_begin(const char *what) {
  struct cli_progress *p = isatty(STDERR_FILENO) ? calloc(1, sizeof *p) : NULL;
  if (!p) {
    return NULL;
  }
  snprintf(p->what, sizeof p->what, "%s", what);
  pthread_mutex_init(&p->mutex, NULL);
  pthread_cond_init(&p->ended, NULL);
  if (pthread_create(&p->thread, NULL, show_progress, p) != 0) {
    free(p);
    return NULL;
  }
  return p;
}

void cli_progress_end(struct cli_progress *p) {
  if (!p) {
    return;
  }
  pthread_mutex_lock(&p->mutex);
  p->is_over = true;
  pthread_cond_signal(&p->ended);
  pthread_mutex_unlock(&p->mutex);
  pthread_join(p->thread, NULL);
  pthread_cond_destroy(&p->ended);
  pthread_mutex_destroy(&p->mutex);
  free(p);
}

rdg_status cli_load(rdg_context *ctx, const char *path, const struct cli_list *binds, const char *entry,
                    rdg_program **program) {
  char what[256];
  snprintf(what, sizeof what, "reading %s", path);
  struct cli_progress *progress = cli_progress_begin(what);
  rdg_load_options options = {.binds = binds->items, .bind_count = binds->count, .entry = entry};
  rdg_status status = rdg_program_load(ctx, path, &options, program);
  cli_progress_end(progress);
  if (status == RDG_OK) {
    fputs(rdg_diagnostics_text(ctx), stderr); /* warnings of the program, before the next call forgets them */
    rdg_diagnostics_clear(ctx);
  }
  return status;
}
