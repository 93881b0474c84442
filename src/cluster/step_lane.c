/* One graph on the streams of one device, event by event. The compute stream takes tasks in the order of the program, or,
 * where the compiler schedules (LATENCY_HIDING), the first one whose operands are there; collectives run on their streams
 * meanwhile. Between two events all speeds are constant: compute slows beside collectives, collectives that use the same
 * dimension share it. Sums are exact: every picosecond is compute or exposed communication. */
#include "cluster/step_lane_int.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"

static const struct work_collective *collective_of(const struct lane_machine *m, uint32_t task) {
  return &m->graph->collectives.data[m->graph->tasks.data[task].collective - 1];
}

static const struct step_price *price_of(const struct lane_machine *m, uint32_t task) {
  return &m->network->prices.data[m->prices->of[m->graph->tasks.data[task].collective - 1]];
}

static bool is_scheduled(const struct lane_machine *m) {
  return m->options->overlap == STEP_OVERLAP_LATENCY_HIDING;
}

/* Whether the compute stream goes on beside the collective. */
static bool is_async(const struct lane_machine *m, uint32_t task) {
  const struct work_collective *collective = collective_of(m, task);
  switch (m->options->overlap) {
  case STEP_OVERLAP_LATENCY_HIDING:
    return true;
  case STEP_OVERLAP_EARLY_LATE:
    return collective->kind != WORK_ALL_GATHER;
  case STEP_OVERLAP_AS_WRITTEN:
    return (collective->flags & WORK_COLLECTIVE_ASYNC) != 0;
  default:
    return false;
  }
}

/* Whether it starts when its operands are there, not when the compute stream comes to it. */
static bool is_early(const struct lane_machine *m, uint32_t task) {
  return m->options->overlap != STEP_OVERLAP_AS_WRITTEN && is_async(m, task);
}

/* Where the compiler schedules, as the library has streams; blocking collectives beside the others of one stream; as
 * written, one per communicator (list of groups). */
static uint8_t stream_of(const struct lane_machine *m, uint32_t task) {
  switch (m->options->overlap) {
  case STEP_OVERLAP_LATENCY_HIDING:
    return price_of(m, task)->stream;
  case STEP_OVERLAP_AS_WRITTEN:
    return (uint8_t)(1 + collective_of(m, task)->groups % STEP_STREAMS_MAX);
  default:
    return is_async(m, task) ? 1 : 2;
  }
}

static void add_span(struct lane_machine *m, uint32_t task, sim_time_ps start_ps, uint8_t stream) {
  if (m->options->keep_spans && m->now_ps > start_ps) {
    struct step_span span = {.start_ps = start_ps, .end_ps = m->now_ps, .task = task, .stream = stream};
    (void)vec_push(&m->lane->spans, span); /* a trace with a gap when memory is short */
  }
}

/* ---- what may start ---- */

static void give_to_stream(struct lane_machine *m, uint32_t task) {
  uint32_t priority = is_scheduled(m) ? m->needs[task] : m->issued;
  m->issued++;
  lane_heap_push(&m->streams[stream_of(m, task)].waiting, priority, task);
}

/* A task whose operands are all there. In program order the cursor starts it, but for free ones. */
static void make_ready(struct lane_machine *m, uint32_t task) {
  if (m->kinds[task] == LANE_FREE) {
    m->finished[m->finished_count++] = task;
  } else if (m->kinds[task] == LANE_COLLECTIVE) {
    if (is_early(m, task)) {
      give_to_stream(m, task);
    }
  } else if (is_scheduled(m)) {
    lane_heap_push(&m->ready, task, task);
  }
}

/* Tells the readers of all finished tasks, and those of free tasks that are done thereby. */
static void settle(struct lane_machine *m) {
  while (m->finished_count > 0) {
    uint32_t task = m->finished[--m->finished_count];
    m->done_count++;
    m->gathered_bytes -= m->due_bytes[task] < m->gathered_bytes ? m->due_bytes[task] : m->gathered_bytes;
    for (uint32_t r = m->reader_first[task]; r < m->reader_first[task + 1]; r++) {
      if (--m->missing[m->readers[r]] == 0) {
        make_ready(m, m->readers[r]);
      }
    }
    m->missing[task] = STEP_NO_TASK; /* done */
  }
}

static bool is_done(const struct lane_machine *m, uint32_t task) {
  return m->missing[task] == STEP_NO_TASK;
}

