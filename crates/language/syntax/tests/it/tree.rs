//! The tree of a source: operators bind as in Puppet, texts and numbers are parsed, names are
//! qualified. `tests/oracles` compares whole trees with Puppet's.

use syntax::ast::{Ast, DefinitionKind, Expr, ExprId};

use crate::read;

/// An expression with every operator in parentheses.
fn shown(ast: &Ast, id: ExprId) -> String {
    let show = |id| shown(ast, id);
    match ast.expr(id) {
        Expr::Int { value, .. } => value.to_string(),
        Expr::Float(value) => value.to_string(),
        Expr::Bool(value) => value.to_string(),
        Expr::Str(text) => format!("'{}'", ast.text(text)),
        Expr::QName(text) | Expr::QRef(text) => ast.text(text).to_string(),
        Expr::Variable(text) => format!("${}", ast.text(text)),
        Expr::Regex(text) => format!("/{}/", ast.text(text)),
        Expr::Concat(parts) => {
            let parts: Vec<String> = ast.get(parts).iter().copied().map(show).collect();
            format!("\"{}\"", parts.join(","))
        }
        Expr::Text(inner) => show(inner),
        Expr::Heredoc { text, .. } => show(text),
        Expr::Unary { op, operand } => format!("({}{})", op.text(), show(operand)),
        Expr::Binary { op, left, right } => {
            format!("({} {} {})", show(left), op.text(), show(right))
        }
        Expr::Assign { op, left, right } => {
            format!("({} {} {})", show(left), op.text(), show(right))
        }
        Expr::Relationship { op, left, right } => {
            format!("({} {} {})", show(left), op.text(), show(right))
        }
        Expr::Access { left, keys } => {
            let keys: Vec<String> = ast.get(keys).iter().copied().map(show).collect();
            format!("{}[{}]", show(left), keys.join(","))
        }
        Expr::NamedAccess { left, name } => format!("{}.{}", show(left), show(name)),
        Expr::Call(call) | Expr::MethodCall(call) => {
            let call = ast.call(call);
            let args: Vec<String> = ast.get(call.args).iter().copied().map(show).collect();
            let value = if call.rvalue { "" } else { "!" };
            format!("{}{value}({})", show(call.functor), args.join(","))
        }
        Expr::Selector { left, entries } => {
            let entries: Vec<String> = ast
                .get(entries)
                .iter()
                .map(|one| format!("{} => {}", show(one.matching), show(one.value)))
                .collect();
            format!("({} ? {})", show(left), entries.join(", "))
        }
        Expr::Block(list) => {
            let all: Vec<String> = ast.get(list).iter().copied().map(show).collect();
            all.join("; ")
        }
        other => format!("{other:?}"),
    }
}

fn tree(code: &str) -> String {
    let parsed = read(code);
    let body = parsed.ast.body().expect("something");
    shown(&parsed.ast, body)
}

#[test]
fn operators_bind_as_in_puppet() {
    let cases = [
        ("$a = 1 + 2 * 3 - 4", "($a = ((1 + (2 * 3)) - 4))"),
        ("$a = 1 < 2 == true", "($a = (1 < (2 == true)))"),
        ("$a = 2 * 3 in $b", "($a = (2 * (3 in $b)))"),
        (
            "$a = $b = 1 or 2 and !3",
            "($a = ($b = (1 or (2 and (!3)))))",
        ),
        ("$a = -1.map", "($a = (-1.map()))"),
        ("$a = -$b[1] =~ /x/", "($a = ((-$b[1]) =~ /x/))"),
        (
            "$a = 1 + $b ? c => 2 + 3",
            "($a = ((1 + $b) ? c => (2 + 3)))",
        ),
        (
            "$a = $b and $c ? { d => 1 } + 2",
            "($a = ($b and (($c ? d => 1) + 2)))",
        ),
        ("A[1] -> B[2] ~> C[3]", "((A[1] -> B[2]) ~> C[3])"),
        ("f($x)[1].g(2).h", "f($x)[1].g(2).h()"),
    ];
    for (code, expected) in cases {
        assert_eq!(tree(code), expected, "{code}");
    }
}

#[test]
fn statements_without_parentheses_are_calls() {
    assert_eq!(tree("notice 'a', 'b'"), "notice!('a','b')");
    assert_eq!(tree("include a\ninclude b"), "include!(a); include!(b)");
    assert_eq!(tree("$x = f(1)\nf(2)"), "($x = f(1)); f!(2)");
}

#[test]
fn texts_are_read() {
    let cases = [
        (r"$a = 'x\\y\'z\n'", r"($a = 'x\y'z\n')"),
        (
            r#"$a = "x\ty\u0041\u{1F600}\$b""#,
            "($a = 'x\ty\u{41}\u{1F600}$b')",
        ),
        (
            "$a = \"$b ${c} ${d[1]} ${e.f} ${if}\"",
            "($a = \"$b,' ',$c,' ',$d[1],' ',$e.f(),' ',$if\")",
        ),
        ("$a = \"${f(1)} 1$ 2\"", "($a = \"f(1),' 1$ 2'\")"),
        ("$a = @(E)\n  x\n   y\n  | E\n", "($a = 'x\n y\n')"),
        ("$a = @(\"E\")\n  x ${y}\n  |- E\n", "($a = \"'x ',$y\")"),
        (
            "$a = 0x1F + 017 + 1.5e2 + b-c",
            "($a = (((31 + 15) + 150) + 'b-c'))",
        ),
    ];
    for (code, expected) in cases {
        assert_eq!(tree(code), expected, "{code}");
    }
}

#[test]
fn definitions_are_qualified_and_documented() {
    let code = "# The outer one\nclass a {\n  # not of it\n\n  # @summary inner\n  # @param x a number\n  \
                class b(Integer $x = 1, *$rest) { }\n}\n# An alias\ntype A::B = Integer\n";
    let parsed = read(code);
    let found: Vec<(String, Vec<&str>)> = parsed
        .ast
        .definitions()
        .iter()
        .map(|one| {
            let name = one.name().expect("a name");
            let docs = syntax::comments::doc_lines(&parsed.ast, one);
            (parsed.ast.text(name).to_string(), docs)
        })
        .collect();
    let expected = [
        (
            "a::b".to_owned(),
            vec!["@summary inner", "@param x a number"],
        ),
        ("a".to_owned(), vec!["The outer one"]),
        ("A::B".to_owned(), vec!["An alias"]),
    ];
    assert_eq!(found, expected);
    let inner = parsed.ast.definitions()[0];
    assert!(matches!(inner.kind, DefinitionKind::Class(_)));
    let params = parsed.ast.get(inner.body().expect("a body").params);
    assert!(params[0].type_expr.is_some() && params[0].default.is_some());
    assert!(params[1].captures_rest);
}
