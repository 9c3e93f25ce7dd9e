/* The OpenCL of this machine, of which devices are lost, or refuse kernels or memory, on request, and every call
   is noted. Kernels do what they do, so that what a program makes of a device that fails in the middle can be held
   to what it makes of one that does not.

   cc -O2 -shared -fPIC -o libOpenCL.so.1 failing_opencl.c -ldl, in a folder on LD_LIBRARY_PATH. Set by
   variables of the environment:

   FAILING_OPENCL_LOST  D:N, or several with commas: the device that was opened as the D-th from 0 refuses
                        its N-th launch, from 1, and all that comes later
   FAILING_OPENCL_REFUSES  launch:NAME or kernel:NAME, or several with commas: no kernel of this name is launched, or
                        made, as by a driver that has not the registers for its groups; build:NAME: no text
                        that holds NAME is compiled
   FAILING_OPENCL_SHORT BYTES:N: from the N-th on there is no memory for buffers of so many bytes
   FAILING_OPENCL_LOG   a file that gets a line a call: the device, what, and bytes or the kernel
   FAILING_OPENCL_READS a file that gets what is read back, in order: the number of bytes in eight bytes of the
                        machine, then the bytes. null_gpu.c gives them again (NULL_GPU_READS) */

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int32_t Int;
typedef uint32_t Uint;
typedef void *Any;

enum {
    DEVICE_NOT_AVAILABLE = -2,
    NO_MEMORY = -4,
    OUT_OF_RESOURCES = -5,
    BUILD_FAILURE = -11,
    INVALID_KERNEL_DEFINITION = -47
};
enum { MOST = 16, MOST_KERNELS = 256, MOST_PROGRAMS = 256, NAME = 64 };

static struct { Any queue; long launches; int lost; } devices[MOST];
static struct { Any kernel; char name[NAME]; } kernels[MOST_KERNELS];
static struct { Any program; char refused[NAME]; } programs[MOST_PROGRAMS];
static int n_devices, n_kernels, n_programs;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *calls, *reads;

static void *real(const char *name) {
    static const char *const places[] = {
        "/usr/lib/x86_64-linux-gnu/libOpenCL.so.1", "/usr/lib/aarch64-linux-gnu/libOpenCL.so.1",
        "/usr/lib64/libOpenCL.so.1", "/usr/lib/libOpenCL.so.1",
    };
    static void *library;
    for (size_t i = 0; !library && i < sizeof places / sizeof *places; i++)
        library = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, name) : 0;
    if (!symbol) {
        fprintf(stderr, "failing_opencl: no OpenCL with %s\n", name);
        abort();
    }
    return symbol;
}

/* The number of a queue's device. */
static int of_queue(Any queue) {
    for (int i = 0; i < n_devices; i++)
        if (devices[i].queue == queue) return i;
    return -1;
}

static void note(Any queue, const char *what, const char *kernel, size_t bytes) {
    pthread_mutex_lock(&lock);
    const char *path = getenv("FAILING_OPENCL_LOG");
    if (path && !calls) calls = fopen(path, "w");
    if (calls) {
        fprintf(calls, "%d %s ", of_queue(queue), what);
        if (kernel) fprintf(calls, "%s\n", kernel);
        else fprintf(calls, "%zu\n", bytes);
    }
    pthread_mutex_unlock(&lock);
}

static void keep(const char *path, const void *data, size_t bytes) {
    pthread_mutex_lock(&lock);
    if (!reads) reads = fopen(path, "wb");
    uint64_t count = bytes;
    if (!reads || fwrite(&count, sizeof count, 1, reads) != 1 || fwrite(data, 1, bytes, reads) != bytes) {
        fprintf(stderr, "failing_opencl: %s cannot be written\n", path);
        abort();
    }
    pthread_mutex_unlock(&lock);
}

__attribute__((destructor)) static void close_files(void) {
    if (calls) fclose(calls);
    if (reads) fclose(reads);
    calls = reads = 0;
}

/* Whether the queue's device is lost; with `launches` one launch later than before. */
static int is_lost(Any queue, int launches) {
    pthread_mutex_lock(&lock);
    int device = of_queue(queue), lost = 0;
    if (device >= 0) {
        devices[device].launches += launches;
        for (const char *at = getenv("FAILING_OPENCL_LOST"); at && *at;) {
            int which = (int)strtol(at, (char **)&at, 10);
            long launch = *at == ':' ? strtol(at + 1, (char **)&at, 10) : 0;
            if (which == device && devices[device].launches >= launch) devices[device].lost = 1;
            if (*at == ',') at++;
        }
        lost = devices[device].lost;
    }
    pthread_mutex_unlock(&lock);
    return lost;
}

