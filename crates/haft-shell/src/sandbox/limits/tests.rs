//! Commands that use too much, in the real sandbox, with small bounds so that the machine does not notice.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use haft_tool::ResourceLimits;

use super::{Resource, disk::FileSystem};
use crate::{
    run::{Ended, Launch, Process, Status, Stopped},
    sandbox::{Confinement, Support},
};

/// What ends a command must be quick; a machine with other work may be slow.
const PROMPT: Duration = Duration::from_secs(20);

fn start(workspace: &Path, support: &Support, limits: ResourceLimits, script: &str) -> Process {
    let confinement = Confinement { write: vec![workspace.to_owned()], limits, ..Confinement::at(workspace) };
    let support = support.clone();
    let mut launch = Launch::bash(script, workspace).unwrap();
    launch.env = std::env::vars_os().collect();
    launch.fence = Box::new(move |command| {
        let prepared = confinement.prepare_with(&support).map_err(std::io::Error::other)?;
        Ok(Box::new(prepared.apply(command).map_err(std::io::Error::other)?))
    });
    launch.start().unwrap()
}

async fn run_with(support: &Support, limits: ResourceLimits, script: &str) -> (Ended, String) {
    let workspace = tempfile::tempdir().unwrap();
    let process = start(workspace.path(), support, limits, script);
    let ended = process.ended().await;
    let output = process.with_output(|output| String::from_utf8_lossy(&output.raw().0).into_owned());
    (ended, output)
}

async fn run(limits: ResourceLimits, script: &str) -> (Ended, String) {
    run_with(&Support::here(), limits, script).await
}

fn memory(megabytes: u64) -> ResourceLimits {
    ResourceLimits { memory: Some(megabytes << 20), ..ResourceLimits::default() }
}

#[track_caller]
fn assert_stopped((ended, output): &(Ended, String), expected: &Resource) {
    match &ended.stopped {
        Some(Stopped::OverLimit(limit)) if limit.resource == *expected => {}
        other => panic!("{other:?} after {:?}: {output} {:?}", ended.took, ended.status),
    }
    assert!(ended.took < PROMPT, "{:?}", ended.took);
}

#[track_caller]
fn assert_done((ended, output): &(Ended, String), expected: &str) {
    assert_eq!((&ended.stopped, ended.status), (&None, Status::Code(0)), "{output} {:?}", ended.facts);
    assert_eq!(output.trim(), expected);
}

#[tokio::test]
async fn command_that_fills_memory_ends_and_its_neighbour_goes_on() {
    let workspace = tempfile::tempdir().unwrap();
    let here = Support::here();
    let beside = start(workspace.path(), &here, memory(256), "sleep 1; echo beside");
    let filled = run(memory(128), "tail /dev/zero; echo survived").await;
    assert_stopped(&filled, &Resource::Memory);
    assert!(!filled.1.contains("survived"));
    let ended = beside.ended().await;
    assert_eq!((ended.stopped, ended.status), (None, Status::Code(0)));
    let told = filled.0.stopped.map(|stopped| format!("{stopped:?}")).unwrap_or_default();
    assert!(told.contains("Memory"), "{told}");
}

#[tokio::test]
async fn memory_of_many_processes_is_summed() {
    let script =
        "for i in 1 2 3 4 5 6; do (x=$(head -c 40000000 /dev/zero | tr '\\0' x); sleep 20) & done; wait";
    assert_stopped(&run(memory(150), script).await, &Resource::Memory);
}

#[tokio::test]
async fn files_in_memory_count_as_memory() {
    let script = "head -c 300000000 /dev/zero > /dev/shm/big; sleep 20";
    assert_stopped(&run(memory(100), script).await, &Resource::Memory);
}

#[tokio::test]
async fn files_without_a_name_count_as_memory() {
    let script = "python3 -c 'import os,time\nf=os.memfd_create(\"x\")\nfor i in range(300): os.write(f, b\"x\"*1000000)\ntime.sleep(20)'";
    assert_stopped(&run(memory(100), script).await, &Resource::Memory);
}

