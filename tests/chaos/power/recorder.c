/* Writes down what a process does to the files below a directory, in the order in which it happens:
 * writes with their content, truncations, syncs, and changes of names. Preloaded into the process;
 * RECORD_BELOW names the directory, RECORD_TO the file of the records.
 *
 * A record is: kind (1 byte), offset (8), length of the path (4), length of the content (4), path,
 * content. A rename or link has the new path as its content.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void record(char kind, const char *path, uint64_t offset, const void *content, uint32_t size)
{
    const char *below = getenv("RECORD_BELOW"), *to = getenv("RECORD_TO");
    if (!below || !to || strncmp(path, below, strlen(below)))
        return;
    uint32_t length = strlen(path);
    pthread_mutex_lock(&turn);
    int file = REAL(open)(to, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file >= 0) {
        ssize_t (*put)(int, const void *, size_t) = REAL(write);
        if (put(file, &kind, 1) != 1 || put(file, &offset, 8) != 8 || put(file, &length, 4) != 4
            || put(file, &size, 4) != 4 || put(file, path, length) != (ssize_t)length
            || (size && put(file, content, size) != (ssize_t)size))
            abort();
        REAL(close)(file);
    }
    pthread_mutex_unlock(&turn);
}

static int named(int file, char *path)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length <= 0)
        return 0;
    path[length] = 0;
    return 1;
}

static void absolute(const char *given, char *path)
{
    if (given[0] == '/' || !getcwd(path, PATH_MAX))
        snprintf(path, PATH_MAX, "%s", given);
    else
        snprintf(path + strlen(path), PATH_MAX - strlen(path), "/%s", given);
}

static void wrote(int file, const void *content, ssize_t size, uint64_t offset)
{
    char path[PATH_MAX];
    if (size > 0 && named(file, path))
        record('w', path, offset, content, size);
}

ssize_t write(int file, const void *content, size_t size)
{
    off_t before = lseek(file, 0, SEEK_CUR);
    ssize_t done = REAL(write)(file, content, size);
    if (before >= 0)
        wrote(file, content, done, before);
    return done;
}

ssize_t pwrite(int file, const void *content, size_t size, off_t offset)
{
    ssize_t done = REAL(pwrite)(file, content, size, offset);
    wrote(file, content, done, offset);
    return done;
}

ssize_t pwrite64(int file, const void *content, size_t size, off64_t offset)
{
    ssize_t done = REAL(pwrite64)(file, content, size, offset);
    wrote(file, content, done, offset);
    return done;
}

#define CUT(name, type)                                       \
    int name(int file, type size)                             \
    {                                                         \
        char path[PATH_MAX];                                  \
        int done = REAL(name)(file, size);                    \
        if (!done && named(file, path))                       \
            record('t', path, size, 0, 0);                    \
        return done;                                          \
    }
CUT(ftruncate, off_t)
CUT(ftruncate64, off64_t)

#define SYNC(name)                                            \
    int name(int file)                                        \
    {                                                         \
        char path[PATH_MAX];                                  \
        int done = REAL(name)(file);                          \
        if (!done && named(file, path))                       \
            record('s', path, 0, 0, 0);                       \
        return done;                                          \
    }
SYNC(fsync)
SYNC(fdatasync)

#define OPEN(name)                                            \
    int name(const char *given, int flags, ...)               \
    {                                                         \
        char path[PATH_MAX];                                  \
        va_list more;                                         \
        va_start(more, flags);                                \
        mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0; \
        va_end(more);                                         \
        int there = access(given, F_OK) == 0;                 \
        int file = REAL(name)(given, flags, mode);            \
        if (file >= 0 && !there && named(file, path))         \
            record('c', path, 0, 0, 0);                       \
        return file;                                          \
    }
OPEN(open)
OPEN(open64)

int unlink(const char *given)
{
    char path[PATH_MAX];
    absolute(given, path);
    int done = REAL(unlink)(given);
    if (!done)
        record('u', path, 0, 0, 0);
    return done;
}

int link(const char *from, const char *to)
{
    char old[PATH_MAX], new[PATH_MAX];
    absolute(from, old);
    absolute(to, new);
    int done = REAL(link)(from, to);
    if (!done)
        record('l', old, 0, new, strlen(new));
    return done;
}

/* The store renames nothing: a record of it makes the reader of the records look again. */
int rename(const char *from, const char *to)
{
    char old[PATH_MAX], new[PATH_MAX];
    absolute(from, old);
    absolute(to, new);
    int done = REAL(rename)(from, to);
    if (!done)
        record('r', old, 0, new, strlen(new));
    return done;
}

int mkdir(const char *given, mode_t mode)
{
    char path[PATH_MAX];
    absolute(given, path);
    int done = REAL(mkdir)(given, mode);
    if (!done)
        record('d', path, 0, 0, 0);
    return done;
}
