//! The macro that declares the routes of one file: [`group`].
//!
//! Invariant: each route is in its file's `GROUP`, from which the list of all routes is made.

/// The routes of one file: a constant for each, and `GROUP` for all of them. Names are unique
/// among all files.
macro_rules! group {
    ($($name:ident = $route:expr;)*) => {
        $(
            #[doc = concat!("See [`Route::summary`] of `", stringify!($name), "`.")]
            pub const $name: Route = $route;
        )*

        pub(super) const GROUP: &[Route] = &[$($name),*];
    };
}
pub(super) use group;
