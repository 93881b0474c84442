/* Windows of convolutions and pooling as ONNX states them. See onnx_ops_window.c. */
#ifndef RIDGELINE_IMPORT_ONNX_WINDOW_H
#define RIDGELINE_IMPORT_ONNX_WINDOW_H

#include "import/onnx_emit.h"

/* Window of a node over the spatial dimensions of x: kernel_shape (or `kernel`, when not NULL), strides, dilations, pads or
 * auto_pad. False after a failure. */
bool onnx_read_window(struct onnx_builder *b, const struct onnx_node *n, struct onnx_val x, const int64_t *kernel,
                      struct onnx_window *window);
/* The convolution of a node with the attributes of Conv. */
struct onnx_val onnx_conv(struct onnx_builder *b, const struct onnx_node *n, struct onnx_val x, struct onnx_val kernel,
                          enum dtype result);

#endif
