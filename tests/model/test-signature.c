/* SPDX-License-Identifier: Apache-2.0 */
/* test-signature.c - the table of operations against an expansion of its patterns
 *
 * The patterns are expanded here by a second, plainer reader into every list of
 * operand types that they allow. Each list must be accepted; each list with one
 * type exchanged must be accepted exactly if it is another of the lists. */
#include "model/ops.h"
#include "model/validate.h"

#include "support/check-main.h"

#include <stdio.h>
#include <string.h>

static const struct nn_op *find_op(const char *name)
{
    uint32_t type = 0;

    while (strcmp(nn_op_name(type), name) != 0)
        type++;
    return nn_op_find(type);
}

#define MAX_SIDE  80
#define MAX_LISTS 200

/* One legal list of types, as the characters of patterns, scalars included. */
struct list {
    char in[MAX_SIDE];
    char out[MAX_SIDE];
    char rule_in[MAX_SIDE]; /* '<' or '=' or ' ' */
    char rank_in[MAX_SIDE];
    unsigned level;
    bool is_tolerated;
};

struct lists {
    size_t n;
    struct list lists[MAX_LISTS];
};

static const char letters[] = "FHIQSYPAZBLfhiubm";
static const uint32_t codes[] = {
    NNHAL_TENSOR_FLOAT32,
    NNHAL_TENSOR_FLOAT16,
    NNHAL_TENSOR_INT32,
    NNHAL_TENSOR_QUANT8_ASYMM,
    NNHAL_TENSOR_QUANT8_ASYMM_SIGNED,
    NNHAL_TENSOR_QUANT8_SYMM,
    NNHAL_TENSOR_QUANT8_SYMM_PER_CHANNEL,
    NNHAL_TENSOR_QUANT16_ASYMM,
    NNHAL_TENSOR_QUANT16_SYMM,
    NNHAL_TENSOR_BOOL8,
    NN_TYPE_TENSOR_INT64,
    NNHAL_FLOAT32,
    NNHAL_FLOAT16,
    NNHAL_INT32,
    NNHAL_UINT32,
    NNHAL_BOOL,
    NNHAL_SUBGRAPH,
};

static uint32_t code_of(char letter)
{
    return codes[strchr(letters, letter) - letters];
}

/* expand_side() - the letters of one side with `tails` tails taken; '+' stands for `more`.
 * Returns: the number of tails that the side has. */
static int expand_side(const char *pattern, char end, int tails, int more, char t, char u,
                       char *ret, char *ret_rules, char *ret_ranks, unsigned *level)
{
    int n = 0, n_tails = 0;
    bool taken = true;

    for (; *pattern != end; pattern++) {
        char c = *pattern, rule = ' ', rank = ' ';
        int repeat = 0;

        if (c == ')')
            continue;
        if (c == '(') {
            n_tails++;
            taken = n_tails <= tails;
            pattern++;
            if (taken && *level < (unsigned)(*pattern - '0'))
                *level = (unsigned)(*pattern - '0');
            continue;
        }
        if (pattern[1] == '?')
            pattern++;
        if (pattern[1] == '<' || pattern[1] == '=') {
            rule = pattern[1];
            rank = pattern[2];
            pattern += 2;
        }
        if (pattern[1] == '+') {
            repeat = more;
            pattern++;
        }
        while (pattern[1] >= '0' && pattern[1] <= '9')
            repeat = repeat * 10 + (*++pattern - '0');
        if (c == 'T')
            c = t;
        if (c == 'U')
            c = u;
        if (c == 't')
            c = t == 'H' ? 'h' : 'f';
        if (c == '*')
            c = 'F';
        for (int k = 0; taken && k < (repeat ? repeat : 1); k++, n++) {
            ret[n] = c;
            ret_rules[n] = rule;
            ret_ranks[n] = rank;
        }
    }
    ret[n] = '\0';
    return n_tails;
}

