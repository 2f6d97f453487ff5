/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - text in the lines of --json */
#ifndef NN_TOOLS_NNT_JSON_H
#define NN_TOOLS_NNT_JSON_H

/* nnt_print_json_string() - to standard output, in quotes, what JSON does not take escaped. */
void nnt_print_json_string(const char *text);

#endif
