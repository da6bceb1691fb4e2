//! Code Manager: `/code-manager/v1` as Puppet Enterprise has it, `/tutti/v1/code` beside it.

use crate::defaults::WEBHOOK_BODY_BYTES;
use crate::route::Method::{Get, Post};
use crate::route::{Policy, Route};
use crate::routes::permissions::{DEPLOY_CODE, VIEW};
use crate::{
    CodeCollected, CodeDeploy, CodeDeployment, CodeDeploysCommand, CodeDeploysStatus, CodeDiff,
    CodeGcCommand, CodeHistory, CodePinCommand, CodePinned, CodePromoteCommand,
    CodeRollbackCommand, CodeUnpinCommand, CodeVerified, CodeVerifyCommand, CodeVersions,
    CodeWebhookReply, WebhookGoHealth, WebhookQueueItem,
};

super::group! {
    CODE_DEPLOYS = Route::new(Post, "/code-manager/v1/deploys", "code_deploys", DEPLOY_CODE,
        "Deploy environments").request::<CodeDeploysCommand>().reply::<Vec<CodeDeploy>>(200);
    CODE_STATUS = Route::new(Get, "/code-manager/v1/deploys/status", "code_status", VIEW,
        "What is under way and what is live, or one deployment").reply::<CodeDeploysStatus>(200)
        .query(&["id"]);
    CODE_WEBHOOK = Route::new(Post, "/code-manager/v1/webhook", "code_webhook", Policy::Public,
        "Deploy what was pushed: for GitHub, GitLab, Bitbucket, Azure DevOps, Gitea, Forgejo")
        .reply::<CodeWebhookReply>(200).query(&["type", "prefix", "token"])
        .max_body_bytes(WEBHOOK_BODY_BYTES).asks_only();
    CODE_WEBHOOK_R10K = Route::new(Post, "/api/v1/r10k/environment", "code_webhook_r10k", Policy::Public,
        "The same, where webhook-go has it").reply::<CodeWebhookReply>(200)
        .query(&["type", "prefix", "token"]).max_body_bytes(WEBHOOK_BODY_BYTES).asks_only();
    CODE_WEBHOOK_MODULE = Route::new(Post, "/api/v1/r10k/module", "code_webhook_module", Policy::Public,
        "Deploy the environments that have the module which was pushed").reply::<CodeWebhookReply>(200)
        .query(&["type", "module_name", "branch_only", "token"])
        .max_body_bytes(WEBHOOK_BODY_BYTES).asks_only();
    CODE_WEBHOOK_QUEUE = Route::new(Get, "/api/v1/queue", "code_webhook_queue", Policy::Public,
        "The last deployments, as webhook-go shows its queue: with the secret of webhooks, or a token")
        .reply::<Vec<WebhookQueueItem>>(200).query(&["token"]);
    WEBHOOK_GO_HEALTH = Route::new(Get, "/health", "webhook_go_health", Policy::Public,
        "That the server runs, as webhook-go says it").reply::<WebhookGoHealth>(200);
    CODE_HISTORY = Route::new(Get, "/tutti/v1/code/history", "code_history", VIEW,
        "The deployments, newest first").reply::<CodeHistory>(200)
        .query(&["environment", "before", "limit"]);
    CODE_VERSIONS = Route::new(Get, "/tutti/v1/code/versions", "code_versions", VIEW,
        "The versions of environments that are on the server").reply::<CodeVersions>(200)
        .query(&["environment"]);
    CODE_DIFF = Route::new(Get, "/tutti/v1/code/diff", "code_diff", VIEW,
        "What is different between two versions").reply::<CodeDiff>(200)
        .query(&["environment", "from", "to_environment", "to"]);
    CODE_ROLLBACK = Route::new(Post, "/tutti/v1/code/rollback", "code_rollback", DEPLOY_CODE,
        "Make another version live that is on the server").request::<CodeRollbackCommand>()
        .reply::<CodeDeployment>(200);
    CODE_PROMOTE = Route::new(Post, "/tutti/v1/code/promote", "code_promote", DEPLOY_CODE,
        "Make a version of one environment live in another").request::<CodePromoteCommand>()
        .reply::<CodeDeployment>(200);
    CODE_PIN = Route::new(Post, "/tutti/v1/code/pin", "code_pin", DEPLOY_CODE,
        "Let an environment stay with its version").request::<CodePinCommand>()
        .reply::<CodePinned>(200);
    CODE_UNPIN = Route::new(Post, "/tutti/v1/code/unpin", "code_unpin", DEPLOY_CODE,
        "Let an environment be deployed again").request::<CodeUnpinCommand>()
        .reply::<CodePinned>(200);
    CODE_GC = Route::new(Post, "/tutti/v1/code/gc", "code_gc", DEPLOY_CODE,
        "Remove versions that are no longer needed").request::<CodeGcCommand>()
        .reply::<CodeCollected>(200);
    CODE_VERIFY = Route::new(Post, "/tutti/v1/code/verify", "code_verify", DEPLOY_CODE,
        "Compare all contents and versions with their hashes").request::<CodeVerifyCommand>()
        .reply::<CodeVerified>(200);
}