static void expand_row(const struct nn_op *op, const struct nn_signature *row, const char *t,
                       const char *u, struct lists *lists)
{
    const char *colon = strchr(row->pattern, ':');
    char rules[MAX_SIDE], ranks[MAX_SIDE];
    int n_in_tails = 0, n_out_tails = 0;

    for (int i = 0; i <= n_in_tails; i++) {
        for (int o = 0; o <= n_out_tails; o++) {
            for (int more = 1; more <= (strchr(row->pattern, '+') ? 3 : 1); more++) {
                struct list *list = &lists->lists[lists->n++];

                ck_assert_uint_lt(lists->n, MAX_LISTS);
                memset(list, 0, sizeof(*list));
                list->level = op->level;
                if (*t && list->level < (unsigned)(t[1] - '0'))
                    list->level = (unsigned)(t[1] - '0');
                if (*u && list->level < (unsigned)(u[1] - '0'))
                    list->level = (unsigned)(u[1] - '0');
                n_in_tails = expand_side(row->pattern, ':', i, more, *t, *u, list->in,
                                         list->rule_in, list->rank_in, &list->level);
                n_out_tails = expand_side(colon + 1, '\0', o, more, *t, *u, list->out, rules, ranks,
                                          &list->level);
                list->is_tolerated = row->flags & NN_SIGNATURE_TOLERATED;
            }
        }
    }
}

static void expand(const struct nn_op *op, struct lists *lists)
{
    lists->n = 0;
    for (uint32_t i = 0; i < op->n_signatures; i++) {
        const struct nn_signature *row = &op->signatures[i];
        const char *t = row->types ? row->types : "";

        do {
            const char *u = row->others ? row->others : "";

            do {
                expand_row(op, row, t, u, lists);
                u += *u ? 2 : 0;
            } while (*u);
            t += *t ? 2 : 0;
        } while (*t);
    }
}

/* -- operations made of lists -- */

struct made {
    struct nnhal_operand operands[2 * MAX_SIDE];
    uint32_t dimensions[2 * MAX_SIDE][NNHAL_MAX_RANK];
    uint32_t indexes[2 * MAX_SIDE];
    struct nnhal_operation operation;
};

static const float scales[] = {1, 1, 1, 1};

static void make_operand(struct made *made, uint32_t i, char letter, uint32_t channel_dim)
{
    struct nnhal_operand *operand = &made->operands[i];

    memset(operand, 0, sizeof(*operand));
    made->indexes[i] = i;
    operand->type = code_of(letter);
    operand->dimensions = made->dimensions[i];
    if (nn_type_is_quantized(operand->type))
        operand->scale = 1.0f / 256;
    if (operand->type == NNHAL_TENSOR_QUANT8_SYMM_PER_CHANNEL) {
        operand->extra_params = NNHAL_EXTRA_CHANNEL_QUANT;
        operand->n_dimensions = 4;
        for (int d = 0; d < 4; d++)
            made->dimensions[i][d] = 1;
        operand->channel_quant = (struct nnhal_channel_quant){channel_dim, 1, scales};
    }
}

static void make(struct made *made, const struct nn_op *op, const struct list *list)
{
    uint32_t n_in = (uint32_t)strlen(list->in), n_out = (uint32_t)strlen(list->out);
    uint32_t channel_dim = op->code == NNHAL_OP_DEPTHWISE_CONV_2D ? 3 : 0;

    for (uint32_t i = 0; i < n_in; i++)
        make_operand(made, i, list->in[i], channel_dim);
    for (uint32_t i = 0; i < n_out; i++)
        make_operand(made, n_in + i, list->out[i], channel_dim);
    /* The condition of IF says its one dimension. */
    if (op->type == NNHAL_OP_IF) {
        made->operands[0].n_dimensions = 1;
        made->dimensions[0][0] = 1;
    }
    made->operation = (struct nnhal_operation){
        .type = op->type,
        .n_inputs = n_in,
        .inputs = made->indexes,
        .n_outputs = n_out,
        .outputs = made->indexes + n_in,
    };
}

