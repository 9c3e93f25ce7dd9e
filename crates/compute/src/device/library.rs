//! Shared libraries opened at run time: a machine without them starts and computes all the same.
//!
//! The few C functions used of each are declared here rather than by binding crates, which panic
//! where a library or a symbol is missing, or where a lost device refuses to release an object.

/// Declares a struct of C functions that are found by name in a shared library, which stays open
/// as long as the struct. Those after a `?` are `None` where the library lacks them.
macro_rules! shared_library {
    (
        $(#[$attribute:meta])*
        $name:ident {
            $($function:ident: $symbol:literal, $type:ty;)*
            $(? $maybe:ident: $maybe_symbol:literal, $maybe_type:ty;)*
        }
    ) => {
        $(#[$attribute])*
        pub(crate) struct $name {
            $(pub(crate) $function: $type,)*
            $(pub(crate) $maybe: Option<$maybe_type>,)*
            _library: libloading::Library,
        }

        impl $name {
            /// `None` where there is no such library or it lacks one of the functions that it must have.
            pub(crate) fn open(path: impl AsRef<std::path::Path>) -> Option<Self> {
                // SAFETY: opening a vendor's library runs its initialisers, as every program that
                // uses it does; each symbol is a function of the vendor's header, of the type
                // declared.
                unsafe {
                    let library = libloading::Library::new(path.as_ref()).ok()?;
                    Some(Self {
                        $($function: *library.get(concat!($symbol, "\0").as_bytes()).ok()?,)*
                        $($maybe: library
                            .get(concat!($maybe_symbol, "\0").as_bytes())
                            .ok()
                            .map(|function| *function),)*
                        _library: library,
                    })
                }
            }
        }
    };
}
pub(crate) use shared_library;
