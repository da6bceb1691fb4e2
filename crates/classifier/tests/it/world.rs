//! What every test owns: a store in a directory, a classifier over it, and short ways to say groups.

use classifier::{
    Classifier, EditError, Edited, GroupDelta, GroupId, GroupInput, NodeFacts, Unrestricted,
};
use serde_json::{Value, json};
use store::{Store, StoreConfig};
use tempfile::TempDir;

pub(crate) struct World {
    dir: TempDir,
    pub(crate) store: Store,
    pub(crate) classifier: Classifier,
}

pub(crate) const ROOT: &str = "00000000-0000-4000-8000-000000000000";

impl World {
    pub(crate) async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self::over(dir).await
    }

    /// The same after a restart.
    pub(crate) async fn restarted(self) -> Self {
        let Self {
            dir,
            store,
            classifier,
        } = self;
        drop(classifier);
        store.close().await;
        drop(store);
        Self::over(dir).await
    }

    async fn over(dir: TempDir) -> Self {
        let config = StoreConfig::sqlite(dir.path().join("tutti.db"));
        let store = Store::open(&config).await.unwrap();
        let classifier = Classifier::open(store.clone()).await.unwrap();
        Self {
            dir,
            store,
            classifier,
        }
    }

    /// A new group below the root with these keys.
    pub(crate) async fn group(&self, name: &str, keys: Value) -> GroupId {
        let edited = self.try_group(name, keys).await.unwrap();
        edited.group.unwrap().id
    }

    pub(crate) async fn try_group(&self, name: &str, keys: Value) -> Result<Edited, EditError> {
        let mut group = json!({"name": name, "parent": ROOT, "classes": {}});
        for (key, value) in keys.as_object().unwrap() {
            group[key] = value.clone();
        }
        let input = GroupInput::parse(&group).unwrap();
        self.classifier.create(input, Unrestricted).await
    }

    pub(crate) async fn update(&self, id: GroupId, delta: Value) -> Result<Edited, EditError> {
        let delta = GroupDelta::parse(&delta).unwrap();
        self.classifier.update(id, delta, Unrestricted).await
    }
}

pub(crate) fn node(name: &str, fact: Value) -> NodeFacts {
    NodeFacts {
        fact,
        ..NodeFacts::named(name.parse().unwrap())
    }
}
