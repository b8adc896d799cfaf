//! Random expressions from a seed: grown from a grammar, and mutated from texts that work.

/// A small deterministic generator (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

const ATOMS: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "1",
    "-1",
    "2",
    "3.14",
    "1e30",
    "1e-30",
    "99999999999999999999",
    "\"\"",
    "\"a\"",
    "\"foo bar\"",
    "\"2026-11-21\"",
    "\"10:00:00\"",
    "\"P1D\"",
    "\"[a-z]+\"",
    "\"(a|b)*\"",
    "@\"2026-11-21\"",
    "@\"2024-02-29\"",
    "@\"10:30:00Z\"",
    "@\"10:30:00@Europe/Berlin\"",
    "@\"2026-03-29T02:30:00@Europe/Berlin\"",
    "@\"2026-11-21T10:00:00\"",
    "@\"P1DT2H\"",
    "@\"-P1Y2M\"",
    "@\"PT0.001S\"",
    "@\"999999999-12-31\"",
    "[]",
    "[1, 2, 3]",
    "[[1], [2, [3]]]",
    "{}",
    "{a: 1}",
    "{a: {b: [1, 2]}}",
    "[1..5]",
    "(1..5)",
    "(> 3)",
    "[\"a\"..\"z\"]",
    "x",
    "y",
    "order",
    "list",
    "item",
    "?",
    "partial",
    "now()",
    "today()",
    "`odd name`",
    "function(x) x",
    "function(a, b) a < b",
    "count",
    "1..3",
];

const PATHS: &[&str] = &[
    "a",
    "b",
    "year",
    "month",
    "day",
    "weekday",
    "hour",
    "minute",
    "second",
    "time offset",
    "timezone",
    "days",
    "hours",
    "years",
    "months",
    "start",
    "end",
    "start included",
    "`odd name`",
];

const TYPES: &[&str] = &[
    "number",
    "string",
    "date and time",
    "list<number>",
    "context<a: number>",
    "range<date>",
    "function<number> -> Any",
    "Any",
];

pub struct Generator {
    pub random: Random,
    /// Names of the builtins with the number of their parameters.
    pub functions: Vec<(String, usize)>,
    /// Texts that parse.
    pub corpus: Vec<String>,
}

impl Generator {
    pub fn new(seed: u64) -> Generator {
        let mut functions = Vec::new();
        let mut corpus = Vec::new();
        for function in skep_feel::functions() {
            for signature in &function.signatures {
                let parameters = signature.split_once('(').map_or("", |(_, rest)| rest);
                let count = if parameters == ")" {
                    0
                } else {
                    parameters.split(',').count()
                };
                functions.push((function.name.to_owned(), count));
            }
            corpus.push(function.example.to_owned());
            corpus.push(function.result.to_owned());
        }
        Generator {
            random: Random(seed),
            functions,
            corpus,
        }
    }

    /// The next text: most are valid, some nearly, some not at all.
    pub fn text(&mut self) -> String {
        match self.random.below(10) {
            0..=5 => {
                let depth = 1 + self.random.below(5);
                let mut out = String::new();
                self.expression(depth, &mut out);
                out
            }
            6..=8 => self.mutation(),
            _ => (0..self.random.below(60))
                .map(|_| char::from_u32(self.random.below(0x250) as u32).unwrap_or('?'))
                .collect(),
        }
    }

    fn part(&mut self, depth: usize) -> String {
        let mut out = String::new();
        self.expression(depth, &mut out);
        out
    }

