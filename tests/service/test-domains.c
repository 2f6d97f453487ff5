/* SPDX-License-Identifier: Apache-2.0 */
/* Memory domains of several clients of one service: no client reaches
 * another one's, and what a client leaves behind goes with it. */
#include "service/stand.h"

#include "support/check-main.h"
#include "support/fake-driver.h"

#include <signal.h>
#include <sys/wait.h>

enum {
    N_FLOATS = 65536,
    N_BYTES = 4 * N_FLOATS,
    N_KILLED = 20,
};

static struct stand stand;

/* A client with a model, a memory of a value's size, and a buffer for x and z. */
struct client {
    struct desk desk;
    uint64_t memory, prepared;
    uint8_t *bytes; /* of memory */
    struct desk_wish wish;
    struct desk_buffer buffer;
};

static void client_open(struct client *client)
{
    stand_desk(&stand, &client->desk);
    client->memory = desk_memory(&client->desk, N_BYTES);
    client->bytes = desk_bytes(&client->desk, client->memory);
    client->prepared = desk_prepare(&client->desk,
                                    desk_sum(&client->desk, NNHAL_TENSOR_FLOAT32, DIMS(N_FLOATS)));
    client->wish = desk_wish(client->prepared, 0, 0);
    client->buffer = desk_allocate(&client->desk, &client->wish);
}

static void put(struct client *client, uint8_t mark)
{
    memset(client->bytes, mark, N_BYTES);
    ck_assert_uint_eq(desk_copy_from(&client->desk, client->buffer.id, client->memory, 0, NULL),
                      NNHAL_NONE);
    memset(client->bytes, 0, N_BYTES);
}

/* The status of z = x, x being a buffer and z the client's memory. */
static uint32_t get_with(struct client *client, uint32_t token)
{
    struct desk *desk = &client->desk;

    desk_begin(desk);
    desk_input_token(desk, 0, NULL, token);
    desk_input(desk, 0, NULL, 0, 0, 0);
    desk_output(desk, 0, NULL, client->memory, 0, N_BYTES);
    return desk_execute(desk, client->prepared);
}

static void expect_bytes(const struct client *client, uint8_t mark)
{
    for (uint32_t i = 0; i < N_BYTES; i++)
        if (client->bytes[i] != mark)
            ck_abort_msg("byte %u is %u, not %u", i, client->bytes[i], mark);
}

TEST(tokens_and_ids_of_another_client_mean_nothing)
{
    static struct client one, other;

    stand_open(&stand);
    client_open(&one);
    client_open(&other);
    put(&one, 0xa5);
    /* Ids are the same numbers in both; what they name is each client's own. */
    ck_assert_uint_eq(one.buffer.id, other.buffer.id);
    ck_assert_uint_ne(one.buffer.token, other.buffer.token);
    ck_assert_uint_eq(get_with(&other, one.buffer.token), NNHAL_INVALID_ARGUMENT);
    ck_assert_uint_eq(desk_copy_to(&other.desk, one.buffer.id, other.memory),
                      NNHAL_GENERAL_FAILURE); /* its own, which holds no value */
    expect_bytes(&other, 0);
    desk_free_buffer(&other.desk, one.buffer.id);
    ck_assert_uint_eq(get_with(&one, one.buffer.token), NNHAL_NONE);
    expect_bytes(&one, 0xa5);
    stand_desk_close(&one.desk);
    stand_desk_close(&other.desk);
    stand_expect_no_clients(&stand);
    stand_close(&stand);
}
TEST_END

