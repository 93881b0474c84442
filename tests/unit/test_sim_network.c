/* The network: rates against an independent simulation by water-filling, conservation, capacity, independence of the order of
 * adding, monotony, copies and shares, channels, limits, and messages that wait for each other. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/sim_network.h"

enum { LINKS = 6, MESSAGES = 14, CASES = 300, ROUTE = 3 };

static uint32_t random_next(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u; /* Numerical Recipes' constants */
  return *state >> 8;
}

struct random_message {
  uint32_t route[ROUTE], share[ROUTE], length;
  double bytes;
  double delay_s;
  int after; /* -1: none */
};

struct random_case {
  double capacity_Bps[LINKS], latency_s[LINKS];
  struct random_message messages[MESSAGES];
};

static void random_case(struct random_case *c, uint32_t seed) {
  for (int i = 0; i < LINKS; i++) {
    c->capacity_Bps[i] = 1e9 * (1 + random_next(&seed) % 9);
    c->latency_s[i] = 1e-6 * (random_next(&seed) % 3);
  }
  for (int i = 0; i < MESSAGES; i++) {
    struct random_message *m = &c->messages[i];
    m->length = random_next(&seed) % ROUTE + 1;
    for (uint32_t k = 0; k < m->length; k++) {
      m->route[k] = (random_next(&seed) + (k == 0 ? 0 : m->route[k - 1] + 1)) % LINKS;
      m->share[k] = random_next(&seed) % 4 == 0 ? 2 : 1;
      for (uint32_t j = 0; j < k; j++) { /* each link once */
        m->length = m->route[j] == m->route[k] ? k : m->length;
      }
    }
    m->bytes = 1000.0 * (random_next(&seed) % 1000 + 1);
    m->delay_s = 1e-6 * (random_next(&seed) % 300);
    m->after = i > 0 && random_next(&seed) % 2 == 0 ? (int)(random_next(&seed) % (uint32_t)i) : -1;
  }
}

/* ---- an independent simulation ---- */

/* Water rises at all active messages alike, in small steps of exact events: the lowest level at which some link is full. */
static void water_fill(const struct random_case *c, const bool *is_active, double *rate) {
  bool is_fixed[MESSAGES] = {false};
  for (int i = 0; i < MESSAGES; i++) {
    rate[i] = 0;
  }
  for (;;) {
    double least = INFINITY;
    int full = -1;
    for (int l = 0; l < LINKS; l++) {
      double rest = c->capacity_Bps[l], open = 0;
      for (int i = 0; i < MESSAGES; i++) {
        for (uint32_t k = 0; is_active[i] && k < c->messages[i].length; k++) {
          if ((int)c->messages[i].route[k] == l) {
            rest -= is_fixed[i] ? rate[i] * c->messages[i].share[k] : 0;
            open += is_fixed[i] ? 0 : c->messages[i].share[k];
          }
        }
      }
      if (open > 0 && rest / open < least) {
        least = rest / open;
        full = l;
      }
    }
    if (full < 0) {
      return;
    }
    for (int i = 0; i < MESSAGES; i++) {
      for (uint32_t k = 0; is_active[i] && !is_fixed[i] && k < c->messages[i].length; k++) {
        if ((int)c->messages[i].route[k] == full) {
          is_fixed[i] = true;
          rate[i] = least;
        }
      }
    }
  }
}

static double route_latency_s(const struct random_case *c, int i) {
  double latency_s = 0;
  for (uint32_t k = 0; k < c->messages[i].length; k++) {
    latency_s += c->latency_s[c->messages[i].route[k]];
  }
  return latency_s;
}

/* Arrivals in seconds. */
static void simulate_slowly(const struct random_case *c, double *arrival_s) {
  double rest[MESSAGES], rate[MESSAGES], start_s[MESSAGES], now_s = 0;
  bool is_active[MESSAGES] = {false}, has_left[MESSAGES] = {false};
  for (int i = 0; i < MESSAGES; i++) {
    rest[i] = c->messages[i].bytes;
    start_s[i] = c->messages[i].after < 0 ? c->messages[i].delay_s : INFINITY;
  }
  for (;;) {
    for (int i = 0; i < MESSAGES; i++) {
      is_active[i] = is_active[i] || (!has_left[i] && start_s[i] <= now_s);
    }
    water_fill(c, is_active, rate);
    double next_s = INFINITY;
    int who = -1; /* that leaves; -1: someone starts */
    for (int i = 0; i < MESSAGES; i++) {
      double at_s = is_active[i] ? now_s + rest[i] / rate[i] : has_left[i] ? INFINITY : start_s[i];
      if (at_s < next_s) {
        next_s = at_s;
        who = is_active[i] ? i : -1;
      }
    }
    if (next_s == INFINITY) {
      return;
    }
    for (int i = 0; i < MESSAGES; i++) {
      rest[i] -= is_active[i] ? rate[i] * (next_s - now_s) : 0;
    }
    now_s = next_s;
    if (who >= 0) {
      is_active[who] = false;
      has_left[who] = true;
      arrival_s[who] = now_s + route_latency_s(c, who);
      for (int i = 0; i < MESSAGES; i++) {
        start_s[i] = c->messages[i].after == who ? arrival_s[who] + c->messages[i].delay_s : start_s[i];
      }
    }
  }
}

