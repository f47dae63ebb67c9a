//! KVT001 where only a part is known: the ends of prompts.

use kvtop::domain::Timestamp;
use kvtop::frame::{Body, Frame, Origin};

use super::settings::found;
use crate::support::{fixture, frames, played};

fn capture(name: &str) -> Vec<Frame> {
    frames(&fixture(&format!("captures/{name}.frames.gz")))
}

fn text(frame: &Frame) -> String {
    match &frame.body {
        Body::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Body::Parts(_) => String::new(),
    }
}

fn line(pod: &str, at: u64, text: &str) -> Frame {
    let origin = Origin::Log { namespace: "".into(), pod: pod.into(), container: "main".into() };
    Frame::new(Timestamp(at), origin, text.to_owned())
}

/// A worker's own word about itself; whoever reads only what Dynamo prints does without.
fn is_hint(frame: &Frame) -> bool {
    text(frame).contains("mini_worker")
}

#[test]
fn the_end_of_a_prompt_is_no_block_size() {
    let whole = capture("0.9.0-mm_trtllm_pub32_eng64");
    let (first, last) = (whole[0].at.0, whole[whole.len() - 1].at.0);
    let mut judged = 0;
    for percent in (32..=100).step_by(2) {
        let until = first + (last - first) * percent / 100;
        let part = whole.iter().filter(|it| it.at.0 <= until && !is_hint(it));
        let (_, seen) = played(&part.cloned().collect::<Vec<_>>());
        let Some(finding) = found(&seen, "KVT001") else { continue };

        assert!(finding.summary.contains("engines cut 64"), "{percent} %: {}", finding.summary);
        judged += 1;
    }
    assert!(judged > 30, "{judged}");
}

#[test]
fn the_largest_block_of_a_power_of_two_is_the_engines_size_until_it_starts_anew() {
    let size = |lines: &[&str]| {
        let mut all = capture("0.9.0-healthy");
        let end = all[all.len() - 1].at.0;
        let lines = lines.iter().enumerate();
        all.extend(lines.map(|(n, text)| line("worker1", end + n as u64, text)));
        let (_, seen) = played(&all);
        let row = seen.workers.iter().find(|row| row.pod.as_deref() == Some("worker1")).unwrap();
        row.block_size.engine
    };
    let block = |tokens: u32| {
        format!("ERROR: Block 1 contains {tokens} tokens, which is greater than kv_block_size 32")
    };
    let args = "TensorRT-LLM engine args: {'kv_cache_config': {'tokens_per_block': 32}}";
    let flash = "Change tokens_per_block to: 64 for using FlashMLA";

    assert_eq!(size(&[&block(64), &block(51)]), Some(64));
    assert_eq!(size(&[&block(64), &block(128), &block(64)]), Some(128));
    // 100 tokens do not fit into a block of 64, and are themselves no size.
    assert_eq!(size(&[&block(64), &block(100)]), None);
    assert_eq!(size(&[args, &block(45)]), None);
    assert_eq!(size(&[args, flash, &block(51)]), Some(64));
    assert_eq!(size(&[&block(64), args]), Some(32));
}
