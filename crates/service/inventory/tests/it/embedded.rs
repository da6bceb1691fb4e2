//! Answers of the embedded inventory.

use std::time::Duration;

use inventory::{
    NodeQuery, PuppetReport, QueryError, QueryErrorOrigin, QueryPaging, RecordError, ReportMetric,
};
use serde_json::{Value, json};

use crate::site::{Site, certname, record, report};

testkit::both!(
    each_operator_selects_what_it_says,
    and_binds_closer_than_or,
    null_is_neither_equal_nor_different,
    queries_inside_are_joined_by_certname,
    rows_have_the_columns_that_were_asked_for,
    rows_are_ordered_cut_and_counted,
    the_ast_says_the_same_as_pql,
    a_query_without_from_asks_the_entity_of_its_address,
    what_is_not_supported_is_named_with_its_place,
    certnames_of_an_answer_without_any_are_an_error,
    environment_nodes_are_those_of_the_last_known_environment,
    code_ids_are_those_of_the_last_runs,
    facts_and_reports_outlive_the_server,
    late_facts_change_nothing,
    a_report_that_comes_later_is_waited_for,
    facts_and_reports_that_are_too_large_are_refused,
    a_node_that_is_forgotten_is_gone,
    one_run_that_is_reported_twice_is_one_report,
);

async fn each_operator_selects_what_it_says() {
    let site = Site::small().await;
    for (query, expected) in [
        ("nodes { }", "db silent web1 web2"),
        ("nodes[certname] { certname = 'web1' }", "web1"),
        ("nodes[certname] { certname ~ '^web\\d$' }", "web1 web2"),
        (
            "nodes { certname in ['web2', \"db\", 'nobody'] }",
            "db web2",
        ),
        ("nodes { not certname ~ 'web' }", "db silent"),
        (
            "nodes { !(certname = 'db' or certname = 'web1') }",
            "silent web2",
        ),
        ("nodes { connected = true }", "silent"),
        ("nodes { facts_environment is null }", "silent"),
        ("nodes { facts_environment is not null }", "db web1 web2"),
        ("nodes { catalog_environment = 'test' }", "web2"),
        (
            "nodes { facts_timestamp > '1970-01-01T00:00:00Z' }",
            "db web1 web2",
        ),
        (
            "nodes { facts_timestamp <= '1970-01-01T00:00:00.999Z' }",
            "",
        ),
        (
            "nodes { facts_timestamp = '1970-01-01 00:00:01' }",
            "db web1 web2",
        ),
        (
            "inventory[certname] { facts.os.family = 'Debian' }",
            "web1 web2",
        ),
        ("inventory { facts.os.release.major = 12 }", ""),
        ("inventory { facts.processors.count >= 4 }", "db web2"),
        ("inventory { facts.processors.count < 3.5 }", "web1"),
        ("inventory { facts.processors.count = 8.0 }", "db"),
        (
            "inventory { facts.processors.count in [2, 8.0] }",
            "db web1",
        ),
        (
            "inventory { facts.processors.models[1] = 'M2' }",
            "db web1 web2",
        ),
        (
            "inventory { facts.\"odd.name\".\"x y\" = true }",
            "db web1 web2",
        ),
        (
            "inventory { trusted.extensions.pp_role = 'we' }",
            "web1 web2",
        ),
        ("inventory { facts.nothing.there = 'x' }", ""),
        (
            "inventory { not facts.nothing.there = 'x' }",
            "db web1 web2",
        ),
        ("inventory { facts.nothing is null }", "db web1 web2"),
        (
            "facts { name = 'kernel' and value = 'Linux' }",
            "db web1 web2",
        ),
        ("facts { name = 'os' and value.family = 'RedHat' }", "db"),
    ] {
        assert_eq!(site.names(query).await, expected, "{query}");
    }
}

async fn and_binds_closer_than_or() {
    let site = Site::small().await;
    let query = "nodes { certname = 'db' or certname = 'web1' and certname = 'web2' }";
    assert_eq!(site.names(query).await, "db");
    let query = "nodes { (certname = 'db' or certname = 'web1') and certname = 'web1' }";
    assert_eq!(site.names(query).await, "web1");
    let query = "nodes { ! certname = 'db' and certname = 'db' }";
    assert_eq!(site.names(query).await, "");
}

