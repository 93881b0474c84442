/* The event queue: buckets of equal time on a 4-ary heap. A small direct-mapped table finds the youngest bucket of a time;
 * a bucket that has fallen out of it gets no more events, and a later one of the same time is behind it by its sequence. */
#include "sim/sim_events.h"

#include "base/vec.h"

enum {
  RECENT_COUNT = 256, /* places of the table of recent times; a power of two */
  BUCKET_BITS = 24, /* of an order: bucket number; the rest is the sequence */
  ARITY = 4
};
static const uint32_t none = UINT32_MAX;

struct event_node {
  uint32_t kind, subject, next;
};

struct bucket {
  sim_time_ps time_ps;
  uint64_t order; /* sequence << BUCKET_BITS | own number */
  uint32_t head, tail; /* event nodes; also the chain of free buckets, in head */
};

struct heap_key {
  sim_time_ps time_ps;
  uint64_t order;
};

struct sim_queue {
  VEC(struct event_node) nodes;
  VEC(struct bucket) buckets;
  VEC(struct heap_key) heap;
  uint32_t free_node, free_bucket;
  uint32_t current; /* the bucket that is being popped, not on the heap; `none` = none */
  uint32_t recent[RECENT_COUNT]; /* bucket of a time; `none` = none */
  uint64_t sequence, popped;
};

struct sim_queue *sim_queue_new(void) {
  struct sim_queue *queue = calloc(1, sizeof *queue);
  if (queue == NULL) {
    return NULL;
  }
  queue->free_node = queue->free_bucket = queue->current = none;
  for (int i = 0; i < RECENT_COUNT; i++) {
    queue->recent[i] = none;
  }
  return queue;
}

void sim_queue_free(struct sim_queue *queue) {
  if (queue == NULL) {
    return;
  }
  vec_release(&queue->nodes);
  vec_release(&queue->buckets);
  vec_release(&queue->heap);
  free(queue);
}

static uint32_t recent_place(sim_time_ps time_ps) {
  /* 2^64 / golden ratio: Knuth, The Art of Computer Programming 3, 6.4 */
  return (uint32_t)(time_ps * 0x9e3779b97f4a7c15u >> 56) & (RECENT_COUNT - 1);
}

static bool is_before(struct heap_key a, struct heap_key b) {
  return a.time_ps < b.time_ps || (a.time_ps == b.time_ps && a.order < b.order);
}

static bool heap_push(struct sim_queue *queue, const struct bucket *bucket) {
  struct heap_key key = {bucket->time_ps, bucket->order};
  if (!vec_push(&queue->heap, key)) {
    return false;
  }
  struct heap_key *heap = queue->heap.data;
  size_t at = queue->heap.count - 1;
  while (at > 0 && is_before(key, heap[(at - 1) / ARITY])) {
    heap[at] = heap[(at - 1) / ARITY];
    at = (at - 1) / ARITY;
  }
  heap[at] = key;
  return true;
}

static uint32_t heap_pop(struct sim_queue *queue) {
  struct heap_key *heap = queue->heap.data;
  uint32_t bucket = (uint32_t)(heap[0].order & ((1u << BUCKET_BITS) - 1));
  size_t count = --queue->heap.count;
  struct heap_key key = heap[count];
  size_t at = 0;
  for (;;) {
    size_t first = at * ARITY + 1, least = first;
    if (first >= count) {
      break;
    }
    size_t end = first + ARITY < count ? first + ARITY : count;
    for (size_t child = first + 1; child < end; child++) {
      least = is_before(heap[child], heap[least]) ? child : least;
    }
    if (!is_before(heap[least], key)) {
      break;
    }
    heap[at] = heap[least];
    at = least;
  }
  heap[at] = key;
  return bucket;
}