static int judge(struct made *made, struct nn_operation_facts *facts, struct nn_why *why)
{
    uint32_t n = made->operation.n_inputs + made->operation.n_outputs;

    memset(why, 0, sizeof(*why));
    if (made->operation.type < NN_TFLITE_OPS)
        return nn_operation_validate(made->operands, n, &made->operation, facts, why);
    *facts = (struct nn_operation_facts){.level = 1};
    return nn_operation_validate_inside(made->operands, n, &made->operation, why);
}

static bool is_listed(const struct lists *lists, const struct list *wanted)
{
    for (size_t i = 0; i < lists->n; i++)
        if (strcmp(lists->lists[i].in, wanted->in) == 0 &&
            strcmp(lists->lists[i].out, wanted->out) == 0)
            return true;
    return false;
}

typedef void (*list_fn)(const struct nn_op *op, const struct lists *lists, const struct list *list);

static void for_each_list_of(const struct nn_op *op, list_fn test)
{
    static struct lists lists;

    expand(op, &lists);
    ck_assert_msg(lists.n > 0, "%s has no signature", op->name);
    for (size_t i = 0; i < lists.n; i++)
        test(op, &lists, &lists.lists[i]);
}

/* for_each_list() - all operations, those of nnhal.tflite too, all their lists. */
static void for_each_list(list_fn test)
{
    for (uint32_t type = 0; type < NNHAL_OPERATION_TYPE_N; type++)
        for_each_list_of(nn_op_find(type), test);
    for (uint32_t number = 0; number < NNHAL_TFLITE_OPERATION_N; number++)
        for_each_list_of(nn_op_find(NN_TFLITE_OPS + number), test);
}

/* -- tests -- */

TEST(names_and_codes_agree)
{
    for (uint32_t type = 0; type < NNHAL_OPERATION_TYPE_N; type++) {
        const struct nn_op *op = nn_op_find(type);

        ck_assert_uint_eq(op->type, type);
        ck_assert_str_eq(nn_op_name(type), op->name);
        ck_assert(op->level >= 1 && op->level <= 7);
    }
    for (uint32_t number = 0; number < NNHAL_TFLITE_OPERATION_N; number++) {
        const struct nn_op *op = nn_op_find(NN_TFLITE_OPS + number);

        ck_assert_uint_eq(op->type, NN_TFLITE_OPS + number);
        ck_assert_str_eq(nn_op_name(op->type), op->name);
        ck_assert_ptr_nonnull(nn_op_find_functions(op));
    }
    ck_assert_ptr_null(nn_op_find(NN_TFLITE_OPS + NNHAL_TFLITE_OPERATION_N));
    ck_assert_ptr_null(nn_op_find(NNHAL_OPERATION_TYPE_N));
    ck_assert_str_eq(nn_op_name(NNHAL_OP_OEM_OPERATION), "OEM_OPERATION");
    ck_assert_str_eq(nn_op_name(5 << 16), "extension operation");
    ck_assert_str_eq(nn_op_name(999), "unknown operation");
}
TEST_END

TEST(every_operation_has_its_functions)
{
    for (uint32_t type = 0; type < NNHAL_OPERATION_TYPE_N; type++) {
        const struct nn_op *op = nn_op_find(type);
        const struct nn_op_functions *functions = nn_op_find_functions(op);

        ck_assert_msg(functions, "%s is not in its family", op->name);
        ck_assert_msg(functions->infer || type == NNHAL_OP_IF || type == NNHAL_OP_WHILE,
                      "%s has no shape inference", op->name);
    }
}
TEST_END

static void accept(const struct nn_op *op, const struct lists *lists, const struct list *list)
{
    static struct made made;
    struct nn_operation_facts facts;
    struct nn_why why;

    (void)lists;
    make(&made, op, list);
    ck_assert_msg(judge(&made, &facts, &why) == 0, "%s %s:%s: %s", op->name, list->in, list->out,
                  why.text);
    ck_assert_int_eq(facts.is_tolerated, list->is_tolerated);
    ck_assert_uint_ge(facts.level, list->level);
}

TEST(every_listed_combination_is_accepted)
{
    for_each_list(accept);
}
TEST_END

