//! Lists of plans, and their metadata.

use environments::{CodeError, EnvironmentPlanSource, PlanLanguage, PlanParameter};
use serde_json::json;

use crate::tree::Tree;

const RESTART: &str = r#"
# Restarts the shop, one node after the other.
#
# @summary Restart the shop
# @param targets Where.
# @param password
#   Of the load balancer,
#   which is told first.
plan shop::restart(
  TargetSpec $targets,
  Variant[Integer[1, 5], Enum['all']] $at_once = lookup('x', { 'default' => [1, 2] })[0],
  Sensitive[String[1]] $password = Sensitive("a${1}b"),
  $note = undef,
  *$rest
) {
  return run_task('shop::restart', $targets)
}
"#;

fn plan(tree: &Tree, name: &str) -> Result<EnvironmentPlanSource, CodeError> {
    tree.version().plan(&name.parse().unwrap())
}

fn refusal(tree: &Tree, name: &str) -> String {
    plan(tree, name).unwrap_err().to_string()
}

fn parameter(name: &str, kind: &str) -> PlanParameter {
    PlanParameter {
        name: name.to_owned(),
        kind: kind.to_owned(),
        default: None,
        description: None,
        sensitive: false,
    }
}

#[test]
fn a_puppet_plan_tells_its_parameters_as_they_are_written() {
    let tree = Tree::new(&[("modules/shop/plans/restart.pp", RESTART)]);
    let plan = plan(&tree, "shop::restart").unwrap();
    assert_eq!(plan.language, PlanLanguage::Puppet);
    assert_eq!(&*plan.source, RESTART);
    assert_eq!(
        plan.metadata.description.as_deref(),
        Some("Restart the shop")
    );
    assert!(!plan.metadata.private);
    let expected = [
        PlanParameter {
            description: Some("Where.".to_owned()),
            ..parameter("targets", "TargetSpec")
        },
        PlanParameter {
            default: Some(json!("lookup('x', { 'default' => [1, 2] })[0]")),
            ..parameter("at_once", "Variant[Integer[1, 5], Enum['all']]")
        },
        PlanParameter {
            default: Some(json!("Sensitive(\"a${1}b\")")),
            description: Some("Of the load balancer, which is told first.".to_owned()),
            sensitive: true,
            ..parameter("password", "Sensitive[String[1]]")
        },
        PlanParameter {
            default: Some(json!("undef")),
            ..parameter("note", "Any")
        },
        parameter("rest", "Any"),
    ];
    assert_eq!(plan.metadata.parameters, expected);
}

#[test]
fn a_yaml_plan_tells_the_values_of_its_defaults() {
    let text = "description: Restart\nprivate: true\nparameters:\n  targets:\n    type: TargetSpec\n    \
                description: Where.\n  tries:\n    default: [1, {a: 2.5}, null, yes]\n  secret:\n    \
                type: Sensitive[String]\n  any:\nsteps:\n  - message: hello\n";
    let tree = Tree::new(&[("modules/shop/plans/init.yaml", text)]);
    let plan = plan(&tree, "shop::init").unwrap();
    assert_eq!(plan.name.as_str(), "shop");
    assert_eq!(plan.language, PlanLanguage::Yaml);
    assert!(plan.metadata.private);
    assert_eq!(plan.metadata.description.as_deref(), Some("Restart"));
    let expected = [
        PlanParameter {
            description: Some("Where.".to_owned()),
            ..parameter("targets", "TargetSpec")
        },
        PlanParameter {
            default: Some(json!([1, {"a": 2.5}, null, true])),
            ..parameter("tries", "Any")
        },
        PlanParameter {
            sensitive: true,
            ..parameter("secret", "Sensitive[String]")
        },
        parameter("any", "Any"),
    ];
    assert_eq!(plan.metadata.parameters, expected);
}

