//! Expensive expressions: one for each family of operations, with arguments that make it slow.

use skep_random::Random;

/// An operation repeated as often as possible.
pub struct Expensive {
    pub family: &'static str,
    /// Entries of a context, before the loop.
    pub before: &'static str,
    /// The repeated operation; `i` counts.
    pub operation: &'static str,
}

impl Expensive {
    /// The whole expression.
    pub fn text(&self) -> String {
        let comma = if self.before.is_empty() { "" } else { ", " };
        format!(
            "{{{}{comma}r: some i in 1..1000000000000 satisfies ({}) = \"never\"}}.r",
            self.before, self.operation
        )
    }
}

const fn row(family: &'static str, before: &'static str, operation: &'static str) -> Expensive {
    Expensive {
        family,
        before,
        operation,
    }
}

/// Variables that the expressions use, as JSON.
pub fn variables() -> String {
    let join = |items: Vec<String>| items.join(",");
    let numbers = join(
        (0..10_000)
            .map(|n| (n * 7919 % 10_007).to_string())
            .collect(),
    );
    let records = join(
        (0..2_000)
            .map(|n| format!("{{\"id\":{n},\"name\":\"n{n}\",\"tags\":[\"a\",\"b\"]}}"))
            .collect(),
    );
    let wide = join(
        (1..1_000)
            .map(|n| format!("{n}.123456789012345678901234567890"))
            .collect(),
    );
    let big = join((0..1_000).map(|n| format!("\"key{n}\":{n}")).collect());
    let moments = join(
        (0..1_000)
            .map(|n| {
                format!(
                    "\"2026-{:02}-{:02}T10:00:00@Europe/Berlin\"",
                    n % 12 + 1,
                    n % 28 + 1
                )
            })
            .collect(),
    );
    let texts = join(
        (0..1_000)
            .map(|n| format!("\"{}{n}\"", "x".repeat(100)))
            .collect(),
    );
    let constants = r#""huge":1e6001,"large":1e3000,"tiny":2e-6001,"long":1.23456789012345678901234567890123,"near":0.9999999,"beside":1.0000000000000000000000000000001,"fourteen":13999.12345,"day":"2026-11-22","hour":"10:00:00@Europe/Berlin","moment":"2026-11-22T10:00:00@Europe/Berlin","far":"999999-11-22T10:00:00@Europe/Berlin","digits":"1234567890123456789012345678901234567890e-300""#;
    let mut bits = Random(12_345);
    let random: String = (0..50_000).map(|_| *bits.pick(&['a', 'b'])).collect();
    format!(
        "{{{constants},\"random\":\"{random}\",\"text\":\"{}\",\"umlauts\":\"{}\",\"word\":\"abcdefghij\",\"numbers\":[{numbers}],\"records\":[{records}],\"wide\":[{wide}],\"big\":{{{big}}},\"moments\":[{moments}],\"texts\":[{texts}]}}",
        "abcdefghi ".repeat(10_000),
        "äöü".repeat(10_000),
    )
}