#[tokio::test]
async fn memory_that_is_shared_or_only_reserved_is_not_summed() {
    let shared = "python3 -c 'import os,time\nx=bytearray(80_000_000)\nfor i in range(8):\n  if os.fork()==0: time.sleep(1); os._exit(0)\nfor i in range(8): os.wait()\nprint(1)'";
    assert_done(&run(memory(200), shared).await, "1");
    let reserved = "python3 -c 'import mmap,time\nx=mmap.mmap(-1, 8<<30, flags=mmap.MAP_PRIVATE|mmap.MAP_ANONYMOUS)\ntime.sleep(0.5)\nprint(2)'";
    assert_done(&run(memory(100), reserved).await, "2");
}

#[tokio::test]
async fn memory_is_bounded_without_namespaces_too() {
    let support = Support { namespaces: Err("none for this test".to_owned()), ..Support::here() };
    assert_stopped(
        &run_with(&support, memory(128), "tail /dev/zero; echo survived").await,
        &Resource::Memory,
    );
}

#[tokio::test]
async fn fork_bomb_ends_alone() {
    let limits = ResourceLimits { processes: Some(150), ..ResourceLimits::default() };
    assert_stopped(
        &run(limits.clone(), "bomb() { bomb | bomb & }; bomb; sleep 30").await,
        &Resource::Processes,
    );
    let threads = "python3 -c 'import threading,time\nfor i in range(400): threading.Thread(target=time.sleep, args=(20,)).start()'";
    assert_stopped(&run(limits, threads).await, &Resource::Processes);
}

#[tokio::test]
async fn command_that_fills_the_disk_ends_alone() {
    let workspace = tempfile::tempdir().unwrap();
    let left = FileSystem::at(workspace.path(), None).unwrap().left().unwrap();
    let limits =
        || ResourceLimits { disk_reserve: Some(left.bytes - (96 << 20)), ..ResourceLimits::default() };
    let place = workspace.path().to_owned();
    let here = Support::here();
    for script in [
        "dd if=/dev/zero of=big bs=1M count=2000 2>&1",
        "mkdir d; i=0; while [ $i -lt 20000 ]; do head -c 300000 /dev/zero > d/$i; i=$((i+1)); done",
    ] {
        let beside = start(
            workspace.path(),
            &here,
            ResourceLimits::default(),
            "sleep 0.3; echo x > beside; cat beside",
        );
        let process = start(workspace.path(), &here, limits(), script);
        let ended = process.ended().await;
        match &ended.stopped {
            Some(Stopped::OverLimit(limit)) => assert_eq!(limit.resource, Resource::Disk(place.clone())),
            other => panic!("{other:?} {:?} {script}", ended.status),
        }
        assert!(ended.took < PROMPT, "{:?}", ended.took);
        assert_eq!((beside.ended().await.stopped, beside.ended().await.status), (None, Status::Code(0)));
        let _ = (fs::remove_file(place.join("big")), fs::remove_dir_all(place.join("d")));
    }
}

#[tokio::test]
async fn file_that_grows_too_large_is_told() {
    let limits = || ResourceLimits { file_size: Some(1 << 20), ..ResourceLimits::default() };
    assert_stopped(&run(limits(), "head -c 2000000 /dev/zero > log").await, &Resource::FileSize);
    let (ended, _) = run(limits(), "head -c 2000000 /dev/zero > log; true").await;
    assert_eq!((ended.stopped, ended.facts.len()), (None, 1), "{:?}", ended.facts);
    assert!(ended.facts[0].starts_with("a file became larger than 1 MB"), "{:?}", ended.facts);
    let (ended, _) = run(limits(), "python3 -c 'open(\"log\",\"wb\").write(b\"x\"*2000000)'").await;
    assert!(ended.facts.iter().any(|fact| fact.contains("`sandbox.file_mb`")), "{:?}", ended.facts);
}

#[tokio::test]
async fn processor_time_of_all_processes_is_summed() {
    let limits = ResourceLimits { cpu_time: Some(Duration::from_millis(800)), ..ResourceLimits::default() };
    let began = Instant::now();
    let script = "while :; do /bin/true; done & while :; do :; done";
    assert_stopped(&run(limits.clone(), script).await, &Resource::CpuTime);
    assert!(began.elapsed() > Duration::from_millis(300));
    assert_done(&run(limits, "sleep 1; echo rested").await, "rested");
}

#[tokio::test]
async fn server_that_is_idle_is_left_alone() {
    let limits = ResourceLimits { memory: Some(64 << 20), processes: Some(20), ..ResourceLimits::default() };
    assert_done(&run(limits, "sleep 1.2 & wait; echo fine").await, "fine");
}
