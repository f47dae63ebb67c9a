//! Block sizes in tables, beside what findings prove of them.

use super::views::Seat;

/// Recordings of workers that publish blocks of 32 tokens and have cards that say 16: nobody claims 32,
/// stores and lengths of prompts prove it.
const PROVEN: [&str; 2] = ["0.9.0-mm_card16_eng32", "1.6.1-mm_card16_eng32"];

#[test]
fn a_size_that_a_finding_proves_stands_beside_the_one_that_is_claimed() {
    for recording in PROVEN {
        for size in [(80, 24), (120, 36), (200, 60)] {
            let mut seat = Seat::of_recording(recording, size);
            let finding = &seat.picture.findings[0];
            assert!(finding.id == "KVT001" && finding.summary.contains("workers publish 32"));
            for view in ["1", "2"] {
                seat.keys(view);
                let screen = seat.screen();
                let rows: Vec<&str> = screen
                    .lines()
                    .filter(|row| row.contains(" w0 ") || row.contains(" w1 "))
                    .collect();
                let marked = rows.iter().filter(|row| row.contains("32≠16✗")).count();
                assert_eq!(marked, 2, "{recording}\n{screen}");
                assert!(!rows.iter().any(|row| row.contains('✓')), "{recording}\n{screen}");
            }
        }
        let mut seat = Seat::of_recording(recording, (120, 36));
        seat.keys("1");
        assert!(seat.screen().contains("≠ 32 publisher"), "{}", seat.screen());
        // Everything that the sheet says, with both sizes and who says them.
        seat.keys("2\nz");
        let mut said = seat.screen();
        for _ in 0..40 {
            seat.keys("j");
            said += &seat.screen();
        }
        let row = |text: &str, value: &str| {
            let found = said.lines().find(|line| line.contains(text) && line.contains(value));
            found.unwrap_or_else(|| panic!("{text} {value}\n{said}")).to_owned()
        };
        assert!(
            row("✗ block size of publisher", " 32 ").contains("store events and prompt lengths")
        );
        assert!(row("block size of card", " 16 ").contains("etcd"), "{said}");
    }
}

#[test]
fn nothing_is_proven_where_no_finding_says_so() {
    for recording in
        ["0.9.0-healthy", "1.6.1-healthy", "0.9.0-mm_pub32_eng16", "1.6.1-mm_pub32_eng16"]
    {
        let seat = Seat::of_recording(recording, (120, 36));
        let proven = seat.picture.workers.iter().filter_map(|row| row.block_size.proven);
        assert_eq!(proven.count(), 0, "{recording}");
    }
}

#[test]
fn a_reached_memory_limit_stands_on_every_view_at_every_size() {
    for recording in ["0.9.0-healthy", "0.9.0-mm_pub32_eng16"] {
        for size in [(80, 24), (120, 36), (200, 60)] {
            let mut seat = Seat::of_recording(recording, size);
            for view in ["0", "2"] {
                seat.keys(view);
                assert!(!seat.screen().contains("memory limit"), "{}", seat.screen());
                seat.picture.tree.shed_blocks = 40;
                let screen = seat.screen();
                assert!(screen.lines().next().unwrap().contains("▲ memory limit"), "{screen}");
                seat.look();
            }
        }
    }
}