async fn null_is_neither_equal_nor_different() {
    let site = Site::small().await;
    assert_eq!(
        site.names("nodes { facts_environment = 'test' }").await,
        "web2"
    );
    assert_eq!(
        site.names("nodes { not facts_environment = 'test' }").await,
        "db web1",
        "silent has no environment, so nobody can say"
    );
}

async fn queries_inside_are_joined_by_certname() {
    let site = Site::small().await;
    for (query, expected) in [
        ("nodes { inventory { facts.os.family = 'RedHat' } }", "db"),
        (
            "nodes { ! inventory { facts.os.family = 'RedHat' } }",
            "silent web1 web2",
        ),
        (
            "nodes { certname in facts[certname] { name = 'kernel' } }",
            "db web1 web2",
        ),
        (
            "nodes { certname in inventory[certname] { order by certname desc limit 1 } }",
            "web2",
        ),
        (
            "nodes { [certname, facts_environment] in inventory[certname, environment] { } }",
            "db web1 web2",
        ),
    ] {
        assert_eq!(site.names(query).await, expected, "{query}");
    }
}

async fn rows_have_the_columns_that_were_asked_for() {
    let site = Site::small().await;
    let query = "inventory[certname, facts.os.family] { certname = 'db' }";
    assert_eq!(
        site.rows(query).await,
        json!([{"certname": "db", "facts.os.family": "RedHat"}])
    );
    let query = "facts { certname = 'db' and name = 'kernel' }";
    assert_eq!(
        site.rows(query).await,
        json!([{"certname": "db", "environment": "production", "name": "kernel", "value": "Linux"}])
    );
    let rows = site.rows("inventory { certname = 'db' }").await;
    assert_eq!(rows[0]["timestamp"], "1970-01-01T00:00:01.000Z");
    assert_eq!(rows[0]["facts"]["kernel"], "Linux");
    let rows = site.rows("nodes { certname = 'silent' }").await;
    assert_eq!(rows[0]["deactivated"], Value::Null);
    assert_eq!(rows[0].as_object().unwrap().len(), 17);
}

async fn rows_are_ordered_cut_and_counted() {
    let site = Site::small().await;
    let query = "nodes[certname] { order by certname desc limit 2 offset 1 }";
    assert_eq!(site.names(query).await, "web1 silent");
    let query = "inventory[certname] { order by facts.processors.count desc, certname }";
    assert_eq!(site.names(query).await, "db web2 web1");
    let query = "nodes[certname] { order by facts_environment, certname desc }";
    assert_eq!(
        site.names(query).await,
        "web1 db web2 silent",
        "null comes last"
    );
    assert_eq!(site.rows("nodes[count()] { }").await, json!([{"count": 4}]));
    assert_eq!(
        site.rows("nodes[count(facts_environment)] { }").await,
        json!([{"count": 3}])
    );
    assert_eq!(
        site.rows("nodes[count()] { certname = 'nobody' }").await,
        json!([{"count": 0}])
    );
    let query = "inventory[facts.os.family, count()] { group by facts.os.family \
                 order by facts.os.family limit 1 }";
    assert_eq!(
        site.rows(query).await,
        json!([{"facts.os.family": "Debian", "count": 2}])
    );
}

