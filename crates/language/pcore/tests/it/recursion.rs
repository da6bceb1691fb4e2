//! Recursive aliases.

use pcore::{NamedTypeAlias, Type, Value};

use super::value;

/// `type Name = text`; the text may name the alias.
fn alias(name: &str, text: &str) -> Result<Type, String> {
    let alias = NamedTypeAlias::declare(name);
    let ty = Type::from(alias.clone());
    let body = Type::parse_with(text, &|other| (other == name).then(|| ty.clone()));
    alias
        .resolve(&body.map_err(|error| error.to_string())?)
        .map_err(|error| error.to_string())?;
    Ok(ty)
}

#[test]
fn a_tree_takes_trees() {
    let tree = alias("Tree", "Variant[Integer, Array[Tree]]").unwrap();
    assert!(tree.is_instance(&value("[1, [2, [3, [4]]]]")));
    assert!(!tree.is_instance(&value("[1, [2, ['x']]]")));
    let other = alias("Other", "Variant[Integer[1], Array[Other]]").unwrap();
    assert!(tree.is_assignable(&other));
    assert!(!other.is_assignable(&tree));
    assert_eq!(tree.to_string(), "Tree = Variant[Integer, Array[Tree]]");
    assert_eq!(
        pcore::describe_mismatch("x", &tree, &Type::infer(&Value::from("a"))),
        "x expects a Tree = Variant[Integer, Array[Tree]] value, got String"
    );
}

#[test]
fn aliases_of_nothing_else_are_refused() {
    assert_eq!(
        alias("Loop", "Variant[Loop]").unwrap_err(),
        "Type alias 'Loop' cannot be resolved to a real type"
    );
    let maybe = alias("Maybe", "Optional[Variant[String, Maybe]]").unwrap();
    assert!(maybe.is_instance(&Value::Undef) && maybe.is_instance(&Value::from("x")));
    assert!(!maybe.is_instance(&Value::Int(1)));
}

#[test]
fn questions_about_strange_recursion_end() {
    // Puppet overflows its stack on these
    let list = alias("List", "Optional[Array[List]]").unwrap();
    let other = alias("Other", "Optional[Array[Optional[Other]]]").unwrap();
    assert!(list.is_assignable(&other));
    let maybe = alias("Maybe", "Optional[Variant[String, Maybe]]").unwrap();
    assert!(!maybe.is_assignable(&Type::integer()));
    assert!(maybe.is_assignable(&Type::string()));
    let block = alias("Block", "Optional[Variant[Callable, Block]]").unwrap();
    assert!(!block.is_callable(true), "it leads back to itself");
    let hash = alias("H", "Hash[String, Optional[Variant[H, Array[H]]]]").unwrap();
    assert!(hash.is_assignable(&hash));
    assert!(!hash.is_assignable(&list));
}
