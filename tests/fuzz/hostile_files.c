/* Hostile HLO programs and compressed files (hostile_cases.def). */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "hostile_texts.h"

/* ---- HLO text ------------------------------------------------------------------------------------------------------ */

void hostile_hlo_chain(struct strbuf *out) {
  enum { LENGTH = 100000 };
  strbuf_puts(out, "HloModule m\n\nENTRY e {\n  v0 = f32[8]{0} parameter(0)\n");
  for (int i = 1; i <= LENGTH; i++) {
    strbuf_printf(out, "  %sv%d = f32[8]{0} negate(v%d)\n", i == LENGTH ? "ROOT " : "", i, i - 1);
  }
  strbuf_puts(out, "}\n");
}

/* `levels` computations; each calls the one before `width` times, the first one `lowest`. */
static void put_calls(struct strbuf *out, int levels, int width, const char *lowest) {
  strbuf_puts(out, "HloModule m\n\n");
  strbuf_printf(out, "c0 {\n  p = f32[] parameter(0)\n  ROOT r = f32[] %s\n}\n", lowest);
  for (int i = 1; i < levels; i++) {
    strbuf_printf(out, "c%d {\n  v0 = f32[] parameter(0)\n", i);
    for (int k = 1; k <= width; k++) {
      strbuf_printf(out, "  %sv%d = f32[] call(v%d), to_apply=c%d\n", k == width ? "ROOT " : "", k, k - 1, i - 1);
    }
    strbuf_puts(out, "}\n");
  }
  strbuf_printf(out, "ENTRY e {\n  p = f32[] parameter(0)\n  ROOT r = f32[] call(p), to_apply=c%d\n}\n", levels - 1);
}

void hostile_hlo_calls_doubling(struct strbuf *out) {
  put_calls(out, 40, 2, "negate(p)");
}

void hostile_hlo_calls_deep(struct strbuf *out) {
  put_calls(out, 10000, 1, "negate(p)");
}

void hostile_hlo_calls_circle(struct strbuf *out) {
  put_calls(out, 100, 1, "call(p), to_apply=c99");
}

/* Each value is a pair of the one before. */
void hostile_hlo_tuples_doubling(struct strbuf *out) {
  struct strbuf type = {0};
  strbuf_puts(out, "HloModule m\n\nENTRY e {\n  v0 = f32[] parameter(0)\n");
  strbuf_puts(&type, "f32[]");
  for (int i = 1; i <= 14; i++) {
    struct strbuf pair = {0};
    strbuf_printf(&pair, "(%s, %s)", strbuf_text(&type), strbuf_text(&type));
    strbuf_release(&type);
    type = pair;
    strbuf_printf(out, "  v%d = %s tuple(v%d, v%d)\n", i, strbuf_text(&type), i - 1, i - 1);
  }
  strbuf_puts(out, "  ROOT r = f32[] negate(v0)\n}\n");
  strbuf_release(&type);
}

void hostile_hlo_cycle_of_values(struct strbuf *out) {
  enum { LENGTH = 50000 };
  strbuf_puts(out, "HloModule m\n\nENTRY e {\n");
  for (int i = 0; i < LENGTH; i++) {
    strbuf_printf(out, "  %sv%d = f32[8]{0} negate(v%d)\n", i == 0 ? "ROOT " : "", i, (i + 1) % LENGTH);
  }
  strbuf_puts(out, "}\n");
}

/* ---- compressed files ---------------------------------------------------------------------------------------------- */

enum { GZIP_WINDOW = 16 + 15 };

/* One gzip member. */
static void put_gzip(struct strbuf *out, const char *data, size_t size) {
  size_t capacity = size + 1024;
  unsigned char *packed = malloc(capacity);
  z_stream stream = {
      .next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)size, .next_out = packed, .avail_out = (uInt)capacity};
  if (packed == NULL || deflateInit2(&stream, 9, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK
      || deflate(&stream, Z_FINISH) != Z_STREAM_END) {
    abort();
  }
  strbuf_add(out, (const char *)packed, capacity - stream.avail_out);
  (void)deflateEnd(&stream);
  free(packed);
}

static const char program[] = "func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> { return %a : tensor<8xf32> }";

/* 1,000 members of 1 MiB of blanks: twice the limit. */
void hostile_gzip_bomb(struct strbuf *out) {
  enum { SIZE = 1 << 20, MEMBERS = 1000 };
  char *blanks = malloc(SIZE);
  struct strbuf member = {0};
  if (blanks == NULL) {
    abort();
  }
  memset(blanks, ' ', SIZE);
  put_gzip(&member, blanks, SIZE);
  for (int i = 0; i < MEMBERS; i++) {
    strbuf_add(out, strbuf_text(&member), member.length);
  }
  strbuf_release(&member);
  free(blanks);
}

/* A frame of a window of 128 KiB, then 100,000 blocks of one repeated byte, 128 KiB each: 13 GB. */
void hostile_zstd_bomb(struct strbuf *out) {
  enum { BLOCKS = 100000, BLOCK_BYTES = 1 << 17, REPEAT = 1 };
  strbuf_add(out, "\x28\xB5\x2F\xFD\x00\x38", 6);
  for (int i = 0; i < BLOCKS; i++) {
    unsigned header = (unsigned)BLOCK_BYTES << 3 | REPEAT << 1 | (i == BLOCKS - 1);
    const unsigned char block[] = {header & 0xFF, header >> 8 & 0xFF, header >> 16 & 0xFF, ' '};
    strbuf_add(out, (const char *)block, sizeof block);
  }
}

/* One byte each. */
void hostile_gzip_many_members(struct strbuf *out) {
  struct strbuf member = {0};
  put_gzip(&member, "x", 1);
  for (int i = 0; i < 100000; i++) {
    strbuf_add(out, strbuf_text(&member), member.length);
  }
  strbuf_release(&member);
}

void hostile_zstd_many_empty_frames(struct strbuf *out) {
  for (int i = 0; i < 300000; i++) {
    strbuf_add(out, "\x28\xB5\x2F\xFD\x20\x00\x01\x00\x00", 9);
  }
}

/* Window descriptor: exponent 21 above 2^10. */
void hostile_zstd_window(struct strbuf *out) {
  strbuf_add(out, "\x28\xB5\x2F\xFD\x00\xA8\x01\x00\x00", 9);
}

/* A single segment that says it holds 2^60 bytes. */
void hostile_zstd_size(struct strbuf *out) {
  strbuf_add(out, "\x28\xB5\x2F\xFD\xE0\x00\x00\x00\x00\x00\x00\x00\x10\x01\x00\x00", 16);
}

/* The name in the header of the member never ends. */
void hostile_gzip_name(struct strbuf *out) {
  strbuf_add(out, "\x1F\x8B\x08\x08\x00\x00\x00\x00\x00\x03", 10);
  for (int i = 0; i < 1 << 20; i++) {
    strbuf_putc(out, 'a');
  }
}

/* As on tapes: 16 MiB of zeros behind a program. */
void hostile_gzip_zeros_behind(struct strbuf *out) {
  put_gzip(out, program, sizeof program - 1);
  for (int i = 0; i < 16 << 20; i++) {
    strbuf_putc(out, '\0');
  }
}