async fn the_ast_says_the_same_as_pql() {
    let site = Site::small().await;
    for (ast, expected) in [
        (json!(["from", "nodes"]), "db silent web1 web2"),
        (json!(["from", "nodes", ["=", "certname", "db"]]), "db"),
        (
            json!([
                "from",
                "inventory",
                [
                    "extract",
                    ["certname"],
                    [
                        "and",
                        ["=", "facts.os.family", "Debian"],
                        ["not", ["~", "certname", "2$"]]
                    ]
                ]
            ]),
            "web1",
        ),
        (
            json!([
                "from",
                "nodes",
                ["extract", "certname"],
                ["order_by", [["certname", "desc"]]],
                ["limit", 1],
                ["offset", 1]
            ]),
            "web1",
        ),
        (
            json!([
                "from",
                "nodes",
                ["in", "certname", ["array", ["db", "web2"]]]
            ]),
            "db web2",
        ),
        (
            json!([
                "from",
                "nodes",
                [
                    "in",
                    "certname",
                    [
                        "extract",
                        "certname",
                        ["select_facts", ["=", "name", "kernel"]]
                    ]
                ]
            ]),
            "db web1 web2",
        ),
        (
            json!([
                "from",
                "nodes",
                [
                    "in",
                    ["certname"],
                    [
                        "from",
                        "inventory",
                        ["extract", ["certname"], [">", "facts.processors.count", 4]]
                    ]
                ]
            ]),
            "db",
        ),
        (
            json!(["from", "nodes", ["subquery", "facts", ["=", "name", "os"]]]),
            "db web1 web2",
        ),
        (
            json!(["from", "nodes", ["null?", "facts_timestamp", true]]),
            "silent",
        ),
    ] {
        let names = site
            .inventory
            .certnames(&NodeQuery::from_ast(ast.clone()))
            .await;
        let names = names.unwrap_or_else(|error| panic!("{ast}: {error}"));
        let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
        assert_eq!(names.join(" "), expected, "{ast}");
        // The same AST as text, as in a URL.
        let text = site
            .inventory
            .certnames(&NodeQuery::from_text(ast.to_string()))
            .await;
        assert_eq!(text.unwrap().len(), names.len(), "{ast}");
    }
    let counted = json!([
        "from",
        "facts",
        [
            "extract",
            [["function", "count"], "name"],
            ["=", "name", "os"],
            ["group_by", "name"]
        ]
    ]);
    assert_eq!(
        site.rows(&counted.to_string()).await,
        json!([{"count": 3, "name": "os"}])
    );
}

async fn a_query_without_from_asks_the_entity_of_its_address() {
    let site = Site::small().await;
    let query = NodeQuery::from_ast(json!(["~", "certname", "^web"])).with_entity("nodes");
    let paging = QueryPaging {
        limit: Some(1),
        offset: Some(1),
        order_by: Some(json!([{"field": "certname", "order": "desc"}])),
    };
    let rows = site
        .inventory
        .query(&query.with_paging(paging))
        .await
        .unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["certname"], "web1");
    let all = site.inventory.query(&NodeQuery::all_rows("facts")).await;
    assert_eq!(all.unwrap().len(), 12);
    let without = NodeQuery::from_ast(json!(["=", "certname", "db"]));
    let error = site
        .inventory
        .query(&without)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("from"), "{error}");
}

async fn what_is_not_supported_is_named_with_its_place() {
    let site = Site::small().await;
    for (query, place, words) in [
        (
            "resources { type = 'Class' }",
            "line 1, column 1",
            "facts, inventory, nodes",
        ),
        (
            "nodes {\n  certnme = 'x' }",
            "line 2, column 3",
            "it has certname",
        ),
        (
            "nodes { certname ~> ['x'] }",
            "line 1, column 18",
            "`~>` is not supported",
        ),
        ("nodes { certname != 'x' }", "line 1, column 18", "not (!)"),
        ("nodes[avg(x)] { }", "line 1, column 7", "count()"),
        (
            "nodes { certname ~ '(' }",
            "line 1, column 18",
            "regular expression",
        ),
        ("nodes { certname = 1 }", "line 1, column 18", "a string"),
        ("nodes { certname > 'a' }", "line 1, column 18", "no order"),
        (
            "nodes { facts_timestamp > 'soon' }",
            "line 1, column 25",
            "timestamp",
        ),
        ("nodes { certname = 'x ", "line 1, column 20", "not closed"),
        ("nodes { certname = ", "line 1, column 20", "found the end"),
        ("nodes { } x", "line 1, column 11", "the end of the query"),
        (
            "nodes[certname, count()] { }",
            "line 1, column 1",
            "group by",
        ),
        ("", "line 1, column 1", "entity"),
        (
            "[\"from\", \"resources\"]",
            "query[1]",
            "facts, inventory, nodes",
        ),
        (
            "[\"from\", \"nodes\", [\"=\", \"x\", 1]]",
            "query[2][1]",
            "it has certname",
        ),
        (
            "[\"from\", \"nodes\", [\"and\"]]",
            "query[2]",
            "other arguments",
        ),
        (
            "[\"from\", \"nodes\", [\"xor\", 1]]",
            "query[2]",
            "not supported",
        ),
        ("[1]", "query", "operator"),
    ] {
        let error = site.error(query).await;
        assert_eq!(error.origin(), QueryErrorOrigin::Query);
        let QueryError::Unsupported(invalid) = error else {
            panic!("{query}: {error}");
        };
        assert_eq!(invalid.place, place, "{query}: {invalid}");
        assert!(invalid.what.contains(words), "{query}: {invalid}");
    }
}

