/* Cards of NVIDIA on which every kernel does nothing: memory is the host's, copies are memcpy, and each
   call is noted with its time. What is left of a command's time under it is the host's share, and with
   faults on request it shows what a program does when a card fails.

   cc -O2 -shared -fPIC -o libcuda.so.1 null_gpu.c, in a folder on LD_LIBRARY_PATH beside that of a
   real NVRTC. Set by variables of the environment:

   NULL_GPU_DEVICES     cards there are (1)
   NULL_GPU_MEMORY      bytes of each (8589934592)
   NULL_GPU_CAPABILITY  compute capability, ten times (90)
   NULL_GPU_LOG         folder for PID.calls, a line a call: seconds since the first, device.stream (0 where
                        the call has none), what, bytes or kernel, seconds that it took, and "locked" where it is a
                        copy from or to memory of the host that is locked for the card, else "-"
   NULL_GPU_KERNEL_MS   milliseconds that a stream is busy with each kernel: what is queued in it after that
                        waits, what is queued in others does not (0)
   NULL_GPU_READS       a file of what another device gave back (FAILING_OPENCL_READS of failing_opencl.c):
                        downloads get it in its order, and what comes in another order is an error. So jobs
                        that go on from what they read, as solvers do, take their usual course
   NULL_GPU_FAULT       WHAT:N, or WHAT:N+ for the N-th and all later, counted over all cards:
                          allocation:N  the N-th allocation finds no memory
                          launch:N      the N-th launch finds no memory
                          address:N     the N-th launch is taken, and its card refuses all later calls
                          lock:N        the N-th request to lock memory of the host is refused
                          open:N        the card of ordinal N - 1 does not open */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef unsigned long long Pointer;

enum {
    INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_DEVICE = 101, INVALID_CONTEXT = 201, NOT_FOUND = 500,
    ILLEGAL_ADDRESS = 700, ALREADY_LOCKED = 712, NOT_LOCKED = 713
};
enum { MOST_DEVICES = 16, MOST_STREAMS = 4096, MOST_LOCKED = 256, NAME = 64, PAGE = 4096 };

/* A context: the address says which card. */
static struct { size_t used; int lost; } cards[MOST_DEVICES];
static _Thread_local int depth, stack[8];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *calls, *reads;
static double start;
static long allocations, launches, streams, locks;
/* Memory of the host that is locked for a card; no bytes where a place is free. */
static struct { const char *start; size_t bytes; int card; } locked[MOST_LOCKED];
/* When the last kernel of a stream ends: the address of a stream is its number. */
static double busy_until[MOST_STREAMS];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static size_t setting(const char *name, size_t usual) {
    const char *text = getenv(name);
    return text ? strtoull(text, 0, 10) : usual;
}
static int n_cards(void) {
    size_t n = setting("NULL_GPU_DEVICES", 1);
    return n < MOST_DEVICES ? (int)n : MOST_DEVICES;
}
static size_t memory(void) { return setting("NULL_GPU_MEMORY", (size_t)8 << 30); }

/* Whether the fault that was asked for is `what`, at `count`. */
static int is_asked_for(const char *what, long count) {
    const char *fault = getenv("NULL_GPU_FAULT");
    size_t length = strlen(what);
    if (!fault || strncmp(fault, what, length) || fault[length] != ':') return 0;
    char *end;
    long at = strtol(fault + length + 1, &end, 10);
    return *end == '+' ? count >= at : count == at;
}

/* The card of the context that the thread made current. */
static int current(void) { return depth > 0 ? stack[depth - 1] : -1; }

static int state(void) {
    if (current() < 0) return INVALID_CONTEXT;
    return cards[current()].lost ? ILLEGAL_ADDRESS : 0;
}

/* Waits for the kernels of a stream. */
static void wait_for(const void *stream) {
    pthread_mutex_lock(&lock);
    double seconds = busy_until[(size_t)stream] - now();
    pthread_mutex_unlock(&lock);
    if (seconds > 0) usleep((useconds_t)(1e6 * seconds));
}

/* Notes a call that began at `began`, and of a copy whether the memory of the host is locked. */
static void note_copy(const void *stream, const char *what, const char *kernel, size_t bytes, double began,
                      int is_locked) {
    pthread_mutex_lock(&lock);
    if (calls) {
        fprintf(calls, "%.6f %d.%zu %s ", began - start, current(), (size_t)stream, what);
        if (kernel) fprintf(calls, "%s", kernel);
        else fprintf(calls, "%zu", bytes);
        fprintf(calls, " %.6f %s\n", now() - began, is_locked ? "locked" : "-");
    }
    pthread_mutex_unlock(&lock);
}

static void note(const void *stream, const char *what, const char *kernel, size_t bytes, double began) {
    note_copy(stream, what, kernel, bytes, began, 0);
}

__attribute__((destructor)) static void close_files(void) {
    if (calls) fclose(calls);
    if (reads) fclose(reads);
    calls = reads = 0;
}

