//! The language of kernel texts: what OpenCL C 1.2 and CUDA C++ have in common, and a few macros
//! where they differ.
//!
//! A text is C99 without recursion, variable-length arrays, compound literals or function
//! pointers; `void *` converts only by a cast, and the names of either language (`half`,
//! `dot`, `new` …) are taken. On top of that, and of the constants of
//! its [`KernelSource`](crate::device::KernelSource):
//!
//! | written | is |
//! |---|---|
//! | `KERNEL(name)(parameters) { … }` | a kernel |
//! | `GROUP_KERNEL(name, size)(parameters) { … }` | a kernel that is only run in groups of `size` |
//! | `DEVICE_FN type name(…)` | a function that kernels call |
//! | `CONSTANT_TABLE type name[] = …;` | a table at file scope |
//! | `GLOBAL type *p` | a pointer to device memory (a kernel's parameter) |
//! | `LOCAL type name[size];` | memory shared by a group, declared at a kernel's top level |
//! | `LOCAL_PTR type *p` | a pointer to such memory, as a function's parameter |
//! | `RESTRICT` | C's `restrict` |
//! | `u16 i32 u32 i64 u64 f32 f64` | numbers; `f64` only where `HAS_F64` is 1 |
//! | `f32x2`, `F32X2(a, b)` | two f32 side by side, `.x` and `.y` |
//! | `f32x4` | four f32 side by side, `.x .y .z .w`, read from memory as one |
//! | `GLOBAL_ID() GLOBAL_SIZE() LOCAL_ID() LOCAL_SIZE() GROUP_ID()` | the item's place, one dimension, `u64` |
//! | `BARRIER()` | every item of the group is here, and sees what the others wrote |
//! | `FMA(a, b, c)` | `a * b + c`, rounded once, f32 |
//! | `FABS(x) FMIN(x, y) FMAX(x, y) FLOOR(x) RINT(x)` | exact f32 functions |
//! | `F32_BITS(x) BITS_F32(u)` | the same 32 bits as `u32`, as `f32` |
//! | `F32_OF_I32(i)`, `I32_OF_F32(x)` | conversions, to nearest and toward zero |
//! | `MULHI_U32(a, b)` | high 32 bits of the product |
//! | `ATOMIC_ADD_U32(p, v) ATOMIC_ADD_I32(p, v)` | add to device memory, gives the old value |
//! | `ATOMIC_ADD_I64(p, v)` | the same where `HAS_ATOMIC_I64` is 1 |
//! | `GROUP_SUM_F32(scratch, v)` | the sum of `v` over the group, in every item |
//! | `UNROLL` | before a loop of constant length: unroll it |
//! | `ROLLED` | before a loop of constant length: leave it a loop |
//!
//! In a kernel with barriers every item of a group takes the same path through its loops: count to
//! the same number in all and predicate the body. (PoCL 3.1 gives wrong sums where counts differ,
//! and where a loop with barriers stands under an `if` that all take.)
//!
//! `a * b + c` is rounded twice: contraction is off. `/`, `sqrt` and the library's functions
//! differ by ulps between vendors, so kernels whose results matter use those of
//! `math::KERNEL_TEXT`.
//!
//! Each runtime has a prelude that defines these; nothing else may know which runtime it is.

/// What stands before a text under OpenCL.
pub(crate) const PRELUDE_OPENCL: &str =
    concat!(include_str!("prelude_opencl.cl"), include_str!("primitives.h"));

/// What stands before a text under NVRTC.
pub(crate) const PRELUDE_CUDA: &str =
    concat!(include_str!("prelude_cuda.cu"), include_str!("primitives.h"));
