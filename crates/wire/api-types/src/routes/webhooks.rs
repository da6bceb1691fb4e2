//! Routes of outgoing webhooks: `/tutti/v1/webhooks`.

use crate::route::Method::{Delete, Get, Post, Put};
use crate::route::Route;
use crate::routes::permissions::{EDIT_CONFIGURATION, VIEW_CONFIGURATION};
use crate::{NewWebhook, Webhook, WebhookEdit, WebhookList, WebhookTest, WebhookWithSecret};

super::group! {
    WEBHOOKS = Route::new(Get, "/tutti/v1/webhooks", "webhooks", VIEW_CONFIGURATION,
        "List the webhooks").reply::<WebhookList>(200);
    WEBHOOK_CREATE = Route::new(Post, "/tutti/v1/webhooks", "webhook_create",
        EDIT_CONFIGURATION, "Create a webhook")
        .request::<NewWebhook>().reply::<WebhookWithSecret>(201);
    WEBHOOK = Route::new(Get, "/tutti/v1/webhooks/{webhook}", "webhook", VIEW_CONFIGURATION,
        "Show a webhook").reply::<Webhook>(200);
    WEBHOOK_EDIT = Route::new(Put, "/tutti/v1/webhooks/{webhook}", "webhook_edit",
        EDIT_CONFIGURATION, "Change a webhook, or give it a new key")
        .request::<WebhookEdit>().reply::<WebhookWithSecret>(200);
    WEBHOOK_DELETE = Route::new(Delete, "/tutti/v1/webhooks/{webhook}", "webhook_delete",
        EDIT_CONFIGURATION, "Delete a webhook").nothing(204);
    WEBHOOK_TEST = Route::new(Post, "/tutti/v1/webhooks/{webhook}/test", "webhook_test",
        EDIT_CONFIGURATION, "Send a test message now").reply::<WebhookTest>(200);
}
