//! Data that must not exhaust stack, memory or time.

use std::fmt::Write as _;

use hiera::Error;
use hiera::defaults::MAX_NESTING;

use crate::world::World;

/// Stack size in bytes of a coroutine; a release build takes a fraction of the stack of this build.
const SMALL_STACK_BYTES: usize = 1024 * 1024;

/// `k0` looks up `k1`, and so on.
fn chain(length: usize, each: impl Fn(usize) -> String) -> World {
    let mut data = String::new();
    for index in 0..length {
        let _ = writeln!(data, "k{index}: \"{}\"", each(index + 1));
    }
    let _ = writeln!(data, "k{length}: end");
    World::of(&[("hiera.yaml", "version: 5\n"), ("data/common.yaml", &data)])
}

#[test]
fn chains_end() {
    let run = || {
        let mut world = chain(MAX_NESTING - 2, |next| format!("%{{lookup('k{next}')}}"));
        assert_eq!(world.text("k0"), "end");
        let mut world = chain(5000, |next| format!("%{{lookup('k{next}')}}"));
        assert!(
            matches!(world.lookup("k0"), Err(error) if matches!(error.kind(), Error::Nesting { .. }))
        );
        let mut world = chain(5000, |next| format!("%{{alias('k{next}')}}"));
        assert!(
            matches!(world.lookup("k0"), Err(error) if matches!(error.kind(), Error::Nesting { .. }))
        );
    };
    let thread = std::thread::Builder::new().stack_size(SMALL_STACK_BYTES);
    thread.spawn(run).unwrap().join().unwrap();
}

#[test]
fn texts_that_double_end() {
    let mut world = chain(36, |next| format!("%{{lookup('k{next}')}}").repeat(2));
    assert!(
        matches!(world.lookup("k0"), Err(error) if matches!(error.kind(), Error::Parts { .. }))
    );
}

#[test]
fn loops_are_named() {
    let mut world = chain(2, |next| format!("%{{lookup('k{}')}}", next % 2));
    assert_eq!(world.fault("k0"), "Recursive lookup detected in [k0, k1]");
}
