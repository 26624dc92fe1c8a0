//! How long a client waits for its first list of tools, from the start of the process.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::{super::table::Row, client::Client, usage::tree, ways::Field};

const STARTS: usize = 30;
const SERVERS: usize = 20;
const TOOLS_EACH: usize = 10;
/// What it may take.
const ALLOWED: Duration = Duration::from_millis(20);

/// Without servers, and with many of which is known what they have.
pub(super) fn rows(field: &Field<'_>) -> Result<Vec<Row>> {
    // Whoever starts for the first time asks the servers, and keeps what they say.
    Client::first_list(&mut field.gateway("many", SERVERS, TOOLS_EACH, &[])?, |_| Ok(()))?;
    let (mut none, mut many) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        none.push(Client::first_list(&mut field.gateway("none", 0, 0, &[])?, is_alone)?);
        many.push(Client::first_list(&mut field.gateway("many", SERVERS, TOOLS_EACH, &[])?, is_alone)?);
    }
    let what = format!("first list, {SERVERS} servers of {TOOLS_EACH} tools, not started");
    Ok(vec![row("first list, no servers", none), row(&what, many)])
}

/// No server was started for it.
fn is_alone(process: u32) -> Result<()> {
    ensure!(tree(process).len() == 1, "a list has started a server");
    Ok(())
}

fn row(what: &str, mut times: Vec<Duration>) -> Row {
    times.sort_unstable();
    let quickest = times[0].as_secs_f64() * 1e3;
    Row::limit(format!("{what} (quickest {quickest:.1} ms)"), times[times.len() / 2], ALLOWED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_counts_and_not_the_quickest() {
        let ms = |figures: [u64; 3]| figures.map(Duration::from_millis).to_vec();
        assert!(!row("a", ms([21, 1, 30])).is_kept());
        assert!(row("a", ms([19, 90, 1])).is_kept());
    }
}
