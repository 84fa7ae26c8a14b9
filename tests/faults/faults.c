/*
 * Fault injection by LD_PRELOAD: counts the mutating system calls of a whole process tree on
 * regular files and directories below one place, and lets the Nth one fail.
 *
 *   FAULTS_STATE  a file of zeros, mapped by every process: the counter and the events so far
 *   FAULTS_UNDER  only this absolute path and the paths below it count
 *   FAULTS_EXCEPT paths that begin with this do not count, but fail as well once the fault lasts
 *   FAULTS_AT     the number of the call that fails, from 1; 0 only counts
 *   FAULTS_KIND   ENOSPC, EDQUOT (calls that need space), EIO, EROFS (all calls), EXDEV (renames of
 *                 directories), KILL (this process), TREE (the whole tree), INT, TERM (a signal
 *                 to the process group)
 *   FAULTS_ON     "on": every later call fails as well; a write is cut short before it fails
 *   FAULTS_LOG    a file that gets one line for each counted call
 *
 * After TREE no process of the tree changes anything: each dies at its next mutating call.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utime.h>

enum { SPACE = 1, META = 2, MOVE_DIRECTORY = 4 };
enum { FAIL, KILL, TREE, SIGNAL };

struct shared {
    long count;
    int hit;
    int dead;
};

static struct shared *shared;
static char under[PATH_MAX], except[PATH_MAX];
static size_t under_size;
static long at;
static int action, code, mask, lasting, log_fd = -1;

static void prepare(void) __attribute__((constructor));

static void choose(const char *kind)
{
    mask = SPACE | META | MOVE_DIRECTORY;
    if (!strcmp(kind, "ENOSPC")) code = ENOSPC, mask = SPACE;
    else if (!strcmp(kind, "EDQUOT")) code = EDQUOT, mask = SPACE;
    else if (!strcmp(kind, "EIO")) code = EIO;
    else if (!strcmp(kind, "EROFS")) code = EROFS;
    else if (!strcmp(kind, "EXDEV")) code = EXDEV, mask = MOVE_DIRECTORY;
    else if (!strcmp(kind, "KILL")) action = KILL;
    else if (!strcmp(kind, "TREE")) action = TREE;
    else if (!strcmp(kind, "INT")) action = SIGNAL, code = SIGINT;
    else if (!strcmp(kind, "TERM")) action = SIGNAL, code = SIGTERM;
}

static void prepare(void)
{
    const char *state = getenv("FAULTS_STATE"), *place = getenv("FAULTS_UNDER");
    const char *number = getenv("FAULTS_AT"), *kind = getenv("FAULTS_KIND");
    const char *on = getenv("FAULTS_ON"), *trace = getenv("FAULTS_LOG");
    const char *excepted = getenv("FAULTS_EXCEPT");
    if (shared || !state || !place) return;
    int fd = syscall(SYS_openat, AT_FDCWD, state, O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    void *mapped = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (mapped == MAP_FAILED) return;
    snprintf(under, sizeof under, "%s", place);
    under_size = strlen(under);
    snprintf(except, sizeof except, "%s", excepted ? excepted : "");
    at = number ? atol(number) : 0;
    lasting = on && !strcmp(on, "on");
    choose(kind ? kind : "");
    if (trace) {
        fd = syscall(SYS_openat, AT_FDCWD, trace, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        log_fd = syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 900); /* beyond fds that programs close */
        syscall(SYS_close, fd);
    }
    shared = mapped;
}

static void die(void)
{
    syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    for (;;) pause();
}

