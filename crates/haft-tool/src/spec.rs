//! What is fixed about a tool: its name and the hints that stages read.
//!
//! A spec is a constant, so a tool costs nothing until it is used. Nothing here says what a call *does*: that depends
//! on its input and is asked of [`Effects`](crate::Effects), so that a flag can never disagree with the deed.

use std::{borrow::Cow, mem, sync::Arc, time::Duration};

use serde_json::Value;

/// Name and hints of a tool. Build it with [`Spec::new`] and the setters for what differs from the defaults.
#[derive(Debug, Clone)]
pub struct Spec {
    name: Cow<'static, str>,
    title: Option<Cow<'static, str>>,
    aliases: &'static [&'static str],
    toolset: &'static str,
    search_hint: &'static str,
    emoji: Option<&'static str>,
    load: Load,
    limit: Limit,
    interrupt: Interrupt,
    timeout: Option<Duration>,
    cost: CostTier,
    required_env: &'static [&'static str],
    roles: &'static [&'static str],
    idempotent: bool,
    needs_person: bool,
    works_by_calls: bool,
    starts_processes: bool,
    claims: Option<Arc<Value>>,
}

impl Spec {
    /// A spec with the careful defaults: result limit 100 KB, an interrupt cancels, not idempotent.
    pub const fn new(name: &'static str) -> Spec {
        Spec {
            name: Cow::Borrowed(name),
            title: None,
            aliases: &[],
            toolset: "",
            search_hint: "",
            emoji: None,
            load: Load::Auto,
            limit: Limit::Bytes(100 * 1024),
            interrupt: Interrupt::Cancel,
            timeout: None,
            cost: CostTier::Free,
            required_env: &[],
            roles: &[],
            idempotent: false,
            needs_person: false,
            works_by_calls: false,
            starts_processes: false,
            claims: None,
        }
    }

    /// The same spec under a name that is known only at run time.
    pub const fn named(mut self, name: Cow<'static, str>) -> Spec {
        // A plain assignment would drop the old name, which a `const fn` may not; the old name is always borrowed or
        // about to be leaked once per tool, never per call.
        mem::forget(mem::replace(&mut self.name, name));
        self
    }

    /// What people call the tool, when it is not its name.
    pub const fn titled(self, title: &'static str) -> Spec {
        self.titled_as(Cow::Borrowed(title))
    }

    /// The same for a title that is known only at run time.
    pub const fn titled_as(mut self, title: Cow<'static, str>) -> Spec {
        mem::forget(self.title.replace(title));
        self
    }

    /// What a stranger says of the tool besides, as it was written: the annotations of a server. It is compared with what
    /// was said before, and permits nothing.
    pub fn claiming(mut self, claims: Value) -> Spec {
        self.claims = Some(Arc::new(claims));
        self
    }

    /// Other names that a model may use for it. An alias never shadows another tool's name.
    pub const fn aliases(mut self, aliases: &'static [&'static str]) -> Spec {
        self.aliases = aliases;
        self
    }

    /// The named set that the tool belongs to. Members of `readonly` must never change anything: the engine stops
    /// a call of theirs whose effects say otherwise.
    pub const fn toolset(mut self, toolset: &'static str) -> Spec {
        self.toolset = toolset;
        self
    }

    /// Words by which ToolSearch finds the tool, besides its name and prompt.
    pub const fn search_hint(mut self, hint: &'static str) -> Spec {
        self.search_hint = hint;
        self
    }

    /// A sign for screens.
    pub const fn emoji(mut self, emoji: &'static str) -> Spec {
        self.emoji = Some(emoji);
        self
    }

    /// Whether the model sees the schema at once or finds it by search.
    pub const fn load(mut self, load: Load) -> Spec {
        self.load = load;
        self
    }

    /// How large a result may be before it is spilled.
    pub const fn limit(mut self, limit: Limit) -> Spec {
        self.limit = limit;
        self
    }

    /// What an interrupt does to a running call.
    pub const fn interrupt(mut self, interrupt: Interrupt) -> Spec {
        self.interrupt = interrupt;
        self
    }

    /// How long a call may take. The engine's setting holds where this is not given.
    pub const fn timeout(mut self, timeout: Duration) -> Spec {
        self.timeout = Some(timeout);
        self
    }

    /// What a call costs, roughly.
    pub const fn cost(mut self, cost: CostTier) -> Spec {
        self.cost = cost;
        self
    }

    /// Environment variables without which the tool is not offered.
    pub const fn requires_env(mut self, names: &'static [&'static str]) -> Spec {
        self.required_env = names;
        self
    }

    /// Roles one of which the caller must have. Without any, everybody may call it.
    pub const fn roles(mut self, roles: &'static [&'static str]) -> Spec {
        self.roles = roles;
        self
    }

    /// Says that doing it twice is the same as doing it once, so that a transient fault may be retried.
    /// Read-only calls are retried anyway.
    pub const fn idempotent(mut self) -> Spec {
        self.idempotent = true;
        self
    }

    /// Says that a call cannot go on without a person at the other end.
    pub const fn needs_person(mut self) -> Spec {
        self.needs_person = true;
        self
    }

    /// Says that a call works by calls of its own, each of which is judged by itself and not foreseen in its effects. Such a
    /// call is on the disk before it starts, and is never made again by itself.
    pub const fn by_calls(mut self) -> Spec {
        self.works_by_calls = true;
        self
    }

    /// Says that a call starts processes by its [`Grant`](crate::Grant), each for one call: a person may let it leave the
    /// sandbox. Not for tools whose processes serve later calls: these would be outside, too.
    pub const fn processes(mut self) -> Spec {
        self.starts_processes = true;
        self
    }
}

