//! GraphQL's answers for the board and for one pull request by its number.

use serde_json::{Map, Value, json};

use super::super::error::{SimError, SimResult};
use super::super::merge::closing_numbers;
use super::super::model::{Issue, Pr, PrStanding};
use super::call::Reply;
use super::graphql::{Question, base, failed, good};
use super::graphql_nodes as nodes;
use super::json::time;

/// As many issues, and comments of each, as the document asks for.
const FIRST: usize = 50;

pub(crate) fn board(question: &Question<'_>, name: &str) -> SimResult<Reply> {
    let (repo, world) = (question.repo()?, question.world);
    let mut shape = Map::new();
    if name != "BoardPrsPage" {
        shape.insert("issues".to_owned(), issues(question)?);
    }
    if name != "BoardIssuesPage" {
        shape.insert("pullRequests".to_owned(), open_prs(question)?);
    }
    if name == "Board" {
        let tip = match world.tip(&question.key)? {
            Some(sha) => base(repo, &sha)?,
            None => Value::Null,
        };
        shape.insert("defaultBranchRef".to_owned(), tip);
    }
    Ok(good(&Value::Object(shape)))
}

/// Open issues, oldest first.
fn issues(question: &Question<'_>) -> SimResult<Value> {
    let all = question.repo()?.issues.values();
    let mut open: Vec<&Issue> = all
        .filter(|issue| issue.open && issue.pr.is_none())
        .collect();
    open.sort_by_key(|issue| (issue.created_at, issue.number));
    let last = FIRST.min(question.call.page_max());
    let mut found = Vec::new();
    for issue in open {
        let mut node = nodes::issue(question, issue)?;
        node["comments"] = nodes::newest_comments(question, issue, last);
        let left = question.repo()?.still_open(&issue.sub_issues).count();
        node["subIssuesSummary"] = json!({
            "total": issue.sub_issues.len(), "completed": issue.sub_issues.len() - left,
        });
        found.push(node);
    }
    Ok(nodes::page(question, &found, FIRST, question.after()))
}

fn open_prs(question: &Question<'_>) -> SimResult<Value> {
    let mut found = Vec::new();
    for issue in question.repo()?.issues.values() {
        if let Some(pr) = issue
            .pr
            .as_ref()
            .filter(|pr| pr.standing == PrStanding::Open)
        {
            found.push(nodes::linked_pr(question, issue, pr));
        }
    }
    Ok(nodes::page(question, &found, FIRST, question.after()))
}

pub(crate) fn pr_summary(question: &Question<'_>) -> SimResult<Reply> {
    let repo = question.repo()?;
    let number = question.number("pr")?;
    let found = repo.issues.get(&number);
    let Some((issue, pr)) = found.and_then(|issue| Some((issue, issue.pr.as_ref()?))) else {
        let words = format!("Could not resolve to a PullRequest with the number of {number}.");
        let data = json!({ "repository": { "databaseId": repo.id, "pullRequest": null } });
        let path = json!(["repository", "pullRequest"]);
        return Ok(failed(&data, &SimError::not_found(), &words, &path));
    };
    let summary = summary(question, issue, pr)?;
    Ok(good(
        &json!({ "databaseId": repo.id, "pullRequest": summary }),
    ))
}

fn summary(question: &Question<'_>, issue: &Issue, pr: &Pr) -> SimResult<Value> {
    let repo = question.repo()?;
    let (state, commit, at) = match &pr.standing {
        PrStanding::Open => ("OPEN", None, None),
        PrStanding::Closed => ("CLOSED", None, None),
        PrStanding::Merged(commit, at, _) => ("MERGED", Some(commit), Some(time(*at))),
    };
    let closes: Vec<Value> = closing_numbers(&issue.body, &repo.slug)
        .into_iter()
        .map(|number| json!({ "number": number, "repository": { "databaseId": repo.id } }))
        .collect();
    Ok(json!({
        "number": issue.number,
        "state": state,
        "headRefName": pr.head_ref,
        "headRepository": nodes::head_repository(question, pr),
        "baseRefName": pr.base_ref,
        "mergedAt": at,
        "mergeCommit": commit.map(|sha| json!({ "oid": sha })),
        "closingIssuesReferences": nodes::page(question, &closes, FIRST, None),
    }))
}