/* Gives the tensors that go in five dimensions. */
static void raise_rank(struct made *made)
{
    for (uint32_t i = 0; i < made->operation.n_inputs; i++) {
        if (!nn_type_is_tensor(made->operands[i].type))
            continue;
        made->operands[i].n_dimensions = 5;
        for (int d = 0; d < 5; d++)
            made->dimensions[i][d] = 1;
    }
}

/* What the extension adds to an operation of NNAPI's is another type or a higher rank. */
static void refuse_inside(const struct nn_op *op, const struct lists *lists,
                          const struct list *list)
{
    static struct made made;
    struct nn_why why = {0};

    (void)lists;
    make(&made, op, list);
    if (op->type < NN_TFLITE_OPS)
        return;
    ck_assert_int_eq(
        nn_operation_validate(made.operands, 2 * MAX_SIDE, &made.operation, NULL, &why),
        NN_REFUSED);
    ck_assert_ptr_nonnull(strstr(why.text, "there is no operation with code"));
    made.operation.type = op->code;
    if (nn_operation_validate(made.operands, 2 * MAX_SIDE, &made.operation, NULL, &why) == 0)
        raise_rank(&made);
    ck_assert_int_eq(
        nn_operation_validate(made.operands, 2 * MAX_SIDE, &made.operation, NULL, &why),
        NN_REFUSED);
    ck_assert_int_eq(
        nn_operation_validate_inside(made.operands, 2 * MAX_SIDE, &made.operation, &why), 0);
}

TEST(codes_of_the_inside_are_no_codes_of_models)
{
    const struct nnhal_operand operand = {.type = NN_TYPE_TENSOR_INT64};
    struct nn_why why;

    for_each_list(refuse_inside);
    ck_assert_int_eq(nn_operand_validate(&operand, &why), NN_REFUSED);
}
TEST_END

static void exchange(const struct nn_op *op, const struct lists *lists, const struct list *list)
{
    static struct made made;
    struct list other;
    struct nn_operation_facts facts;
    struct nn_why why;
    size_t n_in = strlen(list->in), n = n_in + strlen(list->out);
    bool takes_any = op->type == NNHAL_OP_IF || op->type == NNHAL_OP_WHILE || list->is_tolerated;

    for (size_t i = 0; i < n && !takes_any; i++) {
        for (const char *c = letters; *c; c++) {
            other = *list;
            *(i < n_in ? &other.in[i] : &other.out[i - n_in]) = *c;
            make(&made, op, &other);
            ck_assert_msg((judge(&made, &facts, &why) == 0) == is_listed(lists, &other),
                          "%s %s:%s: %s", op->name, other.in, other.out, why.text);
        }
    }
}

TEST(one_other_type_is_accepted_only_if_listed)
{
    for_each_list(exchange);
}
TEST_END

static void count(const struct nn_op *op, const struct lists *lists, const struct list *list)
{
    static struct made made;
    struct list other;
    struct nn_operation_facts facts;
    struct nn_why why;
    /* Patterns without an end, or with operands of any type, have more lists than those made. */
    bool is_variadic = list->is_tolerated;

    for (uint32_t i = 0; i < op->n_signatures; i++)
        is_variadic |= strchr(op->signatures[i].pattern, '+') != NULL;
    for (int side = 0; side < 2 && !is_variadic; side++) {
        for (size_t more = 1; more <= 3; more++) {
            char *letters_of_side;
            size_t n;

            other = *list;
            letters_of_side = side ? other.out : other.in;
            n = strlen(letters_of_side);
            memset(letters_of_side + n, letters_of_side[n - 1], more);
            letters_of_side[n + more] = '\0';
            make(&made, op, &other);
            ck_assert_msg((judge(&made, &facts, &why) == 0) == is_listed(lists, &other), "%s %s:%s",
                          op->name, other.in, other.out);
        }
        other = *list;
        *(side ? &other.out[strlen(other.out) - 1] : &other.in[strlen(other.in) - 1]) = '\0';
        make(&made, op, &other);
        ck_assert_msg((judge(&made, &facts, &why) == 0) == is_listed(lists, &other), "%s %s:%s",
                      op->name, other.in, other.out);
    }
}

