//! Single catalogs.

use std::sync::Arc;
use std::time::Duration;

use catalogs::defaults::{COMPILES_WAITING_OF_CALLER_MAX, PLAN_COMPILES_PER_SLOT};
use catalogs::{
    CatalogCompiler, CatalogError, CatalogRequest, CatalogSettings, ChosenCompiler, CompileCaller,
    CompileOrigin, CompilePriority, CompileQueueFull, CompilerChoices,
};
use compiler::CompileRequest;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serde_json::json;

use crate::world::{World, caller, code_id, notices, request};

/// Billions of rounds, which the limit of steps would end after many seconds.
const ENDLESS: &str = "Integer[1, 100000000000].each |$n| { $x = $n }";

#[tokio::test]
async fn facts_groups_and_trusted_data_are_in_the_catalog() {
    let world = World::new(CatalogSettings::default()).await;
    let version = world.deploy(
        '1',
        "notify { 'n': message => \"${size} ${trusted['certname']} ${trusted['extensions']['pp_role']} \
         ${color} ${server_facts['environment']} ${facts['clientcert']}\" }",
    );
    std::fs::create_dir_all(version.join("modules/web/manifests")).unwrap();
    let class = "class web($port) { notify { 'port': message => $port } }";
    std::fs::write(version.join("modules/web/manifests/init.pp"), class).unwrap();
    world
        .group(json!({"classes": {"web": {"port": 80}}, "variables": {"color": "red"}}))
        .await;
    let compiled = world.compile("n1").await.unwrap();
    let expected = [
        ("n".to_owned(), json!("2 n1 web red production n1")),
        ("port".to_owned(), json!(80)),
    ];
    assert_eq!(notices(&compiled), expected);
    assert_eq!(compiled.code_id, Some(code_id('1')));
    assert_eq!(compiled.catalog["code_id"], json!(code_id('1')));
    assert_eq!(compiled.compiler, ChosenCompiler::default());
}

#[tokio::test]
async fn the_environment_is_that_of_the_groups_if_the_request_names_none() {
    let world = World::new(CatalogSettings::default()).await;
    let test = world.root.path().join("environments/test/manifests");
    std::fs::create_dir_all(&test).unwrap();
    std::fs::write(test.join("site.pp"), "notify { 'test': }").unwrap();
    world
        .group(json!({
            "environment": "test", "environment_trumps": true,
            // the group "All Environments"
            "parent": "7b1d1d4c-9f6e-4c5b-8f3a-2b640e516a01",
        }))
        .await;
    let any = CatalogRequest {
        environment: None,
        ..request("n1")
    };
    let compiled = world.catalogs.compile(any.clone()).await.unwrap();
    assert_eq!(notices(&compiled)[0].0, "test");
    // the directory is no version, so a change is seen at once
    std::fs::write(test.join("site.pp"), "notify { 'changed': }").unwrap();
    let compiled = world.catalogs.compile(any).await.unwrap();
    assert_eq!(notices(&compiled)[0].0, "changed");
    assert_eq!(compiled.code_id, None);
}

/// A class with a parameter, and a site manifest that includes it.
fn write_web(version: &std::path::Path) {
    std::fs::create_dir_all(version.join("modules/web/manifests")).unwrap();
    let class =
        "class web($port = 1, $hosts = []) { notify { 'port': message => [$port, $hosts] } }";
    std::fs::write(version.join("modules/web/manifests/init.pp"), class).unwrap();
    std::fs::create_dir_all(version.join("data")).unwrap();
    let data = "web::port: 2\nweb::hosts: [a]\n";
    std::fs::write(version.join("data/common.yaml"), data).unwrap();
    let hiera = "version: 5\nhierarchy: [{name: all, path: common.yaml}]\n";
    std::fs::write(version.join("hiera.yaml"), hiera).unwrap();
}

