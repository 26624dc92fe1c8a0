//! What people do with packages and builds all day.

use super::sequence::{Sequence, run};

const NPM_REGISTRY: &str = "project; printf 'registry=http://127.0.0.1:{HTTP}/\\n' > ~/.npmrc; printf '{\"name\":\"app\",\"version\":\"1.0.0\"}' > w/package.json";
/// Files of tools that have times or paths of machines in them.
const PYTHON: &[&str] = &["__pycache__", ".pyc"];
const CARGO: &[&str] = &["target"];

pub(super) const ROWS: &[Sequence] = &[
    Sequence::new("npm init and install of a directory", "project; cp -r ~/services/greet greet", &[
        run("npm init -y"),
        run("npm install --no-audit --no-fund --offline ../greet"),
        run("node -e \"console.log(require('greet')())\" > out.txt"),
    ])
    .ignoring(&[".package-lock.json"]),
    Sequence::new("npm install from a registry", NPM_REGISTRY, &[
        run("npm install --no-audit --no-fund greet").hosts(&["127.0.0.1:{HTTP}"]).write(&["~/.npm"]),
    ]),
    Sequence::new("npm ci of a tarball", "project; cp ~/services/greet/greet-1.0.0.tgz w; cd w; printf '{\"name\":\"app\",\"dependencies\":{\"greet\":\"file:greet-1.0.0.tgz\"}}' > package.json; npm install --silent --offline --package-lock-only --no-audit", &[
        run("npm ci --offline --no-audit --no-fund").write(&["~/.npm"]),
    ]),
    Sequence::new("npm run build", "project; printf '{\"name\":\"app\",\"scripts\":{\"build\":\"mkdir -p dist && cp a.txt dist/\"}}' > w/package.json", &[
        run("npm run build"),
    ]),
    Sequence::new("npm run prepare sets core.hooksPath", "project; printf '{\"name\":\"app\",\"scripts\":{\"prepare\":\"git config core.hooksPath .husky && mkdir -p .husky && echo true > .husky/pre-commit\"}}' > w/package.json", &[
        run("npm run prepare"),
    ]),
    Sequence::new("a scaffolder in the empty workspace", SCAFFOLDER, &[run("node ../create.js .")]),
    Sequence::new("venv and pip install of a wheel", "project", &[
        run("python3 -m venv .venv"),
        run(".venv/bin/pip install -q --disable-pip-version-check --no-index --find-links ~/services/wheel greet"),
        run(".venv/bin/python -c 'import greet; print(greet.hello())' > out.txt"),
    ])
    .ignoring(PYTHON),
    Sequence::new("pip install --target", "project", &[
        run("python3 -m pip install -q --disable-pip-version-check --no-index --find-links ~/services/wheel --target vendor greet"),
    ])
    .ignoring(PYTHON),
    Sequence::new("cargo build with a path dependency", CRATES, &[run("cargo build --offline && cargo test --offline -q")]).ignoring(CARGO),
    Sequence::new("cargo new and run", "mkdir w", &[run("cargo new --vcs none app && cd app && cargo run --offline")]).ignoring(CARGO),
    Sequence::new("cargo init in a repository", "project", &[run("cargo init --name app")]).ignoring(CARGO),
    Sequence::new("cargo build of a vendored crate", VENDORED, &[run("cargo build --offline")]).ignoring(CARGO),
    Sequence::new("make", "project; printf 'out.txt: a.txt\\n\\tcp a.txt out.txt\\n' > w/Makefile", &[run("make")]),
    Sequence::new("tar of everything, and back", "project; rm -rf w/.git", &[
        run("tar czf ../out.tgz . && mkdir again && tar xzf ../out.tgz -C again").write(&[".."]),
    ])
    .ignoring(&["out.tgz"]),
    Sequence::new("unzip of a project with editor settings", "mkdir w; mkdir -p p/.vscode; echo '{}' > p/.vscode/settings.json; echo 1 > p/a; cd p; python3 -m zipfile -c ../w/p.zip .vscode a", &[
        run("python3 -m zipfile -e p.zip ."),
    ]),
];

/// A program as `npm create` would run it: it wants an empty directory, and writes settings of an editor.
const SCAFFOLDER: &str = r#"mkdir w; cat > create.js <<'END'
const fs = require("fs"), path = require("path"), place = process.argv[2];
if (fs.readdirSync(place).length) { console.error("the directory is not empty"); process.exit(1); }
fs.mkdirSync(path.join(place, ".vscode"));
fs.writeFileSync(path.join(place, ".vscode/extensions.json"), "{}\n");
fs.writeFileSync(path.join(place, "package.json"), "{}\n");
fs.writeFileSync(path.join(place, ".gitignore"), "node_modules\n");
END
"#;

const CRATES: &str = r#"project; mkdir -p w/src w/dep/src
printf '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\ndep = { path = "dep" }\n' > w/Cargo.toml
printf '[package]\nname = "dep"\nversion = "0.1.0"\nedition = "2021"\n' > w/dep/Cargo.toml
echo 'pub fn one() -> u8 { 1 }' > w/dep/src/lib.rs
echo 'fn main() { println!("{}", dep::one()); }' > w/src/main.rs"#;

const VENDORED: &str = r#"project; mkdir -p w/src w/vendor/dep/src w/.cargo
printf '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\ndep = "0.1"\n' > w/Cargo.toml
printf '[package]\nname = "dep"\nversion = "0.1.0"\nedition = "2021"\n' > w/vendor/dep/Cargo.toml
echo '{"files":{}}' > w/vendor/dep/.cargo-checksum.json
echo 'pub fn one() -> u8 { 1 }' > w/vendor/dep/src/lib.rs
echo 'fn main() { println!("{}", dep::one()); }' > w/src/main.rs
printf '[source.crates-io]\nreplace-with = "vendor"\n[source.vendor]\ndirectory = "vendor"\n' > w/.cargo/config.toml"#;
