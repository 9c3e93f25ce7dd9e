/* fimbria's kernel dialect on OpenCL C 1.2. */
#pragma OPENCL FP_CONTRACT OFF

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define HAS_F64 1
typedef double f64;
#else
#define HAS_F64 0
#endif

#ifdef cl_khr_int64_base_atomics
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#define HAS_ATOMIC_I64 1
#define ATOMIC_ADD_I64(p, v) atom_add((volatile __global long *)(p), (long)(v))
#else
#define HAS_ATOMIC_I64 0
#endif

typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float f32;
typedef float2 f32x2;
typedef float4 f32x4;
#define F32X2(a, b) ((float2)((f32)(a), (f32)(b)))

#define KERNEL(name) __kernel void name
#define GROUP_KERNEL(name, size) \
    __kernel __attribute__((reqd_work_group_size(size, 1, 1))) void name
/* Inlined always: left as a call, a function given local memory twice (two group sums) saw that of
   another thread's group under PoCL 3.1. */
#define DEVICE_FN static inline __attribute__((always_inline))
#define CONSTANT_TABLE __constant
#define GLOBAL __global
#define LOCAL __local
#define LOCAL_PTR __local
#define RESTRICT restrict
#define UNROLL _Pragma("unroll")
#define ROLLED _Pragma("unroll 1")

#define GLOBAL_ID() ((u64)get_global_id(0))
#define GLOBAL_SIZE() ((u64)get_global_size(0))
#define LOCAL_ID() ((u64)get_local_id(0))
#define LOCAL_SIZE() ((u64)get_local_size(0))
#define GROUP_ID() ((u64)get_group_id(0))
/* CUDA's barrier orders device memory too. */
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

#define FMA(a, b, c) fma((f32)(a), (f32)(b), (f32)(c))
#define FABS(x) fabs((f32)(x))
#define FMIN(x, y) fmin((f32)(x), (f32)(y))
#define FMAX(x, y) fmax((f32)(x), (f32)(y))
#define FLOOR(x) floor((f32)(x))
#define RINT(x) rint((f32)(x))
#define F32_BITS(x) as_uint((f32)(x))
#define BITS_F32(u) as_float((u32)(u))
#define F32_OF_I32(i) convert_float_rte((i32)(i))
#define I32_OF_F32(x) convert_int_rtz((f32)(x))
#define MULHI_U32(a, b) mul_hi((u32)(a), (u32)(b))

#define ATOMIC_ADD_U32(p, v) atomic_add((volatile __global u32 *)(p), (u32)(v))
#define ATOMIC_ADD_I32(p, v) atomic_add((volatile __global i32 *)(p), (i32)(v))
