//! `apply` and its relatives in plans, on three real agents with the Puppet of this machine.
//!
//! The tests are skipped with a message if there is no Puppet.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::world::{self, World};

const NODES: [&str; 3] = ["node0.test", "node1.test", "node2.test"];

/// Steps of the plan that is killed, each of which applies one catalog to each node.
const STEPS: usize = 4;

/// True if this machine has the library of Puppet, as the task finds it.
fn has_puppet() -> bool {
    let rubies = ["/opt/puppetlabs/puppet/bin/ruby", "/usr/bin/ruby"];
    let found = rubies.iter().find(|ruby| Path::new(ruby).exists());
    let loads = found.is_some_and(|ruby| {
        let mut command = std::process::Command::new(ruby);
        let status = command.args(["-e", "require 'puppet'"]).status();
        status.is_ok_and(|status| status.success())
    });
    if !loads {
        println!("skipped: there is no Puppet on this machine");
    }
    loads
}

/// Runs a plan to its end.
async fn run(world: &World, plan: &str, params: Value) -> Value {
    let number = world.run_plan(plan, &params).await.unwrap();
    world.plan_over(number).await
}

async fn start_world() -> World {
    let mut world = World::start(&[]).await;
    for name in NODES {
        // Agents reconnect quickly, so that a restart does not find absent nodes.
        world.start_agent(name, "reconnect-max-delay : 1\n").await;
    }
    world.client.connected(NODES.len()).await.unwrap();
    world
}

/// Answers of the API and files of the server that contain a text.
async fn places_with(world: &World, plan: u64, text: &str) -> Vec<String> {
    let mut paths: Vec<String> = ["", "/steps", "/events"]
        .map(|part| format!("plan_jobs/{plan}{part}"))
        .to_vec();
    let jobs = world.client.get("/orchestrator/v1/jobs").await.unwrap();
    for job in jobs["items"].as_array().unwrap() {
        let name = job["name"].as_str().unwrap();
        paths.extend(["", "/nodes", "/events", "/report"].map(|part| format!("jobs/{name}{part}")));
    }
    let mut found = Vec::new();
    for path in paths {
        let answer = world.client.get(&format!("/orchestrator/v1/{path}")).await;
        if answer.unwrap().to_string().contains(text) {
            found.push(path);
        }
    }
    let files = world::files_with(&world.installation.data_dir(), text);
    found.extend(files.iter().map(|path| path.display().to_string()));
    if world.server.as_ref().unwrap().log_text().contains(text) {
        found.push("log".to_owned());
    }
    found
}

