//! Edits of groups: refusals, required permissions, and the state after a restart.

use std::collections::HashSet;

use classifier::{
    EditError, GroupDelta, GroupEditor, GroupId, GroupInput, HierarchyError, NodeGroupRight,
    UnrestrictedEditor, parse_import,
};
use serde_json::{Value, json};

use crate::world::{ROOT, World, node};

testkit::both!(
    what_was_written_is_there_after_a_restart,
    serial_numbers_count_edits_and_stop_the_second_of_two,
    concurrent_edits_are_all_kept,
    what_is_no_tree_is_refused_by_name_and_changes_nothing,
    pins_come_and_go_from_one_group_or_all,
    a_dump_replaces_all_groups_or_none,
    each_kind_of_edit_needs_its_own_right,
    creating_moving_pinning_and_importing_are_no_way_around,
    check_ins_are_kept_and_bounded,
);

fn root() -> GroupId {
    ROOT.parse().unwrap()
}

async fn what_was_written_is_there_after_a_restart() {
    let world = World::new().await;
    let keys = json!({
        "rule": ["or", ["=", "name", "a"], [">", ["fact", "n"], "1"]], "description": "d",
        "classes": {"x": {"p": [1, {"q": null}]}}, "variables": {"v": 1.5},
        "config_data": {"y": {"z": "\u{0}"}}, "environment": "dev", "environment_trumps": true,
    });
    let id = world.group("G", keys).await;
    let before = world.classifier.group(id).unwrap();
    let world = world.restarted().await;
    assert_eq!(world.classifier.group(id).unwrap(), before);
    assert_eq!(
        world.classifier.groups().len(),
        5,
        "shipped groups are written once"
    );
    world
        .classifier
        .delete(id, UnrestrictedEditor)
        .await
        .unwrap();
    let world = world.restarted().await;
    assert!(world.classifier.group(id).is_err());
}

async fn serial_numbers_count_edits_and_stop_the_second_of_two() {
    let world = World::new().await;
    let id = world.group("G", json!({})).await;
    let edited = world
        .update(id, json!({"description": "x", "serial_number": 1}))
        .await
        .unwrap();
    assert_eq!(edited.group.unwrap().serial_number, 2);
    let late = world
        .update(id, json!({"description": "y", "serial_number": 1}))
        .await
        .unwrap_err();
    assert!(
        matches!(
            late,
            EditError::Serial {
                given: 1,
                current: 2
            }
        ),
        "{late}"
    );
    // An edit without a change does not increase the serial number.
    let same = world.update(id, json!({"description": "x"})).await.unwrap();
    assert_eq!(same.group.unwrap().serial_number, 2);
    let input = json!({"name": "G", "parent": ROOT, "classes": {}, "description": "x"});
    let input = GroupInput::parse(&input).unwrap();
    let put = world
        .classifier
        .put(id, input, UnrestrictedEditor)
        .await
        .unwrap();
    assert_eq!(put.group.unwrap().serial_number, 2);
}

async fn concurrent_edits_are_all_kept() {
    let world = World::new().await;
    let id = world.group("G", json!({})).await;
    let mut pins = tokio::task::JoinSet::new();
    for n in 0..20 {
        let classifier = world.classifier.clone();
        pins.spawn(async move {
            classifier
                .pin(id, vec![format!("n{n}")], UnrestrictedEditor)
                .await
        });
    }
    for done in pins.join_all().await {
        done.unwrap();
    }
    let rule = world.classifier.inherited_rule(id).unwrap();
    assert_eq!(rule.pinned.len(), 20);
    assert_eq!(world.classifier.group(id).unwrap().serial_number, 21);
}

