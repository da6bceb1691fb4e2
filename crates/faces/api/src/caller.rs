//! The authenticated sender of a request: [`ApiCaller`].

use std::sync::Arc;

use api_types::{ApiError, kinds};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use rbac::{PermissionInstance, RequestedPermission, UserIdentity};

use crate::SharedApiContext;
use crate::failure::ApiFailure;

/// The authenticated sender of a request; only on routes whose policy requires authentication.
#[derive(Clone, Debug)]
pub(crate) struct ApiCaller(pub(crate) Arc<UserIdentity>);

impl ApiCaller {
    /// Refuses a caller without this permission.
    pub(crate) fn demand(
        &self,
        api: &SharedApiContext,
        object_type: &str,
        action: &str,
        name: &str,
    ) -> Result<(), ApiFailure> {
        let permission = RequestedPermission {
            object_type,
            action,
            instance: PermissionInstance::Named(name),
        };
        Ok(api.access.authorize(&self.0, permission)?)
    }
}

impl FromRequestParts<SharedApiContext> for ApiCaller {
    type Rejection = ApiFailure;

    async fn from_request_parts(
        parts: &mut Parts,
        _: &SharedApiContext,
    ) -> Result<Self, ApiFailure> {
        let caller = parts.extensions.get::<Self>().cloned();
        // A handler that needs a caller, on a route without authentication: always refused.
        caller.ok_or_else(|| {
            ApiError::new(kinds::UNAUTHENTICATED, "this route knows no caller").into()
        })
    }
}
