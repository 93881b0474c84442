/* A counter that threads take the next piece of work from. */
#include "base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { THREAD_MAX = 64 };

struct shared_work {
  atomic_size_t next;
  size_t count;
  void (*work)(void *user, size_t i);
  void *user;
};

static void *take_work(void *argument) {
  struct shared_work *shared = argument;
  for (size_t i = atomic_fetch_add(&shared->next, 1); i < shared->count; i = atomic_fetch_add(&shared->next, 1)) {
    shared->work(shared->user, i);
  }
  return NULL;
}

void parallel_for(size_t count, unsigned threads, void (*work)(void *user, size_t i), void *user) {
  struct shared_work shared = {.count = count, .work = work, .user = user};
  pthread_t started[THREAD_MAX];
  size_t running = 0;
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  size_t wanted = threads ? threads : (size_t)(cores > 1 ? cores : 1);
  wanted = wanted < count ? wanted : count;
  while (running < THREAD_MAX && running + 1 < wanted
         && pthread_create(&started[running], NULL, take_work, &shared) == 0) {
    running++;
  }
  take_work(&shared);
  while (running > 0) {
    pthread_join(started[--running], NULL);
  }
}
