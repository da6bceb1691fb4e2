//! Modules of a Forge, as r10k deploys them.

use std::fmt::Write as _;
use std::path::Path;

use tar::EntryType;
use testkit::forge_server::{ForgeServer, Tar, md5, sha256};

use super::r10k::{commit, compare_with, deploy, run};

/// Debian's modules.
const MODULES: &str = "/usr/share/puppet/modules.available";

/// How programs pack.
const FORMATS: &[&str] = &["gnu", "ustar", "pax", "oldgnu"];

/// A module of Debian's, to be packed as often as one likes.
struct Module {
    slug: String,
    directory: std::path::PathBuf,
    format: &'static str,
}

// === impl Module ===

impl Module {
    /// Packs it as this version.
    fn pack(&self, root: &Path, version: &str) -> Vec<u8> {
        let path = self.directory.join("metadata.json");
        let text = std::fs::read_to_string(&path).unwrap();
        let mut metadata: serde_json::Value = serde_json::from_str(&text).unwrap();
        metadata["version"] = version.into();
        std::fs::write(&path, metadata.to_string()).unwrap();
        let name = self.directory.file_name().unwrap().to_str().unwrap();
        let archive = root.join("packed.tar.gz");
        let (format, into) = (
            format!("--format={}", self.format),
            format!("--transform=s,^{name},{}-{version},", self.slug),
        );
        let archive_name = archive.display().to_string();
        let arguments = ["-czf", &archive_name, &format, &into, name];
        run(self.directory.parent().unwrap(), "tar", &arguments);
        std::fs::read(archive).unwrap()
    }
}

/// Copies of Debian's modules, with what programs pack in different ways.
fn modules(root: &Path) -> Vec<Module> {
    let mut names: Vec<String> = std::fs::read_dir(MODULES)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let formats = FORMATS.iter().cycle();
    let each = names.into_iter().step_by(3).zip(formats);
    let each = each.map(|(name, format)| {
        let directory = root.join("modules").join(&name);
        std::fs::create_dir_all(&directory).unwrap();
        let from = format!("{MODULES}/{name}/.");
        let into = directory.display().to_string();
        run(root, "cp", &["-rL", &from, &into]);
        // Too long for the name of a plain header; r10k would cut it where pax says it.
        if *format != "pax" {
            let deep = directory.join("files").join("d".repeat(90)).join("e");
            std::fs::create_dir_all(&deep).unwrap();
            std::fs::write(deep.join("f".repeat(90)), "deep").unwrap();
        }
        let script = directory.join("files/run it.sh");
        std::fs::create_dir_all(script.parent().unwrap()).unwrap();
        std::fs::write(&script, "#!/bin/sh\n").unwrap();
        run(&directory, "chmod", &["0750", "files/run it.sh"]);
        std::fs::write(directory.join("files/größe"), "2").unwrap();
        std::os::unix::fs::symlink("run it.sh", directory.join("files/link")).unwrap();
        std::fs::create_dir_all(directory.join("spec/classes")).unwrap();
        std::fs::write(directory.join("spec/classes/x_spec.rb"), "x").unwrap();
        let text = std::fs::read_to_string(directory.join("metadata.json")).unwrap();
        let metadata: serde_json::Value = serde_json::from_str(&text).unwrap();
        Module {
            slug: metadata["name"].as_str().unwrap().replace('/', "-"),
            directory,
            format,
        }
    });
    each.collect()
}

/// The control repository, with this Puppetfile.
fn control(root: &Path, puppetfile: &str) -> String {
    let control = root.join("control");
    std::fs::create_dir_all(&control).unwrap();
    std::fs::write(control.join("Puppetfile"), puppetfile).unwrap();
    commit(&control, "production");
    format!("remote: {}", control.display())
}