/* ---- the simulator on the same case ---- */

struct outcome {
  struct sim_network_result result;
  sim_time_ps arrival_ps[MESSAGES];
  uint64_t link_bytes[LINKS];
  sim_time_ps link_busy_ps[LINKS];
};

/* `reversed`: messages are added in the opposite order. */
static void simulate(const struct random_case *c, double capacity_factor, bool reversed, struct outcome *outcome) {
  struct sim_network *network = sim_network_new();
  uint32_t number[MESSAGES];
  for (int l = 0; l < LINKS; l++) {
    assert_int_equal(
        sim_link_add(network, c->capacity_Bps[l] * capacity_factor, (sim_time_ps)llround(c->latency_s[l] * 1e12)), l);
  }
  for (int n = 0; n < MESSAGES; n++) {
    int i = reversed ? MESSAGES - 1 - n : n;
    const struct random_message *m = &c->messages[i];
    struct sim_hop hops[ROUTE];
    for (uint32_t k = 0; k < m->length; k++) {
      hops[k] = (struct sim_hop){m->route[k], m->share[k]};
    }
    struct sim_message message = {.route = sim_route_add(network, hops, m->length),
                                  .copies = 1,
                                  .bytes = (uint64_t)m->bytes,
                                  .delay_ps = (sim_time_ps)llround(m->delay_s * 1e12)};
    number[i] = sim_message_add(network, &message);
  }
  for (int i = 0; i < MESSAGES; i++) {
    if (c->messages[i].after >= 0) {
      assert_true(sim_message_wait(network, number[i], number[c->messages[i].after], SIM_ARRIVED));
    }
  }
  struct diag_list diags;
  diag_init(&diags);
  assert_int_equal(sim_network_run(network, NULL, &diags, &outcome->result), STATUS_OK);
  diag_release(&diags);
  for (int i = 0; i < MESSAGES; i++) {
    outcome->arrival_ps[i] = sim_message_arrival(network, number[i]);
  }
  for (uint32_t l = 0; l < LINKS; l++) {
    outcome->link_bytes[l] = sim_link_bytes(network, l);
    outcome->link_busy_ps[l] = sim_link_busy(network, l);
  }
  sim_network_free(network);
}

/* Every change of rates may round an end up by 1 ps, and each moves all that come after. */
static const double rounding_ps = 4 * MESSAGES;

static void test_fairness(void **state) {
  (void)state;
  for (uint32_t seed = 1; seed <= CASES; seed++) {
    struct random_case c;
    struct outcome outcome;
    double arrival_s[MESSAGES];
    random_case(&c, seed);
    simulate_slowly(&c, arrival_s);
    simulate(&c, 1, false, &outcome);
    for (int i = 0; i < MESSAGES; i++) {
      assert_true(fabs((double)outcome.arrival_ps[i] - arrival_s[i] * 1e12) <= rounding_ps);
    }
  }
}

static void test_conservation_and_capacity(void **state) {
  (void)state;
  for (uint32_t seed = 1; seed <= CASES; seed++) {
    struct random_case c;
    struct outcome outcome;
    uint64_t bytes = 0, link_bytes[LINKS] = {0};
    random_case(&c, seed);
    simulate(&c, 1, false, &outcome);
    for (int i = 0; i < MESSAGES; i++) {
      bytes += (uint64_t)c.messages[i].bytes;
      for (uint32_t k = 0; k < c.messages[i].length; k++) {
        link_bytes[c.messages[i].route[k]] += (uint64_t)c.messages[i].bytes * c.messages[i].share[k];
      }
    }
    assert_true(outcome.result.sent_bytes == bytes && outcome.result.received_bytes == bytes);
    assert_int_equal(outcome.result.messages, MESSAGES);
    for (int l = 0; l < LINKS; l++) {
      assert_true(outcome.link_bytes[l] == link_bytes[l]);
      double least_ps = (double)link_bytes[l] / c.capacity_Bps[l] * 1e12;
      assert_true((double)outcome.link_busy_ps[l] >= least_ps * (1 - 1e-12));
      assert_true(outcome.link_busy_ps[l] <= outcome.result.end_ps);
    }
  }
}

