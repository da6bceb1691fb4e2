//! The disclaimer that the login page shows.

use store::StoreError;

use crate::defaults::TEXT_CHARS;
use crate::error::validate_text;
use crate::{ManageError, Rbac, RequestedPermission, UserIdentity};

const NAME: &str = "disclaimer";

impl Rbac {
    /// The disclaimer; `None` if there is none.
    pub async fn disclaimer(&self) -> Result<Option<String>, StoreError> {
        self.inner.store.access_setting(NAME).await
    }

    /// Sets the disclaimer, or deletes it if `text` is `None`. Needs `configuration:edit`.
    pub async fn set_disclaimer(
        &self,
        by: &UserIdentity,
        text: Option<&str>,
    ) -> Result<(), ManageError> {
        self.authorize(by, RequestedPermission::on("configuration", "edit", "*"))?;
        let text = text.map(|text| validate_text("disclaimer", text, TEXT_CHARS));
        let text = text.transpose()?.filter(|text| !text.is_empty());
        let store = &self.inner.store;
        Ok(store.set_access_setting(NAME, text.as_deref()).await?)
    }
}
