//! No line is lost and none comes twice, however a follow ends.

use serde_json::json;

use super::*;

#[tokio::test]
async fn a_log_is_joined_across_ends_cuts_and_restarts_of_the_api() {
    for what in ["a clean end", "a cut", "a restart"] {
        let end = |kube: &FakeKube| {
            match what {
                "a clean end" => kube.end_streams(),
                "a cut" => kube.cut_streams(),
                _ => kube.restart(),
            };
        };
        let kube = FakeKube::demo();
        let mut it = follow(&kube, &[frontend(), worker()]).await;
        for round in 0..4 {
            let lines = numbered(round * 50, round * 50 + 50);
            write(&kube, FRONTEND, &lines[..25]);
            write(&kube, WORKER, &lines[..25]);
            if round % 2 == 0 {
                it.until_lines(FRONTEND, round * 50 + 25).await;
            }
            end(&kube);
            write(&kube, FRONTEND, &lines[25..]);
            write(&kube, WORKER, &lines[25..]);
            it.until_lines(FRONTEND, round * 50 + 50).await;
            it.until_lines(WORKER, round * 50 + 50).await;
        }
        it.delivered.during(Duration::from_millis(200)).await;
        assert_eq!(it.delivered.lines(FRONTEND), numbered(0, 200), "{what}");
        assert_eq!(it.delivered.lines(WORKER), numbered(0, 200), "{what}");
    }
}

#[tokio::test]
async fn a_cut_is_counted_and_a_clean_end_is_not() {
    let kube = FakeKube::demo();
    let mut it = follow(&kube, &[frontend()]).await;
    it.delivered.until_noted("1 of 1 logs followed").await;
    kube.end_streams();
    it.until_open(&kube, 2).await;
    assert_eq!(it.delivered.notes.last().unwrap().interruptions, 0);

    kube.cut_streams();

    it.delivered
        .until("expected the cut to be counted", |it| {
            it.notes.last().is_some_and(|note| note.interruptions == 1)
        })
        .await;
}

#[tokio::test]
async fn equal_lines_are_delivered_as_often_as_they_were_written() {
    let kube = FakeKube::demo();
    let mut it = follow(&kube, &[frontend()]).await;
    write(&kube, FRONTEND, &vec!["same".to_owned(); 40]);
    it.until_lines(FRONTEND, 40).await;

    kube.cut_streams();
    write(&kube, FRONTEND, &vec!["same".to_owned(); 40]);

    it.until_lines(FRONTEND, 80).await;
    it.delivered.during(Duration::from_millis(300)).await;
    assert_eq!(it.delivered.lines(FRONTEND).len(), 80);
}

#[tokio::test]
async fn a_rotated_log_is_followed_on() {
    let kube = FakeKube::demo();
    let mut it = follow(&kube, &[frontend()]).await;
    write(&kube, FRONTEND, &numbered(0, 10));
    it.until_lines(FRONTEND, 10).await;

    kube.clear_log(FRONTEND, "main");
    write(&kube, FRONTEND, &numbered(10, 20));
    it.until_lines(FRONTEND, 20).await;
    kube.clear_log(FRONTEND, "main");
    kube.cut_streams();
    write(&kube, FRONTEND, &numbered(20, 30));

    it.until_lines(FRONTEND, 30).await;
    assert_eq!(it.delivered.lines(FRONTEND), numbered(0, 30));
}

#[tokio::test]
async fn the_rest_of_a_crashed_container_is_read_once() {
    let kube = FakeKube::demo();
    kube.answer("previous=true", "logs/previous_instance");
    let mut it = follow(&kube, &[worker()]).await;
    write(&kube, WORKER, &numbered(0, 5));
    it.until_lines(WORKER, 5).await;
    // The start has been asked for, then what follows.
    it.until_open(&kube, 2).await;

    kube.clear_log(WORKER, "main");
    kube.edit("Pod", WORKER, |pod| {
        pod["status"]["containerStatuses"] = json!([{
            "name": "main", "image": "", "imageID": "", "ready": true, "restartCount": 1,
            "state": {"running": {}},
            "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled",
                "containerID": "containerd://one", "finishedAt": "2999-01-01T00:00:00Z"}},
        }]);
    });
    write(&kube, WORKER, &numbered(5, 10));
    kube.end_streams();
    it.until_lines(WORKER, 11).await;
    it.until_open(&kube, 4).await;
    kube.end_streams();
    write(&kube, WORKER, &numbered(10, 11));
    it.until_lines(WORKER, 12).await;

    let lines = it.delivered.lines(WORKER);
    let last = "previous instance: about to be OOMKilled";
    assert_eq!(lines.iter().filter(|line| *line == last).count(), 1, "{lines:?}");
    let asked = kube.requests().into_iter().filter(|it| it.query.contains("previous=true"));
    assert_eq!(asked.count(), 1);
}

#[tokio::test]
async fn a_connection_that_is_quiet_is_asked_for_again() {
    let kube = FakeKube::demo();
    let limits = LogLimits { quiet: Duration::from_millis(100), ..LogLimits::default() };
    let mut it = follow_with(&kube, &[frontend()], limits, 1_000).await;
    write(&kube, FRONTEND, &numbered(0, 3));
    it.until_lines(FRONTEND, 3).await;

    it.delivered
        .until("expected more requests", |_| {
            kube.requests().iter().filter(|it| it.path.ends_with("/log")).count() > 2
        })
        .await;

    assert_eq!(it.delivered.lines(FRONTEND), numbered(0, 3));
    assert_eq!(it.delivered.notes.last().unwrap().interruptions, 0);
}