async fn certnames_of_an_answer_without_any_are_an_error() {
    let site = Site::small().await;
    let query = NodeQuery::from_text("inventory[facts.kernel] { }");
    let error = site.inventory.certnames(&query).await.unwrap_err();
    assert!(matches!(error, QueryError::NoCertname), "{error}");
}

async fn environment_nodes_are_those_of_the_last_known_environment() {
    let site = Site::small().await;
    let nodes = site.inventory.environment_nodes("test").await.unwrap();
    assert_eq!(nodes, [certname("web2")]);
    // A run in another environment than the one that the agent requests by default.
    let name = certname("web2");
    let report = report("u", "changed", 1);
    let put = site.inventory.record_report(&name, report);
    put.await.unwrap();
    let nodes = site.inventory.environment_nodes("test").await.unwrap();
    assert_eq!(nodes, []);
    let hostile = site.inventory.environment_nodes("x' or '1' = '1").await;
    assert_eq!(hostile.unwrap(), []);
}

async fn code_ids_are_those_of_the_last_runs() {
    let site = Site::small().await;
    let runs = [
        ("web1", "1", Some("old")),
        ("web1", "2", Some("new")),
        ("web2", "3", Some("new")),
        ("db", "4", None),
    ];
    for (at, (node, uuid, code_id)) in (1..).zip(runs) {
        let mut report = report(uuid, "changed", at);
        report.code_id = code_id.map(str::to_owned);
        let name = certname(node);
        let put = site.inventory.record_report(&name, report);
        put.await.unwrap();
    }
    assert_eq!(site.inventory.code_ids().await.unwrap(), ["new"]);
}

async fn facts_and_reports_outlive_the_server() {
    let mut site = Site::small().await;
    for at in 0..8 {
        let mut report = report(&format!("u{at}"), "changed", at);
        report.metrics = vec![ReportMetric {
            category: "resources".to_owned(),
            name: "total".to_owned(),
            value: json!(at),
        }];
        let name = certname("web1");
        let put = site.inventory.record_report(&name, report);
        put.await.unwrap();
    }
    for _ in 0..2 {
        let query = "reports[transaction_uuid] { certname = 'web1' }";
        let rows = site.rows(query).await;
        let uuids: Vec<&str> = rows
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["transaction_uuid"].as_str().unwrap())
            .collect();
        assert_eq!(uuids, ["u7", "u6", "u5", "u4", "u3"]);
        assert_eq!(
            site.names("reports { latest_report? = true }").await,
            "web1"
        );
        assert_eq!(
            site.names("nodes { latest_report_status = 'changed' }")
                .await,
            "web1"
        );
        let name = certname("web1");
        let kept = site
            .inventory
            .wait_for_report(&name, "u7", Duration::ZERO)
            .await;
        assert_eq!(kept.unwrap().unwrap().metrics[0].value, json!(7));
        let dropped = site
            .inventory
            .wait_for_report(&name, "u1", Duration::ZERO)
            .await;
        assert_eq!(dropped.unwrap(), None);
        let other = site
            .inventory
            .wait_for_report(&certname("web2"), "u7", Duration::ZERO)
            .await;
        assert_eq!(other.unwrap(), None, "of another node");
        assert_eq!(site.names("nodes { }").await, "db silent web1 web2");
        let facts = site.inventory.facts(&name).await.unwrap().unwrap();
        assert_eq!(facts.facts["os"]["family"], "Debian");
        site.restart().await;
    }
    assert_eq!(
        site.names("nodes { connected = true }").await,
        "",
        "nobody is yet"
    );
}

