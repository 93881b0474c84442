/* Option parsing for the sub-commands: long and short options anywhere on the line, values with '=' or as the next word. */
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

int cli_usage_error(const struct cli_command *command, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fprintf(stderr, "ridgeline %s: ", command->name);
  vfprintf(stderr, format, args);
  fprintf(stderr, "\n'ridgeline %s --help' shows the usage\n", command->name);
  va_end(args);
  return CLI_USAGE;
}

bool cli_count(const char *text, uint64_t most, uint64_t *value) {
  char *end = NULL;
  errno = 0;
  unsigned long long number = strtoull(text, &end, 10);
  *value = number;
  return errno == 0 && *text >= '0' && *text <= '9' && *end == '\0' && number > 0 && number <= most;
}

static bool list_add(struct cli_list *list, const char *item) {
  if (list->count == sizeof list->items / sizeof list->items[0]) {
    return false;
  }
  list->items[list->count++] = item;
  return true;
}

static char *trim(char *item) {
  item += strspn(item, " \t");
  size_t length = strlen(item);
  while (length && (item[length - 1] == ' ' || item[length - 1] == '\t')) {
    item[--length] = '\0';
  }
  return item;
}

/* Splits "a, b" into items; the copy belongs to the list. */
static bool list_add_split(struct cli_list *list, const char *value) {
  char *copy = list->storage_count < sizeof list->storage / sizeof list->storage[0] ? strdup(value) : NULL;
  if (!copy) {
    return false;
  }
  list->storage[list->storage_count++] = copy;
  char *rest = NULL;
  for (char *item = strtok_r(copy, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
    item = trim(item);
    if (*item && !list_add(list, item)) {
      return false;
    }
  }
  return true;
}

void cli_list_release(struct cli_list *list) {
  for (size_t i = 0; i < list->storage_count; i++) {
    free(list->storage[i]);
  }
  list->storage_count = list->count = 0;
}

static const struct cli_option *find_option(const struct cli_option *options, size_t count, const char *word,
                                            const char **value) {
  *value = NULL;
  if (word[0] == '-' && word[1] != '-') {
    for (size_t i = 0; i < count; i++) {
      if (options[i].letter && options[i].letter == word[1]) {
        *value = word[2] ? word + 2 : NULL;
        return &options[i];
      }
    }
    return NULL;
  }
  size_t length = strcspn(word + 2, "=");
  for (size_t i = 0; i < count; i++) {
    if (strlen(options[i].name) == length && strncmp(options[i].name, word + 2, length) == 0) {
      *value = word[2 + length] == '=' ? word + 3 + length : NULL;
      return &options[i];
    }
  }
  return NULL;
}

static int apply_option(const struct cli_command *command, const struct cli_option *option, const char *value) {
  if (option->flag) {
    *option->flag = true;
    return value ? cli_usage_error(command, "--%s takes no value", option->name) : CLI_OK;
  }
  if (option->text) {
    *option->text = value;
    return CLI_OK;
  }
  bool added = option->commas ? list_add_split(option->list, value) : list_add(option->list, value);
  return added ? CLI_OK : cli_usage_error(command, "too many values for --%s", option->name);
}

int cli_parse(const struct cli_command *command, int argc, char **argv, const struct cli_option *options,
              size_t option_count, const char **positional, size_t capacity, size_t *positional_count, bool *help) {
  bool only_positional = false;
  uint64_t given = 0; /* bit i: options[i] of one value; no command has 64 */
  *positional_count = 0;
  *help = false;
  for (int i = 0; i < argc; i++) {
    const char *word = argv[i];
    if (only_positional || word[0] != '-' || word[1] == '\0') {
      if (*positional_count == capacity) {
        return cli_usage_error(command, "'%s' is one argument too many", word);
      }
      positional[(*positional_count)++] = word;
      continue;
    }
    if (strcmp(word, "--") == 0) {
      only_positional = true;
      continue;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
      fputs(command->usage, stdout);
      *help = true;
      return CLI_OK;
    }
    const char *value;
    const struct cli_option *option = find_option(options, option_count, word, &value);
    if (!option) {
      return cli_usage_error(command, "there is no option '%s'", word);
    }
    if (!option->flag && !value) {
      if (i + 1 == argc) {
        return cli_usage_error(command, "--%s needs a value", option->name);
      }
      value = argv[++i];
    }
    uint64_t bit = option->text ? UINT64_C(1) << (option - options) : 0;
    if (given & bit) {
      return cli_usage_error(command, "--%s is given twice", option->name);
    }
    given |= bit;
    int status = apply_option(command, option, value);
    if (status != CLI_OK) {
      return status;
    }
  }
  return CLI_OK;
}
