/* A locale that writes decimals with a comma: de_DE where it is installed, else one built with localedef. */
#ifndef RIDGELINE_TESTS_LOCALE_FIXTURE_H
#define RIDGELINE_TESTS_LOCALE_FIXTURE_H

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline bool comma_locale_set(const char *name) {
  return setlocale(LC_ALL, name) != NULL && strcmp(localeconv()->decimal_point, ",") == 0;
}

/* Switches the process to such a locale; false (and a line that says so) when there is none. */
static inline bool comma_locale_enter(void) {
  if (comma_locale_set("de_DE.UTF-8") || comma_locale_set("de_DE")) {
    return true;
  }
  char directory[] = "/tmp/ridgeline_locale_XXXXXX";
  bool is_set = false;
  if (mkdtemp(directory) != NULL) {
    char path[128], command[512];
    snprintf(path, sizeof path, "%s/source", directory);
    FILE *file = fopen(path, "w");
    if (file != NULL) {
      fputs("LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \"\"\ngrouping -1\nEND LC_NUMERIC\n", file);
      fclose(file);
      snprintf(command, sizeof command, "localedef -c --no-archive -i %s/source %s/xx_XX >/dev/null 2>&1", directory,
               directory);
      int ignored = system(command); /* it complains about the categories that are left out, and writes the locale */
      (void)ignored;
      setenv("LOCPATH", directory, 1);
      is_set = setlocale(LC_ALL, "C") != NULL && setlocale(LC_NUMERIC, "xx_XX") != NULL
               && strcmp(localeconv()->decimal_point, ",") == 0;
      unsetenv("LOCPATH");
    }
    snprintf(command, sizeof command, "rm -r %s", directory);
    int ignored = system(command);
    (void)ignored;
  }
  if (!is_set) {
    printf("skipped: no locale with a decimal comma, and localedef makes none\n");
  }
  return is_set;
}

static inline void comma_locale_leave(void) {
  setlocale(LC_ALL, "C");
}

#endif
