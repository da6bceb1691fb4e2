//! The Debian packages that tests and benches use. Main function: [`ensure`].
//!
//! The rule: what is missing is installed when we are root on a Debian, and named otherwise.

use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::run;

/// A program, and the package that brings it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needed {
    /// Looked for in PATH and in `beside`.
    program: &'static str,
    package: &'static str,
    /// Directories outside PATH where Debian puts it; `*` stands for any version.
    beside: &'static str,
}

/// What `cargo xtask test` and `cargo xtask bench` use.
pub(crate) const FOR_TESTS: &[Needed] = &[
    Needed {
        program: "cc",
        package: "gcc",
        beside: "",
    },
    Needed {
        program: "postgres",
        package: "postgresql",
        beside: "/usr/lib/postgresql/*/bin",
    },
    Needed {
        program: "initdb",
        package: "postgresql",
        beside: "/usr/lib/postgresql/*/bin",
    },
    Needed {
        program: "openssl",
        package: "openssl",
        beside: "",
    },
    Needed {
        program: "python3",
        package: "python3",
        beside: "",
    },
    Needed {
        program: "setpriv",
        package: "util-linux",
        beside: "",
    },
    Needed {
        program: "git",
        package: "git",
        beside: "",
    },
];

/// Makes sure that every program is there.
pub(crate) fn ensure(needed: &[Needed]) -> Result<()> {
    let mut packages: Vec<&str> = needed
        .iter()
        .filter(|one| !present(one))
        .map(|one| one.package)
        .collect();
    packages.sort_unstable();
    packages.dedup();
    if packages.is_empty() {
        return Ok(());
    }
    let list = packages.join(" ");
    let has_apt = find_in_path("apt-get");
    if !rustix::process::geteuid().is_root() || !has_apt {
        bail!("the tests need these Debian packages; install them first: {list}");
    }
    println!("installing what the tests need: {list}");
    run::visible(apt().args(["-q", "update"]))?;
    run::visible(
        apt()
            .args(["-qy", "--no-install-recommends", "install"])
            .args(&packages),
    )?;
    match needed.iter().find(|one| !present(one)) {
        Some(missing) => {
            bail!(
                "{} is still missing after installing {}",
                missing.program,
                missing.package
            )
        }
        None => Ok(()),
    }
}

fn apt() -> Command {
    let mut command = Command::new("apt-get");
    command
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null());
    command
}

fn present(needed: &Needed) -> bool {
    find_in_path(needed.program) || found_beside(needed)
}

fn find_in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

fn found_beside(needed: &Needed) -> bool {
    let Some((before, after)) = needed.beside.split_once('*') else {
        return false;
    };
    let Ok(versions) = std::fs::read_dir(before) else {
        return false;
    };
    versions.flatten().any(|version| {
        let directory = version.path().join(after.trim_start_matches('/'));
        directory.join(needed.program).is_file()
    })
}