TEST(no_byte_of_another_client_ever_shows)
{
    static struct client one, other;

    stand_open(&stand);
    for (int i = 0; i < 20; i++) {
        memset(&one, 0, sizeof(one));
        memset(&other, 0, sizeof(other));
        client_open(&one);
        put(&one, 0xa5);
        if (i % 2)
            desk_free_buffer(&one.desk, one.buffer.id);
        else
            stand_desk_close(&one.desk);
        client_open(&other);
        /* The driver says that it has written, and has not. */
        fake.writes_nothing = true;
        desk_begin(&other.desk);
        desk_input(&other.desk, 0, NULL, other.memory, 0, N_BYTES);
        desk_input(&other.desk, 0, NULL, 0, 0, 0);
        desk_output_token(&other.desk, 0, NULL, other.buffer.token);
        ck_assert_uint_eq(desk_execute(&other.desk, other.prepared), NNHAL_NONE);
        fake.writes_nothing = false;
        ck_assert_uint_eq(desk_copy_to(&other.desk, other.buffer.id, other.memory), NNHAL_NONE);
        expect_bytes(&other, 0);
        if (i % 2)
            stand_desk_close(&one.desk);
        stand_desk_close(&other.desk);
    }
    stand_expect_no_clients(&stand);
    stand_close(&stand);
}
TEST_END

TEST(a_client_that_took_all_leaves_it_to_the_next)
{
    static struct client one, other;
    struct desk_buffer buffer;
    uint32_t status = NNHAL_NONE;

    stand_open(&stand);
    client_open(&one);
    for (int i = 0; i < 5000 && status == NNHAL_NONE; i++)
        status = desk_try_allocate(&one.desk, &one.wish, &buffer);
    ck_assert_uint_eq(status, NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    put(&one, 1); /* it goes on with what it has */
    stand_desk_close(&one.desk);
    stand_expect_no_clients(&stand);
    client_open(&other);
    put(&other, 2);
    stand_desk_close(&other.desk);
    stand_expect_no_clients(&stand);
    stand_close(&stand);
}
TEST_END

/* Copies and executes until it is killed. */
static void be_client(int go_fd)
{
    static struct client client;
    char byte;

    if (read(go_fd, &byte, 1) != 1)
        _exit(0);
    client_open(&client);
    for (;;) {
        put(&client, 0x77);
        if (get_with(&client, client.buffer.token) != NNHAL_NONE)
            _exit(1);
    }
}

TEST(nothing_is_left_of_a_client_that_was_killed_while_it_copied)
{
    static struct client witness;
    pid_t pids[N_KILLED];
    int go[2];
    unsigned seed = 1;

    /* The clients are there before the service's threads are. */
    stand_place(&stand);
    ck_assert_int_eq(pipe(go), 0);
    for (int i = 0; i < N_KILLED; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            be_client(go[0]);
    }
    fake_holds_buffers = true;
    stand_open(&stand);
    client_open(&witness);
    put(&witness, 9);
    ck_assert_int_eq(write(go[1], "12345678901234567890", N_KILLED), N_KILLED);
    for (int i = 0; i < N_KILLED; i++) {
        const struct timespec moment = {.tv_nsec = (long)(rand_r(&seed) % 20000000)};
        int how;

        nanosleep(&moment, NULL);
        ck_assert_int_eq(kill(pids[i], SIGKILL), 0);
        ck_assert_int_eq(waitpid(pids[i], &how, 0), pids[i]);
        ck_assert_msg(WIFSIGNALED(how), "client %d ended by itself, with %d", i, how);
    }
    ck_assert_uint_eq(get_with(&witness, witness.buffer.token), NNHAL_NONE);
    expect_bytes(&witness, 9);
    stand_desk_close(&witness.desk);
    stand_expect_no_clients(&stand);
    stand_close(&stand);
    close(go[0]);
    close(go[1]);
    ck_assert_uint_eq(fake.n_buffers, fake.n_released_buffers);
}
TEST_END

CHECK_MAIN("domains", tokens_and_ids_of_another_client_mean_nothing,
           no_byte_of_another_client_ever_shows, a_client_that_took_all_leaves_it_to_the_next,
           nothing_is_left_of_a_client_that_was_killed_while_it_copied)
