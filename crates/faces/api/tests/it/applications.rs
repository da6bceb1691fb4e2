//! The lists of the applications of an environment.

use http::StatusCode;
use serde_json::{Value, json};

use crate::matrix::{NOBODY, VIEWERS, member};
use crate::world::World;

const SITE: &str = "
capability sql(String $host) { }
capability http(Integer $port) { }
define db(String $host) { }
Db produces Sql { }
define web(String $host, Integer $port) { }
Web consumes Sql { }
Web produces Http { }
define lb { }
application lamp($size = 2, $password = Sensitive('hunter2'), Optional[Sensitive[String]] $key = undef) {
  lb { \"${name}-lb\": require => Http[$name] }
  web { \"${name}-[1]\": port => 80, consume => Sql['shared'], export => Http[$name] }
}
application base { db { 'main': host => 'db.example.com', export => Sql['shared'] } }
site {
  lamp { 'one': nodes => { Node['lb'] => Lb['one-lb'], Node['web'] => Web['one-[1]'] } }
  base { 'b': nodes => { Node['db'] => Db['main'] } }
}
";
const APPLICATIONS: &str = "/orchestrator/v1/environments/production/applications";
const RUN_ORDER: &str = "/orchestrator/v1/environments/production/run_order";
const INSTANCES: &str = "/orchestrator/v1/environments/production/instances";

async fn world() -> World {
    let world = World::new().await;
    let environment = world.dir.path().join("code/environments/production");
    let manifests = environment.join("manifests");
    std::fs::create_dir_all(&manifests).expect("a directory");
    std::fs::write(manifests.join("site.pp"), SITE).expect("written");
    let conf = environment.join("environment.conf");
    std::fs::write(conf, "applications = true\n").expect("written");
    world
}

#[tokio::test]
async fn applications_are_listed_without_defaults_that_could_be_secrets() {
    let world = world().await;
    let list = world.ok(APPLICATIONS).await;
    assert!(!list.to_string().contains("hunter2"), "{list}");
    let items = list["items"].as_array().expect("a list");
    let names: Vec<&Value> = items.iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["base", "lamp"]);
    assert_eq!(items[0]["parameters"], json!({}));
    let redacted = "Sensitive [value redacted]";
    let parameters = json!({"size": "2", "password": redacted, "key": redacted});
    assert_eq!(items[1]["parameters"], parameters);
    assert_eq!(items[1]["line"], 10);
    let file = items[1]["file"].as_str().expect("a path");
    assert!(file.ends_with("/manifests/site.pp"), "{file}");
}

#[tokio::test]
async fn instances_and_components_are_listed_after_those_that_they_wait_for() {
    let world = world().await;
    let list = world.ok(INSTANCES).await;
    let db = json!({"type": "Db", "title": "main", "node": "db", "produces": ["Sql[shared]"],
        "consumes": []});
    let web = json!({"type": "Web", "title": "one-[1]", "node": "web", "produces": ["Http[one]"],
        "consumes": ["Sql[shared]"]});
    let lb = json!({"type": "Lb", "title": "one-lb", "node": "lb", "produces": [],
        "consumes": ["Http[one]"]});
    let expected = json!([
        {"type": "Base", "title": "b", "components": [db]},
        {"type": "Lamp", "title": "one", "components": [web, lb]},
    ]);
    assert_eq!(list["items"], expected);
}

#[tokio::test]
async fn the_lists_need_the_permission_to_view() {
    let mut world = world().await;
    for (role, status) in [(NOBODY, StatusCode::FORBIDDEN), (VIEWERS, StatusCode::OK)] {
        world.token = member(&world, role).await;
        for path in [APPLICATIONS, INSTANCES] {
            let reply = world.get(path).await;
            assert_eq!(reply.status, status, "{path}: {}", reply.text());
        }
        let reply = world
            .post(RUN_ORDER, json!({"scope": {"nodes": ["a"]}}).to_string())
            .await;
        assert_eq!(reply.status, status, "{}", reply.text());
    }
}
