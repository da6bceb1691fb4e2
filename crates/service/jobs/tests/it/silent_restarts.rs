//! The wait for a silent node, over restarts of the server. Main type: [`TimedServer`].
//!
//! The engines of these tests have tokio's paused clock, and the time of day moves with it: minutes pass
//! in milliseconds, and only when the test says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::Duration;

use jobs::{Jobs, JobsConfig, KIND_UNKNOWN};
use pcp::Certname;
use store::{Clock, JobNumber};
use tokio::sync::{mpsc, oneshot};

use crate::sim::Manner;
use crate::world::{World, request};

/// How far time goes at once: the engine's tick, and a little, since tokio's timers round up to milliseconds.
const STEP: Duration = Duration::from_millis(1_006);
/// When this timer has gone off within a step, the engine's tick has, too.
const AFTER_TICK: Duration = Duration::from_millis(1_003);
/// Status requests 12 s apart, 35 of them: the wait for a silent node.
const WAIT_S: u64 = 35 * 12;
/// An agent that comes back is asked at once, which is one request more than time alone would bring.
const ONE_REQUEST_S: u64 = 12;
/// After a restart an honest fleet needs so long to come back.
const COME_BACK_S: u64 = 2 * 60;

/// The time of day, moved by hand.
#[derive(Debug)]
struct HandClock(AtomicI64);

/// An engine in a thread of its own, whose time stands still until it is moved.
struct TimedServer {
    jobs: Jobs,
    advance: mpsc::UnboundedSender<oneshot::Sender<()>>,
    /// While a blocking task waits, tokio moves no time by itself.
    hold: Sender<()>,
    thread: JoinHandle<()>,
}

/// One job on one silent node, and the servers that wait for it one after the other.
struct SilentNode {
    world: World,
    clock: Arc<HandClock>,
    server: Option<TimedServer>,
    job: JobNumber,
    /// The time since the job was made.
    passed: Duration,
}

// === impl HandClock ===

impl Clock for HandClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    fn steady_ms(&self) -> i64 {
        self.now_ms()
    }
}

// === impl TimedServer ===

impl TimedServer {
    async fn start(world: &mut World, config: JobsConfig) -> Self {
        let start = world.engine(config);
        let (advance, mut orders) = mpsc::unbounded_channel::<oneshot::Sender<()>>();
        let (hold, held) = std::sync::mpsc::channel::<()>();
        let (started, jobs) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .start_paused(true)
                .build()
                .unwrap();
            runtime.block_on(async move {
                tokio::task::spawn_blocking(move || held.recv());
                let jobs = start.await;
                assert!(started.send(jobs).is_ok());
                while let Some(done) = orders.recv().await {
                    tokio::join!(tokio::time::sleep(AFTER_TICK), tokio::time::advance(STEP));
                    assert!(done.send(()).is_ok());
                }
            });
        });
        Self {
            jobs: jobs.await.unwrap(),
            advance,
            hold,
            thread,
        }
    }

    /// Lets one step pass, and returns when the engine has done what was due.
    async fn step(&self) {
        let (done, passed) = oneshot::channel();
        self.advance.send(done).unwrap();
        passed.await.unwrap();
        // The engine looks at commands after everything else.
        let nothing = JobNumber::try_from(i64::MAX).unwrap();
        assert!(self.jobs.stop(nothing, false).await.is_err());
    }

    /// Whether the engine still waits for the run. What it decided, it writes a little later.
    fn waits(&self) -> bool {
        self.jobs.metrics().in_flight.get() > 0
    }

    /// Waits until the end of the job is written.
    async fn follow(&self, job: JobNumber) {
        let mut live = self.jobs.subscribe_live(job, 0).await;
        while live.next().await.unwrap().is_some() {}
    }

    /// As a kill: nothing of it is heard any more.
    async fn kill(self) {
        let Self {
            jobs,
            advance,
            hold,
            thread,
        } = self;
        // In this order: without the blocking task, tokio moves the time of an idle runtime by itself,
        // and an engine that was not stopped yet would give its runs up.
        drop(advance);
        drop(hold);
        tokio::task::spawn_blocking(|| thread.join().unwrap())
            .await
            .unwrap();
        drop(jobs);
    }
}

// === impl SilentNode ===

impl SilentNode {
    async fn new() -> Self {
        let mut world = World::without_engine().await;
        let mute = Manner {
            mute: true,
            ..Manner::default()
        };
        let nodes: Vec<Certname> = world.agents(1, &mute);
        let now_ms = jiff::Timestamp::now().as_millisecond();
        let clock = Arc::new(HandClock(AtomicI64::new(now_ms)));
        let server = TimedServer::start(&mut world, config(&clock)).await;
        world.sim.attach(&world.fabric);
        let job = server.jobs.run(request(&nodes)).await.unwrap();
        Self {
            world,
            clock,
            server: Some(server),
            job,
            passed: Duration::ZERO,
        }
    }

