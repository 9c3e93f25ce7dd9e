/* An NVRTC that compiles nothing: it keeps the text of every kernel as a file. Beside null_gpu.c it tells
   which kernels a command makes of real data, for benches/registers.py.

   cc -O2 -shared -fPIC -o libnvrtc.so kernel_texts.c, in a folder on LD_LIBRARY_PATH before all others.
   Set by a variable of the environment:

   KERNEL_TEXTS  folder for PID-N.cu, in the order in which they were asked for */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void *Program;

/* What null_gpu.c takes for machine code. */
static const char nothing[] = "nothing";
static int made;

int nvrtcVersion(int *major, int *minor) { *major = 12, *minor = 0; return 0; }
int nvrtcGetNumSupportedArchs(int *count) { *count = 1; return 0; }
int nvrtcGetSupportedArchs(int *architectures) { *architectures = 90; return 0; }

int nvrtcCreateProgram(Program *program, const char *text, const char *name, int n_headers,
                       const char *const *headers, const char *const *names) {
    (void)name, (void)n_headers, (void)headers, (void)names;
    const char *folder = getenv("KERNEL_TEXTS");
    char path[4096];
    snprintf(path, sizeof path, "%s/%d-%d.cu", folder ? folder : ".", (int)getpid(),
             __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED));
    FILE *file = fopen(path, "w");
    if (!file) return 1;
    int kept = fputs(text, file) >= 0;
    kept = fclose(file) == 0 && kept;
    *program = (Program)nothing;
    return kept ? 0 : 1;
}
int nvrtcCompileProgram(Program program, int n_options, const char *const *options) {
    (void)program, (void)n_options, (void)options;
    return 0;
}
int nvrtcDestroyProgram(Program *program) { *program = 0; return 0; }

static int size(Program program, size_t *bytes) { (void)program; *bytes = sizeof nothing; return 0; }
static int read_(Program program, char *to) { memcpy(to, program, sizeof nothing); return 0; }
int nvrtcGetProgramLogSize(Program program, size_t *bytes) { return size(program, bytes); }
int nvrtcGetProgramLog(Program program, char *to) { return read_(program, to); }
int nvrtcGetPTXSize(Program program, size_t *bytes) { return size(program, bytes); }
int nvrtcGetPTX(Program program, char *to) { return read_(program, to); }
int nvrtcGetCUBINSize(Program program, size_t *bytes) { return size(program, bytes); }
int nvrtcGetCUBIN(Program program, char *to) { return read_(program, to); }