TEST(other_counts_are_refused)
{
    for_each_list(count);
}
TEST_END

static void bound(const struct nn_op *op, const struct lists *lists, const struct list *list)
{
    static struct made made;
    struct nn_operation_facts facts;
    struct nn_why why;

    (void)lists;
    for (size_t i = 0; list->in[i]; i++) {
        uint32_t limit = (uint32_t)(list->rank_in[i] - '0');

        if (list->rule_in[i] == ' ' || list->in[i] == 'P')
            continue;
        for (uint32_t rank = 1; rank <= 6; rank++) {
            bool fits = list->rule_in[i] == '<' ? rank <= limit : rank == limit;

            make(&made, op, list);
            made.operands[i].n_dimensions = rank;
            for (uint32_t d = 0; d < rank; d++)
                made.dimensions[i][d] = 1;
            ck_assert_msg((judge(&made, &facts, &why) == 0) == fits, "%s input %zu of rank %u: %s",
                          op->name, i, rank, why.text);
        }
    }
}

TEST(known_ranks_are_bounded)
{
    for_each_list(bound);
}
TEST_END

/* A few rows of NNAPI's own tables, by hand: type letters, and the level that they need when ranks
 * are stated. */
static const struct {
    const char *op;
    const char *in;
    const char *out;
    unsigned level;
} known[] = {
    {"ADD", "FFi", "F", 1},
    {"ADD", "HHi", "H", 3},
    {"ADD", "IIi", "I", 4},
    {"CONV_2D", "FFFiiii", "F", 1},
    {"CONV_2D", "FFFiiiib", "F", 3},
    {"CONV_2D", "SPIiiiiiiibii", "S", 4},
    {"CONCATENATION", "FFFFFi", "F", 1},
    {"DEQUANTIZE", "Q", "F", 1},
    {"DEQUANTIZE", "Q", "H", 3},
    {"CAST", "FI", "I", 0},
    {"EMBEDDING_LOOKUP", "IH", "H", 4},
    {"LSTM", "FFFFFFFFFFFFFFFFFFFFiff", "FFFF", 1},
    {"LSTM", "FFFFFFFFFFFFFFFFFFFFiffFFFF", "FFFF", 3},
    {"RESIZE_BILINEAR", "Fii", "F", 1},
    {"RESIZE_BILINEAR", "Fff", "F", 3},
    {"RESIZE_BILINEAR", "Fiibbb", "F", 4},
    {"RSQRT", "Q", "Q", 7},
    {"RESHAPE", "II", "I", 6},
    {"GROUPED_CONV_2D", "FFFiiiii", "F", 3},
    {"UNIDIRECTIONAL_SEQUENCE_RNN", "FFFFFii", "FF", 4},
    {"RANK", "B", "i", 4},
    {"PACK", "iFFF", "F", 6},
    {"REVERSE", "FI", "F", 7},
    {"ELU", "Ff", "F", 4},
};

TEST(known_rows_have_their_levels)
{
    static struct made made;
    struct nn_operation_facts facts;
    struct nn_why why;

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        struct list list = {0};

        strcpy(list.in, known[i].in);
        strcpy(list.out, known[i].out);
        make(&made, find_op(known[i].op), &list);
        /* Rank 0 means unknown, which alone needs level 3: say the ranks. */
        for (uint32_t k = 0; k < made.operation.n_inputs + made.operation.n_outputs; k++) {
            struct nnhal_operand *operand = &made.operands[k];

            if (!nn_type_is_tensor(operand->type))
                continue;
            operand->n_dimensions = strcmp(known[i].op, "CONV_2D") == 0 ? 4 : 1;
            if (strcmp(known[i].op, "PACK") == 0 && k == made.operation.n_inputs)
                operand->n_dimensions = 2;
            for (int d = 0; d < 4; d++)
                made.dimensions[k][d] = 1;
        }
        if (known[i].level == 0) {
            ck_assert_msg(judge(&made, &facts, &why) == NN_REFUSED, "%s", known[i].op);
            continue;
        }
        ck_assert_msg(judge(&made, &facts, &why) == 0, "%s: %s", known[i].op, why.text);
        ck_assert_msg(facts.level == known[i].level, "%s %s: level %u", known[i].op, known[i].in,
                      facts.level);
    }
}
TEST_END

