/* SPDX-License-Identifier: Apache-2.0 */
/* file.h - the bytes of a file on their way into the reader */
#ifndef NN_TFLITE_FILE_H
#define NN_TFLITE_FILE_H

#include <stddef.h>
#include <stdint.h>

/* tfl_file_open() - opens path for reading, without waiting for what is no regular file.
 * Returns: a descriptor, or -errno with a sentence in message. */
int tfl_file_open(const char *path, char *message, size_t message_size);

/* tfl_file_read() - all bytes of fd, malloc'ed.
 * Returns: 0; -EINVAL, -EIO, -ENOMEM with a sentence in message. */
int tfl_file_read(int fd, uint8_t **ret_bytes, size_t *ret_n, char *message, size_t message_size);

#endif
