//! From settings to servers: variables filled in, places found, limits set. Nothing is started here.
//!
//! A server that cannot be, because a variable is missing or its table makes no sense, is left out with a reason; the others
//! do not suffer for it.

use std::{
    collections::BTreeMap,
    env, fs,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use futures::future::join_all;
use haft_engine::{policy::Asker, pool::Source};
use haft_mcp::{
    auth::{Authorizer, Grant, Identity, TokenStore},
    client::{Limits, Selection, Server, Tokens, Transport as Reached, depth},
    lint::{Neighbours, Remark, examine},
    upstream::{Known, Options, Upstreams},
};
use haft_tool::SharedTool;

use crate::{
    place::{self, Place},
    settings::{Kind, Mcp, McpServer, Transport, expand},
    watch,
};

/// The servers that are configured.
#[derive(Debug)]
pub(crate) struct Servers {
    pub(crate) upstreams: Arc<Upstreams>,
    /// Those that cannot be, and why.
    pub(crate) left_out: Vec<(String, String)>,
}

impl Servers {
    /// `cache`: where definitions are kept. `person`: who may be asked.
    pub(crate) fn new(
        mcp: &Mcp,
        place: &Place,
        cache: Option<PathBuf>,
        person: Option<Arc<dyn Asker>>,
    ) -> Servers {
        let (mut ready, mut left_out) = (Vec::new(), Vec::new());
        for (name, made) in mcp.made() {
            match made.and_then(|server| make(&server, place)) {
                Ok(server) => ready.push(server),
                Err(why) => left_out.push((name.clone(), why)),
            }
        }
        let roots = vec![place.workspace.clone()];
        let data_reminder = mcp.data_reminder.unwrap_or_default();
        let upstreams = Upstreams::new(ready, Options { cache, roots, person, data_reminder });
        Servers { upstreams, left_out }
    }

    /// Their tools. One that is left out has none, and says why.
    pub(crate) fn sources(&self) -> Vec<Arc<dyn Source>> {
        let absent = |(name, why): &(String, String)| {
            Arc::new(LeftOut { id: format!("mcp:{name}"), why: why.clone() }) as Arc<dyn Source>
        };
        self.upstreams.sources().into_iter().chain(self.left_out.iter().map(absent)).collect()
    }

    /// The tools for what they have to read.
    pub(crate) fn tools(&self) -> Vec<SharedTool> {
        self.upstreams.resource_tools()
    }

    /// What is odd in what they tell models, as far as it is known: each with the server.
    pub(crate) fn remarks(&self) -> Vec<(String, Remark)> {
        let known =
            || self.upstreams.all().iter().map(|upstream| (&upstream.server().name, upstream.known()));
        let everybody = known().fold(Neighbours::default(), |all, (name, known)| {
            all.with(name, known.tools.iter().filter_map(|tool| tool.get("name")?.as_str()))
        });
        let of_one = |(name, known): (&String, Arc<Known>)| {
            let remarks = examine(name, &known.tools, known.instructions.as_deref(), &everybody);
            remarks.into_iter().map(|remark| (name.clone(), remark)).collect::<Vec<_>>()
        };
        known().flat_map(of_one).collect()
    }

    /// Asks those of which nothing is known yet what they have, and ends them again.
    pub(crate) fn acquaint(&self) -> anyhow::Result<()> {
        if self.upstreams.has_strangers() {
            self.and_end(self.upstreams.acquaint())?;
        }
        Ok(())
    }

    /// Asks all of them what they have, and ends them again. Gives what went wrong.
    pub(crate) fn refresh(&self) -> anyhow::Result<Vec<String>> {
        let all = self.upstreams.all().iter().map(|upstream| upstream.refresh());
        let outcomes = self.and_end(join_all(all))?;
        Ok(outcomes.into_iter().filter_map(Result::err).map(|fault| fault.message().to_owned()).collect())
    }

    fn and_end<T>(&self, work: impl Future<Output = T>) -> anyhow::Result<T> {
        Ok(watch::runtime()?.block_on(self.around(work)))
    }

    /// Does something and ends all servers after it, so that none outlives the command.
    pub(crate) async fn around<T>(&self, work: impl Future<Output = T>) -> T {
        let done = work.await;
        // What they were asked beside the work is kept for the next command.
        self.upstreams.settle(SETTLING).await;
        self.upstreams.close().await;
        done
    }
}

/// How long a command that is done waits for lists.
const SETTLING: Duration = Duration::from_secs(1);

/// A server without tools, and why.
struct LeftOut {
    id: String,
    why: String,
}

impl Source for LeftOut {
    fn id(&self) -> &str {
        &self.id
    }
    fn tools(&self) -> Arc<[SharedTool]> {
        Arc::new([])
    }
    fn version(&self) -> u64 {
        0
    }
    fn problem(&self) -> Option<String> {
        Some(self.why.clone())
    }
}

fn make(written: &McpServer, place: &Place) -> Result<Server, String> {
    let table = &written.table;
    let tools =
        Selection { allow: table.tools.allow.clone().unwrap_or_default(), deny: table.tools.deny.clone() };
    let reached = reached(&written.transport, place)?;
    check_loop(&reached, depth())?;
    let authorizer = authorizer(written, &reached)?;
    Ok(Server {
        tokens: authorizer.map(|authorizer| Arc::new(authorizer) as Arc<dyn Tokens>),
        limits: limits(written),
        sandboxed: table.sandbox.unwrap_or_default(),
        may_sample: table.sampling.unwrap_or_default(),
        shared: table.shared.unwrap_or_default(),
        always_load: table.always_load.clone().unwrap_or_default(),
        idempotent: table.idempotent.clone().unwrap_or_default(),
        strict_output: table.strict_output.unwrap_or_default(),
        tools,
        ..Server::new(written.name.clone(), reached)
    })
}

/// A server that is haft has the same servers as haft, itself among them: each would start the next without end. What is
/// started by something else in between is seen by its depth alone.
fn check_loop(reached: &Reached, depth: usize) -> Result<(), String> {
    let Reached::Stdio { args, .. } = reached else { return Ok(()) };
    let real = |file: PathBuf| fs::canonicalize(file).ok();
    let own = env::current_exe().ok().and_then(real);
    if args.iter().any(|arg| arg == "mcp") && own.is_some() && reached.program().and_then(real) == own {
        return Err("it is haft itself, which would start itself without end".to_owned());
    }
    match depth < DEEPEST {
        true => Ok(()),
        false => Err(format!("haft runs within {depth} others that started it as a server, and starts none")),
    }
}

/// Where one haft is the server of another on purpose, that one is the first. More is a loop.
const DEEPEST: usize = 2;

/// Where tokens are kept. Without a place for it, as long as the command runs.
pub(crate) fn tokens() -> TokenStore {
    place::state().map_or_else(|_| TokenStore::in_memory(), |state| TokenStore::at(state.join("tokens")))
}

/// Gets tokens for a server of this name, and the port that people come back to.
pub(crate) fn authorizer_for(
    mcp: &Mcp,
    name: &str,
    place: &Place,
) -> Result<(Authorizer, Option<u16>), String> {
    let table = mcp.servers.get(name).ok_or_else(|| unknown(mcp, name))?;
    let written = table.server(name)?;
    let made = authorizer(&written, &reached(&written.transport, place)?)?;
    let none = || {
        format!(
            "the server `{name}` takes no tokens from here: it is a process, or its `headers` say who asks"
        )
    };
    Ok((made.ok_or_else(none)?, table.auth.callback_port))
}

fn unknown(mcp: &Mcp, name: &str) -> String {
    let names: Vec<&str> = mcp.servers.keys().map(String::as_str).collect();
    match names.is_empty() {
        true => format!("there is no server `{name}`: none is configured"),
        false => format!("there is no server `{name}`; there are {}", names.join(", ")),
    }
}

/// A server with a URL may want tokens, unless the user sends one already.
fn authorizer(written: &McpServer, reached: &Reached) -> Result<Option<Authorizer>, String> {
    let (Reached::Http { url, headers } | Reached::Sse { url, headers }) = reached else { return Ok(None) };
    if headers.keys().any(|name| name.eq_ignore_ascii_case("authorization")) {
        return Ok(None);
    }
    let made = Authorizer::new(&written.name, url, identity(written)?, tokens());
    made.map(Some).map_err(|err| err.to_string())
}

fn identity(written: &McpServer) -> Result<Identity, String> {
    let auth = &written.table.auth;
    let grant =
        if auth.client_credentials.unwrap_or_default() { Grant::ClientCredentials } else { Grant::Person };
    let text = |text: &Option<String>| text.as_deref().map(filled).transpose();
    Ok(Identity {
        client_id: text(&auth.client_id)?,
        client_secret: text(&auth.client_secret)?,
        client_metadata_url: text(&auth.client_metadata_url)?,
        scopes: auth.scopes.clone().unwrap_or_default(),
        grant,
        allow_private: auth.allow_private.unwrap_or_default(),
    })
}

fn limits(written: &McpServer) -> Limits {
    let (table, usual) = (&written.table, Limits::default());
    let seconds = |figure: NonZeroUsize| Duration::from_secs(figure.get() as u64);
    let idle = table.idle_s.map_or(usual.idle, seconds);
    Limits {
        start: table.start_s.map_or(usual.start, seconds),
        idle,
        total: table.total_s.map_or(usual.total.max(idle), seconds),
        unused: match table.unused_s {
            None => usual.unused,
            Some(figure) => NonZeroUsize::new(figure).map(seconds),
        },
        ..usual
    }
}

fn reached(transport: &Transport, place: &Place) -> Result<Reached, String> {
    match transport {
        Transport::Stdio { command, args, env, cwd } => {
            let cwd = cwd.as_deref().map(filled).transpose()?;
            let cwd = cwd.map_or_else(|| place.workspace.clone(), |cwd| below(&cwd, &place.workspace, place));
            let args = args.iter().map(|arg| filled(arg)).collect::<Result<_, _>>()?;
            Ok(Reached::Stdio {
                command: program(&filled(command)?, &cwd, place),
                args,
                env: pairs(env)?,
                cwd,
            })
        }
        Transport::Remote { url, headers, kind } => {
            let (url, headers) = (filled(url)?, pairs(headers)?);
            Ok(match kind {
                Kind::Http => Reached::Http { url, headers },
                Kind::Sse => Reached::Sse { url, headers },
                Kind::WebSocket => Reached::WebSocket { url, headers },
            })
        }
    }
}

fn filled(text: &str) -> Result<String, String> {
    expand(text, |name| env::var(name).ok()).map_err(|missing| format!("{missing} is not set"))
}

fn pairs(pairs: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, String> {
    pairs.iter().map(|(name, value)| Ok((name.clone(), filled(value)?))).collect()
}

/// A plain name is looked for in `PATH`; what has a slash is a path, from where the server runs.
fn program(command: &str, cwd: &Path, place: &Place) -> String {
    if !command.contains('/') {
        return command.to_owned();
    }
    below(command, cwd, place).to_string_lossy().into_owned()
}

fn below(path: &str, base: &Path, place: &Place) -> PathBuf {
    match (path.strip_prefix("~/"), &place.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => base.join(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers(toml: &str) -> Servers {
        let mcp: Mcp = toml::from_str(toml).expect("settings");
        let place = Place { cwd: "/w/sub".into(), workspace: "/w".into(), home: Some("/home/u".into()) };
        Servers::new(&mcp, &place, None, None)
    }

    #[test]
    fn a_server_that_cannot_be_is_left_out_alone_and_says_why() {
        let found = servers(
            "[servers.good]\ncommand = \"x\"\n[servers.bare]\nidle_s = 3\n[servers.off]\ncommand = \"x\"\ndisabled = true\n\
             [servers.poor]\nurl = \"https://x/${HAFT_NO_SUCH_VARIABLE}\"\n",
        );
        let names: Vec<&str> =
            found.upstreams.all().iter().map(|upstream| upstream.server().name.as_str()).collect();
        assert_eq!(names, ["good"]);
        let out: Vec<(&str, &str)> =
            found.left_out.iter().map(|(name, why)| (name.as_str(), why.as_str())).collect();
        assert_eq!(
            out,
            [
                ("bare", "it has neither a `command` nor a `url`"),
                ("off", "it is disabled"),
                ("poor", "HAFT_NO_SUCH_VARIABLE is not set"),
            ]
        );
        assert_eq!(found.sources().len(), 4);
    }

    #[test]
    fn haft_within_haft_starts_no_more_of_them() {
        let process = |command: &Path, args: &[&str]| Reached::Stdio {
            command: command.to_string_lossy().into_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: BTreeMap::new(),
            cwd: "/".into(),
        };
        let own = env::current_exe().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("another-name");
        std::os::unix::fs::symlink(&own, &link).unwrap();
        for (server, depth, expected) in [
            (process(&own, &["mcp", "--only", "x"]), 0, Some("haft itself")),
            (process(&link, &["--cwd", "/", "mcp"]), 0, Some("haft itself")),
            (process(&own, &["demo"]), 0, None),
            (process("/bin/sh".as_ref(), &["mcp"]), 1, None),
            (process("/bin/sh".as_ref(), &[]), 2, Some("within 2 others")),
            (Reached::Http { url: String::new(), headers: [].into() }, 2, None),
        ] {
            let why = check_loop(&server, depth).err();
            assert_eq!(why.is_some(), expected.is_some(), "{server:?}");
            assert!(why.unwrap_or_default().contains(expected.unwrap_or_default()), "{server:?}");
        }
    }

    #[test]
    fn programs_and_places_are_found_from_the_workspace() {
        for (toml, program, place) in [
            ("command = \"npx\"", "npx", "/w"),
            ("command = \"./srv.sh\"", "/w/./srv.sh", "/w"),
            ("command = \"bin/srv\"\ncwd = \"tools\"", "/w/tools/bin/srv", "/w/tools"),
            ("command = \"~/bin/srv\"\ncwd = \"~/x\"", "/home/u/bin/srv", "/home/u/x"),
            ("command = \"/opt/srv\"\ncwd = \"/tmp\"", "/opt/srv", "/tmp"),
        ] {
            let found = servers(&format!("[servers.s]\n{toml}\n"));
            let Reached::Stdio { command, cwd, .. } = &found.upstreams.all()[0].server().transport else {
                panic!("a process")
            };
            assert_eq!((command.as_str(), cwd.as_path()), (program, Path::new(place)), "{toml}");
        }
    }

    #[test]
    fn figures_that_are_not_set_are_the_usual_ones() {
        let found = servers(
            "[servers.a]\ncommand = \"x\"\n[servers.b]\ncommand = \"x\"\nstart_s = 3\nidle_s = 4000\nunused_s = 0\n",
        );
        let limits = |at: usize| found.upstreams.all()[at].server().limits;
        assert_eq!(limits(0), Limits::default());
        let set = limits(1);
        assert_eq!((set.start.as_secs(), set.idle.as_secs(), set.unused), (3, 4000, None));
        assert!(set.total >= set.idle, "a whole is not less than its part");
    }
}