async fn what_is_no_tree_is_refused_by_name_and_changes_nothing() {
    let world = World::new().await;
    let one = world.group("One", json!({})).await;
    let two = world.group("Two", json!({"parent": one.to_string()})).await;
    let before = world.classifier.groups();
    let cycle = world
        .update(one, json!({"parent": two.to_string()}))
        .await
        .unwrap_err();
    let EditError::Hierarchy(HierarchyError::Cycle { ids, names }) = cycle else {
        panic!("{cycle}")
    };
    assert_eq!(ids.iter().collect::<HashSet<_>>(), [&one, &two].into());
    assert_eq!(names.first(), names.last());
    let own = world
        .update(one, json!({"parent": one.to_string()}))
        .await
        .unwrap_err();
    assert!(
        matches!(own, EditError::Hierarchy(HierarchyError::Cycle { .. })),
        "{own}"
    );
    let orphan = GroupId::random().to_string();
    let orphan = world
        .try_group("Orphan", json!({"parent": orphan}))
        .await
        .unwrap_err();
    assert!(matches!(
        orphan,
        EditError::Hierarchy(HierarchyError::MissingParent { .. })
    ));
    let twin = world.try_group("Two", json!({})).await.unwrap_err();
    assert!(matches!(
        twin,
        EditError::Hierarchy(HierarchyError::SameName { .. })
    ));
    world.group("Two", json!({"environment": "dev"})).await;
    let parent = world
        .classifier
        .delete(one, UnrestrictedEditor)
        .await
        .unwrap_err();
    assert!(parent.to_string().contains("(Two)"), "{parent}");
    let ids = world
        .update(one, json!({"id": two.to_string()}))
        .await
        .unwrap_err();
    assert!(matches!(ids, EditError::ConflictingIds { .. }));
    for (edit, what) in [
        (json!({"rule": null}), "rule of the root"),
        (json!({"parent": one.to_string()}), "root group can neither"),
    ] {
        let refused = world.update(root(), edit).await.unwrap_err().to_string();
        assert!(refused.contains(what), "{refused}");
    }
    assert!(
        world
            .classifier
            .delete(root(), UnrestrictedEditor)
            .await
            .is_err()
    );
    assert!(world.update(GroupId::random(), json!({})).await.is_err());
    assert_eq!(world.classifier.groups().len(), before.len() + 1);
}

async fn pins_come_and_go_from_one_group_or_all() {
    let world = World::new().await;
    let rule = json!(["=", ["fact", "x"], "1"]);
    let one = world.group("One", json!({"rule": rule})).await;
    let two = world.group("Two", json!({})).await;
    let nodes = || vec!["a".to_owned(), "b".to_owned()];
    world
        .classifier
        .pin(one, nodes(), UnrestrictedEditor)
        .await
        .unwrap();
    world
        .classifier
        .pin(two, nodes(), UnrestrictedEditor)
        .await
        .unwrap();
    assert_eq!(
        world
            .classifier
            .matching_groups(one, &[node("b", json!({}))])
            .unwrap()
            .len(),
        1
    );
    world
        .classifier
        .unpin(two, vec!["a".into(), "x".into()], UnrestrictedEditor)
        .await
        .unwrap();
    let left = world
        .classifier
        .unpin_from_all(nodes(), UnrestrictedEditor)
        .await
        .unwrap();
    let shown: Vec<_> = left
        .iter()
        .map(|node| (node.certname.as_str(), node.groups.len()))
        .collect();
    assert_eq!(shown, [("a", 1), ("b", 2)]);
    let group = world.classifier.group(one).unwrap();
    assert_eq!(group.rule.as_ref().unwrap().to_json(), rule);
    assert_eq!(world.classifier.group(two).unwrap().rule, None);
}

async fn a_dump_replaces_all_groups_or_none() {
    let world = World::new().await;
    let id = "b5b53b94-5d0f-4a5c-a3a3-5f2c6d5a9b11";
    let dump = json!([
        {"name": "Web", "id": id, "parent": ROOT, "environment": "production",
         "environment_trumps": false, "rule": ["and", ["~", "name", "web"]], "classes": {"a": {}},
         "config_data": {}, "variables": {}, "last_edited": "2018-02-20T02:36:17.776Z",
         "serial_number": 16, "user_permissions": {"view": true}},
        {"name": "All Nodes", "id": ROOT, "parent": ROOT, "environment": "production",
         "rule": ["and", ["~", "name", ".*"]], "classes": {}, "variables": {}},
    ]);
    let import = |dump: &Value| {
        let groups = parse_import(dump, 5).unwrap();
        world.classifier.import(groups, UnrestrictedEditor)
    };
    import(&dump).await.unwrap();
    let web = world.classifier.group(id.parse().unwrap()).unwrap();
    assert_eq!(
        (web.serial_number, web.last_edited_ms),
        (16, 1_519_094_177_776)
    );
    assert_eq!(world.classifier.groups().len(), 2);
    let mut lost = dump.clone();
    lost[0]["parent"] = json!(GroupId::random());
    let error = import(&lost).await.unwrap_err();
    assert!(
        matches!(&error, EditError::Unreachable { names } if names == &["Web"]),
        "{error}"
    );
    let rootless = json!([dump[0]]);
    assert!(import(&rootless).await.is_err());
    let mut twice = dump.clone();
    twice[1]["id"] = json!(id);
    assert!(import(&twice).await.is_err());
    let mut alone = dump.clone();
    alone[0]["parent"] = json!(id);
    let error = import(&alone).await.unwrap_err();
    assert!(matches!(
        error,
        EditError::Hierarchy(HierarchyError::Cycle { .. })
    ));
    assert_eq!(world.classifier.groups().len(), 2, "nothing was lost");
    import(&dump).await.unwrap();
    let web = world.classifier.group(id.parse().unwrap()).unwrap();
    assert_eq!(web.serial_number, 17, "it is another group than before");
}

