//! Environments that somebody announced to the classifier. The rule: there are at most as many as
//! whoever adds one says.

use crate::StoreError;
use crate::step::Step;
use crate::store::Store;
use crate::value::Value;

const ADD: &str = "INSERT INTO classifier_environments (name) SELECT CAST($1 AS TEXT) \
     WHERE (SELECT COUNT(*) FROM classifier_environments) < CAST($2 AS BIGINT) \
     ON CONFLICT DO NOTHING";
const ALL: &str = "SELECT name FROM classifier_environments ORDER BY name";
const DELETE: &str = "DELETE FROM classifier_environments WHERE name = $1";

pub(crate) const STATEMENTS: &[&str] = &[ADD, ALL, DELETE];

impl Store {
    /// Adds a name where there are fewer than `most`. `false`: it was there, or there are as many.
    pub async fn add_classifier_environment(
        &self,
        name: &str,
        most: u32,
    ) -> Result<bool, StoreError> {
        let values = vec![Value::owned(name), Value::Int(i64::from(most))];
        Ok(self.execute(Step { sql: ADD, values }).await? > 0)
    }

    /// All names, in order.
    pub async fn classifier_environments(&self) -> Result<Vec<String>, StoreError> {
        self.query(ALL, Vec::new()).await
    }

    /// `false`: there was none.
    pub async fn delete_classifier_environment(&self, name: &str) -> Result<bool, StoreError> {
        let values = vec![Value::owned(name)];
        let step = Step {
            sql: DELETE,
            values,
        };
        Ok(self.execute(step).await? > 0)
    }
}
