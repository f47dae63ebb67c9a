//! Tests of the contents and the cost of pages.

mod bench;
mod holdings;
mod properties;

use bench::{BOTH, Bench, RANKS, filled, plain};

use super::{BUDGET, Page};
use crate::domain::{
    BlockRef, Hint, SequenceHash, TokensHash, TreeAnchor, TreeNode, TreePlace, TreeRowKind,
    WorkerRank,
};
use crate::mirror::Semantics;

/// Most that a page may look at, whatever the tree: the budget for children, the slices of census and
/// search, what the detail counts, and the rows.
const MOST: usize = BUDGET + 65_536 + 131_072 + 65_536 + 60_000;

#[test]
fn a_page_costs_the_same_whatever_the_size_of_the_tree() {
    let mut costs = Vec::new();
    for blocks in [1_000, 100_000, 5_000_000] {
        let mut bench = filled(blocks);
        bench.open.values_mut().for_each(|limit| *limit = 50);
        let mut most = 0;
        for _ in 0..30 {
            let page = bench.page_at(TreeNode::Root, None, Some("abcdef"));
            most = most.max(page.visits);
            let first = page.rows.iter().find(|row| row.depth == 1).unwrap().place.node;
            bench.open.insert(first, 50);
        }
        costs.push(most);
    }
    assert!(costs.iter().all(|cost| *cost <= MOST), "{costs:?}");
    // Beyond the slices nothing grows.
    assert!(costs[2] < costs[1] + 150_000, "{costs:?}");
}

#[test]
fn a_million_children_are_put_in_order_a_slice_at_a_time() {
    let mut bench = Bench::new(Semantics::PerBlock);
    let children = 60_000_u64;
    for prompt in 0..children {
        let length = 1 + prompt.wrapping_mul(0x9E37_79B9) % 7;
        let chain: Vec<(u64, u64)> =
            (0..length).map(|at| (prompt << 8 | at | 1 << 60, prompt << 8 | at)).collect();
        bench.store(RANKS[0], None, &chain);
    }
    bench.settle();
    bench.open.insert(TreeNode::Root, 50);

    let first = bench.page();
    let mut pages = 1;
    let mut page = first.clone();
    while !matches!(page.rows.last().unwrap().kind, TreeRowKind::More { sorted: true, .. }) {
        page = bench.page();
        pages += 1;
        assert!(page.visits < MOST && pages < 100);
    }

    assert!(matches!(first.rows.last().unwrap().kind, TreeRowKind::More { sorted: false, .. }));
    let mut lengths: Vec<(u64, u64)> = (0..children)
        .map(|prompt| (1 + prompt.wrapping_mul(0x9E37_79B9) % 7, prompt << 8))
        .collect();
    lengths.sort_by_key(|(length, tokens)| (std::cmp::Reverse(*length), *tokens));
    let expected: Vec<u64> = lengths.iter().take(50).map(|(_, tokens)| *tokens).collect();
    let found: Vec<u64> = page.rows.iter().filter_map(plain).map(|row| row.tokens).collect();
    assert_eq!(found, expected);
    let TreeRowKind::More { hidden, .. } = page.rows.last().unwrap().kind else { panic!() };
    assert_eq!(hidden as u64, children - 50);
}

#[test]
fn what_is_looked_at_stays_in_sight_when_it_is_no_longer_among_the_first() {
    let mut bench = Bench::new(Semantics::PerBlock);
    for prompt in 0..100_u64 {
        bench.store(RANKS[0], None, &[(prompt + 1_000, prompt)]);
    }
    bench.settle();
    bench.open.insert(TreeNode::Root, 10);
    let place = bench.page().rows[3].place;
    for prompt in 50..100_u64 {
        bench.store(RANKS[0], Some(prompt + 1_000), &[(prompt + 5_000, 7)]);
    }
    bench.settle();

    let page = bench.page_at(TreeNode::Root, Some(place), None);

    let TreeAnchor::At(at) = page.anchor else { panic!("{:?}", page.anchor) };
    assert_eq!((at, page.rows[at].place), (11, place));
    assert!(matches!(page.rows[12].kind, TreeRowKind::More { hidden: 89, sorted: true }));
}

