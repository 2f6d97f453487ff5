/* SPDX-License-Identifier: Apache-2.0 */
#include "explanation.h"

#include "kinds.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *explanation_name(const struct explanation *e, uint32_t operation)
{
    const char *name = nnhal_tflite_info_operation(e->info,
                                                   nnhal_tflite_origin(e->session->net, operation));

    return name ? name : "?"; /* the file was replaced between two readings */
}

/* -- lists of operations ------------------------------------------------------------------- */

struct named_list {
    const struct explanation *e;
    struct operations list;
};

static const char *name_in_list(const void *ctx, uint32_t i)
{
    const struct named_list *named = ctx;

    return explanation_name(named->e, named->list.numbers[i]);
}

char *explanation_kinds(const struct explanation *e, struct operations list, const char *separator)
{
    const struct named_list named = {e, list};
    char *text = NULL;
    size_t n_text = 0;
    FILE *to = open_memstream(&text, &n_text);
    struct kind *kinds = NULL;
    uint32_t n;

    if (!to)
        return NULL;
    n = kinds_count(name_in_list, &named, list.n, &kinds);
    for (uint32_t i = 0; i < n; i++) {
        char *name = strdup(kinds[i].name);

        fprintf(to, "%s%s", i ? separator : "", name ? text_make_plain(name) : "?");
        if (kinds[i].n > 1)
            fprintf(to, " x%u", kinds[i].n);
        free(name);
    }
    free(kinds);
    fclose(to);
    return text;
}

/* -- verdicts ------------------------------------------------------------------------------- */

static struct said get_said(const struct explanation *e, const struct nnhal_plan_device *device,
                            uint32_t operation)
{
    struct nnhal_operation_verdict verdict = {.size = sizeof(verdict), .why = ""};

    nnhal_compilation_get_verdict(e->session->compilation, device->device, operation, &verdict);
    return (struct said){.verdict = device->verdicts[operation], .why = verdict.why};
}

/* Where in the list the same was said; behind its end if it was not. */
static uint32_t find_said(const struct said *list, uint32_t n, const struct said *said)
{
    uint32_t i = 0;

    while (i < n && (list[i].verdict != said->verdict || strcmp(list[i].why, said->why) != 0))
        i++;
    return i;
}

/* Nothing where memory is short. */
static void add_number(struct operations *list, uint32_t number)
{
    uint32_t *numbers = reallocarray(list->numbers, list->n + 1, sizeof(*numbers));

    if (!numbers)
        return;
    numbers[list->n++] = number;
    list->numbers = numbers;
}

uint32_t explanation_said(const struct explanation *e, const struct nnhal_plan_device *device,
                          struct said **ret_said)
{
    struct said *list = calloc(e->plan.n_operations, sizeof(*list));
    uint32_t n = 0;

    for (uint32_t i = 0; list && i < e->plan.n_operations; i++) {
        struct said said = get_said(e, device, i);
        uint32_t k = find_said(list, n, &said);

        if (k == n)
            list[n++] = said;
        add_number(&list[k].list, i);
    }
    *ret_said = list;
    return n;
}

void explanation_said_free(struct said *said, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        free(said[i].list.numbers);
    free(said);
}

/* -- costs and moves ------------------------------------------------------------------------ */

bool explanation_cost(const struct explanation *e, uint32_t part, struct nnhal_part_cost *ret_cost)
{
    *ret_cost = (struct nnhal_part_cost){.size = sizeof(*ret_cost)};
    if (!e->n_runs)
        return false;
    if (nnhal_compilation_get_cost(e->session->compilation, part, ret_cost) !=
        ANEURALNETWORKS_NO_ERROR)
        return false;
    /* What one device computes is measured by the library for a list of one device. */
    if (!ret_cost->n_computations && e->plan.n_parts == 1 && e->run_ns)
        *ret_cost = (struct nnhal_part_cost){
            .size = sizeof(*ret_cost), .n_computations = e->n_runs, .total_ns = e->run_ns};
    return ret_cost->n_computations > 0;
}

static bool get_move(const struct explanation *e, uint32_t index, struct nnhal_part_move *ret_move)
{
    *ret_move = (struct nnhal_part_move){.size = sizeof(*ret_move)};
    return nnhal_compilation_get_move(e->session->compilation, index, ret_move) ==
           ANEURALNETWORKS_NO_ERROR;
}

uint32_t explanation_moves(const struct explanation *e, struct nnhal_part_move **ret_moves)
{
    struct nnhal_part_move move, *moves;
    uint32_t n = 0, k;

    *ret_moves = NULL;
    if (!get_move(e, 0, &move))
        return 0;
    *ret_moves = moves = calloc(move.n_moves, sizeof(*moves));
    for (uint32_t i = 0; moves && get_move(e, i, &move); i++) {
        for (k = 0; k < n && (moves[k].from != move.from || moves[k].to != move.to);)
            k++;
        if (k == n)
            moves[n++] = move;
        else
            moves[k].n_bytes += move.n_bytes;
    }
    return n;
}

/* -- words ----------------------------------------------------------------------------------- */

const char *explanation_device_name(const ANeuralNetworksDevice *device)
{
    const char *name = "?";

    ANeuralNetworksDevice_getName(device, &name);
    return name;
}

const char *explanation_source(uint32_t source, bool is_json)
{
    static const char *const texts[][2] = {
        [NNHAL_FIGURE_CONSTANT] = {"what is usual for its type", "constant"},
        [NNHAL_FIGURE_DECLARED] = {"what it declares", "declared"},
        [NNHAL_FIGURE_MEASURED] = {"what was measured", "measured"},
    };

    return source < sizeof(texts) / sizeof(texts[0]) ? texts[source][is_json] : "?";
}