static bool are_streams_idle(const struct lane_machine *m) {
  for (unsigned s = 1; s <= STEP_STREAMS_MAX; s++) {
    if (m->streams[s].task != STEP_NO_TASK) {
      return false;
    }
  }
  return true;
}

/* ---- compute ---- */

static void start_compute(struct lane_machine *m, uint32_t task) {
  m->task = task;
  m->left_ps = (double)m->durations[task];
  m->start_ps = m->now_ps;
}

/* In the order of the program: passes over what is done, hands collectives to their streams, starts the next task. */
static void issue_in_order(struct lane_machine *m) {
  while (m->cursor < m->count && m->task == STEP_NO_TASK) {
    uint32_t task = m->order[m->cursor];
    if (m->kinds[task] == LANE_COLLECTIVE) {
      if (m->given <= m->cursor && !is_early(m, task)) {
        give_to_stream(m, task);
        m->given = m->cursor + 1;
      }
      if (!is_async(m, task) && !is_done(m, task)) {
        return;
      }
    } else if (m->kinds[task] == LANE_FREE) {
      /* the stream passes a done task, or any other free one, when its operands are there */
      if (!is_done(m, task) && m->graph->tasks.data[task].kind == WORK_COLLECTIVE_DONE) {
        return;
      }
    } else if (m->missing[task] > 0 || (m->kinds[task] == LANE_ALONE && !are_streams_idle(m))) {
      return;
    } else {
      start_compute(m, task);
    }
    m->cursor++;
  }
}

static void issue_scheduled(struct lane_machine *m) {
  uint32_t task = lane_heap_top(&m->ready);
  if (m->task == STEP_NO_TASK && task != STEP_NO_TASK && (m->kinds[task] != LANE_ALONE || are_streams_idle(m))) {
    start_compute(m, lane_heap_pop(&m->ready));
  }
}

/* A loop with collectives waits for the streams to become idle; then nothing new may start. */
static bool is_draining(const struct lane_machine *m) {
  uint32_t next = m->task != STEP_NO_TASK ? m->task : is_scheduled(m) ? lane_heap_top(&m->ready) : STEP_NO_TASK;
  return next != STEP_NO_TASK && m->kinds[next] == LANE_ALONE;
}

/* ---- communication ---- */

static bool fits_ahead(const struct lane_machine *m, uint32_t task) {
  if (!is_scheduled(m) || m->gathered_bytes == 0 || m->task == STEP_NO_TASK) {
    return true;
  }
  const struct work_collective *collective = collective_of(m, task);
  return collective->kind != WORK_ALL_GATHER
         || sat_add_u64(m->gathered_bytes, collective->output_bytes) <= m->options->gather_budget_bytes;
}

static void start_collectives(struct lane_machine *m) {
  if (is_draining(m)) {
    return;
  }
  for (unsigned s = 1; s <= STEP_STREAMS_MAX; s++) {
    struct lane_stream *stream = &m->streams[s];
    uint32_t task = lane_heap_top(&stream->waiting);
    if (stream->task != STEP_NO_TASK || task == STEP_NO_TASK || m->missing[task] > 0 || !fits_ahead(m, task)) {
      continue;
    }
    lane_heap_pop(&stream->waiting);
    const struct work_collective *collective = collective_of(m, task);
    stream->task = task;
    stream->price = m->prices->of[m->graph->tasks.data[task].collective - 1];
    stream->left_ps = (double)m->network->prices.data[stream->price].time_ps;
    stream->start_ps = m->now_ps;
    m->lane->rows[stream->price].count++;
    m->gathered_bytes +=
        collective->kind == WORK_ALL_GATHER && m->needs[task] < m->count ? collective->output_bytes : 0;
    m->lane->gathered_bytes = m->gathered_bytes > m->lane->gathered_bytes ? m->gathered_bytes : m->lane->gathered_bytes;
  }
}

/* ---- time ---- */