#[test]
fn a_node_that_vanished_is_shown_as_gone_where_it_was() {
    for semantics in BOTH {
        let mut bench = Bench::new(semantics);
        for prompt in 0..5_u64 {
            bench.store(RANKS[0], None, &[(prompt + 1_000, prompt), (prompt + 2_000, prompt + 50)]);
        }
        bench.settle();
        let place = bench.page().rows[3].place;
        bench.page_at(TreeNode::Root, Some(place), None);

        bench.remove(RANKS[0], &[2_002, 1_002]);
        bench.store(RANKS[1], None, &[(7_777, 99)]);
        bench.settle();

        let page = bench.page_at(TreeNode::Root, Some(place), None);
        assert_eq!(page.anchor, TreeAnchor::Gone(3), "{semantics:?}");
        assert_eq!((page.rows[3].kind, page.rows[3].place), (TreeRowKind::Gone, place));
        assert!(page.detail.is_none());
        let pinned = bench.page_at(place.node, Some(place), None);
        assert_eq!((pinned.rows.len(), pinned.rows[0].kind), (1, TreeRowKind::Gone));
        // The same block again is the same node again.
        bench.store(RANKS[1], None, &[(1_002, 2), (2_002, 52)]);
        bench.settle();
        let page = bench.page_at(TreeNode::Root, Some(place), None);
        assert!(matches!(page.anchor, TreeAnchor::At(_)), "{:?}", page.anchor);
    }
}

#[test]
fn a_block_at_the_end_of_a_truncated_edge_is_gone() {
    let mut bench = Bench::new(Semantics::EdgeTruncating);
    bench.store(RANKS[0], None, &[(100, 1), (101, 2), (102, 3)]);
    bench.store(RANKS[1], None, &[(100, 1), (101, 2)]);
    bench.settle();
    let last = BlockRef {
        sequence: SequenceHash(102),
        tokens: TokensHash(3),
        orphan: false,
        hint: Hint(3),
    };
    let place = TreePlace { node: TreeNode::Block(last), more: false };
    assert_eq!(bench.page_at(TreeNode::Root, Some(place), None).anchor, TreeAnchor::At(1));

    bench.remove(RANKS[0], &[102]);
    bench.settle();

    let page = bench.page_at(TreeNode::Root, Some(place), None);
    assert!(matches!(page.anchor, TreeAnchor::Gone(_)), "{page:?}");
    assert_eq!(page.rows.iter().map(|row| row.blocks).sum::<u32>(), 2);
}

#[test]
fn hashes_are_found_in_decimal_in_hexadecimal_and_by_their_first_digits() {
    let mut bench = Bench::new(Semantics::PerBlock);
    let chain = [(0xABCD_EF01_0000_0001, 1), (0xABCD_EF02_0000_0002, 2), (0x1234, 3)];
    bench.store(RANKS[0], None, &chain);
    bench.store(RANKS[1], Some(0x7777_0000_0000_0000), &[(0xFFFF_0000_0000_0001, 4)]);
    // A worker that salts its hashes calls the same content otherwise.
    bench.store(RANKS[2], None, &[(0x5A17_0000_0000_0001, 1)]);
    bench.settle();
    let mut find = |text: &str| {
        let mut page = bench.page_at(TreeNode::Root, None, Some(text));
        while !page.search.as_ref().unwrap().done {
            page = bench.page_at(TreeNode::Root, None, Some(text));
        }
        page.search.unwrap()
    };

    let wanted = [
        ("4660", 0x1234),
        ("0x0000000000001234", 0x1234),
        ("0000000000001234", 0x1234),
        ("abcdef02", 0xABCD_EF02_0000_0002),
        ("ABCDEF01", 0xABCD_EF01_0000_0001),
        ("5a17", 0x5A17_0000_0000_0001),
    ];
    for (text, hash) in wanted {
        let search = find(text);
        assert_eq!(search.found.len(), 1, "{text}: {search:?}");
        assert_eq!((search.found[0].hash.0, search.found[0].way[0]), (hash, TreeNode::Root));
    }
    assert_eq!(find("abcd").found.len(), 2);
    let orphan = find("ffff");
    assert_eq!(
        orphan.found[0].way[..2],
        [TreeNode::Orphans, TreeNode::Missing(SequenceHash(0x7777_0000_0000_0000))]
    );
    assert_eq!(find("0x7777").found[0].way.len(), 2);
    assert!(find("dead").found.is_empty());
    assert!(find("prompt").senseless && find("").senseless);
}