/// An editor with these rights on this group and no others.
#[derive(Clone)]
struct Has(Vec<NodeGroupRight>, GroupId);

impl GroupEditor for Has {
    fn has_direct_right(&self, right: NodeGroupRight, group: GroupId) -> bool {
        self.1 == group && self.0.contains(&right)
    }
}

async fn each_kind_of_edit_needs_its_own_right() {
    let world = World::new().await;
    let parent = world.group("Parent", json!({})).await;
    let elsewhere = world.group("Elsewhere", json!({})).await;
    let parameters = [
        NodeGroupRight::EditParametersAndVariables,
        NodeGroupRight::EditClassification,
    ];
    // The edit, the rights of which one is required, and `true` if a right on the group itself
    // counts.
    let cases: [(Value, &[NodeGroupRight], bool); 11] = [
        (
            json!({"environment": "dev"}),
            &[NodeGroupRight::SetEnvironment],
            true,
        ),
        (
            json!({"environment_trumps": true}),
            &[NodeGroupRight::SetEnvironment],
            true,
        ),
        (
            json!({"classes": {"b": {}}}),
            &[NodeGroupRight::EditClassification],
            true,
        ),
        (
            json!({"classes": {"a": null}}),
            &[NodeGroupRight::EditClassification],
            true,
        ),
        (json!({"classes": {"a": {"p": 2}}}), &parameters, true),
        (json!({"classes": {"a": {"q": 2}}}), &parameters, true),
        (json!({"variables": {"v": 1}}), &parameters, true),
        (
            json!({"config_data": {"c": {"p": 1}}}),
            &[NodeGroupRight::EditConfigData],
            true,
        ),
        (
            json!({"rule": ["=", "name", "x"]}),
            &[NodeGroupRight::EditChildRules],
            false,
        ),
        (
            json!({"name": "Renamed"}),
            &[NodeGroupRight::ModifyChildren],
            false,
        ),
        (
            json!({"description": "new"}),
            &[NodeGroupRight::ModifyChildren],
            false,
        ),
    ];
    for (delta, rights, on_itself) in cases {
        let keys = json!({"parent": parent.to_string(), "classes": {"a": {"p": 1}}});
        let child = world.group("Child", keys).await;
        let attempt = |editor| {
            let delta = GroupDelta::parse(&delta).unwrap();
            world.classifier.update(child, delta, editor)
        };
        let others = NodeGroupRight::ALL
            .iter()
            .filter(|right| !rights.contains(right));
        let mut refused = vec![
            Has(others.copied().collect(), child),
            Has(rights.to_vec(), elsewhere),
        ];
        if !on_itself {
            refused.push(Has(NodeGroupRight::ALL.to_vec(), child));
        }
        for editor in refused {
            let error = attempt(editor).await.unwrap_err();
            assert!(
                matches!(error, EditError::NotPermitted { .. }),
                "{delta}: {error}"
            );
        }
        let mut accepted = vec![parent, root()];
        accepted.extend(on_itself.then_some(child));
        let before = (*world.classifier.group(child).unwrap()).clone();
        for right in rights {
            for on in &accepted {
                let edited = attempt(Has(vec![*right], *on)).await.unwrap();
                assert_ne!(*edited.group.unwrap(), before, "{delta}");
                let groups = world.classifier.groups();
                let put_back = groups.iter().map(|group| match group.id == child {
                    true => before.clone(),
                    false => (**group).clone(),
                });
                let put_back = put_back.collect();
                world
                    .classifier
                    .import(put_back, UnrestrictedEditor)
                    .await
                    .unwrap();
            }
        }
        world
            .classifier
            .delete(child, UnrestrictedEditor)
            .await
            .unwrap();
    }
}

