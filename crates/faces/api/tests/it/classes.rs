//! The classifier's routes of environments and classes.

use std::sync::Arc;
use std::sync::Mutex;

use async_trait::async_trait;
use classifier::defaults::ENVIRONMENTS;
use classifier::{ClassSource, ClassSourceError, PuppetClass};
use http::StatusCode;
use serde_json::{Value, json};

use crate::world::{Reply, World};

const BASE: &str = "/classifier-api/v1";

/// A class source with one class in `production` and in `elsewhere`, or an error.
#[derive(Debug, Default)]
struct Fake {
    error: Mutex<Option<ClassSourceError>>,
}

#[async_trait]
impl ClassSource for Fake {
    async fn environments(&self) -> Result<Vec<String>, ClassSourceError> {
        Ok(vec!["elsewhere".to_owned(), "production".to_owned()])
    }

    async fn classes(&self, environment: &str) -> Result<Vec<PuppetClass>, ClassSourceError> {
        if let Some(error) = self.error.lock().expect("whole").clone() {
            return Err(error);
        }
        if !["elsewhere", "production"].contains(&environment) {
            return Err(ClassSourceError::UnknownEnvironment(environment.to_owned()));
        }
        let parameters = json!({"port": 80, "docroot": "$apache::params::docroot", "name": null});
        let Value::Object(parameters) = parameters else {
            unreachable!("an object")
        };
        Ok(vec![PuppetClass {
            name: "apache".to_owned(),
            parameters,
        }])
    }
}

fn sourced(world: &World) -> Arc<Fake> {
    let fake = Arc::new(Fake::default());
    world
        .state
        .classifier
        .set_class_source(Arc::clone(&fake) as Arc<dyn ClassSource>);
    fake
}

/// Adds environments and classes, so that every route has something to return.
pub(crate) async fn prepare(world: &World) {
    sourced(world);
    let classifier = &world.state.classifier;
    classifier.update_classes(None).await.expect("read");
    let announced = classifier.announce_environment("announced").await;
    announced.expect("announced");
}

async fn send(world: &World, method: &str, path: &str) -> Reply {
    let request = world.request(method, &format!("{BASE}{path}"), String::new());
    world.send(request).await
}

async fn ok(world: &World, path: &str) -> Value {
    let reply = send(world, "GET", path).await;
    assert_eq!(reply.status, StatusCode::OK, "{path}: {}", reply.text());
    reply.json()
}

#[tokio::test]
async fn without_a_puppetserver_environments_are_those_of_the_directory_and_no_class_is_known() {
    let world = World::new().await;
    let production = json!({"name": "production", "sync_succeeded": true});
    assert_eq!(ok(&world, "/environments").await, json!([production]));
    assert_eq!(ok(&world, "/environments/production").await, production);
    for path in ["/classes", "/environments/production/classes"] {
        assert_eq!(ok(&world, path).await, json!([]), "{path}");
    }
    let updated = send(&world, "POST", "/update-classes").await;
    assert_eq!(
        (updated.status, updated.body.len()),
        (StatusCode::CREATED, 0)
    );
    let last = ok(&world, "/last-class-update").await;
    assert_eq!(last, json!({"last_update": null}));
}

