//! Code Manager as a service: queue, history, pins, rollbacks, garbage collection.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use code_deployments::service::{
    CodeUser, Deployment, DeploymentAction, DeploymentListeners, DeploymentRequester,
    DeploymentState, DeploymentSubmitError, EnvironmentHold, VersionsInUse, error_kinds,
};
use code_deployments::{CodeManager, Deployer};
use code_settings::{DeploymentSettings, R10kFile};
use code_store::code_cache::CodeCache;
use code_store::diff::FileChangeKind;
use code_store::version::VersionSignature;
use environments::EnvironmentName;
use store::{Store, StoreConfig};
use tokio::sync::Notify;

use crate::world::{World, name};

pub(crate) const DEPLOY: DeploymentAction = DeploymentAction::Deploy { dry_run: false };

pub(crate) struct Service {
    pub(crate) world: World,
    store: Store,
    pub(crate) manager: CodeManager,
    told: Arc<Told>,
    pub(crate) used: Arc<Used>,
}

/// The simulated use of versions.
#[derive(Debug, Default)]
pub(crate) struct Used {
    pub(crate) versions: Mutex<HashSet<(EnvironmentName, VersionSignature)>>,
    /// Plans and jobs that hold their environment.
    holding: Mutex<Vec<(CodeUser, EnvironmentName)>>,
    over: Notify,
    /// True if the query for versions in use gets no answer.
    pub(crate) is_silent: AtomicBool,
    pub(crate) asked: Notify,
}

#[async_trait]
impl VersionsInUse for Used {
    async fn versions(&self) -> Result<HashSet<(EnvironmentName, VersionSignature)>, String> {
        self.asked.notify_one();
        if self.is_silent.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        Ok(self.versions.lock().unwrap().clone())
    }

    async fn code_users(&self) -> Result<Vec<(CodeUser, EnvironmentName)>, String> {
        Ok(self.holding.lock().unwrap().clone())
    }

    async fn wait_for_finished_user(&self) {
        self.over.notified().await;
    }
}

/// A program that is notified of switches.
#[derive(Debug, Default)]
struct Told(Mutex<Vec<String>>);

#[async_trait]
impl CodeCache for Told {
    async fn flush_after_switch(&self, environment: &EnvironmentName) -> Result<(), String> {
        let mut told = self.0.lock().unwrap();
        told.push(environment.to_string());
        match environment.as_str() {
            "other" => Err("the puppetserver of other is away".to_owned()),
            _ => Ok(()),
        }
    }
}

pub(crate) fn by(owner: &str) -> DeploymentRequester {
    DeploymentRequester {
        owner: owner.to_owned(),
        reason: "a reason".to_owned(),
    }
}

impl Service {
    async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl Fn(&mut DeploymentSettings) + 'static) -> Self {
        Box::pin(Self::beside(
            World::with(change),
            DeploymentListeners::default(),
        ))
        .await
    }

    /// Creates a service with these listeners.
    pub(crate) async fn beside(world: World, others: DeploymentListeners) -> Self {
        world.module("apt").write("VERSION", "1").commit();
        let path = world.path().display();
        let puppetfile = format!("mod 'apt', git: '{path}/apt', branch: 'production'\n");
        world
            .control()
            .write("Puppetfile", &puppetfile)
            .write("site.pp", "")
            .commit();
        let told: Arc<Told> = Arc::default();
        let store = StoreConfig::sqlite(world.path().join("tutti.db"));
        let store = Store::open(&store).await.unwrap();
        let used = Arc::default();
        let deployer = world.deployer().clone();
        let manager = start_with(deployer, &store, &told, &used, others).await;
        Self {
            used,
            store,
            world,
            manager,
            told,
        }
    }

    /// Restarts the service with settings from this file.
    pub(crate) async fn reading(mut self, file: R10kFile) -> Self {
        self.manager.shutdown().await;
        let deployer = self.world.deployer().clone().with_settings_file(file);
        let others = DeploymentListeners::default();
        self.manager = start_with(deployer, &self.store, &self.told, &self.used, others).await;
        self
    }

    pub(crate) async fn act(&self, environment: &str, action: DeploymentAction) -> Deployment {
        let wanted = vec![(name(environment), action)];
        let mut submitted = self.manager.submit(wanted, by("anna")).await.unwrap();
        submitted.ends.remove(0).await.unwrap()
    }

    /// Deploys all environments of the sources.
    pub(crate) async fn all(&self) -> Vec<Deployment> {
        let wanted = self.manager.plan_all_environments(false).await.unwrap();
        let submitted = self.manager.submit(wanted, by("anna")).await.unwrap();
        let mut ended = Vec::new();
        for end in submitted.ends {
            ended.push(end.await.unwrap());
        }
        ended
    }

    /// Lets a plan or job hold production.
    async fn hold(&self, worker: CodeUser, hold: EnvironmentHold) {
        let held = (worker, name("production"));
        self.used.holding.lock().unwrap().push(held);
        self.manager.assign_hold(worker, hold).await;
    }

    fn over(&self, worker: CodeUser) {
        let mut holding = self.used.holding.lock().unwrap();
        holding.retain(|(other, _)| *other != worker);
        self.used.over.notify_one();
    }

    pub(crate) fn apt(&self, environment: &str) -> String {
        self.world.files(environment)["modules/apt/VERSION"].clone()
    }

    pub(crate) fn commit(&self, version: &str) -> String {
        self.world.at("apt").write("VERSION", version).commit()
    }
}