#[test]
fn a_yaml_plan_with_mistakes_in_its_steps_is_told_with_all_of_them() {
    let text = "parameters:\n  kind: { typ: String }\nsteps:\n  - comand: uptime\n    targets: a\n  \
                - task: x\n    target: a\n  - eval: |\n      $a = (1\n  - message: \"${\"\n";
    let tree = Tree::new(&[("modules/a/plans/wrong.yaml", text)]);
    let error = plan(&tree, "a::wrong").unwrap_err().to_string();
    for part in [
        "`typ` is no key of the parameter `kind`; it has type, default, description (line: 2, column: 11)",
        "this one has comand (line: 4, column: 5)",
        "`target` is no key of a step with `task`; it has task, name, description, targets",
        "a step with `task` needs `targets` (line: 6, column: 5)",
        "Syntax error at end of input",
        "(line: 9,",
        "(line: 10, column: 14)",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    let listed = tree.version().plans().unwrap();
    assert_eq!(
        listed[0]
            .problem
            .as_ref()
            .map(ToString::to_string)
            .as_deref(),
        Some(error.as_str())
    );
}

#[test]
fn plans_are_listed_by_name_with_the_reason_of_those_that_cannot_be_read() {
    let tree = Tree::new(&[
        ("modules/b/plans/init.pp", "plan b { }"),
        (
            "modules/b/plans/web/restart.pp",
            "# @api private\nplan b::web::restart { }",
        ),
        ("modules/b/plans/broken.pp", "plan b::broken {\n  $x = \n}"),
        ("modules/b/plans/Big.pp", ""),
        ("modules/b/plans/both.yaml", "steps: []"),
        ("modules/b/plans/both.pp", "# Puppet's\nplan b::both { }"),
        ("modules/b/plans/README.md", ""),
        ("modules/a/plans/y.yaml", "steps: []\n"),
        ("modules/c/tasks/init.sh", ""),
    ]);
    let plans = tree.version().plans().unwrap();
    let names: Vec<&str> = plans.iter().map(|plan| plan.name.as_str()).collect();
    assert_eq!(
        names,
        ["a::y", "b", "b::both", "b::broken", "b::web::restart"]
    );
    let private: Vec<bool> = plans.iter().map(|plan| plan.private).collect();
    assert_eq!(private, [false, false, false, false, true]);
    assert_eq!(
        plans[2].description.as_deref(),
        Some("Puppet's"),
        "both: the .pp"
    );
    let problem = plans[3].problem.as_ref().unwrap().to_string();
    assert!(
        problem.contains("broken.pp") && problem.contains("line: 3"),
        "{problem}"
    );
    assert_eq!(
        plan(&tree, "b::both").unwrap().language,
        PlanLanguage::Puppet
    );
}

#[test]
fn what_is_no_plan_is_told_with_its_place() {
    let tree = Tree::new(&[
        ("modules/a/plans/other.pp", "plan a::another { }"),
        ("modules/a/plans/none.pp", "function a::none() { }"),
        ("modules/a/plans/text.yaml", "just text"),
        ("modules/a/plans/empty.yaml", ""),
        ("modules/a/plans/nosteps.yaml", "description: x"),
        ("modules/a/plans/alias.yaml", "a: &a 1\nsteps: [*a]\n"),
        (
            "modules/a/plans/key.yaml",
            "parameters:\n  x:\n    kind: Any\nsteps: []\n",
        ),
        (
            "modules/a/plans/upper.yaml",
            "parameters:\n  X: {}\nsteps: []\n",
        ),
        ("modules/a/plans/flag.yaml", "private: 1\nsteps: []\n"),
    ]);
    tree.write(
        "modules/a/plans/latin.pp",
        b"plan a::latin { notice('\xE9') }",
    );
    for (name, words) in [
        ("a::other", "`a::another`"),
        ("a::none", "defines no plan"),
        ("a::text", "line: 1"),
        ("a::empty", "empty"),
        ("a::nosteps", "`steps`"),
        ("a::alias", "line 2"),
        ("a::key", "line: 3"),
        ("a::upper", "line: 2"),
        ("a::flag", "true or false"),
        ("a::latin", "not UTF-8 (at byte 24)"),
    ] {
        let text = refusal(&tree, name);
        assert!(text.contains(words), "{name}: {text}");
        let file = name.replace("a::", "plans/");
        assert!(text.contains(&file), "{name}: {text}");
    }
    let unknown = plan(&tree, "a::gone").unwrap_err();
    assert!(unknown.is_not_found(), "{unknown}");
    assert!(plan(&tree, "z").unwrap_err().is_not_found());
}

#[test]
fn nothing_outside_of_its_module_and_nothing_endless_is_read() {
    let tree = Tree::new(&[("/secret", "plan a::link { }")]);
    tree.write("modules/a/plans/big.pp", &vec![b' '; (1 << 20) + 1]);
    tree.link("modules/a/plans/link.pp", tree.path("/secret"));
    for name in ["a::big", "a::link"] {
        let text = refusal(&tree, name);
        assert!(text.contains("refused"), "{name}: {text}");
    }
    tree.link("modules/l/plans", tree.path("modules/a"));
    let plans = tree.version().plans().unwrap();
    let module = plans.iter().find(|plan| plan.name.as_str() == "l").unwrap();
    assert!(
        module.problem.is_some(),
        "plans/ itself is a link to outside"
    );

    let deep = "d/".repeat(40);
    let tree = Tree::new(&[(&format!("modules/a/plans/{deep}x.pp"), "")]);
    tree.link("modules/a/plans/d/loop", "..");
    assert!(
        tree.version().plans().unwrap().len() <= 1,
        "an end is found"
    );
}
