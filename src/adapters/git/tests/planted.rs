//! What an agent could plant in the clone: nothing that carries a token obeys it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;

use super::*;

/// A loopback server that wants a login and keeps every head of a request.
struct Listener {
    url: String,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Listener {
    fn start() -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", socket.local_addr().unwrap());
        let heard = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&heard);
        std::thread::spawn(move || {
            for stream in socket.incoming().flatten() {
                sink.lock().unwrap().push(String::new());
                let request = answer(stream).unwrap_or_default();
                sink.lock().unwrap().push(request);
            }
        });
        Self { url, heard }
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

fn answer(stream: TcpStream) -> std::io::Result<String> {
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut head = String::new();
    let mut reader = BufReader::new(stream.try_clone()?);
    while reader.read_line(&mut head)? > 2 {}
    let mut stream = stream;
    stream.write_all(
        b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\n\
          Content-Length: 0\r\nConnection: close\r\n\r\n",
    )?;
    Ok(head)
}

impl Place {
    fn plant(&self, key: &str, value: &str) {
        git(&self.clone(), &["config", "--add", key, value]);
    }

    fn trap(&self) -> PathBuf {
        self.folder.path().join("trap")
    }

    /// A command of a shell that leaves a mark.
    fn snare(&self) -> String {
        format!("touch '{}'", self.trap().display())
    }