async fn start(world: &World, store: &Store, told: &Arc<Told>, used: &Arc<Used>) -> CodeManager {
    start_with(
        world.deployer().clone(),
        store,
        told,
        used,
        DeploymentListeners::default(),
    )
    .await
}

async fn start_with(
    deployer: Deployer,
    store: &Store,
    told: &Arc<Told>,
    used: &Arc<Used>,
    others: DeploymentListeners,
) -> CodeManager {
    let used = Arc::clone(used);
    let others = DeploymentListeners {
        code_caches: vec![Arc::clone(told) as Arc<dyn CodeCache>],
        ..others
    };
    CodeManager::start(deployer, store.clone(), used, others)
        .await
        .unwrap()
}

#[tokio::test]
async fn a_deployment_is_told_with_what_changed() {
    let service = Service::new().await;
    let first = service.act("production", DEPLOY).await;
    assert_eq!(first.state, DeploymentState::Synced);
    assert_eq!(
        (first.requester.owner.as_str(), first.before),
        ("anna", None)
    );
    let commit = service.commit("2");
    let second = service.act("production", DEPLOY).await;
    assert_eq!(second.before, first.signature);
    let outcome = second.outcome.unwrap();
    let changes = outcome.changes.unwrap();
    assert_eq!(changes.control, None, "the control repository is as it was");
    assert_eq!(changes.modules.len(), 1);
    assert_eq!(changes.modules[0].directory, "modules/apt");
    assert_eq!(changes.modules[0].version.to, Some(commit));
    assert_eq!(outcome.modules, 1);
    assert_eq!(service.apt("production"), "2");
    assert_eq!(*service.told.0.lock().unwrap(), ["production"; 2]);

    let third = service.act("production", DEPLOY).await;
    assert_eq!(third.before, third.signature, "nothing new");
    assert_eq!(service.told.0.lock().unwrap().len(), 2, "nobody is told");
    let history = service.manager.history(None, None, 10).await.unwrap();
    assert_eq!(
        history.iter().map(|it| it.id).collect::<Vec<_>>(),
        [3, 2, 1]
    );
}

#[tokio::test]
async fn what_fails_is_told_and_what_was_live_is_live() {
    let service = Service::new().await;
    service.act("production", DEPLOY).await;
    let control = service.world.control();
    control
        .write("Puppetfile", "mod 'apt', git: '/nowhere/apt', ref: 'x'\n")
        .commit();
    let failed = service.act("production", DEPLOY).await;
    assert_eq!(failed.state, DeploymentState::Failed);
    let error = failed.outcome.unwrap().error.unwrap();
    assert_eq!(error.kind, error_kinds::DEPLOY_FAILURE);
    assert!(error.msg.contains("apt"), "{}", error.msg);
    assert_eq!(service.apt("production"), "1");
    assert_eq!(service.manager.failed_deployments().await.unwrap().len(), 1);
    control.git(&["revert", "--no-edit", "HEAD"]);
    assert_eq!(
        service.act("production", DEPLOY).await.state,
        DeploymentState::Synced
    );
    assert!(
        service
            .manager
            .failed_deployments()
            .await
            .unwrap()
            .is_empty(),
        "it is mended"
    );

    let nowhere = service.act("nowhere", DEPLOY).await;
    let error = nowhere.outcome.unwrap().error.unwrap();
    assert_eq!(
        error.msg,
        "no branch of any source is the environment nowhere"
    );
}

