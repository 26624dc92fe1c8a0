//! Rows and cells as a Markdown table: not padded, so that one wide cell does not make every row as wide.

/// A table that is being read.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
    /// Whether the first row has headings.
    has_head: bool,
    /// Whether it only arranges other things. Then its cells are no cells.
    pub(super) is_layout: bool,
    pub(super) in_cell: bool,
}

/// A cell that claims to be wider is not believed.
const WIDEST: usize = 8;

impl Table {
    pub(super) fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    /// Notes that a cell begins.
    pub(super) fn begin_cell(&mut self, heading: bool) {
        if self.rows.is_empty() {
            self.begin_row();
        }
        let is_first = self.rows.len() == 1 && self.rows[0].is_empty();
        self.has_head |= heading && is_first;
        self.in_cell = true;
    }

    /// Puts in a cell that is so many columns wide.
    pub(super) fn end_cell(&mut self, text: String, width: usize) {
        self.in_cell = false;
        if let Some(row) = self.rows.last_mut() {
            row.push(text);
            row.extend((1..width.min(WIDEST)).map(|_| String::new()));
        }
    }

    /// The lines of it. Where there is but one column, or one row without a heading, they are just lines.
    pub(super) fn lines(self) -> Vec<String> {
        let is_empty = |row: &Vec<String>| row.iter().all(String::is_empty);
        let rows: Vec<Vec<String>> = self.rows.into_iter().filter(|row| !is_empty(row)).collect();
        let width = rows.iter().map(Vec::len).max().unwrap_or_default();
        if width < 2 || (rows.len() < 2 && !self.has_head) {
            return rows.into_iter().map(|row| row.join(" ").trim().to_owned()).collect();
        }
        let mut lines: Vec<String> = rows.iter().map(|row| line(row)).collect();
        // The line below the first is what makes it a table, and has as many columns as that.
        let columns = rows[0].len();
        lines.insert(1, format!("|{}", "---|".repeat(columns)));
        lines
    }

    /// What it has so far, as lines: it turned out to arrange other things.
    pub(super) fn give_up(&mut self) -> Vec<String> {
        self.is_layout = true;
        self.in_cell = false;
        let rows = std::mem::take(&mut self.rows).into_iter();
        rows.map(|row| row.join(" ").trim().to_owned()).filter(|line| !line.is_empty()).collect()
    }
}

fn line(row: &[String]) -> String {
    let cells: Vec<String> = row.iter().map(|cell| cell.replace('\n', " ").replace('|', "\\|")).collect();
    format!("| {} |", cells.join(" | "))
}
