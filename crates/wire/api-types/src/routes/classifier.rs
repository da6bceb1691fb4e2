//! Routes under `/classifier-api`. The permission here is the one that every request needs; the
//! handlers check the permission for the groups that a request concerns.

use crate::classifier::{
    CheckInList, CheckIns, ClassificationExplanation, Classified, ClassifiedByName,
    ClassifierClass, ClassifierClasses, ClassifierEnvironment, ClassifierEnvironments,
    ClassifyNode, GroupTrees, LastClassUpdate, NodeGroup, NodeGroupDelta, NodeGroupInput,
    NodeGroupRules, NodeGroups, PinNodes, RuleCondition, UnpinnedNodes,
};
use crate::defaults::{CLASSIFIER_BODY_BYTES, IMPORT_BODY_BYTES};
use crate::route::Method::{Delete, Get, Post, Put};
use crate::route::Route;
use crate::routes::permissions::{SET_ENVIRONMENT, VIEW_GROUPS};

super::group! {
    NODE_GROUPS = Route::new(Get, "/classifier-api/v1/groups", "node_groups", VIEW_GROUPS,
        "The node groups").reply::<NodeGroups>(200).query(&["inherited", "limit", "offset"]);
    NODE_GROUP_CREATE = Route::new(Post, "/classifier-api/v1/groups", "node_group_create", VIEW_GROUPS,
        "Create a group").request::<NodeGroupInput>().nothing(303)
        .max_body_bytes(CLASSIFIER_BODY_BYTES);
    NODE_GROUP = Route::new(Get, "/classifier-api/v1/groups/{group}", "node_group", VIEW_GROUPS,
        "One group").reply::<NodeGroup>(200).query(&["inherited"]);
    NODE_GROUP_PUT = Route::new(Put, "/classifier-api/v1/groups/{group}", "node_group_put", VIEW_GROUPS,
        "Create or replace a group; 201 when it is new").request::<NodeGroupInput>()
        .reply::<NodeGroup>(200).max_body_bytes(CLASSIFIER_BODY_BYTES);
    NODE_GROUP_UPDATE = Route::new(Post, "/classifier-api/v1/groups/{group}", "node_group_update",
        VIEW_GROUPS, "Change parts of a group").request::<NodeGroupDelta>()
        .reply::<NodeGroup>(200).max_body_bytes(CLASSIFIER_BODY_BYTES);
    NODE_GROUP_DELETE = Route::new(Delete, "/classifier-api/v1/groups/{group}", "node_group_delete",
        VIEW_GROUPS, "Delete a group without children").nothing(204);
    NODE_GROUP_PIN = Route::new(Post, "/classifier-api/v1/groups/{group}/pin", "node_group_pin",
        VIEW_GROUPS, "Pin nodes").request::<PinNodes>().nothing(204).query(&["nodes"])
        .max_body_bytes(CLASSIFIER_BODY_BYTES);
    NODE_GROUP_UNPIN = Route::new(Post, "/classifier-api/v1/groups/{group}/unpin", "node_group_unpin",
        VIEW_GROUPS, "Take pins away").request::<PinNodes>().nothing(204).query(&["nodes"])
        .max_body_bytes(CLASSIFIER_BODY_BYTES);
    NODE_GROUP_RULES = Route::new(Get, "/classifier-api/v1/groups/{group}/rules", "node_group_rules",
        VIEW_GROUPS, "A group's rule in several forms").reply::<NodeGroupRules>(200);
    NODE_GROUP_CHILDREN = Route::new(Get, "/classifier-api/v1/group-children/{group}",
        "node_group_children", VIEW_GROUPS, "A group and those below it")
        .reply::<GroupTrees>(200).query(&["depth"]);
    CLASSES = Route::new(Get, "/classifier-api/v1/classes", "classifier_classes", VIEW_GROUPS,
        "The classes that are known").reply::<ClassifierClasses>(200);
    ENVIRONMENTS = Route::new(Get, "/classifier-api/v1/environments", "classifier_environments",
        VIEW_GROUPS, "The environments").reply::<ClassifierEnvironments>(200);
    ENVIRONMENT = Route::new(Get, "/classifier-api/v1/environments/{environment}",
        "classifier_environment", VIEW_GROUPS, "One environment")
        .reply::<ClassifierEnvironment>(200);
    ENVIRONMENT_PUT = Route::new(Put, "/classifier-api/v1/environments/{environment}",
        "classifier_environment_put", SET_ENVIRONMENT,
        "Announce an environment that there is no code for yet")
        .reply::<ClassifierEnvironment>(201);
    ENVIRONMENT_DELETE = Route::new(Delete, "/classifier-api/v1/environments/{environment}",
        "classifier_environment_delete", SET_ENVIRONMENT,
        "Take back that an environment was announced").nothing(204);
    ENVIRONMENT_CLASSES = Route::new(Get, "/classifier-api/v1/environments/{environment}/classes",
        "classifier_environment_classes", VIEW_GROUPS, "The classes of an environment")
        .reply::<ClassifierClasses>(200);
    ENVIRONMENT_CLASS = Route::new(Get,
        "/classifier-api/v1/environments/{environment}/classes/{class}",
        "classifier_environment_class", VIEW_GROUPS, "One class of an environment")
        .reply::<ClassifierClass>(200);
    UPDATE_CLASSES = Route::new(Post, "/classifier-api/v1/update-classes", "update_classes",
        VIEW_GROUPS, "Read the classes again").nothing(201).query(&["environment"]);
    LAST_CLASS_UPDATE = Route::new(Get, "/classifier-api/v1/last-class-update",
        "last_class_update", VIEW_GROUPS, "When classes were last read")
        .reply::<LastClassUpdate>(200);
    CHECK_INS = Route::new(Get, "/classifier-api/v1/nodes", "check_ins", VIEW_GROUPS,
        "How nodes were classified lately").reply::<CheckInList>(200).query(&["limit", "offset"]);
    NODE_CHECK_INS = Route::new(Get, "/classifier-api/v1/nodes/{node}", "node_check_ins",
        VIEW_GROUPS, "How a node was classified lately").reply::<CheckIns>(200);
    CLASSIFIED = Route::new(Post, "/classifier-api/v1/classified/nodes/{node}", "classified",
        VIEW_GROUPS, "Classify a node").request::<ClassifyNode>().reply::<Classified>(200)
        .max_body_bytes(CLASSIFIER_BODY_BYTES).asks_only();
    CLASSIFIED_V2 = Route::new(Post, "/classifier-api/v2/classified/nodes/{node}",
        "classified_v2", VIEW_GROUPS, "Classify a node").request::<ClassifyNode>()
        .reply::<ClassifiedByName>(200).max_body_bytes(CLASSIFIER_BODY_BYTES).asks_only();
    EXPLANATION = Route::new(Post, "/classifier-api/v1/classified/nodes/{node}/explanation",
        "classification_explanation", VIEW_GROUPS, "Why a node is classified as it is")
        .request::<ClassifyNode>().reply::<ClassificationExplanation>(200).max_body_bytes(CLASSIFIER_BODY_BYTES).asks_only();
    ENC = Route::new(Get, "/classifier-api/v1/enc/{node}", "enc", VIEW_GROUPS,
        "What a node gets, as Puppet's node terminus `exec` reads it")
        .text(200, "application/yaml");
    UNPIN_FROM_ALL = Route::new(Post, "/classifier-api/v1/commands/unpin-from-all",
        "unpin_from_all", VIEW_GROUPS, "Take the pins of nodes away everywhere")
        .request::<PinNodes>().reply::<UnpinnedNodes>(200).query(&["nodes"])
        .max_body_bytes(CLASSIFIER_BODY_BYTES);
    IMPORT_HIERARCHY = Route::new(Post, "/classifier-api/v1/import-hierarchy", "import_hierarchy",
        VIEW_GROUPS, "Replace all groups").request::<NodeGroups>().nothing(204)
        .max_body_bytes(IMPORT_BODY_BYTES);
    TRANSLATE_RULE = Route::new(Post, "/classifier-api/v1/rules/translate", "translate_rule",
        VIEW_GROUPS, "A rule as a query of PuppetDB").request::<RuleCondition>()
        .reply::<RuleCondition>(200).query(&["format"]).max_body_bytes(CLASSIFIER_BODY_BYTES).asks_only();
    VALIDATE_GROUP = Route::new(Post, "/classifier-api/v1/validate/group", "validate_group",
        VIEW_GROUPS, "Whether a group could be created").request::<NodeGroupInput>()
        .reply::<NodeGroup>(200).max_body_bytes(CLASSIFIER_BODY_BYTES).asks_only();
}