/* Whether kernels of this name are refused at `what`. */
static int is_refused(const char *what, const char *name) {
    size_t length = strlen(what), name_length = strlen(name);
    for (const char *at = getenv("FAILING_OPENCL_REFUSES"); at && *at; at += *at == ',') {
        size_t word = strcspn(at, ",");
        if (word == length + 1 + name_length && !strncmp(at, what, length) && at[length] == ':' &&
            !strncmp(at + length + 1, name, name_length))
            return 1;
        at += word;
    }
    return 0;
}

/* Whether a part of a text, of which it is `length`, is NAME of a build:NAME, which is then in `name`. */
static int is_text_refused(const char *text, size_t length, char name[NAME]) {
    for (const char *at = getenv("FAILING_OPENCL_REFUSES"); at && *at; at += *at == ',') {
        size_t word = strcspn(at, ",");
        if (word > 6 && word < NAME && !strncmp(at, "build:", 6)) {
            snprintf(name, NAME, "%.*s", (int)(word - 6), at + 6);
            for (size_t from = 0; from + word - 6 <= length; from++)
                if (!strncmp(text + from, name, word - 6)) return 1;
        }
        at += word;
    }
    return 0;
}

#define PASS(result, name, parameters, arguments)                        \
    result name parameters {                                             \
        static result(*of_real) parameters;                              \
        if (!of_real) *(void **)&of_real = real(#name);                  \
        return of_real arguments;                                        \
    }

PASS(Int, clGetPlatformIDs, (Uint n, Any *ids, Uint *count), (n, ids, count))
PASS(Int, clGetDeviceIDs, (Any platform, uint64_t type, Uint n, Any *ids, Uint *count),
     (platform, type, n, ids, count))
PASS(Int, clGetDeviceInfo, (Any device, Uint what, size_t size, void *value, size_t *needed),
     (device, what, size, value, needed))
PASS(Any, clCreateContext, (const intptr_t *properties, Uint n, const Any *ids, Any heard, void *user, Int *status),
     (properties, n, ids, heard, user, status))
PASS(Int, clRetainContext, (Any context), (context))
PASS(Int, clReleaseContext, (Any context), (context))
PASS(Int, clReleaseCommandQueue, (Any queue), (queue))
PASS(Int, clReleaseMemObject, (Any memory), (memory))
PASS(Int, clGetProgramBuildInfo, (Any program, Any device, Uint what, size_t size, void *value, size_t *needed),
     (program, device, what, size, value, needed))
PASS(Int, clReleaseProgram, (Any program), (program))
PASS(Int, clReleaseKernel, (Any kernel), (kernel))
PASS(Int, clSetKernelArg, (Any kernel, Uint index, size_t size, const void *value), (kernel, index, size, value))

Any clCreateBuffer(Any context, uint64_t flags, size_t bytes, void *host, Int *status) {
    static long of_this_size;
    char *end = 0;
    const char *size = getenv("FAILING_OPENCL_SHORT");
    if (size && strtoull(size, &end, 10) == bytes && *end == ':') {
        pthread_mutex_lock(&lock);
        int is_short = ++of_this_size >= strtol(end + 1, 0, 10);
        pthread_mutex_unlock(&lock);
        if (is_short) {
            *status = NO_MEMORY;
            return 0;
        }
    }
    return ((Any(*)(Any, uint64_t, size_t, void *, Int *))real("clCreateBuffer"))(context, flags, bytes, host, status);
}

Any clCreateCommandQueue(Any context, Any device, uint64_t properties, Int *status) {
    Any (*of_real)(Any, Any, uint64_t, Int *) = (Any(*)(Any, Any, uint64_t, Int *))real("clCreateCommandQueue");
    Any queue = of_real(context, device, properties, status);
    pthread_mutex_lock(&lock);
    if (queue && n_devices < MOST) devices[n_devices++].queue = queue;
    pthread_mutex_unlock(&lock);
    return queue;
}

/* Of one text, whose length is given. */
Any clCreateProgramWithSource(Any context, Uint n, const char **texts, const size_t *lengths, Int *status) {
    Any program = ((Any(*)(Any, Uint, const char **, const size_t *, Int *))real("clCreateProgramWithSource"))(
        context, n, texts, lengths, status);
    char name[NAME] = "";
    int refused = n == 1 && lengths && is_text_refused(texts[0], lengths[0], name);
    pthread_mutex_lock(&lock);
    /* An address may be given to another program later. */
    int at = 0;
    while (at < n_programs && programs[at].program != program) at++;
    if (program && at < MOST_PROGRAMS) {
        programs[at].program = program;
        snprintf(programs[at].refused, NAME, "%s", refused ? name : "");
        if (at == n_programs) n_programs++;
    }
    pthread_mutex_unlock(&lock);
    return program;
}

Int clBuildProgram(Any program, Uint n, const Any *ids, const char *options, Any heard, void *user) {
    const char *name = "";
    pthread_mutex_lock(&lock);
    for (int i = 0; i < n_programs; i++)
        if (programs[i].program == program) name = programs[i].refused;
    pthread_mutex_unlock(&lock);
    if (*name) {
        note(0, "refuse", name, 0);
        return BUILD_FAILURE;
    }
    return ((Int(*)(Any, Uint, const Any *, const char *, Any, void *))real("clBuildProgram"))(
        program, n, ids, options, heard, user);
}

Any clCreateKernel(Any program, const char *name, Int *status) {
    if (is_refused("kernel", name)) {
        note(0, "refuse", name, 0);
        *status = INVALID_KERNEL_DEFINITION;
        return 0;
    }
    Any (*of_real)(Any, const char *, Int *) = (Any(*)(Any, const char *, Int *))real("clCreateKernel");
    Any kernel = of_real(program, name, status);
    pthread_mutex_lock(&lock);
    /* An address may be given to another kernel later. */
    int at = 0;
    while (at < n_kernels && kernels[at].kernel != kernel) at++;
    if (kernel && at < MOST_KERNELS) {
        kernels[at].kernel = kernel;
        snprintf(kernels[at].name, NAME, "%s", name);
        if (at == n_kernels) n_kernels++;
    }
    pthread_mutex_unlock(&lock);
    return kernel;
}

Int clFinish(Any queue) {
    if (is_lost(queue, 0)) return DEVICE_NOT_AVAILABLE;
    note(queue, "finish", 0, 0);
    return ((Int(*)(Any))real("clFinish"))(queue);
}

Int clEnqueueReadBuffer(Any queue, Any memory, Uint waits, size_t offset, size_t bytes, void *to, Uint n,
                        const Any *after, Any *event) {
    if (is_lost(queue, 0)) return DEVICE_NOT_AVAILABLE;
    note(queue, waits ? "read" : "read-later", 0, bytes);
    /* What is kept must have come. */
    const char *kept = getenv("FAILING_OPENCL_READS");
    Int status = ((Int(*)(Any, Any, Uint, size_t, size_t, void *, Uint, const Any *, Any *))real(
        "clEnqueueReadBuffer"))(queue, memory, kept ? 1 : waits, offset, bytes, to, n, after, event);
    if (kept && status == 0) keep(kept, to, bytes);
    return status;
}

Int clEnqueueWriteBuffer(Any queue, Any memory, Uint waits, size_t offset, size_t bytes, const void *from, Uint n,
                         const Any *after, Any *event) {
    if (is_lost(queue, 0)) return DEVICE_NOT_AVAILABLE;
    note(queue, waits ? "write" : "write-later", 0, bytes);
    return ((Int(*)(Any, Any, Uint, size_t, size_t, const void *, Uint, const Any *, Any *))real(
        "clEnqueueWriteBuffer"))(queue, memory, waits, offset, bytes, from, n, after, event);
}

Int clEnqueueCopyBuffer(Any queue, Any from, Any to, size_t from_offset, size_t to_offset, size_t bytes, Uint n,
                        const Any *after, Any *event) {
    if (is_lost(queue, 0)) return DEVICE_NOT_AVAILABLE;
    note(queue, "copy", 0, bytes);
    return ((Int(*)(Any, Any, Any, size_t, size_t, size_t, Uint, const Any *, Any *))real(
        "clEnqueueCopyBuffer"))(queue, from, to, from_offset, to_offset, bytes, n, after, event);
}

Int clEnqueueFillBuffer(Any queue, Any memory, const void *pattern, size_t length, size_t offset, size_t bytes,
                        Uint n, const Any *after, Any *event) {
    if (is_lost(queue, 0)) return DEVICE_NOT_AVAILABLE;
    note(queue, "fill", 0, bytes);
    return ((Int(*)(Any, Any, const void *, size_t, size_t, size_t, Uint, const Any *, Any *))real(
        "clEnqueueFillBuffer"))(queue, memory, pattern, length, offset, bytes, n, after, event);
}

Int clEnqueueNDRangeKernel(Any queue, Any kernel, Uint dimensions, const size_t *offset, const size_t *global,
                           const size_t *local, Uint n, const Any *after, Any *event) {
    if (is_lost(queue, 1)) return DEVICE_NOT_AVAILABLE;
    const char *name = "?";
    pthread_mutex_lock(&lock);
    for (int i = 0; i < n_kernels; i++)
        if (kernels[i].kernel == kernel) name = kernels[i].name;
    pthread_mutex_unlock(&lock);
    if (is_refused("launch", name)) {
        note(queue, "refuse", name, 0);
        return OUT_OF_RESOURCES;
    }
    note(queue, "launch", name, 0);
    return ((Int(*)(Any, Any, Uint, const size_t *, const size_t *, const size_t *, Uint, const Any *, Any *))real(
        "clEnqueueNDRangeKernel"))(queue, kernel, dimensions, offset, global, local, n, after, event);
}