#[tokio::test]
async fn a_dry_run_makes_a_version_and_leaves_the_live_one() {
    let service = Service::new().await;
    service.act("production", DEPLOY).await;
    service.commit("2");
    let dry = service
        .act("production", DeploymentAction::Deploy { dry_run: true })
        .await;
    assert_eq!(dry.state, DeploymentState::Synced);
    assert!(dry.dry_run);
    assert_ne!(dry.signature, dry.before);
    assert_eq!(service.apt("production"), "1");
    assert_eq!(service.told.0.lock().unwrap().len(), 1);
    // The version of the dry run exists, and can be made live.
    let signature = dry.signature.unwrap().parse().unwrap();
    service
        .act("production", DeploymentAction::Rollback { signature })
        .await;
    assert_eq!(service.apt("production"), "2");
}

#[tokio::test]
async fn all_is_what_the_sources_have_and_no_more() {
    let service = Service::new().await;
    service.world.control().git(&["branch", "other"]);
    let ended = service.all().await;
    let states: Vec<_> = ended
        .iter()
        .map(|it| (it.environment.as_str(), it.state))
        .collect();
    assert_eq!(
        states,
        [
            ("other", DeploymentState::Synced),
            ("production", DeploymentState::Synced)
        ]
    );
    let notes = &ended[0].outcome.as_ref().unwrap().notes;
    assert_eq!(*notes, ["the puppetserver of other is away"]);
    service.world.control().git(&["branch", "-D", "other"]);
    let ended = service.all().await;
    let gone: Vec<_> = ended.iter().filter(|it| it.action == "remove").collect();
    assert_eq!(gone.len(), 1);
    assert_eq!(
        (gone[0].environment.as_str(), gone[0].state),
        ("other", DeploymentState::Synced)
    );
    assert!(!service.world.live("other").exists());
    // Its versions are kept.
    let stored = service.manager.stored_versions().await.unwrap();
    assert!(
        stored
            .iter()
            .any(|it| it.environment.as_str() == "other" && !it.is_live)
    );
    // An environment that a source has is not removed.
    let stays = service.act("production", DeploymentAction::Remove).await;
    assert!(stays.outcome.unwrap().notes[0].starts_with("it stays"));
    assert!(service.world.live("production").exists());
}

#[tokio::test]
async fn an_unreachable_source_takes_nothing_away() {
    let service = Service::new().await;
    service.act("production", DEPLOY).await;
    let control = service.world.path().join("control");
    std::fs::rename(&control, service.world.path().join("hidden")).unwrap();
    let refused = service
        .manager
        .plan_all_environments(false)
        .await
        .unwrap_err();
    assert!(
        matches!(refused, DeploymentSubmitError::Sources(_)),
        "{refused}"
    );
    let failed = service.act("production", DeploymentAction::Remove).await;
    assert_eq!(failed.state, DeploymentState::Failed);
    assert_eq!(service.apt("production"), "1");
}

#[tokio::test]
async fn back_and_forth_and_from_one_environment_to_another() {
    let service = Service::new().await;
    service.world.control().git(&["branch", "staging"]);
    let first = service.act("production", DEPLOY).await;
    service.commit("2");
    let staged = service.act("staging", DEPLOY).await;
    let signature = staged.signature.clone().unwrap();
    let found = service
        .manager
        .find_version(&name("staging"), &signature[..8])
        .await
        .unwrap();
    let promote = DeploymentAction::Promote {
        from: name("staging"),
        signature: found.clone(),
    };
    let promoted = service.act("production", promote).await;
    assert_eq!(promoted.signature, Some(signature));
    assert_eq!(service.apt("production"), "2");
    let inode = |environment: &str| {
        use std::os::unix::fs::MetadataExt as _;
        let path = service.world.live(environment).join("modules/apt/VERSION");
        std::fs::metadata(path).unwrap().ino()
    };
    assert_eq!(inode("staging"), inode("production"), "no second copy");

    let before: VersionSignature = first.signature.unwrap().parse().unwrap();
    let (changes, files) = service
        .manager
        .diff(
            (name("production"), before.clone()),
            (name("production"), found),
        )
        .await
        .unwrap();
    assert_eq!(changes.modules.len(), 1);
    let shown: Vec<_> = files
        .files
        .iter()
        .map(|it| (it.path.as_str(), it.kind))
        .collect();
    assert_eq!(shown, [("modules/apt/VERSION", FileChangeKind::Changed)]);
    service
        .act(
            "production",
            DeploymentAction::Rollback { signature: before },
        )
        .await;
    assert_eq!(service.apt("production"), "1");
    let unknown = service
        .manager
        .find_version(&name("production"), "ffff")
        .await
        .unwrap_err();
    assert!(
        unknown.to_string().contains("no version of production"),
        "{unknown}"
    );
}