#[tokio::test]
async fn configuration_data_of_groups_come_before_data_of_the_environment() {
    let world = World::new(CatalogSettings::default()).await;
    let version = world.deploy('1', "node n1 { include web } node default { }");
    write_web(&version);
    let message = async |node| notices(&world.compile(node).await.unwrap())[0].1.clone();
    assert_eq!(message("n1").await, json!([2, ["a"]]));
    world
        .group(json!({"config_data": {"web": {"port": "%{facts.size}80"}, "other": {"x": 1}}}))
        .await;
    assert_eq!(message("n1").await, json!(["280", ["a"]]));
    // a parameter of the group's class is stronger
    let other = json!({
        "name": "other", "rule": ["=", "name", "n2"], "classes": {"web": {"port": 9}},
    });
    world.group(other).await;
    assert_eq!(message("n2").await, json!([9, ["a"]]));
}

#[tokio::test]
async fn a_global_hiera_yaml_decides_where_configuration_data_stand() {
    let world = World::new(CatalogSettings::default()).await;
    let version = world.deploy('1', "include web");
    write_web(&version);
    world
        .group(json!({"config_data": {"web": {"port": 3}}}))
        .await;
    let hiera = world.root.path().join("hiera.yaml");
    std::fs::write(world.root.path().join("first.yaml"), "web::port: 4\n").unwrap();
    let first = "{name: first, path: first.yaml, data_hash: yaml_data, datadir: .}";
    let data = "{name: groups, data_hash: classifier_data}";
    for (hierarchy, expected) in [
        (format!("[{first}, {data}]"), json!(4)),
        (format!("[{data}, {first}]"), json!(3)),
        ("[]".to_owned(), json!(2)),
    ] {
        std::fs::write(&hiera, format!("version: 5\nhierarchy: {hierarchy}\n")).unwrap();
        let compiled = world.compile("n1").await.unwrap();
        assert_eq!(notices(&compiled)[0].1[0], expected, "{hierarchy}");
    }
}

#[tokio::test]
async fn the_version_of_a_catalog_is_the_code_id_and_no_program_is_run_for_it() {
    let world = World::new(CatalogSettings::default()).await;
    world.deploy('1', "notify { 'one': }");
    for node in ["n1", "n2"] {
        let compiled = world.compile(node).await.unwrap();
        assert_eq!(compiled.catalog["version"], json!(code_id('1')), "{node}");
    }
    let version = world.deploy('2', "notify { 'two': }");
    let marker = version.join("was_run");
    let program = format!("config_version = /usr/bin/touch {}\n", marker.display());
    std::fs::write(version.join("environment.conf"), program).unwrap();
    let compiled = world.compile("n1").await.unwrap();
    assert_eq!(compiled.catalog["version"], json!(code_id('2')));
    assert!(!marker.exists());
}

#[tokio::test]
async fn each_version_gives_its_own_catalog() {
    let world = World::new(CatalogSettings::default()).await;
    world.deploy('1', "notify { 'one': }");
    assert_eq!(notices(&world.compile("n1").await.unwrap())[0].0, "one");
    world.deploy('2', "notify { 'two': }");
    assert_eq!(notices(&world.compile("n1").await.unwrap())[0].0, "two");
    let older = CatalogRequest {
        code_id: Some(code_id('1')),
        ..request("n1")
    };
    let compiled = world.catalogs.compile(older).await.unwrap();
    assert_eq!(notices(&compiled)[0].0, "one");
    let unknown = CatalogRequest {
        code_id: Some(code_id('3')),
        ..request("n1")
    };
    let error = world.catalogs.compile(unknown).await.unwrap_err();
    assert!(error.to_string().contains("not on this server any more"));
    assert!(world.catalogs.versions_in_use().is_empty());
}

#[tokio::test]
async fn facts_of_the_request_replace_those_of_the_inventory() {
    let world = World::new(CatalogSettings::default()).await;
    world.deploy('1', "notify { $kernel: }");
    let own = CatalogRequest {
        facts: json!({"kernel": "OpenBSD"}).as_object().cloned(),
        ..request("unknown")
    };
    let compiled = world.catalogs.compile(own).await.unwrap();
    assert_eq!(notices(&compiled)[0].0, "OpenBSD");
    let error = world.compile("unknown").await.unwrap_err();
    assert!(error.to_string().contains("no facts of unknown are known"));
}