/* Write the absolute path of `path` relative to `dir` (-2: `dir` is the file itself). */
static int locate(int dir, const char *path, char *found)
{
    char link[64];
    ssize_t size = 0;
    if (path && path[0] == '/') {
        snprintf(found, PATH_MAX, "%s", path);
    } else {
        if (dir == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
        else snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
        size = syscall(SYS_readlinkat, AT_FDCWD, link, found, PATH_MAX - 1);
        if (size < 0) return 0;
        found[size] = 0;
        if (path) snprintf(found + size, PATH_MAX - size, "/%s", path);
    }
    return !strncmp(found, under, under_size) && (found[under_size] == '/' || !found[under_size]);
}

/* Count a call; return 0 if it may proceed, an errno if it has to fail, -1 for a short write. */
static int meet(int class, const char *name, int dir, const char *path)
{
    char where[PATH_MAX];
    int saved = errno;
    if (!shared || !(class & mask) || !locate(dir, path, where)) {
        errno = saved;
        return 0;
    }
    errno = saved;
    if (shared->dead) die();
    int excepted = except[0] && !strncmp(where, except, strlen(except));
    if (excepted && !(lasting && shared->hit)) return 0;
    long number = __atomic_add_fetch(&shared->count, 1, __ATOMIC_SEQ_CST);
    int hit = at && (number == at || (lasting && number > at));
    if (log_fd >= 0) {
        char line[PATH_MAX + 64];
        int size = snprintf(line, sizeof line, "%ld%s %ld %s %s\n", number, hit ? "!" : "",
                            syscall(SYS_getpid), name, where);
        syscall(SYS_write, log_fd, line, size);
        errno = saved;
    }
    if (!hit) return 0;
    shared->hit = 1;
    if (action == SIGNAL) {
        if (number == at) kill(0, code);
        return 0;
    }
    if (class == SPACE && !strcmp(name, "write") && number == at && (lasting || action == TREE))
        return -1;
    if (action == TREE) shared->dead = 1;
    if (action != FAIL) die();
    return code;
}

static void after_short(void)
{
    if (action == TREE) shared->dead = 1;
    if (action != FAIL) die();
}

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define MEET(class, name, dir, path) \
    do { \
        int met = meet(class, name, dir, path); \
        if (met > 0) { errno = met; return -1; } \
    } while (0)
#define MUTATES(flags) (((flags) & O_CREAT) || ((flags) & O_TRUNC))

static int has_mode(int flags) { return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE; }

#define OPEN(name) \
    int name(const char *path, int flags, ...) \
    { \
        REAL(name); \
        mode_t mode = 0; \
        if (has_mode(flags)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, int); va_end(rest); } \
        if (MUTATES(flags)) MEET(SPACE, "open", AT_FDCWD, path); \
        return real(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name) \
    int name(int dir, const char *path, int flags, ...) \
    { \
        REAL(name); \
        mode_t mode = 0; \
        if (has_mode(flags)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, int); va_end(rest); } \
        if (MUTATES(flags)) MEET(SPACE, "open", dir, path); \
        return real(dir, path, flags, mode); \
    }
OPENAT(openat)
OPENAT(openat64)

