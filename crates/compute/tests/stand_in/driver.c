/* A stand-in for NVIDIA's driver: one card whose memory is the host's, and on which every kernel
   is y += alpha x. It checks what it is given and lets the host half of the CUDA path be tested
   on machines without a card. */

#include <stdlib.h>
#include <string.h>

typedef unsigned long long Pointer;

enum { OUT_OF_MEMORY = 2, INVALID_CONTEXT = 201, INVALID_HANDLE = 400, ILLEGAL_ADDRESS = 700 };
enum { DEVICE = 40, MEMORY = 500000 };
static void *const CONTEXT = (void *)0x10;
static void *const STREAM = (void *)0x20;
static void *const MODULE = (void *)0x30;
static void *const AXPY = (void *)0x40;

/* How often the thread has pushed the context without popping it. One call may be made of two;
   deeper, a context was left behind. */
static _Thread_local int depth;
static size_t used;
static int broken;
/* True while a kernel may be running. */
static int busy;

static int check(void *stream) {
    if (depth < 1 || depth > 2) return INVALID_CONTEXT;
    if (stream != STREAM) return INVALID_HANDLE;
    return broken ? ILLEGAL_ADDRESS : 0;
}

int cuInit(unsigned flags) { return (int)flags; }
int cuDriverGetVersion(int *version) {
    const char *stated = getenv("STAND_IN_CUDA_VERSION");
    *version = stated ? atoi(stated) : 99040;
    return 0;
}
int cuGetErrorName(int error, const char **name) {
    *name = error == ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : 0;
    return *name ? 0 : 1;
}
int cuDeviceGetCount(int *count) { *count = 1; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = DEVICE + ordinal; return 0; }
int cuDeviceGetName(char *name, int length, int device) {
    strncpy(name, "Stand-in", (size_t)length);
    return device != DEVICE;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = 1 << 20; return device != DEVICE; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    switch (attribute) {
        case 1: *value = 1024; break;   /* threads per block */
        case 8: *value = 49152; break;  /* shared memory per block */
        case 16: *value = 132; break;   /* multiprocessors */
        case 33: *value = 3; break;     /* bus */
        case 34: *value = 0; break;     /* device on the bus */
        case 50: *value = 1; break;     /* domain */
        case 75: *value = 9; break;     /* compute capability */
        case 76: *value = 0; break;
        default: return 1;
    }
    return device != DEVICE;
}
int cuDevicePrimaryCtxRetain(void **context, int device) {
    *context = CONTEXT;
    if (getenv("STAND_IN_DOES_NOT_OPEN")) return OUT_OF_MEMORY;
    return device != DEVICE;
}
int cuDevicePrimaryCtxRelease_v2(int device) { return device != DEVICE; }
int cuCtxPushCurrent_v2(void *context) {
    depth++;
    return context == CONTEXT ? 0 : INVALID_CONTEXT;
}
int cuCtxPopCurrent_v2(void **context) {
    *context = CONTEXT;
    return depth-- > 0 ? 0 : INVALID_CONTEXT;
}
int cuStreamCreate(void **stream, unsigned flags) { *stream = STREAM; return flags != 1; }
int cuStreamDestroy_v2(void *stream) { return check(stream); }
int cuStreamSynchronize(void *stream) {
    busy = 0;
    return check(stream);
}
int cuMemGetInfo_v2(size_t *free, size_t *total) {
    *free = 900000;
    *total = 1 << 20;
    return check(STREAM);
}
int cuMemAlloc_v2(Pointer *memory, size_t bytes) {
    if (used + bytes > MEMORY) return OUT_OF_MEMORY;
    used += bytes;
    size_t *block = malloc(sizeof(size_t) + bytes);
    *block = bytes;
    *memory = (Pointer)(block + 1);
    return check(STREAM);
}
int cuMemFree_v2(Pointer memory) {
    size_t *block = (size_t *)memory - 1;
    used -= *block;
    if (busy) broken = 1;
    free(block);
    return check(STREAM);
}
int cuMemcpyHtoDAsync_v2(Pointer to, const void *from, size_t bytes, void *stream) {
    memcpy((void *)to, from, bytes);
    return check(stream);
}
int cuMemcpyDtoHAsync_v2(void *to, Pointer from, size_t bytes, void *stream) {
    memcpy(to, (void *)from, bytes);
    return check(stream);
}
int cuMemcpyDtoDAsync_v2(Pointer to, Pointer from, size_t bytes, void *stream) {
    memcpy((void *)to, (void *)from, bytes);
    return check(stream);
}
int cuMemsetD8Async(Pointer memory, unsigned char value, size_t bytes, void *stream) {
    memset((void *)memory, value, bytes);
    return check(stream);
}
int cuModuleLoadData(void **module, const void *image) {
    *module = MODULE;
    return memcmp(image, "\177ELF", 4) ? 200 : check(STREAM);
}
int cuModuleUnload(void *module) { return module != MODULE; }
int cuModuleGetFunction(void **function, void *module, const char *name) {
    *function = strcmp(name, "faulty") ? AXPY : 0;
    return module == MODULE ? check(STREAM) : INVALID_HANDLE;
}
int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                   void *stream, void **parameters, void **extra) {
    if (grid_y != 1 || grid_z != 1 || block_y != 1 || block_z != 1 || shared || extra) return 1;
    busy = 1;
    if (function != AXPY) {
        broken = 1; /* as on a card, the launch is accepted and the fault comes later */
        return 0;
    }
    Pointer n = *(Pointer *)parameters[0];
    float alpha = *(float *)parameters[1];
    const float *x = *(const float **)parameters[2];
    float *y = *(float **)parameters[3];
    for (Pointer i = 0; i < n && i < (Pointer)grid_x * block_x; i++) y[i] += alpha * x[i];
    return check(stream);
}
