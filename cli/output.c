/* Output files that appear whole or not at all, diagnostics on stderr, and progress. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

int cli_output_open(struct cli_output *output, const char *path) {
  *output = (struct cli_output){.stream = stdout, .path = path};
  if (!path || strcmp(path, "-") == 0) {
    output->path = NULL;
    return CLI_OK;
  }
  int length = snprintf(output->temporary, sizeof output->temporary, "%s.part%ld", path, (long)getpid());
  output->stream = length > 0 && (size_t)length < sizeof output->temporary ? fopen(output->temporary, "wb") : NULL;
  if (!output->stream) {
    fprintf(stderr, "ridgeline: cannot write '%s': %s\n", path, strerror(errno));
    return CLI_FAILED;
  }
  return CLI_OK;
}

static bool write_stream(void *user, const char *text, size_t length) {
  struct cli_output *output = user;
  output->failed |= fwrite(text, 1, length, output->stream) != length;
  return !output->failed;
}

rdg_sink cli_output_sink(struct cli_output *output) {
  return (rdg_sink){write_stream, output};
}

int cli_output_close(struct cli_output *output, bool keep) {
  if (!output->path) {
    output->failed |= fflush(stdout) != 0;
    return output->failed ? CLI_FAILED : CLI_OK;
  }
  output->failed |= fclose(output->stream) != 0;
  if (!keep || output->failed) {
    remove(output->temporary);
  } else if (rename(output->temporary, output->path) != 0) {
    output->failed = true;
    remove(output->temporary);
  }
  if (output->failed) {
    fprintf(stderr, "ridgeline: cannot write '%s': %s\n", output->path, strerror(errno));
    return CLI_FAILED;
  }
  return CLI_OK;
}

int cli_finish(rdg_context *ctx, rdg_status status) {
  fputs(rdg_diagnostics_text(ctx), stderr);
  if (status == RDG_ERROR_MEMORY && rdg_diagnostic_count(ctx) == 0) {
    fputs("ridgeline: out of memory\n", stderr);
  }
  return status == RDG_OK ? CLI_OK : CLI_FAILED;
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
