//! The wrapper as a program of its own, for the tests; equivalent to `tutti-agent run-action <spool
//! entry>`.

fn main() -> std::process::ExitCode {
    actions::wrapper_main(std::env::args_os().skip(1))
}
