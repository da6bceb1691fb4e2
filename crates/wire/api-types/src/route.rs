//! Routes: method, path and operation id, always together with the authorization policy.

use std::fmt;

use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

use crate::defaults::BODY_BYTES;
use crate::trail::Trail;

/// HTTP methods that routes use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Method {
    /// `GET`; `HEAD` is accepted as well.
    Get,
    /// The method `POST`, for commands.
    Post,
    /// The method `PUT`, for replacements.
    Put,
    /// The method `DELETE`, for removals.
    Delete,
}

/// Authorization policy of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Open to every caller, without a token.
    Public,
    /// Open to every user with a valid token.
    Authenticated,
    /// Open to users with a valid token who have this permission on at least one instance; the
    /// handler checks the instance that the request is about.
    Permission {
        /// Object type, for example `tasks`.
        object_type: &'static str,
        /// Action on the object type, for example `run`.
        action: &'static str,
    },
    /// Open to brokers, identified by their verified client certificate.
    Broker,
    /// Open to servers that follow this server's code, identified by their verified client
    /// certificate.
    Follower,
}

/// A route of the API. It cannot be created without a policy.
#[derive(Clone, Copy)]
pub struct Route {
    /// HTTP method of the route.
    pub method: Method,
    /// Path of the route, with `{name}` for its variable parts.
    pub path: &'static str,
    /// A name that is unique among all routes.
    pub operation_id: &'static str,
    /// Authorization policy of the route.
    pub policy: Policy,
    /// Short description for the `OpenAPI` document.
    pub summary: &'static str,
    /// Size limit of the request body, in bytes.
    pub max_body_bytes: usize,
    /// Names of the query parameters that the route accepts.
    pub query: &'static [&'static str],
    /// Audit entries that a request leaves.
    pub trail: Trail,
    /// Type of the request body; `None`: the route reads no body.
    pub(crate) request: Option<Body>,
    /// Status and type of a successful reply.
    pub(crate) reply: Reply,
}

/// Name and schema of a type, and of the types that it uses.
#[derive(Clone, Copy)]
pub(crate) struct Body {
    pub(crate) name: fn() -> std::borrow::Cow<'static, str>,
    pub(crate) schema: fn() -> RefOr<Schema>,
    pub(crate) parts: fn(&mut Vec<(String, RefOr<Schema>)>),
}

/// Status of success, with the type of the body.
#[derive(Clone, Copy)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) content: Content,
}

#[derive(Clone, Copy)]
pub(crate) enum Content {
    Nothing,
    Json(Body),
    /// Another media type.
    Text(&'static str),
}

impl Route {
    pub(crate) const fn new(
        method: Method,
        path: &'static str,
        operation_id: &'static str,
        policy: Policy,
        summary: &'static str,
    ) -> Self {
        Self {
            method,
            path,
            operation_id,
            policy,
            summary,
            max_body_bytes: BODY_BYTES,
            query: &[],
            trail: Trail::of(method),
            request: None,
            reply: Reply {
                status: 200,
                content: Content::Nothing,
            },
        }
    }

    pub(crate) const fn request<T: ToSchema>(mut self) -> Self {
        self.request = Some(Body::of::<T>());
        self
    }

    pub(crate) const fn reply<T: ToSchema>(mut self, status: u16) -> Self {
        self.reply = Reply {
            status,
            content: Content::Json(Body::of::<T>()),
        };
        self
    }

    pub(crate) const fn text(mut self, status: u16, media_type: &'static str) -> Self {
        self.reply = Reply {
            status,
            content: Content::Text(media_type),
        };
        self
    }

    pub(crate) const fn nothing(mut self, status: u16) -> Self {
        self.reply = Reply {
            status,
            content: Content::Nothing,
        };
        self
    }

    pub(crate) const fn query(mut self, names: &'static [&'static str]) -> Self {
        self.query = names;
        self
    }

    pub(crate) const fn max_body_bytes(mut self, bytes: usize) -> Self {
        self.max_body_bytes = bytes;
        self
    }

    /// Marks a route that changes nothing, whatever its method is, or whose handler writes the
    /// audit entry: allowed requests leave no entry in the audit log.
    pub(crate) const fn asks_only(mut self) -> Self {
        self.trail = Trail::Nothing;
        self
    }

    /// Marks a route that issues a token for a password.
    pub(crate) const fn logs_in(mut self) -> Self {
        self.trail = Trail::Login;
        self
    }

    /// Returns true if the route reads a body.
    pub const fn reads_body(&self) -> bool {
        self.request.is_some()
    }

    /// Returns the HTTP status of success.
    pub const fn success(&self) -> u16 {
        self.reply.status
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({})", self.method, self.path, self.operation_id)
    }
}

impl Body {
    const fn of<T: ToSchema>() -> Self {
        Self {
            name: T::name,
            schema: T::schema,
            parts: T::schemas,
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        })
    }
}
