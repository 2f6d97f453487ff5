/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h - whether an output is what a vector expects */
#ifndef NN_TOOLS_NNT_COMPARE_H
#define NN_TOOLS_NNT_COMPARE_H

#include "file.h"

/* What differed first; numbers of elements. */
struct nnt_difference {
    uint32_t element;
    double got;
    double expected;
    double allowed;
};

/* nnt_allowed() - how much an element of a type may differ from an expected one in this model. */
double nnt_allowed(const struct nnt_model *model, uint32_t type, double expected);

/* nnt_compare() - compares n elements of an output's type with its expected
 * data, within the tolerance for this model.
 * Returns: true if all agree; else *ret holds the first that does not. */
bool nnt_compare(const struct nnt_model *model, const struct nnt_operand *output,
                 const uint8_t *actual, struct nnt_difference *ret);

/* nnt_compare_distribution() - for random output: samples of each batch are
 * classes, as often as the logits say. expected is the wanted frequency, got the
 * observed one, element the class. Returns: as above. */
bool nnt_compare_distribution(const struct nnt_model *model, const struct nnt_operand *logits,
                              const struct nnt_operand *output, const uint8_t *actual,
                              struct nnt_difference *ret);

/* nnt_element() - element i of data of a type, as a double. */
double nnt_element(uint32_t type, const uint8_t *data, uint32_t i);

#endif
