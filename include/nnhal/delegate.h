/* SPDX-License-Identifier: Apache-2.0 */
/* delegate.h - libnnhal-delegate.so, an external delegate for TensorFlow Lite
 *
 * TensorFlow Lite loads the library by its path and calls the two functions below: load_delegate()
 * in Python, --external_delegate_path of its tools, TfLiteExternalDelegateCreate() in C. Programs
 * that load it themselves call them, too. doc/app/tflite.md shows each.
 *
 * Nodes that the devices compute are taken; the others stay with TensorFlow Lite. Options, all of
 * them text:
 *
 *   device          names, separated by commas, with or without "nnhal-" (all but nnapi-reference)
 *   mode            embedded, private or service: how drivers are reached; sets NNHAL_MODE for the
 *                   process, so that it must come before other uses of libneuralnetworks.so and
 *                   before there are threads that read the environment
 *   cache_dir       a folder that is there: a second start takes what was compiled from it
 *   model_token     names the model in it; another file, or other weights, needs another name
 *   preference      low-power, fast-single-answer (the default), sustained-speed
 *   priority        low, medium (the default), high
 *   allow_fp16      true, false (the default): float32 may be computed with the range and precision
 *                   of float16
 *   max_partitions  how many partitions are taken, the largest first; 0: all (3)
 *   verbose         true, false (the default): why nodes stay with TensorFlow Lite, and whether the
 *                   cache was used, in TensorFlow Lite's log
 *
 * Shapes that are not known before the graph runs stay with TensorFlow Lite; inputs can be resized.
 * After a fork the child has no devices: there TensorFlow Lite computes.
 *
 * Threads: any; one delegate may serve several interpreters. It may be destroyed before them, but
 * must be there when one of them allocates its tensors anew. */
#ifndef NNHAL_DELEGATE_H
#define NNHAL_DELEGATE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct TfLiteDelegate;

/* tflite_plugin_create_delegate() - makes a delegate with n_options options. report_error is called
 * with a sentence on failure; NULL: it goes to standard error.
 * Returns: NULL for an option that is not there or has no possible value, a device that is not there,
 * and without memory. */
struct TfLiteDelegate *tflite_plugin_create_delegate(char **keys, char **values, size_t n_options,
                                                     void (*report_error)(const char *));

/* tflite_plugin_destroy_delegate() - NULL is left alone. */
void tflite_plugin_destroy_delegate(struct TfLiteDelegate *delegate);

#ifdef __cplusplus
}
#endif

#endif
