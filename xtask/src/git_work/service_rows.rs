//! What people do with servers all day: ssh, containers, databases, a development server.

use super::sequence::{Sequence, run};

const DATABASE: &str =
    "project; dropdb -h {PG_SOCKETS} -p {PG} --if-exists work; createdb -h {PG_SOCKETS} -p {PG} work";
const REDIS: &str = "project; redis-cli -p {REDIS} flushall > /dev/null";
const DOCKER: &str = "[sandbox]\nsockets = [\"{DOCKER}\"]\n";

pub(super) const ROWS: &[Sequence] = &[
    Sequence::new("ssh runs a command", "project", &[run("ssh -p {SSH} 127.0.0.1 'echo from there' > out.txt").hosts(&["127.0.0.1:{SSH}"])]),
    Sequence::new("ssh with a short name, host without a port", "project", &[run("ssh work 'cat field/w/a.txt' > out.txt").hosts(&["127.0.0.1"])]),
    Sequence::new("ssh with the agent's key", "project", &[
        run("ssh -o IdentitiesOnly=no -i none -p {SSH} 127.0.0.1 'echo by agent' > out.txt").hosts(&["127.0.0.1:{SSH}"]),
        run("ssh-add -l > keys.txt"),
    ])
    .settings("[sandbox]\nsockets = [\"$SSH_AUTH_SOCK\"]\n"),
    Sequence::new("scp there and back", "project; mkdir remote", &[
        run("scp -q -P {SSH} a.txt 127.0.0.1:field/remote/ && scp -q -P {SSH} 127.0.0.1:field/remote/a.txt back.txt").hosts(&["127.0.0.1:{SSH}"]),
    ]),
    Sequence::new("sftp by a batch", "project; mkdir remote", &[
        run("printf 'put a.txt field/remote/b.txt\\n' | sftp -q -b - -P {SSH} localhost").hosts(&["localhost:{SSH}"]),
    ]),
    Sequence::new("ssh-keygen in the workspace", "project", &[run("ssh-keygen -q -t ed25519 -N '' -f key && wc -l < key.pub > lines.txt && rm key key.pub")]),
    Sequence::new("docker version and ps", "project", &[
        run("docker version --format '{{.Server.Version}}' > version.txt"),
        run("docker ps --format '{{.Names}} {{.Image}}' > ps.txt && docker images -q > images.txt"),
    ])
    .settings(DOCKER),
    Sequence::new("psql over TCP", DATABASE, &[
        run("psql -q -h 127.0.0.1 -p {PG} -d work -c 'create table t (n int); insert into t values (1), (2)'").hosts(&["127.0.0.1:{PG}"]),
        run("psql -h localhost -p {PG} -d work -At -c 'select sum(n) from t' > sum.txt").hosts(&["localhost:{PG}"]),
    ]),
    Sequence::new("psql by a URL, host without a port", DATABASE, &[
        run("psql postgresql://ada@127.0.0.1:{PG}/work -At -c 'select 40 + 2' > out.txt").hosts(&["127.0.0.1"]),
    ]),
    Sequence::new("psql over a Unix socket", DATABASE, &[run("psql -h {PG_SOCKETS} -p {PG} -d work -At -c 'select 1' > out.txt")])
        .settings("[sandbox]\nsockets = [\"{PG_SOCKET}\"]\n"),
    Sequence::new("pg_dump and restore", DATABASE, &[
        run("psql -q -h 127.0.0.1 -p {PG} -d work -c 'create table t (n int); insert into t values (7)' && pg_dump -h 127.0.0.1 -p {PG} -t t --inserts work | grep INSERT > dump.sql").hosts(&["127.0.0.1:{PG}"]),
        run("psql -q -h 127.0.0.1 -p {PG} -d work -f dump.sql && psql -h 127.0.0.1 -p {PG} -d work -At -c 'select count(*) from t' > count.txt").hosts(&["127.0.0.1:{PG}"]),
    ]),
    Sequence::new("psql with sandbox.hosts", DATABASE, &[run("psql -h 127.0.0.1 -p {PG} -d work -At -c 'select 3' > out.txt")])
        .settings("[sandbox]\nhosts = [\"127.0.0.1:{PG}\"]\n"),
    Sequence::new("redis-cli over TCP", REDIS, &[
        run("redis-cli -p {REDIS} set k v && redis-cli -h 127.0.0.1 -p {REDIS} get k > out.txt").hosts(&["127.0.0.1:{REDIS}"]),
    ]),
    Sequence::new("redis-cli over a Unix socket", REDIS, &[run("redis-cli -s {REDIS_SOCKET} incr n > out.txt")])
        .settings("[sandbox]\nsockets = [\"{REDIS_SOCKET}\"]\n"),
    Sequence::new("redis by python's own socket", REDIS, &[
        run("python3 -c \"import socket; s = socket.create_connection(('127.0.0.1', {REDIS})); s.sendall(b'PING\\r\\n'); print(s.recv(9).decode().strip())\" > out.txt").hosts(&["127.0.0.1:{REDIS}"]),
    ]),
    Sequence::new("sqlite3", "project", &[
        run("sqlite3 work.db 'create table t (n); insert into t values (5)' && sqlite3 work.db 'select n from t' > out.txt"),
    ]),
    Sequence::new("curl of the development server", "project", &[
        run("curl -sS http://127.0.0.1:{HTTP}/ > out.txt").hosts(&["127.0.0.1:{HTTP}"]),
        run("curl -sS --noproxy '*' http://localhost:{HTTP}/ > direct.txt").hosts(&["localhost:{HTTP}"]),
    ]),
    Sequence::new("curl of the development server, host without a port", "project", &[
        run("curl -sS http://localhost:{HTTP}/ > out.txt").hosts(&["localhost"]),
    ]),
    Sequence::new("node fetches from the development server", "project", &[
        run("node -e \"fetch('http://127.0.0.1:{HTTP}/').then(r => r.text()).then(t => require('fs').writeFileSync('out.txt', t))\"").hosts(&["127.0.0.1:{HTTP}"]),
    ]),
    Sequence::new("a server of the command's own", "project", &[
        run("python3 -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1 & for i in $(seq 50); do curl -sf http://127.0.0.1:8123/a.txt > out.txt && break; sleep 0.1; done; kill %1"),
    ]),
];
