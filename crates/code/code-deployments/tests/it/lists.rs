//! Environments that files or a program define.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use code_settings::DeploymentSettings;
use code_sources::source::{BranchStrip, EnvironmentSource, FoundEnvironments, SourceKind};
use code_store::version_lock::ControlKind;

use crate::world::{World, name};
use testkit::forge_server::{Tar, sha256};

/// Creates a world with a source of this kind.
fn world(kind: impl Fn(&Path) -> SourceKind + 'static) -> World {
    World::with(move |settings: &mut DeploymentSettings| {
        let root = settings.directory.parent().unwrap().to_owned();
        let mut source = EnvironmentSource::new("listed", "");
        source.kind = kind(&root);
        settings.sources = vec![Arc::new(source)];
    })
}

fn yaml() -> World {
    world(|root| SourceKind::Yaml {
        config: root.join("environments.yaml"),
    })
}

fn write(world: &World, path: &str, text: &str) -> PathBuf {
    let text = text.replace("DIR", &world.path().display().to_string());
    let path = world.path().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}

async fn listed(world: &World) -> Result<FoundEnvironments, String> {
    let round = world.deployer().start_round();
    let environments = world.deployer().list_environments(&round).await;
    environments.map_err(|error| error.to_string())
}

/// Returns the error of an invalid list.
async fn refused(text: &str) -> String {
    let world = yaml();
    write(&world, "environments.yaml", text);
    match listed(&world).await {
        Ok(environments) => panic!("{text}: {environments:?}"),
        Err(error) => error,
    }
}

fn module(world: &World, name: &str) -> String {
    let module = world.module(name);
    module.write("VERSION", "1");
    let first = module.commit();
    module.git(&["tag", "v1"]);
    module.write("VERSION", "2").commit();
    first
}

#[tokio::test]
async fn entries_name_what_of_a_repository_and_modules() {
    let world = yaml();
    let first = module(&world, "apt");
    module(&world, "ntp");
    world.control().write("site.pp", "1");
    world.puppetfile(
        "mod 'apt', git: 'DIR/apt', branch: 'production'\nmod 'ntp', git: 'DIR/ntp', tag: 'v1'",
    );
    world.control().git(&["tag", "release"]);
    world.control().write("site.pp", "2").commit();
    write(
        &world,
        "environments.yaml",
        &format!(
            "---
production:
  type: git
  source: DIR/control
  version: release
  moduledir: external
  modules:
    puppetlabs-apt: {{type: git, source: DIR/apt, version: {first}}}
tip: {{remote: DIR/control, ref: production, module_conflicts: override}}
"
        ),
    );
    let built = world.deploy("production").await.unwrap();
    let files = world.files("production");
    let expected = [
        ("external/apt/VERSION", "1"),
        ("modules/ntp/VERSION", "1"),
        ("site.pp", "1"),
    ];
    for (path, content) in expected {
        assert_eq!(files[path], content, "{path}");
    }
    // The list's declaration takes precedence.
    assert!(!files.contains_key("modules/apt/VERSION"));
    let config = world.path().join("environments.yaml");
    let told = format!(
        "apt of the Puppetfile gives way: {} names it",
        config.display()
    );
    assert_eq!(built.notes, [told]);
    assert_eq!(built.lock.control.branch, "release");
    let built = world.deploy("tip").await.unwrap();
    assert_eq!(world.files("tip")["modules/apt/VERSION"], "2");
    assert!(built.notes.is_empty());
}

#[tokio::test]
async fn the_same_files_are_the_same_version_whoever_names_them() {
    let world = World::with(|settings: &mut DeploymentSettings| {
        let root = settings.directory.parent().unwrap().to_owned();
        let mut source = EnvironmentSource::new("listed", "");
        source.kind = SourceKind::Yaml {
            config: root.join("environments.yaml"),
        };
        settings.sources.push(Arc::new(source));
    });
    module(&world, "apt");
    world.puppetfile("mod 'apt', git: 'DIR/apt', branch: 'production'");
    write(
        &world,
        "environments.yaml",
        "lab: {source: DIR/control, version: production}",
    );
    let of_branch = world.build("production").await.unwrap();
    let listed = world.build("lab").await.unwrap();
    assert_eq!(listed.signature, of_branch.signature);
    assert_eq!(listed.lock.control, of_branch.lock.control);
}

