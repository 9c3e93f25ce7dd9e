/* fimbria's kernel dialect on CUDA C++, compiled with --fmad=false. */
#define HAS_F64 1
#define HAS_ATOMIC_I64 1

typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
typedef float2 f32x2;
typedef float4 f32x4;
#define F32X2(a, b) make_float2((f32)(a), (f32)(b))

#define KERNEL(name) extern "C" __global__ void name
#define GROUP_KERNEL(name, size) extern "C" __global__ void __launch_bounds__(size) name
#define DEVICE_FN static __device__ __forceinline__
#define CONSTANT_TABLE static __constant__ const
#define GLOBAL
#define LOCAL __shared__
#define LOCAL_PTR
#define RESTRICT __restrict__
#define UNROLL _Pragma("unroll")
#define ROLLED _Pragma("unroll 1")

#define GLOBAL_ID() ((u64)blockIdx.x * blockDim.x + threadIdx.x)
#define GLOBAL_SIZE() ((u64)gridDim.x * blockDim.x)
#define LOCAL_ID() ((u64)threadIdx.x)
#define LOCAL_SIZE() ((u64)blockDim.x)
#define GROUP_ID() ((u64)blockIdx.x)
#define BARRIER() __syncthreads()

#define FMA(a, b, c) __fmaf_rn((f32)(a), (f32)(b), (f32)(c))
#define FABS(x) fabsf((f32)(x))
#define FMIN(x, y) fminf((f32)(x), (f32)(y))
#define FMAX(x, y) fmaxf((f32)(x), (f32)(y))
#define FLOOR(x) floorf((f32)(x))
#define RINT(x) rintf((f32)(x))
#define F32_BITS(x) __float_as_uint((f32)(x))
#define BITS_F32(u) __uint_as_float((u32)(u))
#define F32_OF_I32(i) __int2float_rn((i32)(i))
#define I32_OF_F32(x) __float2int_rz((f32)(x))
#define MULHI_U32(a, b) __umulhi((u32)(a), (u32)(b))

#define ATOMIC_ADD_U32(p, v) atomicAdd((u32 *)(p), (u32)(v))
#define ATOMIC_ADD_I32(p, v) atomicAdd((i32 *)(p), (i32)(v))
/* Two's complement: the unsigned sum is the signed one. */
#define ATOMIC_ADD_I64(p, v) ((i64)atomicAdd((u64 *)(p), (u64)(i64)(v)))
