//! Plans on real agents: their functions over real tasks, and their recovery when the server is
//! killed repeatedly.
//!
//! `TUTTI_PLANS_KILLS`, `TUTTI_PLANS_NODES` and `TUTTI_SEED` set the number of kills, the number of
//! nodes and the times.

use std::collections::BTreeMap;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

use crate::world::World;

const NODES: [&str; 2] = ["node0.test", "node1.test"];
const KILLS: u32 = 20;
/// Default number of nodes under the plans that are killed.
const KILLED_NODES: u64 = 2;
/// Number of concurrent plans.
const PLANS: usize = 6;
/// Longest pause between two kills, chosen so that they hit every step.
const PAUSE_MS_MAX: u64 = 900;
/// Long enough for a machine that compiles at the same time.
const DEADLINE: Duration = Duration::from_secs(240);

/// Appends its id to the ledger, once for each node and step.
const LEDGER: &str = r#"echo "$PT_id" >> "$PT_ledger"; sleep 0.1; echo '{"wrote": true}'"#;

/// Loops, branches, nested plans, caught errors, sleeps, futures, a prompt, and a command.
const EVERYTHING: &str = r#"
plan chaos(String $id, String $ledger, TargetSpec $nodes) {
  $loop = Integer[1, 3].map |$n| {
    run_task('ledger', $nodes, id => "${id}-loop${n}", ledger => $ledger).count
  }
  $side = parallelize(get_targets($nodes)) |$t| {
    ctrl::sleep(0.1)
    run_task('ledger', $nodes, id => "${id}-side-${t.name}", ledger => $ledger).names
  }
  $nested = run_plan('chaos::write', $nodes, id => "${id}-nested", ledger => $ledger)
  $caught = catch_errors() || { run_task('broken', $nodes, id => "${id}-broken", ledger => $ledger) }
  $later = background('later') || {
    run_task('ledger', $nodes, id => "${id}-later", ledger => $ledger).first['wrote']
  }
  ctrl::sleep(0.3)
  $answer = prompt('go on?')
  $done = wait($later)
  out::message("${id} is done")
  return [$loop, $side, $nested, $caught.kind, $answer, $done]
}
"#;

const WRITE: &str = r"
parameters:
  id: { type: String }
  ledger: { type: String }
  targets: { type: TargetSpec }
steps:
  - name: wrote
    task: ledger
    targets: $targets
    parameters: { id: $id, ledger: $ledger }
return: $wrote.names
";

impl World {
    pub(crate) fn plan_file(&self, path: &str, content: &str) {
        let modules = self
            .installation
            .code_dir()
            .join("environments/production/modules");
        let path = modules.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        let mode = if content.starts_with("#!") {
            0o755
        } else {
            0o644
        };
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(path, mode).unwrap();
    }

    pub(crate) async fn run_plan(&self, plan: &str, params: &Value) -> anyhow::Result<u64> {
        let body = json!({"plan_name": plan, "params": params});
        let answer = self
            .client
            .post("/orchestrator/v1/command/plan_run", &body)
            .await?;
        Ok(answer["name"].as_str().unwrap().parse()?)
    }

    /// Sends a change; returns the location of the created object.
    async fn made(&self, path: &str, body: &Value) -> String {
        let request = self.client.request(reqwest::Method::POST, path);
        let answer = request.json(body).send().await.unwrap();
        assert!(
            answer.status().is_success() || answer.status().is_redirection(),
            "{answer:?}"
        );
        let place = answer.headers().get("location");
        place
            .and_then(|it| it.to_str().ok())
            .unwrap_or_default()
            .to_owned()
    }

    /// A user with these permissions, logged in.
    async fn user(&self, login: &str, permissions: &Value) -> testkit::client::Client {
        let role = json!({
            "display_name": format!("role of {login}"), "description": "", "user_ids": [],
            "group_ids": [], "permissions": permissions,
        });
        let made = self.made("/rbac-api/v1/roles", &role).await;
        let role_id: i64 = made.rsplit('/').next().unwrap().parse().unwrap();
        let user = json!({
            "login": login, "email": "", "display_name": login, "password": "a long password 1",
            "role_ids": [role_id],
        });
        self.made("/rbac-api/v1/users", &user).await;
        self.client
            .login_as(login, "a long password 1")
            .await
            .unwrap()
    }

