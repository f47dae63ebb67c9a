//! Scripts, by what a shell makes of them.

use super::*;

/// Returns the words of every command that starts with a letter of `abc`; `?` for what is hidden.
fn words(script: &str) -> Vec<String> {
    let variables = BTreeMap::from([("B".to_owned(), Variable::Text("32".into()))]);
    let outer = Outer { variables, ..Outer::default() };
    let script = Script {
        text: script.to_owned(),
        name: Arg::Word("sh".into()),
        parameters: vec![Arg::Word("p q".into()), Arg::Word("r".into())],
        bash: true,
    };
    let letter = |arg: &Arg| arg.start().len() == 1 && arg.start() != "[";
    let wanted = |words: &[Arg]| words.iter().take(2).any(letter);
    let (started, _) = run(script, &outer, &wanted);
    let show = |arg: &Arg| match arg {
        Arg::Word(text) => text.clone(),
        Arg::Partial { start, .. } => format!("{start}?"),
        Arg::Hidden { .. } => "?*".to_owned(),
    };
    started
        .iter()
        .map(|process| process.words.iter().map(show).collect::<Vec<_>>().join("|"))
        .collect()
}

#[test]
fn scripts_are_split_as_a_shell_would() {
    let cases: &[(&str, &[&str])] = &[
        ("exec a -m x --a 1", &["exec|a|-m|x|--a|1"]),
        ("cd /w && a -m x", &["a|-m|x"]),
        ("a 2>&1 | b log; c", &["a", "b|log", "c"]),
        ("a \\\n  --b 1 # no\nc", &["a|--b|1", "c"]),
        (r#"a --j '{"k": 1}' "x y""#, &[r#"a|--j|{"k": 1}|x y"#]),
        (r#"a "{\"k\":16}""#, &[r#"a|{"k":16}"#]),
        ("a $B ${B} '$B' ${C:-7} \"$B\"x", &["a|32|32|$B|7|32x"]),
        ("A='1 2'; b $A \"$A\"", &["b|1|2|1 2"]),
        ("export A=5\nb --c=$A", &["b|--c=5"]),
        ("A=9 b $A$(date)$A", &["b|?*"]),
        ("a \"$@\" $1 \"x$@y\" \"$*\" $#", &["a|p q|r|p|q|xp q|ry|p q r|2"]),
        ("shift; a \"$@\" \"$2\"", &["a|r|"]),
        ("set -- 1 '2 3'; a \"$2\" $2", &["a|2 3|2|3"]),
        ("", &[]),
        ("a *.py x?", &["a|?*|x?|?*"]),
        ("a {x,y} {z}", &["a|?*|{z}"]),
        ("a tcp://*:5 ~/x", &["a|tcp://*:5|?"]),
        ("case $B in 16) A=1;; 32) A=2;; *) A=3;; esac; a $A", &["a|2"]),
        ("case $Z in 16) A=1;; *) A=1;; esac; a $A", &["a|1"]),
        ("for i in 1 2; do a $i; done; b $i", &["a|?*", "b|?*"]),
        ("A=1; while date; do a $A; A=2; done", &["a|?*"]),
        ("A=1; { A=2; }; (A=3); a $A", &["a|2"]),
        ("A=1; if [ $B = 32 ]; then A=2; fi; a $A", &["a|2"]),
        ("A=1; false && A=2; true || A=3; a $A", &["a|1"]),
        ("grep -q x y || exit 1; a", &["a"]),
        ("A=1; echo | A=2; a $A", &["a|1"]),
        ("f() { A=2; }; A=1; f; a $A", &["a|?*"]),
        ("exit 0; a", &[]),
        ("exec b; a", &["exec|b"]),
        ("cat <<E > /x\na $(b)\nE\na 1", &["a|1"]),
        ("A=${B:+x} C=${D:-$B} ; a $A $C ${E:=5} $E", &["a|x|32|5|5"]),
        ("IFS=,; A=1,2; a $A", &["a|?*"]),
        ("A=1; trap 'kill 0' EXIT; a $A \"$1\"", &["a|1|p q"]),
        ("A=1; trap 'A=2' ERR; false; a $A", &["a|?*"]),
        ("A=1; trap ': ${A:=2}' ERR; a $A", &["a|?*"]),
        ("A=1; alias a='a 2'; shopt -s inherit_errexit; a $A", &["a|1"]),
        ("A=1; shopt -s nullglob; a $A", &["a|?*"]),
    ];
    let mut wrong = Vec::new();
    for (script, expected) in cases {
        let found: Vec<String> = words(script);
        let expected: Vec<String> = expected.iter().map(|text| text.replace("exec|", "")).collect();
        let found: Vec<String> = found.iter().map(|text| text.replace("exec|", "")).collect();
        if found != expected {
            wrong.push(format!("{script:?}: {found:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_long_or_deep_script_takes_no_time_and_no_stack() {
    let deep = "if x; then ".repeat(20_000);
    let nested = "$(".repeat(30_000);
    let braces = format!("a {}", "${A:-".repeat(10_000));
    let quotes = "a='".repeat(20_000);
    let loops = "while x; do A=1; done; ".repeat(2_500);
    let doubles = format!("A=xxxxxxxxxxxxxxxx; {} a $A", "A=$A$A; ".repeat(60));
    for script in [deep, nested, braces, quotes, loops, doubles] {
        // Anything but linear time would not end within the patience of whoever runs this.
        words(&script);
    }
}
