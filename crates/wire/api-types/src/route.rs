//! A route: method, path, operation id and, inseparably, its policy.

use std::fmt;

use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

use crate::defaults::BODY_BYTES;
use crate::trail::Trail;

/// The methods in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Method {
    /// `GET`, and `HEAD` with it.
    Get,
    /// `POST`
    Post,
    /// `PUT`
    Put,
    /// `DELETE`
    Delete,
}

/// Who may use a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Anybody, without a token.
    Public,
    /// Whoever has a valid token.
    Authenticated,
    /// Whoever has a valid token and this permission on at least one instance; which instance
    /// the request is about, the handler says.
    Permission {
        /// For example `tasks`.
        object_type: &'static str,
        /// For example `run`.
        action: &'static str,
    },
    /// A broker, by its verified client certificate.
    Broker,
    /// A server that follows this one's code, by its verified client certificate.
    Follower,
}

/// One route. There is no way to make one without a policy.
#[derive(Clone, Copy)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path, with `{name}` for its variable parts.
    pub path: &'static str,
    /// A name that is unique among all routes.
    pub operation_id: &'static str,
    /// Who may use it.
    pub policy: Policy,
    /// What it does, in a few words.
    pub summary: &'static str,
    /// How large its request body may be.
    pub max_body_bytes: usize,
    /// The query parameters that it takes.
    pub query: &'static [&'static str],
    /// Which entries the audit gets of it.
    pub trail: Trail,
    /// What it reads.
    pub(crate) request: Option<Body>,
    /// What it replies when all is well.
    pub(crate) reply: Reply,
}

/// The name and shape of a type, and of those that it uses.
#[derive(Clone, Copy)]
pub(crate) struct Body {
    pub(crate) name: fn() -> std::borrow::Cow<'static, str>,
    pub(crate) schema: fn() -> RefOr<Schema>,
    pub(crate) parts: fn(&mut Vec<(String, RefOr<Schema>)>),
}

/// The status of success and what comes with it.
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

    /// It changes nothing, whatever its method is, or its handler writes the entry: allowed requests leave
    /// none in the audit.
    pub(crate) const fn asks_only(mut self) -> Self {
        self.trail = Trail::Nothing;
        self
    }

    /// It gives out a token for a password.
    pub(crate) const fn logs_in(mut self) -> Self {
        self.trail = Trail::Login;
        self
    }

    /// Whether it reads a body.
    pub const fn reads_body(&self) -> bool {
        self.request.is_some()
    }

    /// The status of success.
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
