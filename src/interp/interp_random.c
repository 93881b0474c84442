/* Random bits. rng_bit_generator gives the bits of XLA: Threefry 2x32 (20 rounds) and Philox 4x32 (10 rounds) in counter mode,
 * DEFAULT being Philox, and the state that follows. rng's bits are left to the implementation: here Threefry with the place of
 * the operation as key, so that a run gives the same numbers every time.
 * Sources: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011); which counter gives which element was found
 * with XLA's CPU back end (JAX 0.10.2) and is in tests/interp/random.mlir. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "interp/interp_int.h"

/* ---- block functions ----------------------------------------------------------------------------------------------------- */

static uint32_t rotate_left(uint32_t x, unsigned by) {
  return x << by | x >> (32 - by);
}

/* Two words of counter → two words of bits. */
static void threefry(const uint32_t key[2], const uint32_t counter[2], uint32_t out[2]) {
  static const uint8_t rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t keys[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDA};
  uint32_t a = counter[0] + keys[0], b = counter[1] + keys[1];
  for (uint32_t i = 0; i < 5; i++) {
    for (unsigned r = 0; r < 4; r++) {
      a += b;
      b = rotate_left(b, rotations[i % 2][r]) ^ a;
    }
    a += keys[(i + 1) % 3];
    b += keys[(i + 2) % 3] + i + 1;
  }
  out[0] = a;
  out[1] = b;
}

/* Four words of counter → four words of bits. */
static void philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]) {
  uint32_t k0 = key[0], k1 = key[1];
  memcpy(out, counter, 4 * sizeof *out);
  for (unsigned i = 0; i < 10; i++, k0 += 0x9E3779B9, k1 += 0xBB67AE85) {
    uint64_t first = (uint64_t)0xD2511F53 * out[0], second = (uint64_t)0xCD9E8D57 * out[2];
    uint32_t next[4] = {(uint32_t)(second >> 32) ^ out[1] ^ k0, (uint32_t)second, (uint32_t)(first >> 32) ^ out[3] ^ k1,
                        (uint32_t)first};
    memcpy(out, next, sizeof next);
  }
}

static void split(uint64_t x, uint32_t words[2]) {
  words[0] = (uint32_t)x;
  words[1] = (uint32_t)(x >> 32);
}

/* ---- rng_bit_generator ------------------------------------------------------------------------------------------------------ */

/* Key and 128-bit counter of the state operand. */
struct generator {
  uint32_t key[2];
  uint64_t low, high;
  uint32_t state_length; /* words of the state: the key, then the counter's */
  struct interp_value *to;
  unsigned bytes; /* of an element; narrower types take the low bits of a word */
};

static void put_bits(struct generator *g, uint64_t at, uint64_t bits) {
  unsigned width = dtype_bits((enum dtype)g->to->dtype);
  bits &= width < 64 ? ((uint64_t)1 << width) - 1 : UINT64_MAX;
  memcpy(g->to->data + at * g->bytes, &bits, g->bytes);
}

static void threefry_at(const struct generator *g, uint64_t block, uint32_t out[2]) {
  uint32_t counter[2];
  split(g->low + block, counter);
  threefry(g->key, counter, out);
}

/* Elements of 64 bits: one block each. */
static void threefry_wide(struct generator *g) {
  for (uint64_t i = 0; i < g->to->count; i++) {
    uint32_t bits[2];
    threefry_at(g, i, bits);
    put_bits(g, i, bits[0] | (uint64_t)bits[1] << 32);
  }
  g->low += g->to->count;
}

/* The dimension along which two neighbours share a block: the first even one, else the first of the largest. */
static uint32_t shared_dimension(const struct interp_value *to) {
  uint32_t largest = 0;
  for (uint32_t d = 0; d < to->rank; d++) {
    if (to->dims[d] % 2 == 0) {
      return d;
    }
    largest = to->dims[d] > to->dims[largest] ? d : largest;
  }
  return largest;
}

/* Elements of up to 32 bits: blocks are counted over the shape in which the shared dimension is halved. */
static void threefry_narrow(struct generator *g) {
  const struct interp_value *to = g->to;
  uint64_t length = 1, inner = 1, half = 1;
  if (to->rank > 0) {
    uint32_t d = shared_dimension(to);
    length = (uint64_t)to->dims[d];
    half = length / 2 + length % 2;
    for (uint32_t i = d + 1; i < to->rank; i++) {
      inner *= (uint64_t)to->dims[i];
    }
  }
  for (uint64_t i = 0; i < to->count; i++) {
    uint64_t outer = i / inner / length, place = i / inner % length;
    uint32_t bits[2];
    threefry_at(g, (outer * half + place / 2) * inner + i % inner, bits);
    put_bits(g, i, bits[place % 2]);
  }
  g->low += to->count == 0 ? 0 : to->count / length * half;
}

