/* SPDX-License-Identifier: Apache-2.0 */
/* init.c - what the virtual machine of make test-dmabuf begins with
 *
 * Mounts what programs expect, loads the modules in /modules in the order of
 * /modules/order, runs the programs that /programs lists, says how
 * each ended, and turns the machine off. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void mount_all(void)
{
    mount("proc", "/proc", "proc", 0, NULL);
    mount("sysfs", "/sys", "sysfs", 0, NULL);
    mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
    mount("tmpfs", "/tmp", "tmpfs", 0, NULL);
    mkdir("/dev/shm", 01777);
    mount("tmpfs", "/dev/shm", "tmpfs", 0, NULL);
}

static void load_modules(void)
{
    FILE *order = fopen("/modules/order", "re");
    char name[200], path[256];

    while (order && fgets(name, sizeof(name), order)) {
        int fd;

        name[strcspn(name, "\n")] = '\0';
        snprintf(path, sizeof(path), "/modules/%s", name);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (syscall(SYS_finit_module, fd, "", 0) < 0)
            printf("init: %s: %s\n", name, strerror(errno));
        close(fd);
    }
}

static int run(const char *path)
{
    pid_t pid = fork();
    int status = -1;

    if (pid == 0) {
        execl(path, path, NULL);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    return status;
}

int main(void)
{
    FILE *programs;
    char path[PATH_MAX];
    int n = 0, n_failed = 0;

    mount_all();
    load_modules();
    programs = fopen("/programs", "re");
    while (programs && fgets(path, sizeof(path), programs)) {
        int status;

        path[strcspn(path, "\n")] = '\0';
        printf("init: %s begins\n", path);
        fflush(stdout);
        status = run(path);
        n++;
        n_failed += status != 0;
        printf("init: %s %s (%d)\n", path, status ? "FAILED" : "passed", status);
    }
    printf("init: %d programs, %d failed\n", n, n_failed);
    fflush(stdout);
    sync();
    reboot(RB_POWER_OFF);
    return 0;
}