#[tokio::test]
async fn an_endless_compilation_ends_and_others_go_on() {
    let settings = CatalogSettings {
        time_max: Duration::from_millis(100),
        concurrent_compiles: 1,
        ..CatalogSettings::default()
    };
    let world = World::new(settings).await;
    world.deploy(
        '1',
        &format!("if $trusted['certname'] == 'n1' {{ {ENDLESS} }} notify {{ 'n': }}"),
    );
    let (endless, other) = tokio::join!(world.compile("n1"), world.compile("n2"));
    let error = endless.unwrap_err().to_string();
    assert!(
        error.contains("the compilation took longer than 0.1 s"),
        "{error}"
    );
    assert_eq!(notices(&other.unwrap()).len(), 1);
    assert_eq!(world.catalogs.counts(), (0, 0));
}

#[tokio::test]
async fn a_request_that_ends_interrupts_its_compilation() {
    let settings = CatalogSettings {
        concurrent_compiles: 1,
        ..CatalogSettings::default()
    };
    let world = World::new(settings).await;
    world.deploy(
        '1',
        &format!("if $trusted['certname'] == 'n1' {{ {ENDLESS} }} notify {{ 'n': }}"),
    );
    let endless = tokio::time::timeout(Duration::from_millis(50), world.compile("n1")).await;
    assert!(endless.is_err(), "the request ended before the compilation");
    // it has the only slot until it ends, so this waits for its interruption
    world.compile("n2").await.unwrap();
}

/// A client with many requests leaves places in the queue to others.
#[tokio::test]
async fn one_caller_cannot_take_the_whole_queue() {
    let settings = CatalogSettings {
        concurrent_compiles: 1,
        ..CatalogSettings::default()
    };
    let world = World::new(settings).await;
    world.deploy(
        '1',
        &format!("if $trusted['certname'] == 'n1' {{ {ENDLESS} }} notify {{ 'n': }}"),
    );
    let endless = world.compile("n1");
    let requests = (0..COMPILES_WAITING_OF_CALLER_MAX + 5).map(|_| world.compile("n2"));
    let other = world.catalogs.compile(CatalogRequest {
        origin: CompileOrigin {
            caller: caller("ben"),
            priority: CompilePriority::Foreground,
        },
        ..request("n2")
    });
    let (mut endless, mut other) = (Box::pin(endless), Box::pin(other));
    while world.catalogs.counts().1 == 0 {
        assert!(futures_util::poll!(&mut endless).is_pending());
        tokio::task::yield_now().await;
    }
    let mut requests: FuturesUnordered<_> = requests.collect();
    for _ in 0..5 {
        let refused = requests.next().await.unwrap().unwrap_err();
        let CatalogError::QueueFull(full) = &refused else {
            panic!("{refused}")
        };
        let waiting = COMPILES_WAITING_OF_CALLER_MAX;
        assert_eq!(*full, CompileQueueFull::Caller { waiting });
        assert!(
            refused
                .to_string()
                .contains("when these have been compiled")
        );
    }
    while world.catalogs.counts().0 == COMPILES_WAITING_OF_CALLER_MAX {
        assert!(futures_util::poll!(&mut other).is_pending());
        tokio::task::yield_now().await;
    }
    drop(endless);
    let rest = async {
        while let Some(compiled) = requests.next().await {
            compiled.unwrap();
        }
    };
    let (of_other, ()) = tokio::join!(other, rest);
    assert_eq!(notices(&of_other.unwrap()).len(), 1);
}

/// A step of a plan asks for the catalogs of many nodes, and other plans of its owner do so too.
#[tokio::test]
async fn blocks_of_plans_wait_for_those_of_the_same_owner() {
    let settings = CatalogSettings {
        concurrent_compiles: 1,
        ..CatalogSettings::default()
    };
    let world = World::new(settings).await;
    world.deploy('1', "notify { 'n': }");
    let environment = "production".parse().unwrap();
    let opened = world.catalogs.environment(&environment, None).await;
    let opened = opened.unwrap();
    let origin = CompileOrigin {
        caller: CompileCaller::PlansOf("ann".to_owned()),
        priority: CompilePriority::Foreground,
    };
    let blocks = (0..2 * COMPILES_WAITING_OF_CALLER_MAX).map(|_| {
        let request = CompileRequest {
            certname: "n1".to_owned(),
            ..CompileRequest::default()
        };
        let opened = Arc::clone(&opened);
        world
            .catalogs
            .compile_in(opened, request, &origin, |_| Ok(()))
    });
    let mut blocks: FuturesUnordered<_> = blocks.collect();
    while let Some(block) = blocks.next().await {
        block.unwrap();
        let (waiting, running) = world.catalogs.counts();
        assert!(waiting + running <= PLAN_COMPILES_PER_SLOT);
    }
}

