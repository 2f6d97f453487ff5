/* SPDX-License-Identifier: Apache-2.0 */
#include "service/told.h"

#include "hal/dial.h"
#include "host/desk.h"

#include <check.h>
#include <stdio.h>
#include <time.h>

struct nn_hal *told_dial(const char *path)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    struct nn_hal *hal = NULL;
    int r = -1;

    for (int i = 0; i < 3000 && r != 0; i++) {
        nanosleep(&pause, NULL);
        r = nn_dial_socket(path, NULL, &hal);
    }
    ck_assert_int_eq(r, 0);
    return hal;
}

const char *told_ask(struct nn_hal *hal)
{
    static char text[1024];
    struct nn_hal_prepare_model_args args = {.deadline_ns = NNHAL_NO_TIME};
    struct nn_hal_prepare_model_reply reply;
    struct desk desk = {.hal = hal};

    nn_arena_init(&desk.arena, 0);
    args.model = *desk_formula(&desk, DIMS(2, 2));
    args.preference = NNHAL_FAST_SINGLE_ANSWER;
    args.priority = NNHAL_PRIORITY_MEDIUM;
    ck_assert_uint_eq(nn_hal_prepare_model(hal, &args, &reply, &desk.arena), NNHAL_GENERAL_FAILURE);
    snprintf(text, sizeof(text), "%s", reply.message);
    nn_hal_close(hal);
    nn_arena_done(&desk.arena);
    return text;
}
