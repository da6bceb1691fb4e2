//! A tree as JSON, as `ruby/trees.rb` writes Puppet's: [`tree`]. The rule: kind, place, parts.

use serde_json::{Value, json};
use syntax::ast::{
    Ast, AstSlice, AttributeOp, CallExpr, DefinitionKind, Expr, ExprId, LambdaId, Param,
    ResourceForm, Sym,
};

/// The tree of a source, without its place names.
pub(super) fn tree(ast: &Ast) -> Value {
    let body = maybe(ast, ast.body());
    match ast.epp() {
        None => body,
        Some(epp) => json!(["epp", epp.params_given, params(ast, epp.params), body]),
    }
}

fn maybe(ast: &Ast, id: Option<ExprId>) -> Value {
    id.map_or(Value::Null, |id| expr(ast, id))
}

fn text(ast: &Ast, sym: Sym) -> &str {
    ast.text(sym)
}

fn exprs(ast: &Ast, list: AstSlice<ExprId>) -> Value {
    ast.get(list).iter().map(|id| expr(ast, *id)).collect()
}

fn expr(ast: &Ast, id: ExprId) -> Value {
    let at = ast.span(id).start;
    match ast.expr(id) {
        Expr::Nop => json!(["nop"]),
        Expr::Undef => json!(["undef", at]),
        Expr::Default => json!(["default", at]),
        Expr::Bool(value) => json!(["bool", at, value]),
        Expr::Int { value, radix } => json!(["int", at, value, radix]),
        Expr::Float(value) => json!(["float", at, value]),
        Expr::Str(value) => json!(["str", at, text(ast, value)]),
        Expr::QName(value) => json!(["name", at, text(ast, value)]),
        Expr::QRef(value) => json!(["type", at, text(ast, value)]),
        Expr::Variable(value) => json!(["var", at, text(ast, value)]),
        Expr::Regex(value) => json!(["regex", at, text(ast, value)]),
        Expr::Reserved(value) => json!(["reserved", at, text(ast, value)]),
        Expr::Concat(parts) => json!(["concat", at, exprs(ast, parts)]),
        Expr::Text(inner) => json!(["text", expr(ast, inner)]),
        Expr::Heredoc {
            syntax,
            text: inner,
        } => {
            let syntax = syntax.map_or("", |syntax| text(ast, syntax));
            json!(["heredoc", at, syntax, expr(ast, inner)])
        }
        Expr::Array(list) => json!(["array", at, exprs(ast, list)]),
        Expr::Hash(entries) => {
            let pairs = ast.get(entries).iter();
            let pairs: Value = pairs
                .map(|entry| {
                    json!([
                        entry.span.start,
                        expr(ast, entry.key),
                        expr(ast, entry.value)
                    ])
                })
                .collect();
            json!(["hash", at, pairs])
        }
        Expr::Paren(inner) => json!(["paren", at, expr(ast, inner)]),
        Expr::Unary { op, operand } => json!([op.text(), at, expr(ast, operand)]),
        Expr::Binary { op, left, right } => {
            json!([op.text(), at, expr(ast, left), expr(ast, right)])
        }
        Expr::Assign { op, left, right } => {
            json!([op.text(), at, expr(ast, left), expr(ast, right)])
        }
        Expr::Relationship { op, left, right } => {
            json!([op.text(), at, expr(ast, left), expr(ast, right)])
        }
        Expr::Access { left, keys } => json!(["[]", at, expr(ast, left), exprs(ast, keys)]),
        Expr::NamedAccess { left, name } => {
            let Expr::QName(name) = ast.expr(name) else {
                return json!("no name");
            };
            json!([".", at, expr(ast, left), text(ast, name)])
        }
        Expr::Call(call) => call_of(ast, "call", at, ast.call(call)),
        Expr::MethodCall(call) => call_of(ast, "method", at, ast.call(call)),
        Expr::If {
            test,
            then,
            otherwise,
        } => json!([
            "if",
            at,
            expr(ast, test),
            maybe(ast, then),
            maybe(ast, otherwise)
        ]),
        Expr::Unless {
            test,
            then,
            otherwise,
        } => json!([
            "unless",
            at,
            expr(ast, test),
            maybe(ast, then),
            maybe(ast, otherwise)
        ]),
        Expr::Case { test, options } => {
            let options = ast.get(options).iter();
            let options: Value = options
                .map(|option| {
                    let values = exprs(ast, option.values);
                    json!([option.span.start, values, maybe(ast, option.then)])
                })
                .collect();
            json!(["case", at, expr(ast, test), options])
        }
        Expr::Selector { left, entries } => {
            let entries = ast.get(entries).iter();
            let entries: Value = entries
                .map(|one| {
                    json!([
                        one.span.start,
                        expr(ast, one.matching),
                        expr(ast, one.value)
                    ])
                })
                .collect();
            json!(["?", at, expr(ast, left), entries])
        }
        Expr::Block(list) => json!(["block", exprs(ast, list)]),
        Expr::Resource(resource) => {
            let resource = ast.resource(resource);
            let bodies = ast.get(resource.bodies).iter();
            let bodies: Value = bodies
                .map(|body| json!([expr(ast, body.title), ops(ast, body.ops)]))
                .collect();
            let kind = expr(ast, resource.type_name);
            json!(["resource", at, form(resource.form), kind, bodies])
        }
        Expr::ResourceDefaults {
            form: shape,
            type_ref,
            ops: list,
        } => json!([
            "defaults",
            at,
            form(shape),
            expr(ast, type_ref),
            ops(ast, list)
        ]),
        Expr::ResourceOverride {
            form: shape,
            resources,
            ops: list,
        } => json!([
            "override",
            at,
            form(shape),
            expr(ast, resources),
            ops(ast, list)
        ]),
        Expr::Collect(collect) => {
            let collect = ast.collect(collect);
            let query = maybe(ast, collect.query);
            let kind = expr(ast, collect.type_expr);
            json!([
                "collect",
                at,
                collect.exported,
                kind,
                query,
                ops(ast, collect.ops)
            ])
        }
        Expr::Definition(id) => definition(ast, at, &ast.definition(id).kind),
        Expr::Apply { args, body } => json!(["apply", at, exprs(ast, args), maybe(ast, body)]),
        Expr::RenderString(value) => json!(["text-of-template", text(ast, value)]),
        Expr::RenderExpr(inner) => json!(["render", expr(ast, inner)]),
    }
}