    fn expression(&mut self, depth: usize, out: &mut String) {
        if depth == 0 {
            let atom: &&str = self.random.pick(ATOMS);
            out.push_str(atom);
            return;
        }
        let d = depth - 1;
        let a = self.part(d);
        let text = match self.random.below(22) {
            0 => format!("({a})"),
            1 => format!(
                "{a} {} {}",
                self.random.pick(&["+", "-", "*", "/", "**"]),
                self.part(d)
            ),
            2 => format!(
                "{a} {} {}",
                self.random.pick(&["=", "!=", "<", "<=", ">", ">="]),
                self.part(d)
            ),
            3 => format!("{a} {} {}", self.random.pick(&["and", "or"]), self.part(d)),
            4 => format!("[{a}, {}]", self.part(d)),
            5 => format!("{{a: {a}, b: {}}}", self.part(d)),
            6 => format!("if {a} then {} else {}", self.part(d), self.part(d)),
            7 => format!("for x in {a} return {}", self.part(d)),
            8 => format!(
                "for x in 1..{}, y in {a} return [{}, partial]",
                self.random.below(6),
                self.part(d)
            ),
            9 => format!(
                "{} x in {a} satisfies {}",
                self.random.pick(&["some", "every"]),
                self.part(d)
            ),
            10 => format!("({a})[{}]", self.part(d)),
            11 => format!("({a}).{}", self.random.pick(PATHS)),
            12 => format!("{a} in {}", self.part(d)),
            13 => format!(
                "{a} in ({}, {} {})",
                self.part(d),
                self.random.pick(&["<", ">=", "="]),
                self.part(d)
            ),
            14 => format!("{a} between {} and {}", self.part(d), self.part(d)),
            15 => format!("{a} instance of {}", self.random.pick(TYPES)),
            16 => format!("(function(x, y) {a})({}, {})", self.part(d), self.part(d)),
            17 => format!("-({a})"),
            _ => {
                let index = self.random.below(self.functions.len());
                let (name, count) = self.functions[index].clone();
                let count = if self.random.below(10) == 0 {
                    self.random.below(5)
                } else {
                    count
                };
                let arguments: Vec<String> = (0..count).map(|_| self.part(d)).collect();
                format!("{name}({})", arguments.join(", "))
            }
        };
        // Growth without end is the limits' business, not the generator's.
        out.push_str(if text.len() > 20_000 { "null" } else { &text });
    }

    fn mutation(&mut self) -> String {
        let index = self.random.below(self.corpus.len());
        let mut text: Vec<char> = self.corpus[index].chars().collect();
        for _ in 0..1 + self.random.below(4) {
            let at = self.random.below(text.len() + 1);
            match self.random.below(5) {
                0 if at < text.len() => {
                    text.remove(at);
                }
                1 => text.insert(
                    at,
                    *self.random.pick(&[
                        '(', ')', '[', ']', '{', '}', '"', '.', ',', '-', '@', '`', '?', '\\', '0',
                    ]),
                ),
                2 => {
                    let piece: Vec<char> = self.random.pick(ATOMS).chars().collect();
                    text.splice(at..at, piece);
                }
                3 => {
                    let other = self.random.below(self.corpus.len());
                    let other: Vec<char> = self.corpus[other].chars().collect();
                    let from = self.random.below(other.len());
                    text.splice(at..at, other[from..].iter().copied());
                }
                _ if at < text.len() => {
                    let end = (at + 1 + self.random.below(6)).min(text.len());
                    let piece: Vec<char> = text[at..end].to_vec();
                    let to = self.random.below(text.len());
                    text.splice(to..to, piece);
                }
                _ => {}
            }
        }
        text.into_iter().collect()
    }
}

/// Parses, prints, evaluates and serializes a text in all ways there are.
pub fn exercise(text: &str, scope: &dyn skep_feel::Scope, cx: &skep_feel::EvalContext) -> usize {
    use skep_feel::{Expression, UnaryTests, Value};
    let mut size = 0;
    if let Ok(expression) = Expression::parse(text) {
        let evaluation = expression.evaluate(scope, cx);
        let json = evaluation.value.to_json();
        size += json.len()
            + evaluation
                .warnings
                .iter()
                .map(|w| w.message.len())
                .sum::<usize>();
        assert!(
            Value::from_json(&json).is_ok() || json.len() > 1000,
            "{text}: invalid JSON {json}"
        );
        let printed = skep_feel::format_expression(text).expect("it parsed before");
        assert!(
            skep_feel::format_expression(&printed).is_ok_and(|again| again == printed)
                || printed.len() > 10_000,
            "{text}: printed as {printed}"
        );
    }
    if let Ok(tests) = UnaryTests::parse(text) {
        size += tests.evaluate(&Value::from(5), scope, cx).warnings.len();
    }
    size
}
