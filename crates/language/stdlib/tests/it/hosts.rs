//! Inputs from the host: time, randomness, facts, files, resources.

use evaluator::function::documentation_faults;
use evaluator::{CodeMap, EvaluationLimits, LogLevel};

use crate::world::{World, error, run, run_within, value};

#[test]
fn time_and_chance_are_the_hosts() {
    assert_eq!(value("time()"), "1700000000");
    assert_eq!(value("stdlib::time('UTC')"), "1700000000");
    assert_eq!(value("shuffle('abcdef') == shuffle('abcdef')"), "true");
    assert_eq!(value("shuffle([3,1,2]).sort"), "[1, 2, 3]");
    // the salt is the random number `0123`
    let salted = value("str2saltedsha512('x')");
    assert!(
        salted.starts_with("'30313233") && salted.len() == 138,
        "{salted}"
    );
}

#[test]
fn facts_are_looked_at() {
    assert_eq!(value("fact('os.release.major')"), "'12'");
    assert_eq!(value("stdlib::os_version_gte('Debian', '9')"), "true");
    assert_eq!(value("os_version_gte('Ubuntu', '9')"), "false");
    assert_eq!(value("stdlib::has_interface_with('eth0')"), "true");
    assert_eq!(
        value("has_interface_with('macaddress', '00:11:22:33:44:55')"),
        "true"
    );
    assert_eq!(value("stdlib::has_ip_address('10.0.0.2')"), "false");
    assert_eq!(value("has_ip_network('10.0.0.0')"), "true");
    assert!(
        error("stdlib::has_ip_address('x')").contains("parameter 'ip_address' expects a match for")
    );
    let world = World::default();
    assert_eq!(run(&world, "fact('list.x')"), Ok("undef".to_owned()));
    let logged = world.logged.take();
    assert_eq!(logged[0].0, LogLevel::Warning);
    assert!(
        logged[0]
            .1
            .contains("'list' is an array; cannot index to 'x'"),
        "{logged:?}"
    );
}

fn with_files() -> World {
    let code = CodeMap::new()
        .with("modules/m/data/a.yaml", *b"k: [1, ~]\n")
        .with("modules/m/data/a.json", *b"{\"k\": false}")
        .with("modules/m/metadata.json", *b"{\"name\": \"o-m\"}")
        .with("modules/m/templates/t.epp", *b"<%= $x %>!");
    World {
        code,
        ..World::default()
    }
}

#[test]
fn files_are_those_of_modules() {
    let world = with_files();
    let run = |program: &str| run(&world, program);
    let path = "\"${module_directory('m')}/data/a";
    assert_eq!(
        run(&format!("loadyaml({path}.yaml\")")),
        Ok("{'k' => [1, undef]}".to_owned())
    );
    assert_eq!(
        run(&format!("loadjson({path}.json\")")),
        Ok("{'k' => false}".to_owned())
    );
    assert_eq!(
        run("load_module_metadata('m')['name']"),
        Ok("'o-m'".to_owned())
    );
    assert_eq!(
        run("get_module_path('m') == module_directory('m')"),
        Ok("true".to_owned())
    );
    assert!(run("get_module_path('n')").is_err());
    // nothing of the machine itself is visible
    assert_eq!(
        run("loadyaml('/etc/hostname', 'none')"),
        Ok("'none'".to_owned())
    );
    assert_eq!(
        run(&format!("loadyaml({path}/../../metadata.json\", 5)")),
        Ok("5".to_owned())
    );
    assert!(
        run("loadyaml('https://example.com/a.yaml')")
            .unwrap_err()
            .contains("in a task")
    );
    let logged = world.logged.take();
    assert!(logged[0].1.contains("File does not exist!"), "{logged:?}");
}

#[test]
fn templates_are_rendered_unless_they_need_the_node() {
    let world = with_files();
    let rendered = run(&world, "stdlib::deferrable_epp('m/t.epp', {x => 1})");
    assert_eq!(rendered, Ok("'1!'".to_owned()));
    let deferred = run(
        &world,
        "stdlib::deferrable_epp('m/t.epp', {x => {y => Deferred('f')}})",
    );
    let deferred = deferred.unwrap_or_default();
    assert!(
        deferred.starts_with("Deferred(") && deferred.contains("<%= $x %>!"),
        "{deferred}"
    );
    assert!(
        run(
            &world,
            "stdlib::deferrable_epp('m/../t', {x => Deferred('f')})"
        )
        .is_err()
    );
}

