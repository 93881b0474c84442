/* Decimal text of numbers, the same under every locale of the host program: a library may not change the process's
 * locale, and where that writes decimals with a comma strtod and printf would read and write "0,5". */
#ifndef RIDGELINE_BASE_DECIMAL_H
#define RIDGELINE_BASE_DECIMAL_H

#include <locale.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* The number that text[0 .. length) spells in strtod's grammar, all of it; correctly rounded (±HUGE_VAL on overflow).
 * False, and 0, when it spells none. Nothing beyond `length` is read. */
bool decimal_parse(const char *text, size_t length, double *out);
/* snprintf with '.' as the decimal point. */
int decimal_format(char *buffer, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Between enter and leave this thread is in the "C" locale, unless the point was '.' already. Nests. */
struct decimal_scope {
  locale_t previous; /* (locale_t)0: the point is '.' already and nothing was switched */
  locale_t plain;
};
void decimal_enter(struct decimal_scope *scope);
void decimal_leave(struct decimal_scope *scope);

#endif