fn settings(forge: &ForgeServer) -> String {
    let address = &forge.address;
    format!("proxy: ''\nforge:\n  baseurl: {address}\n  proxy: ''\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn releases_are_file_for_file_those_of_r10k() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let forge = ForgeServer::start().await;
    let modules = modules(root);
    assert!(modules.len() > 8, "only {} modules", modules.len());
    let mut puppetfile = String::new();
    for (index, module) in modules.iter().enumerate() {
        let slug = &module.slug;
        for version in ["1.0.0", "1.1.0-rc1"] {
            let archive = module.pack(root, version);
            // Old releases have nothing else.
            let checksum = format!(r#""file_sha256": null, "file_md5": "{}""#, md5(&archive));
            match index % 5 {
                0 => forge.publish_with(slug, version, &archive, &checksum),
                _ => forge.publish(slug, version, &archive),
            }
        }
        let slashed = slug.replacen('-', "/", 1);
        let line = match index % 5 {
            0 => format!("mod '{slashed}', '1.0.0'\n"),
            1 => format!("mod '{slashed}', :latest\n"),
            2 => format!("mod '{slug}'\n"),
            3 => format!("mod '{slashed}', type: 'forge', version: '1.0.0'\n"),
            _ => format!("mod '{slug}', type: 'forge', version: 'latest'\n"),
        };
        puppetfile.push_str(&line.replace("'latest'", ":latest"));
    }
    let source = control(root, &puppetfile);
    let settings = settings(&forge);
    let compared = compare_with(root, &source, &settings, 350).await;
    assert_eq!(compared, ["production"]);
    // What follows and what stays, when there is a new one of all.
    for module in &modules {
        forge.publish(&module.slug, "2.0.0", &module.pack(root, "2.0.0"));
    }
    compare_with(root, &source, &settings, 350).await;
    let versions: std::collections::BTreeSet<String> = modules
        .iter()
        .map(|module| {
            let name = module.slug.split_once('-').unwrap().1;
            let path = format!("ours/production/modules/{name}/metadata.json");
            let text = std::fs::read_to_string(root.join(path)).unwrap();
            let metadata: serde_json::Value = serde_json::from_str(&text).unwrap();
            metadata["version"].as_str().unwrap().to_owned()
        })
        .collect();
    assert!(versions.iter().eq(["1.0.0", "1.1.0-rc1", "2.0.0"]));
}

/// Archives that are odd, each a release `odd-<name>` 1.0.0.
fn odd() -> Vec<(&'static str, Tar)> {
    let metadata = |name: &str| format!(r#"{{"name": "odd-{name}", "version": "1.0.0"}}"#);
    let file = EntryType::Regular;
    let dir = EntryType::Directory;
    let global = b"30 comment=0123456789abcdefgh\n";
    vec![
        (
            "modes",
            Tar::module("odd-modes", "1.0.0")
                .raw("odd-modes-1.0.0/files/a", file, 0o755, "", b"a")
                .raw("odd-modes-1.0.0/files/b", file, 0o4750, "", b"b")
                .raw("odd-modes-1.0.0/files/c", file, 0o400, "", b"c")
                .raw("odd-modes-1.0.0/files/d", file, 0o011, "", b"d")
                .raw("odd-modes-1.0.0/files/e", file, 0, "", b"e"),
        ),
        (
            "links",
            Tar::module("odd-links", "1.0.0")
                .entry(
                    "odd-links-1.0.0/VERSION.link",
                    EntryType::Symlink,
                    "VERSION",
                )
                .entry("odd-links-1.0.0/files", EntryType::Symlink, "/etc")
                .file("odd-links-1.0.0/files/passwd", "of the module")
                .entry("odd-links-1.0.0/gone", EntryType::Symlink, "nowhere"),
        ),
        (
            "elsewhere",
            Tar::new()
                .file("top/metadata.json", &metadata("elsewhere"))
                .file("top/x", "x")
                .file("top/deeper/metadata.json", "{}")
                .file("beside", "x")
                .file("other/VERSION", "x"),
        ),
        (
            "deep",
            Tar::new()
                .file("a/b/c/metadata.json", &metadata("deep"))
                .file("a/b/c/x", "x")
                .file("a/b/y", "x"),
        ),
        (
            "bare",
            Tar::new()
                .file("metadata.json", &metadata("bare"))
                .file("x", "x")
                .file(".fixtures.yml", "x"),
        ),
        (
            "dotted",
            Tar::new()
                .raw("./", dir, 0o755, "", b"")
                .raw("./odd-dotted-1.0.0/", dir, 0o700, "", b"")
                .file("./odd-dotted-1.0.0/metadata.json", &metadata("dotted"))
                .file("./odd-dotted-1.0.0//files//x", "x")
                .file("./odd-dotted-1.0.0/./y", "y"),
        ),
        (
            "hidden",
            Tar::new()
                .file(".x/metadata.json", "{}")
                .file("odd-hidden-1.0.0/metadata.json", &metadata("hidden"))
                .file("odd-hidden-1.0.0/.travis.yml", "x")
                .file("odd-hidden-1.0.0/x", "x"),
        ),
        (
            "pax",
            Tar::new()
                .raw(
                    "pax_global_header",
                    EntryType::XGlobalHeader,
                    0o644,
                    "",
                    global,
                )
                .raw(
                    "PaxHeaders/x",
                    EntryType::XHeader,
                    0o644,
                    "",
                    b"20 mtime=1234567.25\n",
                )
                .file("odd-pax-1.0.0/metadata.json", &metadata("pax"))
                .raw(
                    "PaxHeaders/y",
                    EntryType::XHeader,
                    0o644,
                    "",
                    b"16 atime=1234.5\n",
                )
                .file("odd-pax-1.0.0/y", "y"),
        ),
        (
            "old",
            Tar::module("odd-old", "1.0.0")
                .raw("odd-old-1.0.0/files/", file, 0o755, "", b"")
                .raw("odd-old-1.0.0/files/x", EntryType::new(0), 0o644, "", b"x")
                .raw(
                    "odd-old-1.0.0/files/y",
                    EntryType::Continuous,
                    0o644,
                    "",
                    b"y",
                ),
        ),
        (
            "names",
            Tar::module("odd-names", "1.0.0")
                .file("odd-names-1.0.0/a b", "x")
                .file("odd-names-1.0.0/grün", "x")
                .file("odd-names-1.0.0/line\nbreak", "x")
                .file("odd-names-1.0.0/back\\slash", "x")
                .file("odd-names-1.0.0/-rf", "x")
                .file("odd-names-1.0.0/a..b", "x")
                .file("odd-names-1.0.0/*", "x"),
        ),
        (
            "sizes",
            Tar::module("odd-sizes", "1.0.0")
                .file("odd-sizes-1.0.0/empty", "")
                .file("odd-sizes-1.0.0/block", &"x".repeat(512))
                .file("odd-sizes-1.0.0/large", &"0123456789abcde\n".repeat(70_000)),
        ),
        (
            "spec",
            Tar::module("odd-spec", "1.0.0")
                .file("odd-spec-1.0.0/spec/x_spec.rb", "x")
                .file("odd-spec-1.0.0/files/spec/stays", "x")
                .file("odd-spec-1.0.0/specs", "x"),
        ),
    ]
}

/// One that is no release.
fn archive() -> Tar {
    let file = EntryType::Regular;
    Tar::new()
        .raw("./", EntryType::Directory, 0o755, "", b"")
        .raw("./scripts/run.sh", file, 0o755, "", b"#!/bin/sh\n")
        .raw("./files/secret", file, 0o600, "", b"x")
        .file("./manifests/init.pp", "class web { }\n")
        .file("./spec/x_spec.rb", "x")
        .file("./.fixtures.yml", "x")
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_archives_are_taken_as_r10k_takes_them() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let forge = ForgeServer::start().await;
    let mut puppetfile = String::new();
    for (name, archive) in odd() {
        forge.publish(&format!("odd-{name}"), "1.0.0", &archive.gz());
        writeln!(puppetfile, "mod 'odd/{name}', '1.0.0'").unwrap();
    }
    let archive = archive().gz();
    std::fs::write(root.join("archive.tar.gz"), &archive).unwrap();
    forge.answer("/archive.tar.gz", archive.clone());
    let (address, digest) = (&forge.address, sha256(&archive));
    write!(
        puppetfile,
        "mod 'web', type: 'tarball', source: '{address}/archive.tar.gz', version: '{digest}'\n\
         mod 'file', type: 'tarball', source: '{root}/archive.tar.gz', checksum: '{digest}'\n\
         mod 'any', type: 'tarball', source: 'file://{root}/archive.tar.gz'\n",
        root = root.display()
    )
    .unwrap();
    let source = control(root, &puppetfile);
    let compared = compare_with(root, &source, &settings(&forge), 60).await;
    assert_eq!(compared, ["production"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_different_is_what_the_documentation_says() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let forge = ForgeServer::start().await;
    let release = Tar::module("odd-pax", "1.0.0")
        .raw(
            "PaxHeaders/x",
            EntryType::XHeader,
            0o644,
            "",
            b"33 path=odd-pax-1.0.0/whole name\n",
        )
        .file("odd-pax-1.0.0/whole", "x");
    forge.publish("odd-pax", "1.0.0", &release.gz());
    let linked = Tar::new()
        .file("VERSION", "1")
        .entry("link", EntryType::Symlink, "VERSION");
    forge.answer("/linked.tar.gz", linked.gz());
    let puppetfile = format!(
        "mod 'odd/pax', '1.0.0'\nmod 'linked', type: 'tarball', source: '{}/linked.tar.gz'\n",
        forge.address
    );
    let source = control(root, &puppetfile);
    let both = &deploy(root, &source, &settings(&forge)).await["production"];
    let of = |tree: &super::r10k::Tree, other: &super::r10k::Tree| {
        let own = tree
            .iter()
            .filter(|(path, it)| other.get(*path) != Some(it));
        let own = own.map(|(path, (_, content))| (path.clone(), content.clone()));
        own.collect::<Vec<_>>()
    };
    let entry = |path: &str, content: &str| (format!("modules/{path}"), content.into());
    assert_eq!(
        of(&both.theirs, &both.ours),
        [entry("linked/link", ""), entry("pax/whole", "x")]
    );
    assert_eq!(
        of(&both.ours, &both.theirs),
        [
            entry("linked/link", "VERSION"),
            entry("pax/whole name", "x")
        ]
    );
}
