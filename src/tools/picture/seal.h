/* SPDX-License-Identifier: Apache-2.0 */
/* seal.h - a process that computes and writes to the descriptors it has, and nothing else
 *
 * Readers of pictures are large and were broken by pictures before. After the
 * seal a picture that took the process over may compute, for a bounded time in
 * bounded memory, and write to standard output and standard error: no file is
 * opened or read, no code is loaded, and there is no socket, process or program. */
#ifndef NN_TOOLS_PICTURE_SEAL_H
#define NN_TOOLS_PICTURE_SEAL_H

/* seal_process() - cannot be undone. Descriptors above 2 are closed. Where the kernel was built without
 * seccomp, the limits alone hold. Returns: 0, -errno. */
int seal_process(void);

#endif