async fn late_facts_change_nothing() {
    let site = Site::small().await;
    let name = certname("web1");
    let late = record(json!({"kernel": "Old"}), json!({}), None, 999);
    site.inventory.record_facts(&name, late).await.unwrap();
    let facts = site.inventory.facts(&name).await.unwrap().unwrap();
    assert_eq!(facts.facts["kernel"], "Linux");
    // of a time at which the clock of the server was ahead
    let now_ms = jiff::Timestamp::now().as_millisecond();
    for (kernel, at_ms) in [("Ahead", now_ms + 86_400_000), ("Now", now_ms)] {
        let facts = record(json!({"kernel": kernel}), json!({}), None, at_ms);
        site.inventory.record_facts(&name, facts).await.unwrap();
        let facts = site.inventory.facts(&name).await.unwrap().unwrap();
        assert_eq!(facts.facts["kernel"], kernel);
    }
}

async fn a_report_that_comes_later_is_waited_for() {
    let site = Site::small().await;
    let name = certname("db");
    let waiting = tokio::spawn({
        let (inventory, name) = (site.inventory.clone(), name.clone());
        async move {
            inventory
                .wait_for_report(&name, "u", Duration::from_secs(60))
                .await
        }
    });
    let other = report("other", "failed", 1);
    site.inventory.record_report(&name, other).await.unwrap();
    let own = report("u", "unchanged", 2);
    site.inventory.record_report(&name, own).await.unwrap();
    let found = waiting.await.unwrap().unwrap().unwrap();
    assert_eq!(found.status.as_deref(), Some("unchanged"));
}

async fn facts_and_reports_that_are_too_large_are_refused() {
    let site = Site::small().await;
    let name = certname("db");
    let huge = record(json!({"x": "y".repeat(2 << 20)}), json!({}), None, 2_000);
    let error = site.inventory.record_facts(&name, huge).await.unwrap_err();
    assert!(matches!(error, RecordError::TooLarge { .. }), "{error}");
    let mut huge = report("u", "changed", 1);
    huge.configuration_version = Some("v".repeat(1 << 20));
    let error = site.inventory.record_report(&name, huge).await.unwrap_err();
    assert!(matches!(error, RecordError::TooLarge { .. }), "{error}");
    let facts = site.inventory.facts(&name).await.unwrap().unwrap();
    assert_eq!(
        facts.facts["kernel"], "Linux",
        "the old ones are still there"
    );
}

async fn a_node_that_is_forgotten_is_gone() {
    let mut site = Site::small().await;
    let name = certname("db");
    assert!(site.inventory.forget(&name).await.unwrap());
    assert!(!site.inventory.forget(&name).await.unwrap());
    site.inventory.record_disconnected(&name);
    assert_eq!(site.names("nodes { }").await, "silent web1 web2");
    site.restart().await;
    assert_eq!(site.names("nodes { }").await, "silent web1 web2");
}

async fn one_run_that_is_reported_twice_is_one_report() {
    let site = Site::empty().await;
    let inventory = &site.inventory;
    let node = certname("web");
    let of_job = PuppetReport {
        transaction_uuid: "u1".to_owned(),
        status: Some("changed".to_owned()),
        job_id: Some("7".to_owned()),
        ..PuppetReport::default()
    };
    let of_agent = PuppetReport {
        hash: "abcd".to_owned(),
        status: Some("failed".to_owned()),
        job_id: None,
        catalog_uuid: Some("c1".to_owned()),
        ..of_job.clone()
    };
    let reports = [&of_job, &of_agent];
    for order in [[0, 1], [1, 0]] {
        for index in order {
            let report = reports[index].clone();
            inventory.record_report(&node, report).await.unwrap();
        }
        let snapshot = inventory.snapshot().unwrap();
        let [known] = &snapshot.get(&node).unwrap().reports[..] else {
            panic!("one run has one report");
        };
        assert_eq!(known.hash, "abcd");
        assert_eq!(known.status.as_deref(), Some("failed"));
        assert_eq!(known.catalog_uuid.as_deref(), Some("c1"));
        assert_eq!(known.job_id.as_deref(), Some("7"));
        inventory.forget(&node).await.unwrap();
    }
}