#[test]
fn what_needs_a_catalog_says_so() {
    for program in [
        "ensure_packages('vim')",
        "ensure_resource('user', 'x')",
        "getparam('a', 'b')",
    ] {
        assert!(
            error(program).contains("where a catalog is compiled"),
            "{program}"
        );
    }
    assert!(error("validate_cmd('a', 'b')").contains("commands do not run"));
    assert_eq!(value("assert_private()"), "undef");
}

#[test]
fn deprecated_functions_work_and_warn() {
    let world = World::default();
    assert_eq!(run(&world, "is_array([])"), Ok("true".to_owned()));
    assert_eq!(run(&world, "validate_string('a')"), Ok("undef".to_owned()));
    let logged = world.logged.take();
    assert_eq!(logged.len(), 2);
    assert!(logged[0].1.contains("=~ Array"), "{logged:?}");
}

#[test]
fn what_is_deprecated_is_said_once_in_an_evaluation() {
    let world = World::default();
    let program = "[1, 2].each |$x| { is_array($x) validate_string('a') deprecation('k', \"${x}\") } \
                   deprecation('l', 'x')";
    assert!(run(&world, program).is_ok());
    let logged = world.logged.take();
    let texts: Vec<&str> = logged.iter().map(|(_, text)| &**text).collect();
    assert_eq!(texts.len(), 4, "{texts:?}");
    assert_eq!(texts[2..], ["1", "x"]);
    assert!(run(&world, "is_array(1)").is_ok());
    assert_eq!(world.logged.take().len(), 1);
}

#[test]
fn limits_hold_inside_functions() {
    // 2^40 elements are requested, and a million are made
    assert_eq!(value("range(0, 1099511627776).length"), "1000000");
    assert!(error("convert_base(sprintf('%01001d', 1), 2)").contains("more than 1000 digits"));
    let deep = "Integer[1,400].reduce([]) |$m, $x| { [$m] }";
    for function in ["to_json", "to_yaml", "to_ruby", "to_python"] {
        let text = error(&format!("$d = {deep}\n{function}($d)"));
        assert!(
            text.contains("too deep") || text.contains("deeper than 100"),
            "{text}"
        );
    }
    assert!(error("pw_hash(sprintf('%0600d', 1), 'MD5', 's')").contains("more than 511 bytes"));
}

/// Lists that contain each other three times over: 3^60 texts, if they were written out.
#[test]
fn shared_lists_take_their_share_of_the_budget() {
    let limits = EvaluationLimits {
        bytes_max: 1 << 20,
        ..EvaluationLimits::default()
    };
    let wide = "Integer[1,60].reduce('x') |$m, $x| { [$m, $m, $m] }";
    for call in [
        "to_json($d)",
        "to_yaml($d)",
        "to_ruby($d)",
        "to_toml({a => $d})",
        "stdlib::rewrap_sensitive_data($d)",
        "hash([$d])",
        "join_keys_to_values({a => $d}, '')",
        "prefix([$d], 'a')",
    ] {
        let text = run_within(
            &World::default(),
            limits.clone(),
            &format!("$d = {wide}\n{call}"),
        );
        let text = text.expect_err(call);
        assert!(
            text.contains("budget") || text.contains("more than"),
            "{call}: {text}"
        );
    }
}

#[test]
fn examples_of_the_documentation_have_their_outcome() {
    let code = CodeMap::new()
        .with("modules/demo/data/app.json", *b"{\"port\": 8080}")
        .with("modules/demo/data/app.yaml", *b"port: 8080\n")
        .with("modules/demo/metadata.json", *b"{\"name\": \"acme-demo\"}")
        .with("modules/demo/templates/hello.epp", *b"Hello <%= $name %>");
    let world = World {
        code,
        ..World::default()
    };
    let (functions, docs) = (stdlib::function_specs(), stdlib::function_docs());
    let faults = documentation_faults(functions, docs, |example| run(&world, example));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