/* How much longer the task takes beside what is in flight. */
static double slowdown_of(const struct lane_machine *m) {
  double memory_share = 0;
  bool is_beside = false;
  for (unsigned s = 1; s <= STEP_STREAMS_MAX; s++) {
    if (m->streams[s].task != STEP_NO_TASK) {
      is_beside = true;
      memory_share += m->network->prices.data[m->streams[s].price].memory_share;
    }
  }
  const struct work_task_result *times = &m->times->tasks[m->task];
  if (!is_beside || m->kinds[m->task] == LANE_ALONE || !(times->time_s > 0)) {
    return 1;
  }
  double cores_s = 0;
  for (unsigned b = 0; b < WORK_BOUND_MEMORY; b++) {
    cores_s = fmax(cores_s, times->resource_s[b]);
  }
  double slowed_s = fmax(cores_s / (1 - m->network->contention.core_share),
                         times->resource_s[WORK_BOUND_MEMORY] / (1 - fmin(memory_share, 0.9)));
  return fmax(1, slowed_s / times->time_s);
}

/* Collectives in flight that want one of its dimensions, itself included. */
static unsigned sharers_of(const struct lane_machine *m, const struct lane_stream *stream) {
  unsigned count = 0, mine = m->network->prices.data[stream->price].dimensions;
  for (unsigned s = 1; s <= STEP_STREAMS_MAX; s++) {
    const struct lane_stream *other = &m->streams[s];
    count += other == stream
             || (other->task != STEP_NO_TASK && (m->network->prices.data[other->price].dimensions & mine) != 0);
  }
  return count;
}

static sim_time_ps ends_after(sim_time_ps now_ps, double left_ps, double factor) {
  return sat_add_u64(now_ps, (sim_time_ps)fmin(ceil(left_ps * factor - 1e-6), 9e18));
}

/* When something ends next; UINT64_MAX when nothing runs. */
static sim_time_ps next_event(struct lane_machine *m) {
  sim_time_ps next = UINT64_MAX;
  if (m->task != STEP_NO_TASK) {
    m->slowdown = slowdown_of(m);
    m->end_ps = ends_after(m->now_ps, m->left_ps, m->slowdown);
    next = m->end_ps;
  }
  for (unsigned s = 1; s <= STEP_STREAMS_MAX; s++) {
    struct lane_stream *stream = &m->streams[s];
    if (stream->task != STEP_NO_TASK) {
      stream->end_ps = ends_after(m->now_ps, stream->left_ps, sharers_of(m, stream));
      next = stream->end_ps < next ? stream->end_ps : next;
    }
  }
  return next;
}

/* The compute stream waits: for what ends first. */
static void add_exposed(struct lane_machine *m, sim_time_ps passed_ps) {
  const struct lane_stream *first = NULL;
  for (unsigned s = 1; s <= STEP_STREAMS_MAX; s++) {
    const struct lane_stream *stream = &m->streams[s];
    if (stream->task != STEP_NO_TASK && (first == NULL || stream->end_ps < first->end_ps)) {
      first = stream;
    }
  }
  assert(first != NULL);
  m->lane->exposed_ps += passed_ps;
  m->lane->exposed_by_kind_ps[m->network->prices.data[first->price].request.kind] += passed_ps;
  struct step_lane_row *row = &m->lane->rows[first->price];
  row->exposed_ps += passed_ps;
  row->tail_ps = passed_ps + (row->tail_of == m->computed ? row->tail_ps : 0);
  row->tail_of = m->computed;
}

static void finish(struct lane_machine *m, uint32_t task) {
  m->finished[m->finished_count++] = task;
  settle(m);
}

static void finish_compute(struct lane_machine *m) {
  uint32_t task = m->task;
  const struct work_task *control = &m->graph->tasks.data[task];
  if (m->kinds[task] == LANE_ALONE) {
    step_lane_add(m->lane, &m->inner[m->inner_of[task]], control->kind == WORK_LOOP ? control->trip_count : 1);
  }
  add_span(m, task, m->start_ps, 0);
  m->task = STEP_NO_TASK;
  m->computed_ps = m->now_ps;
  m->computed++;
  finish(m, task);
}

