/* SPDX-License-Identifier: Apache-2.0 */
/* explain-text.c - a plan for people: its parts, then what each device said */
#include "explanation.h"

#include "parts/parts.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>

static double to_ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

/* "5 operations (0-3, 7)": numbers that follow each other are drawn together. */
static void print_ranges(struct operations list)
{
    printf("%u operation%s (", list.n, list.n == 1 ? "" : "s");
    for (uint32_t i = 0; i < list.n;) {
        uint32_t last = i;

        while (last + 1 < list.n && list.numbers[last + 1] == list.numbers[last] + 1)
            last++;
        printf("%s%u", i ? ", " : "", list.numbers[i]);
        if (last > i)
            printf("-%u", list.numbers[last]);
        i = last + 1;
    }
    putchar(')');
}

static void print_kinds(const struct explanation *e, struct operations list)
{
    char *kinds = explanation_kinds(e, list, ", ");

    fputs(kinds ? kinds : "", stdout);
    free(kinds);
}

/* -- parts ---------------------------------------------------------------------------------- */

static void print_cost(const struct explanation *e, uint32_t number)
{
    struct nnhal_part_cost cost;

    if (!explanation_cost(e, number, &cost))
        return;
    printf("  took     %9.3f ms", to_ms(cost.total_ns));
    if (cost.compute_ns)
        printf(": compute %.3f, launch %.3f, move %.3f", to_ms(cost.compute_ns),
               to_ms(cost.launch_ns), to_ms(cost.move_ns));
    putchar('\n');
}

/* Why the plan has it so, or who computed it last in place of the device that was to. */
static void print_reason(const struct explanation *e, uint32_t number)
{
    struct part_told told;
    char where[512];

    if (!part_read(e->session->compilation, e->session->execution, number, &told) || !told.why[0])
        return;
    fputs("  ", stdout);
    if (told.device != told.planned) {
        session_put_device(told.device, where, sizeof(where));
        printf("computed on %s, ", where);
    }
    printf("because %s\n", text_make_plain(told.why));
}

static void print_part(const struct explanation *e, uint32_t number)
{
    const struct nnhal_plan_part *part = &e->plan.parts[number];
    const struct operations list = {part->n_operations, (uint32_t *)(uintptr_t)part->operations};
    char where[512];

    session_put_device(part->device, where, sizeof(where));
    printf("part %u, wave %u, on %s\n  ", number + 1, part->wave + 1, where);
    print_ranges(list);
    fputs(": ", stdout);
    print_kinds(e, list);
    printf("\n  expected %9.3f ms: compute %.3f, launch %.3f, move %.3f",
           to_ms(part->compute_ns + part->launch_ns + part->move_ns), to_ms(part->compute_ns),
           to_ms(part->launch_ns), to_ms(part->move_ns));
    if (part->move_bytes)
        printf(" for %llu bytes", (unsigned long long)part->move_bytes);
    putchar('\n');
    print_cost(e, number);
    print_reason(e, number);
}

/* -- devices ----------------------------------------------------------------------------------- */

static const struct {
    uint8_t verdict;
    const char *text;
} verdicts[] = {
    {NNHAL_VERDICT_TAKEN, "takes"},
    {NNHAL_VERDICT_UNASKED, "was not asked, for others take"},
    {NNHAL_VERDICT_UNSUPPORTED, "does not support"},
    {NNHAL_VERDICT_TOO_OLD, "is older than"},
    {NNHAL_VERDICT_UNREACHED, "did not answer for"},
    {NNHAL_VERDICT_REFUSED, "failed to prepare"},
};

static void print_said(const struct explanation *e, const struct said *said, const char *verb)
{
    printf("  %s ", verb);
    print_ranges(said->list);
    /* What it takes stands with the parts, too. */
    if (said->verdict > NNHAL_VERDICT_TAKEN) {
        fputs(": ", stdout);
        print_kinds(e, said->list);
    }
    if (said->why[0]) {
        fputs("\n    because ", stdout);
        text_print(said->why);
    }
    putchar('\n');
}

static void print_device(const struct explanation *e, const struct nnhal_plan_device *device)
{
    struct said *said;
    uint32_t n = explanation_said(e, device, &said);

    printf("%s, judged by %s\n", explanation_device_name(device->device),
           explanation_source(device->source, false));
    for (size_t v = 0; v < sizeof(verdicts) / sizeof(verdicts[0]); v++)
        for (uint32_t i = 0; i < n; i++)
            if (said[i].verdict == verdicts[v].verdict)
                print_said(e, &said[i], verdicts[v].text);
    explanation_said_free(said, n);
}

void explanation_print(const struct explanation *e)
{
    const struct nnhal_plan *plan = &e->plan;

    text_print(e->session->options.model);
    printf(": %u operation%s in %u part%s", plan->n_operations, plan->n_operations == 1 ? "" : "s",
           plan->n_parts, plan->n_parts == 1 ? "" : "s");
    if (plan->n_before > plan->n_parts)
        printf(", %u before those that do not pay were merged", plan->n_before);
    printf("\n  expected %9.3f ms\n", to_ms(plan->expected_ns));
    if (e->run_ns)
        printf("  took     %9.3f ms, the median of %u\n", to_ms(e->run_ns), e->n_runs);
    for (uint32_t i = 0; i < plan->n_parts; i++)
        print_part(e, i);
    for (uint32_t i = 0; i < plan->n_devices; i++)
        print_device(e, &plan->devices[i]);
}
