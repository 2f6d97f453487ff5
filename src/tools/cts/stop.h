/* SPDX-License-Identifier: Apache-2.0 */
/* stop.h - a user who wants no more, by Ctrl-C or SIGTERM
 *
 * The judge's process keeps these signals back, waits for them beside what it hears, and ends by them when
 * its folder is gone. The processes of sections end by them at once. */
#ifndef NN_TOOLS_CTS_STOP_H
#define NN_TOOLS_CTS_STOP_H

#include <stdbool.h>

/* cts_stop_open() - keeps the signals back. Returns: a descriptor that is readable once one has come; -1. */
int cts_stop_open(void);

/* cts_is_stopped() - whether one has come. */
bool cts_is_stopped(int stop_fd);

/* cts_stop_normally() - the signals act as in any process; one that has come ends this one here. */
void cts_stop_normally(int stop_fd);

#endif
