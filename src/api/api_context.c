/* Contexts: configuration, diagnostics, the chip database, output. */
#include "api/api_context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert((int)RDG_ERROR_INPUT == (int)STATUS_INPUT && (int)RDG_ERROR_MEMORY == (int)STATUS_MEMORY
                   && (int)RDG_ERROR_LIMIT == (int)STATUS_LIMIT && (int)RDG_ERROR_IO == (int)STATUS_IO
                   && (int)RDG_ERROR_UNSUPPORTED == (int)STATUS_UNSUPPORTED,
               "public and internal status numbers agree");

const char *rdg_version(void) {
  return RDG_VERSION;
}

rdg_status api_status(enum status status) {
  return (rdg_status)status;
}

rdg_context *rdg_context_new(const rdg_config *config) {
  rdg_context *ctx = calloc(1, sizeof *ctx);
  if (!ctx) {
    return NULL;
  }
  diag_init(&ctx->diags);
  if (api_find_installation(ctx->beside, sizeof ctx->beside)) {
    (void)snprintf(ctx->installed_hardware, sizeof ctx->installed_hardware, "%s/hardware", ctx->beside);
  }
  if (config) {
    ctx->memory_budget_bytes = config->memory_budget_bytes;
    ctx->hardware_directory = config->hardware_directory ? strdup(config->hardware_directory) : NULL;
    ctx->diags.error_limit = config->error_limit ? config->error_limit : ctx->diags.error_limit;
    if (config->hardware_directory && !ctx->hardware_directory) {
      rdg_context_free(ctx);
      return NULL;
    }
  }
  return ctx;
}

void rdg_context_free(rdg_context *ctx) {
  if (!ctx) {
    return;
  }
  if (ctx->chips_loaded) {
    hw_database_release(&ctx->chips);
  }
  if (ctx->clusters_loaded) {
    hw_clusters_release(&ctx->clusters);
  }
  strbuf_release(&ctx->diag_text);
  diag_release(&ctx->diags);
  free(ctx->hardware_directory);
  free(ctx);
}

size_t rdg_diagnostic_count(const rdg_context *ctx) {
  return ctx->diags.entries.count;
}

bool rdg_diagnostic_get(const rdg_context *ctx, size_t i, rdg_diagnostic *diagnostic) {
  if (i >= ctx->diags.entries.count) {
    return false;
  }
  const struct diag *d = &ctx->diags.entries.data[i];
  *diagnostic = (rdg_diagnostic){.severity = (rdg_severity)d->severity,
                                 .code = diag_code(d->id),
                                 .file = d->file,
                                 .line = d->line,
                                 .column = d->column,
                                 .message = d->message};
  return true;
}

const char *rdg_diagnostics_text(rdg_context *ctx) {
  strbuf_clear(&ctx->diag_text);
  for (size_t i = 0; i < ctx->diags.entries.count; i++) {
    diag_format(&ctx->diags.entries.data[i], &ctx->diag_text);
  }
  const struct diag_list *list = &ctx->diags;
  if (list->error_count > list->error_limit) {
    strbuf_printf(&ctx->diag_text, "... and %zu more errors\n", list->error_count - list->error_limit);
  }
  if (list->warning_count > list->error_limit) {
    strbuf_printf(&ctx->diag_text, "... and %zu more warnings\n", list->warning_count - list->error_limit);
  }
  return strbuf_text(&ctx->diag_text);
}

void rdg_diagnostics_clear(rdg_context *ctx) {
  size_t limit = ctx->diags.error_limit;
  diag_release(&ctx->diags);
  diag_init(&ctx->diags);
  ctx->diags.error_limit = limit;
}

void api_begin(rdg_context *ctx) {
  if (ctx->diags.entries.count || ctx->diags.error_count) {
    rdg_diagnostics_clear(ctx);
  }
}

const char *api_installed_folder(const rdg_context *ctx, const char *variable, const char *name, char *path,
                                 size_t size) {
  const char *from_environment = getenv(variable);
  if (!ctx->beside[0] || (from_environment && *from_environment)
      || snprintf(path, size, "%s/%s", ctx->beside, name) >= (int)size) {
    return NULL;
  }
  return path;
}

/* $RIDGELINE_HARDWARE, the files installed with the library or the running program, the source tree that this build came
 * from, the files installed where the build was configured to. */
const char *api_hardware_directory(const rdg_context *ctx) {
  const char *from_environment = getenv("RIDGELINE_HARDWARE");
  if (ctx->hardware_directory) {
    return ctx->hardware_directory;
  }
  if (from_environment && *from_environment) {
    return from_environment;
  }
  if (ctx->installed_hardware[0]) {
    return ctx->installed_hardware;
  }
  return access(RDG_HARDWARE_DIR, R_OK) == 0 ? RDG_HARDWARE_DIR : RDG_INSTALL_HARDWARE_DIR;
}

