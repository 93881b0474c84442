/* What is written about a prediction: JSON and trace of any program that has estimates are valid JSON, in any encoding of the
 * names that the program has. */
#ifndef RIDGELINE_TESTS_FUZZ_FUZZ_REPORT_H
#define RIDGELINE_TESTS_FUZZ_FUZZ_REPORT_H

#include "fuzz_check.h"

/* Of a program that fuzz_check_program accepts. */
enum fuzz_outcome fuzz_check_reports(const struct fuzz_chips *chips, const char *text, size_t length,
                                     struct strbuf *why);

#endif
