//! FEEL expressions that cost time, memory or depth.

use super::dice::Dice;

/// Variable names in expressions.
const NAMES: [&str; 6] = ["a", "b", "big", "many", "deep", "missing"];

/// Any expression, of about this depth, without the leading `=`.
pub fn any(dice: &mut Dice, depth: u64) -> String {
    if depth == 0 {
        return leaf(dice);
    }
    if dice.one_in(3) {
        return heavy(dice);
    }
    if dice.one_in(200) {
        // Deeper than expressions may be.
        let depth = dice.size(30_000) as usize;
        return format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
    }
    let mut part = || any(dice, depth - 1);
    let (x, y, z) = (part(), part(), part());
    match dice.below(14) {
        0 => format!("({x}) + ({y})"),
        1 => format!("({x}) ** ({y})"),
        2 => format!("if {x} = {y} then {z} else {x}"),
        3 => format!("for i in [{x}, {y}, {z}] return [i, {x}]"),
        4 => format!("some i in [{x}, {y}] satisfies i = {z}"),
        5 => format!("{{x: {x}, y: {y}, z: x}}"),
        6 => format!("[{x}, {y}, {z}][item = {x}]"),
        7 => format!("string({x}) + string({y})"),
        8 => format!("concatenate([{x}], [{y}], [{z}])"),
        9 => format!("sort([{x}, {y}, {z}], function(l, r) string(l) < string(r))"),
        10 => format!(
            "({x}) instance of list<{}>",
            dice.pick(&["number", "Any", "list<string>", "context<x: number>"])
        ),
        11 => format!("flatten([[{x}], [[{y}]], [[[{z}]]]])"),
        12 => format!("context merge([{{x: {x}}}, {{y: {y}}}])"),
        _ => format!("({x}) between ({y}) and ({z})"),
    }
}

fn leaf(dice: &mut Dice) -> String {
    match dice.below(8) {
        0..=2 => NAMES[dice.below(NAMES.len() as u64) as usize].to_string(),
        3 => dice.size(1 << 40).to_string(),
        4 => format!("\"{}\"", "x".repeat(dice.size(200) as usize)),
        5 => "null".to_string(),
        6 => format!("duration(\"PT{}S\")", dice.size(1 << 40)),
        _ => "now()".to_string(),
    }
}

/// Short texts that cause much work.
pub fn heavy(dice: &mut Dice) -> String {
    let n = dice.size(2_000_000);
    let m = dice.size(2_000_000);
    let name = NAMES[dice.below(NAMES.len() as u64) as usize];
    match dice.below(20) {
        0 => format!("for i in 1..{n} return i"),
        1 => format!("for i in 1..{n}, j in 1..{m} return i * j"),
        2 => format!(
            "{{l: for i in 1..{n} return i, r: some k in 1..{m} satisfies not(l instance of list<number>)}}.r"
        ),
        3 => format!("sum(for i in 1..{n} return i ** 0.5)"),
        4 => format!("count(for i in 1..{n} return log(i) + exp(i / {m}))"),
        5 => format!(
            "every i in 1..{n} satisfies matches(\"{}\", \"(x+x+)+y\")",
            "x".repeat(dice.size(4000) as usize)
        ),
        6 => format!("string join(for i in 1..{n} return string(i), \",\")"),
        7 => format!(
            "replace(string join(for i in 1..{n} return \"ab\"), \"a\", \"{}\")",
            "c".repeat(dice.size(500) as usize)
        ),
        8 => format!("split(string join(for i in 1..{n} return \"ab\"), \"b\")"),
        9 => format!("sort(for i in 1..{n} return -i, function(x, y) x < y)"),
        10 => format!("distinct values(for i in 1..{n} return modulo(i, {m}))"),
        11 => format!("index of(for i in 1..{n} return {name}, {name})"),
        12 => format!("for i in 1..{n} return {name}"),
        13 => format!("{{f: function(x) if x <= 0 then 0 else f(x - 1), r: f({n})}}.r"),
        14 => format!("union(for i in 1..{n} return i, for i in 1..{m} return i)"),
        15 => format!("for i in 0..{n} return if i = 0 then \"x\" else partial[-1] + partial[-1]"),
        16 => format!("for i in 0..{n} return if i = 0 then [1] else [partial[-1], partial[-1]]"),
        17 => {
            let depth = dice.size(95) as usize;
            format!("{}1{}", "(".repeat(depth), ")".repeat(depth))
        }
        18 => {
            let depth = dice.size(95) as usize;
            format!("{}{name}{}", "not(".repeat(depth), ")".repeat(depth))
        }
        _ => format!(
            "{name}{}",
            format!("[item = {n}]").repeat(dice.size(60) as usize)
        ),
    }
}

/// A true and a false condition, possibly expensive.
pub fn condition(dice: &mut Dice) -> String {
    match dice.below(5) {
        0 => "=a < 3".to_string(),
        1 => format!("={}", any(dice, 1)),
        2 => format!("=count({}) > 0", heavy(dice)),
        _ => "=true".to_string(),
    }
}
