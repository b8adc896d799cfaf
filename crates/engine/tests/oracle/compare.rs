//! Differences between two sequences of lines.

/// Lines that only the reference (`-`) or only Skep (`+`) has, in order. Empty if both are equal.
pub fn differences(expected: &[String], got: &[String]) -> Vec<String> {
    // Length of the longest common subsequence behind each pair of positions.
    let (rows, columns) = (expected.len() + 1, got.len() + 1);
    let mut common = vec![0usize; rows * columns];
    for i in (0..expected.len()).rev() {
        for j in (0..got.len()).rev() {
            common[i * columns + j] = if expected[i] == got[j] {
                common[(i + 1) * columns + j + 1] + 1
            } else {
                common[(i + 1) * columns + j].max(common[i * columns + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut out = Vec::new();
    while i < expected.len() || j < got.len() {
        let same = i < expected.len() && j < got.len() && expected[i] == got[j];
        let skip_expected = j == got.len()
            || (i < expected.len() && common[(i + 1) * columns + j] >= common[i * columns + j + 1]);
        if same {
            (i, j) = (i + 1, j + 1);
        } else if skip_expected {
            out.push(format!("- {}", expected[i]));
            i += 1;
        } else {
            out.push(format!("+ {}", got[j]));
            j += 1;
        }
    }
    out
}
