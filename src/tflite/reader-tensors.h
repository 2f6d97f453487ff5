/* SPDX-License-Identifier: Apache-2.0 */
/* reader-tensors.h - the tensors of a file; for reader.cc alone, in C++ */
#ifndef NN_TFLITE_READER_TENSORS_H
#define NN_TFLITE_READER_TENSORS_H

#include "tflite/reader.h"

#include "schema_generated.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>

/* A file of some bytes may declare sparse constants of gigabytes. */
enum { TFL_MAX_BLOCK_MIB = 256 };

/* The first thing that is wrong, in words. */
class tfl_complaint
{
  public:
    tfl_complaint(char *message, size_t size) : message_(message), size_(size)
    {
    }

    __attribute__((__format__(__printf__, 2, 3))) int operator()(const char *format, ...)
    {
        va_list args;

        va_start(args, format);
        if (size_)
            vsnprintf(message_, size_, format, args);
        va_end(args);
        return -EINVAL;
    }

  private:
    char *message_;
    size_t size_;
};

/* tfl_tensor_read() - describes a tensor, index in its subgraph; to is zeroed.
 * Returns: 0, -EINVAL with a sentence, -ENOMEM. */
int tfl_tensor_read(const nnhal::tflite::Model *model, const nnhal::tflite::Tensor *from,
                    struct tfl_file *file, struct tfl_tensor *to, uint32_t index,
                    tfl_complaint &complain);

/* tfl_file_count() - counts a list of n entries that is to be read.
 * Returns: 0, -EINVAL with a sentence if there are too many of them. */
int tfl_file_count(struct tfl_file *file, uint32_t n, tfl_complaint &complain);

/* tfl_file_keep() - zeroed memory that lives as long as the file; NULL: memory is short, or there is
 * no room. */
void *tfl_file_keep(struct tfl_file *file, size_t n_bytes);

/* tfl_file_has_room() - whether the file may take n_bytes more of such memory. */
bool tfl_file_has_room(const struct tfl_file *file, size_t n_bytes);

#endif
