//! A server and a node on which documents are typed. Main type: [`DocumentedSite`].

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use testkit::booted_machine::{BootedMachine, MachineNetwork};
use testkit::installation::Programs;
use testkit::typed_document::{TypedAction, TypedDocument, TypedStep};

/// Two machines, and a directory as a checkout with built programs has it.
pub(crate) struct DocumentedSite {
    /// The machine of Tutti's server, and what the documents call it.
    pub(crate) server: BootedMachine,
    server_name: &'static str,
    pub(crate) node: BootedMachine,
    source: TempDir,
    _network: MachineNetwork,
}

/// Names that the documents use.
const NAMES: [&str; 3] = [
    "tutti.example.com",
    "web1.example.com",
    "puppet.example.com",
];

/// Variables that a document exports go on to its later blocks, as in a shell that stays open.
const SESSION: &str = "/root/.session";

impl DocumentedSite {
    /// Boots both; `None`: this host cannot, which is printed.
    pub(crate) fn boot() -> Option<Self> {
        Self::boot_as("server")
    }

    /// The same, with another name of the server's machine.
    pub(crate) fn boot_as(server_name: &'static str) -> Option<Self> {
        if let Some(obstacle) = MachineNetwork::obstacle() {
            eprintln!("SKIPPED: no machine can be booted: {obstacle}");
            return None;
        }
        let network = MachineNetwork::new(&NAMES).unwrap();
        let source = checkout();
        let boot = |name| network.boot(name, source.path()).unwrap();
        Some(Self {
            server: boot(server_name),
            server_name,
            node: boot("node"),
            source,
            _network: network,
        })
    }

    /// A server and a connected node as `getting-started.md` leaves them before its last section.
    pub(crate) fn boot_with_a_connected_node() -> Option<Self> {
        let site = Self::boot()?;
        let document = document("getting-started.md");
        let mut steps = document.steps.iter();
        for step in steps
            .by_ref()
            .take_while(|step| !step.heading.starts_with("6."))
        {
            if types(step, "tutti ca list") {
                site.until_on_server("tutti ca list", "requested  web1.example.com");
            }
            if types(step, "tutti node list") {
                site.until_on_server("tutti node list", "1 connected");
            }
            site.type_step(step);
        }
        assert!(
            steps.next().is_some(),
            "the last section is another one now"
        );
        Some(site)
    }

    /// Types one block, all of whose commands must succeed; answers what they printed.
    pub(crate) fn type_step(&self, step: &TypedStep) -> String {
        let machine = match step.machine.as_str() {
            name if name == self.server_name => &self.server,
            "node" => &self.node,
            other => panic!("{}: there is no machine {other}", step.heading),
        };
        match &step.action {
            TypedAction::File { path, content } => {
                machine.write(path, content).unwrap();
                String::new()
            }
            TypedAction::Commands(commands) => {
                let source = self.source.path().display();
                let script = format!(
                    "set -e\ncd {source}\n[ ! -e {SESSION} ] || . {SESSION}\n{commands}\nexport -p > {SESSION}"
                );
                machine.expect(&script).unwrap()
            }
        }
    }

    /// Runs something on the server with what the typed commands exported; answers what it printed, and whether it
    /// succeeded.
    pub(crate) fn try_on_server(&self, command: &str) -> (String, bool) {
        let typed = self.server.run(&format!(". {SESSION}; {command}")).unwrap();
        (typed.text, typed.code == Some(0))
    }

    /// The same again and again, until it succeeds and prints `part`.
    pub(crate) fn until_on_server(&self, command: &str, part: &str) -> String {
        let script = format!(". {SESSION}; {command}");
        self.server.until(&script, part).unwrap()
    }
}

/// True if the block types this.
pub(crate) fn types(step: &TypedStep, command: &str) -> bool {
    matches!(&step.action, TypedAction::Commands(commands) if commands.contains(command))
}

/// Fails if one of these is not typed any more, since nothing would be expected of it.
pub(crate) fn require(document: &TypedDocument, commands: &[&str]) {
    for command in commands {
        assert!(
            document.steps.iter().any(|step| types(step, command)),
            "`{command}` is not typed any more"
        );
    }
}

/// The blocks of a document below `docs`.
pub(crate) fn document(name: &str) -> TypedDocument {
    TypedDocument::read(&repository().join("docs").join(name)).unwrap()
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `packaging` and `target/release`, as the documents find them. The programs are those under test, without their
/// debug information, which would fill the memory that a machine's disk is made of.
fn checkout() -> TempDir {
    let built = std::env::current_exe().unwrap();
    let built = built.parent().and_then(Path::parent).unwrap();
    let programs = Programs::beside(built.join("tutti")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let release = directory.path().join("target/release");
    std::fs::create_dir_all(&release).unwrap();
    for (program, name) in [(&programs.tutti, "tutti"), (&programs.agent, "tutti-agent")] {
        let mut strip = Command::new("strip");
        strip.arg("--strip-debug").arg("-o").arg(release.join(name));
        assert!(strip.arg(program).status().unwrap().success());
    }
    let packaging = repository().join("packaging");
    let mut copy = Command::new("cp");
    copy.arg("-r").arg(packaging).arg(directory.path());
    assert!(copy.status().unwrap().success());
    directory
}
