//! The thread that measures all sandboxes of this program.
//!
//! One thread, so that it can say which of several commands took the last memory or filled the disk. It looks as often as a
//! command could pass a bound by then, and seldom otherwise. A command that is over before the first look is never measured.

use std::{
    io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak},
    thread,
    time::{Duration, Instant},
};

use super::{Resource, Watched, disk::FileSystem, machine::Machine, usage::Usage};

/// How often one looks: at least, and at most.
const INTERVAL_LEAST: Duration = Duration::from_millis(5);
const INTERVAL_MOST: Duration = Duration::from_millis(500);
/// Between two looks is this many times the time that one takes, as long as that is not too long.
const LOOKING_PAUSE_FACTOR: u32 = 10;
/// How long the thread waits for another command before it ends.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the machine has to take back the memory of what was ended.
const PRESSURE_PAUSE: Duration = Duration::from_millis(500);

/// How quickly a processor fills memory, a program fills a file system, and a processor starts processes, at most.
const MEMORY_BYTES_PER_SECOND: u64 = 2 << 30;
const DISK_BYTES_PER_SECOND: u64 = 4 << 30;
const DISK_FILES_PER_SECOND: u64 = 200_000;
const PROCESSES_PER_SECOND: u64 = 10_000;
/// More processors than this do not fill memory any quicker.
const PROCESSORS_MOST: u64 = 8;

/// The sandboxes that begin, for the thread to take.
struct Registry {
    new: Vec<Weak<Watched>>,
    is_running: bool,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { new: Vec::new(), is_running: false });
static REGISTERED: Condvar = Condvar::new();

fn lock() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Measures a sandbox from now on, until it is dropped.
pub(super) fn register(watched: &Arc<Watched>) -> io::Result<()> {
    let mut registry = lock();
    if !registry.is_running {
        thread::Builder::new().name("haft-limits".to_owned()).spawn(|| Watch::new().run())?;
        registry.is_running = true;
    }
    registry.new.push(Arc::downgrade(watched));
    drop(registry);
    REGISTERED.notify_one();
    Ok(())
}

/// Lets another thread begin when this one ends, however it does.
struct Running;

impl Drop for Running {
    fn drop(&mut self) {
        lock().is_running = false;
    }
}

/// The thread's own.
struct Watch {
    sandboxes: Vec<Subject>,
    processors: u64,
    /// When the machine's memory is judged again.
    pressure_after: Instant,
    running: Option<Running>,
}

/// A sandbox, and what held when it began.
struct Subject {
    watched: Weak<Watched>,
    machine: Machine,
    memory: (Resource, u64),
    disks: Vec<FileSystem>,
}

/// What one look at a sandbox found.
struct Look {
    watched: Arc<Watched>,
    memory: u64,
}

impl Watch {
    fn new() -> Watch {
        let processors = thread::available_parallelism().map_or(1, |count| count.get() as u64);
        Watch {
            sandboxes: Vec::new(),
            processors: processors.min(PROCESSORS_MOST),
            pressure_after: Instant::now(),
            running: Some(Running),
        }
    }

    fn run(mut self) {
        let mut due = Instant::now() + INTERVAL_MOST;
        while let Some(new) = self.wait(due) {
            for watched in new {
                let begun = Subject::begin(watched);
                let first = begun.as_ref().map_or(INTERVAL_MOST, |subject| self.first_interval(subject));
                due = due.min(Instant::now() + first);
                self.sandboxes.extend(begun);
            }
            if due <= Instant::now() {
                let began = Instant::now();
                let interval = self.look();
                // A fork bomb makes looking slow, and must not make it rare.
                let pause = (began.elapsed() * LOOKING_PAUSE_FACTOR).min(INTERVAL_MOST);
                due = Instant::now() + interval.max(pause);
            }
        }
    }

