//! What there is to be reached outside, and must not be: a server of each kind that says its marker to whoever comes.

use std::{
    fs,
    io::{self, Write},
    net::{TcpListener, UdpSocket},
    os::{
        linux::net::SocketAddrExt,
        unix::{
            fs::PermissionsExt,
            net::{SocketAddr, UnixDatagram, UnixListener},
        },
    },
    path::PathBuf,
    sync::OnceLock,
    thread,
};

use anyhow::{Result, anyhow};

/// The servers of a run. Their threads end with the process.
pub(super) struct Servers {
    tcp: u16,
    udp: u16,
    /// None where there is no IPv6.
    tcp6: Option<u16>,
    socket: PathBuf,
    abstract_name: String,
}

static ALL: OnceLock<Result<Servers, String>> = OnceLock::new();

impl Servers {
    /// The servers, if somebody needed them.
    pub(super) fn running() -> Option<&'static Servers> {
        ALL.get()?.as_ref().ok()
    }

    /// The servers of this process.
    pub(super) fn all() -> Result<&'static Servers> {
        let all = ALL.get_or_init(|| Servers::start().map_err(|err| err.to_string()));
        all.as_ref().map_err(|err| anyhow!("the servers do not start: {err}"))
    }

    fn start() -> io::Result<Servers> {
        let tcp = TcpListener::bind("127.0.0.1:0")?;
        let tcp6 = TcpListener::bind("[::1]:0").ok();
        let udp = UdpSocket::bind("127.0.0.1:0")?;
        let abstract_name = format!("haft-case-{}", std::process::id());
        let place = tempfile::Builder::new().prefix("haft-servers-").tempdir()?.keep();
        fs::set_permissions(&place, fs::Permissions::from_mode(0o755))?;
        let socket = place.join("sock");
        let unix = UnixListener::bind(&socket)?;
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o777))?;
        let abstracted = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&abstract_name)?)?;
        let datagrams = SocketAddr::from_abstract_name(format!("{abstract_name}-dgram"))?;
        let datagrams = UnixDatagram::bind_addr(&datagrams)?;
        let servers = Servers {
            tcp: tcp.local_addr()?.port(),
            udp: udp.local_addr()?.port(),
            tcp6: tcp6.as_ref().and_then(|tcp6| Some(tcp6.local_addr().ok()?.port())),
            socket,
            abstract_name,
        };
        greet(move || tcp.accept().map(|(stream, _)| stream), "TCP-MARKER");
        if let Some(tcp6) = tcp6 {
            greet(move || tcp6.accept().map(|(stream, _)| stream), "TCP6-MARKER");
        }
        greet(move || unix.accept().map(|(stream, _)| stream), "UNIX-MARKER");
        greet(move || abstracted.accept().map(|(stream, _)| stream), "ABSTRACT-MARKER");
        thread::spawn(move || answer_datagrams(&udp));
        thread::spawn(move || answer_unix_datagrams(&datagrams));
        Ok(servers)
    }

    /// Removes what they have on disk.
    pub(super) fn put_away(&self) {
        // What stays is a name in a directory for temporary files.
        let _ = self.socket.parent().map(fs::remove_dir_all);
    }

    pub(super) fn has_ipv6(&self) -> bool {
        self.tcp6.is_some()
    }

    /// Their addresses, wherever a text names them.
    pub(super) fn filled(&self, text: &str) -> String {
        text.replace("{PORT}", &self.tcp.to_string())
            .replace("{UDPPORT}", &self.udp.to_string())
            .replace("{PORT6}", &self.tcp6.unwrap_or(1).to_string())
            .replace("{SOCK}", &self.socket.to_string_lossy())
            .replace("{ABS}", &self.abstract_name)
    }
}

/// Says a marker to everybody who connects.
fn greet<S: Write>(accept: impl Fn() -> io::Result<S> + Send + 'static, marker: &'static str) {
    thread::spawn(move || {
        while let Ok(mut stream) = accept() {
            let _ = stream.write_all(marker.as_bytes());
        }
    });
}

fn answer_datagrams(socket: &UdpSocket) {
    while let Ok((_, from)) = socket.recv_from(&mut [0; 64]) {
        let _ = socket.send_to(b"UDP-MARKER", from);
    }
}

fn answer_unix_datagrams(socket: &UnixDatagram) {
    while let Ok((_, from)) = socket.recv_from(&mut [0; 64]) {
        let _ = socket.send_to_addr(b"ABSTRACT-MARKER", &from);
    }
}
