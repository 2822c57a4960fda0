//! Every number that is not the user's to set, with its reason.

use std::time::Duration;

/// GitHub refuses issue bodies and comments above this many characters.
pub const BODY_CHARS_MAX: usize = 65_536;

/// What our own blocks may add to a body, bytes: leaves people room to write.
pub const STATE_BYTES_MAX: usize = 60_000;

/// The quoted prompt goes onto the command line up to here, bytes; Linux limits one argument to
/// 128 KiB (`MAX_ARG_STRLEN`) and the command needs room besides.
pub const PROMPT_ARG_BYTES_MAX: usize = 100 * 1024;

/// A run's log is capped here, bytes; the middle is left out beyond.
pub const RUN_LOG_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// So much of a run's output is kept back until it is known whether a secret goes on in what comes next,
/// bytes. Longer than any token or key; a line may be longer than that.
pub const LOG_HELD_BYTES_MAX: usize = 64 * 1024;

/// Of a line that is longer so much is kept back still, bytes: a token begins and ends within it.
pub const LOG_OVERLAP_BYTES: usize = 8 * 1024;

/// GitHub refuses a push with a file above this, bytes ("Working with large files", GitHub's
/// documentation, as of 2025).
pub const PUSHED_FILE_BYTES_MAX: u64 = 100 * 1024 * 1024;

/// A file that is larger is not searched for secrets, bytes. What people write is smaller, and what is larger (a
/// recording, a bundle) would be searched at every look.
pub const SEARCHED_FILE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Of all commits together so much is searched, bytes: a second or two.
pub const SEARCHED_BYTES_MAX: usize = 64 * 1024 * 1024;

/// So many secrets of a commit are noted: one is enough to keep it here.
pub const SECRETS_NAMED_MAX: usize = 50;

/// So many of the things that must not be pushed are named; a person looks at the branch anyway.
pub const REFUSED_NAMED_MAX: usize = 10;

/// How much of a path or of a message's words is shown, bytes: a line of a comment.
pub const REFUSED_SHOWN_BYTES: usize = 120;

/// How much of a log is handed to a prompt, bytes.
pub const LOG_TAIL_BYTES: usize = 16 * 1024;

/// An agent's JSON line above this is left out, bytes: those that are read for meaning have some thousand.
pub const AGENT_LINE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// How much of an agent's last words or of its error is kept, bytes: it goes into comments and prompts.
pub const AGENT_WORDS_BYTES_MAX: usize = 4 * 1024;

/// What agents said so far is kept on disk this often: what is lost with a supervisor that is killed.
pub const REPORTS_KEPT_EVERY: Duration = Duration::from_secs(5);

/// How long an agent whose server or network failed is left alone at first; twice as long each time after.
pub const TRANSIENT_WAIT_FIRST: Duration = Duration::from_secs(60);

/// At most so long: an outage of a night is over within the hour after it.
pub const TRANSIENT_WAIT_MAX: Duration = Duration::from_secs(3600);

/// A usage limit that ends later than this is not believed: the longest ones are of a week.
pub const LIMIT_AHEAD_MAX: chrono::Duration = chrono::Duration::days(32);

/// How much of a log is posted in a comment, bytes.
pub const COMMENT_TAIL_BYTES: usize = 3 * 1024;

/// Logs of failed jobs that are fetched for one run: of a matrix of hundreds the first tell what is wrong.
pub const CI_LOGS_MAX: usize = 20;

/// So much of one job's log is kept, bytes, from its end: what fails stands there.
pub const CI_LOG_BYTES_MAX: usize = 16 * 1024 * 1024;

/// How much of all logs together goes into the prompt, bytes.
pub const CI_EXCERPTS_BYTES: usize = 32 * 1024;

/// A re-run that shows nothing after this was refused without a word: GitHub queues jobs within seconds.
pub const RERUN_SHOWS_WITHIN: Duration = Duration::from_secs(2 * 60);

/// GitHub's page size for lists.
pub const PAGE_SIZE: u32 = 100;

/// A list longer than this many pages is treated as an error instead of being read for ever.
pub const PAGES_MAX: u32 = 200;

/// Renewal happens at this fraction of the ttl, so that two renewals may fail before it runs out.
pub const RENEW_PARTS: u32 = 3;

/// The longest time to live of a lease that is believed, in minutes: a day (protocol.md, section 4).
pub const LEASE_TTL_MIN_MAX: u32 = 1440;

/// A claim by hand lives so long without a renewal, as one of gh-issue-lease does: nobody renews it while
/// a person thinks. It is the comment that keeps others away for longer.
pub const HAND_LEASE_TTL: Duration = Duration::from_secs(240 * 60);

