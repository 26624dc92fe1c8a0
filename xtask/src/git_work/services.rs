//! The servers of the sequences: real ones on loopback, in throw-away directories, ended with the chore.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};

use super::stand_ins;
use crate::set_up::script;

/// Programs without which sequences cannot be tried.
const PROGRAMS: [&str; 18] = [
    "git",
    "ssh",
    "ssh-agent",
    "ssh-add",
    "sshd",
    "scp",
    "sftp",
    "gpg",
    "redis-server",
    "redis-cli",
    "psql",
    "docker",
    "npm",
    "node",
    "cargo",
    "python3",
    "sqlite3",
    "curl",
];
const START_LIMIT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The servers. They end when this is dropped.
pub(crate) struct Services {
    children: Vec<Child>,
    /// Names in braces, and what stands for them in set-ups and commands.
    names: Vec<(&'static str, String)>,
}

impl Services {
    /// Starts all of them.
    pub(crate) fn start(home: &Path) -> Result<Services> {
        let missing: Vec<&str> = PROGRAMS.into_iter().filter(|name| find(name).is_none()).collect();
        ensure!(missing.is_empty(), "not installed: {}", missing.join(", "));
        let directory = home.join("services");
        fs::create_dir_all(&directory)?;
        let mut services = Services { children: Vec::new(), names: Vec::new() };
        script(home, HOME).context("the home")?;
        services.start_ssh(home, &directory)?;
        services.start_gpg(home)?;
        services.start_postgres(&directory)?;
        services.start_redis(&directory)?;
        services.name("{HTTP}", stand_ins::serve_http(&pack(home)?)?.to_string());
        let docker = directory.join("docker.sock");
        stand_ins::serve_docker(&docker)?;
        services.name("{DOCKER}", shown(&docker));
        Ok(services)
    }

    /// A text with what its names stand for.
    pub(crate) fn filled(&self, text: &str) -> String {
        self.names.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }

    fn name(&mut self, name: &'static str, value: String) {
        self.names.push((name, value));
    }

    fn start_ssh(&mut self, home: &Path, directory: &Path) -> Result<()> {
        let port = free_port()?.to_string();
        script(home, &SSH.replace("{SSH}", &port)).context("the keys of sshd")?;
        let settings = shown(&home.join("services/sshd_config"));
        self.spawn(find("sshd").context("sshd")?.to_str().context("sshd")?, &["-D", "-e", "-f", &settings])?;
        wait_for(&format!("127.0.0.1:{port}"))?;
        let agent = directory.join("agent.sock");
        self.spawn("ssh-agent", &["-D", "-a", &shown(&agent)])?;
        wait_for_socket(&agent)?;
        script(home, &format!("SSH_AUTH_SOCK={} ssh-add -q services/agent_key", shown(&agent)))?;
        self.name("{SSH}", port);
        self.name("{AGENT}", shown(&agent));
        Ok(())
    }

    fn start_gpg(&mut self, home: &Path) -> Result<()> {
        script(home, GPG).context("a key of gpg")?;
        let output = Command::new("gpgconf").args(["--list-dirs", "agent-socket"]).output()?;
        self.name("{GPG}", String::from_utf8(output.stdout)?.trim().to_owned());
        Ok(())
    }

    fn start_postgres(&mut self, directory: &Path) -> Result<()> {
        let (port, place) = (free_port()?.to_string(), shown(&directory.join("postgres")));
        let program = |name: &str| find(name).map(|path| shown(&path)).context("PostgreSQL is not installed");
        let initdb = Command::new(program("initdb")?)
            .args(["--no-sync", "--auth=trust", "--username=ada", "-D", &place])
            .output()?;
        ensure!(initdb.status.success(), "initdb: {}", String::from_utf8_lossy(&initdb.stderr));
        let listen = ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"];
        let sockets = shown(directory);
        self.spawn(
            &program("postgres")?,
            &[&["-D", &place, "-p", &port, "-k", &sockets], &listen[..]].concat(),
        )?;
        wait_for(&format!("127.0.0.1:{port}"))?;
        self.name("{PG_SOCKET}", format!("{sockets}/.s.PGSQL.{port}"));
        self.name("{PG_SOCKETS}", sockets);
        self.name("{PG}", port);
        Ok(())
    }

