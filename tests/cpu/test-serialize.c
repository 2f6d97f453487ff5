/* SPDX-License-Identifier: Apache-2.0 */
/* Every kind of model can be kept, and comes back as it was. */
#include "cpu/cases.h"
#include "drivers/cpu/executor/plan.h"
#include "drivers/cpu/kernels/kernel.h"
#include "support/check-main.h"

#include <malloc.h>
#include <string.h>

struct kept {
    struct builder b;
    void *prepared;
    struct case_cache cache;
};

static void kept_init(struct kept *k, const struct cpu_case *of, bool is_quick)
{
    builder_init(&k->b, 2);
    of->build(&k->b);
    k->prepared = case_prepare_kept(&k->b, is_quick, &k->cache);
    ck_assert_msg(k->cache.model.size != 0, "%s is not kept", of->name);
}

static void kept_done(struct kept *k)
{
    if (k->prepared)
        k->b.driver->release(k->prepared);
    builder_done(&k->b);
}

/* Copies of its own, aligned as the host's are. */
static void copy_buffers(const struct case_cache *from, struct case_cache *to)
{
    const struct nnhal_cache_buffer *old[] = {&from->model, &from->data};
    struct nnhal_cache_buffer *copies[] = {&to->model, &to->data};

    for (int i = 0; i < 2; i++) {
        void *bytes = aligned_alloc(64, (old[i]->size + 64) / 64 * 64);

        ck_assert_ptr_nonnull(bytes);
        if (old[i]->size)
            memcpy(bytes, old[i]->bytes, old[i]->size);
        *copies[i] = (struct nnhal_cache_buffer){bytes, old[i]->size};
    }
}

static void free_buffers(struct case_cache *cache)
{
    free((void *)(uintptr_t)cache->model.bytes);
    free((void *)(uintptr_t)cache->data.bytes);
}

TEST(every_model_comes_back_and_gives_the_same_bits)
{
    static struct case_result compiled[CASE_N_VARIANTS], loaded;

    for (const struct cpu_case *of = cpu_cases; of->name; of++) {
        struct case_cache copy = {0};
        struct kept k;
        void *prepared;

        kept_init(&k, of, false);
        for (uint32_t v = 0; v < CASE_N_VARIANTS; v++)
            case_execute(of, &k.b, k.prepared, v, &compiled[v]);
        copy_buffers(&k.cache, &copy);
        k.b.driver->release(k.prepared);
        k.prepared = NULL;
        /* The model and its pool are gone. */
        memset(k.b.pool, 0xee, k.b.n_pool);
        memset(k.b.values, 0xee, k.b.n_values);
        prepared = case_load(&k.b, &copy);
        ck_assert_msg(prepared != NULL, "%s: %s", of->name, k.b.why);
        ck_assert_uint_eq(compiled[0].status, NNHAL_NONE);
        for (uint32_t i = 0; i < 2 * CASE_N_VARIANTS; i++) {
            case_execute(of, &k.b, prepared, i % CASE_N_VARIANTS, &loaded);
            ck_assert_msg(memcmp(&loaded, &compiled[i % CASE_N_VARIANTS], sizeof(loaded)) == 0,
                          "%s, variant %u: %s", of->name, i % CASE_N_VARIANTS, k.b.why);
        }
        k.b.driver->release(prepared);
        free_buffers(&copy);
        kept_done(&k);
    }
}
TEST_END

TEST(what_comes_back_can_be_compared_with_what_was_kept)
{
    for (const struct cpu_case *of = cpu_cases; of->name; of++) {
        struct case_cache again;
        struct kept k;
        void *prepared;

        /* The same model gives the same bytes: an entry can be recognized. */
        kept_init(&k, of, false);
        prepared = case_prepare_kept(&k.b, false, &again);
        ck_assert_uint_eq(again.model.size, k.cache.model.size);
        ck_assert_uint_eq(again.data.size, k.cache.data.size);
        ck_assert(memcmp(again.model.bytes, k.cache.model.bytes, again.model.size) == 0);
        if (again.data.size)
            ck_assert(memcmp(again.data.bytes, k.cache.data.bytes, again.data.size) == 0);
        k.b.driver->release(prepared);
        kept_done(&k);
    }
}
TEST_END

