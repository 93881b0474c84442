/* Diagnosis of messages that wait for each other: a cycle of them by their tags. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "sim/sim_network_int.h"

enum { TAGS_SHOWN = 8 };

static void tag_text(const struct sim_limits *limits, uint32_t tag, char *text, size_t capacity) {
  if (limits != NULL && limits->tag_name != NULL) {
    limits->tag_name(limits->context, tag, text, capacity);
  } else {
    (void)snprintf(text, capacity, "%" PRIu32, tag);
  }
}

/* For every waiting message one that it waits for. Such a message waits as well, else it would have released this one. */
static uint32_t *find_causes(const struct sim_network *network) {
  uint32_t *cause = malloc(network->messages.count * sizeof *cause);
  for (size_t i = 0; cause != NULL && i < network->messages.count; i++) {
    cause[i] = SIM_NONE;
  }
  for (size_t i = 0; cause != NULL && i < network->messages.count; i++) {
    const struct message *message = &network->messages.data[i];
    for (uint32_t e = message->edge_first; message->flow != STATE_ARRIVED && e != SIM_NONE;
         e = network->edges.data[e].next) {
      cause[network->edges.data[e].waiter >> 1] = (uint32_t)i;
    }
  }
  return cause;
}

/* A message of a cycle: as many steps back as there are messages end in one. */
static uint32_t find_cycle(const struct sim_network *network, const uint32_t *cause) {
  uint32_t at = 0;
  while (network->messages.data[at].flow == STATE_ARRIVED) {
    at++;
  }
  for (size_t i = 0; i < network->messages.count; i++) {
    at = cause[at];
  }
  return at;
}

/* Tags along the cycle, each once in a row; at most `capacity`. Returns how many there are. */
static size_t cycle_tags(const struct sim_network *network, const uint32_t *cause, uint32_t *tags, size_t capacity) {
  uint32_t first = find_cycle(network, cause), at = first;
  size_t count = 0;
  do {
    uint32_t tag = network->messages.data[at].tag, before = count == 0 ? ~tag : tags[(count - 1) % capacity];
    if (tag != before) {
      tags[count++ % capacity] = tag;
    }
    at = cause[at];
  } while (at != first && count < capacity);
  return count > 1 && tags[0] == tags[count - 1] ? count - 1 : count;
}

void network_report_waiting(const struct sim_network *network, const struct sim_limits *limits, struct diag_list *diags,
                            uint32_t waiting_count) {
  uint32_t *cause = find_causes(network), tags[TAGS_SHOWN];
  char name[200], text[2048] = "";
  size_t count = cause == NULL ? 0 : cycle_tags(network, cause, tags, TAGS_SHOWN), length = 0;
  free(cause);
  for (size_t i = 1; i <= count; i++) { /* the last waits for the first */
    tag_text(limits, tags[i % count], name, sizeof name);
    length += (size_t)snprintf(text + length, sizeof text - length, "%s waits for '%s'", i == 1 ? "" : ", which", name);
  }
  if (count < 2) {
    tag_text(limits, count == 1 ? tags[0] : 0, name, sizeof name);
    diag_at(diags, DIAG_E0901_NETWORK_DEADLOCK, NULL, 0, "%" PRIu32 " messages wait for each other%s%s%s",
            waiting_count, count == 1 ? ", all of '" : "", count == 1 ? name : "", count == 1 ? "'" : "");
    return;
  }
  tag_text(limits, tags[0], name, sizeof name);
  diag_at(diags, DIAG_E0901_NETWORK_DEADLOCK, NULL, 0, "%" PRIu32 " messages never start: '%s'%s", waiting_count, name,
          text);
}
