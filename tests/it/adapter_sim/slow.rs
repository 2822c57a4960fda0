//! Answers that do not come to an end: each request has a time and a size that it may not exceed.

use super::*;

/// A world whose far face waits for an answer at most this long.
async fn impatient(timeout: Duration) -> World {
    let mut w = world().await;
    let settings = GitHubSettings {
        api_url: w.serving.url(),
        write_spacing: Duration::ZERO,
        timeout,
        ..GitHubSettings::new(slug(), w.token.clone().into())
    };
    // Its waits are real ones here: a second attempt is made only while there is time for it.
    let clock = Arc::new(ghswarm::adapters::clock::SystemClock);
    w.far = GitHubAdapter::new(settings, clock).unwrap();
    w
}

#[tokio::test]
async fn a_dripping_answer_is_given_up_after_its_time_and_said_so() {
    let w = impatient(Duration::from_secs(1)).await;
    let proof = proof(&w.lease(None).await);
    let drip = || Fault::Drip(Duration::from_millis(100));
    w.sim.set_faults(FaultPlan::next(Op::Look, 100, drip()));
    let before = w.far.requests();
    let error = w.far.look(&at(None)).await.unwrap_err();
    assert!(matches!(error, PortError::Unavailable { .. }), "{error:?}");
    assert!(
        error.to_string().contains("no whole answer within 1 s"),
        "{error}"
    );
    assert_eq!(
        w.far.requests() - before,
        1,
        "nobody waits that long once more"
    );

    w.sim
        .set_faults(FaultPlan::next(Op::CreateComment, 1, drip()));
    let error = w.far.create_comment(&proof, 1, "x").await.unwrap_err();
    assert!(matches!(error, PortError::Unknown { .. }), "{error:?}");
    w.sim.set_faults(FaultPlan::none());
    assert_eq!(w.near.look(&at(None)).await.unwrap().comments.len(), 1);
}

#[tokio::test]
async fn an_endless_answer_is_not_read_to_its_end() {
    let w = impatient(Duration::from_secs(60)).await;
    let proof = proof(&w.lease(None).await);
    w.sim
        .set_faults(FaultPlan::next(Op::Look, 100, Fault::Endless));
    let before = w.far.requests();
    let error = w.far.look(&at(None)).await.unwrap_err();
    assert!(matches!(error, PortError::Unavailable { .. }), "{error:?}");
    assert!(error.to_string().contains("larger than 32 MiB"), "{error}");
    assert_eq!(
        w.far.requests() - before,
        1,
        "the next one would be the same"
    );

    w.sim
        .set_faults(FaultPlan::next(Op::CreateComment, 1, Fault::Endless));
    let error = w.far.create_comment(&proof, 1, "x").await.unwrap_err();
    assert!(matches!(error, PortError::Unknown { .. }), "{error:?}");
}
