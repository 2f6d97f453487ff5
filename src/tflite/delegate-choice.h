/* SPDX-License-Identifier: Apache-2.0 */
/* delegate-choice.h - which nodes of an interpreter the devices compute
 *
 * Made while a delegate's Prepare() runs. A node is a candidate if its shapes are known before it
 * runs, the mapping takes it, and the devices say that they compute it. The interpreter says into
 * which partitions the candidates fall; the largest are kept, as many as the user allows, and each
 * is compiled at once, so that nothing can fail any more when the interpreter replaces them. What is
 * not taken stays with TensorFlow Lite; the reason goes to its log where the user wants it. */
#ifndef NN_TFLITE_DELEGATE_CHOICE_H
#define NN_TFLITE_DELEGATE_CHOICE_H

#include "tflite/delegate-kernel.h"

/* A partition that is ready. */
struct tfl_chosen {
    struct tfl_chosen *next;
    const struct lite_context *context; /* that it is of */
    struct tfl_kernel *kernel;          /* NULL: it has been handed out */
    struct lite_ints *nodes;
};

struct tfl_choice {
    uint64_t hash;           /* of the graph without its shapes */
    struct lite_ints *nodes; /* all that are taken */
    struct tfl_chosen *partitions;
};

/* tfl_ints_equal() - the same numbers in the same order. */
bool tfl_ints_equal(const struct lite_ints *a, const struct lite_ints *b);

/* tfl_log() - says something in the interpreter's log, if the user wants to know. */
#define tfl_log(context, settings, ...)                                                            \
    do {                                                                                           \
        if ((settings)->is_verbose)                                                                \
            (context)->ReportError((context), "nnhal: " __VA_ARGS__);                              \
    } while (0)

/* tfl_choose() - chooses and compiles. before is the choice made for the same context earlier, NULL:
 * none. When an input has been resized, the interpreter asks again, with shapes of which some are the old
 * ones: then the same nodes are taken, and compiled when the interpreter prepares them.
 * Returns: 0, also if nothing is taken; -EINVAL (the host's answers contradict each other); -ENOMEM. */
int tfl_choose(struct lite_context *context, struct tfl_settings *settings,
               const struct tfl_choice *before, struct tfl_choice *ret_choice);

/* tfl_chosen_free() - frees one and the kernel that it still has. */
void tfl_chosen_free(struct tfl_chosen *chosen);

#endif