static void test_order_of_adding(void **state) {
  (void)state;
  for (uint32_t seed = 1; seed <= CASES; seed++) {
    struct random_case c;
    struct outcome forward, backward;
    random_case(&c, seed);
    simulate(&c, 1, false, &forward);
    simulate(&c, 1, true, &backward);
    for (int i = 0; i < MESSAGES; i++) {
      assert_true(fabs((double)forward.arrival_ps[i] - (double)backward.arrival_ps[i]) <= rounding_ps);
    }
  }
}

/* Without dependencies a network with twice the capacity ends each message no later. (With them, a message that starts earlier
 * may take another one's share; that is so in real networks as well.) */
static void test_monotone_in_capacity(void **state) {
  (void)state;
  for (uint32_t seed = 1; seed <= CASES; seed++) {
    struct random_case c;
    struct outcome slow, fast;
    random_case(&c, seed);
    for (int i = 0; i < MESSAGES; i++) {
      c.messages[i].after = -1;
      c.messages[i].delay_s = 0;
    }
    simulate(&c, 1, false, &slow);
    simulate(&c, 2, false, &fast);
    for (int i = 0; i < MESSAGES; i++) {
      assert_true((double)fast.arrival_ps[i] <= (double)slow.arrival_ps[i] + rounding_ps);
    }
  }
}

/* ---- single properties ---- */

static struct sim_network *one_link(double capacity_Bps, sim_time_ps latency_ps, uint32_t share, uint32_t *route) {
  struct sim_network *network = sim_network_new();
  struct sim_hop hop = {sim_link_add(network, capacity_Bps, latency_ps), share};
  *route = sim_route_add(network, &hop, 1);
  return network;
}

static enum status run(struct sim_network *network, const struct sim_limits *limits, struct diag_list *diags,
                       struct sim_network_result *result) {
  diag_init(diags);
  return sim_network_run(network, limits, diags, result);
}

/* 3,000 bytes at 1 GB/s are 3 us; two of them at once 6 us, both at the same time; 2 us latency. */
static void test_two_share(void **state) {
  (void)state;
  uint32_t route;
  struct sim_network *network = one_link(1e9, 2000000, 1, &route);
  const struct sim_message message = {.route = route, .copies = 1, .bytes = 3000};
  uint32_t a = sim_message_add(network, &message), b = sim_message_add(network, &message);
  struct diag_list diags;
  struct sim_network_result result;
  assert_int_equal(run(network, NULL, &diags, &result), STATUS_OK);
  assert_true(sim_message_arrival(network, a) == 8000000 && sim_message_arrival(network, b) == 8000000);
  /* again, as one that stands for both: sent bytes count twice, the link carries both */
  sim_network_clear(network);
  struct sim_hop hop = {0, 2};
  const struct sim_message both = {.route = sim_route_add(network, &hop, 1), .copies = 2, .bytes = 3000};
  a = sim_message_add(network, &both);
  assert_int_equal(sim_network_run(network, NULL, &diags, &result), STATUS_OK);
  assert_true(sim_message_arrival(network, a) == 8000000);
  assert_true(result.sent_bytes == 6000 && result.messages == 2 && sim_link_bytes(network, 0) == 6000);
  diag_release(&diags);
  sim_network_free(network);
}

/* One channel: the second starts when the first has left the link, before it has arrived: 3 + 3 + 2 us. */
static void test_channel(void **state) {
  (void)state;
  uint32_t route;
  struct sim_network *network = one_link(1e9, 2000000, 1, &route);
  const struct sim_message message = {.route = route, .copies = 1, .bytes = 3000};
  uint32_t a = sim_message_add(network, &message), b = sim_message_add(network, &message);
  assert_true(sim_message_wait(network, b, a, SIM_DEPARTED));
  struct diag_list diags;
  struct sim_network_result result;
  assert_int_equal(run(network, NULL, &diags, &result), STATUS_OK);
  assert_true(sim_message_arrival(network, a) == 5000000 && sim_message_arrival(network, b) == 8000000);
  diag_release(&diags);
  sim_network_free(network);
}

