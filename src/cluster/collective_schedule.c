/* Life of a collective's messages. */
#include "cluster/collective_schedule.h"

void collective_schedule_release(struct collective_schedule *schedule) {
  vec_release(&schedule->steps);
  vec_release(&schedule->messages);
}