TEST(cut_buffers_are_refused)
{
    for (const struct cpu_case *of = cpu_cases; of->name; of++) {
        struct case_cache copy = {0};
        uint64_t n_model, n_data;
        struct kept k;

        kept_init(&k, of, false);
        copy_buffers(&k.cache, &copy);
        n_model = copy.model.size;
        n_data = copy.data.size;
        for (copy.model.size = 0; copy.model.size < n_model; copy.model.size++)
            ck_assert_msg(!case_load(&k.b, &copy), "%s with %lu of %lu", of->name,
                          (unsigned long)copy.model.size, (unsigned long)n_model);
        copy.model.size = n_model;
        if (n_data) {
            copy.data.size = n_data - 1;
            ck_assert_ptr_null(case_load(&k.b, &copy));
        }
        free_buffers(&copy);
        kept_done(&k);
    }
}
TEST_END

/* What is accepted can be executed: under the sanitizers this finds reads and
 * writes that go astray. Weights may be anything. */
static void mutate(const struct cpu_case *of, struct kept *k, struct case_cache *copy,
                   uint64_t *n_accepted)
{
    static const uint8_t changes[] = {0x01, 0x80, 0xff};
    static struct case_result result;
    uint8_t *bytes = (uint8_t *)(uintptr_t)copy->model.bytes;
    uint32_t seed = 5;

    for (uint64_t i = 0; i < copy->model.size; i++) {
        uint8_t *data = (uint8_t *)(uintptr_t)copy->data.bytes;
        void *prepared;

        if (copy->model.size > 4096 && builder_random(&seed) % (copy->model.size / 2048))
            continue;
        bytes[i] ^= changes[i % sizeof(changes)];
        for (int d = 0; d < 8 && copy->data.size; d++)
            data[builder_random(&seed) % copy->data.size] ^= (uint8_t)builder_random(&seed);
        prepared = case_load(&k->b, copy);
        if (prepared) {
            case_execute(of, &k->b, prepared, (uint32_t)i % CASE_N_VARIANTS, &result);
            k->b.driver->release(prepared);
            ++*n_accepted;
        }
        memcpy(bytes, k->cache.model.bytes, copy->model.size);
    }
}

TEST(changed_buffers_are_refused_or_harmless)
{
    uint64_t n_accepted = 0;

    /* Damaged sizes may ask for gigabytes, which a debugging allocator would fill. */
    mallopt(M_PERTURB, 0);
    for (const struct cpu_case *of = cpu_cases; of->name; of++) {
        struct case_cache copy = {0};
        struct kept k;

        kept_init(&k, of, false);
        copy_buffers(&k.cache, &copy);
        mutate(of, &k, &copy, &n_accepted);
        free_buffers(&copy);
        kept_done(&k);
    }
    ck_assert_uint_gt(n_accepted, 0);
}
TEST_END

/* Parameters of scalars alone are no others than lower() makes: a sequence that is walked another way
 * has more batches than its states. */
static void change_parameters(const char *name)
{
    struct case_cache copy = {0};
    struct nn_plan_header header;
    const struct cpu_case *of = cpu_cases;
    struct nn_plan_step step;
    struct kept k;
    uint8_t *params;
    void *prepared;

    while (strcmp(of->name, name) != 0)
        of++;
    kept_init(&k, of, false);
    copy_buffers(&k.cache, &copy);
    params = case_plan(&copy, &header);
    memcpy(&step, params + header.steps.offset, sizeof(step));
    params += step.params;
    for (uint32_t i = 0; i < nn_kernel_at(step.kernel)->params_bytes; i++) {
        params[i] ^= 1;
        ck_assert_msg(!case_load(&k.b, &copy), "%s: byte %u of the parameters", name, i);
        params[i] ^= 1;
    }
    prepared = case_load(&k.b, &copy);
    ck_assert_ptr_nonnull(prepared);
    k.b.driver->release(prepared);
    free_buffers(&copy);
    kept_done(&k);
}

TEST(parameters_of_a_sequence_are_those_of_its_operands)
{
    change_parameters("sequence");
    change_parameters("sixteen-sequence");
}
TEST_END

CHECK_MAIN("keep", every_model_comes_back_and_gives_the_same_bits,
           what_comes_back_can_be_compared_with_what_was_kept, cut_buffers_are_refused,
           changed_buffers_are_refused_or_harmless,
           parameters_of_a_sequence_are_those_of_its_operands)