int cuInit(unsigned flags) {
    const char *folder = getenv("NULL_GPU_LOG");
    pthread_mutex_lock(&lock);
    if (folder && !calls) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%d.calls", folder, (int)getpid());
        calls = fopen(path, "w");
        start = now();
    }
    pthread_mutex_unlock(&lock);
    return (int)flags;
}
int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
int cuGetErrorName(int error, const char **name) {
    *name = error == OUT_OF_MEMORY     ? "CUDA_ERROR_OUT_OF_MEMORY"
            : error == ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                       : 0;
    return *name ? 0 : 1;
}
/* NVRTC 13 asks the driver for it. */
int cuGetExportTable(const void **table, const void *id) {
    (void)id;
    *table = 0;
    return NOT_FOUND;
}

int cuDeviceGetCount(int *count) { *count = n_cards(); return 0; }
int cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return ordinal < n_cards() ? 0 : INVALID_DEVICE;
}
int cuDeviceGetName(char *name, int length, int device) {
    (void)device;
    snprintf(name, (size_t)length, "Null GPU");
    return 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    (void)device;
    *bytes = memory();
    return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    int capability = (int)setting("NULL_GPU_CAPABILITY", 90);
    switch (attribute) {
        case 1: *value = 1024; break;  /* threads per block */
        case 8: *value = 49152; break; /* shared memory per block */
        case 16: *value = 132; break;  /* multiprocessors */
        case 33: *value = 3; break;    /* bus */
        case 34: *value = device; break;
        case 50: *value = 1; break;    /* domain */
        case 75: *value = capability / 10; break;
        case 76: *value = capability % 10; break;
        default: return 1;
    }
    return 0;
}

/* Contexts are the ordinal of their card, plus one. */
int cuDevicePrimaryCtxRetain(void **context, int device) {
    if (is_asked_for("open", device + 1)) return OUT_OF_MEMORY;
    *context = (void *)(size_t)(device + 1);
    return 0;
}
/* Notes how many bytes of the host are locked for the card. */
int cuDevicePrimaryCtxRelease_v2(int device) {
    double began = now();
    size_t bytes = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MOST_LOCKED; i++)
        if (locked[i].card == device) bytes += locked[i].bytes;
    pthread_mutex_unlock(&lock);
    note(0, "close", 0, bytes, began);
    return 0;
}
int cuCtxPushCurrent_v2(void *context) {
    size_t card = (size_t)context;
    if (card < 1 || card > MOST_DEVICES || depth == 8) return INVALID_CONTEXT;
    stack[depth++] = (int)card - 1;
    return 0;
}
int cuCtxPopCurrent_v2(void **context) {
    if (depth < 1) return INVALID_CONTEXT;
    *context = (void *)(size_t)(stack[--depth] + 1);
    return 0;
}
int cuStreamCreate(void **stream, unsigned flags) {
    (void)flags;
    pthread_mutex_lock(&lock);
    *stream = (void *)(size_t)(streams + 1 < MOST_STREAMS ? ++streams : streams);
    pthread_mutex_unlock(&lock);
    return state();
}
int cuStreamDestroy_v2(void *stream) { (void)stream; return state(); }
int cuStreamSynchronize(void *stream) {
    double began = now();
    wait_for(stream);
    note(stream, "synchronize", 0, 0, began);
    return state();
}

int cuMemGetInfo_v2(size_t *available, size_t *total) {
    if (current() < 0) return INVALID_CONTEXT;
    *total = memory();
    *available = *total - cards[current()].used;
    return state();
}
int cuMemAlloc_v2(Pointer *to, size_t bytes) {
    double began = now();
    if (state()) return state();
    pthread_mutex_lock(&lock);
    int card = current();
    int refused = is_asked_for("allocation", ++allocations) || bytes > memory() - cards[card].used;
    if (!refused) cards[card].used += bytes;
    pthread_mutex_unlock(&lock);
    /* The card and the size stand before the block, which stays aligned. Pages are the system's to
       give at the first touch, as those of a card are there from the start: zeroed ones cost least. */
    size_t *block = refused ? 0 : calloc(1, bytes + 64);
    if (!block) return OUT_OF_MEMORY;
    block[0] = bytes;
    block[1] = (size_t)card;
    *to = (Pointer)(block + 8);
    note(0, "allocate", 0, bytes, began);
    return 0;
}
int cuMemFree_v2(Pointer memory_) {
    double began = now();
    size_t *block = (size_t *)memory_ - 8, bytes = block[0];
    pthread_mutex_lock(&lock);
    cards[block[1]].used -= bytes;
    pthread_mutex_unlock(&lock);
    free(block);
    note(0, "free", 0, bytes, began);
    return state();
}

