//! Deployments on a disk whose power is cut: no half version is ever live, and the next deployment
//! succeeds.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use code_deployments::Deployer;
use code_settings::DeploymentSettings;
use code_sources::git::GitProgram;
use code_sources::source::EnvironmentSource;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use testkit::power_cut::medium::Survivors;
use testkit::power_cut::{PowerCutDisk, Workload, cuts, print_figures, seed};

use crate::kills::{MODULES, write};
use crate::world::{World, name};

const DISK: &str = "TUTTI_TEST_POWER_CUT_DISK";
const CONTROL: &str = "TUTTI_TEST_POWER_CUT_CONTROL";

/// Different outcomes that are checked for each cut.
const OUTCOMES: u64 = 2;

/// Pause between two durable writes of the other file on the disk.
const NEIGHBOUR_PAUSE: Duration = Duration::from_millis(3);

/// Longer than a deployment takes, to end a broken test.
const PATIENCE: Duration = Duration::from_secs(60);

fn settings(disk: &Path, control: &Path) -> DeploymentSettings {
    let mut settings = DeploymentSettings::new(disk.join("deploys"), environments(disk));
    let control = control.display().to_string();
    settings.sources = vec![Arc::new(EnvironmentSource::new("main", control))];
    settings
}

fn environments(disk: &Path) -> PathBuf {
    disk.join("code/environments")
}

async fn deploy(disk: &Path, control: &Path) -> Result<(), String> {
    let deployer = Deployer::open(settings(disk, control), GitProgram::default());
    let deployer = deployer.map_err(|error| format!("{error:?}"))?;
    let round = deployer.start_round();
    let environments = deployer.list_environments(&round).await;
    let environments = environments.map_err(|error| format!("{error:?}"))?;
    let found = &environments.by_name[&name("production")];
    let built = deployer.build(found, &round).await;
    let built = built.map_err(|error| format!("{error:?}"))?;
    let switched = deployer.switch(&built.environment, &built.signature);
    switched.await.map_err(|error| format!("{error:?}"))?;
    Ok(())
}

/// Not a test: the process on the disk. A second thread writes to the disk durably meanwhile, as
/// the server's database does, so that names become durable before their contents.
#[tokio::test]
#[ignore = "the process whose power is cut"]
async fn deploys_on_the_disk() {
    let (Some(disk), Some(control)) = (std::env::var_os(DISK), std::env::var_os(CONTROL)) else {
        return;
    };
    let disk = PathBuf::from(disk);
    let path = disk.join("neighbour");
    std::thread::spawn(move || {
        let mut file = std::fs::File::create(path).unwrap();
        while file.write_all(b"x").and_then(|()| file.sync_data()).is_ok() {
            // The pause makes most writes those of the deployment.
            std::thread::sleep(NEIGHBOUR_PAUSE);
        }
    });
    deploy(&disk, Path::new(&control)).await.unwrap();
    println!("\nswitched");
}

/// Returns the number in the live version, if there is one; fails if the version is incomplete.
fn live(disk: &Path) -> Result<Option<u64>, String> {
    let Ok(root) = std::fs::read_link(environments(disk).join("production")) else {
        return Ok(None);
    };
    let read = |path: String| {
        let text = std::fs::read_to_string(root.join(&path));
        text.map_err(|error| format!("{path} of the live version: {error}"))
    };
    let version = read("VERSION".to_owned())?;
    for module in 0..MODULES {
        let other = read(format!("modules/m{module}/VERSION"))?;
        if other != version {
            return Err(format!(
                "VERSION is {version:?}, that of m{module} {other:?}"
            ));
        }
    }
    let number = version.parse();
    number
        .map(Some)
        .map_err(|_| format!("VERSION is {version:?}"))
}

fn start(disk: &Path, control: &Path) -> Workload {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "power_cuts::deploys_on_the_disk", "--ignored"]);
    command.arg("--nocapture");
    command.env(DISK, disk).env(CONTROL, control);
    Workload::start(&command).unwrap()
}

/// After a power cut, git leaves empty objects where it did not sync them.
#[tokio::test]
async fn power_cuts_never_leave_a_half_version_and_never_block_deployments() {
    let Some(mut disk) = PowerCutDisk::for_test() else {
        return;
    };
    let mut world = World::new();
    world.stop();
    world.add_modules(MODULES);
    write(&world, 0);
    let (path, control) = (disk.path(), world.path().join("control"));
    deploy(&path, &control).await.unwrap();
    // The number of writes and flushes of a deployment.
    let before = disk.events();
    write(&world, 1);
    let workload = start(&path, &control);
    while workload.next_line().unwrap().is_some() {}
    let mut most = disk.events() - before;
    let seed = seed();
    let mut random = StdRng::seed_from_u64(seed);
    let began = Instant::now();
    let (mut number, mut cut, mut switched, mut unflushed) = (1, 0, 0, 0);
    while cut < cuts() {
        let before = number;
        number += 1;
        write(&world, number);
        let mut workload = start(&path, &control);
        let before_start = disk.events();
        disk.cut_after(random.random_range(0..most + most / 4));
        while !disk.wait_for_cut(Duration::from_millis(5)) && !workload.has_ended().unwrap() {
            assert!(began.elapsed() < PATIENCE * u32::try_from(cuts()).unwrap());
        }
        unflushed += disk.cut([&mut workload]).unwrap();
        let is_acknowledged = workload.lines().iter().any(|line| line == "switched");
        if is_acknowledged {
            // If a deployment was faster than those before, later cuts would come too late.
            most = most.min(disk.events() - before_start);
        }
        for _ in 0..OUTCOMES {
            let seed: u64 = random.random();
            let survivors = Survivors::of_seed(seed);
            disk.restore(survivors, seed).unwrap();
            cut += 1;
            let after = live(&path);
            let told = format!("cut {cut} of version {number}, {survivors:?}: {after:?}");
            let after = after.unwrap_or_else(|error| panic!("{told}: {error}"));
            assert!(
                after == Some(number) || (!is_acknowledged && after == Some(before)),
                "{told}"
            );
            switched += u64::from(after == Some(number));
            if let Err(error) = deploy(&path, &control).await {
                panic!("{told}: the next deployment fails: {error}");
            }
            assert_eq!(live(&path), Ok(Some(number)), "{told}");
        }
    }
    let more = format!("{unflushed} writes were not flushed, {switched} came after the switch");
    print_figures(cut, began, &more);
}