pub const EXPENSIVE: &[Expensive] = &[
    row("language", "", "i"),
    row("language", "", "i + i * i - i"),
    row("language", "", "if i > 5 then i else -i"),
    row("language", "", "i > 3 and i < 5 or i = 7"),
    row("language", "", "[i, i, i, i]"),
    row("language", "", "{a: i, b: [a, a]}.b"),
    row(
        "language",
        "",
        "{a: i, b: i, c: i, d: i, e: i, f: i, g: i, h: i, k: i, l: i, m: i, n: i, o: i, p: i, q: i, s: i, t: i, u: i}.u",
    ),
    row("language", "f: function(x) x + 1", "f(i)"),
    row("language", "", "(function(x, y) x + y + i)(i, 2)"),
    row("language", "", "i in (1, 2, [5..10], > 20)"),
    row("language", "", "i in numbers"),
    row("language", "", "i between 1 and 5"),
    row("language", "", "not_there"),
    row("language", "", "big.not_there"),
    row("language", "", "missing(i)"),
    row("language", "", "\"a\" + i"),
    row("language", "", "records[id = i]"),
    row("language", "", "records.name"),
    row("language", "", "numbers[item > i]"),
    row("language", "", "numbers[-1]"),
    row("language", "", "for x in numbers return x"),
    row("language", "", "for x in [1..100] return partial"),
    row("language", "", "records = records"),
    row(
        "language",
        "c: for r in records return context merge(r)",
        "c = records",
    ),
    row("language", "", "big = big"),
    row("language", "", "text < text"),
    row("type", "", "numbers instance of list<number>"),
    row(
        "type",
        "",
        "[numbers, numbers] instance of list<list<number>>",
    ),
    row(
        "type",
        "",
        "records instance of list<context<id: number, name: string>>",
    ),
    row("type", "f: function(x: list<number>) 1", "f(numbers)"),
    row("number", "", "i / 7"),
    row("number", "", "i / 7 / 3"),
    row("number", "x: 1 / 7", "x * x"),
    row("number", "x: 1 / 7", "x + x"),
    row("number", "x: 1 / 7, y: 1 / 1300000000000000000", "x + y"),
    row("number", "", "huge + i"),
    row("number", "", "large * long"),
    row("number", "x: 1 / 7", "x < x"),
    row("number", "", "i ** 0.5"),
    row("number", "", "1.000001 ** (i + 0.000001)"),
    row("number", "", "near ** 999999999"),
    row("number", "", "long ** 12345"),
    row("number", "", "i ** 64"),
    row("number", "", "i ** -17"),
    row("number", "", "log(i)"),
    row("number", "", "log(tiny)"),
    row("number", "", "log(beside)"),
    row("number", "", "log(huge)"),
    row("number", "", "exp(i / 100000)"),
    row("number", "", "exp(fourteen)"),
    row("number", "", "exp(-fourteen)"),
    row("number", "", "sqrt(i)"),
    row("number", "", "sqrt(huge)"),
    row("number", "", "sqrt(tiny)"),
    row("number", "", "modulo(huge, i)"),
    row("number", "", "modulo(huge, tiny)"),
    row("number", "", "modulo(i, 7)"),
    row("number", "x: 1 / 7", "decimal(x, 20)"),
    row("number", "", "decimal(huge, 6000)"),
    row("number", "x: 1 / 7", "floor(x)"),
    row("number", "", "round half up(i, -6000)"),
    row("number", "", "odd(huge)"),
    row("number", "", "abs(-huge)"),
    row("number", "", "random number()"),
    row("number", "", "string(tiny)"),
    row("number", "x: 1e100 / 7", "string(x)"),
    row("number", "", "number(digits)"),
    row("number", "", "number(text)"),
    row("text", "", "text + word"),
    row("text", "", "word + word"),
    row("text", "", "upper case(text)"),
    row("text", "", "lower case(umlauts)"),
    row("text", "", "substring(text, 90000)"),
    row("text", "", "substring(umlauts, -5)"),
    row("text", "", "substring before(text, \"zzz\")"),
    row("text", "", "substring after(text, \" \")"),
    row("text", "", "string length(umlauts)"),
    row("text", "", "contains(text, \"abcdefghj\")"),
    row("text", "", "starts with(text, text)"),
    row("text", "", "ends with(text, text)"),
    row("text", "", "trim(text)"),
    row("text", "", "is blank(text)"),
    row("text", "", "to base64(text)"),
    row("text", "", "uuid()"),
    row("text", "", "string join(texts, text)"),
    row("text", "", "string join(texts)"),
    row("pattern", "", "matches(text, \"b.*z\")"),
    row("pattern", "", "matches(random, \"[ab]*a[ab]{40}[x-z]\")"),
    row("pattern", "", "matches(random, \"[ab]*a[ab]{500}[x-z]\")"),
    row("pattern", "", "matches(random, \"[ab]*a[ab]{8}[x-z]\")"),
    row("pattern", "", "extract(random, \"a(?:[ab]*[x-z])?\")"),
    row("pattern", "", "extract(random, \"a+|b+\")"),
    row("pattern", "", "split(random, \"a(?=b)\")"),
    row(
        "pattern",
        "",
        "matches(random, \"(?:(?=.)[ab]){100}[x-z]\")",
    ),
    row(
        "pattern",
        "",
        "matches(word, \"^(?=.*j)(?=.*[a-c]).{8,}$\")",
    ),
    row("pattern", "", "matches(text, \"(a|b|c|d|e|f|g|h|i| )*z\")"),
    row("pattern", "", "matches(text, \"[a-i ]*a[a-i ]{40}z\")"),
    row("pattern", "", "matches(text, \"([a-i ]{1,50}x){1,20}\")"),
    row("pattern", "", "matches(text, \"(?i)(\\\\p{L}+ )*z\")"),
    row("pattern", "", "matches(text, \"(?=.*z)a\")"),
    row("pattern", "", "matches(text, \"(.*)\\\\1z\")"),
    row("pattern", "", "matches(word, \"(?=.*z)a\")"),
    row("pattern", "", "matches(word, \"(\\\\w+)\\\\1+z\")"),
    row(
        "pattern",
        "",
        "matches(\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\", \"^(?:(?=a)a|aa)+$\")",
    ),
    row("pattern", "", "matches(word, \"abc\" + string(i))"),
    row("pattern", "", "matches(word, \"\\\\p{L}{50}\" + string(i))"),
    row(
        "pattern",
        "",
        "matches(word, \"(\\\\w{20}){20}\" + string(i))",
    ),
    row("pattern", "", "matches(word, \"[\" + string(i))"),
    row("pattern", "", "replace(text, \"a\", \"b\")"),
    row("pattern", "", "replace(text, \"(?=a)\", \"b\")"),
    row("pattern", "", "replace(text, \"([a-z])\", \"$1$1$1\")"),
    row("pattern", "", "split(text, \" \")"),
    row("pattern", "", "split(text, \"\")"),
    row("pattern", "", "extract(text, \"[a-z]\")"),
    row("pattern", "", "extract(text, \"(?<=a)b\")"),
    row("list", "", "list contains(numbers, -1)"),
    row("list", "", "list contains([numbers, numbers], numbers)"),
    row("list", "", "list contains(texts, texts[1000])"),
    row("list", "", "count(numbers)"),
    row("list", "", "min(numbers)"),
    row("list", "", "max(texts)"),
    row("list", "", "sum(numbers)"),
    row("list", "", "sum(wide)"),
    row("list", "", "product(wide)"),
    row("list", "", "mean(wide)"),
    row("list", "", "median(numbers)"),
    row("list", "", "median(wide)"),
    row("list", "", "stddev(wide)"),
    row("list", "", "mode(numbers)"),
    row("list", "", "all(for x in numbers return true)"),
    row("list", "", "append(numbers, i)"),
    row("list", "", "concatenate(numbers, numbers)"),
    row("list", "", "insert before(numbers, 1, i)"),
    row("list", "", "remove(texts, 1)"),
    row("list", "", "list replace(numbers, 1, i)"),
    row("list", "", "list replace(numbers, function(x, y) x = y, i)"),
    row("list", "", "reverse(texts)"),
    row("list", "", "index of(numbers, 5)"),
    row("list", "", "index of(records, records[1])"),
    row("list", "", "union(numbers, numbers)"),
    row("list", "", "distinct values(numbers)"),
    row("list", "", "distinct values(records)"),
    row(
        "list",
        "m: for x in numbers return x * 1e10",
        "distinct values(m)",
    ),
    row("list", "", "duplicate values(texts)"),
    row("list", "", "flatten([[numbers, [numbers]], texts])"),
    row("list", "", "sort(numbers)"),
    row("list", "", "sort(texts)"),
    row(
        "list",
        "m: for x in moments return date and time(x)",
        "sort(m)",
    ),
    row("list", "", "sort(numbers, function(a, b) a > b)"),
    row("list", "", "partition(numbers, 1)"),
    row("list", "", "sublist(numbers, 1, 9999)"),
    row("context", "", "get value(big, \"key999\")"),
    row("context", "", "get value(big, \"nothing\")"),
    row("context", "", "get entries(big)"),
    row("context", "", "context put(big, \"a\", i)"),
    row("context", "", "context put(big, \"a\", i).a"),
    row("context", "", "context put({}, [\"a\", \"b\", \"c\"], i)"),
    row("context", "", "context merge(big, big)"),
    row("context", "", "context(get entries(big))"),
    row("conversion", "", "string(numbers)"),
    row("conversion", "", "string(records)"),
    row("conversion", "", "string(wide)"),
    row("conversion", "", "to json(records)"),
    row("conversion", "j: to json(records)", "from json(j)"),
    row(
        "conversion",
        "j: \"[\" + string join(for x in numbers return \"[]\", \",\") + \"]\"",
        "from json(j)",
    ),
    row("conversion", "j: to json(big)", "from json(j).key5"),
    row("conversion", "", "range(\"[1..\" + string(i) + \"]\")"),
    row("conversion", "", "range(\"[1..\" + text + \"]\")"),
    row("temporal", "", "date(day)"),
    row("temporal", "", "date(word)"),
    row("temporal", "", "date(2026, 11, 22)"),
    row("temporal", "", "time(hour)"),
    row("temporal", "", "date and time(moment)"),
    row("temporal", "", "date and time(far)"),
    row(
        "temporal",
        "",
        "date and time(\"2026-11-22T10:00:00@Nowhere/\" + string(i))",
    ),
    row(
        "temporal",
        "d: date and time(\"2026-11-22T10:00:00@Europe/Berlin\")",
        "d + duration(\"PT1H\")",
    ),
    row(
        "temporal",
        "d: date and time(\"2026-11-22T10:00:00@Europe/Berlin\"), h: duration(\"PT1H\")",
        "d + h",
    ),
    row(
        "temporal",
        "d: date and time(\"2026-11-22T10:00:00@Europe/Berlin\")",
        "date and time(d, \"America/New_York\")",
    ),
    row(
        "temporal",
        "d: date and time(\"2026-11-22T10:00:00@Europe/Berlin\"), e: date and time(\"2026-11-22T10:00:00@Asia/Tokyo\")",
        "d < e",
    ),
    row(
        "temporal",
        "d: date and time(\"2026-11-22T10:00:00@Europe/Berlin\"), e: date and time(\"2026-11-22T10:00:00@Asia/Tokyo\")",
        "d - e",
    ),
    row(
        "temporal",
        "d: date and time(\"2026-11-22T10:00:00@Europe/Berlin\")",
        "d.time offset",
    ),
    row("temporal", "d: duration(\"P3DT4H\")", "d * 1.234567"),
    row("temporal", "d: duration(\"P3DT4H\")", "d / 7"),
    row("temporal", "", "string(date(day))"),
    row("temporal", "d: duration(\"P3DT4H5M6.7S\")", "string(d)"),
    row("temporal", "", "now()"),
    row("temporal", "", "day of week(date(day))"),
    row("temporal", "", "week of year(today())"),
    row(
        "temporal",
        "",
        "years and months duration(date(\"1999-01-01\"), today())",
    ),
    row("range", "", "before([1..5], [i..i])"),
    row("range", "", "overlaps([1..5], [3..9])"),
    row(
        "range",
        "d: date and time(\"2026-11-22T10:00:00@Europe/Berlin\")",
        "includes([d..d], d)",
    ),
    row("range", "", "[text..text]"),
    row("range", "", "coincides([text..text], [text..text])"),
    row("range", "", "text in [text..text]"),
    row("boolean", "", "is(records, records)"),
    row("boolean", "", "get or else(null, i)"),
    row("boolean", "", "assert(i, i > 0)"),
];