    /// Waits for the end of a plan job. The server may be down at times.
    pub(crate) async fn plan_over(&self, plan: u64) -> Value {
        let path = format!("/orchestrator/v1/plan_jobs/{plan}");
        let over = async {
            loop {
                match self.client.get(&path).await {
                    Ok(job) if job["state"] != "running" => return job,
                    _ => tokio::time::sleep(Duration::from_millis(50)).await,
                }
            }
        };
        let over = tokio::time::timeout(DEADLINE, over).await;
        over.unwrap_or_else(|_| panic!("plan job {plan} did not end"))
    }

    /// Answers the current prompt of the plan, if there is one.
    pub(crate) async fn answer(&self, plan: u64, answer: &str) -> anyhow::Result<()> {
        let path = format!("/orchestrator/v1/plan_jobs/{plan}/steps?state=waiting");
        let steps = self.client.get(&path).await?;
        for step in steps["items"].as_array().into_iter().flatten() {
            let body =
                json!({"plan_job": plan.to_string(), "step": step["step"], "answer": answer});
            self.client
                .post("/orchestrator/v1/command/plan_answer", &body)
                .await?;
        }
        Ok(())
    }
}

#[tokio::test]
async fn a_plan_acts_on_real_agents() {
    let world = World::start(&NODES).await;
    world.shell("greet", &["name"], r#"echo "{\"hello\": \"$PT_name\"}""#);
    let plan = r#"
plan site(TargetSpec $nodes, Sensitive[String] $pw) {
  $greeted = run_task('greet', $nodes, name => 'you')
  $said = run_command('echo "$WHO"; exit 3', 'node0.test', _env_vars => { 'WHO' => 'me' }, _catch_errors => true)
  upload_file('site/motd', "/tmp/tutti-plan-test-${greeted.count}", 'node1.test')
  $read = run_command("cat /tmp/tutti-plan-test-2; rm /tmp/tutti-plan-test-2", 'node1.test')
  $ran = run_script('site/say.sh', 'node1.test', arguments => ['a b'], _env_vars => { 'WHO' => 'me' })
  $wrote = write_file("a secret\n", '/tmp/tutti-plan-wrote', 'node0.test')
  $hid = write_file(Sensitive('hidden'), '/tmp/tutti-plan-hid', 'node0.test')
  $put_as = upload_file('site/motd', '/tmp/tutti-plan-theirs', 'node0.test', _run_as => 'nobody', _catch_errors => true)
  $theirs = run_command('stat -c %U /tmp/tutti-plan-theirs && rm /tmp/tutti-plan-theirs', 'node0.test', _catch_errors => true)
  $files = run_command(
    'cat /tmp/tutti-plan-wrote /tmp/tutti-plan-hid; stat -c %a /tmp/tutti-plan-wrote /tmp/tutti-plan-hid; rm /tmp/tutti-plan-wrote /tmp/tutti-plan-hid',
    'node0.test'
  )
  upload_file('site/app', '/tmp/tutti-plan-app', 'node0.test')
  $app = run_command('cd /tmp/tutti-plan-app && ./bin/run && stat -c %a bin etc/conf; rm -r /tmp/tutti-plan-app', 'node0.test')
  run_command('mkdir -p /tmp/tutti-plan-logs/a && echo one > /tmp/tutti-plan-logs/a/log', 'node0.test')
  $down = download_file('/tmp/tutti-plan-logs', 'logs', 'node0.test')
  run_command('rm -r /tmp/tutti-plan-logs', 'node0.test')
  $hidden = download_file('/etc/shadow', 'hidden', 'node0.test', _run_as => 'nobody', _catch_errors => true)
  $as_nobody = run_command('id -un', 'node0.test', _run_as => 'nobody', _catch_errors => true)
  $script_as = run_script('site/who.sh', 'node0.test', _run_as => 'nobody', _catch_errors => true)
  $no_one = run_command('id -un', 'node0.test', _run_as => 'no-such-user', _catch_errors => true)
  return({
    'files' => $files.first['stdout'],
    'down' => $down.first['path'],
    'hidden' => $hidden.first.ok,
    'app' => $app.first['merged_output'],
    'wrote' => $wrote.first.message,
    'as_nobody' => [$as_nobody.first['stdout'], $script_as.first['stdout'], $theirs.first['stdout']],
    'no_one' => $no_one.first.error.message =~ /there is no user "no-such-user"/,
    'greeted' => $greeted.map |$r| { $r['hello'] },
    'said' => $said.first['stdout'],
    'code' => $said.first.error.details['exit_code'],
    'read' => $read.first['stdout'],
    'ran' => $ran.first['stdout'],
    'known' => puppetdb_query('nodes[certname] { order by certname }').length,
    'there' => wait_until_available('all').ok,
    'globbed' => get_targets('node*').length,
    'pw' => $pw.unwrap.length,
  })
}"#;
    world.plan_file("site/plans/init.pp", plan);
    world.plan_file("site/files/motd", "welcome\n");
    world.plan_file(
        "site/files/app/bin/run",
        "#!/bin/sh\necho \"run of $(cat etc/conf)\"\n",
    );
    world.plan_file("site/files/app/etc/conf", "app");
    world.plan_file("site/files/who.sh", "#!/bin/sh\nid -un\n");
    world.plan_file("site/files/say.sh", "#!/bin/sh\necho \"$WHO said $1\"\n");
    let params = json!({"nodes": NODES, "pw": "s3cret"});
    let number = world.run_plan("site", &params).await.unwrap();
    let job = world.plan_over(number).await;
    assert_eq!(job["state"], "success", "{job:#}");
    // An agent that does not run as root cannot switch users, and reports that.
    let is_root = rustix::process::geteuid().is_root();
    let as_nobody = if is_root {
        json!(["nobody\n", "nobody\n", "nobody\n"])
    } else {
        json!([null, null, ""])
    };
    let downloaded = job["result"]["down"].as_str().unwrap_or_default();
    assert!(
        downloaded.ends_with(&format!(
            "/downloads/{number}/logs/node0.test/tutti-plan-logs"
        )),
        "{job:#}"
    );
    let log = std::path::Path::new(downloaded).join("a/log");
    assert_eq!(std::fs::read_to_string(log).unwrap(), "one\n");
    let expected = json!({
        "down": downloaded, "hidden": false,
        "greeted": ["you", "you"], "said": "me\n", "code": 3, "read": "welcome\n", "ran": "me said a b\n",
        "known": 2, "there": true, "globbed": 2, "pw": 6,
        "files": "a secret\nhidden644\n600\n", "app": "run of app\n755\n644\n", "wrote": "Uploaded 'content' to 'node0.test:/tmp/tutti-plan-wrote'",
        "as_nobody": as_nobody, "no_one": true,
    });
    assert_eq!(job["result"], expected);
    assert!(!job.to_string().contains("s3cret"), "{job:#}");
}

#[tokio::test]
async fn what_a_task_tells_in_secret_reaches_the_plan_after_a_kill_and_nobody_else() {
    // Assembled on the node, so that no code file contains it.
    const SECRET: &str = "canary-9d2e-hunter2";
    let mut world = World::start(&NODES).await;
    let secret = "word=hunter2; secret=\"canary-9d2e-$word\"";
    let tell = r#"echo "{\"_sensitive\": {\"pw\": \"$secret\"}}""#;
    world.shell("tell", &[], &format!("{secret}; {tell}"));
    let check = r#"[ "$PT_pw" = "$secret" ] && echo '{"right": true}'"#;
    world.shell("check", &["pw"], &format!("{secret}; {check}"));
    let plan = r#"
plan site() {
  $told = run_task('tell', 'node0.test')
  out::message("${told.first} ${told.first.sensitive}")
  prompt('go on?')
  $checked = run_task('check', 'node1.test', pw => Sensitive($told.first.sensitive.unwrap['pw']))
  return [$told, $checked.first['right']]
}"#;
    world.plan_file("site/plans/init.pp", plan);
    let number = world.run_plan("site", &json!({})).await.unwrap();
    let asks = format!("/orchestrator/v1/plan_jobs/{number}/steps?state=waiting");
    crate::world::until("the plan asks", || async {
        let steps = world.client.get(&asks).await.unwrap();
        steps["items"].as_array().is_some_and(|it| !it.is_empty())
    })
    .await;
    world.kill_server().await;
    world.start_server().await;
    world.client.connected(NODES.len()).await.unwrap();
    finish(&world, &[(number, "site".to_owned())]).await;
    let job = world.plan_over(number).await;
    assert_eq!(job["state"], "success", "{job:#}");
    assert_eq!(job["result"][1], true, "{job:#}");
    let redacted = "Sensitive [value redacted]";
    assert_eq!(job["result"][0][0]["value"]["_sensitive"], redacted);
    let mut shown = job.to_string();
    for path in [
        "jobs/1",
        "jobs/1/nodes",
        "jobs/1/events",
        "jobs/2",
        "jobs/2/events",
    ] {
        let answer = world.client.get(&format!("/orchestrator/v1/{path}")).await;
        shown += &answer.unwrap().to_string();
    }
    for path in ["steps", "events"] {
        let path = format!("/orchestrator/v1/plan_jobs/{number}/{path}");
        shown += &world.client.get(&path).await.unwrap().to_string();
    }
    shown += &world.server.as_ref().unwrap().log_text();
    assert!(!shown.contains(SECRET), "{shown}");
    let data = world.installation.data_dir();
    assert_eq!(
        crate::world::files_with(&data, SECRET),
        Vec::<std::path::PathBuf>::new()
    );
}

#[tokio::test]
async fn a_plan_has_the_rights_of_its_owner() {
    let world = World::start(&NODES[..1]).await;
    world.shell("greet", &[], "echo hello");
    let plan = "plan site() { return run_task('greet', 'node0.test').ok }";
    world.plan_file("site/plans/init.pp", plan);
    let ann = world
        .user(
            "ann",
            &json!([{"object_type": "plans", "action": "run", "instance": "*"}]),
        )
        .await;
    let body = json!({"plan_name": "site"});
    let answer = ann
        .post("/orchestrator/v1/command/plan_run", &body)
        .await
        .unwrap();
    let number = answer["name"].as_str().unwrap().parse().unwrap();
    let job = world.plan_over(number).await;
    assert_eq!(job["state"], "failure", "{job:#}");
    assert_eq!(
        job["result"]["kind"], "puppetlabs.orchestrator/not-permitted",
        "{job:#}"
    );
}

/// Push access to a branch is the right to write its plans, so these act only on nodes of their own
/// environment.
#[tokio::test]
async fn a_plan_of_another_branch_does_not_act_on_nodes_of_production() {
    let world = World::start(&NODES[..1]).await;
    let right = |kind: &str, instance: &str| json!({"object_type": kind, "action": "run", "instance": instance});
    let plan = "plan site() { return run_command('true', 'node0.test').ok }";
    world.plan_file("site/plans/init.pp", plan);
    let branch = world
        .installation
        .code_dir()
        .join("environments/branch/modules/site/plans");
    std::fs::create_dir_all(&branch).unwrap();
    std::fs::write(branch.join("init.pp"), plan).unwrap();
    let ann = json!([right("plans", "*"), right("tasks", "*")]);
    let ann = world.user("ann", &ann).await;
    let bob = json!([right("plans", "site@branch"), right("tasks", "*@branch")]);
    let bob = world.user("bob", &bob).await;
    let eve = json!([right("plans", "site"), right("tasks", "*@*")]);
    let eve = world.user("eve", &eve).await;
    for (who, user, environment, ok) in [
        ("ann", &ann, "production", true),
        ("ann", &ann, "branch", false),
        ("bob", &bob, "branch", true),
        // The plan of this user is restricted, although the tasks are not.
        ("eve", &eve, "branch", false),
        ("eve", &eve, "production", true),
    ] {
        let body = json!({"plan_name": "site", "environment": environment});
        let path = "/orchestrator/v1/command/plan_run";
        let answer = user.post(path, &body).await.unwrap();
        let job = world
            .plan_over(answer["name"].as_str().unwrap().parse().unwrap())
            .await;
        let state = if ok { "success" } else { "failure" };
        assert_eq!(job["state"], state, "{who} {environment}: {job:#}");
        if !ok {
            let kind = &job["result"]["kind"];
            assert_eq!(kind, "puppetlabs.orchestrator/not-permitted", "{job:#}");
        }
    }
    let body = json!({"plan_name": "site", "environment": "production"});
    let refused = bob.post("/orchestrator/v1/command/plan_run", &body).await;
    assert!(refused.is_err(), "the right is for the code of the branch");
}

/// A text in a plan's targets is a query or a node group only for an owner who may see those.
#[tokio::test]
async fn targets_of_a_plan_need_the_rights_of_its_owner_to_see_nodes() {
    let world = World::start(&NODES[..1]).await;
    let plan = "plan site(TargetSpec $nodes) { return get_targets($nodes).length }";
    world.plan_file("site/plans/init.pp", plan);
    let query = "plan site::query() { return puppetdb_query('nodes[certname] { }').length }";
    world.plan_file("site/plans/query.pp", query);
    let ann = world
        .user(
            "ann",
            &json!([{"object_type": "plans", "action": "run", "instance": "*"}]),
        )
        .await;
    let run = async |client: &testkit::client::Client, plan: &str, params: Value| {
        let body = json!({"plan_name": plan, "params": params});
        let path = "/orchestrator/v1/command/plan_run";
        let answer = client.post(path, &body).await.unwrap();
        let number = answer["name"].as_str().unwrap().parse().unwrap();
        world.plan_over(number).await
    };
    for (nodes, lacking) in [
        ("all", "nodes:view_data"),
        ("node*", "nodes:view_data"),
        ("nodes[certname] { certname ~ 'node' }", "nodes:view_data"),
        ("group:All Nodes", "node_groups:view"),
        ("group:there is none", "node_groups:view"),
    ] {
        let refused = run(&ann, "site", json!({"nodes": [nodes]})).await;
        assert_eq!(refused["state"], "failure", "{nodes}: {refused:#}");
        let msg = refused["result"]["msg"].as_str().unwrap();
        assert!(msg.contains(lacking), "{nodes}: {msg}");
    }
    let refused = run(&ann, "site::query", json!({})).await;
    assert_eq!(refused["state"], "failure", "{refused:#}");
    let named = run(&ann, "site", json!({"nodes": NODES[..1]})).await;
    assert_eq!(named["result"], 1, "a certname needs no right: {named:#}");
    let seen = run(&world.client, "site", json!({"nodes": "all"})).await;
    assert_eq!(seen["result"], 1, "{seen:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plans_end_as_if_nobody_had_killed_the_server() {
    let kills = setting("TUTTI_PLANS_KILLS").map_or(KILLS, |it| u32::try_from(it).unwrap());
    let nodes = setting("TUTTI_PLANS_NODES").unwrap_or(KILLED_NODES);
    let nodes: Vec<String> = (0..nodes).map(|n| format!("node{n}.test")).collect();
    let seed = setting("TUTTI_SEED").unwrap_or_else(|| rand::rng().random());
    println!("{kills} kills, {} nodes, TUTTI_SEED={seed}", nodes.len());
    let mut random = SmallRng::seed_from_u64(seed);
    let mut world = World::start(&[]).await;
    for name in &nodes {
        // Agents reconnect quickly, so that kills hit running steps and not absent nodes.
        world.start_agent(name, "reconnect-max-delay : 1\n").await;
    }
    world.client.connected(nodes.len()).await.unwrap();
    world.shell("ledger", &["id", "ledger"], LEDGER);
    world.shell("broken", &["id", "ledger"], &format!("{LEDGER}; exit 1"));
    world.plan_file("chaos/plans/init.pp", EVERYTHING);
    world.plan_file("chaos/plans/write.yaml", WRITE);
    let ledger = world.root().join("ledger");
    let mut under_way: Vec<(u64, String)> = Vec::new();
    let mut all: Vec<(u64, String)> = Vec::new();
    for kill in 0..kills {
        // A plan that starts fails at once on nodes that are not connected.
        if under_way.len() < PLANS {
            world.client.connected(nodes.len()).await.unwrap();
        }
        while under_way.len() < PLANS {
            let id = format!("p{}", all.len());
            let params = json!({"id": id, "ledger": ledger, "nodes": nodes});
            let number = world.run_plan("chaos", &params).await.unwrap();
            all.push((number, id.clone()));
            under_way.push((number, id));
        }
        let pause = random.random_range(0..PAUSE_MS_MAX);
        tokio::time::sleep(Duration::from_millis(pause)).await;
        // Some prompts are answered between two kills, some are not.
        for (plan, _) in &under_way {
            if random.random_bool(0.5) {
                world.answer(*plan, "yes").await.unwrap();
            }
        }
        world.kill_server().await;
        world.start_server().await;
        // Otherwise nothing would be done between many kills, and the plans would not advance.
        if random.random_bool(0.7) {
            world.client.connected(nodes.len()).await.unwrap();
        }
        let mut running = Vec::new();
        for (plan, id) in under_way {
            let job = world
                .client
                .get(&format!("/orchestrator/v1/plan_jobs/{plan}"))
                .await;
            if job.unwrap()["state"] == "running" {
                running.push((plan, id));
            }
        }
        under_way = running;
        if kill % 50 == 49 {
            println!("{} kills, {} plans", kill + 1, all.len());
        }
    }
    finish(&world, &under_way).await;
    let mut expected = BTreeMap::new();
    for (number, id) in &all {
        let job = world.plan_over(*number).await;
        assert_eq!(job["state"], "success", "{id}: {job:#}");
        assert_eq!(job["result"], result(&nodes), "{id}");
        expected.extend(written(id, &nodes));
    }
    let text = std::fs::read_to_string(&ledger).unwrap();
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for line in text.lines() {
        *found.entry(line.to_owned()).or_default() += 1;
    }
    assert_eq!(found, expected, "each step ran once on each node");
}

/// Answers prompts until all these plans are over.
async fn finish(world: &World, plans: &[(u64, String)]) {
    for (plan, id) in plans {
        let path = format!("/orchestrator/v1/plan_jobs/{plan}");
        let ended = async {
            while world.client.get(&path).await.unwrap()["state"] == "running" {
                world.answer(*plan, "yes").await.unwrap();
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let ended = tokio::time::timeout(DEADLINE, ended).await;
        ended.unwrap_or_else(|_| panic!("plan {id} did not end"));
    }
}

fn setting(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok();
    value.map(|it| it.parse().unwrap())
}

/// The result of the plan if it is not interrupted.
fn result(nodes: &[String]) -> Value {
    let count = nodes.len();
    json!([
        [count, count, count],
        vec![nodes; count],
        nodes,
        "bolt/run-failure",
        "yes",
        [true]
    ])
}

/// The lines that the plan writes, with their numbers.
fn written(id: &str, nodes: &[String]) -> BTreeMap<String, usize> {
    let mut steps: Vec<String> = (1..=3).map(|n| format!("loop{n}")).collect();
    steps.extend(nodes.iter().map(|node| format!("side-{node}")));
    steps.extend(["nested", "broken", "later"].map(str::to_owned));
    let lines = steps.into_iter().map(|step| format!("{id}-{step}"));
    lines.map(|line| (line, nodes.len())).collect()
}