#[tokio::test]
async fn the_engine_stops_while_a_catalog_is_compiled() {
    let settings = CatalogSettings {
        concurrent_compiles: 1,
        ..CatalogSettings::default()
    };
    let world = World::new(settings).await;
    world.deploy('1', ENDLESS);
    let stop = async {
        while world.catalogs.counts().1 == 0 {
            tokio::task::yield_now().await;
        }
        world.catalogs.shutdown().await;
    };
    let (endless, waiting, ()) = tokio::join!(world.compile("n1"), world.compile("n2"), stop);
    let stopped = |error: CatalogError| error.to_string().contains("the server is shutting down");
    assert!(stopped(endless.unwrap_err()));
    assert!(stopped(waiting.unwrap_err()));
    assert!(stopped(world.compile("n3").await.unwrap_err()));
}

#[tokio::test]
async fn a_version_that_is_removed_meanwhile_gives_no_catalog() {
    let world = World::new(CatalogSettings::default()).await;
    let version = world.deploy('1', "notify { 'one': }");
    let opened = world
        .catalogs
        .environment(&"production".parse().unwrap(), None)
        .await
        .unwrap();
    assert_eq!(world.catalogs.versions_in_use(), [code_id('1')]);
    drop(opened);
    let link = world.root.path().join("environments/production");
    std::fs::rename(&version, world.root.path().join("removed")).unwrap();
    let error = world.compile("n1").await.unwrap_err();
    assert!(matches!(error, CatalogError::Code(_)), "{error}");
    assert!(std::fs::symlink_metadata(link).is_ok());
}

#[tokio::test]
async fn an_environment_whose_link_leads_to_a_version_of_another_is_not_that_one() {
    let world = World::new(CatalogSettings::default()).await;
    let version = world.deploy('1', "notify { 'one': }");
    let link = world.root.path().join("environments/staging");
    std::os::unix::fs::symlink(version, link).unwrap();
    for _ in 0..2 {
        for (name, code_id) in [("production", Some(code_id('1'))), ("staging", None)] {
            let environment = name.parse().unwrap();
            let opened = world
                .catalogs
                .environment(&environment, None)
                .await
                .unwrap();
            assert_eq!(opened.environment, environment);
            assert_eq!(opened.code_id, code_id);
        }
    }
}

#[tokio::test]
async fn a_node_of_the_puppetserver_is_not_compiled_here() {
    let chosen = ChosenCompiler {
        compiler: CatalogCompiler::Puppetserver,
        reason: "uses termini".to_owned(),
    };
    let settings = CatalogSettings {
        choices: CompilerChoices {
            by_certname: [("n1".to_owned(), chosen)].into(),
            ..CompilerChoices::default()
        },
        ..CatalogSettings::default()
    };
    let world = World::new(settings).await;
    world.deploy('1', "notify { 'one': }");
    let error = world.compile("n1").await.unwrap_err();
    assert!(
        error.to_string().contains("names no [puppetserver]"),
        "{error}"
    );
    let keeping = CatalogRequest {
        keep_exports: true,
        ..request("n1")
    };
    let error = world.catalogs.compile(keeping).await.unwrap_err();
    assert!(error.to_string().contains("uses termini"), "{error}");
    world.compile("n2").await.unwrap();
}