#[tokio::test]
async fn a_block_is_compiled_for_each_target_and_applied_there() {
    if !has_puppet() {
        return;
    }
    // In no file, so that it is only where the server stores it.
    let secret = ["canary", "5f1c", "hunter2"].join("-");
    let world = start_world().await;
    let directory = world.root().join("applied");
    std::fs::create_dir(&directory).unwrap();
    world.plan_file(
        "profile/manifests/motd.pp",
        "class profile::motd (String $text) {\n  file { \"${facts['base']}/motd\": content => $text }\n}\n",
    );
    world.plan_file(
        "site/plans/init.pp",
        r#"
plan site(TargetSpec $nodes, String $directory, Sensitive[String] $pw) {
  $prepared = apply_prep($nodes)
  get_targets($nodes).each |$target| {
    set_var($target, 'own', "of ${target.name}")
    add_facts($target, { 'base' => "${directory}/${target.name}" })
  }
  $results = apply($nodes, _description => 'the files') {
    $place = "${directory}/${trusted['certname']}"
    file { $place: ensure => directory }
    -> file { "${place}/own": content => "${own} ${facts['kernel']}\n", mode => '0600' }
    -> file { "${place}/secret": content => $pw }
    class { 'profile::motd': text => "welcome\n", require => File[$place] }
  }
  $again = apply($nodes) { include stdlib_free }
  return({
    'prepared' => [$prepared.ok, $prepared.count],
    'kernel' => get_target('node0.test').facts['kernel'],
    'actions' => $results.map |$it| { [$it.action, $it.ok, $it.report['status'], $it.target.name] },
    'message' => $results.first.message,
    'changed' => $results.first.report['resource_statuses']["File[${directory}/node0.test/own]"]['changed'],
    'is' => [$results =~ ResultSet, $results.first =~ ApplyResult],
    'again' => $again.map |$it| { $it.report['status'] },
  })
}"#,
    );
    world.plan_file(
        "stdlib_free/manifests/init.pp",
        "class stdlib_free { notify { 'n': message => 'm', loglevel => debug } }\n",
    );
    let params = json!({"nodes": NODES, "directory": directory, "pw": secret});
    let number = world.run_plan("site", &params).await.unwrap();
    let job = world.plan_over(number).await;
    assert_eq!(job["state"], "success", "{job:#}");
    let result = &job["result"];
    assert_eq!(result["prepared"], json!([true, 3]), "{result:#}");
    assert_eq!(result["kernel"], "Linux");
    let actions = NODES.map(|node| json!(["apply", true, "changed", node]));
    assert_eq!(result["actions"], json!(actions));
    let message = result["message"].as_str().unwrap();
    assert!(
        message.starts_with("changed: 4, failed: 0, unchanged: "),
        "{message}"
    );
    assert_eq!(result["changed"], true);
    assert_eq!(result["is"], json!([true, true]));
    assert_eq!(result["again"], json!(["changed", "changed", "changed"]));
    for node in NODES {
        let read = |file: &str| std::fs::read_to_string(directory.join(node).join(file)).unwrap();
        assert_eq!(read("own"), format!("of {node} Linux\n"));
        assert_eq!(read("secret"), secret);
        assert_eq!(read("motd"), "welcome\n");
    }
    assert_eq!(
        places_with(&world, number, &secret).await,
        Vec::<String>::new()
    );
    let steps = format!("/orchestrator/v1/plan_jobs/{number}/steps");
    let steps = world.client.get(&steps).await.unwrap();
    let steps = steps["items"].as_array().unwrap();
    let kinds = steps.iter().filter_map(|step| step["type"].as_str());
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    for kind in kinds {
        *numbers.entry(kind).or_default() += 1;
    }
    assert_eq!(
        (numbers.get("apply"), numbers.get("apply_prep")),
        (Some(&2), Some(&1)),
        "one step for each block: {numbers:?}"
    );
    world.stop().await;
}

#[tokio::test]
async fn types_facts_and_files_of_modules_are_sent_with_the_task() {
    if !has_puppet() {
        return;
    }
    let world = start_world().await;
    let directory = world.root().join("applied");
    std::fs::create_dir(&directory).unwrap();
    world.plan_file(
        "m/lib/puppet/type/marker.rb",
        "Puppet::Type.newtype(:marker) do\n  newparam(:path, namevar: true)\n  newproperty(:text) do\n    \
         def retrieve = File.exist?(resource[:path]) ? PuppetX::Marker.read(resource[:path]) : nil\n    \
         def insync?(is) = is == should\n    def set(value) = File.write(resource[:path], value)\n  end\nend\n\
         require 'puppet_x/marker'\n",
    );
    world.plan_file(
        "m/lib/puppet_x/marker.rb",
        "module PuppetX\n  module Marker\n    def self.read(path) = File.read(path)\n  end\nend\n",
    );
    world.plan_file(
        "m/lib/puppet/functions/m/shout.rb",
        "Puppet::Functions.create_function(:'m::shout') do\n  dispatch(:shout) { param 'String', :s }\n  \
         def shout(s) = s.upcase\nend\n",
    );
    world.plan_file(
        "m/lib/facter/shelf.rb",
        "Facter.add(:shelf) { setcode { 'seven' } }\n",
    );
    world.plan_file(
        "other/lib/facter/other.rb",
        "Facter.add(:other) { setcode { 'o' } }\n",
    );
    world.plan_file("m/facts.d/rack.sh", "#!/bin/sh\necho rack=r7\n");
    world.plan_file("m/facts.d/zone.txt", "zone=z1\n");
    world.plan_file("m/files/etc/motd", "from the module\n");
    world.plan_file("m/files/tree/a/b", "deep\n");
    world.plan_file(
        "site/plans/init.pp",
        r#"
plan site(TargetSpec $nodes, String $directory) {
  apply_prep($nodes, '_required_modules' => ['m'])
  if get_targets($nodes).any |$it| { $it.facts['other'] != undef } {
    fail_plan('facts of a module that is not required')
  }
  apply_prep(get_targets($nodes)[0])
  return apply($nodes) {
    $place = "${directory}/${trusted['certname']}"
    file { $place: ensure => directory }
    -> marker { "${place}/marker": text => m::shout("shelf ${facts['shelf']} ${facts['rack']} ${facts['zone']}") }
    -> file { "${place}/motd": source => 'puppet:///modules/m/etc/motd' }
    -> file { "${place}/tree": ensure => directory, recurse => true, source => 'puppet:///modules/m/tree' }
  }.map |$it| { [$it.report['status'], $it.report['host']] }
}"#,
    );
    let params = json!({"nodes": NODES, "directory": directory});
    let job = run(&world, "site", params).await;
    assert_eq!(job["state"], "success", "{job:#}");
    assert_eq!(job["result"], json!(NODES.map(|node| ["changed", node])));
    for node in NODES {
        let read = |file: &str| std::fs::read_to_string(directory.join(node).join(file)).unwrap();
        assert_eq!(read("marker"), "SHELF SEVEN R7 Z1");
        assert_eq!(read("motd"), "from the module\n");
        assert_eq!(read("tree/a/b"), "deep\n");
    }
    world.stop().await;
}

