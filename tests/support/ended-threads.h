/* SPDX-License-Identifier: Apache-2.0 */
/* ended-threads.h - for programs whose drivers' processes end before they do
 *
 * The thread of a connection to such a process ends with it, and is joined when the device is opened anew, which
 * is not always done: ThreadSanitizer takes it for a leak. Included by one file of a program. */
#ifndef NN_TESTS_SUPPORT_ENDED_THREADS_H
#define NN_TESTS_SUPPORT_ENDED_THREADS_H

#ifdef __SANITIZE_THREAD__
__attribute__((__visibility__("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "report_thread_leaks=0";
}
#endif

#endif
