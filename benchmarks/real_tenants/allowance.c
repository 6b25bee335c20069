/* One allowance of requests for all processes that load this library: preload it with the path of a shared file in
   TIERSIM_ALLOWANCE and the number of a tenant in TIERSIM_TENANT. A read, a write or a flush of a file takes a token and
   waits until the slice of time that its token belongs to begins. Tokens are given in the order of asking, reads and
   writes together; what a slice does not use lapses. allowance.py beside this lays out the file. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

typedef struct { int64_t came_ns, granted_ns, done_ns; uint32_t tenant, kind; } Row;
typedef struct { int64_t last, tokens, slice_ns, room, used, unused[3]; Row rows[]; } Allowance;
enum { READ, WRITE, FLUSH };

static Allowance *shared;
static uint32_t tenant;

__attribute__((constructor)) static void attach(void) {
    const char *path = getenv("TIERSIM_ALLOWANCE"), *number = getenv("TIERSIM_TENANT");
    struct stat found;
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    if (!fstat(file, &found)) {
        void *place = mmap(NULL, found.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (place != MAP_FAILED) shared = place;
    }
    close(file);
    tenant = number ? atoi(number) : 0;
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Take the next token and wait for its slice; the row to note the request in, or NULL where nothing is limited. */
static Row *take(uint32_t kind) {
    int64_t tokens = shared ? __atomic_load_n(&shared->tokens, __ATOMIC_ACQUIRE) : 0;
    if (!tokens) return NULL;
    int64_t came_ns = now_ns(), slice = came_ns / shared->slice_ns, mine;
    int64_t last = __atomic_load_n(&shared->last, __ATOMIC_RELAXED);
    do mine = last + 1 > slice * tokens ? last + 1 : slice * tokens;
    while (!__atomic_compare_exchange_n(&shared->last, &last, mine, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    if (mine / tokens > slice) {
        int64_t due_ns = mine / tokens * shared->slice_ns;
        struct timespec due = {due_ns / 1000000000, due_ns % 1000000000};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR) {}
    }
    int64_t place = __atomic_fetch_add(&shared->used, 1, __ATOMIC_RELAXED);
    if (place >= shared->room) return NULL;
    shared->rows[place] = (Row){came_ns, now_ns(), 0, tenant, kind};
    return &shared->rows[place];
}

#define LIMITED(kind, type, name, parameters, arguments)                                                              \
    type name parameters {                                                                                             \
        static type (*real) parameters;                                                                                \
        if (!real) real = (type (*) parameters)dlsym(RTLD_NEXT, #name);                                                \
        Row *row = take(kind);                                                                                         \
        type result = real arguments;                                                                                  \
        int error = errno;                                                                                             \
        if (row) row->done_ns = now_ns();                                                                              \
        errno = error;                                                                                                 \
        return result;                                                                                                 \
    }

#define READS(name, vector)                                                                                            \
    LIMITED(READ, ssize_t, name, (int file, void *bytes, size_t count, off_t offset), (file, bytes, count, offset))    \
    LIMITED(READ, ssize_t, vector, (int file, const struct iovec *parts, int count, off_t offset),                     \
            (file, parts, count, offset))
#define WRITES(name, vector)                                                                                           \
    LIMITED(WRITE, ssize_t, name, (int file, const void *bytes, size_t count, off_t offset),                           \
            (file, bytes, count, offset))                                                                              \
    LIMITED(WRITE, ssize_t, vector, (int file, const struct iovec *parts, int count, off_t offset),                    \
            (file, parts, count, offset))

READS(pread, preadv)
READS(pread64, preadv64)  /* what programs with large files call: the same where off_t has 64 bits */
WRITES(pwrite, pwritev)
WRITES(pwrite64, pwritev64)
LIMITED(FLUSH, int, fsync, (int file), (file))
LIMITED(FLUSH, int, fdatasync, (int file), (file))