#[tokio::test]
async fn errors_and_noop_are_those_of_each_target() {
    if !has_puppet() {
        return;
    }
    let world = start_world().await;
    let directory = world.root().join("applied");
    std::fs::create_dir(&directory).unwrap();
    world.plan_file(
        "site/plans/init.pp",
        r#"
plan site(TargetSpec $nodes, String $directory) {
  $set = apply($nodes, _catch_errors => true) {
    if $trusted['certname'] == 'node1.test' {
      fail('not here')
    }
    $place = $trusted['certname'] ? { 'node2.test' => '/no/such/directory', default => $directory }
    file { "${place}/file": content => 'x' }
  }
  $noop = apply('node0.test', _noop => true) { file { "${directory}/noop": content => 'x' } }
  $user = apply('node0.test', _run_as => 'nobody', _catch_errors => true) {
    exec { 'who': command => '/usr/bin/id -un', logoutput => true }
  }
  return([
    $user.first.ok ? { true => $user.first.report['logs'].map |$it| { $it['message'] }, default => $user.first.error.msg },
    $set.map |$it| { if $it.ok { [true] } else { [false, $it.error.kind, $it.error.msg] } },
    [$noop.first.report['noop'], $noop.first.report['status'], $noop.first.message],
  ])
}"#,
    );
    world.plan_file(
        "site/plans/fails.pp",
        "plan site::fails() { apply('node0.test') {\n  include missing\n} }",
    );
    let params = json!({"nodes": NODES, "directory": directory});
    let job = run(&world, "site", params).await;
    assert_eq!(job["state"], "success", "{job:#}");
    let [user, set, noop] = [0, 1, 2].map(|index| &job["result"][index]);
    // An agent that does not run as root cannot switch users, and reports that.
    match rustix::process::geteuid().is_root() {
        true => assert!(user.to_string().contains("nobody"), "{user:#}"),
        false => assert!(user.is_string(), "{user:#}"),
    }
    assert_eq!(set[0], json!([true]), "{set:#}");
    assert_eq!(set[1][1], "bolt/apply-error", "{set:#}");
    let msg = set[1][2].as_str().unwrap();
    assert!(
        msg.starts_with("Apply failed to compile for node1.test: ")
            && msg.contains("not here (file: ")
            && msg.contains("site/plans/init.pp, line: 5, column: 7) on node node1.test"),
        "{msg}"
    );
    assert_eq!(set[2][1], "bolt/resource-failure", "{set:#}");
    let msg = set[2][2].as_str().unwrap();
    assert!(
        msg.starts_with(
            "Resources failed to apply for node2.test\n  File[/no/such/directory/file]: "
        ),
        "{msg}"
    );
    assert_eq!(noop[0], true, "{noop}");
    assert!(!directory.join("noop").exists());
    assert!(directory.join("file").exists());
    let job = run(&world, "site::fails", json!({})).await;
    assert_eq!(job["result"]["kind"], "bolt/apply-failure", "{job:#}");
    let msg = job["result"]["msg"].as_str().unwrap();
    assert!(msg.contains("Could not find class ::missing"), "{msg}");
    world.stop().await;
}

