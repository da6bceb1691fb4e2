//! Files of the server that Ruby code cannot open.

use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
};

use ruby_workers::HiddenPaths;

use crate::fixture::{Fixture, TestCompiler};

/// True if the kernel can hide files.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn has_landlock() -> bool {
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let ruleset = ruleset.handle_access(AccessFs::from_all(ABI::V1));
    let has = ruleset.and_then(Ruleset::create).is_ok();
    if !has {
        eprintln!("skipped: needs a kernel with Landlock");
    }
    has
}

/// The class of the exception of a block, or its value.
fn attempt(code: &str) -> String {
    format!("begin; {code}; rescue SystemCallError => e; e.class.name; end")
}

#[test]
fn hidden_files_are_neither_read_nor_changed() {
    let secrets = tempfile::tempdir().expect("a directory");
    let secret = secrets.path().join("seal.key");
    std::fs::write(&secret, "secret").expect("written");
    let hidden = secrets.path().to_owned();
    let hidden = HiddenPaths {
        hidden: vec![hidden],
        except: Vec::new(),
    };
    let Some(fixture) = Fixture::with(|settings| settings.hidden_paths = hidden) else {
        return;
    };
    if !has_landlock() {
        return;
    }
    let link = fixture.write("files/link", "");
    std::fs::remove_file(&link).expect("removed");
    std::os::unix::fs::symlink(&secret, &link).expect("a link");
    let own = fixture.write("files/own", "own");
    let path = |path: &Path| format!("'{}'", path.display());
    let (secret_path, link, own) = (path(&secret), path(&link), path(&own));
    let directory = path(secrets.path());
    let (server, cases) = (
        std::process::id(),
        [
            (format!("File.read({secret_path})"), "Errno::EACCES"),
            (format!("File.read({link})"), "Errno::EACCES"),
            (
                format!(
                    "File.read('/proc/{}/root' + {secret_path})",
                    std::process::id()
                ),
                "Errno::EACCES",
            ),
            (
                format!("File.open('/proc/{}/mem').read(1)", std::process::id()),
                "Errno::EACCES",
            ),
            (format!("File.write({secret_path}, 'x')"), "Errno::EACCES"),
            (format!("File.truncate({secret_path}, 0)"), "Errno::EACCES"),
            (format!("File.delete({secret_path})"), "Errno::EACCES"),
            (format!("Dir.children({directory}).first"), "Errno::EACCES"),
            (format!("`cat {secret_path} 2>/dev/null`"), ""),
            (format!("File.read({own})"), "own"),
            ("File.read('/etc/hostname').empty?".to_owned(), "false"),
        ],
    );
    let bodies: Vec<String> = cases.iter().map(|(code, _)| attempt(code)).collect();
    fixture.functions("attempt", bodies.iter().map(String::as_str));
    for (index, (code, expected)) in cases.iter().enumerate() {
        let result = fixture.call(&format!("site::attempt{index}"), &[]);
        assert_eq!(result.expect(code).to_string(), *expected, "{code}");
    }
    // an environment that names the directory in its modulepath
    let mut environment = fixture.environment("2");
    environment
        .module_directories
        .push(secrets.path().to_owned());
    let error = fixture.workers.session(&environment).err();
    let error = error.expect("its modules are hidden").to_string();
    assert!(error.contains("Permission denied"), "{error}");
    assert_eq!(
        std::fs::read_to_string(&secret).expect("it is there"),
        "secret"
    );
    // this process itself is not restricted
    assert!(std::fs::read_dir(format!("/proc/{server}")).is_ok());
}

#[test]
fn an_environment_below_a_hidden_directory_is_readable() {
    let Some(outer) = Fixture::new() else {
        return;
    };
    let hidden = outer.directory.path().to_owned();
    let mut settings = outer.workers.settings().clone();
    settings.hidden_paths.hidden = vec![hidden];
    outer.function("works", "", "'it works'");
    let workers = ruby_workers::RubyWorkers::new(settings);
    let session = workers.session(&outer.environment("1")).expect("a session");
    let mut compiler = TestCompiler::default();
    let result = session.call_function("site::works", &[], None, &mut compiler);
    assert_eq!(result.expect("a text").to_string(), "it works");
}

#[test]
fn a_user_who_cannot_read_the_environment_is_named() {
    let user = ruby_workers::RubyUser::find("nobody").expect("a user");
    let Some(fixture) = Fixture::with(|settings| settings.user = Some(user)) else {
        return;
    };
    if !rustix::process::geteuid().is_root() {
        return;
    }
    fixture.function("works", "", "'it works'");
    let set_mode = |mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(fixture.directory.path(), mode).expect("set");
    };
    set_mode(0o700);
    let error = fixture.workers.session(&fixture.environment("1")).err();
    let error = error.expect("the directory is root's").to_string();
    assert!(error.contains("uid 65534 cannot read"), "{error}");
    set_mode(0o755);
    let result = fixture.call("site::works", &[]).expect("a text");
    assert_eq!(result.to_string(), "it works");
}
