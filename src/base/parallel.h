/* Independent pieces of work on all cores. Who uses it keeps results apart by index, so that they do not depend on the
 * number of threads. */
#ifndef RIDGELINE_BASE_PARALLEL_H
#define RIDGELINE_BASE_PARALLEL_H

#include <stddef.h>

/* Calls work(user, i) once for every i < count, in any order. `threads` 0 = one per core. Threads that cannot be started
 * leave their share to the others; the caller's thread works too. */
void parallel_for(size_t count, unsigned threads, void (*work)(void *user, size_t i), void *user);

#endif
