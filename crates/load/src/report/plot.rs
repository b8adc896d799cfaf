//! Line plots as inline SVG.

use std::fmt::Write as _;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 40.0;

/// The style sheet of a page with plots.
pub const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;max-width:820px;margin:2em auto;padding:0 1em;color:#1c2430;background:#fff}\
h1{font-size:1.5em}h2{font-size:1.15em;margin-top:1.8em}table{border-collapse:collapse;margin:.6em 0}\
td,th{padding:.2em .8em;text-align:right;border-bottom:1px solid #dde3ea}td:first-child,th:first-child{text-align:left}\
figure{margin:1.2em 0}figcaption{font-weight:600}svg{width:100%;height:auto}svg text{font-size:11px;fill:#556}\
svg path{fill:none;stroke-width:1.6}svg .grid{stroke:#e3e8ee}svg .mark{stroke:#9a6b00;stroke-dasharray:2 3}.key{margin-right:1.2em;font-size:.85em}\
.key i{display:inline-block;width:1.6em;vertical-align:middle;margin-right:.4em}\
@media(prefers-color-scheme:dark){body{color:#dde3ea;background:#151a21}td,th{border-color:#303945}svg text{fill:#9aa7b5}svg .grid{stroke:#28303b}}";

/// A named line.
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// Its CSS colour.
    pub color: &'static str,
    /// Points in ascending order of x.
    pub points: Vec<(f64, f64)>,
    /// Whether it is drawn with gaps.
    pub dashed: bool,
}

impl Line {
    /// Distance above which points are not joined: between them the other transport had its turn.
    fn gap(&self) -> f64 {
        let steps = self.points.windows(2).filter_map(|pair| match pair {
            [a, b] => Some(b.0 - a.0),
            _ => None,
        });
        // The median step: a late sample makes the next step short.
        let mut steps: Vec<f64> = steps.collect();
        steps.sort_by(f64::total_cmp);
        2.5 * steps.get(steps.len() / 2).copied().unwrap_or(f64::INFINITY)
    }
}

/// The contents of a plot.
pub struct Plot<'a> {
    /// The title above the plot.
    pub title: &'a str,
    /// Name and unit of the x axis.
    pub x_name: &'a str,
    /// Name and unit of the y axis.
    pub y_name: &'a str,
    /// The lines to draw.
    pub lines: Vec<Line>,
    /// Positions and labels on the x axis; even steps when empty.
    pub x_ticks: Vec<(f64, String)>,
    /// Named moments, each marked by a vertical line.
    pub marks: &'a [(f64, String)],
}

impl Plot<'_> {
    /// The plot as an HTML figure; empty without points.
    pub fn to_html(&self) -> String {
        let points = || self.lines.iter().flat_map(|line| line.points.iter());
        if points().next().is_none() {
            return String::new();
        }
        let bound = |start: f64, pick: fn(f64, f64) -> f64, of: fn(&(f64, f64)) -> f64| {
            points().map(of).fold(start, pick)
        };
        let x_min = bound(f64::INFINITY, f64::min, |p| p.0).min(0.0);
        let x_max = bound(f64::NEG_INFINITY, f64::max, |p| p.0).max(x_min + 1e-9);
        let y_step = nice_step(bound(0.0, f64::max, |p| p.1).max(1e-9));
        let y_max = y_step * (bound(0.0, f64::max, |p| p.1) / y_step).ceil().max(1.0);
        let x = |value: f64| LEFT + (value - x_min) / (x_max - x_min) * (WIDTH - LEFT - RIGHT);
        let y = |value: f64| HEIGHT - BOTTOM - value / y_max * (HEIGHT - TOP - BOTTOM);
        let mut svg = String::new();
        // writing to a String cannot fail
        let _ = self.draw(&mut svg, x, y, (x_min, x_max), (y_step, y_max));
        format!(
            "<figure><figcaption>{}</figcaption>{}<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">{svg}</svg></figure>\n",
            escape(self.title),
            self.legend(),
            escape(self.title),
        )
    }

    fn draw(
        &self,
        out: &mut String,
        x: impl Fn(f64) -> f64,
        y: impl Fn(f64) -> f64,
        (x_min, x_max): (f64, f64),
        (y_step, y_max): (f64, f64),
    ) -> std::fmt::Result {
        let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
        for value in steps(0.0, y_max, y_step) {
            let at = y(value);
            write!(
                out,
                "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 6.0,
                at + 4.0,
                number(value)
            )?;
        }
        let even =
            || steps(x_min, x_max, nice_step(x_max - x_min)).map(|value| (value, number(value)));
        let ticks: Vec<_> = if self.x_ticks.is_empty() {
            even().collect()
        } else {
            self.x_ticks.clone()
        };
        for (value, label) in ticks {
            write!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                x(value),
                bottom + 16.0,
                escape(&label)
            )?;
        }
        write!(
            out,
            "<text x=\"{right}\" y=\"{:.1}\" text-anchor=\"end\">{}</text><text x=\"{LEFT}\" y=\"{:.1}\">{}</text>",
            bottom + 34.0,
            escape(self.x_name),
            bottom + 34.0,
            escape(self.y_name)
        )?;
        self.draw_marks(out, &x, x_max)?;
        for line in &self.lines {
            let mut path = String::new();
            let (gap, mut before) = (line.gap(), f64::NEG_INFINITY);
            for point in &line.points {
                let letter = if point.0 - before > gap { 'M' } else { 'L' };
                write!(path, "{letter}{:.1} {:.1}", x(point.0), y(point.1))?;
                before = point.0;
            }
            let dash = if line.dashed {
                " stroke-dasharray=\"5 4\""
            } else {
                ""
            };
            write!(
                out,
                "<path d=\"{path}\" stroke=\"{}\"{dash}><title>{}</title></path>",
                line.color,
                escape(&line.name)
            )?;
        }
        Ok(())
    }

    fn draw_marks(&self, out: &mut String, x: impl Fn(f64) -> f64, x_max: f64) -> std::fmt::Result {
        for (value, name) in self.marks.iter().filter(|mark| mark.0 <= x_max) {
            write!(
                out,
                "<line class=\"mark\" x1=\"{0:.1}\" y1=\"{TOP}\" x2=\"{0:.1}\" y2=\"{1}\"><title>{2}</title></line>",
                x(*value),
                HEIGHT - BOTTOM,
                escape(name)
            )?;
        }
        Ok(())
    }

    fn legend(&self) -> String {
        self.lines
            .iter()
            .filter(|line| !line.points.is_empty())
            .fold(String::new(), |mut out, line| {
                let style = if line.dashed { "dashed" } else { "solid" };
                let _ = write!(
                    out,
                    "<span class=\"key\"><i style=\"border-top:2px {style} {}\"></i>{}</span>",
                    line.color,
                    escape(&line.name)
                );
                out
            })
    }
}

/// 1, 2 or 5 times a power of ten: about five steps to `span`.
fn nice_step(span: f64) -> f64 {
    let rough = span / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let factor = match rough / power {
        f if f <= 1.0 => 1.0,
        f if f <= 2.0 => 2.0,
        f if f <= 5.0 => 5.0,
        _ => 10.0,
    };
    factor * power
}

fn steps(from: f64, to: f64, step: f64) -> impl Iterator<Item = f64> {
    let first = (from / step).ceil();
    (0..=20_i32)
        .map(move |index| (first + f64::from(index)) * step)
        .take_while(move |value| *value <= to + step * 1e-6)
}

fn number(value: f64) -> String {
    let text = if value.abs() >= 100.0 || value == value.trunc() {
        format!("{value:.0}")
    } else {
        format!("{value:.3}")
    };
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Escapes text for HTML and SVG.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_steps() {
        assert!((nice_step(9.0) - 2.0).abs() < 1e-9);
        assert!((nice_step(23_000.0) - 5_000.0).abs() < 1e-9);
        assert!((nice_step(0.4) - 0.1).abs() < 1e-9);
        assert_eq!(steps(0.0, 10.0, 5.0).collect::<Vec<_>>(), [0.0, 5.0, 10.0]);
        assert_eq!(number(0.25), "0.25");
        assert_eq!(number(15000.0), "15000");
    }

    #[test]
    fn a_line_is_interrupted_where_nothing_was_measured() {
        let plot = Plot {
            title: "t",
            x_name: "s",
            y_name: "ms",
            lines: vec![Line {
                name: "x".into(),
                color: "#000",
                // One of the samples was late.
                points: [0.0, 1.0, 2.8, 3.0, 9.0, 10.0, 11.0]
                    .map(|x| (x, 1.0))
                    .into(),
                dashed: false,
            }],
            x_ticks: Vec::new(),
            marks: &[],
        };
        let html = plot.to_html();
        let (_, path) = html.split_once("<path d=\"").unwrap();
        let (path, _) = path.split_once('"').unwrap();
        assert_eq!(path.matches('M').count(), 2, "{path}");
        assert_eq!(path.matches('L').count(), 5, "{path}");
    }

    #[test]
    fn a_plot_stays_inside_its_frame_and_escapes_names() {
        let plot = Plot {
            title: "a < b",
            x_name: "s",
            y_name: "ms",
            lines: vec![Line {
                name: "<x>".into(),
                color: "#000",
                points: vec![(0.0, 0.0), (10.0, 7.0)],
                dashed: false,
            }],
            x_ticks: Vec::new(),
            marks: &[(5.0, "kill".into()), (11.0, "too late".into())],
        };
        let html = plot.to_html();
        assert!(html.contains("M70.0 220.0L744.0 "), "{html}");
        assert!(html.contains("x1=\"407.0\" y1=\"14\""), "{html}");
        assert!(!html.contains("too late"), "{html}");
        assert!(
            html.contains("a &lt; b") && html.contains("&lt;x&gt;"),
            "{html}"
        );
    }
}