#[test]
fn a_detail_says_what_a_router_would_find() {
    for semantics in BOTH {
        let mut bench = Bench::new(semantics);
        let chain: Vec<(u64, u64)> = (0..10).map(|at| (100 + at, 10 + at)).collect();
        bench.store(RANKS[0], None, &chain);
        bench.store(RANKS[1], None, &chain[..4]);
        bench.store(RANKS[1], Some(103), &[(500, 50), (501, 51)]);
        bench.settle();
        let page = bench.all();
        let last = page.rows.iter().find(|row| row.blocks == 6).unwrap();
        let place = last.place;
        assert_eq!((last.reach, last.holders), (Some(10), 1), "{semantics:?}");

        let detail = bench.page_at(TreeNode::Root, Some(place), None).detail.unwrap();

        assert_eq!((detail.above, detail.blocks, detail.path.len()), (Some(4), 6, 2));
        let overlaps: Vec<_> =
            detail.shares.iter().map(|share| (share.rank, share.overlap)).collect();
        assert_eq!(overlaps, [(RANKS[0], Some(10)), (RANKS[1], Some(4))], "{semantics:?}");
        assert_eq!(detail.hashes.len(), 6);
        let root = bench.page().detail;
        assert!(root.is_none(), "nothing was asked for");
    }
}

#[test]
fn a_filter_leaves_out_what_a_worker_has_not() {
    let mut bench = Bench::new(Semantics::PerBlock);
    bench.store(RANKS[0], None, &[(1, 1), (2, 2)]);
    bench.store(RANKS[1], None, &[(1, 1), (3, 3)]);
    bench.store(RANKS[1], Some(99), &[(100, 4)]);
    bench.settle();
    bench.only = Some(vec![RANKS[0]]);

    let page = bench.all();

    let tokens: Vec<u64> = page.rows.iter().filter_map(plain).map(|row| row.tokens).collect();
    assert_eq!(tokens, [1, 2]);
    assert!(page.rows.iter().all(|row| !matches!(row.place.node, TreeNode::Missing(_))));
}

#[test]
fn a_filter_counts_what_the_worker_has_alone() {
    let mut bench = Bench::new(Semantics::PerBlock);
    bench.store(RANKS[0], None, &[(1, 1), (2, 2)]);
    bench.store(RANKS[1], None, &[(1, 1), (2, 2), (3, 3), (4, 4)]);
    bench.store(RANKS[1], Some(2), &[(5, 5)]);
    bench.settle();
    let mut rows = |only: Option<&[WorkerRank]>| -> Vec<(u64, u32, bool)> {
        bench.only = only.map(<[WorkerRank]>::to_vec);
        let page = bench.all();
        page.rows.iter().map(|row| (row.subtree, row.blocks, row.partial)).collect()
    };
    // The root, the run of 1 and 2, and what follows it.
    assert_eq!(rows(None), [(5, 0, false), (5, 2, false), (2, 2, false), (1, 1, false)]);
    assert_eq!(rows(Some(&RANKS[..1])), [(2, 0, false), (2, 2, false)]);
    let both = [(5, 0, false), (5, 2, false), (2, 2, false), (1, 1, false)];
    assert_eq!(rows(Some(&RANKS[..2])), both);
}

