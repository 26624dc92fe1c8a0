//! A server over time: started when it is needed, remembered when it is not, restarted when it dies.
//!
//! Nothing runs because it is configured. What a server last said of itself is kept on disk and is enough for listing and
//! searching; the first call of one of its tools starts it, and it ends when nobody has needed it for a while. A server that
//! fails takes its own tools with it, and nobody else's.
//!
//! Nothing here decides what may run: a tool of a server goes through the engine like any other.

mod known; //           what is known of a server without asking it
mod cache; //           how that outlives the process
mod health; //          when is one that failed tried again?
mod line; //            a connection in use, and who ends it
mod one; //             one server, and how it is
mod connecting; //      to it, for a principal
mod learning; //        what it has
mod ending; //          letting go of it
mod desk; //            who answers a server when no client of ours can
mod inviting; //        a server that wants the person to visit an address
mod sampling; //        a server that wants the user's model to complete something
mod prompts; //         what it has written for people
mod source; //          its tools in a pool
mod tool; //            one of them, in the contract
mod reply; //           what it answers, in the contract
mod list_resources; //  ListMcpResources
mod read_resource; //   ReadMcpResource

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use futures::future::join_all;
use haft_engine::{policy::Asker, pool::Source};
use haft_tool::{IntoTool, SharedTool};
use tokio::time::timeout;

pub use cache::Failure;
pub use known::Known;
pub use line::Lease;
pub use one::{State, Upstream};
pub use sampling::{Sampled, Sampler, Wanted};

use crate::client::Server;
use list_resources::ListMcpResources;
use read_resource::ReadMcpResource;
use source::ToolsOf;

/// Who a connection belongs to. Nobody's answers reach anybody else.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Principal(pub Arc<str>);

impl Principal {
    /// The one principal of a process that serves one person.
    pub fn owner() -> Principal {
        Principal("owner".into())
    }
}

/// What all servers share.
#[derive(Clone, Default)]
pub struct Options {
    /// Where definitions are kept between runs. `None`: nowhere.
    pub cache: Option<PathBuf>,
    /// The roots that servers are told of: the workspace.
    pub roots: Vec<PathBuf>,
    /// Whom servers may ask for a value that they need. `None`: nobody, and they are told so.
    pub person: Option<Arc<dyn Asker>>,
    /// Whether results say that what a server answers is data.
    pub data_reminder: bool,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options { cache, roots, data_reminder, .. } = self;
        let mut fields = f.debug_struct("Options");
        fields.field("cache", cache).field("roots", roots).field("data_reminder", data_reminder);
        fields.finish_non_exhaustive()
    }
}

/// The servers of a session or a gateway.
#[derive(Debug)]
pub struct Upstreams {
    /// Sorted by name, of which there are no two alike.
    all: Vec<Arc<Upstream>>,
}

impl Upstreams {
    /// Knows these servers from now on. Starts none; reads what was kept of them. Of two with one name the first counts.
    pub fn new(servers: Vec<Server>, options: Options) -> Arc<Upstreams> {
        let mut servers = servers;
        servers.sort_by(|one, other| one.name.cmp(&other.name));
        servers.dedup_by(|later, earlier| later.name == earlier.name);
        let all: Vec<Arc<Upstream>> =
            servers.into_iter().map(|server| Upstream::new(server, &options)).collect();
        all.iter().for_each(|upstream| upstream.stands_among(&all));
        Arc::new(Upstreams { all })
    }

    /// Their tools, a source for each.
    pub fn sources(&self) -> Vec<Arc<dyn Source>> {
        self.all.iter().map(|upstream| Arc::new(ToolsOf::new(upstream.clone())) as _).collect()
    }

    /// The tools that read their resources, if there are servers at all.
    pub fn resource_tools(self: &Arc<Self>) -> Vec<SharedTool> {
        if self.all.is_empty() {
            return Vec::new();
        }
        vec![ListMcpResources(self.clone()).into_tool(), ReadMcpResource(self.clone()).into_tool()]
    }

    /// All of them, sorted by name.
    pub fn all(&self) -> &[Arc<Upstream>] {
        &self.all
    }

    /// The one of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<Upstream>> {
        let at = self.all.binary_search_by(|upstream| upstream.server().name.as_str().cmp(name)).ok()?;
        self.all.get(at)
    }

    /// From now on, servers that the settings let do so may ask this model. Said before any of them is connected, and once:
    /// a server is told when it is greeted.
    pub fn sampled_by(&self, model: &Arc<dyn Sampler>) {
        self.all.iter().for_each(|upstream| upstream.desk.sampled_by(model.clone()));
    }

    /// Makes sure that something is known of each: starts those of which nothing is kept, in parallel, and waits for them, each no
    /// longer than its limit. One that failed a moment ago is left alone.
    pub async fn acquaint(&self) {
        let strangers = self.all.iter().filter(|upstream| upstream.is_worth_asking());
        join_all(strangers.map(|upstream| upstream.acquaint())).await;
    }

    /// Whether there is one that [`acquaint`](Upstreams::acquaint) would start.
    pub fn has_strangers(&self) -> bool {
        self.all.iter().any(|upstream| upstream.is_worth_asking())
    }

    /// Waits for lists that are being asked for, so that what is kept of them is new, and no longer than this: for whoever
    /// is done and about to [`close`](Upstreams::close).
    pub async fn settle(&self, patience: Duration) {
        let _ = timeout(patience, join_all(self.all.iter().map(|upstream| upstream.settle()))).await;
    }

    /// Ends all connections and processes.
    pub async fn close(&self) {
        join_all(self.all.iter().map(|upstream| upstream.close())).await;
    }
}