#[tokio::test]
async fn an_environment_may_be_modules_only() {
    let world = yaml();
    module(&world, "apt");
    write(
        &world,
        "environments.yaml",
        "lab: {type: plain, modules: {apt: {git: DIR/apt, tag: v1}}}\nempty: {type: bare}",
    );
    let built = world.deploy("lab").await.unwrap();
    let files = world.files("lab");
    assert_eq!(
        files,
        BTreeMap::from([("modules/apt/VERSION".to_owned(), "1".to_owned())])
    );
    assert_eq!(built.lock.control.kind, ControlKind::Plain);
    let note = std::fs::read_to_string(world.live("lab").join(".r10k-deploy.json")).unwrap();
    assert!(note.contains("\"plain-default\""), "{note}");
    world.deploy("empty").await.unwrap();
    assert!(world.files("empty").is_empty());
}

#[tokio::test]
async fn an_environment_may_be_an_archive() {
    let world = yaml();
    module(&world, "apt");
    let puppetfile = format!(
        "mod 'apt', git: '{}/apt', tag: 'v1'\n",
        world.path().display()
    );
    let packed = |text: &str| {
        Tar::new()
            .file("Puppetfile", &puppetfile)
            .file("manifests/site.pp", text)
            .gz()
    };
    let archive = world.path().join("lab.tar.gz");
    std::fs::write(&archive, packed("")).unwrap();
    let entry = |more: &str| {
        let text = format!("lab: {{type: tarball, source: 'file://DIR/lab.tar.gz'{more}}}");
        write(&world, "environments.yaml", &text);
    };
    entry("");
    let first = world.deploy("lab").await.unwrap();
    assert_eq!(world.files("lab")["modules/apt/VERSION"], "1");
    assert_eq!(first.lock.control.kind, ControlKind::Tarball);
    assert_eq!(first.lock.control.commit, sha256(&packed("")));
    // Without a checksum, the archive of the first download stays.
    std::fs::write(&archive, packed("notify { 'new': }\n")).unwrap();
    let same = world.deploy("lab").await.unwrap();
    assert_eq!(same.signature, first.signature);
    let version = sha256(&packed("notify { 'new': }\n"));
    entry(&format!(", version: {}", version.to_uppercase()));
    let second = world.deploy("lab").await.unwrap();
    assert_eq!(second.lock.control.commit, version);
    assert_eq!(
        world.files("lab")["manifests/site.pp"],
        "notify { 'new': }\n"
    );

    entry(&format!(", version: '{}'", "0".repeat(64)));
    let error = world.deploy("lab").await.unwrap_err().to_string();
    assert!(error.contains("the control repository"), "{error}");
    assert_eq!(
        world.files("lab")["manifests/site.pp"],
        "notify { 'new': }\n"
    );
    std::fs::write(&archive, packed("class {\n")).unwrap();
    entry(&format!(", version: {}", sha256(&packed("class {\n"))));
    let error = world.deploy("lab").await.unwrap_err().to_string();
    assert!(error.contains("do not parse"), "{error}");
    assert!(
        refused("lab: {type: tarball, source: x, version: v1}")
            .await
            .contains("SHA-256")
    );
    assert!(refused("lab: {type: tarball}").await.contains("source"));
}

#[tokio::test]
async fn modules_follow_what_their_environment_is_of() {
    let world = yaml();
    module(&world, "apt");
    world.control().write("x", "1").commit();
    world.control().git(&["tag", "v1"]);
    let entry = |base: &str| {
        let text = "lab:
  BASE
  modules: {apt: {git: DIR/apt, branch: :control_branch, default_branch: production}}";
        write(&world, "environments.yaml", &text.replace("BASE", base));
    };
    entry("source: DIR/control\n  version: v1");
    world.deploy("lab").await.unwrap();
    assert_eq!(world.files("lab")["modules/apt/VERSION"], "1");
    entry("type: plain");
    world.deploy("lab").await.unwrap();
    assert_eq!(world.files("lab")["modules/apt/VERSION"], "2");
}

#[tokio::test]
async fn one_repository_that_is_away_stops_its_own_environment_only() {
    let world = yaml();
    world.control().write("x", "1").commit();
    write(
        &world,
        "environments.yaml",
        "good: {source: DIR/control, version: production}\naway: {source: DIR/away, version: production}
other: {source: DIR/control, version: no_such}",
    );
    world.deploy("good").await.unwrap();
    let error = world.deploy("away").await.unwrap_err().to_string();
    assert!(
        error.contains("the control repository: git fetch of"),
        "{error}"
    );
    let error = world.deploy("other").await.unwrap_err().to_string();
    assert!(
        error.contains("has no branch, tag or commit no_such"),
        "{error}"
    );
}

