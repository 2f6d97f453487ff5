/* SPDX-License-Identifier: Apache-2.0 */
/* image-read.c - has nnhal-picture read a file, and takes what that writes */
#include "image.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define image_fail(message, size, ...)                                                             \
    ((size) ? (void)snprintf((message), (size), __VA_ARGS__) : (void)0, -1)

/* Our ends of the pipes of a child, which has the others as standard output and error. */
struct reader {
    pid_t pid;
    FILE *pixels, *complaint;
};

int image_take(FILE *from, struct image *ret_image)
{
    struct image image = {0};

    if (fscanf(from, "P6 %5u %5u 255", &image.width, &image.height) != 2 || fgetc(from) != '\n')
        return -EINVAL;
    if (!image.width || !image.height || image.width > IMAGE_MAX_SIDE ||
        image.height > IMAGE_MAX_SIDE)
        return -EINVAL;
    image.rgb = calloc((size_t)image.width * image.height, 3);
    if (!image.rgb)
        return -ENOMEM;
    if (fread(image.rgb, (size_t)image.width * 3, image.height, from) != image.height ||
        fgetc(from) != EOF) {
        image_done(&image);
        return -EINVAL;
    }
    *ret_image = image;
    return 0;
}

/* Beside this program as it was built, else where it is installed. */
static void find_program(char path[PATH_MAX])
{
    char own[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);

    own[n < 0 ? 0 : n] = '\0';
    path[0] = '\0';
    if (own[0] == '/')
        (void)snprintf(path, PATH_MAX, "%.*s/nnhal-picture", PATH_MAX - 16, dirname(own));
    if (access(path, X_OK) < 0)
        (void)snprintf(path, PATH_MAX, "%s", NN_PICTURE_PROGRAM);
}

static int spawn(const char *program, int input, int output, int error, pid_t *ret_pid)
{
    char *arguments[] = {(char *)program, NULL};
    posix_spawn_file_actions_t actions;
    int r = posix_spawn_file_actions_init(&actions);

    if (r)
        return -r;
    r = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    if (!r)
        r = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (!r)
        r = posix_spawn_file_actions_adddup2(&actions, error, STDERR_FILENO);
    if (!r)
        r = posix_spawn(ret_pid, program, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return -r;
}

/* Two pipes: [0] and [2] to be read. The second does not wait for a reader: what complains
 * without end loses its words instead of stopping. */
static int open_pipes(int fds[4])
{
    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    if (pipe2(fds + 2, O_CLOEXEC) < 0) {
        int r = -errno;

        close(fds[0]);
        close(fds[1]);
        return r;
    }
    (void)fcntl(fds[3], F_SETFL, O_NONBLOCK);
    return 0;
}

static void close_pipe(FILE *stream, int fd)
{
    if (stream)
        (void)fclose(stream);
    else
        close(fd);
}

static int reader_start(struct reader *reader, int input)
{
    char program[PATH_MAX];
    int fds[4], r;

    find_program(program);
    r = open_pipes(fds);
    if (r < 0)
        return r;
    reader->pixels = fdopen(fds[0], "r");
    reader->complaint = fdopen(fds[2], "r");
    r = reader->pixels && reader->complaint ? spawn(program, input, fds[1], fds[3], &reader->pid)
                                            : -ENOMEM;
    close(fds[1]);
    close(fds[3]);
    if (r < 0) {
        close_pipe(reader->pixels, fds[0]);
        close_pipe(reader->complaint, fds[2]);
    }
    return r;
}

/* The first line that the child complained with; nothing of it controls a terminal. */
static void read_complaint(FILE *from, char *message, size_t size)
{
    char line[256] = "";

    if (!fgets(line, sizeof(line), from))
        line[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    (void)image_fail(message, size, "%s",
                     *line ? text_make_plain(line) : "what reads pictures ended without a word");
}

/* Takes the picture and waits for the child's end, which closed pipes bring about. */
static int reader_finish(struct reader *reader, struct image *ret_image, char *message, size_t size)
{
    struct image image = {0};
    int r = image_take(reader->pixels, &image), status = 0;

    (void)fclose(reader->pixels);
    if (r < 0) /* it may go on for as long as it is let; what it has said is in the pipe */
        (void)kill(reader->pid, SIGKILL);
    while (waitpid(reader->pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (r == -ENOMEM)
        (void)image_fail(message, size, "out of memory");
    else if (r < 0 || status)
        read_complaint(reader->complaint, message, size);
    (void)fclose(reader->complaint);
    if (r < 0 || status) {
        image_done(&image);
        return -1;
    }
    *ret_image = image;
    return 0;
}

static int read_from(int fd, struct image *ret_image, char *message, size_t size)
{
    struct reader reader;
    struct stat info;
    int r;

    if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode))
        return image_fail(message, size, "it is not a regular file");
    if (info.st_size <= 0 || info.st_size > IMAGE_MAX_FILE_BYTES)
        return image_fail(message, size, "its size is 0 or above %d MiB",
                          IMAGE_MAX_FILE_BYTES >> 20);
    r = reader_start(&reader, fd);
    if (r < 0)
        return image_fail(message, size, "nnhal-picture, which reads pictures: %s",
                          r == -ENOENT ? "it is not installed" : strerror(-r));
    return reader_finish(&reader, ret_image, message, size);
}

int image_read(const char *path, struct image *ret_image, char *message, size_t message_size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), r;

    if (fd < 0)
        return image_fail(message, message_size, "%s", strerror(errno));
    r = read_from(fd, ret_image, message, message_size);
    close(fd);
    return r;
}