/* Wire bytes load the link, data bytes are counted; no bytes and no links take no time but latency and delay. */
static void test_wire_bytes_and_empty(void **state) {
  (void)state;
  uint32_t route;
  struct sim_network *network = one_link(1e9, 2000000, 1, &route);
  const struct sim_message flags = {.route = route, .copies = 1, .bytes = 1000, .wire_bytes = 2000};
  const struct sim_message empty = {.route = route, .copies = 1, .delay_ps = 7};
  const struct sim_message local = {.route = SIM_ROUTE_LOCAL, .copies = 1, .bytes = 1 << 20, .delay_ps = 9};
  uint32_t a = sim_message_add(network, &flags), b = sim_message_add(network, &empty),
           c = sim_message_add(network, &local);
  struct diag_list diags;
  struct sim_network_result result;
  assert_int_equal(run(network, NULL, &diags, &result), STATUS_OK);
  assert_true(sim_message_arrival(network, a) == 4000000);
  assert_true(sim_message_arrival(network, b) == 2000007);
  assert_true(sim_message_arrival(network, c) == 9);
  assert_true(result.sent_bytes == 1000 + (1 << 20));
  diag_release(&diags);
  sim_network_free(network);
}

static void name_tag(void *context, uint32_t tag, char *text, size_t capacity) {
  (void)context;
  (void)snprintf(text, capacity, "job %c", (char)('A' + tag));
}

/* A waits for B, B for C, C for A; D waits for A and is no part of the circle. */
static void test_deadlock(void **state) {
  (void)state;
  uint32_t route, number[4];
  struct sim_network *network = one_link(1e9, 0, 1, &route);
  for (uint32_t i = 0; i < 4; i++) {
    const struct sim_message message = {.route = route, .copies = 1, .bytes = 10, .tag = i};
    number[i] = sim_message_add(network, &message);
  }
  assert_true(sim_message_wait(network, number[0], number[1], SIM_ARRIVED));
  assert_true(sim_message_wait(network, number[1], number[2], SIM_ARRIVED));
  assert_true(sim_message_wait(network, number[2], number[0], SIM_DEPARTED));
  assert_true(sim_message_wait(network, number[3], number[0], SIM_ARRIVED));
  struct diag_list diags;
  struct sim_network_result result;
  const struct sim_limits limits = {.tag_name = name_tag};
  assert_int_equal(run(network, &limits, &diags, &result), STATUS_INPUT);
  assert_int_equal(result.waiting_count, 4);
  assert_int_equal(diags.entries.data[0].id, DIAG_E0901_NETWORK_DEADLOCK);
  const char *text = diags.entries.data[0].message;
  assert_non_null(strstr(text, "'job A'"));
  assert_non_null(strstr(text, "'job B'"));
  assert_non_null(strstr(text, "'job C'"));
  assert_null(strstr(text, "'job D'"));
  diag_release(&diags);
  sim_network_free(network);
}

static bool cancel_at_once(void *context) {
  ++*(int *)context;
  return true;
}

static void test_limits(void **state) {
  (void)state;
  uint32_t route;
  struct sim_network *network = one_link(1e9, 0, 1, &route);
  for (int i = 0; i < 10; i++) {
    const struct sim_message message = {.route = route, .copies = 1, .bytes = 10, .delay_ps = (sim_time_ps)i * 100000};
    assert_int_equal(sim_message_add(network, &message), i);
  }
  struct diag_list diags;
  struct sim_network_result result;
  struct sim_limits limits = {.max_events = 7};
  assert_int_equal(run(network, &limits, &diags, &result), STATUS_LIMIT);
  assert_int_equal(result.events, 7);
  assert_int_equal(result.messages, 3); /* start and end of each */
  diag_release(&diags);
  sim_network_clear(network);
  const struct sim_message message = {.route = route, .copies = 1, .bytes = 10};
  (void)sim_message_add(network, &message);
  int asked = 0;
  limits = (struct sim_limits){.is_cancelled = cancel_at_once, .context = &asked};
  assert_int_equal(run(network, &limits, &diags, &result), STATUS_LIMIT);
  assert_int_equal(asked, 1);
  diag_release(&diags);
  sim_network_free(network);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fairness),
      cmocka_unit_test(test_conservation_and_capacity),
      cmocka_unit_test(test_order_of_adding),
      cmocka_unit_test(test_monotone_in_capacity),
      cmocka_unit_test(test_two_share),
      cmocka_unit_test(test_channel),
      cmocka_unit_test(test_wire_bytes_and_empty),
      cmocka_unit_test(test_deadlock),
      cmocka_unit_test(test_limits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