/* What another device gave back takes the place of what stands in memory. */
static int again(void *to, size_t bytes) {
    const char *path = getenv("NULL_GPU_READS");
    if (!path) return 0;
    pthread_mutex_lock(&lock);
    if (!reads) reads = fopen(path, "rb");
    unsigned long long count = 0;
    int is_next = reads && fread(&count, sizeof count, 1, reads) == 1 && count == bytes
        && fread(to, 1, bytes, reads) == bytes;
    pthread_mutex_unlock(&lock);
    if (is_next) return 0;
    fprintf(stderr, "null_gpu: %zu bytes are asked for, and the next of %s are %llu\n", bytes, path, count);
    return INVALID_VALUE;
}

/* The place among what is locked for this card of a block that holds all these bytes; -1: none does. */
static int place_of(const char *start, size_t bytes) {
    int found = -1;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MOST_LOCKED; i++) {
        const char *first = locked[i].start, *end = first + locked[i].bytes;
        if (locked[i].bytes && locked[i].card == current() && start >= first && start + bytes <= end) found = i;
    }
    pthread_mutex_unlock(&lock);
    return found;
}
int cuMemHostRegister_v2(void *memory_, size_t bytes, unsigned flags) {
    double began = now();
    const char *start = memory_;
    if (state()) return state();
    if (flags || !bytes || (size_t)memory_ % PAGE || bytes % PAGE) return INVALID_VALUE;
    pthread_mutex_lock(&lock);
    int refused = is_asked_for("lock", ++locks), place = -1;
    for (int i = 0; i < MOST_LOCKED; i++) {
        if (!locked[i].bytes) place = i;
        else if (start < locked[i].start + locked[i].bytes && locked[i].start < start + bytes) refused = 1;
    }
    if (!refused && place >= 0) {
        locked[place].start = start;
        locked[place].bytes = bytes;
        locked[place].card = current();
    }
    pthread_mutex_unlock(&lock);
    if (refused || place < 0) return ALREADY_LOCKED;
    note(0, "lock", 0, bytes, began);
    return 0;
}
int cuMemHostUnregister(void *memory_) {
    double began = now();
    /* A card that is lost keeps what it locked. */
    if (state()) return state();
    int place = place_of(memory_, 1);
    if (place < 0 || locked[place].start != (const char *)memory_) return NOT_LOCKED;
    pthread_mutex_lock(&lock);
    size_t bytes = locked[place].bytes;
    locked[place].bytes = 0;
    pthread_mutex_unlock(&lock);
    note(0, "unlock", 0, bytes, began);
    return 0;
}

/* It has been done when this returns, as of pageable memory on a card. `host` is the end that is the host's; null
   where none is. */
static int copy(const void *stream, const char *what, void *to, const void *from, size_t bytes, const void *host) {
    double began = now();
    if (state()) return state();
    wait_for(stream);
    memcpy(to, from, bytes);
    note_copy(stream, what, 0, bytes, began, host && place_of(host, bytes) >= 0);
    return 0;
}
int cuMemcpyHtoDAsync_v2(Pointer to, const void *from, size_t bytes, void *stream) {
    return copy(stream, "upload", (void *)to, from, bytes, from);
}
int cuMemcpyDtoHAsync_v2(void *to, Pointer from, size_t bytes, void *stream) {
    int status = copy(stream, "download", to, (const void *)from, bytes, to);
    return status ? status : again(to, bytes);
}
int cuMemcpyDtoDAsync_v2(Pointer to, Pointer from, size_t bytes, void *stream) {
    return copy(stream, "copy", (void *)to, (const void *)from, bytes, 0);
}
int cuMemsetD8Async(Pointer to, unsigned char value, size_t bytes, void *stream) {
    double began = now();
    if (state()) return state();
    wait_for(stream);
    memset((void *)to, value, bytes);
    note(stream, "set", 0, bytes, began);
    return 0;
}

/* A module needs no more than to be one. */
int cuModuleLoadData(void **module, const void *image) {
    double began = now();
    *module = (void *)image;
    note(0, "module", 0, 0, began);
    return state();
}
int cuModuleUnload(void *module) { (void)module; return 0; }
/* A function is its name, kept for good, as a real one is as long as its module. */
int cuModuleGetFunction(void **function, void *module, const char *name) {
    (void)module;
    *function = strndup(name, NAME);
    return *function ? state() : OUT_OF_MEMORY;
}
int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                   void *stream, void **parameters, void **extra) {
    (void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y, (void)block_z;
    (void)shared, (void)parameters, (void)extra;
    if (state()) return state();
    pthread_mutex_lock(&lock);
    long count = ++launches;
    double *busy = &busy_until[(size_t)stream], ready = *busy > now() ? *busy : now();
    *busy = ready + 1e-3 * (double)setting("NULL_GPU_KERNEL_MS", 0);
    pthread_mutex_unlock(&lock);
    if (is_asked_for("launch", count)) return OUT_OF_MEMORY;
    note(stream, "launch", function, 0, now());
    /* As on a card, the launch is taken and the fault comes later. */
    if (is_asked_for("address", count)) cards[current()].lost = 1;
    return 0;
}
