/* Status of internal calls. User errors carry diagnostics; see diag.h. */
#ifndef RIDGELINE_BASE_STATUS_H
#define RIDGELINE_BASE_STATUS_H

enum status {
  STATUS_OK = 0,
  STATUS_INPUT = 1, /* the input is wrong; at least one error diagnostic was recorded */
  STATUS_MEMORY = 2, /* out of memory or over a memory budget */
  STATUS_LIMIT = 3, /* another budget (depth, operations) was reached; a diagnostic says which */
  STATUS_IO = 4, /* a file could not be read or written; a diagnostic says which */
  STATUS_UNSUPPORTED = 5
};

/* Forwards a failure to the caller. */
#define STATUS_TRY(call)                                                                                               \
  do {                                                                                                                 \
    enum status status_try_ = (call);                                                                                  \
    if (status_try_ != STATUS_OK) {                                                                                    \
      return status_try_;                                                                                              \
    }                                                                                                                  \
  } while (0)

#endif
