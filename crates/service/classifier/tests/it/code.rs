//! Known environments and classes: their source, and the state while it is unreachable.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use classifier::defaults::ENVIRONMENTS;
use classifier::{AnnounceError, ClassRefresh, ClassSource, ClassSourceError, PuppetClass};
use serde_json::Map;
use tokio::sync::{Mutex, Semaphore};

use crate::world::World;

testkit::both!(environments_are_announced_once_kept_and_taken_back);

/// Names of classes by environment; `None` for an environment that cannot be read.
type Told = BTreeMap<&'static str, Option<Vec<&'static str>>>;

#[derive(Debug)]
struct Fake {
    told: Mutex<Told>,
    /// Number of requests for the environments.
    asked: AtomicUsize,
    /// Permits for these requests; each takes one.
    gate: Semaphore,
}

impl Fake {
    fn new(told: Told) -> Arc<Self> {
        Arc::new(Self {
            told: Mutex::new(told),
            asked: AtomicUsize::new(0),
            gate: Semaphore::new(1_000),
        })
    }

    async fn tells(&self, environment: &'static str, classes: Option<Vec<&'static str>>) {
        self.told.lock().await.insert(environment, classes);
    }
}

fn away() -> ClassSourceError {
    ClassSourceError::Unreachable {
        url: "https://puppet".to_owned(),
        cause: "refused".to_owned(),
    }
}

#[async_trait]
impl ClassSource for Fake {
    async fn environments(&self) -> Result<Vec<String>, ClassSourceError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.gate.acquire().await.unwrap().forget();
        let told = self.told.lock().await;
        Ok(told.keys().map(|&name| name.to_owned()).collect())
    }

    async fn classes(&self, environment: &str) -> Result<Vec<PuppetClass>, ClassSourceError> {
        let told = self.told.lock().await;
        let unknown = || ClassSourceError::UnknownEnvironment(environment.to_owned());
        let names = told.get(environment).ok_or_else(unknown)?;
        let class = |name: &&str| PuppetClass {
            name: (*name).to_owned(),
            parameters: Map::new(),
        };
        let names = names.as_ref().ok_or_else(away)?;
        Ok(names.iter().map(class).collect())
    }
}

/// Known environments with their classes, and `true` for those that were read.
fn known(world: &World) -> Vec<(String, Vec<String>, bool)> {
    let known = world.classifier.known_code();
    let all = known.environments.iter();
    all.map(|(name, environment)| {
        let classes = environment.classes.iter();
        let classes = classes.map(|class| class.name.clone()).collect();
        (name.clone(), classes, environment.synced)
    })
    .collect()
}

fn entry(name: &str, classes: &[&str], synced: bool) -> (String, Vec<String>, bool) {
    let classes = classes.iter().map(|&class| class.to_owned()).collect();
    (name.to_owned(), classes, synced)
}

#[tokio::test]
async fn without_a_source_nothing_is_known_and_nothing_fails() {
    let world = World::new().await;
    world.classifier.update_classes(None).await.unwrap();
    world.classifier.update_classes(Some("x")).await.unwrap();
    assert_eq!(*world.classifier.known_code(), Default::default());
}

#[tokio::test]
async fn what_cannot_be_read_keeps_its_classes_and_is_marked() {
    let world = World::new().await;
    let (classifier, lists) = (&world.classifier, |names: &[&'static str]| {
        Some(names.to_vec())
    });
    let fake = Fake::new(BTreeMap::from([
        ("production", lists(&["b", "a"])),
        ("test", None),
    ]));
    classifier.set_class_source(Arc::clone(&fake) as Arc<dyn ClassSource>);
    assert_eq!(classifier.update_classes(None).await, Err(away()));
    let first = [
        entry("production", &["a", "b"], true),
        entry("test", &[], false),
    ];
    assert_eq!(known(&world), first);
    assert_eq!(classifier.known_code().last_update_ms, None, "not of all");
    fake.tells("test", lists(&["t"])).await;
    classifier.update_classes(Some("test")).await.unwrap();
    fake.tells("production", None).await;
    assert_eq!(classifier.update_classes(None).await, Err(away()));
    let second = [
        entry("production", &["a", "b"], false),
        entry("test", &["t"], true),
    ];
    assert_eq!(known(&world), second);
    fake.tells("production", lists(&["c"])).await;
    fake.told.lock().await.remove("test");
    classifier.update_classes(None).await.unwrap();
    assert_eq!(known(&world), [entry("production", &["c"], true)]);
    assert!(classifier.known_code().last_update_ms.is_some());
    let unknown = ClassSourceError::UnknownEnvironment("test".to_owned());
    assert_eq!(classifier.update_classes(Some("test")).await, Err(unknown));
}

