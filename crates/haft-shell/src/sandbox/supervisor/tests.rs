//! The supervisor on real processes.
#![expect(clippy::disallowed_methods, reason = "a supervisor is tried with processes")]

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::{Mutex, mpsc},
    time::Duration,
};

use super::{
    super::{Confinement, Support},
    *,
};

/// Hands each `mkdir` to a function, with the path that it means.
struct Directories<F>(F, WakerSlot);

/// Where the waker goes.
type WakerSlot = Arc<Mutex<Option<Waker>>>;

impl<F: FnMut(Call, PathBuf) -> Option<Call> + Send> Handler for Directories<F> {
    fn reported(&self) -> Vec<Reported> {
        vec![Reported::Always(libc::SYS_mkdirat), Reported::Always(libc::SYS_mkdir)]
    }

    fn handle(&mut self, call: Call) -> Option<Call> {
        let (directory, path) = match call.number() {
            libc::SYS_mkdir => (libc::AT_FDCWD, 0),
            _ => (call.number_at(0), 1),
        };
        let path = call.read_path(call.argument(path)).unwrap();
        let path =
            call.resolve(directory, &path).unwrap_or_else(|errno| format!("/errno/{}", errno.0).into());
        (self.0)(call, path)
    }

    fn set_waker(&mut self, waker: &Waker) {
        *self.1.lock().unwrap() = Some(waker.clone());
    }
}

fn directories(handle: impl FnMut(Call, PathBuf) -> Option<Call> + Send + 'static) -> Handlers {
    Handlers(vec![Box::new(Directories(handle, WakerSlot::default()))])
}

fn run(place: &Path, script: &str, handlers: Handlers) -> Option<Output> {
    let support = Support::here();
    if support.namespaces.is_err() || !support.notifications {
        println!("skipped: {support}");
        return None;
    }
    let confinement = Confinement { write: vec![place.to_owned()], ..Confinement::at(place) };
    let mut command = Command::new("bash");
    command.args(["-c", script]);
    let mut prepared = confinement.prepare().unwrap();
    prepared.replace_handlers(handlers, &confinement);
    let mut guard = prepared.apply(&mut command).unwrap();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|err| guard.explain(err)).unwrap();
    guard.started().unwrap();
    Some(child.wait_with_output().unwrap())
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap();
    (directory, path)
}

#[test]
fn a_reported_call_fails_returns_or_goes_on_as_the_handler_says() {
    let (_directory, place) = place();
    let handlers = directories(|call, path| {
        let response = match path.file_name().and_then(|name| name.to_str()) {
            Some("no") => Response::Fail(libc::EDQUOT),
            Some("pretended") => Response::Return(0),
            Some("dropped") => return None,
            _ => return Some(call),
        };
        call.respond(response);
        None
    });
    let script = "mkdir yes && mkdir pretended && mkdir no; mkdir dropped; ls -d *es pre*";
    let Some(output) = run(&place, script, handlers) else { return };
    let said = text(&output);
    assert!(said.starts_with("yes\n"), "{said}");
    assert!(said.contains("Disk quota exceeded") && said.contains("Permission denied"), "{said}");
}

#[test]
fn a_path_is_resolved_as_the_process_sees_it() {
    let (_directory, place) = place();
    fs::create_dir_all(place.join("a/b")).unwrap();
    symlink("a/b", place.join("link")).unwrap();
    symlink("link", place.join("second")).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = seen.clone();
    let handlers = directories(move |call, path| {
        noted.lock().unwrap().push(path);
        Some(call)
    });
    let script = "mkdir 1 second/2 a/../a/b/../3 /proc/self/cwd/4 /dev/fd/7/5 6/ 7<a; cd second; mkdir ../8 ./9; \
                  mkdir none/10";
    if run(&place, script, handlers).is_none() {
        return;
    }
    let expected = ["1", "a/b/2", "a/3", "4", "a/5", "6", "a/8", "a/b/9"].map(|name| place.join(name));
    let mut seen = std::mem::take(&mut *seen.lock().unwrap());
    assert_eq!(seen.pop().unwrap(), Path::new("/errno/2"));
    assert_eq!(seen, expected);
}

#[test]
fn a_call_that_waits_does_not_stop_others() {
    let (_directory, place) = place();
    let (send, waiting) = mpsc::channel();
    let handlers = directories(move |call, path| {
        if path.ends_with("slow") {
            send.send(call).unwrap();
            return None;
        }
        if path.ends_with("quick") {
            waiting.recv_timeout(Duration::from_secs(10)).unwrap().respond(Response::Continue);
        }
        Some(call)
    });
    let Some(output) = run(&place, "mkdir slow & sleep .2; mkdir quick; wait; ls -d quick slow", handlers)
    else {
        return;
    };
    assert_eq!(text(&output), "quick\nslow\n");
}

#[test]
fn a_supervisor_that_ends_lets_calls_fail_and_none_hang() {
    let (_directory, place) = place();
    let kept = Arc::new(Mutex::new(Vec::new()));
    let taken = kept.clone();
    let handlers = directories(move |call, _| {
        // Kept until its thread is killed: the sandbox ends nevertheless.
        taken.lock().unwrap().push(call);
        None
    });
    let Some(output) = run(&place, "mkdir a & sleep .1; kill -9 $!; wait; echo done", handlers) else {
        return;
    };
    assert!(text(&output).contains("done"), "{}", text(&output));
    assert!(!kept.lock().unwrap()[0].is_waiting());
}

#[test]
fn a_descriptor_of_the_supervisor_reaches_the_process() {
    struct Opens(PathBuf);
    impl Handler for Opens {
        fn reported(&self) -> Vec<Reported> {
            vec![Reported::AnyBit(libc::SYS_openat, 2, libc::O_WRONLY as u32)]
        }
        fn handle(&mut self, call: Call) -> Option<Call> {
            let path = call.read_path(call.argument(1)).unwrap();
            if call.resolve_target(call.number_at(0), &path).unwrap() != self.0.join("outside/x") {
                return Some(call);
            }
            let file = fs::File::create(self.0.join("outside/x")).unwrap();
            call.respond(Response::Descriptor { descriptor: file.into(), closes_on_exec: false });
            None
        }
    }
    let (_directory, place) = place();
    ["outside", "inside"].iter().for_each(|name| fs::create_dir(place.join(name)).unwrap());
    symlink("../outside/x", place.join("inside/link")).unwrap();
    let handlers = Handlers(vec![Box::new(Opens(place.clone()))]);
    let script = "echo hello > link; echo other > ../outside/y";
    let Some(output) = run(&place.join("inside"), script, handlers) else { return };
    assert_eq!(fs::read_to_string(place.join("outside/x")).unwrap(), "hello\n", "{}", text(&output));
    assert!(!place.join("outside/y").exists());
}