    fn start_redis(&mut self, directory: &Path) -> Result<()> {
        let (port, socket) = (free_port()?.to_string(), directory.join("redis.sock"));
        let place = shown(directory);
        let words = ["--port", &port, "--bind", "127.0.0.1", "--save", "", "--dir", &place, "--unixsocket"];
        self.spawn("redis-server", &[&words[..], &[&shown(&socket)]].concat())?;
        wait_for(&format!("127.0.0.1:{port}"))?;
        self.name("{REDIS_SOCKET}", shown(&socket));
        self.name("{REDIS}", port);
        Ok(())
    }

    fn spawn(&mut self, program: &str, words: &[&str]) -> Result<()> {
        let mut command = Command::new(program);
        command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.children.push(command.spawn().with_context(|| program.to_owned())?);
        Ok(())
    }
}

impl Drop for Services {
    fn drop(&mut self) {
        for child in &mut self.children {
            // One that has ended by itself is ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The user's own settings.
const HOME: &str = r#"
git config --global user.name Ada
git config --global user.email ada@example.org
git config --global init.defaultBranch master
git config --global protocol.file.allow always
git config --global advice.detachedHead false
mkdir -p .ssh .npm .cache .local/state .config/haft; chmod 700 .ssh
"#;

/// A server that knows two keys: one in a file, one that only the agent has.
const SSH: &str = r#"
cd services
ssh-keygen -q -t ed25519 -N '' -f host_key
ssh-keygen -q -t ed25519 -N '' -C ada@example.org -f ../.ssh/id_ed25519
ssh-keygen -q -t ed25519 -N '' -C agent -f agent_key
cat ../.ssh/id_ed25519.pub agent_key.pub > authorized_keys
for host in 127.0.0.1 localhost; do echo "[$host]:{SSH} $(cut -d' ' -f1,2 host_key.pub)"; done > ../.ssh/known_hosts
printf 'Host work\n  HostName 127.0.0.1\n  Port {SSH}\n' > ../.ssh/config
chmod 600 ../.ssh/config
echo "ada@example.org $(cat ../.ssh/id_ed25519.pub)" > ../.ssh/allowed_signers
cat > sshd_config <<END
Port {SSH}
ListenAddress 127.0.0.1
HostKey $PWD/host_key
AuthorizedKeysFile $PWD/authorized_keys
UsePAM no
StrictModes no
PidFile none
Subsystem sftp internal-sftp
END
"#;

const GPG: &str = r#"
mkdir -p .gnupg; chmod 700 .gnupg
gpg --batch --quiet --pinentry-mode loopback --passphrase '' --quick-gen-key 'Ada <ada@example.org>' ed25519 sign never 2>/dev/null
gpgconf --launch gpg-agent
git config --global user.signingKey "$(gpg --list-keys --with-colons | awk -F: '/^fpr/ { print $10; exit }')"
"#;

/// Packages that the registry and pip have.
const PACK: &str = r#"
mkdir -p services/greet && cd services/greet
printf '{"name":"greet","version":"1.0.0","main":"index.js"}' > package.json
echo "module.exports = () => 'hello'" > index.js
npm pack --silent --offline >/dev/null
mkdir -p ../wheel && cd ../wheel
python3 - <<'END'
import zipfile
info = "greet-1.0.0.dist-info"
with zipfile.ZipFile("greet-1.0.0-py3-none-any.whl", "w") as wheel:
    for name, text in {
        "greet.py": "def hello():\n    return 'hello'\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: greet\nVersion: 1.0.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": f"greet.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n",
    }.items():
        wheel.writestr(zipfile.ZipInfo(name), text)
END
"#;

fn pack(home: &Path) -> Result<Vec<u8>> {
    script(home, PACK).context("packages")?;
    Ok(fs::read(home.join("services/greet/greet-1.0.0.tgz"))?)
}

/// A program on the search path, or where Debian has servers.
fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let servers = versions.map(|version| version.path().join("bin"));
    std::env::split_paths(&path).chain(servers).map(|place| place.join(name)).find(|path| path.is_file())
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn wait_for(address: &str) -> Result<()> {
    wait_until(address, || TcpStream::connect(address).is_ok())
}

fn wait_for_socket(path: &Path) -> Result<()> {
    wait_until(&shown(path), || UnixStream::connect(path).is_ok())
}

fn wait_until(what: &str, is_there: impl Fn() -> bool) -> Result<()> {
    let start = Instant::now();
    while !is_there() {
        if start.elapsed() > START_LIMIT {
            bail!("nothing listens at {what}");
        }
        thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}