/// How long `claim` waits for another process of this home that is at the issue: a step takes seconds.
pub const HAND_LOCK_WAIT_MAX: Duration = Duration::from_secs(60);

/// How often it tries meanwhile.
pub const HAND_LOCK_TRY_EVERY: Duration = Duration::from_millis(100);

/// A full look at the listing, in case the incremental one missed something.
pub const FULL_LIST_EVERY: Duration = Duration::from_secs(3600);

/// Repository facts are asked again after this.
pub const REPO_FACTS_FOR: Duration = Duration::from_secs(3600);

/// A ref of a probe that is older was left by one that was killed: a probe takes a minute or two.
pub const PROBE_LEFTOVER_AFTER: Duration = Duration::from_secs(3600);

/// How long a step waits for a run that it asked to end; kill graces are 10 s by default.
pub const STOP_WAIT_MAX: Duration = Duration::from_secs(20);

/// How often it looks meanwhile.
pub const STOP_LOOK_EVERY: Duration = Duration::from_millis(100);

/// A look serves for several effects in a row up to this age, provided each one's outcome is known and
/// entered into it. Effects follow one another within a second or two; a minute is a lease's margin.
pub const LOOK_FRESH_FOR: Duration = Duration::from_secs(5);

/// Steps one issue may take in a cycle before something is evidently going in a circle.
pub const STEPS_PER_CYCLE_MAX: u32 = 200;

/// A local git operation that takes longer hangs on a prompt or a lock.
pub const GIT_LOCAL_TIMEOUT: Duration = Duration::from_secs(120);

/// A fetch or push that takes longer is given up; large repositories need minutes.
pub const GIT_NETWORK_TIMEOUT: Duration = Duration::from_secs(900);

/// A remote that accepts a connection and moves no byte for so long is not coming back: GitHub keeps one alive
/// every five seconds. git's own limit, over HTTP.
pub const GIT_SILENT_MAX: Duration = Duration::from_secs(60);

/// A git that prints no progress for so many times that is stopped from outside: over ssh it has no limit of its
/// own. Later than git itself, whose words say more.
pub const GIT_MUTE_TIMES: u32 = 2;

/// Whoever waits for the remote longer than this is told so, then each time it took twice as long.
pub const GIT_SLOW_AFTER: Duration = Duration::from_secs(10);

/// A push that moves lease refs carries one small commit; what takes longer is not coming back before the
/// lease's next renewal, whose look then says how it went.
pub const GIT_REFS_TIMEOUT: Duration = Duration::from_secs(60);

/// After a remote refused git since it was asked too much. GitHub's words for its API: at least a minute.
pub const GIT_LIMITED_WAIT: Duration = Duration::from_secs(60);

/// A rate limit is waited out for so long at most: GitHub's budgets are by the hour.
pub const RATE_LIMIT_WAIT_MAX: Duration = Duration::from_secs(3700);

/// Timeouts of one API request.
pub const HTTP_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Whole request; GitHub itself gives up after 10 s, its proxies after 60.
pub const HTTP_TIMEOUT: Duration = Duration::from_secs(60);

/// Whoever waits for an answer longer than this is told so.
pub const HTTP_SLOW_AFTER: Duration = Duration::from_secs(10);

/// An answer that is larger is not read to its end, bytes: a page of a hundred comments of the largest size is
/// seven million.
pub const ANSWER_BYTES_MAX: usize = 32 * 1024 * 1024;

/// How often a supervisor looks at its run at most: fast enough that a verify step of some
/// milliseconds does not wait, slow enough to cost nothing in a run of hours.
pub const SUPERVISE_TICK_MAX: Duration = Duration::from_millis(100);

/// A tick counts at most this much on a run's clocks: what is longer was sleep or SIGSTOP, and a
/// closed lid must not look like a silent agent.
pub const SUPERVISE_TICK_COUNTS_MAX: Duration = Duration::from_secs(2);

/// How long survivors of KILL are waited for; a process in an uninterruptible system call needs a
/// moment, one that needs longer puts the worktree in doubt.
pub const KILL_WAIT_MAX: Duration = Duration::from_secs(10);

/// A frozen run is given up after so much time awake without an answer from GitHub.
pub const FROZEN_AWAKE_MAX: Duration = Duration::from_secs(30 * 60);

/// A supervisor renews the lease this long after the run's end, if nobody collects the result.
pub const COLLECT_WAIT_MAX: Duration = Duration::from_secs(2 * 3600);

