/* SPDX-License-Identifier: Apache-2.0 */
/* validate.h - the rules that a model and a request must keep
 *
 * The process that prepares a model checks it here before any other code looks
 * at it: after nn_model_validate() every index, offset,
 * length, type, count and rank in the model can be trusted, operations are in
 * an order in which they can be executed, and subgraphs refer to each other
 * without a cycle. All sums and products are made in 64 bits, and subgraphs are
 * visited with a list, never by recursion. The model itself must be in private
 * memory (a decoder made it): nothing is read twice from memory that a peer
 * can change. No I/O.
 *
 * A request is checked against a nn_model_io, a copy of the prepared model's
 * inputs and outputs, so that the model need not be kept. */
#ifndef NN_MODEL_VALIDATE_H
#define NN_MODEL_VALIDATE_H

#include "model/ops.h"

#include "base/arena.h"

/* How deep subgraphs may refer to subgraphs: main is 0. */
#define NN_MODEL_MAX_NESTING 64

struct nn_model_facts {
    unsigned level;        /* minimum, 1..8 */
    bool has_control_flow; /* IF or WHILE in main or beyond */
    bool has_extensions;   /* an extension's operand type or operation, or OEM ones */
    bool has_tolerated;    /* an operation that no device of ours executes */
};

/* nn_model_validate() - judges a whole model. pool_sizes: one per pool of the
 * model, bytes; UINT64_MAX for a pool whose size cannot be known (a hardware
 * buffer that is not a blob: no constant may lie in it). arena serves as
 * scratch; what is taken is freed by its owner, with the request.
 * Returns: 0 with *ret_facts (may be NULL) set; NN_REFUSED with the sentence;
 * -ENOMEM. */
int nn_model_validate(const struct nnhal_model *model, const uint64_t *pool_sizes,
                      struct nn_arena *arena, struct nn_model_facts *ret_facts, struct nn_why *why);

/* nn_operand_validate() - what can be judged of an operand by itself: type, dimensions, scale,
 * zero point, extra params; lifetime and location are not looked at. For addOperand
 * and for nn_model_validate(). Returns: 0, NN_REFUSED. */
int nn_operand_validate(const struct nnhal_operand *operand, struct nn_why *why);

/* nn_operand_validate_constant() - whether a constant of length bytes fits
 * the operand: fully specified, rank above 0 for tensors, exact length (except
 * OEM and extension types). Returns: 0, NN_REFUSED. */
int nn_operand_validate_constant(const struct nnhal_operand *operand, uint64_t length,
                                 struct nn_why *why);

/* nn_operand_check_compatible() - whether values of one can be given to the other
 * (control flow, roles of buffers): type, scale, zero point and extra params
 * equal, known ranks equal, known dimensions equal. Returns: 0, NN_REFUSED
 * (what differs). */
int nn_operand_check_compatible(const struct nnhal_operand *a, const struct nnhal_operand *b,
                                struct nn_why *why);

/* nn_control_flow_validate() - whether an IF (first: then, second: else) or a WHILE (first:
 * condition, second: body), accepted by nn_operation_validate(), agrees with
 * the subgraphs that it runs; of these operands and the lists of inputs and
 * outputs are looked at, which must be in range. Returns: 0, NN_REFUSED. */
int nn_control_flow_validate(const struct nnhal_operand *operands,
                             const struct nnhal_operation *operation,
                             const struct nnhal_subgraph *first,
                             const struct nnhal_subgraph *second, struct nn_why *why);

/* -- requests -------------------------------------------------------------- */

/* The inputs and outputs of a prepared model: lifetimes and locations are 0, except for the
 * location's length, which nn_model_io_size_extensions() sets. */
struct nn_model_io {
    uint32_t n_inputs;
    uint32_t n_outputs;
    struct nnhal_operand *inputs;
    struct nnhal_operand *outputs;
};

/* nn_model_io_init() - copies the inputs and outputs of a valid model's main
 * subgraph into the arena. Returns: 0, -ENOMEM. */
int nn_model_io_init(struct nn_model_io *io, const struct nnhal_model *model,
                     struct nn_arena *arena);

/* nn_model_io_size_extensions() - asks once for the size of an element of each extension's type
 * among inputs and outputs; 0: it is not known. */
void nn_model_io_size_extensions(struct nn_model_io *io,
                                 uint32_t (*size_of)(const void *ctx, uint32_t type),
                                 const void *ctx);

/* nn_io_bytes() - as nn_operand_bytes(), of an input or output; 0 also for the unknown size
 * of an extension's type. */
bool nn_io_bytes(const struct nnhal_operand *operand, uint32_t n_dimensions,
                 const uint32_t *dimensions, uint64_t *ret_bytes);

/* One pool of a request, as its owner describes it. */
struct nn_request_pool_info {
    uint64_t size;  /* bytes; UINT64_MAX: a memory whose size cannot be known */
    bool is_buffer; /* a buffer of allocate(), named by its token */
};

#define NN_REQUEST_FENCED 1u /* outputs must be fully specified */

/* nn_request_validate() - judges a request. pools: one per pool of the request,
 * already resolved (unknown ids and tokens are the caller's to refuse).
 * An input in a buffer of allocate() may leave dimensions open: its owner knows them.
 * Refuses also outputs that overlap an input or another output in one pool.
 * arena serves as scratch. Returns: 0, NN_REFUSED, -ENOMEM. */
int nn_request_validate(const struct nn_model_io *io, const struct nnhal_request *request,
                        const struct nn_request_pool_info *pools, unsigned flags,
                        struct nn_arena *arena, struct nn_why *why);

/* nn_request_dims() - what model and argument together say of an argument's shape:
 * rank and dimensions, 0 where unknown. ret has room for NNHAL_MAX_RANK.
 * Returns: false if they contradict each other. */
bool nn_request_dims(const struct nnhal_operand *operand,
                     const struct nnhal_request_argument *argument, uint32_t *ret_n, uint32_t *ret);

#endif
