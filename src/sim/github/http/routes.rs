//! Which path is answered by what.

use super::super::error::{SimError, SimResult};
use super::super::faults::Op;
use super::super::world::World;
use super::call::{Call, Reply, decode};
use super::{rest_git, rest_issues, rest_jobs, rest_prs, rest_repo};

/// What answers.
pub(crate) enum Handler {
    Read(fn(&World, &Call) -> SimResult<Reply>),
    Write(fn(&mut World, &Call) -> SimResult<Reply>),
}

/// A path of the REST API. `{name}` is one segment, `{name*}` all that follow.
pub(crate) struct Route {
    method: &'static str,
    pub(crate) template: &'static str,
    pub(crate) op: Op,
    pub(crate) handler: Handler,
}

const fn read(
    template: &'static str,
    op: Op,
    handler: fn(&World, &Call) -> SimResult<Reply>,
) -> Route {
    Route {
        method: "GET",
        template,
        op,
        handler: Handler::Read(handler),
    }
}

const fn write(
    method: &'static str,
    template: &'static str,
    op: Op,
    handler: fn(&mut World, &Call) -> SimResult<Reply>,
) -> Route {
    Route {
        method,
        template,
        op,
        handler: Handler::Write(handler),
    }
}

macro_rules! repo {
    ($rest:literal) => {
        concat!("/repos/{owner}/{repo}", $rest)
    };
}

static ROUTES: &[Route] = &[
    read("/user", Op::Facts, rest_repo::user),
    read(repo!(""), Op::Facts, rest_repo::repository),
    read(
        repo!("/collaborators/{username}/permission"),
        Op::Permission,
        rest_repo::permission,
    ),
    read(repo!("/branches/{branch}"), Op::Rules, rest_repo::branch),
    read(
        repo!("/rules/branches/{branch}"),
        Op::Rules,
        rest_repo::rules,
    ),
    write(
        "POST",
        repo!("/actions/runs/{run_id}/rerun-failed-jobs"),
        Op::Rerun,
        rest_jobs::rerun,
    ),
    read(
        repo!("/actions/jobs/{job_id}/logs"),
        Op::Log,
        rest_jobs::log,
    ),
    read(repo!("/labels"), Op::Labels, rest_repo::labels),
    write(
        "POST",
        repo!("/labels"),
        Op::CreateLabel,
        rest_repo::create_label,
    ),
    read(repo!("/issues"), Op::ListIssues, rest_issues::list),
    write("POST", repo!("/issues"), Op::OpenIssue, rest_issues::open),
    write(
        "PATCH",
        repo!("/issues/comments/{comment_id}"),
        Op::UpdateComment,
        rest_issues::rewrite_comment,
    ),
    read(
        repo!("/issues/comments/{comment_id}"),
        Op::Read,
        rest_issues::comment,
    ),
    read(
        repo!("/issues/{issue_number}"),
        Op::Read,
        rest_issues::issue,
    ),
    write(
        "PATCH",
        repo!("/issues/{issue_number}"),
        Op::UpdateIssue,
        rest_issues::patch,
    ),
    read(
        repo!("/issues/{issue_number}/dependencies/blocked_by"),
        Op::Read,
        rest_issues::blocked_by,
    ),
    read(
        repo!("/issues/{issue_number}/comments"),
        Op::Read,
        rest_issues::comments,
    ),
    write(
        "POST",
        repo!("/issues/{issue_number}/comments"),
        Op::CreateComment,
        rest_issues::create_comment,
    ),
    write(
        "POST",
        repo!("/issues/{issue_number}/labels"),
        Op::AddLabels,
        rest_issues::add_labels,
    ),
    write(
        "DELETE",
        repo!("/issues/{issue_number}/labels/{name}"),
        Op::RemoveLabel,
        rest_issues::remove_label,
    ),
    write(
        "POST",
        repo!("/issues/{issue_number}/assignees"),
        Op::AddAssignee,
        rest_issues::assign,
    ),
    write(
        "DELETE",
        repo!("/issues/{issue_number}/assignees"),
        Op::RemoveAssignee,
        rest_issues::unassign,
    ),
    read(repo!("/pulls"), Op::Read, rest_prs::list),
    write("POST", repo!("/pulls"), Op::OpenPr, rest_prs::open),
    read(repo!("/pulls/{pull_number}"), Op::Read, rest_prs::pull),
    write(
        "PATCH",
        repo!("/pulls/{pull_number}"),
        Op::UpdatePr,
        rest_prs::patch,
    ),
    write(
        "PUT",
        repo!("/pulls/{pull_number}/merge"),
        Op::MergePr,
        rest_prs::merge,
    ),
    write(
        "PUT",
        repo!("/pulls/{pull_number}/update-branch"),
        Op::UpdateBranch,
        rest_prs::update_branch,
    ),
    read(
        repo!("/pulls/{pull_number}/reviews"),
        Op::Read,
        rest_prs::reviews,
    ),
    write(
        "POST",
        repo!("/pulls/{pull_number}/reviews"),
        Op::Review,
        rest_prs::review,
    ),
    read(repo!("/commits/{ref}"), Op::Read, rest_git::commit_of),
    read(
        repo!("/commits/{ref}/check-runs"),
        Op::Read,
        rest_prs::check_runs,
    ),
    write(
        "POST",
        repo!("/git/commits"),
        Op::CreateCommit,
        rest_git::create_commit,
    ),
    read(
        repo!("/git/commits/{commit_sha}"),
        Op::Read,
        rest_git::commit,
    ),
    write(
        "POST",
        repo!("/git/refs"),
        Op::SwapRefs,
        rest_git::create_ref,
    ),
    read(repo!("/git/ref/{ref*}"), Op::Read, rest_git::one_ref),
    read(
        repo!("/git/matching-refs/{ref*}"),
        Op::Read,
        rest_git::matching_refs,
    ),
    write(
        "PATCH",
        repo!("/git/refs/{ref*}"),
        Op::SwapRefs,
        rest_git::patch_ref,
    ),
    write(
        "DELETE",
        repo!("/git/refs/{ref*}"),
        Op::SwapRefs,
        rest_git::delete_ref,
    ),
];

/// The route of a path, and the path's variable parts.
pub(crate) fn find(method: &str, path: &str) -> SimResult<(&'static Route, Vec<String>)> {
    ROUTES
        .iter()
        .filter(|route| route.method == method)
        .find_map(|route| Some((route, fit(route.template, path)?)))
        .ok_or_else(SimError::not_found)
}

fn fit(template: &str, path: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut rest = path
        .trim_start_matches('/')
        .trim_end_matches('/')
        .split('/');
    for wanted in template.trim_start_matches('/').split('/') {
        if wanted.ends_with("*}") {
            let all: Vec<String> = rest.by_ref().map(decode).collect();
            parts.push(all.join("/"));
            return (!all.is_empty()).then_some(parts);
        }
        let segment = rest.next()?;
        if wanted.starts_with('{') {
            parts.push(decode(segment));
        } else if wanted != segment {
            return None;
        }
    }
    rest.next().is_none().then_some(parts)
}
