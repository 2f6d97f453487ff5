/* SPDX-License-Identifier: Apache-2.0 */
/* reader-options.h - the option tables of a file's operators; for reader.cc alone, in C++ */
#ifndef NN_TFLITE_READER_OPTIONS_H
#define NN_TFLITE_READER_OPTIONS_H

#include "tflite/graph.h"

#include "schema_generated.h"

/* tfl_options_read() - what the operator's table says. */
void tfl_options_read(const nnhal::tflite::Operator *from, struct tfl_options *to);

#endif
