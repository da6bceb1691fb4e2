//! Texts that administrators set, for example the disclaimer of the login page.

use crate::StoreError;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::SqlValue;

const PUT: &str = "INSERT INTO access_settings (name, value) VALUES ($1, $2) \
     ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value";
const GET: &str = "SELECT value FROM access_settings WHERE name = $1";
const DELETE: &str = "DELETE FROM access_settings WHERE name = $1";

pub(crate) const STATEMENTS: &[&str] = &[PUT, GET, DELETE];

impl Store {
    /// Writes the text; `None` deletes it.
    pub async fn set_access_setting(
        &self,
        name: &str,
        value: Option<&str>,
    ) -> Result<(), StoreError> {
        let name = SqlValue::owned_text(name);
        let step = match value {
            Some(value) => SqlStatement {
                sql: PUT,
                values: vec![name, SqlValue::owned_text(value)],
            },
            None => SqlStatement {
                sql: DELETE,
                values: vec![name],
            },
        };
        self.execute(step).await.map(|_| ())
    }

    /// The text of the setting; `None` if it was never set.
    pub async fn access_setting(&self, name: &str) -> Result<Option<String>, StoreError> {
        self.query_one(GET, vec![SqlValue::owned_text(name)]).await
    }
}