    /// Moves time until `at_s`, or the verdict; answers whether the node is still waited for.
    async fn pass_until(&mut self, at_s: u64) -> bool {
        let server = self.server.as_ref().unwrap();
        while self.passed.as_secs() < at_s {
            self.passed += STEP;
            let step_ms = i64::try_from(STEP.as_millis()).unwrap();
            self.clock.0.fetch_add(step_ms, Ordering::SeqCst);
            server.step().await;
            if !server.waits() {
                return false;
            }
        }
        true
    }

    /// Kills the server and starts another; the node connects to it, or stays away.
    async fn restart(&mut self, node_comes_back: bool) {
        self.server.take().unwrap().kill().await;
        self.world.sim.detach();
        self.world.store.close().await;
        self.world.reopen_store().await;
        let server = TimedServer::start(&mut self.world, config(&self.clock)).await;
        self.server = Some(server);
        if node_comes_back {
            self.world.sim.attach(&self.world.fabric);
        }
    }

    /// When the run ended; it must be known to be in doubt.
    async fn verdict_s(&mut self) -> u64 {
        assert!(!self.pass_until(10 * WAIT_S).await, "never given up");
        let passed = self.passed.as_secs();
        self.server.as_ref().unwrap().follow(self.job).await;
        let (state, result) = self.world.only_run(self.job).await;
        assert_eq!(state, "errored");
        assert_eq!(result["_error"]["kind"], KIND_UNKNOWN, "{result}");
        passed
    }

    async fn end(mut self) {
        self.server.take().unwrap().kill().await;
    }
}

/// Every interval as it is by default.
fn config(clock: &Arc<HandClock>) -> JobsConfig {
    JobsConfig {
        clock: Arc::clone(clock) as Arc<dyn Clock>,
        prune_after: None,
        ..JobsConfig::default()
    }
}

#[tokio::test]
async fn a_silent_node_gets_its_verdict_at_the_same_time_however_often_the_server_restarts() {
    let mut node = SilentNode::new().await;
    for (at_s, comes_back) in [
        (60, true),
        (150, true),
        (151, false),
        (190, true),
        (280, true),
    ] {
        assert!(node.pass_until(at_s).await, "given up before {at_s} s");
        node.restart(comes_back).await;
    }
    let verdict_s = node.verdict_s().await;
    let expected = WAIT_S - ONE_REQUEST_S..=WAIT_S + ONE_REQUEST_S;
    assert!(expected.contains(&verdict_s), "{verdict_s} s");
    node.end().await;
}

#[tokio::test]
async fn a_server_that_crashes_again_and_again_begins_no_wait_anew() {
    let mut node = SilentNode::new().await;
    for round in 1..=20 {
        let at_s = round * (ONE_REQUEST_S - 1);
        assert!(node.pass_until(at_s).await, "given up before {at_s} s");
        node.restart(true).await;
    }
    let verdict_s = node.verdict_s().await;
    // The first server did not live long enough to tell that the node is silent.
    let expected = WAIT_S - ONE_REQUEST_S..=WAIT_S + 2 * ONE_REQUEST_S;
    assert!(expected.contains(&verdict_s), "{verdict_s} s");
    node.end().await;
}

#[tokio::test]
async fn a_restart_shortly_before_the_verdict_leaves_agents_the_time_to_come_back() {
    let mut node = SilentNode::new().await;
    let restart_s = WAIT_S - 10;
    assert!(node.pass_until(restart_s).await);
    node.restart(false).await;
    let verdict_s = node.verdict_s().await;
    let expected = restart_s + COME_BACK_S..=restart_s + COME_BACK_S + ONE_REQUEST_S;
    assert!(expected.contains(&verdict_s), "{verdict_s} s");
    node.end().await;
}

#[tokio::test]
async fn a_clock_that_is_set_between_two_servers_makes_no_wait_longer_or_too_short() {
    for jump in [
        jiff::SignedDuration::from_hours(1),
        jiff::SignedDuration::from_hours(-1),
    ] {
        let mut node = SilentNode::new().await;
        assert!(node.pass_until(100).await);
        let jump_ms = i64::try_from(jump.as_millis()).unwrap();
        node.clock.0.fetch_add(jump_ms, Ordering::SeqCst);
        node.restart(false).await;
        let verdict_s = node.verdict_s().await;
        let expected = 100 + COME_BACK_S..=100 + WAIT_S + ONE_REQUEST_S;
        assert!(expected.contains(&verdict_s), "{jump}: {verdict_s} s");
        node.end().await;
    }
}
