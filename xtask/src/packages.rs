//! The Debian packages that tests and benches use. Main function: [`ensure`].
//!
//! Invariant: missing packages are installed if the user is root on Debian, and otherwise named.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::run;

/// A program, and the package that contains it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needed {
    /// Name of the program, which is searched in PATH and in `beside`.
    program: &'static str,
    package: &'static str,
    /// A directory outside of PATH in which Debian installs it; `*` stands for any version.
    beside: &'static str,
}

/// Packages that `cargo xtask test` and `cargo xtask bench` use.
pub(crate) const FOR_TESTS: &[Needed] = &[
    Needed {
        program: "cc",
        package: "gcc",
        beside: "",
    },
    Needed {
        program: "make",
        package: "make",
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
    Needed {
        program: "svn",
        package: "subversion",
        beside: "",
    },
    Needed {
        program: "zsh",
        package: "zsh",
        beside: "",
    },
    Needed {
        program: "fish",
        package: "fish",
        beside: "",
    },
    Needed {
        program: "strace",
        package: "strace",
        beside: "",
    },
];

/// Ruby and Puppet 7.23, with which `tests/oracles` compares; [`puppet8`](crate::puppet8) installs
/// Puppet 8.
pub(crate) const FOR_ORACLES: &[Needed] = &[
    Needed {
        program: "puppet",
        package: "puppet-agent",
        beside: "",
    },
    Needed {
        program: "eyaml",
        package: "hiera-eyaml",
        beside: "",
    },
    Needed {
        program: "ruby",
        package: "ruby",
        beside: "",
    },
    Needed {
        program: "r10k",
        package: "r10k",
        beside: "",
    },
    Needed {
        program: "g10k",
        package: "g10k",
        beside: "",
    },
];

/// Packages that `cargo xtask test --full` uses as well: the real peers.
pub(crate) const FOR_FULL_TESTS: &[Needed] = &[
    // Facter asks this program for its version, or else loads all lenses of Augeas: 0.8 s of CPU in each run of Puppet,
    // which is a quarter of it.
    Needed {
        program: "augparse",
        package: "augeas-tools",
        beside: "",
    },
    Needed {
        program: "puppetserver",
        package: "puppetserver",
        beside: "",
    },
    Needed {
        program: "puppetdb",
        package: "puppetdb",
        beside: "/usr/sbin",
    },
    Needed {
        program: "puppetdb.rb",
        package: "puppet-terminus-puppetdb",
        beside: "/usr/lib/ruby/vendor_ruby/*/indirector/facts",
    },
    Needed {
        program: "slapd",
        package: "slapd",
        beside: "/usr/sbin",
    },
    Needed {
        program: "ldapadd",
        package: "ldap-utils",
        beside: "",
    },
    Needed {
        program: "sshd",
        package: "openssh-server",
        beside: "/usr/sbin",
    },
    // The machines of the installation tests.
    Needed {
        program: "systemd",
        package: "systemd",
        beside: "/lib/systemd",
    },
    Needed {
        program: "dbus-daemon",
        package: "dbus",
        beside: "",
    },
    Needed {
        program: "ip",
        package: "iproute2",
        beside: "/usr/sbin",
    },
    Needed {
        program: "nsenter",
        package: "util-linux",
        beside: "",
    },
    Needed {
        program: "strip",
        package: "binutils",
        beside: "",
    },
    Needed {
        program: "curl",
        package: "curl",
        beside: "",
    },
    Needed {
        program: "sqlite3",
        package: "sqlite3",
        beside: "",
    },
];

/// Packages of the deployment tools with which deployments are compared in measurements.
pub(crate) const DEPLOYERS: &[Needed] = &[
    Needed {
        program: "r10k",
        package: "r10k",
        beside: "",
    },
    Needed {
        program: "g10k",
        package: "g10k",
        beside: "",
    },
];

/// The directory in which Debian's packages put modules.
pub(crate) const MODULES_DIRECTORY: &str = "/usr/share/puppet/modules.available";

/// A Debian package of a module, over whose manifests the parser is compared.
macro_rules! module {
    ($name:literal) => {
        Needed {
            program: "metadata.json",
            package: concat!("puppet-module-", $name),
            beside: concat!("/usr/share/puppet/modules.available/", $name),
        }
    };
}

/// Modules that the comparison with Puppet's parser reads, without their dependencies.
pub(crate) const MODULES: &[Needed] = &[
    module!("puppetlabs-stdlib"),
    module!("puppetlabs-concat"),
    module!("puppetlabs-apache"),
    module!("puppetlabs-mysql"),
    module!("puppetlabs-postgresql"),
    module!("puppetlabs-apt"),
    module!("puppetlabs-ntp"),
    module!("puppetlabs-firewall"),
    module!("puppetlabs-haproxy"),
    module!("puppetlabs-rsync"),
    module!("puppetlabs-xinetd"),
    module!("puppetlabs-vcsrepo"),
    module!("puppetlabs-rabbitmq"),
    module!("puppetlabs-tftp"),
    module!("puppetlabs-inifile"),
    module!("nova"),
    module!("neutron"),
    module!("keystone"),
    module!("glance"),
    module!("cinder"),
    module!("swift"),
    module!("openstacklib"),
    module!("horizon"),
    module!("heat"),
    module!("oslo"),
];

/// Ensures that every program is installed.
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
    let _quiet = NoServices::begin()?;
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
        return Path::new(needed.beside).join(needed.program).is_file();
    };
    let Ok(versions) = std::fs::read_dir(before) else {
        return false;
    };
    versions.flatten().any(|version| {
        let directory = version.path().join(after.trim_start_matches('/'));
        directory.join(needed.program).is_file()
    })
}

/// Prevents packages from starting their services while it exists: the tests start their own.
struct NoServices {
    /// The policy file, to be removed again; `None` if the machine already has such a policy.
    policy: Option<&'static Path>,
}

impl NoServices {
    fn begin() -> Result<Self> {
        let path = Path::new("/usr/sbin/policy-rc.d");
        if path.exists() {
            return Ok(Self { policy: None });
        }
        std::fs::write(path, "#!/bin/sh\nexit 101\n")
            .with_context(|| format!("cannot write {}", path.display()))?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?;
        Ok(Self { policy: Some(path) })
    }
}

impl Drop for NoServices {
    fn drop(&mut self) {
        if let Some(path) = self.policy {
            // The process ends here; a policy that remains does not affect tests.
            let _ = std::fs::remove_file(path);
        }
    }
}