#[tokio::test]
async fn classes_of_a_puppetserver_are_listed_with_their_defaults() {
    let world = World::new().await;
    sourced(&world);
    let unread = json!({"name": "production", "sync_succeeded": false});
    assert_eq!(ok(&world, "/environments").await, json!([unread]));
    assert_eq!(ok(&world, "/classes").await, json!([]), "not read yet");
    let updated = send(&world, "POST", "/update-classes").await;
    assert_eq!(updated.status, StatusCode::CREATED);
    let class = |environment: &str| {
        json!({"name": "apache", "environment": environment, "parameters":
            {"port": 80, "docroot": "$apache::params::docroot", "name": null}})
    };
    let all = json!([class("elsewhere"), class("production")]);
    assert_eq!(ok(&world, "/classes").await, all);
    let of = ok(&world, "/environments/elsewhere/classes").await;
    assert_eq!(of, json!([class("elsewhere")]));
    let one = ok(&world, "/environments/production/classes/apache").await;
    assert_eq!(one, class("production"));
    let environments = ok(&world, "/environments").await;
    let read = |name: &str| json!({"name": name, "sync_succeeded": true});
    assert_eq!(environments, json!([read("elsewhere"), read("production")]));
    let last = ok(&world, "/last-class-update").await;
    assert!(last["last_update"].is_string(), "{last}");
    let one = send(&world, "POST", "/update-classes?environment=production").await;
    assert_eq!(one.status, StatusCode::CREATED);
}

#[tokio::test]
async fn environments_are_announced_and_taken_back() {
    let world = World::new().await;
    let staging = json!({"name": "staging", "sync_succeeded": false});
    for _ in 0..2 {
        let made = send(&world, "PUT", "/environments/staging").await;
        assert_eq!(made.status, StatusCode::CREATED, "{}", made.text());
        assert_eq!(made.json(), staging);
    }
    assert_eq!(ok(&world, "/environments/staging").await, staging);
    let classes = ok(&world, "/environments/staging/classes").await;
    assert_eq!(classes, json!([]));
    // Announcing an environment that has code changes nothing.
    let production = send(&world, "PUT", "/environments/production").await;
    let expected = json!({"name": "production", "sync_succeeded": true});
    assert_eq!(production.json(), expected);
    for name in ["staging", "production"] {
        let gone = send(&world, "DELETE", &format!("/environments/{name}")).await;
        assert_eq!(gone.status, StatusCode::NO_CONTENT);
    }
    assert_eq!(ok(&world, "/environments").await, json!([expected]));
}

#[tokio::test]
async fn what_is_wrong_with_environments_and_classes_is_named() {
    let world = World::new().await;
    let fake = sourced(&world);
    let cases = [
        ("GET", "/environments/none", 404, "not-found"),
        ("GET", "/environments/none/classes", 404, "not-found"),
        ("GET", "/environments/none/classes/apache", 404, "not-found"),
        (
            "GET",
            "/environments/production/classes/none",
            404,
            "not-found",
        ),
        ("PUT", "/environments/Upper", 400, "schema-violation"),
        ("PUT", "/environments/..%2fx", 400, "schema-violation"),
        ("DELETE", "/environments/production", 404, "not-found"),
        ("POST", "/update-classes?environment=none", 404, "not-found"),
    ];
    for (method, path, status, kind) in cases {
        let reply = send(&world, method, path).await;
        let seen = (reply.status.as_u16(), reply.kind());
        assert_eq!(seen, (status, kind.to_owned()), "{method} {path}");
    }
    let url = "https://puppet:8140/puppet/v3/environment_classes?environment=production";
    let fails = async |error| {
        *fake.error.lock().expect("whole") = Some(error);
        send(&world, "POST", "/update-classes").await
    };
    let reply = fails(ClassSourceError::Unexpected {
        url: url.to_owned(),
        status: 403,
        body: "Forbidden request".to_owned(),
    });
    let reply = reply.await;
    assert_eq!(reply.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(reply.kind(), "unexpected-response");
    let details = json!({"url": url, "status": 403, "body": "Forbidden request"});
    assert_eq!(reply.json()["details"], details);
    let reply = fails(ClassSourceError::Unreachable {
        url: url.to_owned(),
        cause: "connection refused".to_owned(),
    });
    let reply = reply.await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(reply.kind(), "classes-unavailable");
    let classifier = &world.state.classifier;
    for i in 0..ENVIRONMENTS {
        let made = classifier.announce_environment(&format!("e{i}")).await;
        made.expect("announced");
    }
    let more = send(&world, "PUT", "/environments/more").await;
    assert_eq!(more.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(more.kind(), "environment-limit");
}