TEST(quantized_sequence_lstm_is_tolerated)
{
    static struct made made;
    struct nn_operation_facts facts;
    struct nn_why why;
    struct list list = {.in = "SSSSSSSSSZZZIIIISISZiffbZZZZ", .out = "S"};

    make(&made, nn_op_find(NNHAL_OP_UNIDIRECTIONAL_SEQUENCE_LSTM), &list);
    ck_assert_msg(judge(&made, &facts, &why) == 0, "%s", why.text);
    ck_assert(facts.is_tolerated);
    strcpy(list.in, "SFFFFFFFFFFFFFFFFFFFiffbFFFF");
    make(&made, nn_op_find(NNHAL_OP_UNIDIRECTIONAL_SEQUENCE_LSTM), &list);
    ck_assert_int_eq(judge(&made, &facts, &why), NN_REFUSED);
}
TEST_END

TEST(omittable_inputs_are_those_of_the_table)
{
    const struct nn_op *lstm = nn_op_find(NNHAL_OP_LSTM);
    static const char may[] = "010001000111100011000001111";

    for (uint32_t i = 0; i < 27; i++)
        ck_assert_msg(nn_signature_may_omit(&lstm->signatures[0], i) == (may[i] == '1'),
                      "LSTM input %u", i);
    ck_assert(nn_signature_may_omit(&nn_op_find(NNHAL_OP_TRANSPOSE)->signatures[0], 1));
    ck_assert(!nn_signature_may_omit(&nn_op_find(NNHAL_OP_ADD)->signatures[0], 1));
    ck_assert(!nn_signature_may_omit(&nn_op_find(NNHAL_OP_PACK)->signatures[0], 40));
}
TEST_END

TEST(sentences_name_what_is_wrong)
{
    static struct made made;
    struct nn_operation_facts facts;
    struct nn_why why;
    struct list list = {.in = "FFi", .out = "F"};
    const struct nn_op *add = nn_op_find(NNHAL_OP_ADD);

    strcpy(list.in, "FHi");
    make(&made, add, &list);
    ck_assert_int_eq(judge(&made, &facts, &why), NN_REFUSED);
    ck_assert_str_eq(why.text, "ADD input 1 is TENSOR_FLOAT16, it must be TENSOR_FLOAT32");
    strcpy(list.in, "FF");
    make(&made, add, &list);
    ck_assert_int_eq(judge(&made, &facts, &why), NN_REFUSED);
    ck_assert_str_eq(why.text, "ADD has 2 inputs and 1 outputs; it takes inputs: 3; outputs: 1");
    strcpy(list.in, "ZZi");
    make(&made, add, &list);
    ck_assert_int_eq(judge(&made, &facts, &why), NN_REFUSED);
    ck_assert_str_eq(why.text, "ADD input 0 is TENSOR_QUANT16_SYMM, which is not allowed here");
    strcpy(list.in, "FFi");
    strcpy(list.out, "H");
    make(&made, add, &list);
    ck_assert_int_eq(judge(&made, &facts, &why), NN_REFUSED);
    ck_assert_str_eq(why.text, "ADD output 0 is TENSOR_FLOAT16, it must be TENSOR_FLOAT32");
}
TEST_END

CHECK_MAIN("signature", names_and_codes_agree, every_operation_has_its_functions,
           every_listed_combination_is_accepted, one_other_type_is_accepted_only_if_listed,
           codes_of_the_inside_are_no_codes_of_models, other_counts_are_refused,
           known_ranks_are_bounded, known_rows_have_their_levels,
           quantized_sequence_lstm_is_tolerated, omittable_inputs_are_those_of_the_table,
           sentences_name_what_is_wrong)
