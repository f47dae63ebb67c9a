//! Scripts beside the shells that run them: whatever is not hidden is what the process got.

use std::process::Command as Process;

use super::*;

/// Small random numbers, the same in every run (`SplitMix64`).
struct Rng(u64);

impl Rng {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % end as u64).unwrap_or(0)
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

const NAMES: [&str; 4] = ["A", "B", "DYN_X", "OUTER"];

const WORDS: [&str; 44] = [
    "--size",
    "32",
    "--x=1",
    "'a b'",
    "\"c d\"",
    "$A",
    "\"$A\"",
    "${B}",
    "\"${B}\"",
    "$DYN_X",
    "\"$@\"",
    "$@",
    "\"$*\"",
    "$1",
    "\"$2\"",
    "${3:-z}",
    "${A:-d}",
    "${NO:-$A}",
    "\"${NO:-n $A}\"",
    "${B:+b}",
    "${A+s}",
    "$#",
    "a\\ b",
    "\\$A",
    "'$A'",
    "\"\\\"q\\\"\"",
    "x\"$A\"y",
    "x$A\"z\"",
    "\"p$@s\"",
    "\"\"",
    "$NO",
    "$(echo 1 2)",
    "\"$(echo 1 2)\"",
    "`echo 5`",
    "$((1+2))",
    "--j='{\"k\": [1, 2]}'",
    "{a,b}",
    "~",
    "a=b",
    "\"${A:-\"q\"}\"",
    "$OUTER",
    "${C:=new}",
    "$C",
    "tcp://*:5",
];

const VALUES: [&str; 14] = [
    "1",
    "'2 3'",
    "\"$A\"",
    "$B",
    "\"4 $B\"",
    "",
    "\"$@\"",
    "${NO:-7}",
    "$(echo 8)",
    "a\\ b",
    "'*'",
    "$1",
    "x'y'\"z\"",
    "$OUTER",
];

const TESTS: [&str; 14] = [
    "true",
    "false",
    "[ -n \"$A\" ]",
    "[ -z \"$B\" ]",
    "[ \"$A\" = 1 ]",
    "test \"$B\" != 2",
    "[ $# -gt 1 ]",
    "test -e /",
    "grep -q x /dev/null",
    "! true",
    "[ \"$OUTER\" = outer ]",
    "[ ! -n \"$A\" ]",
    "(exit 3)",
    "A=5",
];

fn command(rng: &mut Rng, bash: bool) -> String {
    let count = 1 + rng.below(4);
    let words: Vec<&str> = (0..count).map(|_| rng.of(&WORDS)).collect();
    let words = words.join(" ");
    match rng.below(12) {
        0 => format!("A=own stub {words}"),
        1 => format!("env DYN_X=own stub {words}"),
        2 => format!("exec stub {words}"),
        3 => format!("stub {words} 2>&1 | cat"),
        4 => format!("stub {words} \\\n  --more $A # no\n"),
        5 if bash => format!("L=({words}); L+=(last); stub \"${{L[@]}}\" ${{L[@]}}"),
        6 => format!("sh -c 'stub $0 \"$@\" $DYN_X' {words}"),
        7 => format!("stub {words} &\nwait"),
        _ => format!("stub {words}"),
    }
}

fn statement(rng: &mut Rng, depth: usize, bash: bool) -> String {
    let name = rng.of(&NAMES);
    let value = rng.of(&VALUES);
    let kinds = if depth == 0 { 9 } else { 18 };
    let inner = |rng: &mut Rng| statement(rng, depth.saturating_sub(1), bash);
    match rng.below(kinds) {
        0 | 1 => format!("{name}={value}"),
        2 => format!("export {name}={}", rng.of(&["1", "'2 3'", "\"$A\"", "\"$B x\"", "$A"])),
        3 => format!("export {name}"),
        4 => format!("unset {name}"),
        5 => format!("set -- {} {}", rng.of(&WORDS), rng.of(&WORDS)),
        6 => format!("shift {}", rng.of(&["", "1", "2"])),
        7 => rng
            .of(&[
                "set -a",
                "set -f",
                "set +a",
                "cd /tmp",
                "A=${A}9",
                "read A < /dev/null",
                ":",
                "set -e",
                "trap 'rm -f /nowhere; exit 3' EXIT",
                "trap 'echo >/dev/null' ERR",
                if bash { "alias stub=false" } else { ":" },
            ])
            .to_owned(),
        8 => command(rng, bash),
        9 => format!("if {}; then {}; fi", rng.of(&TESTS), inner(rng)),
        10 => format!("if {}; then {}; else {}; fi", rng.of(&TESTS), inner(rng), inner(rng)),
        11 => format!("{} && {}", rng.of(&TESTS), inner(rng)),
        12 => format!("{} || {}", rng.of(&TESTS), inner(rng)),
        13 => format!(
            "case \"{}\" in 1) {};; 2*) {};; *) {};; esac",
            rng.of(&["$A", "$B", "1", "23"]),
            inner(rng),
            inner(rng),
            inner(rng)
        ),
        14 => format!("{{ {}; {}; }}", inner(rng), inner(rng)),
        15 => format!("( {}; {} )", inner(rng), inner(rng)),
        16 => format!("for A in 1 2; do {}; done", inner(rng)),
        _ => format!("f() {{ {}; }}; {}; f {}", inner(rng), inner(rng), rng.of(&WORDS)),
    }
}

/// The words and the variables that a process got.
type Real = (Vec<String>, Vec<(String, String)>);

