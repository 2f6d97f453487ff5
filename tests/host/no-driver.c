/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is no driver: it exports another symbol. */
int not_a_driver(void);

__attribute__((visibility("default"))) int not_a_driver(void)
{
    return 0;
}