#[tokio::test]
async fn a_pinned_environment_stays() {
    let service = Service::new().await;
    service.act("production", DEPLOY).await;
    service
        .manager
        .pin(&name("production"), by("ben"))
        .await
        .unwrap();
    service.commit("2");
    let refused = service.act("production", DEPLOY).await;
    let error = refused.outcome.unwrap().error.unwrap();
    assert_eq!(error.kind, error_kinds::PINNED);
    assert!(
        error.msg.contains("ben") && error.msg.contains("a reason"),
        "{}",
        error.msg
    );
    assert_eq!(service.apt("production"), "1");
    // After unpinning, deployments are accepted.
    assert!(service.manager.unpin(&name("production")).await.unwrap());
    service.act("production", DEPLOY).await;
    assert_eq!(service.apt("production"), "2");
    let none = service
        .manager
        .pin(&name("nowhere"), by("ben"))
        .await
        .unwrap_err();
    assert!(none.to_string().contains("no version of nowhere is live"));
}

#[tokio::test]
async fn who_holds_an_environment_keeps_deployments_off_until_he_is_over() {
    let mut service = Service::new().await;
    let first = service.act("production", DEPLOY).await;
    let hold = service.manager.hold(&name("production")).await.unwrap();
    service.hold(CodeUser::Plan(3), hold).await;
    let hold = service.manager.hold(&name("production")).await.unwrap();
    service.hold(CodeUser::Job(4), hold).await;
    service.commit("2");
    let wanted = vec![(name("production"), DEPLOY), (name("staging"), DEPLOY)];
    service.world.control().git(&["branch", "staging"]);
    let mut submitted = service.manager.submit(wanted, by("anna")).await.unwrap();
    // Other environments do not wait.
    let other = submitted.ends.remove(1).await.unwrap();
    assert_eq!(other.state, DeploymentState::Synced);
    let waiting = async {
        loop {
            let waiting = service.manager.waiting_deployments();
            if let Some((_, blockers)) = waiting.into_iter().next() {
                return blockers;
            }
            tokio::task::yield_now().await;
        }
    };
    let blockers = waiting.await;
    assert_eq!(blockers.to_string(), "plan jobs 3 and jobs 4");
    assert_eq!(service.apt("production"), "1");
    // The holds are restored after a restart.
    service.manager.shutdown().await;
    service.manager = start(&service.world, &service.store, &service.told, &service.used).await;
    let live = service.manager.versions().live_version(&name("production"));
    assert_eq!(live.map(|it| it.to_string()), first.signature);
    service.over(CodeUser::Plan(3));
    service.over(CodeUser::Job(4));
    // The waiting deployment runs first, then this removal.
    let after = service.act("production", DeploymentAction::Remove).await;
    assert_eq!(after.state, DeploymentState::Synced);
    assert_eq!(service.apt("production"), "2");
}

#[tokio::test]
async fn requests_for_one_environment_join_and_each_has_its_own_end() {
    let service = Service::new().await;
    let wanted = vec![(name("production"), DEPLOY); 50];
    let submitted = service.manager.submit(wanted, by("anna")).await.unwrap();
    let mut workers = HashSet::new();
    for (end, (_, id)) in submitted.ends.into_iter().zip(submitted.deployments) {
        let end = end.await.unwrap();
        assert_eq!((end.id, end.state), (id, DeploymentState::Synced));
        workers.insert(end.served_by);
    }
    assert!(workers.len() <= 2, "{workers:?}");
}