#[tokio::test]
async fn many_who_ask_at_once_cause_one_more_reading() {
    let world = World::new().await;
    let fake = Fake::new(BTreeMap::from([("production", Some(vec!["a"]))]));
    fake.gate.forget_permits(1_000);
    let source = Arc::clone(&fake);
    world.classifier.set_class_source(source);
    let ask = || {
        let classifier = world.classifier.clone();
        tokio::spawn(async move { classifier.update_classes(None).await })
    };
    let first = ask();
    while fake.asked.load(Ordering::Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
    let others: Vec<_> = (0..20).map(|_| ask()).collect();
    // Lets these tasks run until they wait.
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    fake.gate.add_permits(1_000);
    first.await.unwrap().unwrap();
    for other in others {
        other.await.unwrap().unwrap();
    }
    assert_eq!(fake.asked.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn classes_are_read_at_the_start_and_every_now_and_then_until_the_end() {
    let world = World::new().await;
    let fake = Fake::new(BTreeMap::from([("production", Some(vec!["a"]))]));
    fake.gate.forget_permits(1_000);
    let source = Arc::clone(&fake);
    world.classifier.set_class_source(source);
    let refresh = ClassRefresh::start(world.classifier.clone(), Duration::from_millis(1));
    fake.gate.add_permits(3);
    // The fourth reading waits at the gate.
    while fake.asked.load(Ordering::Relaxed) < 4 {
        tokio::task::yield_now().await;
    }
    assert_eq!(known(&world), [entry("production", &["a"], true)]);
    fake.tells("production", Some(vec!["b"])).await;
    refresh.shutdown().await;
    fake.gate.add_permits(1);
    assert_eq!(known(&world), [entry("production", &["a"], true)]);
    assert_eq!(fake.asked.load(Ordering::Relaxed), 4);
}

async fn environments_are_announced_once_kept_and_taken_back() {
    let world = World::new().await;
    assert!(
        world
            .classifier
            .announce_environment("staging")
            .await
            .unwrap()
    );
    assert!(
        !world
            .classifier
            .announce_environment("staging")
            .await
            .unwrap()
    );
    for bad in [
        "",
        "Prod",
        "a/b",
        "..",
        "a b",
        "agent-specified",
        "ä",
        &"a".repeat(2_000),
    ] {
        let refused = world.classifier.announce_environment(bad).await;
        assert!(matches!(refused, Err(AnnounceError::Name)), "{bad:?}");
    }
    let world = world.restarted().await;
    let classifier = &world.classifier;
    assert_eq!(
        classifier.announced_environments().await.unwrap(),
        ["staging"]
    );
    for i in 1..ENVIRONMENTS {
        assert!(
            classifier
                .announce_environment(&format!("e{i}"))
                .await
                .unwrap()
        );
    }
    let refused = classifier.announce_environment("more").await;
    assert!(matches!(refused, Err(AnnounceError::TooMany)));
    assert!(
        !classifier.announce_environment("e1").await.unwrap(),
        "there"
    );
    assert!(classifier.withdraw_environment("e1").await.unwrap());
    assert!(!classifier.withdraw_environment("e1").await.unwrap());
    assert!(classifier.announce_environment("more").await.unwrap());
}