rdg_status api_need_chips(rdg_context *ctx) {
  if (ctx->chips_loaded) {
    return RDG_OK;
  }
  enum status status = hw_database_load(&ctx->chips, api_hardware_directory(ctx), &ctx->diags);
  /* A bad file does not take the good ones with it: its errors are on the context, the others are used. Without any chip
   * the next call tries again, so that it fails for the same reason and not silently. */
  if (ctx->chips.chips.count == 0) {
    hw_database_release(&ctx->chips);
    ctx->chips = (struct hw_database){0};
    return status == STATUS_OK ? RDG_ERROR_IO : api_status(status);
  }
  ctx->chips_loaded = true;
  return status == STATUS_INPUT ? RDG_OK : api_status(status);
}

bool api_is_path(const char *name) {
  size_t length = strlen(name);
  return strchr(name, '/') || (length > 5 && strcmp(name + length - 5, ".yaml") == 0);
}

rdg_status api_find_chip(rdg_context *ctx, const char *name, const struct hw_chip **chip) {
  rdg_status status = api_need_chips(ctx);
  if (status != RDG_OK) {
    return status;
  }
  if (api_is_path(name)) {
    return api_status(hw_chip_load(&ctx->chips, name, api_hardware_directory(ctx), &ctx->diags, chip));
  }
  *chip = hw_database_find(&ctx->chips, name, &ctx->diags);
  return *chip ? RDG_OK : RDG_ERROR_INPUT;
}

struct chip_list {
  const struct hw_chip **items;
  size_t count, capacity;
};

static void add_chip(struct chip_list *list, const struct hw_chip *chip) {
  for (size_t i = 0; i < list->count; i++) {
    if (list->items[i] == chip) {
      return;
    }
  }
  if (list->count < list->capacity) {
    list->items[list->count++] = chip;
  }
}

/* The members of a group; an unknown group is a usage error. */
static rdg_status add_group(rdg_context *ctx, const char *name, struct chip_list *list) {
  const struct hw_chip *members[256];
  size_t count = hw_database_group(&ctx->chips, name, members, 256);
  if (count == 0) {
    const char *near = hw_database_near_group(&ctx->chips, name);
    if (near) {
      diag_file(&ctx->diags, DIAG_E0307_UNKNOWN_CHIP, NULL, 0, 0,
                "no group of chips that can be predicted is named '%s'; did you mean '@%s'?", name, near);
    } else {
      diag_file(
          &ctx->diags, DIAG_E0307_UNKNOWN_CHIP, NULL, 0, 0,
          "no group of chips that can be predicted is named '%s'; try @all, @gpu, @tpu or @demo, a vendor or a family",
          name);
    }
    return RDG_ERROR_INPUT;
  }
  for (size_t i = 0; i < count && i < 256; i++) {
    add_chip(list, members[i]);
  }
  return RDG_OK;
}

rdg_status api_find_chips(rdg_context *ctx, const char *const *names, size_t count, const struct hw_chip ***chips,
                          size_t *chip_count) {
  rdg_status status = api_need_chips(ctx);
  struct chip_list list = {.capacity = ctx->chips.chips.count + count};
  if (status == RDG_OK) {
    list.items = calloc(list.capacity + 1, sizeof *list.items);
    status = list.items ? RDG_OK : RDG_ERROR_MEMORY;
  }
  for (size_t i = 0; i < count && list.items && status != RDG_ERROR_MEMORY; i++) {
    const struct hw_chip *chip = NULL;
    rdg_status found = names[i][0] == '@' ? add_group(ctx, names[i], &list) : api_find_chip(ctx, names[i], &chip);
    if (chip) {
      add_chip(&list, chip);
    }
    status = found == RDG_OK ? status : found; /* go on: all unknown names are reported in one run */
  }
  if (status != RDG_OK) {
    free(list.items);
    return status;
  }
  *chips = list.items;
  *chip_count = list.count;
  return RDG_OK;
}

rdg_status api_flush(rdg_context *ctx, struct strbuf *out, rdg_sink sink) {
  rdg_status status = out->failed ? RDG_ERROR_MEMORY : RDG_OK;
  if (status == RDG_OK && !sink.write(sink.user, strbuf_text(out), out->length)) {
    diag_file(&ctx->diags, DIAG_E0006_WRITE, NULL, 0, 0,
              "the output was not taken: the receiver of it refused a piece");
    status = RDG_ERROR_IO;
  }
  strbuf_release(out);
  return api_result(ctx, status);
}

rdg_status api_finish(rdg_context *ctx, rdg_status status, struct strbuf *out, rdg_sink sink) {
  if (status != RDG_OK) {
    strbuf_release(out);
    return status;
  }
  return api_flush(ctx, out, sink);
}

rdg_status api_result(rdg_context *ctx, rdg_status status) {
  if (status == RDG_OK || ctx->diags.error_count) {
    return status;
  }
  if (status == RDG_ERROR_MEMORY) {
    diag_file(&ctx->diags, DIAG_E0007_MEMORY, NULL, 0, 0, "out of memory");
  } else if (status == RDG_ERROR_LIMIT) {
    diag_file(&ctx->diags, DIAG_E0005_LIMIT, NULL, 0, 0, "the program nests deeper or is larger than the limits allow");
  }
  return status;
}
