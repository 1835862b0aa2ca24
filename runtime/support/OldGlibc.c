// OldGlibc.c - the C library of 2018, glibc 2.28, for a library that is linked with a later one. A
// linker takes the newest version of each function, so what is built on Debian 12 would need glibc
// 2.35, though nothing in it needs more than 2.28. Here are hidden functions of the same names,
// which lead to the older versions, or do without. Those that a library does not call are left out.
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>

#pragma GCC visibility push(hidden)

// ---- functions that have an older version -------------------------------------------------------

/* The jump leaves the return address as it was: dlopen and dlsym look at it. */
#define OLDER(name, version)                                                                                                               \
  __asm__(".pushsection .text." #name ",\"ax\",@progbits\n"                                                                                \
          ".symver older_" #name "," #name "@" version "\n"                                                                                \
          ".globl " #name "\n.hidden " #name "\n.type " #name ",@function\n"                                                               \
          #name ": jmpq *older_" #name "@GOTPCREL(%rip)\n"                                                                                 \
          ".size " #name ",.-" #name "\n.popsection")

OLDER(dladdr, "GLIBC_2.2.5");
OLDER(dlclose, "GLIBC_2.2.5");
OLDER(dlerror, "GLIBC_2.2.5");
OLDER(dlopen, "GLIBC_2.2.5");
OLDER(dlsym, "GLIBC_2.2.5");
OLDER(pthread_attr_getstack, "GLIBC_2.2.5");
OLDER(pthread_attr_setstacksize, "GLIBC_2.2.5");
OLDER(pthread_create, "GLIBC_2.2.5");
OLDER(pthread_detach, "GLIBC_2.2.5");
OLDER(pthread_getaffinity_np, "GLIBC_2.3.4");
OLDER(pthread_getattr_np, "GLIBC_2.2.5");
OLDER(pthread_join, "GLIBC_2.2.5");
OLDER(pthread_mutex_trylock, "GLIBC_2.2.5");
OLDER(pthread_once, "GLIBC_2.2.5");
OLDER(pthread_rwlock_rdlock, "GLIBC_2.2.5");
OLDER(pthread_rwlock_unlock, "GLIBC_2.2.5");
OLDER(pthread_rwlock_wrlock, "GLIBC_2.2.5");
OLDER(pthread_setaffinity_np, "GLIBC_2.3.4");
OLDER(pthread_setname_np, "GLIBC_2.12");
OLDER(pthread_sigmask, "GLIBC_2.2.5");
OLDER(__pthread_key_create, "GLIBC_2.2.5");
OLDER(exp, "GLIBC_2.2.5");
OLDER(exp2, "GLIBC_2.2.5");
OLDER(log, "GLIBC_2.2.5");
OLDER(log2, "GLIBC_2.2.5");
OLDER(pow, "GLIBC_2.2.5");
OLDER(__libc_start_main, "GLIBC_2.2.5");

// ---- functions that were macros -----------------------------------------------------------------

int __xstat(int version, const char *path, struct stat *status) __attribute__((visibility("default")));
int __lxstat(int version, const char *path, struct stat *status) __attribute__((visibility("default")));
int __fxstat(int version, int file, struct stat *status) __attribute__((visibility("default")));
int __fxstatat(int version, int folder, const char *path, struct stat *status, int flags) __attribute__((visibility("default")));
int __xmknod(int version, const char *path, mode_t mode, dev_t *device) __attribute__((visibility("default")));
enum { kStatVersion = 1, kMknodVersion = 0 };

int stat(const char *path, struct stat *status) { return __xstat(kStatVersion, path, status); }
int lstat(const char *path, struct stat *status) { return __lxstat(kStatVersion, path, status); }
int fstat(int file, struct stat *status) { return __fxstat(kStatVersion, file, status); }
int fstatat(int folder, const char *path, struct stat *status, int flags) { return __fxstatat(kStatVersion, folder, path, status, flags); }
int mknod(const char *path, mode_t mode, dev_t device) { return __xmknod(kMknodVersion, path, mode, &device); }
/* The same struct on machines of 64 bits. */
int stat64(const char *path, struct stat64 *status) { return __xstat(kStatVersion, path, (struct stat *)status); }
int lstat64(const char *path, struct stat64 *status) { return __lxstat(kStatVersion, path, (struct stat *)status); }
int fstat64(int file, struct stat64 *status) { return __fxstat(kStatVersion, file, (struct stat *)status); }

// ---- later ones ---------------------------------------------------------------------------------

/* The C++ library asks it whether it may do without atomic operations. */
char __libc_single_threaded = 0;

/* LLVM asks it how much memory it uses, in statistics. */
struct mallinfo2 mallinfo2(void) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  struct mallinfo some = mallinfo();
#pragma GCC diagnostic pop
  struct mallinfo2 all = {(unsigned)some.arena,    (unsigned)some.ordblks,  (unsigned)some.smblks,  (unsigned)some.hblks,
                          (unsigned)some.hblkhd,   (unsigned)some.usmblks,  (unsigned)some.fsmblks, (unsigned)some.uordblks,
                          (unsigned)some.fordblks, (unsigned)some.keepcost};
  return all;
}

/* The C++ library calls this function to wait until a time of the steady clock. Before glibc 2.30
 * there is only a wait until a time of day. */
int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until) {
  int (*later)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *) = dlsym(RTLD_DEFAULT, "pthread_cond_clockwait");
  if (later)
    return later(condition, mutex, clock, until);
  const long kSecond = 1000000000;
  struct timespec now, today;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &today);
  long nanoseconds = today.tv_nsec + until->tv_nsec - now.tv_nsec;
  struct timespec then = {today.tv_sec + until->tv_sec - now.tv_sec, nanoseconds};
  for (; then.tv_nsec < 0; --then.tv_sec)
    then.tv_nsec += kSecond;
  for (; then.tv_nsec >= kSecond; ++then.tv_sec)
    then.tv_nsec -= kSecond;
  return pthread_cond_timedwait(condition, mutex, &then);
}

/* When an exception is thrown, libgcc asks this function which table describes the frames of a
 * function. */
#ifdef DLFO_STRUCT_HAS_EH_DBASE
static int (*find_object)(void *, struct dl_find_object *);
__attribute__((constructor)) static void look_for_it(void) { find_object = dlsym(RTLD_DEFAULT, "_dl_find_object"); }

static int is_it(struct dl_phdr_info *object, size_t size, void *given) {
  struct dl_find_object *found = given;
  const char *frames = NULL, *address = found->dlfo_map_start;
  int holds = 0;
  (void)size;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) *part = &object->dlpi_phdr[i];
    const char *start = (const char *)object->dlpi_addr + part->p_vaddr;
    holds |= part->p_type == PT_LOAD && address >= start && address < start + part->p_memsz;
    if (part->p_type == PT_GNU_EH_FRAME)
      frames = start;
  }
  found->dlfo_eh_frame = (void *)frames;
  return holds;
}
int _dl_find_object(void *address, struct dl_find_object *found) {
  if (find_object)
    return find_object(address, found);
  found->dlfo_map_start = address; // all that libgcc reads is the table
  return dl_iterate_phdr(&is_it, found) && found->dlfo_eh_frame ? 0 : -1;
}
#endif

#pragma GCC visibility pop