/* An empty bucket of that time, on the heap and in the table of recent ones; `none` when memory is exhausted. */
static uint32_t bucket_new(struct sim_queue *queue, sim_time_ps time_ps) {
  uint32_t number = queue->free_bucket;
  bool is_reused = number != none;
  if (!is_reused) {
    number = (uint32_t)queue->buckets.count;
    if (number >> BUCKET_BITS != 0 || !vec_push(&queue->buckets, (struct bucket){0})) {
      return none;
    }
  }
  struct bucket *bucket = &queue->buckets.data[number];
  uint32_t next_free = is_reused ? bucket->head : none;
  *bucket = (struct bucket){time_ps, queue->sequence << BUCKET_BITS | number, none, none};
  if (!heap_push(queue, bucket)) {
    bucket->head = next_free;
    queue->free_bucket = number;
    return none;
  }
  queue->sequence++;
  queue->free_bucket = next_free;
  queue->recent[recent_place(time_ps)] = number;
  return number;
}

static void bucket_free(struct sim_queue *queue, uint32_t number) {
  struct bucket *bucket = &queue->buckets.data[number];
  uint32_t *recent = &queue->recent[recent_place(bucket->time_ps)];
  if (*recent == number) {
    *recent = none;
  }
  bucket->head = queue->free_bucket;
  queue->free_bucket = number;
}

/* The bucket being popped goes back on the heap when something earlier comes. Its place is kept by its order. */
static bool put_current_back(struct sim_queue *queue) {
  if (!heap_push(queue, &queue->buckets.data[queue->current])) {
    return false;
  }
  queue->current = none;
  return true;
}

static uint32_t node_new(struct sim_queue *queue) {
  uint32_t node = queue->free_node;
  if (node != none) {
    queue->free_node = queue->nodes.data[node].next;
    return node;
  }
  node = (uint32_t)queue->nodes.count;
  return node < none && vec_push(&queue->nodes, (struct event_node){0}) ? node : none;
}

bool sim_queue_push(struct sim_queue *queue, struct sim_event event) {
  if (queue->current != none && event.time_ps < queue->buckets.data[queue->current].time_ps
      && !put_current_back(queue)) {
    return false;
  }
  uint32_t number = queue->recent[recent_place(event.time_ps)];
  if (number == none || queue->buckets.data[number].time_ps != event.time_ps) {
    number = bucket_new(queue, event.time_ps);
  }
  uint32_t node = number == none ? none : node_new(queue);
  if (node == none) {
    return false; /* a bucket that stays empty is skipped */
  }
  queue->nodes.data[node] = (struct event_node){event.kind, event.subject, none};
  struct bucket *bucket = &queue->buckets.data[number];
  if (bucket->head == none) {
    bucket->head = node;
  } else {
    queue->nodes.data[bucket->tail].next = node;
  }
  bucket->tail = node;
  return true;
}

/* Makes the earliest bucket that has events the current one; false when there is none. */
static bool find_current(struct sim_queue *queue) {
  for (;;) {
    if (queue->current != none) {
      if (queue->buckets.data[queue->current].head != none) {
        return true;
      }
      bucket_free(queue, queue->current);
      queue->current = none;
    }
    if (queue->heap.count == 0) {
      return false;
    }
    queue->current = heap_pop(queue);
  }
}

static void take(struct sim_queue *queue, struct sim_event *event) {
  struct bucket *bucket = &queue->buckets.data[queue->current];
  uint32_t number = bucket->head;
  struct event_node *node = &queue->nodes.data[number];
  *event = (struct sim_event){bucket->time_ps, node->kind, node->subject};
  bucket->head = node->next;
  node->next = queue->free_node;
  queue->free_node = number;
  queue->popped++;
}

bool sim_queue_pop(struct sim_queue *queue, struct sim_event *event) {
  if (!find_current(queue)) {
    return false;
  }
  take(queue, event);
  return true;
}

bool sim_queue_pop_at(struct sim_queue *queue, sim_time_ps time_ps, struct sim_event *event) {
  if (!find_current(queue) || queue->buckets.data[queue->current].time_ps != time_ps) {
    return false;
  }
  take(queue, event);
  return true;
}

uint64_t sim_queue_popped(const struct sim_queue *queue) {
  return queue->popped;
}