    /// Another bare repository, to which nothing of ours may go.
    fn evil(&self) -> PathBuf {
        let evil = self.folder.path().join("evil.git");
        if !evil.exists() {
            git(
                self.folder.path(),
                &["init", "--quiet", "--bare", "evil.git"],
            );
        }
        evil
    }
}

#[tokio::test]
async fn planted_proxies_headers_and_credential_helpers_are_not_used() {
    let place = Place::new();
    let (known, trap) = (Listener::start(), Listener::start());
    let url = format!("{}/demo/greeter.git", known.url);
    git(&place.clone(), &["remote", "set-url", "origin", &url]);
    let _ = place.git().fetch_base(&branch("main")).await.unwrap_err();
    let more = place.folder.path().join("more-config");
    fs::write(&more, format!("[http]\n\tproxy = {}\n", trap.url)).unwrap();
    for (key, value) in [
        ("http.proxy", trap.url.as_str()),
        ("http.extraHeader", "X-Planted: yes"),
        ("include.path", more.to_str().unwrap()),
        ("credential.helper", &format!("!{}", place.snare())),
        ("core.askPass", &place.snare()),
        ("core.alternateRefsCommand", &place.snare()),
    ] {
        place.plant(key, value);
    }
    let before = known.heard().len();
    for error in [
        place.git().fetch_base(&branch("main")).await.unwrap_err(),
        place.git().push(&place.push_of_main()).await.unwrap_err(),
    ] {
        assert_eq!(error.refusal(), Some(Refusal::Unauthorised), "{error}");
        assert!(error.to_string().contains("credential.helper"), "{error}");
    }
    assert_eq!(trap.heard(), Vec::<String>::new());
    assert!(!place.trap().exists());
    let heard = known.heard()[before..].join("");
    assert!(heard.contains("git-upload-pack") && heard.contains("git-receive-pack"));
    assert!(!heard.contains("X-Planted"), "{heard}");
}

#[tokio::test]
async fn planted_commands_of_the_transport_are_not_run() {
    let place = Place::new();
    place.git().fetch_base(&branch("main")).await.unwrap();
    for key in ["uploadpack", "receivepack"] {
        let value = format!("{}; git-{}", place.snare(), key.replace("pack", "-pack"));
        place.plant(&format!("remote.origin.{key}"), &value);
    }
    place.plant("remote.origin.vcs", "planted");
    let hooks = place.folder.path().join("hooks");
    fs::create_dir(&hooks).unwrap();
    place.plant("core.hooksPath", hooks.to_str().unwrap());
    place.plant("core.fsmonitor", &place.snare());
    place.git().fetch_base(&branch("main")).await.unwrap();
    let pushed = place.git().push(&place.push_of_main()).await.unwrap();
    assert_eq!(pushed, PushOutcome::Pushed);
    assert!(!place.trap().exists());
}

#[tokio::test]
async fn a_planted_ssh_command_is_not_run() {
    let place = Place::new();
    let url = "ssh://git@127.0.0.1:1/demo/greeter.git";
    git(&place.clone(), &["remote", "set-url", "origin", url]);
    place.plant("core.sshCommand", &format!("{}; false", place.snare()));
    place.plant("core.gitProxy", &place.snare());
    let error = place.git().fetch_base(&branch("main")).await.unwrap_err();
    assert!(!place.trap().exists());
    assert!(error.to_string().contains("core.sshcommand"), "{error}");
}

#[tokio::test]
async fn a_redirected_remote_is_refused_until_a_person_accepts_it() {
    for (key, value) in [
        ("remote.origin.pushurl", "EVIL"),
        ("url.EVIL.insteadOf", "../remote.git"),
        ("url.EVIL.pushInsteadOf", "../remote.git"),
    ] {
        let place = Place::new();
        place.git().fetch_base(&branch("main")).await.unwrap();
        let evil = place.evil();
        let evil = evil.to_str().unwrap();
        place.plant(&key.replace("EVIL", evil), &value.replace("EVIL", evil));
        let error = place.git().push(&place.push_of_main()).await.unwrap_err();
        refused_with(&error, evil);
        refused_with(&error, "clone/../remote.git");
        assert!(place.git().fetch_base(&branch("main")).await.is_err());
        assert_eq!(git(&place.evil(), &["for-each-ref"]), "", "{key}");
        do_as_told(&error, "rm ");
        let pushed = place.git().push(&place.push_of_main()).await.unwrap();
        assert_eq!(pushed, PushOutcome::Pushed);
        assert_ne!(git(&place.evil(), &["for-each-ref"]), "", "{key}");
    }
}

#[tokio::test]
async fn a_remote_changed_by_an_included_file_or_the_worktrees_configuration_is_refused() {
    for included in [true, false] {
        let place = Place::new();
        place.git().fetch_base(&branch("main")).await.unwrap();
        let text = format!(
            "[remote \"origin\"]\n\tpushurl = {}\n",
            place.evil().display()
        );
        if included {
            let more = place.folder.path().join("more-config");
            fs::write(&more, text).unwrap();
            place.plant("include.path", more.to_str().unwrap());
        } else {
            place.plant("extensions.worktreeConfig", "true");
            fs::write(place.clone().join(".git/config.worktree"), text).unwrap();
        }
        let error = place.git().push(&place.push_of_main()).await.unwrap_err();
        refused_with(&error, "evil.git");
        assert_eq!(git(&place.evil(), &["for-each-ref"]), "");
    }
}

#[tokio::test]
async fn a_planted_filter_and_a_planted_signer_see_no_token() {
    let place = Place::new();
    place.commit(".gitattributes", "*.txt filter=planted\n");
    git(&place.clone(), &["push", "--quiet", "origin", "main"]);
    let spy = format!("env >> '{}'", place.trap().display());
    place.plant("filter.planted.smudge", &format!("{spy}; cat"));
    place.plant("filter.planted.clean", &format!("{spy}; cat"));
    let git_here = place.with_env(&[("GITHUB_TOKEN", "ghp_known"), ("GH_TOKEN", "ghp_known")]);
    let start = git_here.fetch_base(&branch("main")).await.unwrap();
    let new = place.new_worktree(42, &start);
    git_here.add_worktree(&new).await.unwrap();
    fs::write(new.path.join("file.txt"), "two\n").unwrap();
    let signer = place.folder.path().join("signer");
    fs::write(&signer, format!("#!/bin/sh\n{spy}\nexit 1\n")).unwrap();
    make_executable(&signer);
    place.plant("commit.gpgsign", "true");
    place.plant("gpg.program", signer.to_str().unwrap());
    git_here.commit_all(&new.path, "Two").await.unwrap_err();
    let seen = fs::read_to_string(place.trap()).unwrap();
    assert!(seen.matches("PATH=").count() >= 3, "the spies ran: {seen}");
    assert!(!seen.contains("ghp_known"), "{seen}");
}