/// A supervisor whose result cannot be written tries for so long, with its lease renewed: a person has to
/// make room on the disk, and what the run did is paid for.
pub const LAST_WORD_WAIT_MAX: Duration = Duration::from_secs(2 * 3600);

/// It tries this often.
pub const LAST_WORD_EVERY: Duration = Duration::from_secs(1);

/// Room that is reserved for `exit.json` before a run begins, bytes: a result with a long note has some
/// hundreds.
pub const EXIT_ROOM_BYTES: usize = 16 * 1024;

/// With less than this on the home's file system nothing is begun, bytes: a run folder, its log and the
/// notes of this home need more.
pub const HOME_FREE_BYTES_MIN: u64 = 8 << 20;

/// How long an issue is left alone while the home cannot be written.
pub const HOME_FULL_WAIT: Duration = Duration::from_secs(60);

/// The supervisor looks at its lease refs this often, besides renewing: gh-issue-lease steals by
/// DELETE.
pub const LEASE_LOOK_EVERY: Duration = Duration::from_secs(60);

/// After a renewal without an answer the next one is tried this soon.
pub const RENEW_RETRY_EVERY: Duration = Duration::from_secs(10);

/// How long a start waits until the new supervisor holds its lock; a loaded machine needs seconds.
pub const SUPERVISOR_START_MAX: Duration = Duration::from_secs(30);

/// A question or review file beyond this is cut, bytes: it becomes a comment or part of a prompt.
pub const LEFT_FILE_BYTES_MAX: u64 = 256 * 1024;

/// Issues of a repository that `status` looks at: each look is a request.
pub const STATUS_LOOKS_MAX: usize = 50;

/// Below this `doctor` warns: a worktree, its build and the run logs have to fit.
pub const DISK_FREE_BYTES_MIN: u64 = 1 << 30;

/// One request to the container engine that takes longer is given up: an engine under load needs
/// seconds to create a container.
pub const CONTAINER_ANSWER_MAX: Duration = Duration::from_secs(60);

/// A request that lasts as long as a command. Nothing but the run's own clock shall end it.
pub const CONTAINER_RUN_MAX: Duration = Duration::from_secs(30 * 24 * 3600);

/// An engine that goes away while a container runs is waited for so long: an upgrade of it takes a
/// minute or two.
pub const CONTAINER_AWAY_MAX: Duration = Duration::from_secs(5 * 60);

/// A dead supervisor's request to start a container has most often reached the engine after this.
pub const CONTAINER_START_SETTLES: Duration = Duration::from_secs(1);

/// How often it is asked meanwhile.
pub const CONTAINER_AWAY_LOOK: Duration = Duration::from_millis(500);

/// An engine that is shut down has killed its containers, and does not answer any more, after this. Only a
/// step that was killed waits for it.
pub const ENGINE_LEAVES_WITHIN: Duration = Duration::from_secs(3);

/// The kernel's word that a container ran out of its memory may reach the engine so much later than that
/// of its end; seen on Docker 20.10 with cgroups 1, by milliseconds.
pub const OOM_LATE_MAX: Duration = Duration::from_millis(200);

/// A run whose containers could not be had is tried again after this: a registry or an engine is
/// away for minutes, not for seconds.
pub const SANDBOX_RETRY_AFTER: Duration = Duration::from_secs(2 * 60);

/// Supervisors of one run that may die before it counts as failed: one that dies again and again
/// has a reason that the next one would meet, too.
pub const SUPERVISORS_OF_A_RUN_MAX: usize = 5;

/// A queue that looks empty is looked at once more after this: GitHub's lists lag by about a second.
pub const DRAINED_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// A set-up or verify step that was cut off from outside is begun again so often: a machine that goes
/// down three more times within one step needs a person.
pub const STEP_REPEATS_MAX: u32 = 3;

/// Comments about untrusted text that follow one another without a person's word: whoever changes their
/// text after each must not fill the issue, and everybody's mailbox, with ours.
pub const UNTRUSTED_COMMENTS_MAX: usize = 5;

/// The same refusal so many times in a row is no accident: the issue is blocked. One time may be a full
/// disk that somebody is just clearing, two a coincidence.
pub const SAME_TROUBLE_MAX: u32 = 3;

/// After a second failure in a row an issue is left alone for this long, then twice as long each time …
pub const TROUBLE_WAIT_FIRST: Duration = Duration::from_secs(30);

/// … up to this: as long as a person is ready to wait after the network is back.
pub const TROUBLE_WAIT_MAX: Duration = Duration::from_secs(15 * 60);