async fn creating_moving_pinning_and_importing_are_no_way_around() {
    let world = World::new().await;
    let mine = world.group("Mine", json!({})).await;
    let other = world
        .group("Other", json!({"classes": {"secret": {}}}))
        .await;
    let create = |keys: Value, rights: &[NodeGroupRight]| {
        let mut group = json!({"name": "New", "parent": mine.to_string(), "classes": {}});
        for (key, value) in keys.as_object().unwrap() {
            group[key] = value.clone();
        }
        let input = GroupInput::parse(&group).unwrap();
        world.classifier.create(input, Has(rights.to_vec(), mine))
    };
    for (keys, right) in [
        (
            json!({"rule": ["=", "name", "x"]}),
            NodeGroupRight::EditChildRules,
        ),
        (
            json!({"classes": {"a": {}}}),
            NodeGroupRight::EditClassification,
        ),
        (
            json!({"variables": {"a": 1}}),
            NodeGroupRight::EditClassification,
        ),
        (
            json!({"config_data": {"a": {"b": 1}}}),
            NodeGroupRight::EditConfigData,
        ),
        (
            json!({"environment": "dev"}),
            NodeGroupRight::SetEnvironment,
        ),
        (
            json!({"environment_trumps": true}),
            NodeGroupRight::SetEnvironment,
        ),
    ] {
        let refused = create(keys.clone(), &[NodeGroupRight::ModifyChildren])
            .await
            .unwrap_err();
        let is_it =
            matches!(&refused, EditError::NotPermitted { right: needed, .. } if *needed == right);
        assert!(is_it, "{keys}: {refused}");
        let made = create(keys, &[NodeGroupRight::ModifyChildren, right])
            .await
            .unwrap();
        let made = made.group.unwrap().id;
        world
            .classifier
            .delete(made, Has(vec![NodeGroupRight::ModifyChildren], mine))
            .await
            .unwrap();
    }
    assert!(create(json!({}), &[]).await.is_err());
    let made = create(json!({}), &[NodeGroupRight::ModifyChildren])
        .await
        .unwrap()
        .group
        .unwrap()
        .id;
    // Moves the group below one for which the editor has no rights.
    let all = || Has(NodeGroupRight::ALL.to_vec(), mine);
    let delta = GroupDelta::parse(&json!({"parent": other.to_string()})).unwrap();
    assert!(world.classifier.update(made, delta, all()).await.is_err());
    assert!(
        world
            .classifier
            .pin(other, vec!["a".into()], all())
            .await
            .is_err()
    );
    world
        .classifier
        .pin(other, vec!["a".into()], UnrestrictedEditor)
        .await
        .unwrap();
    let left = world
        .classifier
        .unpin_from_all(vec!["a".into()], all())
        .await
        .unwrap();
    assert!(left[0].groups.is_empty(), "groups of others are left alone");
    let groups = world
        .classifier
        .groups()
        .iter()
        .map(|group| (**group).clone())
        .collect();
    assert!(world.classifier.import(groups, all()).await.is_err());
}

async fn check_ins_are_kept_and_bounded() {
    let world = World::new().await;
    let a = node("a", json!({}));
    for n in 0..8 {
        let uuid = Some(format!("t{n}"));
        world.classifier.check_in(&a, uuid).await.unwrap();
    }
    world
        .classifier
        .check_in(&node("b", json!({})), None)
        .await
        .unwrap();
    let kept = world.classifier.node_check_ins(&a.certname).await.unwrap();
    assert_eq!(kept.len(), 5);
    assert_eq!(
        kept[0].transaction_uuid.as_deref(),
        Some("t7"),
        "newest first"
    );
    assert_eq!(kept[0].explanation[ROOT]["value"], true);
    let page = world.classifier.check_ins(1, 1).await.unwrap();
    assert_eq!(page.len(), 1);
    assert_eq!(page[0].certname, "b");
    assert_eq!(world.store.prune_check_ins(2).await.unwrap(), 4);
}
