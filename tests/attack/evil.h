/* SPDX-License-Identifier: Apache-2.0 */
/* evil.h - ways out of a process, each tried and named
 *
 * A way is open if the kernel does what was asked, or would with better arguments: a call that is
 * refused is refused before its arguments are looked at. Ways are tried with arguments that harm
 * nothing where they are open. */
#ifndef NN_TESTS_ATTACK_EVIL_H
#define NN_TESTS_ATTACK_EVIL_H

#include <stddef.h>

/* Names begin with what stands against them, where that is not seccomp alone:
 *     path-    opens or changes a file by path: Landlock or a root of its own
 *     root-    asks about a file, or reaches one of no folder: a root of its own alone
 *     code-    makes or loads code: the second step of the sandbox */

/* evil_try_all() - writes "N tried; open: NAME NAME ...". Any thread. */
void evil_try_all(char *text, size_t n_text);

#endif
