//! Environments that were announced to the classifier. Invariant: there are never more than the
//! limit passed by the caller that adds one.

use crate::StoreError;
use crate::store::Store;
use crate::value::values;

const ADD: &str = "INSERT INTO classifier_environments (name) SELECT CAST($1 AS TEXT) \
     WHERE (SELECT COUNT(*) FROM classifier_environments) < CAST($2 AS BIGINT) \
     ON CONFLICT DO NOTHING";
const ALL: &str = "SELECT name FROM classifier_environments ORDER BY name";
const DELETE: &str = "DELETE FROM classifier_environments WHERE name = $1";

pub(crate) const STATEMENTS: &[&str] = &[ADD, ALL, DELETE];

impl Store {
    /// Adds a name if there are fewer than `most`. `false`: it exists already, or the limit is
    /// reached.
    pub async fn add_classifier_environment(
        &self,
        name: &str,
        most: u32,
    ) -> Result<bool, StoreError> {
        Ok(self.execute(ADD, values![name, most]).await? > 0)
    }

    /// All names of announced environments, sorted.
    pub async fn classifier_environments(&self) -> Result<Vec<String>, StoreError> {
        self.query(ALL, Vec::new()).await
    }

    /// Deletes a name. `false`: it does not exist.
    pub async fn delete_classifier_environment(&self, name: &str) -> Result<bool, StoreError> {
        Ok(self.execute(DELETE, values![name]).await? > 0)
    }
}