#[tokio::test]
async fn conflicts_can_be_mistakes() {
    let world = yaml();
    module(&world, "apt");
    world.puppetfile("mod 'apt', git: 'DIR/apt', branch: 'production'");
    write(
        &world,
        "environments.yaml",
        "lab: {source: DIR/control, version: production, module_conflicts: error, modules: {x-apt: 1.0.0}}",
    );
    let error = world.deploy("lab").await.unwrap_err().to_string();
    assert!(
        error.contains("environments.yaml and the Puppetfile both name apt"),
        "{error}"
    );
}

#[tokio::test]
async fn what_is_wrong_is_told_with_its_line() {
    let plain = |more: &str| format!("lab:\n  type: plain\n  {more}\n");
    let module = |more: &str| plain(&format!("modules: {{apt: {more}}}"));
    for (text, said) in [
        (String::new(), "line 1: it is empty"),
        ("# nothing".to_owned(), "it is empty"),
        ("[a]".to_owned(), "names of environments are expected"),
        (
            "lab:".to_owned(),
            "line 1: \"lab\": what the environment is stands here",
        ),
        (
            "a: {type: plain}\na: {type: plain}".to_owned(),
            "line 2: \"a\" stands in line 1 already",
        ),
        (
            "2024: {type: plain}".to_owned(),
            "line 1: the name of an environment is a text",
        ),
        (
            "../../x: {type: plain}".to_owned(),
            "\"../../x\": an environment's name has letters",
        ),
        (
            "a-b: {type: plain}".to_owned(),
            "\"a-b\": an environment's name",
        ),
        (
            "\"a\\0b\": {type: plain}".to_owned(),
            "an environment's name",
        ),
        ("ä: {type: plain}".to_owned(), "an environment's name"),
        (
            "lab: {type: hg}".to_owned(),
            "the type \"hg\" is not read here",
        ),
        (
            "lab: {source: DIR/control}".to_owned(),
            "\"lab\": version is missing",
        ),
        ("lab: {version: x}".to_owned(), "source is missing"),
        (
            "lab: {source: a, remote: b, version: x}".to_owned(),
            "source and remote are the same",
        ),
        (
            "lab: {source: a, version: 1.5}".to_owned(),
            "version is a text; put it in quotes",
        ),
        (
            "lab: {source: --x, version: x}".to_owned(),
            "source cannot be used as it is",
        ),
        (
            plain("sauce: x"),
            "line 3: \"lab\": the option \"sauce\" is not known",
        ),
        (
            plain("moduledir: ../x"),
            "line 3: \"lab\": moduledir: it leaves the environment",
        ),
        (
            plain("puppetfile_name: /etc/passwd"),
            "puppetfile_name: it is absolute",
        ),
        (plain("module_conflicts: no"), "module_conflicts is a text"),
        (
            plain("module_conflicts: perhaps"),
            "line 3: \"lab\": module_conflicts is override_and_warn",
        ),
        (
            plain("modules: [apt]"),
            "modules are names with what each is",
        ),
        (
            module("1.2.3"),
            "line 3: \"lab\": a module of the Forge is named owner/apt",
        ),
        (
            module("{git: x, branch: a, tag: b}"),
            "branch and tag are both given",
        ),
        (
            module("{git: x, brunch: a}"),
            "the option brunch is not known",
        ),
        (module("{git: {a: b}}"), "git is a text, not a hash"),
        (
            module("{git: x, install_path: ../y}"),
            "it leaves the environment",
        ),
        (
            plain("modules: {../x: {git: x}}"),
            "\"../x\" is no module's name",
        ),
        (
            plain("modules: {a-x: 1.0.0, b-x: 1.0.0}"),
            "\"b-x\" goes to modules/x, as does \"a-x\"",
        ),
        (
            "lab: !ruby/object:Gem::Installer {i: x}".to_owned(),
            "unspecified class",
        ),
        (
            "lab: {type: !ruby/object:OpenStruct {a: b}}".to_owned(),
            "unspecified class",
        ),
        ("lab: {type: plain".to_owned(), "line"),
        (
            "lab: &a {type: plain, modules: *a}".to_owned(),
            "the alias refers to what it is a part of",
        ),
    ] {
        let error = refused(&text).await;
        assert!(error.contains(said), "{text}: {error}");
        assert!(error.starts_with("the source listed: "), "{error}");
    }
}

