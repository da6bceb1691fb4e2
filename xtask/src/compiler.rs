//! The compiler of the workspace's crates: [`Compiler`].
//!
//! Invariant: all steps of the test command use the same one, because Cargo builds every crate anew for another.

use std::process::Command;

/// What compiles the workspace's crates. Dependencies are always compiled by rustc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compiler {
    Rustc,
    /// rustc with Clippy's lints, of which each is an error. `cargo clippy` would compile all crates a second time, and
    /// keep nothing that can be run: 8 minutes of CI.
    Clippy,
}

// === impl Compiler ===

impl Compiler {
    /// The name of the step that builds everything.
    pub(crate) fn step(self) -> &'static str {
        match self {
            Self::Rustc => "build",
            Self::Clippy => "build and clippy",
        }
    }

    /// Lets a cargo command use this compiler.
    pub(crate) fn set(self, cargo: &mut Command) -> &mut Command {
        match self {
            Self::Rustc => cargo,
            // as `cargo clippy -- -D warnings` does
            Self::Clippy => cargo
                .env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver")
                .env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings"),
        }
    }
}