/// Runs a script in a shell whose `stub` writes down its words and variables; none when it hangs.
fn truth(shell: &str, folder: &std::path::Path, script: &str) -> Vec<Real> {
    let record = folder.join("record");
    drop(std::fs::remove_file(&record));
    let mut process = Process::new(shell);
    process.env_clear().env("PATH", format!("{}:/usr/bin:/bin", folder.display()));
    process.env("OUTER", "outer").env("RECORD", &record).env("HOME", "/root");
    process.args(["-c", script, "zero", "one", "t w o", "--three"]).current_dir(folder);
    process.stdin(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    process.output().unwrap();
    let text = std::fs::read_to_string(&record).unwrap_or_default();
    text.split('\u{1e}')
        .filter(|one| !one.is_empty())
        .map(|one| {
            let (words, variables) = one.split_once('\u{1d}').unwrap();
            let words = words.split('\u{1f}').skip(1).map(str::to_owned).collect();
            let variables = variables.split('\u{1f}').filter_map(|one| {
                let (name, value) = one.split_once('=')?;
                Some((name.to_owned(), value.to_owned()))
            });
            (words, variables.collect())
        })
        .collect()
}

/// Returns true when `args` may be `words`.
fn fits(args: &[Arg], words: &[String]) -> bool {
    // Which words the first so many of `args` may stand for.
    let mut ends = vec![false; words.len() + 1];
    ends[0] = true;
    for arg in args {
        let mut next = vec![false; words.len() + 1];
        for at in 0..=words.len() {
            match arg {
                Arg::Hidden { .. } => next[at] = next[at] || ends[at] || (at > 0 && next[at - 1]),
                _ if at == 0 => {}
                Arg::Word(text) => next[at] = ends[at - 1] && words[at - 1] == *text,
                Arg::Partial { start, .. } => {
                    next[at] = ends[at - 1] && words[at - 1].starts_with(start.as_str());
                }
            }
        }
        ends = next;
    }
    ends[words.len()]
}

#[test]
#[expect(clippy::too_many_lines, reason = "one comparison")]
fn what_is_read_from_a_script_is_what_a_shell_makes_of_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = std::env::temp_dir().join(format!("kvtop-shell-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let stub = folder.join("stub");
    let body = "#!/bin/sh\n{ for word in run \"$@\"; do printf '%s\\037' \"$word\"; done | sed 's/\\x1f$//'; \
                printf '\\035'; for name in A B DYN_X OUTER; do eval \"[ \\\"\\${$name+x}\\\" ] && printf \
                '%s=%s\\037' $name \\\"\\$$name\\\"\"; done; printf '\\036'; } >> \"$RECORD\"\n";
    std::fs::write(&stub, body).unwrap();
    std::fs::set_permissions(&stub, std::fs::Permissions::from_mode(0o755)).unwrap();
    let rounds = std::env::var("KVTOP_SHELL_ROUNDS").ok().and_then(|text| text.parse().ok());
    let (mut compared, mut whole, mut wrong) = (0, 0, Vec::new());
    for seed in 0..rounds.unwrap_or(150_u64) {
        let mut rng = Rng(seed);
        let bash = rng.below(3) > 0;
        let count = 1 + rng.below(5);
        let mut lines: Vec<String> = (0..count).map(|_| statement(&mut rng, 2, bash)).collect();
        lines.push(command(&mut rng, bash));
        let script = lines.join(if rng.below(2) == 0 { "\n" } else { " ;\n" });
        let shell = if bash { "bash" } else { "sh" };
        let variables = BTreeMap::from([("OUTER".to_owned(), Variable::Text("outer".into()))]);
        let outer = Outer { variables, directory: Some("/".into()), ..Outer::default() };
        let word = |text: &str| Arg::Word(text.to_owned());
        let wanted = |words: &[Arg]| words.iter().any(|arg| arg.known() == Some("stub"));
        let given = Script {
            text: script.clone(),
            name: word("zero"),
            parameters: vec![word("one"), word("t w o"), word("--three")],
            bash,
        };
        let (started, complete) = run(given, &outer, &wanted);
        for (words, variables) in truth(shell, &folder, &script) {
            // In whichever place the process was seen: each that ran is one that was expected.
            let process = started.iter().find(|process| {
                let at = process.words.iter().position(|arg| arg.known() == Some("stub"));
                let all = &process.words[at.unwrap_or(0) + 1..];
                let holds = |name: &str| {
                    // What `env` before it sets is read with its words.
                    let own = process.words.iter().any(|arg| arg.known() == Some("env"))
                        && name == "DYN_X";
                    let real = variables.iter().find(|(known, _)| known == name);
                    match process.variables.get(name) {
                        _ if own => true,
                        Some(Variable::Hidden { .. }) => true,
                        Some(Variable::Text(text)) => {
                            real.is_some_and(|(_, value)| **text == **value)
                        }
                        Some(Variable::Unset) => real.is_none(),
                        None => real.is_none() || process.any_variable.is_some(),
                    }
                };
                fits(all, &words) && NAMES.iter().all(|name| holds(name))
            });
            if process.is_none() && complete {
                let read = started.iter().map(|process| format!("{process:?}"));
                let read: Vec<String> = read.collect();
                wrong.push(format!(
                    "seed {seed}, {shell}:\n{script}\n-- got {words:?} {variables:?}\n-- read {}",
                    read.join("\n        ")
                ));
            }
            compared += 1;
            let known = |process: &&Started| process.words.iter().all(|arg| arg.known().is_some());
            whole += usize::from(process.is_some_and(|process| known(&process)));
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    wrong.truncate(8);
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    // Hiding everything would be right, and useless.
    assert!(compared > 100 && whole * 8 > compared, "{whole} of {compared} whole");
}
