/* SPDX-License-Identifier: Apache-2.0 */
/* explain-dot.c - a plan as a graph for Graphviz: a box for each part, in the color of its device */
#include "explanation.h"

#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the scheme set39, the largest of those that text can be read on. */
enum { N_COLORS = 9 };

/* Within quotes; a line of text stays one. */
static void print_quoted(const char *text)
{
    for (; *text; text++) {
        if (*text == '\n')
            fputs("\\n", stdout);
        else if (*text == '"' || *text == '\\')
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

static void print_plain(const char *text)
{
    char *plain = strdup(text);

    if (plain)
        print_quoted(text_make_plain(plain));
    free(plain);
}

static uint32_t color_of(const struct explanation *e, const ANeuralNetworksDevice *device)
{
    uint32_t i = 0;

    while (i < e->plan.n_devices && e->plan.devices[i].device != device)
        i++;
    return i % N_COLORS + 1;
}

static void print_part(const struct explanation *e, uint32_t number)
{
    const struct nnhal_plan_part *part = &e->plan.parts[number];
    const struct operations list = {part->n_operations, (uint32_t *)(uintptr_t)part->operations};
    char *kinds = explanation_kinds(e, list, "\n");
    struct nnhal_part_cost cost;

    printf("  part%u [fillcolor=%u, label=\"part %u: ", number + 1, color_of(e, part->device),
           number + 1);
    print_plain(explanation_device_name(part->device));
    fputs("\\n", stdout);
    print_quoted(kinds ? kinds : "");
    printf("\\nexpected %.3f ms",
           (double)(part->compute_ns + part->launch_ns + part->move_ns) / 1e6);
    if (explanation_cost(e, number, &cost))
        printf("\\ntook %.3f ms", (double)cost.total_ns / 1e6);
    puts("\"];");
    free(kinds);
}

static void print_moves(const struct explanation *e)
{
    struct nnhal_part_move *moves;
    uint32_t n = explanation_moves(e, &moves);

    for (uint32_t i = 0; i < n; i++) {
        printf("  part%u -> part%u", moves[i].from + 1, moves[i].to + 1);
        if (moves[i].n_bytes)
            printf(" [label=\"%llu bytes\"]", (unsigned long long)moves[i].n_bytes);
        puts(";");
    }
    free(moves);
}

void explanation_print_dot(const struct explanation *e)
{
    fputs("digraph \"", stdout);
    print_plain(e->session->options.model);
    puts("\" {\n  node [shape=box, style=filled, colorscheme=set39];");
    for (uint32_t i = 0; i < e->plan.n_parts; i++)
        print_part(e, i);
    print_moves(e);
    puts("}");
}
