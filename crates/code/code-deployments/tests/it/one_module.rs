//! Deployments of some modules, while everything else stays.

use std::sync::Arc;

use code_deployments::{BuiltVersion, DeploymentError};
use code_settings::DeploymentSettings;
use code_sources::source::{EnvironmentSource, SourceKind};

use crate::world::{World, name};

async fn renew(
    world: &World,
    environment: &str,
    module: &str,
) -> Result<Option<BuiltVersion>, DeploymentError> {
    let names = [module.to_owned()];
    let round = world.deployer().start_round();
    let deployer = world.deployer();
    let built = deployer
        .build_modules(&name(environment), &names, &round)
        .await?;
    if let Some(built) = &built {
        deployer
            .switch(&built.environment, &built.signature)
            .await?;
    }
    Ok(built)
}

/// Creates a live environment with two modules; all repositories have newer commits.
async fn world() -> World {
    let world = World::new();
    for module in ["apt", "ntp"] {
        world.module(module).write("VERSION", "1").commit();
    }
    world.control().write("site.pp", "1");
    world.puppetfile(
        "mod 'puppetlabs-apt', git: 'DIR/apt', branch: 'production'\n\
         mod 'ntp', git: 'DIR/ntp', branch: 'production'\nmod 'site', local: true",
    );
    world.control().write("modules/site/x", "1").commit();
    world.deploy("production").await.unwrap();
    for repository in ["apt", "ntp", "control"] {
        world.at(repository).write("VERSION", "2").commit();
    }
    world
}

#[tokio::test]
async fn only_the_module_is_new() {
    let mut world = world().await;
    let before = world.files("production");
    // The unchanged parts are stored, so their repositories are not contacted.
    world.restart();
    let away = world.path().join("away");
    std::fs::rename(world.path().join("control"), &away).unwrap();
    std::fs::rename(world.path().join("ntp"), world.path().join("ntp-away")).unwrap();
    let built = renew(&world, "production", "apt").await.unwrap().unwrap();
    assert!(!built.existed_before);
    let after = world.files("production");
    assert_eq!(after["modules/apt/VERSION"], "2");
    assert_eq!(after["modules/ntp/VERSION"], "1");
    assert_eq!(after["modules/site/x"], "1");
    assert!(!after.contains_key("VERSION"));
    assert_eq!(after.len(), before.len());
    for wanted in ["puppetlabs-apt", "puppetlabs/apt"] {
        let again = renew(&world, "production", wanted).await.unwrap().unwrap();
        assert_eq!(
            (again.existed_before, &again.signature),
            (true, &built.signature)
        );
    }
    std::fs::rename(away, world.path().join("control")).unwrap();
    std::fs::rename(world.path().join("ntp-away"), world.path().join("ntp")).unwrap();
    world.deploy("production").await.unwrap();
    assert_eq!(world.files("production")["modules/ntp/VERSION"], "2");
}

#[tokio::test]
async fn what_cannot_be_done_changes_nothing() {
    let world = world().await;
    for none in ["nothing", "other-apt", "../apt", ""] {
        assert!(renew(&world, "production", none).await.unwrap().is_none());
    }
    let error = renew(&world, "staging", "apt").await.unwrap_err();
    assert!(matches!(error, DeploymentError::NotLive(_)), "{error}");
    let live = std::fs::read_link(world.live("production")).unwrap();
    std::fs::rename(world.path().join("apt"), world.path().join("away")).unwrap();
    let error = renew(&world, "production", "apt").await.unwrap_err();
    assert!(
        error.to_string().starts_with("module puppetlabs/apt: git"),
        "{error}"
    );
    assert_eq!(std::fs::read_link(world.live("production")).unwrap(), live);
}

#[tokio::test]
async fn a_promoted_version_is_of_another_environment() {
    let world = world().await;
    let live = world
        .deployer()
        .versions()
        .live_version(&name("production"))
        .unwrap();
    let (from, to) = (name("production"), name("staging"));
    world.deployer().copy(&from, &live, &to).await.unwrap();
    world.deployer().switch(&to, &live).await.unwrap();
    let built = renew(&world, "staging", "ntp").await.unwrap().unwrap();
    assert_eq!(built.lock.environment, "staging");
    let files = world.files("staging");
    assert_eq!(
        (
            &*files["modules/ntp/VERSION"],
            &*files["modules/apt/VERSION"]
        ),
        ("2", "1")
    );
    assert_eq!(world.files("production")["modules/ntp/VERSION"], "1");
}

#[tokio::test]
async fn of_a_list_the_modules_are_those_that_it_names_now() {
    let world = World::with(|settings: &mut DeploymentSettings| {
        let root = settings.directory.parent().unwrap().to_owned();
        let mut source = EnvironmentSource::new("listed", "");
        source.kind = SourceKind::Yaml {
            config: root.join("list.yaml"),
        };
        settings.sources = vec![Arc::new(source)];
    });
    let list = |text: &str| {
        let text = text.replace("DIR", &world.path().display().to_string());
        std::fs::write(world.path().join("list.yaml"), text).unwrap();
    };
    for module in ["apt", "ntp"] {
        let module = world.module(module);
        module.write("VERSION", "1").commit();
        module.git(&["tag", "v1"]);
        module.write("VERSION", "2").commit();
    }
    let both =
        "lab: {type: plain, modules: {apt: {git: DIR/apt, ref: v1}, ntp: {git: DIR/ntp, ref: v1}}}";
    list(both);
    world.deploy("lab").await.unwrap();
    list(&both.replace("DIR/apt, ref: v1", "DIR/apt, ref: production"));
    renew(&world, "lab", "apt").await.unwrap().unwrap();
    let files = world.files("lab");
    assert_eq!(
        (
            &*files["modules/apt/VERSION"],
            &*files["modules/ntp/VERSION"]
        ),
        ("2", "1")
    );
    // A module that stays must be declared so that it can be fetched again.
    list("lab: {type: plain, modules: {apt: {git: DIR/apt, ref: v1}}}");
    let error = renew(&world, "lab", "apt").await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("module ntp is not named any more as it was"),
        "{error}"
    );
    list("other: {type: plain}");
    let error = renew(&world, "lab", "apt").await.unwrap_err();
    assert!(matches!(error, DeploymentError::NoSource(_)), "{error}");
    list("nonsense");
    let error = renew(&world, "lab", "apt").await.unwrap_err();
    assert!(matches!(error, DeploymentError::Sources(_)), "{error}");
}