    /// Waits for the next look or the next sandbox. None when there was nothing to do for a long time.
    fn wait(&mut self, due: Instant) -> Option<Vec<Weak<Watched>>> {
        self.sandboxes.retain(|subject| subject.watched.strong_count() > 0);
        let is_idle = self.sandboxes.is_empty();
        let until = if is_idle { Instant::now() + IDLE_TIMEOUT } else { due };
        let mut registry = lock();
        while registry.new.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            registry = REGISTERED
                .wait_timeout(registry, left)
                .map_or_else(|err| err.into_inner().0, |(held, _)| held);
        }
        let new = std::mem::take(&mut registry.new);
        if new.is_empty() && is_idle {
            // Said under the lock: whatever registers from now on starts another thread, and that one's state is not ours to reset.
            registry.is_running = false;
            std::mem::forget(self.running.take());
            return None;
        }
        Some(new)
    }

    fn first_interval(&self, subject: &Subject) -> Duration {
        let usage = Usage::default();
        let watched = subject.watched.upgrade();
        watched.map_or(INTERVAL_MOST, |watched| self.interval(subject, &watched.limits, &usage, 0))
    }

    /// Looks at every sandbox, ends those that use too much, and says when to look again.
    fn look(&mut self) -> Duration {
        let machine = Machine::now();
        let (mut interval, mut looks) = (INTERVAL_MOST, Vec::new());
        for subject in &self.sandboxes {
            let Some(watched) = subject.watched.upgrade().filter(|watched| watched.exceeded().is_none())
            else {
                continue;
            };
            let usage = watched.processes.usage(watched.limits.processes);
            let memory = subject.memory(&watched, &usage, machine);
            if !end_if_over(subject, &watched, &usage, memory) {
                interval = interval.min(self.interval(subject, &watched.limits, &usage, memory));
                looks.push(Look { watched, memory });
            }
        }
        interval = interval.min(self.relieve_machine(machine, &looks));
        self.relieve_disks();
        interval
    }

    /// How long a command cannot pass any bound.
    fn interval(
        &self,
        subject: &Subject,
        limits: &haft_tool::ResourceLimits,
        usage: &Usage,
        memory: u64,
    ) -> Duration {
        let left = |limit: u64, used: u64, rate: u64| {
            Duration::from_secs_f64(limit.saturating_sub(used) as f64 / rate.max(1) as f64)
        };
        let mut interval = left(subject.memory.1, memory, MEMORY_BYTES_PER_SECOND * self.processors);
        if let Some(processes) = limits.processes {
            interval = interval.min(left(processes, usage.processes, PROCESSES_PER_SECOND * self.processors));
        }
        if let Some(time) = limits.cpu_time {
            interval = interval.min(time.saturating_sub(usage.cpu_time) / self.processors as u32);
        }
        for disk in &subject.disks {
            let Some(space) = disk.left() else { continue };
            interval = interval.min(left(space.bytes, disk.reserve.bytes, DISK_BYTES_PER_SECOND));
            interval = interval.min(left(space.files, disk.reserve.files, DISK_FILES_PER_SECOND));
        }
        interval.clamp(INTERVAL_LEAST, INTERVAL_MOST)
    }

    /// Where memory is nearly used up, ends the command that has most of it, and says when to look again.
    fn relieve_machine(&mut self, machine: Option<Machine>, looks: &[Look]) -> Duration {
        let Some(machine) = machine else { return INTERVAL_MOST };
        let least = machine.reserve() / 2;
        let now = Instant::now();
        if machine.left() < least && now >= self.pressure_after {
            let largest = looks.iter().filter(|look| look.memory > least).max_by_key(|look| look.memory);
            if let Some(largest) = largest {
                largest.watched.end(Resource::LastMemory, least);
                self.pressure_after = now + PRESSURE_PAUSE;
            }
        }
        let headroom = machine.left().saturating_sub(least);
        let rate = MEMORY_BYTES_PER_SECOND * self.processors;
        Duration::from_secs_f64(headroom as f64 / rate as f64).clamp(INTERVAL_LEAST * 4, INTERVAL_MOST)
    }

    /// Where a file system is nearly full, ends the command that wrote most. What is left then is for the others.
    fn relieve_disks(&mut self) {
        let full = self.sandboxes.iter().flat_map(|subject| &subject.disks).find_map(|disk| {
            let left = disk.left()?;
            (left.bytes < disk.reserve.bytes || left.files < disk.reserve.files).then_some(disk.device)
        });
        let Some(device) = full else { return };
        let writers = self.sandboxes.iter().filter_map(|subject| {
            let disk = subject.disks.iter().find(|disk| disk.device == device)?;
            let watched = subject.watched.upgrade().filter(|watched| watched.exceeded().is_none())?;
            Some((watched.processes.written(), watched, disk))
        });
        if let Some((_, watched, disk)) = writers.max_by_key(|(written, ..)| *written) {
            let lacks_bytes = disk.left().is_some_and(|left| left.bytes < disk.reserve.bytes);
            let (resource, limit): (fn(_) -> _, _) = if lacks_bytes {
                (Resource::Disk, disk.reserve.bytes)
            } else {
                (Resource::Files, disk.reserve.files)
            };
            watched.end(resource(disk.place.clone()), limit);
        }
        let disks = self.sandboxes.iter_mut().flat_map(|subject| &mut subject.disks);
        disks.filter(|disk| disk.device == device).for_each(FileSystem::set_reserve);
    }
}

impl Subject {
    /// None for one that is over already.
    fn begin(watched: Weak<Watched>) -> Option<Subject> {
        let held = watched.upgrade()?;
        let machine = Machine::now().unwrap_or_default();
        let memory = match held.limits.memory {
            Some(limit) => (Resource::Memory, limit),
            None if machine.total == 0 => (Resource::SpareMemory, u64::MAX),
            None => (Resource::SpareMemory, machine.spare()),
        };
        let mut disks: Vec<FileSystem> = Vec::new();
        for disk in held.write.iter().filter_map(|place| FileSystem::at(place, held.limits.disk_reserve)) {
            if disks.iter().all(|other| other.device != disk.device) {
                disks.push(disk);
            }
        }
        Some(Subject { watched, machine, memory, disks })
    }

    /// How much memory it uses. What is quick to know is too much rather than too little; only above the bound more is asked.
    fn memory(&self, watched: &Watched, usage: &Usage, machine: Option<Machine>) -> u64 {
        let private = watched.private_bytes();
        let machine = machine.unwrap_or(self.machine);
        let in_files = private.max(machine.shared.saturating_sub(self.machine.shared));
        let swapped = self.machine.swap_free.saturating_sub(machine.swap_free);
        let estimate = usage.resident.saturating_add(in_files).saturating_add(swapped);
        if estimate <= self.memory.1 { estimate } else { watched.processes.memory(private) }
    }
}

/// Ends a sandbox that passed a bound of its own; whether it did.
fn end_if_over(subject: &Subject, watched: &Watched, usage: &Usage, memory: u64) -> bool {
    let limits = &watched.limits;
    let (resource, limit) = if memory > subject.memory.1 {
        subject.memory.clone()
    } else if let Some(limit) = limits.processes.filter(|limit| usage.processes > *limit) {
        (Resource::Processes, limit)
    } else if let Some(limit) = limits.cpu_time.filter(|limit| usage.cpu_time > *limit) {
        (Resource::CpuTime, limit.as_secs())
    } else {
        return false;
    };
    watched.end(resource, limit);
    true
}
