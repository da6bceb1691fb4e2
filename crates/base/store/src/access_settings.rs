//! Texts that administrators set, for example the disclaimer of the login page.

use crate::StoreError;
use crate::store::Store;
use crate::value::values;

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
        let written = match value {
            Some(value) => self.execute(PUT, values![name, value]).await,
            None => self.execute(DELETE, values![name]).await,
        };
        written.map(drop)
    }

    /// The text of the setting; `None` if it was never set.
    pub async fn access_setting(&self, name: &str) -> Result<Option<String>, StoreError> {
        self.query_one(GET, values![name]).await
    }
}
