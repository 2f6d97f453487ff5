/* SPDX-License-Identifier: Apache-2.0 */
/* Linked in front of _exit() where branches are counted: a child that a test forks says what it ran, too. */
void __gcov_dump(void);
void __real__exit(int code) __attribute__((noreturn));
void __wrap__exit(int code) __attribute__((noreturn));

void __wrap__exit(int code)
{
    __gcov_dump();
    __real__exit(code);
}