/// What the stages read.
impl Spec {
    /// The name by which the model calls the tool.
    pub const fn name(&self) -> &str {
        match &self.name {
            Cow::Borrowed(name) => name,
            Cow::Owned(name) => name.as_str(),
        }
    }

    /// What people call the tool.
    pub const fn title(&self) -> &str {
        match &self.title {
            Some(Cow::Borrowed(title)) => title,
            Some(Cow::Owned(title)) => title.as_str(),
            None => self.name(),
        }
    }

    /// Other names for it.
    pub const fn other_names(&self) -> &'static [&'static str] {
        self.aliases
    }

    /// The set it belongs to; empty if to none.
    pub const fn membership(&self) -> &'static str {
        self.toolset
    }

    /// Words for ToolSearch.
    pub const fn hint(&self) -> &'static str {
        self.search_hint
    }

    /// The sign for screens.
    pub const fn sign(&self) -> Option<&'static str> {
        self.emoji
    }

    /// When its schema is shown.
    pub const fn loading(&self) -> Load {
        self.load
    }

    /// How large a result may be.
    pub const fn result_limit(&self) -> Limit {
        self.limit
    }

    /// What an interrupt does.
    pub const fn on_interrupt(&self) -> Interrupt {
        self.interrupt
    }

    /// Its own time limit.
    pub const fn time_limit(&self) -> Option<Duration> {
        self.timeout
    }

    /// What a call costs.
    pub const fn cost_tier(&self) -> CostTier {
        self.cost
    }

    /// The environment variables it needs.
    pub const fn needed_env(&self) -> &'static [&'static str] {
        self.required_env
    }

    /// The roles that may call it.
    pub const fn allowed_roles(&self) -> &'static [&'static str] {
        self.roles
    }

    /// Whether twice is the same as once.
    pub const fn is_idempotent(&self) -> bool {
        self.idempotent
    }

    /// What a stranger says of it besides.
    pub fn claims(&self) -> Option<&Value> {
        self.claims.as_deref()
    }

    /// Whether a call starts processes by its grant.
    pub const fn starts_processes(&self) -> bool {
        self.starts_processes
    }

    /// Whether a call works by calls of its own.
    pub const fn works_by_calls(&self) -> bool {
        self.works_by_calls
    }

    /// Whether a person must be there.
    pub const fn is_interactive(&self) -> bool {
        self.needs_person
    }
}

/// When the model sees a tool's schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// In every request, however many tools there are.
    Always,
    /// In every request while the pool is small.
    Auto,
    /// Only after it was searched for.
    Deferred,
}

/// How large a result may be before it is spilled to the result store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// So many bytes of text.
    Bytes(usize),
    /// Never spilled: the tool keeps a budget of its own. For Read, whose spilled result would have to be read again.
    Unlimited,
}

/// What happens to a running call when the person interrupts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupt {
    /// It is cancelled.
    Cancel,
    /// It is waited for: stopping in the middle would be worse.
    Block,
}

/// What a call costs, as far as it can be said beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CostTier {
    /// Local work.
    Free,
    /// A request to a service.
    Cheap,
    /// Money or minutes.
    Expensive,
}

/// Whether a tool can work here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// It can.
    Ready,
    /// It cannot, and this is what is missing.
    Missing(String),
}