#[test]
fn a_filter_looks_at_no_more_than_a_page_may_cost() {
    let mut bench = Bench::new(Semantics::PerBlock);
    for prompt in 0..40_000_u64 {
        bench.store(RANKS[prompt as usize % 2], None, &[(prompt << 8 | 1 << 60, prompt)]);
    }
    bench.settle();
    bench.only = Some(vec![RANKS[0], RANKS[1]]);
    let page = bench.page();
    let root = &page.rows[0];
    // What one of the two ranks has is known, more is not.
    assert!(root.partial && root.subtree == 20_000, "{root:?}");
    bench.only = Some(vec![RANKS[0]]);
    let page = bench.page();
    assert!(!page.rows[0].partial && page.rows[0].subtree == 20_000, "{:?}", page.rows[0]);
    assert!(page.visits < 300_000, "{}", page.visits);
}

#[test]
fn sums_are_of_those_that_are_looked_at() {
    let mut bench = Bench::new(Semantics::PerBlock);
    bench.store(RANKS[0], None, &[(1, 1), (2, 2)]);
    bench.store(RANKS[1], None, &[(1, 1), (3, 3)]);
    bench.store(RANKS[2], None, &[(1, 1), (2, 2), (4, 4)]);
    bench.settle();
    let mut counted = |within: Option<&[WorkerRank]>| {
        bench.within = within.map(<[WorkerRank]>::to_vec);
        let sharing = bench.all().sharing.unwrap();
        (sharing.single, sharing.shared, sharing.duplicates)
    };

    assert_eq!(counted(None), (2, 2, 3));
    assert_eq!(counted(Some(&RANKS[..2])), (2, 1, 1));
    assert_eq!(counted(Some(&RANKS[2..3])), (3, 0, 0));
    assert_eq!(counted(Some(&[])), (0, 0, 0));
    assert_eq!(counted(None), (2, 2, 3));
}

#[test]
fn lengths_of_prompts_are_told_and_sampled_when_there_are_many() {
    let mut bench = Bench::new(Semantics::PerBlock);
    for prompt in 0..100_u64 {
        let chain: Vec<(u64, u64)> =
            (0..=prompt).map(|at| (prompt << 16 | at | 1 << 60, prompt << 16 | at)).collect();
        bench.store(RANKS[0], None, &chain);
    }
    bench.settle();
    let depths = bench.page().depths.unwrap();
    assert_eq!((depths.half, depths.most, depths.longest), (51, 90, 100));
    assert_eq!((depths.ends, depths.sampled), (100, false));

    let mut bench = Bench::new(Semantics::PerBlock);
    for prompt in 0..20_000_u64 {
        bench.store(RANKS[0], None, &[(prompt << 8 | 1 << 60, prompt), (prompt << 8 | 1, 3)]);
    }
    bench.settle();
    // So many nodes are counted in more than one page.
    let mut page = bench.page();
    while page.unfinished {
        page = bench.page();
    }
    let depths = page.depths.unwrap();
    assert!(depths.sampled && depths.half == 2 && depths.ends < 5_000, "{depths:?}");
}

#[test]
fn levels_open_at_once_and_close_one_by_one() {
    let mut bench = Bench::new(Semantics::PerBlock);
    for first in 1..3_u64 {
        for second in 1..3_u64 {
            for third in 1..3_u64 {
                let (a, b) = (first << 8, first << 8 | second << 4);
                let c = b | third;
                bench.store(RANKS[0], None, &[(a, a), (b, b), (c, c)]);
            }
        }
    }
    bench.settle();
    bench.open.clear();
    bench.spread.insert(TreeNode::Root, 2);
    let depths = |page: &Page| page.rows.iter().map(|row| row.depth).collect::<Vec<_>>();

    let page = bench.page();
    assert_eq!(depths(&page), [0, 1, 2, 2, 1, 2, 2]);
    bench.closed.insert(page.rows[1].place.node);
    assert_eq!(depths(&bench.page()), [0, 1, 1, 2, 2]);
    bench.spread.insert(TreeNode::Root, 64);
    assert_eq!(depths(&bench.page()), [0, 1, 1, 2, 3, 3, 2, 3, 3]);
    // What is found is shown although what it hangs below is closed.
    let page = bench.page_at(TreeNode::Root, None, Some("0000000000000111"));
    let TreeAnchor::At(at) = page.anchor else { panic!("{:?}", page.anchor) };
    assert_eq!((page.rows[at].depth, page.rows[at].last), (3, Some(SequenceHash(0x111))));
}