int creat(const char *path, mode_t mode)
{
    return open(path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

int creat64(const char *path, mode_t mode)
{
    return open64(path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

static int regular(int fd)
{
    struct stat seen;
    int saved = errno;
    int is = shared && !fstat(fd, &seen) && S_ISREG(seen.st_mode);
    errno = saved;
    return is;
}

#define WRITE(call, name) \
    if (regular(fd)) { \
        int met = meet(SPACE, "write", fd, NULL); \
        if (met > 0) { errno = met; return -1; } \
        if (met < 0) { \
            size = size > 1 ? size / 2 : size; \
            ssize_t done = call; \
            after_short(); \
            return done; \
        } \
    } \
    return call

ssize_t write(int fd, const void *data, size_t size)
{
    REAL(write);
    WRITE(real(fd, data, size), "write");
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    REAL(pwrite);
    WRITE(real(fd, data, size, offset), "pwrite");
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset)
{
    REAL(pwrite64);
    WRITE(real(fd, data, size, offset), "pwrite64");
}

ssize_t writev(int fd, const struct iovec *parts, int size)
{
    REAL(writev);
    WRITE(real(fd, parts, size), "writev");
}

ssize_t copy_file_range(int in, off64_t *from, int fd, off64_t *to, size_t size, unsigned flags)
{
    REAL(copy_file_range);
    WRITE(real(in, from, fd, to, size, flags), "copy_file_range");
}

ssize_t sendfile64(int fd, int in, off64_t *offset, size_t size);
ssize_t sendfile64(int fd, int in, off64_t *offset, size_t size)
{
    REAL(sendfile64);
    WRITE(real(fd, in, offset, size), "sendfile64");
}

#define ON_FD(class, name, label, parameters, arguments) \
    int name parameters \
    { \
        REAL(name); \
        MEET(class, label, fd, NULL); \
        return real arguments; \
    }
ON_FD(META, ftruncate, "ftruncate", (int fd, off_t size), (fd, size))
ON_FD(META, ftruncate64, "ftruncate", (int fd, off64_t size), (fd, size))
ON_FD(SPACE, fsync, "fsync", (int fd), (fd))
ON_FD(SPACE, fdatasync, "fdatasync", (int fd), (fd))
ON_FD(META, fchmod, "fchmod", (int fd, mode_t mode), (fd, mode))
ON_FD(META, futimens, "futimens", (int fd, const struct timespec times[2]), (fd, times))

#define ON_PATH(class, name, label, dir, where, parameters, arguments) \
    int name parameters \
    { \
        REAL(name); \
        MEET(class, label, dir, where); \
        return real arguments; \
    }
ON_PATH(SPACE, mkdir, "mkdir", AT_FDCWD, path, (const char *path, mode_t mode), (path, mode))
ON_PATH(SPACE, mkdirat, "mkdir", dir, path, (int dir, const char *path, mode_t mode),
        (dir, path, mode))
ON_PATH(META, rmdir, "rmdir", AT_FDCWD, path, (const char *path), (path))
ON_PATH(META, unlink, "unlink", AT_FDCWD, path, (const char *path), (path))
ON_PATH(META, unlinkat, "unlink", dir, path, (int dir, const char *path, int flags),
        (dir, path, flags))
ON_PATH(META, remove, "unlink", AT_FDCWD, path, (const char *path), (path))
ON_PATH(SPACE, link, "link", AT_FDCWD, to, (const char *from, const char *to), (from, to))
ON_PATH(SPACE, linkat, "link", dir, to,
        (int old, const char *from, int dir, const char *to, int flags),
        (old, from, dir, to, flags))
ON_PATH(SPACE, symlink, "symlink", AT_FDCWD, to, (const char *from, const char *to), (from, to))
ON_PATH(SPACE, symlinkat, "symlink", dir, to, (const char *from, int dir, const char *to),
        (from, dir, to))
ON_PATH(META, chmod, "chmod", AT_FDCWD, path, (const char *path, mode_t mode), (path, mode))
ON_PATH(META, fchmodat, "chmod", dir, path, (int dir, const char *path, mode_t mode, int flags),
        (dir, path, mode, flags))
ON_PATH(META, truncate, "truncate", AT_FDCWD, path, (const char *path, off_t size), (path, size))
ON_PATH(META, utimensat, "utime", dir, path,
        (int dir, const char *path, const struct timespec times[2], int flags),
        (dir, path, times, flags))
ON_PATH(META, utime, "utime", AT_FDCWD, path, (const char *path, const struct utimbuf *times),
        (path, times))
ON_PATH(META, utimes, "utime", AT_FDCWD, path, (const char *path, const struct timeval times[2]),
        (path, times))

static int class_of_move(int dir, const char *path)
{
    struct stat seen;
    int saved = errno;
    int is = shared && !fstatat(dir, path, &seen, AT_SYMLINK_NOFOLLOW) && S_ISDIR(seen.st_mode);
    errno = saved;
    return is ? META | MOVE_DIRECTORY : META;
}

ON_PATH(class_of_move(AT_FDCWD, from), rename, "rename", AT_FDCWD, from,
        (const char *from, const char *to), (from, to))
ON_PATH(class_of_move(dir, from), renameat, "rename", dir, from,
        (int dir, const char *from, int new, const char *to), (dir, from, new, to))
ON_PATH(class_of_move(dir, from), renameat2, "rename", dir, from,
        (int dir, const char *from, int new, const char *to, unsigned flags),
        (dir, from, new, to, flags))

#define FOPEN(name) \
    FILE *name(const char *path, const char *mode) \
    { \
        REAL(name); \
        if (mode[0] != 'r') { \
            int met = meet(SPACE, "open", AT_FDCWD, path); \
            if (met > 0) { errno = met; return NULL; } \
        } \
        return real(path, mode); \
    }
FOPEN(fopen)
FOPEN(fopen64)