fn form(form: ResourceForm) -> &'static str {
    match form {
        ResourceForm::Regular => "regular",
        ResourceForm::Virtual => "virtual",
        ResourceForm::Exported => "exported",
    }
}

fn call_of(ast: &Ast, kind: &str, at: u32, call: &CallExpr) -> Value {
    let lambda = call.lambda.map_or(Value::Null, |id| lambda_of(ast, id));
    let functor = expr(ast, call.functor);
    json!([
        kind,
        at,
        call.rvalue,
        functor,
        exprs(ast, call.args),
        lambda
    ])
}

fn lambda_of(ast: &Ast, id: LambdaId) -> Value {
    let lambda = ast.lambda(id);
    let returns = maybe(ast, lambda.return_type);
    json!([params(ast, lambda.params), returns, maybe(ast, lambda.body)])
}

fn ops(ast: &Ast, list: AstSlice<AttributeOp>) -> Value {
    let list = ast.get(list).iter();
    list.map(|op| {
        let name = op.name.map(|name| text(ast, name));
        let value = expr(ast, op.value);
        json!([op.span.start, op.kind.text(), name, value])
    })
    .collect()
}

fn params(ast: &Ast, list: AstSlice<Param>) -> Value {
    let list = ast.get(list).iter();
    list.map(|param| {
        let kind = maybe(ast, param.type_expr);
        let default = maybe(ast, param.default);
        let name = text(ast, param.name);
        json!([param.span.start, name, kind, default, param.captures_rest])
    })
    .collect()
}

fn definition(ast: &Ast, at: u32, kind: &DefinitionKind) -> Value {
    let named = |what: &str, body: &syntax::ast::DefinitionBody, parent: Option<&str>| {
        let returns = maybe(ast, body.return_type);
        let name = text(ast, body.name);
        let inner = maybe(ast, body.body);
        json!([
            what,
            at,
            name,
            params(ast, body.params),
            parent,
            returns,
            inner
        ])
    };
    match kind {
        DefinitionKind::Class(class) => {
            let parent = class.parent.map(|parent| text(ast, parent));
            named("class", &class.body, parent)
        }
        DefinitionKind::ResourceType(body) => named("define", body, None),
        DefinitionKind::Plan(body) => named("plan", body, None),
        DefinitionKind::Function(body) => named("function", body, None),
        DefinitionKind::Node(node) => {
            let hosts = exprs(ast, node.hosts);
            json!([
                "node",
                at,
                hosts,
                maybe(ast, node.parent),
                maybe(ast, node.body)
            ])
        }
        DefinitionKind::TypeAlias(alias) => {
            json!([
                "alias",
                at,
                text(ast, alias.name),
                expr(ast, alias.type_expr)
            ])
        }
        DefinitionKind::TypeMapping(map) => {
            json!(["mapping", at, expr(ast, map.from), expr(ast, map.to)])
        }
        DefinitionKind::TypeDefinition(_) => json!(["type-definition"]),
        // Puppet 7 and 8, with which trees are compared, have none of these
        DefinitionKind::Application(_)
        | DefinitionKind::Capability(_)
        | DefinitionKind::Site(_)
        | DefinitionKind::CapabilityMapping(_) => json!(["applications"]),
    }
}