#[tokio::test]
async fn what_was_written_down_is_done_after_a_restart() {
    let mut service = Service::new().await;
    service.manager.shutdown().await;
    let stopped = vec![(name("production"), DEPLOY)];
    let refused = service
        .manager
        .submit(stopped, by("anna"))
        .await
        .unwrap_err();
    assert!(matches!(refused, DeploymentSubmitError::Stopping));
    // A stored, unfinished deployment, as after a crash.
    let row = store::NewCodeDeploy {
        request_id: "x".to_owned(),
        environment: "production".to_owned(),
        action: "deploy".to_owned(),
        options: "{}".to_owned(),
        owner: "carla".to_owned(),
        reason: String::new(),
        state: "deploying".to_owned(),
        queued_ms: 1,
    };
    let id = service.store.insert_code_deploys(&[row]).await.unwrap()[0];
    service.manager = start(&service.world, &service.store, &service.told, &service.used).await;
    // The unfinished deployment runs before newer ones.
    service.act("production", DeploymentAction::Remove).await;
    let done = service.manager.deployment(id).await.unwrap().unwrap();
    assert_eq!(
        (done.state, done.requester.owner.as_str()),
        (DeploymentState::Synced, "carla")
    );
    assert_eq!(service.apt("production"), "1");
}

#[tokio::test]
async fn room_is_made_by_what_nobody_needs() {
    let service = Service::new().await;
    let mut signatures = Vec::new();
    for version in 1..=10 {
        service.commit(&version.to_string());
        let deployed = service.act("production", DEPLOY).await;
        signatures.push(deployed.signature.unwrap().parse().unwrap());
    }
    let collected = service.manager.collect(false).await.unwrap();
    assert_eq!(collected.versions, [], "they are new");
    // Each version was live for an hour, ten days ago.
    let versions = service.manager.versions().clone();
    let day = std::time::Duration::from_secs(24 * 60 * 60);
    for (number, signature) in (0_u32..).zip(&signatures) {
        let path = versions.path(&name("production"), signature);
        let then = std::time::SystemTime::now() - 10 * day + number * day / 24;
        std::fs::File::open(path)
            .unwrap()
            .set_modified(then)
            .unwrap();
    }
    let used = (name("production"), signatures[1].clone());
    service.used.versions.lock().unwrap().insert(used);
    let dry = service.manager.collect(true).await.unwrap();
    let gone = [0, 2, 3].map(|number: usize| (name("production"), signatures[number].clone()));
    assert_eq!(
        sorted(dry.versions),
        sorted(gone.to_vec()),
        "five and the live one stay"
    );
    assert_eq!(
        versions.all_versions().unwrap().len(),
        10,
        "a dry run removes nothing"
    );
    let collected = service.manager.collect(false).await.unwrap();
    assert_eq!(collected.objects, 3, "the VERSION of each: {collected:?}");
    assert_eq!(sorted(collected.versions), sorted(gone.to_vec()));
    assert_eq!(versions.all_versions().unwrap().len(), 7);
    // The remaining versions are complete, and removed ones can be deployed again.
    service
        .act(
            "production",
            DeploymentAction::Rollback {
                signature: signatures[1].clone(),
            },
        )
        .await;
    assert_eq!(service.apt("production"), "2");
    service.world.at("apt").write("VERSION", "1").commit();
    service.act("production", DEPLOY).await;
    assert_eq!(service.apt("production"), "1");
}

fn sorted<T: Ord>(mut all: Vec<T>) -> Vec<T> {
    all.sort();
    all
}

#[tokio::test]
async fn functions_in_ruby_that_plans_do_not_get_are_named_by_the_deployment() {
    let service = Service::with(|_| ()).await;
    let stdlib = service.world.module("stdlib");
    let own =
        "Puppet::Functions.create_function(:merge) do\n  def merge(one)\n    one\n  end\nend\n";
    stdlib
        .write("lib/puppet/functions/merge.rb", own)
        .write("lib/puppet/functions/site_own.rb", own)
        .commit();
    let line = "mod 'stdlib', git: 'DIR/stdlib', branch: 'production'";
    service.world.puppetfile(line);
    for action in [DeploymentAction::Deploy { dry_run: true }, DEPLOY] {
        let done = service.act("production", action).await;
        let notes = done.outcome.unwrap().notes.join("\n");
        assert!(
            notes.ends_with(": merge (stdlib/lib/puppet/functions/merge.rb)"),
            "{notes}"
        );
    }
    std::fs::remove_file(stdlib.path.join("lib/puppet/functions/merge.rb")).unwrap();
    stdlib.commit();
    let done = service.act("production", DEPLOY).await;
    assert_eq!(done.outcome.unwrap().notes, [""; 0]);
}