/* All that happens until `next_ps`, and what ends there. */
static void advance(struct lane_machine *m, sim_time_ps next_ps) {
  const sim_time_ps passed_ps = next_ps - m->now_ps;
  const double passed = (double)passed_ps;
  if (m->task == STEP_NO_TASK) {
    add_exposed(m, passed_ps);
  } else if (m->kinds[m->task] != LANE_ALONE) {
    m->lane->compute_ps += passed_ps;
    m->lane->contention_ps += (sim_time_ps)(passed * (1 - 1 / m->slowdown));
  }
  m->left_ps -= m->task != STEP_NO_TASK ? passed / m->slowdown : 0;
  for (unsigned s = 1; s <= STEP_STREAMS_MAX; s++) {
    struct lane_stream *stream = &m->streams[s];
    if (stream->task != STEP_NO_TASK) {
      stream->left_ps -= passed / (double)sharers_of(m, stream);
      m->lane->busy_ps += passed_ps;
    }
  }
  m->now_ps = next_ps;
  for (unsigned s = 1; s <= STEP_STREAMS_MAX; s++) {
    struct lane_stream *stream = &m->streams[s];
    if (stream->task != STEP_NO_TASK && stream->end_ps == next_ps) {
      uint32_t task = stream->task;
      add_span(m, task, stream->start_ps, (uint8_t)s);
      stream->task = STEP_NO_TASK;
      finish(m, task);
    }
  }
  if (m->task != STEP_NO_TASK && m->end_ps == next_ps) {
    finish_compute(m);
  }
}

static void start_free_tasks(struct lane_machine *m) {
  for (uint32_t t = 0; t < m->count; t++) {
    if (m->missing[t] == 0) {
      make_ready(m, t);
    }
  }
  settle(m);
}

enum status lane_run(const struct step_network *network, const struct work_graph *graph,
                     const struct work_graph_result *times, const struct step_prices *prices,
                     const struct step_lane_options *options, struct arena *arena, unsigned depth,
                     struct step_lane *lane) {
  struct lane_machine m = {.network = network,
                           .graph = graph,
                           .times = times,
                           .prices = prices,
                           .options = options,
                           .lane = lane,
                           .count = (uint32_t)graph->tasks.count,
                           .slowdown = 1,
                           .task = STEP_NO_TASK};
  lane->row_count = network->prices.count;
  lane->rows = arena_calloc(arena, lane->row_count + 1, sizeof *lane->rows);
  if (lane->rows == NULL) {
    return STATUS_MEMORY;
  }
  STATUS_TRY(lane_prepare(&m, arena, depth));
  start_free_tasks(&m);
  for (;;) {
    (is_scheduled(&m) ? issue_scheduled : issue_in_order)(&m);
    start_collectives(&m);
    sim_time_ps next_ps = next_event(&m);
    if (next_ps == UINT64_MAX) {
      break;
    }
    advance(&m, next_ps);
  }
  assert(m.done_count == m.count);
  lane->time_ps = m.now_ps;
  lane->tail_ps = m.now_ps - m.computed_ps;
  for (size_t r = 0; r < lane->row_count; r++) {
    lane->rows[r].tail_ps = lane->rows[r].tail_of == m.computed ? lane->rows[r].tail_ps : 0;
  }
  return STATUS_OK;
}

enum status step_lane_run(const struct step_network *network, const struct work_graph *graph,
                          const struct work_graph_result *times, const struct step_prices *prices,
                          const struct step_lane_options *options, struct arena *arena, struct step_lane *lane) {
  memset(lane, 0, sizeof *lane);
  return lane_run(network, graph, times, prices, options, arena, 0, lane);
}

void step_lane_release(struct step_lane *lane) {
  vec_release(&lane->spans);
}

void step_lane_add(struct step_lane *into, const struct step_lane *from, uint64_t times) {
  into->time_ps = sat_add_u64(into->time_ps, sat_mul_u64(from->time_ps, times));
  into->compute_ps = sat_add_u64(into->compute_ps, sat_mul_u64(from->compute_ps, times));
  into->exposed_ps = sat_add_u64(into->exposed_ps, sat_mul_u64(from->exposed_ps, times));
  into->contention_ps = sat_add_u64(into->contention_ps, sat_mul_u64(from->contention_ps, times));
  into->busy_ps = sat_add_u64(into->busy_ps, sat_mul_u64(from->busy_ps, times));
  for (size_t k = 0; k < STEP_COLLECTIVE_KINDS; k++) {
    into->exposed_by_kind_ps[k] =
        sat_add_u64(into->exposed_by_kind_ps[k], sat_mul_u64(from->exposed_by_kind_ps[k], times));
  }
  for (size_t r = 0; r < into->row_count && r < from->row_count; r++) {
    into->rows[r].count = sat_add_u64(into->rows[r].count, sat_mul_u64(from->rows[r].count, times));
    into->rows[r].exposed_ps = sat_add_u64(into->rows[r].exposed_ps, sat_mul_u64(from->rows[r].exposed_ps, times));
  }
  into->gathered_bytes = from->gathered_bytes > into->gathered_bytes ? from->gathered_bytes : into->gathered_bytes;
}
