//! The state of a test: a store in a directory and a classifier over it, with functions that create
//! and change groups.

use classifier::{
    Classifier, EditError, EditedGroup, GroupDelta, GroupId, GroupInput, NodeFacts,
    UnrestrictedEditor,
};
use serde_json::{Value, json};
use store::{Store, StoreConfig};
use testkit::engine::Database;

pub(crate) struct World {
    database: Database,
    pub(crate) store: Store,
    pub(crate) classifier: Classifier,
}

pub(crate) const ROOT: &str = "00000000-0000-4000-8000-000000000000";

impl World {
    pub(crate) async fn new() -> Self {
        Self::over(Database::empty().await.unwrap()).await
    }

    /// The same state after a restart of the server.
    pub(crate) async fn restarted(self) -> Self {
        let Self {
            database,
            store,
            classifier,
        } = self;
        drop(classifier);
        store.close().await;
        drop(store);
        Self::over(database).await
    }

    async fn over(database: Database) -> Self {
        let config = StoreConfig::new(database.url());
        let store = Store::open(&config).await.unwrap();
        let classifier = Classifier::open(store.clone()).await.unwrap();
        Self {
            database,
            store,
            classifier,
        }
    }

    /// Creates a group below the root with these keys.
    pub(crate) async fn group(&self, name: &str, keys: Value) -> GroupId {
        let edited = self.try_group(name, keys).await.unwrap();
        edited.group.unwrap().id
    }

    pub(crate) async fn try_group(
        &self,
        name: &str,
        keys: Value,
    ) -> Result<EditedGroup, EditError> {
        let mut group = json!({"name": name, "parent": ROOT, "classes": {}});
        for (key, value) in keys.as_object().unwrap() {
            group[key] = value.clone();
        }
        let input = GroupInput::parse(&group).unwrap();
        self.classifier.create(input, UnrestrictedEditor).await
    }

    pub(crate) async fn update(&self, id: GroupId, delta: Value) -> Result<EditedGroup, EditError> {
        let delta = GroupDelta::parse(&delta).unwrap();
        self.classifier.update(id, delta, UnrestrictedEditor).await
    }
}

pub(crate) fn node(name: &str, fact: Value) -> NodeFacts {
    NodeFacts {
        fact,
        ..NodeFacts::without_facts(name.parse().unwrap())
    }
}