#[tokio::test]
async fn a_node_group_chooses_the_compiler_of_its_nodes() {
    let chosen = |compiler, reason: &str| ChosenCompiler {
        compiler,
        reason: reason.to_owned(),
    };
    let native = chosen(CatalogCompiler::Native, "moved");
    let settings = CatalogSettings {
        choices: CompilerChoices {
            default: chosen(CatalogCompiler::Puppetserver, "not yet"),
            by_group: [("moved".to_owned(), native.clone())].into(),
            ..CompilerChoices::default()
        },
        ..CatalogSettings::default()
    };
    let world = World::new(settings).await;
    world.deploy('1', "notify { 'one': }");
    let rule = json!(["=", ["fact", "size"], "2"]);
    world.group(json!({"name": "moved", "rule": rule})).await;
    let compiled = world.compile("n1").await.unwrap();
    assert_eq!(compiled.compiler, native);
    assert!(world.compile("n10").await.is_err());

    // by the name alone: the known facts, and then those of the last request
    let production = "production".parse().unwrap();
    let reason = async |certname: &str| {
        let certname = certname.parse().unwrap();
        let chosen = world.catalogs.compiler_of_certname(&certname, &production);
        chosen.await.reason
    };
    assert_eq!(reason("n1").await, "moved");
    assert_eq!(reason("n10").await, "not yet");
    assert_eq!(reason("without.facts").await, "not yet");
    let n10 = "n10".parse().unwrap();
    world.catalogs.remember_groups(&n10, &["moved".to_owned()]);
    assert_eq!(reason("n10").await, "moved");
    world.catalogs.remember_groups(&n10, &[]);
    assert_eq!(reason("n10").await, "not yet");
}

#[tokio::test]
async fn errors_of_the_code_name_their_place() {
    let world = World::new(CatalogSettings::default()).await;
    let version = world.deploy('1', "notify { $unknown: }");
    let error = world.compile("n1").await.unwrap_err();
    let path = version.join("manifests/site.pp");
    let expected = format!(
        "Evaluation Error: Unknown variable: 'unknown'. (file: {}, line: 1, column: 10) on node n1",
        path.display()
    );
    assert_eq!(error.to_string(), expected);
}

#[tokio::test]
async fn exported_resources_are_collected_by_others_if_the_request_keeps_them() {
    let world = World::keeping_exports().await;
    let manifest = "@@notify { \"from ${trusted['certname']}\": } Notify <<| |>>";
    world.deploy('1', manifest);
    let titles = |compiled| {
        let notices = notices(&compiled).into_iter();
        notices.map(|it| it.0).collect::<Vec<_>>()
    };
    let keeping = |certname| CatalogRequest {
        keep_exports: true,
        ..request(certname)
    };
    assert_eq!(titles(world.compile("n1").await.unwrap()), ["from n1"]);
    assert_eq!(titles(world.compile("n2").await.unwrap()), ["from n2"]);
    world.catalogs.compile(keeping("n1")).await.unwrap();
    assert_eq!(
        titles(world.compile("n2").await.unwrap()),
        ["from n2", "from n1"]
    );
    world.deploy('2', "");
    world.catalogs.compile(keeping("n1")).await.unwrap();
    world.deploy('1', manifest);
    assert_eq!(titles(world.compile("n2").await.unwrap()), ["from n2"]);

    let without = World::new(CatalogSettings::default()).await;
    without.deploy('1', "");
    let error = without.catalogs.compile(keeping("n1")).await.unwrap_err();
    assert!(
        matches!(error, CatalogError::ExportsElsewhere { .. }),
        "{error}"
    );
}

/// The right to compile in one environment must not change the catalogs of others.
#[tokio::test]
async fn exported_resources_are_kept_only_from_the_nodes_own_catalog() {
    let world = World::keeping_exports().await;
    world.deploy('1', "Notify <<| |>>");
    world.write_version('2', "@@notify { 'of a version': }");
    let other = world.root.path().join("environments/other/manifests");
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(other.join("site.pp"), "@@notify { 'of other': }").unwrap();
    let keeping = CatalogRequest {
        keep_exports: true,
        ..request("n1")
    };
    let foreign = [
        CatalogRequest {
            environment: Some("other".parse().unwrap()),
            ..keeping.clone()
        },
        CatalogRequest {
            code_id: Some(code_id('2')),
            ..keeping.clone()
        },
        CatalogRequest {
            facts: json!({"kernel": "OpenBSD"}).as_object().cloned(),
            ..keeping.clone()
        },
    ];
    for request in foreign {
        let error = world.catalogs.compile(request).await.unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains("no environment other than production"),
            "{message}"
        );
    }
    assert!(notices(&world.compile("n2").await.unwrap()).is_empty());
    world.catalogs.compile(keeping).await.unwrap();
}