/* Words of all blocks one after the other; an element of 64 bits takes two. */
static void philox_all(struct generator *g) {
  unsigned per_element = g->bytes == 8 ? 2 : 1, per_block = 4 / per_element;
  uint64_t blocks = g->to->count / per_block + (g->to->count % per_block != 0);
  for (uint64_t b = 0; b < blocks; b++) {
    uint32_t counter[4], words[4];
    split(g->low + b, counter);
    split(g->high + (g->low + b < b), counter + 2);
    philox(g->key, counter, words);
    for (uint64_t k = 0; k < per_block && b * per_block + k < g->to->count; k++) {
      put_bits(g, b * per_block + k, per_element == 1 ? words[k] : words[2 * k] | (uint64_t)words[2 * k + 1] << 32);
    }
  }
  g->low += blocks;
  g->high += g->low < blocks;
}

/* The state is a key and the counter's words; without a high word the counter's is the key. */
static bool read_state(struct interp_call *call, struct generator *g, bool is_threefry) {
  const struct interp_value *state = call->operands[0];
  bool fits = state->kind == INTERP_TENSOR && state->dtype == DTYPE_UI64 && state->rank == 1
              && (state->count == 2 || (state->count == 3 && !is_threefry));
  if (!fits) {
    return interp_wrong(call, "the state is to be %s 64-bit words", is_threefry ? "2" : "2 or 3");
  }
  uint64_t words[3] = {0};
  memcpy(words, state->data, state->size_bytes);
  split(words[0], g->key);
  g->low = words[1];
  g->high = state->count == 3 ? words[2] : words[0];
  g->state_length = (uint32_t)state->count;
  return true;
}

static bool write_state(struct interp_call *call, const struct generator *g) {
  struct interp_value *state = interp_result(call, 0, call->operands[0]->dims, 1);
  if (state) {
    uint64_t words[3] = {g->key[0] | (uint64_t)g->key[1] << 32, g->low, g->high};
    memcpy(state->data, words, g->state_length * sizeof *words);
  }
  return state != NULL;
}

/* dims NULL: those of the result's type. */
static bool generate(struct interp_call *call, const int64_t *dims, uint32_t rank) {
  struct generator g;
  const char *algorithm = interp_attr_text(call, "rng_algorithm");
  bool is_threefry = strcmp(algorithm, "THREE_FRY") == 0;
  if (!read_state(call, &g, is_threefry)) {
    return false;
  }
  g.to = interp_result(call, 1, dims, rank);
  if (!g.to || !interp_spend(call, g.to->count * 16)) {
    return false;
  }
  g.bytes = interp_element_bytes(g.to);
  if (interp_is_complex(g.to) || g.to->dtype == DTYPE_I1) {
    return interp_unsupported(call, "no bits are defined for elements of %s", dtype_name((enum dtype)g.to->dtype));
  }
  if (!is_threefry) {
    philox_all(&g);
  } else if (g.bytes == 8) {
    threefry_wide(&g);
  } else {
    threefry_narrow(&g);
  }
  return write_state(call, &g);
}

bool interp_op_rng_bit_generator(struct interp_call *call) {
  return generate(call, NULL, 0);
}

/* The form of programs with symbolic shapes: the shape is an operand. */
bool interp_target_dynamic_rng_bit_generator(struct interp_call *call) {
  int64_t dims[INTERP_MAX_RANK];
  uint32_t rank = 0;
  if (call->operand_count != 2 || call->result_count != 2) {
    return interp_wrong(call, "it takes a state and a shape");
  }
  return interp_operand_ints(call, 1, dims, &rank) && generate(call, dims, rank);
}

/* ---- the block function of JAX ------------------------------------------------------------------------------------------------- */

/* Key words, counter words → words of bits, element by element. */
bool interp_target_threefry2x32(struct interp_call *call) {
  if (call->operand_count != 4 || call->result_count != 2) {
    return interp_wrong(call, "it takes two keys and two counters");
  }
  const struct interp_value *first = call->operands[0];
  struct interp_value *to[2] = {interp_result(call, 0, first->dims, first->rank), NULL};
  to[1] = to[0] ? interp_result(call, 1, first->dims, first->rank) : NULL;
  if (!to[1]) {
    return false;
  }
  bool fits = to[0]->dtype == DTYPE_UI32 && to[1]->dtype == DTYPE_UI32;
  for (uint32_t i = 0; i < 4; i++) {
    fits &= call->operands[i]->dtype == DTYPE_UI32 && call->operands[i]->count == first->count;
  }
  if (!fits) {
    return interp_wrong(call, "its operands are not four tensors of ui32 of one shape");
  }
  for (uint64_t i = 0; i < first->count; i++) {
    uint32_t words[4], out[2];
    for (uint32_t k = 0; k < 4; k++) {
      words[k] = (uint32_t)interp_int_at(call->operands[k], i);
    }
    threefry(words, words + 2, out);
    for (uint32_t k = 0; k < 2; k++) {
      int64_t bits = out[k];
      interp_write_int(to[k], i, 1, &bits);
    }
  }
  return true;
}

