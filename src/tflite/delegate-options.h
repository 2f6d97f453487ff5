/* SPDX-License-Identifier: Apache-2.0 */
/* delegate-options.h - what a user of the delegate asks for
 *
 * Options are strings, as TensorFlow Lite passes them. They are read once, when the delegate is
 * made, and shared by it and by its kernels, which may live longer; nothing in them changes then. */
#ifndef NN_TFLITE_DELEGATE_OPTIONS_H
#define NN_TFLITE_DELEGATE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <android/NeuralNetworks.h>

struct tfl_settings {
    unsigned int n_refs;
    char *device;      /* NULL: all but nnapi-reference */
    char *mode;        /* NULL: as NNHAL_MODE says */
    char *cache_dir;   /* NULL: no cache */
    char *model_token; /* what distinguishes the model from others in cache_dir */
    int32_t preference;
    int32_t priority;
    bool allows_fp16;
    bool is_verbose;
    uint32_t max_partitions; /* 0: any number */
    ANeuralNetworksDevice **devices;
    uint32_t n_devices; /* 0: none is there, and none was asked for by name */
};

/* tfl_settings_new() - reads n options and finds their devices. The option mode sets NNHAL_MODE for
 * the process, which counts if no devices have been listed in it.
 * Returns: 0; -EINVAL with a sentence that says what is possible; -ENODEV with one that says what is
 * there; -ENOMEM. */
int tfl_settings_new(char **keys, char **values, size_t n, struct tfl_settings **ret_settings,
                     char *message, size_t message_size);

/* tfl_settings_ref(), tfl_settings_unref() - any thread; NULL is left alone. */
struct tfl_settings *tfl_settings_ref(struct tfl_settings *settings);
void tfl_settings_unref(struct tfl_settings *settings);

#endif
