/* Stands between a program and the C library's storage calls: kills it before the n-th, fills the disk, breaks a sync.
 *
 *   cc -shared -fPIC -O1 -o killat.so killat.c -ldl
 *   LD_PRELOAD=./killat.so CHAOS_FOLDER=/data CHAOS_COUNT=count CHAOS_KILL_AT=7 program
 *
 * CHAOS_FOLDER         only files below this folder count
 * CHAOS_COUNT          a file of eight zero bytes; holds the number of storage calls, also after a kill
 * CHAOS_KILL_AT        SIGKILL before this storage call, counted from 1
 * CHAOS_FULL_AT        from this storage call on, every write fails with ENOSPC
 * CHAOS_SYNC_FAILS_AT  the first fsync or fdatasync at or after this storage call fails with EIO after it was done
 *
 * Children inherit the library and share the counter.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

static const char *folder;
static size_t folder_length;
static long kill_at, full_at, sync_fails_at;
static _Atomic long own_count;
static _Atomic long *count = &own_count;
static atomic_flag sync_failed = ATOMIC_FLAG_INIT;

static long number(const char *name) {
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

__attribute__((constructor)) static void read_orders(void) {
    folder = getenv("CHAOS_FOLDER");
    folder_length = folder ? strlen(folder) : 0;
    kill_at = number("CHAOS_KILL_AT");
    full_at = number("CHAOS_FULL_AT");
    sync_fails_at = number("CHAOS_SYNC_FAILS_AT");
    const char *file = getenv("CHAOS_COUNT");
    int fd = file ? open(file, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *page = mmap(NULL, sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page != MAP_FAILED) count = page;
    close(fd);
}

static int below(const char *path) {
    return folder && strncmp(path, folder, folder_length) == 0 && path[folder_length] == '/';
}

static int ours(int fd) {
    char link[64], path[4096];
    if (!folder) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return below(path);
}

/* Counts one storage call and dies before it when its number is up. */
static long counted(void) {
    long n = atomic_fetch_add(count, 1) + 1;
    if (kill_at > 0 && n == kill_at) {
        kill(getpid(), SIGKILL);
        for (;;) pause();
    }
    return n;
}

static int disk_is_full(void) {
    long n = counted();
    if (full_at <= 0 || n < full_at) return 0;
    errno = ENOSPC;
    return 1;
}

/* `n` was counted before the sync, so that a kill at n leaves the bytes written and not synced. */
static int synced(long n, int result) {
    if (sync_fails_at > 0 && n >= sync_fails_at && !atomic_flag_test_and_set(&sync_failed)) {
        errno = EIO;
        return -1;
    }
    return result;
}

#define REAL(name, type, ...)                  \
    static type (*real)(__VA_ARGS__);          \
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name)

ssize_t write(int fd, const void *bytes, size_t size) {
    REAL(write, ssize_t, int, const void *, size_t);
    return ours(fd) && disk_is_full() ? -1 : real(fd, bytes, size);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) {
    REAL(pwrite, ssize_t, int, const void *, size_t, off_t);
    return ours(fd) && disk_is_full() ? -1 : real(fd, bytes, size, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at) {
    REAL(pwrite64, ssize_t, int, const void *, size_t, off64_t);
    return ours(fd) && disk_is_full() ? -1 : real(fd, bytes, size, at);
}

int ftruncate(int fd, off_t length) {
    REAL(ftruncate, int, int, off_t);
    if (ours(fd)) counted();
    return real(fd, length);
}

int ftruncate64(int fd, off64_t length) {
    REAL(ftruncate64, int, int, off64_t);
    if (ours(fd)) counted();
    return real(fd, length);
}

int unlink(const char *path) {
    REAL(unlink, int, const char *);
    if (below(path)) counted();
    return real(path);
}

int fsync(int fd) {
    REAL(fsync, int, int);
    if (!ours(fd)) return real(fd);
    long n = counted();
    return synced(n, real(fd));
}

int fdatasync(int fd) {
    REAL(fdatasync, int, int);
    if (!ours(fd)) return real(fd);
    long n = counted();
    return synced(n, real(fd));
}