/* ---- rng ----------------------------------------------------------------------------------------------------------------------- */

/* 64 bits of draw i of this operation. */
static uint64_t draw(const struct interp_call *call, uint64_t i) {
  uint32_t key[2] = {call->op.id, 0x52444752}, counter[2], out[2];
  split(call->frame->process->random_draws + i, counter);
  threefry(key, counter, out);
  return out[0] | (uint64_t)out[1] << 32;
}

/* A multiple of 2^-53 in [0, 1). */
static double unit(const struct interp_call *call, uint64_t i) {
  return (double)(draw(call, i) >> 11) * 0x1p-53;
}

static bool uniform_integers(struct interp_call *call, struct interp_value *to) {
  int64_t low = interp_int_at(call->operands[0], 0);
  uint64_t range = (uint64_t)interp_int_at(call->operands[1], 0) - (uint64_t)low;
  for (uint64_t i = 0; i < to->count; i++) {
    int64_t number = low + (int64_t)(uint64_t)((unsigned __int128)draw(call, i) * range >> 64);
    interp_write_int(to, i, 1, &number);
  }
  return true;
}

/* [low, high): what rounding would make the end becomes the start. */
static bool uniform_reals(struct interp_call *call, struct interp_value *to) {
  double low, high;
  interp_read_real(call->operands[0], 0, 1, &low);
  interp_read_real(call->operands[1], 0, 1, &high);
  for (uint64_t i = 0; i < to->count; i++) {
    double number = low + (high - low) * unit(call, i), rounded;
    interp_write_real(to, i, 1, &number);
    interp_read_real(to, i, 1, &rounded);
    if (rounded >= high) {
      interp_write_real(to, i, 1, &low);
    }
  }
  return true;
}

/* Box and Muller's transform of two uniform numbers. */
static bool normal_reals(struct interp_call *call, struct interp_value *to) {
  double mean, deviation;
  interp_read_real(call->operands[0], 0, 1, &mean);
  interp_read_real(call->operands[1], 0, 1, &deviation);
  for (uint64_t i = 0; i < to->count; i++) {
    double radius = sqrt(-2 * log1p(-unit(call, 2 * i))), angle = 2 * M_PI * unit(call, 2 * i + 1);
    double number = mean + deviation * radius * cos(angle);
    interp_write_real(to, i, 1, &number);
  }
  return true;
}

bool interp_op_rng(struct interp_call *call) {
  int64_t dims[INTERP_MAX_RANK];
  uint32_t rank = 0;
  bool is_normal = strcmp(interp_attr_text(call, "rng_distribution"), "NORMAL") == 0;
  if (call->operands[0]->count != 1 || call->operands[1]->count != 1 || !interp_operand_ints(call, 2, dims, &rank)) {
    return interp_wrong(call, "its bounds are no scalars or its shape no list of integers");
  }
  struct interp_value *to = interp_result(call, 0, dims, rank);
  if (!to || !interp_spend(call, to->count * 32)) {
    return false;
  }
  if (to->dtype != call->operands[0]->dtype || to->dtype != call->operands[1]->dtype || interp_is_complex(to)
      || (is_normal && interp_is_integral(to))) {
    return interp_wrong(call, "no such numbers of %s", dtype_name((enum dtype)to->dtype));
  }
  bool ok = is_normal                ? normal_reals(call, to)
            : interp_is_integral(to) ? uniform_integers(call, to)
                                     : uniform_reals(call, to);
  call->frame->process->random_draws += (is_normal ? 2 : 1) * to->count;
  return ok;
}

/* ---- the state of XLA ------------------------------------------------------------------------------------------------------------- */

/* Gives the 128-bit state of the process and adds delta to it; it starts at 0. */
bool interp_op_rng_get_and_update_state(struct interp_call *call) {
  uint64_t *state = call->frame->process->random_state, delta = (uint64_t)interp_attr_int(call, "delta", 0);
  struct interp_value *to = interp_result(call, 0, NULL, 0);
  if (!to || to->size_bytes != 2 * sizeof *state) {
    return to ? interp_wrong(call, "its result is not two 64-bit words") : false;
  }
  memcpy(to->data, state, to->size_bytes);
  state[0] += delta;
  state[1] += state[0] < delta;
  return true;
}