#[tokio::test]
async fn resources_of_nodes_are_read_and_those_of_yaml_plans_applied() {
    if !has_puppet() {
        return;
    }
    let world = start_world().await;
    let file = world.root().join("from-yaml");
    world.plan_file(
        "site/plans/files.yaml",
        "parameters:\n  file: { type: String }\nsteps:\n  - resources:\n      - type: file\n        title: $file\n        \
         parameters: { content: \"made\" }\n      - notify: done\n    targets: node0.test\n    name: applied\n\
         return: $applied\n",
    );
    world.plan_file(
        "site/plans/init.pp",
        r"
plan site(String $file) {
  $found = get_resources('node0.test', [File[$file], 'User[root]'])
  $target = get_target('node0.test')
  $target.set_resources($found.first['resources'])
  return([
    $found.first['resources'].map |$it| { [$it['type'], $it['title'], $it['parameters']['ensure']] },
    $target.resource('File', $file)['ensure'], $target.resources.keys, $target.resource(User, 'none'),
  ])
}",
    );
    let job = run(&world, "site::files", json!({"file": file})).await;
    assert_eq!(job["state"], "success", "{job:#}");
    assert_eq!(
        job["result"][0]["value"]["report"]["status"], "changed",
        "{job:#}"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "made");
    let job = run(&world, "site", json!({"file": file})).await;
    let name = file.to_str().unwrap();
    let expected = json!([
        [["File", name, "file"], ["User", "root", "present"]],
        "file",
        [format!("File[{name}]"), "User[root]"],
        null,
    ]);
    assert_eq!(job["result"], expected, "{job:#}");
    world.stop().await;
}

#[tokio::test]
async fn each_catalog_is_applied_once_whenever_the_server_is_killed() {
    if !has_puppet() {
        return;
    }
    let mut world = start_world().await;
    let ledger = world.root().join("ledger");
    std::fs::write(&ledger, "").unwrap();
    world.plan_file(
        "site/plans/init.pp",
        r#"
plan site(TargetSpec $nodes, String $ledger, Integer $steps) {
  return Integer[1, $steps].map |$step| {
    $set = apply($nodes) {
      exec { 'write':
        command => "/bin/sh -c 'echo ${step} ${trusted['certname']} >> ${ledger}; sleep 0.5'",
      }
    }
    $set.map |$it| { $it.report['status'] }
  }
}"#,
    );
    let params = json!({"nodes": NODES, "ledger": ledger, "steps": STEPS});
    let number = world.run_plan("site", &params).await.unwrap();
    for kill in 0..STEPS {
        // The first node of a step has begun, others may be about to begin.
        let lines = kill * NODES.len() + 1;
        world::until(&format!("{lines} lines"), || async {
            written(&ledger).len() >= lines
        })
        .await;
        world.kill_server().await;
        world.start_server().await;
    }
    let job = world.plan_over(number).await;
    assert_eq!(job["state"], "success", "{job:#}");
    let each = json!(["changed", "changed", "changed"]);
    assert_eq!(job["result"], json!(vec![each; STEPS]));
    let mut lines = written(&ledger);
    lines.sort();
    let expected = (1..=STEPS).flat_map(|step| NODES.map(|node| format!("{step} {node}")));
    assert_eq!(lines, expected.collect::<Vec<_>>());
    world.stop().await;
}

fn written(ledger: &PathBuf) -> Vec<String> {
    let text = std::fs::read_to_string(ledger).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Runs Ruby code within the common part of the tasks; returns what a node would print.
fn run_helper(code: &str) -> Value {
    use std::process::{Command, Stdio};
    let helper = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../modules/apply_helpers/files/apply_helper.rb"
    );
    let program = format!("require '{helper}'; ApplyHelper.run {{ |_, _| {code} }}");
    let mut command = Command::new("ruby");
    command.args(["-e", &program]).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"{}").unwrap();
    let output = child.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_task_returns_json_whatever_a_node_has() {
    if !has_puppet() {
        return;
    }
    let printed = run_helper(r#"[{ "latin\xe9" => ["caf\xe9".b, "ü", 1, nil] }, true]"#);
    assert_eq!(
        printed,
        json!({"latin\u{fffd}": ["caf\u{fffd}", "ü", 1, null]})
    );
    // a library that a provider lacks is not a node without Puppet
    let printed = run_helper("require 'puppet_x/missing'");
    let msg = printed["_error"]["msg"].as_str().unwrap();
    assert!(msg.contains("puppet_x/missing"), "{printed}");
}
