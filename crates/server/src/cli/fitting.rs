//! Tables with names in them that fit the terminal. Elsewhere, as in a pipe, they have all columns, as wide as they need to be, and nothing is
//! cut.

use std::io::{IsTerminal, stdout};

use super::{columns, table_of};

/// The least width of a terminal that is believed.
const LEAST: usize = 40;
/// In front of the line below a row.
const INDENT: &str = "    ";

/// A table that fits the terminal: if it does not, the columns of names stand in a line below each row.
pub fn fitted<const N: usize>(rows: &[[String; N]], names: &[usize]) -> String {
    fit(rows, names, width())
}

/// The width of the terminal, if standard output is one.
fn width() -> Option<usize> {
    let terminal = stdout();
    if !terminal.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(terminal);
    let width = size.map_or(80, |size| usize::from(size.ws_col));
    Some(if width < LEAST { 80 } else { width })
}

fn fit<const N: usize>(rows: &[[String; N]], names: &[usize], width: Option<usize>) -> String {
    let Some(width) = width else {
        return table_of(rows, false);
    };
    let widths = columns(rows, true).into_iter().map(|(_, width)| width + 2);
    if widths.sum::<usize>() <= width + 2 {
        return table_of(rows, true);
    }
    let mut without = rows.to_vec();
    for row in &mut without {
        for name in names {
            if let Some(cell) = row.get_mut(*name) {
                cell.clear();
            }
        }
    }
    let above = table_of(&without, true);
    let mut lines = above.lines();
    let heading = lines.next().unwrap_or_default();
    let mut text = format!("{heading}\n");
    let headings = rows.first();
    for (line, row) in lines.zip(rows.iter().skip(1)) {
        text.push_str(&format!("{line}\n"));
        let named = names.iter().filter_map(|name| {
            let value = row.get(*name)?.as_str();
            let heading = headings?.get(*name)?.to_lowercase();
            (!matches!(value, "" | "-")).then(|| (heading, value.to_string()))
        });
        let below = below(named.collect(), width.saturating_sub(INDENT.len()));
        if !below.is_empty() {
            text.push_str(&format!("{INDENT}{below}\n"));
        }
    }
    text
}

/// Names with their headings, the longest ones cut where all together are too wide.
fn below(mut named: Vec<(String, String)>, width: usize) -> String {
    for (_, name) in &mut named {
        if name.chars().count() > width {
            *name = cut(name, width);
        }
    }
    loop {
        let parts = named
            .iter()
            .map(|(heading, name)| format!("{heading} {name}"));
        let line = parts.collect::<Vec<String>>().join(", ");
        let excess = line.chars().count().saturating_sub(width);
        let length = |named: &(String, String)| named.1.chars().count();
        let longest = named.iter_mut().max_by_key(|named| length(named));
        match longest.filter(|named| excess > 0 && length(named) > 8) {
            None => return line,
            Some(named) => named.1 = cut(&named.1, length(named) - 1),
        }
    }
}

/// The beginning and the end of a name, within this many characters.
fn cut(name: &str, length: usize) -> String {
    let whole: Vec<char> = name.chars().filter(|c| *c != '…').collect();
    let kept = length.saturating_sub(1).min(whole.len());
    let end = kept / 2;
    let begin = whole.iter().take(kept - end);
    let rest = whole.iter().skip(whole.len() - end);
    begin.chain(&['…']).chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(job_type: &str) -> Vec<[String; 5]> {
        let heading = ["JOB", "TYPE", "STATE", "WORKER", "INSTANCE"].map(String::from);
        let row = [
            "2251799813685250",
            job_type,
            "CREATED",
            "-",
            "2251799813685249",
        ];
        vec![heading, row.map(String::from)]
    }

    #[test]
    fn a_table_that_fits_stays_as_it_is() {
        let expected = "JOB               TYPE  STATE    INSTANCE\n\
                        2251799813685250  pay   CREATED  2251799813685249\n";
        for width in [80, 49] {
            assert_eq!(fit(&rows("pay"), &[1, 3], Some(width)), expected);
        }
    }

    #[test]
    fn a_pipe_gets_all_columns_and_whole_names() {
        let expected = "JOB               TYPE  STATE    WORKER  INSTANCE\n\
                        2251799813685250  pay   CREATED  -       2251799813685249\n";
        assert_eq!(fit(&rows("pay"), &[1, 3], None), expected);
        let long = "x".repeat(200);
        assert!(fit(&rows(&long), &[1, 3], None).contains(&long));
    }

    #[test]
    fn long_names_stand_below_their_rows() {
        let name = "collect-money-of-the-customer-by-direct-debit";
        let expected = format!(
            "JOB               STATE    INSTANCE\n\
             2251799813685250  CREATED  2251799813685249\n    type {name}\n"
        );
        assert_eq!(fit(&rows(name), &[1, 3], Some(80)), expected);
        assert_eq!(fit(&rows("pay"), &[1, 3], Some(48)).lines().count(), 3);
    }

    #[test]
    fn a_name_that_fits_no_line_keeps_its_beginning_and_its_end() {
        let name = format!("begin{}end", "-".repeat(300));
        let mut all = rows(&name);
        all[1][3] = "a-worker".into();
        let page = fit(&all, &[1, 3], Some(80));
        assert!(
            page.lines().all(|line| line.chars().count() <= 80),
            "{page}"
        );
        let below = page.lines().last().unwrap();
        assert!(below.starts_with("    type begin-"), "{page}");
        assert!(below.ends_with("-end, worker a-worker"), "{page}");
        assert_eq!(below.matches('…').count(), 1, "{page}");
    }
}
