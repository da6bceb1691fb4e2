//! The `OpenAPI` document, made from [`routes`](crate::routes) and the types.

use utoipa::ToSchema;
use utoipa::openapi::path::{
    HttpMethod, Operation, OperationBuilder, Parameter, ParameterBuilder, ParameterIn,
    PathItemBuilder,
};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{ComponentsBuilder, ObjectBuilder, Type};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    ContentBuilder, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder, PathsBuilder, Ref, RefOr,
    Required, Response, ResponseBuilder, Schema,
};

use crate::route::{Body, Content, Method, Policy, Route};
use crate::{ErrorBody, routes};

const TOKEN: &str = "token";

/// Builds the `OpenAPI` document.
pub fn document() -> OpenApi {
    let mut paths = PathsBuilder::new();
    let mut schemas: Vec<(String, RefOr<Schema>)> = Vec::new();
    for route in routes::ALL {
        let item = PathItemBuilder::new().operation(method(route.method), operation(route));
        paths = paths.path(route.path, item.build());
        collect(route, &mut schemas);
    }
    schemas.push((
        ErrorBody::name().into_owned(),
        <ErrorBody as utoipa::PartialSchema>::schema(),
    ));
    schemas.sort_by(|a, b| a.0.cmp(&b.0));
    schemas.dedup_by(|a, b| a.0 == b.0);
    let token = SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new("X-Authentication")));
    let components = ComponentsBuilder::new()
        .schemas_from_iter(schemas)
        .security_scheme(TOKEN, token)
        .build();
    let licence = LicenseBuilder::new()
        .name("Apache-2.0")
        .url(Some("https://www.apache.org/licenses/LICENSE-2.0"))
        .build();
    let info = InfoBuilder::new()
        .title("Tutti")
        .description(Some("Orchestration for Puppet and OpenVox fleets."))
        .version("1")
        .license(Some(licence))
        .build();
    OpenApiBuilder::new()
        .info(info)
        .paths(paths)
        .components(Some(components))
        .build()
}

/// Returns the document as indented text, with a newline at the end.
pub fn document_json() -> String {
    let mut text = document()
        .to_pretty_json()
        .expect("the document is plain JSON");
    text.push('\n');
    text
}

fn method(method: Method) -> HttpMethod {
    match method {
        Method::Get => HttpMethod::Get,
        Method::Post => HttpMethod::Post,
        Method::Put => HttpMethod::Put,
        Method::Delete => HttpMethod::Delete,
    }
}

fn operation(route: &Route) -> Operation {
    let mut operation = OperationBuilder::new()
        .operation_id(Some(route.operation_id))
        .summary(Some(route.summary))
        .description(Some(who(route.policy)))
        .response(route.reply.status.to_string(), success(route))
        .response("default", failure());
    for name in path_variables(route.path) {
        operation = operation.parameter(parameter(name, ParameterIn::Path));
    }
    for name in route.query {
        operation = operation.parameter(parameter(name, ParameterIn::Query));
    }
    if let Some(body) = route.request {
        let content = ContentBuilder::new().schema(Some(reference(body))).build();
        let required = if matches!(route.method, Method::Post) {
            Required::True
        } else {
            Required::False
        };
        let request = RequestBodyBuilder::new()
            .content("application/json", content)
            .required(Some(required))
            .build();
        operation = operation.request_body(Some(request));
    }
    if matches!(
        route.policy,
        Policy::Authenticated | Policy::Permission { .. }
    ) {
        let none: [String; 0] = [];
        operation = operation.security(SecurityRequirement::new(TOKEN, none));
    }
    operation.build()
}

fn who(policy: Policy) -> String {
    match policy {
        Policy::Public => "For everybody.".to_owned(),
        Policy::Authenticated => "Needs a token.".to_owned(),
        Policy::Permission {
            object_type,
            action,
        } => {
            format!("Needs a token and the permission {object_type}:{action}.")
        }
        Policy::Broker => "Needs the client certificate of a broker on the server's list.".into(),
        Policy::Follower => {
            "Needs the client certificate of a server that may follow this one's code.".into()
        }
    }
}

fn success(route: &Route) -> Response {
    let response = ResponseBuilder::new().description(route.summary);
    match route.reply.content {
        Content::Nothing => response.build(),
        Content::Json(body) => {
            let content = ContentBuilder::new().schema(Some(reference(body))).build();
            response.content("application/json", content).build()
        }
        Content::Text(media_type) => response
            .content(media_type, ContentBuilder::new().build())
            .build(),
    }
}

fn failure() -> Response {
    let content = ContentBuilder::new()
        .schema(Some(Ref::from_schema_name(ErrorBody::name())))
        .build();
    ResponseBuilder::new()
        .description("What went wrong")
        .content("application/json", content)
        .build()
}

fn parameter(name: &str, place: ParameterIn) -> Parameter {
    let required = if matches!(place, ParameterIn::Path) {
        Required::True
    } else {
        Required::False
    };
    let text = ObjectBuilder::new().schema_type(Type::String).build();
    ParameterBuilder::new()
        .name(name)
        .parameter_in(place)
        .required(required)
        .schema(Some(text))
        .build()
}

fn path_variables(path: &str) -> impl Iterator<Item = &str> {
    path.split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

fn reference(body: Body) -> Ref {
    Ref::from_schema_name((body.name)())
}

fn collect(route: &Route, schemas: &mut Vec<(String, RefOr<Schema>)>) {
    let reply = match route.reply.content {
        Content::Json(body) => Some(body),
        Content::Nothing | Content::Text(_) => None,
    };
    for body in route.request.into_iter().chain(reply) {
        schemas.push(((body.name)().into_owned(), (body.schema)()));
        (body.parts)(schemas);
    }
}