#[tokio::test]
async fn lists_that_are_too_large() {
    let aliases = |(one, other): (char, char)| {
        let ten = vec![format!("*{one}"); 10].join(", ");
        format!("{other}: &{other} [{ten}]\n")
    };
    let doubled = "abcdefgh".chars().zip("bcdefghi".chars()).map(aliases);
    let bomb: String = std::iter::once("a: &a [x]\n".to_owned())
        .chain(doubled)
        .collect();
    let error = refused(&bomb).await;
    assert!(error.contains("more than 1000000 values"), "{error}");
    let many = |count: usize| (0..count).map(|it| format!("e{it}: {{type: plain}}\n"));
    let many: String = many(code_sources::defaults::SOURCE_ENVIRONMENTS + 1).collect();
    let error = refused(&many).await;
    assert!(error.contains("more than 10000 environments"), "{error}");
    let error = refused(&"#".repeat(code_sources::defaults::SOURCE_BYTES + 1)).await;
    assert!(error.contains("is too large"), "{error}");
}

fn directory() -> World {
    world(|root| SourceKind::YamlDir {
        config: root.join("environments.d"),
    })
}

#[tokio::test]
async fn a_directory_has_a_file_for_each() {
    let world = directory();
    let error = listed(&world).await.unwrap_err();
    assert!(error.contains("cannot read"), "{error}");
    write(&world, "environments.d/one.yaml", "type: plain");
    write(&world, "environments.d/two.yaml", "{type: plain}");
    write(&world, "environments.d/three.yml", "no: yaml: at: all");
    write(&world, "environments.d/.hidden.yaml", "no: yaml: at: all");
    let found = listed(&world).await.unwrap().by_name;
    let names: Vec<&str> = found.keys().map(|name| name.as_str()).collect();
    assert_eq!(names, ["one", "two"]);
    // An invalid definition does not look like a removed one.
    write(&world, "environments.d/two.yaml", "type: plane");
    let error = listed(&world).await.unwrap_err();
    assert!(
        error.contains("two.yaml, line 1: \"two\": the type \"plane\""),
        "{error}"
    );
    std::fs::remove_file(world.path().join("environments.d/two.yaml")).unwrap();
    let pipe = world.path().join("environments.d/pipe.yaml");
    let made = std::process::Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .unwrap();
    assert!(made.success());
    let error = listed(&world).await.unwrap_err();
    assert!(error.contains("pipe.yaml is no file"), "{error}");
}

fn program(script: &str) -> World {
    let world = world(|root| SourceKind::Exec {
        command: root.join("list").display().to_string(),
    });
    let path = write(&world, "list", &format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    world
}

#[tokio::test]
async fn a_program_prints_yaml_or_json() {
    for printed in [
        "echo 'lab: {type: plain}'",
        r#"printf '{\n\t"lab": {\n\t\t"type": "plain", "modules": {"a-b": "1.0.0"}}}'"#,
        r#"echo '{"lab":{"type":"plain","modules":{}}}'"#,
    ] {
        let found = listed(&program(printed)).await.unwrap().by_name;
        assert!(found.contains_key(&name("lab")), "{printed}");
    }
}

#[tokio::test]
async fn a_program_that_fails_says_nothing() {
    for (script, said) in [
        (
            "echo 'lab: {type: plain}'; echo no more >&2; exit 3",
            "exit status: 3: no more",
        ),
        ("kill -9 $$", "signal: 9"),
        ("true", "it is empty"),
        ("echo '<html>'", "names of environments are expected"),
        ("printf '\\377'", "is not UTF-8"),
        ("yes lab", "printed more than"),
    ] {
        let error = listed(&program(script)).await.unwrap_err();
        assert!(error.contains(said), "{script}: {error}");
    }
    let world = program("true");
    std::fs::remove_file(world.path().join("list")).unwrap();
    let error = listed(&world).await.unwrap_err();
    assert!(
        error.contains("does not say which environments there are: it cannot be run"),
        "{error}"
    );
}

#[tokio::test]
async fn names_get_prefixes_and_lose_components() {
    let world = World::with(|settings: &mut DeploymentSettings| {
        let root = settings.directory.parent().unwrap().to_owned();
        let mut source = EnvironmentSource::new("listed", "");
        source.kind = SourceKind::Yaml {
            config: root.join("environments.yaml"),
        };
        source.prefix = Some("team".to_owned());
        source.strip_component = BranchStrip::parse("env/").ok();
        settings.sources = vec![Arc::new(source)];
    });
    write(
        &world,
        "environments.yaml",
        "env/prod: {type: plain}\nlab: {type: plain}\nprod: {type: plain}",
    );
    let environments = listed(&world).await.unwrap();
    let names: Vec<&str> = environments
        .by_name
        .keys()
        .map(|name| name.as_str())
        .collect();
    assert_eq!(names, ["team_lab", "team_prod"]);
    assert_eq!(environments.errors.len(), 1);
    assert!(
        world
            .deployer()
            .environments_of_branch("lab", None)
            .is_empty()
    );
}
